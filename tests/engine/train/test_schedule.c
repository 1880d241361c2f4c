/* Learning-rate schedules against their formulas, and the presets against the tables. */
#include "check.h"

#include <math.h>
#include <string.h>

#include <syncopate/engine/train.h>

#include "engine/train/options/lr_schedule.h"
#include "engine/train/options/options.h"

#define PI 3.141592653589793

static struct syn_train_options options_with(const char *schedule)
{
    struct syn_train_options options;
    assert_ok(syn_train_defaults("lenet", &options));
    options.lr = 0.4;
    options.lr_schedule = schedule;
    return options;
}

static void set_milestones(struct syn_train_options *options, const char *epochs)
{
    assert_ok(syn_settings_set(&syn_train_settings, options, "lr-milestones", epochs));
}

static void check_lr(const struct syn_train_options *options, uint64_t step, uint64_t steps,
                     double expected)
{
    double lr = syn_train_lr(options, step, steps, 10);
    if (fabs(lr - expected) > 1e-12)
        fail_msg("%s at step %d of %d: %.15g, expected %.15g", options->lr_schedule, (int)step,
                 (int)steps, lr, expected);
}

static void constant_stays(void **state)
{
    (void)state;
    struct syn_train_options options = options_with("constant");
    for (uint64_t step = 0; step < 100; step++)
        check_lr(&options, step, 100, 0.4);
}

static void step_falls_at_the_milestones(void **state)
{
    (void)state;
    struct syn_train_options options = options_with("step");
    set_milestones(&options, "2,3.5,7");
    options.lr_factor = 0.5;
    for (uint64_t step = 0; step < 100; step++)
        check_lr(&options, step, 100, step < 20 ? 0.4 : step < 35 ? 0.2 : step < 70 ? 0.1 : 0.05);
}

static void step_without_milestones_falls_after_half_and_three_quarters(void **state)
{
    (void)state;
    struct syn_train_options options = options_with("step");
    for (uint64_t step = 0; step < 100; step++)
        check_lr(&options, step, 100, step < 50 ? 0.4 : step < 75 ? 0.04 : 0.004);
}

static void milestones_that_are_no_ascending_epochs_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"x",   "1,",    ",1",    "2,1",     "0",  "-1",
                                      "1 2", "1,1",   "nan",   "inf",     "1/", "1/0",
                                      "3/2", "1/2,3", "3,1/2", "1/2,1/3", "/2"};
    struct syn_train_options options = options_with("step");
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        set_milestones(&options, bad[i]);
        assert_status(SYN_INVALID, syn_lr_check(&options));
        assert_non_null(strstr(syn_error_text(), bad[i]));
    }
    set_milestones(&options, "81,122");
    assert_ok(syn_lr_check(&options));
    set_milestones(&options, "1/3,0.5/1,122/164");
    assert_ok(syn_lr_check(&options));
}

static void cosine_falls_to_its_final_share(void **state)
{
    (void)state;
    struct syn_train_options options = options_with("cosine");
    options.lr_final = 0.1;
    for (uint64_t step = 0; step < 100; step++)
        check_lr(&options, step, 100, 0.4 * (0.1 + 0.9 * (1 + cos(PI * (double)step / 100)) / 2));
}

/* As torch.optim.lr_scheduler.OneCycleLR with div_factor 25 and final_div_factor 1e4 has it. */
static void one_cycle_rises_and_falls(void **state)
{
    (void)state;
    struct syn_train_options options = options_with("one-cycle");
    options.lr_final = 0.04e-4;
    check_lr(&options, 0, 100, 0.016);
    check_lr(&options, 29, 100, 0.4);
    check_lr(&options, 99, 100, 0.4 * 0.04e-4);
    for (uint64_t step = 0; step < 29; step++)
        check_lr(&options, step, 100, 0.4 - (0.4 - 0.016) * (1 + cos(PI * (double)step / 29)) / 2);
    for (uint64_t step = 29; step < 100; step++)
        check_lr(&options, step, 100,
                 0.4 * 0.04e-4 +
                     (0.4 - 0.4 * 0.04e-4) * (1 + cos(PI * (double)(step - 29) / 70)) / 2);
}

static void one_cycle_of_any_shape_stays_between_zero_and_the_highest(void **state)
{
    (void)state;
    static const double peaks[] = {0, 0.01, 0.3, 0.99, 1};
    struct syn_train_options options = options_with("one-cycle");
    for (size_t i = 0; i < sizeof peaks / sizeof peaks[0]; i++) {
        options.lr_peak = peaks[i];
        for (uint64_t steps = 1; steps < 12; steps++)
            for (uint64_t step = 0; step < steps; step++) {
                double lr = syn_train_lr(&options, step, steps, 1);
                assert_true(lr >= 0 && lr <= 0.4);
            }
    }
}

static void warm_up_rises_in_a_straight_line(void **state)
{
    (void)state;
    struct syn_train_options options = options_with("constant");
    options.warmup_epochs = 2;
    options.warmup_from = 0.25;
    for (uint64_t step = 0; step < 100; step++)
        check_lr(&options, step, 100, step < 20 ? 0.1 + 0.3 * (double)step / 20 : 0.4);
    options.warmup_steps = 40;
    check_lr(&options, 20, 100, 0.25);
}

static void every_schedule_has_a_name_and_a_line(void **state)
{
    (void)state;
    size_t i = 0;
    for (; syn_lr_schedule_name(i); i++)
        assert_true(strlen(syn_lr_schedule_help(i)) > 0);
    assert_int_equal(i, 4);
    assert_null(syn_lr_schedule_help(i));
}

static void every_model_has_a_preset_that_can_be_used(void **state)
{
    (void)state;
    for (size_t i = 0; syn_model_name(i); i++) {
        struct syn_train_options options;
        assert_non_null(syn_train_preset(syn_model_name(i)));
        assert_ok(syn_train_defaults(syn_model_name(i), &options));
        assert_string_equal(options.model, syn_model_name(i));
        assert_ok(syn_train_check(&options));
    }
}

static void an_unknown_model_leaves_the_options_as_they_were(void **state)
{
    (void)state;
    struct syn_train_options options = options_with("cosine");
    assert_status(SYN_INVALID, syn_train_defaults("lenet-6", &options));
    assert_non_null(strstr(syn_error_text(), "lenet-6"));
    assert_string_equal(options.lr_schedule, "cosine");
}

/* Options of a model by a method, fitted to a run of so many steps, of which 10 are an epoch. */
static struct syn_train_options fitted(const char *model, const char *algo, uint64_t steps)
{
    struct syn_train_options options;
    assert_ok(syn_train_defaults(model, &options));
    options.algo = algo;
    assert_ok(syn_train_apply_algo(&options));
    syn_length_resolve((struct syn_length){steps, 10}, &options);
    return options;
}

static void every_residual_network_comes_to_its_last_rate_however_short_the_run(void **state)
{
    (void)state;
    static const char *const models[] = {"resnet20", "resnet56", "resnet110",
                                         "vgg16",    "alexnet",  "resnet50"};
    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++)
        for (uint64_t steps = 20; steps <= 1640; steps *= 2) {
            struct syn_train_options options = fitted(models[i], "ssgd", steps);
            double last = strcmp(models[i], "resnet50") == 0 ? 1e-3 : 1e-2;
            double lr = syn_train_lr(&options, steps - 1, steps, 10);
            if (fabs(lr - last * options.lr) > 1e-9)
                fail_msg("%s, %d steps: ends with %g", models[i], (int)steps, lr);
            assert_true(syn_train_lr(&options, steps / 4, steps, 10) == options.lr);
        }
    struct syn_train_options usual = fitted("resnet20", "ssgd", 1640);
    assert_string_equal(usual.lr_milestones, "81,122"); /* as published */
    assert_string_equal(fitted("resnet20", "ssgd", 200).lr_milestones, "9.87804878,14.87804878");
}

static void milestones_that_were_set_in_epochs_stay(void **state)
{
    (void)state;
    struct syn_train_options options = options_with("step");
    set_milestones(&options, "81,122");
    syn_length_resolve((struct syn_length){200, 10}, &options);
    assert_string_equal(options.lr_milestones, "81,122");
}

static void a_density_is_reached_however_short_the_run(void **state)
{
    (void)state;
    static const char *const models[] = {"mlp", "resnet20"};
    for (size_t i = 0; i < 2; i++)
        for (uint64_t steps = 5; steps < 2000; steps *= 3) {
            struct syn_train_options options = fitted(models[i], "gtopk", steps);
            double last = syn_train_density(&options, (double)(steps - 1) / 10);
            assert_true(last == options.worker.reducer.density);
            assert_true(options.density_warmup <= (i == 0 ? 0.5 : 4));
        }
    assert_true(fitted("mlp", "gtopk", 1000).density_warmup == 0.5);
    assert_true(fitted("resnet20", "gtopk", 1000).density_warmup == 4);
}

/* In epochs of ten steps, a fifth of n steps is n/50. */
static void four_fifths_of_a_run_have_the_density_that_was_asked_for(void **state)
{
    (void)state;
    static const char *const models[] = {"mlp", "resnet20"};
    for (size_t i = 0; i < 2; i++)
        for (uint64_t steps = 7; steps < 2000; steps *= 3) {
            struct syn_train_options options = fitted(models[i], "gtopk", steps);
            uint64_t own = 0;
            for (uint64_t step = 0; step < steps; step++)
                own += syn_train_density(&options, (double)step / 10) ==
                       options.worker.reducer.density;
            if (5 * own < 4 * steps || own == steps)
                fail_msg("%s: %llu of %llu steps", models[i], (unsigned long long)own,
                         (unsigned long long)steps);
        }
    assert_true(fabs(fitted("resnet20", "gtopk", 50).density_warmup - 1) < 1e-12);
}

/* In four equal parts of the warm-up: 1/4 from its first step, 1/16, 1/64, 1/256; then what was
 * asked for. */
static void the_density_falls_by_four_after_each_quarter_of_the_warm_up(void **state)
{
    (void)state;
    struct syn_train_options options = fitted("resnet20", "gtopk", 1000);
    options.density_warmup = 2;
    options.worker.reducer.density = 0.001;
    for (int step = 0; step < 40; step++) {
        double epoch = step / 10.0;
        double expected = step < 5    ? 0.25
                          : step < 10 ? 0.25 / 4
                          : step < 15 ? 0.25 / 16
                                      : 0.25 / 64;
        expected = step < 20 ? expected : 0.001;
        if (fabs(syn_train_density(&options, epoch) - expected) > 1e-12)
            fail_msg("epoch %g: %g, expected %g", epoch, syn_train_density(&options, epoch),
                     expected);
    }
    options.worker.reducer.density = 0.02; /* never below what was asked for */
    assert_true(syn_train_density(&options, 1.2) == 0.02);
}

static void a_delay_begins_however_short_the_run(void **state)
{
    (void)state;
    assert_int_equal(fitted("mlp", "ssd-sgd", 300).worker.warmup, 30);
    assert_int_equal(fitted("mlp", "ssd-sgd", 5000).worker.warmup, 500);
    assert_int_equal(fitted("mlp", "ssd-sgd", 50000).worker.warmup, 500);
    assert_int_equal(fitted("mlp", "od-sgd", 300).worker.warmup, 30);
    assert_int_equal(fitted("mlp", "od-sgd", 50000).worker.warmup, 200);
}

static void warm_ups_that_were_set_stay(void **state)
{
    (void)state;
    struct syn_train_options options;
    assert_ok(syn_train_defaults("mlp", &options));
    options.algo = "ssd-sgd";
    assert_ok(syn_train_apply_algo(&options));
    options.worker.warmup = 400;
    options.density_warmup = 7;
    options.worker.reducer.select = "topk";
    syn_length_resolve((struct syn_length){20, 10}, &options);
    assert_int_equal(options.worker.warmup, 400);
    assert_true(options.density_warmup == 7);
}

static void check_idle(const struct syn_train_options *options, uint64_t steps, const char *words)
{
    char text[SYN_TEXT_BYTES];
    syn_length_find_idle((struct syn_length){steps, 10}, options, text, sizeof text);
    if (words ? !strstr(text, words) : text[0] != '\0')
        fail_msg("%d steps: \"%s\", expected \"%s\"", (int)steps, text, words ? words : "");
}

static void what_never_begins_is_told(void **state)
{
    (void)state;
    struct syn_train_options options = fitted("mlp", "ssd-sgd", 10000);
    check_idle(&options, 501, NULL);
    check_idle(&options, 500,
               "ssd-sgd never begins to delay: its warm-up is 500 steps, the run 500");
    options = fitted("resnet20", "gtopk", 10000);
    check_idle(&options, 41, NULL);
    check_idle(&options, 40, "gtopk never reaches its density of");
    options = fitted("mlp", "ssgd", 10000);
    options.warmup_steps = 100;
    check_idle(&options, 101, NULL);
    check_idle(&options, 100, "the learning rate never reaches 0.1");
}

/* From a run of 100 steps that was left at a step, to one of another length. */
static struct syn_train_options changed(const char *schedule, uint64_t step, uint64_t steps,
                                        char text[SYN_TEXT_BYTES])
{
    struct syn_train_options options = options_with(schedule);
    syn_length_resolve((struct syn_length){100, 10}, &options);
    syn_length_change((struct syn_length_place){step, {100, 10}},
                      (struct syn_length_place){step, {steps, 10}}, &options, text, SYN_TEXT_BYTES);
    return options;
}

static void a_finished_one_cycle_that_is_made_longer_begins_a_new_one(void **state)
{
    (void)state;
    char text[SYN_TEXT_BYTES];
    struct syn_train_options options = changed("one-cycle", 100, 200, text);
    assert_non_null(strstr(text, "restarts at"));
    check_lr(&options, 100, 200, 0.016); /* rises from its first share, as any cycle does */
    check_lr(&options, 129, 200, 0.4);
    check_lr(&options, 199, 200, 0);
}

/* Twice as long, a cosine that had fallen to 0.10 of its rate would be at 0.65 again, and one at
 * 0.90 at 0.98. */
static void a_schedule_that_would_rise_by_more_than_half_begins_again(void **state)
{
    (void)state;
    char text[SYN_TEXT_BYTES];
    changed("cosine", 80, 200, text);
    assert_non_null(strstr(text, "restarts at"));
    changed("cosine", 20, 200, text);
    assert_non_null(strstr(text, "continues at"));
}

static void a_run_that_is_made_longer_never_jumps_up_without_a_word(void **state)
{
    (void)state;
    static const char *const schedules[] = {"one-cycle", "cosine", "step", "constant"};
    for (size_t i = 0; i < 4; i++)
        for (uint64_t step = 1; step <= 100; step++)
            for (uint64_t steps = step + 1; steps < 400; steps += 37) {
                char text[SYN_TEXT_BYTES];
                struct syn_train_options options = changed(schedules[i], step, steps, text);
                struct syn_train_options before = options_with(schedules[i]);
                syn_length_resolve((struct syn_length){100, 10}, &before);
                double was = syn_train_lr(&before, step < 100 ? step : 99, 100, 10);
                double is = syn_train_lr(&options, step, steps, 10);
                if (text[0] == '\0' && fabs(is - was) > 0.06 * was && steps > 103)
                    fail_msg("%s, %d steps of %d: from %g to %g", schedules[i], (int)step,
                             (int)steps, was, is);
                if (i >= 2)
                    assert_true(is == was && text[0] == '\0');
            }
}

static void the_same_length_with_other_workers_changes_nothing(void **state)
{
    (void)state;
    char text[SYN_TEXT_BYTES];
    struct syn_train_options options = options_with("one-cycle");
    syn_length_change((struct syn_length_place){90, {100, 10}},
                      (struct syn_length_place){117, {130, 13}}, &options, text, sizeof text);
    assert_string_equal(text, "");
    assert_true(options.lr_from == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(constant_stays),
        cmocka_unit_test(step_falls_at_the_milestones),
        cmocka_unit_test(step_without_milestones_falls_after_half_and_three_quarters),
        cmocka_unit_test(milestones_that_are_no_ascending_epochs_are_refused),
        cmocka_unit_test(cosine_falls_to_its_final_share),
        cmocka_unit_test(one_cycle_rises_and_falls),
        cmocka_unit_test(one_cycle_of_any_shape_stays_between_zero_and_the_highest),
        cmocka_unit_test(warm_up_rises_in_a_straight_line),
        cmocka_unit_test(every_residual_network_comes_to_its_last_rate_however_short_the_run),
        cmocka_unit_test(milestones_that_were_set_in_epochs_stay),
        cmocka_unit_test(a_density_is_reached_however_short_the_run),
        cmocka_unit_test(four_fifths_of_a_run_have_the_density_that_was_asked_for),
        cmocka_unit_test(the_density_falls_by_four_after_each_quarter_of_the_warm_up),
        cmocka_unit_test(a_delay_begins_however_short_the_run),
        cmocka_unit_test(warm_ups_that_were_set_stay),
        cmocka_unit_test(what_never_begins_is_told),
        cmocka_unit_test(a_finished_one_cycle_that_is_made_longer_begins_a_new_one),
        cmocka_unit_test(a_schedule_that_would_rise_by_more_than_half_begins_again),
        cmocka_unit_test(a_run_that_is_made_longer_never_jumps_up_without_a_word),
        cmocka_unit_test(the_same_length_with_other_workers_changes_nothing),
        cmocka_unit_test(every_schedule_has_a_name_and_a_line),
        cmocka_unit_test(every_model_has_a_preset_that_can_be_used),
        cmocka_unit_test(an_unknown_model_leaves_the_options_as_they_were),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
