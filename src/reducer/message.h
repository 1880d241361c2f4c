/* Messages between workers and parameter servers.
 *
 * A worker's message is a head and, if it is a push, the part of a bucket that lies in the server's
 * shard: floats, halves, or a packet of a list (codec/codec.h), as set when both were opened. A
 * bucket with no entries in the shard is omitted, except for the last bucket of a step, whose
 * message ends the step. An answer is a head and the weights of the shard.
 *
 * A server's state is a few rows of as many floats as its shard has entries: row 0 is the weights,
 * the others are what the optimizer remembers per weight. Rows are requested and restored one at a
 * time, so that no message is larger than a dense push. */
#ifndef SYN_REDUCER_MESSAGE_H
#define SYN_REDUCER_MESSAGE_H

#include <stddef.h>
#include <stdint.h>

#include <syncopate/worker.h>

#include "exchange/ring.h"
#include "optim/optim.h"
#include "reducer/options.h"
#include "select/select.h"
#include "topology/rounds.h"

enum syn_message_kind {
    SYN_MESSAGE_PUSH,
    SYN_MESSAGE_SETTLE,  /* request a row exactly; answered once all workers have asked for it */
    SYN_MESSAGE_RESTORE, /* set a row: worker 0 sends it, the others only confirm */
    SYN_MESSAGE_LEAVE,   /* this worker has closed */
    SYN_MESSAGE_KINDS
};

enum {
    SYN_MESSAGE_ENDS = 1, /* the step's last message */
    SYN_MESSAGE_PULLS = 2 /* request the weights after this step */
};

#define SYN_MESSAGE_MAGIC 0x314d5953U /* "SYM1" */

struct syn_message_head {
    double lr;
    uint64_t bytes; /* after the head */
    uint32_t magic;
    uint32_t kind;
    uint32_t flags;
    uint32_t step;   /* its number; in a settle or leave: the number of steps made */
    uint32_t bucket; /* in a settle or restore: the row */
    uint32_t first;  /* first entry, in the shard */
    uint32_t count;
    uint32_t limit; /* most entries of the list, if it is one */
};

struct syn_answer_head {
    uint32_t step;      /* the step answered */
    uint32_t staleness; /* updates between the weights it was computed at and applied to */
};

/* How pushes are written; the same at both ends. */
struct syn_message_form {
    bool is_dense;
    const struct syn_value_type *values;
    const struct syn_index_type *indices; /* NULL: the smallest */
    size_t limit;                         /* most entries of any list */
    bool pulls_halves; /* answers to pushes are rounded, answers to settles never */
};

static inline struct syn_message_form syn_message_form_of(const struct syn_worker_options *options,
                                                          const struct syn_layout *layout)
{
    const struct syn_reducer_options *reducer = &options->reducer;
    bool is_dense = syn_select_find(reducer->select)->is_dense;
    return (struct syn_message_form){
        .is_dense = is_dense,
        .values = syn_value_find(reducer->values),
        .indices = syn_index_find(reducer->indices),
        .limit = is_dense ? syn_layout_size(layout) : syn_reducer_list_most(reducer, layout),
        .pulls_halves = !syn_value_find(options->pull_values)->is_exact,
    };
}

static inline struct syn_members syn_message_members(const struct syn_group *group)
{
    return (struct syn_members){.workers = group->workers, .servers = group->size - group->workers};
}

/* Who pushes to whom or, with is_answer, who answers whom: the rounds of src/topology. */
static inline struct syn_round syn_message_round(const struct syn_group *group, bool is_answer)
{
    struct syn_round round = {0};
    syn_servers_rounds(syn_message_members(group), group->rank, is_answer ? 1 : 0, &round);
    return round;
}

/* Rows of a server's state. */
static inline size_t syn_message_rows(const struct syn_optimizer_options *options)
{
    return 1 + syn_optimizer_memories(options) + (syn_optimizer_counts(options) ? 1 : 0);
}

/* The shard of server number `server` of the group. */
static inline struct syn_chunk syn_message_shard(const struct syn_group *group, size_t size,
                                                 size_t server)
{
    return syn_chunk_of(size, group->size - group->workers, server);
}

/* Room for any message to, and any answer from, a server with this many entries. */
static inline size_t syn_message_push_room(const struct syn_message_form *form, size_t count)
{
    size_t most = form->limit < count ? form->limit : count;
    size_t body = form->is_dense ? form->values->measure(count)
                                 : syn_packet_bound(form->values, form->indices, most, count);
    size_t row = count * sizeof(float);
    return sizeof(struct syn_message_head) + (body > row ? body : row);
}

static inline size_t syn_message_answer_room(size_t count)
{
    return sizeof(struct syn_answer_head) + count * sizeof(float);
}

#endif
