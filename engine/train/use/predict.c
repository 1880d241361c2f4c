/* Predictions of trained weights for single examples: the likeliest classes of an image, or words
 * that continue a text. A model with LSTMs reads words one at a time and carries its state, as in
 * an evaluation; one that carries nothing reads the last words again with every new one. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <syncopate/random.h>

#include "engine/base/fail.h"
#include "engine/base/memory.h"
#include "engine/data/blob.h"
#include "engine/data/read_picture.h"
#include "engine/data/set.h"
#include "engine/data/vocabulary.h"
#include "engine/train/use/use.h"

#define END_NAME   "<eos>"
#define WORD_BYTES 64 /* of a generated word, at most */

struct syn_predictor {
    struct syn_use use;
    bool on_text;
    size_t classes;
    float *input;  /* [channels][height][width] */
    float *scores; /* [classes], or [time][classes] */
    char *text;
    size_t time;     /* words that the model reads at a time */
    int32_t *recent; /* [time] the last words */
    size_t known;    /* how many of these there are */
};

static enum syn_status prepare(struct syn_predictor *made, const struct syn_train_options *options,
                               const struct syn_weights *weights)
{
    SYN_TRY(syn_use_open_input(options, &made->use));
    const struct syn_data_info *info = syn_data_info(made->use.data);
    made->on_text = info->kind == SYN_DATA_TOKENS;
    made->classes = info->outputs;
    made->time = 1;
    SYN_TRY(syn_use_build(&made->use, weights, 1, made->time));
    if (made->on_text && syn_layout_size(syn_model_carry_layout(made->use.model)) == 0) {
        made->time = (size_t)made->use.options.time;
        SYN_TRY(syn_use_build(&made->use, weights, 1, made->time));
    }
    SYN_TRY(syn_engine_allocate(made->time, sizeof *made->recent, &made->recent));
    SYN_TRY(syn_engine_allocate(syn_data_pixels(info), sizeof(float), &made->input));
    return syn_engine_allocate(made->time * made->classes, sizeof(float), &made->scores);
}

enum syn_status syn_predictor_open(const struct syn_train_options *options,
                                   const struct syn_weights *weights,
                                   struct syn_predictor **predictor)
{
    struct syn_predictor *made = NULL;
    SYN_TRY(syn_engine_allocate(1, sizeof *made, &made));
    enum syn_status status = prepare(made, options, weights);
    if (status != SYN_OK) {
        syn_predictor_free(made);
        return status;
    }
    *predictor = made;
    return SYN_OK;
}

bool syn_predictor_on_text(const struct syn_predictor *predictor)
{
    return predictor->on_text;
}

/* Turn scores into probabilities. */
static void to_shares(float *scores, size_t count, double temperature)
{
    double largest = -INFINITY;
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        largest = fmax(largest, (double)scores[i]);
    for (size_t i = 0; i < count; i++) {
        scores[i] = (float)exp(((double)scores[i] - largest) / temperature);
        sum += (double)scores[i];
    }
    for (size_t i = 0; i < count; i++)
        scores[i] = (float)((double)scores[i] / sum);
}

static void put_name(const struct syn_data_info *info, size_t label, char *name, size_t capacity)
{
    if (info->names)
        snprintf(name, capacity, "%s", info->names[label]);
    else
        snprintf(name, capacity, "%zu", label);
}

static enum syn_status read_image(struct syn_predictor *predictor, const char *path)
{
    struct syn_blob blob = {0};
    const struct syn_data *data = predictor->use.data;
    const struct syn_data_info *info = syn_data_info(data);
    size_t plane = info->height * info->width;
    size_t count = syn_data_pixels(info);
    SYN_TRY(syn_blob_open_packed(path, &blob));
    enum syn_status status = SYN_OK;
    bool is_raw = blob.count == syn_data_image_bytes(data);
    if (!is_raw)
        status = syn_data_read_picture(data, path, blob.bytes, blob.count, predictor->input);
    for (size_t i = 0; i < count && is_raw; i++) {
        float value = (float)blob.bytes[i];
        if (data->is_float)
            memcpy(&value, blob.bytes + i * sizeof value, sizeof value);
        predictor->input[i] = value * data->scale[i / plane] + data->shift[i / plane];
    }
    syn_blob_close(&blob);
    return status;
}

enum syn_status syn_predict_image(struct syn_predictor *predictor, const char *path,
                                  struct syn_guess guesses[SYN_GUESSES], size_t *count)
{
    const struct syn_data_info *info = syn_data_info(predictor->use.data);
    float *scores = predictor->scores;
    size_t most = predictor->classes < SYN_GUESSES ? predictor->classes : SYN_GUESSES;
    if (predictor->on_text)
        return syn_report(SYN_INVALID, "%s: the model reads words, not images", path);
    SYN_TRY(read_image(predictor, path));
    struct syn_examples examples = {.count = 1, .images = predictor->input};
    SYN_TRY(syn_model_forward(predictor->use.model, predictor->use.values, &examples, scores));
    to_shares(scores, predictor->classes, 1);
    for (size_t g = 0; g < most; g++) {
        size_t best = 0;
        for (size_t c = 1; c < predictor->classes; c++)
            best = scores[c] > scores[best] ? c : best;
        guesses[g] = (struct syn_guess){.label = best, .share = (double)scores[best]};
        put_name(info, best, guesses[g].name, sizeof guesses[g].name);
        scores[best] = -1; /* already listed */
    }
    *count = most;
    return SYN_OK;
}

/* The scores of the word after this one. What is behind the last word does not matter to them. */
static enum syn_status feed(struct syn_predictor *predictor, int32_t word)
{
    int32_t *recent = predictor->recent;
    float *scores = predictor->scores;
    struct syn_examples examples = {.count = 1, .tokens = recent};
    if (predictor->known == predictor->time)
        memmove(recent, recent + 1, --predictor->known * sizeof *recent);
    recent[predictor->known++] = word;
    SYN_TRY(syn_model_forward(predictor->use.model, predictor->use.values, &examples, scores));
    memmove(scores, scores + (predictor->known - 1) * predictor->classes,
            predictor->classes * sizeof *scores);
    return SYN_OK;
}

/* The number of a word; linear search, because a prompt has few words. */
static int32_t find_word(const struct syn_data_info *info, struct syn_word word)
{
    for (size_t i = 0; i < info->outputs; i++)
        if (strlen(info->names[i]) == word.length &&
            memcmp(info->names[i], word.at, word.length) == 0)
            return (int32_t)i;
    return SYN_WORD_UNKNOWN;
}

static enum syn_status feed_text(struct syn_predictor *predictor, const char *path)
{
    struct syn_blob blob = {0};
    struct syn_word word;
    const struct syn_data_info *info = syn_data_info(predictor->use.data);
    SYN_TRY(feed(predictor, SYN_WORD_END)); /* a sentence begins */
    if (!path || !path[0])
        return SYN_OK;
    SYN_TRY(syn_blob_open_packed(path, &blob));
    struct syn_words words = {.at = blob.bytes,
                              .end = blob.bytes + blob.count,
                              .by_letters = predictor->use.options.data.letters};
    enum syn_status status = SYN_OK;
    while (status == SYN_OK && syn_words_next(&words, &word))
        if (words.at < words.end || word.length != strlen(END_NAME) ||
            memcmp(word.at, END_NAME, word.length) != 0)
            status = feed(predictor, find_word(info, word));
    syn_blob_close(&blob);
    return status;
}

/* Sample a word; the unknown word is never sampled. */
static int32_t draw(struct syn_predictor *predictor, double temperature, struct syn_random *random)
{
    predictor->scores[SYN_WORD_UNKNOWN] = -INFINITY;
    to_shares(predictor->scores, predictor->classes, temperature);
    double left = (double)syn_random_unit(random);
    size_t word = predictor->classes - 1;
    for (size_t i = 0; i < predictor->classes; i++) {
        left -= (double)predictor->scores[i];
        if (left < 0) {
            word = i;
            break;
        }
    }
    return (int32_t)word;
}

enum syn_status syn_predict_words(struct syn_predictor *predictor, const char *path, size_t words,
                                  double temperature, uint64_t seed, const char **text)
{
    struct syn_random random;
    const struct syn_data_info *info = syn_data_info(predictor->use.data);
    const char *blank = predictor->use.options.data.letters ? "" : " ";
    size_t length = 0;
    size_t capacity = words * WORD_BYTES + 1;
    if (!predictor->on_text || !info->names)
        return syn_report(SYN_INVALID, "the model reads images, not words");
    if (!(temperature > 0))
        return syn_report(SYN_INVALID, "temperature %g; expected a value above 0", temperature);
    free(predictor->text);
    predictor->text = NULL;
    SYN_TRY(syn_engine_allocate(capacity, 1, &predictor->text));
    syn_random_start(&random, seed, 0);
    syn_model_restart(predictor->use.model, SYN_CARRY_EVALUATION);
    predictor->known = 0;
    SYN_TRY(feed_text(predictor, path));
    for (size_t i = 0; i < words; i++) {
        int32_t word = draw(predictor, temperature, &random);
        bool ends = word == SYN_WORD_END;
        length += (size_t)snprintf(predictor->text + length, WORD_BYTES, "%.*s%s", WORD_BYTES - 2,
                                   ends ? "" : info->names[word], ends ? "\n" : blank);
        SYN_TRY(feed(predictor, word));
    }
    *text = predictor->text;
    return SYN_OK;
}

void syn_predictor_free(struct syn_predictor *predictor)
{
    if (!predictor)
        return;
    syn_use_close(&predictor->use);
    free(predictor->input);
    free(predictor->scores);
    free(predictor->recent);
    free(predictor->text);
    free(predictor);
}
