/* Using trained weights: evaluating them on a data set, and predicting single examples.
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

/* The result of an evaluation. */
struct syn_quality {
    uint64_t labels;     /* number of labels to predict: images, or words */
    uint64_t correct;    /* labels predicted correctly */
    uint64_t among_five; /* labels among the five likeliest predictions */
    double loss;         /* mean cross-entropy, in nats; its exponential is the perplexity */
    bool on_text;
    size_t classes;
    uint64_t *confusion; /* [class][prediction], for images; NULL for text */
    char **names;        /* [classes] of classes or words; NULL if they have none */
};

void syn_quality_free(struct syn_quality *quality);

/* Evaluate weights on a part of a data set. The part is divided into batches as in training with
 * the options' number of workers, so that the weights of a run give exactly the values that the run
 * logged.
 *   options  model, data, workers, batch, time and threads are used (threads 0: one)
 * Weights of another model, or data that do not fit: SYN_INVALID. A loss that is not finite:
 * SYN_NONFINITE. */
enum syn_status syn_use_evaluate(const struct syn_train_options *options,
                                 const struct syn_weights *weights, enum syn_data_part part,
                                 struct syn_quality *quality);

/* The likeliest classes of an image. */
#define SYN_GUESSES 5
struct syn_guess {
    size_t label;
    double share;  /* its probability according to the model, 0 .. 1 */
    char name[64]; /* of the class, or its number if it has none */
};

/* A model with its weights, for predicting single examples. */
struct syn_predictor;

/* Make a predictor. The names of classes or words, and how images are prepared, are read from what
 * the run in options->out saved about its data (input.txt, names.txt); without these files the data
 * set is opened. Weights and options are as for syn_use_evaluate(). Free it with
 * syn_predictor_free(). */
enum syn_status syn_predictor_open(const struct syn_train_options *options,
                                   const struct syn_weights *weights,
                                   struct syn_predictor **predictor);

/* Whether it reads text. */
bool syn_predictor_on_text(const struct syn_predictor *predictor);

/* Classify an image. The file is a JPEG or PNG, which is resized to the size of the data set's
 * images, or contains exactly the bytes (or floats) of one image as in the data set,
 * [channel][height][width]; anything else: SYN_FORMAT.
 *   count  number of guesses: that of all classes, at most SYN_GUESSES */
enum syn_status syn_predict_image(struct syn_predictor *predictor, const char *path,
                                  struct syn_guess guesses[SYN_GUESSES], size_t *count);

/* Continue a text: draw words at random by the probabilities that the model predicts.
 *   path         a text file, whose words the model reads first; NULL or empty: none
 *   temperature  above 0; 1: the model's probabilities; below 1: likelier words more often
 *   text         words separated by blanks, with a line break at the end of each sentence; owned by
 *                the predictor, valid until the next call */
enum syn_status syn_predict_words(struct syn_predictor *predictor, const char *path, size_t words,
                                  double temperature, uint64_t seed, const char **text);

void syn_predictor_free(struct syn_predictor *predictor);

#ifdef __cplusplus
}
#endif
#endif
