/* Numbers as text, with a decimal point whatever the process's locale: settings, JSON, reports and
 * messages are read by programs too. */
#ifndef SYNCOPATE_TEXT_H
#define SYNCOPATE_TEXT_H

#include <stdarg.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define SYN_TEXT_PRINTF(list) __attribute__((format(printf, 3, list)))
#else
#define SYN_TEXT_PRINTF(list)
#endif

/* As snprintf and vsnprintf. */
int syn_text_print(char *text, size_t capacity, const char *format, ...) SYN_TEXT_PRINTF(4);
int syn_text_print_list(char *text, size_t capacity, const char *format, va_list arguments)
    SYN_TEXT_PRINTF(0);

/* As strtod: *end points past the number, or to text if there is none. */
double syn_text_number(const char *text, char **end);

#undef SYN_TEXT_PRINTF

#ifdef __cplusplus
}
#endif
#endif
