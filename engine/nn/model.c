/* Building a model: layouts from the graph, a plan for the full batch. Plans for other numbers of
 * examples (the last batch of an epoch) and for evaluation are made when first needed, and a few
 * are kept. Every count has its own plan, instead of padding to the full batch, because batch norm
 * would see the padding. */
#include "engine/nn/model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <syncopate/random.h>

#include "engine/base/fail.h"
#include "engine/base/memory.h"
#include "engine/nn/parallel.h"

#define MOST_BATCH   (1u << 20)
#define MOST_TIME    (1u << 16)
#define MOST_THREADS 256

void syn_model_defaults(struct syn_model_options *options)
{
    *options = (struct syn_model_options){
        .batch = 32, .time = 35, .threads = 1, .seed = 1, .training = true};
}

static enum syn_status check_options(const struct syn_model_options *options)
{
    const struct {
        const char *name;
        size_t value;
        size_t most;
    } rows[] = {{"batch", options->batch, MOST_BATCH},
                {"time", options->time, MOST_TIME},
                {"threads", options->threads, MOST_THREADS}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].value < 1 || rows[i].value > rows[i].most)
            return syn_report(SYN_INVALID, "%s %zu; expected 1 to %zu", rows[i].name, rows[i].value,
                              rows[i].most);
    return SYN_OK;
}

static enum syn_status add_tensor(struct syn_model *model, const struct node *node, size_t i,
                                  const struct tensor *tensor)
{
    char name[256];
    struct syn_layout *layout = model->layouts[tensor->space];
    size_t rows = tensor->space == SPACE_CARRY ? model->options.batch : 1;
    snprintf(name, sizeof name, "%s.%s", node->name, tensor->suffix);
    model->offsets[node->number][i] = syn_layout_size(layout);
    model->shapes[tensor->space][syn_layout_count(layout)] = tensor->shape;
    SYN_TRY(syn_layout_add(layout, name, syn_shape_count(&tensor->shape) * rows));
    bool is_spared = strncmp(tensor->suffix, "bias", 4) == 0 || tensor->start == START_ONE;
    if (!model->options.spares_biases || !is_spared)
        return SYN_OK;
    return syn_layout_rate(layout, syn_layout_count(layout) - 1, (struct syn_tensor_rates){1, 0});
}

static size_t list_tensors(const struct syn_model *model, size_t node, struct tensor *tensors)
{
    const struct node *n = &model->graph->nodes[node];
    size_t count = n->kind->tensors ? n->kind->tensors(model->graph, n, tensors) : 0;
    for (size_t i = 0; i < count; i++)
        if (n->deviation > 0 && strcmp(tensors[i].suffix, "weight") == 0) {
            tensors[i].start = START_NORMAL;
            tensors[i].bound = n->deviation;
        }
    return count;
}

static enum syn_status lay_out(struct syn_model *model)
{
    for (size_t i = 0; i < SPACE_COUNT; i++) {
        SYN_TRY(syn_layout_new(&model->layouts[i]));
        SYN_TRY(syn_engine_allocate(model->graph->count * MOST_TENSORS, sizeof *model->shapes[i],
                                    &model->shapes[i]));
    }
    SYN_TRY(syn_engine_allocate(model->graph->count, sizeof *model->offsets, &model->offsets));
    for (size_t i = 0; i < model->graph->count; i++) {
        struct tensor tensors[MOST_TENSORS];
        size_t count = list_tensors(model, i, tensors);
        for (size_t k = 0; k < count; k++)
            SYN_TRY(add_tensor(model, &model->graph->nodes[i], k, &tensors[k]));
    }
    return SYN_OK;
}

static struct syn_input describe_input(const struct syn_graph *graph)
{
    const struct node *first = &graph->nodes[0];
    const struct node *last = &graph->nodes[graph->count - 1];
    if (first->shape.tokens)
        return (struct syn_input){.kind = SYN_INPUT_TOKENS, .classes = first->options.vocabulary};
    return (struct syn_input){SYN_INPUT_IMAGES, first->shape.channels, first->shape.height,
                              first->shape.width, last->shape.channels};
}

static enum syn_status allocate(struct syn_model *model)
{
    size_t carried = syn_layout_size(model->layouts[SPACE_CARRY]);
    size_t rows = model->options.batch * model->options.time;
    SYN_TRY(syn_engine_allocate(syn_layout_size(model->layouts[SPACE_STATISTICS]), sizeof(float),
                                &model->statistics));
    SYN_TRY(syn_engine_allocate(carried, sizeof(float), &model->carry[0]));
    SYN_TRY(syn_engine_allocate(carried, sizeof(float), &model->carry[1]));
    SYN_TRY(syn_engine_allocate(rows, sizeof(int32_t), &model->tokens));
    return syn_engine_allocate(rows, sizeof(int32_t), &model->labels);
}

static enum syn_status set_up(struct syn_model *model, const struct syn_graph *graph)
{
    SYN_TRY(check_options(&model->options));
    SYN_TRY(graph_check(graph));
    SYN_TRY(graph_copy(graph, &model->graph));
    model->input = describe_input(graph);
    if (model->input.kind == SYN_INPUT_IMAGES)
        model->options.time = 1;
    SYN_TRY(lay_out(model));
    SYN_TRY(allocate(model));
    SYN_TRY(onednn_open(&model->onednn));
    struct plan *plan;
    return model_plan(model, model->options.batch, model->options.training, &plan);
}

enum syn_status syn_model_build(const struct syn_graph *graph,
                                const struct syn_model_options *options, struct syn_model **model)
{
    struct syn_model *made;
    SYN_TRY(syn_engine_allocate(1, sizeof *made, &made));
    made->options = *options;
    enum syn_status status = set_up(made, graph);
    if (status != SYN_OK) {
        syn_model_free(made);
        return status;
    }
    *model = made;
    return SYN_OK;
}

void syn_model_free(struct syn_model *model)
{
    if (!model)
        return;
    for (size_t i = 0; i < MOST_PLANS; i++)
        plan_free(model->plans[i]);
    onednn_close(model->onednn);
    free(model->arena);
    free(model->labels);
    free(model->tokens);
    free(model->carry[1]);
    free(model->carry[0]);
    free(model->statistics);
    free(model->offsets);
    for (size_t i = 0; i < SPACE_COUNT; i++) {
        free(model->shapes[i]);
        syn_layout_free(model->layouts[i]);
    }
    syn_graph_free(model->graph);
    free(model);
}

/* Move plan number i to the second place; the first stays. */
static struct plan *use_plan(struct syn_model *model, size_t i)
{
    struct plan *plan = model->plans[i];
    for (; i > 1; i--)
        model->plans[i] = model->plans[i - 1];
    if (i == 1)
        model->plans[1] = plan;
    return plan;
}

static enum syn_status find_or_make(struct syn_model *model, size_t count, bool training,
                                    struct plan **plan)
{
    size_t i = 0;
    for (; i < MOST_PLANS && model->plans[i]; i++) {
        const struct plan_settings *s = &model->plans[i]->settings;
        if (s->count == count && s->training == training) {
            *plan = use_plan(model, i);
            return SYN_OK;
        }
    }
    struct plan_settings settings = {
        .count = count,
        .time = model->options.time,
        .threads = model->options.threads,
        .training = training,
    };
    struct plan *made;
    SYN_TRY(plan_make(model->graph, model->onednn, (const size_t(*)[MOST_TENSORS])model->offsets,
                      model->layouts[SPACE_WEIGHTS], settings, &made));
    if (i == MOST_PLANS)
        plan_free(model->plans[--i]);
    model->plans[i] = made;
    *plan = use_plan(model, i);
    return SYN_OK;
}

enum syn_status model_plan(struct syn_model *model, size_t count, bool training, struct plan **plan)
{
    parallel_limit(model->options.threads);
    struct plan *found;
    SYN_TRY(find_or_make(model, count, training, &found));
    if (found->arena_bytes > model->arena_bytes || !model->arena) {
        free(model->arena);
        model->arena = NULL;
        model->arena_bytes = 0;
        SYN_TRY(syn_engine_allocate(found->arena_bytes, 1, &model->arena));
        model->arena_bytes = found->arena_bytes;
    }
    *plan = found;
    return SYN_OK;
}

const struct syn_layout *syn_model_layout(const struct syn_model *model)
{
    return model->layouts[SPACE_WEIGHTS];
}

size_t syn_shape_count(const struct syn_shape *shape)
{
    size_t count = 1;
    for (size_t d = 0; d < shape->dimensions; d++)
        count *= shape->size[d];
    return count;
}

struct syn_shape syn_model_shape(const struct syn_model *model, size_t tensor)
{
    return model->shapes[SPACE_WEIGHTS][tensor];
}

struct syn_shape syn_model_statistics_shape(const struct syn_model *model, size_t tensor)
{
    return model->shapes[SPACE_STATISTICS][tensor];
}

struct syn_input syn_model_input(const struct syn_model *model)
{
    return model->input;
}

const struct syn_layout *syn_model_statistics_layout(const struct syn_model *model)
{
    return model->layouts[SPACE_STATISTICS];
}

float *syn_model_statistics(struct syn_model *model)
{
    return model->statistics;
}

const struct syn_layout *syn_model_carry_layout(const struct syn_model *model)
{
    return model->layouts[SPACE_CARRY];
}

float *syn_model_carry(struct syn_model *model, enum syn_carry which)
{
    return model->carry[which];
}

void syn_model_restart(struct syn_model *model, enum syn_carry which)
{
    memset(model->carry[which], 0,
           syn_layout_size(model->layouts[SPACE_CARRY]) * sizeof *model->carry[which]);
}

static void fill(const struct tensor *tensor, struct syn_random *random, float *values)
{
    size_t count = syn_shape_count(&tensor->shape);
    for (size_t i = 0; i < count; i++)
        switch (tensor->start) {
        case START_ZERO:
            values[i] = 0;
            break;
        case START_ONE:
            values[i] = 1;
            break;
        case START_UNIFORM:
            values[i] = (float)((2 * (double)syn_random_unit(random) - 1) * tensor->bound);
            break;
        case START_NORMAL:
            values[i] = (float)(tensor->bound * (double)syn_random_normal(random));
            break;
        }
}

/* Weights of convolutions and inner products, which are uniform in +-1/sqrt(inputs) by default, and
 * their biases. */
static void change_to_he(struct tensor *tensor)
{
    if (tensor->start != START_UNIFORM)
        return;
    if (strcmp(tensor->suffix, "weight") == 0) {
        tensor->start = START_NORMAL;
        tensor->bound *= sqrt(2); /* the deviation */
    } else if (strcmp(tensor->suffix, "bias") == 0) {
        tensor->start = START_ZERO;
    }
}

static const char *const initialisations[] = {"pytorch", "he"};

const char *syn_initialisation_name(size_t i)
{
    return i < sizeof initialisations / sizeof initialisations[0] ? initialisations[i] : NULL;
}

void syn_model_initialise(struct syn_model *model, uint64_t seed, float *weights)
{
    syn_model_initialise_as(model, SYN_INITIALISE_PYTORCH, seed, weights);
}

void syn_model_initialise_as(struct syn_model *model, enum syn_initialisation way, uint64_t seed,
                             float *weights)
{
    uint64_t stream = 0;
    for (size_t i = 0; i < model->graph->count; i++) {
        struct tensor tensors[MOST_TENSORS];
        size_t count = list_tensors(model, i, tensors);
        for (size_t k = 0; k < count; k++) {
            struct syn_random random;
            syn_random_start(&random, seed, stream++);
            if (way == SYN_INITIALISE_HE)
                change_to_he(&tensors[k]);
            if (tensors[k].space == SPACE_WEIGHTS)
                fill(&tensors[k], &random, weights + model->offsets[i][k]);
            else if (tensors[k].space == SPACE_STATISTICS)
                fill(&tensors[k], &random, model->statistics + model->offsets[i][k]);
        }
    }
    syn_model_restart(model, SYN_CARRY_TRAINING);
    syn_model_restart(model, SYN_CARRY_EVALUATION);
}
