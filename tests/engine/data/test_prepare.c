/* What a batch holds: normalised pixels, crops and flips of the image, columns of running text. */
#include "check.h"

#include <stdlib.h>
#include <string.h>

#include "engine/data/set.h"

/* Images of the size of CIFAR-10, of random bytes. */
#define SIDE   32
#define PLANE  (SIDE * SIDE)
#define PIXELS (3 * PLANE)
#define IMAGES 64
#define PAD    4

static uint8_t pixels[IMAGES * PIXELS];
static int32_t labels[IMAGES];

static struct syn_data photographs(void)
{
    uint32_t noise = 1;
    for (size_t i = 0; i < sizeof pixels; i++) {
        noise = noise * 1664525 + 1013904223;
        pixels[i] = (uint8_t)(noise >> 24);
    }
    for (int32_t i = 0; i < IMAGES; i++)
        labels[i] = i;
    struct syn_data data = {
        .info = {"photographs", SYN_DATA_IMAGES, 3, SIDE, SIDE, IMAGES, {IMAGES, 0, 0}, NULL},
        .pad = PAD,
        .parts = {{.spans = {{pixels, PIXELS, IMAGES}}, .span_count = 1, .labels = labels}},
    };
    static const float mean[] = {0.5F, 0.25F, 0.125F};
    static const float deviation[] = {0.5F, 1.0F, 2.0F};
    syn_data_normalise(&data, mean, deviation);
    return data;
}

/* One epoch in one batch; the caller frees the copy of its input. */
static float *one_epoch(const struct syn_data *data, struct syn_loader_options options,
                        int32_t order[IMAGES])
{
    struct syn_loader *loader;
    struct syn_batch batch;
    float *copy = malloc(IMAGES * PIXELS * sizeof *copy);
    assert_non_null(copy);
    assert_ok(syn_loader_open(data, &options, &loader));
    syn_loader_next(loader, &batch);
    assert_int_equal(batch.count, IMAGES);
    memcpy(copy, batch.input, IMAGES * PIXELS * sizeof *copy);
    memcpy(order, batch.labels, IMAGES * sizeof *order);
    syn_loader_close(loader);
    return copy;
}

static bool is_near(float a, float b)
{
    return a - b < 1e-5F && b - a < 1e-5F;
}

/* As CIFAR-10's five: each example comes from its own, also the first of the next file. */
static void images_of_several_files_follow_one_another(void **state)
{
    (void)state;
    enum { HALF = IMAGES / 2 };
    struct syn_data data = photographs();
    struct syn_part_store *part = &data.parts[SYN_DATA_TRAIN];
    int32_t order[IMAGES];
    part->spans[0] = (struct syn_span){pixels + (size_t)HALF * PIXELS, PIXELS, HALF};
    part->spans[1] = (struct syn_span){pixels, PIXELS, HALF};
    part->span_count = 2;
    float *input = one_epoch(&data, syn_loader_defaults(SYN_DATA_TRAIN, IMAGES), order);
    for (size_t i = 0; i < IMAGES; i++) {
        const uint8_t *image = pixels + ((size_t)order[i] + HALF) % IMAGES * PIXELS;
        for (size_t p = 0; p < PLANE; p++)
            assert_true(is_near(input[i * PIXELS + p], ((float)image[p] / 255 - 0.5F) / 0.5F));
    }
    free(input);
}

static void pixels_are_normalised_by_channel(void **state)
{
    (void)state;
    const struct syn_data data = photographs();
    int32_t order[IMAGES];
    float *input = one_epoch(&data, syn_loader_defaults(SYN_DATA_TRAIN, IMAGES), order);
    for (size_t i = 0; i < IMAGES; i++) {
        const uint8_t *image = pixels + (size_t)order[i] * PIXELS;
        for (size_t p = 0; p < PLANE; p++) {
            const float *got = input + i * PIXELS + p;
            assert_true(is_near(got[0], ((float)image[p] / 255 - 0.5F) / 0.5F));
            assert_true(is_near(got[PLANE], (float)image[PLANE + p] / 255 - 0.25F));
            assert_true(is_near(got[2 * PLANE], ((float)image[2 * PLANE + p] / 255 - 0.125F) / 2));
        }
    }
    free(input);
}

/* Whether input is the window at (left, top) of the image padded with black, flipped or not. */
static bool is_window(const struct syn_data *data, const uint8_t *image, size_t left, size_t top,
                      bool flips, const float *input)
{
    for (size_t c = 0; c < 3; c++) {
        for (size_t y = 0; y < SIDE; y++) {
            for (size_t x = 0; x < SIDE; x++) {
                size_t column = left + (flips ? SIDE - 1 - x : x);
                size_t row = top + y;
                bool inside =
                    column >= PAD && column < PAD + SIDE && row >= PAD && row < PAD + SIDE;
                float byte =
                    inside ? (float)image[c * PLANE + (row - PAD) * SIDE + column - PAD] : 0.0F;
                if (!is_near(input[c * PLANE + y * SIDE + x],
                             byte * data->scale[c] + data->shift[c]))
                    return false;
            }
        }
    }
    return true;
}

/* Which of the 162 windows it is; 162 if none. */
static size_t find_window(const struct syn_data *data, const uint8_t *image, const float *input)
{
    size_t window = 0;
    while (window < 162 && !is_window(data, image, window % 9, window / 9 % 9, window >= 81, input))
        window++;
    return window;
}

static void augmented_images_are_windows_of_the_padded_image(void **state)
{
    (void)state;
    const struct syn_data data = photographs();
    struct syn_loader_options options = syn_loader_defaults(SYN_DATA_TRAIN, IMAGES);
    unsigned lefts = 0;
    unsigned tops = 0;
    unsigned flips = 0;
    options.augment = true;
    for (options.seed = 0; options.seed < 2; options.seed++) {
        int32_t order[IMAGES];
        float *input = one_epoch(&data, options, order);
        for (size_t i = 0; i < IMAGES; i++) {
            size_t window =
                find_window(&data, pixels + (size_t)order[i] * PIXELS, input + i * PIXELS);
            assert_true(window < 162);
            lefts |= 1U << window % 9;
            tops |= 1U << window / 9 % 9;
            flips |= 1U << window / 81;
        }
        free(input);
    }
    assert_int_equal(lefts, 0x1ff);
    assert_int_equal(tops, 0x1ff);
    assert_int_equal(flips, 3);
}

static void augmentation_does_not_depend_on_the_number_of_workers(void **state)
{
    (void)state;
    const struct syn_data data = photographs();
    struct syn_loader_options options = syn_loader_defaults(SYN_DATA_TRAIN, IMAGES);
    options.augment = true;
    int32_t order[IMAGES];
    float *alone = one_epoch(&data, options, order);
    options.workers = 3;
    options.batch = 5;
    for (options.worker = 0; options.worker < 3; options.worker++) {
        struct syn_loader *loader;
        struct syn_batch batch;
        assert_ok(syn_loader_open(&data, &options, &loader));
        syn_loader_next(loader, &batch);
        for (size_t i = 0; i < 5; i++)
            assert_memory_equal(batch.input + i * PIXELS, alone + (i * 3 + options.worker) * PIXELS,
                                PIXELS * sizeof(float));
        syn_loader_close(loader);
    }
    free(alone);
}

/* The same image, found by its label, is another window in the next epoch, but for a few. */
static void augmentation_differs_from_epoch_to_epoch(void **state)
{
    (void)state;
    const struct syn_data data = photographs();
    struct syn_loader_options options = syn_loader_defaults(SYN_DATA_TRAIN, IMAGES);
    struct syn_loader *loader;
    size_t windows[2][IMAGES];
    options.augment = true;
    assert_ok(syn_loader_open(&data, &options, &loader));
    for (size_t epoch = 0; epoch < 2; epoch++) {
        struct syn_batch batch;
        syn_loader_next(loader, &batch);
        for (size_t i = 0; i < IMAGES; i++) {
            size_t image = (size_t)batch.labels[i];
            windows[epoch][image] =
                find_window(&data, pixels + image * PIXELS, batch.input + i * PIXELS);
        }
    }
    syn_loader_close(loader);
    size_t same = 0;
    for (size_t i = 0; i < IMAGES; i++)
        same += windows[0][i] == windows[1][i];
    if (same > IMAGES / 4)
        fail_msg("%zu of %d images are cropped as in the epoch before", same, IMAGES);
}

/* A text whose word number i is i, so that every label is its token plus one. */
#define WORDS 1000
static int32_t text[WORDS + 1];

static struct syn_data running_text(void)
{
    for (int32_t i = 0; i <= WORDS; i++)
        text[i] = i;
    return (struct syn_data){
        .info = {"running", SYN_DATA_TOKENS, 0, 0, 0, WORDS + 1, {WORDS, WORDS, WORDS}, NULL},
        .parts = {{.tokens = text}, {.tokens = text}, {.tokens = text}},
    };
}

/* One epoch of one worker: columns go on from batch to batch, labels are the next words. */
static void follow_columns(const struct syn_data *data, struct syn_loader_options options,
                           int *seen)
{
    struct syn_loader *loader;
    struct syn_batch batch;
    int32_t next[64] = {0};
    assert_ok(syn_loader_open(data, &options, &loader));
    for (uint64_t b = 0; b < syn_loader_batches(loader); b++) {
        size_t labelled = 0;
        syn_loader_next(loader, &batch);
        assert_int_equal(batch.count, options.batch);
        assert_true(batch.time > 0 && batch.time <= options.time);
        for (size_t i = 0; i < options.batch * options.time; i++) {
            size_t column = i / options.time;
            if (batch.labels[i] == SYN_NO_LABEL) {
                assert_int_equal(batch.tokens[i], 0);
                assert_true(batch.is_last);
                continue;
            }
            assert_true(i % options.time < batch.time);
            if (b > 0 || i % options.time > 0)
                assert_int_equal(batch.tokens[i], next[column]);
            assert_int_equal(batch.labels[i], batch.tokens[i] + 1);
            next[column] = batch.labels[i];
            seen[batch.tokens[i]]++;
            labelled++;
        }
        assert_int_equal(batch.labelled, labelled);
    }
    syn_loader_close(loader);
}

static void every_word_is_predicted_once_in_running_columns(void **state)
{
    (void)state;
    static const size_t workers[] = {1, 2, 3, 5, 7};
    static const size_t shapes[][2] = {{1, 1}, {1, 35}, {20, 35}, {64, 10}, {7, 7}, {3, 2000}};
    const struct syn_data data = running_text();
    for (size_t w = 0; w < 5; w++) {
        for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
            int seen[WORDS] = {0};
            struct syn_loader_options options = syn_loader_defaults(SYN_DATA_TRAIN, shapes[s][0]);
            options.time = shapes[s][1];
            options.workers = workers[w];
            for (options.worker = 0; options.worker < options.workers; options.worker++)
                follow_columns(&data, options, seen);
            for (size_t i = 0; i < WORDS; i++)
                assert_int_equal(seen[i], 1);
        }
    }
}

static void text_without_words_at_a_time_or_with_too_many_columns_is_refused(void **state)
{
    (void)state;
    const struct syn_data data = running_text();
    struct syn_loader_options options = syn_loader_defaults(SYN_DATA_TEST, 1);
    struct syn_loader *loader;
    options.time = 0;
    assert_status(SYN_INVALID, syn_loader_open(&data, &options, &loader));
    options = syn_loader_defaults(SYN_DATA_TEST, WORDS / 3 + 1);
    options.workers = 3;
    assert_status(SYN_INVALID, syn_loader_open(&data, &options, &loader));
    options.batch = WORDS / 3;
    assert_ok(syn_loader_open(&data, &options, &loader));
    syn_loader_close(loader);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pixels_are_normalised_by_channel),
        cmocka_unit_test(images_of_several_files_follow_one_another),
        cmocka_unit_test(augmented_images_are_windows_of_the_padded_image),
        cmocka_unit_test(augmentation_does_not_depend_on_the_number_of_workers),
        cmocka_unit_test(augmentation_differs_from_epoch_to_epoch),
        cmocka_unit_test(every_word_is_predicted_once_in_running_columns),
        cmocka_unit_test(text_without_words_at_a_time_or_with_too_many_columns_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
