/* The worker's side of the parameter servers (src/server): pushes, as an exchange that returns no
 * sum, the weights sent in answer, settling and leaving. */
#ifndef SYN_REDUCER_CLIENT_H
#define SYN_REDUCER_CLIENT_H

#include <syncopate/worker.h>

#include "exchange/exchange.h"
#include "reducer/road.h"

struct syn_client;

struct syn_client_setup {
    struct syn_group *group;
    const struct syn_layout *layout;
    const struct syn_worker_options *options; /* resolved */
};

/* For a reducer, to which this client's state is lent. */
extern const struct syn_exchange_type syn_client_exchange;

enum syn_status syn_client_open(const struct syn_client_setup *setup, struct syn_client **client);
void syn_client_close(struct syn_client *client);

/* Set the communication thread on which everything is sent, and where its cost is added. */
void syn_client_attach(struct syn_client *client, struct syn_comm *comm, struct syn_cost *cost);

/* Number of weights. */
size_t syn_client_size(const struct syn_client *client);

/* The weights of the last answer; [size]. */
const float *syn_client_pulled(const struct syn_client *client);

/* Rows of the servers' state: row 0 is the weights, the others are the optimizer's memory. */
size_t syn_client_rows(const struct syn_client *client);

/* Get a row exactly; it is sent once all workers have asked for it. Nothing may be in flight.
 *   floats  [size] */
enum syn_status syn_client_settle(struct syn_client *client, size_t row, float *floats);

/* Give the servers a row, before the first step. Every worker calls it with the same row. Returns
 * once the row has been sent; after any worker has settled, all rows have arrived. */
enum syn_status syn_client_restore(struct syn_client *client, size_t row, const float *floats);

/* Restore the weights of the last answer before the state was saved.
 *   weights  [size] */
void syn_client_recall_pulled(struct syn_client *client, const float *weights);

/* Tell the servers that this worker is leaving; best effort. */
void syn_client_farewell(struct syn_client *client);

#endif
