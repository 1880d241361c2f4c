/* What one parameter server holds: a shard of the weights with its optimizer, the sum of the pushes
 * that are not applied yet, and a buffer for the messages of each worker. It knows how to add a
 * push, apply the sum and write an answer; when to do which is the business of rounds.c and
 * async.c. */
#ifndef SYN_SERVER_SHARD_H
#define SYN_SERVER_SHARD_H

#include <syncopate/worker.h>

#include "exchange/norm.h"
#include "reducer/message.h"
#include "server/server.h"

/* What a shard knows of one worker. */
struct syn_shard_worker {
    struct syn_message_head head; /* of the message that came last */
    uint8_t *message;             /* [room] that message, or what is answered */
    uint64_t version;             /* of the weights that the worker computes at */
    uint64_t steps;               /* async: pushes that were applied */
    uint64_t staleness;           /* async: of the last of them */
    float *weights;               /* [count] those weights, for delay compensation; or NULL */
    bool is_settling;             /* async: waits for the others to settle */
    bool is_unanswered;           /* async: its push is in, and the answer not yet out */
    bool has_left;                /* async */
};

struct syn_shard {
    struct syn_group *group;
    const struct syn_layout *layout;
    struct syn_worker_options options; /* resolved */
    struct syn_message_form form;
    struct syn_chunk part;
    struct syn_optimizer *optimizer;
    float *weights; /* [count] */
    float *sum;     /* [count], zeros after syn_shard_apply() */
    struct syn_list list;
    uint64_t version;                 /* updates so far */
    size_t rows;                      /* of the state */
    size_t room;                      /* of a message */
    struct syn_shard_worker *workers; /* [workers] */
    struct syn_request *requests;     /* [workers] */
    double longest;                   /* mean gradient that is not clipped; 0: any */
    struct syn_norm norm;             /* all servers, who know the mean's norm together */
};

/* All zero before. */
enum syn_status syn_shard_open(struct syn_shard *shard, const struct syn_server_setup *setup);
void syn_shard_close(struct syn_shard *shard);

/* Begin to receive a worker's next message. */
enum syn_status syn_shard_receive(struct syn_shard *shard, size_t worker);

/* Read the head of the message that has come, and check it. */
enum syn_status syn_shard_read(struct syn_shard *shard, size_t rank);

/* Add that message, a push, to the sum. */
enum syn_status syn_shard_add(struct syn_shard *shard, size_t rank);

/* Apply the sum of so many workers' pushes, and start a new one. SYN_NONFINITE names the tensor.
 *   worker  whose push alone it is, compensated for its delay if the options say so; or NULL */
enum syn_status syn_shard_apply(struct syn_shard *shard, size_t pushes, double lr,
                                const struct syn_shard_worker *worker);

/* Write the weights as an answer to that step.
 *   message  [room]
 * Returns its bytes. */
size_t syn_shard_answer(const struct syn_shard *shard, struct syn_answer_head head,
                        uint8_t *message);

/* Write a row of the state, as floats whatever the options say, as an answer to the settle in
 * head.
 *   message  [room]; may be the one that head came in
 *   bytes    of the answer */
enum syn_status syn_shard_answer_row(const struct syn_shard *shard, struct syn_message_head head,
                                     uint8_t *message, size_t *bytes);

/* Take on the row in the message of worker 0, a restore, nothing being summed up. */
enum syn_status syn_shard_restore(struct syn_shard *shard);

/* The two ways to serve, until all workers have left. */
enum syn_status syn_server_run_rounds(struct syn_shard *shard);
enum syn_status syn_server_run_async(struct syn_shard *shard);

#endif
