/* Where the library's messages go. It never prints anything itself: until a sink is set, messages
 * are dropped (the last error stays available through syn_error_text()). */
#ifndef SYNCOPATE_LOG_H
#define SYNCOPATE_LOG_H

#ifdef __cplusplus
extern "C" {
#endif

enum syn_log_level { SYN_LOG_DEBUG, SYN_LOG_INFO, SYN_LOG_WARNING, SYN_LOG_ERROR };

/* Receives one message: a line without a newline, valid during the call only. May be called from
 * any thread, but never from two at once, and with no other library lock held. Must not log. */
typedef void syn_log_sink(void *context, enum syn_log_level level, const char *text);

/* Send messages of this level and above to sink; NULL drops them again.
 * Process-wide. Call it before workers open. */
void syn_log_to(syn_log_sink *sink, void *context, enum syn_log_level least);

/* "debug", "info", "warning" or "error". */
const char *syn_log_level_name(enum syn_log_level level);

#ifdef __cplusplus
}
#endif
#endif
