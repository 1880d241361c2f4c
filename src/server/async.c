/* Asynchronous serving: each step is applied as its last push arrives, and answered with the
 * weights after it. A step has several pushes if tensors have policies; the earlier ones are held.
 * Each worker has one request under way with the server at any time, its message or the answer;
 * their order of completion is not deterministic, so no two runs are the same.
 *
 * Workers wait for each other in two cases only: to settle, where all that have not left must ask
 * before any is answered, so that all get the same weights; and if the lag is limited: the push of
 * a worker too far ahead is applied, but answered only when the slowest has caught up. */
#include "server/shard.h"

/* Send the worker's buffer; once that is done, the next message is received. */
static enum syn_status send_message(struct syn_shard *shard, size_t worker, size_t bytes)
{
    return syn_group_send(shard->group, worker, shard->workers[worker].message, bytes,
                          &shard->requests[worker]);
}

/* Remember the weights that the worker gets, as rounded for sending. */
static void remember(const struct syn_shard *shard, struct syn_shard_worker *worker)
{
    const uint8_t *body = worker->message + sizeof(struct syn_answer_head);
    size_t count = shard->part.count;
    worker->version = shard->version;
    if (!worker->weights)
        return;
    if (shard->form.pulls_halves)
        syn_kernels()->from_half(worker->weights, (const uint16_t *)(const void *)body, count);
    else
        memcpy(worker->weights, body, count * sizeof(float));
}

static enum syn_status take_push(struct syn_shard *shard, size_t rank)
{
    struct syn_shard_worker *worker = &shard->workers[rank];
    if (!(worker->head.flags & SYN_MESSAGE_ENDS)) {
        SYN_TRY(syn_shard_hold(shard, rank));
        return syn_shard_receive(shard, rank);
    }
    worker->staleness = shard->version - worker->version;
    syn_shard_release(shard, rank);
    SYN_TRY(syn_shard_add(shard, rank));
    SYN_TRY(syn_shard_apply(shard, 1, worker->head.lr, worker));
    worker->steps++;
    worker->is_unanswered = true;
    return SYN_OK;
}

static enum syn_status answer_push(struct syn_shard *shard, size_t rank)
{
    struct syn_shard_worker *worker = &shard->workers[rank];
    uint64_t staleness = worker->staleness;
    struct syn_answer_head head = {.step = worker->head.step,
                                   .staleness =
                                       staleness < UINT32_MAX ? (uint32_t)staleness : UINT32_MAX};
    size_t bytes = syn_shard_answer(shard, head, worker->message);
    worker->is_unanswered = false;
    remember(shard, worker);
    return send_message(shard, rank, bytes);
}

/* The number of steps made by the slowest worker that is still stepping. */
static uint64_t slowest(const struct syn_shard *shard)
{
    uint64_t least = UINT64_MAX;
    for (size_t i = 0; i < shard->group->workers; i++) {
        const struct syn_shard_worker *worker = &shard->workers[i];
        bool is_stepping = !worker->has_left && !worker->is_settling;
        if (is_stepping && worker->steps < least)
            least = worker->steps;
    }
    return least;
}

/* Answer workers whose pushes were applied and who are not too far ahead. */
static enum syn_status answer_pushes(struct syn_shard *shard)
{
    uint64_t lag = shard->options.lag;
    uint64_t least = slowest(shard);
    for (size_t i = 0; i < shard->group->workers; i++) {
        const struct syn_shard_worker *worker = &shard->workers[i];
        if (worker->is_unanswered && (lag == 0 || worker->steps <= least + lag))
            SYN_TRY(answer_push(shard, i));
    }
    return SYN_OK;
}

/* A saved state is loaded before the first step, and all workers settle after that, so nobody
 * pushes until worker 0 has sent all of it. */
static enum syn_status restore(struct syn_shard *shard, size_t worker)
{
    if (worker == 0)
        SYN_TRY(syn_shard_restore(shard));
    return syn_shard_receive(shard, worker);
}

/* Handle a worker's message. */
static enum syn_status take_message(struct syn_shard *shard, size_t rank)
{
    struct syn_shard_worker *worker = &shard->workers[rank];
    SYN_TRY(syn_shard_read(shard, rank));
    if (worker->head.kind == SYN_MESSAGE_PUSH)
        return take_push(shard, rank);
    if (worker->head.kind == SYN_MESSAGE_RESTORE)
        return restore(shard, rank);
    worker->is_settling = worker->head.kind == SYN_MESSAGE_SETTLE;
    worker->has_left = worker->head.kind == SYN_MESSAGE_LEAVE;
    return SYN_OK;
}

/* Settle if all workers that have not left are waiting for it. */
static enum syn_status settle(struct syn_shard *shard)
{
    size_t workers = shard->group->workers;
    for (size_t i = 0; i < workers; i++)
        if (!shard->workers[i].has_left && !shard->workers[i].is_settling)
            return SYN_OK;
    for (size_t i = 0; i < workers; i++) {
        struct syn_shard_worker *worker = &shard->workers[i];
        if (!worker->is_settling)
            continue;
        size_t bytes;
        SYN_TRY(syn_shard_answer_row(shard, worker->head, worker->message, &bytes));
        worker->is_settling = false;
        SYN_TRY(send_message(shard, i, bytes));
    }
    return SYN_OK;
}

static bool have_all_left(const struct syn_shard *shard)
{
    size_t left = 0;
    for (size_t i = 0; i < shard->group->workers; i++)
        left += shard->workers[i].has_left;
    return left == shard->group->workers;
}

enum syn_status syn_server_run_async(struct syn_shard *shard)
{
    size_t workers = shard->group->workers;
    size_t worker = workers - 1;
    for (size_t i = 0; i < workers; i++)
        SYN_TRY(syn_shard_receive(shard, i));
    while (!have_all_left(shard)) {
        SYN_TRY(syn_group_wait_any(shard->group, shard->requests, workers, &worker));
        bool has_come = shard->requests[worker].is_receive;
        SYN_TRY(has_come ? take_message(shard, worker) : syn_shard_receive(shard, worker));
        SYN_TRY(answer_pushes(shard));
        SYN_TRY(settle(shard));
    }
    return SYN_OK;
}
