/* Fuzzes the readers of CIFAR-10: the first byte says how many records to expect, the rest is
 * the file. */
#include <stdlib.h>

#include "engine/data/cifar.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    uint8_t digits[256];
    int32_t labels[256];
    struct syn_span span;
    unsigned sum = 0;
    if (count == 0)
        return 0;
    const size_t records = bytes[0];
    if (syn_cifar_read("fuzz", bytes + 1, count - 1, records, &span, labels) == SYN_OK)
        for (size_t i = 0; i < span.count; i++)
            for (size_t p = 0; p < SYN_CIFAR_PIXELS; p++)
                sum += span.pixels[i * span.stride + p];
    if (syn_cifar_read_json("fuzz", bytes + 1, count - 1, records, digits) == SYN_OK)
        for (size_t i = 0; i < records; i++)
            if (digits[i] > 9)
                abort();
    /* Keeps the reading from being thrown away. */
    return sum == 1U << 31 ? -1 : 0;
}
