/* What workers tell each other between steps. */
#include "check.h"

#include <string.h>

#include "fixture.h"

enum { SIZE = FIXTURE_SIZE };

/* While a step is under way; then worker 1 leaves without the second gathering. */
static void gather_numbers(struct fixture *fixture, struct syn_reducer *reducer, size_t rank)
{
    static _Thread_local float gradient[SIZE];
    uint16_t all[WORKERS_MOST] = {0};
    uint16_t mine = (uint16_t)(1000 + rank);
    struct syn_ticket ticket;
    struct syn_merged merged;
    scenario_gradient(RANDOM, rank, 0, gradient, SIZE);
    bool holds = syn_reducer_begin(reducer, gradient, NULL, &ticket) == SYN_OK &&
                 syn_reducer_gather(reducer, &mine, sizeof mine, all) == SYN_OK &&
                 syn_reducer_wait(reducer, ticket, &merged) == SYN_OK;
    for (size_t w = 0; w < fixture->workers; w++)
        holds = holds && all[w] == 1000 + w;
    fixture->holds[rank] = holds;
    if (rank != fixture->odd_one)
        fixture_note(fixture, rank, syn_reducer_gather(reducer, &mine, sizeof mine, all));
}

static void gathering_gives_everybodys_bytes_and_names_who_left(void **state)
{
    (void)state;
    struct fixture fixture = fixture_for("gtopk");
    fixture_run(&fixture, 3, 1000, gather_numbers);
    for (size_t w = 0; w < 3; w++) {
        assert_true(fixture.holds[w]);
        if (w == fixture.odd_one)
            continue;
        assert_true(fixture.got[w] == SYN_TIMEOUT || fixture.got[w] == SYN_PEER);
        if (!strstr(fixture.cause[w], "worker 1 has closed"))
            fail_msg("%s", fixture.cause[w]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gathering_gives_everybodys_bytes_and_names_who_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
