/* The public interface to the private failure functions. The text is formatted here and passed on
 * complete, so that status.c needs no second set of functions that take a va_list. */
#include <syncopate/report.h>

#include <stdarg.h>

#include <syncopate/text.h>

#include "base/status.h"

enum syn_status syn_report(enum syn_status status, const char *format, ...)
{
    char text[SYN_ERROR_BYTES];
    va_list arguments;
    va_start(arguments, format);
    syn_text_print_list(text, sizeof text, format, arguments);
    va_end(arguments);
    return syn_fail(status, "%s", text);
}

void syn_report_log(enum syn_log_level level, const char *format, ...)
{
    char text[SYN_ERROR_BYTES];
    va_list arguments;
    va_start(arguments, format);
    syn_text_print_list(text, sizeof text, format, arguments);
    va_end(arguments);
    syn_log(level, "%s", text);
}
