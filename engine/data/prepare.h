/* Making batches: everything that a loader thread does between two waits. */
#ifndef SYN_ENGINE_DATA_PREPARE_H
#define SYN_ENGINE_DATA_PREPARE_H

#include "engine/data/pictures.h"
#include "engine/data/share.h"

/* A loader's traversal of one part. Used by one thread at a time. */
struct syn_preparer {
    const struct syn_data *data;
    struct syn_loader_options options;
    struct syn_share share;
    uint64_t batches;           /* in an epoch */
    size_t longest;             /* tokens: words of the longest column */
    uint32_t *order;            /* [count], of the training images; NULL: file order */
    uint64_t epoch;             /* of the order */
    bool has_order;             /* order is filled */
    uint8_t *row;               /* [width], for the crop */
    struct syn_scratch scratch; /* for pictures */
};

/* Memory for one batch. What a set does not need is NULL. */
struct syn_buffer {
    float *input;
    int32_t *tokens;
    int32_t *labels;
    float *targets;
};

/* Check the options against the data, and allocate memory. A failure leaves nothing to release. */
enum syn_status syn_preparer_open(struct syn_preparer *preparer, const struct syn_data *data,
                                  const struct syn_loader_options *options);
void syn_preparer_close(struct syn_preparer *preparer);

/* Allocate memory for one batch. What was allocated before a failure is released by
 * syn_buffer_free(). */
enum syn_status syn_buffer_new(const struct syn_preparer *preparer, struct syn_buffer *buffer);
void syn_buffer_free(struct syn_buffer *buffer);

/* Examples that one part may have: their numbers are 32 bits, and the last one is reserved. */
#define SYN_MOST_EXAMPLES (UINT32_MAX - 1)

/* Make the batch at that position in buffer; batch points into it. */
void syn_preparer_fill(struct syn_preparer *preparer, struct syn_loader_position position,
                       const struct syn_buffer *buffer, struct syn_batch *batch);

/* The fill functions of the two kinds: they write the arrays, and set count, time and labelled. */
void syn_fill_images(struct syn_preparer *preparer, struct syn_loader_position position,
                     const struct syn_buffer *buffer, struct syn_batch *batch);
void syn_fill_tokens(const struct syn_preparer *preparer, struct syn_loader_position position,
                     const struct syn_buffer *buffer, struct syn_batch *batch);

#endif
