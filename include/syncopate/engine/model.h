/* Models: what is trained. A graph describes the layers; a model is a graph built for a batch size,
 * with all its memory and kernels. Parameters and gradients belong to the caller: two flat arrays
 * of floats of one layout, in which tensors have the shapes and names of PyTorch (conv1.weight is
 * [out][in][height][width]).
 *
 *     struct syn_graph *graph;
 *     syn_graph_ready("lenet", NULL, &graph);
 *     struct syn_model_options options;
 *     syn_model_defaults(&options);
 *     options.batch = 128;
 *     struct syn_model *model;
 *     syn_model_build(graph, &options, &model);
 *     syn_graph_free(graph);
 *     size_t size = syn_layout_size(syn_model_layout(model));
 *     ... allocate weights and gradient of that size ...
 *     syn_model_initialise(model, 1, weights);
 *     syn_model_step(model, weights, &batch, NULL, gradient, &result); */
#ifndef SYNCOPATE_ENGINE_MODEL_H
#define SYNCOPATE_ENGINE_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <syncopate/layout.h>
#include <syncopate/status.h>

#ifdef __cplusplus
extern "C" {
#endif

struct syn_graph;
struct syn_model;

/* What a model reads, and the classes it distinguishes. */
enum syn_input_kind { SYN_INPUT_IMAGES, SYN_INPUT_TOKENS };

struct syn_input {
    enum syn_input_kind kind;
    size_t channels; /* of an image; 0 for tokens, as are height and width */
    size_t height;
    size_t width;
    size_t classes; /* of an image; for tokens the size of the vocabulary */
};

/* The built-in models. */

/* Name of built-in model number i, such as "lenet"; NULL past the last. A syn_choices function. */
const char *syn_model_name(size_t i);

/* One line about built-in model number i; NULL past the last. */
const char *syn_model_help(size_t i);

/* The input that a built-in model was published with, such as 3x32x32 images of 10 classes. */
enum syn_status syn_model_usual_input(const char *name, struct syn_input *input);

/* Make the graph of a built-in model for this input; NULL means its usual input. Image models adapt
 * to the channels, the size and the number of classes, language models to the vocabulary. Images
 * that are too small, or tokens for an image model: SYN_INVALID with what was expected. Free it
 * with syn_graph_free(). */
enum syn_status syn_graph_ready(const char *name, const struct syn_input *input,
                                struct syn_graph **graph);

/* Make the graph of a model described in a file, for this input: JSON with a list of layers
 * (docs/formats.md). An invalid description: SYN_FORMAT with file and line. Free it with
 * syn_graph_free(). */
enum syn_status syn_graph_load(const char *path, const struct syn_input *input,
                               struct syn_graph **graph);

/* The same from memory.
 *   origin  where the text came from, such as a file name; for error messages */
enum syn_status syn_graph_parse(const char *text, size_t count, const char *origin,
                                const struct syn_input *input, struct syn_graph **graph);

/* A model. */

struct syn_model_options {
    size_t batch;   /* maximum number of examples per step; default 32 */
    size_t time;    /* tokens of each example per step (truncated back-propagation); default 35 */
    size_t threads; /* cores to compute on; default 1 */
    uint64_t seed;  /* of dropout; default 1 */
    bool training;  /* false: no syn_model_step(), and less memory is used; default true */
    bool spares_biases; /* no weight decay for biases and batch norm (syn_layout_rate()); default
                         * false */
};

void syn_model_defaults(struct syn_model_options *options);

/* Allocate memory and choose kernels for this graph, which is not needed afterwards. A layer that
 * did not fit when it was added to the graph is reported here. Free the model with
 * syn_model_free(). A model may be used by one thread at a time; different threads may use
 * different models at once. */
enum syn_status syn_model_build(const struct syn_graph *graph,
                                const struct syn_model_options *options, struct syn_model **model);

void syn_model_free(struct syn_model *model);

/* The shape of weights and gradient; owned by the model. */
const struct syn_layout *syn_model_layout(const struct syn_model *model);

/* The dimensions of an array, the slowest-varying first, as in PyTorch. */
#define SYN_MOST_DIMENSIONS 4
struct syn_shape {
    size_t dimensions;
    size_t size[SYN_MOST_DIMENSIONS]; /* of each; 0 after the last */
};

/* Number of values in an array of that shape. */
size_t syn_shape_count(const struct syn_shape *shape);

/* The shape of tensor number i of the layout. */
struct syn_shape syn_model_shape(const struct syn_model *model, size_t tensor);

/* The PyTorch name of a tensor of a built-in model, where the usual PyTorch implementation names it
 * differently: torchvision's AlexNet has features.0.weight for conv1.weight. Any other name is
 * returned unchanged.
 *   model  its name; if it is not a built-in model, nothing is renamed
 * Writes as snprintf does, and returns the length of the complete text. */
size_t syn_model_pytorch_name(const char *model, const char *tensor, char *name, size_t capacity);

/* The input it was built for. */
struct syn_input syn_model_input(const struct syn_model *model);

/* How to draw the initial weights. */
enum syn_initialisation {
    /* As PyTorch does by default: convolutions and inner products, with their biases, uniform in
     * +-1/sqrt(inputs). */
    SYN_INITIALISE_PYTORCH,
    /* The same layers normal, with a variance of 2/inputs, and their biases 0 (He et al., 2015). */
    SYN_INITIALISE_HE
};

/* Name of initialisation number i, or NULL past the last. A syn_choices function. */
const char *syn_initialisation_name(size_t i);

/* Fill weights in that way. In both ways, batch norm gets 1 and 0, embeddings standard normal
 * values, and LSTMs uniform values in +-1/sqrt(hidden). The same seed gives the same bits. Running
 * statistics and the state that LSTMs carry are reset as well. */
void syn_model_initialise_as(struct syn_model *model, enum syn_initialisation way, uint64_t seed,
                             float *weights);

/* The same with SYN_INITIALISE_PYTORCH. */
void syn_model_initialise(struct syn_model *model, uint64_t seed, float *weights);

/* Called before every kernel. If it returns true, the model's call ends at once with SYN_STOPPED,
 * with its results only partly written. */
struct syn_stop_hook {
    bool (*stops)(void *context);
    void *context;
};

/* Examples to train or evaluate on; lent for the call. */
struct syn_examples {
    size_t count;          /* 1 .. options.batch */
    const float *images;   /* [count][channels][height][width], for image models */
    const int32_t *tokens; /* [count][time], each in 0 .. vocabulary-1, for language models */
    const int32_t *labels; /* [count] or [count][time]; negative ones are ignored */
    uint64_t step;         /* for dropout: the same seed and step give the same masks */
    const struct syn_stop_hook *stop; /* may be NULL */
};

/* Called during the backward pass when the gradient of a tensor, by its number in the layout, is
 * final, so that its exchange can begin. Called exactly once per tensor, the last layers' first. A
 * failure ends the step with that status. */
typedef enum syn_status syn_gradient_ready(void *context, size_t tensor);

struct syn_ready_hook {
    syn_gradient_ready *ready;
    void *context;
};

struct syn_step_result {
    double loss;    /* mean cross-entropy, in nats, over the counted labels */
    size_t correct; /* labels that had the highest score */
    size_t counted; /* labels that are not negative */
};

/* Forward and backward pass: the gradient of the mean loss at weights.
 *   examples  may be fewer than options.batch: the gradient is exact for any count, and kernels for
 *             the most recent counts are cached
 *   hook      may be NULL
 *   gradient  every entry is overwritten; a tensor is final once the hook is called for it
 * Updates running statistics and the state that LSTMs carry. A token or label out of range:
 * SYN_INVALID, and nothing changed. No signal handler may run on this thread meanwhile, except on a
 * stack of its own (SA_ONSTACK): oneDNN's kernels move the stack pointer into the heap. */
enum syn_status syn_model_step(struct syn_model *model, const float *weights,
                               const struct syn_examples *examples,
                               const struct syn_ready_hook *hook, float *gradient,
                               struct syn_step_result *result);

/* Forward pass only, for evaluation: batch norm uses its running statistics, and there is no
 * dropout. LSTMs continue from the previous evaluation, independently of training. */
enum syn_status syn_model_evaluate(struct syn_model *model, const float *weights,
                                   const struct syn_examples *examples,
                                   struct syn_step_result *result);

/* As syn_model_evaluate(), and also gives the scores, as syn_model_forward() does. */
enum syn_status syn_model_score(struct syn_model *model, const float *weights,
                                const struct syn_examples *examples, struct syn_step_result *result,
                                float *scores);

/* As syn_model_evaluate(), but without labels: gives the scores before the softmax.
 *   scores  [count][classes] or [count][time][vocabulary] */
enum syn_status syn_model_forward(struct syn_model *model, const float *weights,
                                  const struct syn_examples *examples, float *scores);

/* The state of a model besides its weights. */

/* The running means and variances of batch norm (bn1.running_mean, bn1.running_var, ...): one flat
 * array of this layout, empty if there is no batch norm. The caller may read it, average it over
 * workers and write it back. */
const struct syn_layout *syn_model_statistics_layout(const struct syn_model *model);
struct syn_shape syn_model_statistics_shape(const struct syn_model *model, size_t tensor);
float *syn_model_statistics(struct syn_model *model);

/* The state that LSTMs carry from one batch of tokens to the next: hidden and cell state of each
 * layer, [batch][hidden], in one flat array of this layout, empty if there is no LSTM. Training and
 * evaluation have one each. Zero it (syn_model_restart()) at the beginning of a text; save it to
 * continue later. */
enum syn_carry { SYN_CARRY_TRAINING, SYN_CARRY_EVALUATION };
const struct syn_layout *syn_model_carry_layout(const struct syn_model *model);
float *syn_model_carry(struct syn_model *model, enum syn_carry which);
void syn_model_restart(struct syn_model *model, enum syn_carry which);

/* Profiling. */

/* One kernel of the step at the full batch. */
struct syn_kernel {
    const char *layer;          /* such as "conv1"; owned by the model */
    const char *work;           /* such as "forward", "backward weights", "reorder" */
    const char *implementation; /* oneDNN's name of it, or "own" */
    double ms;                  /* mean over the steps since syn_model_profile(model, true) */
    double gflop; /* billions of multiplications and additions per run; 0 if negligible */
};

/* Start or stop timing every kernel. */
void syn_model_profile(struct syn_model *model, bool on);

/* Kernel number i of the step, in execution order; false past the last. */
bool syn_model_kernel(const struct syn_model *model, size_t i, struct syn_kernel *kernel);

/* Number of kernels of the step that are reference implementations. It should be 0: they are
 * hundreds of times slower. */
size_t syn_model_reference_kernels(const struct syn_model *model);

/* Bytes of memory used by the model, without the caller's weights and gradient. */
size_t syn_model_bytes(const struct syn_model *model);

/* Custom models: add layers to a graph. Each call returns the layer's output, to be passed to the
 * next. A call that fails returns SYN_NOTHING and its cause is recorded; every layer added to
 * SYN_NOTHING is SYN_NOTHING too, so that only syn_model_build() needs to be checked. */

typedef int syn_node;
#define SYN_NOTHING (-1)

enum syn_status syn_graph_new(struct syn_graph **graph);
void syn_graph_free(struct syn_graph *graph);

/* The input: call exactly one of these, first. */
syn_node syn_graph_images(struct syn_graph *graph, size_t channels, size_t height, size_t width);
syn_node syn_graph_tokens(struct syn_graph *graph, size_t vocabulary);

/* Convolution with square kernel, as torch.nn.Conv2d: name.weight [outputs][inputs][kernel][kernel]
 * and name.bias [outputs]. */
struct syn_convolution {
    size_t outputs; /* channels */
    size_t kernel;
    size_t stride;  /* 0 means 1 */
    size_t padding; /* zeros on every side */
    bool no_bias;
};
syn_node syn_graph_convolution(struct syn_graph *graph, const char *name, syn_node from,
                               struct syn_convolution convolution);

/* Inner product over all values of an example, as torch.nn.Linear after a flatten: name.weight
 * [outputs][inputs], name.bias [outputs]. For sequences: at every time step. */
syn_node syn_graph_inner_product(struct syn_graph *graph, const char *name, syn_node from,
                                 size_t outputs);

/* Inner product with the weights of an embedding and without bias: a score for each token of the
 * vocabulary. Has no tensors of its own. */
syn_node syn_graph_tied_product(struct syn_graph *graph, const char *name, syn_node from,
                                syn_node embedding);

/* Batch norm over each channel (epsilon 1e-5, momentum 0.1 as in PyTorch), name.weight and
 * name.bias; then, if relu is set, max(0, x) in the same pass. */
syn_node syn_graph_batch_norm(struct syn_graph *graph, const char *name, syn_node from, bool relu);

/* max(0, x). */
syn_node syn_graph_relu(struct syn_graph *graph, syn_node from);

/* Maximum or mean of each window. Padding counts as minus infinity for the maximum, and as zeros
 * that are included in the mean for the average. */
struct syn_pooling {
    size_t kernel;
    size_t stride; /* 0 means kernel */
    size_t padding;
};
syn_node syn_graph_max_pooling(struct syn_graph *graph, syn_node from, struct syn_pooling pooling);
syn_node syn_graph_average_pooling(struct syn_graph *graph, syn_node from,
                                   struct syn_pooling pooling);

/* Mean of each channel over the whole image. */
syn_node syn_graph_global_average(struct syn_graph *graph, syn_node from);

/* A shortcut without weights: takes the first of every `stride` pixels of rows and columns, and
 * adds channels of zeros, half of them before and half after the others, to make `outputs`
 * channels. The number of channels must be a multiple of 8, that of added ones a multiple of 16. */
syn_node syn_graph_subsample(struct syn_graph *graph, syn_node from, size_t outputs, size_t stride);

/* In training, each value is set to zero with probability rate, and divided by 1 - rate otherwise.
 * 0 <= rate < 1. */
syn_node syn_graph_dropout(struct syn_graph *graph, syn_node from, double rate);

/* Sum of two outputs of the same shape; then, if relu is set, max(0, x). */
syn_node syn_graph_add(struct syn_graph *graph, syn_node one, syn_node other, bool relu);

/* A vector of width floats for each token: name.weight [vocabulary][width]. */
syn_node syn_graph_embedding(struct syn_graph *graph, const char *name, syn_node from,
                             size_t width);

/* One LSTM layer over the time steps, as torch.nn.LSTM: name.weight_ih_l0 [4 hidden][inputs],
 * name.weight_hh_l0 [4 hidden][hidden], name.bias_ih_l0 and name.bias_hh_l0 [4 hidden]; gates in
 * the order input, forget, cell, output. */
syn_node syn_graph_lstm(struct syn_graph *graph, const char *name, syn_node from, size_t hidden);

/* Layer norm over the channels of every row, as torch.nn.LayerNorm (epsilon 1e-5): name.weight and
 * name.bias. Reads vectors. */
syn_node syn_graph_layer_norm(struct syn_graph *graph, const char *name, syn_node from);

/* x times the standard normal distribution function of x, as torch.nn.GELU. */
syn_node syn_graph_gelu(struct syn_graph *graph, syn_node from);

/* Adds to the vector of every time step one that is learnt for its position: name.weight
 * [length][channels]. A model with it can be built for at most `length` time steps. */
syn_node syn_graph_positions(struct syn_graph *graph, const char *name, syn_node from,
                             size_t length);

/* Causal self-attention: reads queries, keys and values, [3][heads][width] at each time step, and
 * gives, at each, the mean of the values up to then, weighted by the softmax of key times query /
 * sqrt(width), for every head: [heads][width]. The width must be a multiple of 8. Every batch is a
 * text of its own: nothing is carried over from one to the next. */
syn_node syn_graph_attention(struct syn_graph *graph, const char *name, syn_node from,
                             size_t heads);

/* Initialise the weight of a layer (not its bias) as normal values of this deviation, whatever the
 * initialisation of the model. */
void syn_graph_deviation(struct syn_graph *graph, syn_node node, double deviation);

/* Softmax and cross-entropy against the labels: call it exactly once, last. */
syn_node syn_graph_cross_entropy(struct syn_graph *graph, syn_node from);

#ifdef __cplusplus
}
#endif
#endif
