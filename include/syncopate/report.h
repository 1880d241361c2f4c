/* Reporting failures and messages in the library's own way, for code that stands beside it: the
 * engine, a transport or a training loop of the caller's. What is reported here reaches
 * syn_error_text() and the log sink just as the library's own words do. */
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

/* Log the cause of a failure as an error, keep it as this thread's syn_error_text(), return status.
 * The first to know calls it, once; those above pass the status on.
 *   format  as printf's, one line without a newline, with the values; cut after 511 bytes */
enum syn_status syn_report(enum syn_status status, const char *format, ...) SYN_REPORT_PRINTF;

/* Log a message that is no failure. */
void syn_report_log(enum syn_log_level level, const char *format, ...) SYN_REPORT_PRINTF;

#undef SYN_REPORT_PRINTF

#ifdef __cplusplus
}
#endif
#endif
