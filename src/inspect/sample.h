/* Made-up contributions to measure with. */
#ifndef SYN_INSPECT_SAMPLE_H
#define SYN_INSPECT_SAMPLE_H

#include <syncopate/random.h>

#include "tensor/list.h"

/* Make list one of count out of size entries, each set of indices as likely as any other, with
 * normal values. The list has the room; count <= size. */
void syn_sample_list(struct syn_random *random, size_t size, size_t count, struct syn_list *list);

#endif
