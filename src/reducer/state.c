/* A worker's state as bytes: what it has not sent, and what its selections remember.
 * docs/formats.md describes the format; everything is checked before anything is restored. */
#include "base/hash.h"
#include "reducer/inside.h"

#define MAGIC   0x45544154534e5953U
#define VERSION 1

struct head {
    uint64_t magic; /* "SYNSTATE" */
    uint32_t version;
    uint32_t arrays; /* 1: unsent; 2: velocity; 3: both */
    uint64_t layout;
    uint64_t size;
    uint64_t steps;
    uint64_t buckets;
};

static uint32_t arrays_of(const struct syn_reducer *reducer)
{
    return (reducer->residual_type->has_unsent ? 1U : 0U) |
           (reducer->residual_type->has_velocity ? 2U : 0U);
}

static struct head head_of(const struct syn_reducer *reducer)
{
    return (struct head){
        .magic = MAGIC,
        .version = VERSION,
        .arrays = arrays_of(reducer),
        .layout = syn_layout_hash(reducer->layout),
        .size = reducer->size,
        .steps = reducer->begun,
        .buckets = reducer->bucket_count,
    };
}

size_t syn_reducer_state_bytes(const struct syn_reducer *reducer)
{
    uint32_t arrays = arrays_of(reducer);
    size_t floats = reducer->bucket_count + reducer->size * ((arrays & 1) + (arrays >> 1));
    return sizeof(struct head) + floats * sizeof(float) + sizeof(uint64_t);
}

static uint8_t *put(uint8_t *at, const void *bytes, size_t count)
{
    memcpy(at, bytes, count);
    return at + count;
}

static enum syn_status check_idle(const struct syn_reducer *reducer)
{
    if (reducer->begun == reducer->waited)
        return SYN_OK;
    return syn_fail(SYN_INVALID, "%llu steps are under way; wait for them before saving or loading",
                    (unsigned long long)(reducer->begun - reducer->waited));
}

enum syn_status syn_reducer_save(const struct syn_reducer *reducer, void *bytes)
{
    SYN_TRY(check_idle(reducer));
    const struct syn_residual *residual = &reducer->residuals[reducer->newest];
    struct head head = head_of(reducer);
    uint8_t *at = put(bytes, &head, sizeof head);
    for (size_t i = 0; i < reducer->bucket_count; i++) {
        const struct syn_select_type *select = reducer->select_type;
        float remembered = select->remember ? select->remember(reducer->buckets[i].select) : 0;
        at = put(at, &remembered, sizeof remembered);
    }
    const float *arrays[] = {residual->unsent, residual->velocity};
    for (int i = 0; i < 2; i++)
        if (arrays[i]) {
            syn_order_restore(&reducer->order, arrays[i], at, reducer->size);
            at += reducer->size * sizeof(float);
        }
    uint64_t checksum = syn_hash(0, bytes, (size_t)(at - (uint8_t *)bytes));
    put(at, &checksum, sizeof checksum);
    return SYN_OK;
}

static enum syn_status check_number(const char *what, uint64_t got, uint64_t expected)
{
    if (got == expected)
        return SYN_OK;
    return syn_fail(SYN_FORMAT, "saved state: %s is %llu; expected %llu", what,
                    (unsigned long long)got, (unsigned long long)expected);
}

/* The value remembered by each bucket's selection must be above 0, or 0 if it remembers nothing. */
static enum syn_status check_memory(const struct syn_reducer *reducer, const uint8_t *at)
{
    for (size_t i = 0; i < reducer->bucket_count; i++, at += sizeof(float)) {
        float value;
        uint32_t bits;
        memcpy(&value, at, sizeof value);
        memcpy(&bits, at, sizeof bits);
        if (reducer->select_type->restore ? !(value > 0) : bits != 0)
            return syn_fail(SYN_FORMAT,
                            "saved state: the threshold of bucket %zu is %g; expected %s", i,
                            (double)value, reducer->select_type->restore ? "more than 0" : "0");
    }
    return SYN_OK;
}

static enum syn_status check_bytes(const struct syn_reducer *reducer, const uint8_t *bytes,
                                   size_t count)
{
    struct head head;
    struct head own = head_of(reducer);
    uint64_t checksum;
    if (count < sizeof head + sizeof checksum)
        return syn_fail(SYN_FORMAT, "saved state: %zu bytes are too few for a head", count);
    memcpy(&head, bytes, sizeof head);
    memcpy(&checksum, bytes + count - sizeof checksum, sizeof checksum);
    SYN_TRY(check_number("magic", head.magic, own.magic));
    SYN_TRY(check_number("version", head.version, own.version));
    SYN_TRY(check_number("number of parameters", head.size, own.size));
    SYN_TRY(check_number("layout hash", head.layout, own.layout));
    SYN_TRY(check_number("kind of residual", head.arrays, own.arrays));
    SYN_TRY(check_number("number of buckets", head.buckets, own.buckets));
    SYN_TRY(check_number("length", count, syn_reducer_state_bytes(reducer)));
    SYN_TRY(check_number("checksum", checksum, syn_hash(0, bytes, count - sizeof checksum)));
    const uint8_t *at = bytes + sizeof head;
    for (; at < bytes + count - sizeof checksum; at += sizeof(float)) {
        float value;
        memcpy(&value, at, sizeof value);
        if (syn_magnitude(value) >= SYN_INFINITY_BITS)
            return syn_fail(SYN_FORMAT, "saved state: value %zu is not finite",
                            ((size_t)(at - bytes) - sizeof head) / sizeof value);
    }
    return check_memory(reducer, bytes + sizeof head);
}

enum syn_status syn_reducer_load(struct syn_reducer *reducer, const void *bytes, size_t count)
{
    SYN_TRY(check_idle(reducer));
    SYN_TRY(check_bytes(reducer, bytes, count));
    const uint8_t *at = (const uint8_t *)bytes + sizeof(struct head);
    struct syn_residual *residual = &reducer->residuals[reducer->newest];
    reducer->can_drop = false;
    for (size_t i = 0; i < reducer->bucket_count; i++, at += sizeof(float)) {
        float remembered;
        reducer->buckets[i].lags = false;
        memcpy(&remembered, at, sizeof remembered);
        if (reducer->select_type->restore)
            reducer->select_type->restore(reducer->buckets[i].select, remembered);
    }
    if (residual->unsent)
        syn_order_arrange(&reducer->order, at, residual->unsent, reducer->size);
    if (residual->velocity)
        syn_order_arrange(&reducer->order, at + reducer->size * sizeof(float), residual->velocity,
                          reducer->size);
    return SYN_OK;
}

/* sum += scale * the arrays of a checked state. */
static void add_state(struct syn_reducer *reducer, const uint8_t *bytes, float scale)
{
    struct syn_residual *residual = &reducer->residuals[reducer->newest];
    const uint8_t *at = bytes + sizeof(struct head) + reducer->bucket_count * sizeof(float);
    float *arrays[] = {residual->unsent, residual->velocity};
    for (int a = 0; a < 2; a++) {
        for (size_t i = 0; arrays[a] && i < reducer->size; i++) {
            float value;
            memcpy(&value, at + syn_order_place(&reducer->order, i) * sizeof value, sizeof value);
            arrays[a][i] += scale * value;
        }
        at += reducer->size * sizeof(float); /* the velocity, if there is one, is the last */
    }
}

enum syn_status syn_reducer_load_regrouped(struct syn_reducer *reducer, const void *const *states,
                                           const size_t *counts, size_t count)
{
    size_t workers = reducer->group->workers;
    struct syn_residual *residual = &reducer->residuals[reducer->newest];
    SYN_TRY(check_idle(reducer));
    for (size_t i = 0; i < count; i++)
        SYN_TRY(check_bytes(reducer, states[i], counts[i]));
    if (count == 0)
        return syn_fail(SYN_INVALID, "no states to regroup");
    SYN_TRY(
        syn_reducer_load(reducer, states[reducer->group->rank % count],
                         counts[reducer->group->rank % count])); /* for what selections remember */
    if (residual->unsent)
        memset(residual->unsent, 0, reducer->size * sizeof(float));
    if (residual->velocity)
        memset(residual->velocity, 0, reducer->size * sizeof(float));
    for (size_t i = 0; i < count; i++)
        if (i % workers == reducer->group->rank)
            add_state(reducer, states[i], (float)workers / (float)count);
    return SYN_OK;
}
