/* Quantities are typed with their units, as in bench/lab: 50us, 1gbit. A method is a recipe, or two
 * joined by a plus: the schedule of the first and what the second sends. A worker or reducer flag
 * applies to all methods. */
#include "simulate_flags.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <syncopate/recipe.h>
#include <syncopate/reducer.h>
#include <syncopate/text.h>

#define ROW(...) SYN_SETTING_ROW(struct simulate_options, __VA_ARGS__)

static const struct syn_setting rows[] = {
    ROW(TEXT, workers, "4..1024", 0, 0, NULL,
        "simulate this many workers: 8, or 4,6,8, or 4..1024 (doubling)"),
    ROW(TEXT, latency, "50us", 0, 0, NULL,
        "assume this message latency between two hosts: 50us, 0.4ms"),
    ROW(TEXT, bandwidth, "1gbit", 0, 0, NULL,
        "assume this bandwidth of each host's link in each direction: 100mbit, 1gbit"),
    ROW(TEXT, burst, "0ms", 0, 0, NULL,
        "let an idle link send a burst of this length at once, as time at its rate; bench/lab: "
        "8ms"),
    ROW(TEXT, compute, "100ms", 0, 0, NULL,
        "assume this time for the forward pass, backward pass and update of a step: 92ms, 1.5s"),
    ROW(REAL, jitter, "0", 0, 10, NULL,
        "vary compute times by this standard deviation, as a share of the mean"),
    ROW(COUNT, params, "1000000", 1, 4294967295.0, NULL, "assume a model of this many parameters"),
    ROW(TEXT, recipe, "all", 0, 0, NULL,
        "simulate this recipe of syncopate list; a mix as ssd-sgd+gtopk; several with commas; or "
        "all"),
    ROW(COUNT, servers, "0", 0, 1024, NULL, "use this many parameter servers; 0: peer to peer"),
    ROW(REAL, select_ms, "-1", -1, 1e9, NULL,
        "assume this time for residual, selection and coding of sparse methods; -1: 0.6 ns per "
        "parameter"),
    ROW(REAL, merge_ms, "-1", -1, 1e9, NULL,
        "assume this time to add one worker's contribution to another's; -1: 10 ns per entry, "
        "0.5 ns per dense value"),
    ROW(REAL, entry_bytes, "0", 0, 1024, NULL,
        "assume this many bytes per list entry on the wire; 0: value and Rice-coded index"),
    ROW(COUNT, steps, "0", 0, 1000000, NULL,
        "average over this many steps; 0: as many as fit in a few seconds"),
    ROW(COUNT, seed, "1", 0, 1e15, NULL, "use this random seed for the jitter"),
    ROW(TEXT, out, "", 0, 0, NULL,
        "write the curves to this file, for syncopate report (-o is the same)"),
    ROW(SWITCH, json, "off", 0, 1, NULL, "print one JSON object per line"),
};
static const struct syn_settings_table table = {"Simulation", rows, sizeof rows / sizeof rows[0]};

struct unit {
    const char *name;
    double factor;
};

static const struct unit times[] = {{"ns", 1e-6}, {"us", 1e-3}, {"ms", 1}, {"s", 1e3}, {NULL, 0}};
static const struct unit rates[] = {
    {"kbit", 0.125}, {"mbit", 125}, {"gbit", 125000}, {NULL, 0}}; /* in bytes per ms */

static enum syn_status read_quantity(const char *flag, const char *text, const struct unit *units,
                                     double *result)
{
    char *end;
    double number = syn_text_number(text, &end);
    for (; end > text && number >= 0 && number < 1e12 && units->name; units++)
        if (strcmp(end, units->name) == 0) {
            *result = number * units->factor;
            return SYN_OK;
        }
    usage_error("--%s: \"%.64s\" is not valid; expected a number with its unit, as in %s", flag,
                text, strcmp(flag, "bandwidth") == 0 ? "100mbit or 1gbit" : "50us or 1.5ms");
    return SYN_INVALID;
}

static enum syn_status refuse_workers(const char *text)
{
    usage_error(
        "--workers: \"%.64s\" is not valid; expected 8, or 4,6,8, or 4..1024, each 1 to 4096",
        text);
    return SYN_INVALID;
}

static bool is_number_of_workers(unsigned long number)
{
    return number >= 1 && number <= 4096;
}

/* 4..1024 */
static enum syn_status read_range(const char *text, unsigned long first, const char *rest,
                                  struct simulate_request *request)
{
    char *end;
    unsigned long last = strtoul(rest, &end, 10);
    if (*end || end == rest || !is_number_of_workers(last) || last < first)
        return refuse_workers(text);
    for (unsigned long size = first; size <= last; size *= 2)
        request->sizes[request->size_count++] = size;
    if (request->sizes[request->size_count - 1] != last)
        request->sizes[request->size_count++] = last;
    return SYN_OK;
}

static enum syn_status read_workers(const char *text, struct simulate_request *request)
{
    const char *at = text;
    for (;;) {
        char *end;
        unsigned long size = strtoul(at, &end, 10);
        if (end == at || !is_number_of_workers(size) || request->size_count == MOST_SIZES)
            return refuse_workers(text);
        if (at == text && strncmp(end, "..", 2) == 0)
            return read_range(text, size, end + 2, request);
        request->sizes[request->size_count++] = size;
        if (*end == '\0')
            return SYN_OK;
        if (*end != ',')
            return refuse_workers(text);
        at = end + 1;
    }
}

/* The command line, read on top of a method's own settings. */
struct line {
    const struct command *self;
    int argc;
    char **argv;
};

static enum syn_status read_flags(const struct line *line, struct simulate_options *options,
                                  struct syn_worker_options *worker, struct flags *flags)
{
    const struct flag_set sets[] = {{&table, options},
                                    {&syn_worker_settings, worker},
                                    {&syn_reducer_settings, &worker->reducer}};
    return flags_read(line->self, sets, 3, line->argc, line->argv, flags);
}

/* "ssd-sgd+gtopk": a worker of the first recipe with the reducer of the second. */
static enum syn_status apply_recipe(const char *name, struct syn_worker_options *worker)
{
    char first[64];
    const char *plus = strchr(name, '+');
    snprintf(first, sizeof first, "%.*s", (int)(plus ? plus - name : 63), name);
    enum syn_status status = syn_recipe_apply_worker(first, worker);
    return status == SYN_OK && plus ? syn_recipe_apply(plus + 1, &worker->reducer) : status;
}

static enum syn_status add_method(const struct line *line, const char *name,
                                  struct simulate_request *request)
{
    const struct simulate_options *options = &request->options;
    struct simulate_method *method = &request->methods[request->method_count];
    struct simulate_options again;
    struct syn_worker_options worker;
    struct flags flags;
    if (request->method_count == MOST_METHODS) {
        usage_error("--recipe: more than %d methods", MOST_METHODS);
        return SYN_INVALID;
    }
    syn_worker_defaults(&worker);
    enum syn_status status = apply_recipe(name, &worker);
    if (status == SYN_OK)
        status = read_flags(line, &again, &worker, &flags);
    if (status == SYN_OK)
        status = syn_traffic_of(&worker, (size_t)options->params, (size_t)options->servers,
                                &method->traffic);
    if (status != SYN_OK)
        return status;
    bool is_sparse = method->traffic.select_ms > 0;
    if (is_sparse && options->select_ms >= 0)
        method->traffic.select_ms = options->select_ms;
    if (options->merge_ms >= 0)
        method->traffic.merge_ms = options->merge_ms;
    if (is_sparse && options->entry_bytes > 0) {
        uint64_t entries = (uint64_t)(worker.reducer.density * (double)options->params);
        method->traffic.bytes = (double)(entries ? entries : 1) * options->entry_bytes;
    }
    snprintf(method->name, sizeof method->name, "%s", name);
    method->worker = worker;
    request->method_count++;
    return SYN_OK;
}

/* Whether a recipe can be simulated with this number of servers, which may be 0. */
static bool goes_with(const char *name, uint64_t servers)
{
    struct syn_worker_options worker;
    syn_worker_defaults(&worker);
    if (apply_recipe(name, &worker) != SYN_OK)
        return false;
    struct syn_traits traits = syn_worker_traits(&worker);
    return servers ? !traits.is_merged : !traits.is_async;
}

static enum syn_status add_all(const struct line *line, struct simulate_request *request)
{
    static const char *const mix = "ssd-sgd+gtopk";
    uint64_t servers = request->options.servers;
    for (size_t i = 0; syn_recipe_name(i); i++) {
        enum syn_status status = SYN_OK;
        if (goes_with(syn_recipe_name(i), servers))
            status = add_method(line, syn_recipe_name(i), request);
        if (status != SYN_OK)
            return status;
    }
    return goes_with(mix, servers) ? add_method(line, mix, request) : SYN_OK;
}

static enum syn_status add_methods(const struct line *line, struct simulate_request *request)
{
    char names[SYN_TEXT_BYTES];
    char *rest = names;
    snprintf(names, sizeof names, "%s", request->options.recipe);
    if (strcmp(names, "all") == 0)
        return add_all(line, request);
    while (rest) {
        char *comma = strchr(rest, ',');
        if (comma)
            *comma = '\0';
        enum syn_status status = add_method(line, rest, request);
        if (status != SYN_OK)
            return status;
        rest = comma ? comma + 1 : NULL;
    }
    return SYN_OK;
}

static enum syn_status read_cluster(struct simulate_request *request)
{
    const struct simulate_options *options = &request->options;
    struct syn_cluster *cluster = &request->cluster;
    *cluster = (struct syn_cluster){.servers = (size_t)options->servers,
                                    .jitter = options->jitter,
                                    .seed = options->seed,
                                    .steps = options->steps};
    enum syn_status status = read_workers(options->workers, request);
    if (status == SYN_OK)
        status = read_quantity("latency", options->latency, times, &cluster->latency_ms);
    if (status == SYN_OK)
        status = read_quantity("bandwidth", options->bandwidth, rates, &cluster->bytes_per_ms);
    if (status == SYN_OK)
        status = read_quantity("burst", options->burst, times, &cluster->burst_ms);
    if (status == SYN_OK)
        status = read_quantity("compute", options->compute, times, &cluster->compute_ms);
    return status;
}

enum syn_status simulate_flags_parse(const struct command *self, int argc, char **argv,
                                     struct simulate_request *request)
{
    static char out[] = "--out";
    struct line line = {self, argc, argv};
    struct syn_worker_options worker;
    struct flags flags;
    flags_spell_out(argc, argv, out);
    memset(request, 0, sizeof *request);
    syn_settings_defaults(&table, &request->options);
    syn_worker_defaults(&worker);
    enum syn_status status = read_flags(&line, &request->options, &worker, &flags);
    if (status != SYN_OK)
        return status;
    request->wants_help = flags.wants_help;
    if (flags.wants_help)
        return SYN_OK;
    if (flags.word_count > 0) {
        usage_error("\"%.64s\" is not a flag; see syncopate simulate --help", flags.words[0]);
        return SYN_INVALID;
    }
    status = read_cluster(request);
    return status == SYN_OK ? add_methods(&line, request) : status;
}
