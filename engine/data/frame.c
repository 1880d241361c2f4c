/* Numbers are rounded as torchvision rounds them: int() down, round() to even. */
#include "engine/data/frame.h"

#include <math.h>

#define TRIES         10
#define LEAST_AREA    0.08
#define LEAST_SHAPE   (3.0 / 4.0)
#define LARGEST_SHAPE (4.0 / 3.0)

static double between(struct syn_random *random, double low, double high)
{
    return low + (high - low) * (double)syn_random_unit(random);
}

static struct syn_frame frame(size_t left, size_t top, size_t width, size_t height, size_t size)
{
    return (struct syn_frame){
        .left = left, .top = top, .x = {width, size, 0, size}, .y = {height, size, 0, size}};
}

/* The middle of the picture: the largest part whose shape is within the limits. */
static struct syn_frame middle(size_t width, size_t height, size_t size)
{
    const double shape = (double)width / (double)height;
    size_t w = width;
    size_t h = height;
    if (shape < LEAST_SHAPE)
        h = (size_t)lrint((double)w / LEAST_SHAPE);
    else if (shape > LARGEST_SHAPE)
        w = (size_t)lrint((double)h * LARGEST_SHAPE);
    return frame((width - w) / 2, (height - h) / 2, w, h, size);
}

static struct syn_frame draw(size_t width, size_t height, size_t size, struct syn_random *random)
{
    const double area = (double)width * (double)height;
    for (int i = 0; i < TRIES; i++) {
        const double target = area * between(random, LEAST_AREA, 1);
        const double shape = exp(between(random, log(LEAST_SHAPE), log(LARGEST_SHAPE)));
        const size_t w = (size_t)lrint(sqrt(target * shape));
        const size_t h = (size_t)lrint(sqrt(target / shape));
        if (w > 0 && w <= width && h > 0 && h <= height) {
            const size_t top = (size_t)syn_random_below(random, height - h + 1);
            const size_t left = (size_t)syn_random_below(random, width - w + 1);
            return frame(left, top, w, h, size);
        }
    }
    return middle(width, height, size);
}

struct syn_frame syn_frame_random(size_t width, size_t height, size_t size,
                                  struct syn_random *random)
{
    struct syn_frame drawn = draw(width, height, size, random);
    drawn.flips = syn_random_below(random, 2) == 1;
    return drawn;
}

static size_t centre(size_t out, size_t size)
{
    return (size_t)lrint((double)(out - size) / 2.0);
}

struct syn_frame syn_frame_centre(size_t width, size_t height, size_t size, size_t resize)
{
    const size_t shorter = width < height ? width : height;
    /* resize * longer / shorter, in whole numbers */
    const size_t across = width == shorter ? resize : resize * width / shorter;
    const size_t down = height == shorter ? resize : resize * height / shorter;
    return (struct syn_frame){.x = {width, across, centre(across, size), size},
                              .y = {height, down, centre(down, size), size}};
}
