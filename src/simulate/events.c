/* A heap in which each event has four below it: half as deep as with two, and those four lie side
 * by side in memory. The order of adding breaks ties, so that a simulation is the same on every
 * machine. */
#include "simulate/events.h"

#include <stdlib.h>

#define BELOW 4

static bool is_before(const struct syn_event *one, const struct syn_event *other)
{
    return one->ms < other->ms || (one->ms == other->ms && one->order < other->order);
}

static bool make_room(struct syn_events *events)
{
    if (events->count < events->room)
        return true;
    size_t room = events->room ? 2 * events->room : 1024;
    struct syn_event *heap = realloc(events->heap, room * sizeof *heap);
    if (!heap)
        return false;
    events->heap = heap;
    events->room = room;
    return true;
}

void syn_events_add(struct syn_events *events, struct syn_event event)
{
    if (!make_room(events)) {
        events->is_short_of_memory = true;
        return;
    }
    struct syn_event *heap = events->heap;
    size_t at = events->count++;
    event.order = events->order++;
    while (at > 0 && is_before(&event, &heap[(at - 1) / BELOW])) {
        heap[at] = heap[(at - 1) / BELOW];
        at = (at - 1) / BELOW;
    }
    heap[at] = event;
}

/* The earliest of those right below a place, or count if there are none. */
static size_t earliest_below(const struct syn_events *events, size_t at)
{
    size_t first = BELOW * at + 1;
    size_t end = first + BELOW < events->count ? first + BELOW : events->count;
    if (first >= end)
        return events->count;
    size_t best = first;
    for (size_t i = first + 1; i < end; i++)
        best = is_before(&events->heap[i], &events->heap[best]) ? i : best;
    return best;
}

bool syn_events_next(struct syn_events *events, struct syn_event *event)
{
    if (events->count == 0)
        return false;
    struct syn_event *heap = events->heap;
    *event = heap[0];
    struct syn_event last = heap[--events->count];
    size_t at = 0;
    size_t child = earliest_below(events, at);
    while (child < events->count && is_before(&heap[child], &last)) {
        heap[at] = heap[child];
        at = child;
        child = earliest_below(events, at);
    }
    heap[at] = last;
    return true;
}

void syn_events_free(struct syn_events *events)
{
    free(events->heap);
}
