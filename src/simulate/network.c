/* When a flow begins or ends, the flows on its two links become slower or faster, and their end
 * times change. An event for each of these would mean P * P events for P workers that send to one
 * server. Instead, one event is added for each of the two links, for the next flow to end there,
 * and only if that flow has no early enough event already. If flows have become slower in the
 * meantime, the event comes too early, and both links are examined again.
 *
 * That is enough. Whatever changes the end of a flow examines one of its links and ensures an event
 * for some flow of that link before any of them ends; handling the event examines both links of its
 * flow. So no flow's end is missed. */
#include "simulate/network.h"

#include <math.h>

/* The share of a message that counts as nothing. The rounding remainder of a message that ends now
 * would otherwise be slowed down by those that begin now, and members that run in step would drift
 * apart. */
#define NOTHING 1e-12

static struct syn_link *link_of(const struct syn_network *network, const struct syn_flow *flow,
                                enum syn_way way)
{
    return &network->links[way][flow->host[way]];
}

static double passed_ms(const struct syn_flow *flow, double now_ms)
{
    return flow->sharers > 0 ? (now_ms - flow->since_ms) / flow->sharers : 0;
}

/* Account for what has been sent until now. */
static void settle(struct syn_network *network, struct syn_flow *flow, double now_ms)
{
    double passed = passed_ms(flow, now_ms);
    flow->left_ms -= passed;
    flow->since_ms = now_ms;
    for (enum syn_way way = 0; way < SYN_WAYS; way++)
        link_of(network, flow, way)->busy_ms += passed;
}

/* Give the flow its share of its links as they are now. */
static void share(struct syn_network *network, struct syn_flow *flow, double now_ms)
{
    uint32_t out = link_of(network, flow, SYN_WAY_OUT)->count;
    uint32_t in = link_of(network, flow, SYN_WAY_IN)->count;
    uint32_t sharers = out > in ? out : in;
    if (sharers == flow->sharers)
        return;
    settle(network, flow, now_ms);
    flow->sharers = sharers;
    if (flow->left_ms > NOTHING * flow->length_ms)
        flow->end_ms = now_ms + flow->left_ms * sharers;
}

/* Add an event for the flow's end. Its later events are then ignored. */
static void ask_for(struct syn_network *network, uint32_t number)
{
    struct syn_flow *flow = &network->flows.all[number];
    flow->asked_ms = flow->end_ms;
    flow->asked_order = network->events->order;
    syn_events_add(network->events, (struct syn_event){.ms = flow->end_ms,
                                                       .kind = SYN_EVENT_LEFT,
                                                       .from = flow->host[SYN_WAY_OUT],
                                                       .to = flow->host[SYN_WAY_IN],
                                                       .flow = number});
}

/* Recompute the shares of the link and make sure that there is an event before any of its flows
 * ends. Of flows that end together, the oldest is first. */
static void look_at(struct syn_network *network, const struct syn_link *link, enum syn_way way,
                    double now_ms)
{
    struct syn_flow *all = network->flows.all;
    uint32_t next = link->first;
    for (uint32_t i = 0, at = link->first; i < link->count; i++, at = all[at].older[way]) {
        share(network, &all[at], now_ms);
        next = all[at].end_ms <= all[next].end_ms ? at : next;
    }
    if (link->count > 0 && all[next].asked_ms > all[next].end_ms)
        ask_for(network, next);
}

static void look_at_both(struct syn_network *network, uint32_t from, uint32_t to, double now_ms)
{
    look_at(network, &network->links[SYN_WAY_OUT][from], SYN_WAY_OUT, now_ms);
    look_at(network, &network->links[SYN_WAY_IN][to], SYN_WAY_IN, now_ms);
}

static double busy_ms(const struct syn_network *network, size_t host, enum syn_way way,
                      double now_ms)
{
    const struct syn_link *link = &network->links[way][host];
    const struct syn_flow *all = network->flows.all;
    double sum = link->busy_ms;
    for (uint32_t i = 0, at = link->first; i < link->count; i++, at = all[at].older[way])
        sum += passed_ms(&all[at], now_ms);
    return sum;
}

/* Update the burst that a link has saved up: its unused capacity, until the bucket is full. */
static struct syn_link *save_up(struct syn_network *network, uint32_t host, enum syn_way way,
                                double now_ms)
{
    struct syn_link *link = &network->links[way][host];
    double busy = busy_ms(network, host, way, now_ms);
    double pause_ms = now_ms - link->saved_at_ms - (busy - link->saved_busy_ms);
    link->saved_ms = fmin(network->burst_ms, link->saved_ms + pause_ms);
    link->saved_at_ms = now_ms;
    link->saved_busy_ms = busy;
    return link;
}

/* How much of a message passes at once. */
static double pass_at_once(struct syn_network *network, uint32_t from, uint32_t to,
                           double length_ms, double now_ms)
{
    if (network->burst_ms == 0)
        return 0;
    struct syn_link *out = save_up(network, from, SYN_WAY_OUT, now_ms);
    struct syn_link *in = save_up(network, to, SYN_WAY_IN, now_ms);
    double passes_ms = fmin(length_ms, fmin(out->saved_ms, in->saved_ms));
    out->saved_ms -= passes_ms;
    in->saved_ms -= passes_ms;
    return passes_ms;
}

void syn_network_send(struct syn_network *network, double now_ms, uint32_t from, uint32_t to,
                      double bytes)
{
    uint32_t number;
    double length_ms = bytes / network->bytes_per_ms;
    length_ms -= pass_at_once(network, from, to, length_ms, now_ms);
    if (!syn_flows_open(&network->flows, &number)) {
        network->events->is_short_of_memory = true;
        return;
    }
    struct syn_flow *flow = &network->flows.all[number];
    *flow = (struct syn_flow){.length_ms = length_ms,
                              .left_ms = length_ms,
                              .since_ms = now_ms,
                              .end_ms = now_ms,
                              .asked_ms = (double)INFINITY,
                              .host = {from, to}};
    for (enum syn_way way = 0; way < SYN_WAYS; way++)
        syn_flows_join(&network->flows, link_of(network, flow, way), way, number);
    look_at_both(network, from, to, now_ms);
}

static void end(struct syn_network *network, const struct syn_event *event)
{
    struct syn_flow *flow = &network->flows.all[event->flow];
    settle(network, flow, event->ms);
    for (enum syn_way way = 0; way < SYN_WAYS; way++)
        syn_flows_part(&network->flows, link_of(network, flow, way), way, event->flow);
    syn_flows_close(&network->flows, event->flow);
    syn_events_add(network->events, (struct syn_event){.ms = event->ms + network->latency_ms,
                                                       .kind = SYN_EVENT_DELIVERED,
                                                       .from = event->from,
                                                       .to = event->to});
}

bool syn_network_leave(struct syn_network *network, const struct syn_event *event)
{
    struct syn_flow *flow = &network->flows.all[event->flow];
    if (flow->asked_order != event->order)
        return false;
    bool has_left = flow->end_ms <= event->ms;
    flow->asked_ms = (double)INFINITY;
    if (has_left)
        end(network, event);
    look_at_both(network, event->from, event->to, event->ms);
    return has_left;
}

double syn_network_busiest(const struct syn_network *network, double now_ms)
{
    double most = 0;
    for (size_t i = 0; i < network->hosts; i++)
        for (enum syn_way way = 0; way < SYN_WAYS; way++)
            most = fmax(most, busy_ms(network, i, way, now_ms));
    return most;
}
