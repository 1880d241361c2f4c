/* Threads that are workers. */
#include "workers.h"

#include <pthread.h>

#include "check.h"

struct place {
    struct syn_group *group;
    size_t rank;
    worker_function *member;
    void *context;
};

static void *work(void *argument)
{
    struct place *place = argument;
    place->member(place->group, place->rank, place->context);
    return NULL;
}

void run_workers(size_t workers, unsigned timeout_ms, worker_function *member, void *context)
{
    struct syn_group *groups[MEMBERS_MOST];
    struct place places[MEMBERS_MOST];
    pthread_t threads[MEMBERS_MOST];
    struct syn_group_options options;
    syn_settings_defaults(&syn_group_settings, &options);
    options.timeout_ms = timeout_ms;
    assert_ok(syn_group_open_threads(workers, &options, groups));
    for (size_t i = 0; i < workers; i++) {
        places[i] = (struct place){groups[i], i, member, context};
        assert_int_equal(pthread_create(&threads[i], NULL, work, &places[i]), 0);
    }
    for (size_t i = 0; i < workers; i++)
        pthread_join(threads[i], NULL);
    for (size_t i = 0; i < workers; i++)
        syn_group_close(groups[i]);
}
