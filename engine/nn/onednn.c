/* Primitives are chosen and created once; a step only sets where their arrays are. */
#include <stdlib.h>

#include "engine/base/fail.h"
#include "engine/base/memory.h"
#include "engine/nn/onednn_inside.h"

#define MOST_ARGUMENTS MOST_PLACES

struct primitive {
    dnnl_primitive_t primitive;
    dnnl_stream_t stream; /* lent */
    dnnl_exec_arg_t arguments[MOST_ARGUMENTS];
    size_t count;
};

static enum syn_status check(dnnl_status_t status, const char *what)
{
    if (status == dnnl_success)
        return SYN_OK;
    if (status == dnnl_out_of_memory)
        return syn_report(SYN_MEMORY, "oneDNN: no memory for %s", what);
    return syn_report(SYN_UNSUPPORTED, "oneDNN: %s failed with status %d", what, (int)status);
}

static enum syn_status make_attributes(struct onednn *onednn)
{
    SYN_TRY(check(dnnl_primitive_attr_create(&onednn->plain), "attributes"));
    SYN_TRY(check(dnnl_primitive_attr_set_scratchpad_mode(onednn->plain, dnnl_scratchpad_mode_user),
                  "scratchpad mode"));
    SYN_TRY(check(dnnl_primitive_attr_clone(&onednn->with_relu, onednn->plain), "attributes"));
    dnnl_post_ops_t relu;
    SYN_TRY(check(dnnl_post_ops_create(&relu), "post-operations"));
    dnnl_status_t status = onednn_append_relu(relu);
    if (status == dnnl_success)
        status = dnnl_primitive_attr_set_post_ops(onednn->with_relu, relu);
    dnnl_post_ops_destroy(relu);
    return check(status, "a fused ReLU");
}

static enum syn_status set_up(struct onednn *onednn)
{
    SYN_TRY(check(dnnl_engine_create(&onednn->engine, dnnl_cpu, 0), "engine"));
    SYN_TRY(check(dnnl_stream_create(&onednn->stream, onednn->engine, dnnl_stream_default_flags),
                  "stream"));
    return make_attributes(onednn);
}

enum syn_status onednn_open(struct onednn **onednn)
{
    struct onednn *made;
    SYN_TRY(syn_engine_allocate(1, sizeof *made, &made));
    enum syn_status status = set_up(made);
    if (status != SYN_OK) {
        onednn_close(made);
        return status;
    }
    *onednn = made;
    return SYN_OK;
}

void onednn_close(struct onednn *onednn)
{
    if (!onednn)
        return;
    if (onednn->with_relu)
        dnnl_primitive_attr_destroy(onednn->with_relu);
    if (onednn->plain)
        dnnl_primitive_attr_destroy(onednn->plain);
    if (onednn->stream)
        dnnl_stream_destroy(onednn->stream);
    if (onednn->engine)
        dnnl_engine_destroy(onednn->engine);
    free(onednn);
}

static onednn_memory wanted(dnnl_primitive_desc_t primitive, int argument)
{
    return dnnl_primitive_desc_query_md(primitive, dnnl_query_exec_arg_md, argument);
}

static size_t bytes_wanted(dnnl_primitive_desc_t primitive, int argument)
{
    onednn_memory memory = wanted(primitive, argument);
    return memory ? dnnl_memory_desc_get_size(memory) : 0;
}

size_t onednn_workspace(dnnl_primitive_desc_t primitive)
{
    return primitive ? bytes_wanted(primitive, DNNL_ARG_WORKSPACE) / sizeof(float) + 1 : 1;
}

static void release(const void *state)
{
    const struct primitive *p = state;
    for (size_t i = 0; i < p->count; i++)
        dnnl_memory_destroy(p->arguments[i].memory);
    dnnl_primitive_destroy(p->primitive);
}

static enum syn_status run(const struct kernel *kernel, void *const at[], struct call *call)
{
    (void)call;
    const struct primitive *p = kernel->state;
    for (size_t i = 0; i < p->count; i++) {
        void *now = NULL;
        dnnl_memory_get_data_handle(p->arguments[i].memory, &now);
        if (now != at[i])
            SYN_TRY(check(dnnl_memory_set_data_handle(p->arguments[i].memory, at[i]), "memory"));
    }
    SYN_TRY(check(dnnl_primitive_execute(p->primitive, p->stream, (int)p->count, p->arguments),
                  kernel->work));
    return check(dnnl_stream_wait(p->stream), kernel->work);
}

/* Create primitive and memories; on failure the caller releases what was created so far. */
static enum syn_status create(struct plan *plan, dnnl_primitive_desc_t description,
                              struct kernel *kernel, struct primitive *p)
{
    SYN_TRY(check(dnnl_primitive_create(&p->primitive, description), kernel->work));
    const_dnnl_primitive_desc_t kept; /* lives as long as the primitive, and so does its name */
    SYN_TRY(check(dnnl_primitive_get_primitive_desc(p->primitive, &kept), kernel->work));
    kernel->implementation = onednn_implementation(kept);
    size_t bytes = bytes_wanted(description, DNNL_ARG_SCRATCHPAD);
    if (bytes > 0) {
        p->arguments[kernel->place_count].arg = DNNL_ARG_SCRATCHPAD;
        kernel->places[kernel->place_count++] = plan_buffer(plan, bytes / sizeof(float) + 1);
    }
    for (size_t i = 0; i < kernel->place_count; i++) {
        SYN_TRY(check(dnnl_memory_create(&p->arguments[i].memory,
                                         wanted(description, p->arguments[i].arg),
                                         plan->onednn->engine, DNNL_MEMORY_NONE),
                      "memory"));
        p->count++;
    }
    return SYN_OK;
}

/* Complete kernel and p and add them. On entry kernel has node, work, gflop and places, and p has
 * the numbers of its arguments. */
static void add(struct plan *plan, dnnl_primitive_desc_t primitive, struct kernel *kernel,
                struct primitive *p)
{
    if (plan->status != SYN_OK)
        return;
    kernel->run = run;
    kernel->release = release;
    p->stream = plan->onednn->stream;
    enum syn_status status = create(plan, primitive, kernel, p);
    if (status != SYN_OK) {
        release(p);
        plan_fail(plan, status);
        return;
    }
    plan_add(plan, kernel, p, sizeof *p);
}

/* Add a copy from one memory order to another. */
static void add_copy(struct plan *plan, const struct node *node, const char *work,
                     onednn_memory from_order, struct place from, onednn_memory to_order,
                     struct place to)
{
    if (plan->status != SYN_OK)
        return;
    dnnl_primitive_desc_t primitive;
    dnnl_engine_t engine = plan->onednn->engine;
    dnnl_status_t status = dnnl_reorder_primitive_desc_create(
        &primitive, from_order, engine, to_order, engine, plan->onednn->plain);
    if (status != dnnl_success) {
        plan_fail(plan, check(status, "reorder"));
        return;
    }
    struct kernel kernel = {.node = node, .work = work, .places = {from, to}, .place_count = 2};
    struct primitive p = {.arguments = {{.arg = DNNL_ARG_FROM}, {.arg = DNNL_ARG_TO}}};
    add(plan, primitive, &kernel, &p);
    onednn_forget(primitive);
}

void onednn_add_reorder(struct plan *plan, const struct node *node, const char *work,
                        const struct node *owner, enum onednn_order order, struct place from,
                        struct place to)
{
    onednn_memory one = onednn_image(plan, owner, order);
    onednn_memory other =
        onednn_image(plan, owner, order == ONEDNN_PLAIN ? ONEDNN_BLOCKED : ONEDNN_PLAIN);
    add_copy(plan, node, work, one, from, other, to);
    onednn_memory_free(other);
    onednn_memory_free(one);
}

/* Where a primitive's weights or their gradient are: in place if it wants plain order. */
static struct place place_in_order(struct plan *plan, dnnl_primitive_desc_t primitive, int argument,
                                   onednn_memory plain, struct place place)
{
    if (dnnl_memory_desc_equal(wanted(primitive, argument), plain) == 1)
        return place;
    return plan_buffer(plan, bytes_wanted(primitive, argument) / sizeof(float));
}

static bool is_same(struct place a, struct place b)
{
    return a.region == b.region && a.at == b.at;
}

static const int numbers[] = {[ONEDNN_X] = DNNL_ARG_SRC,
                              [ONEDNN_Y] = DNNL_ARG_DST,
                              [ONEDNN_WEIGHTS] = DNNL_ARG_WEIGHTS,
                              [ONEDNN_BIAS] = DNNL_ARG_BIAS,
                              [ONEDNN_SCALE] = DNNL_ARG_SCALE,
                              [ONEDNN_SHIFT] = DNNL_ARG_SHIFT,
                              [ONEDNN_BACKWARD_SHIFT] = DNNL_ARG_SHIFT,
                              [ONEDNN_MEANS] = DNNL_ARG_MEAN,
                              [ONEDNN_VARIANCES] = DNNL_ARG_VARIANCE,
                              [ONEDNN_WORKSPACE] = DNNL_ARG_WORKSPACE,
                              [ONEDNN_DX] = DNNL_ARG_DIFF_SRC,
                              [ONEDNN_DY] = DNNL_ARG_DIFF_DST,
                              [ONEDNN_DWEIGHTS] = DNNL_ARG_DIFF_WEIGHTS,
                              [ONEDNN_DBIAS] = DNNL_ARG_DIFF_BIAS,
                              [ONEDNN_DSCALE] = DNNL_ARG_DIFF_SCALE,
                              [ONEDNN_DSHIFT] = DNNL_ARG_DIFF_SHIFT};

/* Add a primitive whose argument number w is the weights or their gradient, in plain order. */
static void add_weighted(struct plan *plan, dnnl_primitive_desc_t primitive, struct kernel *kernel,
                         struct primitive *p, size_t w)
{
    onednn_memory plain = onednn_weights(plan, kernel->node, dnnl_abcd);
    int argument = p->arguments[w].arg;
    struct place given = kernel->places[w];
    struct place place = place_in_order(plan, primitive, argument, plain, given);
    bool copies = !is_same(given, place);
    kernel->places[w] = place;
    if (copies && argument == DNNL_ARG_WEIGHTS)
        add_copy(plan, kernel->node, "reorder weights", plain, given, wanted(primitive, argument),
                 place);
    add(plan, primitive, kernel, p);
    if (copies && argument == DNNL_ARG_DIFF_WEIGHTS)
        add_copy(plan, kernel->node, "reorder weights", wanted(primitive, argument), place, plain,
                 given);
    onednn_memory_free(plain);
}

void onednn_add(struct plan *plan, const struct node *node, const char *work, double gflop,
                dnnl_primitive_desc_t primitive, const struct onednn_argument *arguments,
                size_t count)
{
    if (!primitive && plan->status == SYN_OK)
        plan_fail(plan,
                  syn_report(SYN_UNSUPPORTED, "oneDNN has no implementation for %s of layer %s",
                             work, node->name));
    if (plan->status != SYN_OK) {
        onednn_forget(primitive);
        return;
    }
    struct kernel kernel = {.node = node, .work = work, .gflop = gflop};
    struct primitive p = {0};
    size_t weighted = count;
    for (size_t i = 0; i < count; i++) {
        size_t at = kernel.place_count;
        if (!onednn_takes(arguments[i].role))
            continue;
        p.arguments[at].arg = numbers[arguments[i].role];
        if (arguments[i].role == ONEDNN_WEIGHTS || arguments[i].role == ONEDNN_DWEIGHTS)
            weighted = at;
        kernel.places[kernel.place_count++] = arguments[i].place;
    }
    if (weighted < count)
        add_weighted(plan, primitive, &kernel, &p, weighted);
    else
        add(plan, primitive, &kernel, &p);
    onednn_forget(primitive);
}

enum syn_status onednn_multiply(const struct onednn_product *p, const float *a, const float *b,
                                float *c)
{
    dnnl_status_t status =
        dnnl_sgemm(p->transpose_a, p->transpose_b, (dnnl_dim_t)p->rows, (dnnl_dim_t)p->columns,
                   (dnnl_dim_t)p->depth, 1.0f, a, (dnnl_dim_t)p->a_row, b, (dnnl_dim_t)p->b_row,
                   p->accumulate ? 1.0f : 0.0f, c, (dnnl_dim_t)p->c_row);
    return check(status, "matrix product");
}
