/* A step that is tried out: what an optimizer foresees, and that a worker with the optimizer at
 * hand moves as one that has to learn its momentum from the weights. */
#include "check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <syncopate/random.h>

#include "base/status.h"
#include "optim/optim.h"
#include "quadratic.h"
#include "scenario.h"
#include "workers.h"

enum { MOST = 5000, STEPS = 24 };

static const struct {
    double momentum, weight_decay;
    bool nesterov;
} updates[] = {{0, 0, false},      {0, 0.01, false}, {0.9, 0, false},
               {0.9, 0.01, false}, {0.5, 0, true},   {0.9, 5e-4, true}};
#define UPDATES (sizeof updates / sizeof updates[0])

static struct syn_optimizer_options options_of(size_t update)
{
    struct syn_optimizer_options options;
    syn_settings_defaults(&syn_optimizer_settings, &options);
    options.momentum = updates[update].momentum;
    options.weight_decay = updates[update].weight_decay;
    options.nesterov = updates[update].nesterov;
    return options;
}

/* Two tensors with rates of their own. */
static struct syn_optimizer *opened(size_t update, size_t size)
{
    struct syn_optimizer_options options = options_of(update);
    struct syn_optimizer *optimizer;
    struct syn_layout *layout;
    assert_ok(syn_layout_new(&layout));
    assert_ok(syn_layout_add(layout, "a", size - size / 3));
    assert_ok(syn_layout_add(layout, "b", size / 3));
    assert_ok(syn_layout_rate(layout, 1, (struct syn_tensor_rates){0.5, 0}));
    assert_ok(syn_optimizer_open_layout(&options, layout, &optimizer));
    syn_layout_free(layout);
    return optimizer;
}

static void fill(float *values, size_t count, uint64_t seed)
{
    struct syn_random random;
    syn_random_start(&random, seed, 0);
    for (size_t i = 0; i < count; i++)
        values[i] = syn_random_normal(&random);
}

static float gradient[MOST], own[MOST], weights[MOST], others[MOST], result[MOST], expected[MOST];
static float state[MOST], kept[MOST];

/* One sum is applied and one gradient tried out, by `one` in a single call and by `other` in two:
 * apply, then apply to copies. */
static void check_step(struct syn_optimizer *one, struct syn_optimizer *other, size_t size,
                       const struct syn_optimizer_sum *sum)
{
    struct syn_trial trial = {.gradient = own, .lr = 0.03, .scale = 0.7, .weights = result};
    assert_ok(syn_optimizer_apply_and_try(one, 0.05, 0.25, sum, weights, &trial));
    assert_true(trial.is_finite);
    if (sum->dense)
        assert_ok(syn_optimizer_apply(other, 0.05, 0.25, sum->dense, others));
    else
        assert_ok(syn_optimizer_apply_sparse(other, 0.05, 0.25, sum->indices, sum->values,
                                             sum->count, others));
    assert_memory_equal(weights, others, size * sizeof *weights);
    syn_optimizer_save(other, state);
    memcpy(expected, others, size * sizeof *expected);
    assert_ok(syn_optimizer_apply(other, trial.lr, trial.scale, own, expected));
    assert_memory_equal(result, expected, size * sizeof *result);
    assert_ok(syn_optimizer_load(other, state, syn_optimizer_state_size(other)));
    syn_optimizer_save(one, kept); /* trying out has left nothing */
    assert_memory_equal(kept, state, syn_optimizer_state_size(one) * sizeof *kept);
}

static void a_step_tried_out_is_the_one_that_would_be_made_to_the_bit(void **unused)
{
    (void)unused;
    static const size_t sizes[] = {1, 3, 2047, 2048, 2049, MOST};
    static const uint32_t indices[] = {0, 2, 700, 2046, 2047, 2048, 4999};
    for (size_t u = 0; u < UPDATES; u++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            size_t size = sizes[s];
            struct syn_optimizer *one = opened(u, size);
            struct syn_optimizer *other = opened(u, size);
            fill(weights, size, 1);
            memcpy(others, weights, sizeof others);
            for (uint64_t step = 0; step < 6; step++) {
                struct syn_optimizer_sum sum = {
                    .dense = step % 2 ? NULL : gradient, .indices = indices, .values = gradient};
                while (sum.count < 7 && indices[sum.count] < size)
                    sum.count++;
                fill(gradient, size, 2 * step + 2);
                fill(own, size, 2 * step + 3);
                check_step(one, other, size, &sum);
            }
            syn_optimizer_free(one);
            syn_optimizer_free(other);
        }
}

static void a_result_that_is_not_finite_is_told(void **unused)
{
    (void)unused;
    static const float bad[] = {NAN, INFINITY, -INFINITY};
    struct syn_optimizer *optimizer = opened(2, MOST);
    struct syn_trial trial = {.gradient = own, .lr = 0.1, .scale = 1, .weights = result};
    struct syn_optimizer_sum nothing = {.count = 0};
    fill(weights, MOST, 1);
    for (size_t at = 0; at < MOST; at += 833)
        for (int b = 0; b < 3; b++) {
            fill(own, MOST, 2);
            own[at] = bad[b];
            assert_ok(syn_optimizer_try(optimizer, weights, &trial));
            assert_false(trial.is_finite);
            trial.is_finite = true;
            assert_ok(syn_optimizer_apply_and_try(optimizer, 0.1, 1, &nothing, weights, &trial));
            assert_false(trial.is_finite);
        }
    fill(own, MOST, 2);
    assert_ok(syn_optimizer_try(optimizer, weights, &trial));
    assert_true(trial.is_finite);
    trial.lr = NAN;
    assert_status(SYN_INVALID, syn_optimizer_try(optimizer, weights, &trial));
    syn_optimizer_free(optimizer);
}

static void optimizers_that_adapt_refuse_to_try(void **unused)
{
    (void)unused;
    static const char *const names[] = {"adamw", "lamb"};
    for (int i = 0; i < 2; i++) {
        struct syn_optimizer_options options = options_of(0);
        struct syn_optimizer *optimizer;
        struct syn_trial trial = {.gradient = own, .lr = 0.1, .scale = 1, .weights = result};
        options.optimizer = names[i];
        assert_false(syn_optimizer_can_try(&options));
        assert_ok(syn_optimizer_open(&options, 10, &optimizer));
        assert_status(SYN_INVALID, syn_optimizer_try(optimizer, weights, &trial));
        syn_optimizer_free(optimizer);
    }
}

/* Runs of the quadratic problem that differ only in where the weights are kept. */
struct run {
    struct syn_worker_options options;
    enum syn_status status[WORKERS_MOST];
    float handed[WORKERS_MOST][STEPS][QUADRATIC_SIZE];
};

static enum syn_status train(struct run *run, struct syn_worker *worker, size_t rank, float *x)
{
    float g[QUADRATIC_SIZE];
    for (size_t step = 0; step < STEPS; step++) {
        struct syn_rates rates = {.lr = step < 14 ? 0.02 : 0.005};
        quadratic_gradient(rank, step, x, g);
        SYN_TRY(syn_worker_step(worker, g, &rates, x));
        memcpy(run->handed[rank][step], x, sizeof run->handed[rank][step]);
    }
    return SYN_OK;
}

static void member(struct syn_group *group, size_t rank, void *context)
{
    struct run *run = context;
    struct syn_layout *layout = NULL;
    struct syn_worker *worker = NULL;
    float x[QUADRATIC_SIZE];
    for (size_t i = 0; i < QUADRATIC_SIZE; i++)
        x[i] = 3;
    run->status[rank] = scenario_layout(quadratic_tensors, &layout);
    if (run->status[rank] == SYN_OK)
        run->status[rank] = syn_worker_open(group, layout, &run->options, x, &worker);
    if (run->status[rank] == SYN_OK)
        run->status[rank] = train(run, worker, rank, x);
    syn_worker_close(worker);
    syn_layout_free(layout);
}

static struct run *trained(const char *store, size_t update, size_t warmup, double clip)
{
    struct run *run = calloc(1, sizeof *run);
    run->options = quadratic_options("od-sgd");
    run->options.store = store;
    run->options.warmup = warmup;
    run->options.clip = clip;
    if (update == 1)
        run->options.alpha = 0.4;
    run->options.optimizer.momentum = updates[update].momentum;
    run->options.optimizer.weight_decay = updates[update].weight_decay;
    run_workers(3, 20000, member, run);
    for (size_t w = 0; w < 3; w++)
        assert_int_equal(run->status[w], SYN_OK);
    return run;
}

/* Shards have only a part of the optimizer each, so that workers keep weights and a memory of their
 * own: the same formula in another order of roundings, also after the rate has fallen. */
static void a_worker_moves_as_one_that_learns_the_momentum(void **unused)
{
    (void)unused;
    for (size_t u = 0; u < 4; u++)
        for (size_t warmup = 0; warmup < 6; warmup += 5)
            for (int clip = 0; clip < 2; clip++) {
                struct run *ahead = trained("replicas", u, warmup, clip * 2.0);
                struct run *learns = trained("shards", u, warmup, clip * 2.0);
                for (size_t w = 0; w < 3; w++)
                    for (size_t i = 0; i < STEPS * QUADRATIC_SIZE; i++) {
                        double a = (double)(&ahead->handed[w][0][0])[i];
                        double b = (double)(&learns->handed[w][0][0])[i];
                        if (!(fabs(a - b) <= 2e-5 * (1 + fabs(b))))
                            fail_msg("update %zu, warmup %zu, clip %d, worker %zu, step %zu: %.9g, "
                                     "not %.9g",
                                     u, warmup, clip, w, i / QUADRATIC_SIZE, a, b);
                    }
                assert_memory_not_equal(ahead->handed[0], ahead->handed[1],
                                        sizeof ahead->handed[0]); /* each its own gradient */
                free(ahead);
                free(learns);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_step_tried_out_is_the_one_that_would_be_made_to_the_bit),
        cmocka_unit_test(a_result_that_is_not_finite_is_told),
        cmocka_unit_test(optimizers_that_adapt_refuse_to_try),
        cmocka_unit_test(a_worker_moves_as_one_that_learns_the_momentum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
