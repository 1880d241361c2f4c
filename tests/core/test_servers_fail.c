/* Bad luck and bad input on parameter servers: whoever fails is named to everybody. */
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cluster_check.h"
#include "scenario.h"
#include "transport/attend.h"
#include "worker/options.h"

static atomic_size_t ended;
static size_t silent_rank;
static struct syn_group *silent_group;

static void sleep_ms(long ms)
{
    struct timespec pause = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    nanosleep(&pause, NULL);
}

/* One worker falls silent after three steps, until all others have ended. */
static bool fall_silent(struct cluster *cluster, size_t rank, size_t step, float *gradient)
{
    (void)gradient;
    if (rank != silent_rank || step < 3)
        return true;
    syn_attend_end(silent_group);
    while (atomic_load(&ended) < 2 + cluster->servers)
        sleep_ms(5);
    return false;
}

static void counted_member(struct syn_group *group, size_t rank, void *context)
{
    if (rank == silent_rank)
        silent_group = group;
    cluster_member(group, rank, context);
    atomic_fetch_add(&ended, 1);
}

static void a_silent_worker_is_named_by_everyone(void **state)
{
    (void)state;
    static const char *const recipes[] = {"ssgd", "ssd-sgd", "asgd"};
    for (int r = 0; r < 3; r++) {
        struct cluster *cluster = cluster_of(recipes[r], 2);
        cluster->steps = 1000000; /* asynchronous ones go on while one is silent */
        cluster->before = fall_silent;
        silent_rank = 1;
        atomic_store(&ended, 0);
        run_workers(5, 200, counted_member, cluster);
        for (size_t i = 0; i < 5; i++) {
            if (i == 1)
                continue;
            assert_int_equal(cluster->status[i], SYN_TIMEOUT);
            if (!strstr(cluster->cause[i], "worker 1 stayed silent"))
                fail_msg("%s, member %zu: %s", recipes[r], i, cluster->cause[i]);
        }
        free(cluster);
    }
}

/* Server 1 is opened and then falls silent. */
static void silent_server(struct syn_group *group, size_t rank, void *context)
{
    struct cluster *cluster = context;
    if (rank != 4) {
        counted_member(group, rank, context);
        return;
    }
    struct syn_worker_options options = cluster->options;
    struct syn_layout *layout;
    double momentum;
    syn_group_appoint(group, cluster->servers);
    scenario_layout(cluster->tensors, &layout);
    cluster->status[rank] = syn_worker_resolve(&options, cluster->servers, &momentum);
    if (cluster->status[rank] == SYN_OK)
        cluster->status[rank] =
            syn_worker_check_consistency(group, layout, &options, cluster->first);
    syn_attend_end(group);
    while (atomic_load(&ended) < 4)
        sleep_ms(5);
    syn_layout_free(layout);
}

static void a_silent_server_is_named_by_everyone(void **state)
{
    (void)state;
    static const char *const recipes[] = {"ssgd", "ssd-sgd", "asgd"};
    for (int r = 0; r < 3; r++) {
        struct cluster *cluster = cluster_of(recipes[r], 2);
        atomic_store(&ended, 0);
        run_workers(5, 200, silent_server, cluster);
        for (size_t i = 0; i < 4; i++) {
            assert_int_equal(cluster->status[i], SYN_TIMEOUT);
            if (!strstr(cluster->cause[i], "server 1 stayed silent"))
                fail_msg("%s, member %zu: %s", recipes[r], i, cluster->cause[i]);
        }
        assert_int_equal(cluster->status[4], SYN_OK);
        free(cluster);
    }
}

/* A time-out is 800 ms here, and one worker takes 500 for each of its gradients. */
static bool compute_for_long(struct cluster *cluster, size_t rank, size_t step, float *gradient)
{
    (void)cluster;
    (void)step;
    (void)gradient;
    if (rank == 0)
        sleep_ms(500);
    return true;
}

static void who_merely_computes_is_not_accused(void **state)
{
    (void)state;
    static const char *const recipes[] = {"ssgd", "asgd"};
    for (int r = 0; r < 2; r++) {
        struct cluster *cluster = cluster_of(recipes[r], 2);
        cluster->steps = 4;
        cluster->before = compute_for_long;
        run_workers(5, 800, cluster_member, cluster);
        for (size_t i = 0; i < 5; i++)
            if (cluster->status[i] != SYN_OK)
                fail_msg("member %zu: %s", i, cluster->cause[i]);
        free(cluster);
    }
}

static bool close_early(struct cluster *cluster, size_t rank, size_t step, float *gradient)
{
    (void)cluster;
    (void)gradient;
    return rank != 1 || step < 5;
}

static void a_worker_that_closes_early_is_found_unless_steps_are_asynchronous(void **state)
{
    (void)state;
    static const char *const recipes[] = {"ssgd", "ssd-sgd", "asgd"};
    for (int r = 0; r < 3; r++) {
        struct cluster *cluster = cluster_of(recipes[r], 2);
        cluster->before = close_early;
        cluster->options.compare_every = 0;
        run_workers(5, LONG_MS, cluster_member, cluster);
        for (size_t i = 0; i < 5; i++) {
            if (r == 2 || i == 1) {
                assert_int_equal(cluster->status[i], SYN_OK);
                continue;
            }
            assert_int_equal(cluster->status[i] == SYN_MISMATCH || cluster->status[i] == SYN_PEER,
                             1);
            if (!strstr(cluster->cause[i], "worker 1 closed after 5 steps"))
                fail_msg("%s, member %zu: %s", recipes[r], i, cluster->cause[i]);
        }
        free(cluster);
    }
}

static bool go_bad(struct cluster *cluster, size_t rank, size_t step, float *gradient)
{
    (void)cluster;
    if (rank == 2 && step == 4)
        gradient[503] = NAN;
    return true;
}

static void a_gradient_that_is_not_finite_names_its_tensor_to_everyone(void **state)
{
    (void)state;
    for (size_t form = 0; form < FORMS; form++) {
        struct cluster *cluster = pushing(form, 2);
        cluster->before = go_bad;
        run_workers(5, LONG_MS, cluster_member, cluster);
        for (size_t i = 0; i < 5; i++) {
            assert_int_equal(cluster->status[i] == SYN_NONFINITE || cluster->status[i] == SYN_PEER,
                             1);
            if (!strstr(cluster->cause[i], "not finite in tensor \"t3\", entry 2"))
                fail_msg("form %zu, member %zu: %s", form, i, cluster->cause[i]);
        }
        free(cluster);
    }
}

/* Members that were opened with something else each. */
struct odd {
    const char *difference;
    enum syn_status status[4];
    char cause[4][512];
};

static void odd_member(struct syn_group *group, size_t rank, void *context)
{
    struct odd *odd = context;
    static const size_t tensors[] = {10, SIZE_MAX};
    struct syn_worker_options options;
    struct syn_layout *layout;
    struct syn_worker *worker = NULL;
    float weights[10] = {0};
    struct syn_rates rates = {.lr = 0.1};
    syn_worker_defaults(&options);
    scenario_layout(tensors, &layout);
    syn_group_appoint(group, 1);
    if (strcmp(odd->difference, "first-weights") == 0 && rank == 3)
        weights[3] = 1;
    if (strcmp(odd->difference, "weight-decay") == 0 && rank == 3)
        options.optimizer.weight_decay = 0.5;
    if (strcmp(odd->difference, "lr") == 0 && rank == 1)
        rates.lr = 0.2;
    if (rank == 3) {
        odd->status[rank] = syn_worker_serve(group, layout, &options, weights);
    } else {
        odd->status[rank] = syn_worker_open(group, layout, &options, weights, &worker);
        if (odd->status[rank] == SYN_OK)
            odd->status[rank] = syn_worker_step(worker, weights, &rates, weights);
    }
    snprintf(odd->cause[rank], sizeof odd->cause[rank], "%s", syn_error_text());
    syn_worker_close(worker);
    syn_layout_free(layout);
}

static void members_that_differ_are_found(void **state)
{
    (void)state;
    static const char *const differences[] = {"first-weights", "weight-decay", "lr"};
    for (int d = 0; d < 3; d++) {
        struct odd odd = {.difference = differences[d]};
        run_workers(4, LONG_MS, odd_member, &odd);
        for (int i = 0; i < 4; i++) {
            assert_true(odd.status[i] == SYN_MISMATCH || odd.status[i] == SYN_PEER);
            if (!strstr(odd.cause[i], differences[d]))
                fail_msg("%s, member %d: %s", differences[d], i, odd.cause[i]);
        }
    }
}

static void assert_refused(const struct syn_worker_options *options, size_t members, size_t servers,
                           bool serves, const char *reason)
{
    struct syn_group *groups[2];
    struct syn_layout *layout;
    struct syn_worker *worker = NULL;
    static const size_t tensors[] = {10, SIZE_MAX};
    static const float zeros[10];
    assert_ok(syn_group_open_threads(members, NULL, groups));
    assert_ok(syn_group_appoint(groups[0], servers));
    assert_ok(scenario_layout(tensors, &layout));
    assert_status(SYN_INVALID, serves
                                   ? syn_worker_serve(groups[0], layout, options, zeros)
                                   : syn_worker_open(groups[0], layout, options, zeros, &worker));
    if (!strstr(syn_error_text(), reason))
        fail_msg("\"%s\" does not say \"%s\"", syn_error_text(), reason);
    for (size_t i = 0; i < members; i++)
        syn_group_close(groups[i]);
    syn_layout_free(layout);
}

static void what_does_not_go_together_is_refused_with_the_reason(void **state)
{
    (void)state;
    struct syn_worker_options plain;
    syn_worker_defaults(&plain);
    struct syn_worker_options options = plain;
    options.store = "servers";
    assert_ok(syn_worker_check(&options));
    assert_refused(&options, 1, 0, false, "needs a group with servers");
    options = plain;
    options.schedule = "async";
    assert_ok(syn_worker_check(&options));
    assert_refused(&options, 1, 0, false, "needs parameter servers");
    options.reducer.bucket_bytes = 100;
    assert_status(SYN_INVALID, syn_worker_check(&options));
    options = plain;
    options.store = "replicas";
    assert_refused(&options, 2, 1, false, "does not use servers");
    options.schedule = "async";
    assert_status(SYN_INVALID, syn_worker_check(&options));
    options = plain;
    options.compensation = 0.1;
    assert_refused(&options, 2, 1, false, "compensation");
    options = plain;
    options.pull_values = "f16";
    assert_refused(&options, 1, 0, false, "pull-values");
    options = plain;
    options.reducer.select = "topk";
    options.reducer.exchange = "gtopk";
    assert_refused(&options, 2, 1, false, "exchange gtopk");
    assert_refused(&plain, 2, 1, true, "is not a server");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_silent_worker_is_named_by_everyone),
        cmocka_unit_test(a_silent_server_is_named_by_everyone),
        cmocka_unit_test(who_merely_computes_is_not_accused),
        cmocka_unit_test(a_worker_that_closes_early_is_found_unless_steps_are_asynchronous),
        cmocka_unit_test(a_gradient_that_is_not_finite_names_its_tensor_to_everyone),
        cmocka_unit_test(members_that_differ_are_found),
        cmocka_unit_test(what_does_not_go_together_is_refused_with_the_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
