/* Mean and deviation of the training part, per channel: sums of integers for bytes, of doubles for
 * floats, in the order of the examples, so that all workers get the same bits. */
#include "engine/data/normalise.h"

#include <math.h>
#include <string.h>

#include "engine/base/fail.h"

static const char *const ways[] = {"usual", "none", "computed", "imagenet"};
#define WAY_COUNT (sizeof ways / sizeof ways[0])

void syn_moments_add(struct syn_moments *moments, const uint8_t *pixels, size_t count,
                     size_t stride)
{
    uint64_t sum = 0;
    uint64_t squares = 0;
    for (size_t i = 0; i < count; i++) {
        const uint64_t pixel = pixels[i * stride];
        sum += pixel;
        squares += pixel * pixel;
    }
    moments->count += (double)count;
    moments->sum += (double)sum;
    moments->squares += (double)squares;
}

static void add_floats(struct syn_moments *moments, const uint8_t *pixels, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        float value;
        memcpy(&value, pixels + i * sizeof value, sizeof value);
        moments->sum += (double)value;
        moments->squares += (double)value * (double)value;
    }
    moments->count += (double)count;
}

void syn_data_normalise_by(struct syn_data *data, const struct syn_moments *moments)
{
    for (size_t c = 0; c < data->info.channels; c++) {
        double mean = moments[c].sum / moments[c].count;
        double variance = moments[c].squares / moments[c].count - mean * mean;
        double deviation = variance > 0 ? sqrt(variance) : 1; /* a constant channel */
        data->scale[c] = (float)(1 / deviation);
        data->shift[c] = (float)(-mean / deviation);
    }
}

static void normalise_by_itself(struct syn_data *data)
{
    const size_t plane = data->info.height * data->info.width;
    struct syn_moments moments[SYN_MOST_CHANNELS] = {{0, 0, 0}};
    for (size_t i = 0; i < data->info.count[SYN_DATA_TRAIN]; i++) {
        const uint8_t *pixels = syn_data_find_pixels(&data->parts[SYN_DATA_TRAIN], i);
        for (size_t c = 0; c < data->info.channels; c++)
            if (data->is_float)
                add_floats(&moments[c], pixels + c * plane * sizeof(float), plane);
            else
                syn_moments_add(&moments[c], pixels + c * plane, plane, 1);
    }
    syn_data_normalise_by(data, moments);
}

const char *syn_data_normalise_name(size_t i)
{
    return i < WAY_COUNT ? ways[i] : NULL;
}

enum syn_normalise syn_normalise_find(const char *name, enum syn_normalise usual)
{
    size_t i = 1;
    while (i < WAY_COUNT && strcmp(ways[i], name) != 0)
        i++;
    return i < WAY_COUNT ? (enum syn_normalise)i : usual;
}

enum syn_status syn_data_normalise_as(struct syn_data *data, enum syn_normalise way)
{
    static const float mean[] = {0.485F, 0.456F, 0.406F};
    static const float deviation[] = {0.229F, 0.224F, 0.225F};
    const float unit = data->is_float ? 1.0F : 255.0F; /* pixels are first scaled to 0 to 1 */
    const bool is_imagenet = way == SYN_NORMALISE_IMAGENET;
    if (is_imagenet && data->info.channels != 3)
        return syn_report(SYN_INVALID, "normalise imagenet is for 3 channels; %s has %zu",
                          data->info.name, data->info.channels);
    for (size_t c = 0; c < data->info.channels; c++) {
        data->scale[c] = 1.0F / (unit * (is_imagenet ? deviation[c] : 1));
        data->shift[c] = is_imagenet ? -mean[c] / deviation[c] : 0;
    }
    if (way == SYN_NORMALISE_COMPUTED)
        normalise_by_itself(data);
    return SYN_OK;
}
