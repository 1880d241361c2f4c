/* Workers and servers of a run. */
#include "cluster.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <syncopate/recipe.h>

#include "base/hash.h"
#include "scenario.h"

static const size_t odd_tensors[] = {500, 1, 0, 301, 201, SIZE_MAX};

struct cluster *cluster_of(const char *recipe, size_t servers)
{
    struct cluster *cluster = calloc(1, sizeof *cluster);
    cluster->servers = servers;
    cluster->steps = 24;
    cluster->lr = 0.05;
    cluster->tensors = odd_tensors;
    scenario_weights(cluster->first, CLUSTER_SIZE);
    syn_worker_defaults(&cluster->options);
    cluster->status[0] = syn_recipe_apply_worker(recipe, &cluster->options);
    cluster->options.warmup = 3;
    cluster->options.compare_every = 5;
    cluster->options.reducer.density = 0.05;
    cluster->options.optimizer.weight_decay = 0.01;
    return cluster;
}

enum syn_status cluster_set(struct cluster *cluster, const char *name, const char *value)
{
    if (syn_settings_has(&syn_worker_settings, name))
        return syn_settings_set(&syn_worker_settings, &cluster->options, name, value);
    if (strcmp(name, "momentum") != 0 && syn_settings_has(&syn_reducer_settings, name))
        return syn_settings_set(&syn_reducer_settings, &cluster->options.reducer, name, value);
    return syn_settings_set(&syn_optimizer_settings, &cluster->options.optimizer, name, value);
}

size_t cluster_size(const struct cluster *cluster)
{
    size_t size = 0;
    for (size_t i = 0; cluster->tensors[i] != SIZE_MAX; i++)
        size += cluster->tensors[i];
    return size;
}

static void fill_gradient(const struct cluster *cluster, size_t rank, size_t step,
                          const float *weights, float *gradient)
{
    size_t size = cluster_size(cluster);
    scenario_gradient(RANDOM, rank, step, gradient, size);
    for (size_t i = 0; i < size && !cluster->is_free; i++) {
        float centre = (float)(i % 7) * 0.1F * (float)(cluster->is_common ? 1 : rank + 1);
        gradient[i] = (weights[i] - centre) + (cluster->is_common ? 0 : 0.1F) * gradient[i];
    }
}

static enum syn_status take_step(struct cluster *cluster, struct syn_worker *worker,
                                 const float *gradient, const struct syn_rates *rates,
                                 float *weights)
{
    enum syn_status status = SYN_OK;
    size_t tensors = 0;
    while (cluster->tensors[tensors] != SIZE_MAX)
        tensors++;
    if (cluster->by_tensor)
        status = syn_worker_start(worker, gradient, rates);
    for (size_t i = tensors; cluster->by_tensor && i-- > 0 && status == SYN_OK;)
        status = syn_worker_ready(worker, i);
    return status == SYN_OK ? syn_worker_step(worker, gradient, rates, weights) : status;
}

static enum syn_status train(struct cluster *cluster, size_t rank, struct syn_worker *worker)
{
    float *weights = cluster->last[rank];
    size_t size = cluster_size(cluster);
    float gradient[CLUSTER_SIZE];
    struct syn_rates rates = {.lr = cluster->lr};
    enum syn_status status = SYN_OK;
    for (size_t step = 0; step < cluster->steps && status == SYN_OK; step++) {
        fill_gradient(cluster, rank, step, weights, gradient);
        if (cluster->before && !cluster->before(cluster, rank, step, gradient))
            return SYN_OK;
        for (size_t i = 0; i < size; i++)
            cluster->handed[rank][i] += (double)gradient[i];
        status = take_step(cluster, worker, gradient, &rates, weights);
        memset(gradient, 0xff, sizeof gradient); /* it was handed over: nobody may look at it now */
        cluster->hash[rank] = syn_hash(cluster->hash[rank], weights, size * sizeof *weights);
        if (cluster->settle_every && step % cluster->settle_every == 0 && status == SYN_OK)
            status = syn_worker_settle(worker, cluster->weights[rank]);
    }
    cluster->cost[rank] = syn_worker_total_cost(worker);
    if (status == SYN_OK)
        status = syn_worker_settle(worker, cluster->weights[rank]);
    if (status == SYN_OK && syn_worker_residual(worker))
        memcpy(cluster->residual[rank], syn_worker_residual(worker), size * sizeof(float));
    return status;
}

void cluster_member(struct syn_group *group, size_t rank, void *context)
{
    struct cluster *cluster = context;
    struct syn_layout *layout = NULL;
    struct syn_worker *worker = NULL;
    memcpy(cluster->last[rank], cluster->first, sizeof cluster->first);
    enum syn_status status = syn_group_appoint(group, cluster->servers);
    if (status == SYN_OK)
        status = scenario_layout(cluster->tensors, &layout);
    if (status == SYN_OK)
        status = scenario_policies(cluster->policies, layout);
    if (status == SYN_OK && rank >= syn_group_workers(group)) {
        status = syn_worker_serve(group, layout, &cluster->options, cluster->first);
    } else if (status == SYN_OK) {
        status = syn_worker_open(group, layout, &cluster->options, cluster->first, &worker);
        if (status == SYN_OK)
            status = train(cluster, rank, worker);
    }
    cluster->status[rank] = status;
    snprintf(cluster->cause[rank], sizeof cluster->cause[rank], "%s", syn_error_text());
    syn_worker_close(worker);
    syn_layout_free(layout);
}
