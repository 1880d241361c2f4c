/* An exchange that follows the density of each step. */
#include "check.h"

#include <math.h>

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
    for (size_t buckets = 0; buckets < 2; buckets++) {
        struct fixture fixture = fixture_for("ssgd");
        double handed = 0;
        double left = 0;
        fixture.options.exchange = "adaptive";
        fixture.options.residual = "feedback";
        fixture.options.density = 1;
        fixture.options.density_max = 0.1;
        fixture.options.bucket_bytes = buckets * 1000;
        fixture_run(&fixture, 3, 20000, change_the_density);
        for (size_t w = 0; w < 3; w++) {
            assert_true(fixture.holds[w]);
            handed += fixture.handed[w];
            left += fixture.left[w];
        }
        assert_true(fabs(handed - fixture.applied[0] - left) < 1e-3);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_share_of_everything_is_delivered_as_a_list),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
