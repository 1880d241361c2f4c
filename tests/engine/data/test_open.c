/* Opening sets from files: where they are found, and what is said of those that are not as they
 * should be. */
#include "check.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <syncopate/engine/data.h>

#include "engine/data/cifar.h"
#include "scratch.h"

static enum syn_status open_in(const char *name, const char *folder, struct syn_data **data)
{
    struct syn_data_options options;
    syn_data_defaults(&options, name);
    snprintf(options.data_dir, sizeof options.data_dir, "%.250s", scratch_path(folder));
    return syn_data_open(&options, data);
}

/* Opening fails with exactly one line, which has these words. */
static void expect_one_line(enum syn_status expected, const char *name, const char *folder,
                            const char *words)
{
    struct syn_data *data = NULL;
    scratch_log();
    assert_status(expected, open_in(name, folder, &data));
    assert_null(data);
    const char *said = scratch_log();
    assert_non_null(strstr(said, words));
    assert_ptr_equal(strchr(said, '\n'), said + strlen(said) - 1);
}

static void every_row_has_a_name_and_a_line(void **state)
{
    (void)state;
    size_t count = 0;
    for (; syn_data_name(count); count++)
        assert_non_null(syn_data_help(count));
    assert_int_equal(count, 8);
    assert_null(syn_data_help(count));
}

static void a_set_is_found_under_the_root_and_in_the_root(void **state)
{
    (void)state;
    struct syn_data *data;
    scratch_write_idx_set("root/mnist", 20, 7);
    assert_ok(open_in("mnist", "root", &data));
    const struct syn_data_info *info = syn_data_info(data);
    assert_string_equal(info->name, "mnist");
    assert_int_equal(info->kind, SYN_DATA_IMAGES);
    assert_int_equal(info->channels, 1);
    assert_int_equal(info->height, 6);
    assert_int_equal(info->width, 5);
    assert_int_equal(info->outputs, 10);
    assert_int_equal(info->count[SYN_DATA_TRAIN], 20);
    assert_int_equal(info->count[SYN_DATA_VALID], 0);
    assert_int_equal(info->count[SYN_DATA_TEST], 7);
    syn_data_close(data);
    assert_ok(open_in("mnist", "root/mnist", &data));
    syn_data_close(data);
    assert_true(syn_data_is_there("mnist", scratch_path("root")));
    assert_false(syn_data_is_there("mnist", scratch_path("nowhere")));
}

static void the_environment_names_the_root(void **state)
{
    (void)state;
    struct syn_data_options options;
    struct syn_data *data;
    scratch_write_idx_set("env/mnist", 3, 3);
    syn_data_defaults(&options, "mnist");
    setenv("SYNCOPATE_DATA", scratch_path("env"), 1);
    assert_ok(syn_data_open(&options, &data));
    unsetenv("SYNCOPATE_DATA");
    syn_data_close(data);
}

static void gzipped_files_are_read_as_well(void **state)
{
    (void)state;
    struct syn_data *data;
    uint8_t bytes[16 + 9 * 30];
    scratch_write_idx_set("packed/mnist", 9, 9);
    size_t count = scratch_idx_images(9, 6, 5, bytes);
    assert_int_equal(unlink(scratch_path("packed/mnist/train-images-idx3-ubyte")), 0);
    scratch_write_gzip("packed/mnist/train-images-idx3-ubyte.gz", bytes, count);
    assert_ok(open_in("mnist", "packed", &data));
    struct syn_loader_options how = syn_loader_defaults(SYN_DATA_TEST, 9);
    struct syn_loader *loader;
    struct syn_batch batch;
    assert_ok(syn_loader_open(data, &how, &loader));
    syn_loader_next(loader, &batch);
    float expected = ((float)scratch_pixel(8, 29) / 255 - 0.1307F) / 0.3081F;
    assert_true(batch.input[9 * 30 - 1] - expected < 1e-5F &&
                expected - batch.input[9 * 30 - 1] < 1e-5F);
    syn_loader_close(loader);
    syn_data_close(data);
    scratch_write("packed/mnist/train-images-idx3-ubyte.gz", "\x1f\x8b\x08\0garbage", 11);
    expect_one_line(SYN_FORMAT, "mnist", "packed", "train-images-idx3-ubyte.gz: damaged");
}

static void a_missing_file_is_named(void **state)
{
    (void)state;
    expect_one_line(SYN_INVALID, "mnist", "none", "none/mnist/train-images-idx3-ubyte is missing");
    scratch_write_idx_set("some/mnist", 4, 4);
    assert_int_equal(unlink(scratch_path("some/mnist/t10k-labels-idx1-ubyte")), 0);
    expect_one_line(SYN_INVALID, "mnist", "some", "t10k-labels-idx1-ubyte is missing");
    expect_one_line(SYN_INVALID, "cifar10", "none", "data_batch_1.bin is missing");
    expect_one_line(SYN_INVALID, "text", "none", "ptb.train.txt is missing");
    expect_one_line(SYN_INVALID, "brown", "none", "ptb.train.txt is missing");
}

static void files_that_do_not_belong_together_are_refused(void **state)
{
    (void)state;
    uint8_t bytes[16 + 4 * 30];
    scratch_write_idx_set("odd/mnist", 4, 4);
    scratch_write("odd/mnist/train-labels-idx1-ubyte", bytes, scratch_idx_labels(3, bytes));
    expect_one_line(SYN_FORMAT, "mnist", "odd", "3 labels for 4 images");
    scratch_write_idx_set("odd/mnist", 4, 4);
    scratch_write("odd/mnist/t10k-images-idx3-ubyte", bytes, scratch_idx_images(4, 5, 6, bytes));
    expect_one_line(SYN_FORMAT, "mnist", "odd", "images of 5 x 6");
    scratch_write_idx_set("odd/mnist", 4, 4);
    size_t count = scratch_idx_labels(4, bytes);
    bytes[8 + 2] = 200;
    scratch_write("odd/mnist/t10k-labels-idx1-ubyte", bytes, count);
    expect_one_line(SYN_FORMAT, "mnist", "odd", "label 200 of example 2");
    scratch_write("odd/mnist/t10k-labels-idx1-ubyte", bytes, 0);
    expect_one_line(SYN_FORMAT, "mnist", "odd", "t10k-labels-idx1-ubyte: 0 bytes");
}

static void a_folder_in_place_of_a_file_is_refused(void **state)
{
    (void)state;
    scratch_write_text("folder/mnist/train-images-idx3-ubyte/x", "");
    expect_one_line(SYN_INVALID, "mnist", "folder", "not a regular file");
}

static void cifar10_opens_from_six_files_of_the_exact_size(void **state)
{
    (void)state;
    struct syn_data *data;
    const size_t right = (size_t)SYN_CIFAR_RECORD * SYN_CIFAR_RECORDS;
    static const char *const names[] = {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin",
                                        "data_batch_4.bin", "data_batch_5.bin", "test_batch.bin"};
    for (size_t i = 0; i < 6; i++) {
        char name[64];
        snprintf(name, sizeof name, "c/cifar10/%s", names[i]);
        scratch_write_hole(name, right);
    }
    assert_ok(open_in("cifar10", "c", &data));
    assert_int_equal(syn_data_info(data)->count[SYN_DATA_TRAIN], 50000);
    assert_int_equal(syn_data_info(data)->count[SYN_DATA_TEST], 10000);
    assert_int_equal(syn_data_info(data)->channels, 3);
    assert_string_equal(syn_data_info(data)->names[9], "truck");
    syn_data_close(data);
    scratch_write_hole("c/cifar10/data_batch_3.bin", right - SYN_CIFAR_RECORD);
    expect_one_line(SYN_FORMAT, "cifar10", "c", "data_batch_3.bin: 30726927 bytes");
}

static void a_text_opens_from_three_files_and_is_refused_if_it_is_none(void **state)
{
    (void)state;
    struct syn_data *data;
    scratch_write_text("t/ptb.train.txt", "the cat sat\nthe dog sat\n");
    scratch_write_text("t/ptb.valid.txt", "the cow sat\n");
    scratch_write_text("t/ptb.test.txt", "sat\n");
    assert_ok(open_in("text", "t", &data));
    assert_int_equal(syn_data_info(data)->kind, SYN_DATA_TOKENS);
    assert_int_equal(syn_data_info(data)->outputs, 6);
    static const char *const words[] = {"<unk>", "<eos>", "sat", "the", "cat", "dog"};
    for (size_t i = 0; i < 6; i++)
        assert_string_equal(syn_data_info(data)->names[i], words[i]);
    assert_int_equal(syn_data_info(data)->count[SYN_DATA_VALID], 3);
    syn_data_close(data);
    scratch_write_text("t/ptb.valid.txt", "");
    expect_one_line(SYN_FORMAT, "text", "t", "ptb.valid.txt: 0 bytes without a single word");
    scratch_write_text("t/ptb.valid.txt", "caf\xe9 latin\n");
    expect_one_line(SYN_FORMAT, "text", "t", "ptb.valid.txt: byte 0xe9 at 3");
}

static void synthetic_data_are_the_same_for_the_same_seed(void **state)
{
    (void)state;
    float *first[2];
    for (int i = 0; i < 4; i++) {
        struct syn_data_options options;
        struct syn_data *data;
        struct syn_loader *loader;
        struct syn_batch batch;
        syn_data_defaults(&options, "synthetic");
        options.synthetic_examples = 50;
        options.synthetic_channels = 3;
        options.synthetic_height = 9;
        options.synthetic_width = 7;
        options.synthetic_classes = 300;
        options.synthetic_regression = i % 2 == 1;
        assert_ok(syn_data_open(&options, &data));
        assert_int_equal(syn_data_info(data)->outputs, i % 2 == 1 ? 1 : 300);
        assert_int_equal(syn_data_info(data)->count[SYN_DATA_TEST], 7);
        struct syn_loader_options how = syn_loader_defaults(SYN_DATA_TRAIN, 50);
        assert_ok(syn_loader_open(data, &how, &loader));
        syn_loader_next(loader, &batch);
        assert_true((batch.targets != NULL) == (i % 2 == 1));
        assert_true((batch.labels != NULL) == (i % 2 == 0));
        size_t bytes = (size_t)50 * 3 * 9 * 7 * sizeof(float);
        if (i < 2) {
            first[i] = malloc(bytes);
            assert_non_null(first[i]);
            memcpy(first[i], batch.input, bytes);
        } else {
            assert_memory_equal(first[i - 2], batch.input, bytes);
            free(first[i - 2]);
        }
        syn_loader_close(loader);
        syn_data_close(data);
    }
}

static void options_out_of_range_are_refused(void **state)
{
    (void)state;
    struct syn_data_options options;
    struct syn_data *data;
    syn_data_defaults(&options, "no such set");
    assert_status(SYN_INVALID, syn_data_open(&options, &data));
    assert_non_null(strstr(syn_error_text(), "fashion-mnist"));
    syn_data_defaults(&options, "synthetic");
    options.synthetic_channels = 17;
    assert_status(SYN_INVALID, syn_data_open(&options, &data));
}

static void the_real_fashion_mnist_is_whole(void **state)
{
    (void)state;
    struct syn_data_options options;
    struct syn_data *data;
    if (!syn_data_is_there("fashion-mnist", scratch_path("nowhere")))
        skip();
    syn_data_defaults(&options, "fashion-mnist");
    snprintf(options.data_dir, sizeof options.data_dir, "%.250s", scratch_path("nowhere"));
    assert_ok(syn_data_check(&options, NULL, NULL));
    assert_ok(syn_data_open(&options, &data));
    assert_int_equal(syn_data_info(data)->count[SYN_DATA_TRAIN], 60000);
    struct syn_loader_options how = syn_loader_defaults(SYN_DATA_TRAIN, 1000);
    struct syn_loader *loader;
    struct syn_batch batch;
    double sum = 0;
    double squares = 0;
    size_t of_class[10] = {0};
    assert_ok(syn_loader_open(data, &how, &loader));
    do {
        syn_loader_next(loader, &batch);
        for (size_t i = 0; i < batch.count; i++)
            of_class[batch.labels[i]]++;
        for (size_t i = 0; i < batch.count * 784; i++) {
            sum += (double)batch.input[i];
            squares += (double)batch.input[i] * (double)batch.input[i];
        }
    } while (!batch.is_last);
    for (size_t i = 0; i < 10; i++)
        assert_int_equal(of_class[i], 6000);
    /* Mean 0 and deviation 1 over the training part: the constants are right. */
    assert_true(sum / 47.04e6 < 1e-3 && sum / 47.04e6 > -1e-3);
    assert_true(squares / 47.04e6 < 1.002 && squares / 47.04e6 > 0.998);
    syn_loader_close(loader);
    syn_data_close(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_has_a_name_and_a_line),
        cmocka_unit_test(a_set_is_found_under_the_root_and_in_the_root),
        cmocka_unit_test(the_environment_names_the_root),
        cmocka_unit_test(gzipped_files_are_read_as_well),
        cmocka_unit_test(a_missing_file_is_named),
        cmocka_unit_test(files_that_do_not_belong_together_are_refused),
        cmocka_unit_test(a_folder_in_place_of_a_file_is_refused),
        cmocka_unit_test(cifar10_opens_from_six_files_of_the_exact_size),
        cmocka_unit_test(a_text_opens_from_three_files_and_is_refused_if_it_is_none),
        cmocka_unit_test(synthetic_data_are_the_same_for_the_same_seed),
        cmocka_unit_test(options_out_of_range_are_refused),
        cmocka_unit_test(the_real_fashion_mnist_is_whole),
    };
    return cmocka_run_group_tests(tests, scratch_begin, scratch_end);
}
