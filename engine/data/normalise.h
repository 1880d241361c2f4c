/* How pixels are shifted and scaled. */
#ifndef SYN_ENGINE_DATA_NORMALISE_H
#define SYN_ENGINE_DATA_NORMALISE_H

#include "engine/data/set.h"

enum syn_normalise {
    SYN_NORMALISE_USUAL,
    SYN_NORMALISE_NONE,
    SYN_NORMALISE_COMPUTED,
    SYN_NORMALISE_IMAGENET
};

/* The way with that name; `usual` for "usual". The name is one of syn_data_normalise_name(). */
enum syn_normalise syn_normalise_find(const char *name, enum syn_normalise usual);

/* Sums over the values of a channel. Zeroed: empty. */
struct syn_moments {
    double count;
    double sum;
    double squares;
};

/* Add bytes, stride apart. */
void syn_moments_add(struct syn_moments *moments, const uint8_t *pixels, size_t count,
                     size_t stride);

/* Set scale and shift so that what was added has mean 0 and deviation 1.
 *   moments  [channels] */
void syn_data_normalise_by(struct syn_data *data, const struct syn_moments *moments);

/* Set scale and shift in that way, per channel; computed ones are those of the training part, which
 * must have been read. imagenet without three channels: SYN_INVALID. */
enum syn_status syn_data_normalise_as(struct syn_data *data, enum syn_normalise way);

#endif
