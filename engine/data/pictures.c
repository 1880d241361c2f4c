/* From a file to an example: read, decode, crop, resize, flip, normalise. All of it happens on the
 * loader's threads. */
#include "engine/data/pictures.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/fail.h"
#include "engine/base/memory.h"
#include "engine/data/normalise.h"

/* Pictures that are tried when a set is opened, and the most that are read for a computed
 * normalisation. */
#define TRIED   8
#define SAMPLED 512

void syn_scratch_free(struct syn_scratch *scratch)
{
    syn_picture_free(&scratch->picture);
    syn_resizer_free(&scratch->resizer);
    free(scratch->file);
    free(scratch->frame);
    *scratch = (struct syn_scratch){0};
}

enum syn_status syn_pictures_set_sizes(struct syn_pictures *pictures,
                                       const struct syn_data_options *options)
{
    pictures->size = (size_t)options->image_size;
    pictures->resize =
        options->image_resize ? (size_t)options->image_resize : (size_t)options->image_size * 8 / 7;
    if (pictures->resize < pictures->size)
        return syn_report(SYN_INVALID,
                          "image-resize is %zu, expected at least image-size, which is %zu",
                          pictures->resize, pictures->size);
    return SYN_OK;
}

static bool grow(uint8_t **block, size_t *has, size_t bytes)
{
    if (bytes <= *has)
        return true;
    uint8_t *grown = realloc(*block, bytes);
    if (!grown)
        return false;
    *block = grown;
    *has = bytes;
    return true;
}

/* Read a whole file into scratch->file. */
static bool read_file(const char *path, size_t bytes, struct syn_scratch *scratch, size_t *count,
                      char why[SYN_WHY_BYTES])
{
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    size_t got = 0;
    ssize_t now = file >= 0 ? 1 : -1;
    bool has_room = grow(&scratch->file, &scratch->file_bytes, bytes + 1);
    while (has_room && now > 0 && got < bytes) {
        now = read(file, scratch->file + got, bytes - got);
        got += now > 0 ? (size_t)now : 0;
    }
    if (now < 0)
        snprintf(why, SYN_WHY_BYTES, "%s", strerror(errno));
    else if (!has_room)
        snprintf(why, SYN_WHY_BYTES, "no memory for %zu bytes", bytes);
    if (file >= 0)
        close(file);
    *count = got;
    return now >= 0 && has_room;
}

static bool decode_file(const struct syn_pictures *pictures, const struct syn_picture_file *file,
                        struct syn_scratch *scratch)
{
    char path[SYN_PATH_BYTES];
    char why[SYN_WHY_BYTES] = "";
    size_t count = 0;
    const char *name = pictures->names + file->name;
    int length = snprintf(path, sizeof path, "%s/%s", pictures->root, name);
    if (length < 0 || (size_t)length >= sizeof path)
        snprintf(why, sizeof why, "a path of %d bytes", length);
    else if (read_file(path, (size_t)file->bytes, scratch, &count, why) &&
             syn_picture_decode(scratch->file, count, &scratch->picture, why))
        return true;
    /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): scratch->file lives until syn_scratch_free() */
    syn_odd_log(pictures->root, name, why);
    return false;
}

bool syn_pictures_make(const struct syn_pictures *pictures, size_t number,
                       struct syn_scratch *scratch, struct syn_random *random, bool *flips)
{
    const uint8_t *pixels = NULL;
    size_t width = pictures->side;
    size_t height = pictures->side;
    if (pictures->pixels) {
        pixels = pictures->pixels + number * 3 * width * height;
    } else {
        if (!decode_file(pictures, &pictures->files[number], scratch))
            return false;
        pixels = scratch->picture.pixels;
        width = scratch->picture.width;
        height = scratch->picture.height;
    }
    struct syn_frame frame =
        random ? syn_frame_random(width, height, pictures->size, random)
               : syn_frame_centre(width, height, pictures->size, pictures->resize);
    *flips = frame.flips;
    return grow(&scratch->frame, &scratch->frame_bytes, 3 * pictures->size * pictures->size) &&
           syn_resize(&scratch->resizer, pixels + 3 * (frame.top * width + frame.left), 3 * width,
                      frame.x, frame.y, scratch->frame);
}

static void to_floats(const struct syn_data *data, const uint8_t *pixels, bool flips, float *input)
{
    const size_t size = data->info.width;
    for (size_t c = 0; c < 3; c++)
        for (size_t y = 0; y < size; y++) {
            const uint8_t *row = pixels + 3 * y * size + c;
            float *to = input + (c * size + y) * size;
            for (size_t x = 0; x < size; x++)
                to[x] =
                    (float)row[3 * (flips ? size - 1 - x : x)] * data->scale[c] + data->shift[c];
        }
}

bool syn_pictures_fill(const struct syn_data *data, size_t number, struct syn_scratch *scratch,
                       struct syn_random *random, float *input)
{
    bool flips;
    if (!syn_pictures_make(data->pictures, number, scratch, random, &flips))
        return false;
    to_floats(data, scratch->frame, flips, input);
    return true;
}

/* If none of the first can be read, the set is bad, not a file. */
static enum syn_status try_some(const struct syn_pictures *pictures, struct syn_scratch *scratch)
{
    bool flips;
    size_t tried = 0;
    for (; tried < pictures->count && tried < TRIED; tried++)
        if (syn_pictures_make(pictures, tried, scratch, NULL, &flips))
            return SYN_OK;
    return syn_report(SYN_FORMAT, "%s: none of the first %zu pictures can be read", pictures->root,
                      tried);
}

/* Mean and deviation of a sample that is spread over the training part. */
static void normalise_by_sample(struct syn_data *data, struct syn_scratch *scratch)
{
    const size_t count = data->info.count[SYN_DATA_TRAIN];
    const size_t step = count / SAMPLED + 1;
    const size_t plane = data->info.width * data->info.height;
    struct syn_moments moments[3] = {{0, 0, 0}};
    for (size_t i = 0; i < count; i += step) {
        bool flips;
        if (!syn_pictures_make(data->pictures, data->parts[SYN_DATA_TRAIN].places[i], scratch, NULL,
                               &flips))
            continue;
        for (size_t c = 0; c < 3; c++)
            syn_moments_add(&moments[c], scratch->frame + c, plane, 3);
    }
    syn_data_normalise_by(data, moments);
}

enum syn_status syn_pictures_finish(struct syn_data *data, const struct syn_data_options *options,
                                    bool has_test)
{
    struct syn_scratch scratch = {0};
    enum syn_normalise way = syn_normalise_find(options->normalise, SYN_NORMALISE_IMAGENET);
    enum syn_status status = try_some(data->pictures, &scratch);
    if (status == SYN_OK && !has_test)
        status = syn_data_hold_out(data, options->hold_out);
    if (status == SYN_OK && way == SYN_NORMALISE_COMPUTED)
        normalise_by_sample(data, &scratch);
    else if (status == SYN_OK)
        status = syn_data_normalise_as(data, way);
    syn_scratch_free(&scratch);
    return status;
}

enum syn_status syn_pictures_check(const struct syn_data *data, const struct syn_progress *progress)
{
    const struct syn_pictures *pictures = data->pictures;
    struct syn_scratch scratch = {0};
    uint64_t hash = SYN_DATA_HASH;
    enum syn_status status = SYN_OK;
    for (size_t i = 0; status == SYN_OK && i < pictures->count; i++) {
        if (pictures->pixels)
            hash = syn_pictures_hash(hash, pictures, i);
        else
            decode_file(pictures, &pictures->files[i], &scratch);
        status = syn_progress_report(progress, "checking", i + 1, pictures->count);
    }
    syn_scratch_free(&scratch);
    SYN_TRY(status);
    if (pictures->pixels && hash != pictures->pixels_hash)
        return syn_report(SYN_FORMAT, "%s: the hash of its pixels is %016llx; expected %016llx",
                          pictures->root, (unsigned long long)hash,
                          (unsigned long long)pictures->pixels_hash);
    return SYN_OK;
}

uint64_t syn_pictures_hash(uint64_t hash, const struct syn_pictures *pictures, size_t number)
{
    const size_t bytes = 3 * pictures->side * pictures->side;
    if (pictures->pixels)
        return syn_data_hash(hash, pictures->pixels + number * bytes, bytes);
    const struct syn_picture_file *file = &pictures->files[number];
    const char *name = pictures->names + file->name;
    return syn_data_hash(syn_data_hash(hash, name, strlen(name)), &file->bytes, sizeof file->bytes);
}

void syn_pictures_free(struct syn_pictures *pictures)
{
    if (!pictures)
        return;
    free(pictures->names);
    free(pictures->files);
    free(pictures);
    syn_odd_close();
}
