/* What the sets share when they are opened: finding files, labels, normalisation. */
#include <assert.h>
#include <string.h>

#include "engine/base/fail.h"
#include "engine/base/memory.h"
#include "engine/data/set.h"

enum syn_status syn_data_open_file(const char *set, const char *directory, const char *name,
                                   struct syn_blob *blob)
{
    char path[SYN_PATH_BYTES];
    const struct syn_data_set *row;
    SYN_TRY(syn_path_join(path, directory, name));
    if (syn_blob_exists(path))
        return syn_blob_open(path, blob);
    SYN_TRY(syn_data_set_find(set, &row));
    if (row->is_own)
        return syn_report(SYN_INVALID, "%s is missing; --data-dir must be a folder that has it",
                          path);
    return syn_report(SYN_INVALID, "%s is missing; see `syncopate data get %s`", path, set);
}

enum syn_status syn_data_keep_file(struct syn_data *data, const char *directory, const char *name,
                                   const struct syn_blob **blob)
{
    assert(data->blob_count < SYN_MOST_BLOBS);
    struct syn_blob *kept = &data->blobs[data->blob_count];
    SYN_TRY(syn_data_open_file(data->info.name, directory, name, kept));
    data->blob_count++;
    *blob = kept;
    return SYN_OK;
}

enum syn_status syn_data_keep_names(struct syn_data *data, const struct syn_word *words)
{
    const size_t count = data->info.outputs;
    size_t bytes = count * sizeof(char *);
    for (size_t i = 0; i < count; i++)
        bytes += words[i].length + 1;
    SYN_TRY(syn_engine_allocate(bytes, 1, &data->names));
    char *text = (char *)(data->names + count);
    for (size_t i = 0; i < count; i++) {
        data->names[i] = text;
        memcpy(text, words[i].at, words[i].length);
        text[words[i].length] = '\0';
        text += words[i].length + 1;
    }
    data->info.names = (const char *const *)data->names;
    return SYN_OK;
}

void syn_data_normalise(struct syn_data *data, const float *mean, const float *deviation)
{
    assert(data->info.channels <= SYN_MOST_CHANNELS);
    for (size_t c = 0; c < data->info.channels; c++) {
        data->scale[c] = 1.0F / (255.0F * deviation[c]);
        data->shift[c] = -mean[c] / deviation[c];
    }
}

enum syn_status syn_labels_read(const char *name, const uint8_t *bytes, size_t stride, size_t count,
                                size_t classes, int32_t *labels)
{
    for (size_t i = 0; i < count; i++) {
        labels[i] = bytes[i * stride];
        if (bytes[i * stride] >= classes)
            return syn_report(SYN_FORMAT, "%s: label %d of example %zu; expected 0 to %zu", name,
                              bytes[i * stride], i, classes - 1);
    }
    return SYN_OK;
}

const uint8_t *syn_data_find_pixels(const struct syn_part_store *part, size_t example)
{
    size_t place = part->places ? part->places[example] : example;
    size_t i = 0;
    while (place >= part->spans[i].count) {
        place -= part->spans[i].count;
        i++;
        assert(i < part->span_count);
    }
    return part->spans[i].pixels + place * part->spans[i].stride;
}
