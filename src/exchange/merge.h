/* The merging of gTop-k, for any pattern of rounds: in each round a worker sends the list of its
 * group so far, or adds another group's list to it and keeps the largest entries; what this drops
 * is taken back according to the putback. */
#ifndef SYN_EXCHANGE_MERGE_H
#define SYN_EXCHANGE_MERGE_H

#include "exchange/exchange.h"

/* What the rows have in common: all of their functions except open. */
double syn_merge_theory(const struct syn_exchange_setup *setup, size_t packet_bytes);
size_t syn_merge_merged_most(const struct syn_exchange_setup *setup);
size_t syn_merge_dropped_most(const struct syn_exchange_setup *setup);
enum syn_status syn_merge_run(void *state, const struct syn_contribution *in,
                              struct syn_outcome *out);
void syn_merge_vacate(void *state);
void syn_merge_close(void *state);

/* Allocate all memory for lists that are merged in these rounds. */
enum syn_status syn_merge_open(const struct syn_exchange_setup *setup, syn_rounds *rounds,
                               void **state);

#endif
