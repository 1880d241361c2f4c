/* Replaces png.c in a build without libpng. */
#include <stdio.h>

#include "engine/data/picture.h"

bool syn_png_is_built(void)
{
    return false;
}

bool syn_png_decode(const uint8_t *bytes, size_t count, struct syn_picture *picture,
                    char why[SYN_WHY_BYTES])
{
    (void)bytes;
    (void)count;
    (void)picture;
    snprintf(why, SYN_WHY_BYTES, "a PNG; this build is without libpng");
    return false;
}
