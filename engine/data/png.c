/* PNG, by libpng: palettes and grey become RGB, transparency is dropped, like PIL's convert("RGB").
 * 16 bits per channel are refused: how to reduce them should not be decided silently.
 *
 * libpng reports errors by longjmp; everything that must survive a jump is in struct decoding, in
 * the caller's frame. */
#include <png.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include "engine/data/picture.h"

struct decoding {
    const uint8_t *bytes;
    size_t left;
    png_structp png;
    png_infop info;
    jmp_buf failed;
    char *why;
};

static void on_error(png_structp png, png_const_charp cause)
{
    struct decoding *decoding = png_get_error_ptr(png);
    snprintf(decoding->why, SYN_WHY_BYTES, "damaged PNG: %.120s", cause);
    longjmp(decoding->failed, 1);
}

static void on_warning(png_structp png, png_const_charp cause)
{
    (void)png;
    (void)cause;
}

static void read_bytes(png_structp png, png_bytep to, size_t count)
{
    struct decoding *decoding = png_get_io_ptr(png);
    if (count > decoding->left)
        png_error(png, "it is cut short");
    memcpy(to, decoding->bytes, count);
    decoding->bytes += count;
    decoding->left -= count;
}

static bool decode(struct decoding *decoding, struct syn_picture *picture)
{
    png_structp png = decoding->png;
    png_infop info = decoding->info;
    if (setjmp(decoding->failed))
        return false;
    png_set_read_fn(png, decoding, read_bytes);
    png_read_info(png, info);
    if (png_get_bit_depth(png, info) > 8) {
        snprintf(decoding->why, SYN_WHY_BYTES, "a PNG of %d bits per channel; expected at most 8",
                 png_get_bit_depth(png, info));
        return false;
    }
    if (!syn_picture_make_room(picture, png_get_image_width(png, info),
                               png_get_image_height(png, info), decoding->why))
        return false;
    png_set_expand(png);
    png_set_gray_to_rgb(png);
    png_set_strip_alpha(png);
    int passes = png_set_interlace_handling(png);
    png_read_update_info(png, info);
    for (int pass = 0; pass < passes; pass++)
        for (size_t y = 0; y < picture->height; y++)
            png_read_row(png, picture->pixels + y * picture->width * 3, NULL);
    png_read_end(png, NULL);
    return true;
}

bool syn_png_is_built(void)
{
    return true;
}

bool syn_png_decode(const uint8_t *bytes, size_t count, struct syn_picture *picture,
                    char why[SYN_WHY_BYTES])
{
    struct decoding decoding = {.bytes = bytes, .left = count, .why = why};
    decoding.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &decoding, on_error, on_warning);
    decoding.info = decoding.png ? png_create_info_struct(decoding.png) : NULL;
    bool is_good = decoding.info && decode(&decoding, picture);
    if (!decoding.info)
        snprintf(why, SYN_WHY_BYTES, "libpng cannot start");
    png_destroy_read_struct(&decoding.png, &decoding.info, NULL);
    return is_good;
}
