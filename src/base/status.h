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

/* Log the cause as an error, and remember it for syn_error_text() on this thread. */
void syn_note_failure(const char *format, ...) SYN_PRINTF(1, 2);

static inline enum syn_status syn_failure(enum syn_status status)
{
    return status;
}

/* The same, and the status as the value: return syn_fail(SYN_INVALID, "%zu workers", n);
 * A macro, so that compilers and analysers see that a failure is never SYN_OK. */
#define syn_fail(status, ...) (syn_note_failure(__VA_ARGS__), syn_failure(status))

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
