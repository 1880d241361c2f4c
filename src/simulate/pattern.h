/* The bytes and milliseconds of the rounds of an exchange, for the simulation. The rounds are those
 * of src/topology, which the exchanges themselves follow. */
#ifndef SYN_SIMULATE_PATTERN_H
#define SYN_SIMULATE_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

#include <syncopate/simulate.h>

#include "topology/rounds.h"

struct syn_pattern {
    syn_rounds *rounds;
    bool has_servers;
    size_t (*fragments)(size_t size, size_t workers, size_t packet_bytes); /* or NULL */
};

/* The pattern of an exchange, or that of parameter servers: "servers".
 *   pattern  unchanged, with false returned, if there is none of that name */
bool syn_pattern_find(const struct syn_traffic *traffic, size_t workers,
                      struct syn_pattern *pattern);

/* The name of the parameter servers' pattern. */
#define SYN_PATTERN_SERVERS "servers"

/* The number of fragments that contributions are sent in; 0: they are sent whole. */
size_t syn_pattern_fragments(const struct syn_pattern *pattern, const struct syn_traffic *traffic,
                             size_t workers);

/* Bytes of one message of a round, without its head. */
double syn_round_bytes(const struct syn_pattern *pattern, struct syn_members members,
                       const struct syn_traffic *traffic, const struct syn_round *round);

/* How long the work of a round takes once everything has arrived. */
double syn_round_work_ms(const struct syn_traffic *traffic, const struct syn_round *round);

#endif
