/* The consistency check: before anything is exchanged, members send each other what they were
 * opened with, as text with one line per item. So a difference can be named, not only detected. */
#ifndef SYN_EXCHANGE_CONSISTENCY_H
#define SYN_EXCHANGE_CONSISTENCY_H

#include <syncopate/layout.h>
#include <syncopate/settings.h>

#include "transport/transport.h"

#define SYN_CONSISTENCY_BYTES 16384

/* Lines "name value". For those that do not fit, only a hash is compared. */
struct syn_consistency {
    char text[SYN_CONSISTENCY_BYTES];
    size_t length;
    uint64_t rest;
};

/* Begin with the versions of the protocol and of the library. */
void syn_consistency_begin(struct syn_consistency *own);

/* Add lines, each with its newline. */
void syn_consistency_add(struct syn_consistency *own, const char *format, ...) SYN_PRINTF(2, 3);
void syn_consistency_add_lines(struct syn_consistency *own, const char *lines);

/* Add the layout of the parameters. */
void syn_consistency_add_layout(struct syn_consistency *own, const struct syn_layout *layout);

/* Add every setting except those that each member may choose for itself. */
void syn_consistency_add_settings(struct syn_consistency *own,
                                  const struct syn_settings_table *table, const void *options);

/* Compare with the first `members` of the group, including this one. If not all are the same, all
 * of them get SYN_MISMATCH with the same cause, which names what differs, and the group is broken.
 * Collective over them. Blocks. */
enum syn_status syn_consistency_check(struct syn_consistency *own, struct syn_group *group,
                                      size_t members);

#endif
