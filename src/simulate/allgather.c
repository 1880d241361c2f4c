/* Every list to every worker, all sent at once, the right-hand neighbour's first. */
#include "simulate/pattern.h"

static bool next_round(const struct syn_talk *talk, size_t member, size_t number,
                       struct syn_round *round)
{
    size_t others = talk->workers - 1;
    if (number > 0 || others == 0)
        return false;
    round->send = (struct syn_peers){(member + 1) % talk->workers, others};
    round->receive = round->send;
    round->bytes = talk->bytes;
    round->work_ms = talk->merge_ms * (double)others;
    return true;
}

const struct syn_pattern_type syn_pattern_allgather = {
    .part = {"allgather", "every worker's list to every worker"},
    .round = next_round,
};
