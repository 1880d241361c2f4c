/* The reducer's contract: what it refuses, how steps overlap, what a failed step leaves behind. */
#include "check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <syncopate/recipe.h>

#include "scenario.h"
#include "team.h"

enum { SIZE = 900 };

static const size_t three_tensors[] = {400, 300, 200, SIZE_MAX};

/* What workers of a test share. */
struct stage {
    struct syn_reducer_options options;
    const size_t *tensors;
    size_t odd_one;                 /* the worker that behaves differently */
    float bad;                      /* what it puts into its gradient */
    enum syn_status got[TEAM_MOST]; /* of the call under test */
    char cause[TEAM_MOST][512];
    bool holds[TEAM_MOST]; /* the promise under test, as each worker saw it */
};

static struct stage stage_for(const char *recipe)
{
    struct stage stage = {.tensors = three_tensors, .odd_one = 1};
    syn_reducer_defaults(&stage.options);
    assert_ok(syn_recipe_apply(recipe, &stage.options));
    stage.options.density = 0.05;
    return stage;
}

static enum syn_status open_on(struct stage *stage, struct syn_group *group,
                               struct syn_reducer **reducer)
{
    struct syn_layout *layout;
    enum syn_status status = scenario_layout(stage->tensors, &layout);
    if (status == SYN_OK)
        status = syn_reducer_open(group, layout, &stage->options, reducer);
    syn_layout_free(layout);
    return status;
}

static enum syn_status step_of(struct syn_reducer *reducer, const float *gradient, float *sum)
{
    struct syn_ticket ticket;
    struct syn_merged merged;
    enum syn_status status = syn_reducer_begin(reducer, gradient, NULL, &ticket);
    if (status == SYN_OK)
        status = syn_reducer_wait(reducer, ticket, &merged);
    if (status == SYN_OK)
        syn_merged_to_dense(&merged, sum, SIZE);
    return status;
}

static void note(struct stage *stage, size_t rank, enum syn_status status)
{
    stage->got[rank] = status;
    snprintf(stage->cause[rank], sizeof stage->cause[rank], "%s", syn_error_text());
}

/* Two good steps, a bad one, two good steps; and beside it a reducer that never saw the bad one. */
static void step_on_something_bad(struct syn_group *group, size_t rank, void *context)
{
    struct stage *stage = context;
    struct syn_reducer *reducer;
    float gradient[SIZE];
    float sum[SIZE];
    float before[SIZE] = {0};
    note(stage, rank, open_on(stage, group, &reducer));
    if (stage->got[rank] != SYN_OK)
        return;
    for (size_t i = 0; i < 2; i++) {
        scenario_gradient(RANDOM, rank, i, gradient, SIZE);
        step_of(reducer, gradient, sum);
    }
    if (syn_reducer_residual(reducer))
        memcpy(before, syn_reducer_residual(reducer), sizeof before);
    scenario_gradient(RANDOM, rank, 2, gradient, SIZE);
    if (rank == stage->odd_one)
        gradient[450] = stage->bad;
    note(stage, rank, step_of(reducer, gradient, sum));
    stage->holds[rank] = !syn_reducer_residual(reducer) ||
                         memcmp(before, syn_reducer_residual(reducer), sizeof before) == 0;
    scenario_gradient(RANDOM, rank, 3, gradient, SIZE);
    stage->holds[rank] = stage->holds[rank] && step_of(reducer, gradient, sum) == SYN_OK;
    syn_reducer_close(reducer);
}

static void a_gradient_that_is_not_finite_fails_everywhere_and_changes_nothing(void **state)
{
    (void)state;
    static const char *const recipes[] = {"ssgd", "topk", "gtopk", "strom"};
    static const float bad[] = {NAN, INFINITY, -INFINITY};
    static const size_t teams[] = {2, 3, 5, 8};
    for (int r = 0; r < 4; r++)
        for (int b = 0; b < 3; b++) {
            struct stage stage = stage_for(recipes[r]);
            size_t workers = teams[(r + b) % 4];
            stage.bad = bad[b];
            stage.options.bucket_bytes = b == 1 ? 1000 : 0;
            team_run(workers, 20000, step_on_something_bad, &stage);
            for (size_t w = 0; w < workers; w++) {
                assert_int_equal(stage.got[w], SYN_NONFINITE);
                assert_non_null(strstr(stage.cause[w], "\"t1\", entry 50"));
                assert_true(stage.holds[w]);
            }
        }
}

static void fail_in_the_second_step(struct syn_group *group, size_t rank, void *context)
{
    struct stage *stage = context;
    struct syn_reducer *reducer;
    float gradient[SIZE];
    float sum[SIZE];
    note(stage, rank, open_on(stage, group, &reducer));
    if (stage->got[rank] != SYN_OK)
        return;
    scenario_gradient(RANDOM, rank, 0, gradient, SIZE);
    stage->holds[rank] = step_of(reducer, gradient, sum) == SYN_OK;
    if (rank != stage->odd_one)
        note(stage, rank, step_of(reducer, gradient, sum));
    if (rank != stage->odd_one) { /* and again: the failure is final */
        stage->holds[rank] = stage->holds[rank] && step_of(reducer, gradient, sum) != SYN_OK;
    }
    syn_reducer_close(reducer);
}

static void a_worker_that_stops_is_named_by_all_others(void **state)
{
    (void)state;
    static const char *const recipes[] = {"ssgd", "topk", "gtopk", "strom"};
    for (int r = 0; r < 4; r++) {
        struct stage stage = stage_for(recipes[r]);
        team_run(5, 200, fail_in_the_second_step, &stage);
        for (size_t w = 0; w < 5; w++) {
            assert_true(stage.holds[w]);
            if (w == stage.odd_one)
                continue;
            assert_int_equal(stage.got[w], SYN_TIMEOUT);
            assert_non_null(strstr(stage.cause[w], "worker 1"));
        }
    }
}

static void open_differently(struct syn_group *group, size_t rank, void *context)
{
    static const size_t other_tensors[] = {400, 299, 201, SIZE_MAX};
    struct stage own = *(struct stage *)context;
    struct stage *stage = context;
    struct syn_reducer *reducer = NULL;
    if (rank == stage->odd_one && stage->bad != 0)
        own.tensors = other_tensors;
    else if (rank == stage->odd_one)
        own.options.density = 0.25;
    note(stage, rank, open_on(&own, group, &reducer));
    syn_reducer_close(reducer);
}

static void workers_that_differ_are_found_when_they_open(void **state)
{
    (void)state;
    for (int with_layout = 0; with_layout < 2; with_layout++) {
        struct stage stage = stage_for("gtopk");
        stage.bad = (float)with_layout;
        team_run(3, 2000, open_differently, &stage);
        for (size_t w = 0; w < 3; w++)
            assert_true(stage.got[w] == SYN_MISMATCH || stage.got[w] == SYN_PEER);
        assert_non_null(strstr(stage.cause[0], with_layout ? "layout" : "density 0.05"));
    }
}

/* All steps begun before the first is waited for, against one after the other, of the same
 * reducer. */
static void overlap_steps(struct syn_group *group, size_t rank, void *context)
{
    enum { DEPTH = 3, ROUNDS = 4 };
    struct stage *stage = context;
    struct syn_reducer *reducer;
    static _Thread_local float gradients[DEPTH][SIZE];
    double handed = 0;
    double applied = 0;
    note(stage, rank, open_on(stage, group, &reducer));
    if (stage->got[rank] != SYN_OK)
        return;
    for (size_t round = 0; round < ROUNDS; round++) {
        struct syn_ticket tickets[DEPTH + 1];
        for (size_t i = 0; i < DEPTH; i++) {
            scenario_gradient(RANDOM, rank, DEPTH * round + i, gradients[i], SIZE);
            syn_reducer_begin(reducer, gradients[i], NULL, &tickets[i]);
            for (size_t e = 0; e < SIZE; e++)
                handed += (double)gradients[i][e];
        }
        stage->holds[rank] =
            syn_reducer_begin(reducer, gradients[0], NULL, &tickets[DEPTH]) == SYN_BUSY;
        for (size_t i = 0; i < DEPTH; i++) {
            struct syn_merged merged;
            stage->got[rank] = syn_reducer_wait(reducer, tickets[i], &merged);
            if (stage->got[rank] != SYN_OK)
                break;
            for (size_t e = 0; e < merged.count; e++)
                applied += (double)(merged.dense ? merged.dense[e] : merged.value[e]);
        }
    }
    double left = 0;
    for (size_t e = 0; e < SIZE && syn_reducer_residual(reducer); e++)
        left += (double)syn_reducer_residual(reducer)[e];
    /* One worker: what is handed over is applied or left. */
    if (syn_group_size(group) == 1)
        stage->holds[rank] = stage->holds[rank] && fabs(handed - applied - left) < 1e-3;
    syn_reducer_close(reducer);
}

static void steps_may_overlap_up_to_the_depth(void **state)
{
    (void)state;
    static const char *const recipes[] = {"ssgd", "topk", "gtopk", "strom"};
    static const size_t teams[] = {1, 4};
    for (int r = 0; r < 4; r++)
        for (int t = 0; t < 2; t++) {
            struct stage stage = stage_for(recipes[r]);
            stage.options.depth = 3;
            stage.options.residual_momentum = 0;
            team_run(teams[t], 20000, overlap_steps, &stage);
            for (size_t w = 0; w < teams[t]; w++) {
                assert_int_equal(stage.got[w], SYN_OK);
                assert_true(stage.holds[w]);
            }
        }
}

/* Tensors ready in an order of each worker's own, against all at once. */
static void make_ready_one_by_one(struct syn_group *group, size_t rank, void *context)
{
    struct stage *stage = context;
    struct syn_reducer *reducer;
    float gradient[SIZE];
    float sum[SIZE];
    struct syn_ticket ticket;
    struct syn_merged merged;
    note(stage, rank, open_on(stage, group, &reducer));
    if (stage->got[rank] != SYN_OK)
        return;
    scenario_gradient(TINY_INTEGERS, rank, 0, gradient, SIZE);
    step_of(reducer, gradient, sum);
    bool holds = syn_reducer_start(reducer, gradient, NULL, &ticket) == SYN_OK;
    holds = holds && syn_reducer_wait(reducer, ticket, &merged) == SYN_INVALID;
    for (size_t i = 0; i < 3; i++)
        holds = holds && syn_reducer_ready(reducer, (i + rank) % 3) == SYN_OK;
    holds = holds && syn_reducer_ready(reducer, 0) == SYN_INVALID;
    holds = holds && syn_reducer_ready(reducer, 3) == SYN_INVALID;
    holds = holds && syn_reducer_wait(reducer, ticket, &merged) == SYN_OK;
    holds = holds && syn_reducer_wait(reducer, ticket, &merged) == SYN_INVALID;
    /* Dense: the same gradients give the same sum. */
    stage->holds[rank] = holds && memcmp(merged.dense, sum, sizeof sum) == 0;
    syn_reducer_close(reducer);
}

static void tensors_may_become_ready_in_any_order(void **state)
{
    (void)state;
    struct stage stage = stage_for("ssgd");
    stage.options.bucket_bytes = 100;
    team_run(3, 20000, make_ready_one_by_one, &stage);
    for (size_t w = 0; w < 3; w++)
        assert_true(stage.holds[w]);
}

/* Save after three steps, load into a new reducer, and go on: as if nothing had happened. */
static void save_and_load(struct syn_group *group, size_t rank, void *context)
{
    struct stage *stage = context;
    struct syn_reducer *first;
    struct syn_reducer *second = NULL;
    float gradient[SIZE];
    float sums[2][SIZE];
    note(stage, rank, open_on(stage, group, &first));
    if (stage->got[rank] != SYN_OK)
        return;
    for (size_t i = 0; i < 3; i++) {
        scenario_gradient(RANDOM, rank, i, gradient, SIZE);
        step_of(first, gradient, sums[0]);
    }
    size_t bytes = syn_reducer_state_bytes(first);
    char *saved = malloc(bytes);
    bool holds = syn_reducer_save(first, saved) == SYN_OK;
    step_of(first, gradient, sums[0]);
    syn_reducer_close(first);
    holds = holds && open_on(stage, group, &second) == SYN_OK;
    saved[bytes / 2] ^= 1;
    holds = holds && syn_reducer_load(second, saved, bytes) == SYN_FORMAT;
    saved[bytes / 2] ^= 1;
    for (size_t cut = 0; cut < bytes; cut += 97)
        holds = holds && syn_reducer_load(second, saved, cut) == SYN_FORMAT;
    holds = holds && syn_reducer_load(second, saved, bytes) == SYN_OK;
    step_of(second, gradient, sums[1]);
    stage->holds[rank] = holds && memcmp(sums[0], sums[1], sizeof sums[0]) == 0;
    free(saved);
    syn_reducer_close(second);
}

static void a_loaded_reducer_goes_on_to_the_same_bits(void **state)
{
    (void)state;
    static const char *const recipes[] = {"ssgd", "topk", "gtopk", "strom"};
    for (int r = 0; r < 4; r++) {
        struct stage stage = stage_for(recipes[r]);
        stage.options.bucket_bytes = 1000;
        team_run(3, 20000, save_and_load, &stage);
        for (size_t w = 0; w < 3; w++)
            assert_true(stage.holds[w]);
    }
}

static void what_cannot_be_combined_is_refused_with_the_reason(void **state)
{
    (void)state;
    static const struct {
        const char *recipe, *name, *value, *reason;
    } cases[] = {
        {"ssgd", "exchange", "gtopk", "select all"}, {"ssgd", "values", "sign", "one magnitude"},
        {"ssgd", "values", "f16", "rounding"},       {"ssgd", "residual", "corrected", "momentum"},
        {"topk", "residual", "none", "lose"},        {"topk", "exchange", "ring", "dense"},
        {"gtopk", "values", "sign", "sums"},         {"topk", "putback", "owner", "putback owner"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct syn_reducer_options options;
        syn_reducer_defaults(&options);
        assert_ok(syn_recipe_apply(cases[i].recipe, &options));
        assert_ok(syn_reducer_check(&options));
        assert_ok(syn_settings_set(&syn_reducer_settings, &options, cases[i].name, cases[i].value));
        assert_status(SYN_INVALID, syn_reducer_check(&options));
        if (!strstr(syn_error_text(), cases[i].reason))
            fail_msg("%s with %s %s: \"%s\" does not tell of \"%s\"", cases[i].recipe,
                     cases[i].name, cases[i].value, syn_error_text(), cases[i].reason);
    }
    struct syn_reducer_options options;
    syn_reducer_defaults(&options);
    assert_status(SYN_INVALID, syn_recipe_apply("magic", &options));
    assert_non_null(strstr(syn_error_text(), "gtopk"));
}

/* corrected: u = mu*u + g; v += u; the largest of v goes; u and v are zero where it went. */
static void follow_the_formula(struct syn_group *group, size_t rank, void *context)
{
    struct stage *stage = context;
    struct syn_reducer *reducer;
    static float gradient[SIZE], sum[SIZE];
    static double u[SIZE], v[SIZE];
    note(stage, rank, open_on(stage, group, &reducer));
    if (stage->got[rank] != SYN_OK)
        return;
    bool holds = true;
    for (size_t i = 0; i < 10; i++) {
        scenario_gradient(RANDOM, rank, i, gradient, SIZE);
        holds = holds && step_of(reducer, gradient, sum) == SYN_OK;
        for (size_t e = 0; e < SIZE; e++) {
            u[e] = 0.9F * u[e] + (double)gradient[e];
            v[e] += u[e];
            if (sum[e] != 0) {
                holds = holds && fabs((double)sum[e] - v[e]) < 1e-5 * fabs(v[e]);
                u[e] = v[e] = 0;
            }
            holds = holds && fabs((double)syn_reducer_residual(reducer)[e] - v[e]) < 1e-4;
        }
    }
    stage->holds[rank] = holds;
    syn_reducer_close(reducer);
}

static void corrected_momentum_follows_its_formula(void **state)
{
    (void)state;
    struct stage stage = stage_for("gtopk");
    team_run(1, 2000, follow_the_formula, &stage);
    assert_true(stage.holds[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_gradient_that_is_not_finite_fails_everywhere_and_changes_nothing),
        cmocka_unit_test(a_worker_that_stops_is_named_by_all_others),
        cmocka_unit_test(workers_that_differ_are_found_when_they_open),
        cmocka_unit_test(steps_may_overlap_up_to_the_depth),
        cmocka_unit_test(tensors_may_become_ready_in_any_order),
        cmocka_unit_test(a_loaded_reducer_goes_on_to_the_same_bits),
        cmocka_unit_test(what_cannot_be_combined_is_refused_with_the_reason),
        cmocka_unit_test(corrected_momentum_follows_its_formula),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
