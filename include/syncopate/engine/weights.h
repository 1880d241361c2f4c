/* Trained weights by name and shape: taken from a run, written to files that other programs read
 * (safetensors, .npz), and loaded from such files into a model.
 *
 *     struct syn_weights *weights;
 *     syn_weights_of_run("runs/lenet-mnist-1", SYN_WEIGHTS_LAST, &weights);
 *     syn_weights_save(weights, SYN_NAMES_PYTORCH, "lenet.safetensors");
 *     syn_weights_free(weights); */
#ifndef SYNCOPATE_ENGINE_WEIGHTS_H
#define SYNCOPATE_ENGINE_WEIGHTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <syncopate/engine/model.h>
#include <syncopate/status.h>

#ifdef __cplusplus
extern "C" {
#endif

struct syn_weights;

/* What is known about weights besides their values; empty or 0 where it is not known. */
struct syn_weights_info {
    char model[32];
    char data[32];
    char algo[32];
    struct syn_input input;
    uint64_t step;  /* updates made */
    uint64_t steps; /* updates planned for the whole run */
    double epoch;
};

/* One array. The statistics of batch norm are such arrays too. */
struct syn_weights_tensor {
    const char *name; /* owned by the weights, as are the values */
    struct syn_shape shape;
    const float *values;
};

/* Make an object without tensors. Free it with syn_weights_free(). */
enum syn_status syn_weights_new(struct syn_weights **weights);

/* Append a tensor, copying it. A name that exists already, is empty or has more than 255 bytes:
 * SYN_FORMAT. */
enum syn_status syn_weights_add(struct syn_weights *weights, const char *name,
                                const struct syn_shape *shape, const float *values);

/* What is known about the weights; the caller may fill it in. */
struct syn_weights_info *syn_weights_info(struct syn_weights *weights);

/* Where they came from, for messages: a file or a directory. */
const char *syn_weights_origin(const struct syn_weights *weights);

/* Number of tensors, and tensor number i below it. */
size_t syn_weights_count(const struct syn_weights *weights);
struct syn_weights_tensor syn_weights_tensor(const struct syn_weights *weights, size_t i);

/* Which weights of a run: the last that were saved, or those with the best evaluation. */
enum syn_weights_which { SYN_WEIGHTS_LAST, SYN_WEIGHTS_BEST };

/* The global weights of a run, assembled from all workers' states, with the mean of their batch
 * norm statistics: what the run itself evaluates.
 *   directory  of the run. If the run is still in progress or was interrupted, its latest
 *              checkpoint is used (syn_weights_info() gives its step); the next one if that is
 *              removed meanwhile
 * No checkpoint, or none marked as the best: SYN_INVALID. A checkpoint that cannot be read, or that
 * was written by a version that saved no names: SYN_FORMAT. */
enum syn_status syn_weights_of_run(const char *directory, enum syn_weights_which which,
                                   struct syn_weights **weights);

/* Read a weights file: NumPy if its name ends in .npz, otherwise safetensors. Values are loaded as
 * 32-bit floats; counters that PyTorch saves with batch norm (num_batches_tracked) are skipped. A
 * file that cannot be read: SYN_IO; any other problem, including a value that is not finite:
 * SYN_FORMAT. */
enum syn_status syn_weights_load(const char *path, struct syn_weights **weights);

/* Open the last weights of a run if path is a directory, otherwise a weights file. */
enum syn_status syn_weights_open(const char *path, struct syn_weights **weights);

/* The names to save tensors under: the model's own, or those of syn_model_pytorch_name(). */
enum syn_names { SYN_NAMES_OWN, SYN_NAMES_PYTORCH };

/* Write the weights to a file, which appears complete or not at all: safetensors or .npz, by the
 * extension. A .npz file holds at most 4 GB, and nothing of syn_weights_info(). Any other
 * extension: SYN_INVALID. */
enum syn_status syn_weights_save(struct syn_weights *weights, enum syn_names names,
                                 const char *path);

/* Whether every tensor of a model must be present, or tensors that are missing or have another
 * shape keep their current values, such as a new last layer for other classes. In the latter case
 * more than half of the tensors must fit, and those that do not are logged, except with
 * SYN_FIT_MOST_QUIETLY, for when another worker logs them. With SYN_FIT_WHOLE_OR_ADVISE, if more
 * than half fit, the error message advises how to start the others afresh. */
enum syn_weights_fit { SYN_FIT_WHOLE, SYN_FIT_WHOLE_OR_ADVISE, SYN_FIT_MOST, SYN_FIT_MOST_QUIETLY };

/* Copy weights and statistics into a model, each by its own name or by PyTorch's.
 *   name    of the model, for syn_model_pytorch_name()
 *   values  [layout size] of the model; on failure they may be partly changed
 * A tensor that does not fit: SYN_INVALID, with the tensor and both shapes. */
enum syn_status syn_weights_give(const struct syn_weights *weights, const char *name,
                                 enum syn_weights_fit fit, struct syn_model *model, float *values);

void syn_weights_free(struct syn_weights *weights);

#ifdef __cplusplus
}
#endif
#endif
