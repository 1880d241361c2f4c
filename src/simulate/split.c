/* Pieces to their owners, then every owner's sums to everybody; each time all messages at once, the
 * right-hand neighbour's first. */
#include <math.h>

#include "simulate/pattern.h"

static bool next_round(const struct syn_talk *talk, size_t member, size_t number,
                       struct syn_round *round)
{
    size_t others = talk->workers - 1;
    double workers = (double)talk->workers;
    double result = fmin(talk->pull_bytes, workers * talk->bytes);
    if (number > 1 || others == 0)
        return false;
    round->send = (struct syn_peers){(member + 1) % talk->workers, others};
    round->receive = round->send;
    round->bytes = (number == 0 ? talk->bytes : result) / workers;
    round->work_ms = number == 0 ? talk->merge_ms : 0;
    return true;
}

const struct syn_pattern_type syn_pattern_split = {
    .part = {"split", "pieces of lists to their owners, and the owners' sums to every worker"},
    .round = next_round,
};
