/* Which part of a picture is used, and at what size: torchvision's RandomResizedCrop with a flip
 * for training, its Resize and CenterCrop for evaluation. */
#ifndef SYN_ENGINE_DATA_FRAME_H
#define SYN_ENGINE_DATA_FRAME_H

#include <syncopate/random.h>

#include "engine/data/resize.h"

/* A part of a picture, and how it is resized. */
struct syn_frame {
    size_t left; /* of the part */
    size_t top;
    struct syn_axis x; /* in: the part's width */
    struct syn_axis y;
    bool flips;
};

/* A random part with 0.08 to 1 of the area and an aspect ratio of 3/4 to 4/3, resized to size x
 * size. */
struct syn_frame syn_frame_random(size_t width, size_t height, size_t size,
                                  struct syn_random *random);

/* The whole picture, scaled so that the shorter side is resize, then the size x size in the middle.
 *   resize  at least size */
struct syn_frame syn_frame_centre(size_t width, size_t height, size_t size, size_t resize);

#endif
