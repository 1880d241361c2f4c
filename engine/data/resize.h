/* Making pictures larger or smaller, bit for bit like PIL's bilinear resize, which is what
 * torchvision calls. */
#ifndef SYN_ENGINE_DATA_RESIZE_H
#define SYN_ENGINE_DATA_RESIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One direction: `in` pixels become `out`, of which `count` from `first` on are wanted. */
struct syn_axis {
    size_t in;
    size_t out;
    size_t first;
    size_t count;
};

/* Memory that grows as needed. Zeroed: empty. */
struct syn_resizer {
    void *weights;
    size_t weights_bytes;
    uint8_t *rows;
    size_t rows_bytes;
};

/* Resize.
 *   from    the first pixel: [y.in][x.in][3], rows stride bytes apart
 *   to      [y.count][x.count][3]
 * No memory: false. */
bool syn_resize(struct syn_resizer *resizer, const uint8_t *from, size_t stride, struct syn_axis x,
                struct syn_axis y, uint8_t *to);
void syn_resizer_free(struct syn_resizer *resizer);

#endif
