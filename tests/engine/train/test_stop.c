/* Runs that are told to end in the middle of a step: the step is given up, all workers agree on it,
 * and the checkpoint is one to go on from. */
#include "check.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include <syncopate/engine/checkpoint.h>

#include "runs.h"

/* Tells workers to stop when so many steps are made, each of them after so many kernels of the
 * next. */
struct interruption {
    uint64_t step;
    int kernels;
    bool is_slow; /* steps take a quarter of a second at least */
    atomic_bool is_near;
    atomic_int asked;
};

static bool see_step(void *context, const struct syn_train_progress *progress)
{
    struct interruption *interruption = context;
    if (progress->step >= interruption->step)
        atomic_store(&interruption->is_near, true);
    return true;
}

static bool interrupt(void *context)
{
    struct interruption *interruption = context;
    const struct timespec pause = {.tv_nsec = 25000000};
    if (interruption->is_slow)
        nanosleep(&pause, NULL);
    return atomic_load(&interruption->is_near) &&
           atomic_fetch_add(&interruption->asked, 1) >= interruption->kernels;
}

/* Train until interrupted. */
static struct syn_train_summary cut_short(const struct syn_train_options *options, uint64_t step,
                                          int kernels, bool is_slow)
{
    struct syn_train_summary summary;
    struct interruption interruption = {.step = step, .kernels = kernels, .is_slow = is_slow};
    const struct syn_train_watch watch = {see_step, &interruption, interrupt};
    assert_ok(syn_train(options, &watch, &summary));
    assert_true(summary.stopped);
    assert_true(summary.steps < 30);
    return summary;
}

static void check_same_bits(struct syn_train_options *options, int kernels)
{
    struct syn_train_summary whole = runs_train(options);
    struct syn_train_summary part = cut_short(options, 5, kernels, false);
    if (part.steps < 5 || part.steps > 6)
        fail_msg("%s: stopped after %d steps", options->algo, (int)part.steps);
    struct syn_train_options again = runs_resumed(options->out);
    struct syn_train_summary rest = runs_train(&again);
    assert_int_equal(rest.steps, whole.steps);
    if (rest.weights_hash != whole.weights_hash)
        fail_msg("%s of %s, %d workers, cut after %d kernels: other weights", options->algo,
                 options->model, (int)options->workers, kernels);
}

static void a_step_that_was_given_up_costs_no_bit(void **state)
{
    (void)state;
    static const char *const algos[] = {"ssgd", "gtopk", "topk", "strom"};
    for (size_t a = 0; a < 4; a++)
        for (uint64_t workers = 1; workers <= 3; workers++) {
            struct syn_train_options options = runs_of(RUNS_SMALL, "cut");
            options.workers = workers;
            options.data.synthetic_examples = 80 * workers;
            runs_use_algo(&options, algos[a]);
            check_same_bits(&options, (int)(3 + 7 * workers + a));
        }
}

static void accumulated_batches_are_given_up_as_well(void **state)
{
    (void)state;
    struct syn_train_options options = runs_of(RUNS_SMALL, "cut-sum");
    options.workers = 2;
    options.accumulate = 5;
    options.epochs = 4;
    check_same_bits(&options, 50);
}

static void statistics_and_tensors_sent_early_are_taken_back(void **state)
{
    (void)state;
    struct syn_train_options options = runs_of("resnet20", "cut-norm");
    options.workers = 2;
    options.batch = 4;
    options.data.synthetic_examples = 64;
    options.worker.reducer.bucket_bytes = 50000;
    check_same_bits(&options, 150); /* within the backward pass */
}

static void a_delayed_run_ends_at_once_and_can_go_on(void **state)
{
    (void)state;
    static const char *const algos[] = {"od-sgd", "ssd-sgd"};
    for (size_t a = 0; a < 2; a++) {
        struct syn_train_options options = runs_of(RUNS_SMALL, "cut-delay");
        options.workers = 3;
        runs_use_algo(&options, algos[a]);
        struct syn_train_summary part = cut_short(&options, 4, 20, true);
        struct syn_train_options again = runs_resumed(options.out);
        assert_int_equal(runs_train(&again).steps, 20);
        assert_true(part.steps >= 4 && part.steps < 10);
    }
}

static void with_servers_it_ends_at_once_and_can_go_on(void **state)
{
    (void)state;
    static const char *const algos[] = {"asgd", "ssgd"};
    for (size_t a = 0; a < 2; a++)
        for (int kernels = 1; kernels < 40; kernels += 38) {
            struct syn_train_options options = runs_of(RUNS_SMALL, "cut-servers");
            options.workers = 3;
            options.servers = 2;
            options.log_every = 100;
            runs_use_algo(&options, algos[a]);
            struct syn_train_summary part = cut_short(&options, 4, kernels, a > 0);
            struct syn_train_options again = runs_resumed(options.out);
            assert_int_equal(runs_train(&again).steps, 20);
            assert_true(part.steps < 10);
        }
}

/* Two workers, of which the one that is not watched gives up an early step when the other is some
 * steps ahead. */
struct straggler {
    pthread_t watched;
    atomic_bool is_behind;
    int asked; /* of the other */
};

static bool see_lead(void *context, const struct syn_train_progress *progress)
{
    struct straggler *straggler = context;
    if (progress->step >= 4)
        atomic_store(&straggler->is_behind, true);
    return true;
}

static bool stop_behind(void *context)
{
    struct straggler *straggler = context;
    const struct timespec pause = {.tv_nsec = 1000000};
    if (pthread_equal(pthread_self(), straggler->watched) || ++straggler->asked < 20)
        return false;
    while (!atomic_load(&straggler->is_behind))
        nanosleep(&pause, NULL);
    return true;
}

static void asynchronous_workers_go_on_from_the_one_that_is_behind(void **state)
{
    (void)state;
    struct syn_train_summary summary;
    struct straggler straggler = {.watched = pthread_self()};
    const struct syn_train_watch watch = {see_lead, &straggler, stop_behind};
    struct syn_train_options options = runs_of(RUNS_SMALL, "behind");
    options.workers = 2;
    options.servers = 1;
    options.log_every = 5;
    options.steps = 20;
    runs_use_algo(&options, "asgd");
    assert_ok(syn_train(&options, &watch, &summary));
    assert_true(summary.stopped);
    assert_true(summary.steps < 4);
    struct syn_train_options again = runs_resumed(options.out);
    assert_int_equal(runs_train(&again).steps, 20);
}

static void an_evaluation_is_given_up(void **state)
{
    (void)state;
    for (uint64_t workers = 1; workers <= 3; workers += 2) {
        struct syn_train_options options = runs_of(RUNS_SMALL, "cut-judging");
        options.workers = workers;
        options.evaluate = true;
        options.eval_every = 6;
        options.data.synthetic_examples = 240;
        struct syn_train_summary whole = runs_train(&options);
        struct syn_train_summary part = cut_short(&options, 6, 1, false);
        assert_int_equal(part.steps, 6);
        struct syn_train_options again = runs_resumed(options.out);
        assert_true(runs_train(&again).weights_hash == whole.weights_hash);
    }
}

/* A clock that is due after every step. */
static void checkpoints_are_written_by_the_clock(void **state)
{
    (void)state;
    static const char *const algos[] = {"ssgd", "ssd-sgd", "asgd"};
    for (size_t a = 0; a < 3; a++)
        for (uint64_t workers = 1; workers <= 2; workers++) {
            uint64_t steps[SYN_CHECKPOINTS_MOST];
            struct syn_train_options options = runs_of(RUNS_SMALL, "clock");
            options.workers = workers;
            runs_use_algo(&options, algos[a]);
            options.checkpoint_minutes = 1e-9;
            options.steps = 20;
            struct syn_train_summary often = runs_train(&options);
            assert_int_equal(syn_checkpoint_list(options.out, steps), 2);
            assert_int_equal(steps[0], 20);
            options.checkpoint_minutes = 0;
            struct syn_train_summary never = runs_train(&options);
            assert_int_equal(syn_checkpoint_list(options.out, steps), 1);
            bool is_async = strcmp(algos[a], "asgd") == 0 && workers > 1;
            assert_true(is_async || often.weights_hash == never.weights_hash);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_step_that_was_given_up_costs_no_bit),
        cmocka_unit_test(accumulated_batches_are_given_up_as_well),
        cmocka_unit_test(statistics_and_tensors_sent_early_are_taken_back),
        cmocka_unit_test(a_delayed_run_ends_at_once_and_can_go_on),
        cmocka_unit_test(with_servers_it_ends_at_once_and_can_go_on),
        cmocka_unit_test(asynchronous_workers_go_on_from_the_one_that_is_behind),
        cmocka_unit_test(an_evaluation_is_given_up),
        cmocka_unit_test(checkpoints_are_written_by_the_clock),
    };
    return cmocka_run_group_tests(tests, runs_begin, runs_end);
}
