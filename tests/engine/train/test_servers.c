/* Training on parameter servers: as many as one likes give the same weights, synchronous ones give
 * those of peers, asynchronous ones learn and say how stale gradients were. */
#include "check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <syncopate/engine/train.h>

#include "runs.h"

static const size_t teams[] = {1, 2, 3, 5};

/* A few steps of LeNet on made-up images. */
static struct syn_train_options short_run(const char *algo, size_t workers, size_t servers)
{
    struct syn_train_options options;
    assert_ok(syn_train_defaults("lenet", &options));
    assert_ok(syn_settings_set(&syn_data_settings, &options.data, "data", "synthetic"));
    assert_ok(syn_settings_set(&syn_train_settings, &options, "algo", algo));
    assert_ok(syn_train_apply_algo(&options));
    options.data.synthetic_examples = 600;
    options.data.synthetic_noise = 0.3;
    options.workers = workers;
    options.servers = servers;
    options.threads = 1;
    options.batch = 8;
    options.steps = 13;
    options.worker.warmup = 3;
    options.worker.reducer.density = 0.02;
    options.overwrite = true;
    snprintf(options.out, sizeof options.out, "%s/run", runs_home);
    return options;
}

static struct syn_train_summary train(const struct syn_train_options *options)
{
    struct syn_train_summary summary;
    assert_ok(syn_train(options, NULL, &summary));
    assert_int_equal(summary.workers, options->workers);
    assert_int_equal(summary.servers, options->servers);
    return summary;
}

static void any_number_of_servers_gives_the_same_weights(void **state)
{
    (void)state;
    static const struct {
        const char *algo;
        size_t workers;
    } runs[] = {{"ssgd", 1},   {"ssgd", 2},    {"ssgd", 3}, {"ssgd", 5},
                {"od-sgd", 3}, {"ssd-sgd", 3}, {"topk", 3}, {"strom", 3}};
    for (size_t r = 0; r < sizeof runs / sizeof runs[0]; r++) {
        uint64_t hash = 0;
        for (size_t servers = 1; servers < 4; servers++) {
            struct syn_train_options options = short_run(runs[r].algo, runs[r].workers, servers);
            struct syn_train_summary summary = train(&options);
            if (servers > 1 && summary.weights_hash != hash)
                fail_msg("%s, %zu workers: other weights with %zu servers", runs[r].algo,
                         runs[r].workers, servers);
            hash = summary.weights_hash;
        }
    }
}

static void servers_and_peers_come_to_the_same_losses(void **state)
{
    (void)state;
    for (int t = 0; t < 4; t++) {
        struct syn_train_options peers = short_run("ssgd", teams[t], 0);
        struct syn_train_options served = short_run("ssgd", teams[t], 2);
        struct syn_train_summary a = train(&peers);
        struct syn_train_summary b = train(&served);
        assert_true(fabs(a.train_loss - b.train_loss) < 1e-6);
        assert_true(fabs(a.test_loss - b.test_loss) < 1e-6);
        assert_true(isnan(a.staleness_mean) && b.staleness_mean == 0);
    }
}

static void check_learns(struct syn_train_options *options)
{
    options->steps = 0;
    options->epochs = 4;
    struct syn_train_summary summary = train(options);
    if (!(summary.test_accuracy > 0.75)) /* of ten classes */
        fail_msg("%s, %llu workers: accuracy %g", options->algo,
                 (unsigned long long)options->workers, summary.test_accuracy);
    assert_true(summary.staleness_mean <= (double)summary.staleness_max);
    assert_true(options->workers == 1 ? summary.staleness_max == 0 : summary.staleness_mean > 0);
}

static void asgd_learns_and_tells_its_staleness(void **state)
{
    (void)state;
    for (int t = 0; t < 4; t++) {
        struct syn_train_options options = short_run("asgd", teams[t], 1 + (size_t)t % 2);
        check_learns(&options);
    }
}

static void asgd_has_a_server_unless_told_otherwise(void **state)
{
    (void)state;
    struct syn_train_options options;
    assert_ok(syn_train_defaults("mlp", &options));
    options.algo = "asgd";
    assert_ok(syn_train_apply_algo(&options));
    assert_int_equal(options.servers, 1);
    options.servers = 3;
    assert_ok(syn_train_apply_algo(&options));
    assert_int_equal(options.servers, 3);
}

static void strom_learns_asynchronously_within_a_lag(void **state)
{
    (void)state;
    struct syn_train_options options = short_run("strom", 3, 1);
    assert_ok(syn_settings_set(&syn_worker_settings, &options.worker, "schedule", "async"));
    options.worker.lag = 2;
    check_learns(&options);
}

static void several_batches_of_a_step_are_one_larger_batch(void **state)
{
    (void)state;
    for (size_t servers = 0; servers < 2; servers++) {
        struct syn_train_options one = short_run("ssgd", 2, servers);
        one.steps = 8; /* less than an epoch, so that both see the same examples in each step */
        struct syn_train_options four = one;
        one.batch = 32;
        four.accumulate = 4;
        struct syn_train_summary a = train(&one);
        struct syn_train_summary b = train(&four);
        assert_int_equal(b.accumulate, 4);
        assert_true(fabs(a.train_loss - b.train_loss) < 1e-5);
        assert_true(fabs(a.test_loss - b.test_loss) < 1e-5);
    }
}

static void check_refused(const struct syn_train_options *options, const char *words)
{
    struct syn_train_summary summary;
    assert_status(SYN_INVALID, syn_train(options, NULL, &summary));
    if (!strstr(syn_error_text(), words))
        fail_msg("\"%s\" does not say \"%s\"", syn_error_text(), words);
}

static void what_cannot_be_is_refused_with_the_reason(void **state)
{
    (void)state;
    struct syn_train_options options = short_run("asgd", 2, 0);
    check_refused(&options, "needs parameter servers");
    options = short_run("gtopk", 2, 1);
    check_refused(&options, "merges lists between workers");
    options = short_run("ssgd", 2, 1);
    options.worker.store = "shards";
    check_refused(&options, "does not use servers");
    options = short_run("ssgd", 2, 0);
    options.worker.store = "servers";
    check_refused(&options, "store servers");
    options = short_run("ssgd", 2, 0);
    options.worker.pull_values = "f16";
    check_refused(&options, "pull-values");
    options = short_run("ssgd", 2, 1);
    options.worker.compensation = 0.1;
    check_refused(&options, "compensation");
    options = short_run("ssgd", 2, 1);
    options.worker.lag = 3;
    check_refused(&options, "lag");
    options = short_run("ssgd", 2, 1);
    options.accumulate = 1000;
    check_refused(&options, "accumulate");
}

static void a_gradient_that_explodes_ends_servers_and_workers(void **state)
{
    (void)state;
    static const char *const algos[] = {"ssgd", "asgd"};
    for (int a = 0; a < 2; a++) {
        struct syn_train_options options = short_run(algos[a], 3, 2);
        struct syn_train_summary summary;
        options.lr = 1000;
        options.lr_schedule = "constant";
        options.steps = 1000;
        enum syn_status status = syn_train(&options, NULL, &summary);
        assert_true(status == SYN_NONFINITE || status == SYN_PEER);
        assert_non_null(strstr(syn_error_text(), "step "));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_number_of_servers_gives_the_same_weights),
        cmocka_unit_test(servers_and_peers_come_to_the_same_losses),
        cmocka_unit_test(asgd_learns_and_tells_its_staleness),
        cmocka_unit_test(asgd_has_a_server_unless_told_otherwise),
        cmocka_unit_test(strom_learns_asynchronously_within_a_lag),
        cmocka_unit_test(several_batches_of_a_step_are_one_larger_batch),
        cmocka_unit_test(what_cannot_be_is_refused_with_the_reason),
        cmocka_unit_test(a_gradient_that_explodes_ends_servers_and_workers),
    };
    return cmocka_run_group_tests(tests, runs_begin, runs_end);
}
