/* syncopate bench step: how long one training step of a model takes, on random examples; with
 * --layers, where the time goes. bench/pytorch_step.py is its counterpart. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <syncopate/engine/model.h>
#include <syncopate/random.h>

#include "command.h"

#define LEAST_RUNS 4
#define MOST_RUNS  10000

struct options {
#define SYN_SETTING SYN_SETTING_FIELD
#include "bench_step.def"
#undef SYN_SETTING
};

static const struct syn_setting rows[] = {
#define SYN_SETTING(...) SYN_SETTING_ROW(struct options, __VA_ARGS__),
#include "bench_step.def"
#undef SYN_SETTING
};

static const struct syn_settings_table table = {"bench step", rows, sizeof rows / sizeof rows[0]};

/* Everything a step needs. */
struct subject {
    struct syn_model *model;
    float *weights;
    float *gradient;
    float *images;
    int32_t *numbers; /* labels, then tokens */
    struct syn_examples examples;
};

static double now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

static double resident_mb(void)
{
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file)
        return 0;
    if (fscanf(file, "%*s %ld", &pages) != 1)
        pages = 0;
    fclose(file);
    return (double)pages * (double)sysconf(_SC_PAGESIZE) / 1048576;
}

static double peak_mb(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_maxrss / 1024;
}

static void release(struct subject *s)
{
    free(s->numbers);
    free(s->images);
    free(s->gradient);
    free(s->weights);
    syn_model_free(s->model);
}

static enum syn_status build(const struct options *o, struct subject *s)
{
    struct syn_graph *graph;
    struct syn_input input;
    enum syn_status status = syn_model_usual_input(o->model, &input);
    if (status == SYN_OK && o->classes > 0)
        input.classes = o->classes;
    if (status == SYN_OK)
        status = syn_graph_ready(o->model, &input, &graph);
    if (status != SYN_OK)
        return status;
    struct syn_model_options options;
    syn_model_defaults(&options);
    options.batch = o->batch;
    options.time = o->time;
    options.threads = o->threads;
    status = syn_model_build(graph, &options, &s->model);
    syn_graph_free(graph);
    return status;
}

static bool allocate(const struct options *o, struct subject *s)
{
    struct syn_input input = syn_model_input(s->model);
    size_t size = syn_layout_size(syn_model_layout(s->model));
    size_t pixels = o->batch * input.channels * input.height * input.width;
    size_t numbers = o->batch * o->time;
    s->weights = malloc(size * sizeof *s->weights);
    s->gradient = malloc(size * sizeof *s->gradient);
    s->images = malloc((pixels + 1) * sizeof *s->images);
    s->numbers = malloc(2 * numbers * sizeof *s->numbers);
    if (!s->weights || !s->gradient || !s->images || !s->numbers)
        return false;
    struct syn_random random;
    syn_random_start(&random, 1, 0);
    for (size_t i = 0; i < pixels; i++)
        s->images[i] = syn_random_normal(&random);
    for (size_t i = 0; i < 2 * numbers; i++)
        s->numbers[i] = (int32_t)syn_random_below(&random, input.classes);
    s->examples = (struct syn_examples){.count = o->batch,
                                        .images = s->images,
                                        .tokens = s->numbers + numbers,
                                        .labels = s->numbers};
    syn_model_initialise(s->model, 1, s->weights);
    return true;
}

static int by_value(const void *one, const void *other)
{
    double a = *(const double *)one;
    double b = *(const double *)other;
    return a < b ? -1 : a > b;
}

/* The median step time over at least o->seconds, without the first step. */
static enum syn_status measure(const struct options *o, struct subject *s, double *median)
{
    static double times[MOST_RUNS];
    size_t count = 0;
    double began = now_ms();
    struct syn_step_result result;
    for (size_t i = 0; i < MOST_RUNS; i++) {
        double start = now_ms();
        s->examples.step = i;
        enum syn_status status =
            syn_model_step(s->model, s->weights, &s->examples, NULL, s->gradient, &result);
        if (status != SYN_OK)
            return status;
        if (i > 0)
            times[count++] = now_ms() - start;
        else
            syn_model_profile(s->model, o->layers);
        if (i >= LEAST_RUNS && now_ms() - began > o->seconds * 1e3)
            break;
    }
    qsort(times, count, sizeof times[0], by_value);
    *median = times[count / 2];
    return SYN_OK;
}

static void print_layers(const struct subject *s)
{
    struct syn_kernel k;
    printf("%-22s %-20s %-22s %10s %9s\n", "layer", "work", "implementation", "ms", "GFLOP/s");
    for (size_t i = 0; syn_model_kernel(s->model, i, &k); i++) {
        printf("%-22s %-20s %-22s %10.4f", k.layer, k.work, k.implementation, k.ms);
        if (k.gflop > 0 && k.ms > 0)
            printf(" %9.1f", k.gflop / k.ms * 1e3);
        printf("\n");
    }
    printf("\n");
}

static void print_result(const struct options *o, const struct subject *s, double ms, double mb)
{
    size_t size = syn_layout_size(syn_model_layout(s->model));
    size_t references = syn_model_reference_kernels(s->model);
    double rate = (double)o->batch * 1e3 / ms;
    if (o->json)
        printf("{\"model\": \"%s\", \"params\": %zu, \"batch\": %" PRIu64 ", \"threads\": %" PRIu64
               ", \"ms\": %.3f, \"images_per_s\": %.1f, \"ref_primitives\": %zu, \"peak_mb\": %.1f"
               ", \"engine\": \"syncopate\"}\n",
               o->model, size, o->batch, o->threads, ms, rate, references, mb);
    else
        printf("%s, %zu parameters, batch %" PRIu64 ", %" PRIu64
               " threads: %.2f ms per step, %.1f examples/s, %zu reference kernels, peak %.0f MB\n",
               o->model, size, o->batch, o->threads, ms, rate, references, mb);
}

static int run(const struct command *self, int argc, char **argv)
{
    struct options options;
    struct flag_set set = {&table, &options};
    struct flags flags;
    enum syn_status status = flags_parse(self, &set, 1, argc, argv, &flags);
    if (status != SYN_OK || flags.wants_help)
        return exit_code(status);
    if (flags.word_count > 0)
        return usage_error("bench step takes flags only, not \"%.64s\"", flags.words[0]);
    double before = resident_mb();
    double ms = 0;
    struct subject subject = {0};
    status = build(&options, &subject);
    if (status == SYN_OK && !allocate(&options, &subject))
        status = SYN_MEMORY;
    if (status == SYN_OK)
        status = measure(&options, &subject, &ms);
    if (status == SYN_OK && options.layers)
        print_layers(&subject);
    if (status == SYN_OK)
        print_result(&options, &subject, ms, peak_mb() - before);
    release(&subject);
    return exit_code(status);
}

const struct command command_bench_step = {"step", "measure the time of one training step",
                                           "--model M [--batch B] [--threads T] [--layers]", run};
