/* Which entries are sent. A selection does not read the sums itself: they are scanned, block by
 * block, for entries above its cutoff while they are computed, and it delivers a sorted list at the
 * end. Several lanes may work on separate ranges at the same time. */
#ifndef SYN_SELECT_SELECT_H
#define SYN_SELECT_SELECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <syncopate/reducer.h>

#include "base/table.h"
#include "tensor/kernels.h"
#include "tensor/list.h"

/* Most floats in one block. */
#define SYN_BLOCK 4096

/* The sums of a pass, for code that must read them again: kept + moved. */
struct syn_sums {
    const float *kept;  /* [size] */
    const float *moved; /* [size], or NULL: nothing */
};

/* The sums from entry `at` on, either in place or computed into `room`. */
static inline const float *syn_sums_block(const struct syn_sums *sums, size_t at, size_t count,
                                          float room[SYN_BLOCK])
{
    if (!sums->moved)
        return sums->kept + at;
    syn_kernels()->add(room, sums->kept + at, sums->moved + at, count);
    return room;
}

struct syn_select_type {
    struct syn_part part;

    /* Everything is sent, as one dense array; the functions below are NULL. */
    bool is_dense;

    /* It picks exactly the share given by the density, so the largest density bounds its memory. */
    bool takes_share;

    /* (optional) Find contradictions among its own settings. Ranges have been checked already. */
    enum syn_status (*check)(const struct syn_reducer_options *options);

    /* Most entries it may pick out of size at this density. */
    size_t (*limit)(const struct syn_reducer_options *options, size_t size, double density);

    /* Allocate memory to pick at most `most` entries out of `size`, on `lanes` lanes. */
    enum syn_status (*open)(const struct syn_reducer_options *options, size_t size, size_t most,
                            size_t lanes, void **state);

    /* A new pass begins, with at most limit picks, at this density.
     *   scans  [lanes] set to the scan of each lane's first block: its cutoff, and where found
     *          entries go */
    void (*begin)(void *state, size_t limit, double density, struct syn_scan *scans);

    /* A lane has scanned its block, of at most SYN_BLOCK entries: keep what was found, and make the
     * scan ready for its next one. Each lane's blocks come in ascending order, and lower lanes have
     * lower entries. Lanes may run in parallel. */
    void (*collect)(void *state, size_t lane, struct syn_scan *scan);

    /* Deliver the picks.
     *   sums    all of them, as computed; moved only if takes_sums_in_parts
     *   picked  room for limit */
    void (*finish)(void *state, const struct syn_sums *sums, struct syn_list *picked);
    bool takes_sums_in_parts;

    /* A magnitude that every entry picked in the last pass reaches; above 0 if there was any. */
    float (*threshold)(const void *state);

    /* (optional) The value, above 0, that the next pass depends on besides its sums, and a way to
     * restore it after a failed step or from a file. Without them it depends on nothing else. */
    float (*remember)(const void *state);
    void (*restore)(void *state, float remembered);

    /* (optional) Later passes will pick fewer entries than before: release unused memory. */
    void (*vacate)(void *state);

    void (*close)(void *state);
};

/* The table, and the row of a name. */
const struct syn_select_type *syn_select_row(size_t i);
const struct syn_select_type *syn_select_find(const char *name);
const char *syn_select_name(size_t i);

/* "fixed", "band", "target". */
const char *syn_threshold_mode_name(size_t i);

/* max(1, floor(density * size)), and 0 for size 0. */
size_t syn_select_share(double density, size_t size);

#endif
