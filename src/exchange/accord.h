/* Before anything is exchanged, members tell each other what they were opened with, as text of a
 * line for each item: what differs can then be named, not only noticed. */
#ifndef SYN_EXCHANGE_ACCORD_H
#define SYN_EXCHANGE_ACCORD_H

#include <syncopate/layout.h>
#include <syncopate/settings.h>

#include "transport/transport.h"

#define SYN_ACCORD_BYTES 8192

/* Lines "name value"; what does not fit is left out, on all members alike. */
struct syn_accord {
    char text[SYN_ACCORD_BYTES];
    size_t length;
};

/* The protocol's version and the layout. */
void syn_accord_begin(struct syn_accord *accord, const struct syn_layout *layout);

/* One line more, with its newline. */
void syn_accord_add(struct syn_accord *accord, const char *format, ...) SYN_PRINTF(2, 3);

/* Every setting but those that each may choose for itself. */
void syn_accord_add_settings(struct syn_accord *accord, const struct syn_settings_table *table,
                             const void *options);

/* Compare with the first `members` of the group, this one among them: SYN_MISMATCH names who
 * differs in what. Collective over them. Blocks. */
enum syn_status syn_accord_reach(const struct syn_accord *accord, struct syn_group *group,
                                 size_t members);

#endif
