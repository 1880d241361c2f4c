/* Hosts, each connected by its own link to one switch, which is never the bottleneck. A message
 * under way is a flow: from its first byte to its last it occupies its sender's outgoing link and
 * its receiver's incoming link. A link is shared equally by its flows, as TCP tends to do, and a
 * flow is as fast as the more crowded of its two links allows; the capacity it leaves unused on the
 * other is not redistributed. The last byte arrives one latency after it was sent.
 *
 * A link whose rate is limited by a token bucket, as by tc's tbf and many providers, saves up
 * capacity while idle: that much of the next message passes at once. */
#ifndef SYN_SIMULATE_NETWORK_H
#define SYN_SIMULATE_NETWORK_H

#include "simulate/events.h"
#include "simulate/flows.h"

struct syn_network {
    struct syn_events *events;
    double latency_ms;
    double bytes_per_ms;
    double burst_ms; /* the most that a link saves up, as time at its rate */
    size_t hosts;
    struct syn_link *links[SYN_WAYS]; /* [hosts] each */
    struct syn_flows flows;
};

/* Start a message. SYN_EVENT_LEFT reports its end. */
void syn_network_send(struct syn_network *network, double now_ms, uint32_t from, uint32_t to,
                      double bytes);

/* Handle SYN_EVENT_LEFT. True if the message has really left; SYN_EVENT_DELIVERED then follows.
 * False if others slowed it down; another event will come. */
bool syn_network_leave(struct syn_network *network, const struct syn_event *event);

/* How long the busiest link has been in use; half of its capacity for twice as long counts the
 * same. */
double syn_network_busiest(const struct syn_network *network, double now_ms);

#endif
