/* The cores that this process may use, as its affinity and its control groups say. */
#ifndef SYN_ENGINE_BASE_CORES_H
#define SYN_ENGINE_BASE_CORES_H

#include <stddef.h>
#include <stdint.h>

#define SYN_CORES_WORDS 16 /* of 64 cores each */

/* Set the bits of the cores that this process may run on. A launcher that binds processes, taskset
 * and cpusets all show here. At least one is set. */
void syn_cores_mask(uint64_t mask[SYN_CORES_WORDS]);

/* How many cores' time the control groups of this process are given, such as 1.5; 0 for no limit.
 *   root  "" for this machine; where to look for /proc and /sys instead, for tests */
double syn_cores_quota(const char *root);

#endif
