/* Safetensors: eight bytes with the length of a JSON text, the text, and the values of one tensor
 * after another. The text has the type, the shape and the offsets of the values of each tensor, and
 * strings about the file under "__metadata__". */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/fail.h"
#include "engine/base/memory.h"
#include "engine/weights/weights.h"

#define MOST_HEADER 100000000
#define METADATA    "__metadata__"

static uint64_t read_length(const uint8_t *bytes)
{
    uint64_t length = 0;
    for (int i = 7; i >= 0; i--)
        length = length << 8 | bytes[i];
    return length;
}

static enum syn_status refuse(const struct syn_weights *weights, const char *name, const char *what)
{
    return syn_report(SYN_FORMAT, "%s: %.128s%s%s", syn_weights_origin(weights), name,
                      name[0] ? ": " : "", what);
}

/* An integer of a list. */
static bool read_number(const json_t *list, size_t i, size_t *number)
{
    const json_t *value = json_array_get(list, i);
    if (!json_is_integer(value) || json_integer_value(value) < 0)
        return false;
    *number = (size_t)json_integer_value(value);
    return true;
}

static bool read_shape(const json_t *list, struct syn_shape *shape)
{
    if (!json_is_array(list) || json_array_size(list) > SYN_MOST_DIMENSIONS)
        return false;
    *shape = (struct syn_shape){.dimensions = json_array_size(list)};
    for (size_t d = 0; d < shape->dimensions; d++)
        if (!read_number(list, d, &shape->size[d]))
            return false;
    return true;
}

/* Where the values of a tensor are, in bytes after the header. */
struct place {
    const char *name;
    size_t begin;
    size_t end;
};

struct values {
    const uint8_t *bytes;
    size_t count;
    struct place *places; /* [tensors] */
    size_t tensors;
};

static enum syn_status read_values(struct syn_weights *weights, const char *name,
                                   const json_t *about, const uint8_t *bytes, size_t count)
{
    struct syn_shape shape;
    const char *type_name = json_string_value(json_object_get(about, "dtype"));
    const struct syn_number_type *type = syn_number_type_find(type_name);
    if (!type)
        return syn_report(SYN_FORMAT, "%s: %.128s is of type %.16s; expected F32, F16 or BF16",
                          syn_weights_origin(weights), name, type_name);
    if (!read_shape(json_object_get(about, "shape"), &shape))
        return refuse(weights, name, "a shape that is not a list of at most four integers");
    if (!syn_shape_fits(&shape, count, type->bytes) ||
        syn_shape_count(&shape) * type->bytes != count)
        return refuse(weights, name, "its shape and its data_offsets contradict each other");
    return syn_weights_take_as(weights, name, &shape, type, bytes);
}

static enum syn_status read_tensor(struct syn_weights *weights, const char *name,
                                   const json_t *about, struct values *values)
{
    struct place place = {.name = name};
    const json_t *offsets = json_object_get(about, "data_offsets");
    if (!json_is_string(json_object_get(about, "dtype")) || json_array_size(offsets) != 2 ||
        !read_number(offsets, 0, &place.begin) || !read_number(offsets, 1, &place.end) ||
        place.begin > place.end || place.end > values->count)
        return refuse(weights, name, "expected dtype, shape and data_offsets within the file");
    values->places[values->tensors++] = place;
    if (syn_weights_is_counter(name))
        return SYN_OK;
    return read_values(weights, name, about, values->bytes + place.begin, place.end - place.begin);
}

static int by_place(const void *one, const void *other)
{
    const struct place *a = one;
    const struct place *b = other;
    if (a->begin != b->begin)
        return a->begin < b->begin ? -1 : 1;
    return (a->end > b->end) - (a->end < b->end);
}

/* Check that every byte belongs to exactly one tensor. */
static enum syn_status check_places(const struct syn_weights *weights, const struct values *values)
{
    const char *origin = syn_weights_origin(weights);
    size_t at = 0;
    qsort(values->places, values->tensors, sizeof *values->places, by_place);
    for (size_t i = 0; i < values->tensors; i++) {
        const struct place *place = &values->places[i];
        if (place->begin < at)
            return syn_report(SYN_FORMAT,
                              "%s: %.128s begins at byte %zu, within %.128s, which ends at %zu",
                              origin, place->name, place->begin, values->places[i - 1].name, at);
        if (place->begin > at)
            break;
        at = place->end;
    }
    if (at != values->count)
        return syn_report(SYN_FORMAT, "%s: byte %zu of %zu belongs to no tensor", origin, at,
                          values->count);
    return SYN_OK;
}

static void read_text(const json_t *metadata, const char *key, char *text, size_t capacity)
{
    const char *value = json_string_value(json_object_get(metadata, key));
    snprintf(text, capacity, "%s", value ? value : "");
}

static size_t read_count(const json_t *metadata, const char *key)
{
    const char *value = json_string_value(json_object_get(metadata, key));
    return value && value[0] >= '0' && value[0] <= '9' ? strtoull(value, NULL, 10) : 0;
}

static void read_metadata(const json_t *metadata, struct syn_weights_info *info)
{
    char image[64];
    struct syn_input *input = &info->input;
    read_text(metadata, "model", info->model, sizeof info->model);
    read_text(metadata, "data", info->data, sizeof info->data);
    read_text(metadata, "algo", info->algo, sizeof info->algo);
    read_text(metadata, "image", image, sizeof image);
    input->classes = read_count(metadata, "classes");
    bool is_image =
        sscanf(image, "%5zux%5zux%5zu", &input->channels, &input->height, &input->width) == 3;
    input->kind = is_image ? SYN_INPUT_IMAGES : SYN_INPUT_TOKENS;
    info->step = read_count(metadata, "step");
    info->steps = read_count(metadata, "steps");
}

static enum syn_status read_all(const json_t *header, struct values *values,
                                struct syn_weights *weights)
{
    const char *name;
    json_t *about;
    json_object_foreach((json_t *)header, name, about)
    {
        if (strcmp(name, METADATA) == 0)
            read_metadata(about, syn_weights_info(weights));
        else
            SYN_TRY(read_tensor(weights, name, about, values));
    }
    return check_places(weights, values);
}

static enum syn_status read_header(const json_t *header, struct values *values,
                                   struct syn_weights *weights)
{
    if (!json_is_object(header))
        return refuse(weights, "its header", "not an object");
    SYN_TRY(
        syn_engine_allocate(json_object_size(header) + 1, sizeof *values->places, &values->places));
    enum syn_status status = read_all(header, values, weights);
    free(values->places);
    return status;
}

enum syn_status syn_safetensors_read(const uint8_t *bytes, size_t count,
                                     struct syn_weights *weights)
{
    json_error_t error;
    uint64_t length = count >= 8 ? read_length(bytes) : 0;
    if (length < 2 || length > MOST_HEADER || length > count - 8)
        return refuse(weights, "", "not a safetensors file");
    struct values values = {.bytes = bytes + 8 + length, .count = count - 8 - (size_t)length};
    json_t *header =
        json_loadb((const char *)bytes + 8, (size_t)length, JSON_REJECT_DUPLICATES, &error);
    if (!header)
        return refuse(weights, "its header", error.text);
    enum syn_status status = read_header(header, &values, weights);
    json_decref(header);
    return status;
}

static int put_text(json_t *metadata, const char *key, const char *value)
{
    return value[0] ? json_object_set_new(metadata, key, json_string(value)) : 0;
}

static int put_count(json_t *metadata, const char *key, uint64_t value)
{
    char text[32];
    snprintf(text, sizeof text, "%llu", (unsigned long long)value);
    return put_text(metadata, key, text);
}

/* All values are strings: the format allows no others here. PyTorch's readers require "format". */
static json_t *make_metadata(const struct syn_weights_info *info, enum syn_names names)
{
    char image[64] = "";
    const struct syn_input *input = &info->input;
    json_t *metadata = json_object();
    if (input->kind == SYN_INPUT_IMAGES && input->classes > 0)
        snprintf(image, sizeof image, "%zux%zux%zu", input->channels, input->height, input->width);
    int failures = put_text(metadata, "format", "pt") | put_text(metadata, "model", info->model) |
                   put_text(metadata, "data", info->data) | put_text(metadata, "algo", info->algo) |
                   put_text(metadata, "image", image) |
                   put_text(metadata, "names", names == SYN_NAMES_PYTORCH ? "pytorch" : "own");
    if (input->classes > 0)
        failures |= put_count(metadata, "classes", input->classes);
    if (info->step > 0)
        failures |=
            put_count(metadata, "step", info->step) | put_count(metadata, "steps", info->steps);
    if (failures == 0)
        return metadata;
    json_decref(metadata);
    return NULL;
}

static json_t *make_row(const struct syn_shape *shape, size_t begin, size_t end)
{
    json_t *sizes = json_array();
    for (size_t d = 0; d < shape->dimensions; d++)
        json_array_append_new(sizes, json_integer((json_int_t)shape->size[d]));
    return json_pack("{s:s, s:o, s:[I, I]}", "dtype", "F32", "shape", sizes, "data_offsets",
                     (json_int_t)begin, (json_int_t)end);
}

/* The JSON text, which the caller frees; NULL if there is no memory. */
static char *make_header(const struct syn_weights_writing *writing)
{
    struct syn_weights *weights = writing->weights;
    size_t at = 0;
    char name[SYN_WEIGHTS_NAME];
    json_t *header = json_object();
    bool good = json_object_set_new(header, METADATA,
                                    make_metadata(syn_weights_info(weights), writing->names)) == 0;
    for (size_t i = 0; i < syn_weights_count(weights) && good; i++) {
        struct syn_weights_tensor tensor = syn_weights_tensor(weights, i);
        size_t bytes = syn_shape_count(&tensor.shape) * sizeof(float);
        syn_weights_name(weights, i, writing->names, name);
        good = json_object_set_new(header, name, make_row(&tensor.shape, at, at + bytes)) == 0;
        at += bytes;
    }
    char *text = good ? json_dumps(header, JSON_COMPACT) : NULL;
    json_decref(header);
    return text;
}

static enum syn_status put_header(struct syn_sink *sink, const char *text)
{
    static const char blanks[8] = "        ";
    uint8_t length[8];
    size_t count = strlen(text);
    size_t padding = (8 - count % 8) % 8; /* so that values are aligned */
    for (int i = 0; i < 8; i++)
        length[i] = (uint8_t)((uint64_t)(count + padding) >> (8 * i));
    SYN_TRY(syn_sink_put(sink, length, sizeof length));
    SYN_TRY(syn_sink_put(sink, text, count));
    return syn_sink_put(sink, blanks, padding);
}

enum syn_status syn_safetensors_write(struct syn_sink *sink, void *context)
{
    const struct syn_weights_writing *writing = context;
    char *text = make_header(writing);
    if (!text)
        return syn_report(SYN_MEMORY, "cannot make the header of %s", writing->path);
    enum syn_status status = put_header(sink, text);
    free(text);
    for (size_t i = 0; i < syn_weights_count(writing->weights) && status == SYN_OK; i++) {
        struct syn_weights_tensor tensor = syn_weights_tensor(writing->weights, i);
        status = syn_sink_put(sink, tensor.values, syn_shape_count(&tensor.shape) * sizeof(float));
    }
    return status;
}
