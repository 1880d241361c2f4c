/* Momentum in the residual, on a convex problem whose optimum is known: worker p of P pulls the
 * weights to a centre of its own,
 *
 *     f_p(w) = sum over i of c_i / 2 * (w_i - a_pi)^2,     c_i from 0.01 to 1,
 *
 * judged in double precision. */
#include "check.h"

#include <math.h>
#include <string.h>

#include <syncopate/recipe.h>
#include <syncopate/worker.h>

#include "scenario.h"
#include "workers.h"

enum { SIZE = 600, WORKERS = 3, STEPS = 150 };

static const double lr = 0.05;
static const size_t tensors[] = {400, 200, SIZE_MAX};

struct descent {
    struct syn_worker_options options;
    float weights[WORKERS][SIZE];
    bool failed[WORKERS];
};

static double curvature(size_t i)
{
    return pow(10, -2 * (double)(i % 101) / 100);
}

static double centre(size_t rank, size_t i)
{
    return sin((double)(7 * i + 1)) + 0.5 * cos((double)(3 * i + 11 * rank));
}

static double gradient(size_t rank, size_t i, double weight)
{
    return curvature(i) * (weight - centre(rank, i));
}

static void descend(struct syn_group *group, size_t rank, void *context)
{
    struct descent *descent = context;
    struct syn_layout *layout = NULL;
    struct syn_worker *worker = NULL;
    float own[SIZE];
    float *weights = descent->weights[rank];
    bool is_good = scenario_layout(tensors, &layout) == SYN_OK &&
                   syn_worker_open(group, layout, &descent->options, weights, &worker) == SYN_OK;
    for (size_t step = 0; step < STEPS && is_good; step++) {
        struct syn_rates rates = {.lr = lr};
        for (size_t i = 0; i < SIZE; i++)
            own[i] = (float)gradient(rank, i, (double)weights[i]);
        is_good = syn_worker_step(worker, own, &rates, weights) == SYN_OK;
    }
    descent->failed[rank] = !is_good;
    syn_worker_close(worker);
    syn_layout_free(layout);
}

static struct descent run(const char *recipe, const char *form, double density)
{
    struct descent descent = {0};
    syn_worker_defaults(&descent.options);
    assert_ok(syn_recipe_apply_worker(recipe, &descent.options));
    descent.options.momentum_form = form;
    descent.options.reducer.density = density;
    descent.options.optimizer.momentum = 0.9;
    run_workers(WORKERS, 20000, descend, &descent);
    for (size_t w = 0; w < WORKERS; w++)
        assert_false(descent.failed[w]);
    return descent;
}

/* How far the mean of all f_p is above its least. */
static double excess(const float *weights)
{
    double sum = 0;
    for (size_t i = 0; i < SIZE; i++) {
        double middle = 0;
        for (size_t w = 0; w < WORKERS; w++)
            middle += centre(w, i) / WORKERS;
        double away = (double)weights[i] - middle;
        sum += curvature(i) / 2 * away * away;
    }
    return sum;
}

static void check_is_momentum_sgd(const char *recipe, const float *weights)
{
    for (size_t i = 0; i < SIZE; i++) {
        double w = 0, m = 0;
        for (size_t step = 0; step < STEPS; step++) {
            double mean = 0;
            for (size_t p = 0; p < WORKERS; p++)
                mean += gradient(p, i, w) / WORKERS;
            m = 0.9 * m + mean;
            w -= lr * m;
        }
        if (fabs(w - (double)weights[i]) > 1e-5)
            fail_msg("%s, weight %zu: %.8f, momentum SGD has %.8f", recipe, i, (double)weights[i],
                     w);
    }
}

static void everything_sent_is_momentum_sgd(void **state)
{
    (void)state;
    static const char *const recipes[] = {"topk", "gtopk", "ssgd"};
    for (int r = 0; r < 3; r++) {
        struct descent descent = run(recipes[r], "corrected", 1);
        check_is_momentum_sgd(recipes[r], descent.weights[0]);
    }
}

/* Masked momentum fails this: it ends three times as far away at a density of 0.3 as at 0.1. */
static void more_density_never_costs_accuracy(void **state)
{
    (void)state;
    static const char *const recipes[] = {"topk", "gtopk"};
    static const double densities[] = {0.01, 0.03, 0.1, 0.3, 1};
    for (int r = 0; r < 2; r++) {
        double before = INFINITY;
        for (int d = 0; d < 5; d++) {
            struct descent descent = run(recipes[r], "corrected", densities[d]);
            double now = excess(descent.weights[0]);
            if (now > before)
                fail_msg("%s: %g above the optimum at density %g, %g at the one below", recipes[r],
                         now, densities[d], before);
            before = now;
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_sent_is_momentum_sgd),
        cmocka_unit_test(more_density_never_costs_accuracy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
