/* Running a model: examples are checked and arranged in the order of the plan's rows, then the
 * plan's kernels run. */
#include <string.h>

#include "engine/base/fail.h"
#include "engine/nn/model.h"
#include "engine/nn/parallel.h"

static bool reads_tokens(const struct syn_model *model)
{
    return model->input.kind == SYN_INPUT_TOKENS;
}

static size_t labels_each(const struct syn_model *model)
{
    return reads_tokens(model) ? model->options.time : 1;
}

static enum syn_status check_numbers(const int32_t *numbers, size_t count, size_t limit,
                                     bool may_be_negative, const char *what)
{
    for (size_t i = 0; i < count; i++)
        if ((numbers[i] < 0 && !may_be_negative) ||
            (numbers[i] >= 0 && (size_t)numbers[i] >= limit))
            return syn_report(SYN_INVALID, "%s %d of example %zu; expected 0 to %zu", what,
                              (int)numbers[i], i, limit - 1);
    return SYN_OK;
}

static enum syn_status check_examples(const struct syn_model *model,
                                      const struct syn_examples *examples, bool labelled)
{
    if (examples->count > model->options.batch)
        return syn_report(SYN_INVALID, "%zu examples for a model built for %zu", examples->count,
                          model->options.batch);
    const void *input =
        reads_tokens(model) ? (const void *)examples->tokens : (const void *)examples->images;
    if (examples->count > 0 && (!input || (labelled && !examples->labels)))
        return syn_report(SYN_INVALID, "examples without %s",
                          input ? "labels" : (reads_tokens(model) ? "tokens" : "images"));
    size_t numbers = examples->count * labels_each(model);
    if (reads_tokens(model))
        SYN_TRY(check_numbers(examples->tokens, numbers, model->input.classes, false, "token"));
    size_t classes = model->graph->nodes[model->graph->count - 1].shape.channels;
    if (labelled)
        SYN_TRY(check_numbers(examples->labels, numbers, classes, true, "label"));
    return SYN_OK;
}

/* Transpose [count][time] to [time][count]: time steps in order, each with all examples. */
static void put_in_order(const int32_t *from, size_t count, size_t time, int32_t *to)
{
    for (size_t i = 0; i < count; i++)
        for (size_t t = 0; t < time; t++)
            to[t * count + i] = from[i * time + t];
}

static struct call prepare(struct syn_model *model, const float *weights,
                           const struct syn_examples *examples, bool labelled, size_t *counted)
{
    size_t numbers = examples->count * labels_each(model);
    if (reads_tokens(model))
        put_in_order(examples->tokens, examples->count, labels_each(model), model->tokens);
    *counted = 0;
    if (labelled)
        put_in_order(examples->labels, examples->count, labels_each(model), model->labels);
    for (size_t i = 0; labelled && i < numbers; i++)
        *counted += model->labels[i] >= 0;
    struct call call = {.own = syn_nn_kernels(),
                        .threads = model->options.threads,
                        .seed = model->options.seed,
                        .step = examples->step,
                        .stop = examples->stop,
                        .scale = *counted ? 1.0f / (float)*counted : 0.0f};
    call.base[REGION_ARENA] = model->arena;
    call.base[REGION_WEIGHTS] = (void *)weights;
    call.base[REGION_STATISTICS] = model->statistics;
    call.base[REGION_IMAGES] = (void *)examples->images;
    call.base[REGION_TOKENS] = model->tokens;
    call.base[REGION_LABELS] = model->labels;
    return call;
}

static void sum_up(const struct call *call, size_t counted, struct syn_step_result *result)
{
    *result = (struct syn_step_result){.loss = counted ? call->sums.loss / (double)counted : 0,
                                       .correct = call->sums.correct,
                                       .counted = counted};
}

/* A step without examples: the gradient is zero. */
static enum syn_status step_of_nothing(const struct syn_model *model,
                                       const struct syn_ready_hook *hook, float *gradient)
{
    const struct syn_layout *layout = model->layouts[SPACE_WEIGHTS];
    memset(gradient, 0, syn_layout_size(layout) * sizeof *gradient);
    for (size_t i = syn_layout_count(layout); hook && i-- > 0;)
        SYN_TRY(hook->ready(hook->context, i));
    return SYN_OK;
}

enum syn_status syn_model_step(struct syn_model *model, const float *weights,
                               const struct syn_examples *examples,
                               const struct syn_ready_hook *hook, float *gradient,
                               struct syn_step_result *result)
{
    if (!model->options.training)
        return syn_report(SYN_INVALID,
                          "a training step of a model that was not built for training");
    SYN_TRY(check_examples(model, examples, true));
    if (examples->count == 0) {
        SYN_TRY(step_of_nothing(model, hook, gradient));
        *result = (struct syn_step_result){0};
        return SYN_OK;
    }
    struct plan *plan;
    size_t counted;
    SYN_TRY(model_plan(model, examples->count, true, &plan));
    struct call call = prepare(model, weights, examples, true, &counted);
    call.base[REGION_GRADIENT] = gradient;
    call.base[REGION_CARRY] = model->carry[SYN_CARRY_TRAINING];
    SYN_TRY(plan_run(plan, &call, 0, plan->kernel_count, hook, model->layouts[SPACE_WEIGHTS],
                     model->timed));
    sum_up(&call, counted, result);
    return SYN_OK;
}

enum syn_status syn_model_evaluate(struct syn_model *model, const float *weights,
                                   const struct syn_examples *examples,
                                   struct syn_step_result *result)
{
    SYN_TRY(check_examples(model, examples, true));
    if (examples->count == 0) {
        *result = (struct syn_step_result){0};
        return SYN_OK;
    }
    struct plan *plan;
    size_t counted;
    SYN_TRY(model_plan(model, examples->count, false, &plan));
    struct call call = prepare(model, weights, examples, true, &counted);
    call.base[REGION_CARRY] = model->carry[SYN_CARRY_EVALUATION];
    SYN_TRY(plan_run(plan, &call, 0, plan->kernel_count, NULL, NULL, false));
    sum_up(&call, counted, result);
    return SYN_OK;
}

/* Copy scores from the plan's padded rows to the caller's order. */
static void copy_scores(const struct syn_model *model, const struct plan *plan, float *scores)
{
    const struct node *loss = &model->graph->nodes[model->graph->count - 1];
    struct place place = plan->values[loss->number].output;
    const float *from =
        (const float *)((const char *)model->arena + plan->buffers[place.at].offset);
    size_t classes = loss->shape.channels;
    size_t padded = padded_channels(classes);
    size_t time = labels_each(model);
    size_t count = plan->settings.count;
    for (size_t i = 0; i < count; i++)
        for (size_t t = 0; t < time; t++)
            memcpy(scores + (i * time + t) * classes, from + (t * count + i) * padded,
                   classes * sizeof *scores);
}

enum syn_status syn_model_forward(struct syn_model *model, const float *weights,
                                  const struct syn_examples *examples, float *scores)
{
    SYN_TRY(check_examples(model, examples, false));
    if (examples->count == 0)
        return SYN_OK;
    struct plan *plan;
    size_t counted;
    SYN_TRY(model_plan(model, examples->count, false, &plan));
    struct call call = prepare(model, weights, examples, false, &counted);
    call.base[REGION_CARRY] = model->carry[SYN_CARRY_EVALUATION];
    /* All but the last kernel, which is the loss. */
    SYN_TRY(plan_run(plan, &call, 0, plan->kernel_count - 1, NULL, NULL, false));
    copy_scores(model, plan, scores);
    return SYN_OK;
}

enum syn_status syn_model_score(struct syn_model *model, const float *weights,
                                const struct syn_examples *examples, struct syn_step_result *result,
                                float *scores)
{
    struct plan *plan;
    size_t counted;
    SYN_TRY(check_examples(model, examples, true));
    *result = (struct syn_step_result){0};
    if (examples->count == 0)
        return SYN_OK;
    SYN_TRY(model_plan(model, examples->count, false, &plan));
    struct call call = prepare(model, weights, examples, true, &counted);
    call.base[REGION_CARRY] = model->carry[SYN_CARRY_EVALUATION];
    size_t loss = plan->kernel_count - 1; /* which may overwrite the scores */
    SYN_TRY(plan_run(plan, &call, 0, loss, NULL, NULL, false));
    copy_scores(model, plan, scores);
    SYN_TRY(plan_run(plan, &call, loss, plan->kernel_count, NULL, NULL, false));
    sum_up(&call, counted, result);
    return SYN_OK;
}

void syn_model_profile(struct syn_model *model, bool on)
{
    model->timed = on;
    for (size_t i = 0; i < MOST_PLANS && model->plans[i] && on; i++)
        for (size_t k = 0; k < model->plans[i]->kernel_count; k++) {
            model->plans[i]->kernels[k].spent_ns = 0;
            model->plans[i]->kernels[k].runs = 0;
        }
}

bool syn_model_kernel(const struct syn_model *model, size_t i, struct syn_kernel *kernel)
{
    const struct plan *plan = model->plans[0];
    if (i >= plan->kernel_count)
        return false;
    const struct kernel *k = &plan->kernels[i];
    *kernel = (struct syn_kernel){.layer = k->node->name,
                                  .work = k->work,
                                  .implementation = k->implementation,
                                  .ms = k->runs ? (double)k->spent_ns * 1e-6 / (double)k->runs : 0,
                                  .gflop = k->gflop};
    return true;
}

size_t syn_model_reference_kernels(const struct syn_model *model)
{
    size_t count = 0;
    for (size_t i = 0; i < model->plans[0]->kernel_count; i++)
        count += strncmp(model->plans[0]->kernels[i].implementation, "ref", 3) == 0;
    return count;
}

size_t syn_model_bytes(const struct syn_model *model)
{
    size_t floats = syn_layout_size(model->layouts[SPACE_STATISTICS]) +
                    2 * syn_layout_size(model->layouts[SPACE_CARRY]);
    size_t numbers = 2 * model->options.batch * model->options.time;
    return model->arena_bytes + floats * sizeof(float) + numbers * sizeof(int32_t);
}
