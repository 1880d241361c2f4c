/* Adds up the costs of several steps, or of a step and other messages. */
#include "reducer/road.h"

void syn_cost_add(struct syn_cost *sum, const struct syn_cost *more)
{
    sum->bytes_out += more->bytes_out;
    sum->bytes_in += more->bytes_in;
    sum->selected += more->selected;
    sum->taken_back += more->taken_back;
    sum->select_ms += more->select_ms;
    sum->encode_ms += more->encode_ms;
    sum->exchange_ms += more->exchange_ms;
    sum->wait_ms += more->wait_ms;
    sum->forgotten += more->forgotten;
    sum->forgotten_mass += more->forgotten_mass;
    sum->threshold = more->threshold;
    uint64_t answers = sum->answers + more->answers;
    if (answers > 0)
        sum->staleness =
            (sum->staleness * (double)sum->answers + more->staleness * (double)more->answers) /
            (double)answers;
    sum->answers = answers;
    if (more->staleness_most > sum->staleness_most)
        sum->staleness_most = more->staleness_most;
}
