/* A worker's talk with the parameter servers: pushes as an exchange from which no sum comes out,
 * the weights that answer them, settling and the farewell. */
#ifndef SYN_WORKER_CLIENT_H
#define SYN_WORKER_CLIENT_H

#include "exchange/exchange.h"
#include "worker/store.h"

struct syn_client;

/* For a reducer, over which this client's state is lent to it. */
extern const struct syn_exchange_type syn_client_exchange;

enum syn_status syn_client_open(const struct syn_store_setup *setup, struct syn_client **client);
void syn_client_close(struct syn_client *client);

/* Say what goes along with a step, before any of it leaves.
 *   place  the step's number modulo the options' window
 *   pulls  the servers shall answer with the weights */
void syn_client_note(struct syn_client *client, size_t place, double lr, bool pulls);

/* Whether that step was answered, and how stale it was. Once it is done. */
bool syn_client_recall(const struct syn_client *client, size_t place, uint64_t *staleness);

/* The weights that answered last; [size]. */
const float *syn_client_pulled(const struct syn_client *client);

/* Rows of the servers' state: row 0 the weights, the others what the optimizer remembers. */
size_t syn_client_rows(const struct syn_client *client);

/* Get a row exactly, once all workers ask for it; on the communication thread, nothing being under
 * way.
 *   floats  [size]
 *   cost    bytes and time are added to it */
enum syn_status syn_client_settle(struct syn_client *client, struct syn_comm *comm, size_t row,
                                  float *floats, struct syn_cost *cost);

/* Give the servers a row, before the first step. Every worker calls it, with the same. Returns when
 * it has left; all rows have arrived when somebody has settled. */
enum syn_status syn_client_restore(struct syn_client *client, struct syn_comm *comm, size_t row,
                                   const float *floats, struct syn_cost *cost);

/* Go on from weights that had answered before the state was saved.
 *   weights  [size] */
void syn_client_recall_pulled(struct syn_client *client, const float *weights);

/* Tell the servers that this worker has ended, as well as it goes. */
void syn_client_farewell(struct syn_client *client, struct syn_comm *comm);

#endif
