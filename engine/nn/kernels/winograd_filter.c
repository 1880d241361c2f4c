/* Transform filters to Winograd's points, and gradients back, eight output channels at once:
 *
 *     U = G g G'          g [kernel][kernel], U [tile][tile]
 *     dg = G' dU G
 *
 * Row i of G is (1, p, p^2, ...) / n for the points p, with n = 1, 2, 2 for 0, 1, -1 of a tile
 * of 4 and n = 1, -3/2, -3/2, 6, 6 for 0, A, -A, B, -B of a tile of 6; the last row is (0, ...,
 * 0, 1). */
#include "engine/nn/kernels/kernels.h"
#include "engine/nn/kernels/product.h"
#include "engine/nn/kernels/winograd_points.h"

#define MOST_KERNEL 5
#define SHARE       16 /* outputs; the unit in which panels are distributed to cores */

/* o = G g */
SYN_INLINE void filter_points(const lanes *g, lanes *o, const size_t kernel, const size_t tile)
{
    o[0] = g[0];
    o[tile - 1] = g[kernel - 1];
    if (tile == 4) {
        o[1] = (g[0] + g[2] + g[1]) * 0.5f;
        o[2] = (g[0] + g[2] - g[1]) * 0.5f;
        return;
    }
    lanes even1 = g[0] + 0.5f * g[2];
    lanes odd1 = g[1];
    lanes even2 = g[0] + 2.0f * g[2];
    lanes odd2 = g[1];
    if (kernel == 5) {
        even1 += 0.25f * g[4];
        odd1 += 0.5f * g[3];
        even2 += 4.0f * g[4];
        odd2 += 2.0f * g[3];
    }
    o[1] = (even1 + A * odd1) * (-2.0f / 3);
    o[2] = (even1 - A * odd1) * (-2.0f / 3);
    o[3] = (even2 + B * odd2) * (1.0f / 6);
    o[4] = (even2 - B * odd2) * (1.0f / 6);
}

/* g = G' o */
SYN_INLINE void filter_values(const lanes *o, lanes *g, const size_t kernel, const size_t tile)
{
    if (tile == 4) {
        g[0] = o[0] + 0.5f * (o[1] + o[2]);
        g[1] = 0.5f * (o[1] - o[2]);
        g[2] = 0.5f * (o[1] + o[2]) + o[3];
        return;
    }
    lanes even1 = (o[1] + o[2]) * (-2.0f / 3);
    lanes odd1 = (o[1] - o[2]) * (-2.0f / 3 * A);
    lanes even2 = (o[3] + o[4]) * (1.0f / 6);
    lanes odd2 = (o[3] - o[4]) * (1.0f / 6 * B);
    g[0] = o[0] + even1 + even2;
    g[1] = odd1 + odd2;
    g[2] = 0.5f * even1 + 2.0f * even2;
    if (kernel == 5) {
        g[3] = 0.5f * odd1 + 2.0f * odd2;
        g[4] = 0.25f * even1 + 4.0f * even2;
    }
    g[kernel - 1] += o[tile - 1];
}

/* How many of the eight channels from first on exist. */
static size_t present(size_t channels, size_t first)
{
    size_t left = channels > first ? channels - first : 0;
    return left < LANES ? left : LANES;
}

/* The filters of eight outputs for an input; zeros for padding channels. */
SYN_INLINE void find_eight(const struct winograd_filter *f, const float *plain, size_t input,
                           size_t output, const float *from[LANES])
{
    static const float zeros[MOST_KERNEL * MOST_KERNEL];
    size_t count = input < f->inputs ? present(f->outputs, output) : 0;
    for (size_t k = 0; k < LANES; k++)
        from[k] =
            k < count ? plain + (output + k) * f->output_stride + input * f->input_stride : zeros;
}

SYN_INLINE lanes gather(const float *const from[LANES], size_t i)
{
    return (lanes){from[0][i], from[1][i], from[2][i], from[3][i],
                   from[4][i], from[5][i], from[6][i], from[7][i]};
}

SYN_INLINE void transform_eight(const struct winograd_filter *f, const float *plain, size_t input,
                                size_t output, float *to, size_t position, const size_t kernel,
                                const size_t tile)
{
    const float *from[LANES];
    find_eight(f, plain, input, output, from);
    lanes half[TILE][MOST_KERNEL];
    for (size_t c = 0; c < kernel; c++) {
        lanes g[MOST_KERNEL];
        lanes o[TILE];
        for (size_t r = 0; r < kernel; r++)
            g[r] = gather(from, r * kernel + c);
        filter_points(g, o, kernel, tile);
        for (size_t r = 0; r < tile; r++)
            half[r][c] = o[r];
    }
    for (size_t r = 0; r < tile; r++) {
        lanes o[TILE];
        filter_points(half[r], o, kernel, tile);
        for (size_t c = 0; c < tile; c++)
            lanes_store(to + (r * tile + c) * position, o[c]);
    }
}

SYN_INLINE void restore_eight(const struct winograd_filter *f, const float *from, size_t input,
                              size_t output, float *plain, size_t position, const size_t kernel,
                              const size_t tile)
{
    lanes half[MOST_KERNEL][TILE];
    for (size_t c = 0; c < tile; c++) {
        lanes o[TILE];
        lanes g[MOST_KERNEL];
        for (size_t r = 0; r < tile; r++)
            o[r] = lanes_load(from + (r * tile + c) * position);
        filter_values(o, g, kernel, tile);
        for (size_t r = 0; r < kernel; r++)
            half[r][c] = g[r];
    }
    float taps[MOST_KERNEL * MOST_KERNEL][LANES];
    for (size_t r = 0; r < kernel; r++) {
        lanes g[MOST_KERNEL];
        filter_values(half[r], g, kernel, tile);
        for (size_t c = 0; c < kernel; c++)
            lanes_store(taps[r * kernel + c], g[c]);
    }
    size_t count = present(f->outputs, output);
    for (size_t k = 0; k < count; k++) {
        float *to = plain + (output + k) * f->output_stride + input * f->input_stride;
        for (size_t i = 0; i < kernel * kernel; i++)
            to[i] = taps[i][k];
    }
}

static size_t padded(size_t channels)
{
    return (channels + LANES - 1) / LANES * LANES;
}

/* Offset of the eight outputs from number output on for an input, at the first position. Panels are
 * stored one after another; within a panel, both halves for an input are adjacent: they share a
 * cache line. */
static size_t offset(size_t inputs, size_t outputs, size_t input, size_t output)
{
    size_t panel = panel_start(outputs, output);
    return panel * inputs + input * panel_width(outputs, panel) + (output - panel);
}

static void transform(const struct winograd_filter *f, const float *plain, float *transformed,
                      size_t begin, size_t end)
{
    size_t inputs = padded(f->inputs);
    size_t outputs = padded(f->outputs);
    size_t stop = end * SHARE < outputs ? end * SHARE : outputs;
    for (size_t share = begin * SHARE; share < stop; share += SHARE)
        for (size_t input = 0; input < inputs; input++)
            for (size_t k = share; k < outputs && k < share + SHARE; k += LANES) {
                float *to = transformed + offset(inputs, outputs, input, k);
                if (f->kernel == 5)
                    transform_eight(f, plain, input, k, to, inputs * outputs, 5, 6);
                else if (f->side == 4)
                    transform_eight(f, plain, input, k, to, inputs * outputs, 3, 6);
                else
                    transform_eight(f, plain, input, k, to, inputs * outputs, 3, 4);
            }
}

static void restore(const struct winograd_filter *f, const float *transformed, float *plain,
                    size_t begin, size_t end)
{
    size_t inputs = padded(f->inputs);
    size_t outputs = padded(f->outputs);
    size_t stop = end * SHARE < outputs ? end * SHARE : outputs;
    for (size_t share = begin * SHARE; share < stop; share += SHARE)
        for (size_t input = 0; input < f->inputs; input++)
            for (size_t k = share; k < outputs && k < share + SHARE; k += LANES) {
                const float *from = transformed + offset(inputs, outputs, input, k);
                if (f->kernel == 5)
                    restore_eight(f, from, input, k, plain, inputs * outputs, 5, 6);
                else if (f->side == 4)
                    restore_eight(f, from, input, k, plain, inputs * outputs, 3, 6);
                else
                    restore_eight(f, from, input, k, plain, inputs * outputs, 3, 4);
            }
}

const struct winograd_filter_kernels SYN_KERNEL(syn_winograd_filter) = {transform, restore};
