/* Each method does what its formula says, entry by entry, against plain loops. */
#include "check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"
#include "tensor/kernels.h"

enum { SIZE = FIXTURE_SIZE, MOST_WORKERS = 8 };

/* corrected: u = mu*u + g; v += u; the largest of v goes, and v is zero where it went; masked: and
 * so is u. */
static void follow_momentum(struct fixture *fixture, struct syn_reducer *reducer, size_t rank)
{
    static float gradient[SIZE], sum[SIZE];
    double u[SIZE] = {0}, v[SIZE] = {0};
    bool forgets = strcmp(fixture->options.residual, "masked") == 0;
    bool holds = true;
    for (size_t i = 0; i < 10; i++) {
        scenario_gradient(RANDOM, rank, i, gradient, SIZE);
        holds = holds && fixture_step(reducer, gradient, NULL, sum) == SYN_OK;
        for (size_t e = 0; e < SIZE; e++) {
            u[e] = 0.9F * u[e] + (double)gradient[e];
            v[e] += u[e];
            if (sum[e] != 0) {
                holds = holds && fabs((double)sum[e] - v[e]) < 1e-5 * fabs(v[e]);
                v[e] = 0;
                u[e] = forgets ? 0 : u[e];
            }
            holds = holds && fabs((double)syn_reducer_residual(reducer)[e] - v[e]) < 1e-4;
        }
    }
    fixture->holds[rank] = holds;
}

static void momentum_in_the_residual_follows_its_formula(void **state)
{
    (void)state;
    static const char *const residuals[] = {"corrected", "masked"};
    for (int r = 0; r < 2; r++) {
        struct fixture fixture = fixture_for("gtopk");
        fixture.options.residual = residuals[r];
        fixture.options.residual_momentum = 0.9;
        fixture_run(&fixture, 1, 2000, follow_momentum);
        if (!fixture.holds[0])
            fail_msg("residual %s", residuals[r]);
    }
}

/* The magnitude that a share of the sums reaches. */
static float reached_by(double density, const float *sums)
{
    size_t share = (size_t)(density * (double)SIZE);
    for (size_t e = 0; e < SIZE; e++) {
        size_t larger = 0;
        for (size_t other = 0; other < SIZE; other++)
            larger += fabsf(sums[other]) > fabsf(sums[e]);
        if (larger + 1 == share)
            return fabsf(sums[e]);
    }
    return 0;
}

/* The threshold's rule: from the density of a step to the tau of the next; with a target, from that
 * step's sums. */
static float next_tau(const struct syn_reducer_options *options, float tau, size_t sent,
                      const float *sums)
{
    float density = (float)sent / (float)SIZE;
    if (strcmp(options->threshold_mode, "band") == 0) {
        if (density > (float)options->threshold_high)
            return tau / powf(0.5F, 1 / 20.0F);
        return density < (float)options->threshold_low ? tau * powf(0.5F, 1 / 20.0F) : tau;
    }
    if (strcmp(options->threshold_mode, "target") == 0)
        return fmaxf(0.95F * tau, reached_by(options->density, sums));
    return tau;
}

/* strom: r += s*g; where |r| >= tau, tau goes with r's sign and leaves r. */
static void follow_strom(struct fixture *fixture, struct syn_reducer *reducer, size_t rank)
{
    float gradient[SIZE], r[SIZE] = {0};
    bool has_target = strcmp(fixture->options.threshold_mode, "target") == 0;
    float tau = has_target ? 0 : (float)fixture->options.threshold;
    size_t sent = 0;
    struct syn_step step = syn_reducer_step(reducer);
    bool holds = true;
    step.scale = 0.125F;
    for (size_t i = 0; i < 30 && holds; i++) {
        struct syn_ticket ticket;
        struct syn_merged merged;
        scenario_gradient(RANDOM, rank, i, gradient, SIZE);
        for (size_t e = 0; e < SIZE; e++)
            r[e] += step.scale * gradient[e];
        if (i > 0 || has_target)
            tau = next_tau(&fixture->options, tau, sent, r);
        sent = 0;
        holds = syn_reducer_begin(reducer, gradient, &step, &ticket) == SYN_OK &&
                syn_reducer_wait(reducer, ticket, &merged) == SYN_OK &&
                fabs(merged.cost.threshold / (double)tau - 1) < 1e-5;
        tau = (float)merged.cost.threshold;
        for (size_t e = 0; e < SIZE && holds; e++) {
            if (fabsf(r[e]) >= tau) {
                holds = sent < merged.count && merged.index[sent] == e &&
                        merged.value[sent] == copysignf(tau, r[e]);
                r[e] -= copysignf(tau, r[e]);
                sent++;
            }
            holds = holds && syn_reducer_residual(reducer)[e] == r[e];
        }
        holds = holds && sent == merged.count;
    }
    fixture->holds[rank] = holds;
}

static void strom_follows_its_formula_in_every_mode(void **state)
{
    (void)state;
    static const char *const modes[] = {"fixed", "band", "target"};
    static const double thresholds[] = {0.2, 0.5, 2};
    for (int m = 0; m < 3; m++)
        for (int t = 0; t < 3; t++) {
            struct fixture fixture = fixture_for("strom");
            fixture.options.threshold_mode = modes[m];
            fixture.options.threshold = thresholds[t];
            fixture.options.density_max = 1;
            fixture.options.threshold_low = 0.02;
            fixture.options.threshold_high = 0.1;
            fixture_run(&fixture, 1, 2000, follow_strom);
            if (!fixture.holds[0])
                fail_msg("mode %s, tau %g", modes[m], thresholds[t]);
        }
}

/* What was asked for by density is sent, and no more, whatever the gradients' scale. */
static void follow_density(struct fixture *fixture, struct syn_reducer *reducer, size_t rank)
{
    float gradient[SIZE];
    bool holds = true;
    for (size_t i = 0; i < 20 && holds; i++) {
        struct syn_ticket ticket;
        struct syn_merged merged;
        scenario_gradient(RANDOM, rank, i, gradient, SIZE);
        for (size_t e = 0; e < SIZE; e++)
            gradient[e] *= fixture->bad;
        holds = syn_reducer_begin(reducer, gradient, NULL, &ticket) == SYN_OK &&
                syn_reducer_wait(reducer, ticket, &merged) == SYN_OK &&
                merged.cost.selected > SIZE / 100 && merged.cost.selected <= SIZE / 20;
    }
    fixture->holds[rank] = holds;
}

static void strom_steers_to_its_density_whatever_the_scale(void **state)
{
    (void)state;
    static const float scales[] = {1e-6F, 1, 1e6F};
    for (int s = 0; s < 3; s++) {
        struct fixture fixture = fixture_for("strom");
        fixture.bad = scales[s];
        fixture_run(&fixture, 1, 2000, follow_density);
        assert_true(fixture.holds[0]);
    }
}

/* A list of one entry, the same on all workers, from each owner's block in turn. */
static void send_one_entry(struct fixture *fixture, struct syn_reducer *reducer, size_t rank)
{
    bool holds = true;
    for (size_t entry = 10; entry < SIZE; entry += 256) {
        float gradient[SIZE] = {0};
        float sum[SIZE] = {0};
        gradient[entry] = 0.5F;
        holds = holds && fixture_step(reducer, gradient, NULL, sum) == SYN_OK && sum[entry] == 2;
    }
    fixture->holds[rank] = holds;
}

static void owners_keep_an_entry_each_of_lists_shorter_than_the_number_of_workers(void **state)
{
    (void)state;
    struct fixture fixture = fixture_for("topk");
    fixture.options.exchange = "split";
    fixture.options.keep = 1;
    fixture.options.density = 1.0 / FIXTURE_SIZE;
    fixture_run(&fixture, 4, 20000, send_one_entry);
    for (size_t w = 0; w < 4; w++)
        assert_true(fixture.holds[w]);
}

/* Zero all but the k largest magnitudes, ties to the smaller index: plain, by picking the largest k
 * times. */
static void keep_largest(float *x, size_t k)
{
    float kept[SIZE] = {0};
    for (size_t i = 0; i < k; i++) {
        size_t best = 0;
        for (size_t e = 1; e < SIZE; e++)
            if (fabsf(x[e]) > fabsf(x[best]))
                best = e;
        if (x[best] == 0)
            break;
        kept[best] = x[best];
        x[best] = 0;
    }
    memcpy(x, kept, sizeof kept);
}

struct merging {
    struct fixture fixture;
    enum gradients gradients;
    float sums[MOST_WORKERS][SIZE];
};

static void merge_once(struct syn_group *group, size_t rank, void *context)
{
    struct merging *merging = context;
    struct fixture *fixture = &merging->fixture;
    struct syn_reducer *reducer;
    float gradient[SIZE];
    fixture_note(fixture, rank, fixture_open(fixture, group, &reducer));
    if (fixture->got[rank] != SYN_OK)
        return;
    scenario_gradient(merging->gradients, rank, 0, gradient, SIZE);
    fixture_note(fixture, rank, fixture_step(reducer, gradient, NULL, merging->sums[rank]));
    syn_reducer_close(reducer);
}

/* Every worker's list, and then every merge, cut to the k largest. */
static void merge_plainly(enum gradients kind, size_t workers, size_t k, float lists[][SIZE])
{
    for (size_t w = 0; w < workers; w++) {
        scenario_gradient(kind, w, 0, lists[w], SIZE);
        keep_largest(lists[w], k);
    }
    for (size_t bit = 1; bit < workers; bit *= 2)
        for (size_t w = 0; w + bit < workers; w += 2 * bit) {
            for (size_t e = 0; e < SIZE; e++)
                lists[w][e] += lists[w + bit][e];
            keep_largest(lists[w], k);
        }
}

static void gtopk_is_what_plain_merging_gives(void **state)
{
    (void)state;
    static const char *const exchanges[] = {"gtopk", "gtopk-tree"};
    static const enum gradients kinds[] = {RANDOM, EQUAL, TINY_INTEGERS};
    static struct merging merging;
    static float lists[MOST_WORKERS][SIZE];
    for (size_t workers = 1; workers <= MOST_WORKERS; workers *= 2)
        for (int e = 0; e < 2; e++)
            for (int g = 0; g < 3; g++) {
                merging = (struct merging){.fixture = fixture_for("gtopk"), .gradients = kinds[g]};
                merging.fixture.options.exchange = exchanges[e];
                run_workers(workers, 20000, merge_once, &merging);
                merge_plainly(kinds[g], workers, SIZE / 20, lists);
                for (size_t w = 0; w < workers; w++) {
                    assert_int_equal(merging.fixture.got[w], SYN_OK);
                    for (size_t i = 0; i < SIZE; i++)
                        if (merging.sums[w][i] != lists[0][i])
                            fail_msg(
                                "%s, %zu workers, gradients %d: worker %zu has %g at %zu, not %g",
                                exchanges[e], workers, g, w, (double)merging.sums[w][i], i,
                                (double)lists[0][i]);
                }
            }
}

struct accounting {
    struct scenario scenario;
    struct account accounts[MOST_WORKERS];
};

static void keep_account(struct syn_group *group, size_t rank, void *context)
{
    struct accounting *own = context;
    scenario_run(&own->scenario, group, &own->accounts[rank]);
}

/* Who takes entries back, of four workers. */
static void assert_takers(const char *exchange, const char *putback, const char *values,
                          const bool *takes)
{
    struct accounting own = {.scenario = {.name = putback,
                                          .recipe = "gtopk",
                                          .settings = {{"density", "0.02"},
                                                       {"residual", "feedback"},
                                                       {"exchange", exchange},
                                                       {"values", values},
                                                       {"putback", putback}}}};
    run_workers(4, 20000, keep_account, &own);
    for (size_t w = 0; w < 4; w++) {
        assert_int_equal(own.accounts[w].status, SYN_OK);
        if ((own.accounts[w].taken_back > 0) != takes[w])
            fail_msg("%s, putback %s, %s: worker %zu takes back %llu entries", exchange, putback,
                     values, w, (unsigned long long)own.accounts[w].taken_back);
        account_free(&own.accounts[w]);
    }
}

static void the_right_workers_take_back_what_merges_drop(void **state)
{
    (void)state;
    static const bool lowest[] = {true, false, true, false};
    static const bool all[] = {true, true, true, true};
    assert_takers("gtopk", "merger", "f32", lowest);
    assert_takers("gtopk", "merger", "q4", lowest);
    assert_takers("gtopk-tree", "merger", "f32", lowest);
    assert_takers("gtopk", "owner", "f32", all);
    assert_takers("gtopk", "owner", "q4", all);
    assert_takers("gtopk", "auto", "f32", all);
    assert_takers("gtopk", "auto", "f16", all);
    assert_takers("gtopk", "paper", "f32", all);
}

/* What a step costs with a bucket for each tensor. The gradients have one magnitude in each; the
 * two workers' entries are apart, and all of worker 1's are half as large. */
struct bucket_costs {
    struct fixture fixture;
    float magnitudes[3];
    struct syn_cost costs[2];
};

static void step_in_buckets(struct syn_group *group, size_t rank, void *context)
{
    struct bucket_costs *own = context;
    struct syn_reducer *reducer = NULL;
    struct syn_ticket ticket;
    struct syn_merged merged = {0};
    float gradient[SIZE] = {0};
    for (size_t e = rank; e < SIZE; e += 2)
        gradient[e] = own->magnitudes[e < 400 ? 0 : e < 700 ? 1 : 2] / (float)(1 + rank);
    enum syn_status status = fixture_open(&own->fixture, group, &reducer);
    if (status == SYN_OK)
        status = syn_reducer_begin(reducer, gradient, NULL, &ticket);
    if (status == SYN_OK)
        status = syn_reducer_wait(reducer, ticket, &merged);
    fixture_note(&own->fixture, rank, status);
    own->costs[rank] = merged.cost;
    syn_reducer_close(reducer);
}

static struct bucket_costs costs_of(float first, float second, float third)
{
    struct bucket_costs own = {.fixture = fixture_for("gtopk"),
                               .magnitudes = {first, second, third}};
    own.fixture.options.residual = "feedback";
    own.fixture.options.putback = "owner";
    own.fixture.options.bucket_bytes = 800;
    run_workers(2, 20000, step_in_buckets, &own);
    for (size_t w = 0; w < 2; w++)
        if (own.fixture.got[w] != SYN_OK)
            fail_msg("worker %zu: %s", w, own.fixture.cause[w]);
    return own;
}

static void what_is_taken_back_is_counted_over_all_buckets(void **state)
{
    (void)state;
    struct bucket_costs own = costs_of(4, 4, 4);
    for (size_t w = 0; w < 2; w++) {
        assert_int_equal(own.costs[w].selected, 20 + 15 + 10);
        assert_int_equal(own.costs[w].taken_back, w == 0 ? 0 : 20 + 15 + 10);
    }
}

static void the_threshold_of_a_step_is_the_largest_of_its_buckets(void **state)
{
    (void)state;
    static const float of[] = {6, 4, 2};
    for (size_t i = 0; i < 3; i++) {
        struct bucket_costs own = costs_of(of[i], of[(i + 1) % 3], of[(i + 2) % 3]);
        for (size_t w = 0; w < 2; w++)
            assert_true(own.costs[w].threshold == (w == 0 ? 6 : 3));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(momentum_in_the_residual_follows_its_formula),
        cmocka_unit_test(strom_follows_its_formula_in_every_mode),
        cmocka_unit_test(strom_steers_to_its_density_whatever_the_scale),
        cmocka_unit_test(owners_keep_an_entry_each_of_lists_shorter_than_the_number_of_workers),
        cmocka_unit_test(gtopk_is_what_plain_merging_gives),
        cmocka_unit_test(the_right_workers_take_back_what_merges_drop),
        cmocka_unit_test(what_is_taken_back_is_counted_over_all_buckets),
        cmocka_unit_test(the_threshold_of_a_step_is_the_largest_of_its_buckets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
