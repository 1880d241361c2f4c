/* Workers and servers of a run. */
#include "crew.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <syncopate/recipe.h>

#include "base/hash.h"
#include "scenario.h"

static const size_t odd_tensors[] = {500, 1, 0, 301, 201, SIZE_MAX};

struct crew *crew_of(const char *recipe, size_t servers)
{
    struct crew *crew = calloc(1, sizeof *crew);
    crew->servers = servers;
    crew->steps = 24;
    crew->lr = 0.05;
    crew->tensors = odd_tensors;
    scenario_weights(crew->first, CREW_SIZE);
    syn_worker_defaults(&crew->options);
    crew->status[0] = syn_recipe_apply_worker(recipe, &crew->options);
    crew->options.warmup = 3;
    crew->options.compare_every = 5;
    crew->options.reducer.density = 0.05;
    crew->options.optimizer.weight_decay = 0.01;
    return crew;
}

enum syn_status crew_set(struct crew *crew, const char *name, const char *value)
{
    if (syn_settings_has(&syn_worker_settings, name))
        return syn_settings_set(&syn_worker_settings, &crew->options, name, value);
    if (strcmp(name, "momentum") != 0 && syn_settings_has(&syn_reducer_settings, name))
        return syn_settings_set(&syn_reducer_settings, &crew->options.reducer, name, value);
    return syn_settings_set(&syn_optimizer_settings, &crew->options.optimizer, name, value);
}

size_t crew_size(const struct crew *crew)
{
    size_t size = 0;
    for (size_t i = 0; crew->tensors[i] != SIZE_MAX; i++)
        size += crew->tensors[i];
    return size;
}

static void fill_gradient(const struct crew *crew, size_t rank, size_t step, const float *weights,
                          float *gradient)
{
    size_t size = crew_size(crew);
    scenario_gradient(RANDOM, rank, step, gradient, size);
    for (size_t i = 0; i < size && !crew->is_free; i++) {
        float centre = (float)(i % 7) * 0.1F * (float)(crew->is_common ? 1 : rank + 1);
        gradient[i] = (weights[i] - centre) + (crew->is_common ? 0 : 0.1F) * gradient[i];
    }
}

static enum syn_status take_step(struct crew *crew, struct syn_worker *worker,
                                 const float *gradient, const struct syn_rates *rates,
                                 float *weights)
{
    enum syn_status status = SYN_OK;
    size_t tensors = 0;
    while (crew->tensors[tensors] != SIZE_MAX)
        tensors++;
    if (crew->by_tensor)
        status = syn_worker_start(worker, gradient, rates);
    for (size_t i = tensors; crew->by_tensor && i-- > 0 && status == SYN_OK;)
        status = syn_worker_ready(worker, i);
    return status == SYN_OK ? syn_worker_step(worker, gradient, rates, weights) : status;
}

static enum syn_status train(struct crew *crew, size_t rank, struct syn_worker *worker)
{
    float *weights = crew->last[rank];
    size_t size = crew_size(crew);
    float gradient[CREW_SIZE];
    struct syn_rates rates = {.lr = crew->lr};
    enum syn_status status = SYN_OK;
    for (size_t step = 0; step < crew->steps && status == SYN_OK; step++) {
        fill_gradient(crew, rank, step, weights, gradient);
        if (crew->before && !crew->before(crew, rank, step, gradient))
            return SYN_OK;
        for (size_t i = 0; i < size; i++)
            crew->handed[rank][i] += (double)gradient[i];
        status = take_step(crew, worker, gradient, &rates, weights);
        memset(gradient, 0xff, sizeof gradient); /* it was handed over: nobody may look at it now */
        crew->hash[rank] = syn_hash(crew->hash[rank], weights, size * sizeof *weights);
        if (crew->settle_every && step % crew->settle_every == 0 && status == SYN_OK)
            status = syn_worker_settle(worker, crew->weights[rank]);
    }
    crew->cost[rank] = syn_worker_total_cost(worker);
    if (status == SYN_OK)
        status = syn_worker_settle(worker, crew->weights[rank]);
    if (status == SYN_OK && syn_worker_residual(worker))
        memcpy(crew->residual[rank], syn_worker_residual(worker), size * sizeof(float));
    return status;
}

void crew_member(struct syn_group *group, size_t rank, void *context)
{
    struct crew *crew = context;
    struct syn_layout *layout = NULL;
    struct syn_worker *worker = NULL;
    memcpy(crew->last[rank], crew->first, sizeof crew->first);
    enum syn_status status = syn_group_appoint(group, crew->servers);
    if (status == SYN_OK)
        status = scenario_layout(crew->tensors, &layout);
    if (status == SYN_OK && rank >= syn_group_size(group)) {
        status = syn_worker_serve(group, layout, &crew->options, crew->first);
    } else if (status == SYN_OK) {
        status = syn_worker_open(group, layout, &crew->options, crew->first, &worker);
        if (status == SYN_OK)
            status = train(crew, rank, worker);
    }
    crew->status[rank] = status;
    snprintf(crew->cause[rank], sizeof crew->cause[rank], "%s", syn_error_text());
    syn_worker_close(worker);
    syn_layout_free(layout);
}
