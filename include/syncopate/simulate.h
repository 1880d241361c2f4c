/* What a method would cost on a cluster that one does not have: a simulation of its messages, event
 * by event. Flows share links, workers vary, servers saturate; docs/simulate.md says what is
 * modelled and how far it can be trusted.
 *
 *     struct syn_cluster cluster = {.workers = 64, .latency_ms = 0.05, .bytes_per_ms = 125000,
 *                                   .compute_ms = 90};
 *     syn_worker_defaults(&options);
 *     syn_recipe_apply_worker("gtopk", &options);
 *     syn_traffic_of(&options, 431080, 0, &traffic);
 *     syn_simulate(&cluster, &traffic, &result);                  ... result.step_ms ... */
#ifndef SYNCOPATE_SIMULATE_H
#define SYNCOPATE_SIMULATE_H

#include <stddef.h>
#include <stdint.h>

#include <syncopate/status.h>
#include <syncopate/worker.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Machines and what joins them. */
struct syn_cluster {
    size_t workers;      /* at least 1 */
    size_t servers;      /* parameter servers on hosts of their own; 0 for none */
    double latency_ms;   /* of a message of no bytes, from one host to another */
    double bytes_per_ms; /* of each host's link, each way */
    double burst_ms; /* what a link saves up in a pause to let pass at once, in time at its rate */
    double compute_ms; /* forward, backward and update of one worker; the mean */
    double jitter;     /* standard deviation of that from step to step, as a share of it */
    uint64_t seed;     /* of the jitter */
    uint64_t steps;    /* to take the mean of, after as many as are needed to settle; 0: some */
};

enum syn_timing {
    SYN_TIMING_SYNC,    /* a worker waits for the result of each step */
    SYN_TIMING_DELAYED, /* it goes on, and waits when the next step is to be handed over */
    SYN_TIMING_ASYNC    /* it waits for the servers' answer, but nobody waits for other workers */
};

/* What a method sends, and when it waits. */
struct syn_traffic {
    const char *pattern; /* an exchange, or "servers" */
    bool is_reduced;     /* workers add up dense arrays for one another, as in a ring */
    enum syn_timing timing;
    uint64_t every;      /* an exchange in every so many steps; 0 or 1: in each */
    uint64_t pull_every; /* ring and servers: the result is told in every so many steps; 1: all */
    double bytes;        /* of one worker's whole contribution */
    double pull_bytes;   /* servers, split: of the whole result */
    double select_ms;    /* residual, selection and coding, before the exchange can begin */
    double merge_ms;     /* adding one whole contribution to another */
    size_t params;       /* of the model, by which long packets are known; 0: there are none */
};

/* What a worker with these options sends of a model of that many parameters, and an estimate of the
 * work it has with it: 0.6 ns for each parameter it selects from, 10 ns for each entry and 0.5 ns
 * for each value of a dense array it adds. Replace what you know better.
 *   servers  0: peer to peer */
enum syn_status syn_traffic_of(const struct syn_worker_options *options, size_t params,
                               size_t servers, struct syn_traffic *traffic);

/* As syn_traffic_of(), and if the options leave the density open, what fits on that cluster: the
 * most with which a step is no longer than computing and the options' overhead; else the least. */
enum syn_status syn_traffic_fit(const struct syn_worker_options *options, size_t params,
                                const struct syn_cluster *cluster, struct syn_traffic *traffic);

struct syn_simulation {
    double step_ms;      /* mean over the steps and workers */
    double efficiency;   /* compute_ms / step_ms: the share of perfect scaling */
    double bytes_out;    /* of the worker that sends most, per step */
    double busiest_link; /* share of the time that the busiest link is in use */
};

/* Simulate. Same arguments, same result, to the bit. SYN_INVALID for numbers that make no sense. */
enum syn_status syn_simulate(const struct syn_cluster *cluster, const struct syn_traffic *traffic,
                             struct syn_simulation *result);

#ifdef __cplusplus
}
#endif
#endif
