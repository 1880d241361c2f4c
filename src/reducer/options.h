/* The reducer's options as those use them who open its parts. */
#ifndef SYN_REDUCER_OPTIONS_H
#define SYN_REDUCER_OPTIONS_H

#include <syncopate/reducer.h>

#include "exchange/exchange.h"

/* Check each option and replace what says "auto". */
enum syn_status syn_reducer_resolve(struct syn_reducer_options *options);

/* The density that lists of an exchange which follows it begin with: from about there on, fewer
 * entries take fewer bytes than all of them in four bits. */
#define SYN_ADAPTIVE_MOST 0.25

/* The largest density below 1 that a step may have, of an exchange that follows it. */
double syn_reducer_density_most(const struct syn_reducer_options *options);

/* Most entries that any step may pick from a bucket of this size; never less for a larger one. */
size_t syn_reducer_limit_most(const struct syn_reducer_options *options, size_t size);

/* Who takes back what merges drop, for options that were checked. */
enum syn_putback syn_reducer_putback(const struct syn_reducer_options *options);

#endif
