/* The same settings mean the same for every method: weight decay is as strong, and clipping as
 * narrow, whatever is sent, wherever the weights live and momentum is kept. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <syncopate/recipe.h>

#include "crew_check.h"
#include "scenario.h"

static const size_t few_tensors[] = {5, 1, 7, SIZE_MAX};

static const char *const forms[] = {"global", "corrected", "masked", "none"};
static const char *const stores[] = {"auto", "replicas", "shards"};

/* Every recipe with every form of momentum, on every store; NULL where they do not go together. */
enum { FORMS_OF_MOMENTUM = 4, STORES = 3, MOST_SERVERS = 2 };

static struct crew *method(size_t recipe, size_t form, size_t store, size_t servers)
{
    struct crew *crew = crew_of(syn_recipe_name(recipe), servers);
    with(with(crew, "momentum_form", forms[form]), "store", stores[store]);
    crew->tensors = few_tensors;
    crew->options.compare_every = 0;
    crew->options.reducer.density = 0.3;
    bool is_twice = servers > 0 && store > 0;
    if (is_twice || syn_worker_check_servers(&crew->options, servers) != SYN_OK) {
        free(crew);
        return NULL;
    }
    return crew;
}

/* The learning rate that makes a step of this method as long as one of momentum SGD, as the
 * training loop chooses it. */
static double fitting_lr(const struct crew *crew, double lr, size_t workers)
{
    const struct syn_worker_options *options = &crew->options;
    if (strcmp(options->momentum_form, "none") == 0)
        lr /= 1 - options->optimizer.momentum;
    return strcmp(options->schedule, "async") == 0 ? lr / (double)workers : lr;
}

static bool zero_gradient(struct crew *crew, size_t rank, size_t step, float *gradient)
{
    (void)rank;
    (void)step;
    memset(gradient, 0, crew_size(crew) * sizeof *gradient);
    return true;
}

/* lr * wd / (1 - mu) is a thousandth: a thousand steps leave 1/e. */
static void weight_decay_is_as_strong_in_every_method(void **state)
{
    (void)state;
    size_t played = 0;
    for (size_t r = 0; syn_recipe_name(r); r++)
        for (size_t f = 0; f < FORMS_OF_MOMENTUM; f++)
            for (size_t s = 0; s < STORES; s++)
                for (size_t servers = 0; servers <= MOST_SERVERS; servers++) {
                    struct crew *crew = method(r, f, s, servers);
                    if (!crew)
                        continue;
                    crew->options.optimizer.weight_decay = 0.001;
                    crew->lr = fitting_lr(crew, 0.1, 2);
                    crew->steps = 1000;
                    crew->before = zero_gradient;
                    play(crew, 2);
                    for (size_t i = 0; i < crew_size(crew); i++) {
                        double left = (double)(crew->weights[0][i] / crew->first[i]);
                        if (fabs(left - 0.368) > 0.01)
                            fail_msg("%s, momentum %s, store %s, %zu servers: %.3f of weight %zu "
                                     "is left, not 0.368",
                                     syn_recipe_name(r), forms[f], stores[s], servers, left, i);
                    }
                    played++;
                    free(crew);
                }
    assert_true(played > 40);
}

enum { PARTS = 3 };

/* The gradient of one of PARTS workers; every other step is long. */
static bool part_of_gradient(struct crew *crew, size_t rank, size_t step, float *gradient)
{
    scenario_gradient(RANDOM, rank, step, gradient, crew_size(crew));
    for (size_t i = 0; i < crew_size(crew); i++)
        gradient[i] *= step % 2 ? 0.01F : 10;
    return true;
}

/* The mean of theirs: that of one worker with the whole batch. */
static bool whole_gradient(struct crew *crew, size_t rank, size_t step, float *gradient)
{
    (void)rank;
    float part[CREW_SIZE];
    double sum[CREW_SIZE] = {0};
    for (size_t p = 0; p < PARTS; p++) {
        part_of_gradient(crew, p, step, part);
        for (size_t i = 0; i < crew_size(crew); i++)
            sum[i] += (double)part[i];
    }
    for (size_t i = 0; i < crew_size(crew); i++)
        gradient[i] = (float)(sum[i] / (double)PARTS);
    return true;
}

static void assert_same_weights(const struct crew *crew, const struct crew *expected, double within,
                                const char *what)
{
    for (size_t i = 0; i < crew_size(crew); i++) {
        double off = fabs((double)(crew->weights[0][i] - expected->weights[0][i]));
        if (off > within)
            fail_msg("%s: weight %zu is %g, not %g", what, i, (double)crew->weights[0][i],
                     (double)expected->weights[0][i]);
    }
}

static void dense_methods_clip_as_one_worker_with_the_whole_batch(void **state)
{
    (void)state;
    static const char *const recipes[] = {"ssgd", "od-sgd", "ssd-sgd"};
    struct crew *whole = with(crew_of("ssgd", 0), "clip", "0.5");
    whole->before = whole_gradient;
    play(whole, 1);
    for (int r = 0; r < 3; r++)
        for (size_t s = 0; s < STORES; s++)
            for (size_t servers = 0; servers <= MOST_SERVERS; servers++) {
                if (servers > 0 && s > 0)
                    continue;
                char what[64];
                snprintf(what, sizeof what, "%s, store %s, %zu servers", recipes[r], stores[s],
                         servers);
                struct crew *parts = with(crew_of(recipes[r], servers), "clip", "0.5");
                parts->before = part_of_gradient;
                assert_same_weights(play(with(parts, "store", stores[s]), PARTS), whole, 1e-5,
                                    what);
                free(parts);
            }
    free(whole);
}

/* Clipping, of the mean at least, does not keep buckets from leaving early. */
static void buckets_that_leave_early_are_clipped_alike(void **state)
{
    (void)state;
    static const char *const recipes[] = {"ssgd", "topk"};
    for (int r = 0; r < 2; r++) {
        struct crew *at_once = with(crew_of(recipes[r], 0), "clip", "0.5");
        struct crew *early = with(crew_of(recipes[r], 0), "clip", "0.5");
        at_once->before = early->before = part_of_gradient;
        early->by_tensor = true;
        with(at_once, "bucket_bytes", "900");
        play(with(early, "bucket_bytes", "900"), PARTS);
        assert_same_weights(early, play(at_once, PARTS), 0, recipes[r]);
        free(at_once);
        free(early);
    }
}

static void shards_and_replicas_clip_to_the_same_bits(void **state)
{
    (void)state;
    struct crew *shards = with(with(crew_of("ssgd", 0), "clip", "0.5"), "store", "shards");
    struct crew *replicas = with(with(crew_of("ssgd", 0), "clip", "0.5"), "store", "replicas");
    assert_same_weights(play(shards, 5), play(replicas, 5), 0, "shards");
    free(shards);
    free(replicas);
}

/* All entries of a gradient of n ones are 1, and its norm is sqrt(n). */
static bool ones(struct crew *crew, size_t rank, size_t step, float *gradient)
{
    (void)rank;
    (void)step;
    for (size_t i = 0; i < crew_size(crew); i++)
        gradient[i] = 1;
    return true;
}

/* Sparse: each worker's own at clip / sqrt(P). Asynchronous: each worker's own at clip. Both send
 * everything here, and have no momentum, so that one step moves weights by lr times the mean. */
static void other_methods_clip_each_workers_own_gradient(void **state)
{
    (void)state;
    static const struct {
        const char *recipe;
        size_t servers, workers;
        double norm;
    } cases[] = {{"topk", 0, 4, 0.5 / 2},    {"gtopk", 0, 4, 0.5 / 2}, {"topk", 2, 4, 0.5 / 2},
                 {"ssd-sgd", 0, 4, 0.5 / 2}, {"asgd", 1, 1, 0.5},      {"asgd", 2, 1, 0.5}};
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        struct crew *crew = with(crew_of(cases[c].recipe, cases[c].servers), "clip", "0.5");
        crew->tensors = few_tensors;
        crew->options.momentum_form = "none";
        crew->options.optimizer.weight_decay = 0;
        crew->options.reducer.density = 1;
        if (strcmp(cases[c].recipe, "ssd-sgd") == 0) {
            crew->options.reducer.select = "topk";
            crew->options.reducer.exchange = "gtopk";
        }
        crew->steps = 1;
        crew->before = ones;
        play(crew, cases[c].workers);
        double expected = cases[c].norm / sqrt((double)crew_size(crew)) * crew->lr;
        double moved = (double)(crew->first[3] - crew->weights[0][3]);
        if (fabs(moved - expected) > 1e-3 * expected)
            fail_msg("%s: a step of %g, not %g", cases[c].recipe, moved, expected);
        free(crew);
    }
}

/* A worker by itself guesses right, clipped or not: its weights are those of ssgd. */
static void own_weights_are_clipped_as_the_global_ones(void **state)
{
    (void)state;
    struct crew *prompt = with(crew_of("ssgd", 0), "clip", "0.5");
    struct crew *late = with(crew_of("od-sgd", 0), "clip", "0.5");
    prompt->before = late->before = part_of_gradient;
    prompt->steps = late->steps = 23; /* the last of them is long */
    late->options.warmup = 0;
    play(prompt, 1);
    play(late, 1);
    for (size_t i = 0; i < CREW_SIZE; i++)
        assert_true(fabsf(late->last[0][i] - prompt->last[0][i]) < 1e-4F);
    free(prompt);
    free(late);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weight_decay_is_as_strong_in_every_method),
        cmocka_unit_test(dense_methods_clip_as_one_worker_with_the_whole_batch),
        cmocka_unit_test(buckets_that_leave_early_are_clipped_alike),
        cmocka_unit_test(shards_and_replicas_clip_to_the_same_bits),
        cmocka_unit_test(other_methods_clip_each_workers_own_gradient),
        cmocka_unit_test(own_weights_are_clipped_as_the_global_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
