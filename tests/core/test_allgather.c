/* All-gather with packets so long that they go around the ring one by one: the sums are those of
 * the lists added in the order of the ranks, to the bit, whoever has a long one. Contract tests
 * have short ones. */
#include "check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <syncopate/random.h>
#include <syncopate/reducer.h>

#include "exchange/sum.h"
#include "scenario.h"
#include "workers.h"

enum { SIZE = 60000, STEPS = 3, BAD_STEP = 1 };

/* Whose packets are long: a bit for each rank. */
enum { NOBODY = 0, EVERYBODY = -1, EVEN = 0x5555, ODD = 0xaaaa };

struct run {
    int longs;
    const char *values;
    const char *bucket_bytes;
    size_t bad; /* the rank whose gradient is not finite in the bad step; WORKERS_MOST: nobody */
    enum syn_status status[WORKERS_MOST][STEPS];
    float (*sent)[SIZE]; /* [worker], of the last step */
    float (*came)[SIZE];
    uint64_t bytes[WORKERS_MOST];
};

/* Gradients of long workers are random, those of the others nearly all zeros. */
static void make_gradient(const struct run *run, size_t rank, size_t step, float *gradient)
{
    scenario_gradient(RANDOM, rank, step, gradient, SIZE);
    for (size_t i = 0; i < SIZE && !(run->longs >> rank & 1); i++)
        if (i % 997 != rank)
            gradient[i] = 0;
    if (step == BAD_STEP && rank == run->bad)
        gradient[SIZE / 2] = NAN;
}

/* What was sent is what is in neither residual any more. */
static void take_steps(struct run *run, struct syn_reducer *reducer, size_t rank, float *gradient,
                       float *before)
{
    for (size_t step = 0; step < STEPS; step++) {
        struct syn_ticket ticket;
        struct syn_merged merged = {0};
        make_gradient(run, rank, step, gradient);
        memcpy(before, syn_reducer_residual(reducer), SIZE * sizeof *before);
        enum syn_status status = syn_reducer_begin(reducer, gradient, NULL, &ticket);
        if (status == SYN_OK)
            status = syn_reducer_wait(reducer, ticket, &merged);
        run->status[rank][step] = status;
        if (status != SYN_OK && status != SYN_NONFINITE)
            return;
        const float *after = syn_reducer_residual(reducer);
        for (size_t i = 0; i < SIZE; i++)
            run->sent[rank][i] = before[i] + gradient[i] - after[i];
        syn_merged_to_dense(&merged, run->came[rank], SIZE);
        run->bytes[rank] = merged.cost.bytes_out;
    }
}

static void member(struct syn_group *group, size_t rank, void *context)
{
    static const size_t tensors[] = {20000, 40000, SIZE_MAX};
    struct run *run = context;
    struct syn_layout *layout = NULL;
    struct syn_reducer *reducer = NULL;
    struct syn_reducer_options options;
    float *gradient = malloc(2 * SIZE * sizeof *gradient);
    syn_reducer_defaults(&options);
    const char *const settings[][2] = {
        {"select", "topk"},        {"density", "0.4"},       {"values", run->values},
        {"exchange", "allgather"}, {"residual", "feedback"}, {"bucket_bytes", run->bucket_bytes}};
    enum syn_status status = scenario_layout(tensors, &layout);
    for (size_t i = 0; i < sizeof settings / sizeof settings[0] && status == SYN_OK; i++)
        status = syn_settings_set(&syn_reducer_settings, &options, settings[i][0], settings[i][1]);
    if (status == SYN_OK)
        status = syn_reducer_open(group, layout, &options, &reducer);
    run->status[rank][STEPS - 1] = status;
    if (status == SYN_OK && gradient)
        take_steps(run, reducer, rank, gradient, gradient + SIZE);
    syn_reducer_close(reducer);
    syn_layout_free(layout);
    free(gradient);
}

static void execute(struct run *run, size_t workers)
{
    run->sent = calloc(WORKERS_MOST, sizeof *run->sent);
    run->came = calloc(WORKERS_MOST, sizeof *run->came);
    run_workers(workers, 20000, member, run);
    for (size_t w = 0; w < workers; w++)
        for (size_t step = 0; step < STEPS; step++) {
            bool is_bad = step == BAD_STEP && run->bad < workers;
            assert_int_equal(run->status[w][step], is_bad ? SYN_NONFINITE : SYN_OK);
        }
    for (size_t w = 1; w < workers; w++)
        assert_memory_equal(run->came[w], run->came[0], sizeof run->came[0]);
}

static void finish(struct run *run)
{
    free(run->sent);
    free(run->came);
}

static void lists_are_added_in_the_order_of_the_ranks(void **state)
{
    (void)state;
    static const size_t worker_counts[] = {1, 2, 3, 5, 7};
    static const int longs[] = {NOBODY, EVERYBODY, EVEN, ODD};
    for (size_t t = 0; t < sizeof worker_counts / sizeof worker_counts[0]; t++)
        for (size_t l = 0; l < sizeof longs / sizeof longs[0]; l++) {
            struct run run = {.longs = longs[l],
                              .values = "f32",
                              .bucket_bytes = l % 2 ? "100000" : "0",
                              .bad = WORKERS_MOST};
            execute(&run, worker_counts[t]);
            for (size_t i = 0; i < SIZE; i++) {
                float sum = 0;
                for (size_t w = 0; w < worker_counts[t]; w++)
                    sum += run.sent[w][i];
                if (sum != run.came[0][i])
                    fail_msg("%zu workers, long %x: entry %zu is %.9g; expected %.9g",
                             worker_counts[t], (unsigned)longs[l], i, (double)run.came[0][i],
                             (double)sum);
            }
            finish(&run);
        }
}

/* A link carries each packet once, and a head of each long one to each worker. */
static void long_packets_cost_no_more_bytes(void **state)
{
    (void)state;
    struct run run = {
        .longs = EVERYBODY, .values = "f32", .bucket_bytes = "0", .bad = WORKERS_MOST};
    execute(&run, 5);
    uint64_t all = 0;
    for (size_t w = 0; w < 5; w++)
        all += run.bytes[w];
    uint64_t entries = (uint64_t)(0.4 * SIZE);
    uint64_t packet = entries * 4 + SIZE / 8; /* values and a map */
    assert_in_range(all, 5 * 4 * packet * 98 / 100, 5 * 4 * (packet + 2 * 40));
    for (size_t w = 0; w < 5; w++)
        assert_in_range(run.bytes[w], all / 5 * 99 / 100, all / 5 * 101 / 100);
    finish(&run);
}

static void a_gradient_that_is_not_finite_is_told_among_long_packets(void **state)
{
    (void)state;
    for (size_t bad = 0; bad < 3; bad++) {
        struct run run = {
            .longs = EVERYBODY, .values = "f16", .bucket_bytes = "100000", .bad = bad};
        execute(&run, 3);
        finish(&run);
    }
}

/* Lists of so few entries that they are added one by one, and of more, in windows: what an array of
 * the whole space would hold. */
static void sums_of_few_and_of_many_entries_are_alike(void **state)
{
    (void)state;
    enum { LISTS = 5, LONGEST = 4000, SPACE = 100000 };
    static const size_t counts[] = {0, 1, 60, LONGEST};
    struct syn_list lists[LISTS] = {{0}};
    struct syn_list merged = {0};
    struct syn_sum sum = {0};
    struct syn_random random;
    float *expected = calloc(SPACE, sizeof *expected);
    syn_random_start(&random, 1, 0);
    assert_ok(syn_sum_open(&sum, LISTS));
    assert_ok(syn_list_open(&merged, (size_t)LISTS * LONGEST));
    for (size_t i = 0; i < LISTS; i++)
        assert_ok(syn_list_open(&lists[i], LONGEST));
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
        memset(expected, 0, SPACE * sizeof *expected);
        for (size_t i = 0; i < LISTS; i++) {
            lists[i].count = 0;
            size_t count = i == 3 ? 0 : counts[c]; /* one is empty */
            for (size_t e = 0, at = 0; e < count; e++) {
                at += 1 + (size_t)syn_random_below(&random, 20);
                float value = e % 7 == 0 ? (i % 2 ? -1.0F : 1.0F) : syn_random_normal(&random);
                syn_list_append(&lists[i], (uint32_t)at, value);
                expected[at] += value;
            }
        }
        syn_sum_lists(&sum, lists, LISTS, &merged);
        for (size_t at = 0, e = 0; at < SPACE; at++) {
            if (expected[at] == 0)
                continue;
            assert_true(e < merged.count);
            assert_int_equal(merged.index[e], at);
            assert_true(merged.value[e++] == expected[at]);
            assert_true(at + 1 < SPACE);
        }
        for (size_t e = 0; e < merged.count; e++)
            assert_true(expected[merged.index[e]] != 0);
    }
    for (size_t i = 0; i < LISTS; i++)
        syn_list_close(&lists[i]);
    syn_list_close(&merged);
    syn_sum_close(&sum);
    free(expected);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_of_few_and_of_many_entries_are_alike),
        cmocka_unit_test(lists_are_added_in_the_order_of_the_ranks),
        cmocka_unit_test(long_packets_cost_no_more_bytes),
        cmocka_unit_test(a_gradient_that_is_not_finite_is_told_among_long_packets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
