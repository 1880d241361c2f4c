/* What both picture formats share. */
#include "engine/data/picture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool syn_picture_make_room(struct syn_picture *picture, size_t width, size_t height,
                           char why[SYN_WHY_BYTES])
{
    if (width == 0 || height == 0 || width > SYN_MOST_PIXELS / height) {
        snprintf(why, SYN_WHY_BYTES, "%zu x %zu pixels; expected 1 to %zu", width, height,
                 SYN_MOST_PIXELS);
        return false;
    }
    const size_t bytes = 3 * width * height;
    if (bytes > picture->capacity) {
        uint8_t *grown = realloc(picture->pixels, bytes);
        if (!grown) {
            snprintf(why, SYN_WHY_BYTES, "no memory for %zu x %zu pixels", width, height);
            return false;
        }
        picture->pixels = grown;
        picture->capacity = bytes;
    }
    picture->width = width;
    picture->height = height;
    return true;
}

void syn_picture_free(struct syn_picture *picture)
{
    free(picture->pixels);
    *picture = (struct syn_picture){0};
}

bool syn_picture_decode(const uint8_t *bytes, size_t count, struct syn_picture *picture,
                        char why[SYN_WHY_BYTES])
{
    if (count >= 3 && memcmp(bytes, "\xff\xd8\xff", 3) == 0)
        return syn_jpeg_decode(bytes, count, picture, why);
    if (count >= 8 && memcmp(bytes, "\x89PNG\r\n\x1a\n", 8) == 0)
        return syn_png_decode(bytes, count, picture, why);
    if (count == 0)
        snprintf(why, SYN_WHY_BYTES, "an empty file; expected JPEG or PNG");
    else
        snprintf(why, SYN_WHY_BYTES, "neither JPEG nor PNG: %zu bytes that begin with 0x%02x",
                 count, bytes[0]);
    return false;
}
