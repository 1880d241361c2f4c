/* Ranks of one job may have been started with different flags or on different data. Training on
 * would be useless: messages would differ in size, or each rank would train another model. What
 * must be the same on all is compared before anything is written; every setting is compared unless
 * its row says that each rank may choose its own. Threads of one process share one set of options
 * and data. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "engine/train/loop/loop.h"

struct lines {
    char text[32768];
    size_t length;
};

static bool is_one_process(const struct syn_group *group)
{
    return syn_group_is_one_process(group);
}

static void add_settings(struct lines *lines, const struct syn_settings_table *table,
                         const void *options)
{
    size_t room = sizeof lines->text - lines->length;
    size_t length = syn_settings_lines(table, options, lines->text + lines->length, room);
    lines->length += length < room ? length : room - 1;
}

static void add(struct lines *lines, const char *name, uint64_t value)
{
    size_t room = sizeof lines->text - lines->length;
    int length = snprintf(lines->text + lines->length, room, "%s %" PRIu64 "\n", name, value);
    if (length > 0 && (size_t)length < room)
        lines->length += (size_t)length;
}

/* A difference is bad input. */
static enum syn_status compare(struct syn_group *group, const struct lines *lines)
{
    enum syn_status status = syn_group_compare(group, lines->text);
    return status == SYN_MISMATCH ? SYN_INVALID : status;
}

enum syn_status syn_train_compare(const struct syn_train_options *options, struct syn_group *group)
{
    struct lines lines = {.length = 0};
    if (is_one_process(group))
        return SYN_OK;
    add_settings(&lines, &syn_train_settings, options);
    add(&lines, "resumes", options->resume[0] != '\0');
    add_settings(&lines, &syn_data_settings, &options->data);
    add_settings(&lines, &syn_optimizer_settings, &options->worker.optimizer);
    add_settings(&lines, &syn_worker_settings, &options->worker);
    add_settings(&lines, &syn_reducer_settings, &options->worker.reducer);
    add_settings(&lines, &syn_group_settings, &options->group);
    return compare(group, &lines);
}

/* Each rank finds bad input on its own. If one left at once, the others would fail because of that,
 * instead of reporting what they were about to find too; so all tell their status first, and end in
 * the same way. */
static bool is_shared(enum syn_status status)
{
    return status == SYN_OK || status == SYN_INVALID || status == SYN_UNSUPPORTED ||
           status == SYN_FORMAT;
}

static void add_finding(struct lines *lines, enum syn_status status)
{
    char text[256];
    snprintf(text, sizeof text, "input %s", status == SYN_OK ? "good" : syn_error_text());
    text[strcspn(text, "\n")] = '\0';
    lines->length += (size_t)snprintf(lines->text, sizeof lines->text, "%s\n", text);
}

enum syn_status syn_run_meet(struct syn_group *group, enum syn_status status)
{
    struct lines lines = {.length = 0};
    if (is_one_process(group) || !is_shared(status))
        return status;
    add_finding(&lines, status);
    enum syn_status compared = compare(group, &lines);
    return status == SYN_OK ? compared : status;
}

enum syn_status syn_run_compare(const struct syn_run *run)
{
    struct lines lines = {.length = 0};
    const struct syn_data_info *info = syn_data_info(run->replica.data);
    if (is_one_process(run->replica.group))
        return SYN_OK;
    add(&lines, "training-examples", info->count[SYN_DATA_TRAIN]);
    add(&lines, "validation-examples", info->count[SYN_DATA_VALID]);
    add(&lines, "test-examples", info->count[SYN_DATA_TEST]);
    add(&lines, "outputs", info->outputs);
    add(&lines, "data-fingerprint", syn_data_fingerprint(run->replica.data));
    add(&lines, "parameters", run->replica.params);
    add(&lines, "steps", run->replica.at.steps);
    return compare(run->replica.group, &lines);
}
