/* Recursive doubling among the largest power of two of workers, in log2 of that many rounds; each
 * of the others, a guest, has a partner among them that represents it. */
#include "topology/rounds.h"

/* A guest sends its list and waits for the result. */
static bool guest_round(size_t partner, size_t number, struct syn_round *round)
{
    struct syn_peers one = {partner, 1};
    round->is_collecting = number == 1;
    if (round->is_collecting)
        round->receive = one;
    else
        round->send = one;
    return number < 2;
}

bool syn_doubling_rounds(struct syn_members members, size_t member, size_t number,
                         struct syn_round *round)
{
    size_t inner = syn_power_within(members.workers);
    bool has_guest = member + inner < members.workers;
    struct syn_peers guest = {member + inner, 1};
    round->parts = 1;
    if (member >= inner)
        return guest_round(member - inner, number, round);
    if (has_guest && number == 0) {
        round->receive = guest;
        round->adds = 1;
        round->is_lowest = true;
        round->is_passed_on = true;
        return true;
    }
    size_t bit = (size_t)1 << (number - (has_guest ? 1 : 0));
    if (bit < inner) {
        round->send = (struct syn_peers){member ^ bit, 1};
        round->receive = round->send;
        round->adds = 1;
        round->is_lowest = (member & (2 * bit - 1)) == 0;
        round->is_passed_on = 2 * bit < inner || inner < members.workers;
        return true;
    }
    round->send = guest;
    round->is_collecting = true;
    return has_guest && bit == inner;
}
