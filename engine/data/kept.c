/* Floats are written as their bits: exact, and easy to read in any language. */
#include "engine/data/kept.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/fail.h"
#include "engine/base/memory.h"
#include "engine/data/pictures.h"

#define MOST_OUTPUTS 100000000
#define MOST_SIDE    65535

static uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static float float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

void syn_kept_text(const struct syn_data *data, char text[SYN_KEPT_BYTES])
{
    const struct syn_data_info *info = &data->info;
    const struct syn_pictures *pictures = data->pictures;
    const bool is_text = info->kind == SYN_DATA_TOKENS;
    int length = snprintf(
        text, SYN_KEPT_BYTES,
        "syncopate-input 1\ndata %.63s\nkind %s\nshape %zu %zu %zu\noutputs %zu\nfloats %d\nframe "
        "%zu %zu",
        info->name, is_text ? "tokens" : "images", info->channels, info->height, info->width,
        info->outputs, data->is_float, pictures ? pictures->size : 0,
        pictures ? pictures->resize : 0);
    for (size_t c = 0; !is_text && c < info->channels && length < SYN_KEPT_BYTES; c++)
        length += snprintf(text + length, SYN_KEPT_BYTES - (size_t)length,
                           "\nchannel %08" PRIx32 " %08" PRIx32, bits_of(data->scale[c]),
                           bits_of(data->shift[c]));
}

/* The name if it is that of a known set; other sets are the caller's. */
static const char *known_name(const char *name)
{
    for (size_t i = 0; syn_data_name(i); i++)
        if (strcmp(syn_data_name(i), name) == 0)
            return syn_data_name(i);
    return "its data";
}

/* Read the head into an empty set; returns its length in bytes, 0 if it is invalid. */
static int read_head(const char *text, struct syn_data *data, size_t *size, size_t *resize)
{
    char name[64];
    char kind[8];
    struct syn_data_info *info = &data->info;
    int is_float;
    int taken = 0;
    int found = sscanf(text,
                       "syncopate-input 1 data %63s kind %7s shape %9zu %9zu %9zu outputs %9zu "
                       "floats %1d frame %9zu %9zu%n",
                       name, kind, &info->channels, &info->height, &info->width, &info->outputs,
                       &is_float, size, resize, &taken);
    const bool is_text = found == 9 && strcmp(kind, "tokens") == 0;
    const bool has_shape = found == 9 && info->channels >= 1 &&
                           info->channels <= SYN_MOST_CHANNELS && info->height >= 1 &&
                           info->height <= MOST_SIDE && info->width >= 1 &&
                           info->width <= MOST_SIDE;
    if (found != 9 || info->outputs < 1 || info->outputs > MOST_OUTPUTS ||
        (!is_text && (strcmp(kind, "images") != 0 || !has_shape)) || *resize < *size)
        return 0;
    info->name = known_name(name);
    info->kind = is_text ? SYN_DATA_TOKENS : SYN_DATA_IMAGES;
    if (is_text)
        info->channels = info->height = info->width = 0;
    data->is_float = is_float != 0;
    return taken;
}

static bool read_channels(const char *text, struct syn_data *data)
{
    for (size_t c = 0; c < data->info.channels; c++) {
        uint32_t scale;
        uint32_t shift;
        int taken = 0;
        if (sscanf(text, " channel %8" SCNx32 " %8" SCNx32 "%n", &scale, &shift, &taken) != 2)
            return false;
        data->scale[c] = float_of(scale);
        data->shift[c] = float_of(shift);
        text += taken;
    }
    return true;
}

static enum syn_status read_names(const char *path, struct syn_word names, struct syn_data *data)
{
    const uint8_t *at = names.at;
    const uint8_t *end = names.at + names.length;
    const size_t count = data->info.outputs;
    struct syn_word *words;
    size_t found = 0;
    if (count > names.length) /* one end of line each */
        return syn_report(SYN_FORMAT, "%s: %zu outputs, but a list of names of %zu bytes", path,
                          count, names.length);
    SYN_TRY(syn_engine_allocate(count, sizeof *words, &words));
    while (at < end) {
        const uint8_t *line = memchr(at, '\n', (size_t)(end - at));
        const size_t length = (size_t)((line ? line : end) - at);
        if (found < count)
            words[found] = (struct syn_word){at, length};
        found++;
        at += length + 1;
    }
    enum syn_status status = SYN_OK;
    if (found == count)
        status = syn_data_keep_names(data, words);
    else
        status = syn_report(SYN_FORMAT, "%s: %zu outputs, but %zu names", path, count, found);
    free(words);
    return status;
}

static enum syn_status read_all(const char *path, const char *text, struct syn_word names,
                                struct syn_data *data)
{
    size_t size = 0;
    size_t resize = 0;
    const int taken = read_head(text, data, &size, &resize);
    if (taken == 0 || !read_channels(text + taken, data))
        return syn_report(SYN_FORMAT, "%s: not a description of data written by syncopate train",
                          path);
    if (size > 0) {
        SYN_TRY(syn_engine_allocate(1, sizeof *data->pictures, &data->pictures));
        syn_odd_open();
        data->pictures->size = size;
        data->pictures->resize = resize;
    }
    if (size > 0 &&
        (data->info.channels != 3 || size != data->info.width || size != data->info.height))
        return syn_report(SYN_FORMAT, "%s: pictures of size %zu, but examples of another shape",
                          path, size);
    return names.at ? read_names(path, names, data) : SYN_OK;
}

enum syn_status syn_kept_read(const char *path, struct syn_word text, struct syn_word names,
                              struct syn_data **data)
{
    char copy[SYN_KEPT_BYTES] = "";
    struct syn_data *made = NULL;
    memcpy(copy, text.at, text.length < sizeof copy ? text.length : sizeof copy - 1);
    SYN_TRY(syn_engine_allocate(1, sizeof *made, &made));
    enum syn_status status = read_all(path, copy, names, made);
    if (status != SYN_OK) {
        syn_data_close(made);
        return status;
    }
    *data = made;
    return SYN_OK;
}

enum syn_status syn_kept_open(const char *directory, struct syn_data **data)
{
    char path[SYN_PATH_BYTES];
    char names_path[SYN_PATH_BYTES];
    struct syn_blob text = {0};
    struct syn_blob names = {0};
    SYN_TRY(syn_path_join(path, directory, SYN_KEPT_FILE));
    SYN_TRY(syn_path_join(names_path, directory, SYN_NAMES_FILE));
    if (!syn_path_is_file(path))
        return SYN_OK;
    enum syn_status status = syn_blob_open(path, &text);
    if (status == SYN_OK && syn_path_is_file(names_path))
        status = syn_blob_open(names_path, &names);
    if (status == SYN_OK)
        status = syn_kept_read(path, (struct syn_word){text.bytes, text.count},
                               (struct syn_word){names.bytes, names.count}, data);
    syn_blob_close(&text);
    syn_blob_close(&names);
    return status;
}
