/* Running another program, without a shell and with a time limit. */
#ifndef SYN_ENGINE_BASE_PROGRAM_H
#define SYN_ENGINE_BASE_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include <syncopate/status.h>

struct syn_program {
    const char *const *words; /* the program, found in PATH, and its arguments, then NULL */
    const char *directory;    /* its working directory */
    const char *log;          /* file for its output; overwritten */
    int64_t limit_ms;         /* it is terminated after this time */

    /* Called ten times a second; false stops the program. (optional; without it only the limit
     * applies) */
    bool (*goes_on)(void *context);
    void *context;
};

enum syn_program_end {
    SYN_PROGRAM_DONE,    /* exit code 0 */
    SYN_PROGRAM_FAILED,  /* another exit code, or a signal */
    SYN_PROGRAM_ABSENT,  /* not found */
    SYN_PROGRAM_LATE,    /* the time limit was reached */
    SYN_PROGRAM_STOPPED, /* goes_on returned false */
};

/* Run a program until it ends. It has its own process group, and its standard input is empty; to
 * terminate it early, the whole group is sent SIGTERM and, two seconds later, SIGKILL.
 *   end   how it ended
 *   code  its exit code, if it has one
 * SYN_IO only if it could not be started at all. Blocks. */
enum syn_status syn_program_run(const struct syn_program *program, enum syn_program_end *end,
                                int *code);

#endif
