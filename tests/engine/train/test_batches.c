/* Dropout masks are drawn by the number of the batch, so that each batch of a run needs a number of
 * its own: the numbers that the loop hands to the model. */
#include "check.h"

#include "runs.h"

#include <syncopate/engine/model.h>

#define MOST 64

static uint64_t numbers[MOST];
static size_t count;

/* NOLINTBEGIN(bugprone-reserved-identifier): the linker names them */
enum syn_status __real_syn_model_step(struct syn_model *model, const float *weights,
                                      const struct syn_examples *examples,
                                      const struct syn_ready_hook *ready, float *gradient,
                                      struct syn_step_result *result);
enum syn_status __wrap_syn_model_step(struct syn_model *model, const float *weights,
                                      const struct syn_examples *examples,
                                      const struct syn_ready_hook *ready, float *gradient,
                                      struct syn_step_result *result);

enum syn_status __wrap_syn_model_step(struct syn_model *model, const float *weights,
                                      const struct syn_examples *examples,
                                      const struct syn_ready_hook *ready, float *gradient,
                                      struct syn_step_result *result)
{
    assert_true(count < MOST);
    numbers[count++] = examples->step;
    return __real_syn_model_step(model, weights, examples, ready, gradient, result);
}
/* NOLINTEND(bugprone-reserved-identifier) */

static void every_batch_of_a_run_has_a_number_of_its_own(void **state)
{
    (void)state;
    for (uint64_t accumulate = 1; accumulate <= 3; accumulate++) {
        struct syn_train_options options = runs_of(RUNS_SMALL, "batches");
        options.accumulate = accumulate;
        options.steps = 4;
        count = 0;
        runs_train(&options);
        assert_int_equal(count, 4 * accumulate);
        for (size_t i = 0; i < count; i++)
            assert_int_equal(numbers[i], i);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_batch_of_a_run_has_a_number_of_its_own),
    };
    return cmocka_run_group_tests(tests, runs_begin, runs_end);
}
