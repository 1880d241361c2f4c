/* Parameter servers that apply every push at once: they come to the bottom, count staleness and
 * compensate for it. */
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "cluster_check.h"
#include "scenario.h"

static void asgd_comes_to_the_bottom_and_tells_its_staleness(void **state)
{
    (void)state;
    for (int t = 0; t < 4; t++)
        for (int form = 0; form < 3; form++) {
            struct cluster *cluster = cluster_of("asgd", 2);
            cluster->options.optimizer.weight_decay = 0;
            cluster->is_common = true;
            cluster->steps = 300;
            if (form == 1)
                with(cluster, "compensation", "0.1");
            if (form == 2)
                with(with(with(cluster, "select", "topk"), "exchange", "allgather"), "density",
                     "0.2");
            run_cluster(cluster, worker_counts[t]);
            double stale = 0;
            for (size_t i = 0; i < CLUSTER_SIZE; i++)
                assert_true(fabsf(cluster->weights[0][i] - (float)(i % 7) * 0.1F) < 1e-2F);
            for (size_t p = 0; p < worker_counts[t]; p++) {
                assert_int_equal(cluster->cost[p].answers, cluster->steps);
                assert_true(cluster->cost[p].staleness <= (double)cluster->cost[p].staleness_most);
                stale += cluster->cost[p].staleness;
            }
            assert_true(worker_counts[t] == 1 ? stale == 0 : stale > 0);
            free(cluster);
        }
}

/* Two workers take turns: worker 0 makes a step, worker 1 makes four, worker 0 makes its second. */
static pthread_barrier_t turn;

static bool take_turns(struct cluster *cluster, size_t rank, size_t step, float *gradient)
{
    (void)cluster;
    if (rank == 0 && step == 1) {
        pthread_barrier_wait(&turn);
        pthread_barrier_wait(&turn);
    }
    if (rank == 1 && step == 0)
        pthread_barrier_wait(&turn);
    if (rank == 1 && step == 4)
        pthread_barrier_wait(&turn);
    for (size_t i = 0; i < CLUSTER_SIZE; i++)
        gradient[i] = (float)(1 + rank) * (i % 2 ? 1.0F : -1.0F);
    return !(rank == 0 && step == 2) && !(rank == 1 && step == 4);
}

static struct cluster *run_in_turns(struct cluster *cluster)
{
    cluster->before = take_turns;
    cluster->options.optimizer.weight_decay = 0;
    pthread_barrier_init(&turn, NULL, 2);
    run_workers(2 + cluster->servers, LONG_MS, cluster_member, cluster);
    pthread_barrier_destroy(&turn);
    for (size_t i = 0; i < 2 + cluster->servers; i++)
        if (cluster->status[i] != SYN_OK)
            fail_msg("member %zu: %s", i, cluster->cause[i]);
    return cluster;
}

static void a_gradient_is_compensated_for_its_own_delay(void **state)
{
    (void)state;
    for (int send_updates = 0; send_updates < 2; send_updates++) {
        struct cluster *cluster = with(cluster_of("asgd", 2), "compensation", "0.5");
        if (send_updates)
            with(with(cluster, "residual", "feedback"), "send_updates", "on");
        run_in_turns(cluster);
        for (size_t i = 0; i < CLUSTER_SIZE; i++) {
            double sign = i % 2 ? 1 : -1;
            double lambda = 0.5;
            double p1 = (double)cluster->first[i]; /* worker 1 begins with the first weights */
            double w = p1 - cluster->lr * sign; /* worker 0's first: computed at where it is used */
            double p = w;                       /* worker 0 has pulled */
            for (int step = 0; step < 4; step++) {
                double g = 2 * sign;
                w -= cluster->lr * (g + lambda * g * g * (w - p1));
                p1 = w;
            }
            w -= cluster->lr * (sign + lambda * (w - p));
            if (fabs((double)cluster->last[0][i] - w) > 1e-6)
                fail_msg("weight %zu: %.8g instead of %.8g", i, (double)cluster->last[0][i], w);
        }
        free(cluster);
    }
}

struct counting {
    struct syn_cost cost[2];
    enum syn_status status[3];
};

static void count_staleness(struct syn_group *group, size_t rank, void *context)
{
    struct counting *counting = context;
    static const size_t tensors[] = {10, SIZE_MAX};
    static const float zeros[10];
    struct syn_worker_options options;
    struct syn_layout *layout;
    struct syn_worker *worker = NULL;
    float weights[10];
    struct syn_rates rates = {.lr = 0.1};
    syn_worker_defaults(&options);
    options.schedule = "async";
    scenario_layout(tensors, &layout);
    syn_group_appoint(group, 1);
    if (rank == 2) {
        counting->status[2] = syn_worker_serve(group, layout, &options, zeros);
        syn_layout_free(layout);
        return;
    }
    counting->status[rank] = syn_worker_open(group, layout, &options, zeros, &worker);
    if (rank == 1)
        pthread_barrier_wait(&turn);
    for (int step = 0; step < 4; step++) {
        if (rank == 0 && step == 1) { /* worker 1 makes four steps meanwhile */
            pthread_barrier_wait(&turn);
            pthread_barrier_wait(&turn);
        }
        counting->status[rank] |= syn_worker_step(worker, zeros, &rates, weights);
        if (rank == 0 && step == 1)
            counting->cost[0] = syn_worker_last_cost(worker);
    }
    if (rank == 1)
        pthread_barrier_wait(&turn);
    counting->cost[1] = rank == 1 ? syn_worker_total_cost(worker) : counting->cost[1];
    syn_worker_close(worker);
    syn_layout_free(layout);
}

static void staleness_is_the_number_of_updates_in_between(void **state)
{
    (void)state;
    struct counting counting = {0};
    pthread_barrier_init(&turn, NULL, 2);
    run_workers(3, LONG_MS, count_staleness, &counting);
    pthread_barrier_destroy(&turn);
    for (int i = 0; i < 3; i++)
        assert_int_equal(counting.status[i], SYN_OK);
    assert_true(counting.cost[0].staleness == 4);
    assert_int_equal(counting.cost[0].staleness_most, 4);
    /* Worker 1's first gradient met one update, the others none. */
    assert_true(counting.cost[1].staleness == 0.25);
    assert_int_equal(counting.cost[1].staleness_most, 1);
}

/* Worker 0 is slow in its first steps; worker 1 notes how far ahead it gets. */
static atomic_size_t slow_steps;
static size_t most_ahead;

static bool note_lead(struct cluster *cluster, size_t rank, size_t step, float *gradient)
{
    (void)cluster;
    (void)gradient;
    if (rank == 0) {
        struct timespec pause = {.tv_nsec = step < 10 ? 5000000 : 0};
        nanosleep(&pause, NULL);
        atomic_store(&slow_steps, step); /* steps that are answered */
        return true;
    }
    size_t others = atomic_load(&slow_steps);
    if (step > others && step - others > most_ahead)
        most_ahead = step - others;
    return true;
}

static void nobody_gets_further_ahead_than_the_lag_allows(void **state)
{
    (void)state;
    static const char *const recipes[] = {"asgd", "strom"};
    for (int r = 0; r < 2; r++)
        for (size_t servers = 1; servers < 3; servers++) {
            struct cluster *cluster = with(cluster_of(recipes[r], servers), "lag", "2");
            cluster->before = note_lead;
            cluster->steps = 40;
            most_ahead = 0;
            atomic_store(&slow_steps, 0);
            run_cluster(with(cluster, "schedule", "async"), 2);
            /* One more has been applied when worker 0 has not noted it yet. */
            assert_in_range(most_ahead, 1, 3);
            for (size_t p = 0; p < 2; p++)
                assert_true(cluster->cost[p].staleness_most <= 6);
            free(cluster);
        }
}

/* Worker 0 takes its first step only when worker 1 has come as far as it may, and stays there. */
static atomic_size_t fast_steps;
static size_t fast_steps_alone;

static bool let_the_other_go_ahead(struct cluster *cluster, size_t rank, size_t step,
                                   float *gradient)
{
    (void)gradient;
    struct timespec pause = {.tv_nsec = 5000000};
    if (rank == 1)
        atomic_store(&fast_steps, step); /* steps that are answered */
    if (rank == 1 || step > 0)
        return true;
    for (int i = 0; i < 4000 && atomic_load(&fast_steps) < cluster->options.lag; i++)
        nanosleep(&pause, NULL);
    for (int i = 0; i < 40; i++)
        nanosleep(&pause, NULL);
    fast_steps_alone = atomic_load(&fast_steps);
    return true;
}

static void one_gets_ahead_by_exactly_the_lag(void **state)
{
    (void)state;
    static const char *const lags[] = {"1", "4"};
    static const size_t expected[] = {1, 4};
    for (int i = 0; i < 2; i++) {
        struct cluster *cluster = with(cluster_of("asgd", 1), "lag", lags[i]);
        cluster->before = let_the_other_go_ahead;
        cluster->steps = 10;
        atomic_store(&fast_steps, 0);
        run_cluster(cluster, 2);
        assert_int_equal(fast_steps_alone, expected[i]);
        free(cluster);
    }
}

/* Worker 0 makes one step and settles; worker 1 makes more before than the lag would allow. */
struct settling {
    enum syn_status status[3];
    float weights[2][10];
};

static void settle_after_some_steps(struct syn_group *group, size_t rank, void *context)
{
    struct settling *settling = context;
    static const size_t tensors[] = {10, SIZE_MAX};
    static const float zeros[10];
    static const float gradient[10] = {1, 2, 3};
    struct syn_worker_options options;
    struct syn_layout *layout;
    struct syn_worker *worker = NULL;
    float weights[10];
    struct syn_rates rates = {.lr = 0.1};
    syn_worker_defaults(&options);
    options.schedule = "async";
    options.lag = 2;
    scenario_layout(tensors, &layout);
    syn_group_appoint(group, 1);
    enum syn_status status = rank == 2 ? syn_worker_serve(group, layout, &options, zeros)
                                       : syn_worker_open(group, layout, &options, zeros, &worker);
    for (int step = 0; step < (rank == 0 ? 1 : 7) && rank < 2 && status == SYN_OK; step++)
        status = syn_worker_step(worker, gradient, &rates, weights);
    if (rank < 2 && status == SYN_OK)
        status = syn_worker_settle(worker, settling->weights[rank]);
    settling->status[rank] = status;
    syn_worker_close(worker);
    syn_layout_free(layout);
}

static void a_worker_that_settles_holds_nobody_back(void **state)
{
    (void)state;
    struct settling settling = {0};
    run_workers(3, LONG_MS, settle_after_some_steps, &settling);
    for (int i = 0; i < 3; i++)
        assert_int_equal(settling.status[i], SYN_OK);
    assert_memory_equal(settling.weights[1], settling.weights[0], sizeof settling.weights[0]);
}

/* With plain descent, weights move by -lr times all that was applied. */
static void check_that_nothing_is_lost(const struct cluster *cluster, size_t workers, double unit)
{
    for (size_t i = 0; i < CLUSTER_SIZE; i++) {
        double handed = 0;
        double left = 0;
        for (size_t p = 0; p < workers; p++) {
            handed += cluster->handed[p][i];
            left += (double)cluster->residual[p][i] / unit;
        }
        double applied = ((double)cluster->first[i] - (double)cluster->weights[0][i]) / cluster->lr;
        assert_true(fabs(handed - applied - left) < 1e-3);
    }
}

static void strom_is_bounded_and_asynchronous_and_loses_nothing(void **state)
{
    (void)state;
    for (int t = 0; t < 4; t++) {
        struct cluster *cluster =
            with(with(cluster_of("strom", 1), "schedule", "async"), "lag", "3");
        cluster->is_free = true;
        cluster->options.optimizer.weight_decay = 0;
        run_cluster(cluster, worker_counts[t]);
        check_that_nothing_is_lost(cluster, worker_counts[t], cluster->lr);
        free(cluster);
    }
}

/* Each share of entries is a push of its own, and all those of a step count as one update. */
static void steps_in_several_pushes_are_applied_whole(void **state)
{
    (void)state;
    static const struct syn_tensor_policy shares[] = {
        {.density = 0.2}, {.is_dense = true}, {0}, {0}, {.density = 0.5}};
    for (int t = 0; t < 4; t++)
        for (size_t servers = 1; servers < 4; servers++) {
            struct cluster *cluster = with(cluster_of("topk", servers), "schedule", "async");
            cluster->policies = shares;
            cluster->is_free = true;
            cluster->options.optimizer.weight_decay = 0;
            run_cluster(with(cluster, "momentum_form", "none"), worker_counts[t]);
            check_that_nothing_is_lost(cluster, worker_counts[t], 1);
            for (size_t p = 0; p < worker_counts[t]; p++) {
                assert_int_equal(cluster->cost[p].answers, cluster->steps);
                assert_true(worker_counts[t] > 1 || cluster->cost[p].staleness == 0);
            }
            free(cluster);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(asgd_comes_to_the_bottom_and_tells_its_staleness),
        cmocka_unit_test(a_gradient_is_compensated_for_its_own_delay),
        cmocka_unit_test(staleness_is_the_number_of_updates_in_between),
        cmocka_unit_test(nobody_gets_further_ahead_than_the_lag_allows),
        cmocka_unit_test(one_gets_ahead_by_exactly_the_lag),
        cmocka_unit_test(a_worker_that_settles_holds_nobody_back),
        cmocka_unit_test(strom_is_bounded_and_asynchronous_and_loses_nothing),
        cmocka_unit_test(steps_in_several_pushes_are_applied_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
