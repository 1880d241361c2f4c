/* Which workers share a core is found from the masks rather than by counting the ranks of a host: a
 * launcher may have bound each rank to its own cores, to the same ones, or not at all. */
#include "engine/train/replica/places.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/json.h"
#include "engine/train/replica/gather.h"

static bool has_core(const struct syn_place *place, size_t core)
{
    return place->mask[core / 64] >> core % 64 & 1;
}

static bool read_line(const char *path, char *line, int capacity)
{
    FILE *file = fopen(path, "r");
    if (!file)
        return false;
    bool is_read = fgets(line, capacity, file) != NULL;
    fclose(file);
    line[is_read ? strcspn(line, "\n") : 0] = '\0';
    return is_read;
}

struct syn_place syn_place_here(uint64_t asked)
{
    struct syn_place place;
    memset(&place, 0, sizeof place);
    place.asked = asked;
    if (gethostname(place.host, sizeof place.host - 1) != 0)
        snprintf(place.host, sizeof place.host, "unknown");
    if (!read_line("/proc/sys/kernel/random/boot_id", place.machine, sizeof place.machine))
        snprintf(place.machine, sizeof place.machine, "%.39s", place.host);
    syn_cores_mask(place.mask);
    place.quota = syn_cores_quota("");
    return place;
}

/* A fraction of a core justifies a thread only if there is nothing else. */
static uint64_t whole(double cores)
{
    return cores < 1 ? 1 : (uint64_t)(cores + 1e-6);
}

uint64_t syn_place_cores(const struct syn_place *place)
{
    double cores = 0;
    for (size_t core = 0; core < 64 * SYN_CORES_WORDS; core++)
        cores += has_core(place, core);
    return whole(place->quota > 0 && place->quota < cores ? place->quota : cores);
}

static bool is_same_machine(const struct syn_place *a, const struct syn_place *b)
{
    return strncmp(a->machine, b->machine, sizeof a->machine) == 0;
}

static bool is_same_container(const struct syn_place *a, const struct syn_place *b)
{
    return is_same_machine(a, b) && strncmp(a->host, b->host, sizeof a->host) == 0;
}

static double share_of_core(const struct syn_place *all, size_t count, size_t own, size_t core)
{
    size_t sharers = 0;
    for (size_t w = 0; w < count; w++)
        sharers += is_same_machine(&all[w], &all[own]) && has_core(&all[w], core);
    return 1.0 / (double)sharers;
}

uint64_t syn_places_threads(const struct syn_place *all, size_t count, size_t own)
{
    double cores = 0;
    size_t neighbours = 0;
    if (all[own].asked > 0)
        return all[own].asked;
    for (size_t core = 0; core < 64 * SYN_CORES_WORDS; core++)
        if (has_core(&all[own], core))
            cores += share_of_core(all, count, own, core);
    for (size_t w = 0; w < count; w++)
        neighbours += is_same_container(&all[w], &all[own]);
    double time = all[own].quota / (double)neighbours;
    return whole(all[own].quota > 0 && time < cores ? time : cores);
}

/* Whether two workers have the same description. */
static bool looks_like(const struct syn_place *all, size_t count, size_t a, size_t b)
{
    return is_same_container(&all[a], &all[b]) &&
           syn_place_cores(&all[a]) == syn_place_cores(&all[b]) &&
           syn_places_threads(all, count, a) == syn_places_threads(all, count, b);
}

size_t syn_places_json(const struct syn_place *all, size_t count, char *text, size_t capacity)
{
    size_t length = 0;
    for (size_t first = 0, next; first < count; first = next) {
        char row[512];
        struct syn_json json = syn_json_begin(row, sizeof row);
        for (next = first + 1; next < count && looks_like(all, count, first, next);)
            next++;
        syn_json_text(&json, "host", all[first].host);
        syn_json_count(&json, "first_worker", first);
        syn_json_count(&json, "workers", next - first);
        syn_json_count(&json, "cores", syn_place_cores(&all[first]));
        syn_json_count(&json, "threads", syn_places_threads(all, count, first));
        syn_json_end(&json);
        size_t room = length < capacity ? capacity - length : 0;
        length += (size_t)snprintf(room ? text + length : NULL, room, "%s%s%s",
                                   first == 0 ? "[" : ", ", row, next == count ? "]" : "");
    }
    return length;
}

enum syn_status syn_places_gather(struct syn_group *group, uint64_t asked, struct syn_place *all)
{
    struct syn_place here = syn_place_here(asked);
    size_t workers = syn_group_workers(group);
    if (!syn_group_is_one_process(group))
        return syn_group_rank(group) < workers ? syn_gather(group, &here, sizeof here, all)
                                               : syn_gather_attend(group);
    for (size_t w = 0; w < workers; w++)
        all[w] = here;
    return SYN_OK;
}
