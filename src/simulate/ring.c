/* Dense all-reduce: P - 1 rounds of partial sums to the right-hand neighbour, then as many that
 * tell the result; without those it is a reduce-scatter. Each round moves one of P chunks. */
#include "simulate/pattern.h"

static bool next_round(const struct syn_talk *talk, size_t member, size_t number,
                       struct syn_round *round)
{
    size_t workers = talk->workers;
    size_t sums = workers - 1;
    if (number >= (talk->pulls ? 2 * sums : sums))
        return false;
    round->send = (struct syn_peers){(member + 1) % workers, 1};
    round->receive = (struct syn_peers){(member + workers - 1) % workers, 1};
    round->bytes = talk->bytes / (double)workers;
    round->work_ms = number < sums ? talk->merge_ms / (double)workers : 0;
    return true;
}

const struct syn_pattern_type syn_pattern_ring = {
    .part = {"ring", "chunks around a ring: reduce-scatter, then all-gather"},
    .round = next_round,
};
