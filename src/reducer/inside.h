/* Internals of the reducer, shared by its files. */
#ifndef SYN_REDUCER_INSIDE_H
#define SYN_REDUCER_INSIDE_H

#include <syncopate/reducer.h>

#include "base/pool.h"
#include "codec/codec.h"
#include "exchange/exchange.h"
#include "reducer/intake.h"
#include "reducer/options.h"
#include "reducer/order.h"
#include "reducer/road.h"
#include "residual/residual.h"
#include "select/select.h"

/* Whole tensors that are exchanged separately, one range in the reducer's order (order.h). Bucket 0
 * is sent first. */
struct bucket {
    size_t first;
    size_t size;
    size_t tensor_count;
    double share; /* of its entries in every list, by its tensors' policy; 0: the step's density */
    void *select; /* what picks its lists; NULL if no step sends any */
    bool lags;    /* its part of the residual lacks the last step (lag.h) */
};

/* The exchange of one bucket of one step. */
struct transfer {
    struct syn_work work; /* first, so that a pointer to it is one to its transfer */
    struct syn_reducer *reducer;
    struct syn_contribution in;
    struct syn_outcome out;
    uint8_t *packet;
    size_t packet_room;
    struct syn_list placed; /* the list in the layout's order, for owners that keep the sums */
    float remembered;       /* the selection's state before this step */
    float threshold;
};

/* One step under way. */
struct slot {
    struct transfer *transfers;     /* [bucket_count] */
    const float *gradient;          /* [size], or NULL if it is in pieces */
    const struct syn_piece *pieces; /* only during begin */
    float *copy;                    /* [size] of a gradient that may be overwritten; or NULL */
    struct syn_step step;
    bool is_list; /* it sends lists, not arrays */
    double lr;    /* sent along */
    bool pulls;
    size_t before; /* number of the residual it starts from; it writes the next one */
    float *sent;   /* [size] dense with residual: what is sent; NULL: it is in the next residual */
    float *dense;  /* [size] dense: the sum */
    float *placed; /* [size] the same in the layout's order, if that is another */
    bool drops;    /* dense, not exact: rounding loses something */
    float *dense_dropped;   /* [size] what is lost; NULL: it is in the next residual */
    struct syn_list merged; /* lists of several buckets: all of them */
    int64_t select_ns;      /* includes encode_ns */
    int64_t encode_ns;
    struct syn_forgotten forgotten;
};

struct syn_reducer {
    struct syn_group *group;
    struct syn_layout *layout;
    struct syn_reducer_options options;
    const struct syn_residual_type *residual_type;
    const struct syn_select_type *select_type;
    const struct syn_select_type *picks; /* of steps that send lists; NULL: none does */
    const struct syn_exchange_type *exchange_type;
    const struct syn_value_type *values;
    const struct syn_index_type *indices; /* NULL: the smallest */
    void *exchange; /* its state; belongs to the communication thread while work is under way */
    bool is_exchange_lent; /* the state belongs to the opener: owners keep the sums */
    struct syn_comm *comm;
    struct syn_pool *pool;

    size_t size;
    struct syn_order order;
    struct bucket *buckets; /* [bucket_count] */
    size_t bucket_count;
    size_t *bucket_of; /* [tensor] */
    size_t *joined;    /* [bucket_count] entries that the joined list already has */
    float *unsent;     /* [size] in the layout's order, if that is another; for the caller */

    struct syn_residual *residuals; /* [depth + 1] a ring; `newest` is the current state */
    size_t newest;
    bool may_lag;       /* both residuals' unsent are one array (lag.h) */
    struct slot *slots; /* [depth] a ring over ticket numbers */
    uint64_t begun;     /* steps begun so far; ticket numbers are below it */
    uint64_t waited;    /* steps delivered or dropped so far */
    uint64_t attempt;   /* how many times steps in flight were dropped */
    bool can_drop;      /* the step waited for last can be undone */
    bool is_filling;    /* the last step begun still waits for tensors */
    size_t next_bucket; /* of the filling step, the next to send */
    size_t *missing;    /* [bucket_count] tensors not ready yet */
    bool *is_ready;     /* [tensor] of the filling step */
    double used;        /* the largest density of a step since memory was last released */
};

/* Cut the weights into buckets (buckets.c). */
enum syn_status syn_reducer_cut(struct syn_reducer *reducer);

/* Most entries of a bucket's list in a step of this density, and in any step. */
size_t syn_bucket_limit(const struct syn_reducer *reducer, const struct bucket *bucket,
                        double density);
size_t syn_bucket_limit_most(const struct syn_reducer *reducer, const struct bucket *bucket);

static inline struct slot *syn_slot(struct syn_reducer *reducer, uint64_t number)
{
    return &reducer->slots[number % reducer->options.depth];
}

#endif
