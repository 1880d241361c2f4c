/* A step allocates nothing: every call for memory is counted, and the count stands still after the
 * first steps. The program is linked so that the calls below take the place of the C library's. */
#include "check.h"

#include <stdatomic.h>
#include <stdlib.h>

#include <syncopate/recipe.h>
#include <syncopate/worker.h>

#include "scenario.h"
#include "workers.h"

static atomic_size_t calls;

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *block, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *block, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);

void *__wrap_malloc(size_t size)
{
    atomic_fetch_add(&calls, 1);
    return __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    atomic_fetch_add(&calls, 1);
    return __real_calloc(count, size);
}

void *__wrap_realloc(void *block, size_t size)
{
    atomic_fetch_add(&calls, 1);
    return __real_realloc(block, size);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    atomic_fetch_add(&calls, 1);
    return __real_aligned_alloc(alignment, size);
}

enum { SIZE = 2000, STEPS = 20, WORKERS = 3 };

struct fixture {
    const char *recipe;
    size_t after_first[WORKERS];
    size_t after_last[WORKERS];
    enum syn_status status[WORKERS];
};

static void take_steps(struct syn_group *group, size_t rank, void *context)
{
    static const size_t tensors[] = {1500, 500, SIZE_MAX};
    struct fixture *fixture = context;
    struct syn_reducer_options options;
    struct syn_layout *layout;
    struct syn_reducer *reducer;
    float gradient[SIZE];
    syn_reducer_defaults(&options);
    syn_recipe_apply(fixture->recipe, &options);
    options.bucket_bytes = 2000;
    options.density = 0.05;
    scenario_layout(tensors, &layout);
    fixture->status[rank] = syn_reducer_open(group, layout, &options, &reducer);
    syn_layout_free(layout);
    for (size_t i = 0; i < STEPS && fixture->status[rank] == SYN_OK; i++) {
        struct syn_ticket ticket;
        struct syn_merged merged;
        scenario_gradient(RANDOM, rank, i, gradient, SIZE);
        fixture->status[rank] = syn_reducer_begin(reducer, gradient, NULL, &ticket);
        if (fixture->status[rank] == SYN_OK)
            fixture->status[rank] = syn_reducer_wait(reducer, ticket, &merged);
        /* After the second step every worker has finished opening: they met in the first. */
        if (i == 1)
            fixture->after_first[rank] = atomic_load(&calls);
        if (i == STEPS - 2)
            fixture->after_last[rank] = atomic_load(&calls);
    }
    if (fixture->status[rank] == SYN_OK)
        syn_reducer_close(reducer);
}

static void a_step_allocates_nothing(void **state)
{
    (void)state;
    for (size_t i = 0; syn_recipe_name(i); i++) {
        struct fixture fixture = {.recipe = syn_recipe_name(i)};
        run_workers(WORKERS, 20000, take_steps, &fixture);
        for (int w = 0; w < WORKERS; w++) {
            assert_int_equal(fixture.status[w], SYN_OK);
            assert_int_equal(fixture.after_first[w], fixture.after_last[w]);
        }
    }
}

/* Two workers and a server. Settling is where all meet. */
static void train_on_a_server(struct syn_group *group, size_t rank, void *context)
{
    static const size_t tensors[] = {1500, 500, SIZE_MAX};
    static const float zeros[SIZE];
    struct fixture *fixture = context;
    struct syn_worker_options options;
    struct syn_layout *layout;
    struct syn_worker *worker = NULL;
    struct syn_rates rates = {.lr = 0.1};
    float gradient[SIZE];
    float weights[SIZE];
    syn_worker_defaults(&options);
    syn_recipe_apply_worker(fixture->recipe, &options);
    options.warmup = 0;
    options.reducer.density = 0.05;
    scenario_layout(tensors, &layout);
    syn_group_appoint(group, 1);
    if (rank == 2)
        fixture->status[rank] = syn_worker_serve(group, layout, &options, zeros);
    else
        fixture->status[rank] = syn_worker_open(group, layout, &options, zeros, &worker);
    for (size_t i = 0; i < STEPS && worker && fixture->status[rank] == SYN_OK; i++) {
        scenario_gradient(RANDOM, rank, i, gradient, SIZE);
        fixture->status[rank] = syn_worker_step(worker, gradient, &rates, weights);
        if (fixture->status[rank] == SYN_OK && (i == 1 || i == STEPS - 1)) {
            fixture->status[rank] = syn_worker_settle(worker, weights);
            (i == 1 ? fixture->after_first : fixture->after_last)[rank] = atomic_load(&calls);
        }
    }
    syn_worker_close(worker);
    syn_layout_free(layout);
}

static void a_step_on_servers_allocates_nothing(void **state)
{
    (void)state;
    static const char *const recipes[] = {"ssgd", "od-sgd", "ssd-sgd", "topk", "strom", "asgd"};
    for (size_t i = 0; i < 6; i++) {
        struct fixture fixture = {.recipe = recipes[i]};
        run_workers(WORKERS, 20000, train_on_a_server, &fixture);
        for (int w = 0; w < WORKERS; w++) {
            assert_int_equal(fixture.status[w], SYN_OK);
            assert_int_equal(fixture.after_first[w], fixture.after_last[w]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_step_allocates_nothing),
                                       cmocka_unit_test(a_step_on_servers_allocates_nothing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
