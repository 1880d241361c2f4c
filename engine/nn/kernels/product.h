/* The product that everything hangs on: a few rows of one matrix by eight or sixteen columns of
 * another, with all sums in registers. */
#ifndef SYN_NN_KERNELS_PRODUCT_H
#define SYN_NN_KERNELS_PRODUCT_H

#include <stdbool.h>
#include <stddef.h>

#include "engine/nn/kernels/lanes.h"

#define PANEL 16 /* columns multiplied together: two vectors */
#define ROWS  6  /* by this many rows: twelve sums, which leaves four of sixteen registers */

/* Sums of rows x (vectors * 8) values: c[i][j] (+)= sum over depth of a(i, d) b[d][j]. */
struct product {
    const float *a;
    size_t a_row;
    size_t a_depth;
    const float *b; /* [depth][b_row] */
    size_t b_row;
    float *c; /* [rows][c_row] */
    size_t c_row;
    size_t depth;
    bool accumulate;
};

SYN_INLINE void multiply_rows(const struct product *p, size_t first, const size_t rows,
                              const size_t vectors)
{
    lanes sums[ROWS][2];
    const float *a = p->a + first * p->a_row;
    float *c = p->c + first * p->c_row;
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < vectors; j++)
            sums[i][j] = p->accumulate ? lanes_load(c + i * p->c_row + LANES * j) : lanes_fill(0);
    for (size_t d = 0; d < p->depth; d++) {
        lanes b[2];
        for (size_t j = 0; j < vectors; j++)
            b[j] = lanes_load(p->b + d * p->b_row + LANES * j);
        for (size_t i = 0; i < rows; i++)
            for (size_t j = 0; j < vectors; j++)
                sums[i][j] += lanes_fill(a[i * p->a_row + d * p->a_depth]) * b[j];
    }
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < vectors; j++)
            lanes_store(c + i * p->c_row + LANES * j, sums[i][j]);
}

SYN_INLINE void multiply_panel(const struct product *p, size_t rows, const size_t vectors)
{
    size_t i = 0;
    for (; i + ROWS <= rows; i += ROWS)
        multiply_rows(p, i, ROWS, vectors);
    switch (rows - i) {
    case 5:
        multiply_rows(p, i, 5, vectors);
        break;
    case 4:
        multiply_rows(p, i, 4, vectors);
        break;
    case 3:
        multiply_rows(p, i, 3, vectors);
        break;
    case 2:
        multiply_rows(p, i, 2, vectors);
        break;
    case 1:
        multiply_rows(p, i, 1, vectors);
        break;
    default:
        break;
    }
}

static inline void multiply(const struct product *p, size_t rows, size_t columns)
{
    if (columns == PANEL)
        multiply_panel(p, rows, 2);
    else
        multiply_panel(p, rows, 1);
}

/* Width of the panel that begins at column at: 16, or 8 at the end. */
static inline size_t panel_width(size_t columns, size_t at)
{
    return columns - at < PANEL ? LANES : PANEL;
}

#endif
