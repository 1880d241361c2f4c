/* What fits: how much of a gradient the workers may send while they compute, decided from measured
 * times. Pure arithmetic on what all workers have heard, so that all decide alike, and tests need
 * neither clock nor network. */
#ifndef SYN_WORKER_BUDGET_H
#define SYN_WORKER_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Steps that a decision looks at. */
#define SYN_BUDGET_STEPS 8

/* The forms that a step can have, the richest first: everything in f32, q8 and q4, then ever fewer
 * entries in q4, down to a thousandth. */
#define SYN_BUDGET_LEVELS 20
#define SYN_BUDGET_FIRST  2 /* everything in q4, until there is something to decide from */

/* The form of a level: how values travel, and which share of the entries does. */
const char *syn_budget_values(size_t level);
double syn_budget_density(size_t level);

/* Bits per parameter that a worker sends in one of the two directions, all of them on average.
 *   keep  as in the reducer's options */
double syn_budget_bits(size_t level, double keep);

struct syn_budget_setup {
    double overhead; /* how much longer than computing a step may take, as a share of it */
    bool is_delayed; /* exchanges are hidden behind the next computation */
    double keep;
    size_t workers;
};

/* One step of one worker, in milliseconds. */
struct syn_budget_sample {
    float compute;  /* all but waiting */
    float exchange; /* on the communication thread */
    float wait;
    float busy; /* of compute, what the thread had a processor for; 0: not known */
    float work; /* of exchange, likewise */
};

/* The state of the decisions; plain data, which checkpoints hold. */
struct syn_budget {
    uint32_t level;
    uint32_t hold;     /* decisions until something richer may be tried again */
    uint32_t patience; /* how many it will be after the next fall */
    uint32_t decisions;
    double fallen_at;  /* exchange time per bit over what was allowed, at the last fall; 0: none */
    double floor;      /* the least that exchanges took from computing; 0: not looked for yet */
    double compute_ms; /* what the last decision saw */
    double exchange_ms;
};

struct syn_budget syn_budget_begin(void);

/* Whether it could be a state: for what comes from a file. */
bool syn_budget_is_sound(const struct syn_budget *budget);

/* Decide what the steps to come send.
 *   samples  [workers][SYN_BUDGET_STEPS], the same on all workers */
void syn_budget_decide(struct syn_budget *budget, const struct syn_budget_setup *setup,
                       const struct syn_budget_sample *samples);

#endif
