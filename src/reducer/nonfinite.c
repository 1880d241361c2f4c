/* How a gradient that is not finite is reported. */
#include "reducer/road.h"

enum syn_status syn_fail_nonfinite(const struct syn_layout *layout, const char *what, size_t entry)
{
    struct syn_tensor tensor = syn_layout_tensor(layout, syn_layout_find(layout, entry));
    return syn_fail(SYN_NONFINITE, "%s not finite in tensor \"%s\", entry %zu", what, tensor.name,
                    entry - tensor.offset);
}
