/* The calls that tests of the reducer share. */
#include "fixture.h"

#include <stdio.h>

#include <syncopate/recipe.h>

#include "check.h"

static const size_t three_tensors[] = {400, 300, 200, SIZE_MAX};

struct fixture fixture_for(const char *recipe)
{
    struct fixture fixture = {.tensors = three_tensors, .odd_one = 1};
    syn_reducer_defaults(&fixture.options);
    assert_ok(syn_recipe_apply(recipe, &fixture.options));
    scenario_be_exact(&fixture.options);
    fixture.options.density = 0.05;
    return fixture;
}

enum syn_status fixture_open(const struct fixture *fixture, struct syn_group *group,
                             struct syn_reducer **reducer)
{
    struct syn_layout *layout;
    enum syn_status status = scenario_layout(fixture->tensors, &layout);
    if (status == SYN_OK)
        status = syn_reducer_open(group, layout, &fixture->options, reducer);
    syn_layout_free(layout);
    return status;
}

enum syn_status fixture_step(struct syn_reducer *reducer, const float *gradient,
                             const struct syn_step *step, float *sum)
{
    struct syn_ticket ticket;
    struct syn_merged merged;
    enum syn_status status = syn_reducer_begin(reducer, gradient, step, &ticket);
    if (status == SYN_OK)
        status = syn_reducer_wait(reducer, ticket, &merged);
    if (status == SYN_OK)
        syn_merged_to_dense(&merged, sum, FIXTURE_SIZE);
    return status;
}

struct run {
    struct fixture *fixture;
    fixture_function *act;
};

static void take_part(struct syn_group *group, size_t rank, void *context)
{
    const struct run *run = context;
    struct syn_reducer *reducer = NULL;
    fixture_note(run->fixture, rank, fixture_open(run->fixture, group, &reducer));
    if (run->fixture->got[rank] == SYN_OK)
        run->act(run->fixture, reducer, rank);
    syn_reducer_close(reducer);
}

void fixture_run(struct fixture *fixture, size_t workers, unsigned milliseconds,
                 fixture_function *act)
{
    struct run run = {fixture, act};
    fixture->workers = workers;
    run_workers(workers, milliseconds, take_part, &run);
}

void fixture_note(struct fixture *fixture, size_t rank, enum syn_status status)
{
    fixture->got[rank] = status;
    snprintf(fixture->cause[rank], sizeof fixture->cause[rank], "%s", syn_error_text());
}
