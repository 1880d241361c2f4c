/* The median of a few times: robust against the machine's other work. */
#ifndef SYN_INSPECT_MEDIAN_H
#define SYN_INSPECT_MEDIAN_H

#include <stddef.h>

/* The middle one; times are sorted on the way. count >= 1. */
double syn_median(double *times, size_t count);

#endif
