/* The ready models take their shape from the data. */
#include "check.h"

#include <stdlib.h>
#include <string.h>

#include <syncopate/engine/model.h>

/* Height and width that the model reads at least, as its refusal tells; 0 for language models. */
static size_t least_of(const char *name, struct syn_input input)
{
    struct syn_graph *graph = NULL;
    input.height = input.width = 0;
    if (input.kind == SYN_INPUT_TOKENS)
        return 0;
    assert_status(SYN_INVALID, syn_graph_ready(name, &input, &graph));
    const char *words = strstr(syn_error_text(), "at least ");
    assert_non_null(words);
    return strtoul(words + strlen("at least "), NULL, 10);
}

static void every_image_model_takes_channels_sizes_and_classes_from_the_data(void **state)
{
    (void)state;
    for (size_t i = 0; syn_model_name(i); i++) {
        struct syn_input usual;
        struct syn_graph *graph = NULL;
        struct syn_model *model = NULL;
        struct syn_model_options options;
        const char *name = syn_model_name(i);
        assert_ok(syn_model_usual_input(name, &usual));
        size_t least = least_of(name, usual);
        if (least == 0)
            continue;
        struct syn_input input = {SYN_INPUT_IMAGES, 2, least, least + 5, 7};
        syn_model_defaults(&options);
        options.batch = 1;
        options.training = false;
        assert_ok(syn_graph_ready(name, &input, &graph));
        assert_ok(syn_model_build(graph, &options, &model));
        syn_graph_free(graph);
        struct syn_input built = syn_model_input(model);
        assert_int_equal(built.channels, 2);
        assert_int_equal(built.height, least);
        assert_int_equal(built.width, least + 5);
        assert_int_equal(built.classes, 7);
        syn_model_free(model);
        input.width = least - 1;
        assert_status(SYN_INVALID, syn_graph_ready(name, &input, &graph));
    }
}

static void words_are_refused_by_image_models_and_the_other_way_round(void **state)
{
    (void)state;
    struct syn_graph *graph = NULL;
    struct syn_input words = {.kind = SYN_INPUT_TOKENS, .classes = 100};
    struct syn_input images = {SYN_INPUT_IMAGES, 3, 32, 32, 10};
    assert_status(SYN_INVALID, syn_graph_ready("lenet", &words, &graph));
    assert_non_null(strstr(syn_error_text(), "the data are words of a text"));
    assert_status(SYN_INVALID, syn_graph_ready("lstm", &images, &graph));
    assert_non_null(strstr(syn_error_text(), "the data are images of 3x32x32"));
}

static void he_draws_normal_weights_of_variance_2_over_inputs_and_no_biases(void **state)
{
    (void)state;
    struct syn_graph *graph = NULL;
    struct syn_model *model = NULL;
    struct syn_model_options options;
    syn_model_defaults(&options);
    assert_ok(syn_graph_ready("mlp", NULL, &graph));
    assert_ok(syn_model_build(graph, &options, &model));
    syn_graph_free(graph);
    const struct syn_layout *layout = syn_model_layout(model);
    float *weights = malloc(syn_layout_size(layout) * sizeof *weights);
    assert_non_null(weights);
    syn_model_initialise_as(model, SYN_INITIALISE_HE, 1, weights);
    for (size_t i = 0, at = 0; i < syn_layout_count(layout); i++) {
        struct syn_tensor tensor = syn_layout_tensor(layout, i);
        bool is_bias = strstr(tensor.name, "bias") != NULL;
        double expected = is_bias ? 0 : i == 0 ? 2.0 / 784 : 2.0 / 512;
        double squares = 0;
        for (size_t k = 0; k < tensor.count; k++, at++)
            squares += (double)weights[at] * (double)weights[at];
        double variance = squares / (double)tensor.count;
        assert_true(variance >= 0.9 * expected && variance <= 1.1 * expected);
    }
    free(weights);
    syn_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_image_model_takes_channels_sizes_and_classes_from_the_data),
        cmocka_unit_test(he_draws_normal_weights_of_variance_2_over_inputs_and_no_biases),
        cmocka_unit_test(words_are_refused_by_image_models_and_the_other_way_round),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
