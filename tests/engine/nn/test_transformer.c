/* A transformer as a whole: how work is shared among cores does not show, and what does not fit
 * together is refused. */
#include "check.h"

#include <stdlib.h>
#include <string.h>

#include <syncopate/engine/model.h>

enum { BATCH = 3, TIME = 5, VOCABULARY = 11, WIDTH = 16 };

static struct syn_graph *start_text(syn_node *tokens)
{
    struct syn_graph *graph;
    assert_ok(syn_graph_new(&graph));
    *tokens = syn_graph_tokens(graph, VOCABULARY);
    return graph;
}

static struct syn_model *build(size_t threads)
{
    syn_node x;
    struct syn_model *model;
    struct syn_model_options options;
    struct syn_graph *graph = start_text(&x);
    syn_node words = syn_graph_embedding(graph, "words", x, WIDTH);
    x = syn_graph_positions(graph, "places", words, TIME);
    syn_node y = syn_graph_layer_norm(graph, "norm", x);
    y = syn_graph_inner_product(graph, "qkv", y, (size_t)3 * WIDTH);
    y = syn_graph_gelu(graph, syn_graph_attention(graph, "look", y, 2));
    x = syn_graph_add(graph, x, y, false);
    syn_graph_cross_entropy(graph, syn_graph_tied_product(graph, "head", x, words));
    syn_model_defaults(&options);
    options.batch = BATCH;
    options.time = TIME;
    options.threads = threads;
    assert_ok(syn_model_build(graph, &options, &model));
    syn_graph_free(graph);
    return model;
}

/* The gradient of a step; the caller frees it. */
static float *gradient_on(size_t threads, size_t *size)
{
    int32_t tokens[BATCH * TIME];
    int32_t labels[BATCH * TIME];
    struct syn_step_result result;
    struct syn_model *model = build(threads);
    struct syn_examples examples = {.count = BATCH, .tokens = tokens, .labels = labels};
    *size = syn_layout_size(syn_model_layout(model));
    float *weights = calloc(*size, sizeof *weights);
    float *gradient = malloc(*size * sizeof *gradient);
    for (int32_t i = 0; i < BATCH * TIME; i++) {
        tokens[i] = i * i % VOCABULARY;
        labels[i] = (i + 1) * (i + 1) % VOCABULARY;
    }
    syn_model_initialise(model, 3, weights);
    assert_ok(syn_model_step(model, weights, &examples, NULL, gradient, &result));
    free(weights);
    syn_model_free(model);
    return gradient;
}

static void any_number_of_threads_gives_the_same_gradient(void **state)
{
    (void)state;
    size_t size;
    float *one = gradient_on(1, &size);
    for (size_t threads = 2; threads <= 5; threads++) {
        float *several = gradient_on(threads, &size);
        for (size_t i = 0; i < size; i++)
            if (one[i] != several[i])
                fail_msg("entry %zu is %g on one thread, %g on %zu", i, (double)one[i],
                         (double)several[i], threads);
        free(several);
    }
    free(one);
}

static void assert_refused(struct syn_graph *graph, syn_node last, const char *why)
{
    struct syn_model *model = NULL;
    struct syn_model_options options;
    syn_graph_cross_entropy(graph, last);
    syn_model_defaults(&options);
    options.time = TIME;
    assert_status(SYN_INVALID, syn_model_build(graph, &options, &model));
    if (!strstr(syn_error_text(), why))
        fail_msg("\"%s\" does not say \"%s\"", syn_error_text(), why);
    syn_graph_free(graph);
}

static void heads_of_another_width_than_a_multiple_of_eight_are_refused(void **state)
{
    (void)state;
    syn_node x;
    struct syn_graph *graph = start_text(&x);
    x = syn_graph_embedding(graph, "words", x, 3 * 12);
    assert_refused(graph, syn_graph_attention(graph, "look", x, 1), "36 inputs for 1 heads");
}

static void more_time_steps_than_positions_are_refused(void **state)
{
    (void)state;
    syn_node x;
    struct syn_graph *graph = start_text(&x);
    x = syn_graph_embedding(graph, "words", x, 8);
    assert_refused(graph, syn_graph_positions(graph, "places", x, TIME - 1),
                   "time is 5, but the model knows only 4 positions");
}

static void a_product_is_tied_only_to_an_embedding_of_its_width(void **state)
{
    (void)state;
    syn_node x;
    struct syn_graph *graph = start_text(&x);
    x = syn_graph_embedding(graph, "words", x, 8);
    syn_node y = syn_graph_inner_product(graph, "wider", x, 9);
    assert_refused(graph, syn_graph_tied_product(graph, "head", y, x),
                   "9 inputs; the vectors of words have 8 values");
    graph = start_text(&x);
    x = syn_graph_embedding(graph, "words", x, 8);
    y = syn_graph_inner_product(graph, "other", x, 8);
    assert_refused(graph, syn_graph_tied_product(graph, "head", y, y),
                   "node 2 is not an embedding");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_number_of_threads_gives_the_same_gradient),
        cmocka_unit_test(heads_of_another_width_than_a_multiple_of_eight_are_refused),
        cmocka_unit_test(more_time_steps_than_positions_are_refused),
        cmocka_unit_test(a_product_is_tied_only_to_an_embedding_of_its_width),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
