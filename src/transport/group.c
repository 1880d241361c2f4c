/* Memberships: creating and leaving a group, and the table of transports. Using a membership is in
 * wait.c. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "transport/alive.h"
#include "transport/attend.h"
#include "transport/launcher.h"

#define SYN_PART(name) extern const struct syn_transport_type syn_transport_##name;
#include "transport/transports.def"
#undef SYN_PART

static const struct syn_transport_type *const rows[] = {
#define SYN_PART(name) &syn_transport_##name,
#include "transport/transports.def"
#undef SYN_PART
};

static const struct syn_setting settings[] = {
#define SYN_SETTING(...) SYN_SETTING_ROW(struct syn_group_options, __VA_ARGS__),
#include <syncopate/group_options.def>
#undef SYN_SETTING
};

const struct syn_settings_table syn_group_settings = {"Group", settings,
                                                      sizeof settings / sizeof settings[0]};

SYN_TABLE(transport, struct syn_transport_type)

enum syn_status syn_group_open(const char *transport, const struct syn_group_place *place,
                               const struct syn_group_options *options, struct syn_group **groups)
{
    const struct syn_group_place nowhere = {0};
    const struct syn_transport_type *type = syn_transport_find(transport);
    if (!type)
        return syn_fail_choice("transport", transport, syn_transport_name);
    return type->open(place ? place : &nowhere, options, groups);
}

enum syn_status syn_group_open_threads(size_t workers, const struct syn_group_options *options,
                                       struct syn_group **groups)
{
    return syn_group_open("threads", &(struct syn_group_place){.workers = workers}, options,
                          groups);
}

enum syn_status syn_group_open_mpi(const void *communicator,
                                   const struct syn_group_options *options,
                                   struct syn_group **group)
{
    return syn_group_open("mpi", &(struct syn_group_place){.communicator = communicator}, options,
                          group);
}

enum syn_status syn_group_open_caller(const struct syn_caller_transport *transport, size_t rank,
                                      size_t workers, const struct syn_group_options *options,
                                      struct syn_group **group)
{
    const struct syn_group_place place = {workers, rank, NULL, transport};
    return syn_group_open("caller", &place, options, group);
}

void syn_group_end_all(int exit_code)
{
    for (size_t i = 0; syn_transport_row(i) && syn_launcher_lets_wait(); i++)
        if (syn_transport_row(i)->end_all)
            syn_transport_row(i)->end_all(exit_code);
}

enum syn_status syn_group_new(const struct syn_transport_type *type, size_t rank, size_t size,
                              const struct syn_group_options *options, size_t state_bytes,
                              struct syn_group **group)
{
    struct syn_group_options checked;
    syn_settings_defaults(&syn_group_settings, &checked);
    if (options)
        checked = *options;
    SYN_TRY(syn_settings_check(&syn_group_settings, &checked));

    struct syn_group *made;
    SYN_TRY(syn_allocate(1, sizeof *made, &made));
    pthread_mutex_init(&made->mutex, NULL);
    enum syn_status status = syn_allocate(size, sizeof *made->peers, &made->peers);
    if (status == SYN_OK)
        status = syn_allocate(1, state_bytes, &made->state);
    if (status != SYN_OK) {
        syn_group_free(made);
        return status;
    }
    made->type = type;
    made->rank = rank;
    made->size = size;
    made->workers = size;
    made->timeout_ns = (int64_t)checked.timeout_ms * 1000000;
    *group = made;
    return SYN_OK;
}

void syn_group_free(struct syn_group *group)
{
    if (!group)
        return;
    syn_circle_free(group);
    pthread_mutex_destroy(&group->mutex);
    free(group->state);
    free(group->peers);
    free(group);
}

void syn_group_close(struct syn_group *group)
{
    if (!group)
        return;
    syn_attend_end(group);
    group->type->close(group);
    syn_group_free(group);
}

void syn_group_leave(struct syn_group *group, enum syn_status status, const char *cause)
{
    syn_group_abandon(group, status, cause);
}

size_t syn_group_rank(const struct syn_group *group)
{
    return group->rank;
}

size_t syn_group_workers(const struct syn_group *group)
{
    return group->workers;
}

size_t syn_group_size(const struct syn_group *group)
{
    return group->size;
}

size_t syn_group_servers(const struct syn_group *group)
{
    return group->size - group->workers;
}

enum syn_status syn_group_appoint(struct syn_group *group, size_t servers)
{
    if (servers >= group->size)
        return syn_fail(SYN_INVALID, "%zu servers in a group of %zu leave no worker", servers,
                        group->size);
    pthread_mutex_lock(&group->mutex);
    group->workers = group->size - servers;
    pthread_mutex_unlock(&group->mutex);
    return SYN_OK;
}

void syn_group_enter(struct syn_group *group)
{
    pthread_mutex_lock(&group->mutex);
    group->entered += group->depth++ == 0;
    pthread_mutex_unlock(&group->mutex);
}

void syn_group_depart(struct syn_group *group)
{
    pthread_mutex_lock(&group->mutex);
    if (--group->depth == 0)
        group->departed = group->entered;
    pthread_mutex_unlock(&group->mutex);
}

void syn_group_break(struct syn_group *group, enum syn_status status, const char *cause)
{
    pthread_mutex_lock(&group->mutex);
    group->broken = status;
    snprintf(group->cause, sizeof group->cause, "%s", cause);
    pthread_mutex_unlock(&group->mutex);
}

struct syn_member_name syn_group_name(const struct syn_group *group, size_t rank)
{
    struct syn_member_name name;
    bool is_server = rank >= group->workers;
    uint32_t number = (uint32_t)(is_server ? rank - group->workers : rank);
    snprintf(name.text, sizeof name.text, "%s %" PRIu32, is_server ? "server" : "worker", number);
    return name;
}

bool syn_group_is_one_process(const struct syn_group *group)
{
    return group->type->is_one_process;
}

const char *syn_group_transport(const struct syn_group *group)
{
    return group->type->part.name;
}
