/* Four workers fit a million weights together, once with each method, and count what they send.
 *
 * The problem is least squares. Row i is  here[i] * w[i] + next[i] * w[i + 1] = target[i],  with
 * noise in the target; every worker has a million rows of its own, and together they look for the w
 * that fits the rows of all of them. A row has only two features, so that a gradient costs a
 * millisecond or two. Features have very different scales, 1 / (1 + r / 1000) for the weight of
 * rank r, because only then do sparse methods work: in a neural network, too, only a few weights
 * change the loss much at any one time.
 *
 * Every method does the same plain gradient descent, w -= rate / P * (sum of the workers'
 * gradients); they differ only in how that sum is computed. What your own program needs is in
 * train() and step(). */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <syncopate/syncopate.h>

enum { WEIGHTS = 1000000, WORKERS = 4, STEPS = 200 };

#define RATE  0.3F
#define NOISE 0.3F

/* One worker's share of the data. [WEIGHTS] each. */
struct rows {
    float *here;
    float *next;
    float *target;
};

struct worker {
    const char *recipe;
    struct syn_group *group;
    struct syn_layout *layout;
    struct rows rows;
    float *weights;  /* [WEIGHTS]; the same bits on every worker after every step */
    float *gradient; /* [WEIGHTS] */
    pthread_t thread;
    enum syn_status status;
    char cause[256];
    double loss;         /* of its own rows */
    uint64_t bytes_sent; /* in all steps */
};

/* The result of a method. */
struct result {
    double loss;
    double megabytes; /* sent by the busiest worker */
};

/* The mean of half the squared errors, and its gradient times the number of rows. */
static double gradient_at(const struct rows *rows, const float *w, float *gradient)
{
    double loss = 0;
    float passed_on = 0; /* what the previous row adds to this weight's entry */
    for (size_t i = 0; i + 1 < WEIGHTS; i++) {
        float error = rows->here[i] * w[i] + rows->next[i] * w[i + 1] - rows->target[i];
        loss += (double)(error * error);
        gradient[i] = rows->here[i] * error + passed_on;
        passed_on = rows->next[i] * error;
    }
    gradient[WEIGHTS - 1] = passed_on;
    return loss / (2.0 * (double)WEIGHTS);
}

/* Add up the workers' gradients and update the weights. */
static enum syn_status step(struct worker *worker, struct syn_reducer *reducer)
{
    struct syn_ticket ticket;
    struct syn_merged merged;
    struct syn_step how = syn_reducer_step(reducer);
    how.scale = strcmp(worker->recipe, "strom") == 0 ? RATE : 1; /* strom's unit is a weight */
    enum syn_status status = syn_reducer_begin(reducer, worker->gradient, &how, &ticket);
    if (status == SYN_OK)
        status = syn_reducer_wait(reducer, ticket, &merged);
    if (status != SYN_OK)
        return status;
    float factor = RATE / how.scale / (float)WORKERS;
    for (size_t i = 0; i < merged.count; i++) {
        size_t at = merged.dense ? i : merged.index[i];
        worker->weights[at] -= factor * (merged.dense ? merged.dense[i] : merged.value[i]);
    }
    worker->bytes_sent += merged.cost.bytes_out;
    return SYN_OK;
}

/* One line for each method, redrawn in place on a terminal. Only worker 0 prints. */
static void print_progress(const struct worker *worker, size_t done)
{
    bool is_last = done == STEPS;
    bool on_terminal = isatty(STDOUT_FILENO) == 1;
    if (syn_group_rank(worker->group) != 0 || !(is_last || (on_terminal && done % 10 == 0)))
        return;
    printf("%s%-6s step %3zu of %d, loss of the first worker's rows %.4f%s",
           on_terminal ? "\r" : "", worker->recipe, done, STEPS, worker->loss, is_last ? "\n" : "");
    fflush(stdout);
}

static enum syn_status train(struct worker *worker)
{
    struct syn_reducer_options options;
    struct syn_reducer *reducer = NULL;
    syn_reducer_defaults(&options);
    enum syn_status status = syn_recipe_apply(worker->recipe, &options);
    options.density = 0.001; /* a thousand of the million weights per step */
    options.threshold = 0.1; /* strom's initial tau, which is then adjusted automatically */
    if (status == SYN_OK)
        status = syn_reducer_open(worker->group, worker->layout, &options, &reducer);
    for (size_t i = 0; i < STEPS && status == SYN_OK; i++) {
        worker->loss = gradient_at(&worker->rows, worker->weights, worker->gradient);
        print_progress(worker, i);
        status = step(worker, reducer);
    }
    worker->loss = gradient_at(&worker->rows, worker->weights, worker->gradient);
    if (status == SYN_OK)
        print_progress(worker, STEPS);
    else
        snprintf(worker->cause, sizeof worker->cause, "%s", syn_error_text());
    syn_reducer_close(reducer);
    return status;
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    worker->status = train(worker);
    return NULL;
}

static void fail(const char *what)
{
    fprintf(stderr, "least_squares: %s\n", what);
    exit(1);
}

static float *new_floats(void)
{
    float *floats = calloc(WEIGHTS, sizeof *floats);
    if (!floats)
        fail("out of memory");
    return floats;
}

/* All workers' rows are generated from one hidden set of weights. */
static void make_rows(struct worker *workers)
{
    struct syn_random random;
    float *hidden = new_floats();
    float *scale = new_floats();
    uint32_t *rank = malloc(WEIGHTS * sizeof *rank);
    if (!rank)
        fail("out of memory");
    syn_random_start(&random, 1, WORKERS);
    syn_random_order(&random, rank, WEIGHTS);
    for (size_t i = 0; i < WEIGHTS; i++) {
        scale[i] = 1 / (1 + (float)rank[i] / 1000);
        hidden[i] = 30 * syn_random_normal(&random);
    }
    for (size_t w = 0; w < WORKERS; w++) {
        struct rows *rows = &workers[w].rows;
        *rows = (struct rows){new_floats(), new_floats(), new_floats()};
        syn_random_start(&random, 1, w);
        for (size_t i = 0; i + 1 < WEIGHTS; i++) {
            rows->here[i] = scale[i] * (0.5F + syn_random_unit(&random));
            rows->next[i] = scale[i + 1] * (syn_random_unit(&random) - 0.5F);
            rows->target[i] = rows->here[i] * hidden[i] + rows->next[i] * hidden[i + 1] +
                              NOISE * syn_random_normal(&random);
        }
    }
    free(hidden);
    free(scale);
    free(rank);
}

static struct result run(struct worker *workers, const char *recipe)
{
    struct syn_group *groups[WORKERS];
    struct result result = {0};
    if (syn_group_open_threads(WORKERS, NULL, groups) != SYN_OK)
        fail(syn_error_text());
    for (size_t w = 0; w < WORKERS; w++) {
        workers[w].recipe = recipe;
        workers[w].group = groups[w];
        workers[w].bytes_sent = 0;
        memset(workers[w].weights, 0, WEIGHTS * sizeof(float));
        if (pthread_create(&workers[w].thread, NULL, work, &workers[w]) != 0)
            fail("cannot start a thread");
    }
    for (size_t w = 0; w < WORKERS; w++) {
        double megabytes;
        pthread_join(workers[w].thread, NULL);
        if (workers[w].status != SYN_OK)
            fail(workers[w].cause);
        if (memcmp(workers[w].weights, workers[0].weights, WEIGHTS * sizeof(float)) != 0)
            fail("workers have different weights");
        megabytes = (double)workers[w].bytes_sent * 1e-6;
        result.megabytes = megabytes > result.megabytes ? megabytes : result.megabytes;
        result.loss += workers[w].loss / (double)WORKERS;
    }
    for (size_t w = 0; w < WORKERS; w++)
        syn_group_close(groups[w]);
    return result;
}

int main(void)
{
    static const char *const recipes[] = {"ssgd", "topk", "gtopk", "strom"};
    struct worker workers[WORKERS] = {{0}};
    struct result results[4];
    struct syn_layout *layout;
    if (syn_layout_new(&layout) != SYN_OK || syn_layout_add(layout, "weights", WEIGHTS) != SYN_OK)
        fail(syn_error_text());
    printf("%d workers fit %d weights to %d rows each\n", WORKERS, WEIGHTS, WEIGHTS - 1);
    fflush(stdout);
    make_rows(workers);
    for (size_t w = 0; w < WORKERS; w++) {
        workers[w].layout = layout;
        workers[w].weights = new_floats();
        workers[w].gradient = new_floats();
    }
    double start = 0;
    for (size_t w = 0; w < WORKERS; w++)
        start += gradient_at(&workers[w].rows, workers[w].weights, workers[w].gradient) /
                 (double)WORKERS;
    for (size_t i = 0; i < 4; i++)
        results[i] = run(workers, recipes[i]);
    printf("\nmethod  steps  final loss  MB sent per worker  dense sends\n");
    printf("%-6s  %5d  %10.4f\n", "-", 0, start);
    for (size_t i = 0; i < 4; i++)
        printf("%-6s  %5d  %10.4f  %18.2f  %5.0f times as much\n", recipes[i], STEPS,
               results[i].loss, results[i].megabytes, results[0].megabytes / results[i].megabytes);
    for (size_t w = 0; w < WORKERS; w++) {
        free(workers[w].weights);
        free(workers[w].gradient);
        free(workers[w].rows.here);
        free(workers[w].rows.next);
        free(workers[w].rows.target);
    }
    syn_layout_free(layout);
    return 0;
}
