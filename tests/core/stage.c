/* The calls that tests of the reducer share. */
#include "stage.h"

#include <stdio.h>

#include <syncopate/recipe.h>

#include "check.h"

static const size_t three_tensors[] = {400, 300, 200, SIZE_MAX};

struct stage stage_for(const char *recipe)
{
    struct stage stage = {.tensors = three_tensors, .odd_one = 1};
    syn_reducer_defaults(&stage.options);
    assert_ok(syn_recipe_apply(recipe, &stage.options));
    stage.options.density = 0.05;
    return stage;
}

enum syn_status stage_open(const struct stage *stage, struct syn_group *group,
                           struct syn_reducer **reducer)
{
    struct syn_layout *layout;
    enum syn_status status = scenario_layout(stage->tensors, &layout);
    if (status == SYN_OK)
        status = syn_reducer_open(group, layout, &stage->options, reducer);
    syn_layout_free(layout);
    return status;
}

enum syn_status stage_step(struct syn_reducer *reducer, const float *gradient,
                           const struct syn_step *step, float *sum)
{
    struct syn_ticket ticket;
    struct syn_merged merged;
    enum syn_status status = syn_reducer_begin(reducer, gradient, step, &ticket);
    if (status == SYN_OK)
        status = syn_reducer_wait(reducer, ticket, &merged);
    if (status == SYN_OK)
        syn_merged_to_dense(&merged, sum, STAGE_SIZE);
    return status;
}

struct play {
    struct stage *stage;
    stage_act *act;
};

static void take_part(struct syn_group *group, size_t rank, void *context)
{
    const struct play *play = context;
    struct syn_reducer *reducer = NULL;
    stage_note(play->stage, rank, stage_open(play->stage, group, &reducer));
    if (play->stage->got[rank] == SYN_OK)
        play->act(play->stage, reducer, rank);
    syn_reducer_close(reducer);
}

void stage_play(struct stage *stage, size_t workers, unsigned milliseconds, stage_act *act)
{
    struct play play = {stage, act};
    stage->workers = workers;
    team_run(workers, milliseconds, take_part, &play);
}

void stage_note(struct stage *stage, size_t rank, enum syn_status status)
{
    stage->got[rank] = status;
    snprintf(stage->cause[rank], sizeof stage->cause[rank], "%s", syn_error_text());
}
