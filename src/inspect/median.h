/* The median of a few times: robust against other load on the machine. */
#ifndef SYN_INSPECT_MEDIAN_H
#define SYN_INSPECT_MEDIAN_H

#include <stddef.h>

/* The median; sorts times in place. count >= 1. */
double syn_median(double *times, size_t count);

#endif
