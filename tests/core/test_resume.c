/* Saved and resumed: the same number of workers goes on to the same bits, another number loses
 * nothing. */
#include "check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <syncopate/recipe.h>

#include "base/hash.h"
#include "bowl.h"
#include "scenario.h"
#include "team.h"

enum { STEPS = 24 };

/* A run that is saved after some steps and goes on, and one that begins from what was saved. */
struct break_in {
    struct syn_worker_options options;
    size_t saved_at;
    struct syn_archive *archives[TEAM_MOST];
    size_t archive_count; /* of the run that was saved; 0: this is that run */
    enum syn_status status[TEAM_MOST];
    char cause[TEAM_MOST][512];
    uint64_t hash[TEAM_MOST];
    float settled[TEAM_MOST][BOWL_SIZE];
    float unsent[TEAM_MOST][BOWL_SIZE];
};

static enum syn_status begin_or_resume(struct break_in *own, struct syn_worker *worker, size_t rank,
                                       size_t workers, float *weights)
{
    enum syn_status status = SYN_OK;
    if (own->archive_count == workers)
        status = syn_worker_load(worker, own->archives[rank]);
    else if (own->archive_count > 0)
        status = syn_worker_load_regrouped(worker, (const struct syn_archive *const *)own->archives,
                                           own->archive_count);
    if (own->archive_count > 0 && status == SYN_OK)
        status = syn_worker_settle(worker, own->settled[rank]);
    if (syn_worker_residual(worker))
        memcpy(own->unsent[rank], syn_worker_residual(worker), sizeof own->unsent[rank]);
    if (own->archive_count == workers && status == SYN_OK)
        status =
            syn_archive_copy(own->archives[rank], "weights", weights, BOWL_SIZE * sizeof(float));
    return status;
}

static void break_member(struct syn_group *group, size_t rank, void *context)
{
    struct break_in *own = context;
    struct syn_layout *layout = NULL;
    struct syn_worker *worker = NULL;
    float weights[BOWL_SIZE] = {0};
    float gradient[BOWL_SIZE];
    enum syn_status status = scenario_layout(bowl_tensors, &layout);
    if (status == SYN_OK)
        status = syn_worker_open(group, layout, &own->options, weights, &worker);
    if (status == SYN_OK)
        status = begin_or_resume(own, worker, rank, syn_group_size(group), weights);
    size_t first = own->archive_count > 0 ? own->saved_at : 0;
    for (size_t step = first; step < STEPS && status == SYN_OK; step++) {
        /* A falling learning rate, so that a rate remembered wrongly shows. */
        struct syn_rates rates = {.lr = 0.05 / (double)(step + 1)};
        if (step == own->saved_at && own->archive_count == 0) {
            status = syn_worker_save(worker, own->archives[rank]);
            syn_archive_add(own->archives[rank], "weights", weights, sizeof weights);
        }
        bowl_gradient(rank, step, weights, gradient);
        if (status == SYN_OK)
            status = syn_worker_step(worker, gradient, &rates, weights);
        if (step >= own->saved_at)
            own->hash[rank] = syn_hash(own->hash[rank], weights, sizeof weights);
    }
    own->status[rank] = status;
    snprintf(own->cause[rank], sizeof own->cause[rank], "%s", syn_error_text());
    syn_worker_close(worker);
    syn_layout_free(layout);
}

static void play_break(struct break_in *own, size_t workers)
{
    team_run(workers, 20000, break_member, own);
    for (size_t i = 0; i < workers; i++)
        if (own->status[i] != SYN_OK)
            fail_msg("worker %zu of %zu: %s", i, workers, own->cause[i]);
}

static void save_run(struct break_in *own, const char *recipe, size_t workers, size_t saved_at)
{
    memset(own, 0, sizeof *own);
    own->options = bowl_options(recipe);
    own->saved_at = saved_at;
    for (size_t i = 0; i < workers; i++)
        assert_ok(syn_archive_new(&own->archives[i]));
    play_break(own, workers);
}

static void free_archives(struct break_in *own)
{
    for (size_t i = 0; i < TEAM_MOST; i++)
        syn_archive_free(own->archives[i]);
}

static void a_resumed_run_comes_to_the_same_bits(void **state)
{
    (void)state;
    struct break_in *whole = malloc(sizeof *whole);
    struct break_in *resumed = malloc(sizeof *resumed);
    for (size_t r = 0; syn_recipe_name(r); r++)
        for (size_t at = 0; at < 12; at += 5) {
            save_run(whole, syn_recipe_name(r), 3, at);
            *resumed = *whole;
            memset(resumed->hash, 0, sizeof resumed->hash);
            resumed->archive_count = 3;
            play_break(resumed, 3);
            for (int i = 0; i < 3; i++)
                assert_true(resumed->hash[i] == whole->hash[i]);
            free_archives(whole);
        }
    free(whole);
    free(resumed);
}

static void another_number_of_workers_loses_nothing(void **state)
{
    (void)state;
    static const size_t changes[][2] = {{4, 2}, {2, 4}, {3, 1}, {1, 3}, {5, 3}, {2, 3}};
    struct break_in *whole = malloc(sizeof *whole);
    struct break_in *regrouped = malloc(sizeof *regrouped);
    for (size_t r = 0; syn_recipe_name(r); r++)
        for (int c = 0; c < 6; c++) {
            size_t before = changes[c][0];
            size_t after = changes[c][1];
            save_run(whole, syn_recipe_name(r), before, 10);
            struct break_in *same = malloc(sizeof *same);
            *same = *whole;
            same->archive_count = before;
            play_break(same, before); /* for weights and residuals as they were */
            *regrouped = *whole;
            regrouped->archive_count = before;
            play_break(regrouped, after);
            for (size_t i = 0; i < BOWL_SIZE; i++) {
                double was = 0;
                double is = 0;
                for (size_t w = 0; w < before; w++)
                    was += (double)same->unsent[w][i] / (double)before;
                for (size_t w = 0; w < after; w++)
                    is += (double)regrouped->unsent[w][i] / (double)after;
                assert_true(fabs(was - is) < 1e-5 * (1 + fabs(was)));
                for (size_t w = 0; w < after; w++)
                    assert_true(regrouped->settled[w][i] == same->settled[0][i]);
            }
            free(same);
            free_archives(whole);
        }
    free(whole);
    free(regrouped);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_resumed_run_comes_to_the_same_bits),
        cmocka_unit_test(another_number_of_workers_loses_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
