/* Fuzzes the readers of .npy and .npz: any bytes are either refused or describe items that lie
 * inside them. */
#include <stdlib.h>

#include "engine/data/npy_read.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

static unsigned add_items(const uint8_t *bytes, size_t count)
{
    struct syn_npy array;
    unsigned sum = 0;
    if (syn_npy_read("fuzz", bytes, count, &array) == SYN_OK)
        for (size_t i = 0; i < array.items * array.width; i++)
            sum += array.bytes[i];
    return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    struct syn_zip_file file = {0};
    unsigned sum = add_items(bytes, count);
    if (syn_zip_find("fuzz", bytes, count, "x.npy", &file) == SYN_OK && file.packed &&
        file.count < 1 << 20) {
        uint8_t *unpacked = malloc(file.count + 1);
        if (unpacked && syn_zip_unpack("fuzz", "x.npy", &file, unpacked) == SYN_OK)
            sum += add_items(unpacked, file.count);
        free(unpacked);
    }
    /* Keeps the reading from being thrown away. */
    return sum == 1U << 31 ? -1 : 0;
}
