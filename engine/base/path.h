/* Paths of bounded length. */
#ifndef SYN_ENGINE_BASE_PATH_H
#define SYN_ENGINE_BASE_PATH_H

#include <stdbool.h>

#include <syncopate/status.h>

#define SYN_PATH_BYTES 1024

/* path = directory/name. Too long: SYN_INVALID. */
enum syn_status syn_path_join(char path[SYN_PATH_BYTES], const char *directory, const char *name);

/* Whether the path is a directory, or a regular file. */
bool syn_path_is_directory(const char *path);
bool syn_path_is_file(const char *path);

/* Create a directory and any missing parents. */
enum syn_status syn_path_make_directory(const char *path);

#endif
