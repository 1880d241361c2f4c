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
