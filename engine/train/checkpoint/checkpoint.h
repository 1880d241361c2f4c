/* Checkpoints from inside: packing a run into an archive, putting archives into folders, going on
 * from one. */
#ifndef SYN_ENGINE_TRAIN_CHECKPOINT_H
#define SYN_ENGINE_TRAIN_CHECKPOINT_H

#include <stdbool.h>

#include <syncopate/engine/checkpoint.h>
#include <syncopate/engine/train.h>

struct syn_run;

/* Save all workers' states as the checkpoint of this step, unless that is there already.
 *   written  false if some file could not be written; the cause has been logged, and earlier
 *            checkpoints are as they were
 * Collective. Weights that are not finite are not saved: SYN_NONFINITE. */
enum syn_status syn_checkpoint_write(struct syn_run *run, bool *written);

#define SYN_CHECKPOINTS_KEPT 2 /* the latest */

/* Refuse a directory whose file system has no room for all checkpoints of so many bytes each that
 * there can be at once: those that are kept and the one that is being written. Those that are there
 * already have their room, or give it back.
 *   directory  need not be there yet
 *   kept       how many a run keeps */
enum syn_status syn_checkpoint_check_room(const char *directory, double bytes, size_t kept);

/* This worker's state into an archive, and out of it again. Collective. */
enum syn_status syn_checkpoint_pack(struct syn_run *run, struct syn_archive *archive);
enum syn_status syn_checkpoint_unpack(struct syn_run *run, const struct syn_archive *archive);

/* The states of a run with another number of workers. The latter's statistics are averaged, what
 * LSTMs carry begins anew. Collective.
 *   archives  [count] in the order of the ranks */
enum syn_status syn_checkpoint_unpack_regrouped(struct syn_run *run,
                                                struct syn_archive *const *archives, size_t count);

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

/* Remove what a run that was killed had begun. */
void syn_checkpoint_clear_parts(const char *directory);

/* The settings of a run as a section, and whether options agree with them: what contradicts them is
 * SYN_INVALID, what may change with a resumed run is not looked at. */
enum syn_status syn_checkpoint_add_settings(const struct syn_train_options *options,
                                            struct syn_archive *archive);
enum syn_status syn_checkpoint_check_settings(const struct syn_archive *archive,
                                              const struct syn_train_options *options);

/* Find the checkpoints that this worker could go on from, and check the options against the
 * latest. */
enum syn_status syn_resume_survey(struct syn_run *run);

/* Agree with the others on the latest that all can go on from, and place the run there. Collective,
 * before the worker is opened. */
enum syn_status syn_resume_agree(struct syn_run *run);

/* Take on its state. Collective. */
enum syn_status syn_resume_load(struct syn_run *run);

#endif
