/* Your own model and data, from C: a small convolutional network, built layer by layer, learns
 * images that this program draws when they are needed, with every method, flag, file and report of
 * `syncopate train`. It uses only the public interface.
 *
 *     own_model --algo gtopk --workers 4 --out runs/own
 *     mpirun -np 4 own_model --algo gtopk --checkpoint-every 50 --out runs/own
 *     own_model --resume runs/own --epochs 6
 *     syncopate report runs/own */
#include <stdio.h>
#include <string.h>

#include <syncopate/engine/train.h>
#include <syncopate/random.h>

enum { SIDE = 16, CLASSES = 4, EXAMPLES = 2048, TEST = 256 };

/* A bar in one of four directions, with noise. Its position depends on the example, the noise also
 * on the epoch; both are functions of these numbers alone, so that every worker gets the same
 * image, also when the run is resumed later. */
static bool draw(void *context, const struct syn_data_wanted *wanted, float *image, int32_t *label)
{
    struct syn_random random;
    (void)context;
    syn_random_start(&random, (uint64_t)wanted->part, wanted->example);
    size_t class = (size_t)syn_random_below(&random, CLASSES);
    size_t place = (size_t)syn_random_below(&random, SIDE);
    syn_random_start(&random, wanted->seed, wanted->epoch << 32 | wanted->example);
    for (size_t y = 0; y < SIDE; y++)
        for (size_t x = 0; x < SIDE; x++) {
            const size_t along[CLASSES] = {x, y, x + y, x + SIDE - y};
            bool is_bar = along[class] % SIDE / 2 == place / 2;
            image[y * SIDE + x] = (is_bar ? 2.0F : 0.0F) + syn_random_normal(&random);
        }
    *label = (int32_t) class;
    return true;
}

static enum syn_status make_data(struct syn_data **data)
{
    static const char *const names[CLASSES] = {"upright", "level", "falling", "rising"};
    struct syn_data_maker maker = {.name = "bars",
                                   .channels = 1,
                                   .height = SIDE,
                                   .width = SIDE,
                                   .outputs = CLASSES,
                                   .names = names,
                                   .count = {[SYN_DATA_TRAIN] = EXAMPLES, [SYN_DATA_TEST] = TEST},
                                   .make = draw};
    return syn_data_from_maker(&maker, data);
}

/* convolution - batch norm and ReLU - pooling - inner product. Mismatches are reported when the run
 * begins. */
static enum syn_status make_graph(struct syn_graph **graph)
{
    struct syn_convolution edges = {.outputs = 16, .kernel = 3, .padding = 1, .no_bias = true};
    struct syn_pooling halve = {.kernel = 2};
    enum syn_status status = syn_graph_new(graph);
    if (status != SYN_OK)
        return status;
    syn_node node = syn_graph_images(*graph, 1, SIDE, SIDE);
    node = syn_graph_convolution(*graph, "edges", node, edges);
    node = syn_graph_batch_norm(*graph, "norm", node, true);
    node = syn_graph_max_pooling(*graph, node, halve);
    node = syn_graph_inner_product(*graph, "classes", node, CLASSES);
    syn_graph_cross_entropy(*graph, node);
    return SYN_OK;
}

/* --name value, or --name=value, with the library's names. If only is not NULL, other names are
 * skipped. */
static enum syn_status read_flags(int argc, char **argv, const char *only,
                                  struct syn_train_options *options)
{
    enum syn_status status = SYN_OK;
    for (int i = 1; i < argc && status == SYN_OK; i++) {
        char name[64];
        const char *equals = strchr(argv[i], '=');
        size_t length = equals ? (size_t)(equals - argv[i]) : strlen(argv[i]);
        if (strncmp(argv[i], "--", 2) != 0 || length >= sizeof name || (!equals && i + 1 == argc)) {
            fprintf(stderr, "own_model: \"%s\"; expected --name value\n", argv[i]);
            return SYN_INVALID;
        }
        snprintf(name, sizeof name, "%.*s", (int)(length - 2), argv[i] + 2);
        const char *value = equals ? equals + 1 : argv[++i];
        if (!only || strcmp(only, name) == 0)
            status = syn_train_set(options, name, value);
    }
    return status;
}

/* The settings of the method or of the resumed run come first; the command line overrides them. */
static enum syn_status choose(int argc, char **argv, struct syn_train_options *options)
{
    char directory[SYN_TEXT_BYTES];
    enum syn_status status = syn_train_defaults("own", options);
    options->epochs = 4;
    if (status == SYN_OK)
        status = read_flags(argc, argv, "algo", options);
    if (status == SYN_OK)
        status = read_flags(argc, argv, "resume", options);
    if (status == SYN_OK)
        status = syn_train_apply_algo(options);
    snprintf(directory, sizeof directory, "%s", options->resume);
    if (status == SYN_OK && directory[0])
        status = syn_train_recall(directory, options);
    return status == SYN_OK ? read_flags(argc, argv, NULL, options) : status;
}

static enum syn_status train(int argc, char **argv)
{
    struct syn_train_options options = {0};
    struct syn_train_summary summary;
    struct syn_graph *graph = NULL;
    struct syn_data *data = NULL;
    enum syn_status status = choose(argc, argv, &options);
    if (status == SYN_OK)
        status = make_data(&data);
    if (status == SYN_OK)
        status = make_graph(&graph);
    options.graph = graph;
    options.own_data = data;
    if (status == SYN_OK)
        status = syn_train(&options, NULL, &summary);
    if (status == SYN_OK && summary.is_first)
        printf("%s by %s, %llu workers: test accuracy %.1f %% after %llu steps; see %s\n",
               summary.data, summary.algo, (unsigned long long)summary.workers,
               100 * summary.test_accuracy, (unsigned long long)summary.steps, summary.out);
    syn_graph_free(graph);
    syn_data_close(data);
    return status;
}

int main(int argc, char **argv)
{
    enum syn_status status = train(argc, argv);
    if (status != SYN_OK)
        fprintf(stderr, "own_model: %s\n", syn_error_text());
    return status != SYN_OK;
}
