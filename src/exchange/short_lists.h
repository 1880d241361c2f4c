/* Lists so short that an exchange of them costs messages, not bytes: every worker's list goes to
 * every worker. That is one latency and P - 1 messages, where split takes two and 2(P - 1), and no
 * sum is dropped. It takes P / (1 + keep) times the bytes of split, which bounds how long a list
 * may be.
 *
 * In the lab, with two hosts to a core, a step of fit on LeNet takes 10.9 ms with this and 431
 * entries and took 11.4 with split, computing alone 9.8; with 1,724 entries 9.9 and 10.3 ms on a
 * faster day, computing alone 9.0. */
#ifndef SYN_EXCHANGE_SHORT_LISTS_H
#define SYN_EXCHANGE_SHORT_LISTS_H

#include "exchange/exchange.h"

struct syn_short_lists;

/* Whether lists of at most that many entries are short. The same on all workers. */
bool syn_lists_are_short(size_t entries, size_t workers);

/* Room for the longest short list. */
enum syn_status syn_short_lists_open(const struct syn_exchange_setup *setup,
                                     struct syn_short_lists **lists);

/* As the run() of an exchange of lists that encodes portions: takes the list unencoded, and returns
 * what rounding removed. */
enum syn_status syn_short_lists_run(struct syn_short_lists *lists,
                                    const struct syn_contribution *in, struct syn_outcome *out);

/* As in struct syn_exchange_type. */
size_t syn_short_lists_merged_most(const struct syn_exchange_setup *setup);

void syn_short_lists_close(struct syn_short_lists *lists);

#endif
