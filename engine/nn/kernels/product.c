/* A few rows by two vectors of columns at a time, with all sums in registers. Only this file has
 * the loops, unrolled for every number of rows, because they are slow to compile. */
#include "engine/nn/kernels/product.h"

/* Rows multiplied together: their sums leave four registers free. */
#if WIDE == LANES
#define ROWS 6
#else
#define ROWS 14
#endif

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

/* Split rows into parts of nearly equal size: 16 as 8 and 8 rather than 14 and 2. */
SYN_INLINE void multiply_panel(const struct product *p, size_t rows, const size_t eights)
{
    for (size_t parts = (rows + ROWS - 1) / ROWS, first = 0; parts > 0; parts--) {
        size_t some = (rows - first + parts - 1) / parts;
        multiply_some_rows(p, first, some, eights);
        first += some;
    }
}

void multiply(const struct product *p, size_t rows, size_t columns)
{
    if (columns == PANEL)
        multiply_panel(p, rows, PANEL / LANES);
    else if (columns == 2 * LANES)
        multiply_panel(p, rows, 2);
    else
        multiply_panel(p, rows, 1);
}
