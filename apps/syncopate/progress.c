/* The progress bar redraws one line in place; where standard error is no terminal it writes a line
 * now and then instead, so that logs stay readable. */
#include "progress.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define BAR_CELLS 24
#define QUIET_NS  2000000000LL

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void progress_begin(struct progress *progress, const char *title, uint64_t total)
{
    *progress = (struct progress){.title = title, .total = total, .began_ns = now_ns()};
    progress->on_terminal = isatty(STDERR_FILENO) == 1;
}

static void draw_bar(const struct progress *progress, double share)
{
    int full = (int)(share * BAR_CELLS);
    fputs(" [", stderr);
    for (int i = 0; i < BAR_CELLS; i++)
        fputc(i < full ? '#' : '.', stderr);
    fputc(']', stderr);
    (void)progress;
}

void progress_tell(struct progress *progress, uint64_t done, const char *words)
{
    int64_t now = now_ns();
    int64_t pause = progress->on_terminal ? 100000000LL : 10000000000LL;
    bool first = !progress->shown && now - progress->began_ns >= QUIET_NS;
    bool again = progress->shown && now - progress->shown_ns >= pause;
    if (!first && !again)
        return;
    progress->shown = true;
    progress->shown_ns = now;
    fputs(progress->on_terminal ? "\r\033[K" : "", stderr);
    fputs(progress->title, stderr);
    if (progress->total > 0) {
        double share = (double)done / (double)progress->total;
        double spent_s = (double)(now - progress->began_ns) * 1e-9;
        if (progress->on_terminal)
            draw_bar(progress, share);
        fprintf(stderr, " %3.0f%%", 100 * share);
        if (share > 0)
            fprintf(stderr, ", %.0f s left", spent_s * (1 - share) / share);
    }
    if (words)
        fprintf(stderr, ", %s", words);
    if (!progress->on_terminal)
        fputc('\n', stderr);
    fflush(stderr);
}

void progress_end(struct progress *progress)
{
    if (progress->shown && progress->on_terminal)
        fputs("\r\033[K", stderr);
    progress->shown = false;
}
