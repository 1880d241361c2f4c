/* The part of HTTP/1.1 that one page needs: GET, one request per connection. */
#ifndef SYN_APP_REPORT_HTTP_H
#define SYN_APP_REPORT_HTTP_H

#include <stddef.h>
#include <stdint.h>

#include "text.h"

/* Longest request, all its lines together. */
#define HTTP_MOST_BYTES 8192

enum http_verdict {
    HTTP_UNFINISHED, /* the request is incomplete */
    HTTP_PAGE,       /* a request for the page */
    HTTP_DATA,       /* a request for the page's data; version is what the client has */
    HTTP_BAD,        /* not a valid request: 400 */
    HTTP_FOREIGN,    /* meant for another host: 403 */
    HTTP_UNKNOWN,    /* no such resource: 404 */
    HTTP_NO_GET,     /* another method: 405 */
    HTTP_TOO_LONG    /* 431 */
};

#define HTTP_VERSION_BYTES 17

/* Parse the bytes of a request received so far.
 *   port     our own: a foreign page whose name was made to resolve to 127.0.0.1 has another Host
 *   version  set for HTTP_DATA; "" if the client has nothing */
enum http_verdict http_read(const char *bytes, size_t count, uint16_t port,
                            char version[HTTP_VERSION_BYTES]);

/* Add a response.
 *   status  such as "200 OK"
 *   type    of the body, such as "text/plain" */
void http_answer(struct text *text, const char *status, const char *type, const struct text *body);

/* Add the response to a request that gets neither page nor data. */
void http_refuse(struct text *text, enum http_verdict verdict);

#endif
