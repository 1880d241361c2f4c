/* Every exchange, codec, selection and residual in every scenario, with many workers in one
 * process: the sums are right, all workers have the same bits, and nothing is lost. */
#include "check.h"

#include <math.h>
#include <string.h>

#include <syncopate/recipe.h>

#include "scenario.h"
#include "team.h"

static const size_t team_sizes[] = {1, 2, 3, 4, 5, 7, 8, 16};

struct play {
    const struct scenario *scenario;
    struct report reports[TEAM_MOST];
};

static void member(struct syn_group *group, size_t rank, void *context)
{
    struct play *play = context;
    scenario_play(play->scenario, group, &play->reports[rank]);
}

static void run_play(struct play *play, size_t workers)
{
    team_run(workers, 20000, member, play);
    for (size_t i = 0; i < workers; i++)
        if (play->reports[i].status != SYN_OK)
            fail_msg("%s, worker %zu of %zu: %s", play->scenario->name, i, workers,
                     play->reports[i].cause);
}

static void free_play(struct play *play, size_t workers)
{
    for (size_t i = 0; i < workers; i++)
        report_free(&play->reports[i]);
}

/* |handed - applied - residuals| / |handed|, over all workers. */
static double share_lost(const struct play *play, size_t workers)
{
    double lost = 0;
    double whole = 0;
    for (size_t i = 0; i < play->reports[0].size; i++) {
        double handed = 0;
        double left = 0;
        for (size_t w = 0; w < workers; w++) {
            handed += play->reports[w].handed[i];
            left += (double)play->reports[w].residual[i];
        }
        double missing = handed - play->reports[0].applied[i] - left;
        lost += missing * missing;
        whole += handed * handed;
    }
    return whole > 0 ? sqrt(lost / whole) : sqrt(lost);
}

/* What all workers sent and none received. */
static int64_t bytes_under_way(const struct play *play, size_t workers)
{
    int64_t bytes = 0;
    for (size_t w = 0; w < workers; w++)
        bytes += (int64_t)play->reports[w].bytes_out - (int64_t)play->reports[w].bytes_in;
    return bytes;
}

static void nothing_is_lost_and_all_workers_have_the_same_bits(void **state)
{
    (void)state;
    for (size_t t = 0; t < sizeof team_sizes / sizeof team_sizes[0]; t++)
        for (const struct scenario *scenario = all_scenarios; scenario->name; scenario++) {
            struct play play = {.scenario = scenario};
            size_t workers = team_sizes[t];
            run_play(&play, workers);
            for (size_t w = 1; w < workers; w++)
                if (play.reports[w].hash != play.reports[0].hash)
                    fail_msg("%s: worker %zu of %zu has other sums than worker 0", scenario->name,
                             w, workers);
            assert_true(bytes_under_way(&play, workers) == 0);
            assert_int_equal(play.reports[0].misplaced, 0);
            double lost = share_lost(&play, workers);
            if (!(lost < 1e-5))
                fail_msg("%s with %zu workers loses %g of the gradients", scenario->name, workers,
                         lost);
            free_play(&play, workers);
        }
}

/* With nothing but the recipe's name: what nobody asked for, such as momentum, is not there. */
static void every_recipe_delivers_what_was_handed_over_in_the_long_run(void **state)
{
    (void)state;
    for (size_t r = 0; syn_recipe_name(r); r++) {
        struct scenario scenario = {.name = syn_recipe_name(r),
                                    .recipe = syn_recipe_name(r),
                                    .settings = {{"density", "0.05"}},
                                    .gradients = CONSTANT,
                                    .steps = 200};
        struct play play = {.scenario = &scenario};
        run_play(&play, 3);
        double lost = share_lost(&play, 3);
        if (!(lost < 1e-5))
            fail_msg("%s: %g of what was handed over is missing or too much", scenario.name, lost);
        free_play(&play, 3);
    }
}

static void one_dense_step_is_the_sum(void **state)
{
    (void)state;
    static const struct scenario cases[] = {
        {.name = "ssgd", .recipe = "ssgd", .steps = 1},
        {.name = "topk of all", .recipe = "topk", .steps = 1, .settings = {{"density", "1"}}},
        {.name = "gtopk of all", .recipe = "gtopk", .steps = 1, .settings = {{"density", "1"}}},
        {.name = "gtopk-tree of all",
         .recipe = "gtopk",
         .steps = 1,
         .settings = {{"density", "1"}, {"exchange", "gtopk-tree"}}},
    };
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++)
        for (size_t t = 0; t < sizeof team_sizes / sizeof team_sizes[0]; t++) {
            struct play play = {.scenario = &cases[c]};
            size_t workers = team_sizes[t];
            run_play(&play, workers);
            for (size_t i = 0; i < play.reports[0].size; i++) {
                double sum = 0;
                double size = 0;
                for (size_t w = 0; w < workers; w++) {
                    sum += play.reports[w].handed[i];
                    size += fabs(play.reports[w].handed[i]);
                }
                if (fabs(sum - play.reports[0].applied[i]) > 1e-6 * size)
                    fail_msg("%s, %zu workers, entry %zu: %.9g instead of %.9g", cases[c].name,
                             workers, i, play.reports[0].applied[i], sum);
            }
            free_play(&play, workers);
        }
}

static void the_published_putback_loses_gradient(void **state)
{
    (void)state;
    static const struct scenario paper = {
        .name = "gtopk paper",
        .recipe = "gtopk",
        .settings = {{"density", "0.02"}, {"residual", "feedback"}, {"putback", "paper"}}};
    static const size_t sizes[] = {2, 4, 16};
    for (int i = 0; i < 3; i++) {
        struct play play = {.scenario = &paper};
        run_play(&play, sizes[i]);
        double lost = share_lost(&play, sizes[i]);
        /* With one merge there is no inner one whose drops could be overlooked. */
        assert_true(sizes[i] == 2 ? lost < 1e-5 : lost > 1e-3);
        free_play(&play, sizes[i]);
    }
}

/* Bytes of a worker are those that theory gives, plus heads. */
static void the_ring_sends_no_more_than_it_must(void **state)
{
    (void)state;
    static const struct scenario dense = {.name = "ssgd", .recipe = "ssgd", .steps = 3};
    for (size_t t = 0; t < sizeof team_sizes / sizeof team_sizes[0]; t++) {
        struct play play = {.scenario = &dense};
        double workers = (double)team_sizes[t];
        run_play(&play, team_sizes[t]);
        double bound = 3 * 2 * (workers - 1) / workers * 4.0 * (double)play.reports[0].size;
        for (size_t w = 0; w < team_sizes[t]; w++) /* chunks differ by one float at most */
            assert_true(fabs((double)play.reports[w].bytes_out - bound) <= 3 * 2 * 4 * workers);
        free_play(&play, team_sizes[t]);
    }
}

static void doubling_sends_a_list_a_round(void **state)
{
    (void)state;
    static const struct scenario gtopk = {.name = "gtopk",
                                          .recipe = "gtopk",
                                          .steps = 1,
                                          .settings = {{"density", "0.02"}, {"indices", "raw"}}};
    static const size_t rounds[] = {0, 1, 3, 2,
                                    4, 4, 3, 4}; /* with folds, for the busiest worker */
    for (size_t t = 0; t < sizeof team_sizes / sizeof team_sizes[0]; t++) {
        struct play play = {.scenario = &gtopk};
        run_play(&play, team_sizes[t]);
        size_t k = play.reports[0].size / 50;
        for (size_t w = 0; w < team_sizes[t]; w++)
            assert_true(play.reports[w].bytes_out <= rounds[t] * (40 + 8 * k));
        free_play(&play, team_sizes[t]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_lost_and_all_workers_have_the_same_bits),
        cmocka_unit_test(every_recipe_delivers_what_was_handed_over_in_the_long_run),
        cmocka_unit_test(one_dense_step_is_the_sum),
        cmocka_unit_test(the_published_putback_loses_gradient),
        cmocka_unit_test(the_ring_sends_no_more_than_it_must),
        cmocka_unit_test(doubling_sends_a_list_a_round),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
