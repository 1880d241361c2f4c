/* The directory of a run: settings.json and summary.json, each whole or not there at all, and
 * metrics.jsonl, which grows by whole lines while the run goes on. */
#ifndef SYN_ENGINE_TRAIN_FILES_H
#define SYN_ENGINE_TRAIN_FILES_H

#include <stdio.h>

#include <syncopate/engine/train.h>

struct syn_files {
    char out[SYN_TEXT_BYTES]; /* the directory */
    FILE *metrics;
};

/* Make the directory that the options name, or the next free runs/MODEL-DATA-N, write
 * settings.json and open metrics.jsonl. A directory that cannot be used, or that holds a run
 * already: SYN_INVALID.
 *   files  zeroed; close it even after a failure */
enum syn_status syn_files_open(const struct syn_train_options *options, struct syn_files *files);

/* Write settings.json anew, for settings that were chosen since. */
enum syn_status syn_files_settings(const struct syn_train_options *options,
                                   const struct syn_files *files);

/* Append one line, given without its end, so that a reader sees it whole or not at all. */
enum syn_status syn_files_line(struct syn_files *files, const char *line);

/* Write summary.json: under another name, to the disk, then under its own. */
enum syn_status syn_files_finish(struct syn_files *files, const struct syn_train_summary *summary);

void syn_files_close(struct syn_files *files);

#endif
