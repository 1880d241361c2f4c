/* Building a plan and running it. Kernels are added in execution order; a buffer lives from the
 * first kernel that names it to the last, and a weight's gradient is final after the last kernel
 * that names it, so lifetimes and readiness need not be recorded separately. */
#include "engine/nn/plan.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/clock.h"
#include "engine/base/fail.h"
#include "engine/base/memory.h"
#include "engine/nn/arena.h"
#include "engine/nn/emit.h"
#include "engine/nn/onednn.h"

void plan_fail(struct plan *plan, enum syn_status status)
{
    if (plan->status == SYN_OK)
        plan->status = status;
}

/* Make room for one more item in a growing array; NULL if memory has run out. */
static void *grow(void *items, size_t count, size_t *capacity, size_t size)
{
    if (count < *capacity)
        return items;
    size_t larger = *capacity ? 2 * *capacity : 64;
    void *grown = realloc(items, larger * size);
    if (grown)
        *capacity = larger;
    return grown;
}

size_t plan_rows(const struct plan *plan, const struct node *node)
{
    return plan->settings.count * (node->shape.sequence ? plan->settings.time : 1);
}

size_t plan_size(const struct plan *plan, const struct node *node)
{
    return plan_rows(plan, node) * padded_channels(node->shape.channels) * node->shape.height *
           node->shape.width;
}

struct place plan_buffer(struct plan *plan, size_t floats)
{
    struct place nowhere = {REGION_ARENA, 0};
    if (plan->status != SYN_OK)
        return nowhere;
    struct buffer *grown =
        grow(plan->buffers, plan->buffer_count, &plan->buffer_capacity, sizeof *grown);
    if (!grown) {
        plan_fail(plan, syn_report(SYN_MEMORY, "cannot allocate the plan of a model"));
        return nowhere;
    }
    plan->buffers = grown;
    grown[plan->buffer_count] = (struct buffer){.bytes = floats * sizeof(float), .first = SIZE_MAX};
    return (struct place){REGION_ARENA, plan->buffer_count++};
}

struct place plan_tensor(const struct plan *plan, const struct node *node, size_t i)
{
    static const enum region regions[SPACE_COUNT] = {
        [SPACE_WEIGHTS] = REGION_WEIGHTS,
        [SPACE_STATISTICS] = REGION_STATISTICS,
        [SPACE_CARRY] = REGION_CARRY,
    };
    struct tensor tensors[MOST_TENSORS];
    size_t count = node->kind->tensors(plan->graph, node, tensors);
    assert(i < count);
    (void)count;
    return (struct place){regions[tensors[i].space], plan->offsets[node->number][i]};
}

struct place plan_tensor_gradient(const struct plan *plan, const struct node *node, size_t i)
{
    struct place place = plan_tensor(plan, node, i);
    assert(place.region == REGION_WEIGHTS);
    place.region = REGION_GRADIENT;
    return place;
}

static void mark_used(struct plan *plan, const struct kernel *kernel, size_t number)
{
    for (size_t i = 0; i < kernel->place_count; i++) {
        if (kernel->places[i].region != REGION_ARENA)
            continue;
        struct buffer *buffer = &plan->buffers[kernel->places[i].at];
        if (buffer->first == SIZE_MAX)
            buffer->first = number;
        buffer->last = number;
    }
}

void plan_add(struct plan *plan, const struct kernel *kernel, const void *state, size_t bytes)
{
    void *copy = NULL;
    struct kernel *grown = NULL;
    if (plan->status == SYN_OK) {
        copy = bytes ? malloc(bytes) : NULL;
        grown = grow(plan->kernels, plan->kernel_count, &plan->kernel_capacity, sizeof *grown);
        if (grown)
            plan->kernels = grown;
        if (!grown || (bytes && !copy))
            plan_fail(plan, syn_report(SYN_MEMORY, "cannot allocate the plan of a model"));
    }
    if (plan->status != SYN_OK) {
        if (kernel->release)
            kernel->release(state);
        free(copy);
        return;
    }
    if (bytes)
        memcpy(copy, state, bytes);
    grown[plan->kernel_count] = *kernel;
    grown[plan->kernel_count].state = copy;
    mark_used(plan, kernel, plan->kernel_count);
    plan->kernel_count++;
}

struct place plan_input(struct plan *plan, const struct node *node, size_t k)
{
    const struct node *from = &plan->graph->nodes[node->inputs[k]];
    struct value *value = &plan->values[from->number];
    if (value->output.region != REGION_IMAGES)
        return value->output;
    if (!value->has_blocked) {
        value->blocked = plan_buffer(plan, plan_size(plan, from));
        onednn_add_reorder(plan, from, "reorder", from, ONEDNN_PLAIN, value->output,
                           value->blocked);
        value->has_blocked = true;
    }
    return value->blocked;
}

static bool same_place(struct place a, struct place b)
{
    return a.region == b.region && a.at == b.at;
}

/* Several nodes may have their output in one place (an in-place ReLU, dropout in evaluation): none
 * of them may have another user or need its own output. */
bool plan_may_overwrite(const struct plan *plan, const struct node *node, size_t k)
{
    struct place place = plan->values[node->inputs[k]].output;
    if (place.region != REGION_ARENA)
        return false;
    for (size_t i = 0; i < node->number; i++) {
        const struct value *value = &plan->values[i];
        if (!value->has_output || !same_place(value->output, place))
            continue;
        bool is_needed = plan->settings.training && plan->graph->nodes[i].kind->needs_output;
        if (value->users > 1 || is_needed)
            return false;
    }
    return true;
}

void plan_set_output(struct plan *plan, const struct node *node, struct place place)
{
    plan->values[node->number].output = place;
    plan->values[node->number].has_output = true;
}

struct place plan_new_output(struct plan *plan, const struct node *node)
{
    struct place place = plan_buffer(plan, plan_size(plan, node));
    plan_set_output(plan, node, place);
    return place;
}

struct place plan_output(const struct plan *plan, const struct node *node)
{
    return plan->values[node->number].output;
}

bool plan_take_relu(struct plan *plan, const struct node *node)
{
    struct value *value = &plan->values[node->number];
    if (value->users != 1)
        return false;
    for (size_t i = node->number + 1; i < plan->graph->count; i++) {
        const struct node *user = &plan->graph->nodes[i];
        for (size_t k = 0; k < user->input_count; k++)
            if (user->inputs[k] == node->number)
                value->is_rectified = user->kind == &layer_relu;
    }
    return value->is_rectified;
}

static void count_users(struct plan *plan)
{
    for (size_t i = 0; i < plan->graph->count; i++) {
        const struct node *node = &plan->graph->nodes[i];
        struct tensor tensors[MOST_TENSORS];
        size_t count = node->kind->tensors ? node->kind->tensors(plan->graph, node, tensors) : 0;
        for (size_t k = 0; k < count; k++)
            if (tensors[k].space == SPACE_WEIGHTS)
                plan->values[i].wants_gradient = true;
        for (size_t k = 0; k < node->input_count; k++) {
            struct value *from = &plan->values[node->inputs[k]];
            from->users++;
            if (from->wants_gradient)
                plan->values[i].wants_gradient = true;
        }
    }
}

static void add_kernels(struct plan *plan)
{
    for (size_t i = 0; i < plan->graph->count; i++)
        if (plan->graph->nodes[i].kind->forward)
            plan->graph->nodes[i].kind->forward(plan, &plan->graph->nodes[i]);
    if (!plan->settings.training)
        return;
    for (size_t i = plan->graph->count; i-- > 0;) {
        const struct node *node = &plan->graph->nodes[i];
        if (!node->kind->backward || !plan->values[i].wants_gradient)
            continue;
        node->kind->backward(plan, node);
        if (plan->values[i].has_gradient)
            plan->gradients[plan->values[i].gradient].holders--;
    }
}

/* For each tensor, the last kernel that names it. Kernels name the place where a tensor's gradient
 * begins. */
static void find_final_kernels(struct plan *plan, const struct syn_layout *weights)
{
    for (size_t t = 0; t < syn_layout_count(weights); t++) {
        struct syn_tensor tensor = syn_layout_tensor(weights, t);
        for (size_t i = 0; i < plan->kernel_count; i++)
            for (size_t k = 0; k < plan->kernels[i].place_count; k++) {
                struct place place = plan->kernels[i].places[k];
                if (place.region == REGION_GRADIENT && place.at == tensor.offset)
                    plan->final_kernel[t] = i;
            }
    }
}

static enum syn_status allocate(const struct syn_graph *graph, const struct syn_layout *weights,
                                struct plan *plan)
{
    SYN_TRY(syn_engine_allocate(graph->count, sizeof *plan->values, &plan->values));
    SYN_TRY(syn_engine_allocate(graph->count, sizeof *plan->gradients, &plan->gradients));
    return syn_engine_allocate(syn_layout_count(weights), sizeof *plan->final_kernel,
                               &plan->final_kernel);
}

enum syn_status plan_make(const struct syn_graph *graph, struct onednn *onednn,
                          const size_t (*offsets)[MOST_TENSORS], const struct syn_layout *weights,
                          struct plan_settings settings, struct plan **result)
{
    struct plan *plan;
    SYN_TRY(syn_engine_allocate(1, sizeof *plan, &plan));
    plan->graph = graph;
    plan->own = syn_nn_kernels();
    plan->onednn = onednn;
    plan->offsets = offsets;
    plan->settings = settings;
    plan_fail(plan, allocate(graph, weights, plan));
    if (plan->status == SYN_OK) {
        count_users(plan);
        add_kernels(plan);
    }
    if (plan->status == SYN_OK) {
        find_final_kernels(plan, weights);
        plan_fail(plan, arena_lay_out(plan->buffers, plan->buffer_count, &plan->arena_bytes));
    }
    if (plan->status != SYN_OK) {
        enum syn_status status = plan->status;
        plan_free(plan);
        return status;
    }
    *result = plan;
    return SYN_OK;
}

void plan_free(struct plan *plan)
{
    if (!plan)
        return;
    for (size_t i = 0; i < plan->kernel_count; i++) {
        if (plan->kernels[i].release)
            plan->kernels[i].release(plan->kernels[i].state);
        free((void *)plan->kernels[i].state);
    }
    free(plan->kernels);
    free(plan->buffers);
    free(plan->final_kernel);
    free(plan->gradients);
    free(plan->values);
    free(plan);
}

static void *address(const struct plan *plan, const struct call *call, struct place place)
{
    char *base = call->base[place.region];
    size_t offset =
        place.region == REGION_ARENA ? plan->buffers[place.at].offset : place.at * sizeof(float);
    return base ? base + offset : NULL;
}

static enum syn_status tell_final(const struct plan *plan, size_t kernel,
                                  const struct syn_ready_hook *hook,
                                  const struct syn_layout *layout)
{
    for (size_t i = syn_layout_count(layout); i-- > 0;)
        if (plan->final_kernel[i] == kernel)
            SYN_TRY(hook->ready(hook->context, i));
    return SYN_OK;
}

enum syn_status plan_run(struct plan *plan, struct call *call, size_t begin, size_t end,
                         const struct syn_ready_hook *hook, const struct syn_layout *layout,
                         bool timed)
{
    for (size_t i = begin; i < end; i++) {
        struct kernel *kernel = &plan->kernels[i];
        void *at[MOST_PLACES];
        bool is_gradient = false;
        if (call->stop && call->stop->stops(call->stop->context))
            return SYN_STOPPED;
        for (size_t k = 0; k < kernel->place_count; k++) {
            at[k] = address(plan, call, kernel->places[k]);
            is_gradient |= kernel->places[k].region == REGION_GRADIENT;
        }
        int64_t before = timed ? syn_engine_clock_ns() : 0;
        SYN_TRY(kernel->run(kernel, at, call));
        if (timed) {
            kernel->spent_ns += syn_engine_clock_ns() - before;
            kernel->runs++;
        }
        if (hook && is_gradient)
            SYN_TRY(tell_final(plan, i, hook, layout));
    }
    return SYN_OK;
}
