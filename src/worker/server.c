/* A parameter server, and its synchronous way: rounds, in each of which every worker says one
 * thing, and all the same. Pushes are added in the order of ranks, whatever the order of arrival;
 * as every weight is added and updated by itself, the bits do not depend on the number of servers
 * either. */
#include <inttypes.h>
#include <stdio.h>

#include "schedule/schedule.h"
#include "worker/holding.h"
#include "worker/options.h"

static enum syn_status receive_round(struct syn_holding *holding)
{
    size_t workers = holding->group->workers;
    enum syn_status status = SYN_OK;
    for (size_t i = 0; i < workers && status == SYN_OK; i++)
        status = syn_holding_receive(holding, i);
    if (status != SYN_OK)
        syn_group_abandon(holding->group, status, syn_error_text());
    SYN_TRY(syn_group_wait(holding->group, holding->requests, workers));
    for (size_t i = 0; i < workers; i++)
        SYN_TRY(syn_holding_open_letter(holding, i));
    return SYN_OK;
}

/* What a worker has said, in words. */
struct saying {
    char text[80];
};

static struct saying saying_of(const struct syn_mail_head *head)
{
    struct saying saying;
    static const char *const others[SYN_MAIL_KINDS] = {[SYN_MAIL_SETTLE] = "settled",
                                                       [SYN_MAIL_RESTORE] = "loaded a state",
                                                       [SYN_MAIL_FAREWELL] = "closed"};
    if (head->kind == SYN_MAIL_PUSH)
        snprintf(saying.text, sizeof saying.text,
                 "pushed step %" PRIu32 " with lr %g, limit %" PRIu32, head->step, head->lr,
                 head->limit);
    else
        snprintf(saying.text, sizeof saying.text, "%s after %" PRIu32 " steps", others[head->kind],
                 head->step);
    return saying;
}

/* Whether all say the same. */
static enum syn_status compare_heads(const struct syn_holding *holding)
{
    const struct syn_mail_head *one = &holding->customers[0].head;
    for (size_t i = 1; i < holding->group->workers; i++) {
        const struct syn_mail_head *other = &holding->customers[i].head;
        bool is_same = one->kind == other->kind && one->flags == other->flags &&
                       one->step == other->step && one->bucket == other->bucket &&
                       one->first == other->first && one->count == other->count &&
                       one->limit == other->limit && one->lr == other->lr;
        if (!is_same)
            return syn_fail(SYN_MISMATCH, "worker 0 %s, but worker %zu %s", saying_of(one).text, i,
                            saying_of(other).text);
    }
    return SYN_OK;
}

/* Send what is in worker 0's letter box to all. */
static enum syn_status answer_all(struct syn_holding *holding, size_t bytes)
{
    size_t workers = holding->group->workers;
    const uint8_t *letter = holding->customers[0].letter;
    enum syn_status status = SYN_OK;
    for (size_t i = 0; i < workers && status == SYN_OK; i++)
        status = syn_group_send(holding->group, i, letter, bytes, &holding->requests[i]);
    if (status != SYN_OK)
        syn_group_abandon(holding->group, status, syn_error_text());
    return syn_group_wait(holding->group, holding->requests, workers);
}

static enum syn_status take_pushes(struct syn_holding *holding)
{
    size_t workers = holding->group->workers;
    const struct syn_mail_head *head = &holding->customers[0].head;
    for (size_t i = 0; i < workers; i++)
        SYN_TRY(syn_holding_add(holding, i));
    if (!(head->flags & SYN_MAIL_ENDS))
        return SYN_OK;
    SYN_TRY(syn_holding_apply(holding, workers, head->lr, NULL));
    if (!(head->flags & SYN_MAIL_PULLS))
        return SYN_OK;
    struct syn_answer_head answer = {.step = head->step};
    return answer_all(holding, syn_holding_answer(holding, answer, holding->customers[0].letter));
}

static enum syn_status settle(struct syn_holding *holding)
{
    const struct syn_customer *first = &holding->customers[0];
    size_t bytes;
    SYN_TRY(syn_holding_answer_row(holding, first->head, first->letter, &bytes));
    return answer_all(holding, bytes);
}

static enum syn_status take_round(struct syn_holding *holding)
{
    switch (holding->customers[0].head.kind) {
    case SYN_MAIL_PUSH:
        return take_pushes(holding);
    case SYN_MAIL_SETTLE:
        return settle(holding);
    default:
        return syn_holding_restore(holding);
    }
}

enum syn_status syn_server_run_sync(struct syn_holding *holding)
{
    for (;;) {
        SYN_TRY(receive_round(holding));
        SYN_TRY(compare_heads(holding));
        if (holding->customers[0].head.kind == SYN_MAIL_FAREWELL)
            return SYN_OK;
        SYN_TRY(take_round(holding));
    }
}

static enum syn_status check_place(const struct syn_group *group)
{
    if (group->rank >= group->workers)
        return SYN_OK;
    return syn_fail(SYN_INVALID, "worker %zu of %zu is no server; see syn_group_appoint()",
                    group->rank, group->workers);
}

static enum syn_status serve(struct syn_holding *holding, struct syn_group *group,
                             const struct syn_layout *layout, struct syn_worker_options options,
                             const float *weights)
{
    double momentum;
    SYN_TRY(check_place(group));
    SYN_TRY(syn_worker_resolve(&options, syn_group_servers(group), &momentum));
    SYN_TRY(syn_worker_check_consistency(group, layout, &options, weights));
    SYN_TRY(syn_holding_open(holding, group, layout, &options, weights));
    return syn_schedule_find(options.schedule)->is_async ? syn_server_run_async(holding)
                                                         : syn_server_run_sync(holding);
}

enum syn_status syn_worker_serve(struct syn_group *group, const struct syn_layout *layout,
                                 const struct syn_worker_options *options, const float *weights)
{
    struct syn_holding holding = {.group = group};
    syn_group_enter(group);
    enum syn_status status = serve(&holding, group, layout, *options, weights);
    if (status != SYN_OK) {
        char cause[SYN_ERROR_BYTES];
        memcpy(cause, syn_error_text(), strlen(syn_error_text()) + 1);
        syn_group_abandon(group, status, cause);
        if (holding.requests) /* nothing may be under way when the memory goes */
            syn_group_wait(group, holding.requests, group->workers);
        syn_fail_again(status, cause);
    }
    syn_holding_close(&holding);
    syn_group_depart(group);
    return status;
}
