/* The table of selections, and what they share. */
#include "select/select.h"

#define SYN_SETTING(...) /* of the parts */
#define SYN_PART(name)   extern const struct syn_select_type syn_select_##name;
#include <syncopate/parts/selects.def>
#undef SYN_PART

static const struct syn_select_type *const rows[] = {
#define SYN_PART(name) &syn_select_##name,
#include <syncopate/parts/selects.def>
#undef SYN_PART
};
#undef SYN_SETTING

SYN_TABLE(select, struct syn_select_type)

size_t syn_select_share(double density, size_t size)
{
    size_t share = (size_t)(density * (double)size);
    if (share > size)
        share = size;
    return share == 0 && size > 0 ? 1 : share;
}
