/* A binomial tree with worker 0 at its top: a worker receives from those below it, the nearest
 * first, sends up, receives the result and sends it to those below, the farthest first. */
#include "topology/rounds.h"

/* The bit at which a worker sends up: its lowest set bit; for worker 0, a power of two not below
 * P. */
static size_t height(size_t member, size_t workers)
{
    size_t bit = 1;
    while (bit < workers && !(member & bit))
        bit *= 2;
    return bit;
}

/* Number of workers directly below: one for each bit under `top` that leads to a worker. */
static size_t count_below(size_t member, size_t top, size_t workers)
{
    size_t count = 0;
    for (size_t bit = 1; bit < top; bit *= 2)
        count += member + bit < workers;
    return count;
}

bool syn_tree_rounds(struct syn_members members, size_t member, size_t number,
                     struct syn_round *round)
{
    size_t top = height(member, members.workers);
    size_t below = count_below(member, top, members.workers);
    size_t middle = member == 0 ? 0 : 2; /* to the parent and back */
    round->parts = 1;
    if (number >= 2 * below + middle)
        return false;
    if (number < below) {
        round->receive = (struct syn_peers){member + ((size_t)1 << number), 1};
        round->adds = 1;
        round->is_lowest = true;
        round->is_passed_on = true;
    } else if (number < below + middle) {
        struct syn_peers parent = {member - top, 1};
        round->is_collecting = number > below;
        round->is_passed_on = round->is_collecting;
        if (round->is_collecting)
            round->receive = parent;
        else
            round->send = parent;
    } else {
        size_t child = 2 * below + middle - 1 - number;
        round->send = (struct syn_peers){member + ((size_t)1 << child), 1};
        round->is_collecting = true;
    }
    return true;
}
