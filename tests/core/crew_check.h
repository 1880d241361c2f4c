/* Crews in cmocka tests. */
#ifndef SYN_TEST_CREW_CHECK_H
#define SYN_TEST_CREW_CHECK_H

#include "check.h"

#include "crew.h"

#define LONG_MS 20000

static const size_t teams[] = {1, 2, 3, 5};

/* Run it, all going well and all workers ending at the same weights. */
static inline struct crew *play(struct crew *crew, size_t workers)
{
    team_run(workers + crew->servers, LONG_MS, crew_member, crew);
    for (size_t i = 0; i < workers + crew->servers; i++)
        if (crew->status[i] != SYN_OK)
            fail_msg("member %zu of %zu + %zu: %s", i, workers, crew->servers, crew->cause[i]);
    for (size_t i = 0; i < workers; i++)
        assert_memory_equal(crew->weights[i], crew->weights[0], sizeof crew->weights[0]);
    return crew;
}

static inline struct crew *with(struct crew *crew, const char *name, const char *value)
{
    assert_ok(crew_set(crew, name, value));
    return crew;
}

/* Every form that a push can have. */
static inline struct crew *pushing(size_t form, size_t servers)
{
    static const char *const recipes[] = {"ssgd", "ssgd", "topk", "topk", "topk", "strom"};
    struct crew *crew = crew_of(recipes[form], servers);
    if (form == 1)
        with(with(crew, "values", "f16"), "residual", "feedback");
    if (form == 3)
        with(with(crew, "select", "threshold"), "threshold", "1.5");
    if (form == 4)
        with(with(crew, "values", "f16"), "indices", "raw");
    return crew;
}
enum { FORMS = 6 };

#endif
