/* The files of a run. If summary.json exists, the run has ended and all files are complete; that is
 * why it is written last, and removed (--overwrite) first. */
#include "engine/train/metrics/files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <syncopate/engine/checkpoint.h>

#include "engine/base/fail.h"
#include "engine/base/json.h"
#include "engine/base/tree.h"
#include "engine/data/blob.h"
#include "engine/data/kept.h"

#define PATH_BYTES     (SYN_TEXT_BYTES + 32)
#define MOST_RUNS      100000
#define SETTINGS_BYTES 16384 /* of settings.json, without the hosts */

static const char *const names[] = {"summary.json",       "metrics.jsonl", "settings.json",
                                    SYN_NAMES_FILE,       SYN_KEPT_FILE,   SYN_RUN_MODEL,
                                    SYN_CHECKPOINT_FOLDER};
#define NAMES (sizeof names / sizeof names[0])

static const char *path_of(const struct syn_files *files, const char *name, const char *ending,
                           char path[PATH_BYTES])
{
    snprintf(path, PATH_BYTES, "%s/%s%s", files->out, name, ending);
    return path;
}

static enum syn_status refuse_directory(const char *out)
{
    return syn_report(SYN_INVALID, "out: cannot use directory \"%s\": %s", out, strerror(errno));
}

static bool is_directory(const char *path)
{
    struct stat found;
    return stat(path, &found) == 0 && S_ISDIR(found.st_mode);
}

/* Create all parent directories of a path. */
static bool make_parents(const char *path)
{
    char part[SYN_TEXT_BYTES];
    snprintf(part, sizeof part, "%s", path);
    for (char *slash = strchr(part + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(part, 0777) != 0 && !is_directory(part))
            return false;
        *slash = '/';
    }
    return true;
}

/* The first of runs/MODEL-DATA-1, -2, ... that does not exist yet: mkdir() succeeds in only one
 * process. */
static enum syn_status make_numbered(const struct syn_train_options *options,
                                     struct syn_files *files)
{
    const char *data =
        options->own_data ? syn_data_info(options->own_data)->name : options->data.data;
    for (int number = 1; number < MOST_RUNS; number++) {
        snprintf(files->out, sizeof files->out, "runs/%s-%s-%d", options->model, data, number);
        if (!make_parents(files->out))
            break;
        if (mkdir(files->out, 0777) == 0)
            return syn_lock_take(files->out, &files->lock);
        if (errno != EEXIST)
            break;
    }
    return refuse_directory(files->out);
}

static enum syn_status make_named(const struct syn_train_options *options, struct syn_files *files)
{
    char path[PATH_BYTES];
    snprintf(files->out, sizeof files->out, "%s", options->out);
    if (!make_parents(files->out) || (mkdir(files->out, 0777) != 0 && errno != EEXIST))
        return refuse_directory(files->out);
    if (!is_directory(files->out)) {
        errno = ENOTDIR;
        return refuse_directory(files->out);
    }
    SYN_TRY(syn_lock_take(files->out, &files->lock));
    for (size_t i = 0; i < NAMES; i++) {
        if (access(path_of(files, names[i], "", path), F_OK) != 0)
            continue;
        if (!options->overwrite)
            return syn_report(
                SYN_INVALID,
                "out: directory \"%s\" already contains a run (%s); choose another, or "
                "use --overwrite",
                files->out, names[i]);
        SYN_TRY(syn_tree_remove(path));
    }
    return SYN_OK;
}

/* Write text and an end of line to the disk under path. */
static bool write_through(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    if (!file)
        return false;
    bool good = fprintf(file, "%s\n", text) >= 0 && fflush(file) == 0 && fsync(fileno(file)) == 0;
    return fclose(file) == 0 && good;
}

/* Write a file completely or not at all. */
static enum syn_status write_whole(const struct syn_files *files, const char *name,
                                   const char *text)
{
    char path[PATH_BYTES];
    char part[PATH_BYTES];
    path_of(files, name, "", path);
    path_of(files, name, ".part", part);
    if (write_through(part, text) && rename(part, path) == 0)
        return SYN_OK;
    int cause = errno;
    unlink(part);
    return syn_report(SYN_IO, "cannot write %s: %s", path, strerror(cause));
}

/* The settings of one table as fields of json. */
static enum syn_status add_settings(struct syn_json *json, const struct syn_settings_table *table,
                                    const void *options)
{
    size_t length = syn_settings_json(table, options, NULL, 0);
    char *text = malloc(length + 1);
    if (!text)
        return syn_report(SYN_MEMORY, "cannot allocate %zu bytes", length + 1);
    syn_settings_json(table, options, text, length + 1);
    syn_json_fields(json, text);
    free(text);
    return SYN_OK;
}

static enum syn_status add_all(struct syn_json *json, const struct syn_train_options *options)
{
    SYN_TRY(add_settings(json, &syn_train_settings, options));
    SYN_TRY(add_settings(json, &syn_optimizer_settings, &options->worker.optimizer));
    SYN_TRY(add_settings(json, &syn_worker_settings, &options->worker));
    SYN_TRY(add_settings(json, &syn_reducer_settings, &options->worker.reducer));
    SYN_TRY(add_settings(json, &syn_data_settings, &options->data));
    return SYN_OK;
}

enum syn_status syn_files_settings(const struct syn_train_options *options,
                                   const struct syn_files *files)
{
    size_t capacity = SETTINGS_BYTES + (files->hosts ? strlen(files->hosts) : 0);
    char *text = malloc(capacity);
    if (!text)
        return syn_report(SYN_MEMORY, "cannot allocate %zu bytes", capacity);
    struct syn_json json = syn_json_begin(text, capacity);
    enum syn_status status = add_all(&json, options);
    if (files->hosts)
        syn_json_value(&json, "hosts", files->hosts);
    if (options->advice[0])
        syn_json_text(&json, "advice", options->advice);
    syn_json_end(&json);
    if (status == SYN_OK)
        status = write_whole(files, "settings.json", text);
    free(text);
    return status;
}

static enum syn_status write_names(const struct syn_data_info *info, const struct syn_files *files)
{
    size_t bytes = 1;
    for (size_t i = 0; info->names && i < info->outputs; i++)
        bytes += strlen(info->names[i]) + 1;
    if (bytes == 1)
        return SYN_OK;
    char *text = malloc(bytes);
    if (!text)
        return syn_report(SYN_MEMORY, "cannot allocate %zu bytes", bytes);
    char *end = text;
    for (size_t i = 0; i < info->outputs; i++) {
        size_t length = strlen(info->names[i]);
        memcpy(end, info->names[i], length);
        end += length;
        *end++ = '\n';
    }
    end[-1] = '\0'; /* the last end of line is added when it is written */
    enum syn_status status = write_whole(files, SYN_NAMES_FILE, text);
    free(text);
    return status;
}

enum syn_status syn_files_input(const struct syn_data *data, const struct syn_files *files)
{
    char text[SYN_KEPT_BYTES];
    SYN_TRY(write_names(syn_data_info(data), files));
    syn_kept_text(data, text);
    return write_whole(files, SYN_KEPT_FILE, text);
}

enum syn_status syn_files_model(const struct syn_train_options *options,
                                const struct syn_files *files)
{
    struct syn_blob blob = {0};
    if (!options->model_file[0])
        return SYN_OK;
    SYN_TRY(syn_blob_open_packed(options->model_file, &blob));
    size_t count = blob.count;
    while (count > 0 && blob.bytes[count - 1] == '\n')
        count--; /* one is added when it is written */
    char *text = malloc(count + 1);
    if (text) {
        memcpy(text, blob.bytes, count);
        text[count] = '\0';
    }
    enum syn_status status = text ? write_whole(files, SYN_RUN_MODEL, text)
                                  : syn_report(SYN_MEMORY, "cannot allocate %zu bytes", count + 1);
    free(text);
    syn_blob_close(&blob);
    return status;
}

bool syn_files_continue(const struct syn_train_options *options)
{
    struct stat from;
    struct stat to;
    return options->resume[0] && stat(options->resume, &from) == 0 &&
           stat(options->out, &to) == 0 && from.st_dev == to.st_dev && from.st_ino == to.st_ino;
}

enum syn_status syn_files_open(const struct syn_train_options *options, struct syn_files *files)
{
    if (syn_files_continue(options)) {
        snprintf(files->out, sizeof files->out, "%s", options->out);
        return syn_lock_take(files->out, &files->lock);
    }
    SYN_TRY(options->out[0] ? make_named(options, files) : make_numbered(options, files));
    return syn_files_settings(options, files);
}

/* Copy the lines of steps up to this one; an incomplete last line is left out. */
static bool copy_lines(FILE *from, uint64_t step, FILE *to)
{
    char line[4096];
    while (fgets(line, sizeof line, from)) {
        unsigned long long of;
        bool is_whole = strchr(line, '\n') != NULL;
        if (is_whole && sscanf(line, "{\"step\": %llu", &of) == 1 && of <= step &&
            fputs(line, to) < 0)
            return false;
    }
    return fflush(to) == 0 && fsync(fileno(to)) == 0;
}

/* Restore metrics.jsonl to what it was at that step. */
static enum syn_status cut_metrics(const struct syn_train_options *options, uint64_t step,
                                   const struct syn_files *files)
{
    char path[PATH_BYTES];
    char part[PATH_BYTES];
    struct syn_files source = {0};
    snprintf(source.out, sizeof source.out, "%s", options->resume);
    FILE *from = fopen(path_of(&source, "metrics.jsonl", "", path), "r");
    if (!from)
        return SYN_OK; /* it is not needed to resume */
    FILE *to = fopen(path_of(files, "metrics.jsonl", ".part", part), "w");
    bool good = to && copy_lines(from, step, to);
    good = to && fclose(to) == 0 && good;
    fclose(from);
    path_of(files, "metrics.jsonl", "", path);
    if (good && rename(part, path) == 0)
        return SYN_OK;
    int cause = errno;
    unlink(part);
    return syn_report(SYN_IO, "cannot write %s: %s", path, strerror(cause));
}

enum syn_status syn_files_begin(const struct syn_train_options *options, uint64_t step,
                                struct syn_files *files)
{
    char path[PATH_BYTES];
    if (syn_files_continue(options)) {
        unlink(path_of(files, "summary.json", "", path));
        SYN_TRY(syn_files_settings(options, files));
    }
    if (options->resume[0])
        SYN_TRY(cut_metrics(options, step, files));
    files->metrics = fopen(path_of(files, "metrics.jsonl", "", path), "a");
    if (!files->metrics)
        return syn_report(SYN_IO, "cannot write %s: %s", path, strerror(errno));
    files->written = ftell(files->metrics);
    return SYN_OK;
}

/* Remove a partly written line. */
static void lose_line(struct syn_files *files)
{
    int cause = errno;
    clearerr(files->metrics);
    bool is_cut = ftruncate(fileno(files->metrics), files->written) == 0;
    if (!files->lacks_lines)
        syn_report_log(SYN_LOG_WARNING, "%s/metrics.jsonl: cannot write a line%s: %s", files->out,
                       is_cut ? "" : " or remove what was written of it", strerror(cause));
    files->lacks_lines = true;
}

void syn_files_line(struct syn_files *files, const char *line)
{
    int length = fprintf(files->metrics, "%s\n", line);
    if (length < 0 || fflush(files->metrics) != 0)
        lose_line(files);
    else
        files->written += length;
}

enum syn_status syn_files_finish(struct syn_files *files, const struct syn_train_summary *summary)
{
    char text[4096];
    syn_train_summary_json(summary, text, sizeof text);
    return write_whole(files, "summary.json", text);
}

void syn_files_close(struct syn_files *files)
{
    if (files->metrics)
        fclose(files->metrics);
    syn_lock_release(&files->lock);
}
