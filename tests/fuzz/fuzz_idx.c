/* Fuzzes the IDX readers: any bytes are either refused or describe images and labels that lie
 * inside them. */
#include <stdlib.h>

#include "engine/data/idx.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    struct syn_idx_images images;
    struct syn_idx_labels labels;
    unsigned sum = 0;
    if (syn_idx_read_images("fuzz", bytes, count, &images) == SYN_OK)
        for (size_t i = 0; i < images.count * images.height * images.width; i++)
            sum += images.pixels[i];
    if (syn_idx_read_labels("fuzz", bytes, count, &labels) == SYN_OK) {
        int32_t *read = malloc(labels.count * sizeof *read);
        if (read && syn_labels_read("fuzz", labels.labels, 1, labels.count, 10, read) == SYN_OK)
            sum += (unsigned)read[labels.count - 1];
        free(read);
    }
    /* Keeps the reading from being thrown away. */
    return sum == 1U << 31 ? -1 : 0;
}
