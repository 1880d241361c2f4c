/* P - 1 rounds of partial sums to the right-hand neighbour, then as many with the whole sums;
 * without those it is a reduce-scatter. Each round moves one of P parts. */
#include "topology/rounds.h"

bool syn_ring_rounds(struct syn_members members, size_t member, size_t number,
                     struct syn_round *round)
{
    size_t workers = members.workers;
    size_t sums = workers - 1;
    round->send = (struct syn_peers){(member + 1) % workers, 1};
    round->receive = (struct syn_peers){(member + workers - 1) % workers, 1};
    round->parts = workers;
    round->adds = number < sums ? 1 : 0;
    round->is_collecting = number >= sums;
    return number < 2 * sums;
}
