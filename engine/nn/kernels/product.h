/* The product at the core of everything: rows of one matrix by some columns of another. Columns are
 * processed in panels of two vectors: sixteen, or thirty-two on AVX-512. Whatever the width, a
 * result is the sum of its products in order, so that sets that differ only in width agree in every
 * bit. */
#ifndef SYN_NN_KERNELS_PRODUCT_H
#define SYN_NN_KERNELS_PRODUCT_H

#include <stdbool.h>
#include <stddef.h>

#include "engine/nn/kernels/wide.h"

#define VECTORS 2
#define PANEL   (VECTORS * WIDE)

/* c[i][j] = start[j], or c[i][j] if accumulate, or 0; plus the sum over d of a(i, d) b[d][j]; then
 * max(0, c) if relu. The depths d of the left factor are stored in blocks. */
struct product {
    const float *a;
    size_t a_row;   /* floats from one to the next */
    size_t a_depth; /* within a block */
    size_t a_block;
    size_t depth; /* of a block */
    size_t blocks;
    const float *b; /* [blocks * depth][columns] */
    float *c;
    size_t c_row;
    size_t c_eight; /* floats from eight columns to the next eight */
    const float *start;
    bool accumulate;
    bool relu;
};

/* columns: as returned by panel_width() */
#define multiply SYN_KERNEL(syn_multiply)
void multiply(const struct product *p, size_t rows, size_t columns);

/* Width of the panel that begins at column at: PANEL, or at the end 16, then 8. */
static inline size_t panel_width(size_t columns, size_t at)
{
    size_t left = columns - at;
    return left >= PANEL ? PANEL : left >= 2 * LANES ? 2 * LANES : LANES;
}

/* First column of the panel that has column c. */
static inline size_t panel_start(size_t columns, size_t c)
{
    size_t panel = c / PANEL * PANEL;
    size_t width = panel_width(columns, panel);
    return c - panel < width ? panel : panel + width;
}

#endif
