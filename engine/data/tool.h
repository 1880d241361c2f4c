/* A program that fetches or unpacks files for a source. */
#ifndef SYN_ENGINE_DATA_TOOL_H
#define SYN_ENGINE_DATA_TOOL_H

#include "engine/data/get.h"

struct syn_tool {
    const struct syn_data_source *source;
    const struct syn_work *work;
    const struct syn_progress *progress;
    const char *what;    /* it does, for the progress */
    const char *grows;   /* the folder whose size shows its progress */
    uint64_t total;      /* expected bytes of the folder, approximately; 0: unknown */
    int code;            /* exit code of the last program; -1: none */
    uint64_t bytes;      /* of the folder at the last check */
    int64_t grown_ns;    /* when they last changed */
    enum syn_status why; /* it was told to stop */
};

/* Run a program in a directory until it is done. SYN_STOPPED if the listener asked for it; failed,
 * absent, or without progress for half a minute: SYN_IO after a warning that names the source and
 * the cause. */
enum syn_status syn_tool_run(struct syn_tool *tool, const char *const *words,
                             const char *directory);

#endif
