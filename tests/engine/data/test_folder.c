/* Folders of pictures: what is found, what a batch holds, and what becomes of files that cannot be
 * read. */
#include "check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jpeglib.h> /* needs stdio.h before it */
#include <png.h>

#include <syncopate/engine/data.h>

#include "engine/data/pictures.h"
#include "scratch.h"

enum { SIDE = 16, MOST = 65536 };

/* A JPEG of one colour, or of four channels if channels is 4; returns its length. */
static size_t make_jpeg(int width, int height, int channels, uint8_t value, uint8_t *to)
{
    struct jpeg_compress_struct jpeg;
    struct jpeg_error_mgr errors;
    unsigned char *bytes = NULL;
    unsigned long count = 0;
    uint8_t row[4 * 256];
    JSAMPROW rows[] = {row};
    memset(row, value, sizeof row);
    jpeg.err = jpeg_std_error(&errors);
    jpeg_create_compress(&jpeg);
    jpeg_mem_dest(&jpeg, &bytes, &count);
    jpeg.image_width = (JDIMENSION)width;
    jpeg.image_height = (JDIMENSION)height;
    jpeg.input_components = channels;
    jpeg.in_color_space = channels == 4 ? JCS_CMYK : channels == 3 ? JCS_RGB : JCS_GRAYSCALE;
    jpeg_set_defaults(&jpeg);
    jpeg_set_quality(&jpeg, 100, TRUE);
    jpeg_start_compress(&jpeg, TRUE);
    while (jpeg.next_scanline < jpeg.image_height)
        jpeg_write_scanlines(&jpeg, rows, 1);
    jpeg_finish_compress(&jpeg);
    jpeg_destroy_compress(&jpeg);
    assert_true(count < MOST);
    memcpy(to, bytes, count);
    free(bytes);
    return count;
}

static void write_jpeg(const char *name, int width, int height, int channels, uint8_t value)
{
    static uint8_t file[MOST];
    scratch_write(name, file, make_jpeg(width, height, channels, value, file));
}

static void write_png(const char *name, bool has_16_bits)
{
    static const uint16_t deep[SIDE * SIDE] = {0};
    static const uint8_t grey[SIDE * SIDE] = {7, 9};
    png_image image = {.version = PNG_IMAGE_VERSION,
                       .width = SIDE,
                       .height = SIDE,
                       .format = has_16_bits ? PNG_FORMAT_LINEAR_Y : PNG_FORMAT_GRAY};
    scratch_write_text(name, "");
    assert_true(png_image_write_to_file(&image, scratch_path(name), 0,
                                        has_16_bits ? (const void *)deep : grey, 0, NULL));
}

/* Ten pictures of each of two classes, brighter from one to the next, and two of each to test
 * on. */
static void write_folder(const char *folder)
{
    char name[96];
    for (int i = 0; i < 24; i++) {
        const char *part = i < 20 ? "train" : "val";
        snprintf(name, sizeof name, "%s/%s/%s/%02d.%s", folder, part, i % 2 ? "dog" : "cat", i,
                 i % 3 ? "jpg" : "JPEG");
        write_jpeg(name, 20 + i, 30, i % 5 ? 3 : 1, (uint8_t)(10 * i));
    }
}

static enum syn_status open_folder(const char *folder, struct syn_data **data)
{
    struct syn_data_options options;
    syn_data_defaults(&options, "folder");
    options.image_size = SIDE;
    options.normalise = "none";
    options.hold_out = 0.25;
    snprintf(options.data_dir, sizeof options.data_dir, "%.250s", scratch_path(folder));
    return syn_data_open(&options, data);
}

static void classes_are_the_folders_in_the_order_of_their_names(void **state)
{
    (void)state;
    struct syn_data *data;
    write_folder("plain");
    assert_ok(open_folder("plain", &data));
    const struct syn_data_info *info = syn_data_info(data);
    assert_int_equal(info->outputs, 2);
    assert_string_equal(info->names[0], "cat");
    assert_string_equal(info->names[1], "dog");
    assert_int_equal(info->count[SYN_DATA_TRAIN], 20);
    assert_int_equal(info->count[SYN_DATA_TEST], 4);
    assert_int_equal(info->channels, 3);
    assert_int_equal(info->height, SIDE);
    syn_data_close(data);
}

/* Count how often each picture, told by its brightness, is seen in an epoch by these workers. */
static void see_all(const struct syn_data *data, size_t workers, size_t threads, int seen[24])
{
    for (size_t worker = 0; worker < workers; worker++) {
        struct syn_loader_options how = syn_loader_defaults(SYN_DATA_TRAIN, 3);
        struct syn_loader *loader;
        struct syn_batch batch;
        how.worker = worker;
        how.workers = workers;
        how.threads = threads;
        how.augment = true;
        assert_ok(syn_loader_open(data, &how, &loader));
        do {
            syn_loader_next(loader, &batch);
            for (size_t i = 0; i < batch.count; i++) {
                int which = (int)lrintf(batch.input[i * 3 * SIDE * SIDE] * 255 / 10);
                seen[which]++;
                assert_int_equal(batch.labels[i], which % 2);
            }
        } while (!batch.is_last);
        syn_loader_close(loader);
    }
}

static void every_picture_is_seen_once_an_epoch(void **state)
{
    (void)state;
    struct syn_data *data;
    write_folder("once");
    assert_ok(open_folder("once", &data));
    for (size_t workers = 1; workers <= 3; workers++) {
        int seen[26] = {0};
        see_all(data, workers, 1 + workers % 2, seen);
        for (int i = 0; i < 26; i++)
            assert_int_equal(seen[i], i < 20);
    }
    syn_data_close(data);
}

static void batches_are_the_same_on_any_number_of_threads_and_after_a_seek(void **state)
{
    (void)state;
    struct syn_data *data;
    float *first = malloc(30 * sizeof(float) * 3 * SIDE * SIDE * 2);
    size_t values = (size_t)2 * 3 * SIDE * SIDE;
    assert_non_null(first);
    write_folder("same");
    assert_ok(open_folder("same", &data));
    for (size_t threads = 1; threads <= 5; threads += 2) {
        struct syn_loader_options how = syn_loader_defaults(SYN_DATA_TRAIN, 2);
        struct syn_loader *loader;
        struct syn_batch batch;
        how.threads = threads;
        how.augment = true;
        assert_ok(syn_loader_open(data, &how, &loader));
        for (size_t i = 0; i < 30; i++) {
            syn_loader_next(loader, &batch);
            if (threads == 1)
                memcpy(first + i * values, batch.input, values * sizeof(float));
            assert_memory_equal(first + i * values, batch.input, values * sizeof(float));
        }
        assert_ok(syn_loader_seek(loader, (struct syn_loader_position){1, 3}));
        syn_loader_next(loader, &batch);
        assert_memory_equal(first + 13 * values, batch.input, values * sizeof(float));
        syn_loader_close(loader);
    }
    syn_data_close(data);
    free(first);
}

static void odd_files_are_named_counted_and_left_out(void **state)
{
    (void)state;
    static uint8_t file[MOST];
    struct syn_data *data;
    int seen[26] = {0};
    write_folder("odd");
    size_t count = make_jpeg(200, 200, 3, 90, file);
    scratch_write("odd/train/cat/cut.jpg", file, count / 2);
    write_jpeg("odd/train/cat/print.jpg", 20, 20, 4, 3);
    write_png("odd/train/dog/deep.png", true);
    scratch_write_text("odd/train/dog/text.jpg", "not a picture");
    scratch_write_text("odd/train/dog/empty.jpg", "");
    scratch_write_text("odd/train/dog/readme.txt", "no picture by its name");
    scratch_log();
    assert_ok(open_folder("odd", &data));
    assert_int_equal(syn_data_info(data)->count[SYN_DATA_TRAIN], 25);
    assert_non_null(strstr(scratch_log(), "skipped 1 files"));
    see_all(data, 1, 1, seen);
    for (int i = 0; i < 26; i++)
        assert_int_equal(seen[i], i < 20);
    see_all(data, 1, 1, seen);
    const char *said = scratch_log();
    assert_non_null(strstr(said, "odd/train/cat/cut.jpg is left out: damaged JPEG"));
    assert_non_null(strstr(said, "cat/print.jpg is left out: a JPEG of 4 channels (CMYK)"));
    assert_non_null(strstr(said, "dog/deep.png is left out: a PNG of 16 bits"));
    assert_non_null(strstr(said, "dog/text.jpg is left out: neither JPEG nor PNG"));
    assert_non_null(strstr(said, "dog/empty.jpg is left out: an empty file"));
    size_t lines = 0;
    for (const char *at = said; *at; at++)
        lines += *at == '\n';
    assert_int_equal(lines, 5);
    syn_data_close(data);
    assert_non_null(strstr(scratch_log(), "5 examples could not be read and were left out"));
}

static void a_share_is_held_out_where_there_is_no_val(void **state)
{
    (void)state;
    struct syn_data *data;
    uint64_t hashes[2];
    for (int i = 0; i < 20; i++) {
        char name[64];
        snprintf(name, sizeof name, "held/%s/deep/er/%d.jpg", i % 2 ? "b" : "a", i);
        write_jpeg(name, 18, 18, 3, (uint8_t)i);
    }
    for (int i = 0; i < 2; i++) {
        assert_ok(open_folder("held", &data));
        assert_int_equal(syn_data_info(data)->count[SYN_DATA_TRAIN], 15);
        assert_int_equal(syn_data_info(data)->count[SYN_DATA_TEST], 5);
        hashes[i] = syn_data_fingerprint(data);
        syn_data_close(data);
    }
    assert_true(hashes[0] == hashes[1]);
}

static void expect_one_line(enum syn_status expected, const char *folder, const char *words)
{
    struct syn_data *data = NULL;
    scratch_log();
    assert_status(expected, open_folder(folder, &data));
    const char *said = scratch_log();
    if (!strstr(said, words))
        fail_msg("\"%s\" is not in \"%s\"", words, said);
}

static void folders_that_cannot_be_are_refused(void **state)
{
    (void)state;
    write_folder("bad");
    scratch_write_text("bad/train/empty/note.txt", "");
    expect_one_line(SYN_FORMAT, "bad", "bad/train/empty: a class without pictures");
    write_jpeg("bad/train/empty/1.jpg", 20, 20, 3, 1);
    write_jpeg("bad/val/zebra/1.jpg", 20, 20, 3, 1);
    expect_one_line(SYN_FORMAT, "bad", "val/zebra: not a class of the training part, which has 3");
    expect_one_line(SYN_INVALID, "no-such-folder", "no-such-folder is missing");
    scratch_write_text("files/train/1.txt", "");
    expect_one_line(SYN_FORMAT, "files", "files/train: contains no folders");
    scratch_write_text("junk/train/a/1.jpg", "junk");
    scratch_write_text("junk/train/b/1.jpg", "junk");
    expect_one_line(SYN_FORMAT, "junk", "none of the first 2 pictures can be read");
}

/* As Tiny-ImageNet has it: pictures of val lie together, and a table has their classes. */
static void a_table_may_have_the_classes_of_val(void **state)
{
    (void)state;
    struct syn_data *data;
    struct syn_loader *loader;
    struct syn_batch batch;
    char name[64];
    for (int i = 0; i < 8; i++) {
        snprintf(name, sizeof name, "tiny/train/%s/images/%d.JPEG", i % 2 ? "n2" : "n1", i);
        write_jpeg(name, 20, 20, 3, 10);
        snprintf(name, sizeof name, "tiny/val/images/val_%d.JPEG", i);
        if (i < 3)
            write_jpeg(name, 20, 20, 3, (uint8_t)(10 * i));
    }
    scratch_write_text("tiny/train/n1/n1_boxes.txt", "");
    scratch_write_text("tiny/val/val_annotations.txt",
                       "val_1.JPEG\tn2\t0\t32\t44\t62\nval_0.JPEG n1\r\n\n"
                       "val_9.JPEG\tn1\t0\t0\t9\t9\nval_2.JPEG\tn2");
    scratch_log();
    assert_ok(open_folder("tiny", &data));
    assert_non_null(strstr(scratch_log(), "val/images/val_9.JPEG is left out: No such file"));
    assert_int_equal(syn_data_info(data)->count[SYN_DATA_TRAIN], 8);
    assert_int_equal(syn_data_info(data)->count[SYN_DATA_TEST], 3);
    struct syn_loader_options how = syn_loader_defaults(SYN_DATA_TEST, 3);
    assert_ok(syn_loader_open(data, &how, &loader));
    syn_loader_next(loader, &batch);
    const int32_t labels[] = {1, 0, 1};
    const long brightness[] = {10, 0, 20};
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(batch.labels[i], labels[i]);
        assert_int_equal(lrintf(batch.input[i * 3 * SIDE * SIDE] * 255), brightness[i]);
    }
    syn_loader_close(loader);
    syn_data_close(data);
}

static void a_table_that_cannot_be_is_refused_with_its_line(void **state)
{
    (void)state;
    static const char *const tables[][2] = {
        {"val_0.JPEG cat\nval_0.JPEG\n", "val_annotations.txt:2: expected the name of a picture"},
        {"val_0.JPEG zebra\n", "val_annotations.txt:1: zebra: not a class of the training part"},
        {"../../secret.jpg cat\n", ":1: \"../../secret.jpg\"; expected the name of a picture"},
        {"\nsub/one.jpg cat\n", ":2: \"sub/one.jpg\"; expected the name of a picture, not a path"},
        {"gone.jpg cat\n", "none of its 1 lines names an existing picture"},
        {"", "none of its 0 lines"},
    };
    write_folder("table");
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        scratch_write_text("table/val/val_annotations.txt", tables[i][0]);
        expect_one_line(SYN_FORMAT, "table", tables[i][1]);
    }
}

static void a_grey_png_becomes_three_equal_channels(void **state)
{
    (void)state;
    struct syn_picture picture = {0};
    uint8_t bytes[4096];
    char why[SYN_WHY_BYTES];
    write_png("grey.png", false);
    FILE *file = fopen(scratch_path("grey.png"), "rb");
    assert_non_null(file);
    size_t count = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    assert_true(syn_picture_decode(bytes, count, &picture, why));
    const uint8_t expected[] = {7, 7, 7, 9, 9, 9, 0, 0, 0};
    assert_memory_equal(picture.pixels, expected, sizeof expected);
    assert_false(syn_picture_decode(bytes, count - 20, &picture, why));
    assert_non_null(strstr(why, "damaged PNG: it is cut short"));
    syn_picture_free(&picture);
}

/* What PIL 9.4 makes of a row 0, 10, ..., 90 in `Image.resize((4, 1), BILINEAR)`, and of one of 4
 * in 6. */
static void resizing_gives_the_bytes_of_pil(void **state)
{
    (void)state;
    struct syn_resizer resizer = {0};
    uint8_t from[30];
    uint8_t to[18];
    const uint8_t smaller[] = {10, 32, 58, 80};
    const uint8_t larger[] = {0, 5, 12, 18, 25, 30};
    for (size_t i = 0; i < 30; i++)
        from[i] = (uint8_t)(10 * (i / 3));
    assert_true(syn_resize(&resizer, from, 30, (struct syn_axis){10, 4, 0, 4},
                           (struct syn_axis){1, 1, 0, 1}, to));
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(to[3 * i], smaller[i]);
    assert_true(syn_resize(&resizer, from, 30, (struct syn_axis){4, 6, 0, 6},
                           (struct syn_axis){1, 1, 0, 1}, to));
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(to[3 * i + 2], larger[i]);
    syn_resizer_free(&resizer);
}

static void packed_pictures_give_the_batches_of_the_folder(void **state)
{
    (void)state;
    struct syn_data *data[2];
    char from[SCRATCH_PATH];
    struct syn_data_options options;
    write_folder("pack");
    scratch_write_text("pack/train/cat/bad.jpg", "junk");
    snprintf(from, sizeof from, "%s", scratch_path("pack"));
    assert_ok(syn_data_pack(from, SIDE, scratch_path("pack.syn"), NULL, NULL));
    for (size_t i = 0; i < 2; i++) {
        syn_data_defaults(&options, "folder");
        options.image_size = options.image_resize = SIDE;
        snprintf(options.data_dir, sizeof options.data_dir, "%.250s",
                 scratch_path(i ? "pack.syn" : "pack"));
        assert_ok(syn_data_open(&options, &data[i]));
    }
    assert_int_equal(syn_data_info(data[0])->count[SYN_DATA_TRAIN], 21);
    assert_int_equal(syn_data_info(data[1])->count[SYN_DATA_TRAIN], 20);
    assert_string_equal(syn_data_info(data[1])->names[1], "dog");
    struct syn_loader_options how = syn_loader_defaults(SYN_DATA_TEST, 4);
    struct syn_loader *loaders[2];
    struct syn_batch batches[2];
    for (size_t i = 0; i < 2; i++) {
        assert_ok(syn_loader_open(data[i], &how, &loaders[i]));
        syn_loader_next(loaders[i], &batches[i]);
    }
    assert_memory_equal(batches[0].input, batches[1].input, 4 * sizeof(float) * 3 * SIDE * SIDE);
    assert_memory_equal(batches[0].labels, batches[1].labels, 4 * sizeof(int32_t));
    for (size_t i = 0; i < 2; i++) {
        syn_loader_close(loaders[i]);
        syn_data_close(data[i]);
    }
    assert_ok(syn_data_check(&options, NULL, NULL));
}

static void a_damaged_pack_is_refused_with_its_sum(void **state)
{
    (void)state;
    char from[SCRATCH_PATH];
    struct syn_data_options options;
    static uint8_t bytes[MOST];
    write_folder("sum");
    snprintf(from, sizeof from, "%s", scratch_path("sum"));
    assert_ok(syn_data_pack(from, SIDE, scratch_path("sum.syn"), NULL, NULL));
    FILE *file = fopen(scratch_path("sum.syn"), "rb");
    assert_non_null(file);
    size_t count = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    syn_data_defaults(&options, "folder");
    options.image_size = SIDE;
    snprintf(options.data_dir, sizeof options.data_dir, "%.250s", scratch_path("sum.syn"));
    bytes[300] ^= 1; /* of a pixel */
    scratch_write("sum.syn", bytes, count);
    assert_status(SYN_FORMAT, syn_data_check(&options, NULL, NULL));
    assert_non_null(strstr(syn_error_text(), "the hash of its pixels"));
    bytes[66] ^= 1;
    scratch_write("sum.syn", bytes, count);
    expect_one_line(SYN_FORMAT, "sum.syn", "the hash of its index");
    scratch_write("sum.syn", bytes, count - 5);
    expect_one_line(SYN_FORMAT, "sum.syn", "it is cut short");
    scratch_write("sum.syn", bytes, 9);
    expect_one_line(SYN_FORMAT, "sum.syn", "not a file of packed pictures");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(classes_are_the_folders_in_the_order_of_their_names),
        cmocka_unit_test(every_picture_is_seen_once_an_epoch),
        cmocka_unit_test(batches_are_the_same_on_any_number_of_threads_and_after_a_seek),
        cmocka_unit_test(odd_files_are_named_counted_and_left_out),
        cmocka_unit_test(a_share_is_held_out_where_there_is_no_val),
        cmocka_unit_test(folders_that_cannot_be_are_refused),
        cmocka_unit_test(a_table_may_have_the_classes_of_val),
        cmocka_unit_test(a_table_that_cannot_be_is_refused_with_its_line),
        cmocka_unit_test(a_grey_png_becomes_three_equal_channels),
        cmocka_unit_test(resizing_gives_the_bytes_of_pil),
        cmocka_unit_test(packed_pictures_give_the_batches_of_the_folder),
        cmocka_unit_test(a_damaged_pack_is_refused_with_its_sum),
    };
    return cmocka_run_group_tests(tests, scratch_begin, scratch_end);
}
