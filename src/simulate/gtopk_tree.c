/* Lists are merged up a binomial tree to worker 0, and the result goes down the same tree: a worker
 * hears from those below it, hands up, hears the result, tells those below. */
#include "simulate/pattern.h"

/* The bit at which a worker hands up: its lowest set bit; for worker 0 one that is not below P. */
static size_t height(size_t member, size_t workers)
{
    size_t bit = 1;
    while (bit < workers && !(member & bit))
        bit *= 2;
    return bit;
}

/* Number of workers right below: one for each bit under `top` that leads to a worker. */
static size_t count_below(size_t member, size_t top, size_t workers)
{
    size_t count = 0;
    for (size_t bit = 1; bit < top; bit *= 2)
        count += member + bit < workers;
    return count;
}

static bool next_round(const struct syn_talk *talk, size_t member, size_t number,
                       struct syn_round *round)
{
    size_t top = height(member, talk->workers);
    size_t below = count_below(member, top, talk->workers);
    size_t middle = member == 0 ? 0 : 2; /* to the parent and back */
    round->bytes = talk->bytes;
    if (number < below) {
        round->receive = (struct syn_peers){member + ((size_t)1 << number), 1};
        round->work_ms = talk->merge_ms;
    } else if (number < below + middle) {
        struct syn_peers parent = {member - top, 1};
        if (number == below)
            round->send = parent;
        else
            round->receive = parent;
    } else if (number < 2 * below + middle) {
        size_t child = 2 * below + middle - 1 - number;
        round->send = (struct syn_peers){member + ((size_t)1 << child), 1};
    } else {
        return false;
    }
    return true;
}

const struct syn_pattern_type syn_pattern_gtopk_tree = {
    .part = {"gtopk-tree", "lists merged up a tree to worker 0, the result sent down again"},
    .round = next_round,
};
