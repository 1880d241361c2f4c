/* The flat parameter space. Tensors are kept in an array in the order of adding, so that offsets
 * ascend and the tensor of an index is found by binary search. Names are compared one by one when
 * adding: layouts have hundreds of tensors, not millions. */
#include <syncopate/layout.h>

#include <assert.h>
#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/status.h"

#define LONGEST_NAME 255

struct syn_layout {
    struct syn_tensor *tensors;         /* [capacity], names owned */
    struct syn_tensor_rates *rates;     /* [capacity] */
    struct syn_tensor_policy *policies; /* [capacity] */
    size_t count;
    size_t capacity;
    size_t size;
};

enum syn_status syn_layout_new(struct syn_layout **layout)
{
    struct syn_layout *made = calloc(1, sizeof *made);
    if (!made)
        return syn_fail(SYN_MEMORY, "cannot allocate a layout");
    *layout = made;
    return SYN_OK;
}

static enum syn_status check_name(const struct syn_layout *layout, const char *name)
{
    size_t length = strlen(name);
    if (length == 0 || length > LONGEST_NAME)
        return syn_fail(SYN_INVALID, "tensor name of %zu bytes; expected 1 to %d", length,
                        LONGEST_NAME);
    for (size_t i = 0; i < layout->count; i++)
        if (strcmp(layout->tensors[i].name, name) == 0)
            return syn_fail(SYN_INVALID, "tensor \"%s\" is already in the layout", name);
    return SYN_OK;
}

static enum syn_status make_room(struct syn_layout *layout)
{
    if (layout->count < layout->capacity)
        return SYN_OK;
    size_t capacity = layout->capacity ? 2 * layout->capacity : 16;
    struct syn_tensor *grown = realloc(layout->tensors, capacity * sizeof *grown);
    if (!grown)
        return syn_fail(SYN_MEMORY, "cannot allocate a layout of %zu tensors", capacity);
    layout->tensors = grown;
    struct syn_tensor_rates *rates = realloc(layout->rates, capacity * sizeof *rates);
    if (!rates)
        return syn_fail(SYN_MEMORY, "cannot allocate a layout of %zu tensors", capacity);
    layout->rates = rates;
    struct syn_tensor_policy *policies = realloc(layout->policies, capacity * sizeof *policies);
    if (!policies)
        return syn_fail(SYN_MEMORY, "cannot allocate a layout of %zu tensors", capacity);
    layout->policies = policies;
    layout->capacity = capacity;
    return SYN_OK;
}

enum syn_status syn_layout_add(struct syn_layout *layout, const char *name, size_t count)
{
    SYN_TRY(check_name(layout, name));
    if (count > UINT32_MAX - layout->size)
        return syn_fail(SYN_INVALID,
                        "tensor \"%s\" of %zu floats makes the layout larger than 2^32 - 1", name,
                        count);
    SYN_TRY(make_room(layout));
    assert(layout->tensors);
    char *copy = strdup(name);
    if (!copy)
        return syn_fail(SYN_MEMORY, "cannot allocate the name of tensor \"%s\"", name);
    layout->rates[layout->count] = (struct syn_tensor_rates){1, 1};
    layout->policies[layout->count] = (struct syn_tensor_policy){0};
    layout->tensors[layout->count++] = (struct syn_tensor){copy, layout->size, count};
    layout->size += count;
    return SYN_OK;
}

enum syn_status syn_layout_copy(const struct syn_layout *from, struct syn_layout **copy)
{
    struct syn_layout *made = calloc(1, sizeof *made);
    if (!made)
        return syn_fail(SYN_MEMORY, "cannot allocate a layout");
    for (size_t i = 0; i < from->count; i++) {
        enum syn_status status =
            syn_layout_add(made, from->tensors[i].name, from->tensors[i].count);
        if (status != SYN_OK) {
            syn_layout_free(made);
            return status;
        }
        made->rates[i] = from->rates[i];
        made->policies[i] = from->policies[i];
    }
    *copy = made;
    return SYN_OK;
}

enum syn_status syn_layout_rate(struct syn_layout *layout, size_t i, struct syn_tensor_rates rates)
{
    assert(i < layout->count);
    if (!(rates.lr >= 0 && rates.lr <= DBL_MAX))
        return syn_fail(SYN_INVALID,
                        "learning rate times %g for tensor \"%s\"; expected at least 0", rates.lr,
                        layout->tensors[i].name);
    if (!(rates.weight_decay >= 0 && rates.weight_decay <= DBL_MAX))
        return syn_fail(SYN_INVALID, "weight decay times %g for tensor \"%s\"; expected at least 0",
                        rates.weight_decay, layout->tensors[i].name);
    layout->rates[i] = rates;
    return SYN_OK;
}

struct syn_tensor_rates syn_layout_rates(const struct syn_layout *layout, size_t i)
{
    assert(i < layout->count);
    return layout->rates[i];
}

enum syn_status syn_layout_set_policy(struct syn_layout *layout, size_t i,
                                      struct syn_tensor_policy policy)
{
    assert(i < layout->count);
    const char *name = layout->tensors[i].name;
    if (!(policy.density >= 0 && policy.density <= 1))
        return syn_fail(SYN_INVALID, "density %g for tensor \"%s\"; expected 0 to 1",
                        policy.density, name);
    if (policy.is_dense && policy.is_frozen)
        return syn_fail(SYN_INVALID,
                        "tensor \"%s\" is to be dense, frozen; expected one of dense, frozen and "
                        "density",
                        name);
    if ((policy.is_dense || policy.is_frozen) && policy.density > 0)
        return syn_fail(SYN_INVALID,
                        "tensor \"%s\" is to be %s, density %g; expected one of dense, frozen and "
                        "density",
                        name, policy.is_dense ? "dense" : "frozen", policy.density);
    layout->policies[i] = policy;
    return SYN_OK;
}

struct syn_tensor_policy syn_layout_policy(const struct syn_layout *layout, size_t i)
{
    assert(i < layout->count);
    return layout->policies[i];
}

size_t syn_layout_size(const struct syn_layout *layout)
{
    return layout->size;
}

size_t syn_layout_count(const struct syn_layout *layout)
{
    return layout->count;
}

struct syn_tensor syn_layout_tensor(const struct syn_layout *layout, size_t i)
{
    assert(i < layout->count);
    return layout->tensors[i];
}

size_t syn_layout_find(const struct syn_layout *layout, size_t index)
{
    assert(index < layout->size);
    /* The last tensor that begins at or before index; empty ones with the same offset come before
     * it. */
    size_t low = 0;
    size_t high = layout->count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (layout->tensors[middle].offset <= index)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* A policy that is not set leaves the hash as it is. */
static uint64_t hash_policy(uint64_t hash, const struct syn_tensor_policy *policy)
{
    uint64_t kind = policy->is_dense ? 1 : policy->is_frozen ? 2 : policy->density > 0 ? 3 : 0;
    if (kind == 0)
        return hash;
    hash = syn_hash(hash, &kind, sizeof kind);
    return syn_hash(hash, &policy->density, sizeof policy->density);
}

uint64_t syn_layout_hash(const struct syn_layout *layout)
{
    uint64_t hash = 0;
    for (size_t i = 0; i < layout->count; i++) {
        uint64_t count = layout->tensors[i].count;
        hash = syn_hash(hash, layout->tensors[i].name, strlen(layout->tensors[i].name) + 1);
        hash = syn_hash(hash, &count, sizeof count);
        if (layout->rates[i].lr != 1 || layout->rates[i].weight_decay != 1)
            hash = syn_hash(hash, &layout->rates[i], sizeof layout->rates[i]);
        hash = hash_policy(hash, &layout->policies[i]);
    }
    return hash;
}

void syn_layout_free(struct syn_layout *layout)
{
    if (!layout)
        return;
    for (size_t i = 0; i < layout->count; i++)
        free((char *)layout->tensors[i].name);
    free(layout->tensors);
    free(layout->rates);
    free(layout->policies);
    free(layout);
}
