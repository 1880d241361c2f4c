/* Folders and everything in them. */
#ifndef SYN_ENGINE_BASE_TREE_H
#define SYN_ENGINE_BASE_TREE_H

#include <stdint.h>

#include <syncopate/status.h>

/* Bytes of all files under a folder, without following links; 0 if it does not exist. */
uint64_t syn_tree_bytes(const char *path);

/* Remove a file, or a folder and everything in it, without following links. Succeeds if it does not
 * exist. */
enum syn_status syn_tree_remove(const char *path);

#endif
