/* Pictures: the contents of JPEG and PNG files, as rows of red, green and blue bytes. */
#ifndef SYN_ENGINE_DATA_PICTURE_H
#define SYN_ENGINE_DATA_PICTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A picture in memory that grows to the largest one it held. Zeroed: empty. */
struct syn_picture {
    uint8_t *pixels; /* [height][width][3] */
    size_t width;
    size_t height;
    size_t capacity; /* bytes */
};

#define SYN_WHY_BYTES 160

/* Larger ones are refused: a few hostile bytes can claim any size. */
#define SYN_MOST_PIXELS ((size_t)100000000)

/* Make room for that many pixels. Too many, or no memory: false, with why. */
bool syn_picture_make_room(struct syn_picture *picture, size_t width, size_t height,
                           char why[SYN_WHY_BYTES]);
void syn_picture_free(struct syn_picture *picture);

/* Decode a file in memory; its format is known by its first bytes, not by its name. Grey pictures
 * get three equal channels, transparency is dropped. Unreadable: false, with why. */
bool syn_picture_decode(const uint8_t *bytes, size_t count, struct syn_picture *picture,
                        char why[SYN_WHY_BYTES]);

/* The two formats, each in the only file that includes its library; a build may lack either. */
bool syn_jpeg_is_built(void);
bool syn_jpeg_decode(const uint8_t *bytes, size_t count, struct syn_picture *picture,
                     char why[SYN_WHY_BYTES]);
bool syn_png_is_built(void);
bool syn_png_decode(const uint8_t *bytes, size_t count, struct syn_picture *picture,
                    char why[SYN_WHY_BYTES]);

#endif
