/* Recursive doubling: in round j each worker swaps lists with the one whose rank differs in bit j.
 * Workers beyond the largest power of two fold into a partner first and hear from it in the end. */
#include "simulate/pattern.h"

static size_t power_within(size_t workers)
{
    size_t power = 1;
    while (power * 2 <= workers)
        power *= 2;
    return power;
}

/* A worker that folds: hands its list over, waits for the result. */
static bool folded_round(const struct syn_talk *talk, size_t partner, size_t number,
                         struct syn_round *round)
{
    struct syn_peers one = {partner, 1};
    round->bytes = talk->bytes;
    if (number == 0)
        round->send = one;
    else
        round->receive = one;
    return number < 2;
}

static bool next_round(const struct syn_talk *talk, size_t member, size_t number,
                       struct syn_round *round)
{
    size_t inner = power_within(talk->workers);
    bool has_guest = member + inner < talk->workers;
    struct syn_peers guest = {member + inner, 1};
    if (member >= inner)
        return folded_round(talk, member - inner, number, round);
    round->bytes = talk->bytes;
    if (has_guest && number == 0) {
        round->receive = guest;
        round->work_ms = talk->merge_ms;
        return true;
    }
    size_t bit = (size_t)1 << (number - (has_guest ? 1 : 0));
    if (bit < inner) {
        round->send = (struct syn_peers){member ^ bit, 1};
        round->receive = round->send;
        round->work_ms = talk->merge_ms;
        return true;
    }
    round->send = guest;
    return has_guest && bit == inner;
}

const struct syn_pattern_type syn_pattern_gtopk = {
    .part = {"gtopk", "lists merged pairwise by recursive doubling"},
    .round = next_round,
};
