/* The members of a simulated cluster, and how they go through the rounds of an exchange. */
#ifndef SYN_SIMULATE_MEMBER_H
#define SYN_SIMULATE_MEMBER_H

#include <syncopate/random.h>
#include <syncopate/simulate.h>

#include "simulate/network.h"
#include "simulate/pattern.h"

struct syn_member {
    struct syn_random random;
    struct syn_round round; /* under way */
    size_t round_number;
    size_t left;           /* messages of the round that were sent; the next is being sent */
    size_t missing;        /* messages of the round not received yet */
    uint64_t exchanges;    /* finished */
    uint64_t steps;        /* gradients computed */
    double step_ms;        /* when the last of `steps` was contributed */
    double server_free_ms; /* asynchronous servers: when they will be idle */
    double bytes_out;
    bool is_exchanging;
    bool is_waiting; /* the worker waits for the current exchange to end */
};

/* (optional) A callback for every message, when it starts to be sent. */
struct syn_watch {
    void (*sent)(void *context, size_t from, size_t to, double bytes);
    void *context;
};

/* A simulation under way. */
struct syn_scene {
    const struct syn_cluster *cluster;
    const struct syn_traffic *traffic;
    struct syn_pattern pattern;
    struct syn_members group;
    struct syn_watch watch;
    struct syn_events events;
    struct syn_network network;
    size_t count;               /* members: workers, then servers */
    struct syn_member *members; /* [count] */
    int16_t *balance;           /* [count][count] messages that arrived from a peer before they were
                                 * waited for; -1: one is waited for */
};

/* As syn_simulate(), with a watch. */
enum syn_status syn_simulate_watched(const struct syn_cluster *cluster,
                                     const struct syn_traffic *traffic, struct syn_watch watch,
                                     struct syn_simulation *result);

/* Begin the member's next exchange. */
void syn_member_begin(struct syn_scene *scene, size_t member, double now_ms);

/* Handle the events of messages: LEFT if a message has really left, DELIVERED and ROUND_DONE.
 *   has_ended  set if that was the last round of the member's exchange */
void syn_member_leave(struct syn_scene *scene, const struct syn_event *event);
void syn_member_deliver(struct syn_scene *scene, const struct syn_event *event);
void syn_member_go_on(struct syn_scene *scene, const struct syn_event *event, bool *has_ended);

#endif
