/* Checking a gradient before it is used. */
#ifndef SYN_ENGINE_TRAIN_GRADIENT_H
#define SYN_ENGINE_TRAIN_GRADIENT_H

#include <stddef.h>

/* The Euclidean norm; not finite exactly if an entry is not. Same bits on every machine. */
double syn_gradient_norm(const float *gradient, size_t count);

/* The first entry that is NaN or infinite; count if there is none. */
size_t syn_gradient_find_nonfinite(const float *gradient, size_t count);

#endif
