/* What is going to happen, in the order of time: the clock of a simulation. */
#ifndef SYN_SIMULATE_EVENTS_H
#define SYN_SIMULATE_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

enum syn_event_kind {
    SYN_EVENT_COMPUTED, /* `to` has its gradient */
    SYN_EVENT_POSTED,   /* `to` has selected and coded; its exchange begins */
    SYN_EVENT_LEFT,     /* the last byte of a message should have left `from` by now */
    SYN_EVENT_DELIVERED,
    SYN_EVENT_ROUND_DONE, /* `to` has sent, received and merged all of its round */
    SYN_EVENT_SERVED      /* server `from` has worked off a push of worker `to` */
};

struct syn_event {
    double ms;
    uint64_t order; /* of events at the same time: first come, first served */
    uint32_t from;
    uint32_t to;
    uint32_t flow; /* that carries a message which should have left */
    enum syn_event_kind kind;
};

/* A zeroed struct has none. */
struct syn_events {
    struct syn_event *heap;
    size_t count;
    size_t room;
    struct syn_event *line; /* [line_room], a power of two; in order of time, from line_first on */
    size_t line_first;
    size_t line_count;
    size_t line_room;
    uint64_t order;
    bool is_short_of_memory; /* an event was lost; the simulation is void */
};

/* Add an event; its order is set here. */
void syn_events_add(struct syn_events *events, struct syn_event event);

/* Take out the earliest; false if there is none. */
bool syn_events_next(struct syn_events *events, struct syn_event *event);

void syn_events_free(struct syn_events *events);

#endif
