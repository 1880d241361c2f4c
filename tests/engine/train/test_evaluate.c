/* What evaluation says, against an evaluation by hand of what the run has saved. */
#include "check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <syncopate/engine/checkpoint.h>

#include "runs.h"

#define WORKERS 3

/* The weights of worker 0 and the mean of all workers' running statistics, from a checkpoint. */
static void load(const struct syn_train_options *options, uint64_t step, struct syn_model *model,
                 float *weights)
{
    size_t params = syn_layout_size(syn_model_layout(model));
    size_t count = syn_layout_size(syn_model_statistics_layout(model));
    float *statistics = syn_model_statistics(model);
    float *own = calloc(count, sizeof *own);
    assert_non_null(own);
    for (size_t i = 0; i < count; i++)
        statistics[i] = 0;
    for (size_t w = 0; w < WORKERS; w++) {
        char path[SYN_CHECKPOINT_PATH];
        struct syn_archive *archive;
        assert_ok(syn_checkpoint_path(options->out, step, w, path));
        assert_ok(syn_archive_load(path, &archive));
        assert_ok(syn_archive_copy(archive, "train/weights", weights, params * sizeof *weights));
        assert_ok(syn_archive_copy(archive, "model/statistics", own, count * sizeof *own));
        for (size_t i = 0; i < count; i++)
            statistics[i] += own[i] / WORKERS;
        syn_archive_free(archive);
    }
    free(own);
}

/* The whole test part by one loader: the sum of losses over the number of labels. */
static double evaluate(const struct syn_data *data, struct syn_model *model, const float *weights)
{
    struct syn_loader *loader;
    struct syn_loader_options how = syn_loader_defaults(SYN_DATA_TEST, 4);
    double sum = 0;
    size_t counted = 0;
    assert_ok(syn_loader_open(data, &how, &loader));
    for (uint64_t i = 0; i < syn_loader_batches(loader); i++) {
        struct syn_batch batch;
        struct syn_step_result result;
        syn_loader_next(loader, &batch);
        struct syn_examples examples = {
            .count = batch.count, .images = batch.input, .labels = batch.labels};
        assert_ok(syn_model_evaluate(model, weights, &examples, &result));
        sum += result.loss * (double)result.counted;
        counted += result.counted;
    }
    syn_loader_close(loader);
    assert_int_equal(counted, syn_data_info(data)->count[SYN_DATA_TEST]);
    return sum / (double)counted;
}

static void the_test_loss_is_that_of_all_examples_with_mean_statistics(void **state)
{
    (void)state;
    struct syn_data *data;
    struct syn_graph *graph;
    struct syn_model *model;
    struct syn_input input;
    struct syn_model_options how;
    struct syn_train_options options = runs_of("resnet20", "evaluated");
    options.workers = WORKERS;
    options.batch = 4;
    options.data.synthetic_examples = 60;
    options.evaluate = true;
    struct syn_train_summary summary = runs_train(&options);
    assert_ok(syn_data_open(&options.data, &data));
    assert_ok(syn_model_usual_input("resnet20", &input));
    assert_ok(syn_graph_ready("resnet20", &input, &graph));
    syn_model_defaults(&how);
    how.batch = 4;
    assert_ok(syn_model_build(graph, &how, &model));
    syn_graph_free(graph);
    float *weights = calloc(summary.params, sizeof *weights);
    assert_non_null(weights);
    load(&options, summary.steps, model, weights);
    double expected = evaluate(data, model, weights);
    if (fabs(summary.test_loss - expected) > 1e-5 * expected)
        fail_msg("test loss %.9g; by hand %.9g", summary.test_loss, expected);
    free(weights);
    syn_model_free(model);
    syn_data_close(data);
}

/* The running statistics of a worker in a checkpoint, and how many there are. */
static size_t read_statistics(const struct syn_train_options *options, uint64_t step, size_t worker,
                              float *statistics, size_t room)
{
    char path[SYN_CHECKPOINT_PATH];
    struct syn_archive *archive;
    struct syn_section section;
    assert_ok(syn_checkpoint_path(options->out, step, worker, path));
    assert_ok(syn_archive_load(path, &archive));
    assert_ok(syn_archive_find(archive, "model/statistics", &section));
    assert_true(section.count > 0 && section.count <= room * sizeof *statistics);
    memcpy(statistics, section.bytes, section.count);
    size_t count = section.count / sizeof *statistics;
    syn_archive_free(archive);
    return count;
}

/* Evaluation uses the mean of all; then each worker goes on with its own, as one that has never
 * evaluated. */
static void evaluating_leaves_every_worker_its_own_statistics(void **state)
{
    (void)state;
    static float values[2][WORKERS][4096];
    size_t count = 0;
    for (size_t evaluates = 0; evaluates < 2; evaluates++) {
        struct syn_train_options options = runs_of("resnet20", evaluates ? "looked" : "blind");
        options.workers = WORKERS;
        options.batch = 2;
        options.data.synthetic_examples = 30;
        options.evaluate = evaluates == 1;
        options.eval_every = 1;
        options.steps = 3;
        runs_train(&options);
        for (size_t w = 0; w < WORKERS; w++)
            count = read_statistics(&options, 3, w, values[evaluates][w], 4096);
    }
    for (size_t w = 0; w < WORKERS; w++)
        assert_memory_equal(values[0][w], values[1][w], count * sizeof(float));
    assert_memory_not_equal(values[0][0], values[0][1], count * sizeof(float));
}

/* The value of a name in the line of metrics.jsonl that has it and that step. */
static double metric_of(const char *name, unsigned long long step, const char *key)
{
    char line[2048];
    char begin[64];
    char label[64];
    double value = NAN;
    snprintf(begin, sizeof begin, "{\"step\": %llu,", step);
    snprintf(label, sizeof label, "\"%s\": ", key);
    FILE *file = fopen(runs_path(name), "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file)) {
        const char *at = strstr(line, label);
        if (at && strncmp(line, begin, strlen(begin)) == 0)
            value = strtod(at + strlen(label), NULL);
    }
    fclose(file);
    return value;
}

/* A delayed method gives workers weights of their own, but for the last step, which hands out the
 * global ones: so a run that ends where another is in its middle is evaluated as that one. */
static void the_middle_of_a_delayed_run_is_evaluated_with_the_global_weights(void **state)
{
    (void)state;
    static const char *const algos[] = {"od-sgd", "ssd-sgd"};
    for (size_t a = 0; a < 2; a++) {
        struct syn_train_options options = runs_of(RUNS_SMALL, "delayed");
        runs_use_algo(&options, algos[a]);
        options.worker.delay = 2;
        options.worker.blocking_pull = a == 1; /* as the last `delay` steps of a run do */
        options.workers = WORKERS;
        options.lr_schedule = "constant";
        options.evaluate = true;
        options.eval_every = 6;
        options.steps = 12;
        runs_train(&options);
        double middle = metric_of("delayed/metrics.jsonl", 6, "test_loss");
        options.steps = 6;
        double end = runs_train(&options).test_loss;
        if (!(fabs(middle - end) < 1e-6 * end))
            fail_msg("%s: %.9g in the middle; expected %.9g", algos[a], middle, end);
    }
}

/* A ring sends 2 (P-1)/P of the gradient, whatever the number of steps between two lines. */
static void bytes_are_those_of_one_step(void **state)
{
    (void)state;
    for (uint64_t every = 1; every <= 5; every += 4) {
        static char text[1 << 16];
        struct syn_train_options options = runs_of(RUNS_SMALL, "bytes");
        options.workers = WORKERS;
        options.steps = 10;
        options.log_every = every;
        struct syn_train_summary summary = runs_train(&options);
        double dense = 2.0 * (WORKERS - 1) / WORKERS * 4 * (double)summary.params;
        assert_true(fabs(summary.bytes_out_per_step / dense - 1) < 0.01);
        FILE *file = fopen(runs_path("bytes/metrics.jsonl"), "r");
        assert_non_null(file);
        text[fread(text, 1, sizeof text - 1, file)] = '\0';
        fclose(file);
        size_t lines = 0;
        for (const char *at = text; (at = strstr(at, "\"bytes_out\": ")) != NULL; at++, lines++) {
            double bytes = strtod(at + strlen("\"bytes_out\": "), NULL);
            if (fabs(bytes / dense - 1) > 0.01)
                fail_msg("%g bytes a step; expected %g", bytes, dense);
        }
        assert_int_equal(lines, 10 / every);
    }
}

/* What the watcher was told of the speed at step 4, by phase. */
static bool keep_speed(void *context, const struct syn_train_progress *progress)
{
    double *speeds = context;
    if (progress->step == 4)
        speeds[progress->phase] = progress->examples_per_s;
    return true;
}

/* Learning, worker 0 speaks for the others, who do as much; when the next evaluation begins, they
 * have met and written a line. */
static void the_speed_is_that_of_all_workers_before_and_after_they_meet(void **state)
{
    (void)state;
    double speeds[] = {[SYN_TRAIN_LEARNING] = 0, [SYN_TRAIN_EVALUATING] = 0};
    struct syn_train_summary summary;
    const struct syn_train_watch watch = {.on_progress = keep_speed, .context = speeds};
    struct syn_train_options options = runs_of(RUNS_SMALL, "speed");
    options.workers = WORKERS;
    options.steps = 8;
    options.log_every = 4;
    options.eval_every = 4;
    options.evaluate = true;
    assert_ok(syn_train(&options, &watch, &summary));
    double written = metric_of("speed/metrics.jsonl", 4, "images_per_s");
    double before = speeds[SYN_TRAIN_LEARNING];
    double after = speeds[SYN_TRAIN_EVALUATING];
    if (!(fabs(before / written - 1) < 1e-4 && fabs(after / written - 1) < 1e-4))
        fail_msg("%g and then %g images/s; expected %g", before, after, written);
}

/* What each worker has sent so far, of which no line has told yet: the end of a checkpoint's
 * meters. */
static void read_bytes(const struct syn_train_options *options, uint64_t step, double *bytes)
{
    for (size_t w = 0; w < WORKERS; w++) {
        char path[SYN_CHECKPOINT_PATH];
        struct syn_archive *archive;
        struct syn_section section;
        struct syn_cost cost;
        assert_ok(syn_checkpoint_path(options->out, step, w, path));
        assert_ok(syn_archive_load(path, &archive));
        assert_ok(syn_archive_find(archive, "train/meters", &section));
        memcpy(&cost, (const char *)section.bytes + section.count - sizeof cost, sizeof cost);
        bytes[w] = (double)cost.bytes_out;
        syn_archive_free(archive);
    }
}

/* With gtopk, worker 0 of three sends twice as much as the others; with strom whoever's gradient is
 * the largest sends most. */
static void bytes_are_those_of_the_busiest_worker(void **state)
{
    (void)state;
    static const char *const algos[] = {"gtopk", "strom"};
    for (size_t a = 0; a < 2; a++) {
        struct syn_train_options options = runs_of(RUNS_SMALL, "busiest");
        double bytes[WORKERS];
        runs_use_algo(&options, algos[a]);
        options.workers = WORKERS;
        options.lr_schedule = "constant";
        options.density_warmup = 0;
        options.log_every = 1000;
        options.checkpoint_every = 5;
        options.steps = 6;
        runs_train(&options);
        read_bytes(&options, 5, bytes);
        double most = fmax(bytes[0], fmax(bytes[1], bytes[2]));
        double least = fmin(bytes[0], fmin(bytes[1], bytes[2]));
        options.steps = 5;
        double told = 5 * runs_train(&options).bytes_out_per_step;
        assert_true(least < most);
        if (fabs(told - most) > 0.5)
            fail_msg("%s: %.0f bytes; expected %.0f, the most of %.0f, %.0f and %.0f", algos[a],
                     told, most, bytes[0], bytes[1], bytes[2]);
    }
}

/* Two entries of a hundred, whatever the number of steps between two lines. */
static void density_and_entries_are_those_of_one_step(void **state)
{
    (void)state;
    for (uint64_t every = 1; every <= 5; every += 4) {
        struct syn_train_options options = runs_of(RUNS_SMALL, "density");
        runs_use_algo(&options, "topk");
        options.workers = WORKERS;
        options.density_warmup = 0;
        options.steps = 10;
        options.log_every = every;
        double params = (double)runs_train(&options).params;
        double density = metric_of("density/metrics.jsonl", 10, "density");
        double entries = metric_of("density/metrics.jsonl", 10, "entries");
        if (!(fabs(density / 0.02 - 1) < 0.01 && fabs(entries / (0.02 * params) - 1) < 0.01))
            fail_msg("density %g, %g entries; expected 0.02 of %.0f", density, entries, params);
    }
}

/* The floats of the whole gradient, 2 (P-1)/P times, over what was sent: a ring that sends them has
 * 1, whoever sends less has more, and one worker has none. */
static void the_ratio_is_that_of_a_ring_of_floats_to_what_was_sent(void **state)
{
    (void)state;
    static const char *const algos[] = {"ssgd", "gtopk"};
    for (uint64_t workers = 1; workers <= WORKERS; workers++)
        for (size_t a = 0; a < 2; a++) {
            struct syn_train_options options = runs_of(RUNS_SMALL, "ratio");
            runs_use_algo(&options, algos[a]);
            options.workers = workers;
            options.density_warmup = 0;
            options.steps = 3;
            struct syn_train_summary summary = runs_train(&options);
            assert_int_equal(summary.params, 26506);
            const double dense[] = {0, 0, 106024, 106024 * 4.0 / 3};
            double expected = dense[workers] / summary.bytes_out_per_step;
            double got = summary.ratio_to_dense;
            bool sends_all = fabs(got - 1) < 0.01;
            if (workers == 1 ? !isnan(got)
                             : fabs(got / expected - 1) > 1e-9 || sends_all != (a == 0))
                fail_msg("%s, %d workers: %g; expected %g", algos[a], (int)workers, got, expected);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_test_loss_is_that_of_all_examples_with_mean_statistics),
        cmocka_unit_test(evaluating_leaves_every_worker_its_own_statistics),
        cmocka_unit_test(the_middle_of_a_delayed_run_is_evaluated_with_the_global_weights),
        cmocka_unit_test(bytes_are_those_of_one_step),
        cmocka_unit_test(bytes_are_those_of_the_busiest_worker),
        cmocka_unit_test(the_speed_is_that_of_all_workers_before_and_after_they_meet),
        cmocka_unit_test(density_and_entries_are_those_of_one_step),
        cmocka_unit_test(the_ratio_is_that_of_a_ring_of_floats_to_what_was_sent),
    };
    return cmocka_run_group_tests(tests, runs_begin, runs_end);
}
