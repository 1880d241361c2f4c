/* The engine's side of the comparison with PyTorch (parity.py): runs steps of plain SGD on weights
 * and examples from files, and writes what came of them.
 *
 *     dump_step models                                prints all names
 *     dump_step layout MODEL                          prints a line "name count" for each
 *                                                     tensor, by PyTorch's name
 *     dump_step run MODEL DIRECTORY BATCH SIZE STEPS RATE
 *
 *     dump_step scores MODEL DIRECTORY BATCH SIZE
 *
 * with SIZE the height and width of images, or the time steps of texts,
 *
 * reads weights.f32, labels.i32, images.f32 or tokens.i32 ([STEPS] batches) and writes losses.f64
 * [STEPS], gradient.f32 (of the first step), final.f32 (the weights at the end), statistics.f32;
 * for "scores" it makes weights and statistics up, writes them as weights.safetensors, and what it
 * computes for images.f32 or tokens.i32 as scores.f32. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <syncopate/engine/model.h>
#include <syncopate/engine/weights.h>

static int fail(const char *what, const char *which)
{
    fprintf(stderr, "dump_step: %s %s (%s)\n", what, which, syn_error_text());
    return 1;
}

/* A whole file of count items into new memory; NULL if it is not there or of another size. */
static void *read_file(const char *directory, const char *name, size_t count, size_t size)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *file = fopen(path, "rb");
    void *items = malloc(count * size + 1);
    bool good = file && items && fread(items, size, count, file) == count && fgetc(file) == EOF;
    if (file)
        fclose(file);
    if (!good) {
        fail("cannot read", path);
        free(items);
        return NULL;
    }
    return items;
}

static bool write_file(const char *directory, const char *name, const void *items, size_t count,
                       size_t size)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *file = fopen(path, "wb");
    bool good = file && fwrite(items, size, count, file) == count;
    if (file)
        good = fclose(file) == 0 && good;
    return good;
}

/* size is height and width, or time; 0 is the usual one. */
static struct syn_model *build(const char *name, size_t batch, size_t size)
{
    struct syn_input input;
    if (syn_model_usual_input(name, &input) != SYN_OK)
        return NULL;
    if (input.kind == SYN_INPUT_IMAGES && size > 0)
        input.height = input.width = size;
    struct syn_graph *graph = NULL;
    struct syn_model *model = NULL;
    struct syn_model_options options;
    syn_model_defaults(&options);
    options.batch = batch;
    options.time = size ? size : 1;
    if (syn_graph_ready(name, &input, &graph) == SYN_OK &&
        syn_model_build(graph, &options, &model) != SYN_OK)
        model = NULL;
    syn_graph_free(graph);
    return model;
}

static int print_layout(const char *name)
{
    struct syn_model *model = build(name, 1, 0);
    if (!model)
        return fail("cannot build", name);
    const struct syn_layout *layout = syn_model_layout(model);
    for (size_t i = 0; i < syn_layout_count(layout); i++) {
        struct syn_tensor tensor = syn_layout_tensor(layout, i);
        char called[256];
        syn_model_pytorch_name(name, tensor.name, called, sizeof called);
        printf("%s %zu\n", called, tensor.count);
    }
    syn_model_free(model);
    return 0;
}

struct run {
    struct syn_model *model;
    const char *directory;
    size_t batch;
    size_t time;
    size_t steps;
    float rate;
    float *weights;
    float *gradient;
    float *images;
    int32_t *tokens;
    int32_t *labels;
    double *losses;
};

static bool load(struct run *r)
{
    struct syn_input input = syn_model_input(r->model);
    bool tokens = input.kind == SYN_INPUT_TOKENS;
    size_t size = syn_layout_size(syn_model_layout(r->model));
    size_t pixels = input.channels * input.height * input.width;
    r->time = tokens ? r->time : 1;
    size_t numbers = r->steps * r->batch * r->time;
    r->weights = read_file(r->directory, "weights.f32", size, sizeof(float));
    r->labels = read_file(r->directory, "labels.i32", numbers, sizeof(int32_t));
    if (tokens)
        r->tokens = read_file(r->directory, "tokens.i32", numbers, sizeof(int32_t));
    else
        r->images =
            read_file(r->directory, "images.f32", r->steps * r->batch * pixels, sizeof(float));
    r->gradient = malloc(size * sizeof *r->gradient);
    r->losses = malloc(r->steps * sizeof *r->losses);
    return r->weights && r->labels && (r->tokens || r->images) && r->gradient && r->losses;
}

static bool train(struct run *r)
{
    struct syn_input input = syn_model_input(r->model);
    size_t size = syn_layout_size(syn_model_layout(r->model));
    size_t pixels = input.channels * input.height * input.width;
    bool good = true;
    for (size_t step = 0; good && step < r->steps; step++) {
        size_t first = step * r->batch;
        struct syn_examples examples = {.count = r->batch,
                                        .images = r->images ? r->images + first * pixels : NULL,
                                        .tokens = r->tokens ? r->tokens + first * r->time : NULL,
                                        .labels = r->labels + first * r->time,
                                        .step = step};
        struct syn_step_result result;
        good =
            syn_model_step(r->model, r->weights, &examples, NULL, r->gradient, &result) == SYN_OK;
        r->losses[step] = result.loss;
        if (good && step == 0)
            good = write_file(r->directory, "gradient.f32", r->gradient, size, sizeof(float));
        for (size_t i = 0; good && i < size; i++)
            r->weights[i] -= r->rate * r->gradient[i];
    }
    size_t statistics = syn_layout_size(syn_model_statistics_layout(r->model));
    return good && write_file(r->directory, "losses.f64", r->losses, r->steps, sizeof(double)) &&
           write_file(r->directory, "final.f32", r->weights, size, sizeof(float)) &&
           write_file(r->directory, "statistics.f32", syn_model_statistics(r->model), statistics,
                      sizeof(float));
}

static int run(char **words)
{
    struct run r = {.directory = words[1],
                    .batch = strtoul(words[2], NULL, 10),
                    .time = strtoul(words[3], NULL, 10), /* kept for texts only */
                    .steps = strtoul(words[4], NULL, 10),
                    .rate = strtof(words[5], NULL)};
    r.model = build(words[0], r.batch, r.time);
    bool good = r.model && load(&r);
    if (good) {
        /* For the statistics; the weights are replaced again. */
        syn_model_initialise(r.model, 1, r.gradient);
        good = train(&r);
    }
    free(r.losses);
    free(r.gradient);
    free(r.images);
    free(r.tokens);
    free(r.labels);
    free(r.weights);
    syn_model_free(r.model);
    return good ? 0 : fail("cannot run", words[0]);
}

/* Statistics that are neither all 0 nor all 1, variances above 0. */
static void vary_statistics(struct syn_model *model)
{
    const struct syn_layout *layout = syn_model_statistics_layout(model);
    float *statistics = syn_model_statistics(model);
    for (size_t t = 0; t < syn_layout_count(layout); t++) {
        struct syn_tensor tensor = syn_layout_tensor(layout, t);
        bool is_mean = strstr(tensor.name, "mean") != NULL;
        for (size_t i = 0; i < tensor.count; i++) {
            float wave = (float)((i * 7 + t * 3) % 11) / 11;
            statistics[tensor.offset + i] = is_mean ? wave / 4 - 0.125F : wave / 2 + 0.75F;
        }
    }
}

static enum syn_status save(struct syn_model *model, const char *name, const float *weights,
                            const char *path)
{
    struct syn_weights *made = NULL;
    const struct syn_layout *layout = syn_model_layout(model);
    const struct syn_layout *statistics = syn_model_statistics_layout(model);
    enum syn_status status = syn_weights_new(&made);
    for (size_t i = 0; status == SYN_OK && i < syn_layout_count(layout); i++) {
        struct syn_tensor tensor = syn_layout_tensor(layout, i);
        struct syn_shape shape = syn_model_shape(model, i);
        status = syn_weights_add(made, tensor.name, &shape, weights + tensor.offset);
    }
    for (size_t i = 0; status == SYN_OK && i < syn_layout_count(statistics); i++) {
        struct syn_tensor tensor = syn_layout_tensor(statistics, i);
        struct syn_shape shape = syn_model_statistics_shape(model, i);
        status =
            syn_weights_add(made, tensor.name, &shape, syn_model_statistics(model) + tensor.offset);
    }
    if (status == SYN_OK) {
        struct syn_weights_info *info = syn_weights_info(made);
        snprintf(info->model, sizeof info->model, "%s", name);
        info->input = syn_model_input(model);
        status = syn_weights_save(made, SYN_NAMES_PYTORCH, path);
    }
    syn_weights_free(made);
    return status;
}

static int write_scores(char **words)
{
    char path[1024];
    size_t batch = strtoul(words[2], NULL, 10);
    size_t size = strtoul(words[3], NULL, 10);
    struct syn_model *model = build(words[0], batch, size);
    if (!model)
        return fail("cannot build", words[0]);
    struct syn_input input = syn_model_input(model);
    bool tokens = input.kind == SYN_INPUT_TOKENS;
    size_t time = tokens ? size : 1;
    size_t pixels = input.channels * input.height * input.width;
    float *weights = malloc(syn_layout_size(syn_model_layout(model)) * sizeof *weights);
    float *scores = malloc(batch * time * input.classes * sizeof *scores);
    struct syn_examples examples = {.count = batch};
    void *read = tokens ? read_file(words[1], "tokens.i32", batch * time, sizeof(int32_t))
                        : read_file(words[1], "images.f32", batch * pixels, sizeof(float));
    examples.tokens = tokens ? read : NULL;
    examples.images = tokens ? NULL : read;
    bool good = weights && scores && read;
    if (good) {
        syn_model_initialise(model, 5, weights);
        vary_statistics(model);
        snprintf(path, sizeof path, "%s/weights.safetensors", words[1]);
        good =
            save(model, words[0], weights, path) == SYN_OK &&
            syn_model_forward(model, weights, &examples, scores) == SYN_OK &&
            write_file(words[1], "scores.f32", scores, batch * time * input.classes, sizeof(float));
    }
    free(read);
    free(scores);
    free(weights);
    syn_model_free(model);
    return good ? 0 : fail("cannot score", words[0]);
}

int main(int argc, char **argv)
{
    for (size_t i = 0; argc == 2 && strcmp(argv[1], "models") == 0; i++) {
        if (!syn_model_name(i))
            return 0;
        puts(syn_model_name(i));
    }
    if (argc == 3 && strcmp(argv[1], "layout") == 0)
        return print_layout(argv[2]);
    if (argc == 8 && strcmp(argv[1], "run") == 0)
        return run(argv + 2);
    if (argc == 6 && strcmp(argv[1], "scores") == 0)
        return write_scores(argv + 2);
    return fail("usage: layout MODEL | run", "MODEL DIRECTORY BATCH SIZE STEPS RATE");
}
