/* Writing packed pictures: each is resized and cropped as for evaluation, and written immediately,
 * so that memory does not grow with the set. Which pictures can be read is known only at the end,
 * so labels and header are written last; the file gets its name when it is complete. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/fail.h"
#include "engine/base/memory.h"
#include "engine/data/packed.h"
#include "engine/data/pictures.h"

struct packing {
    const struct syn_data *data;
    const struct syn_progress *progress;
    struct syn_scratch scratch;
    struct syn_packed packed;
    uint8_t *labels; /* [count][4] */
    size_t done;     /* pictures written */
    size_t seen;
    FILE *to;
    char path[SYN_PATH_BYTES]; /* of the file that is being written */
};

static void put(uint8_t *at, uint64_t value, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        at[i] = (uint8_t)(value >> 8 * i);
}

static enum syn_status write_at(struct packing *p, uint64_t at, const void *bytes, size_t count)
{
    if (fseeko(p->to, (off_t)at, SEEK_SET) != 0 || fwrite(bytes, 1, count, p->to) != count)
        return syn_report(SYN_IO, "%s: cannot write: %s", p->path, strerror(errno));
    return SYN_OK;
}

/* Append the pixels of a part. */
static enum syn_status write_part(struct packing *p, enum syn_data_part part, uint64_t *count)
{
    const struct syn_pictures *pictures = p->data->pictures;
    const struct syn_part_store *store = &p->data->parts[part];
    const size_t bytes = 3 * pictures->size * pictures->size;
    bool flips;
    for (size_t i = 0; i < p->data->info.count[part]; i++) {
        SYN_TRY(syn_progress_report(p->progress, "packing", p->seen++, pictures->count));
        if (!syn_pictures_make(pictures, store->places[i], &p->scratch, NULL, &flips))
            continue;
        if (fwrite(p->scratch.frame, 1, bytes, p->to) != bytes)
            return syn_report(SYN_IO, "%s: cannot write: %s", p->path, strerror(errno));
        put(p->labels + 4 * p->done++, (uint64_t)store->labels[i], 4);
        p->packed.pixels_hash = syn_data_hash(p->packed.pixels_hash, p->scratch.frame, bytes);
        (*count)++;
    }
    return SYN_OK;
}

/* Names one after another, each NUL-terminated, as syn_data_keep_names() lays them out. */
static size_t measure_names(const struct syn_data_info *info)
{
    size_t bytes = 0;
    for (size_t i = 0; i < info->outputs; i++)
        bytes += strlen(info->names[i]) + 1;
    return bytes;
}

static enum syn_status write_index(struct packing *p)
{
    uint8_t header[SYN_PACKED_HEADER] = {0};
    struct syn_packed *packed = &p->packed;
    const char *names = p->data->info.names[0];
    for (size_t i = 0; i < 8; i++)
        header[i] = (uint8_t)SYN_PACKED_MAGIC[i];
    put(header + 8, packed->side, 4);
    put(header + 12, packed->classes, 4);
    put(header + 16, packed->count[0], 8);
    put(header + 24, packed->count[1], 8);
    put(header + 32, packed->names_bytes, 8);
    put(header + 40, packed->pixels_hash, 8);
    uint64_t hash = syn_data_hash(SYN_DATA_HASH, header, 48);
    hash = syn_data_hash(hash, names, packed->names_bytes);
    put(header + 48, syn_data_hash(hash, p->labels, 4 * p->done), 8);
    SYN_TRY(write_at(p, 0, header, sizeof header));
    SYN_TRY(write_at(p, SYN_PACKED_HEADER, names, packed->names_bytes));
    return write_at(p, syn_packed_places(packed).labels, p->labels, 4 * p->done);
}

static enum syn_status pack(struct packing *p)
{
    const struct syn_data_info *info = &p->data->info;
    p->packed = (struct syn_packed){.side = (uint32_t)info->width,
                                    .classes = (uint32_t)info->outputs,
                                    .names_bytes = measure_names(info),
                                    .pixels_hash = SYN_DATA_HASH};
    SYN_TRY(syn_engine_allocate(p->data->pictures->count, 4, &p->labels));
    SYN_TRY(write_at(p, syn_packed_places(&p->packed).pixels, "", 0));
    SYN_TRY(write_part(p, SYN_DATA_TRAIN, &p->packed.count[0]));
    SYN_TRY(write_part(p, SYN_DATA_TEST, &p->packed.count[1]));
    if (p->packed.count[0] == 0)
        return syn_report(SYN_FORMAT, "%s: no picture to train on can be read",
                          p->data->pictures->root);
    return write_index(p);
}

/* Write to a temporary file next to it, then rename. */
static enum syn_status pack_to(const struct syn_data *data, const char *to,
                               const struct syn_progress *progress)
{
    struct packing p = {.data = data, .progress = progress};
    int length = snprintf(p.path, sizeof p.path, "%s.part", to);
    if (length < 0 || (size_t)length >= sizeof p.path)
        return syn_report(SYN_INVALID, "%.64s...: a path of %d bytes", to, length);
    p.to = fopen(p.path, "wb");
    if (!p.to)
        return syn_report(SYN_IO, "%s: %s", p.path, strerror(errno));
    enum syn_status status = pack(&p);
    bool is_written = fflush(p.to) == 0 && fsync(fileno(p.to)) == 0;
    is_written = fclose(p.to) == 0 && is_written;
    if (status == SYN_OK && (!is_written || rename(p.path, to) != 0))
        status = syn_report(SYN_IO, "%s: cannot write: %s", to, strerror(errno));
    if (status != SYN_OK)
        unlink(p.path);
    syn_scratch_free(&p.scratch);
    free(p.labels);
    return status;
}

enum syn_status syn_data_pack(const char *directory, size_t size, const char *to,
                              syn_data_progress *progress, void *context)
{
    const struct syn_progress listener = {progress, context};
    struct syn_data_options options;
    struct syn_data *data;
    syn_data_defaults(&options, "folder");
    options.image_size = options.image_resize = size;
    options.hold_out = 0;
    if (strlen(directory) >= sizeof options.data_dir)
        return syn_report(SYN_INVALID, "%.64s...: a path of %zu bytes; expected less than %zu",
                          directory, strlen(directory), sizeof options.data_dir);
    memcpy(options.data_dir, directory, strlen(directory) + 1);
    SYN_TRY(syn_data_open(&options, &data));
    enum syn_status status = pack_to(data, to, &listener);
    syn_data_close(data);
    return status;
}
