/* Hosts, each behind a link of its own to one switch, which is never the bottleneck itself. A
 * message under way is a flow: from its first byte to its last it holds its sender's way out and
 * its receiver's way in. A link is shared equally by its flows, as TCP comes to share it, and a
 * flow is as fast as the more crowded of its two links lets it be; what it leaves unused of the
 * other is not handed on. The last byte is there one latency after it left.
 *
 * A link that is kept to its rate by a bucket of tokens, as tc's tbf and many providers do, saves
 * up in pauses: so much of the next message passes at once. */
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

/* Begin a message. SYN_EVENT_LEFT will tell of its end. */
void syn_network_send(struct syn_network *network, double now_ms, uint32_t from, uint32_t to,
                      double bytes);

/* Deal with SYN_EVENT_LEFT. True if the message has left indeed, in which case SYN_EVENT_DELIVERED
 * follows; false if others came in its way and the clock will tell again. */
bool syn_network_leave(struct syn_network *network, const struct syn_event *event);

/* How long the busiest link was in use until now; half of it for twice as long counts the same. */
double syn_network_busiest(const struct syn_network *network, double now_ms);

#endif
