/* Running the programs that fetch and unpack files, and stopping those that make no progress.
 * Progress is measured from outside, by the size of the folder, because every program shows it
 * differently. */
#include "engine/data/tool.h"

#include <stdio.h>
#include <string.h>

#include "engine/base/clock.h"
#include "engine/base/fail.h"
#include "engine/base/program.h"
#include "engine/base/tree.h"

#define LIMIT_MS 3600000
#define STALL_NS 30000000000LL

static bool goes_on(void *context)
{
    struct syn_tool *tool = context;
    const uint64_t total = tool->total;
    const uint64_t bytes = syn_tree_bytes(tool->grows);
    const int64_t now = syn_engine_clock_ns();
    if (bytes != tool->bytes)
        tool->grown_ns = now;
    tool->bytes = bytes;
    tool->why = syn_progress_report(tool->progress, tool->what,
                                    total && bytes > total ? total : bytes, total);
    if (tool->why == SYN_OK && now - tool->grown_ns > STALL_NS)
        tool->why = SYN_TIMEOUT;
    return tool->why == SYN_OK;
}

/* The reason for a program's failure: the first line of its output with an error, else the last
 * one. */
static void read_cause(const char *log, char *cause, size_t capacity)
{
    char line[256];
    FILE *file = fopen(log, "r");
    snprintf(cause, capacity, "no reason given");
    while (file && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\r\n")] = '\0';
        if (line[0])
            snprintf(cause, capacity, "%s", line);
        if (strstr(line, "rror"))
            break;
    }
    if (file)
        fclose(file);
}

static void warn(const struct syn_tool *tool, const char *program, enum syn_program_end end)
{
    char cause[256];
    const char *from = tool->source->from;
    if (end == SYN_PROGRAM_ABSENT) {
        syn_report_log(SYN_LOG_WARNING, "%s: %s is not installed", from, program);
    } else if (end == SYN_PROGRAM_LATE || tool->why == SYN_TIMEOUT) {
        syn_report_log(SYN_LOG_WARNING, "%s: %s made no progress and was stopped", from, program);
    } else {
        read_cause(tool->work->log, cause, sizeof cause);
        syn_report_log(SYN_LOG_WARNING, "%s: %s failed (%d): %s", from, program, tool->code, cause);
    }
}

enum syn_status syn_tool_run(struct syn_tool *tool, const char *const *words, const char *directory)
{
    const struct syn_program program = {
        .words = words,
        .directory = directory,
        .log = tool->work->log,
        .limit_ms = LIMIT_MS,
        .goes_on = goes_on,
        .context = tool,
    };
    enum syn_program_end end;
    tool->grown_ns = syn_engine_clock_ns();
    tool->why = SYN_OK;
    SYN_TRY(syn_program_run(&program, &end, &tool->code));
    if (end == SYN_PROGRAM_DONE)
        return SYN_OK;
    if (tool->why == SYN_STOPPED)
        return SYN_STOPPED;
    warn(tool, words[0], end);
    return SYN_IO;
}
