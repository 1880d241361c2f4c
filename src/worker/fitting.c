/* The times of a few steps are sent to all workers in one small message, after a step's exchange,
 * and are used two steps later, when they have certainly arrived: nobody waits for them. All
 * workers then decide the same from the same numbers (budget.h).
 *
 * Threads of one process have no link that could be measured, and a single worker has none at all:
 * there everything is sent. */
#include "worker/fitting.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "transport/transport.h"
#include "worker/budget.h"
#include "worker/inside.h"

#define SETTLING 2 /* steps after a decision that are still affected by the previous form */

struct syn_fitting {
    struct syn_budget budget;
    struct syn_budget_setup setup;
    bool is_measuring;
    int64_t ended_ns;        /* when the last step ended; 0: there was none */
    int64_t busy_ns;         /* CPU time of this thread by then, */
    int64_t work_ns;         /* and of the communication thread */
    double gathered_ms;      /* time spent in this step waiting for the gathering */
    size_t count;            /* steps measured since the last decision; the first are discarded */
    bool blocks;             /* those steps blocked */
    uint64_t gathering_step; /* the last step measured; 0: no gathering is under way */
    struct syn_gathering gathering;
    struct syn_budget_sample own[SYN_BUDGET_STEPS];
    struct syn_budget_sample *all; /* [workers][SYN_BUDGET_STEPS] */
};

enum syn_status syn_fitting_open(struct syn_worker *worker, struct syn_fitting **fitting)
{
    const struct syn_worker_options *options = &worker->options;
    struct syn_fitting *made;
    *fitting = NULL;
    if (options->reducer.density != SYN_AUTO)
        return SYN_OK;
    SYN_TRY(syn_allocate(1, sizeof *made, &made));
    made->setup = (struct syn_budget_setup){
        .overhead = options->overhead,
        .is_delayed = worker->schedule->is_delayed && !options->blocking_pull,
        .keep = options->reducer.keep,
        .workers = syn_group_workers(worker->group),
        .size = worker->size,
    };
    made->budget = syn_budget_begin();
    made->is_measuring = made->setup.workers > 1 && !syn_group_is_one_process(worker->group);
    if (!made->is_measuring)
        made->budget.level = 0;
    enum syn_status status =
        syn_allocate(made->setup.workers * SYN_BUDGET_STEPS, sizeof *made->all, &made->all);
    if (status != SYN_OK) {
        free(made);
        return status;
    }
    *fitting = made;
    return SYN_OK;
}

void syn_fitting_close(struct syn_fitting *fitting)
{
    if (fitting)
        free(fitting->all);
    free(fitting);
}

/* Wait for the gathering, and decide. */
static enum syn_status finish_gathering(struct syn_worker *worker)
{
    struct syn_fitting *own = worker->fitting;
    int64_t began = syn_clock_ns();
    own->gathering_step = 0;
    SYN_TRY(syn_comm_wait(syn_reducer_comm(worker->reducer), &own->gathering.work));
    own->gathered_ms = (double)(syn_clock_ns() - began) * 1e-6;
    uint32_t before = own->budget.level;
    syn_budget_decide(&own->budget, &own->setup, own->all);
    if (own->blocks && own->budget.level < before)
        own->budget.level = before; /* while steps block, a richer form would make them longer */
    own->count = 0;
    return SYN_OK;
}

static void note_form(struct syn_worker *worker, const struct syn_rates *rates)
{
    const struct syn_reducer_options *reducer = &worker->options.reducer;
    double asked = reducer->density == SYN_AUTO ? 1 : reducer->density;
    worker->form = (struct syn_form){.values = rates->values ? rates->values : reducer->values,
                                     .density = rates->density > 0 ? rates->density : asked};
}

enum syn_status syn_fitting_begin(struct syn_worker *worker, struct syn_rates *rates)
{
    struct syn_fitting *own = worker->fitting;
    if (own && own->gathering_step > 0 && worker->steps >= own->gathering_step + 2)
        SYN_TRY(finish_gathering(worker));
    if (own && !(rates->density > 0)) {
        rates->density = syn_budget_density(own->budget.level);
        rates->values = syn_budget_values(own->budget.level);
    }
    note_form(worker, rates);
    if (own) {
        worker->form.is_measured = own->is_measuring;
        worker->form.compute_ms = own->budget.compute_ms;
        worker->form.exchange_ms = own->budget.exchange_ms;
    }
    return SYN_OK;
}

static float passed_ms(int64_t *since_ns, int64_t now_ns)
{
    double passed = (double)(now_ns - *since_ns) * 1e-6;
    *since_ns = now_ns;
    return (float)passed;
}

/* Whether the last step has blocked although its schedule is a delayed one, in a warm-up or at the
 * end. Its waiting, and the processor time that its exchange took meanwhile, do not show how much
 * computing can hide. The same on all workers. */
static bool blocked(const struct syn_worker *worker)
{
    return worker->fitting->setup.is_delayed &&
           worker->schedule->plan(&worker->options, worker->steps - 1).blocks;
}

static void measure(struct syn_worker *worker, const struct syn_cost *cost)
{
    struct syn_fitting *own = worker->fitting;
    int64_t now = syn_clock_ns();
    float busy = passed_ms(&own->busy_ns, syn_clock_busy_ns(CLOCK_THREAD_CPUTIME_ID));
    float work = passed_ms(&own->work_ns, syn_comm_busy_ns(syn_reducer_comm(worker->reducer)));
    double period = (double)(now - own->ended_ns) * 1e-6;
    double wait = cost->wait_ms + own->gathered_ms;
    bool is_first = own->ended_ns == 0;
    own->ended_ns = now;
    own->gathered_ms = 0;
    if (is_first || own->gathering_step > 0)
        return;
    bool has_blocked = blocked(worker);
    if (has_blocked != own->blocks)
        own->count = 0;
    own->blocks = has_blocked;
    if (own->count >= SETTLING) {
        struct syn_budget_sample *sample = &own->own[own->count - SETTLING];
        *sample = (struct syn_budget_sample){.compute = (float)(period > wait ? period - wait : 0),
                                             .exchange = (float)cost->exchange_ms};
        if (!has_blocked) {
            sample->wait = (float)wait;
            sample->busy = busy;
            sample->work = work;
        }
    }
    own->count++;
}

void syn_fitting_end(struct syn_worker *worker, const struct syn_cost *cost)
{
    struct syn_fitting *own = worker->fitting;
    if (!own || !own->is_measuring)
        return;
    measure(worker, cost);
    if (own->count < SETTLING + SYN_BUDGET_STEPS || own->gathering_step > 0)
        return;
    own->gathering_step = worker->steps;
    own->gathering = syn_reducer_gathering(worker->reducer, own->own, sizeof own->own, own->all);
    syn_comm_post(syn_reducer_comm(worker->reducer), &own->gathering.work);
}

enum syn_status syn_fitting_save(struct syn_worker *worker, struct syn_archive *archive)
{
    struct syn_fitting *own = worker->fitting;
    if (!own)
        return SYN_OK;
    if (own->gathering_step > 0)
        SYN_TRY(finish_gathering(worker));
    return syn_archive_add(archive, "worker/fitting", &own->budget, sizeof own->budget);
}

enum syn_status syn_fitting_load(struct syn_worker *worker, const struct syn_archive *archive)
{
    struct syn_fitting *own = worker->fitting;
    struct syn_budget budget;
    if (!own)
        return SYN_OK;
    SYN_TRY(syn_archive_copy(archive, "worker/fitting", &budget, sizeof budget));
    if (!syn_budget_is_sound(&budget))
        return syn_fail(SYN_FORMAT, "section \"worker/fitting\": level %u, hold %u, patience %u",
                        budget.level, budget.hold, budget.patience);
    own->budget = budget;
    if (!own->is_measuring)
        own->budget.level = 0;
    return SYN_OK;
}
