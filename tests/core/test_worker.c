/* The worker: schedules and stores agree with each other to the bit where they must, local updates
 * follow their formulas, and nothing is lost on the way to the weights. */
#include "check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <syncopate/recipe.h>
#include <syncopate/worker.h>

#include "base/hash.h"
#include "bowl.h"
#include "scenario.h"
#include "team.h"

enum { STEPS = 24 };

struct run {
    struct syn_worker_options options;
    size_t steps;
    double lr;
    size_t settle_every; /* 0: only at the end */
    bool by_tensor;      /* tensors become ready one by one */
    enum syn_status status[TEAM_MOST];
    char cause[TEAM_MOST][512];
    uint64_t hash[TEAM_MOST];            /* of all weights that were handed out */
    float weights[TEAM_MOST][BOWL_SIZE]; /* the settled ones */
    uint64_t bytes_out[TEAM_MOST];
};

static struct run run_of(const char *recipe)
{
    return (struct run){.options = bowl_options(recipe), .steps = STEPS, .lr = 0.05};
}

static enum syn_status take_step(struct run *run, struct syn_worker *worker, const float *gradient,
                                 const struct syn_rates *rates, float *weights)
{
    enum syn_status status = SYN_OK;
    if (run->by_tensor) {
        status = syn_worker_start(worker, gradient, rates);
        for (size_t i = 3; i-- > 0 && status == SYN_OK;)
            status = syn_worker_ready(worker, i);
    }
    return status == SYN_OK ? syn_worker_step(worker, gradient, rates, weights) : status;
}

static void member(struct syn_group *group, size_t rank, void *context)
{
    struct run *run = context;
    struct syn_layout *layout = NULL;
    struct syn_worker *worker = NULL;
    float weights[BOWL_SIZE] = {0};
    float gradient[BOWL_SIZE];
    struct syn_rates rates = {.lr = run->lr};
    enum syn_status status = scenario_layout(bowl_tensors, &layout);
    if (status == SYN_OK)
        status = syn_worker_open(group, layout, &run->options, weights, &worker);
    for (size_t step = 0; step < run->steps && status == SYN_OK; step++) {
        bowl_gradient(rank, step, weights, gradient);
        status = take_step(run, worker, gradient, &rates, weights);
        memset(gradient, 0xff, sizeof gradient); /* it was handed over: nobody may look at it now */
        run->hash[rank] = syn_hash(run->hash[rank], weights, sizeof weights);
        if (run->settle_every && step % run->settle_every == 0 && status == SYN_OK)
            status = syn_worker_settle(worker, run->weights[rank]);
    }
    if (status == SYN_OK)
        status = syn_worker_settle(worker, run->weights[rank]);
    run->status[rank] = status;
    snprintf(run->cause[rank], sizeof run->cause[rank], "%s", syn_error_text());
    if (worker)
        run->bytes_out[rank] = syn_worker_total_cost(worker).bytes_out;
    syn_worker_close(worker);
    syn_layout_free(layout);
}

static void play(struct run *run, size_t workers)
{
    team_run(workers, 20000, member, run);
    for (size_t i = 0; i < workers; i++) {
        if (run->status[i] != SYN_OK)
            fail_msg("worker %zu of %zu: %s", i, workers, run->cause[i]);
        assert_memory_equal(run->weights[i], run->weights[0], sizeof run->weights[0]);
    }
}

static void assert_same_run(const struct run *a, const struct run *b, size_t workers)
{
    for (size_t i = 0; i < workers; i++) {
        assert_true(a->hash[i] == b->hash[i]);
        assert_memory_equal(a->weights[i], b->weights[i], sizeof a->weights[i]);
    }
}

static const size_t teams[] = {1, 2, 3, 5};

static void ssd_with_delay_one_is_od_to_the_bit(void **state)
{
    (void)state;
    static const char *const locals[] = {"sgd", "dcasgd", "glu", "carry"};
    for (int t = 0; t < 4; t++) {
        struct run od = run_of("od-sgd");
        struct run ssd = run_of("ssd-sgd");
        ssd.options.delay = 1;
        od.options.optimizer_local = ssd.options.optimizer_local = locals[t];
        play(&od, teams[t]);
        play(&ssd, teams[t]);
        assert_same_run(&od, &ssd, teams[t]);
    }
}

static void ssd_with_a_blocking_pull_every_step_is_ssgd_to_the_bit(void **state)
{
    (void)state;
    for (int t = 0; t < 4; t++) {
        struct run ssgd = run_of("ssgd");
        struct run ssd = run_of("ssd-sgd");
        ssd.options.delay = 1;
        ssd.options.blocking_pull = true;
        play(&ssgd, teams[t]);
        play(&ssd, teams[t]);
        assert_same_run(&ssgd, &ssd, teams[t]);
    }
}

static void shards_and_replicas_are_the_same_to_the_bit(void **state)
{
    (void)state;
    for (int t = 0; t < 4; t++) {
        struct run shards = run_of("ssd-sgd");
        struct run replicas = run_of("ssd-sgd");
        replicas.options.store = "replicas";
        play(&shards, teams[t]);
        play(&replicas, teams[t]);
        assert_same_run(&shards, &replicas, teams[t]);
    }
}

static void a_delay_sends_weights_every_kth_step_only(void **state)
{
    (void)state;
    struct run ssd = run_of("ssd-sgd");
    struct run ssgd = run_of("ssgd");
    ssd.options.warmup = 0;
    ssd.options.compare_every = 0;
    ssgd.options.compare_every = 0;
    play(&ssd, 4);
    play(&ssgd, 4);
    /* 1 + 1/k instead of 2. */
    double expected = (double)ssgd.bytes_out[0] / 2 * (1 + 0.25);
    assert_true(fabs((double)ssd.bytes_out[0] - expected) < 0.01 * expected);
}

static void density_one_is_dense(void **state)
{
    (void)state;
    static const char *const recipes[] = {"topk", "gtopk"};
    for (int r = 0; r < 2; r++)
        for (int t = 0; t < 4; t++) {
            struct run dense = run_of("ssgd");
            struct run sparse = run_of(recipes[r]);
            sparse.options.reducer.density = 1;
            sparse.options.momentum_form = "global";
            play(&dense, teams[t]);
            play(&sparse, teams[t]);
            for (size_t i = 0; i < BOWL_SIZE; i++)
                assert_true(fabsf(dense.weights[0][i] - sparse.weights[0][i]) < 1e-6F);
        }
}

static void settling_and_readiness_change_no_bit(void **state)
{
    (void)state;
    for (size_t r = 0; syn_recipe_name(r); r++) {
        if (strcmp(syn_recipe_name(r), "asgd") == 0)
            continue; /* needs servers, and is never the same twice */
        struct run plain = run_of(syn_recipe_name(r));
        struct run settled = plain;
        struct run by_tensor = plain;
        settled.settle_every = 2;
        by_tensor.by_tensor = true;
        play(&plain, 3);
        play(&settled, 3);
        play(&by_tensor, 3);
        assert_same_run(&plain, &settled, 3);
        assert_same_run(&plain, &by_tensor, 3);
    }
}

static void every_recipe_and_mix_comes_to_the_same_place(void **state)
{
    (void)state;
    static const char *const mixes[][4] = {{"topk", "gtopk", "f32", ""},
                                           {"topk", "allgather", "f16", ""},
                                           {"threshold", "allgather", "sign", "on"}};
    struct run best = run_of("ssgd");
    best.steps = 400;
    best.lr = 0.004;
    play(&best, 4);
    for (size_t r = 0; r < 6 + 3; r++) {
        struct run run = run_of(r < 6 ? syn_recipe_name(r) : "ssd-sgd");
        run.steps = 400;
        run.options.run_steps = 400;
        /* An entry waits ten steps for its turn: lr / (1 - momentum) must be small against 1/10. */
        bool has_momentum = strcmp(run.options.momentum_form, "none") != 0;
        run.lr = has_momentum ? best.lr : 10 * best.lr;
        run.options.reducer.density = 0.1;
        if (r >= 6) {
            run.options.reducer.select = mixes[r - 6][0];
            run.options.reducer.exchange = mixes[r - 6][1];
            run.options.reducer.values = mixes[r - 6][2];
            run.options.send_updates = mixes[r - 6][3][0] != '\0';
            run.options.reducer.threshold_mode = "target";
        }
        play(&run, 4);
        double distance = 0;
        for (size_t i = 0; i < BOWL_SIZE; i++)
            distance += fabs((double)(run.weights[0][i] - best.weights[0][i])) / BOWL_SIZE;
        if (distance > 0.05)
            fail_msg("run %zu (%s) ends %g away from ssgd", r, run.options.schedule, distance);
    }
}

/* The formulas of docs/methods.md in double precision, three workers in one loop. */
enum { TEAM = 3, TEN = 10 };

struct reference {
    double w[BOWL_SIZE], m[BOWL_SIZE], before[BOWL_SIZE], after[BOWL_SIZE];
    double v[TEAM][BOWL_SIZE], memory[TEAM][BOWL_SIZE];
    uint64_t before_step, after_step;
    int snapshots;
};

/* carry: momentum is off by what a constant error would have done to it by now. */
static void correct(const struct syn_worker_options *o, struct reference *r, double n, double lr)
{
    double mu = o->optimizer.momentum;
    double covered = 0;
    for (double j = 1; j <= n; j++)
        covered += (1 - pow(mu, j)) / (1 - mu);
    double share = (1 - pow(mu, n)) / (1 - mu) / covered * (1 - mu) / lr;
    for (int p = 0; p < TEAM; p++)
        for (size_t i = 0; i < BOWL_SIZE; i++)
            r->memory[p][i] += share * (r->v[p][i] - r->w[i]);
}

static bool carries(const struct syn_worker_options *o)
{
    return strcmp(o->optimizer_local, "carry") == 0;
}

static void pulled(const struct syn_worker_options *o, struct reference *r, uint64_t steps,
                   double lr)
{
    if (carries(o))
        correct(o, r, (double)(steps - r->after_step), lr);
    memcpy(r->before, r->after, sizeof r->before);
    memcpy(r->after, r->w, sizeof r->after);
    r->before_step = r->after_step;
    r->after_step = steps;
    r->snapshots++;
    for (int p = 0; p < TEAM; p++)
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
        return lr / (1 - mu) * (r->memory[p][i] = mu * r->memory[p][i] + (1 - mu) * base);
    double n = (double)(r->after_step - r->before_step);
    double mean = (pow(1 - lr * wd, n) * r->before[i] - r->after[i]) / (n * lr / (1 - mu));
    return lr / (1 - mu) * (0.5 * g + (r->snapshots >= 2 ? 0.5 * mean : 0) + wd * v);
}

/* One step of all three workers, with x the weights that their gradients are computed at. */
static void reference_step(const struct syn_worker_options *o, struct reference *r, size_t step,
                           float x[TEAM][BOWL_SIZE], bool *pull_open)
{
    static float g[TEAM][BOWL_SIZE];
    const double lr = 0.05;
    for (int p = 0; p < TEAM; p++)
        bowl_gradient((size_t)p, step, x[p], g[p]);
    if (*pull_open)
        pulled(o, r, step, lr);
    *pull_open = false;
    for (size_t i = 0; i < BOWL_SIZE; i++) {
        double mean = ((double)g[0][i] + (double)g[1][i] + (double)g[2][i]) / TEAM;
        r->m[i] = o->optimizer.momentum * r->m[i] + mean + o->optimizer.weight_decay * r->w[i];
        r->w[i] -= lr * r->m[i];
    }
    bool is_prompt = step < o->warmup;
    if (!is_prompt || carries(o))
        for (int p = 0; p < TEAM; p++)
            for (size_t i = 0; i < BOWL_SIZE; i++)
                r->v[p][i] -= local_change(o, r, p, i, (double)g[p][i], lr);
    if (is_prompt) {
        pulled(o, r, step + 1, lr);
    } else {
        *pull_open = (step - o->warmup) % o->delay == o->delay - 1;
    }
    for (int p = 0; p < TEAM; p++)
        for (size_t i = 0; i < BOWL_SIZE; i++)
            x[p][i] = (float)r->v[p][i];
}

struct following {
    struct syn_worker_options options;
    float weights[TEAM][TEN][BOWL_SIZE];
    enum syn_status status[TEAM];
};

static void follow(struct syn_group *group, size_t rank, void *context)
{
    struct following *own = context;
    struct syn_layout *layout = NULL;
    struct syn_worker *worker = NULL;
    float weights[BOWL_SIZE] = {0};
    float gradient[BOWL_SIZE];
    struct syn_rates rates = {.lr = 0.05};
    own->status[rank] = scenario_layout(bowl_tensors, &layout);
    if (own->status[rank] == SYN_OK)
        own->status[rank] = syn_worker_open(group, layout, &own->options, weights, &worker);
    for (size_t step = 0; step < TEN && own->status[rank] == SYN_OK; step++) {
        bowl_gradient(rank, step, weights, gradient);
        own->status[rank] = syn_worker_step(worker, gradient, &rates, weights);
        memcpy(own->weights[rank][step], weights, sizeof weights);
    }
    syn_worker_close(worker);
    syn_layout_free(layout);
}

static void every_local_update_follows_its_formula(void **state)
{
    (void)state;
    static const char *const locals[] = {"sgd", "momentum", "dcasgd", "adcasgd", "glu", "carry"};
    struct following *own = calloc(1, sizeof *own);
    for (int l = 0; l < 6; l++) {
        struct run run = run_of("ssd-sgd");
        own->options = run.options;
        own->options.delay = 3;
        own->options.warmup = 1;
        own->options.optimizer_local = locals[l];
        own->options.momentum_local = 0.5;
        team_run(TEAM, 20000, follow, own);
        struct reference *reference = calloc(1, sizeof *reference);
        static float x[TEAM][BOWL_SIZE];
        memset(x, 0, sizeof x);
        bool pull_open = false;
        for (size_t step = 0; step < TEN; step++) {
            reference_step(&own->options, reference, step, x, &pull_open);
            for (int p = 0; p < TEAM; p++)
                for (size_t i = 0; i < BOWL_SIZE; i++) {
                    double got = (double)own->weights[p][step][i];
                    double expected = reference->v[p][i];
                    if (fabs(got - expected) > 1e-4 * (1 + fabs(expected)))
                        fail_msg("%s, worker %d, step %zu, weight %zu: %.7g instead of %.7g",
                                 locals[l], p, step, i, got, expected);
                }
        }
        free(reference);
    }
    free(own);
}

struct odd {
    size_t workers;
    enum syn_status got[TEAM_MOST];
    char cause[TEAM_MOST][512];
};

static void begin_elsewhere(struct syn_group *group, size_t rank, void *context)
{
    struct odd *odd = context;
    struct syn_worker_options options;
    struct syn_layout *layout;
    struct syn_worker *worker = NULL;
    float weights[BOWL_SIZE] = {0};
    weights[17] = rank == 2 ? 1 : 0;
    syn_worker_defaults(&options);
    scenario_layout(bowl_tensors, &layout);
    odd->got[rank] = syn_worker_open(group, layout, &options, weights, &worker);
    snprintf(odd->cause[rank], sizeof odd->cause[rank], "%s", syn_error_text());
    syn_worker_close(worker);
    syn_layout_free(layout);
}

static void workers_that_begin_with_other_weights_are_found(void **state)
{
    (void)state;
    struct odd odd = {.workers = 3};
    team_run(3, 2000, begin_elsewhere, &odd);
    for (int i = 0; i < 3; i++)
        assert_true(odd.got[i] == SYN_MISMATCH || odd.got[i] == SYN_PEER);
    assert_non_null(strstr(odd.cause[0], "first weights"));
}

static void contradictions_are_refused_with_the_reason(void **state)
{
    (void)state;
    struct syn_worker_options options;
    syn_worker_defaults(&options);
    options.store = "shards";
    options.reducer.select = "topk";
    options.reducer.exchange = "gtopk";
    assert_status(SYN_INVALID, syn_worker_check(&options));
    assert_non_null(strstr(syn_error_text(), "shards"));
    syn_worker_defaults(&options);
    options.send_updates = true;
    assert_status(SYN_INVALID, syn_worker_check(&options));
    syn_worker_defaults(&options);
    options.momentum_form = "corrected";
    assert_status(SYN_INVALID, syn_worker_check(&options));
    syn_worker_defaults(&options);
    options.momentum_form = "none";
    options.optimizer.nesterov = true;
    assert_status(SYN_INVALID, syn_worker_check(&options));
    /* Ours alone: a delay with gTop-k inside. */
    assert_ok(syn_recipe_apply_worker("ssd-sgd", &options));
    options.optimizer.nesterov = false;
    options.reducer.select = "topk";
    options.reducer.exchange = "gtopk";
    assert_ok(syn_worker_check(&options));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ssd_with_delay_one_is_od_to_the_bit),
        cmocka_unit_test(ssd_with_a_blocking_pull_every_step_is_ssgd_to_the_bit),
        cmocka_unit_test(shards_and_replicas_are_the_same_to_the_bit),
        cmocka_unit_test(a_delay_sends_weights_every_kth_step_only),
        cmocka_unit_test(density_one_is_dense),
        cmocka_unit_test(settling_and_readiness_change_no_bit),
        cmocka_unit_test(every_recipe_and_mix_comes_to_the_same_place),
        cmocka_unit_test(every_local_update_follows_its_formula),
        cmocka_unit_test(workers_that_begin_with_other_weights_are_found),
        cmocka_unit_test(contradictions_are_refused_with_the_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
