/* A heap in which each event has four children: half as deep as with two, and the four are adjacent
 * in memory. In addition there is a queue for events that are not before its last one. When members
 * run in step, as in a ring, that is nearly all of them, and they cost no search. Ties are broken
 * by the order of adding, so that a simulation is the same on every machine. */
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

static struct syn_event *in_line(const struct syn_events *events, size_t i)
{
    return &events->line[(events->line_first + i) & (events->line_room - 1)];
}

static bool make_room_in_line(struct syn_events *events)
{
    if (events->line_count < events->line_room)
        return true;
    size_t room = events->line_room ? 2 * events->line_room : 1024;
    struct syn_event *line = malloc(room * sizeof *line);
    if (!line)
        return false;
    for (size_t i = 0; i < events->line_count; i++)
        line[i] = *in_line(events, i);
    free(events->line);
    events->line = line;
    events->line_first = 0;
    events->line_room = room;
    return true;
}

static bool add_to_line(struct syn_events *events, const struct syn_event *event)
{
    if (!make_room_in_line(events))
        return false;
    *in_line(events, events->line_count++) = *event;
    return true;
}

static bool add_to_heap(struct syn_events *events, struct syn_event event)
{
    if (!make_room(events))
        return false;
    struct syn_event *heap = events->heap;
    size_t at = events->count++;
    while (at > 0 && is_before(&event, &heap[(at - 1) / BELOW])) {
        heap[at] = heap[(at - 1) / BELOW];
        at = (at - 1) / BELOW;
    }
    heap[at] = event;
    return true;
}

void syn_events_add(struct syn_events *events, struct syn_event event)
{
    size_t waiting = events->line_count;
    bool is_last = waiting == 0 || event.ms >= in_line(events, waiting - 1)->ms;
    event.order = events->order++;
    if (!(is_last ? add_to_line(events, &event) : add_to_heap(events, event)))
        events->is_short_of_memory = true;
}

/* The earliest of the children of a node, or count if it has none. */
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

static void take_from_heap(struct syn_events *events, struct syn_event *event)
{
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
}

bool syn_events_next(struct syn_events *events, struct syn_event *event)
{
    if (events->count + events->line_count == 0)
        return false;
    bool is_in_line = events->count == 0 ||
                      (events->line_count > 0 && is_before(in_line(events, 0), &events->heap[0]));
    if (!is_in_line) {
        take_from_heap(events, event);
        return true;
    }
    *event = *in_line(events, 0);
    events->line_first++;
    events->line_count--;
    return true;
}

void syn_events_free(struct syn_events *events)
{
    free(events->heap);
    free(events->line);
}
