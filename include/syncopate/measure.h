/* Measures what parts cost on this machine, each together with the limit that it is compared with,
 * in one run. */
#ifndef SYNCOPATE_MEASURE_H
#define SYNCOPATE_MEASURE_H

#include <stddef.h>
#include <stdint.h>

#include <syncopate/group.h>
#include <syncopate/reducer.h>
#include <syncopate/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Selection. Times are medians. */
struct syn_select_measure {
    size_t picked;   /* entries in the last step */
    double pass_ms;  /* one pass in place: add residual, compare magnitude, store */
    double first_ms; /* the first step, when nothing is known about the data */
    double pick_ms;  /* residual.add, pick and keep, in the steady state */
};

/* Measure the options' residual and selection on normal gradients.
 *   size     floats
 *   repeats  steps to take the median of, at least 1 */
enum syn_status syn_measure_select(const struct syn_reducer_options *options, size_t size,
                                   size_t repeats, struct syn_select_measure *result);

/* Coding of one list. Times are medians. */
struct syn_codec_measure {
    size_t count;          /* entries */
    size_t bytes;          /* of the packet, including its head */
    double bits_per_index; /* without head and values */
    double entropy_bits;   /* log2(size choose count) / count */
    double encode_ms;
    double decode_ms;
    const char *values; /* the forms that were chosen */
    const char *indices;
};

/* Measure the options' values and indices on a random list of density * size entries. */
enum syn_status syn_measure_codec(const struct syn_reducer_options *options, size_t size,
                                  size_t repeats, struct syn_codec_measure *result);

/* One exchange of a whole gradient, over all workers. */
struct syn_exchange_measure {
    size_t count;       /* entries that each worker contributes */
    double ms;          /* the slowest worker's time; median over the repeats */
    uint64_t bytes_max; /* payload that the busiest worker sends in an exchange */
    double bytes_bound; /* the theoretical value of bytes_max, for lists of the encoded size */
};

/* Measure the options' exchange on random gradients, or on random lists of density * size entries,
 * without residual and selection.
 *   group  lent for the call; nothing else may use it meanwhile
 * Collective: all workers pass the same arguments and get the same result. Blocks. */
enum syn_status syn_measure_exchange(struct syn_group *group,
                                     const struct syn_reducer_options *options, size_t size,
                                     size_t repeats, struct syn_exchange_measure *result);

/* The links between the workers. */
struct syn_links_measure {
    double latency_ms;         /* one way, of a message of one byte; median over the pairs */
    double worst_latency_ms;   /* of the slowest pair */
    double bytes_per_ms;       /* from one worker to another while no others send; median */
    double worst_bytes_per_ms; /* of the slowest pair and direction */
    size_t worst_from;
    size_t worst_to;
    /* All workers at once, each sending to its right neighbour and receiving from its left one. */
    double together_latency_ms; /* with messages of one byte */
    double together_ms;         /* with messages of the size asked for, one after the other */
    double together_cpu_ms;     /* of that, the CPU time of a worker */
    double rested_ms;           /* as together_ms, for the 2(P - 1) messages after a pause: a link
                                 * may save up a burst while it is idle */
};

/* Measure latency and bandwidth between all pairs, in rounds of disjoint pairs, and then with all
 * workers sending at once, which reveals shared links. Takes a few hundred ms per round.
 *   bytes    of a message for together_ms, 1 to 64 MB
 *   rest_ms  pause before rested_ms is measured, such as the compute time of a training step; at
 *            most 1000
 *   group    lent for the call; nothing else may use it meanwhile
 * Collective: all workers pass the same arguments and get the same result. Blocks. */
enum syn_status syn_measure_links(struct syn_group *group, size_t bytes, double rest_ms,
                                  struct syn_links_measure *result);

#ifdef __cplusplus
}
#endif
#endif
