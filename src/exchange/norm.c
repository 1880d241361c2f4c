/* Norms of whole arrays and of distributed ones. */
#include "exchange/norm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"

double syn_norm_scale(double norm, double longest)
{
    return longest > 0 && norm > longest && isfinite(norm) ? longest / norm : 1;
}

enum syn_status syn_norm_open(struct syn_norm *norm, struct syn_group *group, size_t first,
                              size_t count)
{
    norm->group = group;
    norm->first = first;
    norm->count = count;
    SYN_TRY(syn_allocate(count, sizeof *norm->parts, &norm->parts));
    return syn_allocate(2 * count, sizeof *norm->requests, &norm->requests);
}

void syn_norm_close(struct syn_norm *norm)
{
    free(norm->parts);
    free(norm->requests);
}

/* Begin to send the own part to a member and to receive that member's. */
static enum syn_status swap_with(struct syn_norm *norm, size_t number, const double *own)
{
    size_t peer = norm->first + number;
    SYN_TRY(syn_group_receive(norm->group, peer, &norm->parts[number], sizeof *norm->parts,
                              &norm->requests[norm->count + number]));
    return syn_group_send(norm->group, peer, own, sizeof *own, &norm->requests[number]);
}

enum syn_status syn_norm_add(struct syn_norm *norm, double own, double *whole)
{
    size_t self = norm->group->rank - norm->first;
    enum syn_status status = SYN_OK;
    memset(norm->requests, 0, 2 * norm->count * sizeof *norm->requests);
    for (size_t i = 0; i < norm->count && status == SYN_OK; i++)
        if (i != self)
            status = swap_with(norm, i, &own);
    if (status != SYN_OK)
        syn_group_abandon(norm->group, status, syn_error_text());
    SYN_TRY(syn_group_wait(norm->group, norm->requests, 2 * norm->count));
    norm->parts[self] = own;
    *whole = 0;
    for (size_t i = 0; i < norm->count; i++) {
        if (i != self && norm->requests[norm->count + i].count != sizeof own)
            return syn_fail(SYN_FORMAT, "%s sent %zu bytes of a norm; expected %zu",
                            syn_group_name(norm->group, norm->first + i).text,
                            norm->requests[norm->count + i].count, sizeof own);
        *whole += norm->parts[i];
    }
    return SYN_OK;
}
