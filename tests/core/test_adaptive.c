/* An exchange that follows the density of each step. */
#include "check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"

enum { SIZE = FIXTURE_SIZE };

/* Steps at changing densities: everything comes as an array, a share of it as an ascending list
 * over all buckets with no more entries than were sent; and nothing is lost. */
static void change_the_density(struct fixture *fixture, struct syn_reducer *reducer, size_t rank)
{
    static const double densities[] = {1, 0.1, 0.02, 1, 0.1};
    bool holds = true;
    for (size_t i = 0; i < sizeof densities / sizeof *densities; i++) {
        float gradient[SIZE];
        struct syn_step step = syn_reducer_step(reducer);
        struct syn_ticket ticket;
        struct syn_merged merged = {0};
        scenario_gradient(RANDOM, rank, i, gradient, SIZE);
        step.density = densities[i];
        holds = holds && syn_reducer_begin(reducer, gradient, &step, &ticket) == SYN_OK &&
                syn_reducer_wait(reducer, ticket, &merged) == SYN_OK;
        holds = holds && (merged.dense != NULL) == (densities[i] == 1);
        for (size_t e = 0; holds && e < merged.count; e++) {
            bool is_in_order = merged.dense || e == 0 || merged.index[e - 1] < merged.index[e];
            holds = is_in_order && (merged.dense || merged.index[e] < SIZE);
            fixture->applied[rank] += (double)(merged.dense ? merged.dense[e] : merged.value[e]);
        }
        if (!merged.dense)
            holds = holds && merged.count > 0 && merged.count <= fixture->workers * SIZE / 9;
        for (size_t e = 0; e < SIZE; e++)
            fixture->handed[rank] += (double)gradient[e];
    }
    const float *left = syn_reducer_residual(reducer);
    for (size_t e = 0; left && e < SIZE; e++)
        fixture->left[rank] += (double)left[e];
    fixture->holds[rank] = holds;
}

static void a_share_of_everything_is_delivered_as_a_list(void **state)
{
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        struct fixture fixture = fixture_for("ssgd");
        double handed = 0;
        double left = 0;
        fixture.options.values = i / 2 ? "q4" : "f32";
        fixture.options.exchange = "adaptive";
        fixture.options.residual = "feedback";
        fixture.options.density = 1;
        fixture.options.density_max = 0.1;
        fixture.options.bucket_bytes = i % 2 * 1000;
        fixture_run(&fixture, 3, 20000, change_the_density);
        for (size_t w = 0; w < 3; w++) {
            assert_true(fixture.holds[w]);
            handed += fixture.handed[w];
            left += fixture.left[w];
        }
        assert_true(fabs(handed - fixture.applied[0] - left) < 1e-3);
    }
}

static int by_magnitude(const void *a, const void *b)
{
    float x = fabsf(*(const float *)a);
    float y = fabsf(*(const float *)b);
    return (x < y) - (x > y);
}

/* Alone, a worker gets back what it sent. Where the last search ended tells little here about where
 * this one must begin: magnitudes jump up and down, and so does the density. */
static void pick_what_is_largest(struct fixture *fixture, struct syn_reducer *reducer, size_t rank)
{
    static const float scales[] = {1, 1, 1, 1e-6F, 1e-6F, 1e6F, 1, 0, 1, 1, 1e-3F, 1e3F};
    float unsent[SIZE] = {0};
    float sorted[SIZE];
    bool holds = true;
    for (size_t i = 0; holds && i < 3 * sizeof scales / sizeof *scales; i++) {
        float gradient[SIZE];
        struct syn_step step = syn_reducer_step(reducer);
        struct syn_ticket ticket;
        struct syn_merged merged = {0};
        scenario_gradient(RANDOM, rank, i, gradient, SIZE);
        step.density = i % 5 == 4 ? 0.1 : 0.02;
        for (size_t e = 0; e < SIZE; e++) {
            gradient[e] *= scales[i % (sizeof scales / sizeof *scales)];
            unsent[e] += gradient[e];
        }
        memcpy(sorted, unsent, sizeof sorted);
        qsort(sorted, SIZE, sizeof *sorted, by_magnitude);
        size_t share = i % 5 == 4 ? SIZE / 10 : SIZE / 50;
        holds = syn_reducer_begin(reducer, gradient, &step, &ticket) == SYN_OK &&
                syn_reducer_wait(reducer, ticket, &merged) == SYN_OK && merged.count == share;
        for (size_t e = 0; holds && e < merged.count; e++) {
            holds = merged.value[e] == unsent[merged.index[e]] &&
                    fabsf(merged.value[e]) >= fabsf(sorted[share - 1]);
            unsent[merged.index[e]] = 0;
        }
    }
    fixture->holds[rank] = holds;
}

static void the_largest_entries_are_picked_however_magnitudes_change(void **state)
{
    (void)state;
    struct fixture fixture = fixture_for("ssgd");
    fixture.options.exchange = "adaptive";
    fixture.options.residual = "feedback";
    fixture.options.density = 1;
    fixture.options.density_max = 0.1;
    fixture_run(&fixture, 1, 20000, pick_what_is_largest);
    assert_true(fixture.holds[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_share_of_everything_is_delivered_as_a_list),
        cmocka_unit_test(the_largest_entries_are_picked_however_magnitudes_change),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
