/* Random contributions to measure with. */
#ifndef SYN_INSPECT_SAMPLE_H
#define SYN_INSPECT_SAMPLE_H

#include <syncopate/random.h>

#include "tensor/list.h"

/* Fill list with count random entries out of size, every set of indices being equally likely, with
 * normally distributed values. The list must have room for them; count <= size. */
void syn_sample_list(struct syn_random *random, size_t size, size_t count, struct syn_list *list);

#endif
