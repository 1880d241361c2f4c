/* The simulation: workers compute, contribute and wait as their method requires, and their messages
 * pass through the network; the clock processes one event after the other until the last step is
 * over.
 *
 * It uses events rather than formulas, because the formulas of single exchanges do not add up once
 * workers are out of step: a late worker in a ring delays all others in turn, a delayed exchange is
 * hidden by a computation only while it is shorter, and servers are slow when many workers push at
 * once. */
#include <syncopate/simulate.h>

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "simulate/member.h"

#define MOST_MEMBERS 4096
#define MOST_STEPS   1000000

static bool is_length(double x)
{
    return x >= 0 && x < 1e15;
}

static enum syn_status check_cluster(const struct syn_cluster *cluster)
{
    if (cluster->workers < 1 || cluster->workers > MOST_MEMBERS || cluster->servers > MOST_MEMBERS)
        return syn_fail(SYN_INVALID, "cannot simulate %zu workers and %zu servers; at most %d each",
                        cluster->workers, cluster->servers, MOST_MEMBERS);
    if (!is_length(cluster->latency_ms) || !is_length(cluster->compute_ms) ||
        !is_length(cluster->burst_ms))
        return syn_fail(SYN_INVALID,
                        "latency %g ms, compute %g ms, burst %g ms; expected numbers of at least 0",
                        cluster->latency_ms, cluster->compute_ms, cluster->burst_ms);
    if (!(cluster->bytes_per_ms > 0))
        return syn_fail(SYN_INVALID, "bandwidth %g bytes per ms; expected more than 0",
                        cluster->bytes_per_ms);
    if (!(cluster->jitter >= 0 && cluster->jitter <= 10))
        return syn_fail(SYN_INVALID, "jitter %g; expected 0 to 10", cluster->jitter);
    if (cluster->steps > MOST_STEPS)
        return syn_fail(SYN_INVALID, "%llu steps; expected at most %d",
                        (unsigned long long)cluster->steps, MOST_STEPS);
    return SYN_OK;
}

static enum syn_status check(const struct syn_cluster *cluster, const struct syn_traffic *traffic,
                             struct syn_pattern *pattern)
{
    SYN_TRY(check_cluster(cluster));
    if (!syn_pattern_find(traffic, cluster->workers, pattern))
        return syn_fail(SYN_INVALID, "cannot simulate unknown pattern \"%.64s\"", traffic->pattern);
    if (!is_length(traffic->bytes) || !is_length(traffic->pull_bytes) ||
        !is_length(traffic->select_ms) || !is_length(traffic->merge_ms))
        return syn_fail(
            SYN_INVALID,
            "%g and %g bytes, select %g ms, merge %g ms; expected numbers of at least 0",
            traffic->bytes, traffic->pull_bytes, traffic->select_ms, traffic->merge_ms);
    if (traffic->pull_every < 1 || traffic->pull_every > MOST_STEPS)
        return syn_fail(SYN_INVALID, "a pull every %llu steps; expected 1 to %d",
                        (unsigned long long)traffic->pull_every, MOST_STEPS);
    if (pattern->has_servers && cluster->servers == 0)
        return syn_fail(SYN_INVALID, "the pattern %s needs at least one server", traffic->pattern);
    if (traffic->timing == SYN_TIMING_ASYNC && !pattern->has_servers)
        return syn_fail(SYN_INVALID, "asynchronous workers need parameter servers");
    return SYN_OK;
}

/* The mean is compute_ms; log-normal, as no step takes negative time and some take long. */
static void compute(struct syn_scene *scene, size_t number, double now_ms)
{
    const struct syn_cluster *cluster = scene->cluster;
    double jitter = cluster->jitter;
    double length = cluster->compute_ms;
    if (jitter > 0) {
        double spread = log(1 + jitter * jitter);
        double z = (double)syn_random_normal(&scene->members[number].random);
        length *= exp(sqrt(spread) * z - spread / 2);
    }
    syn_events_add(&scene->events, (struct syn_event){.ms = now_ms + length,
                                                      .kind = SYN_EVENT_COMPUTED,
                                                      .to = (uint32_t)number});
}

/* The worker has a gradient, and its previous exchange has ended. */
static void hand_over(struct syn_scene *scene, size_t number, double now_ms)
{
    scene->members[number].is_waiting = false;
    syn_events_add(&scene->events, (struct syn_event){.ms = now_ms + scene->traffic->select_ms,
                                                      .kind = SYN_EVENT_POSTED,
                                                      .to = (uint32_t)number});
}

static void end_step(struct syn_scene *scene, size_t number, double now_ms)
{
    struct syn_member *worker = &scene->members[number];
    worker->steps++;
    worker->step_ms = now_ms;
    compute(scene, number, now_ms);
}

static void on_computed(struct syn_scene *scene, const struct syn_event *event)
{
    if (scene->members[event->to].is_exchanging)
        scene->members[event->to].is_waiting = true;
    else
        hand_over(scene, event->to, event->ms);
}

static void on_posted(struct syn_scene *scene, const struct syn_event *event)
{
    syn_member_begin(scene, event->to, event->ms);
    if (scene->traffic->timing == SYN_TIMING_DELAYED)
        end_step(scene, event->to, event->ms);
}

/* Servers begin the next exchange at once; a worker that was waiting continues. */
static void on_round_done(struct syn_scene *scene, const struct syn_event *event)
{
    bool has_ended = false;
    syn_member_go_on(scene, event, &has_ended);
    if (!has_ended)
        return;
    if (event->to >= scene->cluster->workers)
        syn_member_begin(scene, event->to, event->ms);
    else if (scene->traffic->timing != SYN_TIMING_DELAYED)
        end_step(scene, event->to, event->ms);
    else if (scene->members[event->to].is_waiting)
        hand_over(scene, event->to, event->ms);
}

/* An asynchronous server processes pushes one by one in the order of arrival, and answers
 * regardless of what else it is sending. */
static bool plays_rounds(const struct syn_scene *scene, size_t member)
{
    return member < scene->cluster->workers || scene->traffic->timing != SYN_TIMING_ASYNC;
}

static void on_left(struct syn_scene *scene, const struct syn_event *event)
{
    if (syn_network_leave(&scene->network, event) && plays_rounds(scene, event->from))
        syn_member_leave(scene, event);
}

static void on_delivered(struct syn_scene *scene, const struct syn_event *event)
{
    if (plays_rounds(scene, event->to)) {
        syn_member_deliver(scene, event);
        return;
    }
    struct syn_member *server = &scene->members[event->to];
    double begin = event->ms > server->server_free_ms ? event->ms : server->server_free_ms;
    server->server_free_ms = begin + scene->traffic->merge_ms / (double)scene->cluster->servers;
    syn_events_add(&scene->events, (struct syn_event){.ms = server->server_free_ms,
                                                      .kind = SYN_EVENT_SERVED,
                                                      .from = event->to,
                                                      .to = event->from});
}

static void on_served(struct syn_scene *scene, const struct syn_event *event)
{
    double bytes = scene->traffic->pull_bytes / (double)scene->cluster->servers;
    syn_network_send(&scene->network, event->ms, event->from, event->to, bytes);
}

static void dispatch(struct syn_scene *scene, const struct syn_event *event)
{
    switch (event->kind) {
    case SYN_EVENT_COMPUTED:
        on_computed(scene, event);
        break;
    case SYN_EVENT_POSTED:
        on_posted(scene, event);
        break;
    case SYN_EVENT_LEFT:
        on_left(scene, event);
        break;
    case SYN_EVENT_DELIVERED:
        on_delivered(scene, event);
        break;
    case SYN_EVENT_ROUND_DONE:
        on_round_done(scene, event);
        break;
    case SYN_EVENT_SERVED:
        on_served(scene, event);
        break;
    }
}

static void close_scene(struct syn_scene *scene)
{
    syn_events_free(&scene->events);
    syn_flows_free(&scene->network.flows);
    for (enum syn_way way = 0; way < SYN_WAYS; way++)
        free(scene->network.links[way]);
    free(scene->members);
    free(scene->balance);
}

static enum syn_status open_scene(struct syn_scene *scene)
{
    const struct syn_cluster *cluster = scene->cluster;
    size_t count = cluster->workers + cluster->servers;
    scene->group = (struct syn_members){
        cluster->workers, cluster->servers,
        syn_pattern_fragments(&scene->pattern, scene->traffic, cluster->workers)};
    scene->count = count;
    scene->network = (struct syn_network){.events = &scene->events,
                                          .latency_ms = cluster->latency_ms,
                                          .bytes_per_ms = cluster->bytes_per_ms,
                                          .burst_ms = cluster->burst_ms,
                                          .hosts = count};
    SYN_TRY(syn_allocate(count, sizeof *scene->members, &scene->members));
    SYN_TRY(syn_allocate(count * count, sizeof *scene->balance, &scene->balance));
    for (enum syn_way way = 0; way < SYN_WAYS; way++)
        SYN_TRY(syn_allocate(count, sizeof(struct syn_link), &scene->network.links[way]));
    for (size_t i = 0; i < count; i++)
        syn_random_start(&scene->members[i].random, cluster->seed, i);
    for (size_t i = 0; i < cluster->workers; i++)
        compute(scene, i, 0);
    bool is_sync = scene->traffic->timing != SYN_TIMING_ASYNC;
    for (size_t i = cluster->workers; i < count && scene->pattern.has_servers && is_sync; i++)
        syn_member_begin(scene, i, 0);
    return SYN_OK;
}

/* The progress of the workers, on average. */
struct standing {
    double steps;
    double ms;
    double bytes_out; /* of the worker that sent most */
};

static struct standing standing_of(const struct syn_scene *scene)
{
    struct standing sum = {0, 0, 0};
    size_t workers = scene->cluster->workers;
    for (size_t i = 0; i < workers; i++) {
        const struct syn_member *worker = &scene->members[i];
        sum.steps += (double)worker->steps / (double)workers;
        sum.ms += worker->step_ms / (double)workers;
        sum.bytes_out = worker->bytes_out > sum.bytes_out ? worker->bytes_out : sum.bytes_out;
    }
    return sum;
}

/* Continue until the workers have made this many steps in total. Returns the time. */
static double run_until(struct syn_scene *scene, uint64_t total_steps, uint64_t *made)
{
    struct syn_event event = {.ms = 0};
    while (*made < total_steps && syn_events_next(&scene->events, &event)) {
        uint64_t before = event.to < scene->count ? scene->members[event.to].steps : 0;
        dispatch(scene, &event);
        *made += scene->members[event.to].steps - before;
    }
    return event.ms;
}

/* The number of messages per step grows with the square of the number of workers: use as many steps
 * as take a few seconds at most with the largest clusters. */
static uint64_t usual_steps(const struct syn_cluster *cluster)
{
    double affordable = 2e6 / ((double)cluster->workers * (double)cluster->workers);
    return affordable > 64 ? 64 : affordable < 4 ? 4 : (uint64_t)affordable;
}

/* Steps until workers whose exchanges end at different times reach a steady state. */
static uint64_t settling_steps(const struct syn_cluster *cluster)
{
    return cluster->workers > 256 ? 2 : 10;
}

static uint64_t round_up(uint64_t count, uint64_t to)
{
    return (count + to - 1) / to * to;
}

enum syn_status syn_simulate_watched(const struct syn_cluster *cluster,
                                     const struct syn_traffic *traffic, struct syn_watch watch,
                                     struct syn_simulation *result)
{
    struct syn_scene scene = {.cluster = cluster, .traffic = traffic, .watch = watch};
    SYN_TRY(check(cluster, traffic, &scene.pattern));
    uint64_t every = traffic->pull_every;
    uint64_t measured = round_up(cluster->steps ? cluster->steps : usual_steps(cluster), every);
    uint64_t made = 0;
    enum syn_status status = open_scene(&scene);
    if (status == SYN_OK) {
        uint64_t before = round_up(settling_steps(cluster), every);
        double begin_ms = run_until(&scene, before * cluster->workers, &made);
        struct standing begin = standing_of(&scene);
        double begin_busy_ms = syn_network_busiest(&scene.network, begin_ms);
        uint64_t total = made + measured * cluster->workers;
        double end_ms = run_until(&scene, total, &made);
        struct standing end = standing_of(&scene);
        double step_ms = (end.ms - begin.ms) / (end.steps - begin.steps);
        double busy_ms = syn_network_busiest(&scene.network, end_ms) - begin_busy_ms;
        *result = (struct syn_simulation){
            .step_ms = step_ms,
            .efficiency = step_ms > 0 ? cluster->compute_ms / step_ms : 1,
            .bytes_out = (end.bytes_out - begin.bytes_out) / (end.steps - begin.steps),
            .busiest_link = end_ms > begin_ms ? busy_ms / (end_ms - begin_ms) : 0,
        };
    }
    if (scene.events.is_short_of_memory)
        status =
            syn_fail(SYN_MEMORY, "cannot allocate the events of %zu workers", cluster->workers);
    close_scene(&scene);
    return status;
}

enum syn_status syn_simulate(const struct syn_cluster *cluster, const struct syn_traffic *traffic,
                             struct syn_simulation *result)
{
    /* Steps without an exchange count as one long step, whose deviation grows with the square root
     * of their number. */
    double together = traffic->every > 1 ? (double)traffic->every : 1;
    struct syn_cluster rounds = *cluster;
    rounds.compute_ms *= together;
    rounds.jitter /= sqrt(together);
    SYN_TRY(syn_simulate_watched(&rounds, traffic, (struct syn_watch){NULL, NULL}, result));
    result->step_ms /= together;
    result->bytes_out /= together;
    return SYN_OK;
}
