/* The asynchronous way to serve: each push is applied as it comes, and answered with the weights
 * after it. A worker has one thing under way with the server at any time, its message or the
 * answer; which of them is done next is nobody's choice, so that no two runs are the same.
 *
 * Workers wait for one another only to settle, where all that have not left must ask before any is
 * answered, so that all get the same weights; and if there is a limit to how far one may be ahead:
 * its push is applied, but answered only when the slowest is near enough. */
#include "worker/holding.h"

/* Send what is in the worker's letter box; the next message is awaited when it is done. */
static enum syn_status send_letter(struct syn_holding *holding, size_t worker, size_t bytes)
{
    return syn_group_send(holding->group, worker, holding->customers[worker].letter, bytes,
                          &holding->requests[worker]);
}

/* Remember the weights that the worker gets, as it gets them. */
static void remember(const struct syn_holding *holding, struct syn_customer *customer)
{
    const uint8_t *body = customer->letter + sizeof(struct syn_answer_head);
    size_t count = holding->shard.count;
    customer->version = holding->version;
    if (!customer->weights)
        return;
    if (holding->form.pulls_halves)
        syn_kernels()->from_half(customer->weights, (const uint16_t *)(const void *)body, count);
    else
        memcpy(customer->weights, body, count * sizeof(float));
}

static enum syn_status take_push(struct syn_holding *holding, size_t worker)
{
    struct syn_customer *customer = &holding->customers[worker];
    customer->staleness = holding->version - customer->version;
    SYN_TRY(syn_holding_add(holding, worker));
    SYN_TRY(syn_holding_apply(holding, 1, customer->head.lr, customer));
    customer->steps++;
    customer->is_unanswered = true;
    return SYN_OK;
}

static enum syn_status answer_push(struct syn_holding *holding, size_t worker)
{
    struct syn_customer *customer = &holding->customers[worker];
    uint64_t staleness = customer->staleness;
    struct syn_answer_head head = {.step = customer->head.step,
                                   .staleness =
                                       staleness < UINT32_MAX ? (uint32_t)staleness : UINT32_MAX};
    size_t bytes = syn_holding_answer(holding, head, customer->letter);
    customer->is_unanswered = false;
    remember(holding, customer);
    return send_letter(holding, worker, bytes);
}

/* The steps made by the slowest of those that are still making some. */
static uint64_t slowest(const struct syn_holding *holding)
{
    uint64_t least = UINT64_MAX;
    for (size_t i = 0; i < holding->group->workers; i++) {
        const struct syn_customer *customer = &holding->customers[i];
        bool is_stepping = !customer->has_left && !customer->is_settling;
        if (is_stepping && customer->steps < least)
            least = customer->steps;
    }
    return least;
}

/* Answer those whose pushes are in and who are not too far ahead. */
static enum syn_status answer_pushes(struct syn_holding *holding)
{
    uint64_t lag = holding->options.lag;
    uint64_t least = slowest(holding);
    for (size_t i = 0; i < holding->group->workers; i++) {
        const struct syn_customer *customer = &holding->customers[i];
        if (customer->is_unanswered && (lag == 0 || customer->steps <= least + lag))
            SYN_TRY(answer_push(holding, i));
    }
    return SYN_OK;
}

/* A saved state is loaded before the first step, and everyone settles after that: until worker 0
 * has given it all, nobody pushes. */
static enum syn_status restore(struct syn_holding *holding, size_t worker)
{
    if (worker == 0)
        SYN_TRY(syn_holding_restore(holding));
    return syn_holding_receive(holding, worker);
}

/* A worker's message has come. */
static enum syn_status take_letter(struct syn_holding *holding, size_t worker)
{
    struct syn_customer *customer = &holding->customers[worker];
    SYN_TRY(syn_holding_open_letter(holding, worker));
    if (customer->head.kind == SYN_MAIL_PUSH)
        return take_push(holding, worker);
    if (customer->head.kind == SYN_MAIL_RESTORE)
        return restore(holding, worker);
    customer->is_settling = customer->head.kind == SYN_MAIL_SETTLE;
    customer->has_left = customer->head.kind == SYN_MAIL_FAREWELL;
    return SYN_OK;
}

/* If all that have not left wait for it. */
static enum syn_status settle(struct syn_holding *holding)
{
    size_t workers = holding->group->workers;
    for (size_t i = 0; i < workers; i++)
        if (!holding->customers[i].has_left && !holding->customers[i].is_settling)
            return SYN_OK;
    for (size_t i = 0; i < workers; i++) {
        struct syn_customer *customer = &holding->customers[i];
        if (!customer->is_settling)
            continue;
        size_t bytes;
        SYN_TRY(syn_holding_answer_row(holding, customer->head, customer->letter, &bytes));
        customer->is_settling = false;
        SYN_TRY(send_letter(holding, i, bytes));
    }
    return SYN_OK;
}

static bool have_all_left(const struct syn_holding *holding)
{
    size_t left = 0;
    for (size_t i = 0; i < holding->group->workers; i++)
        left += holding->customers[i].has_left;
    return left == holding->group->workers;
}

enum syn_status syn_server_run_async(struct syn_holding *holding)
{
    size_t workers = holding->group->workers;
    size_t worker = workers - 1;
    for (size_t i = 0; i < workers; i++)
        SYN_TRY(syn_holding_receive(holding, i));
    while (!have_all_left(holding)) {
        SYN_TRY(syn_group_wait_any(holding->group, holding->requests, workers, &worker));
        bool has_come = holding->requests[worker].is_receive;
        SYN_TRY(has_come ? take_letter(holding, worker) : syn_holding_receive(holding, worker));
        SYN_TRY(answer_pushes(holding));
        SYN_TRY(settle(holding));
    }
    return SYN_OK;
}
