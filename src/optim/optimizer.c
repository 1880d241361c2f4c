/* One interface to the optimizers of the table, for dense and for sparse gradients.
 *
 * A sparse gradient uses the same formula as a dense one, so that both give the same bits. Where
 * zeros matter (momentum, weight decay) its entries are scattered, a block at a time, into a small
 * array that stays in the first-level cache; otherwise the listed weights are gathered into such an
 * array and written back. Making the whole gradient dense first would cost another pass over
 * memory. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "optim/inside.h"
#include "tensor/kernels.h"

/* Floats in a block: two of them are half of a small first-level cache. An optimizer that needs
 * whole tensors is given a whole one instead. */
#define BLOCK 2048

/*   longest  tensor */
static enum syn_status allocate(struct syn_optimizer *made, size_t spans, size_t longest)
{
    size_t block = made->kind->needs_whole_tensors && longest > BLOCK ? longest : BLOCK;
    if (made->memory_per_weight > 0)
        SYN_TRY(syn_allocate(made->size, made->memory_per_weight * sizeof *made->memory,
                             &made->memory));
    SYN_TRY(syn_allocate(spans, sizeof *made->spans, &made->spans));
    SYN_TRY(syn_allocate(block, sizeof *made->gradient, &made->gradient));
    return syn_allocate(BLOCK, sizeof *made->weights, &made->weights);
}

/*   spans  the most there can be */
static enum syn_status open_one(const struct syn_optimizer_options *options, size_t size,
                                size_t spans, size_t longest, struct syn_optimizer **optimizer)
{
    struct syn_optimizer_options checked = *options;
    SYN_TRY(syn_settings_check(&syn_optimizer_settings, &checked));
    const struct syn_optim *kind = syn_optim_of(checked.optimizer);
    if (kind->check)
        SYN_TRY(kind->check(&checked));
    struct syn_optimizer *made = calloc(1, sizeof *made);
    if (!made)
        return syn_fail(SYN_MEMORY, "cannot allocate an optimizer");
    made->kind = kind;
    made->stronger = 1;
    made->span_most = spans;
    made->options = checked;
    made->size = size;
    made->memory_per_weight = kind->memory_per_weight(&checked);
    enum syn_status status = allocate(made, spans, longest);
    if (status != SYN_OK) {
        syn_optimizer_free(made);
        return status;
    }
    *optimizer = made;
    return SYN_OK;
}

static void add_span(struct syn_optimizer *optimizer, size_t end, struct syn_tensor_rates rates)
{
    struct span *last = optimizer->spans + optimizer->span_count - 1;
    bool is_more = !optimizer->kind->needs_whole_tensors && optimizer->span_count > 0 &&
                   last->rates.lr == rates.lr && last->rates.weight_decay == rates.weight_decay;
    if (is_more)
        last->end = end;
    else
        optimizer->spans[optimizer->span_count++] = (struct span){end, rates};
}

enum syn_status syn_optimizer_open(const struct syn_optimizer_options *options, size_t size,
                                   struct syn_optimizer **optimizer)
{
    SYN_TRY(open_one(options, size, 1, size, optimizer));
    add_span(*optimizer, size, (struct syn_tensor_rates){1, 1});
    return SYN_OK;
}

/* Give each tensor of the layout that overlaps this part its own rates. */
static void rate(struct syn_optimizer *optimizer, const struct syn_layout *layout)
{
    size_t first = optimizer->first;
    size_t past = first + optimizer->size;
    optimizer->span_count = 0;
    for (size_t i = 0; i < syn_layout_count(layout); i++) {
        struct syn_tensor tensor = syn_layout_tensor(layout, i);
        size_t end = tensor.offset + tensor.count;
        if (end > first && tensor.offset < past)
            add_span(optimizer, (end < past ? end : past) - first,
                     optimizer->is_rated ? syn_layout_rates(layout, i)
                                         : (struct syn_tensor_rates){1, 1});
    }
}

static size_t longest_of(const struct syn_layout *layout)
{
    size_t longest = 0;
    for (size_t i = 0; i < syn_layout_count(layout); i++) {
        size_t count = syn_layout_tensor(layout, i).count;
        longest = count > longest ? count : longest;
    }
    return longest;
}

enum syn_status syn_optimizer_open_part(double momentum,
                                        const struct syn_optimizer_options *options,
                                        const struct syn_layout *layout, size_t first, size_t count,
                                        bool is_rated, struct syn_optimizer **optimizer)
{
    SYN_TRY(open_one(options, count, syn_layout_count(layout) + 1, longest_of(layout), optimizer));
    (*optimizer)->stronger = 1 / (1 - momentum);
    (*optimizer)->first = first;
    (*optimizer)->is_rated = is_rated;
    (*optimizer)->options.weight_decay *= (*optimizer)->stronger;
    rate(*optimizer, layout);
    return SYN_OK;
}

static enum syn_status check_layout(const struct syn_optimizer *optimizer,
                                    const struct syn_layout *layout)
{
    if (syn_layout_count(layout) < optimizer->span_most &&
        syn_layout_size(layout) >= optimizer->first + optimizer->size)
        return SYN_OK;
    return syn_fail(SYN_INVALID,
                    "a layout of %zu tensors; expected the one that the optimizer was opened with",
                    syn_layout_count(layout));
}

/* The optimizer's memory must fit the new settings. */
static enum syn_status check_tuning(const struct syn_optimizer *optimizer,
                                    struct syn_optimizer_options *options)
{
    SYN_TRY(syn_settings_check(&syn_optimizer_settings, options));
    if (syn_optim_of(options->optimizer) != optimizer->kind)
        return syn_fail(SYN_INVALID, "optimizer %s cannot become %s; only its settings can change",
                        optimizer->kind->part.name, options->optimizer);
    if (optimizer->kind->check)
        SYN_TRY(optimizer->kind->check(options));
    if (optimizer->kind->memory_per_weight(options) != optimizer->memory_per_weight)
        return syn_fail(SYN_INVALID,
                        "momentum %g cannot become %g: momentum is either kept from the first step "
                        "or not at all",
                        optimizer->options.momentum, options->momentum);
    return SYN_OK;
}

enum syn_status syn_optimizer_tune(struct syn_optimizer *optimizer,
                                   const struct syn_optimizer_options *options,
                                   const struct syn_layout *layout)
{
    struct syn_optimizer_options checked = *options;
    SYN_TRY(check_tuning(optimizer, &checked));
    SYN_TRY(check_layout(optimizer, layout));
    optimizer->options = checked;
    optimizer->options.weight_decay *= optimizer->stronger;
    rate(optimizer, layout);
    return SYN_OK;
}

enum syn_status syn_optimizer_open_layout(const struct syn_optimizer_options *options,
                                          const struct syn_layout *layout,
                                          struct syn_optimizer **optimizer)
{
    return syn_optimizer_open_part(0, options, layout, 0, syn_layout_size(layout), true, optimizer);
}

/* The input of one step. */
struct step {
    double lr;
    double scale;
    struct syn_trial *trial; /* what is tried out after it, or NULL */
};

static enum syn_status check_rates(double lr, double scale)
{
    if (!isfinite(lr) || lr < 0)
        return syn_fail(SYN_INVALID, "learning rate %g; expected a number of at least 0", lr);
    if (!isfinite(scale))
        return syn_fail(SYN_INVALID, "gradient scale %g; expected a finite number", scale);
    return SYN_OK;
}

/* The run of count weights that begins at weight number begin.
 *   gradient, weights  of the run */
static struct syn_optim_run run_at(const struct syn_optimizer *optimizer, size_t begin,
                                   size_t count, const float *gradient, float *weights)
{
    struct syn_optim_run run = {.gradient = gradient, .weights = weights, .count = count};
    for (size_t i = 0; i < optimizer->memory_per_weight; i++)
        run.memory[i] = optimizer->memory + i * optimizer->size + begin;
    return run;
}

/* `count` weights of a run, from its weight number `first` on. */
static struct syn_optim_run part_of(const struct syn_optimizer *optimizer,
                                    const struct syn_optim_run *run, size_t first, size_t count)
{
    struct syn_optim_run part = {
        .gradient = run->gradient + first, .weights = run->weights + first, .count = count};
    for (size_t i = 0; i < optimizer->memory_per_weight; i++)
        part.memory[i] = run->memory[i] + first;
    return part;
}

/* The span that weight number `at` is in. */
static const struct span *span_at(const struct syn_optimizer *optimizer, size_t at)
{
    size_t low = 0;
    size_t high = optimizer->span_count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (optimizer->spans[middle - 1].end <= at)
            low = middle;
        else
            high = middle;
    }
    return &optimizer->spans[low];
}

static struct syn_optim_rates rates_in(const struct syn_optimizer *optimizer,
                                       const struct span *span, double lr, double scale)
{
    return (struct syn_optim_rates){
        .lr = (float)(lr * span->rates.lr),
        .scale = (float)scale,
        .weight_decay = (float)(optimizer->options.weight_decay * span->rates.weight_decay),
        .update = optimizer->updates};
}

/* What of a run, which begins at weight number begin, follows its first `done` weights and is in
 * the span of the next. */
static struct syn_optim_run next_part(const struct syn_optimizer *optimizer, size_t begin,
                                      const struct syn_optim_run *run, size_t done,
                                      const struct span **span)
{
    *span = span_at(optimizer, begin + done);
    size_t left = (*span)->end - (begin + done);
    return part_of(optimizer, run, done, left < run->count - done ? left : run->count - done);
}

static void look_at_result(struct syn_trial *trial, size_t begin, size_t count)
{
    if (syn_first_not_finite(trial->weights + begin, count) < count)
        trial->is_finite = false;
}

/* Update a run that begins at weight number begin, each span at its own rates, and try out what the
 * step is followed by. */
static void apply_run(const struct syn_optimizer *optimizer, struct step step, size_t begin,
                      const struct syn_optim_run *run)
{
    const struct span *span;
    for (size_t done = 0; done < run->count;) {
        struct syn_optim_run part = next_part(optimizer, begin, run, done, &span);
        struct syn_optim_rates rates = rates_in(optimizer, span, step.lr, step.scale);
        if (step.trial) {
            struct syn_optim_next next = {
                .rates = rates_in(optimizer, span, step.trial->lr, step.trial->scale),
                .gradient = step.trial->gradient + begin + done,
                .result = step.trial->weights + begin + done};
            optimizer->kind->apply_and_foresee(&optimizer->options, rates, &part, &next);
        } else {
            optimizer->kind->apply(&optimizer->options, rates, &part);
        }
        done += part.count;
    }
    if (step.trial)
        look_at_result(step.trial, begin, run->count);
}

static void try_block(const struct syn_optimizer *optimizer, struct syn_trial *trial, size_t begin,
                      size_t count, float *weights)
{
    const struct span *span;
    struct syn_optim_run run =
        run_at(optimizer, begin, count, trial->gradient + begin, weights + begin);
    for (size_t done = 0; done < count;) {
        struct syn_optim_run part = next_part(optimizer, begin, &run, done, &span);
        optimizer->kind->foresee(&optimizer->options,
                                 rates_in(optimizer, span, trial->lr, trial->scale), &part,
                                 trial->weights + begin + done);
        done += part.count;
    }
    look_at_result(trial, begin, count);
}

/* Where the block of weights that begins there ends. */
static size_t block_end(const struct syn_optimizer *optimizer, size_t begin)
{
    if (optimizer->kind->needs_whole_tensors)
        return span_at(optimizer, begin)->end;
    return optimizer->size - begin < BLOCK ? optimizer->size : begin + BLOCK;
}

static enum syn_status check_trial(const struct syn_optimizer *optimizer, struct syn_trial *trial)
{
    trial->is_finite = true;
    if (optimizer->kind->foresee)
        return check_rates(trial->lr, trial->scale);
    return syn_fail(SYN_INVALID, "a step of optimizer %s cannot be tried out",
                    optimizer->kind->part.name);
}

enum syn_status syn_optimizer_try(const struct syn_optimizer *optimizer, float *weights,
                                  struct syn_trial *trial)
{
    SYN_TRY(check_trial(optimizer, trial));
    for (size_t begin = 0, end = 0; begin < optimizer->size; begin = end) {
        end = block_end(optimizer, begin);
        try_block(optimizer, trial, begin, end - begin, weights);
    }
    return SYN_OK;
}

static void count_update(struct syn_optimizer *optimizer)
{
    if (optimizer->kind->counts && optimizer->updates < SYN_OPTIM_MOST_COUNTED)
        optimizer->updates++;
}

/* The result of a step that is tried out is looked at while it is in the cache, block by block. */
static void apply_dense(struct syn_optimizer *optimizer, struct step step, const float *gradient,
                        float *weights)
{
    for (size_t begin = 0, end = 0; begin < optimizer->size; begin = end) {
        end = step.trial ? block_end(optimizer, begin) : optimizer->size;
        struct syn_optim_run run =
            run_at(optimizer, begin, end - begin, gradient + begin, weights + begin);
        apply_run(optimizer, step, begin, &run);
    }
}

enum syn_status syn_optimizer_apply(struct syn_optimizer *optimizer, double lr, double scale,
                                    const float *gradient, float *weights)
{
    struct syn_optimizer_sum sum = {.dense = gradient};
    return syn_optimizer_apply_and_try(optimizer, lr, scale, &sum, weights, NULL);
}

static enum syn_status check_indices(const struct syn_optimizer *optimizer, const uint32_t *indices,
                                     size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (indices[i] >= optimizer->size)
            return syn_fail(SYN_INVALID, "index %lu in a sparse gradient; expected below %zu",
                            (unsigned long)indices[i], optimizer->size);
        if (i > 0 && indices[i] <= indices[i - 1])
            return syn_fail(
                SYN_INVALID,
                "index %lu after index %lu in a sparse gradient; expected ascending order",
                (unsigned long)indices[i], (unsigned long)indices[i - 1]);
    }
    return SYN_OK;
}

/* How many of the next entries lie in one span and fit into a block. */
static size_t count_together(const struct span *span, const uint32_t *indices, size_t count)
{
    size_t most = count < BLOCK ? count : BLOCK;
    size_t together = 0;
    while (together < most && indices[together] < span->end)
        together++;
    return together;
}

static void apply_gathered(struct syn_optimizer *optimizer, struct step step,
                           const uint32_t *indices, const float *values, size_t count,
                           float *weights)
{
    for (size_t done = 0, part = 0; done < count; done += part) {
        const uint32_t *at = indices + done;
        const struct span *span = span_at(optimizer, at[0]);
        part = count_together(span, at, count - done);
        for (size_t i = 0; i < part; i++)
            optimizer->weights[i] = weights[at[i]];
        struct syn_optim_run run = {
            .gradient = values + done, .weights = optimizer->weights, .count = part};
        optimizer->kind->apply(&optimizer->options, rates_in(optimizer, span, step.lr, step.scale),
                               &run);
        for (size_t i = 0; i < part; i++)
            weights[at[i]] = optimizer->weights[i];
    }
}

static void apply_scattered(struct syn_optimizer *optimizer, struct step step,
                            const uint32_t *indices, const float *values, size_t count,
                            float *weights)
{
    size_t next = 0;
    for (size_t begin = 0, end = 0; begin < optimizer->size; begin = end) {
        end = block_end(optimizer, begin);
        size_t first = next;
        for (; next < count && indices[next] < end; next++)
            optimizer->gradient[indices[next] - begin] = values[next];
        struct syn_optim_run run =
            run_at(optimizer, begin, end - begin, optimizer->gradient, weights + begin);
        apply_run(optimizer, step, begin, &run);
        for (size_t i = first; i < next; i++)
            optimizer->gradient[indices[i] - begin] = 0;
    }
}

enum syn_status syn_optimizer_apply_sparse(struct syn_optimizer *optimizer, double lr, double scale,
                                           const uint32_t *indices, const float *values,
                                           size_t count, float *weights)
{
    struct syn_optimizer_sum sum = {.indices = indices, .values = values, .count = count};
    return syn_optimizer_apply_and_try(optimizer, lr, scale, &sum, weights, NULL);
}

enum syn_status syn_optimizer_apply_and_try(struct syn_optimizer *optimizer, double lr,
                                            double scale, const struct syn_optimizer_sum *sum,
                                            float *weights, struct syn_trial *trial)
{
    struct step step = {lr, scale, trial};
    SYN_TRY(check_rates(lr, scale));
    if (trial)
        SYN_TRY(check_trial(optimizer, trial));
    if (!sum->dense)
        SYN_TRY(check_indices(optimizer, sum->indices, sum->count));
    count_update(optimizer);
    if (sum->dense) {
        apply_dense(optimizer, step, sum->dense, weights);
    } else if (!optimizer->kind->skips_zeros(&optimizer->options)) {
        apply_scattered(optimizer, step, sum->indices, sum->values, sum->count, weights);
    } else {
        apply_gathered(optimizer, step, sum->indices, sum->values, sum->count, weights);
        if (trial)
            return syn_optimizer_try(optimizer, weights, trial);
    }
    return SYN_OK;
}

float *syn_optimizer_memory(struct syn_optimizer *optimizer, size_t i)
{
    return optimizer->memory + i * optimizer->size;
}

void syn_optimizer_free(struct syn_optimizer *optimizer)
{
    if (!optimizer)
        return;
    free(optimizer->memory);
    free(optimizer->spans);
    free(optimizer->gradient);
    free(optimizer->weights);
    free(optimizer);
}
