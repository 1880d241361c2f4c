/* Hosts, each behind a link of its own to one switch. What a host sends queues at its link, and so
 * does what it receives; a message takes latency and then bytes / bandwidth, the sending and the
 * receiving link being busy at once, as when a switch passes on packets while the rest of a message
 * still comes in. The switch itself is never the bottleneck. */
#ifndef SYN_SIMULATE_NETWORK_H
#define SYN_SIMULATE_NETWORK_H

#include "simulate/events.h"

/* One direction of a host's link. */
struct syn_link {
    double free_ms; /* when what is queued will have passed */
    double busy_ms; /* over the simulation */
};

struct syn_network {
    struct syn_events *events;
    double latency_ms;
    double bytes_per_ms;
    size_t hosts;
    struct syn_link *out; /* [hosts] */
    struct syn_link *in;  /* [hosts] */
};

/* Queue a message at its sender's link. SYN_EVENT_ARRIVES will be there when its head has crossed.
 * Returns when its last byte has left. */
double syn_network_send(struct syn_network *network, double now_ms, uint32_t from, uint32_t to,
                        double bytes);

/* The head of a message is there: queue it at its receiver's link. SYN_EVENT_DELIVERED follows. */
void syn_network_arrive(struct syn_network *network, const struct syn_event *event);

/* How long the busiest link was in use. */
double syn_network_busiest(const struct syn_network *network);

#endif
