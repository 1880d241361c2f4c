/* The quadratic problem. */
#include "quadratic.h"

#include <syncopate/recipe.h>

#include "check.h"
#include "scenario.h"

const size_t quadratic_tensors[] = {400, 300, 200, SIZE_MAX};

void quadratic_gradient(size_t rank, size_t step, const float *weights, float *gradient)
{
    static _Thread_local float noise[QUADRATIC_SIZE];
    scenario_gradient(RANDOM, rank, step, noise, QUADRATIC_SIZE);
    for (size_t i = 0; i < QUADRATIC_SIZE; i++)
        gradient[i] = (weights[i] - (float)(i % 7) * 0.1F * (float)(rank + 1)) + 0.1F * noise[i];
}

struct syn_worker_options quadratic_options(const char *recipe)
{
    struct syn_worker_options options;
    syn_worker_defaults(&options);
    assert_ok(syn_recipe_apply_worker(recipe, &options));
    options.warmup = 3;
    options.inner_steps = 4;
    options.compare_every = 5;
    options.reducer.density = 0.05;
    options.optimizer.weight_decay = 0.01;
    return options;
}
