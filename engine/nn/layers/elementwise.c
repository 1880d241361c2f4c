/* Ranges are counted in cache lines, so that no two cores write to the same one. */
#include "engine/nn/layers/elementwise.h"

#include <string.h>

#define LINE 16 /* floats */

void elementwise_add(struct plan *plan, const struct node *node, const char *work, kernel_run *run,
                     const struct place *places, size_t count)
{
    size_t values = plan_size(plan, node);
    struct kernel kernel = {.node = node,
                            .work = work,
                            .implementation = plan->own->name,
                            .run = run,
                            .place_count = count};
    memcpy(kernel.places, places, count * sizeof *places);
    plan_add(plan, &kernel, &values, sizeof values);
}

struct lines {
    struct elementwise *e;
    parallel_body *body;
    size_t values;
};

static void run_lines(void *context, size_t part, size_t begin, size_t end)
{
    const struct lines *lines = context;
    size_t stop = end * LINE < lines->values ? end * LINE : lines->values;
    if (begin * LINE < stop)
        lines->body(lines->e, part, begin * LINE, stop);
}

enum syn_status elementwise_run(const struct kernel *kernel, struct elementwise *e,
                                parallel_body *body)
{
    const size_t *values = kernel->state;
    struct lines lines = {e, body, *values};
    parallel_run(e->call->threads, (*values + LINE - 1) / LINE, run_lines, &lines);
    return SYN_OK;
}
