/* Every table of parts, for listing what is available. */
#ifndef SYNCOPATE_PARTS_H
#define SYNCOPATE_PARTS_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One row of a table. */
struct syn_part_row {
    const char *name;
    const char *help; /* one line */
};

/* Kind number i of parts, such as "select", or NULL past the last; *help describes what the kind is
 * for. */
const char *syn_parts_kind(size_t i, const char **help);

/* Row number i of kind number `kind`; its name is NULL past the last. */
struct syn_part_row syn_parts_row(size_t kind, size_t i);

#ifdef __cplusplus
}
#endif
#endif
