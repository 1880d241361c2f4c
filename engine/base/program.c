/* Running another program: fork and exec, because it needs a working directory and a process group
 * of its own; between the two, only calls that are safe after fork in a multithreaded process. */
#include "engine/base/program.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "engine/base/fail.h"

#define PAUSE_NS    20000000L
#define ASK_NS      100000000LL
#define GRACE_NS    2000000000LL
#define CODE_ABSENT 127 /* as in shells */

static void redirect(const char *path, int flags, int to)
{
    int file = open(path, flags, 0666);
    if (file >= 0)
        dup2(file, to);
    if (file > STDERR_FILENO)
        close(file);
}

static void become(const struct syn_program *program)
{
    setpgid(0, 0);
    redirect("/dev/null", O_RDONLY, STDIN_FILENO);
    redirect(program->log, O_WRONLY | O_CREAT | O_TRUNC, STDOUT_FILENO);
    dup2(STDOUT_FILENO, STDERR_FILENO);
    if (chdir(program->directory) == 0)
        execvp(program->words[0], (char *const *)program->words);
    _exit(errno == ENOENT ? CODE_ABSENT : CODE_ABSENT - 1);
}

static void pause_shortly(void)
{
    const struct timespec pause = {0, PAUSE_NS};
    nanosleep(&pause, NULL);
}

/* Whether the child has ended, with its wait status. */
static bool has_ended(pid_t child, int *status)
{
    pid_t got = waitpid(child, status, WNOHANG);
    return got == child || (got < 0 && errno != EINTR);
}

static void end_group(pid_t child)
{
    int status;
    int64_t until = syn_engine_clock_ns() + GRACE_NS;
    kill(-child, SIGTERM);
    while (!has_ended(child, &status)) {
        if (syn_engine_clock_ns() > until)
            kill(-child, SIGKILL);
        pause_shortly();
    }
    kill(-child, SIGKILL);
}

static enum syn_program_end wait_for(const struct syn_program *program, pid_t child, int *code)
{
    int status = 0;
    const int64_t begin = syn_engine_clock_ns();
    int64_t asked = begin;
    while (!has_ended(child, &status)) {
        int64_t now = syn_engine_clock_ns();
        bool is_late = now - begin > program->limit_ms * 1000000;
        bool is_stopped = false;
        if (program->goes_on && now - asked >= ASK_NS) {
            asked = now;
            is_stopped = !program->goes_on(program->context);
        }
        if (is_late || is_stopped) {
            end_group(child);
            return is_late ? SYN_PROGRAM_LATE : SYN_PROGRAM_STOPPED;
        }
        pause_shortly();
    }
    *code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    if (*code == CODE_ABSENT)
        return SYN_PROGRAM_ABSENT;
    return *code == 0 ? SYN_PROGRAM_DONE : SYN_PROGRAM_FAILED;
}

enum syn_status syn_program_run(const struct syn_program *program, enum syn_program_end *end,
                                int *code)
{
    *code = -1;
    pid_t child = fork();
    if (child < 0)
        return syn_report(SYN_IO, "%s: cannot be started: %s", program->words[0], strerror(errno));
    if (child == 0)
        become(program);
    setpgid(child, child); /* the child does so too, to avoid a race */
    *end = wait_for(program, child, code);
    return SYN_OK;
}
