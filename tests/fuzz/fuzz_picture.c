/* Fuzzes decoding of JPEG and PNG through their libraries, and the index of packed pictures: any
 * bytes are either refused or become pixels that can be read. */
#include "engine/data/packed.h"
#include "engine/data/picture.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    static struct syn_picture picture;
    struct syn_packed packed;
    char why[SYN_WHY_BYTES];
    unsigned sum = 0;
    if (syn_picture_decode(bytes, count, &picture, why))
        sum += picture.pixels[3 * picture.width * picture.height - 1];
    if (syn_packed_read("fuzz", bytes, count, &packed) == SYN_OK)
        sum += packed.pixels[3 * packed.side - 1];
    /* Keeps the reading from being thrown away. */
    return sum == 1U << 31 ? -1 : 0;
}
