/* The flows under way, and which of them each link carries. */
#ifndef SYN_SIMULATE_FLOWS_H
#define SYN_SIMULATE_FLOWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SYN_NO_FLOW UINT32_MAX

enum syn_way { SYN_WAY_OUT, SYN_WAY_IN, SYN_WAYS };

/* A message that is leaving. Times in which it has a link to itself are its bytes / bandwidth. */
struct syn_flow {
    double length_ms;         /* of the whole message, with a link to itself */
    double left_ms;           /* of what had not left at since_ms */
    double since_ms;          /* when `sharers` last changed */
    double end_ms;            /* if it does not change again */
    double asked_ms;          /* when the clock is going to ask for it; INFINITY: is not */
    uint64_t asked_order;     /* the order of the event that asks */
    uint32_t sharers;         /* it has one part in so many of a link; 0: none yet */
    uint32_t host[SYN_WAYS];  /* who sends it, who receives it */
    uint32_t older[SYN_WAYS]; /* the next on the same link, begun before it */
    uint32_t newer[SYN_WAYS]; /* and after it */
};

/* One direction of a host's link. */
struct syn_link {
    uint32_t first; /* of its flows, the one that began last */
    uint32_t count;
    double busy_ms;     /* over the simulation, with what was in use of it as a share */
    double saved_ms;    /* what may pass at once, as time at its rate */
    double saved_at_ms; /* when that was reckoned, and busy_ms then */
    double saved_busy_ms;
};

/* A zeroed struct has no flows. They are known by number: growing moves them. */
struct syn_flows {
    struct syn_flow *all; /* [room] */
    size_t room;
    size_t used;    /* those from here on were never open */
    uint32_t spare; /* the first of those that are closed, by older[0] */
    size_t spares;  /* how many are closed */
};

/* Open a flow, for the caller to fill in. False without memory. */
bool syn_flows_open(struct syn_flows *flows, uint32_t *number);

/* Its number may be given to another. */
void syn_flows_close(struct syn_flows *flows, uint32_t number);

/* Put a flow on a link, and take it off. */
void syn_flows_join(struct syn_flows *flows, struct syn_link *link, enum syn_way way,
                    uint32_t number);
void syn_flows_part(struct syn_flows *flows, struct syn_link *link, enum syn_way way,
                    uint32_t number);

void syn_flows_free(struct syn_flows *flows);

#endif
