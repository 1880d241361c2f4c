/* Batches of images. The order of an epoch and the augmentation of each example come from streams
 * of random numbers identified by (seed, epoch) and (seed, epoch, example), so that any batch can
 * be made at any time, with any number of workers, and is the same. */
#include <string.h>

#include <syncopate/random.h>

#include "engine/data/maker.h"
#include "engine/data/prepare.h"

/* Stream of an example: the epoch in the high bits, its number in the low bits. No example has this
 * number, so that stream is free for the order. */
#define ORDER_STREAM UINT32_MAX

static uint64_t stream(uint64_t epoch, uint32_t number)
{
    return epoch << 32 | number;
}

static void to_floats(const uint8_t *bytes, size_t count, float scale, float shift, float *floats)
{
    for (size_t i = 0; i < count; i++)
        floats[i] = (float)bytes[i] * scale + shift;
}

/* Pixels that are already floats; they need not be aligned. */
static void scale_floats(const uint8_t *bytes, size_t count, float scale, float shift,
                         float *floats)
{
    memcpy(floats, bytes, count * sizeof *floats);
    for (size_t i = 0; i < count; i++)
        floats[i] = floats[i] * scale + shift;
}

static void whole(const struct syn_data *data, const uint8_t *pixels, float *input)
{
    const size_t plane = data->info.height * data->info.width;
    for (size_t c = 0; data->is_float && c < data->info.channels; c++)
        scale_floats(pixels + c * plane * sizeof(float), plane, data->scale[c], data->shift[c],
                     input + c * plane);
    if (data->is_float)
        return;
    for (size_t c = 0; c < data->info.channels; c++)
        to_floats(pixels + c * plane, plane, data->scale[c], data->shift[c], input + c * plane);
}

static void reverse(uint8_t *bytes, size_t count)
{
    for (size_t i = 0; i < count / 2; i++) {
        uint8_t kept = bytes[i];
        bytes[i] = bytes[count - 1 - i];
        bytes[count - 1 - i] = kept;
    }
}

/* The window at (left, top) of the image with pad black pixels around it, possibly flipped; black
 * before normalisation, as in torchvision. Each row is assembled as bytes first, which keeps edges
 * and flipping out of the arithmetic. */
static void crop(const struct syn_preparer *preparer, const uint8_t *pixels,
                 struct syn_random *random, float *input)
{
    const struct syn_data *data = preparer->data;
    const size_t height = data->info.height;
    const size_t width = data->info.width;
    const size_t pad = data->pad;
    const size_t left = (size_t)syn_random_below(random, 2 * pad + 1);
    const size_t top = (size_t)syn_random_below(random, 2 * pad + 1);
    const bool flips = syn_random_below(random, 2) == 1;
    /* Columns [from, from + shown) of the image go to column `at`. */
    const size_t from = left > pad ? left - pad : 0;
    const size_t at = left < pad ? pad - left : 0;
    const size_t shown = width - from - at;
    for (size_t c = 0; c < data->info.channels; c++) {
        for (size_t y = 0; y < height; y++) {
            const size_t source = top + y; /* row of the padded image */
            memset(preparer->row, 0, width);
            if (source >= pad && source < pad + height)
                memcpy(preparer->row + at, pixels + (c * height + source - pad) * width + from,
                       shown);
            if (flips)
                reverse(preparer->row, width);
            to_floats(preparer->row, width, data->scale[c], data->shift[c],
                      input + (c * height + y) * width);
        }
    }
}

static void make_order(struct syn_preparer *preparer, uint64_t epoch)
{
    if (!preparer->order || (preparer->has_order && preparer->epoch == epoch))
        return;
    struct syn_random random;
    syn_random_start(&random, preparer->options.seed, stream(epoch, ORDER_STREAM));
    syn_random_order(&random, preparer->order, preparer->share.count);
    preparer->epoch = epoch;
    preparer->has_order = true;
}

/* Pixels of one example; false if it is a picture that cannot be read. */
static bool fill_pixels(struct syn_preparer *preparer, uint64_t epoch, size_t example, float *input)
{
    const struct syn_data *data = preparer->data;
    const struct syn_part_store *part = &data->parts[preparer->options.part];
    struct syn_random random;
    syn_random_start(&random, preparer->options.seed, stream(epoch, (uint32_t)example));
    if (data->pictures)
        return syn_pictures_fill(data, part->places[example], &preparer->scratch,
                                 preparer->options.augment ? &random : NULL, input);
    const uint8_t *pixels = syn_data_find_pixels(part, example);
    if (preparer->options.augment && data->pad > 0)
        crop(preparer, pixels, &random, input);
    else
        whole(data, pixels, input);
    return true;
}

/* Example number i of a batch; false if it cannot be made. */
static bool fill_example(struct syn_preparer *preparer, uint64_t epoch, size_t example, size_t i,
                         const struct syn_buffer *buffer)
{
    const struct syn_data *data = preparer->data;
    const struct syn_part_store *part = &data->parts[preparer->options.part];
    float *input = buffer->input + i * syn_data_pixels(&data->info);
    if (data->maker) {
        const bool learns = preparer->options.part == SYN_DATA_TRAIN;
        const struct syn_data_wanted wanted = {preparer->options.part, example, learns ? epoch : 0,
                                               preparer->options.seed};
        return syn_maker_fill(data, &wanted, input, &buffer->labels[i]);
    }
    if (!fill_pixels(preparer, epoch, example, input))
        return false;
    if (buffer->labels)
        buffer->labels[i] = part->labels[example];
    if (buffer->targets)
        memcpy(buffer->targets + i * data->info.outputs,
               part->targets + example * data->info.outputs, data->info.outputs * sizeof(float));
    return true;
}

/* Pictures that cannot be read are left out, and the others close the gap: the batch is shorter. */
void syn_fill_images(struct syn_preparer *preparer, struct syn_loader_position position,
                     const struct syn_buffer *buffer, struct syn_batch *batch)
{
    const struct syn_data_info *info = &preparer->data->info;
    const struct syn_share *share = &preparer->share;
    const struct syn_slice slice = syn_share_slice(*share, position.index);
    make_order(preparer, position.epoch);
    size_t count = 0;
    for (size_t i = 0; i < slice.count; i++) {
        size_t place = (slice.first + i) * share->workers + share->worker;
        size_t example = preparer->order ? preparer->order[place] : place;
        count += fill_example(preparer, position.epoch, example, count, buffer);
    }
    const size_t missing = share->batch - count;
    memset(buffer->input + count * syn_data_pixels(info), 0,
           missing * syn_data_pixels(info) * sizeof(float));
    for (size_t i = count; buffer->labels && i < share->batch; i++)
        buffer->labels[i] = SYN_NO_LABEL;
    if (buffer->targets)
        memset(buffer->targets + count * info->outputs, 0, missing * info->outputs * sizeof(float));
    batch->count = count;
    batch->time = 1;
    batch->labelled = count;
}
