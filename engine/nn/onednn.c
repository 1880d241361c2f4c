/* Primitives are chosen and created once; a step only tells them where their arrays are. */
#include "engine/nn/onednn.h"

#include <string.h>

#include "engine/base/fail.h"

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
    dnnl_status_t status = dnnl_post_ops_append_eltwise(relu, 1, dnnl_eltwise_relu, 0, 0);
    if (status == dnnl_success)
        status = dnnl_primitive_attr_set_post_ops(onednn->with_relu, relu);
    dnnl_post_ops_destroy(relu);
    return check(status, "a fused ReLU");
}

enum syn_status onednn_open(struct onednn *onednn)
{
    *onednn = (struct onednn){0};
    SYN_TRY(check(dnnl_engine_create(&onednn->engine, dnnl_cpu, 0), "engine"));
    SYN_TRY(check(dnnl_stream_create(&onednn->stream, onednn->engine, dnnl_stream_default_flags),
                  "stream"));
    return make_attributes(onednn);
}

void onednn_close(struct onednn *onednn)
{
    if (onednn->with_relu)
        dnnl_primitive_attr_destroy(onednn->with_relu);
    if (onednn->plain)
        dnnl_primitive_attr_destroy(onednn->plain);
    if (onednn->stream)
        dnnl_stream_destroy(onednn->stream);
    if (onednn->engine)
        dnnl_engine_destroy(onednn->engine);
    *onednn = (struct onednn){0};
}

static dnnl_memory_desc_t image(const struct plan *plan, const struct node *node,
                                dnnl_format_tag_t order)
{
    dnnl_dims_t sizes = {(dnnl_dim_t)plan_rows(plan, node), (dnnl_dim_t)node->shape.channels,
                         (dnnl_dim_t)node->shape.height, (dnnl_dim_t)node->shape.width};
    dnnl_memory_desc_t description = {0};
    dnnl_memory_desc_init_by_tag(&description, 4, sizes, dnnl_f32, order);
    return description;
}

dnnl_memory_desc_t onednn_plain(const struct plan *plan, const struct node *node)
{
    return image(plan, node, dnnl_nchw);
}

dnnl_memory_desc_t onednn_blocked(const struct plan *plan, const struct node *node)
{
    return image(plan, node, dnnl_nChw8c);
}

dnnl_memory_desc_t onednn_array(int dimensions, const dnnl_dims_t sizes)
{
    static const dnnl_format_tag_t orders[] = {dnnl_format_tag_undef, dnnl_a, dnnl_ab, dnnl_abc,
                                               dnnl_abcd};
    dnnl_memory_desc_t description = {0};
    dnnl_memory_desc_init_by_tag(&description, dimensions, sizes, dnnl_f32, orders[dimensions]);
    return description;
}

static const char *implementation(const_dnnl_primitive_desc_t primitive)
{
    const char *name = "unknown";
    dnnl_primitive_desc_query(primitive, dnnl_query_impl_info_str, 0, (void *)&name);
    return name;
}

static bool is_reference(const char *name)
{
    return strncmp(name, "ref", 3) == 0;
}

dnnl_primitive_desc_t onednn_choose(struct plan *plan, const void *operation,
                                    dnnl_primitive_attr_t attributes, dnnl_primitive_desc_t hint,
                                    bool reference_will_do)
{
    dnnl_primitive_desc_iterator_t each;
    if (plan->status != SYN_OK ||
        dnnl_primitive_desc_iterator_create(&each, operation, attributes, plan->onednn->engine,
                                            hint) != dnnl_success)
        return NULL;
    dnnl_primitive_desc_t reference = NULL;
    dnnl_primitive_desc_t chosen = NULL;
    do {
        dnnl_primitive_desc_t candidate = dnnl_primitive_desc_iterator_fetch(each);
        if (candidate && !is_reference(implementation(candidate)))
            chosen = candidate;
        else if (candidate && !reference && reference_will_do)
            reference = candidate;
        else
            dnnl_primitive_desc_destroy(candidate);
    } while (!chosen && dnnl_primitive_desc_iterator_next(each) == dnnl_success);
    dnnl_primitive_desc_iterator_destroy(each);
    if (chosen && reference)
        dnnl_primitive_desc_destroy(reference);
    return chosen ? chosen : reference;
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

/* Create primitive and memories; what was created so far is released by the caller on failure. */
static enum syn_status create(struct plan *plan, dnnl_primitive_desc_t description,
                              struct kernel *kernel, struct primitive *p)
{
    SYN_TRY(check(dnnl_primitive_create(&p->primitive, description), kernel->work));
    const_dnnl_primitive_desc_t kept; /* lives as long as the primitive, and so does its name */
    SYN_TRY(check(dnnl_primitive_get_primitive_desc(p->primitive, &kept), kernel->work));
    kernel->implementation = implementation(kept);
    const dnnl_memory_desc_t *scratch =
        dnnl_primitive_desc_query_md(description, dnnl_query_scratchpad_md, 0);
    size_t bytes = scratch ? dnnl_memory_desc_get_size(scratch) : 0;
    if (bytes > 0) {
        p->arguments[kernel->place_count].arg = DNNL_ARG_SCRATCHPAD;
        kernel->places[kernel->place_count++] = plan_buffer(plan, bytes / sizeof(float) + 1);
    }
    for (size_t i = 0; i < kernel->place_count; i++) {
        const dnnl_memory_desc_t *order =
            dnnl_primitive_desc_query_md(description, dnnl_query_exec_arg_md, p->arguments[i].arg);
        SYN_TRY(check(dnnl_memory_create(&p->arguments[i].memory, order, plan->onednn->engine,
                                         DNNL_MEMORY_NONE),
                      "memory"));
        p->count++;
    }
    return SYN_OK;
}

void onednn_add(struct plan *plan, const struct node *node, const char *work, double gflop,
                dnnl_primitive_desc_t primitive, const struct onednn_argument *arguments,
                size_t count)
{
    if (!primitive)
        plan_fail(plan, plan->status == SYN_OK
                            ? syn_report(SYN_UNSUPPORTED, "oneDNN cannot do %s of layer %s", work,
                                         node->name)
                            : plan->status);
    if (plan->status != SYN_OK) {
        if (primitive)
            dnnl_primitive_desc_destroy(primitive);
        return;
    }
    struct kernel kernel = {.node = node,
                            .work = work,
                            .gflop = gflop,
                            .run = run,
                            .release = release,
                            .place_count = count};
    struct primitive p = {.stream = plan->onednn->stream};
    for (size_t i = 0; i < count; i++) {
        p.arguments[i].arg = arguments[i].index;
        kernel.places[i] = arguments[i].place;
    }
    enum syn_status status = create(plan, primitive, &kernel, &p);
    dnnl_primitive_desc_destroy(primitive);
    if (status != SYN_OK) {
        release(&p);
        plan_fail(plan, status);
        return;
    }
    plan_add(plan, &kernel, &p, sizeof p);
}

void onednn_add_reorder(struct plan *plan, const struct node *node, const char *work,
                        dnnl_memory_desc_t from_order, struct place from,
                        dnnl_memory_desc_t to_order, struct place to)
{
    if (plan->status != SYN_OK)
        return;
    dnnl_primitive_desc_t primitive;
    dnnl_engine_t engine = plan->onednn->engine;
    dnnl_status_t status = dnnl_reorder_primitive_desc_create(
        &primitive, &from_order, engine, &to_order, engine, plan->onednn->plain);
    if (status != dnnl_success) {
        plan_fail(plan, check(status, "reorder"));
        return;
    }
    struct onednn_argument arguments[] = {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}};
    onednn_add(plan, node, work, 0, primitive, arguments, 2);
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
