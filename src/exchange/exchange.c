/* The table of exchanges, and what they share. */
#include "exchange/exchange.h"

#define SYN_PART(name) extern const struct syn_exchange_type syn_exchange_##name;
#include "exchange/exchanges.def"
#undef SYN_PART

static const struct syn_exchange_type *const rows[] = {
#define SYN_PART(name) &syn_exchange_##name,
#include "exchange/exchanges.def"
#undef SYN_PART
};

SYN_TABLE(exchange, struct syn_exchange_type)

const char *syn_putback_name(size_t i)
{
    static const char *const names[] = {"auto", "merger", "owner", "paper"};
    return i < sizeof names / sizeof names[0] ? names[i] : NULL;
}

enum syn_status syn_exchange_swap(struct syn_group *group, size_t to, const void *going,
                                  size_t going_bytes, size_t from, void *coming, size_t room,
                                  size_t *came)
{
    struct syn_request requests[2] = {0};
    SYN_TRY(syn_group_receive(group, from, coming, room, &requests[0]));
    enum syn_status status = syn_group_send(group, to, going, going_bytes, &requests[1]);
    if (status != SYN_OK) /* the wait below then gives up the receive */
        syn_group_abandon(group, status, syn_error_text());
    SYN_TRY(syn_group_wait(group, requests, 2));
    *came = requests[0].count;
    return SYN_OK;
}

void syn_outcome_mark_nonfinite(struct syn_outcome *out, uint32_t entry)
{
    if (!out->is_nonfinite || entry < out->nonfinite_entry)
        out->nonfinite_entry = entry;
    out->is_nonfinite = true;
}

size_t syn_first_not_finite(const float *x, size_t count)
{
    enum { BLOCK = 1024 };
    uint32_t index[BLOCK];
    float value[BLOCK];
    for (size_t at = 0; at < count; at += BLOCK) {
        struct syn_scan scan = {
            .cutoff = SYN_INFINITY_BITS - 1, .first = (uint32_t)at, .index = index, .value = value};
        syn_kernels()->scan(x + at, count - at < BLOCK ? count - at : BLOCK, &scan);
        if (scan.found > 0)
            return index[0];
    }
    return count;
}
