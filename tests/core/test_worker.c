/* The worker: schedules and stores agree with each other to the bit where they must, and nothing is
 * lost on the way to the weights. */
#include "check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <syncopate/recipe.h>
#include <syncopate/worker.h>

#include "base/hash.h"
#include "quadratic.h"
#include "reducer/road.h"
#include "scenario.h"
#include "workers.h"

enum { STEPS = 24 };

struct run {
    struct syn_worker_options options;
    size_t steps;
    double lr;
    size_t settle_every; /* 0: only at the end */
    bool by_tensor;      /* tensors become ready one by one */
    enum syn_status status[WORKERS_MOST];
    char cause[WORKERS_MOST][512];
    uint64_t hash[WORKERS_MOST];                 /* of all weights that were handed out */
    float weights[WORKERS_MOST][QUADRATIC_SIZE]; /* the settled ones */
    uint64_t bytes_out[WORKERS_MOST];
};

static struct run run_of(const char *recipe)
{
    return (struct run){.options = quadratic_options(recipe), .steps = STEPS, .lr = 0.05};
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
    float weights[QUADRATIC_SIZE];
    float gradient[QUADRATIC_SIZE];
    struct syn_rates rates = {.lr = run->lr};
    enum syn_status status = scenario_layout(quadratic_tensors, &layout);
    scenario_weights(weights, QUADRATIC_SIZE);
    if (status == SYN_OK)
        status = syn_worker_open(group, layout, &run->options, weights, &worker);
    for (size_t step = 0; step < run->steps && status == SYN_OK; step++) {
        quadratic_gradient(rank, step, weights, gradient);
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

static void execute(struct run *run, size_t workers)
{
    run_workers(workers, 20000, member, run);
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

static const size_t worker_counts[] = {1, 2, 3, 5};

static void ssd_with_delay_one_is_od_to_the_bit(void **state)
{
    (void)state;
    static const char *const locals[] = {"sgd", "dcasgd", "glu", "carry"};
    for (int t = 0; t < 4; t++) {
        struct run od = run_of("od-sgd");
        struct run ssd = run_of("ssd-sgd");
        ssd.options.delay = 1;
        od.options.optimizer_local = ssd.options.optimizer_local = locals[t];
        execute(&od, worker_counts[t]);
        execute(&ssd, worker_counts[t]);
        assert_same_run(&od, &ssd, worker_counts[t]);
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
        execute(&ssgd, worker_counts[t]);
        execute(&ssd, worker_counts[t]);
        assert_same_run(&ssgd, &ssd, worker_counts[t]);
    }
}

static void shards_and_replicas_are_the_same_to_the_bit(void **state)
{
    (void)state;
    for (int t = 0; t < 4; t++) {
        struct run shards = run_of("ssd-sgd");
        struct run replicas = run_of("ssd-sgd");
        replicas.options.store = "replicas";
        execute(&shards, worker_counts[t]);
        execute(&replicas, worker_counts[t]);
        assert_same_run(&shards, &replicas, worker_counts[t]);
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
    execute(&ssd, 4);
    execute(&ssgd, 4);
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
            execute(&dense, worker_counts[t]);
            execute(&sparse, worker_counts[t]);
            for (size_t i = 0; i < QUADRATIC_SIZE; i++)
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
        execute(&plain, 3);
        execute(&settled, 3);
        execute(&by_tensor, 3);
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
    best.steps = 800;
    best.lr = 0.002;
    execute(&best, 4);
    for (size_t r = 0; r < 6 + 3; r++) {
        struct run run = run_of(r < 6 ? syn_recipe_name(r) : "ssd-sgd");
        run.steps = 800;
        run.options.run_steps = 800;
        /* An entry waits ten steps for its turn: lr / (1 - momentum) must be small against 1/10.
         * The distance at which sparse methods hover about the minimum is proportional to lr. */
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
        execute(&run, 4);
        double distance = 0;
        for (size_t i = 0; i < QUADRATIC_SIZE; i++)
            distance +=
                fabs((double)(run.weights[0][i] - best.weights[0][i])) / (double)QUADRATIC_SIZE;
        if (distance > 0.05)
            fail_msg("run %zu (%s) ends %g away from ssgd", r, run.options.schedule, distance);
    }
}

/* Tell the step's number times the rank before each step, hear it after the next one. */
static void talk_in_passing(struct syn_group *group, size_t rank, void *context)
{
    struct run *run = context;
    struct syn_layout *layout = NULL;
    struct syn_worker *worker = NULL;
    float weights[QUADRATIC_SIZE], gradient[QUADRATIC_SIZE];
    uint64_t heard[WORKERS_MOST];
    struct syn_rates rates = {.lr = run->lr};
    scenario_weights(weights, QUADRATIC_SIZE);
    bool holds = scenario_layout(quadratic_tensors, &layout) == SYN_OK &&
                 syn_worker_open(group, layout, &run->options, weights, &worker) == SYN_OK &&
                 syn_worker_gather_end(worker) == SYN_INVALID;
    for (uint64_t step = 0; step < run->steps && holds; step++) {
        uint64_t said = (step + 1) * rank;
        holds = syn_worker_gather_begin(worker, &said, sizeof said, heard) == SYN_OK &&
                syn_worker_gather_begin(worker, &said, sizeof said, heard) == SYN_INVALID;
        quadratic_gradient(rank, step, weights, gradient);
        holds = holds && syn_worker_step(worker, gradient, &rates, weights) == SYN_OK &&
                syn_worker_gather_end(worker) == SYN_OK;
        for (uint64_t w = 0; w < syn_group_workers(group); w++)
            holds = holds && heard[w] == (step + 1) * w;
        run->hash[rank] = syn_hash(run->hash[rank], weights, sizeof weights);
    }
    run->status[rank] = holds ? SYN_OK : SYN_INVALID;
    syn_worker_close(worker);
    syn_layout_free(layout);
}

static void what_is_told_in_passing_is_heard_and_changes_no_bit(void **state)
{
    (void)state;
    static const char *const recipes[] = {"ssgd", "od-sgd", "ssd-sgd", "gtopk"};
    for (int r = 0; r < 4; r++) {
        struct run silent = run_of(recipes[r]);
        struct run talking = silent;
        execute(&silent, worker_counts[r]);
        run_workers(worker_counts[r], 20000, talk_in_passing, &talking);
        for (size_t i = 0; i < worker_counts[r]; i++)
            assert_true(talking.status[i] == SYN_OK && talking.hash[i] == silent.hash[i]);
    }
}

struct odd {
    size_t workers;
    enum syn_status got[WORKERS_MOST];
    char cause[WORKERS_MOST][512];
};

static void begin_elsewhere(struct syn_group *group, size_t rank, void *context)
{
    struct odd *odd = context;
    struct syn_worker_options options;
    struct syn_layout *layout;
    struct syn_worker *worker = NULL;
    float weights[QUADRATIC_SIZE] = {0};
    weights[17] = rank == 2 ? 1 : 0;
    syn_worker_defaults(&options);
    scenario_layout(quadratic_tensors, &layout);
    odd->got[rank] = syn_worker_open(group, layout, &options, weights, &worker);
    snprintf(odd->cause[rank], sizeof odd->cause[rank], "%s", syn_error_text());
    syn_worker_close(worker);
    syn_layout_free(layout);
}

static void workers_that_begin_with_other_weights_are_found(void **state)
{
    (void)state;
    struct odd odd = {.workers = 3};
    run_workers(3, 2000, begin_elsewhere, &odd);
    for (int i = 0; i < 3; i++)
        assert_int_equal(odd.got[i], SYN_MISMATCH);
    assert_non_null(strstr(odd.cause[2], "first-weights"));
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
    options.momentum_form = "masked";
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

/* What adds up is added, a threshold is the last one, staleness the mean over all answers and the
 * most. */
static void costs_of_steps_add_up(void **state)
{
    (void)state;
    struct syn_cost sum = {1, 2, 3, 4, 5, 6, 7, 8, 9, 2, 1.5, 3, 10, 11};
    const struct syn_cost more = {10, 20, 30, 40, 50, 60, 70, 80, 90, 6, 3.5, 2, 100, 110};
    syn_cost_add(&sum, &more);
    assert_int_equal(sum.bytes_out, 11);
    assert_int_equal(sum.bytes_in, 22);
    assert_int_equal(sum.selected, 33);
    assert_int_equal(sum.taken_back, 44);
    assert_true(sum.select_ms == 55 && sum.encode_ms == 66);
    assert_true(sum.exchange_ms == 77 && sum.wait_ms == 88);
    assert_true(sum.threshold == 90);
    assert_int_equal(sum.answers, 8);
    assert_true(sum.staleness == (2 * 1.5 + 6 * 3.5) / 8);
    assert_int_equal(sum.staleness_most, 3);
    assert_true(sum.forgotten == 110 && sum.forgotten_mass == 121);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(costs_of_steps_add_up),
        cmocka_unit_test(ssd_with_delay_one_is_od_to_the_bit),
        cmocka_unit_test(ssd_with_a_blocking_pull_every_step_is_ssgd_to_the_bit),
        cmocka_unit_test(shards_and_replicas_are_the_same_to_the_bit),
        cmocka_unit_test(a_delay_sends_weights_every_kth_step_only),
        cmocka_unit_test(density_one_is_dense),
        cmocka_unit_test(settling_and_readiness_change_no_bit),
        cmocka_unit_test(every_recipe_and_mix_comes_to_the_same_place),
        cmocka_unit_test(what_is_told_in_passing_is_heard_and_changes_no_bit),
        cmocka_unit_test(workers_that_begin_with_other_weights_are_found),
        cmocka_unit_test(contradictions_are_refused_with_the_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
