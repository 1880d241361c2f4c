/* Arranging entries by the policies of their tensors. Layouts have hundreds of tensors, so shares
 * are compared one by one. */
#include "reducer/order.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "exchange/exchange.h"
#include "select/select.h"

double syn_order_share(const struct syn_layout *layout, size_t i,
                       const struct syn_reducer_options *options)
{
    struct syn_tensor_policy policy = syn_layout_policy(layout, i);
    if (!syn_select_find(options->select)->takes_share &&
        !syn_exchange_find(options->exchange)->follows_density)
        return 0;
    if (policy.density > 0)
        return policy.density;
    return policy.is_dense || syn_layout_tensor(layout, i).count < options->dense_below ? 1 : 0;
}

size_t syn_order_leader(const struct syn_layout *layout, size_t i,
                        const struct syn_reducer_options *options)
{
    double share = syn_order_share(layout, i, options);
    size_t leader = 0;
    while (syn_order_share(layout, leader, options) != share)
        leader++;
    return leader;
}

size_t syn_order_size(const struct syn_layout *layout, double share,
                      const struct syn_reducer_options *options)
{
    size_t size = 0;
    for (size_t i = 0; i < syn_layout_count(layout); i++)
        if (syn_order_share(layout, i, options) == share)
            size += syn_layout_tensor(layout, i).count;
    return size;
}

/* Put all tensors of this share after those that have been put. */
static size_t put(struct syn_order *order, const struct syn_layout *layout, double share,
                  const struct syn_reducer_options *options, size_t at)
{
    assert(order->runs);
    for (size_t i = 0; i < syn_layout_count(layout); i++) {
        struct syn_tensor tensor = syn_layout_tensor(layout, i);
        struct syn_order_run *last = order->count ? &order->runs[order->count - 1] : NULL;
        if (syn_order_share(layout, i, options) != share)
            continue;
        if (last && last->place + last->count == tensor.offset)
            last->count += tensor.count;
        else
            order->runs[order->count++] = (struct syn_order_run){at, tensor.offset, tensor.count};
        order->begins[i] = at;
        at += tensor.count;
    }
    return at;
}

enum syn_status syn_order_open(const struct syn_layout *layout,
                               const struct syn_reducer_options *options, struct syn_order *order)
{
    size_t tensors = syn_layout_count(layout);
    SYN_TRY(syn_allocate(tensors, sizeof *order->runs, &order->runs));
    SYN_TRY(syn_allocate(tensors, sizeof *order->begins, &order->begins));
    order->plain = put(order, layout, 0, options, 0);
    size_t at = order->plain;
    for (size_t i = 0; i < tensors; i++) {
        double share = syn_order_share(layout, i, options);
        if (share > 0 && syn_order_leader(layout, i, options) == i)
            at = put(order, layout, share, options, at);
    }
    if (order->count > 1)
        return SYN_OK;
    free(order->runs);
    order->runs = NULL;
    return SYN_OK;
}

void syn_order_close(struct syn_order *order)
{
    free(order->runs);
    free(order->begins);
}

const struct syn_order_run *syn_order_find(const struct syn_order *order, size_t at)
{
    size_t low = 0;
    size_t high = order->count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (order->runs[middle].first <= at)
            low = middle;
        else
            high = middle;
    }
    return &order->runs[low];
}

size_t syn_order_place(const struct syn_order *order, size_t at)
{
    if (!order->runs)
        return at;
    const struct syn_order_run *run = syn_order_find(order, at);
    return run->place + (at - run->first);
}

void syn_order_restore(const struct syn_order *order, const float *from, void *to, size_t size)
{
    struct syn_order_run whole = {0, 0, size};
    const struct syn_order_run *runs = order->runs ? order->runs : &whole;
    for (size_t i = 0; i < (order->runs ? order->count : 1); i++)
        memcpy((char *)to + runs[i].place * sizeof *from, from + runs[i].first,
               runs[i].count * sizeof *from);
}

void syn_order_arrange(const struct syn_order *order, const void *from, float *to, size_t size)
{
    struct syn_order_run whole = {0, 0, size};
    const struct syn_order_run *runs = order->runs ? order->runs : &whole;
    for (size_t i = 0; i < (order->runs ? order->count : 1); i++)
        memcpy(to + runs[i].first, (const char *)from + runs[i].place * sizeof *to,
               runs[i].count * sizeof *to);
}
