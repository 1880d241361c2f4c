/* How long computing threads spin before they sleep.
 *
 * On a dedicated machine, a thread that waits for the others of its team should spin: sleeping and
 * waking costs lenet a fifth of its speed. Where cores are shared with other work, a spinning
 * thread takes the core from the thread that it waits for, and a step takes ten times as long. So
 * the time that our threads were ready to run but had no core is checked from time to time, and
 * they spin for long only while there is next to none of it. */
#ifndef SYN_NN_WAITING_H
#define SYN_NN_WAITING_H

#include <stdbool.h>
#include <stdint.h>

/* What has been observed so far; zeroed, it is that of a dedicated machine. */
struct waiting_rule {
    bool is_brief;   /* what to do now: spin briefly, then sleep */
    int64_t calm_ns; /* how long no thread has waited for a core */
};

/* Whether to wait briefly from now on.
 *   elapsed_ns  since the last time; positive
 *   delay_ns    of all threads together in that time, ready to run but without a core; negative:
 *               unknown */
bool waiting_decide(struct waiting_rule *rule, int64_t elapsed_ns, int64_t delay_ns);

/* Check how busy the machine is, if the last check was long ago, and adapt. The user's
 * OMP_WAIT_POLICY or GOMP_SPINCOUNT takes precedence. Any thread may call it. */
void waiting_adapt(void);

/* Make all computing threads spin briefly, or for long. Takes effect before it returns; if a thread
 * cannot be started, nothing changes. */
void waiting_set_brief(bool is_brief);

#endif
