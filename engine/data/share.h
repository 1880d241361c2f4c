/* Which examples a worker sees, and when: arithmetic only, the same on every worker. */
#ifndef SYN_ENGINE_DATA_SHARE_H
#define SYN_ENGINE_DATA_SHARE_H

#include <stddef.h>
#include <stdint.h>

/* A worker's share of count things. */
struct syn_share {
    size_t count;   /* in all; at least batch x workers */
    size_t batch;   /* of this worker; at least 1 */
    size_t worker;  /* less than workers */
    size_t workers; /* at least 1 */
};

/* Batches in an epoch: enough for the largest share, so the same for all workers. */
uint64_t syn_share_batches(struct syn_share share);

/* Where batch number index is in the worker's share: entries [first, first + count) of it. Entry i
 * of the share is number i * workers + worker of all. */
struct syn_slice {
    size_t first;
    size_t count;
};
struct syn_slice syn_share_slice(struct syn_share share, uint64_t index);

/* For text: where column number column of this worker begins and ends, among count words. There are
 * batch x workers columns; all have the same length, or one less. */
struct syn_slice syn_share_column(struct syn_share share, size_t column);

/* The length of the longest column. */
size_t syn_share_longest_column(struct syn_share share);

#endif
