/* The loader: every example once an epoch, the same bytes again for the same seed, any position
 * at any time, and an end whenever it is asked for. */
#include "check.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "engine/data/set.h"
#include "scratch.h"

static const size_t worker_counts[] = {1, 2, 3, 5, 7};
#define WORKER_COUNTS (sizeof worker_counts / sizeof worker_counts[0])

/* A set of images whose every pixel is the number of the image: 2 x 3 x 2 bytes each, in two
 * spans. */
#define EXAMPLES 101
#define PIXELS   12
static uint8_t numbered_pixels[EXAMPLES * PIXELS];
static int32_t numbered_labels[EXAMPLES];

static struct syn_data numbered(void)
{
    for (size_t i = 0; i < EXAMPLES; i++) {
        memset(numbered_pixels + i * PIXELS, (int)i, PIXELS);
        numbered_labels[i] = (int32_t)(1000 + i);
    }
    struct syn_data data = {
        .info = {"numbered", SYN_DATA_IMAGES, 2, 3, 2, 2000, {EXAMPLES, 0, EXAMPLES}, NULL},
        .scale = {1, 1},
    };
    const struct syn_span spans[] = {{numbered_pixels, PIXELS, 60},
                                     {numbered_pixels + 60 * PIXELS, PIXELS, EXAMPLES - 60}};
    for (size_t part = 0; part < SYN_DATA_PARTS; part += 2) {
        memcpy(data.parts[part].spans, spans, sizeof spans);
        data.parts[part].span_count = 2;
        data.parts[part].labels = numbered_labels;
    }
    return data;
}

static struct syn_loader *open_loader(const struct syn_data *data,
                                      struct syn_loader_options options)
{
    struct syn_loader *loader = NULL;
    assert_ok(syn_loader_open(data, &options, &loader));
    return loader;
}

static void count_epoch(const struct syn_data *data, struct syn_loader_options options, int *seen)
{
    struct syn_loader *loader = open_loader(data, options);
    struct syn_batch batch;
    for (uint64_t b = 0; b < syn_loader_batches(loader); b++) {
        syn_loader_next(loader, &batch);
        assert_int_equal(batch.epoch, 0);
        assert_int_equal(batch.index, b);
        assert_int_equal(batch.is_last, b + 1 == syn_loader_batches(loader));
        assert_int_equal(batch.labelled, batch.count);
        for (size_t i = 0; i < options.batch; i++) {
            if (i >= batch.count) {
                assert_int_equal(batch.labels[i], SYN_NO_LABEL);
                assert_true(batch.input[i * PIXELS] == 0.0F);
                continue;
            }
            int number = batch.labels[i] - 1000;
            for (size_t p = 0; p < PIXELS; p++)
                assert_true(batch.input[i * PIXELS + p] == (float)number);
            seen[number]++;
        }
    }
    syn_loader_close(loader);
}

static void all_workers_together_see_every_example_once(void **state)
{
    (void)state;
    const struct syn_data data = numbered();
    for (size_t w = 0; w < WORKER_COUNTS; w++) {
        for (size_t batch = 1; batch <= EXAMPLES / worker_counts[w]; batch += 3) {
            for (int part = 0; part < SYN_DATA_PARTS; part += 2) {
                int seen[EXAMPLES] = {0};
                struct syn_loader_options options =
                    syn_loader_defaults((enum syn_data_part)part, batch);
                options.workers = worker_counts[w];
                for (options.worker = 0; options.worker < options.workers; options.worker++)
                    count_epoch(&data, options, seen);
                for (size_t i = 0; i < EXAMPLES; i++)
                    assert_int_equal(seen[i], 1);
            }
        }
    }
}

/* The labels of so many batches, one after the other. */
static size_t read_labels(const struct syn_data *data, struct syn_loader_options options,
                          size_t batches, int32_t *labels)
{
    struct syn_loader *loader = open_loader(data, options);
    struct syn_batch batch;
    size_t count = 0;
    for (size_t b = 0; b < batches; b++) {
        syn_loader_next(loader, &batch);
        memcpy(labels + count, batch.labels, batch.count * sizeof *labels);
        count += batch.count;
    }
    syn_loader_close(loader);
    return count;
}

static void training_order_changes_with_epoch_and_seed_and_test_order_never(void **state)
{
    (void)state;
    const struct syn_data data = numbered();
    int32_t first[2 * EXAMPLES];
    int32_t again[2 * EXAMPLES];
    int32_t other[2 * EXAMPLES];
    struct syn_loader_options options = syn_loader_defaults(SYN_DATA_TRAIN, EXAMPLES);
    read_labels(&data, options, 2, first);
    read_labels(&data, options, 2, again);
    options.seed = 2;
    read_labels(&data, options, 2, other);
    assert_memory_equal(first, again, sizeof first);
    assert_memory_not_equal(first, other, sizeof first);
    assert_memory_not_equal(first, first + EXAMPLES, EXAMPLES * sizeof first[0]);
    assert_memory_not_equal(first, numbered_labels, EXAMPLES * sizeof first[0]);
    options.part = SYN_DATA_TEST;
    read_labels(&data, options, 2, first);
    assert_memory_equal(first, numbered_labels, EXAMPLES * sizeof first[0]);
    assert_memory_equal(first + EXAMPLES, numbered_labels, EXAMPLES * sizeof first[0]);
}

static int by_value(const void *a, const void *b)
{
    return (*(const int32_t *)a > *(const int32_t *)b) -
           (*(const int32_t *)a < *(const int32_t *)b);
}

static void workers_see_in_a_step_what_one_with_their_batches_would(void **state)
{
    (void)state;
    const struct syn_data data = numbered();
    struct syn_loader_options alone = syn_loader_defaults(SYN_DATA_TRAIN, 20);
    int32_t whole[40];
    int32_t parts[40];
    read_labels(&data, alone, 2, whole);
    for (size_t w = 0; w < 5; w++) {
        struct syn_loader_options options = syn_loader_defaults(SYN_DATA_TRAIN, 4);
        options.worker = w;
        options.workers = 5;
        int32_t labels[8];
        read_labels(&data, options, 2, labels);
        memcpy(parts + 4 * w, labels, 4 * sizeof *labels);
        memcpy(parts + 20 + 4 * w, labels + 4, 4 * sizeof *labels);
    }
    for (size_t step = 0; step < 2; step++) {
        qsort(whole + 20 * step, 20, sizeof *whole, by_value);
        qsort(parts + 20 * step, 20, sizeof *parts, by_value);
    }
    assert_memory_equal(whole, parts, sizeof whole);
}

static void seeking_gives_the_same_batches_again(void **state)
{
    (void)state;
    const struct syn_data data = numbered();
    struct syn_loader_options options = syn_loader_defaults(SYN_DATA_TRAIN, 8);
    options.worker = 1;
    options.workers = 3;
    struct syn_loader *loader = open_loader(&data, options);
    const uint64_t batches = syn_loader_batches(loader);
    static float inputs[15][8 * PIXELS];
    struct syn_batch batch;
    for (size_t i = 0; i < 15; i++) {
        struct syn_loader_position at = syn_loader_position(loader);
        assert_int_equal(at.epoch * batches + at.index, i);
        syn_loader_next(loader, &batch);
        memcpy(inputs[i], batch.input, sizeof inputs[i]);
    }
    static const size_t jumps[] = {0, 14, 3, 3, 4, 9, 13, 1, 0};
    for (size_t j = 0; j < sizeof jumps / sizeof jumps[0]; j++) {
        const struct syn_loader_position to = {jumps[j] / batches, jumps[j] % batches};
        assert_ok(syn_loader_seek(loader, to));
        for (size_t i = jumps[j]; i < 15 && i < jumps[j] + 3; i++) {
            syn_loader_next(loader, &batch);
            assert_int_equal(batch.epoch * batches + batch.index, i);
            assert_memory_equal(batch.input, inputs[i], sizeof inputs[i]);
        }
    }
    const struct syn_loader_position beyond = {0, batches};
    const struct syn_loader_position before = syn_loader_position(loader);
    assert_status(SYN_INVALID, syn_loader_seek(loader, beyond));
    assert_int_equal(syn_loader_position(loader).index, before.index);
    syn_loader_close(loader);
}

static void seeking_at_every_moment_is_safe(void **state)
{
    (void)state;
    const struct syn_data data = numbered();
    struct syn_loader *loader = open_loader(&data, syn_loader_defaults(SYN_DATA_TRAIN, 10));
    struct syn_batch batch;
    for (uint64_t i = 0; i < 2000; i++) {
        const struct syn_loader_position to = {i / 7, i % 7};
        assert_ok(syn_loader_seek(loader, to));
        if (i % 3 == 0)
            continue;
        syn_loader_next(loader, &batch);
        assert_int_equal(batch.epoch, to.epoch);
        assert_int_equal(batch.index, to.index);
    }
    syn_loader_close(loader);
}

static void a_loader_can_be_closed_at_any_time(void **state)
{
    (void)state;
    const struct syn_data data = numbered();
    for (size_t taken = 0; taken < 30; taken++) {
        struct syn_loader *loader = open_loader(&data, syn_loader_defaults(SYN_DATA_TRAIN, 10));
        struct syn_batch batch;
        for (size_t i = 0; i < taken; i++)
            syn_loader_next(loader, &batch);
        syn_loader_close(loader);
    }
    syn_loader_close(NULL);
}

/* What one thread reads of a set, and the sum of what it read. */
struct reader {
    const struct syn_data *data;
    int64_t sum;
};

static void *read_many(void *argument)
{
    struct reader *reader = argument;
    const struct syn_loader_options options = syn_loader_defaults(SYN_DATA_TRAIN, 7);
    const struct syn_loader_position somewhere = {3, 2};
    struct syn_loader *loader;
    struct syn_batch batch;
    if (syn_loader_open(reader->data, &options, &loader) != SYN_OK)
        return NULL;
    for (size_t i = 0; i < 200; i++) {
        syn_loader_next(loader, &batch);
        reader->sum += batch.labels[0];
        if (i == 100 && syn_loader_seek(loader, somewhere) != SYN_OK)
            break;
    }
    syn_loader_close(loader);
    return NULL;
}

static void many_threads_share_one_data_set(void **state)
{
    (void)state;
    const struct syn_data data = numbered();
    pthread_t threads[4];
    struct reader readers[4];
    for (size_t i = 0; i < 4; i++) {
        readers[i] = (struct reader){&data, 0};
        assert_int_equal(pthread_create(&threads[i], NULL, read_many, &readers[i]), 0);
    }
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    for (size_t i = 0; i < 4; i++) {
        assert_true(readers[i].sum >= 200 * 1000);
        assert_int_equal(readers[i].sum, readers[0].sum);
    }
}

static void expect_refusal(const struct syn_data *data, struct syn_loader_options options,
                           const char *words)
{
    struct syn_loader *loader = NULL;
    assert_status(SYN_INVALID, syn_loader_open(data, &options, &loader));
    assert_null(loader);
    assert_non_null(strstr(syn_error_text(), words));
}

static void options_that_cannot_be_are_refused_with_their_values(void **state)
{
    (void)state;
    const struct syn_data data = numbered();
    const struct syn_loader_options good = syn_loader_defaults(SYN_DATA_TRAIN, 1);
    struct syn_loader_options bad = good;
    bad.batch = 0;
    expect_refusal(&data, bad, "batch of 0");
    bad.batch = EXAMPLES + 1;
    expect_refusal(&data, bad, "batch of 102 is larger than a worker's share: 101");
    bad.batch = 34;
    bad.workers = 3;
    expect_refusal(&data, bad, "batch of 34 is larger than a worker's share: 33");
    bad = good;
    bad.workers = 0;
    expect_refusal(&data, bad, "worker 0 of 0");
    bad.workers = 3;
    bad.worker = 3;
    expect_refusal(&data, bad, "worker 3 of 3");
    bad = good;
    bad.part = SYN_DATA_VALID;
    expect_refusal(&data, bad, "no validation part");
    bad.part = (enum syn_data_part)7;
    expect_refusal(&data, bad, "no such part");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_workers_together_see_every_example_once),
        cmocka_unit_test(training_order_changes_with_epoch_and_seed_and_test_order_never),
        cmocka_unit_test(workers_see_in_a_step_what_one_with_their_batches_would),
        cmocka_unit_test(seeking_gives_the_same_batches_again),
        cmocka_unit_test(seeking_at_every_moment_is_safe),
        cmocka_unit_test(a_loader_can_be_closed_at_any_time),
        cmocka_unit_test(many_threads_share_one_data_set),
        cmocka_unit_test(options_that_cannot_be_are_refused_with_their_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
