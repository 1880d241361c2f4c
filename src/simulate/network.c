/* Links as queues: a message begins when the link is free, and holds it for its length. */
#include "simulate/network.h"

/* Returns when the message begins to pass. */
static double pass(struct syn_link *link, double now_ms, double length_ms)
{
    double begin = now_ms > link->free_ms ? now_ms : link->free_ms;
    link->free_ms = begin + length_ms;
    link->busy_ms += length_ms;
    return begin;
}

double syn_network_send(struct syn_network *network, double now_ms, uint32_t from, uint32_t to,
                        double bytes)
{
    struct syn_link *link = &network->out[from];
    double begin = pass(link, now_ms, bytes / network->bytes_per_ms);
    syn_events_add(network->events, (struct syn_event){.ms = begin + network->latency_ms,
                                                       .kind = SYN_EVENT_ARRIVES,
                                                       .from = from,
                                                       .to = to,
                                                       .bytes = bytes});
    return link->free_ms;
}

void syn_network_arrive(struct syn_network *network, const struct syn_event *event)
{
    struct syn_link *link = &network->in[event->to];
    struct syn_event delivered = *event;
    pass(link, event->ms, event->bytes / network->bytes_per_ms);
    delivered.ms = link->free_ms;
    delivered.kind = SYN_EVENT_DELIVERED;
    syn_events_add(network->events, delivered);
}

double syn_network_busiest(const struct syn_network *network)
{
    double most = 0;
    for (size_t i = 0; i < network->hosts; i++) {
        most = network->out[i].busy_ms > most ? network->out[i].busy_ms : most;
        most = network->in[i].busy_ms > most ? network->in[i].busy_ms : most;
    }
    return most;
}
