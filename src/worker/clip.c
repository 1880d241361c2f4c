/* Norms, whole and in parts. */
#include "worker/clip.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "exchange/exchange.h"
#include "schedule/schedule.h"
#include "select/select.h"

bool syn_clip_is_merged(const struct syn_worker_options *options)
{
    return options->clip > 0 && syn_select_find(options->reducer.select)->is_dense &&
           !syn_exchange_find(options->reducer.exchange)->follows_density &&
           !syn_schedule_find(options->schedule)->is_async;
}

double syn_clip_own(const struct syn_worker_options *options, size_t workers)
{
    if (options->clip == 0 || syn_clip_is_merged(options))
        return 0;
    bool is_async = syn_schedule_find(options->schedule)->is_async;
    return is_async ? options->clip : options->clip / sqrt((double)workers);
}

/* Eight partial sums in a fixed order: wide enough for vector code, whatever its width. */
double syn_clip_square(const float *x, size_t count)
{
    enum { LANES = 8 };
    double sums[LANES] = {0};
    size_t whole = count - count % LANES;
    for (size_t i = 0; i < whole; i += LANES)
        for (size_t j = 0; j < LANES; j++)
            sums[j] += (double)x[i + j] * (double)x[i + j];
    for (size_t i = whole; i < count; i++)
        sums[i - whole] += (double)x[i] * (double)x[i];
    double sum = 0;
    for (size_t j = 0; j < LANES; j++)
        sum += sums[j];
    return sum;
}

double syn_clip_scale(double norm, double longest)
{
    return longest > 0 && norm > longest && isfinite(norm) ? longest / norm : 1;
}

enum syn_status syn_clip_party_open(struct syn_clip_party *party, struct syn_group *group,
                                    size_t first, size_t count)
{
    party->group = group;
    party->first = first;
    party->count = count;
    SYN_TRY(syn_allocate(count, sizeof *party->parts, &party->parts));
    return syn_allocate(2 * count, sizeof *party->requests, &party->requests);
}

void syn_clip_party_close(struct syn_clip_party *party)
{
    free(party->parts);
    free(party->requests);
}

/* Begin to send the own part to a member and to receive its. */
static enum syn_status swap_with(struct syn_clip_party *party, size_t number, const double *own)
{
    size_t peer = party->first + number;
    SYN_TRY(syn_group_receive(party->group, peer, &party->parts[number], sizeof *party->parts,
                              &party->requests[party->count + number]));
    return syn_group_send(party->group, peer, own, sizeof *own, &party->requests[number]);
}

enum syn_status syn_clip_party_add(struct syn_clip_party *party, double own, double *whole)
{
    size_t self = party->group->rank - party->first;
    enum syn_status status = SYN_OK;
    memset(party->requests, 0, 2 * party->count * sizeof *party->requests);
    for (size_t i = 0; i < party->count && status == SYN_OK; i++)
        if (i != self)
            status = swap_with(party, i, &own);
    if (status != SYN_OK)
        syn_group_abandon(party->group, status, syn_error_text());
    SYN_TRY(syn_group_wait(party->group, party->requests, 2 * party->count));
    party->parts[self] = own;
    *whole = 0;
    for (size_t i = 0; i < party->count; i++) {
        if (i != self && party->requests[party->count + i].count != sizeof own)
            return syn_fail(SYN_FORMAT, "%s told %zu bytes of a norm; expected %zu",
                            syn_group_name(party->group, party->first + i).text,
                            party->requests[party->count + i].count, sizeof own);
        *whole += party->parts[i];
    }
    return SYN_OK;
}
