/* What all batches have in common: checking options against the data, memory, and dispatch to the
 * kind that fills it. */
#include "engine/data/prepare.h"

#include <stdlib.h>

#include "engine/base/fail.h"
#include "engine/base/memory.h"

static enum syn_status check(const struct syn_data *data, const struct syn_loader_options *options)
{
    static const char *const names[] = {"training", "validation", "test"};
    const struct syn_data_info *info = &data->info;
    if ((size_t)options->part >= SYN_DATA_PARTS || info->count[options->part] == 0)
        return syn_report(SYN_INVALID, "%s has no %s part", info->name,
                          (size_t)options->part < SYN_DATA_PARTS ? names[options->part] : "such");
    size_t count = info->count[options->part];
    if (count > SYN_MOST_EXAMPLES)
        return syn_report(SYN_UNSUPPORTED, "%s: %zu examples; at most 2^32 - 2 are possible",
                          info->name, count);
    if (options->workers == 0 || options->worker >= options->workers)
        return syn_report(SYN_INVALID,
                          "worker %zu of %zu; expected less than the number of workers",
                          options->worker, options->workers);
    if (options->batch == 0)
        return syn_report(SYN_INVALID, "a batch of 0; expected at least 1");
    if (info->kind == SYN_DATA_TOKENS && options->time == 0)
        return syn_report(SYN_INVALID, "0 words at a time; expected at least 1");
    if (options->streams > 0 &&
        (options->streams > count || options->first + options->batch > options->streams))
        return syn_report(SYN_INVALID, "columns %zu to %zu of %zu, of %zu words", options->first,
                          options->first + options->batch, options->streams, count);
    if (options->streams == 0 && options->batch > count / options->workers)
        return syn_report(
            SYN_INVALID,
            "a batch of %zu is larger than a worker's share: %zu of the %zu %s of %s's "
            "%s part",
            options->batch, count / options->workers, count,
            info->kind == SYN_DATA_TOKENS ? "words" : "examples", info->name, names[options->part]);
    return SYN_OK;
}

static uint64_t count_batches(const struct syn_preparer *preparer)
{
    if (preparer->data->info.kind != SYN_DATA_TOKENS)
        return syn_share_batches(preparer->share);
    size_t time = preparer->options.time;
    return preparer->longest / time + (preparer->longest % time != 0);
}

enum syn_status syn_preparer_open(struct syn_preparer *preparer, const struct syn_data *data,
                                  const struct syn_loader_options *options)
{
    SYN_TRY(check(data, options));
    size_t count = data->info.count[options->part];
    *preparer = (struct syn_preparer){
        .data = data,
        .options = *options,
        .share = {count, options->batch, options->worker, options->workers},
    };
    if (options->streams > 0)
        preparer->share = (struct syn_share){count, options->streams, 0, 1};
    if (data->info.kind == SYN_DATA_TOKENS)
        preparer->longest = syn_share_longest_column(preparer->share);
    preparer->batches = count_batches(preparer);
    if (data->info.kind != SYN_DATA_TOKENS && options->part == SYN_DATA_TRAIN)
        SYN_TRY(syn_engine_allocate(count, sizeof(uint32_t), &preparer->order));
    enum syn_status status = syn_engine_allocate(data->info.width, 1, &preparer->row);
    if (status != SYN_OK)
        syn_preparer_close(preparer);
    return status;
}

void syn_preparer_close(struct syn_preparer *preparer)
{
    free(preparer->order);
    free(preparer->row);
    syn_scratch_free(&preparer->scratch);
    *preparer = (struct syn_preparer){0};
}

enum syn_status syn_buffer_new(const struct syn_preparer *preparer, struct syn_buffer *buffer)
{
    const struct syn_data_info *info = &preparer->data->info;
    size_t batch = preparer->options.batch;
    *buffer = (struct syn_buffer){0};
    if (info->kind == SYN_DATA_TOKENS) {
        size_t bytes = preparer->options.time * sizeof(int32_t);
        SYN_TRY(syn_engine_allocate(batch, bytes, &buffer->tokens));
        return syn_engine_allocate(batch, bytes, &buffer->labels);
    }
    SYN_TRY(syn_engine_allocate(batch, syn_data_pixels(info) * sizeof(float), &buffer->input));
    return info->kind == SYN_DATA_IMAGES
               ? syn_engine_allocate(batch, sizeof(int32_t), &buffer->labels)
               : syn_engine_allocate(batch, info->outputs * sizeof(float), &buffer->targets);
}

void syn_buffer_free(struct syn_buffer *buffer)
{
    free(buffer->input);
    free(buffer->tokens);
    free(buffer->labels);
    free(buffer->targets);
    *buffer = (struct syn_buffer){0};
}

void syn_preparer_fill(struct syn_preparer *preparer, struct syn_loader_position position,
                       const struct syn_buffer *buffer, struct syn_batch *batch)
{
    *batch = (struct syn_batch){
        .input = buffer->input,
        .tokens = buffer->tokens,
        .labels = buffer->labels,
        .targets = buffer->targets,
        .epoch = position.epoch,
        .index = position.index,
        .is_last = position.index + 1 == preparer->batches,
    };
    if (preparer->data->info.kind == SYN_DATA_TOKENS)
        syn_fill_tokens(preparer, position, buffer, batch);
    else
        syn_fill_images(preparer, position, buffer, batch);
}
