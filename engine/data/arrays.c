/* The caller's own data, from arrays in memory. Images stay where they are; labels and words, which
 * are small in comparison, are copied, because every set owns its labels and words. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/fail.h"
#include "engine/base/memory.h"
#include "engine/data/set.h"

static enum syn_status copy_numbers(const char *name, const int32_t *from, size_t count,
                                    size_t outputs, int32_t **to)
{
    SYN_TRY(syn_engine_allocate(count, sizeof **to, to));
    for (size_t i = 0; i < count; i++) {
        if (from[i] < 0 || (size_t)from[i] >= outputs)
            return syn_report(SYN_INVALID, "%s: label %d of example %zu; expected 0 to %zu", name,
                              (int)from[i], i, outputs - 1);
        (*to)[i] = from[i];
    }
    return SYN_OK;
}

static enum syn_status take_images(const struct syn_data_arrays *arrays, enum syn_data_part part,
                                   struct syn_data *data)
{
    const struct syn_data_array *from = &arrays->parts[part];
    struct syn_part_store *store = &data->parts[part];
    size_t floats = syn_data_pixels(&data->info);
    if (!from->images || !from->labels)
        return syn_report(SYN_INVALID, "%s: %zu examples without images or labels", arrays->name,
                          from->count);
    for (size_t i = 0; i < from->count * floats; i++)
        if (!isfinite(from->images[i]))
            return syn_report(SYN_INVALID, "%s: example %zu holds %g", arrays->name, i / floats,
                              (double)from->images[i]);
    store->spans[0] =
        (struct syn_span){(const uint8_t *)from->images, floats * sizeof(float), from->count};
    store->span_count = 1;
    data->info.count[part] = from->count;
    return copy_numbers(arrays->name, from->labels, from->count, arrays->outputs, &store->labels);
}

static enum syn_status take_tokens(const struct syn_data_arrays *arrays, enum syn_data_part part,
                                   struct syn_data *data)
{
    const struct syn_data_array *from = &arrays->parts[part];
    if (!from->tokens || from->count < 2)
        return syn_report(SYN_INVALID, "%s: a text of %zu words; expected at least 2", arrays->name,
                          from->count);
    data->info.count[part] = from->count - 1; /* all but the last have a next one */
    return copy_numbers(arrays->name, from->tokens, from->count, arrays->outputs,
                        &data->parts[part].tokens);
}

static enum syn_status take_all(const struct syn_data_arrays *arrays, struct syn_data *data)
{
    bool is_text = arrays->channels == 0;
    data->info = (struct syn_data_info){.name = arrays->name,
                                        .kind = is_text ? SYN_DATA_TOKENS : SYN_DATA_IMAGES,
                                        .channels = arrays->channels,
                                        .height = arrays->height,
                                        .width = arrays->width,
                                        .outputs = arrays->outputs,
                                        .names = arrays->names};
    data->is_float = true;
    for (size_t c = 0; c < SYN_MOST_CHANNELS; c++)
        data->scale[c] = 1;
    for (int part = 0; part < SYN_DATA_PARTS; part++)
        if (arrays->parts[part].count > 0)
            SYN_TRY(is_text ? take_tokens(arrays, (enum syn_data_part)part, data)
                            : take_images(arrays, (enum syn_data_part)part, data));
    return SYN_OK;
}

enum syn_status syn_data_from_arrays(const struct syn_data_arrays *arrays, struct syn_data **data)
{
    bool has_size = arrays->channels == 0 || (arrays->height > 0 && arrays->width > 0);
    if (!arrays->name || arrays->outputs < 1 || arrays->channels > SYN_MOST_CHANNELS || !has_size ||
        arrays->parts[SYN_DATA_TRAIN].count == 0)
        return syn_report(SYN_INVALID,
                          "arrays of %zu channels of %zux%zu, %zu outputs, %zu to train on; "
                          "expected a name, up to %d channels and at least one of the others",
                          arrays->channels, arrays->height, arrays->width, arrays->outputs,
                          arrays->parts[SYN_DATA_TRAIN].count, SYN_MOST_CHANNELS);
    struct syn_data *made = calloc(1, sizeof *made);
    if (!made)
        return syn_report(SYN_MEMORY, "cannot allocate a data set");
    enum syn_status status = take_all(arrays, made);
    if (status != SYN_OK) {
        syn_data_close(made);
        return status;
    }
    *data = made;
    return SYN_OK;
}
