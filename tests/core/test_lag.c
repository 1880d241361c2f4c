/* A residual that lags a step behind gives the sums and, when it is asked for, the residual of one
 * that does not: to the bit, after steps that fail, in several buckets, on several threads, and
 * when the density falls. */
#include "check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <syncopate/reducer.h>

#include "base/hash.h"
#include "reducer/inside.h"
#include "reducer/lag.h"
#include "scenario.h"
#include "workers.h"

enum { SIZE = 30000, STEPS = 9, BAD_STEP = 4, FALL = 6 };

struct run {
    const char *residual;
    const char *bucket_bytes;
    const char *threads;
    bool lags;
    bool is_lagging[WORKERS_MOST];
    enum syn_status status[WORKERS_MOST][STEPS];
    uint64_t sums[WORKERS_MOST][STEPS];
    uint64_t residuals[WORKERS_MOST][STEPS]; /* 0 where nobody asked */
};

static void take_step(struct run *run, struct syn_reducer *reducer, size_t rank, size_t step,
                      float *gradient)
{
    struct syn_ticket ticket;
    struct syn_merged merged = {0};
    struct syn_step how = syn_reducer_step(reducer);
    how.density = step < FALL ? 0.2 : 0.01;
    scenario_gradient(RANDOM, rank, step, gradient, SIZE);
    if (step == BAD_STEP && rank == 1)
        gradient[SIZE - 7] = INFINITY;
    enum syn_status status = syn_reducer_begin(reducer, gradient, &how, &ticket);
    if (status == SYN_OK)
        status = syn_reducer_wait(reducer, ticket, &merged);
    run->status[rank][step] = status;
    run->sums[rank][step] = syn_hash(0, merged.value, merged.count * sizeof(float));
    if (step % 3 == 2 || step == BAD_STEP || step + 1 == STEPS) {
        syn_reducer_settle(reducer);
        run->residuals[rank][step] =
            syn_hash(1, syn_reducer_residual(reducer), SIZE * sizeof(float));
    }
}

static void member(struct syn_group *group, size_t rank, void *context)
{
    static const size_t tensors[] = {9000, 21000, SIZE_MAX};
    struct run *run = context;
    struct syn_layout *layout = NULL;
    struct syn_reducer *reducer = NULL;
    struct syn_reducer_options options;
    float *gradient = malloc(SIZE * sizeof *gradient);
    syn_reducer_defaults(&options);
    const char *const settings[][2] = {{"select", "topk"},
                                       {"density", "0.01"},
                                       {"density_max", "0.2"},
                                       {"exchange", "allgather"},
                                       {"residual", run->residual},
                                       {"residual_momentum", "0.9"},
                                       {"bucket_bytes", run->bucket_bytes},
                                       {"select_threads", run->threads}};
    enum syn_status status = scenario_layout(tensors, &layout);
    for (size_t i = 0; i < sizeof settings / sizeof settings[0] && status == SYN_OK; i++)
        status = syn_settings_set(&syn_reducer_settings, &options, settings[i][0], settings[i][1]);
    if (status == SYN_OK)
        status = syn_reducer_open(group, layout, &options, &reducer);
    run->status[rank][0] = status;
    if (status == SYN_OK && run->lags)
        syn_reducer_let_lag(reducer);
    for (size_t step = 0; step < STEPS && status == SYN_OK && gradient; step++)
        take_step(run, reducer, rank, step, gradient);
    run->is_lagging[rank] = reducer && reducer->may_lag;
    syn_reducer_close(reducer);
    syn_layout_free(layout);
    free(gradient);
}

static void lagging_changes_no_bit(void **state)
{
    (void)state;
    static const char *const residuals[] = {"corrected", "masked"};
    static const char *const buckets[] = {"0", "40000"};
    static const char *const threads[] = {"1", "3"};
    enum { WORKERS = 3 };
    for (int c = 0; c < 8; c++) {
        struct run runs[2] = {{.residual = residuals[c & 1],
                               .bucket_bytes = buckets[c >> 1 & 1],
                               .threads = threads[c >> 2]}};
        runs[1] = runs[0];
        runs[1].lags = true;
        for (int i = 0; i < 2; i++)
            run_workers(WORKERS, 20000, member, &runs[i]);
        for (size_t w = 0; w < WORKERS; w++) {
            assert_false(runs[0].is_lagging[w]);
            assert_true(runs[1].is_lagging[w]);
            for (size_t step = 0; step < STEPS; step++)
                assert_int_equal(runs[0].status[w][step],
                                 step == BAD_STEP ? SYN_NONFINITE : SYN_OK);
        }
        assert_memory_equal(runs[1].status, runs[0].status, sizeof runs[0].status);
        assert_memory_equal(runs[1].sums, runs[0].sums, sizeof runs[0].sums);
        assert_memory_equal(runs[1].residuals, runs[0].residuals, sizeof runs[0].residuals);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lagging_changes_no_bit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
