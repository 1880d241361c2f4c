/* Packets in, one merged packet out: how the workers' contributions to a bucket become one.
 *
 * An exchange runs on the communication thread and may block there; every wait has the group's
 * time-out. All workers end with the same bits. What a merge or a rounding drops on its way comes
 * back in the outcome, to exactly one worker, so that nothing is lost.
 *
 * A contribution that is not finite marks the bucket as non-finite: the mark travels like data and
 * reaches everybody. */
#ifndef SYN_EXCHANGE_EXCHANGE_H
#define SYN_EXCHANGE_EXCHANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/table.h"
#include "codec/codec.h"
#include "tensor/kernels.h"
#include "tensor/list.h"
#include "topology/chunk.h"
#include "topology/rounds.h"
#include "transport/transport.h"

/* Who takes back what a merge drops. */
enum syn_putback {
    SYN_PUTBACK_MERGER, /* the lowest rank of the group being merged */
    SYN_PUTBACK_OWNER,  /* everyone its own share */
    SYN_PUTBACK_PAPER /* everyone those of its own entries that the final list lacks: loses mass */
};

struct syn_exchange_setup {
    struct syn_group *group;
    size_t size;  /* of the largest bucket */
    size_t limit; /* most entries in any list */
    const struct syn_value_type *values;
    const struct syn_index_type *indices; /* NULL: the smallest */
    enum syn_putback putback;
    double keep; /* split: sums kept, in multiples of a list's limit; 0: all */
};

/* This worker's part of a bucket. */
struct syn_contribution {
    struct syn_packet_about about;
    size_t first;       /* where the bucket begins in the whole space */
    bool is_last;       /* bucket of its step */
    double lr;          /* of its step, for owners who update weights; 0: unknown */
    bool pulls;         /* the weights after its step are wanted of them */
    uint64_t attempt;   /* grows when steps in flight were dropped; see syn_reducer_collect() */
    const float *dense; /* [about.size]; for dense exchanges */
    double density;     /* for those that follow it; 0: 1 */
    const struct syn_value_type *values; /* the same; NULL: the setup's */
    struct syn_list list;  /* for sparse ones: what was sent, as receivers decode it */
    float scale;           /* the one magnitude, for values that need it */
    const uint8_t *packet; /* the same, encoded; unless the exchange encodes portions */
    size_t packet_bytes;
    bool is_nonfinite;        /* then the packet says so, and the list is empty */
    uint32_t nonfinite_entry; /* the first entry of the bucket that is not finite then */
};

/* The entry that is not finite is not known here. */
#define SYN_ENTRY_UNKNOWN UINT32_MAX

struct syn_outcome {
    float *dense;            /* [about.size]; for dense exchanges */
    float *dense_dropped;    /* [about.size], set if values are not exact; may be where the
                                contribution's dense is, which is read before */
    struct syn_list merged;  /* room for merged_most() */
    struct syn_list dropped; /* room for dropped_most(); indices in any order, may repeat */
    bool is_nonfinite;
    uint32_t nonfinite_entry; /* the first entry of the bucket that is not finite, on some worker */
    bool is_answered;         /* owners have sent the weights that were wanted */
    uint64_t staleness;       /* how many updates of others they had seen meanwhile */
};

struct syn_exchange_type {
    struct syn_part part;
    bool is_dense;          /* takes and gives dense arrays; else lists */
    bool merges_on_the_way; /* sums travel, which values of one magnitude cannot hold */
    bool sees_own_merges;   /* every worker sees each merge of its own entries */
    bool encodes_portions;  /* takes the list as it is, and gives back what its own rounding took */
    bool follows_density;   /* each contribution says how much of it may be sent, and in what form;
                             * what is not sent comes back as dropped */
    bool keeps_sums;        /* nothing comes out: the sums stay with others, who apply them */

    /* Its messages. The exchange walks these rounds itself, and the simulator has no others. */
    syn_rounds *rounds;

    /* (optional) How many fragments a packet of that many bytes goes in, of a bucket of that size;
     * 0: it is sent at once. Without it all are. */
    size_t (*fragments)(size_t size, size_t workers, size_t packet_bytes);

    /* Bytes that the busiest worker sends in theory, if each packet of a list has packet_bytes. */
    double (*theory)(const struct syn_exchange_setup *setup, size_t packet_bytes);

    /* Most entries that can come out, and come back. (sparse only) */
    size_t (*merged_most)(const struct syn_exchange_setup *setup);
    size_t (*dropped_most)(const struct syn_exchange_setup *setup);

    /* Take all memory. */
    enum syn_status (*open)(const struct syn_exchange_setup *setup, void **state);

    /* Exchange one bucket. Collective. On failure the group must be abandoned by the caller. */
    enum syn_status (*run)(void *state, const struct syn_contribution *in, struct syn_outcome *out);

    /* (optional, all or none) The two halves of run() apart, for owners who update weights in
     * between. own: the part of a bucket of that size whose sum this worker is left with. reduce:
     * as run(), but only that part of out->dense is the sum, and out says nothing of entries that
     * are not finite. collect: make data, [size], of everyone's own part of it. */
    struct syn_chunk (*own)(const void *state, size_t size);
    enum syn_status (*reduce)(void *state, const struct syn_contribution *in,
                              struct syn_outcome *out);
    enum syn_status (*collect)(void *state, float *data, size_t size);

    /* (optional) What follows is smaller than before: give back what is only room. Nothing is under
     * way. */
    void (*vacate)(void *state);

    void (*close)(void *state);
};

const struct syn_exchange_type *syn_exchange_row(size_t i);
const struct syn_exchange_type *syn_exchange_find(const char *name);
const char *syn_exchange_name(size_t i);

/* "auto", "merger", "owner", "paper". */
const char *syn_putback_name(size_t i);

/* The putback of a name; false, and nothing set, for "auto". */
bool syn_putback_find(const char *name, enum syn_putback *putback);

/* Send to one worker and receive from another (or the same), at once, and wait for both.
 *   came  bytes received */
enum syn_status syn_exchange_swap(struct syn_group *group, size_t to, const void *going,
                                  size_t going_bytes, size_t from, void *coming, size_t room,
                                  size_t *came);

/* All-gather of a few bytes around the ring.
 *   all  [workers][count]; this worker's own part is there already */
enum syn_status syn_exchange_gather(struct syn_group *group, size_t count, void *all);

/* Find out whether all workers have the same hash, and if not, who differs from this one:
 * SYN_MISMATCH.
 *   what  is compared, for the complaint */
enum syn_status syn_exchange_compare(struct syn_group *group, uint64_t hash, const char *what);

/* Note that an entry is not finite; the smallest such entry stays. */
void syn_outcome_mark_nonfinite(struct syn_outcome *out, uint32_t entry);

#endif
