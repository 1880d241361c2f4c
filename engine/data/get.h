/* Getting a data set: fetched from a source, converted, checked, and moved into place. */
#ifndef SYN_ENGINE_DATA_GET_H
#define SYN_ENGINE_DATA_GET_H

#include "engine/data/set.h"

/* syn_data_get() for a row, which need not be in the table.
 *   root  the directory that contains the data sets */
enum syn_status syn_get_set(const struct syn_data_set *set, const char *root,
                            const struct syn_progress *progress);

/* Compare every file of a set in that directory with its sha256. */
enum syn_status syn_get_check(const struct syn_data_set *set, const char *directory,
                              const struct syn_progress *progress);

/* Compare one file with its sha256 (NULL: not checked). */
enum syn_status syn_get_check_blob(const struct syn_blob *file, const char *sha256,
                                   const struct syn_progress *progress);

/* Copy files from folder to folder, decompressing those that end in .gz: the conversion of sets
 * without a convert function. */
enum syn_status syn_get_copy(const struct syn_data_file *files, size_t count, const char *from,
                             const char *to, const struct syn_progress *progress);

/* Folders to work in: all under one with a temporary name. */
struct syn_work {
    char folder[SYN_PATH_BYTES];
    char fetched[SYN_PATH_BYTES];  /* downloads; kept when interrupted, to be resumed */
    char package[SYN_PATH_BYTES];  /* what a package client fetched */
    char unpacked[SYN_PATH_BYTES]; /* unpacked from archives */
    char ready[SYN_PATH_BYTES];    /* in the set's own form */
    char log[SYN_PATH_BYTES];      /* output of the last program */
    int lock;                      /* file that is locked during the work */
};

/* Fetch the files from one source.
 *   folder  set to where they are: in work, or on this machine
 * Failure: a status, after a warning that names the source and the cause. */
enum syn_status syn_fetch(const struct syn_data_set *set, const struct syn_data_source *source,
                          const struct syn_work *work, const struct syn_progress *progress,
                          char folder[SYN_PATH_BYTES]);

#endif
