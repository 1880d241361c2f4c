/* Combinations that are refused. Parts state what they can do; options have traits, most of them
 * those of the parts they name; refusals.def lists the traits that cannot be combined, with the
 * reason. */
#ifndef SYN_REDUCER_REFUSALS_H
#define SYN_REDUCER_REFUSALS_H

#include <stdint.h>

#include <syncopate/reducer.h>

enum syn_trait_number {
    /* of a reducer's options */
    SYN_TRAIT_LISTS,            /* the selection gives lists; else one dense array */
    SYN_TRAIT_TAKES_LISTS,      /* the exchange takes lists; else dense arrays */
    SYN_TRAIT_MERGES,           /* sums travel */
    SYN_TRAIT_SEES_OWN_MERGES,  /* every worker sees the merges of its own entries */
    SYN_TRAIT_CUTS_PORTIONS,    /* the exchange encodes portions itself and returns what it drops */
    SYN_TRAIT_FOLLOWS_DENSITY,  /* the exchange sends as much as each step requests */
    SYN_TRAIT_HAS_HALVES,       /* the exchange can leave sums with their owners */
    SYN_TRAIT_ONE_MAGNITUDE,    /* values have one magnitude */
    SYN_TRAIT_ROUNDS,           /* values are rounded */
    SYN_TRAIT_BLOCKS,           /* values share scales in blocks */
    SYN_TRAIT_RESIDUAL,         /* what is not sent is kept */
    SYN_TRAIT_FORGETS_VELOCITY, /* the residual forgets the velocity of what is sent */
    SYN_TRAIT_VELOCITY,         /* the residual has a velocity */
    SYN_TRAIT_FORGETS,          /* a share of the residual is forgotten */
    SYN_TRAIT_DENSITY_AUTO,
    SYN_TRAIT_DENSITY_ZERO,
    SYN_TRAIT_DENSITY_ABOVE_MOST,
    SYN_TRAIT_PUTBACK_OWNER, /* was requested */
    SYN_TRAIT_PUTBACK_OTHER, /* merger or paper was requested */
    SYN_TRAIT_BUCKETS,
    SYN_TRAIT_TAKES_SHARE,   /* the selection picks the density's share */
    SYN_TRAIT_DENSE_TENSORS, /* some tensors are always sent whole; of a layout or by dense_below */
    SYN_TRAIT_OWN_DENSITY,   /* of a layout: some tensor has its own density */
    SYN_TRAIT_FROZEN,        /* of a layout: some tensor is frozen */
    /* of a worker's */
    SYN_TRAIT_WORKER, /* the options are a worker's */
    SYN_TRAIT_ASYNC,
    SYN_TRAIT_LOCAL,          /* workers train on their own between exchanges */
    SYN_TRAIT_DELAYED,        /* workers continue with local updates */
    SYN_TRAIT_ADAPTS,         /* the optimizer has its own momentum */
    SYN_TRAIT_WHOLE_TENSORS,  /* the optimizer needs whole tensors */
    SYN_TRAIT_MOMENTUM_MOVES, /* momentum is applied in the residual */
    SYN_TRAIT_COMPENSATES,
    SYN_TRAIT_LAGS,
    SYN_TRAIT_PULLS_ROUNDED, /* weights are rounded on their way to workers */
    SYN_TRAIT_SENDS_UPDATES,
    SYN_TRAIT_NESTEROV,
    SYN_TRAIT_MOMENTUM,        /* above 0 */
    SYN_TRAIT_MOMENTUM_GLOBAL, /* momentum is applied by the optimizer */
    SYN_TRAIT_STORE,           /* the store is known; then the traits below are known too */
    SYN_TRAIT_OWNERS,          /* owners keep the sums and apply them */
    SYN_TRAIT_NEEDS_HALVES,    /* they get them by the first half of the exchange */
    SYN_TRAIT_ON_SERVERS,      /* the owners are servers */
    SYN_TRAIT_SERVERS,         /* the group has servers */
    SYN_TRAIT_NO_SERVERS       /* it has none; if neither is set, it is not known */
};

/* The bit of a trait if it is present, otherwise 0. */
#define SYN_TRAIT_IF(name, is_there) ((is_there) ? UINT64_C(1) << SYN_TRAIT_##name : 0)

/* Where the values of settings named in a reason are read. */
struct syn_chosen {
    const struct syn_settings_table *table;
    const void *options;
};

/* The traits of options whose "auto" values have been replaced. */
uint64_t syn_reducer_traits(const struct syn_reducer_options *options);

/* The traits of a layout: the policies of its tensors. */
uint64_t syn_layout_traits(const struct syn_layout *layout);

/* SYN_INVALID with the reason if some of these traits cannot be combined.
 *   chosen  [count] the reason's settings are looked up in this order */
enum syn_status syn_refuse(uint64_t traits, const struct syn_chosen *chosen, size_t count);

#endif
