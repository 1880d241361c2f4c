/* The same settings mean the same for every method: weight decay is as strong, and clipping as
 * narrow, whatever is sent, wherever the weights live and momentum is kept. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <syncopate/recipe.h>

#include "crew_check.h"
#include "scenario.h"

static const size_t few_tensors[] = {5, 1, 7, SIZE_MAX};

static const char *const forms[] = {"global", "corrected", "none"};
static const char *const stores[] = {"auto", "replicas", "shards"};

/* Every recipe with every form of momentum, on every store; NULL where they do not go together. */
enum { FORMS_OF_MOMENTUM = 3, STORES = 3, MOST_SERVERS = 2 };

static struct crew *method(size_t recipe, size_t form, size_t store, size_t servers)
{
    struct crew *crew = crew_of(syn_recipe_name(recipe), servers);
    with(with(crew, "momentum_form", forms[form]), "store", stores[store]);
    crew->tensors = few_tensors;
    crew->options.compare_every = 0;
    crew->options.reducer.density = 0.3;
    bool is_twice = servers > 0 && store > 0;
    if (is_twice || syn_worker_check_servers(&crew->options, servers) != SYN_OK) {
        free(crew);
        return NULL;
    }
    return crew;
}

/* The learning rate that makes a step of this method as long as one of momentum SGD, as the
 * training loop chooses it. */
static double fitting_lr(const struct crew *crew, double lr, size_t workers)
{
    const struct syn_worker_options *options = &crew->options;
    if (strcmp(options->momentum_form, "none") == 0)
        lr /= 1 - options->optimizer.momentum;
    return strcmp(options->schedule, "async") == 0 ? lr / (double)workers : lr;
}

static bool zero_gradient(struct crew *crew, size_t rank, size_t step, float *gradient)
{
    (void)rank;
    (void)step;
    memset(gradient, 0, crew_size(crew) * sizeof *gradient);
    return true;
}

/* lr * wd / (1 - mu) is a thousandth: a thousand steps leave 1/e. */
static void weight_decay_is_as_strong_in_every_method(void **state)
{
    (void)state;
    size_t played = 0;
    for (size_t r = 0; syn_recipe_name(r); r++)
        for (size_t f = 0; f < FORMS_OF_MOMENTUM; f++)
            for (size_t s = 0; s < STORES; s++)
                for (size_t servers = 0; servers <= MOST_SERVERS; servers++) {
                    struct crew *crew = method(r, f, s, servers);
                    if (!crew)
                        continue;
                    crew->options.optimizer.weight_decay = 0.001;
                    crew->lr = fitting_lr(crew, 0.1, 2);
                    crew->steps = 1000;
                    crew->before = zero_gradient;
                    play(crew, 2);
                    for (size_t i = 0; i < crew_size(crew); i++) {
                        double left = (double)(crew->weights[0][i] / crew->first[i]);
                        if (fabs(left - 0.368) > 0.01)
                            fail_msg("%s, momentum %s, store %s, %zu servers: %.3f of weight %zu "
                                     "is left, not 0.368",
                                     syn_recipe_name(r), forms[f], stores[s], servers, left, i);
                    }
                    played++;
                    free(crew);
                }
    assert_true(played > 40);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weight_decay_is_as_strong_in_every_method),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
