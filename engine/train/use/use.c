/* Opening the model and data for an evaluation or a prediction. */
#include "engine/train/use/use.h"

#include <stdlib.h>

#include "engine/base/fail.h"
#include "engine/base/memory.h"
#include "engine/data/kept.h"

enum syn_status syn_use_open(const struct syn_train_options *options, struct syn_use *use)
{
    use->options = *options;
    SYN_TRY(syn_train_check(&use->options));
    use->data = use->options.own_data;
    return use->data ? SYN_OK : syn_data_open(&use->options.data, &use->data);
}

enum syn_status syn_use_open_input(const struct syn_train_options *options, struct syn_use *use)
{
    use->options = *options;
    SYN_TRY(syn_train_check(&use->options));
    use->data = use->options.own_data;
    if (!use->data && use->options.out[0])
        SYN_TRY(syn_kept_open(use->options.out, &use->data));
    return use->data ? SYN_OK : syn_data_open(&use->options.data, &use->data);
}

enum syn_status syn_use_build(struct syn_use *use, const struct syn_weights *weights, size_t batch,
                              size_t time)
{
    struct syn_graph *graph = NULL;
    struct syn_model_options how;
    const struct syn_train_options *options = &use->options;
    SYN_TRY(syn_batches_graph(options, syn_data_info(use->data), &graph));
    syn_model_defaults(&how);
    how.batch = batch;
    how.time = time;
    how.threads = options->threads ? (size_t)options->threads : 1;
    how.training = false;
    syn_model_free(use->model);
    use->model = NULL;
    enum syn_status status = syn_model_build(graph, &how, &use->model);
    syn_graph_free(graph);
    SYN_TRY(status);
    free(use->values);
    use->values = NULL;
    size_t params = syn_layout_size(syn_model_layout(use->model));
    SYN_TRY(syn_engine_allocate(params, sizeof(float), &use->values));
    syn_model_initialise(use->model, 1, use->values); /* also the state of LSTMs */
    return syn_weights_give(weights, options->model, SYN_FIT_WHOLE, use->model, use->values);
}

void syn_use_close(struct syn_use *use)
{
    free(use->values);
    syn_model_free(use->model);
    if (!use->options.own_data)
        syn_data_close(use->data);
}
