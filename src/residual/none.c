/* No residual: right only where everything is sent as it is. */
#include "residual/residual.h"

const struct syn_residual_type syn_residual_none = {
    .part = {"none", "keep nothing; only for exchanges that send everything exactly"},
};
