/* The command line of syncopate simulate: clusters, a model's size, methods. */
#ifndef SYN_APP_SIMULATE_FLAGS_H
#define SYN_APP_SIMULATE_FLAGS_H

#include <syncopate/simulate.h>

#include "command.h"

#define MOST_SIZES   32
#define MOST_METHODS 16

struct simulate_options {
    char workers[SYN_TEXT_BYTES];
    char latency[SYN_TEXT_BYTES];
    char bandwidth[SYN_TEXT_BYTES];
    char burst[SYN_TEXT_BYTES];
    char compute[SYN_TEXT_BYTES];
    double jitter;
    uint64_t params;
    char recipe[SYN_TEXT_BYTES];
    uint64_t servers;
    double select_ms;
    double merge_ms;
    double entry_bytes;
    uint64_t steps;
    uint64_t seed;
    char out[SYN_TEXT_BYTES];
    bool json;
};

/* One method, ready to be simulated. */
struct simulate_method {
    char name[64];
    struct syn_traffic traffic;
    struct syn_worker_options worker;
};

struct simulate_request {
    struct simulate_options options;
    struct syn_cluster cluster; /* except the number of workers */
    size_t sizes[MOST_SIZES];   /* numbers of workers */
    size_t size_count;
    struct simulate_method methods[MOST_METHODS];
    size_t method_count;
    bool wants_help;
};

/* Read the command line. Invalid input: one line and SYN_INVALID. */
enum syn_status simulate_flags_parse(const struct command *self, int argc, char **argv,
                                     struct simulate_request *request);

#endif
