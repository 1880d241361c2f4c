/* Whether files are the published ones: their sha256, computed in pieces, so that progress can be
 * shown. */
#include <string.h>

#include <nettle/base16.h>
#include <nettle/sha2.h>

#include "engine/base/fail.h"
#include "engine/data/get.h"
#include "engine/data/pictures.h"

#define PIECE       ((size_t)4 << 20)
#define DIGEST_TEXT (2 * SHA256_DIGEST_SIZE + 1) /* in hexadecimal, with its NUL */

enum syn_status syn_progress_report(const struct syn_progress *progress, const char *what,
                                    uint64_t done, uint64_t total)
{
    if (!progress->callback || progress->callback(progress->context, what, done, total))
        return SYN_OK;
    return syn_report(SYN_STOPPED, "stopped while %s", what);
}

static enum syn_status hash(const struct syn_blob *file, const struct syn_progress *progress,
                            char text[DIGEST_TEXT])
{
    struct sha256_ctx sha;
    uint8_t digest[SHA256_DIGEST_SIZE];
    sha256_init(&sha);
    for (size_t at = 0; at < file->count; at += PIECE) {
        size_t left = file->count - at;
        SYN_TRY(syn_progress_report(progress, "checking", at, file->count));
        sha256_update(&sha, left < PIECE ? left : PIECE, file->bytes + at);
    }
    sha256_digest(&sha, sizeof digest, digest);
    base16_encode_update(text, sizeof digest, digest);
    text[DIGEST_TEXT - 1] = '\0';
    return SYN_OK;
}

enum syn_status syn_get_check_blob(const struct syn_blob *file, const char *sha256,
                                   const struct syn_progress *progress)
{
    char text[DIGEST_TEXT];
    if (!sha256)
        return SYN_OK;
    SYN_TRY(hash(file, progress, text));
    if (strcmp(text, sha256) != 0)
        return syn_report(SYN_FORMAT, "%s: sha256 is %s; expected %s", file->path, text, sha256);
    return SYN_OK;
}

enum syn_status syn_get_check(const struct syn_data_set *set, const char *directory,
                              const struct syn_progress *progress)
{
    for (size_t i = 0; i < set->file_count; i++) {
        struct syn_blob file;
        SYN_TRY(syn_data_open_file(set->name, directory, set->files[i].name, &file));
        enum syn_status status = syn_get_check_blob(&file, set->files[i].sha256, progress);
        syn_blob_close(&file);
        SYN_TRY(status);
    }
    return SYN_OK;
}

enum syn_status syn_data_check(const struct syn_data_options *options, syn_data_progress *progress,
                               void *context)
{
    const struct syn_progress listener = {progress, context};
    const struct syn_data_set *set;
    struct syn_data *data;
    char directory[SYN_PATH_BYTES];
    SYN_TRY(syn_data_open(options, &data));
    enum syn_status status = data->pictures ? syn_pictures_check(data, &listener) : SYN_OK;
    syn_data_close(data);
    SYN_TRY(status);
    SYN_TRY(syn_data_set_find(options->data, &set));
    SYN_TRY(syn_data_directory(set, syn_data_root(options->data_dir), directory));
    return syn_get_check(set, directory, &listener);
}
