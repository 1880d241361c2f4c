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

#ifdef __cplusplus
}
#endif
#endif
