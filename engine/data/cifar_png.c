/* From PNG to CIFAR-10's binary version: each row of the picture is one image with interleaved RGB
 * pixels; the binary version has all red ones first. Read row by row, so that no more than one
 * image is in memory.
 *
 * libpng reports errors by longjmp. Everything that must survive a jump is in struct conversion,
 * which belongs to the caller of the function that calls setjmp. */
#include <errno.h>
#include <png.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include "engine/base/fail.h"
#include "engine/data/cifar.h"

#define ROW_PIXELS (SYN_CIFAR_SIDE * SYN_CIFAR_SIDE)

struct conversion {
    const char *name;
    FILE *from;
    FILE *to;
    png_structp png;
    png_infop info;
    jmp_buf failed;
    uint8_t row[3 * ROW_PIXELS];
    uint8_t record[SYN_CIFAR_RECORD];
};

static void on_error(png_structp png, png_const_charp cause)
{
    struct conversion *conversion = png_get_error_ptr(png);
    syn_report(SYN_FORMAT, "%s: %s", conversion->name, cause);
    longjmp(conversion->failed, 1);
}

static void on_warning(png_structp png, png_const_charp cause)
{
    (void)png;
    (void)cause;
}

static enum syn_status read_header(struct conversion *conversion, size_t records)
{
    png_structp png = conversion->png;
    png_infop info = conversion->info;
    png_init_io(png, conversion->from);
    png_read_info(png, info);
    png_uint_32 width = png_get_image_width(png, info);
    png_uint_32 height = png_get_image_height(png, info);
    bool is_plain = png_get_bit_depth(png, info) == 8 &&
                    png_get_color_type(png, info) == PNG_COLOR_TYPE_RGB &&
                    png_get_interlace_type(png, info) == PNG_INTERLACE_NONE;
    if (width != ROW_PIXELS || height != records || !is_plain)
        return syn_report(SYN_FORMAT, "%s: a picture of %u x %u; expected %d x %zu, RGB of 8 bits",
                          conversion->name, (unsigned)width, (unsigned)height, ROW_PIXELS, records);
    return SYN_OK;
}

static enum syn_status convert_row(struct conversion *conversion, uint8_t label)
{
    png_read_row(conversion->png, conversion->row, NULL);
    conversion->record[0] = label;
    for (size_t i = 0; i < ROW_PIXELS; i++)
        for (size_t c = 0; c < 3; c++)
            conversion->record[1 + c * ROW_PIXELS + i] = conversion->row[3 * i + c];
    if (fwrite(conversion->record, sizeof conversion->record, 1, conversion->to) != 1)
        return syn_report(SYN_IO, "%s: cannot write: %s", conversion->name, strerror(errno));
    return SYN_OK;
}

static enum syn_status convert(struct conversion *conversion, const uint8_t *labels, size_t records)
{
    if (setjmp(conversion->failed))
        return SYN_FORMAT;
    SYN_TRY(read_header(conversion, records));
    for (size_t i = 0; i < records; i++)
        SYN_TRY(convert_row(conversion, labels[i]));
    png_read_end(conversion->png, NULL);
    return SYN_OK;
}

static enum syn_status open_png(struct conversion *conversion, const char *to)
{
    conversion->from = fopen(conversion->name, "rb");
    if (!conversion->from)
        return syn_report(SYN_IO, "%s: %s", conversion->name, strerror(errno));
    conversion->to = fopen(to, "wb");
    if (!conversion->to)
        return syn_report(SYN_IO, "%s: %s", to, strerror(errno));
    conversion->png =
        png_create_read_struct(PNG_LIBPNG_VER_STRING, conversion, on_error, on_warning);
    conversion->info = conversion->png ? png_create_info_struct(conversion->png) : NULL;
    return conversion->info ? SYN_OK : syn_report(SYN_MEMORY, "libpng cannot start");
}

enum syn_status syn_cifar_from_png(const char *png, const uint8_t *labels, size_t records,
                                   const char *to)
{
    struct conversion conversion = {.name = png};
    enum syn_status status = open_png(&conversion, to);
    if (status == SYN_OK)
        status = convert(&conversion, labels, records);
    png_destroy_read_struct(&conversion.png, &conversion.info, NULL);
    if (conversion.from)
        fclose(conversion.from);
    if (conversion.to && fclose(conversion.to) != 0 && status == SYN_OK)
        status = syn_report(SYN_IO, "%s: cannot write: %s", to, strerror(errno));
    return status;
}
