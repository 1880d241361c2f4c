/* Adding the residual and looking for large entries are two loops over the same data. Done one after the other
 * over the whole bucket they would read memory twice; done block by block, the second finds its data in the
 * first-level cache.
 *
 * New residuals are written to arrays of their own. For buckets larger than the caches they are written past
 * them, from a block that was worked on in cache, so that each step moves no more bytes than an update in
 * place: read residual, read gradient, write residual. */
#include "reducer/intake.h"

/* Buckets from this size on are written past the caches. */
#define LARGE ((size_t)1 << 18)

#define MOST_LANES 64

struct pass {
    const struct syn_intake *intake;
    const struct syn_kernels *kernels;
    size_t lanes;
    uint32_t largest[MOST_LANES];
};

/* One block of at most SYN_BLOCK entries from `first` on. */
static uint32_t take_block(const struct pass *pass, size_t lane, size_t first, size_t count)
{
    const struct syn_intake *intake = pass->intake;
    float sums[SYN_BLOCK];
    float velocities[SYN_BLOCK];
    bool is_large = intake->size >= LARGE;
    struct syn_residual before = syn_residual_from(&intake->before, first);
    struct syn_residual after = syn_residual_from(&intake->after, first);
    struct syn_residual working = is_large ? (struct syn_residual){sums, velocities} : after;
    uint32_t largest =
        intake->residual_type->add(pass->kernels, &before, &working, intake->gradient + first,
                                   intake->momentum, intake->scale, count);
    if (!intake->select_type->is_dense)
        intake->select_type->scan(intake->select, lane, working.unsent, first, count);
    if (is_large) {
        pass->kernels->copy_past_cache(after.unsent, sums, count);
        if (after.velocity)
            pass->kernels->copy_past_cache(after.velocity, velocities, count);
    }
    return largest;
}

static void take_lane(void *context, size_t lane)
{
    struct pass *pass = context;
    /* Lanes begin at whole cache lines, so that none shares one with another. */
    size_t share = (pass->intake->size / pass->lanes + 15) / 16 * 16;
    size_t at = share * lane;
    size_t end = lane + 1 == pass->lanes ? pass->intake->size : share * (lane + 1);
    uint32_t largest = 0;
    while (at < end && at < pass->intake->size) {
        size_t stop = end < pass->intake->size ? end : pass->intake->size;
        size_t count = stop - at < SYN_BLOCK ? stop - at : SYN_BLOCK;
        uint32_t block = take_block(pass, lane, at, count);
        largest = block > largest ? block : largest;
        at += count;
    }
    pass->largest[lane] = largest;
}

uint32_t syn_intake_run(const struct syn_intake *intake, struct syn_pool *pool, size_t limit,
                        double density, struct syn_list *picked)
{
    struct pass pass = {.intake = intake, .kernels = syn_kernels(), .lanes = syn_pool_lanes(pool)};
    if (!intake->select_type->is_dense)
        intake->select_type->begin(intake->select, limit, density);
    syn_pool_run(pool, take_lane, &pass);
    uint32_t largest = 0;
    for (size_t i = 0; i < pass.lanes; i++)
        largest = pass.largest[i] > largest ? pass.largest[i] : largest;
    if (intake->select_type->is_dense)
        return largest;
    picked->count = 0;
    if (largest < SYN_INFINITY_BITS)
        intake->select_type->finish(intake->select, intake->after.unsent, picked);
    return largest;
}
