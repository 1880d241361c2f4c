/* Future events in order of time: the clock of a simulation. */
#ifndef SYN_SIMULATE_EVENTS_H
#define SYN_SIMULATE_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

enum syn_event_kind {
    SYN_EVENT_COMPUTED, /* `to` has its gradient */
    SYN_EVENT_POSTED,   /* `to` has selected and encoded; its exchange begins */
    SYN_EVENT_LEFT,     /* the last byte of a message should have left `from` by now */
    SYN_EVENT_DELIVERED,
    SYN_EVENT_ROUND_DONE, /* `to` has sent, received and merged all of its round */
    SYN_EVENT_SERVED      /* server `from` has processed a push of worker `to` */
};

struct syn_event {
    double ms;
    uint64_t order; /* among events at the same time, the first added is first */
    uint32_t from;
    uint32_t to;
    uint32_t flow; /* of the message that should have left */
    enum syn_event_kind kind;
};

/* A zeroed struct has no events. */
struct syn_events {
    struct syn_event *heap;
    size_t count;
    size_t room;
    struct syn_event *line; /* queue of [line_room], a power of two, in order from line_first on */
    size_t line_first;
    size_t line_count;
    size_t line_room;
    uint64_t order;
    bool is_short_of_memory; /* an event was lost; the simulation is invalid */
};

/* Add an event; its order is set here. */
void syn_events_add(struct syn_events *events, struct syn_event event);

/* Remove the earliest event; false if there is none. */
bool syn_events_next(struct syn_events *events, struct syn_event *event);

void syn_events_free(struct syn_events *events);

#endif
