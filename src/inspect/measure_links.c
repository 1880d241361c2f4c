/* Measures latency and bandwidth of the links between the workers.
 *
 * Pairs are measured in the rounds of a round-robin tournament: in each round every worker is
 * paired with one other, so that no link serves two pairs. Then all send at once, around a ring, as
 * exchanges do: only this shows what several links share, and what waiting costs with more workers
 * than processors. The first message of a kind is not counted, because a link may let a burst pass
 * after a pause. What such bursts are worth to workers that send only now and then is measured at
 * the end. */
#include <syncopate/measure.h>

#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/memory.h"
#include "inspect/median.h"
#include "transport/transport.h"

#define PINGS        20
#define SHIFTS_LEAST 8
#define SHIFTS_MOST  200
#define SHIFTING_MS  200.0
#define PAIR_FIRST   ((size_t)65536)
#define PAIR_MOST    ((size_t)4 << 20)
#define PAIR_TIMES   3
#define LONG_ENOUGH  25.0 /* ms that a message must take for its bandwidth to be reliable */
#define MOST_BYTES   ((size_t)64 << 20)
#define RESTS        5
#define MOST_REST    1000.0 /* ms */

/* What one worker measured on its path to another. */
struct finding {
    double latency_ms;
    double bytes_per_ms;
};

struct links {
    struct syn_group *group;
    size_t right; /* neighbours in the ring */
    size_t left;
    uint8_t *going;
    uint8_t *coming;
    size_t room;
    struct finding
        *findings;  /* [workers][workers] from one to another; at first only the own row */
    double *sorted; /* [workers * workers] */
};

static double ms_since(int64_t began_ns)
{
    return (double)(syn_clock_ns() - began_ns) * 1e-6;
}

static double cpu_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

/* Send and receive at once; if either peer is the worker itself, that half is skipped.
 *   came  bytes received */
static enum syn_status swap(const struct links *links, size_t to, size_t bytes, size_t from,
                            size_t *came)
{
    struct syn_request requests[2];
    struct syn_group *group = links->group;
    enum syn_status status = SYN_OK;
    memset(requests, 0, sizeof requests);
    if (from != group->rank)
        status = syn_group_receive(group, from, links->coming, links->room, &requests[0]);
    if (status == SYN_OK && to != group->rank)
        status = syn_group_send(group, to, links->going, bytes, &requests[1]);
    if (status != SYN_OK)
        syn_group_abandon(group, status, syn_error_text());
    status = syn_group_wait(group, requests, 2);
    *came = requests[0].count;
    return status;
}

static enum syn_status send_to(const struct links *links, size_t peer, size_t bytes)
{
    size_t came;
    return swap(links, peer, bytes, links->group->rank, &came);
}

static enum syn_status receive_from(const struct links *links, size_t peer, size_t *bytes)
{
    return swap(links, links->group->rank, 0, peer, bytes);
}

/* Send one message and receive one byte back. */
static enum syn_status ask(const struct links *links, size_t peer, size_t bytes, double *ms)
{
    size_t came;
    int64_t began = syn_clock_ns();
    SYN_TRY(send_to(links, peer, bytes));
    SYN_TRY(receive_from(links, peer, &came));
    *ms = ms_since(began);
    return SYN_OK;
}

/* Answer messages until an empty one signals the end. */
static enum syn_status answer(const struct links *links, size_t peer)
{
    for (;;) {
        size_t came;
        SYN_TRY(receive_from(links, peer, &came));
        if (came == 0)
            return SYN_OK;
        SYN_TRY(send_to(links, peer, 1));
    }
}

/* Measure the path to a peer that answers. */
static enum syn_status question(const struct links *links, size_t peer, struct finding *finding)
{
    double times[PINGS];
    double ms;
    SYN_TRY(ask(links, peer, 1, &ms)); /* connects */
    for (size_t i = 0; i < PINGS; i++)
        SYN_TRY(ask(links, peer, 1, &times[i]));
    finding->latency_ms = syn_median(times, PINGS) / 2;
    size_t bytes = PAIR_FIRST;
    SYN_TRY(ask(links, peer, bytes, &ms));
    while (ms < LONG_ENOUGH && bytes < PAIR_MOST) {
        bytes *= 4;
        SYN_TRY(ask(links, peer, bytes, &ms));
    }
    for (size_t i = 0; i < PAIR_TIMES; i++)
        SYN_TRY(ask(links, peer, bytes, &times[i]));
    double length = syn_median(times, PAIR_TIMES) - 2 * finding->latency_ms;
    finding->bytes_per_ms = (double)bytes / (length > 1e-6 ? length : 1e-6);
    return send_to(links, peer, 0);
}

/* The worker that a worker is paired with in a round of the tournament; itself if it sits out. The
 * number of places is even: the last place is fixed and the others rotate; with an odd number of
 * workers the last place is empty. */
static size_t opponent(size_t rank, size_t workers, size_t round)
{
    size_t around = (workers + 1) / 2 * 2 - 1;
    if (rank == around)
        return round * ((around + 1) / 2) % around; /* whose opponent is itself */
    size_t other = (round + around - rank) % around;
    if (other == rank)
        other = around;
    return other < workers ? other : rank;
}

static enum syn_status measure_pairs(struct links *links)
{
    size_t rank = links->group->rank;
    size_t workers = links->group->workers;
    for (size_t round = 0; round < (workers + 1) / 2 * 2 - 1; round++) {
        size_t other = opponent(rank, workers, round);
        struct finding *finding = &links->findings[rank * workers + other];
        if (other == rank)
            continue;
        if (rank < other)
            SYN_TRY(question(links, other, finding));
        SYN_TRY(answer(links, other));
        if (rank > other)
            SYN_TRY(question(links, other, finding));
    }
    return SYN_OK;
}

/* Send every worker's row to every worker, around the ring. */
static enum syn_status share_findings(struct links *links)
{
    struct syn_group *group = links->group;
    size_t workers = group->workers;
    size_t row = workers * sizeof *links->findings;
    size_t left = links->left;
    for (size_t s = 0; s + 1 < workers; s++) {
        size_t going = (group->rank + workers - s) % workers;
        size_t coming = (left + workers - s) % workers;
        size_t came;
        memcpy(links->going, &links->findings[going * workers], row);
        SYN_TRY(swap(links, links->right, row, left, &came));
        if (came != row)
            return syn_fail(SYN_FORMAT, "worker %zu sent %zu bytes of findings; expected %zu", left,
                            came, row);
        memcpy(&links->findings[coming * workers], links->coming, row);
    }
    return SYN_OK;
}

/* The number of shifts that keep links of that bandwidth busy for some time, because links may let
 * a burst pass after a pause. The same for all workers. */
static size_t count_shifts(size_t bytes, double bytes_per_ms)
{
    double wanted = SHIFTING_MS * bytes_per_ms / (double)bytes;
    return wanted < SHIFTS_LEAST  ? SHIFTS_LEAST
           : wanted > SHIFTS_MOST ? SHIFTS_MOST
                                  : (size_t)wanted;
}

/* The mean time of a shift around the ring, after a quarter as many that are not counted. */
static enum syn_status measure_shifts(const struct links *links, size_t bytes, size_t count,
                                      double *ms, double *busy_ms)
{
    size_t came;
    for (size_t i = 0; i < count / 4; i++)
        SYN_TRY(swap(links, links->right, bytes, links->left, &came));
    int64_t began = syn_clock_ns();
    double cpu_began = cpu_ms();
    for (size_t i = 0; i < count; i++)
        SYN_TRY(swap(links, links->right, bytes, links->left, &came));
    *busy_ms = (cpu_ms() - cpu_began) / (double)count;
    *ms = ms_since(began) / (double)count;
    return SYN_OK;
}

/* The mean time per shift of as many shifts as an all-reduce around the ring takes, after a
 * pause. */
static enum syn_status measure_rested(const struct links *links, size_t bytes, double rest_ms,
                                      double *ms)
{
    double times[RESTS];
    size_t shifts = 2 * (links->group->workers - 1);
    size_t came;
    for (size_t rest = 0; rest < RESTS; rest++) {
        struct timespec pause = syn_clock_timespec((int64_t)(rest_ms * 1e6));
        nanosleep(&pause, NULL);
        for (size_t i = 0; i < shifts; i++) /* until all are awake */
            SYN_TRY(swap(links, links->right, 1, links->left, &came));
        int64_t began = syn_clock_ns();
        for (size_t i = 0; i < shifts; i++)
            SYN_TRY(swap(links, links->right, bytes, links->left, &came));
        times[rest] = ms_since(began) / (double)shifts;
    }
    *ms = syn_median(times, RESTS);
    return SYN_OK;
}

/* The maximum of each number over all workers. */
static enum syn_status exchange_worst(const struct links *links, double *numbers, size_t count)
{
    size_t bytes = count * sizeof *numbers;
    memcpy(links->going, numbers, bytes);
    for (size_t s = 0; s + 1 < links->group->workers; s++) {
        size_t came;
        SYN_TRY(swap(links, links->right, bytes, links->left, &came));
        memcpy(links->going, links->coming, bytes); /* passed on as received */
        for (size_t i = 0; i < count; i++) {
            double received;
            memcpy(&received, links->coming + i * sizeof received, sizeof received);
            numbers[i] = received > numbers[i] ? received : numbers[i];
        }
    }
    return SYN_OK;
}

/* Include what one worker measured on its path to another. */
static void add_pair(const struct finding *finding, size_t from, size_t to,
                     struct syn_links_measure *result)
{
    if (finding->latency_ms > result->worst_latency_ms)
        result->worst_latency_ms = finding->latency_ms;
    if (result->worst_bytes_per_ms == 0 || finding->bytes_per_ms < result->worst_bytes_per_ms) {
        result->worst_bytes_per_ms = finding->bytes_per_ms;
        result->worst_from = from;
        result->worst_to = to;
    }
}

static void add_pairs(struct links *links, struct syn_links_measure *result)
{
    size_t workers = links->group->workers;
    size_t pairs = workers * (workers - 1);
    double *latency = links->sorted;
    double *rate = links->sorted + pairs;
    size_t count = 0;
    for (size_t from = 0; from < workers; from++)
        for (size_t to = 0; to < workers; to++) {
            const struct finding *finding = &links->findings[from * workers + to];
            if (from == to)
                continue;
            add_pair(finding, from, to, result);
            latency[count] = finding->latency_ms;
            rate[count++] = finding->bytes_per_ms;
        }
    result->latency_ms = syn_median(latency, pairs);
    result->bytes_per_ms = syn_median(rate, pairs);
}

static enum syn_status open_links(struct links *links, size_t bytes)
{
    size_t workers = links->group->workers;
    links->room = bytes > PAIR_MOST ? bytes : PAIR_MOST;
    SYN_TRY(syn_allocate(links->room, 1, &links->going));
    SYN_TRY(syn_allocate(links->room, 1, &links->coming));
    SYN_TRY(syn_allocate(2 * workers * workers, sizeof *links->sorted, &links->sorted));
    return syn_allocate(workers * workers, sizeof *links->findings, &links->findings);
}

static enum syn_status measure(struct links *links, size_t bytes, double rest_ms,
                               struct syn_links_measure *result)
{
    double worst[4]; /* together: latency, time, CPU time; rested */
    double none;
    SYN_TRY(open_links(links, bytes));
    SYN_TRY(measure_pairs(links));
    SYN_TRY(share_findings(links));
    add_pairs(links, result);
    size_t shifts = count_shifts(bytes, result->bytes_per_ms);
    SYN_TRY(measure_shifts(links, 1, SHIFTS_MOST, &worst[0], &none));
    SYN_TRY(measure_shifts(links, bytes, shifts, &worst[1], &worst[2]));
    SYN_TRY(measure_rested(links, bytes, rest_ms, &worst[3]));
    SYN_TRY(exchange_worst(links, worst, 4));
    result->together_latency_ms = worst[0];
    result->together_ms = worst[1];
    result->together_cpu_ms = worst[2];
    result->rested_ms = worst[3];
    return SYN_OK;
}

enum syn_status syn_measure_links(struct syn_group *group, size_t bytes, double rest_ms,
                                  struct syn_links_measure *result)
{
    struct links links = {.group = group};
    struct syn_links_measure made = {.latency_ms = 0};
    if (group->workers < 2)
        return syn_fail(SYN_INVALID, "measuring links needs at least two workers");
    if (bytes < 1 || bytes > MOST_BYTES)
        return syn_fail(SYN_INVALID, "message size is %zu bytes; expected 1 to %zu", bytes,
                        MOST_BYTES);
    if (!(rest_ms >= 0 && rest_ms <= MOST_REST))
        return syn_fail(SYN_INVALID, "pause is %g ms; expected 0 to %g", rest_ms, MOST_REST);
    links.right = (group->rank + 1) % group->workers;
    links.left = (group->rank + group->workers - 1) % group->workers;
    enum syn_status status = measure(&links, bytes, rest_ms, &made);
    if (status == SYN_OK)
        *result = made;
    else
        syn_group_abandon(group, status, syn_error_text());
    free(links.going);
    free(links.coming);
    free(links.sorted);
    free(links.findings);
    return status;
}
