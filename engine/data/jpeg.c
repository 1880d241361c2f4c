/* JPEG, by libjpeg-turbo with its defaults: the exact transform and smooth upsampling, and no
 * decoding at a smaller scale, so that pixels are the same as in PIL and torchvision.
 *
 * libjpeg reports errors by a call that must not return, hence longjmp. It only warns about a file
 * that ends too early, and fills the rest with grey: here it is an error. Other warnings (bytes
 * left over, odd headers) are common in published sets and harmless. Everything that must survive a
 * jump is in struct decoding, in the caller's frame. */
#include <setjmp.h>
#include <stdio.h>

#include <jpeglib.h> /* needs stdio.h before it */

#include <jerror.h>

#include "engine/data/picture.h"

struct decoding {
    struct jpeg_decompress_struct jpeg;
    struct jpeg_error_mgr errors;
    jmp_buf failed;
    char *why;
};

static void fail(j_common_ptr jpeg)
{
    struct decoding *decoding = jpeg->client_data;
    char text[JMSG_LENGTH_MAX];
    jpeg->err->format_message(jpeg, text);
    snprintf(decoding->why, SYN_WHY_BYTES, "damaged JPEG: %.120s", text);
    longjmp(decoding->failed, 1);
}

static void on_message(j_common_ptr jpeg, int level)
{
    int code = jpeg->err->msg_code;
    if (level < 0 && (code == JWRN_JPEG_EOF || code == JWRN_HIT_MARKER))
        fail(jpeg);
}

static bool decode(struct decoding *decoding, const uint8_t *bytes, size_t count,
                   struct syn_picture *picture)
{
    struct jpeg_decompress_struct *jpeg = &decoding->jpeg;
    if (setjmp(decoding->failed))
        return false;
    jpeg_mem_src(jpeg, bytes, (unsigned long)count);
    jpeg_read_header(jpeg, TRUE);
    if (jpeg->num_components != 1 && jpeg->num_components != 3) {
        snprintf(decoding->why, SYN_WHY_BYTES,
                 "a JPEG of %d channels (CMYK); expected 1 or 3, grey or RGB",
                 jpeg->num_components);
        return false;
    }
    if (!syn_picture_make_room(picture, jpeg->image_width, jpeg->image_height, decoding->why))
        return false;
    jpeg->out_color_space = JCS_RGB;
    jpeg_start_decompress(jpeg);
    while (jpeg->output_scanline < jpeg->output_height) {
        JSAMPROW row = picture->pixels + (size_t)jpeg->output_scanline * picture->width * 3;
        jpeg_read_scanlines(jpeg, &row, 1);
    }
    jpeg_finish_decompress(jpeg);
    return true;
}

bool syn_jpeg_is_built(void)
{
    return true;
}

bool syn_jpeg_decode(const uint8_t *bytes, size_t count, struct syn_picture *picture,
                     char why[SYN_WHY_BYTES])
{
    struct decoding decoding = {.why = why};
    decoding.jpeg.err = jpeg_std_error(&decoding.errors);
    decoding.errors.error_exit = fail;
    decoding.errors.emit_message = on_message;
    decoding.jpeg.client_data = &decoding;
    if (setjmp(decoding.failed))
        return false;
    jpeg_create_decompress(&decoding.jpeg);
    decoding.jpeg.client_data = &decoding; /* creating may have cleared it */
    bool is_good = decode(&decoding, bytes, count, picture);
    jpeg_destroy_decompress(&decoding.jpeg);
    return is_good;
}
