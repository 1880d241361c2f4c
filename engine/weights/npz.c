/* NumPy's .npz: a zip archive, not compressed, of .npy files, one for each tensor. All its metadata
 * is fixed (even times), so that the same weights give the same file. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "engine/base/fail.h"
#include "engine/data/npy_read.h"
#include "engine/weights/weights.h"

#define LOCAL_BYTES   30
#define CENTRAL_BYTES 46
#define END_BYTES     22
#define NPY_ALIGNMENT 64
#define NPY_MOST      512
#define DOS_DATE      0x21U /* 1 January 1980 */
#define MOST_BYTES    UINT32_MAX
#define MOST_ENTRIES  UINT16_MAX
#define MOST_RATIO    1100 /* deflate cannot compress more */

/* One file in the archive. */
struct entry {
    char name[SYN_WEIGHTS_NAME + 4];
    uint32_t crc;
    uint32_t bytes;
    uint32_t offset;
};

static void put16(uint8_t *at, unsigned value)
{
    at[0] = (uint8_t)value;
    at[1] = (uint8_t)(value >> 8);
}

static void put32(uint8_t *at, uint32_t value)
{
    put16(at, value & 0xffffU);
    put16(at + 2, value >> 16);
}

/* Make the header of a .npy file; returns its length. */
static size_t make_npy_header(const struct syn_shape *shape, char header[NPY_MOST])
{
    char text[NPY_MOST];
    int length = snprintf(text, sizeof text, "{'descr': '<f4', 'fortran_order': False, 'shape': (");
    for (size_t d = 0; d < shape->dimensions; d++)
        length += snprintf(text + length, sizeof text - (size_t)length, "%zu,", shape->size[d]);
    length += snprintf(text + length, sizeof text - (size_t)length, "), }");
    size_t whole = 10 + (size_t)length + 1;
    whole = (whole + NPY_ALIGNMENT - 1) / NPY_ALIGNMENT * NPY_ALIGNMENT;
    memset(header, ' ', whole);
    memcpy(header, "\x93NUMPY\x01", 8);
    put16((uint8_t *)header + 8, (unsigned)(whole - 10));
    memcpy(header + 10, text, (size_t)length);
    header[whole - 1] = '\n';
    return whole;
}

/* What both headers of a file have in common. */
static void put_common(uint8_t *at, const struct entry *entry)
{
    put16(at, 20);        /* version needed to read it */
    put16(at + 2, 0x800); /* names are UTF-8 */
    put16(at + 8, DOS_DATE);
    put32(at + 10, entry->crc);
    put32(at + 14, entry->bytes);
    put32(at + 18, entry->bytes);
    put16(at + 22, (unsigned)strlen(entry->name));
}

static enum syn_status put_entry(struct syn_sink *sink, const struct syn_weights_tensor *tensor,
                                 struct entry *entry)
{
    uint8_t local[LOCAL_BYTES] = {'P', 'K', 3, 4};
    char header[NPY_MOST];
    size_t length = make_npy_header(&tensor->shape, header);
    size_t bytes = syn_shape_count(&tensor->shape) * sizeof(float);
    uLong crc = crc32_z(crc32(0, NULL, 0), (const Bytef *)header, length);
    entry->crc = (uint32_t)crc32_z(crc, (const Bytef *)tensor->values, bytes);
    entry->bytes = (uint32_t)(length + bytes);
    put_common(local + 4, entry);
    SYN_TRY(syn_sink_put(sink, local, sizeof local));
    SYN_TRY(syn_sink_put(sink, entry->name, strlen(entry->name)));
    SYN_TRY(syn_sink_put(sink, header, length));
    return syn_sink_put(sink, tensor->values, bytes);
}

static enum syn_status put_directory(struct syn_sink *sink, const struct entry *entries,
                                     size_t count, uint32_t offset)
{
    uint8_t end[END_BYTES] = {'P', 'K', 5, 6};
    uint32_t bytes = 0;
    for (size_t i = 0; i < count; i++) {
        uint8_t central[CENTRAL_BYTES] = {'P', 'K', 1, 2, 20};
        put_common(central + 6, &entries[i]);
        put32(central + 42, entries[i].offset);
        SYN_TRY(syn_sink_put(sink, central, sizeof central));
        SYN_TRY(syn_sink_put(sink, entries[i].name, strlen(entries[i].name)));
        bytes += (uint32_t)(sizeof central + strlen(entries[i].name));
    }
    put16(end + 8, (unsigned)count);
    put16(end + 10, (unsigned)count);
    put32(end + 12, bytes);
    put32(end + 16, offset);
    return syn_sink_put(sink, end, sizeof end);
}

/* Classic zip archives have 32-bit offsets. */
static enum syn_status check_size(const struct syn_weights_writing *writing)
{
    size_t count = syn_weights_count(writing->weights);
    double bytes = END_BYTES;
    for (size_t i = 0; i < count; i++) {
        struct syn_weights_tensor tensor = syn_weights_tensor(writing->weights, i);
        bytes += 4.0 * (double)syn_shape_count(&tensor.shape) + 2 * SYN_WEIGHTS_NAME + NPY_MOST +
                 LOCAL_BYTES + CENTRAL_BYTES;
    }
    if (bytes < MOST_BYTES && count < MOST_ENTRIES)
        return SYN_OK;
    return syn_report(SYN_INVALID,
                      "%s: %zu tensors of %.1f GB; .npz holds at most 4 GB, use .safetensors",
                      writing->path, count, bytes / 1e9);
}

enum syn_status syn_npz_write(struct syn_sink *sink, void *context)
{
    const struct syn_weights_writing *writing = context;
    size_t count = syn_weights_count(writing->weights);
    uint32_t offset = 0;
    SYN_TRY(check_size(writing));
    struct entry *entries = calloc(count + 1, sizeof *entries);
    if (!entries)
        return syn_report(SYN_MEMORY, "cannot allocate the names of %zu tensors", count);
    enum syn_status status = SYN_OK;
    for (size_t i = 0; i < count && status == SYN_OK; i++) {
        char name[SYN_WEIGHTS_NAME];
        struct syn_weights_tensor tensor = syn_weights_tensor(writing->weights, i);
        syn_weights_name(writing->weights, i, writing->names, name);
        snprintf(entries[i].name, sizeof entries[i].name, "%s.npy", name);
        entries[i].offset = offset;
        status = put_entry(sink, &tensor, &entries[i]);
        offset += (uint32_t)(LOCAL_BYTES + strlen(entries[i].name)) + entries[i].bytes;
    }
    if (status == SYN_OK)
        status = put_directory(sink, entries, count, offset);
    free(entries);
    return status;
}

/* Add one array, NAME.npy. A scalar has one item and no dimensions. */
static enum syn_status take(void *context, const char *file_name, size_t length,
                            const struct syn_zip_file *file)
{
    char name[SYN_WEIGHTS_NAME];
    struct syn_npy array;
    struct syn_weights *weights = context;
    const char *origin = syn_weights_origin(weights);
    if (length < 5 || length - 4 >= sizeof name || memcmp(file_name + length - 4, ".npy", 4) != 0)
        return syn_report(SYN_FORMAT, "%s: \"%.*s\" is not an array of a model", origin,
                          (int)(length < 64 ? length : 64), file_name);
    snprintf(name, sizeof name, "%.*s", (int)(length - 4), file_name);
    if (syn_weights_is_counter(name))
        return SYN_OK;
    if (file->count / MOST_RATIO > file->packed_count) /* before memory is allocated for it */
        return syn_report(SYN_FORMAT, "%s: %s of %zu bytes, packed in %zu", origin, name,
                          file->count, file->packed_count);
    uint8_t *bytes = malloc(file->count + 1);
    if (!bytes)
        return syn_report(SYN_MEMORY, "cannot allocate the %zu bytes of %s", file->count, name);
    enum syn_status status = syn_zip_unpack(origin, name, file, bytes);
    if (status == SYN_OK)
        status = syn_npy_read(origin, bytes, file->count, &array);
    if (status == SYN_OK && (array.kind != 'f' || array.width != sizeof(float)))
        status = syn_report(SYN_FORMAT, "%s: %s has items of type %c%zu; expected f4", origin, name,
                            array.kind, array.width);
    if (status == SYN_OK) {
        struct syn_shape shape = {.dimensions = array.dimensions};
        for (size_t d = 0; d < array.dimensions; d++)
            shape.size[d] = array.shape[d];
        status = syn_weights_take(weights, name, &shape, array.bytes);
    }
    free(bytes);
    return status;
}

enum syn_status syn_npz_read(const uint8_t *bytes, size_t count, struct syn_weights *weights)
{
    return syn_zip_list(syn_weights_origin(weights), bytes, count, take, weights);
}
