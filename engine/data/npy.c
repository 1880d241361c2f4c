/* The user's own arrays: x.npy with images or vectors, y.npy with their classes, and x_test.npy
 * with y_test.npy to test on, in one folder; or the same four, under the same names, in one .npz.
 * Without the last two a share is held out. */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/fail.h"
#include "engine/base/memory.h"
#include "engine/data/normalise.h"
#include "engine/data/npy_read.h"
#include "engine/data/set.h"

#define MOST_CLASSES 1000000
#define MOST_SIDE    65536
#define ARCHIVE      "data.npz"

/* Where arrays come from. */
struct source {
    const char *directory;
    const struct syn_blob *archive; /* NULL: files of the directory */
};

static enum syn_status has_array(const struct source *source, const char *name, bool *has)
{
    char path[SYN_PATH_BYTES];
    struct syn_zip_file file = {0};
    const struct syn_blob *archive = source->archive;
    if (archive)
        SYN_TRY(syn_zip_find(archive->path, archive->bytes, archive->count, name, &file));
    *has = archive
               ? file.packed != NULL
               : syn_path_join(path, source->directory, name) == SYN_OK && syn_blob_exists(path);
    return SYN_OK;
}

/* An array from the archive, unpacked into its own blob. */
static enum syn_status unpack(struct syn_data *data, const struct source *source, const char *name,
                              struct syn_npy *array)
{
    const struct syn_blob *archive = source->archive;
    struct syn_zip_file file = {0};
    struct syn_blob *blob = &data->blobs[data->blob_count];
    SYN_TRY(syn_zip_find(archive->path, archive->bytes, archive->count, name, &file));
    if (!file.packed)
        return syn_report(SYN_INVALID, "%s: contains no array \"%.*s\"", archive->path,
                          (int)strcspn(name, "."), name);
    SYN_TRY(syn_engine_allocate(file.count, 1, &blob->allocated));
    data->blob_count++;
    blob->bytes = blob->allocated;
    blob->count = file.count;
    snprintf(blob->path, sizeof blob->path, "%.900s: %s", archive->path, name);
    SYN_TRY(syn_zip_unpack(archive->path, name, &file, blob->allocated));
    return syn_npy_read(blob->path, blob->bytes, blob->count, array);
}

/* Read an array; path is set to its name, for messages. */
static enum syn_status read_array(struct syn_data *data, const struct source *source,
                                  const char *name, struct syn_npy *array, const char **path)
{
    const struct syn_blob *blob;
    *path = data->blobs[data->blob_count].path;
    if (source->archive)
        return unpack(data, source, name, array);
    SYN_TRY(syn_data_keep_file(data, source->directory, name, &blob));
    return syn_npy_read(blob->path, blob->bytes, blob->count, array);
}

/* (count, width), (count, height, width) or (count, channels, height, width). */
static enum syn_status take_shape(const char *path, const struct syn_npy *array,
                                  struct syn_data_info *shape)
{
    const size_t *sizes = array->shape;
    const size_t n = array->dimensions;
    shape->channels = n == 4 ? sizes[1] : 1;
    shape->height = n >= 3 ? sizes[n - 2] : 1;
    shape->width = n >= 2 ? sizes[n - 1] : 0;
    if (n >= 2 && shape->channels <= SYN_MOST_CHANNELS && shape->height <= MOST_SIDE &&
        shape->width <= (n == 2 ? MOST_SIDE * 16 : MOST_SIDE))
        return SYN_OK;
    char text[96] = "";
    for (size_t i = 0; i < n; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%zu", i ? ", " : "", sizes[i]);
    return syn_report(
        SYN_FORMAT,
        "%s: shape (%s); expected (count, width), (count, height, width) or (count, channels, "
        "height, width) with at most %d channels",
        path, text, SYN_MOST_CHANNELS);
}

static enum syn_status check_finite(const char *path, const struct syn_npy *array)
{
    const size_t each = array->items / array->shape[0];
    for (size_t i = 0; i < array->items; i++) {
        float value;
        memcpy(&value, array->bytes + i * sizeof value, sizeof value);
        if (!isfinite(value))
            return syn_report(SYN_FORMAT, "%s: value %zu of example %zu is %s; expected a number",
                              path, i % each, i / each, isnan(value) ? "NaN" : "infinite");
    }
    return SYN_OK;
}

static enum syn_status open_examples(struct syn_data *data, const struct source *source,
                                     enum syn_data_part part, const char *name)
{
    struct syn_data_info *info = &data->info;
    struct syn_data_info shape = *info;
    struct syn_npy array = {0};
    const char *path;
    SYN_TRY(read_array(data, source, name, &array, &path));
    bool is_float = array.kind == 'f' && array.width == 4;
    if (!is_float && (array.kind != 'u' || array.width != 1))
        return syn_report(SYN_FORMAT, "%s: items %c%zu; expected u1 (uint8) or f4 (float32)", path,
                          array.kind, array.width);
    SYN_TRY(take_shape(path, &array, &shape));
    bool is_like = shape.channels == info->channels && shape.height == info->height &&
                   shape.width == info->width && is_float == data->is_float;
    if (part != SYN_DATA_TRAIN && !is_like)
        return syn_report(
            SYN_FORMAT, "%s: %s examples of %zux%zux%zu; those of x.npy are %s of %zux%zux%zu",
            path, is_float ? "float32" : "uint8", shape.channels, shape.height, shape.width,
            data->is_float ? "float32" : "uint8", info->channels, info->height, info->width);
    if (is_float)
        SYN_TRY(check_finite(path, &array));
    *info = shape;
    data->is_float = is_float;
    info->count[part] = array.shape[0];
    data->parts[part].spans[0] =
        (struct syn_span){array.bytes, syn_data_image_bytes(data), array.shape[0]};
    data->parts[part].span_count = 1;
    return SYN_OK;
}

/* An integer of 1 to 8 bytes; those beyond 63 bits come out negative. */
static int64_t whole_number(const struct syn_npy *array, size_t i)
{
    const uint8_t *at = array->bytes + i * array->width;
    uint64_t value = 0;
    assert(array->width >= 1 && array->width <= sizeof value);
    for (size_t k = 0; k < array->width; k++)
        value |= (uint64_t)at[k] << 8 * k;
    unsigned unused = 64 - 8 * (unsigned)array->width;
    return array->kind == 'i' ? (int64_t)(value << unused) >> unused : (int64_t)value;
}

static enum syn_status open_labels(struct syn_data *data, const struct source *source,
                                   enum syn_data_part part, const char *name)
{
    struct syn_npy array = {0};
    const char *path;
    SYN_TRY(read_array(data, source, name, &array, &path));
    if (array.kind == 'f' || array.dimensions != 1 || array.shape[0] != data->info.count[part])
        return syn_report(
            SYN_FORMAT,
            "%s: %zu items of type %c%zu in %zu dimensions; expected %zu integers in one, "
            "a class for each example",
            path, array.items, array.kind, array.width, array.dimensions, data->info.count[part]);
    int32_t **labels = &data->parts[part].labels;
    int64_t most = part == SYN_DATA_TRAIN ? MOST_CLASSES : (int64_t)data->info.outputs;
    SYN_TRY(syn_engine_allocate(array.items, sizeof(int32_t), labels));
    for (size_t i = 0; i < array.items; i++) {
        int64_t label = whole_number(&array, i);
        if (label < 0 || label >= most)
            return syn_report(SYN_FORMAT, "%s: label %lld of example %zu; expected 0 to %lld", path,
                              (long long)label, i, (long long)most - 1);
        (*labels)[i] = (int32_t)label;
        if (part == SYN_DATA_TRAIN && (size_t)label >= data->info.outputs)
            data->info.outputs = (size_t)label + 1;
    }
    return SYN_OK;
}

/* The archive, if the path is one, or is a directory that contains one and no .npy files. */
static enum syn_status open_source(struct syn_data *data, const char *directory,
                                   struct source *source)
{
    char path[SYN_PATH_BYTES];
    struct syn_blob *blob = &data->blobs[0];
    bool has_files;
    *source = (struct source){.directory = directory};
    SYN_TRY(has_array(source, "x.npy", &has_files));
    if (has_files)
        return SYN_OK;
    snprintf(path, sizeof path, "%s", directory);
    if (!syn_path_is_file(path))
        SYN_TRY(syn_path_join(path, directory, ARCHIVE));
    if (!syn_path_is_file(path))
        return syn_report(SYN_INVALID,
                          "%s: neither x.npy nor %s found; --data-dir must be their folder, or a "
                          ".npz file",
                          directory, ARCHIVE);
    SYN_TRY(syn_blob_open(path, blob));
    data->blob_count = 1;
    source->archive = blob;
    return SYN_OK;
}

static enum syn_status open_set(const struct syn_data_options *options, const char *directory,
                                struct syn_data *data)
{
    struct source source;
    bool has_test;
    data->info.kind = SYN_DATA_IMAGES;
    SYN_TRY(open_source(data, directory, &source));
    SYN_TRY(open_examples(data, &source, SYN_DATA_TRAIN, "x.npy"));
    SYN_TRY(open_labels(data, &source, SYN_DATA_TRAIN, "y.npy"));
    SYN_TRY(has_array(&source, "x_test.npy", &has_test));
    if (has_test) {
        SYN_TRY(open_examples(data, &source, SYN_DATA_TEST, "x_test.npy"));
        SYN_TRY(open_labels(data, &source, SYN_DATA_TEST, "y_test.npy"));
    } else {
        SYN_TRY(syn_data_hold_out(data, options->hold_out));
    }
    enum syn_normalise usual = data->is_float ? SYN_NORMALISE_NONE : SYN_NORMALISE_COMPUTED;
    return syn_data_normalise_as(data, syn_normalise_find(options->normalise, usual));
}

const struct syn_data_set syn_data_set_npy = {
    .name = "npy",
    .help = "arrays of your own: x.npy, y.npy, and optionally x_test.npy, y_test.npy; or a .npz of "
            "them",
    .is_own = true,
    .open = open_set,
};
