/* The small parts of the loop: JSON, the norm of a gradient, means over steps, the folders of
 * checkpoints. */
#include "check.h"

#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

#include <syncopate/engine/train.h>
#include <syncopate/random.h>

#include "engine/base/json.h"
#include "engine/base/tree.h"
#include "engine/train/checkpoint/parts.h"
#include "engine/train/metrics/sums.h"
#include "engine/train/replica/gradient.h"

static size_t write_all(char *text, size_t capacity)
{
    struct syn_json json = syn_json_begin(text, capacity);
    syn_json_text(&json, "word", "a\"b\\c\n");
    syn_json_real(&json, "half", 0.5);
    syn_json_real(&json, "none", (double)NAN);
    syn_json_real(&json, "endless", -INFINITY);
    syn_json_count(&json, "most", UINT64_MAX);
    syn_json_flag(&json, "yes", true);
    syn_json_fields(&json, "{}");
    syn_json_fields(&json, "{\"x\": 1, \"y\": [2]}");
    return syn_json_end(&json);
}

static const char all[] = "{\"word\": \"a\\\"b\\\\c\\u000a\", \"half\": 0.5, \"none\": null, "
                          "\"endless\": null, \"most\": 18446744073709551615, \"yes\": true, "
                          "\"x\": 1, \"y\": [2]}";

static void json_has_every_field_once_and_no_number_that_is_none(void **state)
{
    (void)state;
    char text[512];
    assert_int_equal(write_all(text, sizeof text), sizeof all - 1);
    assert_string_equal(text, all);
}

static void json_that_does_not_fit_is_cut_and_counted(void **state)
{
    (void)state;
    assert_int_equal(write_all(NULL, 0), sizeof all - 1);
    for (size_t capacity = 1; capacity <= sizeof all; capacity++) {
        char *text = malloc(capacity);
        assert_non_null(text);
        assert_int_equal(write_all(text, capacity), sizeof all - 1);
        assert_int_equal(strlen(text), capacity - 1);
        assert_memory_equal(text, all, capacity - 1);
        free(text);
    }
}

static void an_empty_json_object_is_valid(void **state)
{
    (void)state;
    char text[8];
    struct syn_json json = syn_json_begin(text, sizeof text);
    assert_int_equal(syn_json_end(&json), 2);
    assert_string_equal(text, "{}");
}

static void the_norm_is_that_of_a_plain_sum(void **state)
{
    (void)state;
    static float values[1003];
    struct syn_random random;
    syn_random_start(&random, 1, 0);
    double sum = 0;
    for (size_t count = 0; count <= sizeof values / sizeof values[0]; count++) {
        double norm = syn_gradient_norm(values, count);
        if (fabs(norm - sqrt(sum)) > 1e-12 * (1 + norm))
            fail_msg("%zu entries: %.15g, expected %.15g", count, norm, sqrt(sum));
        if (count == sizeof values / sizeof values[0])
            break;
        values[count] = syn_random_normal(&random);
        sum += (double)values[count] * (double)values[count];
    }
}

static void the_largest_floats_have_a_finite_norm(void **state)
{
    (void)state;
    float values[100];
    for (size_t i = 0; i < 100; i++)
        values[i] = 3e38F;
    assert_true(isfinite(syn_gradient_norm(values, 100)));
    assert_int_equal(syn_gradient_find_nonfinite(values, 100), 100);
}

static void one_entry_that_is_not_finite_is_noticed_and_found(void **state)
{
    (void)state;
    for (size_t at = 0; at < 21; at++) {
        float values[21] = {0};
        values[at] = at % 2 ? NAN : -INFINITY;
        assert_true(!isfinite(syn_gradient_norm(values, 21)));
        assert_int_equal(syn_gradient_find_nonfinite(values, 21), at);
    }
}

static void means_weigh_every_label_the_same(void **state)
{
    (void)state;
    struct syn_sums meter = {0};
    const struct syn_step_record large = {
        .result = {.loss = 1, .correct = 30, .counted = 30}, .examples = 30, .compute_ns = 1000000};
    const struct syn_step_record small = {
        .result = {.loss = 5, .correct = 0, .counted = 10}, .examples = 10, .update_ns = 3000000};
    assert_true(isnan(syn_sums_loss(&meter)));
    syn_sums_add(&meter, &large);
    syn_sums_add(&meter, &small);
    assert_true(fabs(syn_sums_loss(&meter) - 2) < 1e-12);
    assert_true(fabs(syn_sums_accuracy(&meter) - 0.75) < 1e-12);
    assert_true(fabs(syn_sums_ms_per_step(&meter) - 2) < 1e-12);
    assert_true(fabs(syn_sums_examples_per_s(&meter) - 10000) < 1e-6);
}

/* Another worker's examples count, its time and its steps do not: it had them at the same time. */
static void workers_join_what_they_saw(void **state)
{
    (void)state;
    struct syn_sums meter = {.steps = 2,
                             .examples = 40,
                             .loss_sum = 40,
                             .correct = 30,
                             .counted = 40,
                             .compute_ns = 4000000};
    const struct syn_sums other = {.steps = 2,
                                   .examples = 20,
                                   .loss_sum = 80,
                                   .correct = 6,
                                   .counted = 20,
                                   .compute_ns = 9000000};
    syn_sums_join(&meter, &other);
    assert_true(fabs(syn_sums_loss(&meter) - 2) < 1e-12);
    assert_true(fabs(syn_sums_accuracy(&meter) - 0.6) < 1e-12);
    assert_true(fabs(syn_sums_ms_per_step(&meter) - 2) < 1e-12);
    assert_true(fabs(syn_sums_examples_per_s(&meter) - 15000) < 1e-6);
}

static void later_steps_add_up(void **state)
{
    (void)state;
    struct syn_sums meter = {.steps = 2, .examples = 40, .compute_ns = 4000000, .lr = 1};
    const struct syn_sums later = {.steps = 3,
                                   .examples = 60,
                                   .gradient_norm_sum = 6,
                                   .data_wait_ns = 1000000,
                                   .update_ns = 5000000,
                                   .lr = 0.5};
    syn_sums_extend(&meter, &later);
    assert_true(fabs(syn_sums_ms_per_step(&meter) - 2) < 1e-12);
    assert_true(fabs(syn_sums_examples_per_s(&meter) - 10000) < 1e-6);
    assert_int_equal(meter.steps, 5);
    assert_true(meter.gradient_norm_sum == 6 && meter.lr == 0.5);
}

static void room_is_asked_for_all_checkpoints_that_can_be_there_at_once(void **state)
{
    (void)state;
    struct statvfs about;
    assert_int_equal(statvfs("/tmp", &about), 0);
    double room = (double)about.f_bavail * (double)about.f_frsize;
    assert_status(SYN_IO, syn_checkpoint_check_room("/tmp/nowhere/run", room * 0.5, 2));
    assert_non_null(strstr(syn_error_text(), "up to 3 checkpoints"));
    assert_ok(syn_checkpoint_check_room("/tmp/nowhere/run", room * 0.1, 2));
}

/* Every one of so many workers writes its part of a checkpoint, the last one first. */
static void write_checkpoint(const char *directory, uint64_t step, size_t workers)
{
    struct syn_archive *archive;
    bool mine;
    assert_ok(syn_archive_new(&archive));
    assert_ok(syn_archive_add(archive, "step", &step, sizeof step));
    for (size_t rank = workers; rank-- > 0;)
        assert_ok(syn_checkpoint_put(directory, step, rank, workers, archive));
    assert_ok(syn_checkpoint_publish(directory, step, &mine));
    assert_true(mine);
    syn_archive_free(archive);
}

static int is_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* All names in directory/below, sorted, with a blank after each. */
static void expect_names(const char *directory, const char *below, const char *expected)
{
    char path[512];
    char names[512] = "";
    struct dirent **entries;
    snprintf(path, sizeof path, "%s/%s", directory, below);
    int count = scandir(path, &entries, is_visible, alphasort);
    assert_true(count >= 0);
    for (int i = 0; i < count; i++) {
        size_t length = strlen(names);
        snprintf(names + length, sizeof names - length, "%s ", entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
    assert_string_equal(names, expected);
}

static void the_two_latest_checkpoints_and_the_best_are_kept(void **state)
{
    (void)state;
    char directory[] = "/tmp/syncopate-parts-XXXXXX";
    assert_non_null(mkdtemp(directory));
    for (uint64_t step = 1; step <= 7; step++)
        write_checkpoint(directory, step, 1);
    syn_checkpoint_prune(directory, 6, 2); /* step 7 is of a run that was taken up before it */
    expect_names(directory, "checkpoints", "step-2 step-5 step-6 ");
    syn_checkpoint_prune(directory, 6, 5); /* as one of the two it takes no other's place */
    expect_names(directory, "checkpoints", "step-5 step-6 ");
    write_checkpoint(directory, 7, 1);
    syn_checkpoint_prune(directory, 7, 0);
    expect_names(directory, "checkpoints", "step-6 step-7 ");
    assert_ok(syn_tree_remove(directory));
}

static void a_checkpoint_written_again_by_fewer_workers_has_only_their_parts(void **state)
{
    (void)state;
    char directory[] = "/tmp/syncopate-parts-XXXXXX";
    assert_non_null(mkdtemp(directory));
    write_checkpoint(directory, 4, 8);
    write_checkpoint(directory, 4, 3);
    expect_names(directory, "checkpoints/step-4", "worker-0.syn worker-1.syn worker-2.syn ");
    write_checkpoint(directory, 4, 1);
    expect_names(directory, "checkpoints/step-4", "worker-0.syn ");
    write_checkpoint(directory, 4, 2);
    expect_names(directory, "checkpoints/step-4", "worker-0.syn worker-1.syn ");
    assert_ok(syn_tree_remove(directory));
}

/* A new setting is compared between ranks unless it is added here. */
static void ranks_may_differ_only_in_their_threads_and_places(void **state)
{
    (void)state;
    static const char *const own[] = {"model_file",     "init",           "threads",
                                      "loader_threads", "density_replay", "out",
                                      "resume",         "data_dir",       "select_threads"};
    const struct syn_settings_table *const tables[] = {
        &syn_train_settings,  &syn_data_settings,    &syn_optimizer_settings,
        &syn_worker_settings, &syn_reducer_settings, &syn_group_settings};
    size_t found = 0;
    for (size_t t = 0; t < sizeof tables / sizeof tables[0]; t++)
        for (size_t i = 0; i < tables[t]->count; i++) {
            const struct syn_setting *row = &tables[t]->rows[i];
            if (!row->may_differ)
                continue;
            if (found == sizeof own / sizeof own[0] || strcmp(row->name, own[found]) != 0)
                fail_msg("%s may differ", row->name);
            found++;
        }
    assert_int_equal(found, sizeof own / sizeof own[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_has_every_field_once_and_no_number_that_is_none),
        cmocka_unit_test(json_that_does_not_fit_is_cut_and_counted),
        cmocka_unit_test(an_empty_json_object_is_valid),
        cmocka_unit_test(the_norm_is_that_of_a_plain_sum),
        cmocka_unit_test(the_largest_floats_have_a_finite_norm),
        cmocka_unit_test(one_entry_that_is_not_finite_is_noticed_and_found),
        cmocka_unit_test(means_weigh_every_label_the_same),
        cmocka_unit_test(workers_join_what_they_saw),
        cmocka_unit_test(later_steps_add_up),
        cmocka_unit_test(room_is_asked_for_all_checkpoints_that_can_be_there_at_once),
        cmocka_unit_test(the_two_latest_checkpoints_and_the_best_are_kept),
        cmocka_unit_test(a_checkpoint_written_again_by_fewer_workers_has_only_their_parts),
        cmocka_unit_test(ranks_may_differ_only_in_their_threads_and_places),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
