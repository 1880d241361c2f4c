/* Requests come from anyone who can reach the port, so every byte is checked: sizes are bounded, a
 * control character is an error, and the Host line must name this server. */
#include "http.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* One line of a request, without its end. */
struct line {
    const char *at;
    size_t length;
};

static bool is_like(struct line line, const char *words)
{
    return line.length == strlen(words) && strncasecmp(line.at, words, line.length) == 0;
}

/* Read the next line; it may end in a bare newline. */
static bool next_line(const char **at, const char *end, struct line *line)
{
    const char *stop = memchr(*at, '\n', (size_t)(end - *at));
    if (!stop)
        return false;
    *line = (struct line){*at, (size_t)(stop - *at)};
    if (line->length > 0 && stop[-1] == '\r')
        line->length--;
    *at = stop + 1;
    return true;
}

static bool is_printable(struct line line)
{
    for (size_t i = 0; i < line.length; i++)
        if (((unsigned char)line.at[i] < 0x20 && line.at[i] != '\t') || line.at[i] == 0x7f)
            return false;
    return true;
}

/* Remove a word and the space after it from a line. */
static struct line next_word(struct line *line)
{
    const char *space = memchr(line->at, ' ', line->length);
    size_t length = space ? (size_t)(space - line->at) : line->length;
    struct line word = {line->at, length};
    line->at += space ? length + 1 : length;
    line->length -= space ? length + 1 : length;
    return word;
}

/* "host: 127.0.0.1:8080"; blanks around the value are ignored. */
static bool is_our_host(struct line line, uint16_t port)
{
    char expected[32];
    line.at += strlen("host:");
    line.length -= strlen("host:");
    while (line.length > 0 && strchr(" \t", line.at[0])) {
        line.at++;
        line.length--;
    }
    while (line.length > 0 && strchr(" \t", line.at[line.length - 1]))
        line.length--;
    snprintf(expected, sizeof expected, "127.0.0.1:%u", port);
    if (is_like(line, expected))
        return true;
    snprintf(expected, sizeof expected, "localhost:%u", port);
    return is_like(line, expected);
}

static enum http_verdict find_target(struct line target, char version[HTTP_VERSION_BYTES])
{
    static const char data[] = "/data";
    static const char have[] = "/data?have=";
    version[0] = '\0';
    if (is_like(target, "/"))
        return HTTP_PAGE;
    if (is_like(target, data))
        return HTTP_DATA;
    if (target.length != sizeof have - 1 + HTTP_VERSION_BYTES - 1 ||
        memcmp(target.at, have, sizeof have - 1) != 0)
        return HTTP_UNKNOWN;
    memcpy(version, target.at + sizeof have - 1, HTTP_VERSION_BYTES - 1);
    version[HTTP_VERSION_BYTES - 1] = '\0';
    return HTTP_DATA;
}

static enum http_verdict read_first(struct line line, char version[HTTP_VERSION_BYTES])
{
    struct line method = next_word(&line);
    struct line target = next_word(&line);
    if (!is_like(line, "HTTP/1.1") && !is_like(line, "HTTP/1.0"))
        return HTTP_BAD;
    return is_like(method, "GET") ? find_target(target, version) : HTTP_NO_GET;
}

enum http_verdict http_read(const char *bytes, size_t count, uint16_t port,
                            char version[HTTP_VERSION_BYTES])
{
    const char *at = bytes;
    const char *end = bytes + count;
    struct line line;
    enum http_verdict unfinished = count >= HTTP_MOST_BYTES ? HTTP_TOO_LONG : HTTP_UNFINISHED;
    size_t hosts = 0;
    bool is_ours = false;
    if (!next_line(&at, end, &line))
        return unfinished;
    if (!is_printable(line))
        return HTTP_BAD;
    enum http_verdict verdict = read_first(line, version);
    while (verdict != HTTP_BAD && next_line(&at, end, &line)) {
        if (line.length == 0)
            return hosts == 1 && is_ours ? verdict : HTTP_FOREIGN;
        if (!is_printable(line))
            return HTTP_BAD;
        if (line.length >= 5 && strncasecmp(line.at, "host:", 5) == 0) {
            hosts++;
            is_ours = is_our_host(line, port);
        }
    }
    return verdict == HTTP_BAD ? HTTP_BAD : unfinished;
}

void http_answer(struct text *text, const char *status, const char *type, const struct text *body)
{
    char head[512];
    snprintf(head, sizeof head,
             "HTTP/1.1 %s\r\n"
             "Content-Type: %s\r\n"
             "Content-Length: %zu\r\n"
             "Cache-Control: no-store\r\n"
             "X-Content-Type-Options: nosniff\r\n"
             "Cross-Origin-Resource-Policy: same-origin\r\n"
             "Connection: close\r\n\r\n",
             status, type, body->length);
    text_put(text, head);
    if (body->length > 0)
        text_add(text, body->bytes, body->length);
}

void http_refuse(struct text *text, enum http_verdict verdict)
{
    const char *status = "400 Bad Request";
    struct text body = {0};
    if (verdict == HTTP_FOREIGN)
        status = "403 Forbidden";
    else if (verdict == HTTP_UNKNOWN)
        status = "404 Not Found";
    else if (verdict == HTTP_NO_GET)
        status = "405 Method Not Allowed";
    else if (verdict == HTTP_TOO_LONG)
        status = "431 Request Header Fields Too Large";
    text_put(&body, status);
    text_put(&body, "\n");
    http_answer(text, status, "text/plain", &body);
    text_free(&body);
}
