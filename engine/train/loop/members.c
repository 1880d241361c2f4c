/* One thread for each member except the first. */
#include "engine/train/loop/members.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

struct member {
    syn_member_work *work;
    void *context;
    size_t rank;
    pthread_t thread;
    bool is_started;
};

static void *start(void *argument)
{
    const struct member *member = argument;
    member->work(member->context, member->rank);
    return NULL;
}

void syn_members_run(struct syn_group *const *groups, size_t count, syn_member_work *work,
                     void *context)
{
    struct member *members = calloc(count, sizeof *members);
    for (size_t i = 1; i < count; i++) {
        bool is_started = false;
        if (members) {
            members[i] = (struct member){.work = work, .context = context, .rank = i};
            is_started = pthread_create(&members[i].thread, NULL, start, &members[i]) == 0;
            members[i].is_started = is_started;
        }
        if (!is_started)
            syn_group_leave(groups[i], SYN_MEMORY, "cannot start a thread for a member of the run");
    }
    work(context, 0);
    for (size_t i = 1; i < count && members; i++)
        if (members[i].is_started)
            pthread_join(members[i].thread, NULL);
    free(members);
}
