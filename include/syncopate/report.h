/* Reporting failures and messages the way the library does, for code that works alongside it: the
 * engine, or a caller's own transport or training loop. What is reported here reaches
 * syn_error_text() and the log sink just as the library's own messages do. */
#ifndef SYNCOPATE_REPORT_H
#define SYNCOPATE_REPORT_H

#include <syncopate/log.h>
#include <syncopate/status.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define SYN_REPORT_PRINTF __attribute__((format(printf, 2, 3)))
#else
#define SYN_REPORT_PRINTF
#endif

/* Log the cause of a failure as an error, keep it as this thread's syn_error_text(), and return
 * status. The function that detects the failure calls this once; its callers pass the status on.
 *   format  as for printf: one line without a newline, with the values; truncated to 511 bytes */
enum syn_status syn_report(enum syn_status status, const char *format, ...) SYN_REPORT_PRINTF;

/* Log a message that does not report a failure. */
void syn_report_log(enum syn_log_level level, const char *format, ...) SYN_REPORT_PRINTF;

#undef SYN_REPORT_PRINTF

#ifdef __cplusplus
}
#endif
#endif
