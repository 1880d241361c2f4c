/* The directory of a run: settings.json and summary.json, each complete or absent, and
 * metrics.jsonl, which grows by whole lines during the run. */
#ifndef SYN_ENGINE_TRAIN_FILES_H
#define SYN_ENGINE_TRAIN_FILES_H

#include <stdbool.h>
#include <stdio.h>

#include <syncopate/engine/train.h>

#include "engine/train/metrics/lock.h"

struct syn_files {
    char out[SYN_TEXT_BYTES]; /* the directory */
    const char *hosts;        /* lent: where the workers are, as JSON for settings.json; or NULL */
    FILE *metrics;
    long written; /* bytes of whole lines in it */
    bool lacks_lines;
    struct syn_lock lock; /* on the directory, from syn_files_open() to syn_files_close() */
};

/* Whether the run continues in the directory of the one it resumes. */
bool syn_files_continue(const struct syn_train_options *options);

/* Create the directory that the options name, or the next free runs/MODEL-DATA-N, and write
 * settings.json, unless an earlier run is continued there. A directory that cannot be used, that
 * already contains a run, or that another process is writing to: SYN_INVALID.
 *   files  zeroed; close it even after a failure */
enum syn_status syn_files_open(const struct syn_train_options *options, struct syn_files *files);

/* Open metrics.jsonl, keeping what the resumed run had written there up to this step. */
enum syn_status syn_files_begin(const struct syn_train_options *options, uint64_t step,
                                struct syn_files *files);

/* Write settings.json again, for settings that have been chosen since. */
enum syn_status syn_files_settings(const struct syn_train_options *options,
                                   const struct syn_files *files);

/* Write input.txt, what examples look like, and names.txt, the classes or the words of the
 * vocabulary in the order of their numbers, so that the model can be used without the data
 * (engine/data/kept.h). */
enum syn_status syn_files_input(const struct syn_data *data, const struct syn_files *files);

/* Write a copy of the file that describes the model (model_file), so that the run can be resumed
 * and used even if the original has moved. Does nothing for the built-in models. */
enum syn_status syn_files_model(const struct syn_train_options *options,
                                const struct syn_files *files);

/* Append one line, given without its newline, so that a reader sees all of it or nothing. A line
 * that cannot be written is left out with a warning: the weights are worth more. */
void syn_files_line(struct syn_files *files, const char *line);

/* Write summary.json: under a temporary name, synced to the disk, then renamed. */
enum syn_status syn_files_finish(struct syn_files *files, const struct syn_train_summary *summary);

void syn_files_close(struct syn_files *files);

#endif
