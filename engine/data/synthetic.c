/* Data generated from a seed: for tests, benchmarks and shapes that no published set has.
 *
 * Images: a class is a random pattern of blocks of 4 x 4 pixels, so that convolutions have
 * something to find, and an image is the pattern of its class under noise. Regression: the inputs
 * are noise, and the number to predict is a random linear function of them, plus noise. Both are
 * kept as bytes, like images from files, and are processed in the same way.
 *
 * Noise is the sum of four random bytes, near enough to normal and many times as fast. */
#include <math.h>
#include <stdlib.h>

#include <syncopate/random.h>

#include "engine/base/fail.h"
#include "engine/base/memory.h"
#include "engine/data/set.h"

#define BLOCK 4
/* In units of a byte. */
#define GREY   128.0F
#define SIGNAL 8.0F
#define NOISE  32.0F
/* Of the inputs of a regression: a deviation of one after normalisation. */
#define SPREAD 64.0F
/* Of the number to predict, whose own deviation is about one. */
#define TARGET_NOISE 0.1F

/* Streams of random numbers: an example's stream is its number, with the part in the high bits. */
#define STREAM_PART    ((uint64_t)1 << 40)
#define STREAM_PATTERN ((uint64_t)1 << 60)
#define STREAM_WEIGHTS ((uint64_t)1 << 61)

/* Mean 0, deviation 1. */
static float noise_of(uint32_t bits)
{
    int sum =
        (int)(bits & 255) + (int)(bits >> 8 & 255) + (int)(bits >> 16 & 255) + (int)(bits >> 24);
    return (float)(sum - 510) * (1.0F / 147.8F);
}

static uint8_t to_byte(float value)
{
    return value <= 0.0F ? 0 : value >= 255.0F ? 255 : (uint8_t)lrintf(value);
}

/* Rows and columns of the blocks that a pattern is made of. */
static size_t blocks_along(size_t side)
{
    return (side + BLOCK - 1) / BLOCK;
}

static size_t blocks_of(const struct syn_data_info *info)
{
    return info->channels * blocks_along(info->height) * blocks_along(info->width);
}

/* Pixels of one example: grey, plus its pattern, plus noise.
 *   pattern  [channel][block row][block column] */
static void draw(const struct syn_data_info *info, const float *pattern, float noise,
                 struct syn_random *random, uint8_t *pixels)
{
    const size_t columns = blocks_along(info->width);
    uint64_t bits = 0;
    size_t at = 0;
    for (size_t c = 0; c < info->channels; c++) {
        for (size_t y = 0; y < info->height; y++) {
            const float *row = pattern + (c * blocks_along(info->height) + y / BLOCK) * columns;
            for (size_t x = 0; x < info->width; x++, at++) {
                bits = at % 2 == 0 ? syn_random_bits(random) : bits >> 32;
                pixels[at] = to_byte(GREY + row[x / BLOCK] + noise * noise_of((uint32_t)bits));
            }
        }
    }
}

/* Numbers from which every example of the set is made. */
struct recipe {
    const struct syn_data_options *options;
    float *patterns; /* [class][blocks]; for regression one, of zeros */
    float *weights;  /* [pixels]; for regression only */
};

static enum syn_status make_recipe(const struct syn_data_info *info, struct recipe *recipe)
{
    const struct syn_data_options *options = recipe->options;
    struct syn_random random;
    size_t blocks = blocks_of(info);
    SYN_TRY(syn_engine_allocate(info->outputs, blocks * sizeof(float), &recipe->patterns));
    if (options->synthetic_regression) {
        SYN_TRY(syn_engine_allocate(syn_data_pixels(info), sizeof(float), &recipe->weights));
        syn_random_start(&random, options->synthetic_seed, STREAM_WEIGHTS);
        /* Inputs have a deviation of about one, and so has their weighted sum. */
        float scale = 1.0F / sqrtf((float)syn_data_pixels(info));
        for (size_t i = 0; i < syn_data_pixels(info); i++)
            recipe->weights[i] = scale * syn_random_normal(&random);
        return SYN_OK;
    }
    for (size_t kind = 0; kind < info->outputs; kind++) {
        syn_random_start(&random, options->synthetic_seed, STREAM_PATTERN + kind);
        for (size_t i = 0; i < blocks; i++)
            recipe->patterns[kind * blocks + i] = SIGNAL * (2.0F * syn_random_unit(&random) - 1.0F);
    }
    return SYN_OK;
}

/* The linear function of these pixels as the model will see them, with noise. */
static float target_of(const struct syn_data *data, const struct recipe *recipe,
                       const uint8_t *pixels, struct syn_random *random)
{
    const size_t plane = data->info.height * data->info.width;
    double sum = 0;
    for (size_t i = 0; i < syn_data_pixels(&data->info); i++)
        sum += recipe->weights[i] *
               ((float)pixels[i] * data->scale[i / plane] + data->shift[i / plane]);
    float noise = TARGET_NOISE * (float)recipe->options->synthetic_noise;
    return (float)sum + noise * syn_random_normal(random);
}

static enum syn_status make_part(struct syn_data *data, const struct recipe *recipe,
                                 enum syn_data_part part, uint8_t *bytes)
{
    const struct syn_data_info *info = &data->info;
    const struct syn_data_options *options = recipe->options;
    const bool is_regression = info->kind == SYN_DATA_REGRESSION;
    struct syn_part_store *store = &data->parts[part];
    SYN_TRY(is_regression
                ? syn_engine_allocate(info->count[part], sizeof(float), &store->targets)
                : syn_engine_allocate(info->count[part], sizeof(int32_t), &store->labels));
    float noise = is_regression ? SPREAD : NOISE * (float)options->synthetic_noise;
    for (size_t i = 0; i < info->count[part]; i++) {
        struct syn_random random;
        uint8_t *pixels = bytes + i * syn_data_pixels(info);
        size_t kind = i % info->outputs;
        syn_random_start(&random, options->synthetic_seed, part * STREAM_PART + i);
        draw(info, recipe->patterns + kind * blocks_of(info), noise, &random, pixels);
        if (is_regression)
            store->targets[i] = target_of(data, recipe, pixels, &random);
        else
            store->labels[i] = (int32_t)kind;
    }
    store->spans[0] = (struct syn_span){bytes, syn_data_pixels(info), info->count[part]};
    store->span_count = 1;
    return SYN_OK;
}

static enum syn_status make_parts(struct syn_data *data, const struct recipe *recipe)
{
    const size_t train = data->info.count[SYN_DATA_TRAIN];
    const size_t all = train + data->info.count[SYN_DATA_TEST];
    struct syn_blob *blob = &data->blobs[data->blob_count++];
    SYN_TRY(syn_engine_allocate(all, syn_data_pixels(&data->info), &blob->allocated));
    SYN_TRY(make_part(data, recipe, SYN_DATA_TRAIN, blob->allocated));
    return make_part(data, recipe, SYN_DATA_TEST,
                     (uint8_t *)blob->allocated + train * syn_data_pixels(&data->info));
}

static enum syn_status open_set(const struct syn_data_options *options, const char *directory,
                                struct syn_data *data)
{
    (void)directory;
    struct syn_data_info *info = &data->info;
    info->kind = options->synthetic_regression ? SYN_DATA_REGRESSION : SYN_DATA_IMAGES;
    info->outputs = options->synthetic_regression ? 1 : options->synthetic_classes;
    info->channels = options->synthetic_channels;
    info->height = options->synthetic_height;
    info->width = options->synthetic_width;
    info->count[SYN_DATA_TRAIN] = options->synthetic_examples;
    info->count[SYN_DATA_TEST] = (options->synthetic_examples + 7) / 8;
    float mean[SYN_MOST_CHANNELS];
    float deviation[SYN_MOST_CHANNELS];
    for (size_t c = 0; c < info->channels; c++) {
        mean[c] = 0.5F;
        deviation[c] = 0.25F;
    }
    syn_data_normalise(data, mean, deviation);
    struct recipe recipe = {.options = options};
    enum syn_status status = make_recipe(info, &recipe);
    if (status == SYN_OK)
        status = make_parts(data, &recipe);
    free(recipe.patterns);
    free(recipe.weights);
    return status;
}

const struct syn_data_set syn_data_set_synthetic = {
    .name = "synthetic",
    .help = "images of random classes, or a regression, of any shape, generated from a seed",
    .open = open_set,
};
