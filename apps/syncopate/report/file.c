/* Files are opened without blocking and their type is checked afterwards, so that they cannot be
 * swapped in between. They are written under another name first. */
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <syncopate/report.h>

static enum syn_status refuse(const char *path, const char *why)
{
    return syn_report(SYN_INVALID, "cannot read %s: %s", path, why);
}

static enum syn_status read_all(int file, const char *path, size_t most, struct text *text)
{
    char part[16384];
    size_t begun = text->length;
    ssize_t got;
    text_put(text, ""); /* an empty file is valid text too */
    while ((got = read(file, part, sizeof part)) > 0) {
        text_add(text, part, (size_t)got);
        if (text->length - begun > most)
            return syn_report(SYN_INVALID, "%s is larger than %zu MiB", path, most >> 20);
    }
    return got < 0 ? refuse(path, strerror(errno)) : text_check(text);
}

enum syn_status file_read(const char *path, size_t most, struct text *text)
{
    struct stat about;
    int file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (file < 0)
        return refuse(path, strerror(errno));
    enum syn_status status;
    if (fstat(file, &about) != 0)
        status = refuse(path, strerror(errno));
    else if (!S_ISREG(about.st_mode))
        status = refuse(path, "not a regular file");
    else
        status = read_all(file, path, most, text);
    close(file);
    return status;
}

static bool write_through(const char *path, const struct text *text)
{
    FILE *file = fopen(path, "w");
    if (!file)
        return false;
    bool is_good = fwrite(text->bytes, 1, text->length, file) == text->length &&
                   fflush(file) == 0 && fsync(fileno(file)) == 0;
    return fclose(file) == 0 && is_good;
}

enum syn_status file_write(const char *path, const struct text *text)
{
    char part[PATH_MAX];
    struct stat about;
    if (stat(path, &about) == 0 && !S_ISREG(about.st_mode))
        return syn_report(SYN_INVALID, "cannot write %s: it exists and is not a regular file",
                          path);
    if (snprintf(part, sizeof part, "%s.part", path) >= (int)sizeof part)
        return syn_report(SYN_INVALID, "cannot write %.64s...: the name is too long", path);
    if (write_through(part, text) && rename(part, path) == 0)
        return SYN_OK;
    int cause = errno;
    bool is_misnamed =
        cause == ENOENT || cause == ENOTDIR || cause == EACCES || cause == ENAMETOOLONG;
    unlink(part);
    return syn_report(is_misnamed ? SYN_INVALID : SYN_IO, "cannot write %s: %s", path,
                      strerror(cause));
}
