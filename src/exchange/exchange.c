/* The table of exchanges, and what they share. */
#include "exchange/exchange.h"

#define SYN_SETTING(...) /* of the parts */
#define SYN_PART(name)   extern const struct syn_exchange_type syn_exchange_##name;
#include <syncopate/parts/exchanges.def>
#undef SYN_PART

static const struct syn_exchange_type *const rows[] = {
#define SYN_PART(name) &syn_exchange_##name,
#include <syncopate/parts/exchanges.def>
#undef SYN_PART
};
#undef SYN_SETTING

SYN_TABLE(exchange, struct syn_exchange_type)

const char *syn_putback_name(size_t i)
{
    static const char *const names[] = {"auto", "merger", "owner", "paper"};
    return i < sizeof names / sizeof names[0] ? names[i] : NULL;
}

/* The names are those of the enumeration, after "auto". */
bool syn_putback_find(const char *name, enum syn_putback *putback)
{
    size_t number = syn_choice_number(syn_putback_name, name);
    if (number == 0 || number == SIZE_MAX)
        return false;
    *putback = (enum syn_putback)(number - 1);
    return true;
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
