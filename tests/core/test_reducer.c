/* The reducer's contract: what it refuses, how steps overlap, what they cost, what is saved. */
#include "check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <syncopate/recipe.h>

#include "base/hash.h"
#include "fixture.h"
#include "reducer/inside.h"

enum { SIZE = FIXTURE_SIZE };

static void open_differently(struct syn_group *group, size_t rank, void *context)
{
    static const size_t other_tensors[] = {400, 299, 201, SIZE_MAX};
    struct fixture own = *(struct fixture *)context;
    struct fixture *fixture = context;
    struct syn_reducer *reducer = NULL;
    if (rank == fixture->odd_one && fixture->bad != 0)
        own.tensors = other_tensors;
    else if (rank == fixture->odd_one)
        own.options.density = 0.25;
    fixture_note(fixture, rank, fixture_open(&own, group, &reducer));
    syn_reducer_close(reducer);
}

static void workers_that_differ_are_found_when_they_open(void **state)
{
    (void)state;
    for (int with_layout = 0; with_layout < 2; with_layout++) {
        struct fixture fixture = fixture_for("gtopk");
        fixture.bad = (float)with_layout;
        run_workers(3, 2000, open_differently, &fixture);
        for (size_t w = 0; w < 3; w++) {
            assert_int_equal(fixture.got[w], SYN_MISMATCH);
            assert_non_null(
                strstr(fixture.cause[w], with_layout ? "layout is" : "density is \"0.05\""));
        }
    }
}

/* All steps begun before the first is waited for, against one after the other, of the same
 * reducer. */
static void overlap_steps(struct fixture *fixture, struct syn_reducer *reducer, size_t rank)
{
    enum { DEPTH = 3, ROUNDS = 4 };
    static _Thread_local float gradients[DEPTH][SIZE];
    for (size_t round = 0; round < ROUNDS; round++) {
        struct syn_ticket tickets[DEPTH + 1];
        for (size_t i = 0; i < DEPTH; i++) {
            scenario_gradient(RANDOM, rank, DEPTH * round + i, gradients[i], SIZE);
            syn_reducer_begin(reducer, gradients[i], NULL, &tickets[i]);
            for (size_t e = 0; e < SIZE; e++)
                fixture->handed[rank] += (double)gradients[i][e];
        }
        fixture->holds[rank] =
            syn_reducer_begin(reducer, gradients[0], NULL, &tickets[DEPTH]) == SYN_BUSY;
        struct syn_merged merged; /* the oldest first */
        fixture->holds[rank] &= syn_reducer_wait(reducer, tickets[1], &merged) == SYN_INVALID;
        for (size_t i = 0; i < DEPTH; i++) {
            fixture->got[rank] = syn_reducer_wait(reducer, tickets[i], &merged);
            if (fixture->got[rank] != SYN_OK)
                break;
            for (size_t e = 0; e < merged.count; e++)
                fixture->applied[rank] +=
                    (double)(merged.dense ? merged.dense[e] : merged.value[e]);
        }
    }
    for (size_t e = 0; e < SIZE && syn_reducer_residual(reducer); e++)
        fixture->left[rank] += (double)syn_reducer_residual(reducer)[e];
}

static void steps_may_overlap_up_to_the_depth(void **state)
{
    (void)state;
    static const char *const recipes[] = {"ssgd", "topk", "gtopk", "strom"};
    static const size_t worker_counts[] = {1, 4};
    for (int r = 0; r < 4; r++)
        for (int t = 0; t < 2; t++) {
            struct fixture fixture = fixture_for(recipes[r]);
            fixture.options.depth = 3;
            fixture_run(&fixture, worker_counts[t], 20000, overlap_steps);
            double missing = -fixture.applied[0];
            for (size_t w = 0; w < worker_counts[t]; w++) {
                assert_int_equal(fixture.got[w], SYN_OK);
                assert_true(fixture.holds[w]);
                missing += fixture.handed[w] - fixture.left[w];
            }
            if (fabs(missing) > 1e-3)
                fail_msg("%s with %zu workers loses %g", recipes[r], worker_counts[t], missing);
        }
}

/* Tensors ready in an order of each worker's own, against all at once. */
static void make_ready_one_by_one(struct fixture *fixture, struct syn_reducer *reducer, size_t rank)
{
    float gradient[SIZE];
    float sum[SIZE];
    struct syn_ticket ticket;
    struct syn_merged merged;
    scenario_gradient(TINY_INTEGERS, rank, 0, gradient, SIZE);
    fixture_step(reducer, gradient, NULL, sum);
    bool holds = syn_reducer_start(reducer, gradient, NULL, &ticket) == SYN_OK;
    holds = holds && syn_reducer_wait(reducer, ticket, &merged) == SYN_INVALID;
    for (size_t i = 0; i < 3; i++)
        holds = holds && syn_reducer_ready(reducer, (i + rank) % 3) == SYN_OK;
    holds = holds && syn_reducer_ready(reducer, 0) == SYN_INVALID;
    holds = holds && syn_reducer_ready(reducer, 3) == SYN_INVALID;
    holds = holds && syn_reducer_wait(reducer, ticket, &merged) == SYN_OK;
    holds = holds && syn_reducer_wait(reducer, ticket, &merged) == SYN_INVALID;
    /* Dense: the same gradients give the same sum. */
    fixture->holds[rank] = holds && memcmp(merged.dense, sum, sizeof sum) == 0;
}

static void tensors_may_become_ready_in_any_order(void **state)
{
    (void)state;
    struct fixture fixture = fixture_for("ssgd");
    fixture.options.bucket_bytes = 100;
    fixture_run(&fixture, 3, 20000, make_ready_one_by_one);
    for (size_t w = 0; w < 3; w++)
        assert_true(fixture.holds[w]);
}

/* Save after three steps, load into a new reducer, and go on: as if nothing had happened. */
static void save_and_load(struct syn_group *group, size_t rank, void *context)
{
    struct fixture *fixture = context;
    struct syn_reducer *first;
    struct syn_reducer *second = NULL;
    float gradient[SIZE];
    float sums[2][SIZE];
    fixture_note(fixture, rank, fixture_open(fixture, group, &first));
    if (fixture->got[rank] != SYN_OK)
        return;
    for (size_t i = 0; i < 3; i++) {
        scenario_gradient(RANDOM, rank, i, gradient, SIZE);
        fixture_step(first, gradient, NULL, sums[0]);
    }
    size_t bytes = syn_reducer_state_bytes(first);
    char *saved = malloc(bytes);
    bool holds = syn_reducer_save(first, saved) == SYN_OK;
    fixture_step(first, gradient, NULL, sums[0]);
    syn_reducer_close(first);
    holds = holds && fixture_open(fixture, group, &second) == SYN_OK;
    saved[bytes / 2] ^= 1;
    holds = holds && syn_reducer_load(second, saved, bytes) == SYN_FORMAT;
    saved[bytes / 2] ^= 1;
    for (size_t cut = 0; cut < bytes; cut += 97)
        holds = holds && syn_reducer_load(second, saved, cut) == SYN_FORMAT;
    holds = holds && syn_reducer_load(second, saved, bytes) == SYN_OK;
    fixture_step(second, gradient, NULL, sums[1]);
    fixture->holds[rank] = holds && memcmp(sums[0], sums[1], sizeof sums[0]) == 0;
    free(saved);
    syn_reducer_close(second);
}

static void a_loaded_reducer_goes_on_to_the_same_bits(void **state)
{
    (void)state;
    static const char *const recipes[] = {"ssgd", "topk", "gtopk", "strom"};
    for (int r = 0; r < 4; r++) {
        struct fixture fixture = fixture_for(recipes[r]);
        fixture.options.bucket_bytes = 1000;
        run_workers(3, 20000, save_and_load, &fixture);
        for (size_t w = 0; w < 3; w++)
            assert_true(fixture.holds[w]);
    }
}

/* Put a word of a saved state, and the checksum right again. */
static void tamper(char *saved, size_t bytes, size_t at, float value)
{
    memcpy(saved + at, &value, sizeof value);
    uint64_t checksum = syn_hash(0, saved, bytes - sizeof checksum);
    memcpy(saved + bytes - sizeof checksum, &checksum, sizeof checksum);
}

/* The first float behind the head of 48 bytes is what the selection remembers, the next the
 * residual's. */
static void load_nonsense(struct fixture *fixture, struct syn_reducer *reducer, size_t rank)
{
    static const float bad[] = {0, -1, NAN, INFINITY};
    size_t bytes = syn_reducer_state_bytes(reducer);
    char *saved = malloc(2 * bytes);
    char *again = saved + bytes;
    bool holds = syn_reducer_save(reducer, saved) == SYN_OK;
    memcpy(again, saved, bytes);
    for (int i = 0; i < 4; i++) {
        float memory;
        memcpy(&memory, again + 48, sizeof memory);
        if (memory > 0 || bad[i] != 0) { /* a selection that remembers nothing has a 0 there */
            tamper(again, bytes, 48, bad[i]);
            holds = holds && syn_reducer_load(reducer, again, bytes) == SYN_FORMAT;
            tamper(again, bytes, 48, memory);
        }
        if (!isfinite(bad[i])) {
            tamper(again, bytes, 52, bad[i]);
            holds = holds && syn_reducer_load(reducer, again, bytes) == SYN_FORMAT;
            tamper(again, bytes, 52, 0);
        }
        holds = holds && syn_reducer_save(reducer, again) == SYN_OK;
        holds = holds && memcmp(again, saved, bytes) == 0;
    }
    fixture->holds[rank] = holds && syn_reducer_load(reducer, saved, bytes) == SYN_OK;
    free(saved);
}

static void a_state_of_impossible_numbers_is_refused(void **state)
{
    (void)state;
    static const char *const recipes[] = {"topk", "gtopk", "strom"};
    for (int r = 0; r < 3; r++) {
        struct fixture fixture = fixture_for(recipes[r]);
        fixture_run(&fixture, 1, 20000, load_nonsense);
        assert_true(fixture.holds[0]);
    }
}

/* Densities from step to step, and what a step must not ask for. */
static void vary_steps(struct fixture *fixture, struct syn_reducer *reducer, size_t rank)
{
    static const double densities[] = {0.2, 0, 0.01, 0.05};
    float gradient[SIZE];
    bool holds = true;
    struct syn_ticket ticket = {77};
    struct syn_step step = syn_reducer_step(reducer);
    for (size_t i = 0; i < 4; i++) {
        struct syn_merged merged;
        size_t k = (size_t)(densities[i] * (double)SIZE);
        step.density = densities[i];
        scenario_gradient(RANDOM, rank, i, gradient, SIZE);
        holds = holds && syn_reducer_begin(reducer, gradient, &step, &ticket) == SYN_OK;
        holds = holds && ticket.number == i;
        holds = holds && syn_reducer_wait(reducer, ticket, &merged) == SYN_OK;
        holds = holds && merged.cost.selected == (k > 0 ? k : 1);
        holds = holds && merged.cost.select_ms > 0 && merged.cost.encode_ms > 0;
        holds = holds && syn_slot(reducer, i)->transfers[0].in.about.sequence == i;
    }
    static const struct syn_step bad[] = {
        {0.21, 1, NULL}, {-0.1, 1, NULL}, {NAN, 1, NULL}, {0.1, INFINITY, NULL}, {0.1, 1, "q8"}};
    for (size_t i = 0; i < 5; i++)
        holds = holds && syn_reducer_begin(reducer, gradient, &bad[i], &ticket) == SYN_INVALID;
    fixture->holds[rank] = holds && ticket.number == 3;
}

static void a_step_may_choose_its_density_up_to_the_most_and_tells_its_times(void **state)
{
    (void)state;
    struct fixture fixture = fixture_for("topk");
    fixture.options.density_max = 0.2;
    fixture_run(&fixture, 3, 20000, vary_steps);
    for (size_t w = 0; w < 3; w++)
        assert_true(fixture.holds[w]);
}

/* Worker 0 has something to say, worker 1 nothing. */
static void say_something_or_nothing(struct fixture *fixture, struct syn_reducer *reducer,
                                     size_t rank)
{
    float gradient[SIZE] = {0};
    struct syn_ticket ticket;
    struct syn_merged merged = {0};
    if (rank == 0)
        scenario_gradient(RANDOM, rank, 0, gradient, SIZE);
    fixture->holds[rank] = syn_reducer_begin(reducer, gradient, NULL, &ticket) == SYN_OK &&
                           syn_reducer_wait(reducer, ticket, &merged) == SYN_OK;
    fixture->handed[rank] = (double)merged.cost.bytes_out;
    fixture->applied[rank] = (double)merged.cost.bytes_in;
}

static void bytes_in_are_what_the_others_sent(void **state)
{
    (void)state;
    struct fixture fixture = fixture_for("topk");
    fixture_run(&fixture, 2, 20000, say_something_or_nothing);
    assert_true(fixture.holds[0] && fixture.holds[1]);
    assert_true(fixture.handed[0] > fixture.handed[1] && fixture.handed[1] > 0);
    assert_true(fixture.applied[0] == fixture.handed[1]);
    assert_true(fixture.applied[1] == fixture.handed[0]);
}

static void scale_without_residual(struct fixture *fixture, struct syn_reducer *reducer,
                                   size_t rank)
{
    float gradient[SIZE] = {1};
    float sum[SIZE];
    struct syn_step step = {.density = 1, .scale = 0.5F};
    fixture->holds[rank] = fixture_step(reducer, gradient, &step, sum) == SYN_INVALID &&
                           fixture_step(reducer, gradient, NULL, sum) == SYN_OK && sum[0] == 1;
}

static void a_scale_needs_a_residual(void **state)
{
    (void)state;
    struct fixture fixture = fixture_for("ssgd");
    fixture_run(&fixture, 1, 20000, scale_without_residual);
    assert_true(fixture.holds[0]);
}

static void what_cannot_be_combined_is_refused_with_the_reason(void **state)
{
    (void)state;
    static const struct {
        const char *recipe, *name, *value, *reason;
    } cases[] = {
        {"ssgd", "exchange", "gtopk", "select all"},
        {"ssgd", "values", "sign", "one magnitude"},
        {"ssgd", "values", "f16", "rounding"},
        {"ssgd", "residual", "masked", "momentum"},
        {"topk", "residual", "none", "lose"},
        {"topk", "exchange", "ring", "dense"},
        {"gtopk", "values", "sign", "sums"},
        {"topk", "putback", "owner", "putback owner"},
        {"ssgd", "forget", "0.1", "residual feedback"},
        {"topk", "forget", "0.1", "residual feedback"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct syn_reducer_options options;
        syn_reducer_defaults(&options);
        assert_ok(syn_recipe_apply(cases[i].recipe, &options));
        options.residual_momentum = 0.9;
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

enum { LARGE = 10007, PIECES = 6 }; /* several of the blocks in which gradients are read */

static const size_t large_tensors[] = {4000, 6006, 1, SIZE_MAX};
static const size_t piece_sizes[PIECES] = {1, 4095, 3, 2000, 3907, 1};

/* A copy of the gradient in pieces that lie apart, in another order. */
static void cut(const float *gradient, float room[LARGE + PIECES], struct syn_piece pieces[PIECES])
{
    size_t at = LARGE;
    for (size_t i = 0, end = LARGE + PIECES; i < PIECES; i++) {
        end -= piece_sizes[i] + 1;
        pieces[i] = (struct syn_piece){room + end, piece_sizes[i]};
        memcpy(room + end, gradient + (LARGE - at), piece_sizes[i] * sizeof *room);
        at -= piece_sizes[i];
    }
}

/* The odd one hands over pieces; the steps before the last are good. */
static void step_in_pieces(struct syn_group *group, size_t rank, void *context)
{
    struct fixture *fixture = context;
    struct syn_reducer *reducer;
    static _Thread_local float gradient[LARGE];
    static _Thread_local float room[LARGE + PIECES];
    struct syn_piece pieces[PIECES];
    fixture_note(fixture, rank, fixture_open(fixture, group, &reducer));
    for (size_t step = 0; step < 4 && fixture->got[rank] == SYN_OK; step++) {
        struct syn_ticket ticket;
        struct syn_merged merged;
        scenario_gradient(RANDOM, rank, step, gradient, LARGE);
        if (step == 3)
            gradient[4100] = NAN;
        cut(gradient, room, pieces);
        enum syn_status status =
            rank == fixture->odd_one
                ? syn_reducer_begin_pieces(reducer, pieces, PIECES, NULL, &ticket)
                : syn_reducer_begin(reducer, gradient, NULL, &ticket);
        memset(room, 0xff, sizeof room); /* it has been read */
        fixture_note(fixture, rank,
                     status == SYN_OK ? syn_reducer_wait(reducer, ticket, &merged) : status);
        if (fixture->got[rank] == SYN_OK)
            fixture->hash[rank] = syn_hash(fixture->hash[rank], syn_reducer_residual(reducer),
                                           LARGE * sizeof *gradient);
    }
    syn_reducer_close(reducer);
}

static void a_gradient_in_pieces_gives_the_same_bits(void **state)
{
    (void)state;
    static const char *const recipes[] = {"topk", "gtopk", "strom", "ssgd"};
    for (int r = 0; r < 4; r++)
        for (int threads = 1; threads <= 3; threads += 2) {
            struct fixture whole = fixture_for(recipes[r]);
            whole.tensors = large_tensors;
            whole.odd_one = SIZE_MAX;
            whole.options.residual = "feedback";
            whole.options.select_threads = (uint64_t)threads;
            whole.options.bucket_bytes = threads == 3 ? 4 * 5000 : 0;
            if (r == 3)
                whole.options.values = "f16";
            struct fixture cut_up = whole;
            cut_up.odd_one = 1;
            run_workers(2, 20000, step_in_pieces, &whole);
            run_workers(2, 20000, step_in_pieces, &cut_up);
            for (size_t w = 0; w < 2; w++) {
                assert_int_equal(cut_up.got[w], SYN_NONFINITE);
                assert_non_null(strstr(cut_up.cause[w], "\"t1\", entry 100"));
                assert_true(cut_up.hash[w] == whole.hash[w]);
            }
        }
}

static void pieces_that_cannot_be_read_are_refused(void **state)
{
    (void)state;
    struct syn_group *group;
    struct syn_reducer *reducer;
    struct syn_ticket ticket;
    float gradient[SIZE] = {0};
    struct syn_piece pieces[] = {{gradient, 100}, {gradient + 100, SIZE - 100}};
    assert_ok(syn_group_open_threads(1, NULL, &group));
    struct fixture fixture = fixture_for("ssgd");
    assert_ok(fixture_open(&fixture, group, &reducer));
    assert_status(SYN_INVALID, syn_reducer_begin_pieces(reducer, pieces, 2, NULL, &ticket));
    assert_non_null(strstr(syn_error_text(), "residual"));
    assert_status(SYN_INVALID, syn_reducer_begin_pieces(reducer, pieces, 1, NULL, &ticket));
    assert_non_null(strstr(syn_error_text(), "100 entries"));
    syn_reducer_close(reducer);
    syn_group_close(group);
}

/* Four steps, and a fifth that is dropped: the state is that of before it, to the bit. */
static void drop_a_step(struct fixture *fixture, struct syn_reducer *reducer, size_t rank)
{
    float gradient[SIZE];
    float sum[SIZE];
    bool holds = syn_reducer_drop(reducer) == SYN_INVALID; /* there is none yet */
    size_t bytes = syn_reducer_state_bytes(reducer);
    uint8_t *before = malloc(bytes);
    uint8_t *after = malloc(bytes);
    for (size_t step = 0; step < 4; step++) { /* so that there is something to go back to */
        scenario_gradient(RANDOM, rank, step, gradient, SIZE);
        holds = holds && fixture_step(reducer, gradient, NULL, sum) == SYN_OK;
    }
    holds = holds && syn_reducer_save(reducer, before) == SYN_OK;
    for (size_t e = 0; e < SIZE; e++)
        gradient[e] *= 1000;
    holds = holds && fixture_step(reducer, gradient, NULL, sum) == SYN_OK;
    holds = holds && syn_reducer_drop(reducer) == SYN_OK;
    holds = holds && syn_reducer_drop(reducer) == SYN_INVALID; /* one step, once */
    holds = holds && syn_reducer_save(reducer, after) == SYN_OK;
    enum { STEPS_AT = 32, STEPS_END = 40, CHECKSUM = 8 }; /* of which one more was made */
    holds = holds && memcmp(before, after, STEPS_AT) == 0 &&
            memcmp(before + STEPS_END, after + STEPS_END, bytes - STEPS_END - CHECKSUM) == 0;
    holds = holds && syn_reducer_load(reducer, after, bytes) == SYN_OK;
    holds = holds && syn_reducer_drop(reducer) == SYN_INVALID; /* not what was loaded */
    fixture->holds[rank] = holds;
    free(before);
    free(after);
}

static void a_dropped_step_leaves_no_trace(void **state)
{
    (void)state;
    static const char *const recipes[] = {"ssgd", "topk", "gtopk", "strom"};
    for (int r = 0; r < 4; r++)
        for (size_t buckets = 0; buckets < 2; buckets++) {
            struct fixture fixture = fixture_for(recipes[r]);
            fixture.options.bucket_bytes = 800 * buckets;
            fixture_run(&fixture, 3, 20000, drop_a_step);
            for (size_t w = 0; w < 3; w++)
                if (!fixture.holds[w])
                    fail_msg("%s: a dropped step shows on worker %zu", recipes[r], w);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(workers_that_differ_are_found_when_they_open),
        cmocka_unit_test(steps_may_overlap_up_to_the_depth),
        cmocka_unit_test(tensors_may_become_ready_in_any_order),
        cmocka_unit_test(a_loaded_reducer_goes_on_to_the_same_bits),
        cmocka_unit_test(a_state_of_impossible_numbers_is_refused),
        cmocka_unit_test(a_step_may_choose_its_density_up_to_the_most_and_tells_its_times),
        cmocka_unit_test(bytes_in_are_what_the_others_sent),
        cmocka_unit_test(a_scale_needs_a_residual),
        cmocka_unit_test(what_cannot_be_combined_is_refused_with_the_reason),
        cmocka_unit_test(a_gradient_in_pieces_gives_the_same_bits),
        cmocka_unit_test(pieces_that_cannot_be_read_are_refused),
        cmocka_unit_test(a_dropped_step_leaves_no_trace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
