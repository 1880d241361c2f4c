/* From measurements to the predicted time of each method: the simulator (syncopate/simulate.h) runs
 * each method's messages over links of the measured latency and bandwidth.
 *
 * Synchronous methods wait for the slowest worker in every step; the processing of their gradients
 * is included in what was measured. Delayed methods do not wait like this, but the processor time
 * of their exchange is added to computing, multiplied by the number of workers that share a
 * processor.
 *
 * What counts is the time to the same accuracy: steps before a delay begins or while the density is
 * still falling are slower, and there are many of them in a short run; and some methods need more
 * steps. Among methods that are about equally fast, the one that changes training least is best:
 * plain SGD first, then exact gradients that arrive late, then as much of them as the link carries,
 * then small parts of them. */
#include <math.h>
#include <string.h>

#include <syncopate/simulate.h>
#include <syncopate/text.h>

#include "engine/base/fail.h"
#include "engine/base/json.h"
#include "engine/train/advise/advise.h"
#include "engine/train/options/options.h"

#define AS_GOOD 1.05 /* times the fastest */

/* For which optimizers a method is proposed: what is late or left out is wrong for those that
 * divide by the size of past gradients, and local steps are a change of training that sgd on one
 * network does not need. */
enum suits { ANY, SGD, ADAPTIVE };

/* In order of preference; first the methods that --algo accepts, then the mix.
 *
 * How many more steps a method needs is a rough figure, between the steps of LeNet to 98.5 % of
 * MNIST's test images (docs/comparison.md: gtopk 1.0, strom 1.2 times DDP's) and the accuracy that
 * ResNet-20 is behind ssgd (docs/results.md: gtopk 0.4 points and ssd-sgd 0.2 after 20 epochs,
 * ssd-sgd several after three). topk's is gtopk's. diloco's stands for the loss of a GPT with 30
 * local steps, which is 0.7 to 1.0 % above that of ssgd (docs/pytorch.md). */
static const struct {
    const char *name;
    const char *recipe;
    const char *inside; /* the recipe whose reducer it has; NULL: its own */
    double steps;       /* to the same accuracy, times ssgd's */
    enum suits suits;
} methods[] = {
    {"ssgd", "ssgd", NULL, 1, ANY},
    {"od-sgd", "od-sgd", NULL, 1, SGD},
    {"fit", "fit", NULL, 1, SGD},
    {"ssd-sgd", "ssd-sgd", NULL, 1.2, SGD},
    {"diloco", "diloco", NULL, 1.1, ADAPTIVE},
    {"gtopk", "gtopk", NULL, 1.1, SGD},
    {"topk", "topk", NULL, 1.1, SGD},
    {"strom", "strom", NULL, 1.2, SGD},
    {"ssd-sgd+gtopk", "ssd-sgd", "gtopk", 1.5, SGD},
};
#define METHODS (sizeof methods / sizeof methods[0])

/* By what factor work takes longer because workers share processors. */
static double crowding(const struct syn_advice *advice)
{
    double factor = advice->alone_ms > 0 ? advice->compute_ms / advice->alone_ms : 1;
    return factor > 1 ? factor : 1;
}

/* The processor time of a delayed exchange. */
static double background_ms(const struct syn_advice *advice, const struct syn_traffic *traffic)
{
    double workers = (double)advice->workers;
    double pulls = 1 + 1 / (double)traffic->pull_every;
    double share = traffic->bytes / (4 * (double)advice->params); /* of the measured traffic */
    double message_ms = share * advice->links.together_cpu_ms;
    return traffic->is_reduced ? (workers - 1) * pulls * message_ms * crowding(advice) : 0;
}

/* The time of a step without waiting for messages. */
static double work_ms(const struct syn_advice *advice, const struct syn_traffic *traffic)
{
    bool is_sparse = traffic->select_ms > 0 && !isnan(advice->sparse_ms);
    if (traffic->every > 1)
        return advice->compute_ms; /* nobody waits between two exchanges */
    if (traffic->timing != SYN_TIMING_DELAYED)
        return is_sparse ? advice->sparse_ms : advice->together_ms;
    double delayed_ms = isnan(advice->delayed_ms) ? advice->compute_ms : advice->delayed_ms;
    double selecting_ms = is_sparse ? advice->sparse_ms - advice->together_ms : 0;
    return delayed_ms + background_ms(advice, traffic) + fmax(selecting_ms, 0);
}

static struct syn_cluster cluster_of(const struct syn_advice *advice,
                                     const struct syn_traffic *traffic)
{
    const struct syn_links_measure *links = &advice->links;
    double message = 4 * (double)advice->params / (double)advice->workers;
    bool keeps_busy = traffic->timing == SYN_TIMING_DELAYED;
    double length =
        (keeps_busy ? links->together_ms : links->rested_ms) - links->together_latency_ms;
    return (struct syn_cluster){
        .workers = advice->workers,
        .latency_ms = links->together_latency_ms,
        .bytes_per_ms = message / (length > 1e-6 ? length : 1e-6),
        .compute_ms = work_ms(advice, traffic),
    };
}

/* What was measured around a ring is right for methods that send around it. Others also use pairs
 * that are no neighbours there, and wait for the slowest of them. */
static void use_every_pair(const struct syn_links_measure *links, struct syn_cluster *cluster)
{
    cluster->latency_ms = fmax(cluster->latency_ms, links->worst_latency_ms);
    cluster->bytes_per_ms = fmin(cluster->bytes_per_ms, links->worst_bytes_per_ms);
}

/* Consecutive steps of a run with the same cost. */
struct stage {
    uint64_t end;   /* the step after its last */
    double density; /* SYN_AUTO: as much as fits */
    bool blocks;    /* the delay has not begun */
};

/* The stage of step `at`: delays begin after their warm-up, densities fall in stages of their
 * warm-up. */
static struct stage stage_at(const struct syn_train_options *options, struct syn_length length,
                             uint64_t at)
{
    double per_epoch = (double)length.steps_per_epoch;
    double falling = syn_train_density_warmup(options) * per_epoch; /* steps */
    bool is_auto = options->worker.reducer.density == SYN_AUTO;
    struct stage stage = {
        .end = length.steps,
        .density = is_auto ? SYN_AUTO : syn_train_density(options, (double)at / per_epoch),
        .blocks = syn_worker_traits(&options->worker).is_delayed && at < options->worker.warmup,
    };
    if (stage.blocks && options->worker.warmup < stage.end)
        stage.end = options->worker.warmup;
    if (stage.blocks && is_auto)
        stage.density = 1; /* fit begins with everything, in few bits */
    if ((double)at < falling) {
        double next = ceil((floor(4 * (double)at / falling) + 1) * falling / 4);
        stage.end = next < (double)stage.end ? (uint64_t)next : stage.end;
    }
    stage.end = stage.end > at ? stage.end : at + 1;
    return stage;
}

static enum syn_status simulate(const struct syn_train_options *options, struct stage stage,
                                const struct syn_advice *advice, struct syn_simulation *simulation)
{
    struct syn_worker_options worker = options->worker;
    struct syn_traffic traffic;
    worker.reducer.density = stage.density;
    SYN_TRY(syn_traffic_of(&worker, advice->params, 0, &traffic));
    if (stage.blocks)
        traffic.timing = SYN_TIMING_SYNC;
    struct syn_cluster cluster = cluster_of(advice, &traffic);
    if (stage.density == SYN_AUTO)
        SYN_TRY(syn_traffic_fit(&worker, advice->params, &cluster, &traffic));
    if (!traffic.is_reduced)
        use_every_pair(&advice->links, &cluster);
    bool is_sparse = traffic.select_ms > 0;
    traffic.select_ms = 0; /* is part of the work */
    /* Adding dense arrays is part of the background work, and otherwise small compared with the
     * transfer. */
    traffic.merge_ms = is_sparse ? traffic.merge_ms * crowding(advice) : 0;
    return syn_simulate(&cluster, &traffic, simulation);
}

/* The options with that method, resolved for a run of this length. */
static enum syn_status choose(const struct syn_train_options *asked, struct syn_length length,
                              size_t method, struct syn_train_options *options)
{
    *options = *asked;
    options->algo = methods[method].recipe;
    SYN_TRY(syn_train_apply_algo(options));
    if (methods[method].inside)
        SYN_TRY(syn_recipe_apply(methods[method].inside, &options->worker.reducer));
    syn_length_resolve(length, options);
    return SYN_OK;
}

/* Whether the method suits the optimizer, and is possible with the other settings. */
static bool is_eligible(const struct syn_train_options *options, size_t method)
{
    bool adapts = syn_worker_traits(&options->worker).adapts;
    bool suits = methods[method].suits == ANY || (methods[method].suits == ADAPTIVE) == adapts;
    return suits && syn_worker_is_possible(&options->worker);
}

static enum syn_status predict(const struct syn_train_options *asked, struct syn_length length,
                               size_t method, struct syn_advice *advice)
{
    struct syn_train_options options;
    struct syn_simulation simulation = {0};
    double run_ms = 0;
    SYN_TRY(choose(asked, length, method, &options));
    if (!is_eligible(&options, method) &&
        method > 0) /* plain SGD's refusal is the user's mistake */
        return SYN_OK;
    for (uint64_t at = 0; at < length.steps;) {
        struct stage stage = stage_at(&options, length, at);
        SYN_TRY(simulate(&options, stage, advice, &simulation));
        run_ms += (double)(stage.end - at) * simulation.step_ms;
        at = stage.end;
    }
    struct syn_advice_row *row = &advice->rows[advice->count++];
    snprintf(row->name, sizeof row->name, "%s", methods[method].name);
    row->step_ms = simulation.step_ms; /* of the last stage */
    row->run_ms = run_ms / (double)length.steps;
    row->even_ms = row->run_ms * methods[method].steps;
    row->bytes_out = simulation.bytes_out;
    row->is_mix = methods[method].inside != NULL;
    return SYN_OK;
}

static void find_best(struct syn_advice *advice)
{
    double fastest = advice->rows[0].even_ms;
    for (size_t i = 1; i < advice->count; i++)
        if (!advice->rows[i].is_mix)
            fastest = fmin(fastest, advice->rows[i].even_ms);
    advice->best = 0;
    while (advice->rows[advice->best].even_ms > AS_GOOD * fastest)
        advice->best++;
    advice->is_dense_fine = advice->best == 0;
}

static void put_verdict(struct syn_advice *advice)
{
    const struct syn_advice_row *best = &advice->rows[advice->best];
    double dense_ms = advice->rows[0].step_ms;
    if (advice->is_dense_fine)
        syn_text_print(
            advice->verdict, sizeof advice->verdict,
            "plain ssgd is as good as anything here (%.1f ms per step, %.0f %% of it computing): "
            "nothing should be compressed or delayed",
            dense_ms, 100 * advice->compute_ms / dense_ms);
    else
        syn_text_print(advice->verdict, sizeof advice->verdict,
                       "use %s: %.1f ms per step predicted (%.1f over the run, with warm-ups), "
                       "ssgd %.1f ms, computing alone %.1f ms%s",
                       best->name, best->step_ms, best->run_ms, dense_ms, advice->compute_ms,
                       strcmp(best->name, "diloco") == 0
                           ? "; multiply --lr by the square root of the number of workers"
                           : "");
}

enum syn_status syn_advise_predict(const struct syn_train_options *asked, struct syn_length length,
                                   struct syn_advice *advice)
{
    advice->count = 0;
    for (size_t i = 0; i < METHODS; i++)
        SYN_TRY(predict(asked, length, i, advice));
    find_best(advice);
    put_verdict(advice);
    return SYN_OK;
}

size_t syn_advice_json(const struct syn_advice *advice, char *text, size_t capacity)
{
    struct syn_json json = syn_json_begin(text, capacity);
    const struct syn_links_measure *links = &advice->links;
    syn_json_count(&json, "workers", advice->workers);
    syn_json_count(&json, "params", advice->params);
    syn_json_real(&json, "latency_ms", links->latency_ms);
    syn_json_real(&json, "worst_latency_ms", links->worst_latency_ms);
    syn_json_real(&json, "mbit_per_s", links->bytes_per_ms / 125);
    syn_json_real(&json, "worst_mbit_per_s", links->worst_bytes_per_ms / 125);
    syn_json_count(&json, "worst_from", links->worst_from);
    syn_json_count(&json, "worst_to", links->worst_to);
    syn_json_real(&json, "all_at_once_latency_ms", links->together_latency_ms);
    syn_json_real(&json, "all_at_once_ms", links->together_ms);
    syn_json_real(&json, "all_at_once_cpu_ms", links->together_cpu_ms);
    syn_json_real(&json, "rested_ms", links->rested_ms);
    syn_json_real(&json, "alone_ms", advice->alone_ms);
    syn_json_real(&json, "compute_ms", advice->compute_ms);
    syn_json_real(&json, "together_ms", advice->together_ms);
    syn_json_real(&json, "delayed_ms", advice->delayed_ms);
    syn_json_real(&json, "sparse_ms", advice->sparse_ms);
    for (size_t i = 0; i < advice->count; i++) {
        char name[64];
        snprintf(name, sizeof name, "%s_step_ms", advice->rows[i].name);
        syn_json_real(&json, name, advice->rows[i].step_ms);
        snprintf(name, sizeof name, "%s_run_ms", advice->rows[i].name);
        syn_json_real(&json, name, advice->rows[i].run_ms);
        snprintf(name, sizeof name, "%s_even_ms", advice->rows[i].name);
        syn_json_real(&json, name, advice->rows[i].even_ms);
    }
    syn_json_text(&json, "best", advice->rows[advice->best].name);
    syn_json_flag(&json, "is_dense_fine", advice->is_dense_fine);
    syn_json_text(&json, "verdict", advice->verdict);
    return syn_json_end(&json);
}
