/* Internals of checkpoints: packing a run into an archive, storing archives in folders. */
#ifndef SYN_ENGINE_TRAIN_CHECKPOINT_PARTS_H
#define SYN_ENGINE_TRAIN_CHECKPOINT_PARTS_H

#include "engine/train/checkpoint/checkpoint.h"

/* Pack this worker's state into an archive, and unpack it. Collective. */
enum syn_status syn_checkpoint_pack(const struct syn_checkpoints *checkpoints,
                                    struct syn_archive *archive);
enum syn_status syn_checkpoint_unpack(struct syn_checkpoints *checkpoints,
                                      const struct syn_archive *archive);

/* Unpack the states of a run with another number of workers. Their statistics are averaged, and the
 * state of LSTMs is reset. Collective.
 *   archives  [count] in the order of the ranks */
enum syn_status syn_checkpoint_unpack_regrouped(struct syn_checkpoints *checkpoints,
                                                struct syn_archive *const *archives, size_t count);

/* The settings of a run as a section. */
enum syn_status syn_checkpoint_add_settings(const struct syn_train_options *options,
                                            struct syn_archive *archive);

/* Add names and shapes of all tensors as a section, and check that a model still has the same: a
 * difference is SYN_INVALID. Archives without this section, from earlier versions, pass. */
enum syn_status syn_checkpoint_add_tensors(const struct syn_model *model,
                                           struct syn_archive *archive);
enum syn_status syn_checkpoint_check_tensors(const struct syn_archive *archive, const char *origin,
                                             const struct syn_model *model);

/* A tensor of an archive; visited in the order of its arrays. */
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

/* The folder of a checkpoint: it has a temporary name while its parts are written.
 *   mine  set if it was this worker that renamed the folder on its file system; it also cleans
 *         up */
enum syn_status syn_checkpoint_put(const char *directory, uint64_t step, size_t rank,
                                   size_t workers, const struct syn_archive *archive);
enum syn_status syn_checkpoint_publish(const char *directory, uint64_t step, bool *mine);

/* The existing part of the lowest rank; SYN_FORMAT if there is none. */
enum syn_status syn_checkpoint_find_part(const char *directory, uint64_t step,
                                         char path[SYN_CHECKPOINT_PATH]);

/* For those who read a run that may go on meanwhile, and may remove what they have listed: load a
 * part, or the existing one of the lowest rank.
 *   path     set to the file, or to its folder if that is empty
 *   archive  NULL on success if there is no such file, which is not reported */
enum syn_status syn_checkpoint_load_part(const char *path, struct syn_archive **archive);
enum syn_status syn_checkpoint_load_any(const char *directory, uint64_t step,
                                        char path[SYN_CHECKPOINT_PATH],
                                        struct syn_archive **archive);

/* Whether the latest checkpoint is no longer the one of this step: then it is worth trying
 * again. */
bool syn_checkpoint_has_moved(const char *directory, uint64_t latest);

#define SYN_CHECKPOINT_TRIES 100 /* of reading a run that writes faster than we read */

/* Remove this worker's part of a checkpoint that another worker could not write. */
void syn_checkpoint_discard(const char *directory, uint64_t step, size_t rank);

/* Remove all checkpoints but this one, the one before it, and the best (0: none). */
void syn_checkpoint_prune(const char *directory, uint64_t step, uint64_t best);

#endif
