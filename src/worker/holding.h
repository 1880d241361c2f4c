/* What one parameter server holds: a shard of the weights with its optimizer, the sum of the pushes
 * that are not applied yet, and a letter box for each worker. It knows how to add a push, apply the
 * sum and write an answer; when to do which is the business of server.c and server_async.c. */
#ifndef SYN_WORKER_HOLDING_H
#define SYN_WORKER_HOLDING_H

#include <syncopate/worker.h>

#include "worker/clip.h"
#include "worker/mail.h"

/* Of one worker. */
struct syn_customer {
    struct syn_mail_head head; /* of the message that came last */
    uint8_t *letter;           /* [room] that message, or what is answered */
    uint64_t version;          /* of the weights that the worker computes at */
    uint64_t steps;            /* async: pushes that were applied */
    uint64_t staleness;        /* async: of the last of them */
    float *weights;            /* [count] those weights, for delay compensation; or NULL */
    bool is_settling;          /* async: waits for the others to settle */
    bool is_unanswered;        /* async: its push is in, and the answer not yet out */
    bool has_left;             /* async */
};

struct syn_holding {
    struct syn_group *group;
    const struct syn_layout *layout;
    struct syn_worker_options options; /* resolved */
    struct syn_mail_form form;
    struct syn_chunk shard;
    struct syn_optimizer *optimizer;
    float *weights; /* [count] */
    float *sum;     /* [count], zeros after syn_holding_apply() */
    struct syn_list list;
    uint64_t version;               /* updates so far */
    size_t rows;                    /* of the state */
    size_t room;                    /* of a letter */
    struct syn_customer *customers; /* [workers] */
    struct syn_request *requests;   /* [workers] */
    struct syn_clip_party party;    /* all servers, who know the mean's norm together */
};

/* All zero before. group, layout: lent. options: resolved, copied. */
enum syn_status syn_holding_open(struct syn_holding *holding, struct syn_group *group,
                                 const struct syn_layout *layout,
                                 const struct syn_worker_options *options, const float *weights);
void syn_holding_close(struct syn_holding *holding);

/* Begin to receive a worker's next message. */
enum syn_status syn_holding_receive(struct syn_holding *holding, size_t worker);

/* Read the head of the message that has come, and check it. */
enum syn_status syn_holding_open_letter(struct syn_holding *holding, size_t worker);

/* Add that message, a push, to the sum. */
enum syn_status syn_holding_add(struct syn_holding *holding, size_t worker);

/* Apply the sum of so many workers' pushes, and start a new one. SYN_NONFINITE names the tensor.
 *   customer  whose push alone it is, compensated for its delay if the options say so; or NULL */
enum syn_status syn_holding_apply(struct syn_holding *holding, size_t pushes, double lr,
                                  const struct syn_customer *customer);

/* Write the weights as an answer to that step.
 *   letter  [room]
 * Returns its bytes. */
size_t syn_holding_answer(const struct syn_holding *holding, struct syn_answer_head head,
                          uint8_t *letter);

/* Write a row of the state, as floats whatever the options say, as an answer to the settle in
 * head.
 *   letter  [room]; may be the one that head came in
 *   bytes   of the answer */
enum syn_status syn_holding_answer_row(const struct syn_holding *holding, struct syn_mail_head head,
                                       uint8_t *letter, size_t *bytes);

/* Take on the row in the message of worker 0, a restore, nothing being summed up. */
enum syn_status syn_holding_restore(struct syn_holding *holding);

/* The two ways to serve, until all workers have left. */
enum syn_status syn_server_run_sync(struct syn_holding *holding);
enum syn_status syn_server_run_async(struct syn_holding *holding);

#endif
