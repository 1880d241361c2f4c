/* Checkpoints in a world that is not kind: damage, contradiction and full disks cost no more than
 * they must. */
#include "check.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <syncopate/engine/checkpoint.h>

#include "runs.h"

static void copy_file(const char *from, const char *to)
{
    char command[3 * RUNS_PATH];
    snprintf(command, sizeof command, "cp -r -- '%s' '%s'", from, to);
    assert_int_equal(system(command), 0);
}

/* Spoil the file of a worker in the latest checkpoint: flip a bit, cut it, or replace it. */
static void damage(const char *directory, size_t rank, int how)
{
    uint64_t steps[SYN_CHECKPOINTS_MOST];
    char path[SYN_CHECKPOINT_PATH];
    assert_int_equal(syn_checkpoint_list(directory, steps), 2);
    assert_ok(syn_checkpoint_path(directory, steps[0], rank, path));
    FILE *file = fopen(path, how == 2 ? "w" : "r+");
    assert_non_null(file);
    if (how == 0) {
        assert_int_equal(fseek(file, 5000, SEEK_SET), 0);
        int byte = fgetc(file);
        assert_int_equal(fseek(file, 5000, SEEK_SET), 0);
        fputc(byte ^ 4, file);
    } else if (how == 1) {
        assert_int_equal(ftruncate(fileno(file), 7000), 0);
    } else {
        fprintf(file, "something else");
    }
    assert_int_equal(fclose(file), 0);
}

static void a_damaged_checkpoint_leaves_the_one_before_it(void **state)
{
    (void)state;
    struct syn_train_options options = runs_of(RUNS_SMALL, "sound");
    options.workers = 3;
    options.checkpoint_every = 4;
    runs_use_algo(&options, "gtopk");
    struct syn_train_summary whole = runs_train(&options);
    for (size_t rank = 0; rank < 3; rank++) { /* each in another way */
        char name[32];
        snprintf(name, sizeof name, "damaged-%zu", rank);
        copy_file(options.out, runs_path(name));
        damage(runs_path(name), rank, (int)rank);
        struct syn_train_options again = runs_resumed(runs_path(name));
        struct syn_train_summary summary = runs_train(&again);
        assert_true(summary.weights_hash == whole.weights_hash);
        again = runs_resumed(runs_path(name)); /* what was damaged has been written again */
        again.epochs = 3;
        runs_train(&again);
    }
}

static void expect_refused(const struct syn_train_options *options, const char *words)
{
    struct syn_train_summary summary;
    assert_status(SYN_INVALID, syn_train(options, NULL, &summary));
    if (!strstr(syn_error_text(), words))
        fail_msg("\"%s\" does not say \"%s\"", syn_error_text(), words);
}

static void what_contradicts_the_run_is_refused(void **state)
{
    (void)state;
    struct syn_train_options options = runs_of(RUNS_SMALL, "contradicted");
    options.steps = 5;
    struct syn_train_summary done = runs_train(&options);
    struct syn_train_options again = runs_resumed(options.out);
    again.lr = 0.06;
    expect_refused(&again, "lr");
    again = runs_resumed(options.out);
    again.model = "lenet";
    expect_refused(&again, "model");
    again = runs_resumed(options.out);
    again.batch = 9;
    expect_refused(&again, "batch");
    again = runs_resumed(options.out);
    again.data.synthetic_seed = 9;
    expect_refused(&again, "synthetic_seed");
    again = runs_resumed(options.out);
    again.worker.optimizer.momentum = 0.5;
    expect_refused(&again, "momentum");
    again = runs_resumed(options.out);
    again.steps = done.steps - 1;
    expect_refused(&again, "5 steps are already done");
    assert_status(SYN_INVALID, syn_train_recall(runs_path("nowhere"), &again));
    again = runs_resumed(options.out);
    again.log_every = 1;
    again.steps = 7;
    runs_train(&again);
}

static void resumed_elsewhere_the_first_directory_stays(void **state)
{
    (void)state;
    struct syn_train_options options = runs_of(RUNS_SMALL, "here");
    struct syn_train_summary whole = runs_train_copying(&options, 7);
    char from[SYN_TEXT_BYTES];
    snprintf(from, sizeof from, "%s", runs_copy(&options, "first"));
    struct syn_train_options again = runs_resumed(from);
    snprintf(again.out, sizeof again.out, "%s", runs_path("there"));
    struct syn_train_summary summary = runs_train(&again);
    assert_true(summary.weights_hash == whole.weights_hash);
    again = runs_resumed(from);
    again.overwrite = true; /* of its own directory: there is nothing to overwrite */
    summary = runs_train(&again);
    assert_true(summary.weights_hash == whole.weights_hash);
}

/* Count the lines of metrics.jsonl, and see that their steps ascend. */
static size_t count_ascending_lines(const char *directory)
{
    char path[RUNS_PATH];
    char line[4096];
    unsigned long long last = 0;
    size_t count = 0;
    snprintf(path, sizeof path, "%s/metrics.jsonl", directory);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    for (; fgets(line, sizeof line, file); count++) {
        unsigned long long step;
        assert_int_equal(sscanf(line, "{\"step\": %llu", &step), 1);
        assert_true(step > last);
        assert_non_null(strchr(line, '\n'));
        last = step;
    }
    fclose(file);
    return count;
}

static void metrics_are_cut_and_continued(void **state)
{
    (void)state;
    struct syn_train_options options = runs_of(RUNS_SMALL, "metrics");
    options.checkpoint_every = 10;
    options.log_every = 3;
    runs_train(&options); /* 60 steps */
    size_t whole = count_ascending_lines(options.out);
    char command[2 * RUNS_PATH];
    snprintf(command, sizeof command, "rm -r '%s/checkpoints/step-60'", options.out);
    assert_int_equal(system(command), 0);
    struct syn_train_options again = runs_resumed(options.out);
    runs_train(&again); /* from step 50 */
    assert_int_equal(count_ascending_lines(options.out), whole);
}

/* Puts a file where the folder of checkpoints should be, after a few steps, and takes it away again
 * after some more. */
struct spoiler {
    const char *out;
    uint64_t from;
    uint64_t to;
};

static bool spoil(void *context, const struct syn_train_progress *progress)
{
    const struct spoiler *spoiler = context;
    char folder[RUNS_PATH];
    char aside[RUNS_PATH];
    snprintf(folder, sizeof folder, "%s/checkpoints", spoiler->out);
    snprintf(aside, sizeof aside, "%s/kept", spoiler->out);
    if (progress->step == spoiler->from) {
        assert_int_equal(rename(folder, aside), 0);
        FILE *file = fopen(folder, "w");
        assert_non_null(file);
        fclose(file);
    }
    if (progress->step == spoiler->to)
        assert_int_equal(unlink(folder), 0);
    return true;
}

static void check_archive(const char *path)
{
    struct syn_archive *archive;
    assert_ok(syn_archive_load(path, &archive));
    syn_archive_free(archive);
}

static void training_goes_on_while_no_checkpoint_can_be_written(void **state)
{
    (void)state;
    struct syn_train_options options = runs_of(RUNS_SMALL, "spoiled");
    struct syn_train_summary summary;
    struct spoiler spoiler = {options.out, 5, 22};
    options.workers = 2;
    options.checkpoint_every = 4;
    const struct syn_train_watch watch = {.on_progress = spoil, .context = &spoiler};
    assert_ok(syn_train(&options, &watch, &summary));
    assert_int_equal(summary.steps, 30);
    check_archive(runs_path("spoiled/kept/step-4/worker-1.syn"));
    check_archive(runs_path("spoiled/checkpoints/step-30/worker-1.syn"));
}

static void a_run_whose_last_weights_cannot_be_saved_fails(void **state)
{
    (void)state;
    for (uint64_t workers = 1; workers <= 2; workers++) {
        struct syn_train_options options = runs_of(RUNS_SMALL, "lost");
        struct syn_train_summary summary;
        struct spoiler spoiler = {options.out, 5, 0};
        options.workers = workers;
        options.checkpoint_every = 4;
        const struct syn_train_watch watch = {.on_progress = spoil, .context = &spoiler};
        assert_status(SYN_IO, syn_train(&options, &watch, &summary));
        if (!strstr(syn_error_text(), "could not be saved in"))
            fail_msg("%d workers: \"%s\"", (int)workers, syn_error_text());
        check_archive(runs_path("lost/kept/step-4/worker-0.syn"));
        char command[2 * RUNS_PATH];
        snprintf(command, sizeof command, "rm -r -- '%s'", options.out);
        assert_int_equal(system(command), 0);
    }
}

static void a_directory_without_room_for_checkpoints_is_refused_at_the_start(void **state)
{
    (void)state;
    struct syn_train_options options = runs_of(RUNS_SMALL, "roomless");
    struct syn_train_summary summary;
    options.overwrite = false;
    options.checkpoint_every = 4;
    assert_int_equal(mkdir(options.out, 0777), 0);
    assert_int_equal(symlink("/proc/nowhere", runs_path("roomless/checkpoints")), 0);
    assert_status(SYN_IO, syn_train(&options, NULL, &summary));
    assert_int_not_equal(access(runs_path("roomless/summary.json"), F_OK), 0);
}

static void a_diverging_run_keeps_its_last_good_checkpoint(void **state)
{
    (void)state;
    for (uint64_t workers = 1; workers <= 3; workers += 2) {
        struct syn_train_options options = runs_of("mlp", "diverges");
        struct syn_train_summary summary;
        uint64_t steps[SYN_CHECKPOINTS_MOST];
        options.workers = workers;
        options.lr = 1000;
        options.epochs = 100;
        options.checkpoint_every = 1;
        enum syn_status status = syn_train(&options, NULL, &summary);
        assert_true(status == SYN_NONFINITE || status == SYN_PEER);
        assert_non_null(strstr(syn_error_text(), "step "));
        assert_non_null(strstr(syn_error_text(), "weight"));
        assert_true(syn_checkpoint_list(options.out, steps) > 0);
        struct syn_train_options again = runs_resumed(options.out);
        again.steps = steps[0];
        runs_train(&again);
    }
}

static bool take_time(void *context, const struct syn_train_progress *progress)
{
    (void)context;
    (void)progress;
    const struct timespec pause = {.tv_nsec = 20000000};
    nanosleep(&pause, NULL);
    return true;
}

static void the_seconds_of_a_resumed_run_go_on(void **state)
{
    (void)state;
    struct syn_train_options options = runs_of(RUNS_SMALL, "seconds");
    struct syn_train_summary summary;
    const struct syn_train_watch watch = {.on_progress = take_time};
    options.steps = 20;
    assert_ok(syn_train(&options, &watch, &summary));
    assert_true(summary.seconds >= 0.4);
    struct syn_train_options again = runs_resumed(options.out);
    again.steps = 21;
    double after = runs_train(&again).seconds;
    if (after < 0.4)
        fail_msg("%g s after %g s and one step more", after, summary.seconds);
}

static void only_two_checkpoints_are_kept(void **state)
{
    (void)state;
    uint64_t steps[SYN_CHECKPOINTS_MOST];
    struct syn_train_options options = runs_of(RUNS_SMALL, "two");
    options.checkpoint_every = 7;
    options.steps = 30;
    runs_train(&options);
    assert_int_equal(syn_checkpoint_list(options.out, steps), 2);
    assert_int_equal(steps[0], 30);
    assert_int_equal(steps[1], 28);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_damaged_checkpoint_leaves_the_one_before_it),
        cmocka_unit_test(what_contradicts_the_run_is_refused),
        cmocka_unit_test(resumed_elsewhere_the_first_directory_stays),
        cmocka_unit_test(metrics_are_cut_and_continued),
        cmocka_unit_test(training_goes_on_while_no_checkpoint_can_be_written),
        cmocka_unit_test(a_run_whose_last_weights_cannot_be_saved_fails),
        cmocka_unit_test(a_directory_without_room_for_checkpoints_is_refused_at_the_start),
        cmocka_unit_test(a_diverging_run_keeps_its_last_good_checkpoint),
        cmocka_unit_test(the_seconds_of_a_resumed_run_go_on),
        cmocka_unit_test(only_two_checkpoints_are_kept),
    };
    return cmocka_run_group_tests(tests, runs_begin, runs_end);
}
