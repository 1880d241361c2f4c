/* A worker's end of the way to the parameter servers (src/server): pushes as an exchange from which
 * no sum comes out, the weights that answer them, settling and the farewell. */
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

/* For a reducer, over which this client's state is lent to it. */
extern const struct syn_exchange_type syn_client_exchange;

enum syn_status syn_client_open(const struct syn_client_setup *setup, struct syn_client **client);
void syn_client_close(struct syn_client *client);

/* The communication thread on which everything is said, and where its cost is added up. */
void syn_client_attach(struct syn_client *client, struct syn_comm *comm, struct syn_cost *cost);

/* Number of weights. */
size_t syn_client_size(const struct syn_client *client);

/* The weights that answered last; [size]. */
const float *syn_client_pulled(const struct syn_client *client);

/* Rows of the servers' state: row 0 the weights, the others what the optimizer remembers. */
size_t syn_client_rows(const struct syn_client *client);

/* Get a row exactly, once all workers ask for it; nothing being in flight.
 *   floats  [size] */
enum syn_status syn_client_settle(struct syn_client *client, size_t row, float *floats);

/* Give the servers a row, before the first step. Every worker calls it, with the same. Returns when
 * it has left; all rows have arrived when somebody has settled. */
enum syn_status syn_client_restore(struct syn_client *client, size_t row, const float *floats);

/* Go on from weights that had answered before the state was saved.
 *   weights  [size] */
void syn_client_recall_pulled(struct syn_client *client, const float *weights);

/* Tell the servers that this worker has ended; best effort. */
void syn_client_farewell(struct syn_client *client);

#endif
