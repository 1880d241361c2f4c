/* Before anything is exchanged, members tell each other what they were opened with, as text of a
 * line for each item: what differs can then be named, not only noticed. */
#ifndef SYN_EXCHANGE_ACCORD_H
#define SYN_EXCHANGE_ACCORD_H

#include <syncopate/layout.h>
#include <syncopate/settings.h>

#include "transport/transport.h"

#define SYN_ACCORD_BYTES 16384

/* Lines "name value". Of those that do not fit only a hash is compared. */
struct syn_accord {
    char text[SYN_ACCORD_BYTES];
    size_t length;
    uint64_t rest;
};

/* The versions of the protocol and of the library. */
void syn_accord_begin(struct syn_accord *accord);

/* Lines more, each with its newline. */
void syn_accord_add(struct syn_accord *accord, const char *format, ...) SYN_PRINTF(2, 3);
void syn_accord_add_lines(struct syn_accord *accord, const char *lines);

/* The layout of the parameters. */
void syn_accord_add_layout(struct syn_accord *accord, const struct syn_layout *layout);

/* Every setting but those that each may choose for itself. */
void syn_accord_add_settings(struct syn_accord *accord, const struct syn_settings_table *table,
                             const void *options);

/* Compare with the first `members` of the group, this one among them. If not all are the same, all
 * of them get SYN_MISMATCH and the same words, with what differs, and the group is broken.
 * Collective over them. Blocks. */
enum syn_status syn_accord_reach(struct syn_accord *accord, struct syn_group *group,
                                 size_t members);

#endif
