/* The settings of a run in its checkpoints, as typed, so that a run can be resumed without typing
 * them again and cannot be resumed with different ones. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/fail.h"
#include "engine/data/blob.h"
#include "engine/train/checkpoint/parts.h"

#define SECTION "train/settings"
#define ROOM    65536

/* Settings that do not affect the results of the steps made so far. */
static const char *const may_change[] = {
    "epochs",        "steps",          "workers",   "threads",   "out",
    "overwrite",     "evaluate",       "log_every", "data_dir",  "checkpoint_every",
    "resume",        "eval_every",     "run_steps", "lr_from",   "checkpoint_minutes",
    "compare_every", "select_threads", "init",      "init_head", "keep_best",
    "model_file",    "loader_threads",
};

struct view {
    const struct syn_settings_table *table;
    void *options;
};

#define VIEWS 5

static void list_views(struct syn_train_options *options, struct view views[VIEWS])
{
    views[0] = (struct view){&syn_train_settings, options};
    views[1] = (struct view){&syn_optimizer_settings, &options->worker.optimizer};
    views[2] = (struct view){&syn_worker_settings, &options->worker};
    views[3] = (struct view){&syn_reducer_settings, &options->worker.reducer};
    views[4] = (struct view){&syn_data_settings, &options->data};
}

/* Each as "name=value", NUL-terminated. */
static size_t write_settings(struct syn_train_options *options, char *text, size_t capacity)
{
    struct view views[VIEWS];
    size_t length = 0;
    list_views(options, views);
    for (size_t v = 0; v < VIEWS; v++)
        for (size_t i = 0; i < views[v].table->count; i++) {
            char value[SYN_TEXT_BYTES];
            const struct syn_setting *row = &views[v].table->rows[i];
            size_t room = length < capacity ? capacity - length : 0;
            syn_settings_value(row, views[v].options, value, sizeof value);
            length +=
                (size_t)snprintf(room ? text + length : NULL, room, "%s=%s", row->name, value) + 1;
        }
    return length;
}

enum syn_status syn_checkpoint_add_settings(const struct syn_train_options *options,
                                            struct syn_archive *archive)
{
    struct syn_train_options copy = *options;
    char *text = malloc(ROOM);
    if (!text)
        return syn_report(SYN_MEMORY, "cannot allocate %d bytes", ROOM);
    size_t length = write_settings(&copy, text, ROOM);
    enum syn_status status = length <= ROOM
                                 ? syn_archive_add(archive, SECTION, text, length)
                                 : syn_report(SYN_INVALID, "settings of %zu bytes", length);
    free(text);
    return status;
}

/* Called for each saved setting. */
typedef enum syn_status visitor(const struct view *view, const struct syn_setting *row,
                                const char *value);

static enum syn_status visit_one(const struct view views[VIEWS], const char *text, visitor *visit)
{
    const char *equals = strchr(text, '=');
    size_t length = equals ? (size_t)(equals - text) : 0;
    for (size_t v = 0; v < VIEWS && equals; v++)
        for (size_t i = 0; i < views[v].table->count; i++) {
            const struct syn_setting *row = &views[v].table->rows[i];
            if (strlen(row->name) == length && strncmp(row->name, text, length) == 0)
                return visit(&views[v], row, equals + 1);
        }
    return syn_report(SYN_FORMAT, "checkpoint: setting \"%.64s\" is unknown to this version", text);
}

static enum syn_status visit_all(const struct syn_archive *archive,
                                 struct syn_train_options *options, visitor *visit)
{
    struct view views[VIEWS];
    struct syn_section section;
    list_views(options, views);
    SYN_TRY(syn_archive_find(archive, SECTION, &section));
    const char *text = section.bytes;
    if (section.count == 0 || text[section.count - 1] != '\0')
        return syn_report(SYN_FORMAT, "checkpoint: its settings are cut short");
    for (size_t at = 0; at < section.count; at += strlen(text + at) + 1)
        SYN_TRY(visit_one(views, text + at, visit));
    return SYN_OK;
}

/* Another number of servers can take over the weights; none at all is another method. */
static bool are_both_some(const char *one, const char *other)
{
    return strcmp(one, "0") != 0 && strcmp(other, "0") != 0;
}

static enum syn_status compare(const struct view *view, const struct syn_setting *row,
                               const char *value)
{
    char now[SYN_TEXT_BYTES];
    for (size_t i = 0; i < sizeof may_change / sizeof may_change[0]; i++)
        if (strcmp(may_change[i], row->name) == 0)
            return SYN_OK;
    syn_settings_value(row, view->options, now, sizeof now);
    if (strcmp(now, value) == 0)
        return SYN_OK;
    if (strcmp(row->name, "servers") == 0 && are_both_some(now, value))
        return SYN_OK;
    return syn_report(SYN_INVALID, "%s: \"%s\" contradicts the run to resume, which has \"%s\"",
                      row->name, now, value);
}

enum syn_status syn_checkpoint_check_settings(const struct syn_archive *archive,
                                              const struct syn_train_options *options)
{
    struct syn_train_options copy = *options;
    return visit_all(archive, &copy, compare);
}

static enum syn_status take_on(const struct view *view, const struct syn_setting *row,
                               const char *value)
{
    return syn_settings_set(view->table, view->options, row->name, value);
}

static enum syn_status refuse_empty(const char *directory)
{
    SYN_TRY(syn_lock_check(directory, "has not written a checkpoint yet"));
    return syn_report(SYN_INVALID, "resume: no checkpoint in %.256s/%s", directory,
                      SYN_CHECKPOINT_FOLDER);
}

/* SYN_OK and is_gone: the checkpoint is no longer there. */
static enum syn_status recall_step(const char *directory, uint64_t step,
                                   struct syn_train_options *options, bool *is_gone)
{
    struct syn_checkpoint_head head;
    struct syn_archive *archive = NULL;
    char path[SYN_CHECKPOINT_PATH];
    SYN_TRY(syn_checkpoint_load_any(directory, step, path, &archive));
    *is_gone = !archive;
    if (*is_gone)
        return SYN_OK;
    enum syn_status status = syn_checkpoint_head(archive, path, &head);
    if (status == SYN_OK)
        status = visit_all(archive, options, take_on);
    syn_archive_free(archive);
    return status;
}

/* The settings of the latest checkpoint that can be read; SYN_OK and is_gone if none was found and
 * none of them could be blamed. */
static enum syn_status recall_latest(const char *directory, const uint64_t *steps, size_t count,
                                     struct syn_train_options *options, bool *is_gone)
{
    enum syn_status status = SYN_OK;
    *is_gone = true;
    for (size_t i = 0; i < count; i++) {
        enum syn_status found = recall_step(directory, steps[i], options, is_gone);
        if (found == SYN_OK && !*is_gone)
            return SYN_OK;
        status = status == SYN_OK ? found : status;
    }
    *is_gone = status == SYN_OK;
    return status;
}

/* The run's own copy of the file that describes its model, if there is one. */
static void recall_model(const char *directory, struct syn_train_options *options)
{
    char copy[SYN_TEXT_BYTES];
    int length = snprintf(copy, sizeof copy, "%s/%s", directory, SYN_RUN_MODEL);
    if (options->model_file[0] && length < SYN_TEXT_BYTES && syn_blob_exists(copy))
        memcpy(options->model_file, copy, sizeof copy);
}

static enum syn_status recall_settings(const char *directory,
                                       const struct syn_train_options *options,
                                       struct syn_train_options *made)
{
    uint64_t steps[SYN_CHECKPOINTS_MOST];
    for (int tries = 1;; tries++) {
        bool is_gone;
        *made = *options;
        size_t count = syn_checkpoint_list(directory, steps);
        if (strlen(directory) >= SYN_TEXT_BYTES || count == 0)
            return refuse_empty(directory);
        SYN_TRY(recall_latest(directory, steps, count, made, &is_gone));
        if (!is_gone)
            return SYN_OK;
        if (tries == SYN_CHECKPOINT_TRIES || !syn_checkpoint_has_moved(directory, steps[0]))
            return syn_report(SYN_FORMAT, "%.256s/%s/step-%" PRIu64 ": contains no worker's state",
                              directory, SYN_CHECKPOINT_FOLDER, steps[0]);
    }
}

enum syn_status syn_train_recall(const char *directory, struct syn_train_options *options)
{
    struct syn_train_options made;
    SYN_TRY(recall_settings(directory, options, &made));
    snprintf(made.resume, sizeof made.resume, "%s", directory);
    snprintf(made.out, sizeof made.out, "%s", directory);
    made.overwrite = false;
    recall_model(directory, &made);
    made.usual = (struct syn_train_usual){0}; /* saved settings are already resolved for the run */
    *options = made;
    return SYN_OK;
}
