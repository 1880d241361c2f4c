/* Batches of text: each column of the batch is its own running text, and the next batch continues
 * where this one ends, so that the state that a recurrent model carries stays valid. Nothing is
 * random here. */
#include "engine/data/prepare.h"

void syn_fill_tokens(const struct syn_preparer *preparer, struct syn_loader_position position,
                     const struct syn_buffer *buffer, struct syn_batch *batch)
{
    const struct syn_share *share = &preparer->share;
    const int32_t *text = preparer->data->parts[preparer->options.part].tokens;
    const size_t time = preparer->options.time;
    const size_t begin = (size_t)position.index * time; /* in every column */
    const size_t columns = preparer->options.batch;
    batch->count = columns;
    batch->time = preparer->longest - begin < time ? preparer->longest - begin : time;
    batch->labelled = 0;
    for (size_t column = 0; column < columns; column++) {
        const struct syn_slice slice = syn_share_column(*share, preparer->options.first + column);
        const size_t left = slice.count > begin ? slice.count - begin : 0;
        const size_t there = left < time ? left : time;
        const int32_t *words = text + slice.first + begin;
        int32_t *tokens = buffer->tokens + column * time;
        int32_t *labels = buffer->labels + column * time;
        for (size_t t = 0; t < time; t++) {
            tokens[t] = t < there ? words[t] : 0;
            labels[t] = t < there ? words[t + 1] : SYN_NO_LABEL;
        }
        batch->labelled += there;
    }
}
