/* The shard's arithmetic. Pushes of any form are added into one dense array: a list costs as much
 * as it has entries, and the optimizer walks the whole shard anyway. */
#include "worker/holding.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "optim/optim.h"
#include "worker/store.h"

static enum syn_status open_customers(struct syn_holding *holding)
{
    size_t workers = holding->group->workers;
    size_t count = holding->shard.count;
    size_t push = syn_mail_push_room(&holding->form, count);
    size_t answer = syn_mail_answer_room(count);
    holding->room = push > answer ? push : answer;
    SYN_TRY(syn_allocate(workers, sizeof *holding->requests, &holding->requests));
    SYN_TRY(syn_allocate(workers, sizeof *holding->customers, &holding->customers));
    for (size_t i = 0; i < workers; i++) {
        struct syn_customer *customer = &holding->customers[i];
        SYN_TRY(syn_allocate(1, holding->room, &customer->letter));
        if (holding->options.compensation > 0) {
            SYN_TRY(syn_allocate(count, sizeof(float), &customer->weights));
            memcpy(customer->weights, holding->weights, count * sizeof(float));
        }
    }
    return SYN_OK;
}

enum syn_status syn_holding_open(struct syn_holding *holding, struct syn_group *group,
                                 const struct syn_layout *layout,
                                 const struct syn_worker_options *options, const float *weights)
{
    size_t size = syn_layout_size(layout);
    holding->group = group;
    holding->layout = layout;
    holding->options = *options;
    holding->form = syn_mail_form_of(options, size);
    holding->shard = syn_mail_shard(group, size, group->rank - group->workers);
    size_t count = holding->shard.count;
    size_t limit = holding->form.limit < count ? holding->form.limit : count;
    SYN_TRY(syn_store_open_optimizer(options, count, &holding->optimizer));
    holding->rows = 1 + syn_optimizer_memories(&options->optimizer);
    SYN_TRY(syn_allocate(count, sizeof(float), &holding->weights));
    SYN_TRY(syn_allocate(count, sizeof(float), &holding->sum));
    SYN_TRY(syn_list_open(&holding->list, holding->form.is_dense ? 0 : limit));
    memcpy(holding->weights, weights + holding->shard.first, count * sizeof(float));
    SYN_TRY(syn_clip_party_open(&holding->party, group, group->workers, syn_group_servers(group)));
    return open_customers(holding);
}

void syn_holding_close(struct syn_holding *holding)
{
    for (size_t i = 0; holding->customers && i < holding->group->workers; i++) {
        free(holding->customers[i].letter);
        free(holding->customers[i].weights);
    }
    free(holding->customers);
    free(holding->requests);
    free(holding->weights);
    free(holding->sum);
    syn_list_close(&holding->list);
    syn_optimizer_free(holding->optimizer);
    syn_clip_party_close(&holding->party);
}

enum syn_status syn_holding_receive(struct syn_holding *holding, size_t worker)
{
    return syn_group_receive(holding->group, worker, holding->customers[worker].letter,
                             holding->room, &holding->requests[worker]);
}

static bool is_sound(const struct syn_holding *holding, const struct syn_mail_head *head,
                     size_t worker)
{
    if (head->magic != SYN_MAIL_MAGIC)
        return false;
    if (head->kind == SYN_MAIL_RESTORE)
        return head->bytes == (worker == 0 ? holding->shard.count * sizeof(float) : 0);
    if (head->kind != SYN_MAIL_PUSH)
        return head->kind < SYN_MAIL_KINDS && head->bytes == 0;
    bool is_inside =
        head->first <= holding->shard.count && head->count <= holding->shard.count - head->first;
    if (!is_inside || !(head->lr > 0) || !isfinite(head->lr))
        return false;
    if (holding->form.is_dense)
        return head->bytes == holding->form.values->measure(head->count);
    return head->limit <= holding->list.capacity && (head->count == 0) == (head->bytes == 0);
}

enum syn_status syn_holding_open_letter(struct syn_holding *holding, size_t worker)
{
    struct syn_customer *customer = &holding->customers[worker];
    struct syn_mail_head *head = &customer->head;
    size_t came = holding->requests[worker].count;
    if (came >= sizeof *head) {
        memcpy(head, customer->letter, sizeof *head);
        if (came - sizeof *head == head->bytes && is_sound(holding, head, worker))
            return SYN_OK;
    }
    return syn_fail(SYN_FORMAT, "message of %zu bytes from worker %zu is none that servers know",
                    came, worker);
}

static enum syn_status complain(const struct syn_holding *holding, size_t entry)
{
    return syn_fail_nonfinite(holding->layout, "gradient", holding->shard.first + entry);
}

static void add_dense(struct syn_holding *holding, const struct syn_mail_head *head,
                      const uint8_t *body)
{
    float *sum = holding->sum + head->first;
    const struct syn_kernels *kernels = syn_kernels();
    if (holding->form.values->is_exact) {
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

static enum syn_status add_list(struct syn_holding *holding, size_t worker,
                                const struct syn_mail_head *head, const uint8_t *body)
{
    struct syn_list *list = &holding->list;
    struct syn_packet_about about = {
        .sequence = head->step, .bucket = head->bucket, .size = head->count, .limit = head->limit};
    struct syn_packet_content content;
    SYN_TRY(syn_packet_decode(&about, body, head->bytes, worker, list, &content));
    if (content.is_nonfinite)
        return complain(holding, head->first + content.nonfinite_entry);
    float *sum = holding->sum + head->first;
    for (size_t i = 0; i < list->count; i++)
        sum[list->index[i]] += list->value[i];
    return SYN_OK;
}

enum syn_status syn_holding_add(struct syn_holding *holding, size_t worker)
{
    const struct syn_customer *customer = &holding->customers[worker];
    const uint8_t *body = customer->letter + sizeof customer->head;
    if (customer->head.count == 0)
        return SYN_OK;
    if (!holding->form.is_dense)
        return add_list(holding, worker, &customer->head, body);
    add_dense(holding, &customer->head, body);
    return SYN_OK;
}

/* DC-ASGD: the gradient g was computed at weights p that have moved to w since; to first order it
 * would be g + H*(w - p) there, and lambda * g*g stands in for the diagonal of H. */
static void compensate(struct syn_holding *holding, double scale, const float *p)
{
    float s = (float)scale;
    float lambda = (float)holding->options.compensation;
    float *sum = holding->sum;
    const float *w = holding->weights;
    for (size_t i = 0; i < holding->shard.count; i++) {
        float g = s * sum[i];
        sum[i] = g + lambda * g * g * (w[i] - p[i]);
    }
}

/* Lessen the scale if the mean, of which the other servers have the rest, is too long. */
static enum syn_status clip(struct syn_holding *holding, double *scale)
{
    double square = 0;
    double own = syn_clip_square(holding->sum, holding->shard.count);
    SYN_TRY(syn_clip_party_add(&holding->party, own, &square));
    *scale *= syn_clip_scale(*scale * sqrt(square), holding->options.clip);
    return SYN_OK;
}

enum syn_status syn_holding_apply(struct syn_holding *holding, size_t pushes, double lr,
                                  const struct syn_customer *customer)
{
    size_t count = holding->shard.count;
    /* In units of weights the sum is lr times a gradient already. */
    double scale = 1 / ((double)pushes * (holding->options.send_updates ? lr : 1));
    if (customer && customer->weights) {
        compensate(holding, scale, customer->weights);
        scale = 1;
    }
    size_t bad = syn_first_not_finite(holding->sum, count);
    if (bad < count)
        return complain(holding, bad);
    if (syn_clip_is_merged(&holding->options))
        SYN_TRY(clip(holding, &scale));
    SYN_TRY(syn_optimizer_apply(holding->optimizer, lr, scale, holding->sum, holding->weights));
    memset(holding->sum, 0, count * sizeof *holding->sum);
    holding->version++;
    return SYN_OK;
}

size_t syn_holding_answer(const struct syn_holding *holding, struct syn_answer_head head,
                          uint8_t *letter)
{
    size_t count = holding->shard.count;
    uint8_t *body = letter + sizeof head;
    memcpy(letter, &head, sizeof head);
    if (holding->form.pulls_halves) {
        syn_kernels()->to_half((uint16_t *)(void *)body, holding->weights, count);
        return sizeof head + count * sizeof(uint16_t);
    }
    memcpy(body, holding->weights, count * sizeof(float));
    return sizeof head + count * sizeof(float);
}
