/* Copying a list of tensors into a model. What does not fit is reported with its name and both
 * shapes; tensors that the model does not have indicate another model, and are refused too. */
#include <stdlib.h>
#include <string.h>

#include "engine/base/fail.h"
#include "engine/base/memory.h"
#include "engine/weights/weights.h"

struct giving {
    const struct syn_weights *weights;
    const char *model;
    enum syn_weights_fit fit;
    const char *advice; /* appended to the message if something does not fit */
    bool *used;         /* [tensors of the weights] */
    size_t wanted;
    size_t taken;
};

/* Number of the tensor of that name, or of PyTorch's name for it; the count if there is none. */
static size_t find(const struct giving *giving, const char *name)
{
    char theirs[SYN_WEIGHTS_NAME];
    size_t count = syn_weights_count(giving->weights);
    syn_model_pytorch_name(giving->model, name, theirs, sizeof theirs);
    for (size_t i = 0; i < count; i++) {
        const char *there = syn_weights_tensor(giving->weights, i).name;
        if (strcmp(there, name) == 0 || strcmp(there, theirs) == 0)
            return i;
    }
    return count;
}

static bool is_same_shape(const struct syn_shape *one, const struct syn_shape *other)
{
    return one->dimensions == other->dimensions &&
           memcmp(one->size, other->size, one->dimensions * sizeof one->size[0]) == 0;
}

static enum syn_status refuse(const struct giving *giving, const char *name,
                              const struct syn_shape *expected, const struct syn_shape *there)
{
    char want[SYN_SHAPE_TEXT];
    char have[SYN_SHAPE_TEXT];
    const char *origin = syn_weights_origin(giving->weights);
    syn_shape_text(expected, want);
    if (there)
        syn_shape_text(there, have);
    if (giving->fit == SYN_FIT_MOST_QUIETLY)
        return SYN_OK;
    if (giving->fit == SYN_FIT_MOST) {
        syn_report_log(SYN_LOG_INFO, "%s (%s) starts afresh: %s has %s", name, want, origin,
                       there ? have : "none");
        return SYN_OK;
    }
    if (!there)
        return syn_report(SYN_INVALID, "%s: there is no %s (%s), which model %s has%s", origin,
                          name, want, giving->model, giving->advice);
    return syn_report(SYN_INVALID, "%s: %s is %s; model %s has %s%s", origin, name, have,
                      giving->model, want, giving->advice);
}

static enum syn_status give_one(struct giving *giving, const struct syn_tensor *tensor,
                                const struct syn_shape *shape, float *values)
{
    size_t at = find(giving, tensor->name);
    giving->wanted++;
    if (at == syn_weights_count(giving->weights))
        return refuse(giving, tensor->name, shape, NULL);
    struct syn_weights_tensor there = syn_weights_tensor(giving->weights, at);
    giving->used[at] = true;
    if (!is_same_shape(&there.shape, shape))
        return refuse(giving, tensor->name, shape, &there.shape);
    memcpy(values + tensor->offset, there.values, tensor->count * sizeof *values);
    giving->taken++;
    return SYN_OK;
}

/* Check for tensors that the model does not have. */
static enum syn_status check_rest(const struct giving *giving)
{
    const char *origin = syn_weights_origin(giving->weights);
    for (size_t i = 0; i < syn_weights_count(giving->weights); i++) {
        const char *name = syn_weights_tensor(giving->weights, i).name;
        if (giving->used[i])
            continue;
        if (giving->fit == SYN_FIT_WHOLE || giving->fit == SYN_FIT_WHOLE_OR_ADVISE)
            return syn_report(SYN_INVALID, "%s: contains %s, which model %s does not have%s",
                              origin, name, giving->model, giving->advice);
        if (giving->fit == SYN_FIT_MOST)
            syn_report_log(SYN_LOG_INFO, "%s is not used: model %s does not have it", name,
                           giving->model);
    }
    return SYN_OK;
}

static enum syn_status give_all(struct giving *giving, struct syn_model *model, float *values)
{
    const struct syn_layout *layout = syn_model_layout(model);
    const struct syn_layout *statistics = syn_model_statistics_layout(model);
    for (size_t i = 0; i < syn_layout_count(layout); i++) {
        struct syn_tensor tensor = syn_layout_tensor(layout, i);
        struct syn_shape shape = syn_model_shape(model, i);
        SYN_TRY(give_one(giving, &tensor, &shape, values));
    }
    for (size_t i = 0; i < syn_layout_count(statistics); i++) {
        struct syn_tensor tensor = syn_layout_tensor(statistics, i);
        struct syn_shape shape = syn_model_statistics_shape(model, i);
        SYN_TRY(give_one(giving, &tensor, &shape, syn_model_statistics(model)));
    }
    return check_rest(giving);
}

/* Copy what fits, without reporting the rest; how much fits decides which message is given. */
static enum syn_status try_quietly(struct giving giving, struct syn_model *model, float *values,
                                   bool *fits_mostly)
{
    const enum syn_weights_fit fit = giving.fit;
    giving.fit = SYN_FIT_MOST_QUIETLY;
    SYN_TRY(give_all(&giving, model, values));
    *fits_mostly = 2 * giving.taken > giving.wanted;
    if (*fits_mostly || fit == SYN_FIT_WHOLE_OR_ADVISE)
        return SYN_OK;
    return syn_report(SYN_INVALID,
                      "%s: only %zu of the %zu tensors of model %s fit; these are weights of "
                      "another model",
                      syn_weights_origin(giving.weights), giving.taken, giving.wanted,
                      giving.model);
}

enum syn_status syn_weights_give(const struct syn_weights *weights, const char *name,
                                 enum syn_weights_fit fit, struct syn_model *model, float *values)
{
    bool fits_mostly = false;
    struct giving giving = {.weights = weights, .model = name, .fit = fit, .advice = ""};
    SYN_TRY(syn_engine_allocate(syn_weights_count(weights), sizeof *giving.used, &giving.used));
    enum syn_status status = SYN_OK;
    if (fit != SYN_FIT_WHOLE)
        status = try_quietly(giving, model, values, &fits_mostly);
    if (fit == SYN_FIT_WHOLE_OR_ADVISE && fits_mostly)
        giving.advice = "; --init-head lets what does not fit start afresh";
    if (status == SYN_OK && fit != SYN_FIT_MOST_QUIETLY)
        status = give_all(&giving, model, values);
    free(giving.used);
    return status;
}
