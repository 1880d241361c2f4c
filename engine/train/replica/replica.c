/* A replica is opened in two steps, because the model's batch depends on what will be evaluated,
 * which depends on the data. Bad input is found before anything is written. */
#include "engine/train/replica/replica.h"

#include <stdlib.h>
#include <string.h>

#include <syncopate/engine/weights.h>

#include "engine/base/fail.h"
#include "engine/base/memory.h"

uint64_t syn_position_place(const struct syn_position *at)
{
    return (uint64_t)((int64_t)at->step + at->ahead);
}

double syn_position_epoch(const struct syn_position *at)
{
    return (double)syn_position_place(at) / (double)at->steps_per_epoch;
}

struct syn_length syn_position_length(const struct syn_position *at)
{
    uint64_t places = (uint64_t)((int64_t)at->steps + at->ahead);
    return (struct syn_length){places, at->steps_per_epoch};
}

bool syn_replica_serves(const struct syn_replica *replica)
{
    return replica->rank >= replica->options.workers;
}

/* Servers do not compute; one thread is enough for the model whose layout they need. */
static enum syn_status share_cores(struct syn_replica *replica)
{
    struct syn_place *all = NULL;
    size_t workers = (size_t)replica->options.workers;
    SYN_TRY(syn_engine_allocate(workers, sizeof *all, &all));
    enum syn_status status = syn_places_gather(replica->group, replica->options.threads, all);
    replica->threads = 1;
    if (status == SYN_OK && !syn_replica_serves(replica)) {
        size_t length = syn_places_json(all, workers, NULL, 0);
        replica->threads = syn_places_threads(all, workers, replica->rank);
        status = syn_engine_allocate(length + 1, 1, &replica->hosts);
        if (status == SYN_OK)
            syn_places_json(all, workers, replica->hosts, length + 1);
    }
    free(all);
    return status;
}

static enum syn_status open_data(struct syn_replica *replica)
{
    const struct syn_train_options *options = &replica->options;
    struct syn_position *at = &replica->at;
    replica->data = options->own_data;
    if (!replica->data)
        SYN_TRY(syn_data_open(&options->data, &replica->data));
    replica->on_text = syn_data_info(replica->data)->kind == SYN_DATA_TOKENS;
    size_t share = syn_replica_serves(replica) ? 0 : replica->rank; /* a server only counts steps */
    SYN_TRY(syn_batches_open(replica->data, options, SYN_DATA_TRAIN, share, &replica->batches));
    uint64_t batches = syn_loader_batches(replica->batches);
    at->steps_per_epoch = batches / options->accumulate;
    if (at->steps_per_epoch == 0)
        return syn_report(SYN_INVALID, "accumulate is %llu, but an epoch has only %llu batches",
                          (unsigned long long)options->accumulate, (unsigned long long)batches);
    at->steps = options->steps ? options->steps : options->epochs * at->steps_per_epoch;
    return SYN_OK;
}

enum syn_status syn_replica_open(const struct syn_train_options *options, struct syn_group *group,
                                 struct syn_replica *replica)
{
    struct syn_train_options *own = &replica->options;
    *own = *options;
    replica->group = group;
    replica->rank = syn_group_rank(group);
    own->workers = syn_group_workers(group);
    own->servers = syn_group_servers(group);
    SYN_TRY(syn_train_check(own));
    if (own->resume[0] && !own->out[0])
        memcpy(own->out, own->resume, sizeof own->out);
    SYN_TRY(share_cores(replica));
    if (own->loader_threads == 0)
        own->loader_threads = replica->threads;
    return open_data(replica);
}

/* Each worker has its own dropout masks. */
static uint64_t dropout_seed(const struct syn_replica *replica)
{
    return replica->options.seed + 1000003 * replica->rank;
}

static enum syn_status build_model(struct syn_replica *replica, uint64_t batch)
{
    struct syn_graph *graph = NULL;
    struct syn_model_options how;
    SYN_TRY(syn_batches_graph(&replica->options, syn_data_info(replica->data), &graph));
    syn_model_defaults(&how);
    how.batch = batch;
    how.time = replica->options.time;
    how.threads = replica->threads;
    how.spares_biases = !replica->options.decay_biases;
    how.seed = dropout_seed(replica);
    enum syn_status status = syn_model_build(graph, &how, &replica->model);
    syn_graph_free(graph);
    return status;
}

enum syn_status syn_replica_build(struct syn_replica *replica, uint64_t batch)
{
    if (!syn_train_is_auto(&replica->options))
        syn_length_resolve(syn_position_length(&replica->at), &replica->options);
    SYN_TRY(build_model(replica, batch));
    replica->options.worker.run_steps = replica->at.steps;
    replica->params = syn_layout_size(syn_model_layout(replica->model));
    SYN_TRY(syn_engine_allocate(replica->params, sizeof(float), &replica->weights));
    if (!syn_replica_serves(replica))
        SYN_TRY(syn_engine_allocate(replica->params, sizeof(float), &replica->global));
    return syn_replica_initialise(replica);
}

/* A resumed run gets its weights from the checkpoint. */
enum syn_status syn_replica_initialise(struct syn_replica *replica)
{
    const struct syn_train_options *options = &replica->options;
    enum syn_weights_fit fit = SYN_FIT_WHOLE_OR_ADVISE;
    struct syn_weights *weights = NULL;
    const bool is_he = strcmp(options->initialisation, "he") == 0;
    syn_model_initialise_as(replica->model, is_he ? SYN_INITIALISE_HE : SYN_INITIALISE_PYTORCH,
                            options->seed, replica->weights);
    if (!options->init[0] || options->resume[0])
        return SYN_OK;
    if (options->init_head)
        fit = replica->rank == 0 ? SYN_FIT_MOST : SYN_FIT_MOST_QUIETLY;
    SYN_TRY(syn_weights_open(options->init, &weights));
    enum syn_status status =
        syn_weights_give(weights, options->model, fit, replica->model, replica->weights);
    syn_weights_free(weights);
    return status;
}

/* FNV-1a over the weights as 32-bit words: enough to tell two runs apart. */
uint64_t syn_weights_hash(const float *weights, size_t count)
{
    uint64_t result = 0xcbf29ce484222325U;
    for (size_t i = 0; i < count; i++) {
        uint32_t word;
        memcpy(&word, &weights[i], sizeof word);
        result = (result ^ word) * 0x100000001b3U;
    }
    return result;
}

uint64_t syn_replica_hash(const struct syn_replica *replica)
{
    return syn_weights_hash(replica->global, replica->params);
}

void syn_replica_close(struct syn_replica *replica)
{
    syn_update_close(&replica->update); /* first: it may still read what is freed here */
    free(replica->hosts);
    free(replica->weights);
    free(replica->global);
    syn_loader_close(replica->batches);
    syn_model_free(replica->model);
    if (!replica->options.own_data)
        syn_data_close(replica->data);
}
