/* Parameter servers, each of which owns a shard. Every worker starts with a different server
 * than its neighbour, so that none is flooded; a server that has received from all answers all
 * at once. */
#include "topology/rounds.h"

static void server_round(struct syn_members members, struct syn_round *round)
{
    struct syn_peers workers = {0, members.workers};
    if (round->is_collecting) {
        round->send = workers;
        round->sends_at_once = true;
    } else {
        round->receive = workers;
        round->adds = members.workers;
    }
}

bool syn_servers_rounds(struct syn_members members, size_t member, size_t number,
                        struct syn_round *round)
{
    round->parts = members.servers;
    round->is_collecting = number == 1;
    round->is_result = round->is_collecting;
    struct syn_peers servers = {members.workers + member % members.servers, members.servers};
    if (member >= members.workers)
        server_round(members, round);
    else if (round->is_collecting)
        round->receive = servers;
    else
        round->send = servers;
    return number < 2;
}
