/* How the engine fails: the first to know calls syn_report() with the exact cause; callers pass
 * the status on in silence with SYN_TRY(). The core's own header for this is private to the
 * core. */
#ifndef SYN_ENGINE_BASE_FAIL_H
#define SYN_ENGINE_BASE_FAIL_H

#include <syncopate/report.h>

/* Return from the calling function if call fails. The only control-flow macro. */
#define SYN_TRY(call)                                                                              \
    do {                                                                                           \
        enum syn_status syn_try_status = (call);                                                   \
        if (syn_try_status != SYN_OK)                                                              \
            return syn_try_status;                                                                 \
    } while (0)

#endif
