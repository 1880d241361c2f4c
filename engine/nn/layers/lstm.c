/* One LSTM layer. oneDNN's LSTM has no fast training kernel on AVX2, so this one is built from
 * matrix products: first the input part of all time steps at once,
 *
 *     gates [time * batch][4 hidden] = X W_ih' + b_ih + b_hh
 *
 * then, step by step, gates_t += h_(t-1) W_hh' and the cell (kernels/lstm_cell.c). The backward
 * pass turns the gates into their gradients from the last step to the first; the gradients w.r.t.
 * weights and inputs are again products over all time steps. */
#include <math.h>
#include <string.h>

#include "engine/base/fail.h"
#include "engine/nn/onednn.h"
#include "engine/nn/parallel.h"

enum { WEIGHT_INPUT, WEIGHT_HIDDEN, BIAS_INPUT, BIAS_HIDDEN, CARRIED_HIDDEN, CARRIED_CELL };
enum { GATES, CELLS, FIRST_HIDDEN }; /* kept */

static bool shape(struct syn_graph *graph, struct node *node)
{
    const struct shape *from = graph_from(graph, node, 0);
    if (!from->sequence || from->height * from->width != 1)
        return graph_refuse(graph, "%s: an LSTM reads a sequence of vectors", node->name);
    if (node->options.outputs == 0)
        return graph_refuse(graph, "%s: no hidden values", node->name);
    node->shape = (struct shape){
        .sequence = true, .channels = node->options.outputs, .height = 1, .width = 1};
    return true;
}

static size_t tensors(const struct syn_graph *graph, const struct node *node,
                      struct tensor *tensors)
{
    size_t inputs = graph_from(graph, node, 0)->channels;
    size_t hidden = node->options.outputs;
    double bound = 1 / sqrt((double)hidden);
    tensors[WEIGHT_INPUT] = (struct tensor){SPACE_WEIGHTS, "weight_ih_l0",
                                            SHAPE(4 * hidden, inputs), START_UNIFORM, bound};
    tensors[WEIGHT_HIDDEN] = (struct tensor){SPACE_WEIGHTS, "weight_hh_l0",
                                             SHAPE(4 * hidden, hidden), START_UNIFORM, bound};
    tensors[BIAS_INPUT] =
        (struct tensor){SPACE_WEIGHTS, "bias_ih_l0", SHAPE(4 * hidden), START_UNIFORM, bound};
    tensors[BIAS_HIDDEN] =
        (struct tensor){SPACE_WEIGHTS, "bias_hh_l0", SHAPE(4 * hidden), START_UNIFORM, bound};
    tensors[CARRIED_HIDDEN] = (struct tensor){SPACE_CARRY, "hidden", SHAPE(hidden), START_ZERO, 0};
    tensors[CARRIED_CELL] = (struct tensor){SPACE_CARRY, "cell", SHAPE(hidden), START_ZERO, 0};
    return 6;
}

struct state {
    size_t time;
    size_t count; /* examples */
    size_t inputs;
    size_t hidden;
    size_t input_row; /* floats, with padding */
    size_t hidden_row;
    size_t gates_row;
    bool accumulate;
};

static struct state state(const struct plan *plan, const struct node *node)
{
    size_t inputs = graph_from(plan->graph, node, 0)->channels;
    size_t hidden = node->shape.channels;
    return (struct state){.time = plan->settings.time,
                          .count = plan->settings.count,
                          .inputs = inputs,
                          .hidden = hidden,
                          .input_row = padded_channels(inputs),
                          .hidden_row = padded_channels(hidden),
                          .gates_row = padded_channels(4 * hidden)};
}

/* at: X, W_ih, b_ih, b_hh, gates */
static enum syn_status run_input(const struct kernel *kernel, void *const at[], struct call *call)
{
    const struct state *s = kernel->state;
    size_t rows = s->time * s->count;
    float *gates = at[4];
    const float *hidden_bias = at[3];
    call->own->elementwise->repeat(at[2], 4 * s->hidden, gates, rows, s->gates_row);
    for (size_t row = 0; row < rows; row++)
        for (size_t i = 0; i < 4 * s->hidden; i++)
            gates[row * s->gates_row + i] += hidden_bias[i];
    struct onednn_product product = {
        'N', 'T', rows, 4 * s->hidden, s->inputs, s->input_row, s->inputs, s->gates_row, true};
    return onednn_multiply(&product, at[0], at[1], gates);
}

/* The cells of one time step; a row is an example. */
struct cells {
    const struct state *s;
    const struct lstm_kernels *own;
    float *gates;
    const float *before;
    float *now;
    float *hidden;
    const float *hidden_gradient;
    float *cell_gradient;
};

static void run_cells(void *context, size_t part, size_t begin, size_t end)
{
    (void)part;
    const struct cells *c = context;
    for (size_t i = begin; i < end; i++) {
        size_t at = i * c->s->hidden_row;
        c->own->forward(c->s->hidden, c->gates + i * c->s->gates_row, c->before + at, c->now + at,
                        c->hidden + at);
    }
}

static void run_cells_back(void *context, size_t part, size_t begin, size_t end)
{
    (void)part;
    const struct cells *c = context;
    for (size_t i = begin; i < end; i++) {
        size_t at = i * c->s->hidden_row;
        c->own->backward(c->s->hidden, c->gates + i * c->s->gates_row, c->before + at, c->now + at,
                         c->hidden_gradient + at, c->cell_gradient + at);
    }
}

/* Copy between carried rows [hidden] and padded ones. */
static void take_carried(const struct state *s, const float *carried, float *rows)
{
    memset(rows, 0, s->count * s->hidden_row * sizeof *rows);
    for (size_t i = 0; i < s->count; i++)
        memcpy(rows + i * s->hidden_row, carried + i * s->hidden, s->hidden * sizeof *rows);
}

static void leave_carried(const struct state *s, const float *rows, float *carried)
{
    for (size_t i = 0; i < s->count; i++)
        memcpy(carried + i * s->hidden, rows + i * s->hidden_row, s->hidden * sizeof *rows);
}

/* at: gates, W_hh, cells, first hidden, y, carried hidden, carried cell */
static enum syn_status run_forward(const struct kernel *kernel, void *const at[], struct call *call)
{
    const struct state *s = kernel->state;
    size_t step = s->count * s->hidden_row;
    float *cells = at[2];
    float *y = at[4];
    const float *hidden = at[3];
    take_carried(s, at[5], at[3]);
    take_carried(s, at[6], cells);
    struct onednn_product product = {
        'N', 'T', s->count, 4 * s->hidden, s->hidden, s->hidden_row, s->hidden, s->gates_row, true};
    for (size_t t = 0; t < s->time; t++) {
        float *gates = (float *)at[0] + t * s->count * s->gates_row;
        SYN_TRY(onednn_multiply(&product, hidden, at[1], gates));
        struct cells c = {.s = s,
                          .own = call->own->lstm,
                          .gates = gates,
                          .before = cells + t * step,
                          .now = cells + (t + 1) * step,
                          .hidden = y + t * step};
        parallel_run(call->threads, s->count, run_cells, &c);
        hidden = y + t * step;
    }
    leave_carried(s, hidden, at[5]);
    leave_carried(s, cells + s->time * step, at[6]);
    return SYN_OK;
}

/* at: gates, W_hh, cells, dy, dh, dc */
static enum syn_status run_backward(const struct kernel *kernel, void *const at[],
                                    struct call *call)
{
    const struct state *s = kernel->state;
    size_t step = s->count * s->hidden_row;
    const float *cells = at[2];
    float *dh = at[4];
    float *dc = at[5];
    memset(dc, 0, step * sizeof *dc);
    struct onednn_product product = {
        'N', 'N', s->count, s->hidden, 4 * s->hidden, s->gates_row, s->hidden, s->hidden_row, true};
    for (size_t t = s->time; t-- > 0;) {
        float *gates = (float *)at[0] + t * s->count * s->gates_row;
        memcpy(dh, (const float *)at[3] + t * step, step * sizeof *dh);
        if (t + 1 < s->time)
            SYN_TRY(onednn_multiply(&product, gates + s->count * s->gates_row, at[1], dh));
        struct cells c = {.s = s,
                          .own = call->own->lstm,
                          .gates = gates,
                          .before = cells + t * step,
                          .now = (float *)cells + (t + 1) * step,
                          .hidden_gradient = dh,
                          .cell_gradient = dc};
        parallel_run(call->threads, s->count, run_cells_back, &c);
    }
    return SYN_OK;
}

/* at: dgates, X, first hidden, y, dW_ih, dW_hh */
static enum syn_status run_weights(const struct kernel *kernel, void *const at[], struct call *call)
{
    (void)call;
    const struct state *s = kernel->state;
    const float *gates = at[0];
    struct onednn_product product = {
        'T',          'N',          4 * s->hidden, s->inputs, s->time * s->count,
        s->gates_row, s->input_row, s->inputs,     false};
    SYN_TRY(onednn_multiply(&product, gates, at[1], at[4]));
    product.columns = s->hidden;
    product.b_row = s->hidden_row;
    product.c_row = s->hidden;
    product.depth = s->count;
    SYN_TRY(onednn_multiply(&product, gates, at[2], at[5]));
    product.depth = (s->time - 1) * s->count;
    product.accumulate = true;
    return product.depth ? onednn_multiply(&product, gates + s->count * s->gates_row, at[3], at[5])
                         : SYN_OK;
}

/* at: dgates, sums, db_ih, db_hh */
static enum syn_status run_biases(const struct kernel *kernel, void *const at[], struct call *call)
{
    const struct state *s = kernel->state;
    call->own->elementwise->channel_sums(at[0], s->time * s->count, s->gates_row, 1, at[1]);
    memcpy(at[2], at[1], 4 * s->hidden * sizeof(float));
    memcpy(at[3], at[1], 4 * s->hidden * sizeof(float));
    return SYN_OK;
}

/* at: dgates, W_ih, dX */
static enum syn_status run_data(const struct kernel *kernel, void *const at[], struct call *call)
{
    (void)call;
    const struct state *s = kernel->state;
    float *dx = at[2];
    size_t rows = s->time * s->count;
    size_t padding = s->input_row - s->inputs;
    for (size_t row = 0; padding > 0 && row < rows; row++)
        memset(dx + row * s->input_row + s->inputs, 0, padding * sizeof *dx);
    struct onednn_product product = {'N',       'N',           rows,
                                     s->inputs, 4 * s->hidden, s->gates_row,
                                     s->inputs, s->input_row,  s->accumulate};
    return onednn_multiply(&product, at[0], at[1], dx);
}

static void add(struct plan *plan, const struct node *node, const char *work, kernel_run *run,
                struct state s, double factor, const struct place *places, size_t count)
{
    struct kernel kernel = {.node = node,
                            .work = work,
                            .implementation = ONEDNN_PRODUCT,
                            .gflop = 8e-9 * (double)(s.time * s.count * s.hidden) * factor,
                            .run = run,
                            .place_count = count};
    memcpy(kernel.places, places, count * sizeof *places);
    plan_add(plan, &kernel, &s, sizeof s);
}

static void forward(struct plan *plan, const struct node *node)
{
    struct state s = state(plan, node);
    size_t rows = s.time * s.count;
    struct place *kept = plan->values[node->number].kept;
    kept[GATES] = plan_buffer(plan, rows * s.gates_row);
    kept[CELLS] = plan_buffer(plan, (rows + s.count) * s.hidden_row);
    kept[FIRST_HIDDEN] = plan_buffer(plan, s.count * s.hidden_row);
    struct place input[] = {plan_input(plan, node, 0), plan_tensor(plan, node, WEIGHT_INPUT),
                            plan_tensor(plan, node, BIAS_INPUT),
                            plan_tensor(plan, node, BIAS_HIDDEN), kept[GATES]};
    add(plan, node, "input product", run_input, s, (double)s.inputs, input, 5);
    struct place recurrence[] = {kept[GATES],
                                 plan_tensor(plan, node, WEIGHT_HIDDEN),
                                 kept[CELLS],
                                 kept[FIRST_HIDDEN],
                                 plan_new_output(plan, node),
                                 plan_tensor(plan, node, CARRIED_HIDDEN),
                                 plan_tensor(plan, node, CARRIED_CELL)};
    add(plan, node, "forward", run_forward, s, (double)s.hidden, recurrence, 7);
}

static void backward(struct plan *plan, const struct node *node)
{
    struct state s = state(plan, node);
    const struct place *kept = plan->values[node->number].kept;
    struct place gates = kept[GATES];
    size_t step = s.count * s.hidden_row;
    struct place recurrence[] = {gates,
                                 plan_tensor(plan, node, WEIGHT_HIDDEN),
                                 kept[CELLS],
                                 plan_gradient(plan, node),
                                 plan_buffer(plan, step),
                                 plan_buffer(plan, step)};
    add(plan, node, "backward", run_backward, s, (double)s.hidden, recurrence, 6);
    struct place weights[] = {gates,
                              plan_input(plan, node, 0),
                              kept[FIRST_HIDDEN],
                              plan_output(plan, node),
                              plan_tensor_gradient(plan, node, WEIGHT_INPUT),
                              plan_tensor_gradient(plan, node, WEIGHT_HIDDEN)};
    add(plan, node, "backward weights", run_weights, s, (double)(s.inputs + s.hidden), weights, 6);
    struct place biases[] = {gates, plan_buffer(plan, s.gates_row),
                             plan_tensor_gradient(plan, node, BIAS_INPUT),
                             plan_tensor_gradient(plan, node, BIAS_HIDDEN)};
    add(plan, node, "backward biases", run_biases, s, 0, biases, 4);
    if (!plan_wants_gradient(plan, node, 0))
        return;
    struct delivery delivery = plan_deliver_begin(plan, node, 0, DELIVER_ACCUMULATES);
    s.accumulate = delivery.accumulate;
    struct place data[] = {gates, plan_tensor(plan, node, WEIGHT_INPUT), delivery.to};
    add(plan, node, "backward data", run_data, s, (double)s.inputs, data, 3);
    plan_deliver_end(plan, node, &delivery);
}

const struct layer_kind layer_lstm = {.name = "lstm",
                                      .help = "a long short-term memory layer",
                                      .shape = shape,
                                      .tensors = tensors,
                                      .forward = forward,
                                      .backward = backward,
                                      .needs_output = true};
