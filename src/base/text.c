/* Switches to the C locale for the duration of a call, on this thread only; the host program's
 * locale is unaffected. This is shorter than printing and parsing floating-point numbers ourselves,
 * and exact. */
#include <syncopate/text.h>

#include <locale.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static locale_t plain; /* never freed: one for the lifetime of the process */

static void make_plain(void)
{
    plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

/* Returns the locale to restore. Without a C locale, which cannot happen, nothing changes. */
static locale_t enter(void)
{
    pthread_once(&once, make_plain);
    return uselocale(plain);
}

int syn_text_print_list(char *text, size_t capacity, const char *format, va_list arguments)
{
    locale_t host = enter();
    int length = vsnprintf(text, capacity, format, arguments);
    uselocale(host);
    return length;
}

int syn_text_print(char *text, size_t capacity, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = syn_text_print_list(text, capacity, format, arguments);
    va_end(arguments);
    return length;
}

double syn_text_number(const char *text, char **end)
{
    locale_t host = enter();
    double number = strtod(text, end);
    uselocale(host);
    return number;
}
