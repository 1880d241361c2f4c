/* Parameter servers whose steps are synchronous: the same bits for any number of them, and nothing
 * lost on the way to them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cluster_check.h"
#include "tensor/kernels.h"

static void assert_same_run(struct cluster *a, struct cluster *b, size_t workers)
{
    for (size_t i = 0; i < workers; i++) {
        assert_true(a->hash[i] == b->hash[i]);
        assert_memory_equal(a->weights[i], b->weights[i], sizeof a->weights[i]);
        assert_memory_equal(a->residual[i], b->residual[i], sizeof a->residual[i]);
    }
    free(a);
    free(b);
}

static void servers_and_peers_agree_on_ssgd(void **state)
{
    (void)state;
    for (int t = 0; t < 4; t++) {
        struct cluster *peers = run_cluster(cluster_of("ssgd", 0), worker_counts[t]);
        struct cluster *served = run_cluster(cluster_of("ssgd", 2), worker_counts[t]);
        for (size_t i = 0; i < CLUSTER_SIZE; i++)
            assert_true(fabsf(peers->weights[0][i] - served->weights[0][i]) < 1e-6F);
        free(peers);
        free(served);
    }
}

static void any_number_of_servers_gives_the_same_bits(void **state)
{
    (void)state;
    static const size_t servers[] = {2, 3, 8};
    static const char *const schedules[] = {"sync", "od", "ssd"};
    for (size_t form = 0; form < FORMS; form++)
        for (int s = 0; s < 3; s++)
            for (int t = 0; t < 4; t++) {
                struct cluster *one = with(pushing(form, 1), "schedule", schedules[s]);
                struct cluster *more = with(pushing(form, servers[s]), "schedule", schedules[s]);
                assert_same_run(run_cluster(one, worker_counts[t]),
                                run_cluster(more, worker_counts[t]), worker_counts[t]);
            }
}

static void on_servers_ssd_with_delay_one_is_od_to_the_bit(void **state)
{
    (void)state;
    for (int t = 0; t < 4; t++) {
        struct cluster *ssd =
            with(with(cluster_of("ssd-sgd", 2), "delay", "1"), "optimizer_local", "carry");
        assert_same_run(run_cluster(cluster_of("od-sgd", 2), worker_counts[t]),
                        run_cluster(ssd, worker_counts[t]), worker_counts[t]);
    }
}

static void on_servers_ssd_with_a_blocking_pull_every_step_is_ssgd_to_the_bit(void **state)
{
    (void)state;
    for (int t = 0; t < 4; t++) {
        struct cluster *ssd =
            with(with(cluster_of("ssd-sgd", 2), "delay", "1"), "blocking_pull", "on");
        assert_same_run(run_cluster(cluster_of("ssgd", 2), worker_counts[t]),
                        run_cluster(ssd, worker_counts[t]), worker_counts[t]);
    }
}

static void settling_readiness_buckets_and_windows_change_no_bit(void **state)
{
    (void)state;
    static const char *const recipes[] = {"ssgd", "od-sgd", "ssd-sgd", "topk", "strom"};
    for (int r = 0; r < 5; r++) {
        struct cluster *settled = cluster_of(recipes[r], 2);
        settled->settle_every = 2;
        assert_same_run(run_cluster(cluster_of(recipes[r], 2), 3), run_cluster(settled, 3), 3);
        struct cluster *by_tensor = cluster_of(recipes[r], 2);
        by_tensor->by_tensor = true;
        assert_same_run(run_cluster(cluster_of(recipes[r], 2), 3), run_cluster(by_tensor, 3), 3);
        struct cluster *wide = with(cluster_of(recipes[r], 2), "window", "3");
        assert_same_run(run_cluster(cluster_of(recipes[r], 2), 3), run_cluster(wide, 3), 3);
    }
    for (size_t servers = 1; servers < 4; servers++) {
        struct cluster *buckets = with(cluster_of("ssgd", servers), "bucket_bytes", "900");
        buckets->by_tensor = true;
        assert_same_run(run_cluster(cluster_of("ssgd", servers), 3), run_cluster(buckets, 3), 3);
    }
}

static void odd_sizes_work_with_more_servers_than_weights(void **state)
{
    (void)state;
    static const size_t one[] = {1, SIZE_MAX};
    static const size_t three[] = {1, 2, SIZE_MAX};
    static const size_t nothing[] = {0, SIZE_MAX};
    static const size_t *const layouts[] = {one, three, nothing};
    static const char *const recipes[] = {"ssgd", "ssd-sgd", "topk", "strom", "asgd"};
    for (int l = 0; l < 3; l++)
        for (int r = 0; r < 5; r++)
            for (size_t servers = 1; servers < 8; servers += 3) {
                struct cluster *cluster = cluster_of(recipes[r], servers);
                cluster->tensors = layouts[l];
                free(run_cluster(cluster, worker_counts[r % 4]));
            }
}

/* With plain descent, weights move by -lr/P times all that was applied. */
static void nothing_is_lost_in_any_form_of_push(void **state)
{
    (void)state;
    static const char *const schedules[] = {"sync", "ssd", "async"};
    enum { WORKERS = 3 };
    for (size_t form = 0; form < FORMS; form++)
        for (int s = 0; s < 3; s++) {
            struct cluster *cluster = with(pushing(form, 2), "schedule", schedules[s]);
            bool is_async = s == 2;
            cluster->is_free = true;
            cluster->options.optimizer.weight_decay = 0;
            run_cluster(with(cluster, "momentum_form", "none"), WORKERS);
            for (size_t i = 0; i < CLUSTER_SIZE; i++) {
                double moved = (double)cluster->first[i] - (double)cluster->weights[0][i];
                double applied = moved / cluster->lr * (is_async ? 1 : WORKERS);
                double left = 0;
                double handed = 0;
                for (int p = 0; p < WORKERS; p++) {
                    double unit = cluster->options.send_updates ? cluster->lr : 1;
                    left += (double)cluster->residual[p][i] / unit;
                    handed += cluster->handed[p][i];
                }
                if (fabs(handed - applied - left) > 1e-3)
                    fail_msg("form %zu, %s, weight %zu: %g handed over, %g applied, %g left", form,
                             schedules[s], i, handed, applied, left);
            }
            free(cluster);
        }
}

static void pulls_in_halves_are_rounded_and_the_servers_weights_are_not(void **state)
{
    (void)state;
    static const char *const schedules[] = {"sync", "od", "async"};
    for (int s = 0; s < 3; s++) {
        struct cluster *exact =
            run_cluster(with(cluster_of("ssgd", 2), "schedule", schedules[s]), 3);
        struct cluster *halves = with(cluster_of("ssgd", 2), "schedule", schedules[s]);
        run_cluster(with(halves, "pull_values", "f16"), 3);
        size_t unlike = 0;
        for (size_t i = 0; i < CLUSTER_SIZE; i++) {
            uint16_t half;
            float rounded;
            float weight = halves->weights[0][i];
            syn_kernels()->to_half(&half, &weight, 1);
            syn_kernels()->from_half(&rounded, &half, 1);
            unlike += rounded != weight;
            if (s == 0)
                assert_true(halves->last[0][i] == rounded && halves->last[2][i] == rounded);
            if (s < 2)
                assert_true(fabsf(weight - exact->weights[0][i]) < 2e-3F);
        }
        assert_true(unlike > CLUSTER_SIZE / 2);
        assert_true(halves->cost[0].bytes_in * 100 < exact->cost[0].bytes_in * 55);
        free(exact);
        free(halves);
    }
}

static void assert_traffic(const struct cluster *cluster, double out, double in)
{
    double model = CLUSTER_SIZE * sizeof(float) * (double)cluster->steps;
    for (size_t p = 0; p < 3; p++) {
        double got_out = (double)cluster->cost[p].bytes_out / model;
        double got_in = (double)cluster->cost[p].bytes_in / model;
        if (fabs(got_out - out) > 0.03 || fabs(got_in - in) > 0.03)
            fail_msg("worker %zu moves %.3f models out and %.3f in; expected %.3f and %.3f", p,
                     got_out, got_in, out, in);
    }
}

static void a_step_moves_two_models_and_with_a_delay_of_k_one_and_a_kth(void **state)
{
    (void)state;
    struct cluster *ssgd = run_cluster(cluster_of("ssgd", 2), 3);
    assert_traffic(ssgd, 1, 1);
    struct cluster *ssd = cluster_of("ssd-sgd", 2);
    ssd->options.warmup = 0;
    ssd->steps = 200; /* the last of them are still under way when they are counted */
    assert_traffic(run_cluster(ssd, 3), 1, 0.25);
    struct cluster *halves = pushing(1, 2);
    assert_traffic(run_cluster(with(halves, "pull_values", "f16"), 3), 0.5, 0.5);
    free(ssgd);
    free(ssd);
    free(halves);
}

/* Each weight is updated by itself, wherever it lies. */
static void adamw_comes_to_the_same_weights_in_every_store(void **state)
{
    (void)state;
    for (size_t t = 0; t < 4; t++) {
        struct cluster *cases[] = {
            cluster_of("ssgd", 0), with(cluster_of("ssgd", 0), "store", "shards"),
            cluster_of("ssgd", 2),
            with(with(cluster_of("topk", 0), "density", "1"), "momentum_form", "global")};
        for (int i = 0; i < 4; i++) {
            with(with(cases[i], "optimizer", "adamw"), "weight_decay", "0.01");
            run_cluster(cases[i], worker_counts[t]);
            for (size_t e = 0; e < CLUSTER_SIZE; e++)
                assert_true(fabsf(cases[i]->weights[0][e] - cases[0]->weights[0][e]) < 1e-4F);
        }
        assert_memory_equal(cases[0]->weights[0], cases[1]->weights[0],
                            sizeof cases[0]->weights[0]);
        for (int i = 0; i < 4; i++)
            free(cases[i]);
    }
}

/* The sum is the same however it is exchanged, and so are the norms of a tensor. */
static void lamb_comes_to_the_same_weights_dense_and_sparse(void **state)
{
    (void)state;
    for (size_t t = 0; t < 4; t++) {
        struct cluster *dense = cluster_of("ssgd", 0);
        struct cluster *sparse =
            with(with(cluster_of("topk", 0), "density", "1"), "momentum_form", "global");
        run_cluster(with(with(dense, "optimizer", "lamb"), "weight_decay", "0.01"),
                    worker_counts[t]);
        run_cluster(with(with(sparse, "optimizer", "lamb"), "weight_decay", "0.01"),
                    worker_counts[t]);
        for (size_t e = 0; e < CLUSTER_SIZE; e++)
            assert_true(fabsf(dense->weights[0][e] - sparse->weights[0][e]) < 1e-4F);
        free(dense);
        free(sparse);
    }
}

/* A recipe's "auto" is the form that suits, for everyone or for servers; a form that is given is
 * used. */
static void values_auto_are_few_bits_between_workers_and_exact_to_servers(void **state)
{
    (void)state;
    static const struct {
        const char *recipe;
        size_t servers;
        const char *density, *values;
    } cases[] = {{"topk", 0, "0.1", "q4"},    {"gtopk", 0, "0.1", "q4"},
                 {"topk", 2, "0.1", "f32"},   {"topk", 0, "1", "f32"},
                 {"gtopk", 0, "1", "f32"},    {"od-sgd", 0, "0.1", "f32"},
                 {"od-sgd", 2, "0.1", "f32"}, {"ssd-sgd", 0, "0.1", "f32"}};
    for (int i = 0; i < 8; i++) {
        struct cluster *chosen = cluster_of(cases[i].recipe, cases[i].servers);
        struct cluster *given = cluster_of(cases[i].recipe, cases[i].servers);
        with(chosen, "density", cases[i].density);
        with(with(given, "density", cases[i].density), "values", cases[i].values);
        assert_string_equal(chosen->options.reducer.values, "auto");
        assert_same_run(run_cluster(chosen, 3), run_cluster(given, 3), 3);
    }
}

static void lamb_is_refused_where_tensors_are_divided(void **state)
{
    (void)state;
    for (size_t servers = 0; servers < 2; servers++) {
        struct cluster *cluster = with(cluster_of("ssgd", servers), "optimizer", "lamb");
        if (servers == 0)
            with(cluster, "store", "shards");
        assert_status(SYN_INVALID, syn_worker_check_servers(&cluster->options, servers));
        assert_non_null(
            strstr(syn_error_text(), "optimizer lamb needs the norms of whole tensors"));
        free(cluster);
    }
}

static void what_makes_no_sense_with_adamw_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *recipe, *name, *value, *reason;
    } cases[] = {{"topk", "momentum_form", "corrected", "momentum of its own"},
                 {"ssgd", "nesterov", "on", "nesterov"},
                 {"od-sgd", "schedule", "od", "local updates"}};
    for (int i = 0; i < 3; i++) {
        struct cluster *cluster = cluster_of(cases[i].recipe, 0);
        with(with(cluster, "optimizer", "adamw"), cases[i].name, cases[i].value);
        assert_status(SYN_INVALID, syn_worker_check(&cluster->options));
        assert_non_null(strstr(syn_error_text(), cases[i].reason));
        free(cluster);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(servers_and_peers_agree_on_ssgd),
        cmocka_unit_test(any_number_of_servers_gives_the_same_bits),
        cmocka_unit_test(on_servers_ssd_with_delay_one_is_od_to_the_bit),
        cmocka_unit_test(on_servers_ssd_with_a_blocking_pull_every_step_is_ssgd_to_the_bit),
        cmocka_unit_test(settling_readiness_buckets_and_windows_change_no_bit),
        cmocka_unit_test(odd_sizes_work_with_more_servers_than_weights),
        cmocka_unit_test(nothing_is_lost_in_any_form_of_push),
        cmocka_unit_test(pulls_in_halves_are_rounded_and_the_servers_weights_are_not),
        cmocka_unit_test(a_step_moves_two_models_and_with_a_delay_of_k_one_and_a_kth),
        cmocka_unit_test(adamw_comes_to_the_same_weights_in_every_store),
        cmocka_unit_test(lamb_comes_to_the_same_weights_dense_and_sparse),
        cmocka_unit_test(values_auto_are_few_bits_between_workers_and_exact_to_servers),
        cmocka_unit_test(lamb_is_refused_where_tensors_are_divided),
        cmocka_unit_test(what_makes_no_sense_with_adamw_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
