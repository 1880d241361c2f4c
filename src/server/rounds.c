/* Synchronous serving: rounds (syn_servers_rounds), in each of which every worker sends one
 * message, all of the same kind. Pushes are added in rank order, whatever the order of arrival; as
 * every weight is added and updated independently, the bits do not depend on the number of servers
 * either. */
#include <inttypes.h>
#include <stdio.h>

#include "server/shard.h"

static enum syn_status receive_round(struct syn_shard *shard)
{
    size_t workers = shard->group->workers;
    struct syn_peers from = syn_message_round(shard->group, false).receive;
    enum syn_status status = SYN_OK;
    for (size_t i = 0; i < from.count && status == SYN_OK; i++)
        status = syn_shard_receive(shard, syn_peer_at(syn_message_members(shard->group), from, i));
    if (status != SYN_OK)
        syn_group_abandon(shard->group, status, syn_error_text());
    SYN_TRY(syn_group_wait(shard->group, shard->requests, workers));
    for (size_t i = 0; i < workers; i++)
        SYN_TRY(syn_shard_read(shard, i));
    return SYN_OK;
}

/* A worker's message as text. */
struct description {
    char text[80];
};

static struct description describe(const struct syn_message_head *head)
{
    struct description words;
    static const char *const others[SYN_MESSAGE_KINDS] = {[SYN_MESSAGE_SETTLE] = "settled",
                                                          [SYN_MESSAGE_RESTORE] = "loaded a state",
                                                          [SYN_MESSAGE_LEAVE] = "closed"};
    if (head->kind == SYN_MESSAGE_PUSH)
        snprintf(words.text, sizeof words.text,
                 "pushed step %" PRIu32 " with lr %g, limit %" PRIu32, head->step, head->lr,
                 head->limit);
    else
        snprintf(words.text, sizeof words.text, "%s after %" PRIu32 " steps", others[head->kind],
                 head->step);
    return words;
}

/* Check that all heads agree. */
static enum syn_status compare_heads(const struct syn_shard *shard)
{
    const struct syn_message_head *one = &shard->workers[0].head;
    for (size_t i = 1; i < shard->group->workers; i++) {
        const struct syn_message_head *other = &shard->workers[i].head;
        bool is_same = one->kind == other->kind && one->flags == other->flags &&
                       one->step == other->step && one->bucket == other->bucket &&
                       one->first == other->first && one->count == other->count &&
                       one->limit == other->limit && one->lr == other->lr;
        if (!is_same)
            return syn_fail(SYN_MISMATCH, "worker 0 %s, but worker %zu %s", describe(one).text, i,
                            describe(other).text);
    }
    return SYN_OK;
}

/* Send worker 0's buffer to all. */
static enum syn_status answer_all(struct syn_shard *shard, size_t bytes)
{
    size_t workers = shard->group->workers;
    struct syn_peers to = syn_message_round(shard->group, true).send;
    const uint8_t *message = shard->workers[0].message;
    enum syn_status status = SYN_OK;
    for (size_t i = 0; i < to.count && status == SYN_OK; i++) {
        size_t worker = syn_peer_at(syn_message_members(shard->group), to, i);
        status = syn_group_send(shard->group, worker, message, bytes, &shard->requests[worker]);
    }
    if (status != SYN_OK)
        syn_group_abandon(shard->group, status, syn_error_text());
    return syn_group_wait(shard->group, shard->requests, workers);
}

static enum syn_status take_pushes(struct syn_shard *shard)
{
    size_t workers = shard->group->workers;
    const struct syn_message_head *head = &shard->workers[0].head;
    for (size_t i = 0; i < workers; i++)
        SYN_TRY(syn_shard_add(shard, i));
    if (!(head->flags & SYN_MESSAGE_ENDS))
        return SYN_OK;
    SYN_TRY(syn_shard_apply(shard, workers, head->lr, NULL));
    if (!(head->flags & SYN_MESSAGE_PULLS))
        return SYN_OK;
    struct syn_answer_head answer = {.step = head->step};
    return answer_all(shard, syn_shard_answer(shard, answer, shard->workers[0].message));
}

static enum syn_status settle(struct syn_shard *shard)
{
    const struct syn_shard_worker *first = &shard->workers[0];
    size_t bytes;
    SYN_TRY(syn_shard_answer_row(shard, first->head, first->message, &bytes));
    return answer_all(shard, bytes);
}

static enum syn_status take_round(struct syn_shard *shard)
{
    switch (shard->workers[0].head.kind) {
    case SYN_MESSAGE_PUSH:
        return take_pushes(shard);
    case SYN_MESSAGE_SETTLE:
        return settle(shard);
    default:
        return syn_shard_restore(shard);
    }
}

enum syn_status syn_server_run_rounds(struct syn_shard *shard)
{
    for (;;) {
        SYN_TRY(receive_round(shard));
        SYN_TRY(compare_heads(shard));
        if (shard->workers[0].head.kind == SYN_MESSAGE_LEAVE)
            return SYN_OK;
        SYN_TRY(take_round(shard));
    }
}
