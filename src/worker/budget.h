/* The budget: how much of a gradient the workers may send while they compute, decided from measured
 * times. Pure arithmetic on data that all workers have, so that all decide alike, and tests need
 * neither clock nor network. */
#ifndef SYN_WORKER_BUDGET_H
#define SYN_WORKER_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Steps that a decision is based on. */
#define SYN_BUDGET_STEPS 8

/* The forms that a step can have, the richest first: everything in f32, q8 and q4, then fewer and
 * fewer entries in q4, down to a thousandth. */
#define SYN_BUDGET_LEVELS 20
#define SYN_BUDGET_FIRST  2 /* everything in q4, until there are measurements */

/* The form of a level: the value form, and the share of entries sent. */
const char *syn_budget_values(size_t level);
double syn_budget_density(size_t level);

struct syn_budget_setup {
    double overhead; /* how much longer than computing a step may take, as a share of it */
    bool is_delayed; /* exchanges are overlapped with the next computation */
    double keep;     /* as in the reducer's options */
    size_t workers;
    size_t size; /* of the model */
};

/* Bits per parameter that a worker sends in one of the two directions, averaged over both. */
double syn_budget_bits(const struct syn_budget_setup *setup, size_t level);

/* The processor time that an exchange takes, relative to that of everything in q4. */
double syn_budget_work(const struct syn_budget_setup *setup, size_t level);

/* One step of one worker, in milliseconds. */
struct syn_budget_sample {
    float compute;  /* everything except waiting */
    float exchange; /* on the communication thread */
    float wait;
    float busy; /* the CPU time within compute; 0: not known */
    float work; /* the CPU time within exchange, likewise */
};

/* The state of the decisions; plain data, saved in checkpoints. */
struct syn_budget {
    uint32_t level;
    uint32_t hold;     /* decisions until a richer form may be tried again */
    uint32_t patience; /* the hold after the next fall */
    uint32_t decisions;
    double fallen_at;  /* exchange time per bit / allowed time, at the last fall; 0: none */
    double compute_ms; /* seen by the last decision */
    double exchange_ms;
};

struct syn_budget syn_budget_begin(void);

/* Whether it is a possible state: for data from a file. */
bool syn_budget_is_sound(const struct syn_budget *budget);

/* Decide what the next steps send.
 *   samples  [workers][SYN_BUDGET_STEPS], the same on all workers */
void syn_budget_decide(struct syn_budget *budget, const struct syn_budget_setup *setup,
                       const struct syn_budget_sample *samples);

#endif
