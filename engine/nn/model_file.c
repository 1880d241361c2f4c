/* A model as text: JSON with a list of layers, each with the arguments of its function in model.h.
 * Shapes follow from the data. Errors are reported with the line on which the layer begins, which
 * jansson does not provide: the text is scanned again to find it.
 *
 *     {"layers": [
 *         {"layer": "convolution", "name": "conv1", "outputs": 20, "kernel": 5},
 *         {"layer": "max_pooling", "kernel": 2},
 *         {"layer": "inner_product", "name": "fc", "outputs": "classes"}]} */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/fail.h"
#include "engine/data/blob.h"
#include "engine/nn/graph.h"

#define MOST_LAYERS  10000
#define MOST_OUTPUTS 1000000
#define MOST_KERNEL  1024

struct file {
    const char *origin; /* for messages */
    const char *text;
    size_t count;
    struct syn_graph *graph;
    size_t classes;
    const json_t *layers;
    size_t at;       /* the layer that is being read */
    syn_node *nodes; /* [layers] */
    bool is_bad;     /* the error has been reported */
};

/* The line on which layer number i begins. */
static size_t line_of(const struct file *file, size_t layer)
{
    size_t line = 1;
    size_t depth = 0;
    size_t seen = 0;
    bool quoted = false;
    for (size_t i = 0; i < file->count; i++) {
        char c = file->text[i];
        line += c == '\n';
        if (quoted && c == '\\')
            i++;
        else if (c == '"')
            quoted = !quoted;
        else if (!quoted && (c == '{' || c == '['))
            depth++;
        else if (!quoted && (c == '}' || c == ']') && depth > 0)
            depth--;
        if (!quoted && c == '{' && depth == 3 && seen++ == layer)
            break;
    }
    return line;
}

/* Report what is wrong with the layer, once; returns 0 as the value that could not be read. */
static size_t refuse(struct file *file, const char *what, const char *value, const char *expected)
{
    if (!file->is_bad)
        (void)syn_report(SYN_FORMAT, "%s:%zu: %s%s%.64s%s%s%s", file->origin,
                         line_of(file, file->at), what, value ? " \"" : "", value ? value : "",
                         value ? "\"" : "", expected[0] ? "; expected " : "", expected);
    file->is_bad = true;
    return 0;
}

static const json_t *layer_of(const struct file *file)
{
    return json_array_get(file->layers, file->at);
}

/* An integer up to most; absent: the usual value, or an error if that is 0. */
static size_t number(struct file *file, const char *key, size_t usual, size_t most)
{
    char expected[96];
    const json_t *value = json_object_get(layer_of(file), key);
    json_int_t read = json_integer_value(value);
    if (!value && usual > 0)
        return usual;
    if (json_is_integer(value) && read >= 0 && (size_t)read <= most && (read > 0 || usual > 0))
        return (size_t)read;
    snprintf(expected, sizeof expected, "an integer of at most %zu", most);
    return refuse(file, value ? "not a possible" : "no", key, expected);
}

/* Zeros around an image; may be 0. */
static size_t padding(struct file *file)
{
    const json_t *value = json_object_get(layer_of(file), "padding");
    return value && json_integer_value(value) == 0 && json_is_integer(value) ? 0
           : value ? number(file, "padding", 1, MOST_KERNEL)
                   : 0;
}

static size_t outputs(struct file *file)
{
    const char *text = json_string_value(json_object_get(layer_of(file), "outputs"));
    if (text && strcmp(text, "classes") == 0)
        return file->classes;
    return number(file, "outputs", 0, MOST_OUTPUTS);
}

static bool flag(struct file *file, const char *key, bool usual)
{
    const json_t *value = json_object_get(layer_of(file), key);
    if (value && !json_is_boolean(value))
        refuse(file, "not a possible", key, "true or false");
    return value ? json_is_true(value) : usual;
}

/* One kind of layer: which keys it accepts, and how it is added. */
struct kind {
    const char *name;
    const char *keys; /* each with a blank before and after it */
    syn_node (*add)(struct file *file, const char *name, syn_node from, syn_node other);
    size_t inputs;
};

static syn_node add_convolution(struct file *file, const char *name, syn_node from, syn_node other)
{
    (void)other;
    struct syn_convolution how = {.outputs = outputs(file),
                                  .kernel = number(file, "kernel", 0, MOST_KERNEL),
                                  .stride = number(file, "stride", 1, MOST_KERNEL),
                                  .padding = padding(file),
                                  .no_bias = !flag(file, "bias", true)};
    return file->is_bad ? SYN_NOTHING : syn_graph_convolution(file->graph, name, from, how);
}

static syn_node add_inner_product(struct file *file, const char *name, syn_node from,
                                  syn_node other)
{
    (void)other;
    size_t count = outputs(file);
    return file->is_bad ? SYN_NOTHING : syn_graph_inner_product(file->graph, name, from, count);
}

static syn_node add_batch_norm(struct file *file, const char *name, syn_node from, syn_node other)
{
    (void)other;
    return syn_graph_batch_norm(file->graph, name, from, flag(file, "relu", false));
}

static syn_node add_relu(struct file *file, const char *name, syn_node from, syn_node other)
{
    (void)name;
    (void)other;
    return syn_graph_relu(file->graph, from);
}

static syn_node add_window(struct file *file, syn_node from,
                           syn_node (*add)(struct syn_graph *, syn_node, struct syn_pooling))
{
    size_t kernel = number(file, "kernel", 0, MOST_KERNEL);
    struct syn_pooling window = {kernel, number(file, "stride", kernel ? kernel : 1, MOST_KERNEL),
                                 padding(file)};
    return file->is_bad ? SYN_NOTHING : add(file->graph, from, window);
}

static syn_node add_max_pooling(struct file *file, const char *name, syn_node from, syn_node other)
{
    (void)name;
    (void)other;
    return add_window(file, from, syn_graph_max_pooling);
}

static syn_node add_average_pooling(struct file *file, const char *name, syn_node from,
                                    syn_node other)
{
    (void)name;
    (void)other;
    return add_window(file, from, syn_graph_average_pooling);
}

static syn_node add_global_average(struct file *file, const char *name, syn_node from,
                                   syn_node other)
{
    (void)name;
    (void)other;
    return syn_graph_global_average(file->graph, from);
}

static syn_node add_dropout(struct file *file, const char *name, syn_node from, syn_node other)
{
    (void)name;
    (void)other;
    const json_t *rate = json_object_get(layer_of(file), "rate");
    if (!json_is_number(rate))
        refuse(file, "not a possible", "rate", "a number of at least 0, below 1");
    return file->is_bad ? SYN_NOTHING
                        : syn_graph_dropout(file->graph, from, json_number_value(rate));
}

static syn_node add_add(struct file *file, const char *name, syn_node from, syn_node other)
{
    (void)name;
    return syn_graph_add(file->graph, from, other, flag(file, "relu", false));
}

static syn_node add_embedding(struct file *file, const char *name, syn_node from, syn_node other)
{
    (void)other;
    size_t width = number(file, "outputs", 0, MOST_OUTPUTS);
    return file->is_bad ? SYN_NOTHING : syn_graph_embedding(file->graph, name, from, width);
}

static syn_node add_lstm(struct file *file, const char *name, syn_node from, syn_node other)
{
    (void)other;
    size_t hidden = number(file, "outputs", 0, MOST_OUTPUTS);
    return file->is_bad ? SYN_NOTHING : syn_graph_lstm(file->graph, name, from, hidden);
}

static syn_node add_layer_norm(struct file *file, const char *name, syn_node from, syn_node other)
{
    (void)other;
    return syn_graph_layer_norm(file->graph, name, from);
}

static syn_node add_gelu(struct file *file, const char *name, syn_node from, syn_node other)
{
    (void)name;
    (void)other;
    return syn_graph_gelu(file->graph, from);
}

static syn_node add_positions(struct file *file, const char *name, syn_node from, syn_node other)
{
    (void)other;
    size_t length = number(file, "length", 0, MOST_OUTPUTS);
    return file->is_bad ? SYN_NOTHING : syn_graph_positions(file->graph, name, from, length);
}

static syn_node add_attention(struct file *file, const char *name, syn_node from, syn_node other)
{
    (void)other;
    size_t heads = number(file, "heads", 0, MOST_OUTPUTS);
    return file->is_bad ? SYN_NOTHING : syn_graph_attention(file->graph, name, from, heads);
}

/* The output of the layer of that name, which must be above. */
static syn_node find_node(struct file *file, const json_t *name)
{
    const char *text = json_string_value(name);
    if (text && strcmp(text, "input") == 0)
        return 0;
    for (size_t i = file->at; text && i-- > 0;) {
        const json_t *there = json_object_get(json_array_get(file->layers, i), "name");
        if (there && strcmp(json_string_value(there), text) == 0)
            return file->nodes[i];
    }
    refuse(file, "no layer above is called", text ? text : "", "a name, or input");
    return SYN_NOTHING;
}

static syn_node add_tied_product(struct file *file, const char *name, syn_node from, syn_node other)
{
    (void)other;
    syn_node embedding = find_node(file, json_object_get(layer_of(file), "embedding"));
    return file->is_bad ? SYN_NOTHING : syn_graph_tied_product(file->graph, name, from, embedding);
}

static const struct kind kinds[] = {
    {"convolution", " outputs kernel stride padding bias ", add_convolution, 1},
    {"inner_product", " outputs deviation ", add_inner_product, 1},
    {"batch_norm", " relu ", add_batch_norm, 1},
    {"relu", " ", add_relu, 1},
    {"max_pooling", " kernel stride padding ", add_max_pooling, 1},
    {"average_pooling", " kernel stride padding ", add_average_pooling, 1},
    {"global_average", " ", add_global_average, 1},
    {"dropout", " rate ", add_dropout, 1},
    {"add", " relu ", add_add, 2},
    {"embedding", " outputs deviation ", add_embedding, 1},
    {"lstm", " outputs ", add_lstm, 1},
    {"layer_norm", " ", add_layer_norm, 1},
    {"gelu", " ", add_gelu, 1},
    {"positions", " length deviation ", add_positions, 1},
    {"attention", " heads ", add_attention, 1},
    {"tied_product", " embedding ", add_tied_product, 1},
};

static const struct kind *find_kind(struct file *file)
{
    char names[256] = "one of";
    const char *name = json_string_value(json_object_get(layer_of(file), "layer"));
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (name && strcmp(kinds[i].name, name) == 0)
            return &kinds[i];
        snprintf(names + strlen(names), sizeof names - strlen(names), " %s", kinds[i].name);
    }
    refuse(file, name ? "no layer" : "no \"layer\" that is a string", name, names);
    return NULL;
}

static void check_keys(struct file *file, const struct kind *kind)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)layer_of(file), key, value)
    {
        char word[72];
        char expected[128];
        snprintf(word, sizeof word, " %.64s ", key);
        if (strstr(kind->keys, word) || strstr(" layer name from ", word))
            continue;
        snprintf(expected, sizeof expected, "layer name from%s", kind->keys);
        expected[strlen(expected) - 1] = '\0';
        refuse(file, "unknown key", key, expected);
    }
}

/* What the layer reads: the one above it, or those it names. */
static void find_inputs(struct file *file, const struct kind *kind, syn_node from[2])
{
    const json_t *names = json_object_get(layer_of(file), "from");
    from[0] = file->at > 0 ? file->nodes[file->at - 1] : 0;
    from[1] = SYN_NOTHING;
    if (!names && kind->inputs == 1)
        return;
    if (kind->inputs == 1) {
        from[0] = find_node(file, names);
        return;
    }
    if (json_array_size(names) != 2) {
        refuse(file, "add reads two layers", NULL, "\"from\": [one, other]");
        return;
    }
    from[0] = find_node(file, json_array_get(names, 0));
    from[1] = find_node(file, json_array_get(names, 1));
}

/* Of the initial weights, if the file has one. */
static void set_deviation(struct file *file)
{
    const json_t *deviation = json_object_get(layer_of(file), "deviation");
    if (!deviation)
        return;
    if (json_number_value(deviation) > 0)
        syn_graph_deviation(file->graph, file->nodes[file->at], json_number_value(deviation));
    else
        refuse(file, "not a possible", "deviation", "a number above 0");
}

static bool add_layer(struct file *file)
{
    syn_node from[2];
    const json_t *name = json_object_get(layer_of(file), "name");
    const struct kind *kind = find_kind(file);
    if (!kind)
        return false;
    if (name && (!json_string_value(name) || json_string_length(name) == 0 ||
                 json_string_length(name) > 128 || strpbrk(json_string_value(name), " \n\t")))
        refuse(file, "not a possible", "name", "a string of 1 to 128 bytes without blanks");
    check_keys(file, kind);
    find_inputs(file, kind, from);
    if (file->is_bad)
        return false;
    file->nodes[file->at] = kind->add(file, json_string_value(name), from[0], from[1]);
    if (file->nodes[file->at] == SYN_NOTHING && !file->is_bad)
        refuse(file, file->graph->cause, NULL, "");
    if (!file->is_bad)
        set_deviation(file);
    return !file->is_bad;
}

static enum syn_status read_layers(struct file *file, const struct syn_input *input)
{
    size_t count = json_array_size(file->layers);
    if (count == 0 || count > MOST_LAYERS)
        return syn_report(SYN_FORMAT, "%s: expected {\"layers\": [...]} of 1 to %d layers",
                          file->origin, MOST_LAYERS);
    file->nodes = calloc(count, sizeof *file->nodes);
    if (!file->nodes)
        return syn_report(SYN_MEMORY, "cannot allocate %zu layers", count);
    if (input->kind == SYN_INPUT_TOKENS)
        syn_graph_tokens(file->graph, input->classes);
    else
        syn_graph_images(file->graph, input->channels, input->height, input->width);
    for (file->at = 0; file->at < count; file->at++)
        if (!add_layer(file))
            return SYN_FORMAT;
    const struct shape *last = &file->graph->nodes[file->nodes[count - 1]].shape;
    file->at = count - 1;
    if (shape_values(last) != file->classes) {
        char have[96];
        snprintf(have, sizeof have, "the last layer has %zu outputs; the data have %zu classes",
                 shape_values(last), file->classes);
        refuse(file, have, NULL, "");
        return SYN_FORMAT;
    }
    syn_graph_cross_entropy(file->graph, file->nodes[count - 1]);
    return graph_check(file->graph);
}

enum syn_status syn_graph_parse(const char *text, size_t count, const char *origin,
                                const struct syn_input *input, struct syn_graph **graph)
{
    json_error_t error;
    struct file file = {.origin = origin, .text = text, .count = count, .classes = input->classes};
    json_t *whole = json_loadb(text, count, JSON_REJECT_DUPLICATES, &error);
    if (!whole)
        return syn_report(SYN_FORMAT, "%s:%d: %s", origin, error.line, error.text);
    enum syn_status status = syn_graph_new(&file.graph);
    file.layers = json_object_get(whole, "layers");
    if (status == SYN_OK && json_object_size(whole) > 1)
        status =
            syn_report(SYN_FORMAT, "%s: expected {\"layers\": [...]} and nothing else", origin);
    if (status == SYN_OK)
        status = read_layers(&file, input);
    free(file.nodes);
    json_decref(whole);
    if (status != SYN_OK) {
        syn_graph_free(file.graph);
        return status;
    }
    *graph = file.graph;
    return SYN_OK;
}

enum syn_status syn_graph_load(const char *path, const struct syn_input *input,
                               struct syn_graph **graph)
{
    struct syn_blob blob = {0};
    SYN_TRY(syn_blob_open_packed(path, &blob));
    enum syn_status status =
        syn_graph_parse((const char *)blob.bytes, blob.count, path, input, graph);
    syn_blob_close(&blob);
    return status;
}
