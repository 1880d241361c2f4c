/* The shard's arithmetic. Pushes of any form are added into one dense array: adding a list takes
 * time proportional to its entries, and the optimizer passes over the whole shard anyway. */
#include "server/shard.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "optim/optim.h"
#include "reducer/road.h"
#include "schedule/schedule.h"

static enum syn_status open_workers(struct syn_shard *shard)
{
    size_t workers = shard->group->workers;
    size_t count = shard->part.count;
    size_t push = syn_message_push_room(&shard->form, count);
    size_t answer = syn_message_answer_room(count);
    shard->room = push > answer ? push : answer;
    SYN_TRY(syn_allocate(workers, sizeof *shard->requests, &shard->requests));
    SYN_TRY(syn_allocate(workers, sizeof *shard->workers, &shard->workers));
    for (size_t i = 0; i < workers; i++) {
        struct syn_shard_worker *worker = &shard->workers[i];
        SYN_TRY(syn_allocate(1, shard->room, &worker->message));
        if (shard->options.compensation > 0) {
            SYN_TRY(syn_allocate(count, sizeof(float), &worker->weights));
            memcpy(worker->weights, shard->weights, count * sizeof(float));
        }
        bool is_async = syn_schedule_find(shard->options.schedule)->is_async;
        SYN_TRY(syn_list_open(&worker->held, is_async && !shard->form.is_dense ? count : 0));
    }
    return SYN_OK;
}

enum syn_status syn_shard_open(struct syn_shard *shard, const struct syn_server_setup *setup)
{
    const struct syn_worker_options *options = setup->options;
    struct syn_group *group = setup->group;
    size_t size = syn_layout_size(setup->layout);
    shard->group = group;
    shard->layout = setup->layout;
    shard->options = *options;
    shard->longest = setup->longest;
    shard->form = syn_message_form_of(options, setup->layout);
    shard->part = syn_message_shard(group, size, group->rank - group->workers);
    size_t count = shard->part.count;
    size_t limit = shard->form.limit < count ? shard->form.limit : count;
    SYN_TRY(syn_optimizer_open_part(options->reducer.residual_momentum, &options->optimizer,
                                    shard->layout, shard->part.first, count,
                                    syn_schedule_rates(options), &shard->optimizer));
    shard->rows = syn_message_rows(&options->optimizer);
    SYN_TRY(syn_allocate(count, sizeof(float), &shard->weights));
    SYN_TRY(syn_allocate(count, sizeof(float), &shard->sum));
    SYN_TRY(syn_list_open(&shard->list, shard->form.is_dense ? 0 : limit));
    memcpy(shard->weights, setup->weights + shard->part.first, count * sizeof(float));
    SYN_TRY(syn_norm_open(&shard->norm, group, group->workers, syn_group_servers(group)));
    return open_workers(shard);
}

void syn_shard_close(struct syn_shard *shard)
{
    for (size_t i = 0; shard->workers && i < shard->group->workers; i++) {
        free(shard->workers[i].message);
        free(shard->workers[i].weights);
        syn_list_close(&shard->workers[i].held);
    }
    free(shard->workers);
    free(shard->requests);
    free(shard->weights);
    free(shard->sum);
    syn_list_close(&shard->list);
    syn_optimizer_free(shard->optimizer);
    syn_norm_close(&shard->norm);
}

enum syn_status syn_shard_receive(struct syn_shard *shard, size_t worker)
{
    return syn_group_receive(shard->group, worker, shard->workers[worker].message, shard->room,
                             &shard->requests[worker]);
}

static bool is_sound(const struct syn_shard *shard, const struct syn_message_head *head,
                     size_t worker)
{
    if (head->magic != SYN_MESSAGE_MAGIC)
        return false;
    if (head->kind == SYN_MESSAGE_RESTORE)
        return head->bytes == (worker == 0 ? shard->part.count * sizeof(float) : 0);
    if (head->kind != SYN_MESSAGE_PUSH)
        return head->kind < SYN_MESSAGE_KINDS && head->bytes == 0;
    bool is_inside =
        head->first <= shard->part.count && head->count <= shard->part.count - head->first;
    if (!is_inside || !(head->lr > 0) || !isfinite(head->lr))
        return false;
    if (shard->form.is_dense)
        return head->bytes == shard->form.values->measure(head->count);
    return head->limit <= shard->list.capacity && (head->count == 0) == (head->bytes == 0);
}

enum syn_status syn_shard_read(struct syn_shard *shard, size_t rank)
{
    struct syn_shard_worker *worker = &shard->workers[rank];
    struct syn_message_head *head = &worker->head;
    size_t came = shard->requests[rank].count;
    if (came >= sizeof *head) {
        memcpy(head, worker->message, sizeof *head);
        if (came - sizeof *head == head->bytes && is_sound(shard, head, rank))
            return SYN_OK;
    }
    return syn_fail(SYN_FORMAT, "worker %zu sent an unknown %zu-byte message", rank, came);
}

static enum syn_status complain(const struct syn_shard *shard, size_t entry)
{
    return syn_fail_nonfinite(shard->layout, "gradient", shard->part.first + entry);
}

static void add_dense(struct syn_shard *shard, const struct syn_message_head *head,
                      const uint8_t *body)
{
    float *sum = shard->sum + head->first;
    const struct syn_kernels *kernels = syn_kernels();
    if (shard->form.values->is_exact) {
        kernels->add(sum, sum, (const float *)(const void *)body, head->count);
        return;
    }
    enum { BLOCK = 1024 };
    float values[BLOCK];
    const uint16_t *half = (const uint16_t *)(const void *)body;
    for (size_t at = 0; at < head->count; at += BLOCK) {
        size_t count = head->count - at < BLOCK ? head->count - at : BLOCK;
        kernels->from_half(values, half + at, count);
        kernels->add(sum + at, sum + at, values, count);
    }
}

/* Decode the worker's push into shard->list; indices count from head.first. */
static enum syn_status decode(struct syn_shard *shard, size_t rank)
{
    const struct syn_message_head *head = &shard->workers[rank].head;
    const uint8_t *body = shard->workers[rank].message + sizeof *head;
    struct syn_packet_about about = {
        .sequence = head->step, .bucket = head->bucket, .size = head->count, .limit = head->limit};
    struct syn_packet_content content;
    SYN_TRY(syn_packet_decode(&about, body, head->bytes, rank, &shard->list, &content));
    return content.is_nonfinite ? complain(shard, head->first + content.nonfinite_entry) : SYN_OK;
}

enum syn_status syn_shard_add(struct syn_shard *shard, size_t rank)
{
    const struct syn_shard_worker *worker = &shard->workers[rank];
    const struct syn_list *list = &shard->list;
    float *sum = shard->sum + worker->head.first;
    if (worker->head.count == 0)
        return SYN_OK;
    if (shard->form.is_dense) {
        add_dense(shard, &worker->head, worker->message + sizeof worker->head);
        return SYN_OK;
    }
    SYN_TRY(decode(shard, rank));
    for (size_t i = 0; i < list->count; i++)
        sum[list->index[i]] += list->value[i];
    return SYN_OK;
}

enum syn_status syn_shard_hold(struct syn_shard *shard, size_t rank)
{
    struct syn_shard_worker *worker = &shard->workers[rank];
    const struct syn_list *list = &shard->list;
    struct syn_list *held = &worker->held;
    if (worker->head.count == 0)
        return SYN_OK;
    if (shard->form.is_dense)
        return syn_fail(SYN_FORMAT, "worker %zu sent a dense gradient in parts", rank);
    SYN_TRY(decode(shard, rank));
    if (list->count > held->capacity - held->count)
        return syn_fail(SYN_FORMAT, "worker %zu sent more than %zu entries in one step", rank,
                        held->capacity);
    for (size_t i = 0; i < list->count; i++)
        syn_list_append(held, worker->head.first + list->index[i], list->value[i]);
    return SYN_OK;
}

void syn_shard_release(struct syn_shard *shard, size_t rank)
{
    struct syn_list *held = &shard->workers[rank].held;
    for (size_t i = 0; i < held->count; i++)
        shard->sum[held->index[i]] += held->value[i];
    held->count = 0;
}

/* DC-ASGD: the gradient g was computed at weights p, which have since moved to w; to first order it
 * would be g + H*(w - p) there, and lambda * g*g approximates the diagonal of H. */
static void compensate(struct syn_shard *shard, double scale, const float *p)
{
    float s = (float)scale;
    float lambda = (float)shard->options.compensation;
    float *sum = shard->sum;
    const float *w = shard->weights;
    for (size_t i = 0; i < shard->part.count; i++) {
        float g = s * sum[i];
        sum[i] = g + lambda * g * g * (w[i] - p[i]);
    }
}

/* Reduce the scale if the mean, the rest of which is on the other servers, is too long. */
static enum syn_status clip(struct syn_shard *shard, double *scale)
{
    double square = 0;
    double own = syn_norm_square(shard->sum, shard->part.count);
    SYN_TRY(syn_norm_add(&shard->norm, own, &square));
    *scale *= syn_norm_scale(*scale * sqrt(square), shard->longest);
    return SYN_OK;
}

enum syn_status syn_shard_apply(struct syn_shard *shard, size_t pushes, double lr,
                                const struct syn_shard_worker *worker)
{
    size_t count = shard->part.count;
    /* In units of weights, the sum is already lr times a gradient. */
    double scale = 1 / ((double)pushes * (shard->options.send_updates ? lr : 1));
    if (worker && worker->weights) {
        compensate(shard, scale, worker->weights);
        scale = 1;
    }
    size_t bad = syn_first_not_finite(shard->sum, count);
    if (bad < count)
        return complain(shard, bad);
    if (shard->longest > 0)
        SYN_TRY(clip(shard, &scale));
    SYN_TRY(syn_optimizer_apply(shard->optimizer, lr, scale, shard->sum, shard->weights));
    memset(shard->sum, 0, count * sizeof *shard->sum);
    shard->version++;
    return SYN_OK;
}

size_t syn_shard_answer(const struct syn_shard *shard, struct syn_answer_head head,
                        uint8_t *message)
{
    size_t count = shard->part.count;
    uint8_t *body = message + sizeof head;
    memcpy(message, &head, sizeof head);
    if (shard->form.pulls_halves) {
        syn_kernels()->to_half((uint16_t *)(void *)body, shard->weights, count);
        return sizeof head + count * sizeof(uint16_t);
    }
    memcpy(body, shard->weights, count * sizeof(float));
    return sizeof head + count * sizeof(float);
}
