/* Running another program, without a shell and never for ever. */
#ifndef SYN_ENGINE_BASE_PROGRAM_H
#define SYN_ENGINE_BASE_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include <syncopate/status.h>

struct syn_program {
    const char *const *words; /* the program, looked for in PATH, and its arguments, until NULL */
    const char *directory;    /* to run in */
    const char *log;          /* file that its output goes to; overwritten */
    int64_t limit_ms;         /* it is ended after this time */

    /* Asked ten times a second whether to go on. (optional; without it only the limit counts) */
    bool (*goes_on)(void *context);
    void *context;
};

enum syn_program_end {
    SYN_PROGRAM_DONE,    /* exit code 0 */
    SYN_PROGRAM_FAILED,  /* another exit code, or a signal */
    SYN_PROGRAM_ABSENT,  /* there is no such program */
    SYN_PROGRAM_LATE,    /* the limit came first */
    SYN_PROGRAM_STOPPED, /* goes_on said no */
};

/* Run a program to its end. It has a process group of its own and nothing to read; to end it
 * before its time, the whole group is sent SIGTERM and, two seconds later, SIGKILL.
 *   end   how it ended
 *   code  its exit code, if it has one
 * SYN_IO only if it could not be started at all. Blocks. */
enum syn_status syn_program_run(const struct syn_program *program, enum syn_program_end *end,
                                int *code);

#endif
