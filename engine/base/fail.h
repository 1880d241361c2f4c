/* How the engine reports failures: the function that detects one calls syn_report() with the exact
 * cause; callers propagate the status with SYN_TRY() and report nothing. The core's own header for
 * this is private to the core. */
#ifndef SYN_ENGINE_BASE_FAIL_H
#define SYN_ENGINE_BASE_FAIL_H

#include <syncopate/report.h>

static inline enum syn_status syn_failure(enum syn_status status)
{
    return status;
}

/* Calls the function of that name, and yields the status as a value that static analysers can
 * follow. */
#define syn_report(status, ...) ((void)(syn_report)(status, __VA_ARGS__), syn_failure(status))

/* Return from the calling function if call fails. The only control-flow macro. */
#define SYN_TRY(call)                                                                              \
    do {                                                                                           \
        enum syn_status syn_try_status = (call);                                                   \
        if (syn_try_status != SYN_OK)                                                              \
            return syn_try_status;                                                                 \
    } while (0)

#endif
