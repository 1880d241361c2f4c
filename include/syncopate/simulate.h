/* Predicts what a method would cost on a cluster that is not at hand, by an event-by-event
 * simulation of its messages. Flows share links, workers vary in speed, servers saturate;
 * docs/simulate.md describes what is modelled and how far it can be trusted.
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

/* The machines and the network between them. */
struct syn_cluster {
    size_t workers;      /* at least 1 */
    size_t servers;      /* parameter servers on hosts of their own; 0 for none */
    double latency_ms;   /* of an empty message from one host to another */
    double bytes_per_ms; /* of each host's link, each way */
    double burst_ms;     /* burst that a link saves up while idle, as time at its rate */
    double compute_ms;   /* mean of forward, backward and update of one worker */
    double jitter;       /* standard deviation of compute_ms from step to step, as a share of it */
    uint64_t seed;       /* of the jitter */
    uint64_t steps; /* to average over, after those needed to reach a steady state; 0: default */
};

enum syn_timing {
    SYN_TIMING_SYNC,    /* a worker waits for the result of each step */
    SYN_TIMING_DELAYED, /* it continues, and waits before it hands over the next step */
    SYN_TIMING_ASYNC    /* it waits for the servers' answer, but never for other workers */
};

/* What a method sends, and when it waits. */
struct syn_traffic {
    const char *pattern; /* an exchange, or "servers" */
    bool is_reduced;     /* workers add up dense arrays for one another, as in a ring */
    enum syn_timing timing;
    uint64_t every;      /* steps per exchange; 0 or 1: exchange in every step */
    uint64_t pull_every; /* ring and servers: steps per delivery of the result; 1: every step */
    double bytes;        /* of one worker's whole contribution */
    size_t entries;      /* of a list: how many it has at most; 0: an array */
    double pull_bytes;   /* servers, split: of the whole result */
    double select_ms;    /* residual, selection and coding, before the exchange can begin */
    double merge_ms;     /* adding one whole contribution to another */
    size_t params;       /* of the model; needed to split long packets into fragments; 0: none is
                          * split */
};

/* What a worker with these options sends for a model of that many parameters, and an estimate of
 * its own work: 0.6 ns per parameter to select from, 10 ns per entry, and 0.5 ns per value of a
 * dense array to add. Replace any estimate for which you have a better value.
 *   servers  0: peer to peer */
enum syn_status syn_traffic_of(const struct syn_worker_options *options, size_t params,
                               size_t servers, struct syn_traffic *traffic);

/* As syn_traffic_of(); and for density auto, the traffic that fits that cluster: the most with
 * which a step takes no longer than computing plus the options' overhead, or the least if none
 * does. */
enum syn_status syn_traffic_fit(const struct syn_worker_options *options, size_t params,
                                const struct syn_cluster *cluster, struct syn_traffic *traffic);

struct syn_simulation {
    double step_ms;      /* mean over the steps and workers */
    double efficiency;   /* compute_ms / step_ms: the share of perfect scaling */
    double bytes_out;    /* per step, of the worker that sends most */
    double busiest_link; /* share of the time for which the busiest link is in use */
};

/* Simulate. The same arguments give bit-identical results. SYN_INVALID for values that make no
 * sense. */
enum syn_status syn_simulate(const struct syn_cluster *cluster, const struct syn_traffic *traffic,
                             struct syn_simulation *result);

#ifdef __cplusplus
}
#endif
#endif
