/* Adding the residual and finding large entries are one loop: the kernel that adds also collects
 * what is above the selection's cutoff while it is in a register. A second loop, even over blocks
 * that are still in cache, was tried and takes a third more time.
 *
 * New residuals are written to separate arrays. For buckets larger than the caches, non-temporal
 * stores are used, so that each step moves no more bytes than an update in place: read residual,
 * read gradient, write residual.
 *
 * A gradient in pieces is read in place. Blocks are independent of pieces: the few that extend past
 * the end of a piece are assembled first. */
#include "reducer/intake.h"

#include <math.h>
#include <string.h>

#include "exchange/exchange.h"
#include "reducer/lag.h"

/* Buckets of at least this size are written with non-temporal stores. */
#define LARGE ((size_t)1 << 18)

#define MOST_LANES 64

struct pass {
    const struct syn_intake *intake;
    const struct syn_kernels *kernels;
    size_t lanes;
    struct syn_scan scans[MOST_LANES];
    struct syn_forgotten forgotten[MOST_LANES];
};

/* The gradient's entries from place `at` of the layout on, either in place or copied to `room`. */
static const float *fetch_placed(const struct syn_intake *intake, size_t at, size_t count,
                                 float *room)
{
    if (intake->gradient)
        return intake->gradient + at;
    const struct syn_piece *piece = intake->pieces;
    for (; at >= piece->count; piece++)
        at -= piece->count;
    if (count <= piece->count - at)
        return piece->floats + at;
    for (size_t filled = 0; filled < count; piece++, at = 0) {
        size_t left = count - filled;
        size_t taken = piece->count - at < left ? piece->count - at : left;
        memcpy(room + filled, piece->floats + at, taken * sizeof *room);
        filled += taken;
    }
    return room;
}

/* The gradient's entries from the bucket's entry `first` on, in place or copied to `room`. */
static const float *fetch(const struct syn_intake *intake, size_t first, size_t count,
                          float room[SYN_BLOCK])
{
    size_t at = intake->first + first;
    if (!intake->order || !intake->order->runs)
        return fetch_placed(intake, at, count, room);
    const struct syn_order_run *run = syn_order_find(intake->order, at);
    if (at + count <= run->first + run->count)
        return fetch_placed(intake, run->place + (at - run->first), count, room);
    for (size_t filled = 0; filled < count; run++) {
        size_t skipped = at + filled - run->first;
        size_t left = count - filled;
        size_t taken = run->count - skipped < left ? run->count - skipped : left;
        const float *part = fetch_placed(intake, run->place + skipped, taken, room + filled);
        if (part != room + filled)
            memcpy(room + filled, part, taken * sizeof *room);
        filled += taken;
    }
    return room;
}

/* Compute what is left of a block of the residual after a share is forgotten. The forgotten amount
 * is counted after rounding, in LANES sums that compilers keep in one register each. */
static void forget_block(const struct syn_intake *intake, const float *unsent, size_t count,
                         float left[SYN_BLOCK], struct syn_forgotten *forgotten)
{
    enum { LANES = 8 };
    double sum[LANES] = {0};
    double mass[LANES] = {0};
    float keep = 1 - intake->forget;
    for (size_t i = 0; i < count; i++) {
        left[i] = keep * unsent[i];
        double gone = (double)unsent[i] - (double)left[i];
        sum[i % LANES] += gone;
        mass[i % LANES] += fabs(gone);
    }
    for (size_t i = 0; i < LANES; i++) {
        forgotten->sum += sum[i];
        forgotten->mass += mass[i];
    }
}

/* One block of at most SYN_BLOCK entries from `first` on. */
static void take_block(struct pass *pass, size_t lane, size_t first, size_t count,
                       struct syn_scan *scan)
{
    const struct syn_intake *intake = pass->intake;
    const struct syn_select_type *select = intake->select_type;
    float room[SYN_BLOCK];
    float left[SYN_BLOCK];
    const float *gradient = fetch(intake, first, count, room);
    scan->first = (uint32_t)first;
    if (intake->sent)
        syn_lag_settle(intake->residual_type, &intake->before, intake->sent, first, count);
    struct syn_residual before = syn_residual_from(&intake->before, first);
    struct syn_residual after = syn_residual_from(&intake->after, first);
    if (intake->lags)
        after.unsent = NULL;
    if (intake->forget > 0) {
        forget_block(intake, before.unsent, count, left, &pass->forgotten[lane]);
        before.unsent = left;
    }
    intake->residual_type->add(pass->kernels, &before, &after, gradient, intake->momentum,
                               intake->scale, count, intake->size >= LARGE, scan);
    if (!select->is_dense)
        select->collect(intake->select, lane, scan);
}

static void take_lane(void *context, size_t lane)
{
    struct pass *pass = context;
    /* Lanes begin at cache line boundaries, so that no two share a line. */
    size_t share = (pass->intake->size / pass->lanes + 15) / 16 * 16;
    size_t at = share * lane;
    size_t end = lane + 1 == pass->lanes ? pass->intake->size : share * (lane + 1);
    struct syn_scan scan = pass->scans[lane];
    while (at < end && at < pass->intake->size) {
        size_t stop = end < pass->intake->size ? end : pass->intake->size;
        size_t count = stop - at < SYN_BLOCK ? stop - at : SYN_BLOCK;
        take_block(pass, lane, at, count, &scan);
        at += count;
    }
    pass->scans[lane].largest = scan.largest;
}

uint32_t syn_intake_run(const struct syn_intake *intake, struct syn_pool *pool, size_t limit,
                        double density, struct syn_list *picked)
{
    struct pass pass = {.intake = intake, .kernels = syn_kernels(), .lanes = syn_pool_lanes(pool)};
    for (size_t i = 0; i < pass.lanes; i++)
        pass.scans[i].cutoff = SYN_COLLECT_NOTHING;
    if (!intake->select_type->is_dense)
        intake->select_type->begin(intake->select, limit, density, pass.scans);
    syn_pool_run(pool, take_lane, &pass);
    uint32_t largest = 0;
    for (size_t i = 0; i < pass.lanes; i++)
        largest = pass.scans[i].largest > largest ? pass.scans[i].largest : largest;
    for (size_t i = 0; i < pass.lanes && intake->forgotten; i++) {
        intake->forgotten->sum += pass.forgotten[i].sum;
        intake->forgotten->mass += pass.forgotten[i].mass;
    }
    if (intake->select_type->is_dense)
        return largest;
    picked->count = 0;
    struct syn_sums sums = syn_intake_sums(intake);
    if (largest < SYN_INFINITY_BITS)
        intake->select_type->finish(intake->select, &sums, picked);
    return largest;
}

struct syn_sums syn_intake_sums(const struct syn_intake *intake)
{
    return intake->lags ? (struct syn_sums){intake->before.unsent, intake->after.velocity}
                        : (struct syn_sums){intake->after.unsent, NULL};
}

size_t syn_intake_first_bad(const struct syn_intake *intake)
{
    float room[SYN_BLOCK];
    struct syn_sums sums = syn_intake_sums(intake);
    struct syn_sums velocity = {intake->after.velocity, NULL};
    for (int kind = 0; kind < 3; kind++) /* finite gradients may have a sum that is not finite */
        for (size_t first = 0; first < intake->size; first += SYN_BLOCK) {
            size_t left = intake->size - first;
            size_t count = left < SYN_BLOCK ? left : SYN_BLOCK;
            if (kind == 2 && !velocity.kept)
                break;
            const float *block = kind == 0   ? fetch(intake, first, count, room)
                                 : kind == 1 ? syn_sums_block(&sums, first, count, room)
                                             : syn_sums_block(&velocity, first, count, room);
            size_t bad = syn_first_not_finite(block, count);
            if (bad < count)
                return first + bad;
        }
    return intake->size;
}
