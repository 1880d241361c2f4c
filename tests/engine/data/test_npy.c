/* Arrays of one's own: what is read, and what is said of those that cannot be. */
#include "check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include <syncopate/engine/data.h>

#include "scratch.h"

enum { MOST = 65536 };

/* Without the zero at its end, which files do not have. */
static void put_text(const char *text, size_t length, uint8_t *to)
{
    for (size_t i = 0; i < length; i++)
        to[i] = (uint8_t)text[i];
}

/* A .npy file in memory; returns its length. */
static size_t make_npy(const char *header, const void *items, size_t bytes, uint8_t *to)
{
    size_t length = strlen(header);
    put_text("\x93NUMPY\x01\0", 8, to);
    to[8] = (uint8_t)length;
    to[9] = (uint8_t)(length >> 8);
    put_text(header, length, to + 10);
    memcpy(to + 10 + length, items, bytes);
    return 10 + length + bytes;
}

static void write_npy(const char *name, const char *type, const char *shape, const void *items,
                      size_t bytes)
{
    char header[128];
    static uint8_t file[MOST];
    snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }\n",
             type, shape);
    scratch_write(name, file, make_npy(header, items, bytes, file));
}

static enum syn_status open_as(const char *folder, const char *normalise, struct syn_data **data)
{
    struct syn_data_options options;
    syn_data_defaults(&options, "npy");
    options.normalise = normalise;
    snprintf(options.data_dir, sizeof options.data_dir, "%.250s", scratch_path(folder));
    return syn_data_open(&options, data);
}

static void expect_one_line(enum syn_status expected, const char *folder, const char *words)
{
    struct syn_data *data = NULL;
    scratch_log();
    assert_status(expected, open_as(folder, "usual", &data));
    const char *said = scratch_log();
    if (!strstr(said, words))
        fail_msg("\"%s\" is not in \"%s\"", words, said);
    assert_ptr_equal(strchr(said, '\n'), said + strlen(said) - 1);
}

/* 20 images of 2 x 3 x 4 bytes, of 4 classes, in a folder. */
static void write_images(const char *folder)
{
    char name[64];
    uint8_t x[20 * 24];
    int64_t y[20];
    for (size_t i = 0; i < sizeof x; i++)
        x[i] = (uint8_t)(i * 37);
    for (int i = 0; i < 20; i++)
        y[i] = i % 4;
    snprintf(name, sizeof name, "%s/x.npy", folder);
    write_npy(name, "|u1", "20, 2, 3, 4", x, sizeof x);
    snprintf(name, sizeof name, "%s/y.npy", folder);
    write_npy(name, "<i8", "20,", y, sizeof y);
}

static void shape_and_classes_come_from_the_arrays(void **state)
{
    (void)state;
    struct syn_data *data;
    write_images("images");
    assert_ok(open_as("images", "usual", &data));
    const struct syn_data_info *info = syn_data_info(data);
    assert_int_equal(info->channels, 2);
    assert_int_equal(info->height, 3);
    assert_int_equal(info->width, 4);
    assert_int_equal(info->outputs, 4);
    assert_int_equal(info->count[SYN_DATA_TRAIN], 18);
    assert_int_equal(info->count[SYN_DATA_TEST], 2);
    syn_data_close(data);
}

/* All examples of both parts, by the class and pixel that tell which they are. */
static void what_is_held_out_is_not_learnt_from_and_nothing_is_lost(void **state)
{
    (void)state;
    int seen[20] = {0};
    write_images("held");
    for (int part = 0; part < SYN_DATA_PARTS; part += SYN_DATA_TEST) {
        struct syn_data *data;
        struct syn_loader *loader;
        struct syn_batch batch;
        assert_ok(open_as("held", "none", &data));
        size_t count = syn_data_info(data)->count[part];
        struct syn_loader_options how = syn_loader_defaults((enum syn_data_part)part, count);
        assert_ok(syn_loader_open(data, &how, &loader));
        syn_loader_next(loader, &batch);
        for (size_t i = 0; i < count; i++)
            for (int k = 0; k < 20; k++)
                if (lrintf(batch.input[i * 24] * 255) == (uint8_t)(k * 24 * 37)) {
                    seen[k]++;
                    assert_int_equal(batch.labels[i], k % 4);
                }
        syn_loader_close(loader);
        syn_data_close(data);
    }
    for (int k = 0; k < 20; k++)
        assert_int_equal(seen[k], 1);
}

static void computed_normalisation_gives_mean_0_and_deviation_1(void **state)
{
    (void)state;
    struct syn_data *data;
    struct syn_loader *loader;
    struct syn_batch batch;
    write_images("norm");
    assert_ok(open_as("norm", "computed", &data));
    struct syn_loader_options how = syn_loader_defaults(SYN_DATA_TRAIN, 18);
    assert_ok(syn_loader_open(data, &how, &loader));
    syn_loader_next(loader, &batch);
    for (size_t c = 0; c < 2; c++) {
        double sum = 0;
        double squares = 0;
        for (size_t i = 0; i < 18; i++)
            for (size_t k = 0; k < 12; k++) {
                double value = (double)batch.input[i * 24 + c * 12 + k];
                sum += value;
                squares += value * value;
            }
        assert_true(fabs(sum / 216) < 1e-5);
        assert_true(fabs(squares / 216 - 1) < 1e-5);
    }
    syn_loader_close(loader);
    syn_data_close(data);
}

static void vectors_of_floats_are_taken_as_they_are(void **state)
{
    (void)state;
    struct syn_data *data;
    struct syn_loader *loader;
    struct syn_batch batch;
    const float x[6] = {1, -2.5F, 3e-7F, 4, 5, 6};
    const uint8_t y[2] = {1, 0};
    write_npy("vectors/x.npy", "<f4", "2, 3", x, sizeof x);
    write_npy("vectors/y.npy", "|u1", "2,", y, sizeof y);
    write_npy("vectors/x_test.npy", "<f4", "2, 3", x, sizeof x);
    write_npy("vectors/y_test.npy", "|u1", "2,", y, sizeof y);
    assert_ok(open_as("vectors", "usual", &data));
    assert_int_equal(syn_data_info(data)->width, 3);
    struct syn_loader_options how = syn_loader_defaults(SYN_DATA_TEST, 2);
    assert_ok(syn_loader_open(data, &how, &loader));
    syn_loader_next(loader, &batch);
    assert_memory_equal(batch.input, x, sizeof x);
    syn_loader_close(loader);
    syn_data_close(data);
}

static void arrays_that_cannot_be_are_refused_in_one_line(void **state)
{
    (void)state;
    const float nan_at_4[6] = {1, 2, 3, 4, NAN, 6};
    const uint8_t y[4] = {0, 1, 2, 3};
    const uint8_t x[24] = {0};
    const int16_t below[4] = {0, 1, -3, 1};
    uint8_t file[512];
    write_npy("bad/x.npy", "<f4", "2, 3", nan_at_4, sizeof nan_at_4);
    write_npy("bad/y.npy", "|u1", "2,", y, 2);
    expect_one_line(SYN_FORMAT, "bad", "x.npy: value 1 of example 1 is NaN");
    write_npy("bad/x.npy", ">f4", "2, 3", nan_at_4, sizeof nan_at_4);
    expect_one_line(SYN_FORMAT, "bad",
                    "big-endian items '>f4'; expected little-endian ones, as "
                    ".astype('<f4') makes");
    write_npy("bad/x.npy", "|u1", "4, 6", x, 24);
    write_npy("bad/y.npy", ">i8", "2,", x, 16);
    expect_one_line(SYN_FORMAT, "bad", "as .astype('<i8') makes");
    write_npy("bad/y.npy", "|u1", "2,", y, 2);
    size_t count =
        make_npy("{'descr': '|u1', 'fortran_order': True, 'shape': (4, 6), }", x, 24, file);
    scratch_write("bad/x.npy", file, count);
    expect_one_line(SYN_FORMAT, "bad", "Fortran order");
    write_npy("bad/x.npy", "<f8", "1, 3", x, 24);
    expect_one_line(SYN_FORMAT, "bad", "items f8; expected u1 (uint8) or f4 (float32)");
    write_npy("bad/x.npy", "|O", "2, 3", x, 24);
    expect_one_line(SYN_FORMAT, "bad", "items of type '|O'");
    write_npy("bad/x.npy", "|u1", "4, 7", x, 24);
    expect_one_line(SYN_FORMAT, "bad", "24 bytes of items; its header says 28: it is cut short");
    write_npy("bad/x.npy", "|u1", "24,", x, 24);
    expect_one_line(SYN_FORMAT, "bad", "shape (24); expected (count, width)");
    write_npy("bad/x.npy", "|u1", "4, 6", x, 24);
    expect_one_line(SYN_FORMAT, "bad", "y.npy: 2 items of type u1 in 1 dimensions; expected 4");
    write_npy("bad/y.npy", "<i2", "4,", below, sizeof below);
    expect_one_line(SYN_FORMAT, "bad", "y.npy: label -3 of example 2; expected 0 to");
    write_npy("bad/y.npy", "|u1", "4,", y, 4);
    write_npy("bad/x_test.npy", "|u1", "4, 5", x, 20);
    expect_one_line(SYN_FORMAT, "bad", "x_test.npy: uint8 examples of 1x1x5");
    write_npy("bad/x_test.npy", "|u1", "1, 6", x, 6);
    write_npy("bad/y_test.npy", "|u1", "1,", "\x09", 1);
    expect_one_line(SYN_FORMAT, "bad", "y_test.npy: label 9 of example 0; expected 0 to 3");
    scratch_write_text("bad/x.npy", "no array at all");
    expect_one_line(SYN_FORMAT, "bad", "not a .npy file");
    expect_one_line(SYN_INVALID, "nothing", "neither x.npy nor data.npz found");
    write_npy("half/x.npy", "|u1", "4, 6", x, 24);
    expect_one_line(SYN_INVALID, "half", "half/y.npy is missing; --data-dir must be a folder");
}

static void put(uint8_t *at, uint64_t value, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        at[i] = (uint8_t)(value >> 8 * i);
}

/* Append a file to an archive, deflated if asked for, with its entry of the directory kept
 * apart. */
struct archive {
    uint8_t bytes[MOST];
    size_t count;
    uint8_t directory[512];
    size_t directory_count;
    size_t entries;
};

static void add_file(struct archive *archive, const char *name, const uint8_t *bytes, size_t count,
                     bool deflates)
{
    uint8_t *local = archive->bytes + archive->count;
    uint8_t *entry = archive->directory + archive->directory_count;
    uint8_t *packed = local + 30 + strlen(name);
    z_stream stream = {.next_in = (z_const Bytef *)bytes,
                       .avail_in = (uInt)count,
                       .next_out = packed,
                       .avail_out = 8192};
    memset(local, 0, 30);
    memset(entry, 0, 46);
    size_t length = count;
    if (deflates) {
        assert_int_equal(deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY),
                         Z_OK);
        assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
        length = stream.total_out;
        deflateEnd(&stream);
    } else {
        memcpy(packed, bytes, count);
    }
    put(local, 0x04034b50, 4);
    put(local + 26, strlen(name), 2);
    put_text(name, strlen(name), local + 30);
    put(entry, 0x02014b50, 4);
    put(entry + 10, deflates ? 8 : 0, 2);
    put(entry + 16, crc32(0, bytes, (uInt)count), 4);
    put(entry + 20, length, 4);
    put(entry + 24, count, 4);
    put(entry + 28, strlen(name), 2);
    put(entry + 42, archive->count, 4);
    put_text(name, strlen(name), entry + 46);
    archive->count += 30 + strlen(name) + length;
    archive->directory_count += 46 + strlen(name);
    archive->entries++;
}

static void end_archive(struct archive *archive)
{
    uint8_t *end = archive->bytes + archive->count + archive->directory_count;
    memcpy(archive->bytes + archive->count, archive->directory, archive->directory_count);
    memset(end, 0, 22);
    put(end, 0x06054b50, 4);
    put(end + 10, archive->entries, 2);
    put(end + 16, archive->count, 4);
    archive->count += archive->directory_count + 22;
}

static void an_archive_is_read_stored_and_deflated(void **state)
{
    (void)state;
    static struct archive archive;
    uint64_t hashes[2];
    uint8_t x[40 * 9];
    uint8_t y[40];
    uint8_t file[2][1024];
    for (size_t i = 0; i < sizeof x; i++)
        x[i] = (uint8_t)(i / 3);
    for (size_t i = 0; i < 40; i++)
        y[i] = (uint8_t)(i % 3);
    size_t xs = make_npy("{'descr': '|u1', 'fortran_order': False, 'shape': (40, 3, 3), }", x,
                         sizeof x, file[0]);
    size_t ys = make_npy("{'descr': '|u1', 'fortran_order': False, 'shape': (40,), }", y, sizeof y,
                         file[1]);
    for (int deflates = 0; deflates < 2; deflates++) {
        struct syn_data *data;
        memset(&archive, 0, sizeof archive);
        add_file(&archive, "x.npy", file[0], xs, deflates);
        add_file(&archive, "y.npy", file[1], ys, deflates);
        end_archive(&archive);
        scratch_write("zipped/data.npz", archive.bytes, archive.count);
        assert_ok(open_as("zipped", "usual", &data));
        assert_int_equal(syn_data_info(data)->count[SYN_DATA_TRAIN], 36);
        hashes[deflates] = syn_data_fingerprint(data);
        syn_data_close(data);
        assert_ok(open_as("zipped/data.npz", "usual", &data));
        syn_data_close(data);
    }
    assert_true(hashes[0] == hashes[1]);
    archive.bytes[30 + 5 + 20] ^= 1;
    scratch_write("zipped/data.npz", archive.bytes, archive.count);
    expect_one_line(SYN_FORMAT, "zipped", "data.npz: x.npy");
    scratch_write("zipped/data.npz", archive.bytes, archive.count - 30);
    expect_one_line(SYN_FORMAT, "zipped", "not a zip archive");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shape_and_classes_come_from_the_arrays),
        cmocka_unit_test(what_is_held_out_is_not_learnt_from_and_nothing_is_lost),
        cmocka_unit_test(computed_normalisation_gives_mean_0_and_deviation_1),
        cmocka_unit_test(vectors_of_floats_are_taken_as_they_are),
        cmocka_unit_test(arrays_that_cannot_be_are_refused_in_one_line),
        cmocka_unit_test(an_archive_is_read_stored_and_deflated),
    };
    return cmocka_run_group_tests(tests, scratch_begin, scratch_end);
}
