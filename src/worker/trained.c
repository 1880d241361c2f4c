/* Copying between the caller's arrays and those without frozen tensors. */
#include "worker/trained.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

struct syn_trained {
    struct syn_layout *all;    /* the caller's */
    struct syn_layout *layout; /* without the frozen tensors */
    float *gradient;           /* [size of layout], likewise the next */
    float *weights;
    float *spread; /* [size of all] zero where frozen */
    float *frozen; /* [frozen_size] the weights of frozen tensors */
    size_t frozen_size;
};

enum syn_status syn_trained_layout(const struct syn_layout *layout, struct syn_layout **trained)
{
    struct syn_layout *made;
    SYN_TRY(syn_layout_new(&made));
    enum syn_status status = SYN_OK;
    for (size_t i = 0; i < syn_layout_count(layout) && status == SYN_OK; i++) {
        struct syn_tensor tensor = syn_layout_tensor(layout, i);
        if (syn_layout_policy(layout, i).is_frozen)
            continue;
        size_t number = syn_layout_count(made);
        status = syn_layout_add(made, tensor.name, tensor.count);
        if (status == SYN_OK)
            status = syn_layout_rate(made, number, syn_layout_rates(layout, i));
        if (status == SYN_OK)
            status = syn_layout_set_policy(made, number, syn_layout_policy(layout, i));
    }
    if (status == SYN_OK)
        *trained = made;
    else
        syn_layout_free(made);
    return status;
}

/* Copy the tensors that are frozen, or those that are not, from the caller's array one after the
 * other; or back. */
static void gather(const struct syn_trained *trained, bool frozen, const float *all, float *part)
{
    for (size_t i = 0; i < syn_layout_count(trained->all); i++) {
        struct syn_tensor tensor = syn_layout_tensor(trained->all, i);
        if (syn_layout_policy(trained->all, i).is_frozen != frozen)
            continue;
        memcpy(part, all + tensor.offset, tensor.count * sizeof *part);
        part += tensor.count;
    }
}

static void scatter(const struct syn_trained *trained, bool frozen, const float *part, float *all)
{
    for (size_t i = 0; i < syn_layout_count(trained->all); i++) {
        struct syn_tensor tensor = syn_layout_tensor(trained->all, i);
        if (syn_layout_policy(trained->all, i).is_frozen != frozen)
            continue;
        memcpy(all + tensor.offset, part, tensor.count * sizeof *all);
        part += tensor.count;
    }
}

static enum syn_status open_parts(struct syn_trained *trained, const struct syn_layout *layout,
                                  const float *weights)
{
    SYN_TRY(syn_layout_copy(layout, &trained->all));
    SYN_TRY(syn_trained_layout(layout, &trained->layout));
    size_t size = syn_layout_size(trained->layout);
    SYN_TRY(syn_allocate(size, sizeof(float), &trained->gradient));
    SYN_TRY(syn_allocate(size, sizeof(float), &trained->weights));
    SYN_TRY(syn_allocate(syn_layout_size(layout), sizeof(float), &trained->spread));
    trained->frozen_size = syn_layout_size(layout) - size;
    SYN_TRY(syn_allocate(trained->frozen_size, sizeof(float), &trained->frozen));
    gather(trained, false, weights, trained->weights);
    gather(trained, true, weights, trained->frozen);
    return SYN_OK;
}

enum syn_status syn_trained_open(const struct syn_layout *layout, const float *weights,
                                 struct syn_trained **trained)
{
    struct syn_trained *made;
    bool is_any_frozen = false;
    for (size_t i = 0; i < syn_layout_count(layout); i++)
        is_any_frozen = is_any_frozen || syn_layout_policy(layout, i).is_frozen;
    *trained = NULL;
    if (!is_any_frozen)
        return SYN_OK;
    SYN_TRY(syn_allocate(1, sizeof *made, &made));
    enum syn_status status = open_parts(made, layout, weights);
    if (status != SYN_OK) {
        syn_trained_close(made);
        return status;
    }
    *trained = made;
    return SYN_OK;
}

const struct syn_layout *syn_trained_tensors(const struct syn_trained *trained)
{
    return trained->layout;
}

float *syn_trained_weights(struct syn_trained *trained)
{
    return trained->weights;
}

const float *syn_trained_gradient(struct syn_trained *trained, const float *gradient)
{
    gather(trained, false, gradient, trained->gradient);
    return trained->gradient;
}

void syn_trained_hand_out(const struct syn_trained *trained, float *weights)
{
    scatter(trained, false, trained->weights, weights);
    scatter(trained, true, trained->frozen, weights);
}

const float *syn_trained_spread(struct syn_trained *trained, const float *values)
{
    scatter(trained, false, values, trained->spread);
    return trained->spread;
}

enum syn_status syn_trained_save(const struct syn_trained *trained, struct syn_archive *archive)
{
    return syn_archive_add(archive, "worker/frozen", trained->frozen,
                           trained->frozen_size * sizeof(float));
}

enum syn_status syn_trained_load(struct syn_trained *trained, const struct syn_archive *archive)
{
    return syn_archive_copy(archive, "worker/frozen", trained->frozen,
                            trained->frozen_size * sizeof(float));
}

void syn_trained_close(struct syn_trained *trained)
{
    if (!trained)
        return;
    syn_layout_free(trained->all);
    syn_layout_free(trained->layout);
    free(trained->gradient);
    free(trained->weights);
    free(trained->spread);
    free(trained->frozen);
    free(trained);
}
