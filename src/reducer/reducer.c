/* Opening and closing a reducer: allocates all memory that steps need. */
#include <stdlib.h>

#include "base/memory.h"
#include "exchange/consistency.h"
#include "reducer/inside.h"

size_t syn_reducer_limit_most(const struct syn_reducer_options *options, size_t size)
{
    bool is_raised = options->density_max > options->density;
    double density = is_raised ? options->density_max : options->density;
    if (syn_exchange_find(options->exchange)->follows_density)
        return syn_select_share(syn_reducer_density_most(options), size);
    return syn_select_find(options->select)->limit(options, size, density);
}

static enum syn_status open_residuals(struct syn_reducer *reducer)
{
    size_t count = reducer->options.depth + 1;
    SYN_TRY(syn_allocate(count, sizeof *reducer->residuals, &reducer->residuals));
    for (size_t i = 0; i < count; i++) {
        struct syn_residual *residual = &reducer->residuals[i];
        if (reducer->residual_type->has_unsent)
            SYN_TRY(syn_allocate(reducer->size, sizeof(float), &residual->unsent));
        if (reducer->residual_type->has_velocity)
            SYN_TRY(syn_allocate(reducer->size, sizeof(float), &residual->velocity));
    }
    if (reducer->order.runs)
        SYN_TRY(syn_allocate(reducer->size, sizeof(float), &reducer->unsent));
    return SYN_OK;
}

static enum syn_status open_sparse_transfer(struct syn_reducer *reducer, struct transfer *transfer,
                                            const struct syn_exchange_setup *setup)
{
    const struct syn_exchange_type *exchange = reducer->exchange_type;
    size_t bound = syn_packet_bound(reducer->values, reducer->indices, setup->limit, setup->size);
    SYN_TRY(syn_list_open(&transfer->in.list, setup->limit));
    SYN_TRY(syn_list_open(&transfer->out.merged, exchange->merged_most(setup)));
    SYN_TRY(syn_list_open(&transfer->out.dropped, exchange->dropped_most(setup)));
    if (reducer->order.runs && exchange->keeps_sums)
        SYN_TRY(syn_list_open(&transfer->placed, setup->limit));
    transfer->packet_room = bound;
    return syn_reserve(1, bound, &transfer->packet);
}

static enum syn_status open_dense_slot(struct syn_reducer *reducer, struct slot *slot)
{
    bool has_unsent = reducer->residual_type->has_unsent;
    if (!reducer->exchange_type->keeps_sums)
        SYN_TRY(syn_allocate(reducer->size, sizeof(float), &slot->dense));
    if (slot->dense && reducer->order.runs)
        SYN_TRY(syn_allocate(reducer->size, sizeof(float), &slot->placed));
    slot->drops = !reducer->values->is_exact || reducer->exchange_type->follows_density;
    bool in_place = slot->drops && reducer->options.depth == 1 && has_unsent;
    if (has_unsent && !in_place)
        SYN_TRY(syn_allocate(reducer->size, sizeof(float), &slot->sent));
    if (slot->drops && !in_place)
        SYN_TRY(syn_allocate(reducer->size, sizeof(float), &slot->dense_dropped));
    return SYN_OK;
}

static enum syn_status open_slot(struct syn_reducer *reducer, struct slot *slot,
                                 const struct syn_exchange_setup *setup)
{
    size_t merged = 0;
    SYN_TRY(syn_allocate(reducer->bucket_count, sizeof *slot->transfers, &slot->transfers));
    for (size_t i = 0; i < reducer->bucket_count; i++) {
        struct syn_exchange_setup own = *setup;
        struct transfer *transfer = &slot->transfers[i];
        transfer->reducer = reducer;
        if (!reducer->picks)
            continue;
        own.size = reducer->buckets[i].size;
        own.limit = syn_bucket_limit_most(reducer, &reducer->buckets[i]);
        own.whole = reducer->buckets[i].share == 1 ? own.size : 0;
        SYN_TRY(open_sparse_transfer(reducer, transfer, &own));
        merged += transfer->out.merged.capacity;
    }
    SYN_TRY(syn_list_open(&slot->merged, reducer->bucket_count > 1 ? merged : 0));
    return reducer->select_type->is_dense ? open_dense_slot(reducer, slot) : SYN_OK;
}

static enum syn_status open_selects(struct syn_reducer *reducer, struct syn_exchange_setup *setup)
{
    for (size_t i = 0; i < reducer->bucket_count; i++) {
        struct bucket *bucket = &reducer->buckets[i];
        setup->size = bucket->size > setup->size ? bucket->size : setup->size;
        if (!reducer->picks)
            continue;
        size_t most = syn_bucket_limit_most(reducer, bucket);
        setup->whole = bucket->share == 1 ? bucket->size : setup->whole;
        setup->limit = most > setup->limit ? most : setup->limit;
        SYN_TRY(reducer->picks->open(&reducer->options, bucket->size, most,
                                     (size_t)reducer->options.select_threads, &bucket->select));
    }
    return SYN_OK;
}

static enum syn_status open_parts(struct syn_reducer *reducer)
{
    struct syn_exchange_setup setup = {
        .group = reducer->group,
        .values = reducer->values,
        .indices = reducer->indices,
        .putback = syn_reducer_putback(&reducer->options),
        .keep = reducer->options.keep,
    };
    SYN_TRY(syn_reducer_cut(reducer));
    SYN_TRY(open_residuals(reducer));
    SYN_TRY(open_selects(reducer, &setup));
    SYN_TRY(syn_allocate(reducer->options.depth, sizeof *reducer->slots, &reducer->slots));
    for (size_t i = 0; i < reducer->options.depth; i++)
        SYN_TRY(open_slot(reducer, &reducer->slots[i], &setup));
    if (!reducer->is_exchange_lent)
        SYN_TRY(reducer->exchange_type->open(&setup, &reducer->exchange));
    SYN_TRY(syn_pool_open((size_t)reducer->options.select_threads, &reducer->pool));
    return SYN_OK;
}

static void find_rows(struct syn_reducer *reducer)
{
    const struct syn_reducer_options *options = &reducer->options;
    reducer->residual_type = syn_residual_find(options->residual);
    reducer->select_type = syn_select_find(options->select);
    if (!reducer->is_exchange_lent)
        reducer->exchange_type = syn_exchange_find(options->exchange);
    reducer->picks =
        reducer->select_type->is_dense ? reducer->exchange_type->picks : reducer->select_type;
    reducer->values = syn_value_find(options->values);
    reducer->indices = syn_index_find(options->indices);
}

/* Compare layout and options with all other workers. */
static enum syn_status check_consistency(const struct syn_reducer *reducer)
{
    struct syn_consistency own;
    syn_consistency_begin(&own);
    syn_consistency_add_layout(&own, reducer->layout);
    syn_consistency_add_settings(&own, &syn_reducer_settings, &reducer->options);
    return syn_consistency_check(&own, reducer->group, reducer->group->workers);
}

/* Needed only without a residual: with one, begin has read and scaled the gradient before it
 * returns. */
static enum syn_status open_copies(struct syn_reducer *reducer)
{
    for (size_t i = 0; i < reducer->options.depth && !reducer->residual_type->has_unsent; i++)
        SYN_TRY(syn_allocate(reducer->size, sizeof(float), &reducer->slots[i].copy));
    return SYN_OK;
}

static enum syn_status open_all(struct syn_reducer *reducer, const struct syn_road_setup *setup)
{
    reducer->options = *setup->options;
    reducer->size = syn_layout_size(setup->layout);
    SYN_TRY(syn_reducer_resolve(&reducer->options));
    SYN_TRY(syn_reducer_check_layout(&reducer->options, setup->layout));
    find_rows(reducer);
    SYN_TRY(syn_layout_copy(setup->layout, &reducer->layout));
    SYN_TRY(open_parts(reducer));
    if (setup->overwrites)
        SYN_TRY(open_copies(reducer));
    SYN_TRY(check_consistency(reducer));
    return syn_comm_open(reducer->group, &reducer->comm);
}

enum syn_status syn_reducer_open_road(const struct syn_road_setup *setup,
                                      struct syn_reducer **reducer)
{
    struct syn_group *group = setup->group;
    struct syn_reducer *made = NULL;
    enum syn_status status = syn_reducer_check(setup->options);
    if (status == SYN_OK)
        status = syn_allocate(1, sizeof *made, &made);
    if (status == SYN_OK) {
        syn_group_enter(group);
        made->group = group;
        made->exchange_type = setup->owners;
        made->exchange = setup->owners_state;
        made->is_exchange_lent = setup->owners != NULL;
        status = open_all(made, setup);
    }
    if (status != SYN_OK) {
        syn_group_abandon(group, status, syn_error_text());
        syn_reducer_close(made);
        return status;
    }
    *reducer = made;
    return SYN_OK;
}

enum syn_status syn_reducer_open(struct syn_group *group, const struct syn_layout *layout,
                                 const struct syn_reducer_options *options,
                                 struct syn_reducer **reducer)
{
    struct syn_road_setup setup = {.group = group, .layout = layout, .options = options};
    return syn_reducer_open_road(&setup, reducer);
}

static void close_slot(struct syn_reducer *reducer, struct slot *slot)
{
    for (size_t i = 0; slot->transfers && i < reducer->bucket_count; i++) {
        struct transfer *transfer = &slot->transfers[i];
        syn_list_close(&transfer->in.list);
        syn_list_close(&transfer->placed);
        syn_list_close(&transfer->out.merged);
        syn_list_close(&transfer->out.dropped);
        free(transfer->packet);
    }
    free(slot->transfers);
    free(slot->copy);
    free(slot->sent);
    free(slot->dense);
    free(slot->placed);
    free(slot->dense_dropped);
    syn_list_close(&slot->merged);
}

static enum syn_status give_up(struct syn_work *work)
{
    (void)work;
    return syn_fail_again(SYN_STOPPED, "closed before its step was complete");
}

void syn_reducer_close(struct syn_reducer *reducer)
{
    struct syn_work last = {.run = give_up};
    if (!reducer)
        return;
    if (reducer->is_filling) /* the others would wait for buckets that were never sent */
        syn_comm_post(reducer->comm, &last);
    syn_comm_close(reducer->comm);
    syn_pool_close(reducer->pool);
    if (reducer->exchange && !reducer->is_exchange_lent)
        reducer->exchange_type->close(reducer->exchange);
    for (size_t i = 0; reducer->slots && i < reducer->options.depth; i++)
        close_slot(reducer, &reducer->slots[i]);
    for (size_t i = 0; reducer->residuals && i <= reducer->options.depth; i++) {
        if (i == 0 || !reducer->may_lag)
            free(reducer->residuals[i].unsent);
        free(reducer->residuals[i].velocity);
    }
    for (size_t i = 0; reducer->buckets && i < reducer->bucket_count; i++)
        if (reducer->buckets[i].select)
            reducer->picks->close(reducer->buckets[i].select);
    free(reducer->slots);
    free(reducer->residuals);
    free(reducer->buckets);
    free(reducer->bucket_of);
    free(reducer->joined);
    free(reducer->unsent);
    syn_order_close(&reducer->order);
    free(reducer->missing);
    free(reducer->is_ready);
    syn_layout_free(reducer->layout);
    syn_group_depart(reducer->group);
    free(reducer);
}

struct syn_comm *syn_reducer_comm(struct syn_reducer *reducer)
{
    return reducer->comm;
}

const float *syn_reducer_residual(const struct syn_reducer *reducer)
{
    const float *unsent = reducer->residuals[reducer->newest].unsent;
    if (!unsent || !reducer->order.runs)
        return unsent;
    syn_order_restore(&reducer->order, unsent, reducer->unsent, reducer->size);
    return reducer->unsent;
}

struct syn_step syn_reducer_step(const struct syn_reducer *reducer)
{
    bool is_auto = reducer->options.density == SYN_AUTO;
    return (struct syn_step){.density = is_auto ? 1 : reducer->options.density, .scale = 1};
}
