/* A server's state, row by row: row 0 is the weights, the others are what the optimizer remembers
 * per weight; if it counts its updates, the last row is that number, repeated. Workers join the
 * rows of all servers, so that a saved state does not depend on the number of servers. */
#include "optim/optim.h"
#include "server/shard.h"

/*   row  NULL if it is the number of updates */
static enum syn_status find_row(const struct syn_shard *shard, uint32_t number, float **row)
{
    if (number >= shard->rows)
        return syn_fail(SYN_FORMAT, "row %lu of a server's state; expected below %zu",
                        (unsigned long)number, shard->rows);
    if (number == 0)
        *row = shard->weights;
    else if (number <= syn_optimizer_memories(&shard->options.optimizer))
        *row = syn_optimizer_memory(shard->optimizer, number - 1);
    else
        *row = NULL;
    return SYN_OK;
}

/* Write a row of the number of updates. */
static void write_count(const struct syn_shard *shard, uint8_t *to)
{
    float count = (float)syn_optimizer_count(shard->optimizer);
    for (size_t i = 0; i < shard->part.count; i++, to += sizeof count)
        memcpy(to, &count, sizeof count);
}

enum syn_status syn_shard_answer_row(const struct syn_shard *shard, struct syn_message_head head,
                                     uint8_t *message, size_t *bytes)
{
    size_t size = shard->part.count * sizeof(float);
    struct syn_answer_head answer = {.step = head.step};
    float *row = NULL;
    SYN_TRY(find_row(shard, head.bucket, &row));
    memcpy(message, &answer, sizeof answer);
    if (!row)
        write_count(shard, message + sizeof answer);
    else if (size > 0)
        memcpy(message + sizeof answer, row, size);
    *bytes = sizeof answer + size;
    return SYN_OK;
}

/* All workers are assumed to compute at the restored weights. */
static void restore_workers(struct syn_shard *shard)
{
    for (size_t i = 0; i < shard->group->workers; i++) {
        struct syn_shard_worker *worker = &shard->workers[i];
        worker->version = shard->version;
        if (worker->weights && shard->part.count > 0)
            memcpy(worker->weights, shard->weights, shard->part.count * sizeof(float));
    }
}

enum syn_status syn_shard_restore(struct syn_shard *shard)
{
    const struct syn_shard_worker *first = &shard->workers[0];
    const float *given = (const float *)(const void *)(first->message + sizeof first->head);
    size_t count = shard->part.count;
    float *row = NULL;
    SYN_TRY(find_row(shard, first->head.bucket, &row));
    size_t bad = syn_first_not_finite(given, count);
    if (bad < count)
        return syn_fail(SYN_NONFINITE, "entry %zu of row %lu of a saved state is not finite",
                        shard->part.first + bad, (unsigned long)first->head.bucket);
    if (!row && count > 0)
        return syn_optimizer_recount(shard->optimizer, given[0]);
    if (row && count > 0)
        memcpy(row, given, count * sizeof *row);
    if (first->head.bucket == 0)
        restore_workers(shard);
    return SYN_OK;
}
