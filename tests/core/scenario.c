/* The steps of a scenario, and the list of those that every contract test runs. */
#include "scenario.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <syncopate/random.h>
#include <syncopate/recipe.h>

#include "base/hash.h"

/* Odd sizes, a one-element tensor, an empty one. */
static const size_t default_tensors[] = {500, 1, 0, 301, 201, SIZE_MAX};
static const size_t long_tensors[] = {9000, 1, 7000, SIZE_MAX};
static const size_t one_element[] = {1, SIZE_MAX};
static const size_t nothing[] = {0, SIZE_MAX};
static const size_t no_tensors[] = {SIZE_MAX};

#define FEEDBACK                                                                                   \
    {                                                                                              \
        "residual", "feedback"                                                                     \
    }

#define ADAPTIVE {"exchange", "adaptive"}, FEEDBACK
#define SPLIT                                                                                      \
    {                                                                                              \
        "exchange", "split"                                                                        \
    }

/* The last tensor of the default set, and those of one element and none. */
#define DENSE_BELOW                                                                                \
    {                                                                                              \
        "dense_below", "300"                                                                       \
    }

const struct syn_tensor_policy scenario_shares[] = {
    {.density = 0.1}, {.is_dense = true}, {.density = 1}, {0}, {.density = 0.5}};

/* Residuals keep a velocity with it; and yet what is handed over is the sum of gradients. */
#define ALMOST_NONE "1e-30"

const struct scenario all_scenarios[] = {
    {.name = "ssgd", .recipe = "ssgd"},
    {.name = "ssgd f16", .recipe = "ssgd", .settings = {FEEDBACK, {"values", "f16"}}},
    {.name = "ssgd q8", .recipe = "ssgd", .settings = {FEEDBACK, {"values", "q8"}}},
    {.name = "ssgd q4", .recipe = "ssgd", .settings = {FEEDBACK, {"values", "q4"}}},
    {.name = "ssgd q2", .recipe = "ssgd", .settings = {FEEDBACK, {"values", "q2"}}},
    {.name = "ssgd in buckets", .recipe = "ssgd", .settings = {{"bucket_bytes", "900"}}},
    {.name = "ssgd of one", .recipe = "ssgd", .tensors = one_element},
    {.name = "ssgd of nothing", .recipe = "ssgd", .tensors = nothing},
    {.name = "ssgd of no tensors", .recipe = "ssgd", .tensors = no_tensors},
    {.name = "topk", .recipe = "topk", .settings = {{"density", "0.02"}}},
    {.name = "topk raw", .recipe = "topk", .settings = {{"density", "0.02"}, {"indices", "raw"}}},
    {.name = "topk bitmap f16",
     .recipe = "topk",
     .settings = {{"density", "0.1"}, {"indices", "bitmap"}, {"values", "f16"}}},
    {.name = "topk sign", .recipe = "topk", .settings = {{"density", "0.02"}, {"values", "sign"}}},
    {.name = "topk q4", .recipe = "topk", .settings = {{"density", "0.02"}, {"values", "q4"}}},
    {.name = "topk of all", .recipe = "topk", .settings = {{"density", "1"}}},
    {.name = "topk of one", .recipe = "topk", .tensors = one_element},
    {.name = "topk of nothing", .recipe = "topk", .tensors = nothing},
    {.name = "topk of no tensors", .recipe = "topk", .tensors = no_tensors},
    {.name = "topk of zeros", .recipe = "topk", .gradients = ZEROS},
    {.name = "topk of equals",
     .recipe = "topk",
     .settings = {{"density", "0.02"}},
     .gradients = EQUAL},
    {.name = "topk in buckets",
     .recipe = "topk",
     .settings = {{"density", "0.02"}, {"bucket_bytes", "900"}, {"select_threads", "2"}}},
    {.name = "gtopk", .recipe = "gtopk", .settings = {{"density", "0.02"}}},
    {.name = "gtopk corrected",
     .recipe = "gtopk",
     .settings = {{"density", "0.02"}, {"residual_momentum", ALMOST_NONE}}},
    {.name = "gtopk owner",
     .recipe = "gtopk",
     .settings = {{"density", "0.02"}, FEEDBACK, {"putback", "owner"}}},
    {.name = "gtopk merger",
     .recipe = "gtopk",
     .settings = {{"density", "0.02"}, FEEDBACK, {"putback", "merger"}}},
    {.name = "gtopk f16",
     .recipe = "gtopk",
     .settings = {{"density", "0.02"}, FEEDBACK, {"values", "f16"}}},
    {.name = "gtopk of all", .recipe = "gtopk", .settings = {{"density", "1"}}},
    {.name = "gtopk of one", .recipe = "gtopk", .tensors = one_element},
    {.name = "gtopk of zeros", .recipe = "gtopk", .gradients = ZEROS},
    {.name = "gtopk of equals",
     .recipe = "gtopk",
     .settings = {{"density", "0.02"}},
     .gradients = EQUAL},
    {.name = "gtopk of integers",
     .recipe = "gtopk",
     .settings = {{"density", "0.05"}, FEEDBACK},
     .gradients = TINY_INTEGERS},
    {.name = "gtopk in buckets",
     .recipe = "gtopk",
     .settings = {{"density", "0.02"}, {"bucket_bytes", "900"}}},
    {.name = "gtopk-tree",
     .recipe = "gtopk",
     .settings = {{"density", "0.02"}, {"exchange", "gtopk-tree"}}},
    {.name = "gtopk-tree f16",
     .recipe = "gtopk",
     .settings = {{"density", "0.02"}, {"exchange", "gtopk-tree"}, {"values", "f16"}}},
    {.name = "gtopk q8",
     .recipe = "gtopk",
     .settings = {{"density", "0.02"}, FEEDBACK, {"values", "q8"}}},
    {.name = "gtopk q4",
     .recipe = "gtopk",
     .settings = {{"density", "0.02"}, FEEDBACK, {"values", "q4"}}},
    {.name = "gtopk q2", /* which rounds most values to zero */
     .recipe = "gtopk",
     .settings = {{"density", "0.02"}, FEEDBACK, {"values", "q2"}}},
    {.name = "gtopk half q2",
     .recipe = "gtopk",
     .settings = {{"density", "0.5"}, FEEDBACK, {"values", "q2"}}},
    {.name = "gtopk q4 merger",
     .recipe = "gtopk",
     .settings = {{"density", "0.02"}, FEEDBACK, {"values", "q4"}, {"putback", "merger"}}},
    {.name = "split", .recipe = "gtopk", .settings = {{"density", "0.02"}, SPLIT}},
    {.name = "split corrected",
     .recipe = "gtopk",
     .settings = {{"density", "0.02"}, {"residual_momentum", ALMOST_NONE}, SPLIT}},
    {.name = "split keeping k",
     .recipe = "gtopk",
     .settings = {{"density", "0.02"}, {"keep", "1"}, SPLIT}},
    {.name = "split keeping all",
     .recipe = "gtopk",
     .settings = {{"density", "0.02"}, {"keep", "0"}, SPLIT}},
    {.name = "split f16",
     .recipe = "gtopk",
     .settings = {{"density", "0.02"}, {"values", "f16"}, SPLIT}},
    {.name = "split q4",
     .recipe = "gtopk",
     .settings = {{"density", "0.02"}, {"values", "q4"}, SPLIT}},
    {.name = "split q2",
     .recipe = "gtopk",
     .settings = {{"density", "0.02"}, {"values", "q2"}, SPLIT}},
    {.name = "split of signs",
     .recipe = "strom",
     .settings = {{"density", "0.02"}, SPLIT},
     .scale = 0.01F},
    {.name = "split of all", .recipe = "gtopk", .settings = {{"density", "1"}, SPLIT}},
    {.name = "split of one", .recipe = "gtopk", .settings = {SPLIT}, .tensors = one_element},
    {.name = "split of nothing", .recipe = "gtopk", .settings = {SPLIT}, .tensors = nothing},
    {.name = "split of zeros", .recipe = "gtopk", .settings = {SPLIT}, .gradients = ZEROS},
    {.name = "split of equals",
     .recipe = "gtopk",
     .settings = {{"density", "0.02"}, SPLIT},
     .gradients = EQUAL},
    {.name = "split of integers",
     .recipe = "gtopk",
     .settings = {{"density", "0.05"}, SPLIT},
     .gradients = TINY_INTEGERS},
    {.name = "split in buckets",
     .recipe = "gtopk",
     .settings = {{"density", "0.02"}, {"bucket_bytes", "900"}, SPLIT}},
    {.name = "adaptive",
     .recipe = "ssgd",
     .settings = {{"density", "0.02"}, {"values", "q4"}, ADAPTIVE}},
    {.name = "adaptive, long lists",
     .recipe = "ssgd",
     .settings = {{"density", "0.3"}, {"values", "q4"}, ADAPTIVE},
     .tensors = long_tensors},
    {.name = "adaptive of all",
     .recipe = "ssgd",
     .settings = {{"density", "1"}, {"values", "q4"}, ADAPTIVE}},
    {.name = "adaptive of one", .recipe = "ssgd", .settings = {ADAPTIVE}, .tensors = one_element},
    {.name = "adaptive of nothing", .recipe = "ssgd", .settings = {ADAPTIVE}, .tensors = nothing},
    {.name = "adaptive of zeros", .recipe = "ssgd", .settings = {ADAPTIVE}, .gradients = ZEROS},
    {.name = "gtopk of thresholds",
     .recipe = "gtopk",
     .settings = {FEEDBACK, {"select", "threshold"}, {"threshold", "2"}}},
    {.name = "gtopk of thresholds q4",
     .recipe = "gtopk",
     .settings = {FEEDBACK, {"select", "threshold"}, {"threshold", "2"}, {"values", "q4"}}},
    {.name = "ssgd q2 forgetting",
     .recipe = "ssgd",
     .settings = {FEEDBACK, {"values", "q2"}, {"forget", "0.05"}}},
    {.name = "topk forgetting",
     .recipe = "topk",
     .settings = {{"density", "0.02"}, FEEDBACK, {"forget", "0.05"}, {"bucket_bytes", "900"}}},
    {.name = "gtopk forgetting",
     .recipe = "gtopk",
     .settings = {{"density", "0.02"}, FEEDBACK, {"forget", "0.3"}}},
    {.name = "split q2 forgetting",
     .recipe = "gtopk",
     .settings = {{"density", "0.02"}, {"values", "q2"}, {"forget", "0.05"}, FEEDBACK, SPLIT}},
    {.name = "adaptive forgetting all",
     .recipe = "ssgd",
     .settings = {{"density", "0.02"}, {"values", "q4"}, {"forget", "1"}, ADAPTIVE}},
    {.name = "sparseloco", .recipe = "sparseloco"},
    {.name = "strom", .recipe = "strom", .settings = {{"density", "0.02"}}, .scale = 0.01F},
    {.name = "strom fixed",
     .recipe = "strom",
     .settings = {{"threshold_mode", "fixed"}, {"threshold", "0.03"}},
     .scale = 0.01F},
    {.name = "strom band",
     .recipe = "strom",
     .settings = {{"threshold_mode", "band"}, {"threshold", "0.03"}, {"bucket_bytes", "900"}},
     .scale = 0.01F},
    {.name = "strom of zeros", .recipe = "strom", .gradients = ZEROS},
    {.name = "topk, small tensors dense", .recipe = "topk", .settings = {DENSE_BELOW}},
    {.name = "topk, all tensors dense", .recipe = "topk", .settings = {{"dense_below", "1000"}}},
    {.name = "topk q4, small tensors dense",
     .recipe = "topk",
     .settings = {DENSE_BELOW, {"density", "0.02"}, {"values", "q4"}, {"bucket_bytes", "900"}}},
    {.name = "topk with shares",
     .recipe = "topk",
     .settings = {{"density", "0.02"}, {"select_threads", "2"}},
     .policies = scenario_shares},
    {.name = "gtopk, small tensors dense",
     .recipe = "gtopk",
     .settings = {DENSE_BELOW, {"density", "0.02"}, {"residual_momentum", ALMOST_NONE}}},
    {.name = "gtopk f16 with shares",
     .recipe = "gtopk",
     .settings = {{"density", "0.02"}, FEEDBACK, {"values", "f16"}},
     .policies = scenario_shares},
    {.name = "gtopk-tree with shares",
     .recipe = "gtopk",
     .settings = {{"density", "0.02"}, {"exchange", "gtopk-tree"}, {"bucket_bytes", "900"}},
     .policies = scenario_shares},
    {.name = "gtopk forgetting, small tensors dense",
     .recipe = "gtopk",
     .settings = {DENSE_BELOW, {"density", "0.02"}, FEEDBACK, {"forget", "0.05"}}},
    {.name = "gtopk of zeros, small tensors dense",
     .recipe = "gtopk",
     .settings = {DENSE_BELOW},
     .gradients = ZEROS},
    {.name = "split keeping k, small tensors dense",
     .recipe = "gtopk",
     .settings = {DENSE_BELOW, {"density", "0.02"}, {"keep", "1"}, SPLIT}},
    {.name = "split q2 with shares",
     .recipe = "gtopk",
     .settings = {{"density", "0.02"}, {"values", "q2"}, FEEDBACK, SPLIT},
     .policies = scenario_shares},
    {.name = "adaptive, small tensors dense",
     .recipe = "ssgd",
     .settings = {DENSE_BELOW, {"density", "0.02"}, {"values", "q4"}, ADAPTIVE}},
    {.name = "adaptive of all, small tensors dense",
     .recipe = "ssgd",
     .settings = {DENSE_BELOW, {"density", "1"}, {"bucket_bytes", "900"}, ADAPTIVE}},
    {.name = "sparseloco, small tensors dense", .recipe = "sparseloco", .settings = {DENSE_BELOW}},
    {.name = NULL},
};

void scenario_gradient(enum gradients kind, size_t rank, size_t step, float *gradient, size_t size)
{
    struct syn_random random;
    syn_random_start(&random, 1000 * step + rank, (uint64_t)kind);
    for (size_t i = 0; i < size; i++) {
        float normal = syn_random_normal(&random);
        float values[GRADIENTS] = {[RANDOM] = normal,
                                   [ZEROS] = 0,
                                   [EQUAL] = normal < 0 ? -1 : 1,
                                   [TINY_INTEGERS] = (float)(int)normal,
                                   [CONSTANT] = (float)(i % 7 + rank) - 2.5F};
        gradient[i] = values[kind];
    }
}

void scenario_weights(float *weights, size_t size)
{
    for (size_t i = 0; i < size; i++)
        weights[i] = 2 - (float)(i % 5) * 0.7F;
}

void scenario_be_exact(struct syn_reducer_options *options)
{
    if (strcmp(options->values, "auto") == 0)
        options->values = "f32";
}

enum syn_status scenario_options(const struct scenario *scenario,
                                 struct syn_reducer_options *options)
{
    syn_reducer_defaults(options);
    enum syn_status status = syn_recipe_apply(scenario->recipe, options);
    scenario_be_exact(options);
    for (size_t i = 0; i < 8 && scenario->settings[i][0] && status == SYN_OK; i++)
        status = syn_settings_set(&syn_reducer_settings, options, scenario->settings[i][0],
                                  scenario->settings[i][1]);
    return status;
}

enum syn_status scenario_layout(const size_t *tensors, struct syn_layout **layout)
{
    enum syn_status status = syn_layout_new(layout);
    for (size_t i = 0; tensors[i] != SIZE_MAX && status == SYN_OK; i++) {
        char name[32];
        snprintf(name, sizeof name, "t%zu", i);
        status = syn_layout_add(*layout, name, tensors[i]);
    }
    return status;
}

enum syn_status scenario_policies(const struct syn_tensor_policy *policies,
                                  struct syn_layout *layout)
{
    enum syn_status status = SYN_OK;
    for (size_t i = 0; policies && i < syn_layout_count(layout) && status == SYN_OK; i++)
        status = syn_layout_set_policy(layout, i, policies[i]);
    return status;
}

static size_t count_misplaced(const struct syn_merged *merged)
{
    size_t misplaced = 0;
    for (size_t i = 0; i < merged->count && !merged->dense; i++)
        misplaced += merged->value[i] == 0 || (i > 0 && merged->index[i] <= merged->index[i - 1]);
    return misplaced;
}

/* Before a step begins. */
static void expect_forgetting(const struct syn_reducer *reducer, double forget,
                              struct account *account)
{
    const float *residual = syn_reducer_residual(reducer);
    for (size_t i = 0; i < account->size && residual; i++)
        account->forgotten[i] += forget * (double)residual[i];
}

static enum syn_status one_step(const struct scenario *scenario, struct syn_reducer *reducer,
                                size_t rank, size_t number, float *gradient, float *dense,
                                struct account *account)
{
    struct syn_step step = syn_reducer_step(reducer);
    struct syn_ticket ticket;
    struct syn_merged merged;
    step.scale = scenario->scale != 0 ? scenario->scale : 1;
    scenario_gradient(scenario->gradients, rank, number, gradient, account->size);
    enum syn_status status = syn_reducer_begin(reducer, gradient, &step, &ticket);
    if (status == SYN_OK)
        status = syn_reducer_wait(reducer, ticket, &merged);
    if (status != SYN_OK)
        return status;
    syn_merged_to_dense(&merged, dense, account->size);
    account->hash = syn_hash(account->hash, dense, account->size * sizeof *dense);
    account->bytes_out += merged.cost.bytes_out;
    account->bytes_in += merged.cost.bytes_in;
    account->taken_back += merged.cost.taken_back;
    account->told_forgotten += merged.cost.forgotten;
    account->misplaced += count_misplaced(&merged);
    if (merged.cost.selected > account->most_selected)
        account->most_selected = (size_t)merged.cost.selected;
    for (size_t i = 0; i < account->size; i++) {
        account->handed[i] += (double)step.scale * (double)gradient[i];
        account->applied[i] += (double)dense[i];
    }
    return SYN_OK;
}

void scenario_run(const struct scenario *scenario, struct syn_group *group, struct account *account)
{
    struct syn_reducer_options options;
    struct syn_layout *layout = NULL;
    struct syn_reducer *reducer = NULL;
    memset(account, 0, sizeof *account);
    account->status = scenario_options(scenario, &options);
    if (account->status == SYN_OK)
        account->status =
            scenario_layout(scenario->tensors ? scenario->tensors : default_tensors, &layout);
    if (account->status == SYN_OK)
        account->status = scenario_policies(scenario->policies, layout);
    if (account->status == SYN_OK)
        account->status = syn_reducer_open(group, layout, &options, &reducer);
    if (account->status == SYN_OK) {
        size_t size = account->size = syn_layout_size(layout);
        float *gradient = calloc(size + 1, sizeof *gradient);
        float *dense = calloc(size + 1, sizeof *dense);
        account->handed = calloc(size + 1, sizeof *account->handed);
        account->applied = calloc(size + 1, sizeof *account->applied);
        account->forgotten = calloc(size + 1, sizeof *account->forgotten);
        account->residual = calloc(size + 1, sizeof *account->residual);
        size_t steps = scenario->steps ? scenario->steps : SCENARIO_STEPS;
        for (size_t i = 0; i < steps && account->status == SYN_OK; i++) {
            expect_forgetting(reducer, options.forget, account);
            account->status =
                one_step(scenario, reducer, syn_group_rank(group), i, gradient, dense, account);
        }
        if (syn_reducer_residual(reducer))
            memcpy(account->residual, syn_reducer_residual(reducer), size * sizeof(float));
        free(gradient);
        free(dense);
    }
    if (account->status != SYN_OK)
        snprintf(account->cause, sizeof account->cause, "%s", syn_error_text());
    syn_reducer_close(reducer);
    syn_layout_free(layout);
}

void account_free(struct account *account)
{
    free(account->handed);
    free(account->applied);
    free(account->residual);
    free(account->forgotten);
}
