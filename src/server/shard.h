/* The state of one parameter server: a shard of the weights with its optimizer, the sum of the
 * pushes that are not applied yet, and a message buffer for each worker. Functions here add a push,
 * apply the sum and write an answer; rounds.c and async.c decide when. */
#ifndef SYN_SERVER_SHARD_H
#define SYN_SERVER_SHARD_H

#include <syncopate/worker.h>

#include "exchange/norm.h"
#include "reducer/message.h"
#include "server/server.h"

/* What a shard keeps for each worker. */
struct syn_shard_worker {
    struct syn_message_head head; /* of the last message received */
    uint8_t *message;             /* [room] that message, or the answer */
    uint64_t version;             /* of the weights the worker computes at */
    uint64_t steps;               /* async: pushes applied */
    uint64_t staleness;           /* async: of the last push */
    float *weights;               /* [count] those weights, for delay compensation; or NULL */
    struct syn_list held;         /* async: entries of its step's earlier messages, in any order */
    bool is_settling;             /* async: waits for the others to settle */
    bool is_unanswered;           /* async: its push was applied but not answered yet */
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
    double longest;                   /* norm above which the mean gradient is clipped; 0: never */
    struct syn_norm norm;             /* of all servers, which compute the mean's norm together */
};

/* The shard must be zeroed before. */
enum syn_status syn_shard_open(struct syn_shard *shard, const struct syn_server_setup *setup);
void syn_shard_close(struct syn_shard *shard);

/* Start receiving a worker's next message. */
enum syn_status syn_shard_receive(struct syn_shard *shard, size_t worker);

/* Read and check the head of the received message. */
enum syn_status syn_shard_read(struct syn_shard *shard, size_t rank);

/* Add that message, a push, to the sum. */
enum syn_status syn_shard_add(struct syn_shard *shard, size_t rank);

/* (async) Hold the entries of that message, a push that is not the last of its step, until they are
 * released to the sum: other workers' steps are applied meanwhile. */
enum syn_status syn_shard_hold(struct syn_shard *shard, size_t rank);
void syn_shard_release(struct syn_shard *shard, size_t rank);

/* Apply the sum of this many workers' pushes and start a new sum. SYN_NONFINITE names the tensor.
 *   worker  whose single push it is, compensated for its delay if the options ask for it; or
 *           NULL */
enum syn_status syn_shard_apply(struct syn_shard *shard, size_t pushes, double lr,
                                const struct syn_shard_worker *worker);

/* Write the weights as an answer to that step.
 *   message  [room]
 * Returns its size in bytes. */
size_t syn_shard_answer(const struct syn_shard *shard, struct syn_answer_head head,
                        uint8_t *message);

/* Write a row of the state, always as floats, as an answer to the settle message in head.
 *   message  [room]; may be the buffer that head came from
 *   bytes    of the answer */
enum syn_status syn_shard_answer_row(const struct syn_shard *shard, struct syn_message_head head,
                                     uint8_t *message, size_t *bytes);

/* Restore the row in worker 0's restore message; no sum may be pending. */
enum syn_status syn_shard_restore(struct syn_shard *shard);

/* Serve in one of the two ways until all workers have left. */
enum syn_status syn_server_run_rounds(struct syn_shard *shard);
enum syn_status syn_server_run_async(struct syn_shard *shard);

#endif
