/* Files of weights, by their endings. A file is written under a temporary name, synced and renamed,
 * so that a reader finds either the old one or the complete new one. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/fail.h"
#include "engine/base/path.h"
#include "engine/data/blob.h"
#include "engine/weights/weights.h"

struct syn_sink {
    FILE *file;
    const char *path;
};

enum syn_status syn_sink_put(struct syn_sink *sink, const void *bytes, size_t count)
{
    if (count == 0 || fwrite(bytes, 1, count, sink->file) == count)
        return SYN_OK;
    return syn_report(SYN_IO, "cannot write %s: %s", sink->path, strerror(errno));
}

static enum syn_status finish(struct syn_sink *sink, enum syn_status status)
{
    bool good = fflush(sink->file) == 0 && fsync(fileno(sink->file)) == 0;
    int cause = errno;
    if (fclose(sink->file) != 0 && good) {
        good = false;
        cause = errno;
    }
    if (status == SYN_OK && !good)
        status = syn_report(SYN_IO, "cannot write %s: %s", sink->path, strerror(cause));
    return status;
}

enum syn_status syn_sink_make(const char *path, syn_sink_write *write, void *context)
{
    char part[SYN_PATH_BYTES];
    int length = snprintf(part, sizeof part, "%s.part", path);
    if (length < 0 || (size_t)length >= sizeof part)
        return syn_report(SYN_INVALID, "path too long: %.64s...", path);
    struct syn_sink sink = {fopen(part, "wb"), path};
    if (!sink.file)
        return syn_report(SYN_IO, "cannot write %s: %s", part, strerror(errno));
    enum syn_status status = finish(&sink, write(&sink, context));
    if (status == SYN_OK && rename(part, path) != 0)
        status = syn_report(SYN_IO, "cannot write %s: %s", path, strerror(errno));
    if (status != SYN_OK)
        unlink(part);
    return status;
}

static bool ends_in(const char *path, const char *ending)
{
    size_t length = strlen(path);
    return length > strlen(ending) && strcmp(path + length - strlen(ending), ending) == 0;
}

enum syn_status syn_weights_save(struct syn_weights *weights, enum syn_names names,
                                 const char *path)
{
    struct syn_weights_writing writing = {weights, names, path};
    if (ends_in(path, ".safetensors"))
        return syn_sink_make(path, syn_safetensors_write, &writing);
    if (ends_in(path, ".npz"))
        return syn_sink_make(path, syn_npz_write, &writing);
    return syn_report(SYN_INVALID, "\"%.256s\"; expected a name that ends in .safetensors or .npz",
                      path);
}

enum syn_status syn_weights_load(const char *path, struct syn_weights **weights)
{
    struct syn_blob blob = {0};
    struct syn_weights *made = NULL;
    SYN_TRY(syn_blob_open_packed(path, &blob));
    enum syn_status status = syn_weights_new(&made);
    if (status == SYN_OK) {
        syn_weights_set_origin(made, path);
        status = ends_in(path, ".npz") ? syn_npz_read(blob.bytes, blob.count, made)
                                       : syn_safetensors_read(blob.bytes, blob.count, made);
    }
    syn_blob_close(&blob);
    if (status != SYN_OK) {
        syn_weights_free(made);
        return status;
    }
    *weights = made;
    return SYN_OK;
}
