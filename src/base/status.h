/* How a failure is reported inside the library: the first to know calls syn_fail() with the exact
 * cause; callers pass the status on in silence with SYN_TRY(). */
#ifndef SYN_BASE_STATUS_H
#define SYN_BASE_STATUS_H

#include <syncopate/log.h>
#include <syncopate/status.h>

#if defined(__GNUC__)
#define SYN_PRINTF(text_at, first) __attribute__((format(printf, text_at, first)))
#else
#define SYN_PRINTF(text_at, first)
#endif

/* Log the cause as an error, remember it for syn_error_text() on this thread, return status. */
enum syn_status syn_fail(enum syn_status status, const char *format, ...) SYN_PRINTF(2, 3);

/* Remember a cause that another thread has logged already, return status. */
enum syn_status syn_fail_again(enum syn_status status, const char *text);

/* Log a message that is no failure. */
void syn_log(enum syn_log_level level, const char *format, ...) SYN_PRINTF(2, 3);

/* Return from the calling function if call fails. The only control-flow macro. */
#define SYN_TRY(call)                                                                              \
    do {                                                                                           \
        enum syn_status syn_try_status = (call);                                                   \
        if (syn_try_status != SYN_OK)                                                              \
            return syn_try_status;                                                                 \
    } while (0)

/* The longest cause, with its NUL; longer ones are cut. */
#define SYN_ERROR_BYTES 512

#endif
