/* A fast 64-bit hash, for checksums of packets and files and for comparing replicas. Not
 * cryptographic. */
#ifndef SYN_BASE_HASH_H
#define SYN_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/* The hash of bytes, continuing from an earlier hash (0 to begin). The same on every little-endian
 * machine. */
uint64_t syn_hash(uint64_t before, const void *bytes, size_t count);

#endif
