/* Measures selection, compared with its limit: one fused pass over the same memory. The two
 * alternate on the same data, so that fluctuations of the machine affect both. */
#include <syncopate/measure.h>

#include <math.h>
#include <stdlib.h>

#include <syncopate/random.h>

#include "base/clock.h"
#include "base/memory.h"
#include "inspect/median.h"
#include "reducer/intake.h"
#include "reducer/options.h"

struct bench {
    const struct syn_residual_type *residual_type;
    const struct syn_select_type *select_type;
    struct syn_residual residuals[2]; /* before and after, alternating */
    float *in_place;                  /* the residual used for the limit */
    float *gradient;
    void *select;
    struct syn_pool *pool;
    struct syn_list picked;
    double *pass_ms;
    double *pick_ms;
    size_t size;
    size_t limit;
};

static void close_bench(struct bench *bench)
{
    for (int i = 0; i < 2; i++) {
        free(bench->residuals[i].unsent);
        free(bench->residuals[i].velocity);
    }
    free(bench->in_place);
    free(bench->gradient);
    free(bench->pass_ms);
    free(bench->pick_ms);
    if (bench->select)
        bench->select_type->close(bench->select);
    syn_pool_close(bench->pool);
    syn_list_close(&bench->picked);
}

static enum syn_status open_bench(struct bench *bench, const struct syn_reducer_options *asked,
                                  size_t size, size_t repeats)
{
    struct syn_reducer_options resolved = *asked;
    const struct syn_reducer_options *options = &resolved;
    SYN_TRY(syn_reducer_resolve(&resolved));
    bench->residual_type = syn_residual_find(options->residual);
    bench->select_type = syn_select_find(options->select);
    bench->size = size;
    bench->limit = bench->select_type->limit(options, size, options->density);
    for (int i = 0; i < 2; i++) {
        SYN_TRY(syn_allocate(size, sizeof(float), &bench->residuals[i].unsent));
        if (bench->residual_type->has_velocity)
            SYN_TRY(syn_allocate(size, sizeof(float), &bench->residuals[i].velocity));
    }
    SYN_TRY(syn_allocate(size, sizeof(float), &bench->in_place));
    SYN_TRY(syn_allocate(size, sizeof(float), &bench->gradient));
    SYN_TRY(syn_allocate(repeats, sizeof(double), &bench->pass_ms));
    SYN_TRY(syn_allocate(repeats, sizeof(double), &bench->pick_ms));
    SYN_TRY(syn_pool_open((size_t)options->select_threads, &bench->pool));
    SYN_TRY(syn_list_open(&bench->picked, bench->limit));
    return bench->select_type->open(options, size, bench->limit, (size_t)options->select_threads,
                                    &bench->select);
}

/* A new gradient for each step, cheaply: a small stock of normal numbers, reused many times. */
static void renew_gradient(struct bench *bench, size_t step)
{
    enum { STOCK = 65536 };
    static const uint64_t seed = 1;
    struct syn_random random;
    float stock[STOCK / 8];
    syn_random_start(&random, seed, step);
    for (size_t i = 0; i < STOCK / 8; i++)
        stock[i] = syn_random_normal(&random);
    for (size_t i = 0; i < bench->size; i++) {
        size_t turn = i / (STOCK / 8);
        bench->gradient[i] =
            stock[(i * 5 + turn * 7) % (STOCK / 8)] * (1 + (float)(turn % 97) * 0.01F);
    }
}

/* The limit: residual += gradient in place, with every magnitude compared with a cutoff that none
 * exceeds. */
static double time_pass(struct bench *bench)
{
    struct syn_scan scan = {.cutoff = SYN_COLLECT_NOTHING};
    int64_t began = syn_clock_ns();
    syn_kernels()->accumulate(bench->in_place, bench->in_place, bench->gradient, 1, bench->size,
                              false, &scan);
    return (double)(syn_clock_ns() - began) * 1e-6;
}

static double time_pick(struct bench *bench, const struct syn_reducer_options *options, size_t step)
{
    struct syn_intake intake = {
        .residual_type = bench->residual_type,
        .select_type = bench->select_type,
        .select = bench->select,
        .before = bench->residuals[step % 2],
        .after = bench->residuals[(step + 1) % 2],
        .gradient = bench->gradient,
        .size = bench->size,
        .momentum = (float)options->residual_momentum,
        .scale = 1,
        .forget = (float)options->forget,
    };
    int64_t began = syn_clock_ns();
    syn_intake_run(&intake, bench->pool, bench->limit, options->density, &bench->picked);
    bench->residual_type->keep(&intake.after, &bench->picked);
    return (double)(syn_clock_ns() - began) * 1e-6;
}

enum syn_status syn_measure_select(const struct syn_reducer_options *options, size_t size,
                                   size_t repeats, struct syn_select_measure *result)
{
    enum { SETTLING = 6 }; /* steps until residual and guess reach their steady state */
    SYN_TRY(syn_reducer_check(options));
    if (syn_select_find(options->select)->is_dense || size == 0 || repeats == 0)
        return syn_fail(SYN_INVALID, "nothing to measure: select %s, %zu floats, %zu repeats",
                        options->select, size, repeats);
    struct bench bench = {0};
    enum syn_status status = open_bench(&bench, options, size, repeats);
    for (size_t step = 0; step < SETTLING + repeats && status == SYN_OK; step++) {
        renew_gradient(&bench, step);
        double pass_ms = time_pass(&bench);
        double pick_ms = time_pick(&bench, options, step);
        if (step == 0)
            result->first_ms = pick_ms;
        if (step >= SETTLING) {
            bench.pass_ms[step - SETTLING] = pass_ms;
            bench.pick_ms[step - SETTLING] = pick_ms;
        }
    }
    if (status == SYN_OK) {
        result->picked = bench.picked.count;
        result->pass_ms = syn_median(bench.pass_ms, repeats);
        result->pick_ms = syn_median(bench.pick_ms, repeats);
    }
    close_bench(&bench);
    return status;
}
