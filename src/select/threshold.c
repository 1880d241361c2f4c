/* Every entry whose magnitude reaches tau. Tau is fixed, or keeps the density inside a band, or
 * steers it to a target:
 *
 *     band    density above high: tau / 0.5^(1/20);  below low: tau * 0.5^(1/20)
 *     target  the larger of what the target's share of the sums reaches and 0.95 tau
 *
 * Band uses the last step, target the sums themselves. Residuals accumulate below tau: with n
 * entries spread below it, lowering tau by a hundredth releases n/100 of them, ten times the usual
 * target. A rule that steers by the last density alone oscillates between nothing and such bursts;
 * when tried, with the fourth root of density / target, it sent ten times the target. Here entries
 * down to 0.95 tau are collected, and tau is found among them, so that a message is never longer
 * than the target. In the first pass tau is found by searching all sums.
 *
 * At most density_max of the entries are sent in one message, those with the lowest indices first;
 * the others wait in the residual. This bounds all memory, whatever tau is. */
#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "select/lanes.h"
#include "tensor/largest.h"

#define BAND_STEP 0.9659363289248456F /* 0.5^(1/20) */
#define FALL_MOST 0.95F               /* the lowest share that tau falls to in one step */
#define LEAST_TAU 1e-30F
#define MOST_TAU  1e30F
#define NOT_KNOWN MOST_TAU /* nothing reaches this tau; used until there are sums to find one in */

#define DEFAULT_DENSITY_MAX 0.25

struct threshold {
    size_t size;
    size_t limit;
    float tau;      /* of the current or next pass */
    float last_tau; /* of the last finished pass */
    float cutoff;   /* magnitudes of at least this are collected */
    double target;
    float low;
    float high;
    bool is_steered; /* to the target; otherwise next() sets tau */
    float (*next)(const struct threshold *threshold, float density);
    size_t lane_count;
    struct syn_lane lanes[];
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

static const struct {
    const char *name;
    bool is_steered;
    float (*next)(const struct threshold *threshold, float density);
} modes[] = {{"fixed", false, stay}, {"band", false, keep_in_band}, {"target", true, stay}};

const char *syn_threshold_mode_name(size_t i)
{
    return i < sizeof modes / sizeof modes[0] ? modes[i].name : NULL;
}

static enum syn_status check(const struct syn_reducer_options *options)
{
    if (options->threshold_low > options->threshold_high)
        return syn_fail(SYN_INVALID, "threshold-low %g is above threshold-high %g",
                        options->threshold_low, options->threshold_high);
    return SYN_OK;
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
    syn_lanes_close(threshold->lanes, threshold->lane_count);
    free(threshold);
}

static enum syn_status open_state(const struct syn_reducer_options *options, size_t size,
                                  size_t most, size_t lanes, void **state)
{
    struct threshold *made;
    SYN_TRY(syn_allocate(1, sizeof *made + lanes * sizeof made->lanes[0], &made));
    made->size = size;
    made->low = (float)options->threshold_low;
    made->high = (float)options->threshold_high;
    made->lane_count = lanes;
    for (size_t i = 0; syn_threshold_mode_name(i); i++)
        if (strcmp(modes[i].name, options->threshold_mode) == 0) {
            made->is_steered = modes[i].is_steered;
            made->next = modes[i].next;
        }
    made->tau = made->is_steered ? NOT_KNOWN : (float)options->threshold;
    enum syn_status status = syn_lanes_open(made->lanes, lanes, most, false);
    if (status == SYN_OK)
        *state = made;
    else
        close_state(made);
    return status;
}

static void vacate(void *state)
{
    struct threshold *threshold = state;
    syn_lanes_vacate(threshold->lanes, threshold->lane_count);
}

/* Empty a lane's list and scan for magnitudes of at least the cutoff. */
static struct syn_scan begin_lane(struct threshold *threshold, size_t lane)
{
    uint32_t cutoff =
        syn_magnitude(threshold->cutoff) - 1; /* above this means at least the cutoff */
    return syn_lane_begin(&threshold->lanes[lane], threshold->limit ? cutoff : SYN_COLLECT_NOTHING);
}

static void begin(void *state, size_t most, double density, struct syn_scan *scans)
{
    struct threshold *threshold = state;
    bool is_known = threshold->tau < NOT_KNOWN;
    threshold->limit = most;
    threshold->target = density;
    threshold->cutoff = threshold->tau * (threshold->is_steered && is_known ? FALL_MOST : 1);
    for (size_t i = 0; i < threshold->lane_count; i++)
        scans[i] = begin_lane(threshold, i);
}

static void collect(void *state, size_t lane_number, struct syn_scan *scan)
{
    struct threshold *threshold = state;
    struct syn_lane *lane = &threshold->lanes[lane_number];
    syn_lane_collect(lane, scan);
    if (lane->list.count >= threshold->limit)
        scan->cutoff = SYN_COLLECT_NOTHING;
}

/* Gather what all lanes collected, lowest indices first. */
static void gather(const struct threshold *threshold, struct syn_list *picked)
{
    picked->count = 0;
    for (size_t i = 0; i < threshold->lane_count; i++) {
        const struct syn_list *list = &threshold->lanes[i].list;
        size_t room = threshold->limit - picked->count;
        size_t taken = list->count < room ? list->count : room;
        memcpy(picked->index + picked->count, list->index, taken * sizeof *list->index);
        memcpy(picked->value + picked->count, list->value, taken * sizeof *list->value);
        picked->count += taken;
    }
}

/* Repeat the first pass, now that there are sums to find tau in: the magnitude that the target's
 * share of them reaches, or all nonzero sums if those are fewer. If all are zero, tau stays
 * unknown. */
static void search_all(struct threshold *threshold, const float *sums, size_t share)
{
    size_t present = 0;
    for (size_t i = 0; i < threshold->size; i++)
        present += sums[i] != 0;
    if (present == 0)
        return;
    uint32_t reached = syn_largest(sums, threshold->size, share < present ? share : present).cutoff;
    threshold->cutoff = fmaxf(syn_from_magnitude(reached), LEAST_TAU);
    for (size_t i = 1; i < threshold->lane_count; i++)
        threshold->lanes[i].list.count = 0;
    struct syn_scan scan = begin_lane(threshold, 0);
    for (size_t at = 0; at < threshold->size; at += SYN_BLOCK) {
        size_t left = threshold->size - at;
        scan.first = (uint32_t)at;
        syn_kernels()->scan(sums + at, left < SYN_BLOCK ? left : SYN_BLOCK, &scan);
        collect(threshold, 0, &scan);
    }
}

/* Keep the target's share of what was collected. Returns tau. */
static float keep_target(struct threshold *threshold, const float *sums, struct syn_list *picked)
{
    size_t share = syn_select_share(threshold->target, threshold->size);
    share = share < threshold->limit ? share : threshold->limit;
    if (threshold->tau == NOT_KNOWN && share > 0) {
        search_all(threshold, sums, share);
        gather(threshold, picked);
    }
    if (share == 0 || picked->count < share)
        return threshold->cutoff;
    float tau = syn_from_magnitude(syn_largest(picked->value, picked->count, share).cutoff);
    syn_list_keep_largest(picked, share, NULL);
    return tau;
}

static void finish(void *state, const struct syn_sums *sums, struct syn_list *picked)
{
    struct threshold *threshold = state;
    gather(threshold, picked);
    if (threshold->is_steered)
        threshold->tau = keep_target(threshold, sums->kept, picked);
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
    .check = check,
    .limit = limit,
    .open = open_state,
    .begin = begin,
    .collect = collect,
    .finish = finish,
    .threshold = last_threshold,
    .remember = remember,
    .restore = restore,
    .vacate = vacate,
    .close = close_state,
};
