/* How long computing threads spin before they sleep.
 *
 * Where a machine does nothing else, a thread that waits for the others of its team does best to
 * spin: sleeping and waking costs lenet a fifth of its speed. Where cores are shared with other
 * work, whoever spins takes the core from the thread that it waits for, and a step takes ten times
 * as long. So the time that our threads were ready to run but had no core is looked at now and
 * then, and they spin for long only while there is next to none of it. */
#ifndef SYN_NN_WAITING_H
#define SYN_NN_WAITING_H

#include <stdbool.h>
#include <stdint.h>

/* What has been seen so far; zeroed, it is that of a machine of our own. */
struct waiting_rule {
    bool is_brief;   /* what to do now: spin briefly, then sleep */
    int64_t calm_ns; /* how long nobody has waited for a core */
};

/* Whether to wait briefly from now on.
 *   elapsed_ns  since the last time; positive
 *   delay_ns    of all threads together in that time, ready to run but without a core; negative:
 *               unknown */
bool waiting_decide(struct waiting_rule *rule, int64_t elapsed_ns, int64_t delay_ns);

/* Look at how busy the machine is, if the last look is long ago, and do what suits. What the user
 * says in OMP_WAIT_POLICY or GOMP_SPINCOUNT goes before. Any thread may call it. */
void waiting_adapt(void);

/* Have all computing threads wait briefly, or for long. Takes effect before it returns; if a thread
 * cannot be started, nothing changes. */
void waiting_set_brief(bool is_brief);

#endif
