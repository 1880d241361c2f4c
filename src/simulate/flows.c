/* Flows are kept in one array, and closed ones are reused before it grows: a simulation of millions
 * of messages has only a few flows per member at a time. The flows of a link form an intrusive
 * list, the newest first. */
#include "simulate/flows.h"

#include <stdlib.h>

static bool make_room(struct syn_flows *flows)
{
    if (flows->used < flows->room)
        return true;
    size_t room = flows->room ? 2 * flows->room : 1024;
    struct syn_flow *all = room < SYN_NO_FLOW ? realloc(flows->all, room * sizeof *all) : NULL;
    if (!all)
        return false;
    flows->all = all;
    flows->room = room;
    return true;
}

bool syn_flows_open(struct syn_flows *flows, uint32_t *number)
{
    if (flows->spares > 0) {
        *number = flows->spare;
        flows->spare = flows->all[*number].older[0];
        flows->spares--;
    } else if (make_room(flows)) {
        *number = (uint32_t)flows->used++;
    } else {
        return false;
    }
    return true;
}

void syn_flows_close(struct syn_flows *flows, uint32_t number)
{
    flows->all[number].older[0] = flows->spare;
    flows->spare = number;
    flows->spares++;
}

void syn_flows_join(struct syn_flows *flows, struct syn_link *link, enum syn_way way,
                    uint32_t number)
{
    struct syn_flow *flow = &flows->all[number];
    flow->older[way] = link->count > 0 ? link->first : SYN_NO_FLOW;
    flow->newer[way] = SYN_NO_FLOW;
    if (link->count > 0)
        flows->all[link->first].newer[way] = number;
    link->first = number;
    link->count++;
}

void syn_flows_part(struct syn_flows *flows, struct syn_link *link, enum syn_way way,
                    uint32_t number)
{
    const struct syn_flow *flow = &flows->all[number];
    if (flow->newer[way] == SYN_NO_FLOW)
        link->first = flow->older[way];
    else
        flows->all[flow->newer[way]].older[way] = flow->older[way];
    if (flow->older[way] != SYN_NO_FLOW)
        flows->all[flow->older[way]].newer[way] = flow->newer[way];
    link->count--;
}

void syn_flows_free(struct syn_flows *flows)
{
    free(flows->all);
}
