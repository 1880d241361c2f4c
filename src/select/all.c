/* Every entry is sent. */
#include "select/select.h"

const struct syn_select_type syn_select_all = {
    .part = {"all", "every entry, as one dense array"},
    .is_dense = true,
};
