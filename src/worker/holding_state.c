/* A server's state, row by row: row 0 are the weights, the others what the optimizer remembers of
 * each weight. Workers put the rows of all servers together, so that what is saved does not know
 * how many servers there were. */
#include "optim/optim.h"
#include "worker/holding.h"

static enum syn_status find_row(const struct syn_holding *holding, uint32_t number, float **row)
{
    if (number >= holding->rows)
        return syn_fail(SYN_FORMAT, "row %lu of a server's state; there are %zu",
                        (unsigned long)number, holding->rows);
    *row = number == 0 ? holding->weights : syn_optimizer_memory(holding->optimizer, number - 1);
    return SYN_OK;
}

enum syn_status syn_holding_answer_row(const struct syn_holding *holding, struct syn_mail_head head,
                                       uint8_t *letter, size_t *bytes)
{
    size_t size = holding->shard.count * sizeof(float);
    struct syn_answer_head answer = {.step = head.step};
    float *row = NULL;
    SYN_TRY(find_row(holding, head.bucket, &row));
    memcpy(letter, &answer, sizeof answer);
    if (size > 0)
        memcpy(letter + sizeof answer, row, size);
    *bytes = sizeof answer + size;
    return SYN_OK;
}

/* All workers are taken to compute at the restored weights. */
static void restore_customers(struct syn_holding *holding)
{
    for (size_t i = 0; i < holding->group->workers; i++) {
        struct syn_customer *customer = &holding->customers[i];
        customer->version = holding->version;
        if (customer->weights)
            memcpy(customer->weights, holding->weights, holding->shard.count * sizeof(float));
    }
}

enum syn_status syn_holding_restore(struct syn_holding *holding)
{
    const struct syn_customer *first = &holding->customers[0];
    const float *given = (const float *)(const void *)(first->letter + sizeof first->head);
    size_t count = holding->shard.count;
    float *row = NULL;
    SYN_TRY(find_row(holding, first->head.bucket, &row));
    size_t bad = syn_first_not_finite(given, count);
    if (bad < count)
        return syn_fail(SYN_NONFINITE, "entry %zu of row %lu of a saved state is not finite",
                        holding->shard.first + bad, (unsigned long)first->head.bucket);
    if (count > 0)
        memcpy(row, given, count * sizeof *row);
    if (first->head.bucket == 0)
        restore_customers(holding);
    return SYN_OK;
}
