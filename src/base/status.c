/* Status texts, the last error of each thread, and the delivery of messages to the sink.
 *
 * The sink is process-wide and protected by its own mutex, so that messages from different threads
 * never interleave; the mutex is held while the sink runs, which is why a sink must not log. */
#include "base/status.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <syncopate/text.h>

static const char *const texts[] = {
    [SYN_OK] = "no error",
    [SYN_INVALID] = "invalid argument",
    [SYN_UNSUPPORTED] = "not supported here",
    [SYN_MEMORY] = "out of memory",
    [SYN_IO] = "input or output failed",
    [SYN_FORMAT] = "malformed data",
    [SYN_MISMATCH] = "workers disagree",
    [SYN_NONFINITE] = "gradient not finite",
    [SYN_TIMEOUT] = "peer stayed silent",
    [SYN_PEER] = "peer failed",
    [SYN_BUSY] = "too many steps under way",
    [SYN_STOPPED] = "stopped by the user",
};

static _Thread_local char last_error[SYN_ERROR_BYTES];
static _Thread_local bool is_trying; /* failures are answers */

static struct {
    pthread_mutex_t mutex;
    syn_log_sink *sink;
    void *context;
    enum syn_log_level least;
} out = {.mutex = PTHREAD_MUTEX_INITIALIZER};

const char *syn_status_text(enum syn_status status)
{
    size_t i = (size_t)status;
    return i < sizeof texts / sizeof texts[0] ? texts[i] : "unknown status";
}

const char *syn_error_text(void)
{
    return last_error;
}

void syn_log_to(syn_log_sink *sink, void *context, enum syn_log_level least)
{
    pthread_mutex_lock(&out.mutex);
    out.sink = sink;
    out.context = context;
    out.least = least;
    pthread_mutex_unlock(&out.mutex);
}

const char *syn_log_level_name(enum syn_log_level level)
{
    static const char *const names[] = {"debug", "info", "warning", "error"};
    return (size_t)level < sizeof names / sizeof names[0] ? names[level] : "?";
}

static void emit(enum syn_log_level level, const char *text)
{
    pthread_mutex_lock(&out.mutex);
    if (out.sink && level >= out.least)
        out.sink(out.context, level, text);
    pthread_mutex_unlock(&out.mutex);
}

void syn_note_failure(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    syn_text_print_list(last_error, sizeof last_error, format, arguments);
    va_end(arguments);
    if (!is_trying)
        emit(SYN_LOG_ERROR, last_error);
}

void syn_try_silently(bool is_on)
{
    is_trying = is_on;
}

enum syn_status syn_fail_again(enum syn_status status, const char *text)
{
    snprintf(last_error, sizeof last_error, "%s", text);
    return status;
}

void syn_log(enum syn_log_level level, const char *format, ...)
{
    char text[SYN_ERROR_BYTES];
    va_list arguments;
    va_start(arguments, format);
    syn_text_print_list(text, sizeof text, format, arguments);
    va_end(arguments);
    emit(level, text);
}
