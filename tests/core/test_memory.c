/* What a reducer takes of memory, in multiples of the parameters, as docs/performance.md says: by
 * what is sent now, not by the most that may ever be sent, and not by the number of workers. */
#include "check.h"

#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include <syncopate/recipe.h>

#include "scenario.h"
#include "workers.h"

enum { SIZE = 1 << 21, STEPS = 4 };
#define MODEL ((double)SIZE * sizeof(float))

struct taking {
    const char *recipe;
    double most; /* at a density of 0.001 */
    double density_max;
    bool warms_up;
    bool stays_high; /* at the density of the warm-up */
    bool trains;     /* a worker, else a reducer */
    size_t workers;
    double began; /* bytes of the process before workers opened */
    double taken; /* multiples of the model, by each worker */
    pthread_barrier_t meeting;
    enum syn_status status[WORKERS_MOST];
};

/* Bytes of this process that are in memory. */
static double resident(void)
{
    long size = 0, pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    int read = file ? fscanf(file, "%ld %ld", &size, &pages) : 0;
    if (file)
        fclose(file);
    return read == 2 ? (double)pages * (double)sysconf(_SC_PAGESIZE) : 0;
}

/* With a warm-up the first steps send a quarter. */
static enum syn_status take_steps(struct syn_reducer *reducer, const struct taking *taking,
                                  const float *gradient)
{
    enum syn_status status = SYN_OK;
    for (size_t i = 0; i < STEPS && status == SYN_OK; i++) {
        struct syn_step step = syn_reducer_step(reducer);
        struct syn_ticket ticket;
        struct syn_merged merged;
        bool is_high = i < 2 || taking->stays_high;
        if (is_high && taking->warms_up && taking->density_max > 0)
            step.density = taking->density_max;
        status = syn_reducer_begin(reducer, gradient, &step, &ticket);
        if (status == SYN_OK)
            status = syn_reducer_wait(reducer, ticket, &merged);
    }
    return status;
}

static enum syn_status reduce(struct syn_group *group, const struct syn_layout *layout,
                              const struct taking *taking, const float *gradient,
                              struct syn_reducer **reducer)
{
    struct syn_reducer_options options;
    syn_reducer_defaults(&options);
    options.density_max = taking->density_max;
    enum syn_status status = syn_recipe_apply(taking->recipe, &options);
    options.density = 0.001;
    if (status == SYN_OK)
        status = syn_reducer_open(group, layout, &options, reducer);
    return status == SYN_OK ? take_steps(*reducer, taking, gradient) : status;
}

/* As the training loop opens it: with momentum, and room for a warm-up.
 *   weights  the caller's, which do not count */
static enum syn_status train(struct syn_group *group, const struct syn_layout *layout,
                             const struct taking *taking, const float *gradient, float *weights,
                             struct syn_worker **worker)
{
    struct syn_worker_options options;
    syn_worker_defaults(&options);
    options.reducer.density_max = taking->density_max;
    enum syn_status status = syn_recipe_apply_worker(taking->recipe, &options);
    options.reducer.density = 0.001;
    options.warmup = 1;
    if (status == SYN_OK)
        status = syn_worker_open(group, layout, &options, weights, worker);
    for (size_t i = 0; i < 2 * STEPS && status == SYN_OK; i++) {
        struct syn_rates rates = {.lr = 0.1};
        if (i < 2 && taking->warms_up)
            rates.density = taking->density_max;
        status = syn_worker_step(*worker, gradient, &rates, weights);
    }
    return status;
}

static void member(struct syn_group *group, size_t rank, void *context)
{
    static float gradient[SIZE]; /* the same for all, so that it does not count */
    static float weights[WORKERS_MOST][SIZE];
    struct taking *taking = context;
    struct syn_layout *layout = NULL;
    struct syn_reducer *reducer = NULL;
    struct syn_worker *worker = NULL;
    if (rank == 0)
        scenario_gradient(RANDOM, 0, 0, gradient, SIZE);
    if (taking->trains)
        scenario_weights(weights[rank], SIZE);
    if (pthread_barrier_wait(&taking->meeting) == PTHREAD_BARRIER_SERIAL_THREAD)
        taking->began = resident();
    pthread_barrier_wait(&taking->meeting);
    enum syn_status status = syn_layout_new(&layout);
    if (status == SYN_OK)
        status = syn_layout_add(layout, "all", SIZE);
    if (status == SYN_OK)
        status = taking->trains ? train(group, layout, taking, gradient, weights[rank], &worker)
                                : reduce(group, layout, taking, gradient, &reducer);
    if (pthread_barrier_wait(&taking->meeting) == PTHREAD_BARRIER_SERIAL_THREAD)
        taking->taken = (resident() - taking->began) / MODEL / (double)taking->workers;
    pthread_barrier_wait(&taking->meeting);
    taking->status[rank] = status;
    syn_reducer_close(reducer);
    syn_worker_close(worker);
    syn_layout_free(layout);
}

static double taken_by(struct taking taking)
{
    pthread_barrier_init(&taking.meeting, NULL, (unsigned)taking.workers);
    run_workers(taking.workers, 60000, member, &taking);
    pthread_barrier_destroy(&taking.meeting);
    for (size_t i = 0; i < taking.workers; i++)
        assert_int_equal(taking.status[i], SYN_OK);
    print_message("%s %-7s %2zu workers, density-max %4g: %.2f\n",
                  taking.trains ? "worker " : "reducer", taking.recipe, taking.workers,
                  taking.density_max, taking.taken);
    return taking.taken;
}

static const struct taking methods[] = {
    {.recipe = "ssgd", .most = 1.9},
    {.recipe = "gtopk", .most = 2.3, .warms_up = true},
    {.recipe = "topk", .most = 2.2, .warms_up = true},
    {.recipe = "strom", .most = 2.7},
};
enum { METHODS = sizeof methods / sizeof methods[0] };

static void a_method_takes_what_is_documented(void **state)
{
    (void)state;
    for (int m = 0; m < METHODS; m++)
        for (int raised = 0; raised < 2; raised++) {
            struct taking taking = methods[m];
            taking.workers = 2;
            taking.density_max = raised ? 0.25 : 0;
            double taken = taken_by(taking);
            if (taken > taking.most)
                fail_msg("%s, density-max %g: %.2f times the parameters; at most %.2f",
                         taking.recipe, taking.density_max, taken, taking.most);
        }
}

static void a_worker_takes_what_is_documented(void **state)
{
    (void)state;
    static const struct taking workers[] = {
        {.recipe = "ssgd", .most = 3.9},   {.recipe = "od-sgd", .most = 9},
        {.recipe = "ssd-sgd", .most = 11}, {.recipe = "gtopk", .most = 5.3},
        {.recipe = "topk", .most = 4.1},   {.recipe = "strom", .most = 3.7},
    };
    for (size_t m = 0; m < sizeof workers / sizeof workers[0]; m++) {
        struct taking taking = workers[m];
        taking.workers = 2;
        taking.density_max = 0.25;
        taking.trains = true;
        taking.warms_up = m == 3 || m == 4;
        double taken = taken_by(taking);
        if (taken > taking.most)
            fail_msg("%s: %.2f times the parameters; at most %.2f", taking.recipe, taken,
                     taking.most);
    }
}

static void more_workers_do_not_make_each_of_them_larger(void **state)
{
    (void)state;
    for (int m = 1; m < METHODS; m++) {
        struct taking taking = methods[m];
        taking.workers = 12;
        double taken = taken_by(taking);
        if (taken > taking.most)
            fail_msg("%s, 12 workers: %.2f times the parameters; at most %.2f", taking.recipe,
                     taken, taking.most);
    }
}

/* Packets of a quarter of the entries each do not lie in memory together. */
static void more_workers_take_no_more_at_a_high_density(void **state)
{
    (void)state;
    double taken[2];
    for (int i = 0; i < 2; i++) {
        struct taking taking = {
            .recipe = "topk", .density_max = 0.25, .warms_up = true, .stays_high = true};
        taking.workers = i == 0 ? 4 : 12;
        taken[i] = taken_by(taking);
    }
    if (taken[1] > taken[0] + 0.7)
        fail_msg("12 workers take %.2f times the parameters each, 4 take %.2f", taken[1], taken[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_method_takes_what_is_documented),
        cmocka_unit_test(a_worker_takes_what_is_documented),
        cmocka_unit_test(more_workers_do_not_make_each_of_them_larger),
        cmocka_unit_test(more_workers_take_no_more_at_a_high_density),
    };
    mallopt(M_MMAP_THRESHOLD, 1 << 17); /* what is freed goes back at once */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
