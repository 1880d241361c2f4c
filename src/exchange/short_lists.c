/* An all-gather, for which the list is encoded here. */
#include "exchange/short_lists.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

/* Entries of a list times the square of the number of other workers: both the messages that are
 * saved and the bytes that are added grow with that number, but only bytes with the entries. */
#define MOST_SQUARED ((size_t)3 << 14)
#define MOST_WORKERS 8 /* with more, lists of any length would take far more bytes */

extern const struct syn_exchange_type syn_exchange_allgather;

struct syn_short_lists {
    struct syn_exchange_setup setup;
    void *gather;
    uint8_t *packet;
    float *before; /* [setup.limit] values before rounding */
};

/* Of at least two workers. */
static size_t longest(size_t workers)
{
    return MOST_SQUARED / ((workers - 1) * (workers - 1));
}

bool syn_lists_are_short(size_t entries, size_t workers)
{
    return workers < 2 || (workers <= MOST_WORKERS && entries <= longest(workers));
}

/* The same for lists that are short, of which there are none with many workers. */
static struct syn_exchange_setup shortened(const struct syn_exchange_setup *setup)
{
    size_t workers = setup->group->workers;
    struct syn_exchange_setup made = *setup;
    if (!syn_lists_are_short(setup->limit, workers))
        made.limit = workers <= MOST_WORKERS ? longest(workers) : 1;
    return made;
}

static enum syn_status open_parts(struct syn_short_lists *lists)
{
    const struct syn_exchange_setup *setup = &lists->setup;
    size_t room = syn_packet_bound(setup->values, setup->indices, setup->limit, setup->size);
    SYN_TRY(syn_allocate(room, sizeof *lists->packet, &lists->packet));
    SYN_TRY(syn_allocate(setup->limit, sizeof *lists->before, &lists->before));
    return syn_exchange_allgather.open(setup, &lists->gather);
}

enum syn_status syn_short_lists_open(const struct syn_exchange_setup *setup,
                                     struct syn_short_lists **lists)
{
    struct syn_short_lists *made;
    SYN_TRY(syn_allocate(1, sizeof *made, &made));
    made->setup = shortened(setup);
    enum syn_status status = open_parts(made);
    if (status != SYN_OK) {
        syn_short_lists_close(made);
        return status;
    }
    *lists = made;
    return SYN_OK;
}

/* What rounding removed from each entry. */
static void list_losses(const struct syn_short_lists *lists, const struct syn_list *list,
                        struct syn_list *dropped)
{
    for (size_t i = 0; i < list->count; i++)
        if (lists->before[i] != list->value[i])
            syn_list_append(dropped, list->index[i], lists->before[i] - list->value[i]);
}

static size_t encode(struct syn_short_lists *lists, struct syn_contribution *in)
{
    if (in->is_nonfinite)
        return syn_packet_nonfinite(&in->about, in->nonfinite_entry, lists->packet);
    memcpy(lists->before, in->list.value, in->list.count * sizeof *lists->before);
    return syn_packet_encode(&in->about, lists->setup.values, lists->setup.indices, in->scale,
                             &in->list, lists->packet);
}

enum syn_status syn_short_lists_run(struct syn_short_lists *lists,
                                    const struct syn_contribution *in, struct syn_outcome *out)
{
    struct syn_contribution encoded = *in;
    encoded.packet_bytes = encode(lists, &encoded);
    encoded.packet = lists->packet;
    SYN_TRY(syn_exchange_allgather.run(lists->gather, &encoded, out));
    if (!in->is_nonfinite)
        list_losses(lists, &encoded.list, &out->dropped);
    return SYN_OK;
}

size_t syn_short_lists_merged_most(const struct syn_exchange_setup *setup)
{
    struct syn_exchange_setup shorter = shortened(setup);
    return syn_exchange_allgather.merged_most(&shorter);
}

void syn_short_lists_close(struct syn_short_lists *lists)
{
    if (!lists)
        return;
    if (lists->gather)
        syn_exchange_allgather.close(lists->gather);
    free(lists->packet);
    free(lists->before);
    free(lists);
}
