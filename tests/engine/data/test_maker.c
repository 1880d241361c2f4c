/* Data that the caller makes: what is asked for, and what becomes of examples that cannot be. */
#include "check.h"

#include <math.h>
#include <string.h>

#include <syncopate/engine/data.h>

#include "scratch.h"

enum { TRAIN = 24, TEST = 5, CLASSES = 4 };

/* Two pixels, which say what was asked for; some examples are odd on purpose. */
struct odd {
    size_t none;
    size_t label;
    size_t infinite;
};

static bool make(void *context, const struct syn_data_wanted *wanted, float *input, int32_t *label)
{
    const struct odd *odd = context;
    if (wanted->part == SYN_DATA_TRAIN && odd && wanted->example == odd->none)
        return false;
    *label = (int32_t)(wanted->example % CLASSES);
    input[0] = (float)wanted->example;
    input[1] = (float)(100 * wanted->seed + wanted->epoch);
    if (wanted->part == SYN_DATA_TRAIN && odd && wanted->example == odd->label)
        *label = CLASSES;
    if (wanted->part == SYN_DATA_TRAIN && odd && wanted->example == odd->infinite)
        input[1] = INFINITY;
    return true;
}

static struct syn_data_maker a_maker(void *context)
{
    return (struct syn_data_maker){.name = "made",
                                   .channels = 1,
                                   .height = 1,
                                   .width = 2,
                                   .outputs = CLASSES,
                                   .count = {[SYN_DATA_TRAIN] = TRAIN, [SYN_DATA_TEST] = TEST},
                                   .make = make,
                                   .context = context};
}

static struct syn_data *open_maker(void *context)
{
    struct syn_data *data = NULL;
    struct syn_data_maker maker = a_maker(context);
    assert_ok(syn_data_from_maker(&maker, &data));
    return data;
}

/* Count the examples that some workers see in an epoch. */
static void see(const struct syn_data *data, size_t workers, size_t threads, uint64_t epoch,
                int seen[TRAIN])
{
    memset(seen, 0, TRAIN * sizeof *seen);
    for (size_t worker = 0; worker < workers; worker++) {
        struct syn_loader_options how = syn_loader_defaults(SYN_DATA_TRAIN, 3);
        struct syn_loader *loader;
        struct syn_batch batch;
        how.worker = worker;
        how.workers = workers;
        how.threads = threads;
        how.seed = 7;
        assert_ok(syn_loader_open(data, &how, &loader));
        assert_ok(syn_loader_seek(loader, (struct syn_loader_position){epoch, 0}));
        do {
            syn_loader_next(loader, &batch);
            for (size_t i = 0; i < batch.count; i++) {
                const size_t example = (size_t)batch.input[2 * i];
                seen[example]++;
                assert_int_equal(batch.labels[i], example % CLASSES);
                assert_true(batch.input[2 * i + 1] == (float)(700 + epoch));
            }
        } while (!batch.is_last);
        syn_loader_close(loader);
    }
}

static void every_example_is_asked_for_once_an_epoch(void **state)
{
    (void)state;
    struct syn_data *data = open_maker(NULL);
    int seen[TRAIN];
    for (size_t workers = 1; workers <= 4; workers++) {
        see(data, workers, workers, workers - 1, seen);
        for (size_t i = 0; i < TRAIN; i++)
            assert_int_equal(seen[i], 1);
    }
    syn_data_close(data);
}

static void a_test_comes_in_order_and_knows_no_epoch(void **state)
{
    (void)state;
    struct syn_data *data = open_maker(NULL);
    struct syn_loader_options how = syn_loader_defaults(SYN_DATA_TEST, TEST);
    struct syn_loader *loader;
    struct syn_batch batch;
    assert_ok(syn_loader_open(data, &how, &loader));
    for (int epoch = 0; epoch < 2; epoch++) {
        syn_loader_next(loader, &batch);
        assert_int_equal(batch.count, TEST);
        for (size_t i = 0; i < TEST; i++) {
            assert_true(batch.input[2 * i] == (float)i);
            assert_true(batch.input[2 * i + 1] == 100);
        }
    }
    syn_loader_close(loader);
    syn_data_close(data);
}

static void odd_examples_are_named_counted_and_left_out(void **state)
{
    (void)state;
    struct odd odd = {.none = 3, .label = 8, .infinite = 20};
    int seen[TRAIN];
    struct syn_data *data = open_maker(&odd);
    scratch_log();
    see(data, 2, 2, 0, seen);
    for (size_t i = 0; i < TRAIN; i++)
        assert_int_equal(seen[i], i != 3 && i != 8 && i != 20);
    const char *said = scratch_log();
    assert_non_null(
        strstr(said, "example 3 of the training part is left out: its maker returned none"));
    assert_non_null(
        strstr(said, "example 8 of the training part is left out: label 4; expected 0"));
    assert_non_null(strstr(said, "example 20 of the training part is left out: value 1 is inf"));
    syn_data_close(data);
    assert_non_null(strstr(scratch_log(), "3 examples could not be read and were left out"));
}

static void makers_that_differ_have_different_fingerprints(void **state)
{
    (void)state;
    struct odd odd = {.none = TRAIN, .label = 8, .infinite = TRAIN};
    struct syn_data *data[] = {open_maker(NULL), open_maker(NULL), open_maker(&odd)};
    assert_true(syn_data_fingerprint(data[0]) == syn_data_fingerprint(data[1]));
    assert_true(syn_data_fingerprint(data[0]) != syn_data_fingerprint(data[2]));
    for (size_t i = 0; i < 3; i++)
        syn_data_close(data[i]);
}

static void makers_that_cannot_be_are_refused(void **state)
{
    (void)state;
    struct syn_data *data = NULL;
    struct syn_data_maker bad[5];
    for (size_t i = 0; i < 5; i++)
        bad[i] = a_maker(NULL);
    bad[0].make = NULL;
    bad[1].channels = 17;
    bad[2].width = 0;
    bad[3].outputs = 0;
    bad[4].count[SYN_DATA_TRAIN] = 0;
    for (size_t i = 0; i < 5; i++)
        assert_status(SYN_INVALID, syn_data_from_maker(&bad[i], &data));
    assert_null(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_example_is_asked_for_once_an_epoch),
        cmocka_unit_test(a_test_comes_in_order_and_knows_no_epoch),
        cmocka_unit_test(odd_examples_are_named_counted_and_left_out),
        cmocka_unit_test(makers_that_differ_have_different_fingerprints),
        cmocka_unit_test(makers_that_cannot_be_are_refused),
    };
    return cmocka_run_group_tests(tests, scratch_begin, scratch_end);
}
