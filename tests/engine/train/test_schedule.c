/* Learning-rate schedules against their formulas, and the presets against the tables. */
#include "check.h"

#include <math.h>
#include <string.h>

#include <syncopate/engine/train.h>

#include "engine/train/options.h"
#include "engine/train/schedule.h"

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
    static const char *const bad[] = {"x",  "1,",  ",1",  "2,1", "0",
                                      "-1", "1 2", "1,1", "nan", "inf"};
    struct syn_train_options options = options_with("step");
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        set_milestones(&options, bad[i]);
        assert_status(SYN_INVALID, syn_lr_check(&options));
        assert_non_null(strstr(syn_error_text(), bad[i]));
    }
    set_milestones(&options, "81,122");
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
        cmocka_unit_test(every_schedule_has_a_name_and_a_line),
        cmocka_unit_test(every_model_has_a_preset_that_can_be_used),
        cmocka_unit_test(an_unknown_model_leaves_the_options_as_they_were),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
