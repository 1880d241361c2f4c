/* Where gradients w.r.t. outputs are kept while a plan is built. A node that several others read
 * gets several contributions, which are added up; both inputs of a sum have the same gradient,
 * which they share until one has to write to it. */
#include <string.h>

#include "engine/nn/emit.h"

static struct held_gradient *held(const struct plan *plan, size_t node)
{
    return &plan->gradients[plan->values[node].gradient];
}

struct place plan_gradient(const struct plan *plan, const struct node *node)
{
    return held(plan, node->number)->place;
}

bool plan_owns_gradient(const struct plan *plan, const struct node *node)
{
    return held(plan, node->number)->holders == 1;
}

static void hold_new(struct plan *plan, size_t node, struct place place)
{
    /* At most one exists per node at a time, and released slots are reused. */
    size_t slot = 0;
    while (plan->gradients[slot].holders > 0)
        slot++;
    plan->gradients[slot] = (struct held_gradient){place, 1};
    plan->values[node].gradient = slot;
    plan->values[node].has_gradient = true;
}

void plan_move_gradient(struct plan *plan, const struct node *node, struct place place)
{
    held(plan, node->number)->holders--;
    hold_new(plan, node->number, place);
}

void plan_start_gradient(struct plan *plan, const struct node *node, size_t k, struct place place)
{
    hold_new(plan, node->inputs[k], place);
}

bool plan_wants_gradient(const struct plan *plan, const struct node *node, size_t k)
{
    return plan->values[node->inputs[k]].wants_gradient;
}

static enum syn_status run_copy(const struct kernel *kernel, void *const at[], struct call *call)
{
    (void)call;
    const size_t *floats = kernel->state;
    memcpy(at[1], at[0], *floats * sizeof(float));
    return SYN_OK;
}

static enum syn_status run_add(const struct kernel *kernel, void *const at[], struct call *call)
{
    const size_t *floats = kernel->state;
    call->own->elementwise->add(at[0], at[1], at[1], *floats, false);
    return SYN_OK;
}

static void add_moving_kernel(struct plan *plan, const struct node *node, const char *work,
                              kernel_run *run, struct place from, struct place to)
{
    size_t floats = plan_size(plan, node);
    struct kernel kernel = {.node = node,
                            .work = work,
                            .implementation = plan->own->name,
                            .run = run,
                            .places = {from, to},
                            .place_count = 2};
    plan_add(plan, &kernel, &floats, sizeof floats);
}

/* The gradient of a node as a place that may be written to. */
static struct place writable(struct plan *plan, size_t number)
{
    const struct node *node = &plan->graph->nodes[number];
    struct held_gradient *shared = held(plan, number);
    if (shared->holders > 1) {
        struct place copy = plan_buffer(plan, plan_size(plan, node));
        add_moving_kernel(plan, node, "gradient copy", run_copy, shared->place, copy);
        plan_move_gradient(plan, node, copy);
    }
    return held(plan, number)->place;
}

struct delivery plan_deliver_begin(struct plan *plan, const struct node *node, size_t k, int flags)
{
    size_t from = node->inputs[k];
    struct value *value = &plan->values[from];
    struct delivery delivery = {.from = from};
    if (!value->has_gradient) {
        if ((flags & DELIVER_IN_PLACE) && plan_owns_gradient(plan, node)) {
            value->gradient = plan->values[node->number].gradient;
            value->has_gradient = true;
            held(plan, from)->holders++;
        } else {
            hold_new(plan, from, plan_buffer(plan, plan_size(plan, &plan->graph->nodes[from])));
        }
        delivery.to = held(plan, from)->place;
    } else if (flags & DELIVER_ACCUMULATES) {
        delivery.to = writable(plan, from);
        delivery.accumulate = true;
    } else {
        delivery.to = plan_buffer(plan, plan_size(plan, &plan->graph->nodes[from]));
        delivery.add_later = true;
    }
    return delivery;
}

void plan_deliver_end(struct plan *plan, const struct node *node, const struct delivery *delivery)
{
    if (delivery->add_later)
        add_moving_kernel(plan, &plan->graph->nodes[delivery->from], "gradient sum", run_add,
                          delivery->to, writable(plan, delivery->from));
    (void)node;
}

void plan_pass_gradient(struct plan *plan, const struct node *node, size_t k)
{
    struct value *value = &plan->values[node->inputs[k]];
    if (!value->has_gradient) {
        value->gradient = plan->values[node->number].gradient;
        value->has_gradient = true;
        held(plan, node->number)->holders++;
        return;
    }
    struct place to = writable(plan, node->inputs[k]);
    add_moving_kernel(plan, node, "gradient sum", run_add, plan_gradient(plan, node), to);
}
