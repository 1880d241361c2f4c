/* Folders with all that is in them. */
#ifndef SYN_ENGINE_BASE_TREE_H
#define SYN_ENGINE_BASE_TREE_H

#include <stdint.h>

#include <syncopate/status.h>

/* Bytes of all files under a folder, without following links; 0 if there is none. */
uint64_t syn_tree_bytes(const char *path);

/* Remove a file, or a folder and all under it, without following links. One that is not there is
 * gone already. */
enum syn_status syn_tree_remove(const char *path);

#endif
