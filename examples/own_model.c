/* A model of one's own, from C: a small convolutional network, built layer by layer, trained on
 * made-up images with one optimizer. Everything it uses is public. */
#include <stdio.h>
#include <stdlib.h>

#include <syncopate/engine/data.h>
#include <syncopate/engine/model.h>
#include <syncopate/optimizer.h>

enum { BATCH = 32, STEPS = 200, SIDE = 16, CLASSES = 10 };

/* convolution - batch norm and ReLU - pooling - inner product. Only the build needs to be
 * checked. */
static enum syn_status build(struct syn_model **model)
{
    struct syn_graph *graph;
    struct syn_model_options options;
    struct syn_convolution edges = {.outputs = 16, .kernel = 3, .padding = 1, .no_bias = true};
    struct syn_pooling halve = {.kernel = 2};
    enum syn_status status = syn_graph_new(&graph);
    if (status != SYN_OK)
        return status;
    syn_node node = syn_graph_images(graph, 1, SIDE, SIDE);
    node = syn_graph_convolution(graph, "edges", node, edges);
    node = syn_graph_batch_norm(graph, "norm", node, true);
    node = syn_graph_max_pooling(graph, node, halve);
    node = syn_graph_inner_product(graph, "classes", node, CLASSES);
    syn_graph_cross_entropy(graph, node);
    syn_model_defaults(&options);
    options.batch = BATCH;
    status = syn_model_build(graph, &options, model);
    syn_graph_free(graph);
    return status;
}

static enum syn_status open_data(struct syn_data **data, struct syn_loader **loader)
{
    struct syn_data_options what;
    struct syn_loader_options how = syn_loader_defaults(SYN_DATA_TRAIN, BATCH);
    syn_settings_defaults(&syn_data_settings, &what);
    what.data = "synthetic";
    what.synthetic_channels = 1;
    what.synthetic_height = SIDE;
    what.synthetic_width = SIDE;
    what.synthetic_classes = CLASSES;
    enum syn_status status = syn_data_open(&what, data);
    return status == SYN_OK ? syn_loader_open(*data, &how, loader) : status;
}

static enum syn_status train(struct syn_model *model, struct syn_loader *loader, float *weights,
                             float *gradient)
{
    struct syn_optimizer_options options;
    struct syn_optimizer *optimizer;
    syn_settings_defaults(&syn_optimizer_settings, &options);
    enum syn_status status =
        syn_optimizer_open(&options, syn_layout_size(syn_model_layout(model)), &optimizer);
    if (status != SYN_OK)
        return status;
    for (uint64_t step = 0; step < STEPS && status == SYN_OK; step++) {
        struct syn_batch batch;
        struct syn_step_result result;
        syn_loader_next(loader, &batch);
        struct syn_examples examples = {
            .count = batch.count, .images = batch.input, .labels = batch.labels, .step = step};
        status = syn_model_step(model, weights, &examples, NULL, gradient, &result);
        if (status == SYN_OK)
            status = syn_optimizer_apply(optimizer, 0.01, 1, gradient, weights);
        if (status == SYN_OK && (step + 1) % 50 == 0)
            printf("step %llu: loss %.3f\n", (unsigned long long)step + 1, result.loss);
    }
    syn_optimizer_free(optimizer);
    return status;
}

int main(void)
{
    struct syn_model *model = NULL;
    struct syn_data *data = NULL;
    struct syn_loader *loader = NULL;
    float *weights = NULL;
    float *gradient = NULL;
    enum syn_status status = build(&model);
    if (status == SYN_OK)
        status = open_data(&data, &loader);
    if (status == SYN_OK) {
        size_t size = syn_layout_size(syn_model_layout(model));
        weights = calloc(size, sizeof *weights);
        gradient = calloc(size, sizeof *gradient);
        status = weights && gradient ? SYN_OK : SYN_MEMORY;
    }
    if (status == SYN_OK) {
        syn_model_initialise(model, 1, weights);
        status = train(model, loader, weights, gradient);
    }
    if (status != SYN_OK)
        fprintf(stderr, "%s: %s\n", syn_status_text(status), syn_error_text());
    free(weights);
    free(gradient);
    syn_loader_close(loader);
    syn_data_close(data);
    syn_model_free(model);
    return status != SYN_OK;
}
