/* The reducer's options, for code that opens its parts. */
#ifndef SYN_REDUCER_OPTIONS_H
#define SYN_REDUCER_OPTIONS_H

#include <syncopate/reducer.h>

#include "exchange/exchange.h"

/* Whether lists are sent that leave entries out; the options must have been checked one by one. */
bool syn_reducer_sends_part(const struct syn_reducer_options *options);

/* Check each option and replace "auto" values. */
enum syn_status syn_reducer_resolve(struct syn_reducer_options *options);

/* The initial density of lists in an exchange that follows the density: below about this, lists
 * take fewer bytes than all entries in four bits. */
#define SYN_ADAPTIVE_MOST 0.25

/* The largest density below 1 that a step may have, in an exchange that follows the density. */
double syn_reducer_density_most(const struct syn_reducer_options *options);

/* The most entries that any step may pick from a bucket of this size; does not decrease with
 * size. */
size_t syn_reducer_limit_most(const struct syn_reducer_options *options, size_t size);

/* The most entries in any list of a step, whatever the policies of tensors; options must have been
 * checked. */
size_t syn_reducer_list_most(const struct syn_reducer_options *options,
                             const struct syn_layout *layout);

/* Check that checked options can be used with the policies of these tensors; if not, SYN_INVALID
 * with the reason. */
enum syn_status syn_reducer_check_layout(const struct syn_reducer_options *options,
                                         const struct syn_layout *layout);

/* Who takes back what merges drop; options must have been checked. */
enum syn_putback syn_reducer_putback(const struct syn_reducer_options *options);

#endif
