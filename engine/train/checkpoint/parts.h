/* Checkpoints from inside: packing a run into an archive, putting archives into folders. */
#ifndef SYN_ENGINE_TRAIN_CHECKPOINT_PARTS_H
#define SYN_ENGINE_TRAIN_CHECKPOINT_PARTS_H

#include "engine/train/checkpoint/checkpoint.h"

/* This worker's state into an archive, and out of it again. Collective. */
enum syn_status syn_checkpoint_pack(const struct syn_checkpoints *checkpoints,
                                    struct syn_archive *archive);
enum syn_status syn_checkpoint_unpack(struct syn_checkpoints *checkpoints,
                                      const struct syn_archive *archive);

/* The states of a run with another number of workers. Their statistics are averaged, what LSTMs
 * carry begins again. Collective.
 *   archives  [count] in the order of the ranks */
enum syn_status syn_checkpoint_unpack_regrouped(struct syn_checkpoints *checkpoints,
                                                struct syn_archive *const *archives, size_t count);

/* The settings of a run as a section. */
enum syn_status syn_checkpoint_add_settings(const struct syn_train_options *options,
                                            struct syn_archive *archive);

/* Names and shapes of all tensors as a section, and whether a model still has the same: what
 * differs is SYN_INVALID. Archives of before there were any pass. */
enum syn_status syn_checkpoint_add_tensors(const struct syn_model *model,
                                           struct syn_archive *archive);
enum syn_status syn_checkpoint_check_tensors(const struct syn_archive *archive, const char *origin,
                                             const struct syn_model *model);

/* Told each tensor of an archive, in the order in which they lie in its arrays. */
struct syn_checkpoint_tensor {
    char name[256];
    struct syn_shape shape;
};
typedef enum syn_status syn_checkpoint_visit(void *context,
                                             const struct syn_checkpoint_tensor *tensor,
                                             bool is_statistic);
enum syn_status syn_checkpoint_read_tensors(const struct syn_archive *archive, const char *origin,
                                            struct syn_input *input, syn_checkpoint_visit *visit,
                                            void *context);

/* The folder of a checkpoint: while parts of it are being written it has another name.
 *   mine  set if this worker, of all on its file system, gave it its name; that one clears up */
enum syn_status syn_checkpoint_put(const char *directory, uint64_t step, size_t rank,
                                   size_t workers, const struct syn_archive *archive);
enum syn_status syn_checkpoint_publish(const char *directory, uint64_t step, bool *mine);

/* The part of the lowest rank that is there; SYN_FORMAT if none is. */
enum syn_status syn_checkpoint_find_part(const char *directory, uint64_t step,
                                         char path[SYN_CHECKPOINT_PATH]);

/* Remove this worker's part of a checkpoint that others could not write. */
void syn_checkpoint_discard(const char *directory, uint64_t step, size_t rank);

/* Remove all checkpoints but this one, the one before it, and the best (0: none). */
void syn_checkpoint_prune(const char *directory, uint64_t step, uint64_t best);

#endif
