/* Layers against central differences: along a random direction d, the loss must change as the
 * gradient says, (L(w + e*d) - L(w - e*d)) / 2e = g * d. One small graph for each kind of layer,
 * with every option it has.
 *
 * ReLU and maxima have kinks, across which differences say nothing. Whether there is one on the way
 * shows in the losses alone: the slope then depends on e. Such directions are passed over. */
#include "check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <syncopate/engine/model.h>
#include <syncopate/random.h>

enum { BATCH = 3, TIME = 4, VOCABULARY = 11, SIDE = 7, CHANNELS = 2, CLASSES = 5 };

/* Directions to check, among how many at most; and how far off the slope may be, as a share of the
 * gradient's norm: several times what rounding to floats does to these losses. */
enum { DIRECTIONS = 6, MOST_TRIES = 200 };
#define TOLERANCE 5e-4

typedef syn_node layer_under_test(struct syn_graph *graph, syn_node from);

static syn_node convolution(struct syn_graph *graph, syn_node from)
{
    struct syn_convolution how = {.outputs = 5, .kernel = 3, .stride = 2, .padding = 1};
    return syn_graph_convolution(graph, "layer", from, how);
}

static syn_node convolution_without_bias(struct syn_graph *graph, syn_node from)
{
    struct syn_convolution how = {.outputs = 8, .kernel = 3, .padding = 1, .no_bias = true};
    from = syn_graph_convolution(graph, "first", from, how);
    return syn_graph_convolution(graph, "layer", from, how);
}

static syn_node single_pixels(struct syn_graph *graph, syn_node from)
{
    struct syn_convolution first = {.outputs = 11, .kernel = 1};
    from = syn_graph_convolution(graph, "first", from, first);
    struct syn_convolution how = {.outputs = 11, .kernel = 1, .no_bias = true};
    return syn_graph_add(graph, from, syn_graph_convolution(graph, "layer", from, how), false);
}

/* The second path to the same input finds a gradient there to add to. */
static syn_node single_pixels_with_stride(struct syn_graph *graph, syn_node from)
{
    struct syn_convolution first = {.outputs = 9, .kernel = 3, .padding = 1};
    from = syn_graph_convolution(graph, "first", from, first);
    struct syn_convolution how = {.outputs = 20, .kernel = 1, .stride = 2};
    syn_node one = syn_graph_convolution(graph, "one", from, how);
    return syn_graph_add(graph, one, syn_graph_convolution(graph, "two", from, how), false);
}

static syn_node inner_product(struct syn_graph *graph, syn_node from)
{
    return syn_graph_inner_product(graph, "layer", from, 9);
}

static syn_node batch_norm(struct syn_graph *graph, syn_node from)
{
    return syn_graph_batch_norm(graph, "norm", convolution(graph, from), false);
}

static syn_node batch_norm_with_relu(struct syn_graph *graph, syn_node from)
{
    return syn_graph_batch_norm(graph, "norm", convolution(graph, from), true);
}

static syn_node relu(struct syn_graph *graph, syn_node from)
{
    return syn_graph_relu(graph, convolution(graph, from));
}

/* Few values, and so few kinks. */
static syn_node max_pooling(struct syn_graph *graph, syn_node from)
{
    struct syn_convolution first = {.outputs = 2, .kernel = 3, .stride = 2, .padding = 1};
    struct syn_pooling how = {.kernel = 3, .stride = 2, .padding = 1};
    return syn_graph_max_pooling(graph, syn_graph_convolution(graph, "layer", from, first), how);
}

static syn_node average_pooling(struct syn_graph *graph, syn_node from)
{
    struct syn_pooling how = {.kernel = 2, .stride = 2};
    return syn_graph_average_pooling(graph, convolution_without_bias(graph, from), how);
}

static syn_node global_average(struct syn_graph *graph, syn_node from)
{
    return syn_graph_global_average(graph, convolution(graph, from));
}

static syn_node dropout(struct syn_graph *graph, syn_node from)
{
    return syn_graph_dropout(graph, convolution(graph, from), 0.3);
}

static syn_node addition(struct syn_graph *graph, syn_node from)
{
    struct syn_convolution how = {.outputs = 8, .kernel = 3, .padding = 1};
    syn_node one = syn_graph_convolution(graph, "one", from, how);
    syn_node two = syn_graph_convolution(graph, "two", one, how);
    return syn_graph_add(graph, one, two, true);
}

static syn_node subsampling(struct syn_graph *graph, syn_node from)
{
    struct syn_convolution how = {.outputs = 8, .kernel = 3, .padding = 1};
    return syn_graph_subsample(graph, syn_graph_convolution(graph, "one", from, how), 24, 2);
}

static syn_node embedding(struct syn_graph *graph, syn_node from)
{
    return syn_graph_embedding(graph, "layer", from, 6);
}

static syn_node lstm(struct syn_graph *graph, syn_node from)
{
    from = syn_graph_embedding(graph, "words", from, 6);
    from = syn_graph_lstm(graph, "one", from, 8);
    return syn_graph_lstm(graph, "two", from, 5);
}

static syn_node layer_norm(struct syn_graph *graph, syn_node from)
{
    return syn_graph_layer_norm(graph, "layer", syn_graph_embedding(graph, "words", from, 13));
}

/* The norm finds a gradient of its input to add to. */
static syn_node layer_norm_beside_a_shortcut(struct syn_graph *graph, syn_node from)
{
    from = syn_graph_embedding(graph, "words", from, 16);
    return syn_graph_add(graph, from, syn_graph_layer_norm(graph, "layer", from), false);
}

static syn_node gelu(struct syn_graph *graph, syn_node from)
{
    return syn_graph_gelu(graph, convolution(graph, from));
}

static syn_node gelu_beside_a_shortcut(struct syn_graph *graph, syn_node from)
{
    from = convolution(graph, from);
    return syn_graph_add(graph, from, syn_graph_gelu(graph, from), false);
}

static syn_node positions(struct syn_graph *graph, syn_node from)
{
    return syn_graph_positions(graph, "places", embedding(graph, from), TIME + 2);
}

static syn_node attention(struct syn_graph *graph, syn_node from)
{
    from = syn_graph_embedding(graph, "words", from, 12);
    from = syn_graph_inner_product(graph, "qkv", from, 3 * 2 * 8);
    return syn_graph_attention(graph, "layer", from, 2);
}

/* Both paths contribute to the gradient of the vectors. */
static syn_node tied_product(struct syn_graph *graph, syn_node from)
{
    syn_node words = syn_graph_embedding(graph, "words", from, 6);
    from = syn_graph_inner_product(graph, "between", words, 6);
    return syn_graph_tied_product(graph, "layer", from, words);
}

struct bench {
    struct syn_model *model;
    float *weights;
    float *moved;
    float *direction;
    float *gradient;
    size_t size;
    size_t threads; /* 0 is one */
    float images[BATCH * CHANNELS * SIDE * SIDE];
    int32_t tokens[BATCH * TIME];
    int32_t labels[BATCH * TIME];
    struct syn_examples examples;
};

static void build(struct bench *bench, layer_under_test *layer, bool on_text)
{
    struct syn_graph *graph;
    struct syn_model_options options;
    assert_ok(syn_graph_new(&graph));
    syn_node node = on_text ? syn_graph_tokens(graph, VOCABULARY)
                            : syn_graph_images(graph, CHANNELS, SIDE, SIDE);
    node = layer(graph, node);
    node = syn_graph_inner_product(graph, "last", node, on_text ? VOCABULARY : CLASSES);
    syn_graph_cross_entropy(graph, node);
    syn_model_defaults(&options);
    options.batch = BATCH;
    options.time = TIME;
    options.threads = bench->threads ? bench->threads : 1;
    assert_ok(syn_model_build(graph, &options, &bench->model));
    syn_graph_free(graph);
    bench->size = syn_layout_size(syn_model_layout(bench->model));
    float **arrays[] = {&bench->weights, &bench->moved, &bench->direction, &bench->gradient};
    for (int i = 0; i < 4; i++)
        *arrays[i] = calloc(bench->size, sizeof(float));
    syn_model_initialise(bench->model, 3, bench->weights);
}

static void fill(struct bench *bench, bool on_text)
{
    struct syn_random random;
    syn_random_start(&random, 7, 0);
    for (size_t i = 0; i < sizeof bench->images / sizeof bench->images[0]; i++)
        bench->images[i] = syn_random_normal(&random);
    for (size_t i = 0; i < BATCH * TIME; i++) {
        bench->tokens[i] = (int32_t)syn_random_below(&random, VOCABULARY);
        bench->labels[i] = (int32_t)syn_random_below(&random, CLASSES);
    }
    bench->examples = (struct syn_examples){.count = BATCH,
                                            .images = on_text ? NULL : bench->images,
                                            .tokens = on_text ? bench->tokens : NULL,
                                            .labels = bench->labels,
                                            .step = 1};
}

static double loss_at(struct bench *bench, const float *weights, float *gradient)
{
    struct syn_step_result result;
    syn_model_restart(bench->model, SYN_CARRY_TRAINING);
    assert_ok(syn_model_step(bench->model, weights, &bench->examples, NULL, gradient, &result));
    return result.loss;
}

/* The loss a little way along the direction. */
static double loss_along(struct bench *bench, float step)
{
    float *ignored = calloc(bench->size, sizeof *ignored);
    for (size_t i = 0; i < bench->size; i++)
        bench->moved[i] = bench->weights[i] + step * bench->direction[i];
    double loss = loss_at(bench, bench->moved, ignored);
    free(ignored);
    return loss;
}

/* The slope of the loss along the direction, from differences; whether it is one is said too. */
static bool measure_slope(struct bench *bench, double tolerance, double *slope)
{
    double slopes[3];
    float step = 5e-4F;
    for (int i = 0; i < 3; i++, step /= 2)
        slopes[i] = (loss_along(bench, step) - loss_along(bench, -step)) / (2 * (double)step);
    *slope = slopes[1];
    return fabs(slopes[0] - slopes[1]) <= tolerance && fabs(slopes[1] - slopes[2]) <= tolerance;
}

static double dot(const float *a, const float *b, size_t size)
{
    double sum = 0;
    for (size_t i = 0; i < size; i++)
        sum += (double)a[i] * (double)b[i];
    return sum;
}

static void release(struct bench *bench)
{
    free(bench->weights);
    free(bench->moved);
    free(bench->direction);
    free(bench->gradient);
    syn_model_free(bench->model);
}

static void check_layer(const char *name, layer_under_test *layer, bool on_text)
{
    struct bench bench = {0};
    struct syn_random random;
    build(&bench, layer, on_text);
    fill(&bench, on_text);
    loss_at(&bench, bench.weights, bench.gradient);
    double norm = sqrt(dot(bench.gradient, bench.gradient, bench.size));
    syn_random_start(&random, 11, 0);
    int checked = 0;
    for (int tries = 0; tries < MOST_TRIES && checked < DIRECTIONS; tries++) {
        for (size_t i = 0; i < bench.size; i++)
            bench.direction[i] = syn_random_normal(&random);
        double measured;
        if (!measure_slope(&bench, TOLERANCE * norm, &measured))
            continue;
        double slope = dot(bench.gradient, bench.direction, bench.size);
        if (fabs(measured - slope) > TOLERANCE * norm)
            fail_msg("%s: the loss changes by %g along a direction; the gradient says %g (norm %g)",
                     name, measured, slope, norm);
        checked++;
    }
    if (checked < DIRECTIONS)
        fail_msg("%s: only %d of %d directions are without a kink", name, checked, MOST_TRIES);
    release(&bench);
}

static const struct {
    const char *name;
    layer_under_test *layer;
    bool on_text;
} cases[] = {
    {"convolution", convolution, false},
    {"convolution without bias", convolution_without_bias, false},
    {"convolution of single pixels", single_pixels, false},
    {"the same with a stride", single_pixels_with_stride, false},
    {"inner product", inner_product, false},
    {"batch norm", batch_norm, false},
    {"batch norm with relu", batch_norm_with_relu, false},
    {"relu", relu, false},
    {"max pooling", max_pooling, false},
    {"average pooling", average_pooling, false},
    {"global average", global_average, false},
    {"dropout", dropout, false},
    {"addition", addition, false},
    {"subsample", subsampling, false},
    {"embedding", embedding, true},
    {"lstm", lstm, true},
    {"layer norm", layer_norm, true},
    {"layer norm beside a shortcut", layer_norm_beside_a_shortcut, true},
    {"gelu", gelu, false},
    {"gelu beside a shortcut", gelu_beside_a_shortcut, false},
    {"positions", positions, true},
    {"attention", attention, true},
    {"tied product", tied_product, true},
};

static void every_layers_gradient_agrees_with_central_differences(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        check_layer(cases[i].name, cases[i].layer, cases[i].on_text);
}

/* Whatever the gradient's memory held before. */
static void the_same_step_twice_gives_the_same_bits(void **state)
{
    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        struct bench bench = {0};
        build(&bench, cases[c].layer, cases[c].on_text);
        fill(&bench, cases[c].on_text);
        for (size_t i = 0; i < bench.size; i++)
            bench.moved[i] = 1;
        double first = loss_at(&bench, bench.weights, bench.gradient);
        double second = loss_at(&bench, bench.weights, bench.moved);
        if (first != second || memcmp(bench.gradient, bench.moved, bench.size * sizeof(float)) != 0)
            fail_msg("%s: the second time is different", cases[c].name);
        release(&bench);
    }
}

/* With all weights zero no class has a higher score than another. */
static void of_equal_scores_the_first_is_the_guess(void **state)
{
    (void)state;
    struct bench bench = {0};
    struct syn_step_result result;
    build(&bench, inner_product, false);
    fill(&bench, false);
    memcpy(bench.labels, (int32_t[BATCH]){0, 3, 0}, BATCH * sizeof *bench.labels);
    memset(bench.weights, 0, bench.size * sizeof *bench.weights);
    assert_ok(syn_model_evaluate(bench.model, bench.weights, &bench.examples, &result));
    assert_int_equal(result.counted, BATCH);
    assert_int_equal(result.correct, 2);
    assert_true(fabs(result.loss - log((double)CLASSES)) < 1e-6);
    release(&bench);
}

/* With all weights zero class 0 is the guess; each third of the rows has another number of hits. */
static void hits_and_losses_of_all_threads_count(void **state)
{
    (void)state;
    static const int32_t labels[BATCH * TIME] = {0, 1, 2, 3, 0, 0, 4, 1, 0, 0, 0, 2};
    for (size_t threads = 1; threads <= 3; threads += 2) {
        struct bench bench = {.threads = threads};
        struct syn_step_result result;
        build(&bench, embedding, true);
        fill(&bench, true);
        memcpy(bench.labels, labels, sizeof labels);
        memset(bench.weights, 0, bench.size * sizeof *bench.weights);
        assert_ok(syn_model_evaluate(bench.model, bench.weights, &bench.examples, &result));
        assert_int_equal(result.counted, BATCH * TIME);
        assert_int_equal(result.correct, 6);
        assert_true(fabs(result.loss - log((double)VOCABULARY)) < 1e-6);
        release(&bench);
    }
}

static syn_node dropout_twice(struct syn_graph *graph, syn_node from)
{
    return syn_graph_dropout(graph, syn_graph_dropout(graph, from, 0.5), 0.5);
}

/* Two halves leave a quarter, unless they are the same half. What is left shows in the gradient of
 * the layer behind: zero for all that was dropped. */
static void every_layer_of_dropout_has_a_mask_of_its_own(void **state)
{
    (void)state;
    enum { INPUTS = CHANNELS * SIDE * SIDE };
    struct bench bench = {0};
    size_t left = 0;
    build(&bench, dropout_twice, false);
    fill(&bench, false);
    bench.examples.count = 1;
    loss_at(&bench, bench.weights, bench.gradient);
    assert_int_equal(bench.size, (INPUTS + 1) * CLASSES);
    for (size_t i = 0; i < INPUTS; i++)
        left += bench.gradient[i] != 0;
    assert_in_range(left, INPUTS / 8, INPUTS * 3 / 8);
    release(&bench);
}

static syn_node dropout_of_three_tenths(struct syn_graph *graph, syn_node from)
{
    return syn_graph_dropout(graph, from, 0.3);
}

/* With all weights zero the gradient by a score is known, and so by a weight of class 0 that times
 * what dropout made of an input: nothing, or the input over 0.7. */
static void what_dropout_leaves_is_scaled_up(void **state)
{
    (void)state;
    enum { INPUTS = CHANNELS * SIDE * SIDE };
    struct bench bench = {0};
    size_t left = 0;
    build(&bench, dropout_of_three_tenths, false);
    fill(&bench, false);
    bench.examples.count = 1;
    memset(bench.weights, 0, bench.size * sizeof *bench.weights);
    loss_at(&bench, bench.weights, bench.gradient);
    double by_score = 1.0 / CLASSES - (bench.labels[0] == 0);
    for (size_t i = 0; i < INPUTS; i++) {
        double factor = (double)bench.gradient[i] / (by_score * (double)bench.images[i]);
        if (factor != 0 && fabs(factor - 1 / 0.7) > 1e-5)
            fail_msg("an input is scaled by %g; expected %g", factor, 1 / 0.7);
        left += factor != 0;
    }
    assert_in_range(left, INPUTS / 2, INPUTS * 9 / 10);
    release(&bench);
}

static void another_step_has_another_dropout_mask(void **state)
{
    (void)state;
    struct bench bench = {0};
    build(&bench, dropout, false);
    fill(&bench, false);
    double first = loss_at(&bench, bench.weights, bench.gradient);
    bench.examples.step++;
    assert_true(loss_at(&bench, bench.weights, bench.gradient) != first);
    release(&bench);
}

static size_t reference_kernels(const char *name, size_t batch)
{
    struct syn_graph *graph;
    struct syn_model *model;
    struct syn_model_options options;
    assert_ok(syn_graph_ready(name, NULL, &graph));
    syn_model_defaults(&options);
    options.batch = batch;
    assert_ok(syn_model_build(graph, &options, &model));
    size_t count = syn_model_reference_kernels(model);
    syn_model_free(model);
    syn_graph_free(graph);
    return count;
}

/* The choice of an implementation depends on the batch. */
static void no_ready_model_has_a_reference_kernel(void **state)
{
    (void)state;
    static const size_t batches[] = {1, 2, 20, 32, 64, 128};
    for (size_t i = 0; syn_model_name(i); i++) {
        const char *name = syn_model_name(i);
        bool is_large = strcmp(name, "alexnet") == 0 || strcmp(name, "resnet50") == 0;
        for (size_t b = 0; b < sizeof batches / sizeof batches[0]; b++) {
            if (is_large && batches[b] > 32)
                continue;
            size_t count = reference_kernels(name, batches[b]);
            if (count != 0)
                fail_msg("%s, batch %zu, has %zu reference kernels", name, batches[b], count);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_layers_gradient_agrees_with_central_differences),
        cmocka_unit_test(the_same_step_twice_gives_the_same_bits),
        cmocka_unit_test(another_step_has_another_dropout_mask),
        cmocka_unit_test(of_equal_scores_the_first_is_the_guess),
        cmocka_unit_test(hits_and_losses_of_all_threads_count),
        cmocka_unit_test(every_layer_of_dropout_has_a_mask_of_its_own),
        cmocka_unit_test(what_dropout_leaves_is_scaled_up),
        cmocka_unit_test(no_ready_model_has_a_reference_kernel),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
