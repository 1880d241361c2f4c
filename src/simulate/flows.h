/* The flows under way, and which of them each link carries. */
#ifndef SYN_SIMULATE_FLOWS_H
#define SYN_SIMULATE_FLOWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SYN_NO_FLOW UINT32_MAX

enum syn_way { SYN_WAY_OUT, SYN_WAY_IN, SYN_WAYS };

/* A message that is being sent. Alone on a link, it takes its bytes / bandwidth. */
struct syn_flow {
    double length_ms;         /* of the whole message, alone on a link */
    double left_ms;           /* of the part not yet sent at since_ms */
    double since_ms;          /* when `sharers` last changed */
    double end_ms;            /* if `sharers` does not change again */
    double asked_ms;          /* when the clock will check it; INFINITY: never */
    uint64_t asked_order;     /* the order of the event that checks it */
    uint32_t sharers;         /* it has 1/sharers of a link; 0: not shared yet */
    uint32_t host[SYN_WAYS];  /* its sender and its receiver */
    uint32_t older[SYN_WAYS]; /* the previous flow on the same link */
    uint32_t newer[SYN_WAYS]; /* the next one */
};

/* One direction of a host's link. */
struct syn_link {
    uint32_t first; /* the newest of its flows */
    uint32_t count;
    double busy_ms;     /* over the simulation; partial use counts as a fraction */
    double saved_ms;    /* burst available, as time at its rate */
    double saved_at_ms; /* when that was computed, and busy_ms at that time */
    double saved_busy_ms;
};

/* A zeroed struct has no flows. Flows are identified by number, as growing moves them. */
struct syn_flows {
    struct syn_flow *all; /* [room] */
    size_t room;
    size_t used;    /* flows from here on were never open */
    uint32_t spare; /* the first closed flow, linked by older[0] */
    size_t spares;  /* how many are closed */
};

/* Open a flow, for the caller to fill in. False if out of memory. */
bool syn_flows_open(struct syn_flows *flows, uint32_t *number);

/* Close a flow; its number may be reused. */
void syn_flows_close(struct syn_flows *flows, uint32_t number);

/* Add a flow to a link, and remove it. */
void syn_flows_join(struct syn_flows *flows, struct syn_link *link, enum syn_way way,
                    uint32_t number);
void syn_flows_part(struct syn_flows *flows, struct syn_link *link, enum syn_way way,
                    uint32_t number);

void syn_flows_free(struct syn_flows *flows);

#endif
