/* syncopate inspect: shows what checkpoints contain and whether they are intact. Reading an archive
 * checks all of its checksums, so whatever is shown is as it was written. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <syncopate/engine/checkpoint.h>

#include "command.h"

struct options {
    bool json;
};

static const struct syn_setting rows[] = {
    SYN_SETTING_ROW(struct options, SWITCH, json, "off", 0, 1, NULL,
                    "print one JSON object per file"),
};
static const struct syn_settings_table table = {"Inspect", rows, 1};

/* How a file is shown. */
enum style { FULLY, IN_A_LINE, AS_JSON };

/* Sections that are not arrays of floats. */
static const char *const not_floats[] = {"train/head", "train/settings", "train/meters",
                                         "worker/head", "store/reducer"};

static bool is_floats(const struct syn_section *section)
{
    for (size_t i = 0; i < sizeof not_floats / sizeof not_floats[0]; i++)
        if (strcmp(section->name, not_floats[i]) == 0)
            return false;
    return section->count % sizeof(float) == 0;
}

static double norm(const struct syn_section *section)
{
    const unsigned char *bytes = section->bytes;
    double sum = 0;
    for (size_t at = 0; at < section->count; at += sizeof(float)) {
        float value;
        memcpy(&value, bytes + at, sizeof value);
        sum += (double)value * (double)value;
    }
    return sqrt(sum);
}

static double epoch(const struct syn_checkpoint_head *head)
{
    return (double)head->place / (double)head->steps_per_epoch;
}

static void print_line(const char *path, const struct syn_checkpoint_head *head)
{
    printf("%s: %s on %s, %s, worker %llu of %llu, step %llu of %llu, intact\n", path, head->model,
           head->data, head->algo, (unsigned long long)head->rank,
           (unsigned long long)head->workers, (unsigned long long)head->step,
           (unsigned long long)head->steps);
}

static void print_fully(const char *path, const struct syn_checkpoint_head *head,
                        const struct syn_archive *archive)
{
    print_line(path, head);
    printf("  format version %llu, epoch %.4g, %.1f s of training\n",
           (unsigned long long)head->version, epoch(head), head->seconds);
    printf("  %llu parameters, hash of the global weights %016llx\n",
           (unsigned long long)head->params, (unsigned long long)head->weights_hash);
    if (head->residual_norm >= 0)
        printf("  residual (not sent yet): norm %.6g\n", head->residual_norm);
    printf("  %-24s %12s %12s %12s\n", "section", "bytes", "floats", "norm");
    for (size_t i = 0;; i++) {
        struct syn_section section = syn_archive_section(archive, i);
        if (!section.name)
            break;
        printf("  %-24s %12zu", section.name, section.count);
        if (is_floats(&section))
            printf(" %12zu %12.6g", section.count / sizeof(float), norm(&section));
        printf("\n");
    }
}

static void print_json_string(const char *text)
{
    putchar('"');
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            printf("\\%c", *text);
        else if ((unsigned char)*text < 0x20)
            printf("\\u%04x", (unsigned)(unsigned char)*text);
        else
            putchar(*text);
    }
    putchar('"');
}

static void print_json(const char *path, const struct syn_checkpoint_head *head,
                       const struct syn_archive *archive)
{
    const char *const texts[][2] = {
        {"file", path}, {"model", head->model}, {"data", head->data}, {"algo", head->algo}};
    printf("{");
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        printf("\"%s\": ", texts[i][0]);
        print_json_string(texts[i][1]);
        printf(", ");
    }
    printf("\"version\": %llu, \"rank\": %llu, \"workers\": %llu, \"step\": %llu, "
           "\"steps\": %llu, \"epoch\": %.9g, \"seconds\": %.9g, \"params\": %llu, "
           "\"weights_hash\": \"%016llx\", \"residual_norm\": ",
           (unsigned long long)head->version, (unsigned long long)head->rank,
           (unsigned long long)head->workers, (unsigned long long)head->step,
           (unsigned long long)head->steps, epoch(head), head->seconds,
           (unsigned long long)head->params, (unsigned long long)head->weights_hash);
    if (head->residual_norm >= 0)
        printf("%.9g", head->residual_norm);
    else
        printf("null");
    printf(", \"intact\": true, \"sections\": [");
    for (size_t i = 0;; i++) {
        struct syn_section section = syn_archive_section(archive, i);
        if (!section.name)
            break;
        printf("%s{\"name\": ", i ? ", " : "");
        print_json_string(section.name);
        printf(", \"bytes\": %zu", section.count);
        if (is_floats(&section))
            printf(", \"floats\": %zu, \"norm\": %.9g", section.count / sizeof(float),
                   norm(&section));
        printf("}");
    }
    printf("]}\n");
}

static enum syn_status show(const char *path, enum style style)
{
    struct syn_archive *archive = NULL;
    struct syn_checkpoint_head head;
    enum syn_status status = syn_archive_load(path, &archive);
    if (status != SYN_OK)
        return status;
    status = syn_checkpoint_head(archive, path, &head);
    if (status == SYN_OK && style == AS_JSON)
        print_json(path, &head, archive);
    else if (status == SYN_OK && style == FULLY)
        print_fully(path, &head, archive);
    else if (status == SYN_OK)
        print_line(path, &head);
    syn_archive_free(archive);
    return status;
}

/* Show every part of every checkpoint of a run; a part that cannot be read does not hide the
 * rest. */
static enum syn_status show_run(const char *directory, enum style style, bool *found)
{
    uint64_t steps[SYN_CHECKPOINTS_MOST];
    char path[SYN_CHECKPOINT_PATH];
    struct stat about;
    enum syn_status worst = SYN_OK;
    size_t count = syn_checkpoint_list(directory, steps);
    *found = count > 0;
    for (size_t i = 0; i < count; i++)
        for (size_t rank = 0; syn_checkpoint_path(directory, steps[i], rank, path) == SYN_OK &&
                              stat(path, &about) == 0;
             rank++) {
            enum syn_status status = show(path, style);
            worst = worst == SYN_OK ? status : worst;
        }
    return worst;
}

/* Show the parts in the folder of one checkpoint. */
static enum syn_status show_folder(const char *folder, enum style style, bool *found)
{
    char path[SYN_CHECKPOINT_PATH];
    struct stat about;
    enum syn_status worst = SYN_OK;
    for (size_t rank = 0;; rank++) {
        int length = snprintf(path, sizeof path, "%s/worker-%zu.syn", folder, rank);
        if (length >= SYN_CHECKPOINT_PATH || stat(path, &about) != 0)
            return worst;
        *found = true;
        enum syn_status status = show(path, style);
        worst = worst == SYN_OK ? status : worst;
    }
}

static int run(const struct command *self, int argc, char **argv)
{
    struct options options;
    struct flags flags;
    struct stat about;
    const struct flag_set sets[] = {{&table, &options}};
    enum syn_status status = flags_parse(self, sets, 1, argc, argv, &flags);
    if (status != SYN_OK || flags.wants_help)
        return exit_code(status);
    if (flags.word_count != 1)
        return usage_error("inspect takes one file or directory; got %zu arguments",
                           flags.word_count);
    const char *path = flags.words[0];
    if (stat(path, &about) != 0)
        return usage_error("inspect: \"%.256s\" does not exist", path);
    if (!S_ISDIR(about.st_mode))
        return exit_code(show(path, options.json ? AS_JSON : FULLY));
    bool found = false;
    status = show_run(path, options.json ? AS_JSON : IN_A_LINE, &found);
    if (!found)
        status = show_folder(path, options.json ? AS_JSON : FULLY, &found);
    if (!found)
        return usage_error("inspect: no checkpoint in \"%.256s\"", path);
    return exit_code(status);
}

const struct command command_inspect = {"inspect",
                                        "show what a checkpoint contains and whether it is intact",
                                        "FILE|DIR [--json]", run};
