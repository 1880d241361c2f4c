/* Parameter servers: each holds a shard. Every worker pushes a part to each of them, beginning with
 * another one than its neighbour, so that none is flooded; a server that has heard all adds them
 * up, and answers all at once if the result is wanted. */
#include "simulate/pattern.h"

static bool server_round(const struct syn_talk *talk, size_t number, struct syn_round *round)
{
    struct syn_peers workers = {0, talk->workers};
    double servers = (double)talk->servers;
    if (number == 0) {
        round->receive = workers;
        round->work_ms = talk->merge_ms * (double)talk->workers / servers;
        return true;
    }
    round->send = workers;
    round->sends_at_once = true;
    round->bytes = talk->pull_bytes / servers;
    return number == 1 && talk->pulls;
}

static bool next_round(const struct syn_talk *talk, size_t member, size_t number,
                       struct syn_round *round)
{
    if (member >= talk->workers)
        return server_round(talk, number, round);
    struct syn_peers servers = {talk->workers + member % talk->servers, talk->servers};
    if (number == 0) {
        round->send = servers;
        round->bytes = talk->bytes / (double)talk->servers;
        return true;
    }
    round->receive = servers;
    return number == 1 && talk->pulls;
}

const struct syn_pattern_type syn_pattern_servers = {
    .part = {"servers", "a shard of every gradient to each server, the weights back from them"},
    .round = next_round,
};
