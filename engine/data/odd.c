/* Files that cannot be read do not end a run, but are not skipped silently either. Each is logged
 * when it is first met. The workers of a process have separate sets but the same files, so the
 * record of what has been logged is per process. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/fail.h"
#include "engine/data/pictures.h"

/* Logged one by one; the rest are only counted. */
#define MOST_LINES 20

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* guards what follows */
static size_t open_sets;
static uint64_t *met; /* hashes of their paths */
static size_t count;
static size_t capacity;
static char first[SYN_PATH_BYTES];

static uint64_t hash(uint64_t h, const char *text)
{
    for (; *text; text++)
        h = (h ^ (uint8_t)*text) * 0x100000001b3U;
    return h;
}

/* Whether it was not known. If there is no memory to record it, it is logged again, which is
 * harmless. */
static bool is_new(uint64_t name)
{
    for (size_t i = 0; i < count; i++)
        if (met[i] == name)
            return false;
    if (count == capacity) {
        size_t wanted = capacity ? 2 * capacity : 64;
        uint64_t *grown = realloc(met, wanted * sizeof *met);
        if (!grown)
            return true;
        met = grown;
        capacity = wanted;
    }
    met[count++] = name;
    return true;
}

void syn_odd_log(const char *root, const char *name, const char *why)
{
    uint64_t h = hash(hash(0xcbf29ce484222325U, root), name);
    pthread_mutex_lock(&mutex);
    if (is_new(h)) {
        if (count == 1)
            snprintf(first, sizeof first, "%.500s/%.400s", root, name);
        if (count <= MOST_LINES)
            syn_report_log(SYN_LOG_WARNING, "%s/%s is left out: %s", root, name, why);
    }
    pthread_mutex_unlock(&mutex);
}

void syn_odd_open(void)
{
    pthread_mutex_lock(&mutex);
    open_sets++;
    pthread_mutex_unlock(&mutex);
}

void syn_odd_close(void)
{
    pthread_mutex_lock(&mutex);
    if (--open_sets == 0) {
        if (count > 0)
            syn_report_log(SYN_LOG_WARNING,
                           "%zu %s could not be read and %s left out; the first is %s", count,
                           count == 1 ? "example" : "examples", count == 1 ? "was" : "were", first);
        free(met);
        met = NULL;
        count = capacity = 0;
    }
    pthread_mutex_unlock(&mutex);
}
