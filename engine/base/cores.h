/* The cores that this process may use, according to its affinity and its control groups. */
#ifndef SYN_ENGINE_BASE_CORES_H
#define SYN_ENGINE_BASE_CORES_H

#include <stddef.h>
#include <stdint.h>

#define SYN_CORES_WORDS 16 /* of 64 cores each */

/* Set the bits of the cores that this process may run on. A launcher that binds processes, taskset
 * and cpusets are all reflected here. At least one is set. */
void syn_cores_mask(uint64_t mask[SYN_CORES_WORDS]);

/* CPU time in cores that the control groups of this process allow, such as 1.5; 0 for no limit.
 *   root  "" for this machine; in tests, the directory that contains /proc and /sys instead */
double syn_cores_quota(const char *root);

#endif
