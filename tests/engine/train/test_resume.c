/* Runs that are stopped and resumed: they come to the bits of one that was never stopped, whatever
 * the method, the model and the number of workers; another number of workers loses nothing. */
#include "check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <syncopate/engine/checkpoint.h>

#include "runs.h"

/* A run without checkpoints, one with, and two that go on from where that one could have been
 * killed. */
static void check_same_bits(const struct syn_train_options *options, uint64_t every)
{
    static const char *const which[] = {"first", "second"};
    struct syn_train_summary bare = runs_train(options);
    struct syn_train_summary whole = runs_train_copying(options, every);
    assert_true(bare.weights_hash == whole.weights_hash);
    for (size_t i = 0; i < 2; i++) {
        struct syn_train_options again = runs_resumed(runs_copy(options, which[i]));
        struct syn_train_summary part = runs_train(&again);
        assert_int_equal(part.steps, whole.steps);
        if (part.weights_hash != whole.weights_hash)
            fail_msg("%s, %s, %d workers, resumed after %d steps: other weights", options->model,
                     options->algo, (int)options->workers, (int)(every * (i + 1)));
        /* Servers are asked for what they hold before it can be saved. */
        bool counts = options->servers == 0;
        if (counts && fabs(part.bytes_out_per_step - whole.bytes_out_per_step) > 1e-6)
            fail_msg("%s, %d workers: %.9g bytes a step; expected %.9g", options->algo,
                     (int)options->workers, part.bytes_out_per_step, whole.bytes_out_per_step);
        bool same = part.test_loss == whole.test_loss || !options->evaluate;
        assert_true(same);
    }
}

static void every_recipe_resumes_to_the_same_bits(void **state)
{
    (void)state;
    static const uint64_t workers[] = {1, 2, 3, 5};
    for (size_t r = 0; syn_recipe_name(r); r++)
        for (size_t w = r % 2; w < 4; w += 2) {
            struct syn_train_options options = runs_of(RUNS_SMALL, "recipe");
            options.workers = workers[w];
            options.data.synthetic_examples = 48 * workers[w]; /* 12 steps */
            runs_use_algo(&options, syn_recipe_name(r));
            bool is_async = strcmp(options.worker.schedule, "async") == 0;
            if (!is_async || workers[w] == 1) /* it depends on who comes first */
                check_same_bits(&options, 2 + (r + w) % 4);
        }
}

static void parameter_servers_resume_to_the_same_bits(void **state)
{
    (void)state;
    static const struct {
        const char *algo;
        uint64_t workers;
        uint64_t servers;
    } cases[] = {{"ssgd", 3, 2}, {"ssd-sgd", 2, 1}, {"strom", 2, 3}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct syn_train_options options = runs_of(RUNS_SMALL, "servers");
        options.workers = cases[i].workers;
        options.servers = cases[i].servers;
        options.data.synthetic_examples = 48 * cases[i].workers;
        runs_use_algo(&options, cases[i].algo);
        check_same_bits(&options, 3);
    }
}

static void accumulated_gradients_resume_to_the_same_bits(void **state)
{
    (void)state;
    struct syn_train_options options = runs_of(RUNS_SMALL, "accumulate");
    options.workers = 2;
    options.accumulate = 3; /* an epoch of 4 batches: steps lie across its end */
    options.epochs = 8;
    options.data.synthetic_examples = 64;
    runs_use_algo(&options, "gtopk");
    check_same_bits(&options, 2);
}

static void a_mix_of_methods_resumes_to_the_same_bits(void **state)
{
    (void)state;
    for (uint64_t every = 4; every < 6; every++) {
        struct syn_train_options options = runs_of("lenet", "mix");
        options.workers = 3;
        runs_use_algo(&options, "ssd-sgd");
        options.worker.reducer.select = "topk";
        options.worker.reducer.exchange = "gtopk";
        check_same_bits(&options, every);
    }
}

/* Their residual is kept in another order than the layout's. */
static void tensors_that_are_always_sent_whole_resume_to_the_same_bits(void **state)
{
    (void)state;
    static const char *const algos[] = {"gtopk", "fit"};
    for (size_t a = 0; a < 2; a++) {
        struct syn_train_options options = runs_of(RUNS_SMALL, "dense");
        options.workers = 3;
        runs_use_algo(&options, algos[a]);
        options.worker.reducer.dense_below = 100; /* biases */
        check_same_bits(&options, 4);
    }
}

static void batch_norm_resumes_to_the_same_bits(void **state)
{
    (void)state;
    struct syn_train_options options = runs_of("resnet20", "resnet");
    options.workers = 2;
    options.batch = 4;
    options.data.synthetic_examples = 64;
    options.evaluate = true;
    runs_use_algo(&options, "gtopk");
    check_same_bits(&options, 3);
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

static struct syn_train_options runs_on_text(const char *model, const char *name)
{
    write_text("ptb.train.txt", 900);
    write_text("ptb.valid.txt", 90);
    write_text("ptb.test.txt", 90);
    struct syn_train_options options = runs_of(model, name);
    assert_ok(syn_settings_set(&syn_data_settings, &options.data, "data", "text"));
    snprintf(options.data.data_dir, sizeof options.data.data_dir, "%s", runs_home);
    options.workers = 2;
    options.batch = 5;
    options.time = 6;
    options.evaluate = true;
    return options;
}

static void carried_state_and_dropout_resume_to_the_same_bits(void **state)
{
    (void)state;
    struct syn_train_options options = runs_on_text("lstm-small", "lstm");
    check_same_bits(&options, 5);
}

/* Attention and tied weights, with the memory of AdamW. */
static void a_transformer_resumes_to_the_same_bits(void **state)
{
    (void)state;
    struct syn_train_options options = runs_on_text("gpt", "gpt");
    options.data.letters = true;
    options.lr = 1e-3;
    assert_string_equal(options.worker.optimizer.optimizer, "adamw");
    check_same_bits(&options, 5);
}

/* The sum of all workers' residuals over their number, as metrics and checkpoints cannot tell it:
 * read from the archives, where a reducer's state ends with what was not sent and a hash. */
static void read_mass(const char *directory, size_t workers, double *mass, size_t params)
{
    uint64_t steps[SYN_CHECKPOINTS_MOST];
    assert_true(syn_checkpoint_list(directory, steps) > 0);
    for (size_t i = 0; i < params; i++)
        mass[i] = 0;
    for (size_t w = 0; w < workers; w++) {
        char path[SYN_CHECKPOINT_PATH];
        struct syn_archive *archive;
        struct syn_section section;
        assert_ok(syn_checkpoint_path(directory, steps[0], w, path));
        assert_ok(syn_archive_load(path, &archive));
        assert_ok(syn_archive_find(archive, "store/reducer", &section));
        const unsigned char *unsent =
            (const unsigned char *)section.bytes + section.count - 8 - params * sizeof(float);
        for (size_t i = 0; i < params; i++) {
            float value;
            memcpy(&value, unsent + i * sizeof value, sizeof value);
            mass[i] += (double)value / (double)workers;
        }
        syn_archive_free(archive);
    }
}

static double distance(const double *a, const double *b, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += (a[i] - b[i]) * (a[i] - b[i]);
    return sqrt(sum);
}

static void another_number_of_workers_keeps_what_was_not_sent(void **state)
{
    (void)state;
    static const uint64_t workers[] = {4, 3, 5, 1};
    struct syn_train_options options = runs_of("lenet", "regroup-4");
    options.workers = workers[0];
    options.steps = 5;
    runs_use_algo(&options, "gtopk");
    struct syn_train_summary summary = runs_train(&options);
    double *before = calloc(summary.params, sizeof *before);
    double *after = calloc(summary.params, sizeof *after);
    double *zero = calloc(summary.params, sizeof *zero);
    assert_true(before && after && zero);
    for (size_t i = 1; i < 4; i++) {
        char from[SYN_TEXT_BYTES];
        memcpy(from, options.out, sizeof from);
        read_mass(from, workers[i - 1], before, summary.params);
        double mass = distance(before, zero, summary.params);
        assert_true(mass > 0);
        options = runs_resumed(from); /* no step is left: it is only regrouped, and saved again */
        options.workers = workers[i];
        snprintf(options.out, sizeof options.out, "%s/regroup-%d", runs_home, (int)workers[i]);
        struct syn_train_summary again = runs_train(&options);
        assert_int_equal(again.steps, summary.steps);
        assert_true(again.weights_hash == summary.weights_hash);
        read_mass(options.out, workers[i], after, summary.params);
        assert_true(distance(before, after, summary.params) < 1e-6 * mass);
    }
    free(before);
    free(after);
    free(zero);
}

static void after_a_change_of_workers_the_epochs_go_on(void **state)
{
    (void)state;
    struct syn_train_options options = runs_of(RUNS_SMALL, "epochs");
    options.workers = 4;
    runs_use_algo(&options, "topk");
    runs_train_copying(&options, 5); /* of 8 an epoch */
    struct syn_train_options again = runs_resumed(runs_copy(&options, "second"));
    again.workers = 2;
    struct syn_train_summary summary = runs_train(&again);
    assert_true(fabs(summary.epochs - 2) < 1e-9);
    assert_int_equal(summary.steps, 10 + 11); /* of 15 an epoch, 4 of which are behind */
    again = runs_resumed(again.out);
    assert_int_equal(again.workers, 2);
    again.epochs = 3;
    summary = runs_train(&again);
    assert_true(fabs(summary.epochs - 3) < 1e-9);
    assert_int_equal(summary.steps, 10 + 11 + 15);
}

static void regrouped_workers_stay_alike_and_can_be_resumed_again(void **state)
{
    (void)state;
    for (size_t r = 0; syn_recipe_name(r); r++) {
        struct syn_train_options options = runs_of(RUNS_SMALL, "regrouped");
        options.workers = 3;
        options.worker.compare_every = 1;
        runs_use_algo(&options, syn_recipe_name(r));
        runs_train_copying(&options, 4);
        struct syn_train_options again = runs_resumed(runs_copy(&options, "first"));
        again.workers = 2;
        again.worker.compare_every = 1;
        struct syn_train_summary whole = runs_train_copying(&again, 4);
        again = runs_resumed(runs_copy(&again, "second"));
        assert_int_equal(again.workers, 2);
        bool is_async = strcmp(again.worker.schedule, "async") == 0;
        assert_true(runs_train(&again).weights_hash == whole.weights_hash || is_async);
    }
}

/* The loss in the line of metrics.jsonl that has that step. */
static double loss_of_line(const char *directory, unsigned long long step)
{
    char path[RUNS_PATH];
    char line[2048];
    unsigned long long found;
    double loss = NAN;
    snprintf(path, sizeof path, "%s/metrics.jsonl", directory);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file)) {
        const char *at = strstr(line, "\"loss\": ");
        if (at && sscanf(line, "{\"step\": %llu", &found) == 1 && found == step)
            loss = strtod(at + strlen("\"loss\": "), NULL);
    }
    fclose(file);
    return loss;
}

/* Five steps of four workers and five of two in one line, and in a line each. */
static void a_line_across_a_change_of_workers_counts_every_label_once(void **state)
{
    (void)state;
    static const uint64_t every[] = {10, 1};
    double sum = 0;
    double across = 0;
    for (size_t i = 0; i < 2; i++) {
        struct syn_train_options options = runs_of(RUNS_SMALL, "across");
        options.workers = 4;
        options.log_every = every[i];
        runs_train_copying(&options, 5);
        struct syn_train_options again = runs_resumed(runs_copy(&options, "first"));
        again.workers = 2;
        again.steps = 10;
        runs_train(&again);
        if (i == 0)
            across = loss_of_line(again.out, 10);
        for (unsigned long long step = 1; step <= 10 && i == 1; step++)
            sum += (step <= 5 ? 4 : 2) * loss_of_line(again.out, step);
    }
    if (!(fabs(across - sum / 30) < 1e-5))
        fail_msg("loss %.9g in one line, %.9g in ten", across, sum / 30);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_recipe_resumes_to_the_same_bits),
        cmocka_unit_test(parameter_servers_resume_to_the_same_bits),
        cmocka_unit_test(accumulated_gradients_resume_to_the_same_bits),
        cmocka_unit_test(a_mix_of_methods_resumes_to_the_same_bits),
        cmocka_unit_test(tensors_that_are_always_sent_whole_resume_to_the_same_bits),
        cmocka_unit_test(batch_norm_resumes_to_the_same_bits),
        cmocka_unit_test(carried_state_and_dropout_resume_to_the_same_bits),
        cmocka_unit_test(a_transformer_resumes_to_the_same_bits),
        cmocka_unit_test(another_number_of_workers_keeps_what_was_not_sent),
        cmocka_unit_test(after_a_change_of_workers_the_epochs_go_on),
        cmocka_unit_test(regrouped_workers_stay_alike_and_can_be_resumed_again),
        cmocka_unit_test(a_line_across_a_change_of_workers_counts_every_label_once),
    };
    return cmocka_run_group_tests(tests, runs_begin, runs_end);
}
