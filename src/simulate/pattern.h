/* What a simulation takes from the rounds of an exchange: bytes and milliseconds. The rounds are
 * those of src/topology, which the exchanges themselves walk. */
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
 *   pattern  unchanged if there is none of that name, and false returned */
bool syn_pattern_find(const char *name, struct syn_pattern *pattern);

/* Its name for parameter servers. */
#define SYN_PATTERN_SERVERS "servers"

/* How many fragments contributions go in; 0: they are sent at once. */
size_t syn_pattern_fragments(const struct syn_pattern *pattern, const struct syn_traffic *traffic,
                             size_t workers);

/* Bytes of one message of a round, without its head. */
double syn_round_bytes(const struct syn_pattern *pattern, struct syn_members members,
                       const struct syn_traffic *traffic, const struct syn_round *round);

/* How long the work of a round takes, once everything has come. */
double syn_round_work_ms(const struct syn_traffic *traffic, const struct syn_round *round);

#endif
