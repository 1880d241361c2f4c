/* One thread and poll(): a handful of browser tabs send a request once a second. The number of
 * connections, the bytes of a request and the duration of a visit are all bounded, so a client that
 * connects and sends nothing only occupies a place for a while. */
#include "serve.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <syncopate/report.h>

#include "http.h"
#include "page.h"

#define MOST_VISITS 16
#define VISIT_MS    5000
#define NAP_MS      500 /* a signal that arrives just before poll() is noticed after that */

/* A connection. */
struct visit {
    int socket; /* -1: this place is free */
    int64_t ends_ms;
    char request[HTTP_MOST_BYTES];
    size_t got;
    struct text answer; /* empty while the request is being received */
    size_t sent;
};

struct server {
    const char *const *paths;
    size_t count;
    int listener;
    uint16_t port;
    struct visit visits[MOST_VISITS];
};

static volatile sig_atomic_t wants_end;

static void ask_to_end(int number)
{
    (void)number;
    wants_end = 1;
}

/* The second signal ends the program at once. */
static void catch_signals(void)
{
    struct sigaction action = {.sa_handler = ask_to_end};
    action.sa_flags = (int)SA_RESETHAND;
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static bool make_patient(int file)
{
    return fcntl(file, F_SETFL, O_NONBLOCK) == 0 && fcntl(file, F_SETFD, FD_CLOEXEC) == 0;
}

static enum syn_status listen_on(struct server *server, uint16_t port)
{
    struct sockaddr_in name = {.sin_family = AF_INET, .sin_port = htons(port)};
    socklen_t bytes = sizeof name;
    int yes = 1;
    name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    server->listener = socket(AF_INET, SOCK_STREAM, 0);
    if (server->listener < 0 || !make_patient(server->listener) ||
        setsockopt(server->listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) != 0 ||
        bind(server->listener, (const struct sockaddr *)&name, sizeof name) != 0 ||
        listen(server->listener, MOST_VISITS) != 0 ||
        getsockname(server->listener, (struct sockaddr *)&name, &bytes) != 0)
        return syn_report(SYN_IO, "cannot listen on 127.0.0.1, port %u: %s", port, strerror(errno));
    server->port = ntohs(name.sin_port);
    return SYN_OK;
}

static void end_visit(struct visit *visit)
{
    close(visit->socket);
    text_free(&visit->answer);
    visit->socket = -1;
}

static void welcome(struct server *server, struct visit *visit)
{
    int found = accept(server->listener, NULL, NULL);
    if (found < 0)
        return;
    *visit = (struct visit){.socket = found, .ends_ms = now_ms() + VISIT_MS};
    if (!make_patient(found))
        end_visit(visit);
}

/* Respond with the page or its data, from the current state of the runs. */
static void show(const struct server *server, struct visit *visit, bool wants_page,
                 const char *version)
{
    struct text data = {0};
    struct text page = {0};
    struct text why = {0};
    enum syn_status status = page_add_data(server->paths, server->count, true, &data);
    if (status == SYN_OK && wants_page)
        status = page_add(&data, &page);
    if (status != SYN_OK) {
        text_put(&why, syn_error_text());
        http_answer(&visit->answer, "503 Service Unavailable", "text/plain; charset=utf-8", &why);
    } else if (wants_page) {
        http_answer(&visit->answer, "200 OK", "text/html; charset=utf-8", &page);
    } else if (strncmp(page_version(&data), version, HTTP_VERSION_BYTES - 1) == 0) {
        http_answer(&visit->answer, "200 OK", "application/json", &why);
    } else {
        http_answer(&visit->answer, "200 OK", "application/json", &data);
    }
    text_free(&data);
    text_free(&page);
    text_free(&why);
}

static void hear(const struct server *server, struct visit *visit)
{
    char version[HTTP_VERSION_BYTES];
    ssize_t got =
        recv(visit->socket, visit->request + visit->got, sizeof visit->request - visit->got, 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got <= 0) {
        end_visit(visit);
        return;
    }
    visit->got += (size_t)got;
    enum http_verdict verdict = http_read(visit->request, visit->got, server->port, version);
    if (verdict == HTTP_PAGE || verdict == HTTP_DATA)
        show(server, visit, verdict == HTTP_PAGE, version);
    else if (verdict != HTTP_UNFINISHED)
        http_refuse(&visit->answer, verdict);
    if (visit->answer.is_short)
        end_visit(visit);
}

static void tell(struct visit *visit)
{
    ssize_t sent = send(visit->socket, visit->answer.bytes + visit->sent,
                        visit->answer.length - visit->sent, MSG_NOSIGNAL);
    if (sent < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    visit->sent += sent > 0 ? (size_t)sent : 0;
    if (sent <= 0 || visit->sent == visit->answer.length)
        end_visit(visit);
}

static struct visit *find_place(struct server *server)
{
    for (size_t i = 0; i < MOST_VISITS; i++)
        if (server->visits[i].socket < 0)
            return &server->visits[i];
    return NULL;
}

/* Wait for events and handle them. */
static void serve_once(struct server *server)
{
    struct pollfd asked[MOST_VISITS + 1];
    struct visit *place = find_place(server);
    for (size_t i = 0; i < MOST_VISITS; i++) {
        const struct visit *visit = &server->visits[i];
        bool is_answered = visit->answer.length > 0;
        asked[i] = (struct pollfd){visit->socket, is_answered ? POLLOUT : POLLIN, 0};
    }
    asked[MOST_VISITS] = (struct pollfd){place ? server->listener : -1, POLLIN, 0};
    if (poll(asked, MOST_VISITS + 1, NAP_MS) < 0)
        return; /* a signal */
    for (size_t i = 0; i < MOST_VISITS; i++) {
        struct visit *visit = &server->visits[i];
        if (visit->socket < 0)
            continue;
        if (now_ms() > visit->ends_ms)
            end_visit(visit);
        else if (asked[i].revents && visit->answer.length > 0)
            tell(visit);
        else if (asked[i].revents)
            hear(server, visit);
    }
    if (asked[MOST_VISITS].revents)
        welcome(server, place);
}

enum syn_status serve(const char *const *paths, size_t count, uint16_t port)
{
    static struct server server; /* static, as the request buffers are too large for the stack */
    server = (struct server){.paths = paths, .count = count};
    for (size_t i = 0; i < MOST_VISITS; i++)
        server.visits[i].socket = -1;
    enum syn_status status = listen_on(&server, port);
    if (status == SYN_OK) {
        catch_signals();
        printf("http://127.0.0.1:%u/ (Ctrl-C to stop)\n", server.port);
        fflush(stdout);
    }
    while (status == SYN_OK && !wants_end)
        serve_once(&server);
    for (size_t i = 0; i < MOST_VISITS; i++)
        if (server.visits[i].socket >= 0)
            end_visit(&server.visits[i]);
    if (server.listener >= 0)
        close(server.listener);
    return status;
}
