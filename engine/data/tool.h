/* A program that brings or unpacks files for a source. */
#ifndef SYN_ENGINE_DATA_TOOL_H
#define SYN_ENGINE_DATA_TOOL_H

#include "engine/data/get.h"

struct syn_tool {
    const struct syn_data_source *source;
    const struct syn_work *work;
    const struct syn_progress *progress;
    const char *what;    /* it is doing, for the progress */
    const char *grows;   /* the folder that shows its headway */
    uint64_t total;      /* bytes that the folder will have, about; 0: not known */
    int code;            /* exit code of the last program; -1: none */
    uint64_t bytes;      /* that the folder had when last looked at */
    int64_t grown_ns;    /* when they last changed */
    enum syn_status why; /* it was told not to go on */
};

/* Run a program in a directory until it is done. SYN_STOPPED if the listener wanted it so;
 * failed, absent, or without headway for half a minute: SYN_IO after a warning that names the
 * source and the cause. */
enum syn_status syn_tool_run(struct syn_tool *tool, const char *const *words,
                             const char *directory);

#endif
