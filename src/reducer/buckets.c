/* Cutting the weights into buckets. Tensors without a policy: from the last to the first, the order
 * in which a backward pass delivers them, closing a bucket as soon as it has bucket_bytes. The
 * others: one bucket for each share, sent after those. */
#include "base/memory.h"
#include "reducer/inside.h"

static struct bucket *open_bucket(struct syn_reducer *reducer, size_t first, double share)
{
    struct bucket *bucket = &reducer->buckets[reducer->bucket_count++];
    bucket->first = first;
    bucket->share = share;
    return bucket;
}

static void add_tensor(struct syn_reducer *reducer, struct bucket *bucket, size_t tensor)
{
    bucket->size += syn_layout_tensor(reducer->layout, tensor).count;
    bucket->tensor_count++;
    reducer->bucket_of[tensor] = (size_t)(bucket - reducer->buckets);
}

static void cut_plain(struct syn_reducer *reducer)
{
    size_t full = (size_t)reducer->options.bucket_bytes / sizeof(float);
    struct bucket *bucket = NULL;
    for (size_t i = syn_layout_count(reducer->layout); i-- > 0;) {
        if (syn_order_share(reducer->layout, i, &reducer->options) > 0)
            continue;
        if (!bucket || (full > 0 && bucket->size >= full))
            bucket = open_bucket(reducer, 0, 0);
        bucket->first = reducer->order.begins[i];
        add_tensor(reducer, bucket, i);
    }
}

static void gather_shares(struct syn_reducer *reducer)
{
    for (size_t i = 0; i < syn_layout_count(reducer->layout); i++) {
        double share = syn_order_share(reducer->layout, i, &reducer->options);
        size_t leader = syn_order_leader(reducer->layout, i, &reducer->options);
        if (share == 0)
            continue;
        if (leader == i)
            open_bucket(reducer, reducer->order.begins[i], share);
        add_tensor(
            reducer,
            &reducer->buckets[leader == i ? reducer->bucket_count - 1 : reducer->bucket_of[leader]],
            i);
    }
}

enum syn_status syn_reducer_cut(struct syn_reducer *reducer)
{
    size_t tensors = syn_layout_count(reducer->layout);
    SYN_TRY(syn_order_open(reducer->layout, &reducer->options, &reducer->order));
    SYN_TRY(syn_allocate(tensors, sizeof *reducer->bucket_of, &reducer->bucket_of));
    SYN_TRY(syn_allocate(tensors, sizeof *reducer->is_ready, &reducer->is_ready));
    SYN_TRY(syn_allocate(tensors, sizeof *reducer->buckets, &reducer->buckets));
    cut_plain(reducer);
    gather_shares(reducer);
    SYN_TRY(syn_allocate(reducer->bucket_count, sizeof *reducer->joined, &reducer->joined));
    return syn_allocate(reducer->bucket_count, sizeof *reducer->missing, &reducer->missing);
}

size_t syn_bucket_limit(const struct syn_reducer *reducer, const struct bucket *bucket,
                        double density)
{
    if (bucket->share > 0)
        return syn_select_share(bucket->share, bucket->size);
    return reducer->picks->limit(&reducer->options, bucket->size, density);
}

size_t syn_bucket_limit_most(const struct syn_reducer *reducer, const struct bucket *bucket)
{
    return bucket->share > 0 ? syn_select_share(bucket->share, bucket->size)
                             : syn_reducer_limit_most(&reducer->options, bucket->size);
}

size_t syn_reducer_list_most(const struct syn_reducer_options *options,
                             const struct syn_layout *layout)
{
    size_t most = syn_reducer_limit_most(options, syn_layout_size(layout));
    for (size_t i = 0; i < syn_layout_count(layout); i++) {
        double share = syn_order_share(layout, i, options);
        size_t own = syn_select_share(share, syn_order_size(layout, share, options));
        most = share > 0 && own > most ? own : most;
    }
    return most;
}
