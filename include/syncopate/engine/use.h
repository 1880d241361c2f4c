/* Using what was trained: how good weights are on a data set, and what they say of examples.
 *
 *     struct syn_weights *weights;
 *     struct syn_train_options options;
 *     syn_weights_of_run("runs/lenet-mnist-1", SYN_WEIGHTS_LAST, &weights);
 *     syn_train_recall("runs/lenet-mnist-1", &options);
 *     syn_use_evaluate(&options, weights, SYN_DATA_TEST, &quality);
 *     syn_quality_free(&quality); */
#ifndef SYNCOPATE_ENGINE_USE_H
#define SYNCOPATE_ENGINE_USE_H

#include <stddef.h>
#include <stdint.h>

#include <syncopate/engine/train.h>
#include <syncopate/engine/weights.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How good weights are. */
struct syn_quality {
    uint64_t labels;     /* that were to be guessed: images, or words */
    uint64_t correct;    /* that were guessed */
    uint64_t among_five; /* that were among the five likeliest */
    double loss;         /* mean cross-entropy, in nats; its exponential is the perplexity */
    bool on_text;
    size_t classes;
    uint64_t *confusion; /* [class][guess] of images; NULL for text */
    char **names;        /* [classes] of classes or words; NULL: they have none */
};

void syn_quality_free(struct syn_quality *quality);

/* Evaluate weights on a part of a data set. As in training, it is cut into the batches of as many
 * workers as the options say, so that the weights of a run come to the digits that it has logged.
 *   options  model, data, workers, batch, time and threads count (threads 0: one)
 * Weights of another model, or data that do not fit: SYN_INVALID. A loss that is not finite:
 * SYN_NONFINITE. */
enum syn_status syn_use_evaluate(const struct syn_train_options *options,
                                 const struct syn_weights *weights, enum syn_data_part part,
                                 struct syn_quality *quality);

/* The classes that an image is likeliest of. */
#define SYN_GUESSES 5
struct syn_guess {
    size_t label;
    double share;  /* what the model gives it, of 1 */
    char name[64]; /* of the class, or its number */
};

/* A model with its weights, for single examples. */
struct syn_predictor;

/* Make one. The names of classes or words and how images are prepared are what the run of
 * options->out has kept of its data (input.txt, names.txt); without them the data set is opened.
 * Weights and options as for syn_use_evaluate(). Free it with
 * syn_predictor_free(). */
enum syn_status syn_predictor_open(const struct syn_train_options *options,
                                   const struct syn_weights *weights,
                                   struct syn_predictor **predictor);

/* Whether it reads text. */
bool syn_predictor_on_text(const struct syn_predictor *predictor);

/* What an image is. The file is a JPEG or PNG, made as large as the images of the data set, or
 * holds the bytes (or floats) of one as the set has them, [channel][height][width], and no more;
 * anything else: SYN_FORMAT.
 *   count  how many guesses there are: all classes, or SYN_GUESSES */
enum syn_status syn_predict_image(struct syn_predictor *predictor, const char *path,
                                  struct syn_guess guesses[SYN_GUESSES], size_t *count);

/* Go on with a text: draw words from what the model gives each.
 *   path         a text, whose words the model reads first; NULL or empty: none
 *   temperature  above 0; 1 as the model says, less: the likelier words more often
 *   text         words with a blank between, lines where sentences end; owned by the predictor
 *                until the next call */
enum syn_status syn_predict_words(struct syn_predictor *predictor, const char *path, size_t words,
                                  double temperature, uint64_t seed, const char **text);

void syn_predictor_free(struct syn_predictor *predictor);

#ifdef __cplusplus
}
#endif
#endif
