/* As much of HTTP/1.1 as one page needs: GET, one request a connection. */
#ifndef SYN_APP_REPORT_HTTP_H
#define SYN_APP_REPORT_HTTP_H

#include <stddef.h>
#include <stdint.h>

#include "text.h"

/* Longest request, all its lines together. */
#define HTTP_MOST_BYTES 8192

enum http_verdict {
    HTTP_UNFINISHED, /* there is more to come */
    HTTP_PAGE,       /* the page is asked for */
    HTTP_DATA,       /* what it shows is asked for; version tells what the asker has */
    HTTP_BAD,        /* this is no request: 400 */
    HTTP_FOREIGN,    /* it was meant for another host: 403 */
    HTTP_UNKNOWN,    /* nothing of that name is here: 404 */
    HTTP_NO_GET,     /* another method: 405 */
    HTTP_TOO_LONG    /* 431 */
};

#define HTTP_VERSION_BYTES 17

/* Look at the bytes of a request that have come so far.
 *   port     of our own: a page from elsewhere, whose name was made to mean 127.0.0.1, says another
 *   host version  set for HTTP_DATA; "" if the asker has nothing */
enum http_verdict http_read(const char *bytes, size_t count, uint16_t port,
                            char version[HTTP_VERSION_BYTES]);

/* Add an answer.
 *   status  such as "200 OK"
 *   type    of the body, such as "text/plain" */
void http_answer(struct text *text, const char *status, const char *type, const struct text *body);

/* Add the answer to a request that gets neither page nor data. */
void http_refuse(struct text *text, enum http_verdict verdict);

#endif
