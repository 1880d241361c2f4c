/* The progress bar redraws one line in place; if standard error is not a terminal, it writes a line
 * from time to time instead, so that logs stay readable. */
#include "progress.h"

#include <stdarg.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include <syncopate/text.h>

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

/* The line's text, as much of it as fits. */
struct line {
    char text[256];
    size_t length;
};

static void put(struct line *line, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void put(struct line *line, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    size_t room = sizeof line->text - line->length;
    int wrote = syn_text_print_list(line->text + line->length, room, format, arguments);
    va_end(arguments);
    if (wrote > 0)
        line->length += (size_t)wrote < room ? (size_t)wrote : room - 1;
}

static void put_bar(struct line *line, double share)
{
    int full = (int)(share * BAR_CELLS);
    put(line, " [");
    for (int i = 0; i < BAR_CELLS; i++)
        put(line, "%c", i < full ? '#' : '.');
    put(line, "]");
}

static void put_time(struct line *line, double seconds)
{
    if (seconds < 90)
        put(line, ", %.0f s left", seconds);
    else if (seconds < 5400)
        put(line, ", %.0f min left", seconds / 60);
    else
        put(line, ", %.1f h left", seconds / 3600);
}

/* A line wider than the terminal would wrap and could no longer be overwritten. */
static void fit_terminal(struct line *line)
{
    struct winsize size = {0};
    size_t columns = 80;
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        columns = size.ws_col;
    if (line->length > columns - 1)
        line->text[columns - 1] = '\0';
}

/* Whether it is time to draw: after the first two seconds, and not too often. */
static bool is_due(const struct progress *progress, int64_t now)
{
    int64_t pause = progress->on_terminal ? 100000000LL : 10000000000LL;
    if (!progress->shown)
        return now - progress->began_ns >= QUIET_NS;
    return now - progress->shown_ns >= pause;
}

void progress_tell(struct progress *progress, uint64_t done, const char *words)
{
    struct line line = {.length = 0};
    int64_t now = now_ns();
    if (!progress->has_first) {
        progress->has_first = true;
        progress->first_ns = now;
        progress->first = done;
    }
    if (!is_due(progress, now))
        return;
    progress->shown = true;
    progress->shown_ns = now;
    put(&line, "%s", progress->title);
    if (progress->total > 0) {
        double share = (double)done / (double)progress->total;
        double spent_s = (double)(now - progress->first_ns) * 1e-9;
        if (progress->on_terminal)
            put_bar(&line, share);
        put(&line, " %3.0f%%", 100 * share);
        if (done > progress->first && done <= progress->total)
            put_time(&line,
                     spent_s * (double)(progress->total - done) / (double)(done - progress->first));
    }
    if (words)
        put(&line, ", %s", words);
    if (progress->on_terminal)
        fit_terminal(&line);
    fprintf(stderr, progress->on_terminal ? "\r\033[K%s" : "%s\n", line.text);
    fflush(stderr);
}

void progress_end(struct progress *progress)
{
    if (progress->shown && progress->on_terminal)
        fputs("\r\033[K", stderr);
    progress->shown = false;
}
