/* The training loop as a library call: that it learns, repeats itself, stops when told, and
 * refuses what cannot be before it has written anything. */
#include "check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <syncopate/engine/train.h>

#include "runs.h"

/* A few steps of a perceptron on made-up images, into runs_home/name. */
static struct syn_train_options short_run(const char *name)
{
    struct syn_train_options options;
    assert_ok(syn_train_defaults("mlp", &options));
    assert_ok(syn_settings_set(&syn_data_settings, &options.data, "data", "synthetic"));
    options.data.synthetic_examples = 1000;
    options.threads = 1;
    options.epochs = 2;
    options.batch = 32;
    options.log_every = 10;
    snprintf(options.out, sizeof options.out, "%s/%s", runs_home, name);
    return options;
}

static bool exists(const char *directory, const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    return access(path, F_OK) == 0;
}

/* The whole file in a static buffer; fails if it is not there. */
static const char *content(const char *directory, const char *name)
{
    static char text[1 << 16];
    char path[512];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    size_t length = fread(text, 1, sizeof text - 1, file);
    text[length] = '\0';
    fclose(file);
    return text;
}

static size_t count_lines_with(const char *text, const char *what)
{
    size_t count = 0;
    for (const char *at = strstr(text, what); at; at = strstr(at + 1, what))
        count++;
    return count;
}

static void it_learns(void **state)
{
    (void)state;
    struct syn_train_options options = short_run("learns");
    struct syn_train_summary summary;
    options.data.synthetic_noise = 0.3;
    assert_ok(syn_train(&options, NULL, &summary));
    assert_int_equal(summary.steps, 64);
    assert_true(summary.epochs == 2);
    assert_false(summary.stopped);
    if (summary.test_accuracy < 0.8)
        fail_msg("accuracy %g; expected more than 0.8", summary.test_accuracy);
    assert_true(summary.train_loss < 1);
}

static void it_leaves_three_whole_files(void **state)
{
    (void)state;
    struct syn_train_options options = short_run("files");
    struct syn_train_summary summary;
    char expected[4096];
    options.seed = 123456789;
    options.eval_every = 40;
    assert_ok(syn_train(&options, NULL, &summary));
    size_t length = syn_train_summary_json(&summary, expected, sizeof expected);
    snprintf(expected + length, sizeof expected - length, "\n");
    assert_string_equal(content(options.out, "summary.json"), expected);
    const char *settings = content(options.out, "settings.json");
    assert_non_null(strstr(settings, "\"seed\": 123456789"));
    assert_non_null(strstr(settings, "\"momentum\": 0.9"));
    assert_non_null(strstr(settings, "\"synthetic_examples\": 1000"));
    const char *metrics = content(options.out, "metrics.jsonl");
    assert_int_equal(count_lines_with(metrics, "\"compute_ms\": "), 7);
    assert_int_equal(count_lines_with(metrics, "\"test_accuracy\": "), 2);
    assert_int_equal(count_lines_with(metrics, "\n"), 9);
    assert_false(exists(options.out, "summary.json.part"));
}

static void same_seed_gives_same_bits_and_another_seed_others(void **state)
{
    (void)state;
    uint64_t hashes[3];
    for (size_t i = 0; i < 3; i++) {
        struct syn_train_options options = short_run(i == 0 ? "one" : i == 1 ? "two" : "three");
        struct syn_train_summary summary;
        options.seed = i < 2 ? 5 : 6;
        assert_ok(syn_train(&options, NULL, &summary));
        hashes[i] = summary.weights_hash;
    }
    assert_true(hashes[0] == hashes[1]);
    assert_false(hashes[0] == hashes[2]);
}

static struct syn_train_summary run_with_three(const char *algo, uint64_t steps)
{
    struct syn_train_options options = runs_of(RUNS_SMALL, "method");
    options.data.synthetic_examples = 2000;
    options.workers = 3;
    options.batch = 16;
    options.epochs = 8;
    options.steps = steps;
    options.evaluate = true;
    runs_use_algo(&options, algo);
    options.worker.reducer.density = 0.05;
    struct syn_train_summary summary = runs_train(&options);
    assert_int_equal(summary.workers, 3);
    return summary;
}

static void every_method_learns_with_three_workers(void **state)
{
    (void)state;
    for (size_t r = 0; syn_recipe_name(r); r++) {
        struct syn_train_summary summary = run_with_three(syn_recipe_name(r), 0);
        if (!(summary.test_accuracy > 0.7)) /* of ten classes; ssgd: 0.836 */
            fail_msg("%s: accuracy %g", syn_recipe_name(r), summary.test_accuracy);
    }
}

static void every_method_is_twice_the_same(void **state)
{
    (void)state;
    for (size_t r = 0; syn_recipe_name(r); r++) {
        uint64_t once = run_with_three(syn_recipe_name(r), 20).weights_hash;
        uint64_t again = run_with_three(syn_recipe_name(r), 20).weights_hash;
        bool is_async = strcmp(syn_recipe_name(r), "asgd") == 0; /* never twice the same */
        assert_true(is_async || once == again);
    }
}

/* Counts calls and stops at the one asked for. */
struct watcher {
    uint64_t stop_at;
    uint64_t steps;
    uint64_t evaluations;
};

static bool watch_steps(void *context, const struct syn_train_progress *progress)
{
    struct watcher *watcher = context;
    if (progress->phase == SYN_TRAIN_EVALUATING) {
        watcher->evaluations++;
        assert_true(progress->evaluated > 0 && progress->evaluated <= 1);
        return watcher->stop_at != UINT64_MAX;
    }
    assert_int_equal(progress->step, ++watcher->steps);
    assert_true(isfinite(progress->loss) && progress->accuracy >= 0 && progress->accuracy <= 1);
    return progress->step != watcher->stop_at;
}

static void told_to_stop_it_ends_after_the_step_with_whole_files(void **state)
{
    (void)state;
    struct syn_train_options options = short_run("stops");
    struct syn_train_summary summary;
    struct watcher watcher = {.stop_at = 13};
    const struct syn_train_watch watch = {.on_progress = watch_steps, .context = &watcher};
    assert_ok(syn_train(&options, &watch, &summary));
    assert_true(summary.stopped);
    assert_int_equal(summary.steps, 13);
    assert_int_equal(watcher.evaluations, 0);
    assert_true(isnan(summary.test_accuracy));
    assert_non_null(strstr(content(options.out, "summary.json"), "\"stopped\": true"));
    assert_non_null(strstr(content(options.out, "metrics.jsonl"), "{\"step\": 13, "));
}

static void told_to_stop_it_ends_within_an_evaluation(void **state)
{
    (void)state;
    struct syn_train_options options = short_run("stops-judging");
    struct syn_train_summary summary;
    struct watcher watcher = {.stop_at = UINT64_MAX};
    const struct syn_train_watch watch = {.on_progress = watch_steps, .context = &watcher};
    assert_ok(syn_train(&options, &watch, &summary));
    assert_true(summary.stopped);
    assert_int_equal(watcher.evaluations, 1);
    assert_int_equal(watcher.steps, 32);
    assert_true(isnan(summary.test_accuracy));
}

static void without_evaluation_the_summary_has_none(void **state)
{
    (void)state;
    struct syn_train_options options = short_run("unevaluated");
    struct syn_train_summary summary;
    options.evaluate = false;
    options.steps = 3;
    assert_ok(syn_train(&options, NULL, &summary));
    assert_int_equal(summary.steps, 3);
    assert_non_null(strstr(content(options.out, "summary.json"), "\"test_accuracy\": null"));
}

static void a_loss_that_explodes_is_told_with_step_and_tensor(void **state)
{
    (void)state;
    struct syn_train_options options = short_run("explodes");
    struct syn_train_summary summary;
    options.lr = 1000;
    options.lr_schedule = "constant";
    options.epochs = 100;
    assert_status(SYN_NONFINITE, syn_train(&options, NULL, &summary));
    assert_non_null(strstr(syn_error_text(), "step "));
    assert_non_null(strstr(syn_error_text(), "fc1.weight"));
    assert_false(exists(options.out, "summary.json"));
}

static void clipping_keeps_the_same_run_from_exploding(void **state)
{
    (void)state;
    struct syn_train_options options = short_run("clipped");
    struct syn_train_summary summary;
    options.lr = 1000;
    options.lr_schedule = "constant";
    options.worker.clip = 1e-5;
    assert_ok(syn_train(&options, NULL, &summary));
}

/* Refused with these words, and with nothing at all in the file system. */
static void check_refused(const struct syn_train_options *options, const char *words)
{
    struct syn_train_summary summary;
    assert_status(SYN_INVALID, syn_train(options, NULL, &summary));
    if (!strstr(syn_error_text(), words))
        fail_msg("\"%s\" does not say \"%s\"", syn_error_text(), words);
    assert_false(exists(options->out, ""));
}

static void what_cannot_be_is_refused_before_anything_is_written(void **state)
{
    (void)state;
    struct syn_train_options options = short_run("refused");
    options.batch = 1001;
    check_refused(&options, "1001");
    options = short_run("refused");
    options.workers = 4;
    options.batch = 251;
    check_refused(&options, "251");
    options = short_run("refused");
    options.worker.reducer.select = "topk";
    check_refused(&options, "dense");
    options = short_run("refused");
    options.model = "vgg16";
    check_refused(&options, "vgg16");
    options = short_run("refused");
    options.model = "lstm-small";
    check_refused(&options, "lstm-small");
    options = short_run("refused");
    options.data.synthetic_regression = true;
    check_refused(&options, "synthetic");
    options = short_run("refused");
    options.worker.optimizer.nesterov = true;
    options.worker.optimizer.momentum = 0;
    check_refused(&options, "nesterov");
    options = short_run("refused");
    options.lr = (double)NAN;
    check_refused(&options, "lr");
}

static void a_directory_that_cannot_be_is_refused(void **state)
{
    (void)state;
    struct syn_train_options options = short_run("a-file");
    struct syn_train_summary summary;
    FILE *file = fopen(options.out, "w");
    assert_non_null(file);
    fclose(file);
    assert_status(SYN_INVALID, syn_train(&options, NULL, &summary));
    options = short_run("a-file/below/it");
    assert_status(SYN_INVALID, syn_train(&options, NULL, &summary));
    assert_non_null(strstr(syn_error_text(), options.out));
}

static void an_old_run_is_replaced_only_when_asked_for(void **state)
{
    (void)state;
    struct syn_train_options options = short_run("deep/er/old");
    struct syn_train_summary summary;
    options.steps = 3;
    assert_ok(syn_train(&options, NULL, &summary));
    options.steps = 4;
    assert_status(SYN_INVALID, syn_train(&options, NULL, &summary));
    assert_non_null(strstr(content(options.out, "summary.json"), "\"steps\": 3"));
    options.overwrite = true;
    assert_ok(syn_train(&options, NULL, &summary));
    assert_non_null(strstr(content(options.out, "summary.json"), "\"steps\": 4"));
    assert_int_equal(count_lines_with(content(options.out, "metrics.jsonl"), "\"lr\""), 1);
}

static void unnamed_runs_get_numbers(void **state)
{
    (void)state;
    char before[4096];
    assert_non_null(getcwd(before, sizeof before));
    assert_int_equal(chdir(runs_home), 0);
    for (int i = 1; i <= 2; i++) {
        struct syn_train_options options = short_run("");
        struct syn_train_summary summary;
        char expected[64];
        options.out[0] = '\0';
        options.steps = 1;
        assert_ok(syn_train(&options, NULL, &summary));
        snprintf(expected, sizeof expected, "runs/mlp-synthetic-%d", i);
        assert_string_equal(summary.out, expected);
    }
    assert_int_equal(chdir(before), 0);
}

static void write_text(const char *name, size_t words)
{
    FILE *file = fopen(runs_path(name), "w");
    assert_non_null(file);
    for (size_t i = 0; i < words; i++)
        fprintf(file, "w%zu%s", i * i % 37, i % 9 == 8 ? "\n" : " ");
    fprintf(file, "\n");
    assert_int_equal(fclose(file), 0);
}

static void write_texts(void)
{
    write_text("ptb.train.txt", 900);
    write_text("ptb.valid.txt", 150);
    write_text("ptb.test.txt", 210);
}

/* The first weights, as a learning rate that moves nothing leaves them, evaluated by so many. */
static struct syn_train_summary evaluate_text(uint64_t workers, uint64_t batch)
{
    struct syn_train_options options = runs_of("lstm-small", "evaluated-text");
    assert_ok(syn_settings_set(&syn_data_settings, &options.data, "data", "text"));
    snprintf(options.data.data_dir, sizeof options.data.data_dir, "%s", runs_home);
    options.workers = workers;
    options.batch = batch;
    options.time = 6;
    options.steps = 1;
    options.lr = 1e-9;
    options.lr_schedule = "constant";
    options.evaluate = true;
    return runs_train(&options);
}

static void perplexity_does_not_depend_on_workers_or_batch(void **state)
{
    (void)state;
    write_texts();
    struct syn_train_summary one = evaluate_text(1, 20);
    static const uint64_t others[][2] = {{2, 10}, {3, 4}, {1, 1}, {23, 1}};
    for (size_t i = 0; i < 4; i++) {
        struct syn_train_summary other = evaluate_text(others[i][0], others[i][1]);
        if (fabs(other.test_loss - one.test_loss) > 1e-6 ||
            fabs(other.validation_loss - one.validation_loss) > 1e-6)
            fail_msg("%d workers, batch %d: %.9g and %.9g; expected %.9g and %.9g",
                     (int)others[i][0], (int)others[i][1], other.test_loss, other.validation_loss,
                     one.test_loss, one.validation_loss);
    }
}

static void the_best_weights_on_the_validation_part_are_kept(void **state)
{
    (void)state;
    write_texts();
    struct syn_train_options options = runs_of("lstm-small", "best");
    assert_ok(syn_settings_set(&syn_data_settings, &options.data, "data", "text"));
    snprintf(options.data.data_dir, sizeof options.data.data_dir, "%s", runs_home);
    options.batch = 5;
    options.time = 6;
    options.epochs = 6;
    options.lr = 10;
    options.lr_schedule = "constant";
    options.worker.optimizer.momentum = 0;
    options.evaluate = true;
    struct syn_train_summary summary = runs_train(&options);
    const char *metrics = content(options.out, "metrics.jsonl");
    double lowest = INFINITY;
    unsigned long long lowest_step = 0;
    for (const char *at = metrics; (at = strstr(at, "\"validation_loss\": ")) != NULL; at++) {
        const char *line = at;
        while (line > metrics && line[-1] != '\n')
            line--;
        unsigned long long step = 0;
        assert_int_equal(sscanf(line, "{\"step\": %llu", &step), 1);
        double loss = strtod(at + strlen("\"validation_loss\": "), NULL);
        const char *next = strstr(at, "\"validation_perplexity\": ");
        assert_non_null(next);
        double perplexity = strtod(next + strlen("\"validation_perplexity\": "), NULL);
        assert_true(fabs(perplexity / exp(loss) - 1) < 1e-5);
        lowest_step = loss < lowest ? step : lowest_step;
        lowest = fmin(lowest, loss);
    }
    assert_true(lowest_step > 0);
    assert_int_equal(summary.best_step, lowest_step);
    assert_true(fabs(summary.best_validation_loss - lowest) < 1e-6);
    char name[64];
    snprintf(name, sizeof name, "best/checkpoints/step-%llu/worker-0.syn", lowest_step);
    assert_int_equal(access(runs_path(name), R_OK), 0);
}

int main(int count, char **words)
{
    if (count > 1)
        cmocka_set_test_filter(words[1]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_learns),
        cmocka_unit_test(it_leaves_three_whole_files),
        cmocka_unit_test(same_seed_gives_same_bits_and_another_seed_others),
        cmocka_unit_test(every_method_learns_with_three_workers),
        cmocka_unit_test(every_method_is_twice_the_same),
        cmocka_unit_test(told_to_stop_it_ends_after_the_step_with_whole_files),
        cmocka_unit_test(told_to_stop_it_ends_within_an_evaluation),
        cmocka_unit_test(without_evaluation_the_summary_has_none),
        cmocka_unit_test(a_loss_that_explodes_is_told_with_step_and_tensor),
        cmocka_unit_test(clipping_keeps_the_same_run_from_exploding),
        cmocka_unit_test(what_cannot_be_is_refused_before_anything_is_written),
        cmocka_unit_test(a_directory_that_cannot_be_is_refused),
        cmocka_unit_test(an_old_run_is_replaced_only_when_asked_for),
        cmocka_unit_test(unnamed_runs_get_numbers),
        cmocka_unit_test(perplexity_does_not_depend_on_workers_or_batch),
        cmocka_unit_test(the_best_weights_on_the_validation_part_are_kept),
    };
    return cmocka_run_group_tests(tests, runs_begin, runs_end);
}
