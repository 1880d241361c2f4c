/* A process may be limited in two ways: to some cores (its affinity) and to an amount of their time
 * (the quota of a control group, as in containers). sysconf() accounts for neither. */
#include "engine/base/cores.h"

#include <limits.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST_CORES (64 * SYN_CORES_WORDS)

void syn_cores_mask(uint64_t mask[SYN_CORES_WORDS])
{
    cpu_set_t set;
    size_t found = 0;
    memset(mask, 0, SYN_CORES_WORDS * sizeof *mask);
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        for (size_t i = 0; i < MOST_CORES && i < CPU_SETSIZE; i++)
            if (CPU_ISSET(i, &set)) {
                mask[i / 64] |= UINT64_C(1) << i % 64;
                found++;
            }
    if (found > 0)
        return;
    long count = sysconf(_SC_NPROCESSORS_ONLN);
    mask[0] = 1;
    for (long i = 1; i < count && i < MOST_CORES; i++)
        mask[i / 64] |= UINT64_C(1) << i % 64;
}

/* One number or word of a file. */
static bool read_words(const char *path, const char *format, char first[32], long long *second)
{
    FILE *file = fopen(path, "r");
    if (!file)
        return false;
    *second = 0;
    bool is_read = fscanf(file, format, first, second) >= 1;
    fclose(file);
    return is_read;
}

/* CPU time in cores, from quota and period; 0 if there is no limit. */
static double by_period(const char *quota, long long period)
{
    long long allowed = strtoll(quota, NULL, 10); /* 0 for "max"; -1 if there is no limit */
    return allowed > 0 && period > 0 ? (double)allowed / (double)period : 0;
}

/* The limit of one version 2 group. */
static double limit_2(const char *folder)
{
    char path[PATH_MAX];
    char quota[32];
    long long period;
    snprintf(path, sizeof path, "%.4000s/cpu.max", folder);
    return read_words(path, "%31s %lld", quota, &period) ? by_period(quota, period) : 0;
}

/* The limit of one version 1 group. */
static double limit_1(const char *folder)
{
    char path[PATH_MAX];
    char quota[32];
    char period[32];
    long long unused;
    snprintf(path, sizeof path, "%.4000s/cpu.cfs_quota_us", folder);
    if (!read_words(path, "%31s", quota, &unused))
        return 0;
    snprintf(path, sizeof path, "%.4000s/cpu.cfs_period_us", folder);
    if (!read_words(path, "%31s", period, &unused))
        return 0;
    return by_period(quota, strtoll(period, NULL, 10));
}

static double smaller(double a, double b)
{
    return a > 0 && (b <= 0 || a < b) ? a : b;
}

/* The smallest limit of a group and of those above it. In a container the group's name may be that
 * of the host, which is not visible from inside; the top of the tree is then the container's own
 * group. */
static double limit_upwards(const char *top, const char *group, double (*limit)(const char *))
{
    char folder[PATH_MAX];
    double least = 0;
    snprintf(folder, sizeof folder, "%.1000s%.2000s", top, group);
    for (size_t end = strlen(folder); end >= strlen(top); end--) {
        bool is_whole = folder[end] == '\0' || folder[end] == '/';
        folder[end] = '\0';
        if (is_whole)
            least = smaller(limit(folder), least);
    }
    return least;
}

static bool has_word(const char *list, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = strstr(list, word); at; at = strstr(at + 1, word))
        if ((at == list || at[-1] == ',') && (at[length] == ',' || at[length] == '\0'))
            return true;
    return false;
}

/* A line of /proc/self/cgroup: number:controllers:group; version 2 has no controllers. */
static double limit_of_line(const char *root, char *line)
{
    char top[PATH_MAX];
    char *controllers = strchr(line, ':');
    char *group = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!group)
        return 0;
    *group++ = '\0';
    controllers++;
    group[strcspn(group, "\n")] = '\0';
    if (controllers[0] == '\0') {
        snprintf(top, sizeof top, "%.900s/sys/fs/cgroup", root);
        return limit_upwards(top, group, limit_2);
    }
    if (!has_word(controllers, "cpu"))
        return 0;
    snprintf(top, sizeof top, "%.900s/sys/fs/cgroup/cpu", root); /* may be a symlink */
    return limit_upwards(top, group, limit_1);
}

double syn_cores_quota(const char *root)
{
    char path[PATH_MAX];
    char line[PATH_MAX];
    double least = 0;
    snprintf(path, sizeof path, "%.900s/proc/self/cgroup", root);
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file))
        least = smaller(limit_of_line(root, line), least);
    if (file)
        fclose(file);
    return least;
}
