/* syncopate simulate: what each method would cost on clusters that are not at hand. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "progress.h"
#include "simulate_flags.h"

/* results[method][size] */
typedef struct syn_simulation results_table[MOST_METHODS][MOST_SIZES];

static double step_ms(const struct syn_simulation *result)
{
    return result->step_ms;
}

static double efficiency(const struct syn_simulation *result)
{
    return 100 * result->efficiency;
}

static double sent_kb(const struct syn_simulation *result)
{
    return result->bytes_out / 1000;
}

static double busiest_link(const struct syn_simulation *result)
{
    return 100 * result->busiest_link;
}

static const struct {
    const char *label;
    const char *unit;
    double (*value)(const struct syn_simulation *result);
} charts[] = {
    {"step time", "ms", step_ms},
    {"scaling efficiency", "%", efficiency},
    {"sent by each worker per step", "KB", sent_kb},
    {"use of the busiest link", "%", busiest_link},
};
#define CHARTS (sizeof charts / sizeof charts[0])

static enum syn_status simulate_all(const struct simulate_request *request, results_table results)
{
    struct progress bar;
    enum syn_status status = SYN_OK;
    progress_begin(&bar, "simulating", request->method_count * request->size_count);
    for (size_t m = 0; m < request->method_count; m++) {
        for (size_t s = 0; s < request->size_count && status == SYN_OK; s++) {
            struct syn_cluster cluster = request->cluster;
            cluster.workers = request->sizes[s];
            progress_tell(&bar, m * request->size_count + s, request->methods[m].name);
            struct syn_traffic traffic = request->methods[m].traffic;
            if (request->methods[m].worker.reducer.density == SYN_AUTO)
                status = syn_traffic_fit(&request->methods[m].worker,
                                         (size_t)request->options.params, &cluster, &traffic);
            if (status == SYN_OK)
                status = syn_simulate(&cluster, &traffic, &results[m][s]);
        }
    }
    progress_end(&bar);
    return status;
}

static void print_chart(const struct simulate_request *request, results_table results, size_t chart)
{
    printf("%s%s (%s)\n%8s", chart ? "\n" : "", charts[chart].label, charts[chart].unit, "workers");
    for (size_t m = 0; m < request->method_count; m++)
        printf(" %13s", request->methods[m].name);
    printf("\n");
    for (size_t s = 0; s < request->size_count; s++) {
        printf("%8zu", request->sizes[s]);
        for (size_t m = 0; m < request->method_count; m++)
            printf(" %13.4g", charts[chart].value(&results[m][s]));
        printf("\n");
    }
}

static void print_json(const struct simulate_request *request, results_table results)
{
    for (size_t m = 0; m < request->method_count; m++)
        for (size_t s = 0; s < request->size_count; s++) {
            const struct syn_simulation *result = &results[m][s];
            printf("{\"recipe\": \"%s\", \"workers\": %zu, \"step_ms\": %.6g, "
                   "\"efficiency\": %.6g, \"bytes_out\": %.6g, \"busiest_link\": %.6g}\n",
                   request->methods[m].name, request->sizes[s], result->step_ms, result->efficiency,
                   result->bytes_out, result->busiest_link);
        }
}

static void write_chart(FILE *file, const struct simulate_request *request, results_table results,
                        size_t chart)
{
    fprintf(file, "%s\n{\"label\": \"%s\", \"unit\": \"%s\", \"series\": [", chart ? "," : "",
            charts[chart].label, charts[chart].unit);
    for (size_t m = 0; m < request->method_count; m++) {
        fprintf(file, "%s\n{\"name\": \"%s\", \"points\": [", m ? "," : "",
                request->methods[m].name);
        for (size_t s = 0; s < request->size_count; s++)
            fprintf(file, "%s[%zu, %.6g]", s ? ", " : "", request->sizes[s],
                    charts[chart].value(&results[m][s]));
        fprintf(file, "]}");
    }
    fprintf(file, "]}");
}

static void write_charts(FILE *file, const struct simulate_request *request, results_table results)
{
    const struct simulate_options *options = &request->options;
    fprintf(file,
            "{\"kind\": \"simulation\", \"title\": \"%llu parameters, %s to compute, links of %s "
            "and %s\",\n\"x\": {\"label\": \"workers\", \"unit\": \"\"}, \"charts\": [",
            (unsigned long long)options->params, options->compute, options->bandwidth,
            options->latency);
    for (size_t chart = 0; chart < CHARTS; chart++)
        write_chart(file, request, results, chart);
    fprintf(file, "]}\n");
}

/* The file is either complete or not written at all. */
static int write_out(const struct simulate_request *request, results_table results)
{
    char part[SYN_TEXT_BYTES + 8];
    const char *path = request->options.out;
    snprintf(part, sizeof part, "%s.part", path);
    FILE *file = fopen(part, "w");
    if (!file)
        return usage_error("--out: cannot write \"%s\": %s", path, strerror(errno));
    write_charts(file, request, results);
    bool is_good = ferror(file) == 0;
    is_good = fclose(file) == 0 && is_good && rename(part, path) == 0;
    if (is_good)
        return EXIT_GOOD;
    usage_error("--out: cannot write \"%s\": %s", path, strerror(errno));
    remove(part);
    return EXIT_FAILED;
}

static int run(const struct command *self, int argc, char **argv)
{
    struct simulate_request request;
    static results_table results;
    enum syn_status status = simulate_flags_parse(self, argc, argv, &request);
    if (status != SYN_OK || request.wants_help)
        return exit_code(status);
    status = simulate_all(&request, results);
    if (status != SYN_OK)
        return exit_code(status);
    if (request.options.json)
        print_json(&request, results);
    for (size_t chart = 0; chart < CHARTS && !request.options.json; chart++)
        print_chart(&request, results, chart);
    return request.options.out[0] ? write_out(&request, results) : EXIT_GOOD;
}

const struct command command_simulate = {
    "simulate", "predict the cost of a method with more workers",
    "[--workers 4..1024] [--latency 50us] [--bandwidth 1gbit] [--compute 100ms] ...", run};
