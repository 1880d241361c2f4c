/* One picture from a file as an example of a data set: decoded, resized to the size of its
 * examples, and normalised like them. For sets of pictures it is the centre crop, as in an
 * evaluation; for the others the whole picture is resized. */
#include "engine/data/read_picture.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/fail.h"
#include "engine/data/pictures.h"

/* The part that is used. */
static struct syn_frame frame_of(const struct syn_data *data, const struct syn_picture *picture)
{
    const struct syn_data_info *info = &data->info;
    if (data->pictures)
        return syn_frame_centre(picture->width, picture->height, data->pictures->size,
                                data->pictures->resize);
    return (struct syn_frame){.x = {picture->width, info->width, 0, info->width},
                              .y = {picture->height, info->height, 0, info->height}};
}

/* Luma as in television, for sets of one channel. */
static float channel(const uint8_t *pixel, size_t channels, size_t c)
{
    if (channels == 3)
        return (float)pixel[c];
    return 0.299F * (float)pixel[0] + 0.587F * (float)pixel[1] + 0.114F * (float)pixel[2];
}

static enum syn_status resize(const struct syn_data *data, const struct syn_picture *picture,
                              uint8_t *pixels)
{
    struct syn_resizer resizer = {0};
    struct syn_frame frame = frame_of(data, picture);
    bool good =
        syn_resize(&resizer, picture->pixels + 3 * (frame.top * picture->width + frame.left),
                   3 * picture->width, frame.x, frame.y, pixels);
    syn_resizer_free(&resizer);
    return good ? SYN_OK : syn_report(SYN_MEMORY, "cannot allocate memory to resize a picture");
}

enum syn_status syn_data_read_picture(const struct syn_data *data, const char *path,
                                      const uint8_t *bytes, size_t count, float *input)
{
    char why[SYN_WHY_BYTES];
    struct syn_picture picture = {0};
    const struct syn_data_info *info = &data->info;
    size_t plane = info->height * info->width;
    if (data->is_float || (info->channels != 3 && info->channels != 1))
        return syn_report(SYN_FORMAT,
                          "%s: %zu bytes; examples of %s are %zux%zux%zu %s, not pictures", path,
                          count, info->name, info->channels, info->height, info->width,
                          data->is_float ? "floats" : "bytes");
    if (!syn_picture_decode(bytes, count, &picture, why))
        return syn_report(SYN_FORMAT, "%s: %s; nor is it the %zux%zux%zu bytes of an image of %s",
                          path, why, info->channels, info->height, info->width, info->name);
    uint8_t *pixels = malloc(3 * plane);
    enum syn_status status = pixels ? resize(data, &picture, pixels)
                                    : syn_report(SYN_MEMORY, "cannot allocate %zu pixels", plane);
    for (size_t i = 0; i < info->channels * plane && status == SYN_OK; i++) {
        size_t c = i / plane;
        input[i] =
            channel(pixels + 3 * (i % plane), info->channels, c) * data->scale[c] + data->shift[c];
    }
    free(pixels);
    syn_picture_free(&picture);
    return status;
}
