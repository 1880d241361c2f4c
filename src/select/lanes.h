/* The lists that the lanes of a pass collect in, and the search for the largest entries in one of
 * them: whenever the list is full, it is cut down to the limit, and later entries must exceed the
 * smallest that is left. Entries come in ascending order, so that among equal magnitudes the
 * smaller index is kept. */
#ifndef SYN_SELECT_LANES_H
#define SYN_SELECT_LANES_H

#include "select/select.h"

struct syn_lane {
    struct syn_list list;
    size_t found; /* entries it held before it was last cut down */
};

/* Room for that many entries in each lane's list; a block more is added.
 *   lanes  set to zero by the caller
 *   joins  at the end the first lane's list receives all the others */
enum syn_status syn_lanes_open(struct syn_lane *lanes, size_t count, size_t room, bool joins);
void syn_lanes_close(struct syn_lane *lanes, size_t count);
void syn_lanes_vacate(struct syn_lane *lanes, size_t count);

/* Empty a lane's list. Returns the scan of its first block. */
struct syn_scan syn_lane_begin(struct syn_lane *lane, uint32_t cutoff);

/* A block has been scanned: keep what was found, and make the scan ready for the next one. */
void syn_lane_collect(struct syn_lane *lane, struct syn_scan *scan);

/* The same, for a list that only has to hold its `limit` largest entries. */
void syn_lane_collect_largest(struct syn_lane *lane, size_t limit, struct syn_scan *scan);

/* Collect the `limit` largest of all sums above a cutoff, and perhaps more. Returns the largest
 * magnitude. */
uint32_t syn_lane_search(struct syn_lane *lane, const struct syn_sums *sums, size_t size,
                         size_t limit, uint32_t cutoff);

#endif
