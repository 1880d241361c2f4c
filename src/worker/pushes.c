/* A ring of pushes over the reducer's tickets. */
#include "worker/pushes.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "worker/clip.h"

enum syn_status syn_pushes_open(struct syn_pushes *pushes, const struct syn_store_setup *setup,
                                const struct syn_exchange_type *exchange, void *state)
{
    struct syn_reducer_options options = setup->options->reducer;
    pushes->size = syn_layout_size(setup->layout);
    pushes->window = (size_t)setup->options->window;
    pushes->sends_updates = setup->options->send_updates;
    options.depth = setup->options->window;
    SYN_TRY(syn_reducer_open_over(setup->group, setup->layout, &options, exchange, state,
                                  &pushes->reducer));
    pushes->longest = syn_clip_own(setup->options, syn_group_size(setup->group));
    /* A reducer with a residual has read the gradient when begin returns, and scaled it. */
    bool needs_copy = setup->is_delayed || pushes->longest > 0;
    bool reads_late = needs_copy && !syn_reducer_residual(pushes->reducer);
    for (size_t i = 0; i < pushes->window && reads_late; i++)
        SYN_TRY(syn_allocate(pushes->size, sizeof(float), &pushes->slots[i].copy));
    return SYN_OK;
}

void syn_pushes_close(struct syn_pushes *pushes)
{
    syn_reducer_close(pushes->reducer);
    for (size_t i = 0; i < SYN_MOST_WINDOW; i++)
        free(pushes->slots[i].copy);
}

static struct syn_step step_of(const struct syn_pushes *pushes, const struct syn_rates *rates)
{
    struct syn_step step = syn_reducer_step(pushes->reducer);
    if (rates->density > 0)
        step.density = rates->density;
    if (pushes->sends_updates)
        step.scale = (float)rates->lr;
    return step;
}

enum syn_status syn_pushes_start(struct syn_pushes *pushes, const float *gradient,
                                 const struct syn_rates *rates)
{
    size_t place = syn_pushes_place(pushes);
    struct syn_step step = step_of(pushes, rates);
    SYN_TRY(syn_reducer_start(pushes->reducer, gradient, &step, &pushes->slots[place].ticket));
    pushes->slots[place].lr = rates->lr;
    pushes->is_started = true;
    return SYN_OK;
}

/* What to multiply the own gradient by. */
static float clip(const struct syn_pushes *pushes, const float *gradient)
{
    if (pushes->longest == 0)
        return 1;
    double norm = sqrt(syn_clip_square(gradient, pushes->size));
    return (float)syn_clip_scale(norm, pushes->longest);
}

enum syn_status syn_pushes_begin(struct syn_pushes *pushes, const float *gradient,
                                 const struct syn_rates *rates)
{
    size_t place = syn_pushes_place(pushes);
    if (!pushes->is_started) {
        float *copy = pushes->slots[place].copy;
        struct syn_step step = step_of(pushes, rates);
        float scale = clip(pushes, gradient);
        for (size_t i = 0; i < pushes->size && copy; i++)
            copy[i] = scale * gradient[i];
        if (!copy)
            step.scale *= scale;
        SYN_TRY(syn_reducer_begin(pushes->reducer, copy ? copy : gradient, &step,
                                  &pushes->slots[place].ticket));
        pushes->slots[place].lr = rates->lr;
    }
    pushes->is_started = false;
    pushes->open++;
    return SYN_OK;
}

enum syn_status syn_pushes_finish(struct syn_pushes *pushes, struct syn_merged *merged, double *lr)
{
    struct syn_ticket ticket = pushes->slots[pushes->oldest].ticket;
    *lr = pushes->slots[pushes->oldest].lr;
    enum syn_status status = syn_reducer_wait(pushes->reducer, ticket, merged);
    if (status != SYN_OK && status != SYN_NONFINITE)
        return status;
    /* When something is not finite the reducer drops all that is under way. */
    size_t ended = status == SYN_OK ? 1 : pushes->open;
    pushes->oldest = (pushes->oldest + ended) % pushes->window;
    pushes->open -= ended;
    return status;
}

enum syn_status syn_pushes_ready(void *state, size_t tensor)
{
    const struct syn_pushes *pushes = state;
    return syn_reducer_ready(pushes->reducer, tensor);
}

struct syn_comm *syn_pushes_comm(void *state)
{
    const struct syn_pushes *pushes = state;
    return pushes->reducer->comm;
}

struct syn_cost syn_pushes_cost(void *state)
{
    struct syn_pushes *pushes = state;
    struct syn_cost spent = pushes->cost;
    pushes->cost = (struct syn_cost){0};
    return spent;
}

const float *syn_pushes_residual(void *state)
{
    const struct syn_pushes *pushes = state;
    return syn_reducer_residual(pushes->reducer);
}

enum syn_status syn_pushes_save(const struct syn_pushes *pushes, struct syn_archive *archive)
{
    size_t count = syn_reducer_state_bytes(pushes->reducer);
    void *bytes = malloc(count);
    if (!bytes)
        return syn_fail(SYN_MEMORY, "cannot allocate %zu bytes of reducer state", count);
    enum syn_status status = syn_reducer_save(pushes->reducer, bytes);
    if (status == SYN_OK)
        status = syn_archive_add(archive, "store/reducer", bytes, count);
    free(bytes);
    return status;
}

enum syn_status syn_pushes_load(struct syn_pushes *pushes, const struct syn_archive *archive)
{
    struct syn_section section = {0};
    SYN_TRY(syn_archive_find(archive, "store/reducer", &section));
    return syn_reducer_load(pushes->reducer, section.bytes, section.count);
}

enum syn_status syn_pushes_load_regrouped(struct syn_pushes *pushes,
                                          const struct syn_archive *const *archives, size_t count)
{
    const void **states = calloc(count, sizeof *states);
    size_t *counts = calloc(count, sizeof *counts);
    enum syn_status status = states && counts ? SYN_OK : syn_fail(SYN_MEMORY, "no memory");
    for (size_t i = 0; i < count && status == SYN_OK; i++) {
        struct syn_section section = {0};
        status = syn_archive_find(archives[i], "store/reducer", &section);
        states[i] = section.bytes;
        counts[i] = section.count;
    }
    if (status == SYN_OK)
        status = syn_reducer_load_regrouped(pushes->reducer, states, counts, count);
    free(states);
    free(counts);
    return status;
}
