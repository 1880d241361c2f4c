/* Exchanges: how the workers' contributions to a bucket become one.
 *
 * An exchange runs on the communication thread and may block there; every wait is limited by the
 * group's time-out. All workers end with the same bits. What a merge or a rounding drops on the way
 * comes back in the outcome, to exactly one worker, so that nothing is lost.
 *
 * A contribution that is not finite marks the bucket as non-finite: the mark travels like data and
 * reaches every worker. */
#ifndef SYN_EXCHANGE_EXCHANGE_H
#define SYN_EXCHANGE_EXCHANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/table.h"
#include "codec/codec.h"
#include "select/select.h"
#include "tensor/kernels.h"
#include "tensor/list.h"
#include "topology/chunk.h"
#include "topology/rounds.h"
#include "transport/transport.h"

/* Who takes back what a merge drops. */
enum syn_putback {
    SYN_PUTBACK_MERGER, /* the lowest rank of the group being merged */
    SYN_PUTBACK_OWNER,  /* each worker its own share */
    SYN_PUTBACK_PAPER   /* each worker those of its own entries that the final list lacks: loses
                         * mass */
};

struct syn_exchange_setup {
    struct syn_group *group;
    size_t size;  /* of the largest bucket */
    size_t limit; /* most entries in any list */
    size_t whole; /* entries of the bucket that is always sent whole; 0: there is none */
    const struct syn_value_type *values;
    const struct syn_index_type *indices; /* NULL: the smallest */
    enum syn_putback putback;
    double keep; /* split: sums kept, in multiples of a list's limit; 0: all */
};

/* This worker's part of a bucket. */
struct syn_contribution {
    struct syn_packet_about about;
    size_t first;       /* where the bucket begins in the flat array */
    bool is_last;       /* bucket of its step */
    bool is_whole;      /* all of the bucket is sent in every step; exchanges must not drop sums */
    double lr;          /* of its step, for owners that update weights; 0: unknown */
    bool pulls;         /* they are to send the weights after its step */
    uint64_t attempt;   /* grows when steps in flight were dropped; see syn_reducer_collect() */
    const float *dense; /* [about.size]; for dense exchanges */
    double density;     /* for exchanges that follow it: below 1 there is a list; 0 means 1 */
    const struct syn_value_type *values; /* for the same exchanges; NULL: the setup's */
    struct syn_list list;  /* for sparse exchanges: what was sent, as receivers decode it */
    float scale;           /* the common magnitude, for values that need it */
    const uint8_t *packet; /* the list, encoded; unless the exchange encodes portions */
    size_t packet_bytes;
    bool is_nonfinite;        /* then the packet says so, and the list is empty */
    uint32_t nonfinite_entry; /* the first non-finite entry of the bucket in that case */
};

/* It is not known here which entry is not finite. */
#define SYN_ENTRY_UNKNOWN UINT32_MAX

struct syn_outcome {
    float *dense;            /* [about.size]; for dense exchanges */
    float *dense_dropped;    /* [about.size], set if values are not exact; may be the same array as
                              * the contribution's dense, which is read before */
    struct syn_list merged;  /* room for merged_most() */
    struct syn_list dropped; /* room for dropped_most(); indices in any order, may repeat */
    bool is_nonfinite;
    uint32_t nonfinite_entry; /* the first entry of the bucket that is not finite, on some worker */
    bool is_answered;         /* owners have sent the weights that were asked for */
    uint64_t staleness;       /* number of updates by others that they applied meanwhile */
};

struct syn_exchange_type {
    struct syn_part part;
    bool is_dense;          /* takes and returns dense arrays; otherwise lists */
    bool merges_on_the_way; /* sums travel, which values of one magnitude cannot represent */
    bool sees_own_merges;   /* every worker sees each merge of its own entries */
    bool encodes_portions;  /* takes the list unencoded, and returns what its own rounding
                             * removed */
    bool follows_density;   /* each contribution determines in what form it is sent: an array at
                             * density 1, below that a list, whose portions are encoded here */
    bool keeps_sums;        /* returns nothing: the sums stay with the owners, which apply them */

    /* Its messages. The exchange itself walks these rounds, and the simulator uses the same. */
    syn_rounds *rounds;

    /* Of those that follow the density: what picks the entries of their lists, and the exchange
     * that lists of at most that many entries take. */
    const struct syn_select_type *picks;
    const struct syn_exchange_type *(*lists_by)(size_t entries, size_t workers);

    /* (optional) The number of fragments in which a packet of that many bytes travels, for a bucket
     * of that size; 0: it is sent at once. Without this function all packets are. */
    size_t (*fragments)(size_t size, size_t workers, size_t packet_bytes);

    /* Bytes that the busiest worker theoretically sends, if each packet of a list has
     * packet_bytes. */
    double (*theory)(const struct syn_exchange_setup *setup, size_t packet_bytes);

    /* Maximum number of entries in the merged list, and in the dropped list, for exchanges of
     * lists. */
    size_t (*merged_most)(const struct syn_exchange_setup *setup);
    size_t (*dropped_most)(const struct syn_exchange_setup *setup);

    /* Allocate all memory. */
    enum syn_status (*open)(const struct syn_exchange_setup *setup, void **state);

    /* Exchange one bucket. Collective. On failure the group must be abandoned by the caller. */
    enum syn_status (*run)(void *state, const struct syn_contribution *in, struct syn_outcome *out);

    /* (optional, all or none) The two halves of run(), for owners that update weights in between.
     * own: the part of a bucket of that size whose sum this worker ends with. reduce: as run(), but
     * only that part of out->dense is the sum, and non-finite entries are not reported in out.
     * collect: assemble data, [size], from every worker's own part of it. */
    struct syn_chunk (*own)(const void *state, size_t size);
    enum syn_status (*reduce)(void *state, const struct syn_contribution *in,
                              struct syn_outcome *out);
    enum syn_status (*collect)(void *state, float *data, size_t size);

    /* (optional) What follows is smaller than before: return unused memory to the system. Nothing
     * is under way. */
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
 *   all  [workers][count]; this worker's own part is already filled in */
enum syn_status syn_exchange_gather(struct syn_group *group, size_t count, void *all);

/* Check that all workers have the same hash; if not, SYN_MISMATCH names one that differs from this
 * one.
 *   what  is compared, for the error message */
enum syn_status syn_exchange_compare(struct syn_group *group, uint64_t hash, const char *what);

/* Record that an entry is not finite; the lowest such entry is kept. */
void syn_outcome_mark_nonfinite(struct syn_outcome *out, uint32_t entry);

#endif
