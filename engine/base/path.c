/* Paths of bounded length: no allocation, and a path that is too long is an error, never
 * truncated. */
#include "engine/base/path.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "engine/base/fail.h"

enum syn_status syn_path_join(char path[SYN_PATH_BYTES], const char *directory, const char *name)
{
    int length = snprintf(path, SYN_PATH_BYTES, "%s/%s", directory, name);
    if (length < 0 || length >= SYN_PATH_BYTES)
        return syn_report(SYN_INVALID, "%.64s.../%.64s: the path is longer than %d bytes",
                          directory, name, SYN_PATH_BYTES - 1);
    return SYN_OK;
}

bool syn_path_is_directory(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

bool syn_path_is_file(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && S_ISREG(about.st_mode);
}

enum syn_status syn_path_make_directory(const char *path)
{
    char part[SYN_PATH_BYTES];
    if (strlen(path) >= sizeof part)
        return syn_report(SYN_INVALID, "%.64s...: the path is longer than %d bytes", path,
                          SYN_PATH_BYTES - 1);
    for (size_t i = 1; path[0] != '\0'; i++) {
        if (path[i] != '/' && path[i] != '\0')
            continue;
        memcpy(part, path, i);
        part[i] = '\0';
        if (mkdir(part, 0777) != 0 && !syn_path_is_directory(part))
            return syn_report(SYN_IO, "%s: cannot create the directory: %s", part, strerror(errno));
        if (path[i] == '\0')
            break;
    }
    return SYN_OK;
}
