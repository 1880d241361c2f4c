/* All messages of a round are sent at once, the right-hand neighbour's first. Whole contributions
 * take one round or, if they are long, a pass around the ring for each; with an owner for each
 * part, there are two rounds. */
#include "topology/rounds.h"

static struct syn_peers others(struct syn_members members, size_t member)
{
    return (struct syn_peers){(member + 1) % members.workers, members.workers - 1};
}

/* The owner only sends, the last one only receives; those in between forward each fragment one
 * round after they receive it. */
static size_t passing_rounds(struct syn_members members, size_t member, size_t owner)
{
    bool is_last = owner == (member + 1) % members.workers;
    return members.fragments + (owner == member || is_last ? 0 : 1);
}

bool syn_passing_round(struct syn_members members, size_t member, size_t owner, size_t number,
                       struct syn_round *round)
{
    size_t workers = members.workers;
    size_t right = (member + 1) % workers;
    bool receives = owner != member && number < members.fragments;
    bool sends = owner == member || (owner != right && number > 0);
    if (sends)
        round->send = (struct syn_peers){right, 1};
    if (receives)
        round->receive = (struct syn_peers){(member + workers - 1) % workers, 1};
    round->parts = members.fragments;
    round->adds = receives && number + 1 == members.fragments ? members.fragments : 0;
    round->is_passed_on = receives && owner != right;
    return number < passing_rounds(members, member, owner) && workers > 1;
}

/* The number of rounds that belong to owners of lower ranks; two of the owners have one round
 * less. */
static size_t passing_begins(struct syn_members members, size_t member, size_t owner)
{
    size_t right = (member + 1) % members.workers;
    return owner * (members.fragments + 1) - (member < owner ? 1 : 0) - (right < owner ? 1 : 0);
}

/* The announcements, and then every worker's contribution. */
static bool announced_round(struct syn_members members, size_t member, size_t number,
                            struct syn_round *round)
{
    if (number == 0) {
        round->send = others(members, member);
        round->receive = round->send;
        round->parts = 1;
        round->is_head = true;
        return true;
    }
    number--;
    for (size_t owner = number / (members.fragments + 1); owner < members.workers; owner++) {
        size_t begin = passing_begins(members, member, owner);
        if (number - begin < passing_rounds(members, member, owner))
            return syn_passing_round(members, member, owner, number - begin, round);
    }
    return false;
}

bool syn_everyone_rounds(struct syn_members members, size_t member, size_t number,
                         struct syn_round *round)
{
    if (members.fragments > 0 && members.workers > 1)
        return announced_round(members, member, number, round);
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
    round->adds = round->is_result ? 0 : members.workers; /* the owner's own portion too */
    return number < 2 && members.workers > 1;
}
