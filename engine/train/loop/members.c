/* Threads, one for each member but the first. */
#include "engine/train/loop/members.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

struct hand {
    syn_crew_job *job;
    void *context;
    size_t member;
    pthread_t thread;
    bool is_started;
};

static void *work(void *argument)
{
    const struct hand *hand = argument;
    hand->job(hand->context, hand->member);
    return NULL;
}

void syn_crew_run(struct syn_group *const *groups, size_t count, syn_crew_job *job, void *context)
{
    struct hand *hands = calloc(count, sizeof *hands);
    for (size_t i = 1; i < count; i++) {
        bool is_started = false;
        if (hands) {
            hands[i] = (struct hand){.job = job, .context = context, .member = i};
            is_started = pthread_create(&hands[i].thread, NULL, work, &hands[i]) == 0;
            hands[i].is_started = is_started;
        }
        if (!is_started)
            syn_group_leave(groups[i], SYN_MEMORY, "cannot start a thread for a member of the run");
    }
    job(context, 0);
    for (size_t i = 1; i < count && hands; i++)
        if (hands[i].is_started)
            pthread_join(hands[i].thread, NULL);
    free(hands);
}
