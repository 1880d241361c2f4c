/* IDX files: every byte that is not as it should be is told. */
#include "check.h"

#include <string.h>

#include "engine/data/idx.h"
#include "scratch.h"

static uint8_t bytes[16 + 4 * 6 * 5 + 1];

static void a_file_reads_back_as_written(void **state)
{
    (void)state;
    struct syn_idx_images images;
    struct syn_idx_labels labels;
    size_t count = scratch_idx_images(4, 6, 5, bytes);
    assert_ok(syn_idx_read_images("f", bytes, count, &images));
    assert_int_equal(images.count, 4);
    assert_int_equal(images.height, 6);
    assert_int_equal(images.width, 5);
    assert_int_equal(images.pixels[3 * 30 + 29], scratch_pixel(3, 29));
    count = scratch_idx_labels(4, bytes);
    assert_ok(syn_idx_read_labels("f", bytes, count, &labels));
    assert_int_equal(labels.count, 4);
    assert_int_equal(labels.labels[3], 3);
}

static void every_length_but_the_right_one_is_refused(void **state)
{
    (void)state;
    struct syn_idx_images images;
    struct syn_idx_labels labels;
    size_t count = scratch_idx_images(4, 6, 5, bytes);
    for (size_t cut = 0; cut <= count + 1; cut++)
        assert_status(cut == count ? SYN_OK : SYN_FORMAT,
                      syn_idx_read_images("f", bytes, cut, &images));
    count = scratch_idx_labels(4, bytes);
    for (size_t cut = 0; cut <= count + 1; cut++)
        assert_status(cut == count ? SYN_OK : SYN_FORMAT,
                      syn_idx_read_labels("f", bytes, cut, &labels));
}

static void a_wrong_magic_number_is_named(void **state)
{
    (void)state;
    struct syn_idx_labels labels;
    size_t count = scratch_idx_images(4, 6, 5, bytes);
    assert_status(SYN_FORMAT, syn_idx_read_labels("some/file", bytes, count, &labels));
    assert_non_null(strstr(syn_error_text(), "some/file"));
    assert_non_null(strstr(syn_error_text(), "0x00000803"));
    assert_non_null(strstr(syn_error_text(), "0x00000801"));
}

static void sizes_that_would_overflow_are_refused(void **state)
{
    (void)state;
    struct syn_idx_images images;
    for (size_t field = 4; field < 16; field += 4) {
        size_t count = scratch_idx_images(4, 6, 5, bytes);
        memset(bytes + field, 0xff, 4);
        assert_status(SYN_FORMAT, syn_idx_read_images("f", bytes, count, &images));
        memset(bytes + field, 0, 4);
        assert_status(SYN_FORMAT, syn_idx_read_images("f", bytes, count, &images));
    }
    memset(bytes + 4, 0xff, 12);
    assert_status(SYN_FORMAT, syn_idx_read_images("f", bytes, 16, &images));
}

static void a_label_out_of_range_is_named_with_its_place(void **state)
{
    (void)state;
    static const uint8_t labels[] = {0, 9, 10, 1};
    int32_t read[4];
    assert_ok(syn_labels_read("f", labels, 1, 2, 10, read));
    assert_int_equal(read[1], 9);
    assert_status(SYN_FORMAT, syn_labels_read("the/file", labels, 1, 4, 10, read));
    assert_string_equal(syn_error_text(), "the/file: label 10 of example 2; expected 0 to 9");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_reads_back_as_written),
        cmocka_unit_test(every_length_but_the_right_one_is_refused),
        cmocka_unit_test(a_wrong_magic_number_is_named),
        cmocka_unit_test(sizes_that_would_overflow_are_refused),
        cmocka_unit_test(a_label_out_of_range_is_named_with_its_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
