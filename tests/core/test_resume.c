/* Saved and resumed: the same number of workers goes on to the same bits, another number loses
 * nothing. */
#include "check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <syncopate/recipe.h>

#include "base/hash.h"
#include "quadratic.h"
#include "scenario.h"
#include "workers.h"

enum { STEPS = 24 };

/* A run that is saved after some steps and goes on, and one that begins from what was saved. */
struct break_in {
    struct syn_worker_options options;
    const struct syn_tensor_policy *policies; /* [tensor], or NULL */
    size_t servers;
    size_t saved_at;
    struct syn_archive *archives[WORKERS_MOST];
    size_t archive_count; /* of the run that was saved; 0: this is that run */
    enum syn_status status[WORKERS_MOST];
    char cause[WORKERS_MOST][512];
    uint64_t hash[WORKERS_MOST];
    float settled[WORKERS_MOST][QUADRATIC_SIZE];
    float unsent[WORKERS_MOST][QUADRATIC_SIZE];
    float first[WORKERS_MOST][QUADRATIC_SIZE]; /* weights after the first step */
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
        status = syn_archive_copy(own->archives[rank], "weights", weights,
                                  QUADRATIC_SIZE * sizeof(float));
    return status;
}

static void break_member(struct syn_group *group, size_t rank, void *context)
{
    struct break_in *own = context;
    struct syn_layout *layout = NULL;
    struct syn_worker *worker = NULL;
    float weights[QUADRATIC_SIZE];
    float gradient[QUADRATIC_SIZE];
    enum syn_status status = scenario_layout(quadratic_tensors, &layout);
    if (status == SYN_OK)
        status = scenario_policies(own->policies, layout);
    scenario_weights(weights, QUADRATIC_SIZE);
    if (own->archive_count > 0) /* what was saved counts, not these */
        for (size_t i = 0; i < QUADRATIC_SIZE; i++)
            weights[i] += 1;
    if (status == SYN_OK)
        status = syn_group_appoint(group, own->servers);
    bool serves = rank >= syn_group_workers(group);
    if (status == SYN_OK)
        status = serves ? syn_worker_serve(group, layout, &own->options, weights)
                        : syn_worker_open(group, layout, &own->options, weights, &worker);
    if (status == SYN_OK && !serves)
        status = begin_or_resume(own, worker, rank, syn_group_workers(group), weights);
    size_t first = own->archive_count > 0 ? own->saved_at : 0;
    for (size_t step = first; step < STEPS && status == SYN_OK && !serves; step++) {
        /* A falling learning rate, so that a rate remembered wrongly shows. */
        struct syn_rates rates = {.lr = 0.05 / (double)(step + 1)};
        if (step == own->saved_at && own->archive_count == 0) {
            status = syn_worker_save(worker, own->archives[rank]);
            syn_archive_add(own->archives[rank], "weights", weights, sizeof weights);
        }
        quadratic_gradient(rank, step, weights, gradient);
        if (status == SYN_OK)
            status = syn_worker_step(worker, gradient, &rates, weights);
        if (step == first)
            memcpy(own->first[rank], weights, sizeof weights);
        if (step >= own->saved_at)
            own->hash[rank] = syn_hash(own->hash[rank], weights, sizeof weights);
    }
    own->status[rank] = status;
    snprintf(own->cause[rank], sizeof own->cause[rank], "%s", syn_error_text());
    syn_worker_close(worker);
    syn_layout_free(layout);
}

static void run_break(struct break_in *own, size_t workers)
{
    run_workers(workers + own->servers, 20000, break_member, own);
    for (size_t i = 0; i < workers + own->servers; i++)
        if (own->status[i] != SYN_OK)
            fail_msg("member %zu of %zu + %zu: %s", i, workers, own->servers, own->cause[i]);
}

/* Whether there is such a run, and it comes to the same bits each time. */
static bool is_repeatable(const char *recipe, size_t servers)
{
    struct syn_worker_options options = quadratic_options(recipe);
    return strcmp(options.schedule, "async") != 0 &&
           syn_worker_check_servers(&options, servers) == SYN_OK;
}

/* In place of a recipe's own. */
static const char *optimizer;
static const char *store;
static const struct syn_tensor_policy *policies;

static void save_run(struct break_in *own, const char *recipe, size_t servers, size_t workers,
                     size_t saved_at)
{
    memset(own, 0, sizeof *own);
    own->options = quadratic_options(recipe);
    own->options.optimizer.optimizer = optimizer ? optimizer : own->options.optimizer.optimizer;
    own->options.store = store ? store : own->options.store;
    own->policies = policies;
    own->servers = servers;
    own->saved_at = saved_at;
    for (size_t i = 0; i < workers; i++)
        assert_ok(syn_archive_new(&own->archives[i]));
    run_break(own, workers);
}

static void free_archives(struct break_in *own)
{
    for (size_t i = 0; i < WORKERS_MOST; i++)
        syn_archive_free(own->archives[i]);
}

/* A run with so many servers goes on with another number of them. */
static void check_resumed(const char *recipe, size_t servers, size_t servers_after, size_t at)
{
    struct break_in *whole = malloc(sizeof *whole);
    struct break_in *resumed = malloc(sizeof *resumed);
    save_run(whole, recipe, servers, 3, at);
    *resumed = *whole;
    memset(resumed->hash, 0, sizeof resumed->hash);
    resumed->archive_count = 3;
    resumed->servers = servers_after;
    run_break(resumed, 3);
    for (int i = 0; i < 3; i++)
        if (resumed->hash[i] != whole->hash[i])
            fail_msg("%s, %zu servers, resumed at %zu: other bits", recipe, servers, at);
    free_archives(whole);
    free(whole);
    free(resumed);
}

static void a_resumed_run_comes_to_the_same_bits(void **state)
{
    (void)state;
    for (size_t r = 0; syn_recipe_name(r); r++)
        for (size_t at = 0; at < 12 && is_repeatable(syn_recipe_name(r), 0); at += 5)
            check_resumed(syn_recipe_name(r), 0, 0, at);
}

static void servers_go_on_to_the_same_bits_also_with_another_number_of_them(void **state)
{
    (void)state;
    static const size_t servers_after[] = {2, 3, 1, 8};
    for (size_t r = 0; syn_recipe_name(r); r++)
        for (size_t at = 0; at < 20 && is_repeatable(syn_recipe_name(r), 2); at += 5)
            check_resumed(syn_recipe_name(r), 2, servers_after[at / 5], at);
}

/* Of an asynchronous run only the weights that were saved are known. */
static void asynchronous_servers_go_on_from_the_weights_they_had(void **state)
{
    (void)state;
    struct break_in *whole = malloc(sizeof *whole);
    struct break_in *resumed = malloc(sizeof *resumed);
    save_run(whole, "asgd", 2, 3, 10);
    *resumed = *whole;
    resumed->archive_count = 3;
    resumed->servers = 3;
    run_break(resumed, 3);
    for (int i = 0; i < 3; i++) {
        float saved[QUADRATIC_SIZE];
        assert_ok(syn_archive_copy(whole->archives[i], "store/weights", saved, sizeof saved));
        assert_memory_equal(resumed->settled[i], saved, sizeof saved);
    }
    free_archives(whole);
    free(whole);
    free(resumed);
}

static void a_state_of_another_model_or_that_is_not_finite_is_refused(void **state)
{
    (void)state;
    static const char *const names[] = {"store/weights", "store/optimizer", "store/pulled"};
    struct break_in *own = malloc(sizeof *own);
    for (int what = 0; what < 5; what++) {
        save_run(own, "ssgd", 2, 2, 10);
        for (size_t i = 0; i < 2; i++) {
            struct syn_archive *other;
            assert_ok(syn_archive_new(&other));
            for (size_t s = 0; syn_archive_section(own->archives[i], s).name; s++) {
                struct syn_section section = syn_archive_section(own->archives[i], s);
                float floats[2 * QUADRATIC_SIZE] = {0};
                bool is_it = strcmp(section.name, names[what % 3]) == 0;
                assert_true(section.count <= sizeof floats);
                memcpy(floats, section.bytes, section.count);
                if (is_it && what >= 3)
                    floats[QUADRATIC_SIZE / 2] = (float)NAN;
                size_t less = is_it && what < 3 ? sizeof(float) : 0;
                assert_ok(syn_archive_add(other, section.name, floats, section.count - less));
            }
            syn_archive_free(own->archives[i]);
            own->archives[i] = other;
        }
        own->archive_count = 2;
        run_workers(4, 20000, break_member, own);
        for (size_t i = 0; i < 2; i++)
            assert_int_not_equal(own->status[i], SYN_OK);
        free_archives(own);
    }
    free(own);
}

static void check_regrouped(const char *recipe, size_t servers)
{
    static const size_t changes[][2] = {{4, 2}, {2, 4}, {3, 1}, {1, 3}, {5, 3}, {2, 3}};
    struct break_in *whole = malloc(sizeof *whole);
    struct break_in *regrouped = malloc(sizeof *regrouped);
    for (int c = 0; c < 6 && is_repeatable(recipe, servers); c++) {
        size_t before = changes[c][0];
        size_t after = changes[c][1];
        save_run(whole, recipe, servers, before, 10);
        struct break_in *same = malloc(sizeof *same);
        *same = *whole;
        same->archive_count = before;
        run_break(same, before); /* for weights and residuals as they were */
        *regrouped = *whole;
        regrouped->archive_count = before;
        run_break(regrouped, after);
        for (size_t i = 0; i < QUADRATIC_SIZE; i++) {
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

static void another_number_of_workers_loses_nothing(void **state)
{
    (void)state;
    for (size_t r = 0; syn_recipe_name(r); r++) {
        check_regrouped(syn_recipe_name(r), 0);
        check_regrouped(syn_recipe_name(r), 2);
    }
}

/* Each with its own gradient from there: a step away, and not from the weights they were opened
 * with or from none. */
static void with_a_delay_another_number_of_workers_goes_on_from_the_global_weights(void **state)
{
    (void)state;
    static const char *const recipes[] = {"od-sgd", "ssd-sgd"};
    static const char *const stores[] = {"replicas", "shards"};
    struct break_in *whole = malloc(sizeof *whole);
    for (int i = 0; i < 4; i++) {
        memset(whole, 0, sizeof *whole);
        whole->options = quadratic_options(recipes[i % 2]);
        whole->options.store = stores[i / 2];
        whole->saved_at = 10;
        for (size_t w = 0; w < 3; w++)
            assert_ok(syn_archive_new(&whole->archives[w]));
        run_break(whole, 3);
        whole->archive_count = 3;
        run_break(whole, 2);
        for (size_t w = 0; w < 2; w++)
            for (size_t e = 0; e < QUADRATIC_SIZE; e++)
                assert_true(fabsf(whole->first[w][e] - whole->settled[w][e]) < 0.1F);
        free_archives(whole);
    }
    free(whole);
}

/* Its number of updates has to come along. */
static void adamw_and_lamb_go_on_to_the_same_bits_in_every_store(void **state)
{
    (void)state;
    static const char *const stores[] = {"replicas", "shards"};
    struct break_in *own = malloc(sizeof *own);
    struct break_in *whole = malloc(sizeof *whole);
    optimizer = "adamw";
    for (int i = 0; i < 2; i++) {
        store = stores[i];
        check_resumed("ssgd", 0, 0, 7);
        save_run(whole, "ssgd", 0, 3, 7);
        *own = *whole;
        own->archive_count = 3;
        run_break(own, 2); /* with another number of workers, from what they had */
        for (size_t e = 0; e < QUADRATIC_SIZE; e++) /* at t = 8, not at t = 1, a small step */
            assert_true(fabsf(own->first[0][e] - own->settled[0][e]) < 1.2F * 0.05F / 8);
        free_archives(whole);
    }
    store = NULL;
    check_resumed("ssgd", 2, 3, 7);
    optimizer = "lamb";
    check_resumed("ssgd", 0, 0, 7);
    optimizer = NULL;
    free(own);
    free(whole);
}

static void tensors_with_policies_go_on_as_they_would_have(void **state)
{
    (void)state;
    static const struct syn_tensor_policy dense[] = {{0}, {.is_dense = true}, {.is_frozen = true}};
    static const struct syn_tensor_policy shares[] = {{.is_frozen = true}, {.density = 0.2}, {0}};
    static const struct syn_tensor_policy *const both[] = {dense, shares};
    static const char *const recipes[] = {"topk", "gtopk", "sparseloco"};
    for (int p = 0; p < 2; p++) {
        policies = both[p];
        for (int r = 0; r < 3; r++) {
            check_resumed(recipes[r], 0, 0, 7);
            check_regrouped(recipes[r], 0);
        }
        check_resumed("topk", 2, 3, 7);
        check_regrouped("topk", 2);
    }
    policies = dense;
    check_resumed("ssgd", 0, 0, 7);
    check_resumed("ssd-sgd", 0, 0, 7);
    check_regrouped("ssd-sgd", 0);
    policies = NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_resumed_run_comes_to_the_same_bits),
        cmocka_unit_test(servers_go_on_to_the_same_bits_also_with_another_number_of_them),
        cmocka_unit_test(asynchronous_servers_go_on_from_the_weights_they_had),
        cmocka_unit_test(a_state_of_another_model_or_that_is_not_finite_is_refused),
        cmocka_unit_test(adamw_and_lamb_go_on_to_the_same_bits_in_every_store),
        cmocka_unit_test(another_number_of_workers_loses_nothing),
        cmocka_unit_test(tensors_with_policies_go_on_as_they_would_have),
        cmocka_unit_test(with_a_delay_another_number_of_workers_goes_on_from_the_global_weights),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
