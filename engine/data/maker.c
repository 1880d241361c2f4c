/* A data set made by the caller's function. Its examples are checked before they are used, because
 * the function may be under development. */
#include "engine/data/maker.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "engine/base/fail.h"
#include "engine/base/memory.h"
#include "engine/data/picture.h"
#include "engine/data/pictures.h"

#define COMPARED 64 /* examples of a part */

/* Why an example cannot be used; false if it can. */
static bool is_odd(const struct syn_data_info *info, const float *input, int32_t label,
                   char why[SYN_WHY_BYTES])
{
    const size_t count = syn_data_pixels(info);
    if (label < 0 || (size_t)label >= info->outputs) {
        snprintf(why, SYN_WHY_BYTES, "label %d; expected 0 to %zu", (int)label, info->outputs - 1);
        return true;
    }
    for (size_t i = 0; i < count; i++)
        if (!isfinite(input[i])) {
            snprintf(why, SYN_WHY_BYTES, "value %zu is %g", i, (double)input[i]);
            return true;
        }
    return false;
}

bool syn_maker_fill(const struct syn_data *data, const struct syn_data_wanted *wanted, float *input,
                    int32_t *label)
{
    static const char *const parts[SYN_DATA_PARTS] = {"training", "validation", "test"};
    const struct syn_data_maker *maker = data->maker;
    char name[64];
    char why[SYN_WHY_BYTES] = "its maker returned none";
    *label = -1;
    if (maker->make(maker->context, wanted, input, label) &&
        !is_odd(&data->info, input, *label, why))
        return true;
    snprintf(name, sizeof name, "example %zu of the %s part", wanted->example, parts[wanted->part]);
    syn_odd_log(maker->name, name, why);
    return false;
}

uint64_t syn_maker_hash(uint64_t hash, const struct syn_data *data, enum syn_data_part part)
{
    const size_t floats = syn_data_pixels(&data->info);
    const size_t count = data->info.count[part];
    const uint64_t shape[] = {data->info.channels, data->info.height, data->info.width,
                              data->info.outputs, count};
    float *input = calloc(floats, sizeof *input);
    hash = syn_data_hash(hash, shape, sizeof shape);
    for (size_t i = 0; input && i < count; i += count / COMPARED + 1) {
        const struct syn_data_wanted wanted = {.part = part, .example = i};
        int32_t label = -1;
        if (data->maker->make(data->maker->context, &wanted, input, &label))
            hash = syn_data_hash(hash, input, floats * sizeof *input);
        hash = syn_data_hash(hash, &label, sizeof label);
    }
    free(input);
    return hash;
}

static enum syn_status check(const struct syn_data_maker *maker)
{
    if (maker->name && maker->make && maker->outputs > 0 && maker->channels > 0 &&
        maker->channels <= SYN_MOST_CHANNELS && maker->height > 0 && maker->width > 0 &&
        maker->count[SYN_DATA_TRAIN] > 0)
        return SYN_OK;
    return syn_report(
        SYN_INVALID,
        "a maker of %zu channels of %zux%zu, %zu outputs, %zu to train on; expected a "
        "name, a function, 1 to %d channels and at least one of the others",
        maker->channels, maker->height, maker->width, maker->outputs, maker->count[SYN_DATA_TRAIN],
        SYN_MOST_CHANNELS);
}

enum syn_status syn_data_from_maker(const struct syn_data_maker *maker, struct syn_data **data)
{
    struct syn_data *made = NULL;
    SYN_TRY(check(maker));
    SYN_TRY(syn_engine_allocate(1, sizeof *made, &made));
    enum syn_status status = syn_engine_allocate(1, sizeof *made->maker, &made->maker);
    if (status != SYN_OK) {
        free(made);
        return status;
    }
    syn_odd_open();
    *made->maker = *maker;
    made->info = (struct syn_data_info){.name = maker->name,
                                        .kind = SYN_DATA_IMAGES,
                                        .channels = maker->channels,
                                        .height = maker->height,
                                        .width = maker->width,
                                        .outputs = maker->outputs,
                                        .names = maker->names};
    for (int part = 0; part < SYN_DATA_PARTS; part++)
        made->info.count[part] = maker->count[part];
    *data = made;
    return SYN_OK;
}

void syn_maker_free(struct syn_data_maker *maker)
{
    if (!maker)
        return;
    free(maker);
    syn_odd_close();
}
