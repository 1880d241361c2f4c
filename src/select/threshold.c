/* Every entry whose magnitude reaches tau. Tau stays where it is, or keeps the density inside a
 * band, or steers it to a target:
 *
 *     band    density above high: tau / 0.5^(1/20);  below low: tau * 0.5^(1/20)
 *     target  tau * (density / target)^(1/4), at most doubled or halved in a step
 *
 * In the steady state a coordinate crosses tau at a rate of |g|/tau, so that the density is about
 * inverse to tau; the fourth root damps the echo that residuals give to every change.
 *
 * No more than density_max of the entries go in one message, the lowest ones first; the others wait
 * in the residual. That bounds all memory, whatever tau. */
#include "select/select.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "tensor/kernels.h"

#define BAND_STEP 0.9659363289248456F /* 0.5^(1/20) */
#define LEAST_TAU 1e-30F
#define MOST_TAU  1e30F

#define DEFAULT_DENSITY_MAX 0.25

struct threshold {
    size_t size;
    size_t limit;
    float tau;      /* of the pass under way or to come */
    float last_tau; /* of the last finished pass */
    float target;
    float low;
    float high;
    float (*next)(const struct threshold *threshold, float density);
    size_t lane_count;
    struct syn_list lanes[];
};

static float stay(const struct threshold *threshold, float density)
{
    (void)density;
    return threshold->tau;
}

static float keep_in_band(const struct threshold *threshold, float density)
{
    if (density > threshold->high)
        return threshold->tau / BAND_STEP;
    return density < threshold->low ? threshold->tau * BAND_STEP : threshold->tau;
}

static float steer(const struct threshold *threshold, float density)
{
    float factor = sqrtf(sqrtf(density / threshold->target));
    return threshold->tau * fminf(fmaxf(factor, 0.5F), 2.0F);
}

static const struct {
    const char *name;
    float (*next)(const struct threshold *threshold, float density);
} modes[] = {{"fixed", stay}, {"band", keep_in_band}, {"target", steer}};

const char *syn_threshold_mode_name(size_t i)
{
    return i < sizeof modes / sizeof modes[0] ? modes[i].name : NULL;
}

static size_t limit(const struct syn_reducer_options *options, size_t size, double density)
{
    (void)density;
    double most = options->density_max > 0 ? options->density_max : DEFAULT_DENSITY_MAX;
    return syn_select_share(most, size);
}

static void close_state(void *state)
{
    struct threshold *threshold = state;
    if (!threshold)
        return;
    for (size_t i = 0; i < threshold->lane_count; i++)
        syn_list_close(&threshold->lanes[i]);
    free(threshold);
}

static enum syn_status open_state(const struct syn_reducer_options *options, size_t size,
                                  size_t most, size_t lanes, void **state)
{
    struct threshold *made;
    SYN_TRY(syn_allocate(1, sizeof *made + lanes * sizeof made->lanes[0], &made));
    made->size = size;
    made->tau = (float)options->threshold;
    made->low = (float)options->threshold_low;
    made->high = (float)options->threshold_high;
    made->lane_count = lanes;
    for (size_t i = 0; syn_threshold_mode_name(i); i++)
        if (strcmp(modes[i].name, options->threshold_mode) == 0)
            made->next = modes[i].next;
    for (size_t i = 0; i < lanes; i++) {
        enum syn_status status = syn_list_open(&made->lanes[i], most + SYN_BLOCK);
        if (status != SYN_OK) {
            close_state(made);
            return status;
        }
    }
    *state = made;
    return SYN_OK;
}

static void begin(void *state, size_t most, double density)
{
    struct threshold *threshold = state;
    threshold->limit = most;
    threshold->target = density > 0 ? (float)density : 1e-9F;
    for (size_t i = 0; i < threshold->lane_count; i++)
        threshold->lanes[i].count = 0;
}

static struct syn_net cast(void *state, size_t lane)
{
    struct threshold *threshold = state;
    struct syn_list *list = &threshold->lanes[lane];
    uint32_t bar = syn_magnitude(threshold->tau) - 1; /* above this is: at least tau */
    return (struct syn_net){.bar = list->count < threshold->limit ? bar : SYN_CATCH_NOTHING,
                            .index = list->index + list->count,
                            .value = list->value + list->count};
}

static void haul(void *state, size_t lane, const struct syn_net *net)
{
    struct threshold *threshold = state;
    threshold->lanes[lane].count += net->caught;
}

static void finish(void *state, const float *sums, struct syn_list *picked)
{
    (void)sums;
    struct threshold *threshold = state;
    picked->count = 0;
    for (size_t i = 0; i < threshold->lane_count; i++) {
        const struct syn_list *list = &threshold->lanes[i];
        size_t room = threshold->limit - picked->count;
        size_t taken = list->count < room ? list->count : room;
        memcpy(picked->index + picked->count, list->index, taken * sizeof *list->index);
        memcpy(picked->value + picked->count, list->value, taken * sizeof *list->value);
        picked->count += taken;
    }
    float density = threshold->size ? (float)picked->count / (float)threshold->size : 0;
    threshold->last_tau = threshold->tau;
    float tau = threshold->next(threshold, density);
    threshold->tau = fminf(fmaxf(tau, LEAST_TAU), MOST_TAU);
}

static float last_threshold(const void *state)
{
    const struct threshold *threshold = state;
    return threshold->last_tau;
}

static float remember(const void *state)
{
    const struct threshold *threshold = state;
    return threshold->tau;
}

static void restore(void *state, float tau)
{
    struct threshold *threshold = state;
    threshold->tau = tau;
}

const struct syn_select_type syn_select_threshold = {
    .part = {"threshold", "every entry of magnitude tau or more"},
    .limit = limit,
    .open = open_state,
    .begin = begin,
    .cast = cast,
    .haul = haul,
    .finish = finish,
    .threshold = last_threshold,
    .remember = remember,
    .restore = restore,
    .close = close_state,
};
