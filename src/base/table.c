/* The error for a name that no row has. */
#include "base/table.h"

#include <stdio.h>

#include "base/status.h"

enum syn_status syn_fail_choice(const char *kind, const char *name,
                                const char *(*choices)(size_t i))
{
    char there[256] = "";
    size_t length = 0;
    for (size_t i = 0; choices(i) && length < sizeof there; i++)
        length += (size_t)snprintf(there + length, sizeof there - length, "%s%s", i ? ", " : "",
                                   choices(i));
    return syn_fail(SYN_INVALID, "unknown %s \"%.64s\"; expected one of %s", kind, name, there);
}
