/* A fast 64-bit hash, for checksums of packets and files and for comparing replicas. Not against
 * malice. */
#ifndef SYN_BASE_HASH_H
#define SYN_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/* The hash of bytes, going on from an earlier hash (0 to begin). Same on every little-endian
 * machine. */
uint64_t syn_hash(uint64_t before, const void *bytes, size_t count);

#endif
