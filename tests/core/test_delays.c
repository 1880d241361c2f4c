/* What delayed workers do at the edges: their first move, after they were regrouped, when the
 * learning rate falls, with several pushes under way, and in the last step of a run. */
#include "check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <syncopate/recipe.h>

#include "quadratic.h"
#include "scenario.h"
#include "workers.h"

enum { MOST_STEPS = 40 };

struct run {
    struct syn_worker_options options;
    size_t steps;
    double lr[MOST_STEPS];
    float first;    /* all weights to begin from */
    float gradient; /* all entries of all gradients; NAN: those of the quadratic problem */
    size_t bad;     /* the step whose gradient is NAN on worker 1; SIZE_MAX: none */
    size_t failed[WORKERS_MOST];                /* the step that was not finite; SIZE_MAX: none */
    struct syn_archive *archives[WORKERS_MOST]; /* written at the end, or read at the beginning */
    size_t archive_count;                       /* above 0: read so many */
    enum syn_status status[WORKERS_MOST];
    char cause[WORKERS_MOST][512];
    float weights[WORKERS_MOST][MOST_STEPS][QUADRATIC_SIZE]; /* handed out by each step */
    float settled[WORKERS_MOST][QUADRATIC_SIZE];
};

/* Of a recipe without weight decay and warm-up, all gradients being 1, allocated; free() it. */
static struct run *run_of(const char *recipe, const char *local, size_t steps, double lr)
{
    struct run *run = calloc(1, sizeof *run);
    run->options = quadratic_options(recipe);
    run->options.warmup = 0;
    run->options.optimizer_local = local;
    run->options.optimizer.weight_decay = 0;
    run->options.compare_every = 0;
    run->steps = steps;
    run->first = 100;
    run->gradient = 1;
    run->bad = SIZE_MAX;
    for (size_t i = 0; i < MOST_STEPS; i++)
        run->lr[i] = lr;
    return run;
}

static void fill_gradient(const struct run *run, size_t rank, size_t step, const float *weights,
                          float *gradient)
{
    if (isnan(run->gradient))
        quadratic_gradient(rank, step, weights, gradient);
    for (size_t i = 0; i < QUADRATIC_SIZE && !isnan(run->gradient); i++)
        gradient[i] = run->gradient;
}

static enum syn_status train(struct run *run, struct syn_worker *worker, size_t rank,
                             float *weights)
{
    float gradient[QUADRATIC_SIZE];
    enum syn_status status = SYN_OK;
    run->failed[rank] = SIZE_MAX;
    if (run->archive_count > 0)
        status = syn_worker_load_regrouped(worker, (const struct syn_archive *const *)run->archives,
                                           run->archive_count);
    if (run->archive_count > 0 && status == SYN_OK)
        status = syn_worker_settle(worker, weights);
    for (size_t step = 0; step < run->steps && status == SYN_OK; step++) {
        struct syn_rates rates = {.lr = run->lr[step]};
        fill_gradient(run, rank, step, weights, gradient);
        if (step == run->bad && rank == 1)
            gradient[17] = NAN;
        status = syn_worker_step(worker, gradient, &rates, weights);
        if (status == SYN_NONFINITE && run->bad <= step) {
            run->failed[rank] = step;
            status = SYN_OK;
        }
        memcpy(run->weights[rank][step], weights, sizeof run->weights[rank][step]);
    }
    if (run->archives[rank] && run->archive_count == 0 && status == SYN_OK)
        status = syn_worker_save(worker, run->archives[rank]);
    return status == SYN_OK ? syn_worker_settle(worker, run->settled[rank]) : status;
}

static void member(struct syn_group *group, size_t rank, void *context)
{
    struct run *run = context;
    struct syn_layout *layout = NULL;
    struct syn_worker *worker = NULL;
    float weights[QUADRATIC_SIZE];
    for (size_t i = 0; i < QUADRATIC_SIZE; i++)
        weights[i] = run->first;
    run->status[rank] = scenario_layout(quadratic_tensors, &layout);
    if (run->status[rank] == SYN_OK)
        run->status[rank] = syn_worker_open(group, layout, &run->options, weights, &worker);
    if (run->status[rank] == SYN_OK)
        run->status[rank] = train(run, worker, rank, weights);
    snprintf(run->cause[rank], sizeof run->cause[rank], "%s", syn_error_text());
    syn_worker_close(worker);
    syn_layout_free(layout);
}

static struct run *execute(struct run *run, size_t workers)
{
    run_workers(workers, 20000, member, run);
    for (size_t i = 0; i < workers; i++)
        if (run->status[i] != SYN_OK)
            fail_msg("worker %zu of %zu: %s", i, workers, run->cause[i]);
    return run;
}

/* lr_local is 0.5 * lr / (1 - 0.9): with lr a thousandth and a gradient of 1, a first step of
 * 0.005, as there is nothing yet to compensate. */
static void the_first_move_is_as_long_as_any_other(void **state)
{
    (void)state;
    static const char *const locals[] = {"sgd", "momentum", "dcasgd", "adcasgd"};
    for (int l = 0; l < 4; l++) {
        struct run *run = execute(run_of("ssd-sgd", locals[l], 1, 0.001), 2);
        double move = (double)run->weights[1][0][17] - 100;
        if (fabs(move + 0.005) > 1e-5)
            fail_msg("%s: the first move is %g, not -0.005", locals[l], move);
        free(run);
    }
}

/* Three workers go on as two: their snapshots are the weights that they go on from. */
static void the_first_move_after_regrouping_is_as_long_as_any_other(void **state)
{
    (void)state;
    static const char *const locals[] = {"sgd", "momentum", "dcasgd", "adcasgd", "glu", "carry"};
    for (int l = 0; l < 6; l++) {
        struct run *before = run_of("ssd-sgd", locals[l], 7, 0.001);
        for (int i = 0; i < 3; i++)
            assert_ok(syn_archive_new(&before->archives[i]));
        execute(before, 3);
        struct run *after = run_of("ssd-sgd", locals[l], 2, 0.001);
        memcpy(after->archives, before->archives, sizeof after->archives);
        after->archive_count = 3;
        execute(after, 2);
        double move = (double)after->weights[1][0][17] - (double)before->settled[0][17];
        if (!(fabs(move) < 0.0051 && move < 0))
            fail_msg("%s: the first move is %g", locals[l], move);
        for (int i = 0; i < 3; i++)
            syn_archive_free(before->archives[i]);
        free(before);
        free(after);
    }
}

/* All gradients are 1 for ever: momentum SGD falls by lr / (1 - mu) in each step once it is in
 * motion, and so must the workers' own weights, before and after the rate falls to a tenth. */
static void after_a_fall_of_the_rate_no_step_is_longer_than_the_rate_allows(void **state)
{
    (void)state;
    static const char *const locals[] = {"glu", "carry"};
    static const char *const recipes[] = {"od-sgd", "ssd-sgd"};
    enum { FALL = 30 };
    for (int r = 0; r < 2; r++)
        for (int l = 0; l < 2; l++)
            for (size_t fall = FALL; fall < FALL + 4; fall++) { /* anywhere between two pulls */
                struct run *run = run_of(recipes[r], locals[l], MOST_STEPS, 0.01);
                run->first = 1;
                for (size_t i = fall; i < MOST_STEPS; i++)
                    run->lr[i] = 0.001;
                execute(run, 2);
                for (size_t i = fall + 1; i < MOST_STEPS; i++) {
                    double move =
                        (double)run->weights[1][i][17] - (double)run->weights[1][i - 1][17];
                    double usual = 0.001 / (1 - 0.9);
                    /* Pulls undo what the start was slower than the steady state. */
                    if (fabs(move + usual) > 0.6 * usual)
                        fail_msg("%s, %s, fall at %zu, step %zu: a move of %g, not %g", recipes[r],
                                 locals[l], fall, i, move, -usual);
                }
                free(run);
            }
}

/* Steps that were dropped leave nothing in a worker's own momentum: its next move is as a first
 * one is. */
static void after_a_failure_own_momentum_begins_anew(void **state)
{
    (void)state;
    static const char *const locals[] = {"momentum", "carry"};
    static const double moves[] = {0.005,
                                   0.001}; /* 0.5 * lr / (1 - mu); (1 - mu) * lr / (1 - mu) */
    for (int l = 0; l < 2; l++) {
        struct run *run = run_of("od-sgd", locals[l], 14, 0.001);
        run->options.momentum_local = 0.9;
        run->first = 1;
        run->bad = 8;
        execute(run, 3);
        size_t failed = run->failed[0];
        assert_in_range(failed, 9, 12);
        for (size_t w = 0; w < 3; w++) {
            assert_int_equal(run->failed[w], failed);
            double move =
                (double)run->weights[w][failed + 1][17] - (double)run->weights[w][failed][17];
            if (fabs(move + moves[l]) > 1e-6)
                fail_msg("%s, worker %zu: a move of %g, not %g", locals[l], w, move, -moves[l]);
        }
        free(run);
    }
}

/* Gradients do not depend on the weights here, so that the global weights are those of ssgd. */
static void every_push_is_applied_with_its_own_learning_rate(void **state)
{
    (void)state;
    static const char *const stores[] = {"replicas", "shards"};
    struct run *prompt = run_of("ssgd", "sgd", 12, 0);
    for (size_t i = 0; i < prompt->steps; i++)
        prompt->lr[i] = 0.1 / (double)(i + 1);
    execute(prompt, 3);
    for (int s = 0; s < 2; s++)
        for (size_t window = 1; window <= 5; window++) {
            struct run *late = run_of("ssd-sgd", "glu", 12, 0);
            late->options.store = stores[s];
            late->options.window = window;
            late->options.delay = 6;
            memcpy(late->lr, prompt->lr, sizeof late->lr);
            execute(late, 3);
            if (memcmp(late->settled[1], prompt->settled[1], sizeof late->settled[1]) != 0)
                fail_msg("store %s, window %zu: weight 17 is %.9g, not %.9g", stores[s], window,
                         (double)late->settled[1][17], (double)prompt->settled[1][17]);
            free(late);
        }
    free(prompt);
}

/* The last k steps are synchronous: each hands out the global weights, the last one those that
 * settling gives. */
static void the_last_steps_of_a_run_hand_out_the_global_weights(void **state)
{
    (void)state;
    static const char *const recipes[] = {"od-sgd", "ssd-sgd"};
    for (int r = 0; r < 2; r++)
        for (size_t steps = 9; steps < 14; steps++) {
            size_t last = r == 0 ? 1 : 3;
            struct run *run = run_of(recipes[r], "glu", steps, 0.01);
            run->gradient = NAN;
            run->options.delay = last;
            run->options.run_steps = steps;
            execute(run, 3);
            for (size_t w = 0; w < 3; w++) {
                assert_memory_equal(run->weights[w][steps - 1], run->settled[0],
                                    sizeof run->settled[0]);
                for (size_t i = steps - last; i < steps; i++)
                    assert_memory_equal(run->weights[w][i], run->weights[0][i],
                                        sizeof run->settled[0]);
            }
            assert_memory_not_equal(run->weights[1][steps - last - 1],
                                    run->weights[0][steps - last - 1], sizeof run->settled[0]);
            free(run);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_move_is_as_long_as_any_other),
        cmocka_unit_test(the_first_move_after_regrouping_is_as_long_as_any_other),
        cmocka_unit_test(after_a_fall_of_the_rate_no_step_is_longer_than_the_rate_allows),
        cmocka_unit_test(after_a_failure_own_momentum_begins_anew),
        cmocka_unit_test(every_push_is_applied_with_its_own_learning_rate),
        cmocka_unit_test(the_last_steps_of_a_run_hand_out_the_global_weights),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
