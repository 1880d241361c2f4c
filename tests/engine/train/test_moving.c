/* Reading a run that goes on: the checkpoint that was chosen may be removed before all of it is
 * read. */
#include "check.h"

#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <syncopate/engine/checkpoint.h>
#include <syncopate/engine/weights.h>

#include "runs.h"

/* What the run does while it is read: the checkpoint of step `to` appears, that of step `from` is
 * removed, when the path of the given worker's state of step `from` is first asked for, or (LISTED)
 * as soon as the checkpoints have been listed. */
#define LISTED SIZE_MAX
static struct {
    bool is_armed;
    uint64_t from;
    uint64_t to; /* 0: none appears */
    size_t rank;
    const char *directory;
} move;

static size_t removed_under_final_names;

static void rename_step(uint64_t step, const char *from, const char *to)
{
    char before[2 * RUNS_PATH];
    char after[2 * RUNS_PATH];
    snprintf(before, sizeof before, "%s/checkpoints/step-%d%s", move.directory, (int)step, from);
    snprintf(after, sizeof after, "%s/checkpoints/step-%d%s", move.directory, (int)step, to);
    assert_int_equal(rename(before, after), 0);
}

/* NOLINTBEGIN(bugprone-reserved-identifier): the linker names them */
enum syn_status __real_syn_checkpoint_path(const char *directory, uint64_t step, size_t rank,
                                           char path[SYN_CHECKPOINT_PATH]);
enum syn_status __wrap_syn_checkpoint_path(const char *directory, uint64_t step, size_t rank,
                                           char path[SYN_CHECKPOINT_PATH]);

static void go_on(void)
{
    move.is_armed = false;
    if (move.to > 0)
        rename_step(move.to, "-hidden", "");
    rename_step(move.from, "", "-gone");
}

enum syn_status __wrap_syn_checkpoint_path(const char *directory, uint64_t step, size_t rank,
                                           char path[SYN_CHECKPOINT_PATH])
{
    if (move.is_armed && step == move.from && rank == move.rank)
        go_on();
    return __real_syn_checkpoint_path(directory, step, rank, path);
}

size_t __real_syn_checkpoint_list(const char *directory, uint64_t steps[SYN_CHECKPOINTS_MOST]);
size_t __wrap_syn_checkpoint_list(const char *directory, uint64_t steps[SYN_CHECKPOINTS_MOST]);

size_t __wrap_syn_checkpoint_list(const char *directory, uint64_t steps[SYN_CHECKPOINTS_MOST])
{
    size_t count = __real_syn_checkpoint_list(directory, steps);
    if (move.is_armed && move.rank == LISTED)
        go_on();
    return count;
}

enum syn_status __real_syn_tree_remove(const char *path);
enum syn_status __wrap_syn_tree_remove(const char *path);

enum syn_status __wrap_syn_tree_remove(const char *path)
{
    const char *name = strrchr(path, '/') + 1;
    if (strncmp(name, "step-", 5) == 0 && !strstr(name, ".part"))
        removed_under_final_names++;
    return __real_syn_tree_remove(path);
}
/* NOLINTEND(bugprone-reserved-identifier) */

/* A run of two workers with checkpoints of steps 20 and 30; the latter is hidden until the former
 * is read. */
static struct syn_train_options begin_run(const char *name, size_t rank)
{
    static char directory[RUNS_PATH];
    struct syn_train_options options = runs_of(RUNS_SMALL, name);
    options.workers = 2;
    options.steps = 30;
    options.checkpoint_every = 10;
    runs_train(&options);
    snprintf(directory, sizeof directory, "%s", options.out);
    move.directory = directory;
    move.from = 20;
    move.to = 30;
    move.rank = rank;
    rename_step(30, "", "-hidden");
    move.is_armed = true;
    return options;
}

static void weights_are_those_of_the_next_checkpoint_if_one_disappears(void **state)
{
    (void)state;
    const size_t when[] = {0, 1, LISTED};
    for (size_t i = 0; i < 3; i++) {
        struct syn_train_options options = begin_run("next", when[i]);
        struct syn_weights *weights = NULL;
        assert_ok(syn_weights_of_run(options.out, SYN_WEIGHTS_LAST, &weights));
        assert_false(move.is_armed);
        assert_int_equal(syn_weights_info(weights)->step, 30);
        syn_weights_free(weights);
    }
}

static void settings_are_those_of_the_next_checkpoint_if_one_disappears(void **state)
{
    (void)state;
    begin_run("settings", LISTED);
    struct syn_train_options found = runs_resumed(move.directory);
    assert_false(move.is_armed);
    assert_int_equal(found.steps, 30);
    assert_int_equal(found.workers, 2);
}

static void a_part_that_is_missing_without_a_later_checkpoint_is_named(void **state)
{
    (void)state;
    char path[SYN_CHECKPOINT_PATH];
    struct syn_weights *weights = NULL;
    struct syn_train_options options = begin_run("missing", 0);
    move.is_armed = false;
    assert_ok(syn_checkpoint_path(options.out, 20, 1, path));
    assert_int_equal(unlink(path), 0);
    assert_status(SYN_INVALID, syn_weights_of_run(options.out, SYN_WEIGHTS_LAST, &weights));
    assert_non_null(strstr(syn_error_text(), "step-20/worker-1.syn is missing"));
}

static void a_run_whose_checkpoints_are_all_removed_has_none(void **state)
{
    (void)state;
    struct syn_weights *weights = NULL;
    struct syn_train_options options = begin_run("none", 1);
    move.to = 0;
    assert_status(SYN_INVALID, syn_weights_of_run(options.out, SYN_WEIGHTS_LAST, &weights));
    assert_non_null(strstr(syn_error_text(), "contains no checkpoint"));
}

static void a_checkpoint_loses_its_final_name_before_it_is_removed(void **state)
{
    (void)state;
    struct syn_train_options options = runs_of(RUNS_SMALL, "names");
    options.steps = 30;
    options.checkpoint_every = 5;
    removed_under_final_names = 0;
    runs_train(&options);
    assert_int_equal(removed_under_final_names, 0);
    assert_int_not_equal(access(runs_path("names/checkpoints/step-5"), F_OK), 0);
    assert_int_not_equal(access(runs_path("names/checkpoints/step-5.part"), F_OK), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_are_those_of_the_next_checkpoint_if_one_disappears),
        cmocka_unit_test(settings_are_those_of_the_next_checkpoint_if_one_disappears),
        cmocka_unit_test(a_part_that_is_missing_without_a_later_checkpoint_is_named),
        cmocka_unit_test(a_run_whose_checkpoints_are_all_removed_has_none),
        cmocka_unit_test(a_checkpoint_loses_its_final_name_before_it_is_removed),
    };
    return cmocka_run_group_tests(tests, runs_begin, runs_end);
}
