/* Who sends what to whom, as pure arithmetic: an exchange is a number of rounds for each member,
 * and a round is over when its messages have left, those of its peers have come, and the work on
 * them is done. Patterns follow src/exchange and src/worker message by message. */
#ifndef SYN_SIMULATE_PATTERN_H
#define SYN_SIMULATE_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/table.h"

/* One exchange, as all its members see it. */
struct syn_talk {
    size_t workers;
    size_t servers;
    bool pulls;        /* the result is told to the workers; otherwise only contributions travel */
    double bytes;      /* of one worker's whole contribution */
    double pull_bytes; /* of the whole result; for patterns in which it differs */
    double merge_ms;   /* adding one whole contribution to another */
};

/* Members first, first + 1, ...; behind the last worker or server comes the first one again. */
struct syn_peers {
    size_t first;
    size_t count;
};

struct syn_round {
    struct syn_peers send;
    struct syn_peers receive;
    double bytes;       /* of each message sent */
    double work_ms;     /* when all have come */
    bool sends_at_once; /* and so all end together; otherwise one behind the other */
};

struct syn_pattern_type {
    struct syn_part part;

    /* Round number `number` of a member, from 0; false past its last.
     *   member  a worker, or workers + s for server s
     *   round   zeroed */
    bool (*round)(const struct syn_talk *talk, size_t member, size_t number,
                  struct syn_round *round);
};

const struct syn_pattern_type *syn_pattern_row(size_t i);
const struct syn_pattern_type *syn_pattern_find(const char *name);
const char *syn_pattern_name(size_t i);

#endif
