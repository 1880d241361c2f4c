/* Patterns by name, and the sizes of their messages. */
#include "simulate/pattern.h"

#include <math.h>
#include <string.h>

#include "exchange/exchange.h"

bool syn_pattern_find(const struct syn_traffic *traffic, size_t workers,
                      struct syn_pattern *pattern)
{
    const struct syn_exchange_type *exchange = syn_exchange_find(traffic->pattern);
    bool has_servers = !exchange && strcmp(traffic->pattern, SYN_PATTERN_SERVERS) == 0;
    if (!exchange && !has_servers)
        return false;
    if (exchange && exchange->lists_by && traffic->entries > 0)
        exchange = exchange->lists_by(traffic->entries, workers);
    pattern->rounds = exchange ? exchange->rounds : syn_servers_rounds;
    pattern->fragments = exchange ? exchange->fragments : NULL;
    pattern->has_servers = has_servers;
    return true;
}

/* More fragments than this do not change the time of a packet, but make its simulation longer. */
#define MOST_FRAGMENTS 4

size_t syn_pattern_fragments(const struct syn_pattern *pattern, const struct syn_traffic *traffic,
                             size_t workers)
{
    if (!pattern->fragments || traffic->params == 0)
        return 0;
    size_t fragments = pattern->fragments(traffic->params, workers, (size_t)traffic->bytes);
    return fragments < MOST_FRAGMENTS ? fragments : MOST_FRAGMENTS;
}

/* The result of an exchange is no larger than all contributions; servers answer with weights. */
double syn_round_bytes(const struct syn_pattern *pattern, struct syn_members members,
                       const struct syn_traffic *traffic, const struct syn_round *round)
{
    double all = (double)members.workers * traffic->bytes;
    double result = pattern->has_servers ? traffic->pull_bytes : fmin(traffic->pull_bytes, all);
    return round->is_head ? 0 : (round->is_result ? result : traffic->bytes) / (double)round->parts;
}

double syn_round_work_ms(const struct syn_traffic *traffic, const struct syn_round *round)
{
    return traffic->merge_ms * (double)round->adds / (double)round->parts;
}
