/* The cell of an LSTM:
 *
 *     i, f, o = sigmoid(...)   g = tanh(...)   c = f c' + i g   h = o tanh(c)
 *
 * and its gradient, with the gradient w.r.t. c accumulated in dc:
 *
 *     dc += dh o (1 - tanh^2 c)      do = dh tanh(c) o (1 - o)
 *     di = dc g i (1 - i)   df = dc c' f (1 - f)   dg = dc i (1 - g^2)   dc' = dc f */
#include "engine/nn/kernels/kernels.h"
#include "engine/nn/kernels/lanes_math.h"

struct cell {
    lanes i;
    lanes f;
    lanes g;
    lanes o;
};

SYN_INLINE struct cell load_cell(const float *gates, size_t hidden, size_t at, size_t count)
{
    const float *from = gates + at;
    if (count == LANES)
        return (struct cell){lanes_load(from), lanes_load(from + hidden),
                             lanes_load(from + 2 * hidden), lanes_load(from + 3 * hidden)};
    return (struct cell){lanes_load_part(from, count, 0), lanes_load_part(from + hidden, count, 0),
                         lanes_load_part(from + 2 * hidden, count, 0),
                         lanes_load_part(from + 3 * hidden, count, 0)};
}

SYN_INLINE void store_cell(float *gates, size_t hidden, size_t at, size_t count, struct cell cell)
{
    float *to = gates + at;
    if (count == LANES) {
        lanes_store(to, cell.i);
        lanes_store(to + hidden, cell.f);
        lanes_store(to + 2 * hidden, cell.g);
        lanes_store(to + 3 * hidden, cell.o);
    } else {
        lanes_store_part(to, count, cell.i);
        lanes_store_part(to + hidden, count, cell.f);
        lanes_store_part(to + 2 * hidden, count, cell.g);
        lanes_store_part(to + 3 * hidden, count, cell.o);
    }
}

/* States are padded to multiples of eight with zeros. The padding stays zero: zero gates give zero
 * states. */
static void forward(size_t hidden, float *gates, const float *c_before, float *c, float *h)
{
    for (size_t at = 0; at < hidden; at += LANES) {
        size_t count = hidden - at < LANES ? hidden - at : LANES;
        struct cell x = load_cell(gates, hidden, at, count);
        x.i = lanes_sigmoid(x.i);
        x.f = lanes_sigmoid(x.f);
        x.g = lanes_tanh(x.g);
        x.o = lanes_sigmoid(x.o);
        store_cell(gates, hidden, at, count, x);
        lanes state = x.f * lanes_load(c_before + at) + x.i * x.g;
        lanes_store(c + at, state);
        lanes_store(h + at, x.o * lanes_tanh(state));
    }
}

static void backward(size_t hidden, float *gates, const float *c_before, const float *c,
                     const float *dh, float *dc)
{
    for (size_t at = 0; at < hidden; at += LANES) {
        size_t count = hidden - at < LANES ? hidden - at : LANES;
        struct cell x = load_cell(gates, hidden, at, count);
        lanes tanh_c = lanes_tanh(lanes_load(c + at));
        lanes from_h = lanes_load(dh + at);
        lanes d = lanes_load(dc + at) + from_h * x.o * (1.0f - tanh_c * tanh_c);
        lanes_store(dc + at, d * x.f);
        struct cell gradient = {
            d * x.g * x.i * (1.0f - x.i),
            d * lanes_load(c_before + at) * x.f * (1.0f - x.f),
            d * x.i * (1.0f - x.g * x.g),
            from_h * tanh_c * x.o * (1.0f - x.o),
        };
        store_cell(gates, hidden, at, count, gradient);
    }
}

const struct lstm_kernels SYN_KERNEL(syn_lstm_cell) = {forward, backward};
