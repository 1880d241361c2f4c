/* CIFAR-10's binary version, and the way to it from PNGs. */
#include "check.h"

#include <png.h>
#include <string.h>

#include "engine/data/cifar.h"
#include "scratch.h"

#define RECORDS 3

static uint8_t file[RECORDS * SYN_CIFAR_RECORD + 1];

static void records_read_back_as_written(void **state)
{
    (void)state;
    struct syn_span span;
    int32_t labels[RECORDS];
    for (size_t i = 0; i < RECORDS; i++) {
        file[i * SYN_CIFAR_RECORD] = (uint8_t)(9 - i);
        file[(i + 1) * SYN_CIFAR_RECORD - 1] = (uint8_t)(100 + i);
    }
    assert_ok(syn_cifar_read("f", file, RECORDS * SYN_CIFAR_RECORD, RECORDS, &span, labels));
    for (size_t i = 0; i < RECORDS; i++) {
        assert_int_equal(labels[i], 9 - (int)i);
        assert_int_equal(span.pixels[i * span.stride + SYN_CIFAR_PIXELS - 1], 100 + (int)i);
    }
}

static void a_byte_more_or_less_or_a_record_less_is_refused(void **state)
{
    (void)state;
    struct syn_span span;
    int32_t labels[RECORDS];
    const size_t right = sizeof file - 1;
    const size_t wrong[] = {0, 1, right - 1, right + 1, right - SYN_CIFAR_RECORD};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_status(SYN_FORMAT, syn_cifar_read("f", file, wrong[i], RECORDS, &span, labels));
}

static void a_label_above_nine_is_refused(void **state)
{
    (void)state;
    struct syn_span span;
    int32_t labels[RECORDS];
    file[2 * SYN_CIFAR_RECORD] = 10;
    assert_status(SYN_FORMAT, syn_cifar_read("f", file, sizeof file - 1, RECORDS, &span, labels));
    assert_non_null(strstr(syn_error_text(), "label 10 of example 2"));
}

static enum syn_status read_json(const char *text, uint8_t labels[3])
{
    return syn_cifar_read_json("f", (const uint8_t *)text, strlen(text), 3, labels);
}

static void label_lists_are_read_strictly(void **state)
{
    (void)state;
    static const char *const bad[] = {"",         "[",        "[1,2]",   "[1,2,3",   "[1,2,3,4]",
                                      "1,2,3",    "[1,2,3]x", "[1,,3]",  "[1,2,13]", "[1,2,-3]",
                                      "[1,2,3],", "[[1,2,3]", "[1 2 3]", "[1,2,a]",  "null"};
    uint8_t labels[3];
    assert_ok(read_json("[1,0,9]", labels));
    assert_int_equal(labels[0], 1);
    assert_int_equal(labels[2], 9);
    assert_ok(read_json(" [ 1 ,\n0,\t9 ] \n", labels));
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_status(SYN_FORMAT, read_json(bad[i], labels));
}

/* A PNG whose pixel x of row y has red x + y, green x * y, blue 7. */
static void write_png(const char *path, uint32_t width, uint32_t height, png_uint_32 format)
{
    static uint8_t pixels[2048 * 4 * 4];
    png_image image = {
        .version = PNG_IMAGE_VERSION, .width = width, .height = height, .format = format};
    size_t each = PNG_IMAGE_SAMPLE_CHANNELS(format);
    for (size_t y = 0; y < height; y++) {
        for (size_t x = 0; x < width; x++) {
            uint8_t *pixel = pixels + (y * width + x) * each;
            memset(pixel, 7, each);
            pixel[0] = (uint8_t)(x + y);
            if (each > 2)
                pixel[1] = (uint8_t)(x * y);
        }
    }
    assert_true(png_image_write_to_file(&image, path, 0, pixels, 0, NULL));
}

static void a_png_becomes_planes_of_colour_behind_the_label(void **state)
{
    (void)state;
    static const uint8_t labels[RECORDS] = {4, 5, 6};
    static uint8_t record[SYN_CIFAR_RECORD];
    write_png(scratch_path("a.png"), 1024, RECORDS, PNG_FORMAT_RGB);
    assert_ok(syn_cifar_from_png(scratch_path("a.png"), labels, RECORDS, scratch_path("a.bin")));
    FILE *bin = fopen(scratch_path("a.bin"), "rb");
    assert_non_null(bin);
    for (size_t y = 0; y < RECORDS; y++) {
        assert_int_equal(fread(record, sizeof record, 1, bin), 1);
        assert_int_equal(record[0], labels[y]);
        for (size_t x = 0; x < 1024; x++) {
            assert_int_equal(record[1 + x], (uint8_t)(x + y));
            assert_int_equal(record[1 + 1024 + x], (uint8_t)(x * y));
            assert_int_equal(record[1 + 2048 + x], 7);
        }
    }
    assert_int_equal(fgetc(bin), EOF);
    fclose(bin);
}

static void pictures_of_another_shape_or_kind_are_refused(void **state)
{
    (void)state;
    static const uint8_t labels[RECORDS] = {0};
    const char *to = scratch_path("b.bin");
    write_png(scratch_path("b.png"), 1024, RECORDS - 1, PNG_FORMAT_RGB);
    assert_status(SYN_FORMAT, syn_cifar_from_png(scratch_path("b.png"), labels, RECORDS, to));
    write_png(scratch_path("b.png"), 1023, RECORDS, PNG_FORMAT_RGB);
    assert_status(SYN_FORMAT, syn_cifar_from_png(scratch_path("b.png"), labels, RECORDS, to));
    write_png(scratch_path("b.png"), 1024, RECORDS, PNG_FORMAT_GRAY);
    assert_status(SYN_FORMAT, syn_cifar_from_png(scratch_path("b.png"), labels, RECORDS, to));
    write_png(scratch_path("b.png"), 1024, RECORDS, PNG_FORMAT_RGBA);
    assert_status(SYN_FORMAT, syn_cifar_from_png(scratch_path("b.png"), labels, RECORDS, to));
    scratch_write_text("b.png", "this is no picture at all");
    assert_status(SYN_FORMAT, syn_cifar_from_png(scratch_path("b.png"), labels, RECORDS, to));
    assert_status(SYN_IO, syn_cifar_from_png(scratch_path("none.png"), labels, RECORDS, to));
}

static void a_png_cut_anywhere_is_refused(void **state)
{
    (void)state;
    static const uint8_t labels[RECORDS] = {0};
    static uint8_t bytes[1 << 16];
    write_png(scratch_path("c.png"), 1024, RECORDS, PNG_FORMAT_RGB);
    FILE *whole = fopen(scratch_path("c.png"), "rb");
    assert_non_null(whole);
    size_t count = fread(bytes, 1, sizeof bytes, whole);
    fclose(whole);
    for (size_t cut = 0; cut < count; cut += 61) {
        scratch_write("c.png", bytes, cut);
        assert_status(SYN_FORMAT, syn_cifar_from_png(scratch_path("c.png"), labels, RECORDS,
                                                     scratch_path("c.bin")));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_read_back_as_written),
        cmocka_unit_test(a_byte_more_or_less_or_a_record_less_is_refused),
        cmocka_unit_test(a_label_above_nine_is_refused),
        cmocka_unit_test(label_lists_are_read_strictly),
        cmocka_unit_test(a_png_becomes_planes_of_colour_behind_the_label),
        cmocka_unit_test(pictures_of_another_shape_or_kind_are_refused),
        cmocka_unit_test(a_png_cut_anywhere_is_refused),
    };
    return cmocka_run_group_tests(tests, scratch_begin, scratch_end);
}
