/* Local steps with an outer update: what it equals, what it keeps, what it refuses. */
#include "check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cluster_check.h"

/* A plain run, without the rest that recipes bring. */
static struct cluster *plain(const char *recipe, size_t servers)
{
    struct cluster *cluster = cluster_of(recipe, servers);
    return with(with(cluster, "momentum", "0"), "weight_decay", "0.01");
}

static void assert_close(struct cluster *one, struct cluster *other, float distance)
{
    for (size_t e = 0; e < CLUSTER_SIZE; e++)
        if (!(fabsf(one->weights[0][e] - other->weights[0][e]) <= distance))
            fail_msg("entry %zu: %g and %g", e, (double)one->weights[0][e],
                     (double)other->weights[0][e]);
    free(one);
    free(other);
}

static void one_inner_step_with_outer_rate_one_is_ssgd(void **state)
{
    (void)state;
    static const size_t servers[] = {0, 2};
    for (size_t t = 0; t < 4; t++)
        for (int s = 0; s < 2; s++) {
            struct cluster *local = plain("diloco", servers[s]);
            with(with(with(local, "inner_steps", "1"), "outer_lr", "1"), "outer_momentum", "0");
            assert_close(run_cluster(local, worker_counts[t]),
                         run_cluster(plain("ssgd", servers[s]), worker_counts[t]), 2e-6F);
        }
}

static void a_worker_by_itself_only_trains(void **state)
{
    (void)state;
    static const char *const late[] = {"off", "on"};
    for (int i = 0; i < 2; i++) {
        struct cluster *local = plain("diloco", 0);
        with(with(with(local, "inner_steps", "5"), "outer_lr", "1"), "outer_momentum", "0");
        with(local, "outer_late", late[i]);
        local->steps = 20;
        local->options.run_steps = 20;
        struct cluster *alone = plain("ssgd", 0);
        alone->steps = 20;
        assert_close(run_cluster(local, 1), run_cluster(alone, 1), 1e-5F);
    }
}

/* run_cluster() compares the weights of all workers. */
static void all_workers_end_with_the_same_bits_and_twice_the_same(void **state)
{
    (void)state;
    static const char *const recipes[] = {"diloco", "sparseloco"};
    static const char *const late[] = {"off", "on"};
    static const char *const optimizers[] = {"sgd", "adamw", "lamb"};
    for (size_t t = 0; t < 4; t++)
        for (int i = 0; i < 12; i++) {
            struct cluster *runs[2];
            for (int twice = 0; twice < 2; twice++) {
                runs[twice] = cluster_of(recipes[i % 2], 0);
                with(with(runs[twice], "inner_steps", "4"), "outer_late", late[i / 2 % 2]);
                with(runs[twice], "optimizer", optimizers[i / 4]);
                run_cluster(runs[twice], worker_counts[t]);
            }
            assert_close(runs[0], runs[1], 0);
        }
}

static bool spoil(struct cluster *cluster, size_t rank, size_t step, float *gradient)
{
    (void)cluster;
    if (step == 6 && rank == 0)
        gradient[17] = NAN;
    return true;
}

/* In the same call on all workers, with the tensor's name. */
static void a_round_with_a_bad_gradient_fails_on_all_workers(void **state)
{
    (void)state;
    struct cluster *cluster = cluster_of("diloco", 0);
    with(cluster, "inner_steps", "4");
    cluster->before = spoil;
    run_workers(3, LONG_MS, cluster_member, cluster);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(cluster->status[i], SYN_NONFINITE);
        assert_non_null(strstr(cluster->cause[i], "gradient"));
    }
    free(cluster);
}

/* Settling, as for an evaluation, changes nothing. */
static void settling_in_the_middle_of_a_round_changes_nothing(void **state)
{
    (void)state;
    static const char *const late[] = {"off", "on"};
    for (int i = 0; i < 2; i++) {
        struct cluster *settled = cluster_of("sparseloco", 0);
        struct cluster *other = cluster_of("sparseloco", 0);
        with(with(settled, "inner_steps", "4"), "outer_late", late[i]);
        with(with(other, "inner_steps", "4"), "outer_late", late[i]);
        settled->settle_every = 3;
        assert_close(run_cluster(settled, 3), run_cluster(other, 3), 0);
    }
}

static void workers_send_once_in_a_round(void **state)
{
    (void)state;
    struct cluster *local =
        with(with(cluster_of("diloco", 0), "inner_steps", "10"), "compare_every", "0");
    struct cluster *every = with(cluster_of("ssgd", 0), "compare_every", "0");
    local->steps = every->steps = 40;
    run_cluster(local, 3);
    run_cluster(every, 3);
    assert_int_equal(local->cost[0].bytes_out * 10, every->cost[0].bytes_out);
    free(local);
    free(every);
}

static void what_makes_no_sense_with_local_steps_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *name, *value, *reason;
    } cases[] = {{"momentum_form", "corrected", "momentum-form"},
                 {"send_updates", "on", "send-updates"},
                 {"density", "auto", "density auto"}};
    for (int i = 0; i < 3; i++) {
        struct cluster *cluster = with(cluster_of("diloco", 0), cases[i].name, cases[i].value);
        assert_status(SYN_INVALID, syn_worker_check(&cluster->options));
        assert_non_null(strstr(syn_error_text(), cases[i].reason));
        free(cluster);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_inner_step_with_outer_rate_one_is_ssgd),
        cmocka_unit_test(a_worker_by_itself_only_trains),
        cmocka_unit_test(all_workers_end_with_the_same_bits_and_twice_the_same),
        cmocka_unit_test(a_round_with_a_bad_gradient_fails_on_all_workers),
        cmocka_unit_test(settling_in_the_middle_of_a_round_changes_nothing),
        cmocka_unit_test(workers_send_once_in_a_round),
        cmocka_unit_test(what_makes_no_sense_with_local_steps_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
