/* A list of named tensors. Names are found by linear search: a model has a few hundred. */
#include "engine/weights/weights.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/fail.h"

struct entry {
    char name[SYN_WEIGHTS_NAME];
    struct syn_shape shape;
    float *values;
};

struct syn_weights {
    struct syn_weights_info info;
    char origin[512];
    struct entry *entries;
    size_t count;
    size_t capacity;
};

enum syn_status syn_weights_new(struct syn_weights **weights)
{
    struct syn_weights *made = calloc(1, sizeof *made);
    if (!made)
        return syn_report(SYN_MEMORY, "cannot allocate weights");
    *weights = made;
    return SYN_OK;
}

void syn_weights_free(struct syn_weights *weights)
{
    if (!weights)
        return;
    for (size_t i = 0; i < weights->count; i++)
        free(weights->entries[i].values);
    free(weights->entries);
    free(weights);
}

struct syn_weights_info *syn_weights_info(struct syn_weights *weights)
{
    return &weights->info;
}

const char *syn_weights_origin(const struct syn_weights *weights)
{
    return weights->origin;
}

void syn_weights_set_origin(struct syn_weights *weights, const char *origin)
{
    snprintf(weights->origin, sizeof weights->origin, "%s", origin);
}

size_t syn_weights_count(const struct syn_weights *weights)
{
    return weights->count;
}

struct syn_weights_tensor syn_weights_tensor(const struct syn_weights *weights, size_t i)
{
    const struct entry *entry = &weights->entries[i];
    return (struct syn_weights_tensor){entry->name, entry->shape, entry->values};
}

static enum syn_status make_room(struct syn_weights *weights)
{
    if (weights->count < weights->capacity)
        return SYN_OK;
    size_t capacity = weights->capacity ? 2 * weights->capacity : 64;
    struct entry *grown = realloc(weights->entries, capacity * sizeof *grown);
    if (!grown)
        return syn_report(SYN_MEMORY, "cannot allocate %zu tensors", capacity);
    weights->entries = grown;
    weights->capacity = capacity;
    return SYN_OK;
}

static enum syn_status check_name(const struct syn_weights *weights, const char *name)
{
    size_t length = strlen(name);
    if (length == 0 || length >= SYN_WEIGHTS_NAME)
        return syn_report(SYN_FORMAT, "%s: a tensor's name of %zu bytes; expected 1 to %d",
                          weights->origin, length, SYN_WEIGHTS_NAME - 1);
    for (size_t i = 0; i < weights->count; i++)
        if (strcmp(weights->entries[i].name, name) == 0)
            return syn_report(SYN_FORMAT, "%s: there are two tensors %s", weights->origin, name);
    return SYN_OK;
}

static enum syn_status add(struct syn_weights *weights, const char *name,
                           const struct syn_shape *shape, const void *values)
{
    SYN_TRY(check_name(weights, name));
    SYN_TRY(make_room(weights));
    size_t bytes = syn_shape_count(shape) * sizeof(float);
    struct entry *entry = &weights->entries[weights->count];
    *entry = (struct entry){.shape = *shape, .values = malloc(bytes + 1)};
    if (!entry->values)
        return syn_report(SYN_MEMORY, "cannot allocate the %zu bytes of %s", bytes, name);
    memcpy(entry->values, values, bytes);
    snprintf(entry->name, sizeof entry->name, "%s", name);
    weights->count++;
    return SYN_OK;
}

enum syn_status syn_weights_add(struct syn_weights *weights, const char *name,
                                const struct syn_shape *shape, const float *values)
{
    return add(weights, name, shape, values);
}

enum syn_status syn_weights_take(struct syn_weights *weights, const char *name,
                                 const struct syn_shape *shape, const uint8_t *bytes)
{
    SYN_TRY(add(weights, name, shape, bytes));
    const struct entry *entry = &weights->entries[weights->count - 1];
    size_t count = syn_shape_count(shape);
    for (size_t i = 0; i < count; i++)
        if (!isfinite(entry->values[i]))
            return syn_report(SYN_FORMAT, "%s: %s holds %g at %zu", weights->origin, name,
                              (double)entry->values[i], i);
    return SYN_OK;
}

void syn_shape_text(const struct syn_shape *shape, char text[SYN_SHAPE_TEXT])
{
    size_t length = 0;
    snprintf(text, SYN_SHAPE_TEXT, "scalar");
    for (size_t d = 0; d < shape->dimensions; d++)
        length += (size_t)snprintf(text + length, SYN_SHAPE_TEXT - length, "%s%zu", d ? "x" : "",
                                   shape->size[d]);
}

bool syn_shape_fits(const struct syn_shape *shape, size_t bytes, size_t each)
{
    size_t room = bytes / each;
    size_t count = 1;
    for (size_t d = 0; d < shape->dimensions; d++)
        if (shape->size[d] == 0)
            return true;
    for (size_t d = 0; d < shape->dimensions; d++) {
        if (shape->size[d] > room / count)
            return false;
        count *= shape->size[d];
    }
    return count <= room;
}

bool syn_weights_is_counter(const char *name)
{
    static const char ending[] = "num_batches_tracked";
    size_t length = strlen(name);
    return length >= sizeof ending - 1 && strcmp(name + length - sizeof ending + 1, ending) == 0;
}

void syn_weights_name(struct syn_weights *weights, size_t i, enum syn_names names,
                      char name[SYN_WEIGHTS_NAME])
{
    const char *own = weights->entries[i].name;
    if (names == SYN_NAMES_PYTORCH)
        syn_model_pytorch_name(weights->info.model, own, name, SYN_WEIGHTS_NAME);
    else
        snprintf(name, SYN_WEIGHTS_NAME, "%s", own);
}
