/* Reading packed pictures. Sizes come from the file, so they are bounded before they are
 * multiplied; the hash of the index is checked whenever a file is opened, that of the pixels by
 * `syncopate data check`. */
#include "engine/data/packed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/fail.h"
#include "engine/base/memory.h"
#include "engine/data/pictures.h"

#define MOST_SIDE    4096
#define MOST_CLASSES 1000000
#define MOST_BYTES   ((uint64_t)1 << 48)
#define LABEL_BYTES  4

static uint64_t number(const uint8_t *at, size_t bytes)
{
    uint64_t value = 0;
    for (size_t i = 0; i < bytes; i++)
        value |= (uint64_t)at[i] << 8 * i;
    return value;
}

static uint64_t round_up(uint64_t at)
{
    return (at + 63) / 64 * 64;
}

struct syn_packed_places syn_packed_places(const struct syn_packed *packed)
{
    struct syn_packed_places places;
    const uint64_t count = packed->count[0] + packed->count[1];
    places.pixels = round_up(SYN_PACKED_HEADER + packed->names_bytes);
    places.labels = round_up(places.pixels + count * 3 * packed->side * packed->side);
    places.end = places.labels + LABEL_BYTES * count;
    return places;
}

static enum syn_status check_header(const char *name, const struct syn_packed *packed)
{
    const uint64_t most = MOST_BYTES / 3 / MOST_SIDE / MOST_SIDE;
    if (packed->side < 1 || packed->side > MOST_SIDE)
        return syn_report(SYN_FORMAT, "%s: packed pictures of side %u; expected 1 to %d", name,
                          (unsigned)packed->side, MOST_SIDE);
    if (packed->classes < 1 || packed->classes > MOST_CLASSES)
        return syn_report(SYN_FORMAT, "%s: %u classes; expected 1 to %d", name,
                          (unsigned)packed->classes, MOST_CLASSES);
    if (packed->count[0] < 1 || packed->count[0] > most || packed->count[1] > most ||
        packed->names_bytes > MOST_BYTES)
        return syn_report(SYN_FORMAT, "%s: %llu and %llu pictures; expected at least 1 to train on",
                          name, (unsigned long long)packed->count[0],
                          (unsigned long long)packed->count[1]);
    return SYN_OK;
}

static enum syn_status check_index(const char *name, const uint8_t *bytes,
                                   const struct syn_packed *packed)
{
    const uint64_t count = packed->count[0] + packed->count[1];
    uint64_t hash = syn_data_hash(SYN_DATA_HASH, bytes, 48);
    hash = syn_data_hash(hash, packed->names, packed->names_bytes);
    hash = syn_data_hash(hash, packed->labels, LABEL_BYTES * count);
    if (hash != packed->index_hash)
        return syn_report(SYN_FORMAT, "%s: the hash of its index is %016llx; expected %016llx",
                          name, (unsigned long long)hash, (unsigned long long)packed->index_hash);
    size_t names = 0;
    for (uint64_t i = 0; i < packed->names_bytes; i++)
        names += packed->names[i] == '\0';
    if (names != packed->classes || packed->names[packed->names_bytes - 1] != '\0')
        return syn_report(SYN_FORMAT, "%s: %zu names for %u classes", name, names,
                          (unsigned)packed->classes);
    for (uint64_t i = 0; i < count; i++)
        if (number(packed->labels + LABEL_BYTES * i, LABEL_BYTES) >= packed->classes)
            return syn_report(
                SYN_FORMAT, "%s: label %llu of picture %llu; expected 0 to %u", name,
                (unsigned long long)number(packed->labels + LABEL_BYTES * i, LABEL_BYTES),
                (unsigned long long)i, (unsigned)packed->classes - 1);
    return SYN_OK;
}

enum syn_status syn_packed_read(const char *name, const uint8_t *bytes, size_t count,
                                struct syn_packed *packed)
{
    if (count < SYN_PACKED_HEADER || memcmp(bytes, SYN_PACKED_MAGIC, 8) != 0)
        return syn_report(SYN_FORMAT,
                          "%s: not a file of packed pictures: it does not begin with %s", name,
                          SYN_PACKED_MAGIC);
    struct syn_packed read = {.side = (uint32_t)number(bytes + 8, 4),
                              .classes = (uint32_t)number(bytes + 12, 4),
                              .count = {number(bytes + 16, 8), number(bytes + 24, 8)},
                              .names_bytes = number(bytes + 32, 8),
                              .pixels_hash = number(bytes + 40, 8),
                              .index_hash = number(bytes + 48, 8)};
    SYN_TRY(check_header(name, &read));
    struct syn_packed_places places = syn_packed_places(&read);
    if (places.end != count || read.names_bytes == 0)
        return syn_report(SYN_FORMAT, "%s: %zu bytes; its header says %llu: it %s", name, count,
                          (unsigned long long)places.end,
                          count < places.end ? "is cut short" : "has bytes left over");
    read.names = (const char *)bytes + SYN_PACKED_HEADER;
    read.labels = bytes + places.labels;
    read.pixels = bytes + places.pixels;
    SYN_TRY(check_index(name, bytes, &read));
    *packed = read;
    return SYN_OK;
}

static enum syn_status make_part(struct syn_data *data, enum syn_data_part part,
                                 const struct syn_packed *packed, size_t begin, size_t count)
{
    struct syn_part_store *store = &data->parts[part];
    if (count == 0)
        return SYN_OK;
    SYN_TRY(syn_engine_allocate(count, sizeof *store->labels, &store->labels));
    SYN_TRY(syn_engine_allocate(count, sizeof *store->places, &store->places));
    for (size_t i = 0; i < count; i++) {
        store->labels[i] = (int32_t)number(packed->labels + LABEL_BYTES * (begin + i), LABEL_BYTES);
        store->places[i] = (uint32_t)(begin + i);
    }
    data->info.count[part] = count;
    return SYN_OK;
}

static enum syn_status name_classes(struct syn_data *data, const struct syn_packed *packed)
{
    struct syn_word *words;
    const char *at = packed->names;
    data->info.outputs = packed->classes;
    SYN_TRY(syn_engine_allocate(packed->classes, sizeof *words, &words));
    for (size_t i = 0; i < packed->classes; i++) {
        words[i] = (struct syn_word){(const uint8_t *)at, strlen(at)};
        at += strlen(at) + 1;
    }
    enum syn_status status = syn_data_keep_names(data, words);
    free(words);
    return status;
}

enum syn_status syn_packed_open(const struct syn_data_options *options, const char *path,
                                struct syn_data *data)
{
    struct syn_packed packed;
    struct syn_blob *blob = &data->blobs[0];
    SYN_TRY(syn_blob_open_packed(path, blob));
    data->blob_count = 1;
    SYN_TRY(syn_packed_read(path, blob->bytes, blob->count, &packed));
    const size_t train = (size_t)packed.count[0];
    const size_t test = (size_t)packed.count[1];
    struct syn_pictures *pictures = data->pictures;
    snprintf(pictures->root, sizeof pictures->root, "%s", path);
    pictures->count = train + test;
    pictures->pixels = packed.pixels;
    pictures->side = packed.side;
    pictures->pixels_hash = packed.pixels_hash;
    SYN_TRY(name_classes(data, &packed));
    SYN_TRY(make_part(data, SYN_DATA_TRAIN, &packed, 0, train));
    SYN_TRY(make_part(data, SYN_DATA_TEST, &packed, train, test));
    return syn_pictures_finish(data, options, test > 0);
}
