/* Replaces jpeg.c in a build without libjpeg. */
#include <stdio.h>

#include "engine/data/picture.h"

bool syn_jpeg_is_built(void)
{
    return false;
}

bool syn_jpeg_decode(const uint8_t *bytes, size_t count, struct syn_picture *picture,
                     char why[SYN_WHY_BYTES])
{
    (void)bytes;
    (void)count;
    (void)picture;
    snprintf(why, SYN_WHY_BYTES, "a JPEG; this build is without libjpeg");
    return false;
}
