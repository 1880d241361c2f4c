/* Local updates follow the formulas of docs/methods.md, through warm-up, pulls and a fall of the
 * learning rate. */
#include "check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <syncopate/worker.h>

#include "quadratic.h"
#include "scenario.h"
#include "workers.h"

/* The formulas in double precision, three workers in one loop. */
enum { WORKERS = 3, TEN = 10 };

struct reference {
    double w[QUADRATIC_SIZE], m[QUADRATIC_SIZE], before[QUADRATIC_SIZE], after[QUADRATIC_SIZE];
    double v[WORKERS][QUADRATIC_SIZE], memory[WORKERS][QUADRATIC_SIZE];
    uint64_t before_step, after_step;
    int snapshots;
};

/* It falls to a tenth between two pulls. */
static double lr_of(uint64_t step)
{
    return step < 6 ? 0.05 : 0.005;
}

static void begin_reference(struct reference *r, float x[WORKERS][QUADRATIC_SIZE])
{
    for (int p = 0; p < WORKERS; p++) {
        scenario_weights(x[p], QUADRATIC_SIZE);
        for (size_t i = 0; i < QUADRATIC_SIZE; i++)
            r->w[i] = r->after[i] = r->v[p][i] = (double)x[p][i];
    }
    r->snapshots = 1;
}

/* carry: momentum is off by what a constant error would have done to it by now. */
static void correct(const struct syn_worker_options *o, struct reference *r, uint64_t steps)
{
    double mu = o->optimizer.momentum;
    double covered = 0;
    for (uint64_t j = r->after_step; j < steps; j++)
        covered += lr_of(j) / (1 - mu) * (1 - pow(mu, (double)(j + 1 - r->after_step)));
    double share = (1 - pow(mu, (double)(steps - r->after_step))) / covered;
    for (int p = 0; p < WORKERS; p++)
        for (size_t i = 0; i < QUADRATIC_SIZE; i++)
            r->memory[p][i] += share * (r->v[p][i] - r->w[i]);
}

static bool carries(const struct syn_worker_options *o)
{
    return strcmp(o->optimizer_local, "carry") == 0;
}

static void pulled(const struct syn_worker_options *o, struct reference *r, uint64_t steps)
{
    if (carries(o))
        correct(o, r, steps);
    memcpy(r->before, r->after, sizeof r->before);
    memcpy(r->after, r->w, sizeof r->after);
    r->before_step = r->after_step;
    r->after_step = steps;
    r->snapshots++;
    for (int p = 0; p < WORKERS; p++)
        memcpy(r->v[p], r->w, sizeof r->w);
}

static double local_change(const struct syn_worker_options *o, struct reference *r, int p, size_t i,
                           double g, double lr)
{
    double wd = o->optimizer.weight_decay;
    double mu = o->optimizer.momentum;
    double v = r->v[p][i];
    double base = g + wd * v;
    double step = 0.5 * lr / (1 - mu);
    double alpha = o->alpha != SYN_AUTO ? o->alpha : carries(o) ? 1 : 0.5;
    if (strcmp(o->optimizer_local, "sgd") == 0)
        return step * base;
    if (strcmp(o->optimizer_local, "momentum") == 0)
        return step * (r->memory[p][i] = o->momentum_local * r->memory[p][i] + base);
    if (strcmp(o->optimizer_local, "dcasgd") == 0)
        return step * (base + 0.04 * g * g * (v - r->after[i]));
    if (strcmp(o->optimizer_local, "adcasgd") == 0) {
        r->memory[p][i] = o->mean_square * r->memory[p][i] + (1 - o->mean_square) * g * g + 1e-7;
        return step * (base + 2 / sqrt(r->memory[p][i]) * g * g * (v - r->after[i]));
    }
    if (carries(o))
        return lr / (1 - mu) *
               (r->memory[p][i] = mu * r->memory[p][i] + (1 - mu) * (alpha * g + wd * v));
    double decay = 1;
    double length = 0;
    for (uint64_t j = r->before_step; j < r->after_step; j++) {
        decay *= 1 - lr_of(j) * wd;
        length += lr_of(j);
    }
    double mean = (decay * r->before[i] - r->after[i]) / (length / (1 - mu));
    return lr / (1 - mu) * (alpha * g + (r->snapshots >= 2 ? 0.5 * mean : 0) + wd * v);
}

/* One step of all three workers, with x the weights that their gradients are computed at. */
static void reference_step(const struct syn_worker_options *o, struct reference *r, size_t step,
                           float x[WORKERS][QUADRATIC_SIZE], bool *pull_open)
{
    static float g[WORKERS][QUADRATIC_SIZE];
    const double lr = lr_of(step);
    for (int p = 0; p < WORKERS; p++)
        quadratic_gradient((size_t)p, step, x[p], g[p]);
    if (*pull_open)
        pulled(o, r, step);
    *pull_open = false;
    for (size_t i = 0; i < QUADRATIC_SIZE; i++) {
        double mean = ((double)g[0][i] + (double)g[1][i] + (double)g[2][i]) / (double)WORKERS;
        r->m[i] = o->optimizer.momentum * r->m[i] + mean + o->optimizer.weight_decay * r->w[i];
        r->w[i] -= lr * r->m[i];
    }
    bool is_prompt = step < o->warmup;
    if (!is_prompt || carries(o))
        for (int p = 0; p < WORKERS; p++)
            for (size_t i = 0; i < QUADRATIC_SIZE; i++)
                r->v[p][i] -= local_change(o, r, p, i, (double)g[p][i], lr);
    if (is_prompt) {
        pulled(o, r, step + 1);
    } else {
        *pull_open = (step - o->warmup) % o->delay == o->delay - 1;
    }
    for (int p = 0; p < WORKERS; p++)
        for (size_t i = 0; i < QUADRATIC_SIZE; i++)
            x[p][i] = (float)r->v[p][i];
}

struct following {
    struct syn_worker_options options;
    float weights[WORKERS][TEN][QUADRATIC_SIZE];
    enum syn_status status[WORKERS];
};

static void follow(struct syn_group *group, size_t rank, void *context)
{
    struct following *own = context;
    struct syn_layout *layout = NULL;
    struct syn_worker *worker = NULL;
    float weights[QUADRATIC_SIZE];
    float gradient[QUADRATIC_SIZE];
    scenario_weights(weights, QUADRATIC_SIZE);
    own->status[rank] = scenario_layout(quadratic_tensors, &layout);
    if (own->status[rank] == SYN_OK)
        own->status[rank] = syn_worker_open(group, layout, &own->options, weights, &worker);
    for (size_t step = 0; step < TEN && own->status[rank] == SYN_OK; step++) {
        struct syn_rates rates = {.lr = lr_of(step)};
        quadratic_gradient(rank, step, weights, gradient);
        own->status[rank] = syn_worker_step(worker, gradient, &rates, weights);
        memcpy(own->weights[rank][step], weights, sizeof weights);
    }
    syn_worker_close(worker);
    syn_layout_free(layout);
}

static void every_local_update_follows_its_formula(void **state)
{
    (void)state;
    static const char *const locals[] = {"sgd", "momentum", "dcasgd", "adcasgd",
                                         "glu", "carry",    "glu",    "carry"};
    struct following *own = calloc(1, sizeof *own);
    for (int l = 0; l < 8; l++) {
        own->options = quadratic_options("ssd-sgd");
        own->options.delay = 3;
        own->options.warmup = 1;
        own->options.optimizer_local = locals[l];
        own->options.momentum_local = 0.5;
        if (l >= 6)
            own->options.alpha = 0.3;
        own->options.optimizer.weight_decay = 0.1;
        run_workers(WORKERS, 20000, follow, own);
        struct reference *reference = calloc(1, sizeof *reference);
        static float x[WORKERS][QUADRATIC_SIZE];
        begin_reference(reference, x);
        bool pull_open = false;
        for (size_t step = 0; step < TEN; step++) {
            reference_step(&own->options, reference, step, x, &pull_open);
            for (int p = 0; p < WORKERS; p++)
                for (size_t i = 0; i < QUADRATIC_SIZE; i++) {
                    double got = (double)own->weights[p][step][i];
                    double expected = reference->v[p][i];
                    if (fabs(got - expected) > 5e-6 * (1 + fabs(expected)))
                        fail_msg("%s, worker %d, step %zu, weight %zu: %.7g instead of %.7g",
                                 locals[l], p, step, i, got, expected);
                }
        }
        free(reference);
    }
    free(own);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_local_update_follows_its_formula),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
