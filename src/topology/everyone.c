/* All messages of a round at once, the right-hand neighbour's first: with contributions as they
 * are, one round; with an owner for each part of them, two. */
#include "topology/rounds.h"

static struct syn_peers others(struct syn_members members, size_t member)
{
    return (struct syn_peers){(member + 1) % members.workers, members.workers - 1};
}

bool syn_everyone_rounds(struct syn_members members, size_t member, size_t number,
                         struct syn_round *round)
{
    round->send = others(members, member);
    round->receive = round->send;
    round->parts = 1;
    round->adds = members.workers - 1;
    return number == 0 && members.workers > 1;
}

bool syn_owners_rounds(struct syn_members members, size_t member, size_t number,
                       struct syn_round *round)
{
    round->send = others(members, member);
    round->receive = round->send;
    round->parts = members.workers;
    round->is_result = number == 1;
    round->is_collecting = round->is_result;
    round->adds = round->is_result ? 0 : members.workers; /* the owner's own piece too */
    return number < 2 && members.workers > 1;
}
