/* Trained weights by name and shape, out of a run and into files that other programs read
 * (safetensors, .npz), and from such files into a model.
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

/* What is known of weights beside their values; a text is empty and a number 0 where it is not. */
struct syn_weights_info {
    char model[32];
    char data[32];
    char algo[32];
    struct syn_input input;
    uint64_t step;  /* updates made */
    uint64_t steps; /* updates that the run was to make */
    double epoch;
};

/* One array. The statistics of batch norm are arrays as the weights are. */
struct syn_weights_tensor {
    const char *name; /* owned by the weights, as the values are */
    struct syn_shape shape;
    const float *values;
};

/* No tensors yet. Free it with syn_weights_free(). */
enum syn_status syn_weights_new(struct syn_weights **weights);

/* Append a tensor, copying it. A name that is there already, is empty or has more than 255 bytes:
 * SYN_FORMAT. */
enum syn_status syn_weights_add(struct syn_weights *weights, const char *name,
                                const struct syn_shape *shape, const float *values);

/* What is known of them; the caller may fill it in. */
struct syn_weights_info *syn_weights_info(struct syn_weights *weights);

/* Where they are from, for messages: a file or a directory. */
const char *syn_weights_origin(const struct syn_weights *weights);

/* Number of tensors, and tensor number i below it. */
size_t syn_weights_count(const struct syn_weights *weights);
struct syn_weights_tensor syn_weights_tensor(const struct syn_weights *weights, size_t i);

/* Which weights of a run: the last that were saved, or those of the evaluation that was best. */
enum syn_weights_which { SYN_WEIGHTS_LAST, SYN_WEIGHTS_BEST };

/* The global weights of a run, put together from all workers' states, with the mean of their
 * statistics of batch norm: what the run has evaluated.
 *   directory  of the run. While it goes on, or if it was broken off, its latest checkpoint counts
 *              (syn_weights_info() tells which step)
 * No checkpoint, or none was the best: SYN_INVALID. One that cannot be read, or that a version
 * has written that saved no names: SYN_FORMAT. */
enum syn_status syn_weights_of_run(const char *directory, enum syn_weights_which which,
                                   struct syn_weights **weights);

/* Read a file of weights: safetensors, or .npz by its ending. All values are floats of 32 bits;
 * counters that PyTorch saves with batch norm (num_batches_tracked) are left out. A file that
 * cannot be read: SYN_IO; anything else, also a value that is not finite: SYN_FORMAT. */
enum syn_status syn_weights_load(const char *path, struct syn_weights **weights);

/* A directory is a run, whose last weights count; all else is a file of weights. */
enum syn_status syn_weights_open(const char *path, struct syn_weights **weights);

/* By what names tensors are saved: the model's own, or those of syn_model_pytorch_name(). */
enum syn_names { SYN_NAMES_OWN, SYN_NAMES_PYTORCH };

/* Write them as a file that is there whole or not at all: safetensors, or .npz by its ending,
 * which holds no more than 4 GB and nothing of syn_weights_info(). Any other ending:
 * SYN_INVALID. */
enum syn_status syn_weights_save(struct syn_weights *weights, enum syn_names names,
                                 const char *path);

/* Whether all of a model must be there, or what has another shape or is missing keeps the values it
 * has: a new last layer for other classes. Then more than half of the tensors must fit, and those
 * that do not are logged, unless somebody else logs them already. A refusal may advise to let them
 * start afresh, if more than half fit. */
enum syn_weights_fit { SYN_FIT_WHOLE, SYN_FIT_WHOLE_OR_ADVISE, SYN_FIT_MOST, SYN_FIT_MOST_QUIETLY };

/* Put them into a model: weights and statistics, each by its name or by PyTorch's.
 *   name    of the model, for syn_model_pytorch_name()
 *   values  [layout size] of the model; on failure they may be changed in part
 * What does not fit: SYN_INVALID, with the tensor and both shapes. */
enum syn_status syn_weights_give(const struct syn_weights *weights, const char *name,
                                 enum syn_weights_fit fit, struct syn_model *model, float *values);

void syn_weights_free(struct syn_weights *weights);

#ifdef __cplusplus
}
#endif
#endif
