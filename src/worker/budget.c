/* Fewer bits first, then fewer entries: an entry in four bits arrives now and its rounding error a
 * step later; one that is left out arrives only when it has grown.
 *
 * For each step, the computing time of the slowest worker is used, because all wait for it, and the
 * shortest exchange, because the others' began earlier and include waiting for that worker.
 * Decisions use the medians over several steps, so that a link that stalls once, or one long step,
 * changes nothing. An exchange also takes processor time, and if computing has no core to spare,
 * takes it from computing; on a small model many bits cost more processor time than link time. How
 * much was taken cannot be measured directly, but it is no more than the exchange used, and no more
 * than computing was delayed. It is not proportional to what is sent: a list of a quarter of the
 * entries takes three times the work of all of them in four bits. Such forms help only if the link
 * is too slow; if the processor is, they are skipped both ways.
 *
 * Any exchange takes some of the processor, however little it sends, and that counts as well: where
 * the poorest form already takes what the overhead allows, richer ones would take as much again. Of
 * what lists take, about half is seen: picking entries is the training thread's own work, and
 * memory becomes slower (0.028 was seen of LeNet's where steps took 0.055 longer).
 *
 * From everything in four bits to a list that takes three quarters of its work is a fall by a
 * factor of fifty in entries, for a quarter of a few hundredths of a step. So while the link
 * carries everything, it may take twice as much of the processor as other forms.
 *
 * If a step has become too long, the level falls as far as necessary. Richer forms are tried in
 * small steps and, if they do not fit, less and less often until something has changed: otherwise,
 * a link whose capacity lies between two forms would make every other decision wrong. */
#include "worker/budget.h"

#include <math.h>

#include "exchange/short_lists.h"
#include "select/select.h"

#define DENSE_LEVELS 3
#define FIRST_LIST   0.25
#define LAST_LIST    0.001

#define MARGIN    0.9 /* share of the allowance that a new form is expected to use */
#define MOST_FALL 6   /* levels in one decision */
#define MOST_RISE 2
#define MOST_HOLD 64   /* decisions */
#define SLACK     1.25 /* times the overhead: processor time taken that leads to a fall */
#define WORTH     2    /* the same for everything in four bits */
#define UNSEEN    2    /* times what is seen of it: processor time that lists take */
#define RETURN    0.75 /* share of that at which it is returned to */
#define CHANGED   0.7  /* cost falls to this share: the link became faster, or computing slower */

static const struct {
    const char *values;
    double bits; /* including the scales of blocks */
} dense[DENSE_LEVELS] = {{"f32", 32}, {"q8", 8.125}, {"q4", 4.125}};

const char *syn_budget_values(size_t level)
{
    return dense[level < DENSE_LEVELS ? level : DENSE_LEVELS - 1].values;
}

double syn_budget_density(size_t level)
{
    if (level < DENSE_LEVELS)
        return 1;
    return fmax(LAST_LIST, FIRST_LIST * pow(2, -0.5 * (double)(level - DENSE_LEVELS)));
}

/* Whether the lists of that density go from each worker to each. */
static bool are_short(const struct syn_budget_setup *setup, double density)
{
    return syn_lists_are_short(syn_select_share(density, setup->size), setup->workers);
}

/* How many lists a worker sends, in units of (P - 1) / P: split keeps `keep` lists' worth of
 * sums. */
static double lists_of(const struct syn_budget_setup *setup, double density)
{
    double workers = (double)setup->workers;
    if (are_short(setup, density))
        return workers;
    return 1 + (setup->keep > 0 ? setup->keep : workers);
}

double syn_budget_bits(const struct syn_budget_setup *setup, size_t level)
{
    if (level < DENSE_LEVELS)
        return dense[level].bits;
    double d = syn_budget_density(level);
    double indices = -d * log2(d) - (1 - d) * log2(1 - d);
    double values = d * dense[DENSE_LEVELS - 1].bits;
    return lists_of(setup, d) / 2 * (indices + values);
}

/* A fit to what exchanges of LeNet and ResNet-20 took with two hosts on a core, with what picking
 * their entries took. By split, densities 0.031, 0.044 and 0.25: 0.97, 1.2 and 3.2 times everything
 * in q4. In short lists of LeNet 0.001, 0.002, 0.004 and 0.012: 0.14, 0.18, 0.23 and 0.34 times. */
double syn_budget_work(const struct syn_budget_setup *setup, size_t level)
{
    if (level < DENSE_LEVELS)
        return dense[level].bits / dense[DENSE_LEVELS - 1].bits;
    double density = syn_budget_density(level);
    if (are_short(setup, density))
        return 1.67 * pow(density, 0.36);
    double keep = setup->keep > 0 ? setup->keep : (double)setup->workers;
    return (1 + keep) / 3 * (0.13 + 7.56 * pow(density, 0.65));
}

struct syn_budget syn_budget_begin(void)
{
    return (struct syn_budget){.level = SYN_BUDGET_FIRST, .patience = 1};
}

bool syn_budget_is_sound(const struct syn_budget *budget)
{
    return budget->level < SYN_BUDGET_LEVELS && budget->hold <= MOST_HOLD &&
           budget->patience >= 1 && budget->patience <= MOST_HOLD && isfinite(budget->fallen_at) &&
           isfinite(budget->compute_ms) && isfinite(budget->exchange_ms);
}

static double median(double values[SYN_BUDGET_STEPS])
{
    for (size_t i = 1; i < SYN_BUDGET_STEPS; i++)
        for (size_t j = i; j > 0 && values[j] < values[j - 1]; j--) {
            double held = values[j];
            values[j] = values[j - 1];
            values[j - 1] = held;
        }
    return (values[(SYN_BUDGET_STEPS - 1) / 2] + values[SYN_BUDGET_STEPS / 2]) / 2;
}

/* A summary of all workers' steps. */
struct seen {
    double compute;
    double exchange;
    double wait;
    double taken; /* processor time that exchanges took from computing, as a share of it */
};

/* In one step: the work of the exchange, but at most the time that computing was delayed. */
static double taken_by(const struct syn_budget_sample *one)
{
    if (!(one->busy > 0) || !(one->work > 0))
        return 0;
    return fmax(0, fmin((double)one->work, (double)one->compute - (double)one->busy) /
                       (double)one->busy);
}

static struct seen summarize(size_t workers, const struct syn_budget_sample *samples)
{
    double compute[SYN_BUDGET_STEPS], exchange[SYN_BUDGET_STEPS], wait[SYN_BUDGET_STEPS];
    double taken[SYN_BUDGET_STEPS];
    for (size_t step = 0; step < SYN_BUDGET_STEPS; step++) {
        compute[step] = taken[step] = 0;
        exchange[step] = wait[step] = (double)INFINITY;
        for (size_t w = 0; w < workers; w++) {
            const struct syn_budget_sample *one = &samples[w * SYN_BUDGET_STEPS + step];
            compute[step] = fmax(compute[step], (double)one->compute);
            exchange[step] = fmin(exchange[step], (double)one->exchange);
            wait[step] = fmin(wait[step], (double)one->wait);
            taken[step] += taken_by(one) / (double)workers;
        }
    }
    return (struct seen){median(compute), median(exchange), median(wait), median(taken)};
}

/* What a form may need, and the state it is compared with. */
struct room {
    const struct syn_budget_setup *setup;
    double bits;       /* per parameter, that the link carries in the allowed time */
    double work;       /* that leaves computing its share; see syn_budget_work() */
    double all_work;   /* the same for everything in four bits */
    bool is_link_slow; /* otherwise, if steps are too long, the processor is the reason */
};

static bool is_all_in_few_bits(size_t level)
{
    return level == DENSE_LEVELS - 1;
}

static bool fits(const struct room *room, size_t level)
{
    return syn_budget_bits(room->setup, level) <= MARGIN * room->bits &&
           syn_budget_work(room->setup, level) <=
               (is_all_in_few_bits(level) ? room->all_work : MARGIN * room->work);
}

static void fall(struct syn_budget *budget, const struct room *room)
{
    uint32_t level = budget->level;
    uint32_t lowest = level + MOST_FALL;
    double work = syn_budget_work(room->setup, level);
    do
        level++;
    while (level + 1 < SYN_BUDGET_LEVELS &&
           ((level < lowest && !fits(room, level)) ||
            (!room->is_link_slow && syn_budget_work(room->setup, level) >= work)));
    if (level >= SYN_BUDGET_LEVELS)
        return; /* there is no poorer form */
    budget->level = level;
    budget->hold = budget->patience;
    budget->patience = 2 * budget->patience < MOST_HOLD ? 2 * budget->patience : MOST_HOLD;
}

/* The next richer form. Instead of a longer list that takes more work or does not fit, everything
 * in four bits. */
static uint32_t richer(const struct room *room, uint32_t level)
{
    uint32_t all = DENSE_LEVELS - 1;
    if (level <= all)
        return level - 1;
    bool is_work_saved =
        syn_budget_work(room->setup, level - 1) >= syn_budget_work(room->setup, all);
    return (is_work_saved || !fits(room, level - 1)) && fits(room, all) ? all : level - 1;
}

static void rise(struct syn_budget *budget, const struct room *room)
{
    for (int i = 0; i < MOST_RISE && budget->level > 0; i++) {
        uint32_t next = richer(room, budget->level);
        if (fits(room, next))
            budget->level = next;
    }
}

/* Work that takes a share `most` of computing, if this work takes `taken`. */
static double grown(double work, double most, double taken)
{
    return taken > 0 ? work * most / taken : (double)INFINITY;
}

void syn_budget_decide(struct syn_budget *budget, const struct syn_budget_setup *setup,
                       const struct syn_budget_sample *samples)
{
    struct seen seen = summarize(setup->workers, samples);
    budget->decisions++;
    if (!(isfinite(seen.compute) && isfinite(seen.exchange) && isfinite(seen.wait)) ||
        seen.compute <= 0)
        return; /* a clock that did not advance tells nothing */
    double compute = seen.compute;
    double exchange = fmax(seen.exchange, 1e-6);
    double allowed = compute * (setup->overhead + (setup->is_delayed ? 1 : 0));
    double per_bit = exchange / syn_budget_bits(setup, budget->level);
    double taken = budget->level < DENSE_LEVELS ? seen.taken : UNSEEN * seen.taken;
    double overhead = fmax(setup->overhead, 1e-3);
    double work = syn_budget_work(setup, budget->level);
    struct room room = {.setup = setup,
                        .bits = allowed / per_bit,
                        .work = grown(work, overhead, taken),
                        .all_work = grown(work, WORTH * RETURN * overhead, seen.taken),
                        .is_link_slow = exchange > MARGIN * allowed};
    budget->compute_ms = compute;
    budget->exchange_ms = exchange;
    double most_taken = (is_all_in_few_bits(budget->level) ? WORTH : SLACK) * setup->overhead;
    if (exchange > allowed || seen.wait > setup->overhead * compute || taken > most_taken) {
        budget->fallen_at = per_bit / fmax(allowed, 1e-9);
        fall(budget, &room);
        return;
    }
    if (budget->fallen_at > 0 && per_bit / allowed < CHANGED * budget->fallen_at) {
        budget->hold = 0;
        budget->patience = 1;
        budget->fallen_at = 0;
    }
    if (budget->hold > 0)
        budget->hold--;
    else
        rise(budget, &room);
}
