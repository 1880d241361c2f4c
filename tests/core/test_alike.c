/* The same settings mean the same for every method: weight decay is as strong, and clipping as
 * narrow, whatever is sent, wherever the weights live and momentum is kept. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <syncopate/recipe.h>

#include "cluster_check.h"
#include "scenario.h"

static const size_t few_tensors[] = {5, 1, 7, SIZE_MAX};

static const char *const forms[] = {"global", "corrected", "masked", "none"};
static const char *const stores[] = {"auto", "replicas", "shards"};

/* Every recipe with every form of momentum, on every store; NULL where they do not go together. */
enum { FORMS_OF_MOMENTUM = 4, STORES = 3, MOST_SERVERS = 2 };

static struct cluster *method(size_t recipe, size_t form, size_t store, size_t servers)
{
    struct cluster *cluster = cluster_of(syn_recipe_name(recipe), servers);
    with(with(cluster, "momentum_form", forms[form]), "store", stores[store]);
    cluster->tensors = few_tensors;
    cluster->options.compare_every = 0;
    cluster->options.reducer.density = 0.3;
    if (strcmp(cluster->options.schedule, "local") == 0) {
        /* Outer steps of the mean way's length, all of it: decay is part of the way here. */
        cluster->options.inner_steps = 10;
        cluster->options.outer_lr = 1;
        cluster->options.outer_momentum = 0;
        cluster->options.reducer.forget = 0;
        cluster->options.reducer.density = 1;
        cluster->options.reducer.values = "f32";
    }
    bool is_twice = servers > 0 && store > 0;
    if (is_twice || syn_worker_check_servers(&cluster->options, servers) != SYN_OK) {
        free(cluster);
        return NULL;
    }
    return cluster;
}

/* The learning rate that makes a step of this method as long as one of momentum SGD, as the
 * training loop chooses it. */
static double fitting_lr(const struct cluster *cluster, double lr, size_t workers)
{
    const struct syn_worker_options *options = &cluster->options;
    if (strcmp(options->momentum_form, "none") == 0)
        lr /= 1 - options->optimizer.momentum;
    return strcmp(options->schedule, "async") == 0 ? lr / (double)workers : lr;
}

static bool zero_gradient(struct cluster *cluster, size_t rank, size_t step, float *gradient)
{
    (void)rank;
    (void)step;
    memset(gradient, 0, cluster_size(cluster) * sizeof *gradient);
    return true;
}

/* lr * wd / (1 - mu) is a thousandth: a thousand steps leave 1/e. */
static void weight_decay_is_as_strong_in_every_method(void **state)
{
    (void)state;
    size_t compared = 0;
    for (size_t r = 0; syn_recipe_name(r); r++)
        for (size_t f = 0; f < FORMS_OF_MOMENTUM; f++)
            for (size_t s = 0; s < STORES; s++)
                for (size_t servers = 0; servers <= MOST_SERVERS; servers++) {
                    struct cluster *cluster = method(r, f, s, servers);
                    if (!cluster)
                        continue;
                    cluster->options.optimizer.weight_decay = 0.001;
                    cluster->lr = fitting_lr(cluster, 0.1, 2);
                    cluster->steps = 1000;
                    cluster->before = zero_gradient;
                    run_cluster(cluster, 2);
                    for (size_t i = 0; i < cluster_size(cluster); i++) {
                        double left = (double)(cluster->weights[0][i] / cluster->first[i]);
                        if (fabs(left - 0.368) > 0.01)
                            fail_msg("%s, momentum %s, store %s, %zu servers: %.3f of weight %zu "
                                     "is left, not 0.368",
                                     syn_recipe_name(r), forms[f], stores[s], servers, left, i);
                    }
                    compared++;
                    free(cluster);
                }
    assert_true(compared > 40);
}

enum { PARTS = 3 };

/* The gradient of one of PARTS workers; every other step is long. */
static bool part_of_gradient(struct cluster *cluster, size_t rank, size_t step, float *gradient)
{
    scenario_gradient(RANDOM, rank, step, gradient, cluster_size(cluster));
    for (size_t i = 0; i < cluster_size(cluster); i++)
        gradient[i] *= step % 2 ? 0.01F : 10;
    return true;
}

/* The mean of theirs: that of one worker with the whole batch. */
static bool whole_gradient(struct cluster *cluster, size_t rank, size_t step, float *gradient)
{
    (void)rank;
    float part[CLUSTER_SIZE];
    double sum[CLUSTER_SIZE] = {0};
    for (size_t p = 0; p < PARTS; p++) {
        part_of_gradient(cluster, p, step, part);
        for (size_t i = 0; i < cluster_size(cluster); i++)
            sum[i] += (double)part[i];
    }
    for (size_t i = 0; i < cluster_size(cluster); i++)
        gradient[i] = (float)(sum[i] / (double)PARTS);
    return true;
}

static void assert_same_weights(const struct cluster *cluster, const struct cluster *expected,
                                double within, const char *what)
{
    for (size_t i = 0; i < cluster_size(cluster); i++) {
        double off = fabs((double)(cluster->weights[0][i] - expected->weights[0][i]));
        if (off > within)
            fail_msg("%s: weight %zu is %g, not %g", what, i, (double)cluster->weights[0][i],
                     (double)expected->weights[0][i]);
    }
}

static void dense_methods_clip_as_one_worker_with_the_whole_batch(void **state)
{
    (void)state;
    static const char *const recipes[] = {"ssgd", "od-sgd", "ssd-sgd"};
    struct cluster *whole = with(cluster_of("ssgd", 0), "clip", "0.5");
    whole->before = whole_gradient;
    run_cluster(whole, 1);
    for (int r = 0; r < 3; r++)
        for (size_t s = 0; s < STORES; s++)
            for (size_t servers = 0; servers <= MOST_SERVERS; servers++) {
                if (servers > 0 && s > 0)
                    continue;
                char what[64];
                snprintf(what, sizeof what, "%s, store %s, %zu servers", recipes[r], stores[s],
                         servers);
                struct cluster *parts = with(cluster_of(recipes[r], servers), "clip", "0.5");
                parts->before = part_of_gradient;
                assert_same_weights(run_cluster(with(parts, "store", stores[s]), PARTS), whole,
                                    1e-5, what);
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
        struct cluster *at_once = with(cluster_of(recipes[r], 0), "clip", "0.5");
        struct cluster *early = with(cluster_of(recipes[r], 0), "clip", "0.5");
        at_once->before = early->before = part_of_gradient;
        early->by_tensor = true;
        with(at_once, "bucket_bytes", "900");
        run_cluster(with(early, "bucket_bytes", "900"), PARTS);
        assert_same_weights(early, run_cluster(at_once, PARTS), 0, recipes[r]);
        free(at_once);
        free(early);
    }
}

static void shards_and_replicas_clip_to_the_same_bits(void **state)
{
    (void)state;
    struct cluster *shards = with(with(cluster_of("ssgd", 0), "clip", "0.5"), "store", "shards");
    struct cluster *replicas =
        with(with(cluster_of("ssgd", 0), "clip", "0.5"), "store", "replicas");
    assert_same_weights(run_cluster(shards, 5), run_cluster(replicas, 5), 0, "shards");
    free(shards);
    free(replicas);
}

/* All entries of a gradient of n ones are 1, and its norm is sqrt(n). */
static bool ones(struct cluster *cluster, size_t rank, size_t step, float *gradient)
{
    (void)rank;
    (void)step;
    for (size_t i = 0; i < cluster_size(cluster); i++)
        gradient[i] = 1;
    return true;
}

/* Sparse and asynchronous methods send everything here and have no momentum, so that one step moves
 * weights by lr times the mean. */
static void other_methods_clip_each_workers_own_gradient(void **state)
{
    (void)state;
    static const struct {
        const char *recipe;
        size_t servers, workers;
    } cases[] = {{"topk", 0, 4},    {"gtopk", 0, 4}, {"topk", 2, 4},
                 {"ssd-sgd", 0, 4}, {"asgd", 1, 1},  {"asgd", 2, 1}};
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        struct cluster *cluster =
            with(cluster_of(cases[c].recipe, cases[c].servers), "clip", "0.5");
        cluster->tensors = few_tensors;
        cluster->options.momentum_form = "none";
        cluster->options.optimizer.weight_decay = 0;
        cluster->options.reducer.density = 1;
        if (strcmp(cases[c].recipe, "ssd-sgd") == 0) {
            cluster->options.reducer.select = "topk";
            cluster->options.reducer.exchange = "gtopk";
        }
        cluster->steps = 1;
        cluster->before = ones;
        run_cluster(cluster, cases[c].workers);
        double expected = 0.5 / sqrt((double)cluster_size(cluster)) * cluster->lr;
        double moved = (double)(cluster->first[3] - cluster->weights[0][3]);
        if (fabs(moved - expected) > 1e-3 * expected)
            fail_msg("%s: a step of %g, not %g", cases[c].recipe, moved, expected);
        free(cluster);
    }
}

/* A worker by itself guesses right, clipped or not: its weights are those of ssgd. */
static void own_weights_are_clipped_as_the_global_ones(void **state)
{
    (void)state;
    struct cluster *prompt = with(cluster_of("ssgd", 0), "clip", "0.5");
    struct cluster *late = with(cluster_of("od-sgd", 0), "clip", "0.5");
    prompt->before = late->before = part_of_gradient;
    prompt->steps = late->steps = 23; /* the last of them is long */
    late->options.warmup = 0;
    run_cluster(prompt, 1);
    run_cluster(late, 1);
    for (size_t i = 0; i < CLUSTER_SIZE; i++)
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
