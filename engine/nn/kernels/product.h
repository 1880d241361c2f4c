/* The product that everything hangs on: a few rows of one matrix by some columns of another, with
 * all sums in registers. Columns go in panels of two vectors: sixteen, or thirty-two on AVX-512.
 * Whatever the width, a result is the sum of its products one after the other, so that sets which
 * differ in nothing but the width agree in every bit. */
#ifndef SYN_NN_KERNELS_PRODUCT_H
#define SYN_NN_KERNELS_PRODUCT_H

#include <stdbool.h>
#include <stddef.h>

#include "engine/nn/kernels/wide.h"

#define VECTORS 2
#define PANEL   (VECTORS * WIDE)

/* Rows multiplied together: of the registers, four are left beside their sums. */
#if WIDE == LANES
#define ROWS 6
#else
#define ROWS 14
#endif

/* c[i][j] = start[j], or c[i][j] if accumulate, or 0; plus the sum over d of a(i, d) b[d][j]; then
 * max(0, c) if relu. Depths d of the left factor lie in blocks. */
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

SYN_INLINE wide first_sum(const struct product *p, const float *c, size_t j, const size_t eights)
{
    if (p->start)
        return wide_load(p->start, j, eights);
    return p->accumulate ? wide_gather(c, p->c_eight, j, eights) : wide_fill(0);
}

SYN_INLINE void multiply_rows(const struct product *p, size_t first, const size_t rows,
                              const size_t eights)
{
    const size_t vectors = (eights * LANES + WIDE - 1) / WIDE;
    wide sums[ROWS][VECTORS];
    float *c = p->c + first * p->c_row;
    SYN_UNROLL
    for (size_t i = 0; i < rows; i++)
        SYN_UNROLL
    for (size_t j = 0; j < vectors; j++)
        sums[i][j] = first_sum(p, c + i * p->c_row, j, eights);
    const float *b = p->b;
    for (size_t block = 0; block < p->blocks; block++) {
        const float *a = p->a + first * p->a_row + block * p->a_block;
        for (size_t d = 0; d < p->depth; d++, a += p->a_depth, b += eights * LANES) {
            wide right[VECTORS];
            SYN_UNROLL
            for (size_t j = 0; j < vectors; j++)
                right[j] = wide_load(b, j, eights);
            SYN_UNROLL
            for (size_t i = 0; i < rows; i++) {
                wide left = wide_fill(a[i * p->a_row]);
                SYN_UNROLL
                for (size_t j = 0; j < vectors; j++)
                    sums[i][j] += left * right[j];
            }
        }
    }
    SYN_UNROLL
    for (size_t i = 0; i < rows; i++)
        SYN_UNROLL
    for (size_t j = 0; j < vectors; j++)
        wide_scatter(c + i * p->c_row, p->c_eight, j, eights,
                     p->relu ? wide_relu(sums[i][j]) : sums[i][j]);
}

#define MULTIPLY_ROWS(n)                                                                           \
    case n:                                                                                        \
        multiply_rows(p, first, n, eights);                                                        \
        break;

SYN_INLINE void multiply_some_rows(const struct product *p, size_t first, size_t rows,
                                   const size_t eights)
{
    switch (rows) {
        MULTIPLY_ROWS(1)
        MULTIPLY_ROWS(2)
        MULTIPLY_ROWS(3)
        MULTIPLY_ROWS(4)
        MULTIPLY_ROWS(5)
        MULTIPLY_ROWS(6)
#if ROWS > 6
        MULTIPLY_ROWS(7)
        MULTIPLY_ROWS(8)
        MULTIPLY_ROWS(9)
        MULTIPLY_ROWS(10)
        MULTIPLY_ROWS(11)
        MULTIPLY_ROWS(12)
        MULTIPLY_ROWS(13)
        MULTIPLY_ROWS(14)
#endif
    default:
        break;
    }
}

/* Rows in parts of equal size, as far as that goes: 16 as 8 and 8 rather than 14 and 2. */
SYN_INLINE void multiply_panel(const struct product *p, size_t rows, const size_t eights)
{
    for (size_t parts = (rows + ROWS - 1) / ROWS, first = 0; parts > 0; parts--) {
        size_t some = (rows - first + parts - 1) / parts;
        multiply_some_rows(p, first, some, eights);
        first += some;
    }
}

/* columns: as panel_width() has them */
static inline void multiply(const struct product *p, size_t rows, size_t columns)
{
    if (columns == PANEL)
        multiply_panel(p, rows, PANEL / LANES);
    else if (columns == 2 * LANES)
        multiply_panel(p, rows, 2);
    else
        multiply_panel(p, rows, 1);
}

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
