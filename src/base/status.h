/* How a failure is reported inside the library: the function that detects it calls syn_fail() with
 * the exact cause; callers pass the status on without logging, with SYN_TRY(). */
#ifndef SYN_BASE_STATUS_H
#define SYN_BASE_STATUS_H

#include <stdbool.h>

#include <syncopate/log.h>
#include <syncopate/status.h>

#if defined(__GNUC__)
#define SYN_PRINTF(text_at, first) __attribute__((format(printf, text_at, first)))
#else
#define SYN_PRINTF(text_at, first)
#endif

/* Log the cause as an error, and remember it for syn_error_text() on this thread. */
void syn_note_failure(const char *format, ...) SYN_PRINTF(1, 2);

static inline enum syn_status syn_failure(enum syn_status status)
{
    return status;
}

/* The same, with the status as its value: return syn_fail(SYN_INVALID, "%zu workers", n); It is a
 * macro so that compilers and analysers see that a failure is never SYN_OK. */
#define syn_fail(status, ...) (syn_note_failure(__VA_ARGS__), syn_failure(status))

/* On this thread, failures are not logged from now on, or are again: for callers that only want to
 * know whether something would fail. */
void syn_try_silently(bool is_on);

/* Remember a cause that another thread has already logged, and return status. */
enum syn_status syn_fail_again(enum syn_status status, const char *text);

/* Log a message that does not report a failure. */
void syn_log(enum syn_log_level level, const char *format, ...) SYN_PRINTF(2, 3);

/* Return from the calling function if call fails. The only control-flow macro. */
#define SYN_TRY(call)                                                                              \
    do {                                                                                           \
        enum syn_status syn_try_status = (call);                                                   \
        if (syn_try_status != SYN_OK)                                                              \
            return syn_try_status;                                                                 \
    } while (0)

/* The longest cause, including its NUL; longer ones are truncated. */
#define SYN_ERROR_BYTES 512

#endif
