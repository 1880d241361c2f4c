/* The policies of tensors: dense ones arrive in full in every step, a density of its own is kept,
 * frozen ones never change; and all of this with every method and store that allows it. */
#include "check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cluster_check.h"
#include "scenario.h"

/* Of the default tensors, t0 to t4 of 500 entries, 1, 0, 301 and 201. */
enum { SIZE = 1003, T3 = 501, T4 = 802 };

static const struct syn_tensor_policy last_frozen[] = {{0}, {0}, {0}, {0}, {.is_frozen = true}};
static const struct syn_tensor_policy ends_frozen[] = {
    {.is_frozen = true}, {0}, {0}, {0}, {.is_frozen = true}};
static const struct syn_tensor_policy mixed[] = {
    {.density = 0.1}, {0}, {0}, {.is_frozen = true}, {.is_dense = true}};

/* Steps of a reducer, and what each of them delivered. */
enum { STEPS = 12 };

struct steps {
    struct scenario scenario;
    enum syn_status status[WORKERS_MOST];
    char cause[WORKERS_MOST][512];
    float handed[WORKERS_MOST][STEPS][SIZE];
    float sums[WORKERS_MOST][STEPS][SIZE];
};

static enum syn_status take_steps(struct steps *steps, struct syn_reducer *reducer, size_t rank)
{
    enum syn_status status = SYN_OK;
    for (size_t i = 0; i < STEPS && status == SYN_OK; i++) {
        float *gradient = steps->handed[rank][i];
        struct syn_ticket ticket;
        struct syn_merged merged;
        scenario_gradient(RANDOM, rank, i, gradient, SIZE);
        for (size_t e = T4; e < SIZE; e++) /* never among the largest */
            gradient[e] *= 1e-4F;
        status = syn_reducer_begin(reducer, gradient, NULL, &ticket);
        if (status == SYN_OK)
            status = syn_reducer_wait(reducer, ticket, &merged);
        if (status == SYN_OK)
            syn_merged_to_dense(&merged, steps->sums[rank][i], SIZE);
    }
    return status;
}

static void steps_member(struct syn_group *group, size_t rank, void *context)
{
    struct steps *steps = context;
    struct syn_reducer_options options;
    struct syn_layout *layout = NULL;
    struct syn_reducer *reducer = NULL;
    static const size_t tensors[] = {500, 1, 0, 301, 201, SIZE_MAX};
    enum syn_status status = scenario_options(&steps->scenario, &options);
    if (status == SYN_OK)
        status = scenario_layout(tensors, &layout);
    if (status == SYN_OK)
        status = scenario_policies(steps->scenario.policies, layout);
    if (status == SYN_OK)
        status = syn_reducer_open(group, layout, &options, &reducer);
    if (status == SYN_OK)
        status = take_steps(steps, reducer, rank);
    steps->status[rank] = status;
    snprintf(steps->cause[rank], sizeof steps->cause[rank], "%s", syn_error_text());
    syn_reducer_close(reducer);
    syn_layout_free(layout);
}

static struct steps *run_steps(struct scenario scenario, size_t workers)
{
    struct steps *steps = calloc(1, sizeof *steps);
    steps->scenario = scenario;
    run_workers(workers, LONG_MS, steps_member, steps);
    for (size_t i = 0; i < workers; i++)
        if (steps->status[i] != SYN_OK)
            fail_msg("worker %zu of %zu: %s", i, workers, steps->cause[i]);
    return steps;
}

/* From this entry on, the sums of every step are those of what was handed over. */
static void check_whole(const struct steps *steps, size_t workers, size_t from, const char *name)
{
    for (size_t i = 0; i < STEPS; i++)
        for (size_t e = from; e < SIZE; e++) {
            double sum = 0;
            double got = (double)steps->sums[0][i][e];
            for (size_t w = 0; w < workers; w++)
                sum += (double)steps->handed[w][i][e];
            if (fabs(sum - got) > (e < T4 ? 1e-5 : 1e-9))
                fail_msg("%s, %zu workers, step %zu, entry %zu: %g instead of %g", name, workers, i,
                         e, got, sum);
        }
}

static void dense_tensors_arrive_in_full_in_every_step(void **state)
{
    (void)state;
    static const size_t counts[] = {1, 3, 5, 8};
    static const struct {
        const char *recipe;
        const char *exchange;
        const char *density;
    } cases[] = {{"topk", "allgather", "0.01"},  {"topk", "gtopk", "0.01"},
                 {"topk", "gtopk-tree", "0.01"}, {"topk", "split", "0.01"},
                 {"fit", "adaptive", "0.01"},    {"fit", "adaptive", "1"}};
    for (size_t x = 0; x < sizeof cases / sizeof cases[0]; x++)
        for (size_t c = 0; c < FEWER(counts); c++) {
            struct scenario scenario = {.recipe = cases[x].recipe,
                                        .settings = {{"density", cases[x].density},
                                                     {"values", "f32"},
                                                     {"keep", "1"},
                                                     {"exchange", cases[x].exchange},
                                                     {"dense_below", "300"}}};
            struct steps *steps = run_steps(scenario, counts[c]);
            bool is_all = cases[x].density[0] == '1';
            check_whole(steps, counts[c], is_all ? 0 : T4, cases[x].exchange);
            free(steps);
        }
}

static size_t count_in(const float *sums, size_t from, size_t to)
{
    size_t count = 0;
    for (size_t e = from; e < to; e++)
        count += sums[e] != 0;
    return count;
}

/* gtopk keeps as many sums as one list has; the others, up to that for each worker. */
static void a_tensor_sends_the_share_of_its_own_density(void **state)
{
    (void)state;
    static const struct syn_tensor_policy own[] = {
        {0}, {0}, {0}, {.density = 0.02}, {.density = 0.3}};
    for (size_t workers = 1; workers <= 3; workers += 2) {
        struct scenario scenario = {
            .recipe = "gtopk", .settings = {{"density", "0.05"}}, .policies = own};
        struct steps *steps = run_steps(scenario, workers);
        for (size_t i = 0; i < STEPS; i++) {
            assert_int_equal(count_in(steps->sums[0][i], 0, T3), 501 / 20);
            assert_int_equal(count_in(steps->sums[0][i], T3, T4), 301 / 50);
            assert_int_equal(count_in(steps->sums[0][i], T4, SIZE), 201 * 3 / 10);
        }
        free(steps);
    }
}

static void of_a_tensor_with_its_own_density_the_largest_go(void **state)
{
    (void)state;
    static const struct syn_tensor_policy own[] = {{0}, {0}, {0}, {.density = 0.1}, {0}};
    struct scenario scenario = {
        .recipe = "topk", .settings = {{"density", "0.05"}}, .policies = own};
    struct steps *steps = run_steps(scenario, 1);
    float least_sent = INFINITY;
    float most_kept = 0;
    for (size_t e = T3; e < T4; e++) {
        float sent = fabsf(steps->sums[0][0][e]);
        float size = fabsf(steps->handed[0][0][e]);
        if (sent > 0)
            least_sent = sent < least_sent ? sent : least_sent;
        else
            most_kept = size > most_kept ? size : most_kept;
    }
    assert_true(least_sent > most_kept);
    free(steps);
}

/* Gradients of frozen tensors must not be read at all. */
static bool spoil_frozen(struct cluster *cluster, size_t rank, size_t step, float *gradient)
{
    (void)rank;
    (void)step;
    size_t at = 0;
    for (size_t t = 0; cluster->tensors[t] != SIZE_MAX; at += cluster->tensors[t++])
        for (size_t e = 0; e < cluster->tensors[t] && cluster->policies[t].is_frozen; e++)
            gradient[at + e] = NAN;
    return true;
}

static void check_frozen(const struct cluster *cluster, size_t workers, const char *name)
{
    size_t at = 0;
    size_t changed = 0;
    for (size_t t = 0; cluster->tensors[t] != SIZE_MAX; at += cluster->tensors[t++])
        for (size_t e = at; e < at + cluster->tensors[t]; e++)
            for (size_t w = 0; w < workers; w++) {
                bool is_same = cluster->weights[w][e] == cluster->first[e] &&
                               cluster->last[w][e] == cluster->first[e];
                if (cluster->policies[t].is_frozen && !is_same)
                    fail_msg("%s: entry %zu of a frozen tensor is %g; it was %g", name, e,
                             (double)cluster->weights[w][e], (double)cluster->first[e]);
                changed += !is_same;
            }
    assert_true(changed > 0);
}

static void frozen_tensors_never_change_whatever_the_method(void **state)
{
    (void)state;
    static const char *const recipes[] = {"ssgd",  "od-sgd", "ssd-sgd", "topk",      "gtopk",
                                          "strom", "fit",    "diloco",  "sparseloco"};
    for (size_t r = 0; r < sizeof recipes / sizeof recipes[0]; r++)
        for (size_t momentum = 0; momentum < 2; momentum++) {
            struct cluster *cluster = cluster_of(recipes[r], 0);
            with(cluster, "momentum", momentum ? "0.9" : "0");
            cluster->policies = momentum ? ends_frozen : last_frozen;
            cluster->before = spoil_frozen;
            cluster->lr = 0.01;
            run_cluster(cluster, 3);
            check_frozen(cluster, 3, recipes[r]);
            free(cluster);
        }
}

static void frozen_tensors_never_change_under_adamw(void **state)
{
    (void)state;
    static const char *const stores[] = {"replicas", "shards"};
    for (size_t s = 0; s < 2; s++) {
        struct cluster *cluster = with(cluster_of("ssgd", 0), "optimizer", "adamw");
        with(with(cluster, "store", stores[s]), "weight_decay", "0.1");
        cluster->policies = ends_frozen;
        cluster->before = spoil_frozen;
        cluster->by_tensor = true;
        run_cluster(cluster, 3);
        check_frozen(cluster, 3, stores[s]);
        free(cluster);
    }
}

static void frozen_tensors_never_change_on_servers(void **state)
{
    (void)state;
    static const char *const recipes[] = {"ssgd", "topk", "ssd-sgd", "asgd"};
    for (size_t r = 0; r < sizeof recipes / sizeof recipes[0]; r++) {
        struct cluster *cluster = cluster_of(recipes[r], 2);
        cluster->policies = ends_frozen;
        cluster->before = spoil_frozen;
        run_workers(3 + 2, LONG_MS, cluster_member, cluster);
        for (size_t i = 0; i < 3 + 2; i++)
            if (cluster->status[i] != SYN_OK)
                fail_msg("%s, member %zu: %s", recipes[r], i, cluster->cause[i]);
        check_frozen(cluster, 3, recipes[r]);
        free(cluster);
    }
}

static void nothing_of_a_frozen_tensor_is_sent(void **state)
{
    (void)state;
    static const size_t without[] = {1, 0, 301, SIZE_MAX};
    struct cluster *frozen = cluster_of("ssgd", 0);
    struct cluster *absent = cluster_of("ssgd", 0);
    frozen->policies = ends_frozen;
    absent->tensors = without;
    run_cluster(frozen, 3);
    run_cluster(absent, 3);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(frozen->cost[i].bytes_out, absent->cost[i].bytes_out);
    free(frozen);
    free(absent);
}

/* Servers add up lists as all workers do, so both must come to the same weights. */
static void policies_give_the_same_weights_with_and_without_servers(void **state)
{
    (void)state;
    for (size_t delayed = 0; delayed < 2; delayed++) {
        struct cluster *alone = with(cluster_of("topk", 0), "momentum", "0.9");
        struct cluster *served = with(cluster_of("topk", 2), "momentum", "0.9");
        with(alone, "values", "f32");
        with(alone, "schedule", delayed ? "od" : "sync");
        with(served, "schedule", delayed ? "od" : "sync");
        alone->policies = served->policies = mixed;
        run_cluster(alone, 3);
        run_cluster(served, 3);
        for (size_t e = 0; e < SIZE; e++)
            if (alone->weights[0][e] != served->weights[0][e])
                fail_msg("entry %zu is %.9g with servers and %.9g without", e,
                         (double)served->weights[0][e], (double)alone->weights[0][e]);
        free(alone);
        free(served);
    }
}

/* Each worker opens with a policy of its own. */
struct differing {
    struct syn_tensor_policy policies[2];
    enum syn_status status[2];
    char cause[2][512];
};

static void differing_member(struct syn_group *group, size_t rank, void *context)
{
    struct differing *own = context;
    struct syn_worker_options options;
    struct syn_layout *layout = NULL;
    struct syn_worker *worker = NULL;
    static const size_t tensors[] = {4, 2, SIZE_MAX};
    static const float weights[6];
    syn_worker_defaults(&options);
    enum syn_status status = scenario_layout(tensors, &layout);
    if (status == SYN_OK)
        status = syn_layout_set_policy(layout, 1, own->policies[rank]);
    if (status == SYN_OK)
        status = syn_worker_open(group, layout, &options, weights, &worker);
    own->status[rank] = status;
    snprintf(own->cause[rank], sizeof own->cause[rank], "%s", syn_error_text());
    syn_worker_close(worker);
    syn_layout_free(layout);
}

static void workers_with_other_policies_are_refused(void **state)
{
    (void)state;
    static const struct {
        struct syn_tensor_policy policy;
        const char *differs;
    } cases[] = {{{.is_dense = true}, "layout"}, {{.is_frozen = true}, "parameters"}};
    for (size_t i = 0; i < 2; i++) {
        struct differing own = {.policies = {{0}, cases[i].policy}};
        run_workers(2, LONG_MS, differing_member, &own);
        for (size_t rank = 0; rank < 2; rank++) {
            assert_int_equal(own.status[rank], SYN_MISMATCH);
            assert_non_null(strstr(own.cause[rank], cases[i].differs));
        }
    }
}

static void what_policies_do_not_go_with_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *recipe;
        const char *name;
        const char *value;
        const char *reason;
    } cases[] = {
        {"strom", NULL, NULL, "select threshold sends what reaches tau"},
        {"topk", "values", "sign", "values sign encode one magnitude only"},
        {"topk", "momentum_form", "masked", "residual masked would forget all of their momentum"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct cluster *cluster = with(cluster_of(cases[i].recipe, 0), "dense_below", "300");
        with(cluster, "momentum", "0.9");
        if (cases[i].name)
            with(cluster, cases[i].name, cases[i].value);
        assert_status(SYN_INVALID, syn_worker_check(&cluster->options));
        if (!strstr(syn_error_text(), cases[i].reason))
            fail_msg("\"%s\" lacks \"%s\"", syn_error_text(), cases[i].reason);
        free(cluster);
    }
}

static void a_density_of_its_own_needs_topk(void **state)
{
    (void)state;
    struct cluster *cluster = cluster_of("ssgd", 0);
    cluster->policies = scenario_shares;
    run_workers(2, LONG_MS, cluster_member, cluster);
    assert_true(cluster->status[0] == SYN_INVALID || cluster->status[1] == SYN_INVALID);
    assert_non_null(strstr(cluster->cause[0], "some tensors have their own density"));
    free(cluster);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dense_tensors_arrive_in_full_in_every_step),
        cmocka_unit_test(a_tensor_sends_the_share_of_its_own_density),
        cmocka_unit_test(of_a_tensor_with_its_own_density_the_largest_go),
        cmocka_unit_test(frozen_tensors_never_change_whatever_the_method),
        cmocka_unit_test(frozen_tensors_never_change_under_adamw),
        cmocka_unit_test(frozen_tensors_never_change_on_servers),
        cmocka_unit_test(nothing_of_a_frozen_tensor_is_sent),
        cmocka_unit_test(policies_give_the_same_weights_with_and_without_servers),
        cmocka_unit_test(workers_with_other_policies_are_refused),
        cmocka_unit_test(what_policies_do_not_go_with_is_refused),
        cmocka_unit_test(a_density_of_its_own_needs_topk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
