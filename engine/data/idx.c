/* IDX: 00 00 08 (bytes) and the number of dimensions, then a 32-bit big-endian size for each,
 * then the data. http://yann.lecun.com/exdb/mnist describes it. Sizes come from the file, so
 * they are bounded before they are multiplied. */
#include "engine/data/idx.h"

#include <stdio.h>

#include "engine/base/fail.h"
#include "engine/base/memory.h"

#define MAGIC_IMAGES 0x00000803U
#define MAGIC_LABELS 0x00000801U
#define LARGEST_SIDE 4096

static uint32_t big_endian(const uint8_t *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static enum syn_status check_header(const char *name, const uint8_t *bytes, size_t count,
                                    uint32_t magic, size_t header)
{
    if (count < header)
        return syn_report(SYN_FORMAT, "%s: %zu bytes, too short for an IDX header of %zu", name,
                          count, header);
    if (big_endian(bytes) != magic)
        return syn_report(SYN_FORMAT, "%s: magic number 0x%08x; expected 0x%08x (IDX %s)", name,
                          (unsigned)big_endian(bytes), (unsigned)magic,
                          magic == MAGIC_IMAGES ? "images" : "labels");
    if (big_endian(bytes + 4) == 0)
        return syn_report(SYN_FORMAT, "%s: holds 0 examples; expected at least 1", name);
    return SYN_OK;
}

static enum syn_status check_length(const char *name, size_t count, uint64_t expected)
{
    if (count != expected)
        return syn_report(SYN_FORMAT, "%s: %zu bytes; its header says %llu: it %s", name, count,
                          (unsigned long long)expected,
                          count < expected ? "is cut short" : "has bytes left over");
    return SYN_OK;
}

enum syn_status syn_idx_read_images(const char *name, const uint8_t *bytes, size_t count,
                                    struct syn_idx_images *images)
{
    const size_t header = 16;
    SYN_TRY(check_header(name, bytes, count, MAGIC_IMAGES, header));
    uint32_t number = big_endian(bytes + 4);
    uint32_t height = big_endian(bytes + 8);
    uint32_t width = big_endian(bytes + 12);
    if (height == 0 || height > LARGEST_SIDE || width == 0 || width > LARGEST_SIDE)
        return syn_report(SYN_FORMAT, "%s: images of %u x %u; expected 1 to %d", name,
                          (unsigned)height, (unsigned)width, LARGEST_SIDE);
    SYN_TRY(check_length(name, count, header + (uint64_t)number * height * width));
    *images = (struct syn_idx_images){number, height, width, bytes + header};
    return SYN_OK;
}

enum syn_status syn_idx_read_labels(const char *name, const uint8_t *bytes, size_t count,
                                    struct syn_idx_labels *labels)
{
    const size_t header = 8;
    SYN_TRY(check_header(name, bytes, count, MAGIC_LABELS, header));
    uint32_t number = big_endian(bytes + 4);
    SYN_TRY(check_length(name, count, header + (uint64_t)number));
    *labels = (struct syn_idx_labels){number, bytes + header};
    return SYN_OK;
}

static enum syn_status open_images(struct syn_data *data, enum syn_data_part part,
                                   const struct syn_blob *file)
{
    struct syn_idx_images images = {0};
    struct syn_data_info *info = &data->info;
    SYN_TRY(syn_idx_read_images(file->path, file->bytes, file->count, &images));
    if (part == SYN_DATA_TRAIN) {
        info->height = images.height;
        info->width = images.width;
    }
    if (images.height != info->height || images.width != info->width)
        return syn_report(SYN_FORMAT,
                          "%s: images of %zu x %zu; those of the training part are %zu x %zu",
                          file->path, images.height, images.width, info->height, info->width);
    info->count[part] = images.count;
    data->parts[part].spans[0] =
        (struct syn_span){images.pixels, images.height * images.width, images.count};
    data->parts[part].span_count = 1;
    return SYN_OK;
}

static enum syn_status open_labels(struct syn_data *data, enum syn_data_part part,
                                   const struct syn_blob *file)
{
    struct syn_idx_labels labels = {0};
    SYN_TRY(syn_idx_read_labels(file->path, file->bytes, file->count, &labels));
    if (labels.count != data->info.count[part])
        return syn_report(SYN_FORMAT, "%s: %zu labels for %zu images", file->path, labels.count,
                          data->info.count[part]);
    SYN_TRY(syn_engine_allocate(labels.count, sizeof(int32_t), &data->parts[part].labels));
    return syn_labels_read(file->path, labels.labels, 1, labels.count, data->info.outputs,
                           data->parts[part].labels);
}

enum syn_status syn_idx_open(const struct syn_data_file files[SYN_IDX_FILES], const char *directory,
                             size_t classes, struct syn_data *data)
{
    static const enum syn_data_part parts[] = {SYN_DATA_TRAIN, SYN_DATA_TEST};
    data->info.kind = SYN_DATA_IMAGES;
    data->info.channels = 1;
    data->info.outputs = classes;
    for (size_t i = 0; i < 2; i++) {
        const struct syn_blob *images;
        const struct syn_blob *labels;
        SYN_TRY(syn_data_keep_file(data, directory, files[2 * i].name, &images));
        SYN_TRY(open_images(data, parts[i], images));
        SYN_TRY(syn_data_keep_file(data, directory, files[2 * i + 1].name, &labels));
        SYN_TRY(open_labels(data, parts[i], labels));
    }
    return SYN_OK;
}
