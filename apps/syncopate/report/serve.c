/* One thread and poll(): a handful of browser tabs send a request once a second. The number of
 * connections, the bytes of a request and the duration of a connection are all bounded, so a client
 * that connects and sends nothing only occupies a slot for a while. */
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

#define MAX_CONNECTIONS 16
#define CONNECTION_MS   5000
#define POLL_MS         500 /* a signal that arrives just before poll() is noticed after that */

/* A connection. */
struct connection {
    int socket; /* -1: free */
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
    struct connection connections[MAX_CONNECTIONS];
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
        listen(server->listener, MAX_CONNECTIONS) != 0 ||
        getsockname(server->listener, (struct sockaddr *)&name, &bytes) != 0)
        return syn_report(SYN_IO, "cannot listen on 127.0.0.1, port %u: %s", port, strerror(errno));
    server->port = ntohs(name.sin_port);
    return SYN_OK;
}

static void close_connection(struct connection *connection)
{
    close(connection->socket);
    text_free(&connection->answer);
    connection->socket = -1;
}

static void accept_connection(struct server *server, struct connection *connection)
{
    int found = accept(server->listener, NULL, NULL);
    if (found < 0)
        return;
    *connection = (struct connection){.socket = found, .ends_ms = now_ms() + CONNECTION_MS};
    if (!make_patient(found))
        close_connection(connection);
}

/* Respond with the page or its data, from the current state of the runs. */
static void show(const struct server *server, struct connection *connection, bool wants_page,
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
        http_answer(&connection->answer, "503 Service Unavailable", "text/plain; charset=utf-8",
                    &why);
    } else if (wants_page) {
        http_answer(&connection->answer, "200 OK", "text/html; charset=utf-8", &page);
    } else if (strncmp(page_version(&data), version, HTTP_VERSION_BYTES - 1) == 0) {
        http_answer(&connection->answer, "200 OK", "application/json", &why);
    } else {
        http_answer(&connection->answer, "200 OK", "application/json", &data);
    }
    text_free(&data);
    text_free(&page);
    text_free(&why);
}

static void receive(const struct server *server, struct connection *connection)
{
    char version[HTTP_VERSION_BYTES];
    ssize_t got = recv(connection->socket, connection->request + connection->got,
                       sizeof connection->request - connection->got, 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got <= 0) {
        close_connection(connection);
        return;
    }
    connection->got += (size_t)got;
    enum http_verdict verdict =
        http_read(connection->request, connection->got, server->port, version);
    if (verdict == HTTP_PAGE || verdict == HTTP_DATA)
        show(server, connection, verdict == HTTP_PAGE, version);
    else if (verdict != HTTP_UNFINISHED)
        http_refuse(&connection->answer, verdict);
    if (connection->answer.is_short)
        close_connection(connection);
}

static void send_answer(struct connection *connection)
{
    ssize_t sent = send(connection->socket, connection->answer.bytes + connection->sent,
                        connection->answer.length - connection->sent, MSG_NOSIGNAL);
    if (sent < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    connection->sent += sent > 0 ? (size_t)sent : 0;
    if (sent <= 0 || connection->sent == connection->answer.length)
        close_connection(connection);
}

static struct connection *find_free(struct server *server)
{
    for (size_t i = 0; i < MAX_CONNECTIONS; i++)
        if (server->connections[i].socket < 0)
            return &server->connections[i];
    return NULL;
}

/* Wait for events and handle them. */
static void serve_once(struct server *server)
{
    struct pollfd asked[MAX_CONNECTIONS + 1];
    struct connection *free_slot = find_free(server);
    for (size_t i = 0; i < MAX_CONNECTIONS; i++) {
        const struct connection *connection = &server->connections[i];
        bool is_answered = connection->answer.length > 0;
        asked[i] = (struct pollfd){connection->socket, is_answered ? POLLOUT : POLLIN, 0};
    }
    asked[MAX_CONNECTIONS] = (struct pollfd){free_slot ? server->listener : -1, POLLIN, 0};
    if (poll(asked, MAX_CONNECTIONS + 1, POLL_MS) < 0)
        return; /* a signal */
    for (size_t i = 0; i < MAX_CONNECTIONS; i++) {
        struct connection *connection = &server->connections[i];
        if (connection->socket < 0)
            continue;
        if (now_ms() > connection->ends_ms)
            close_connection(connection);
        else if (asked[i].revents && connection->answer.length > 0)
            send_answer(connection);
        else if (asked[i].revents)
            receive(server, connection);
    }
    if (asked[MAX_CONNECTIONS].revents)
        accept_connection(server, free_slot);
}

enum syn_status serve(const char *const *paths, size_t count, uint16_t port)
{
    static struct server server; /* static, as the request buffers are too large for the stack */
    server = (struct server){.paths = paths, .count = count};
    for (size_t i = 0; i < MAX_CONNECTIONS; i++)
        server.connections[i].socket = -1;
    enum syn_status status = listen_on(&server, port);
    if (status == SYN_OK) {
        catch_signals();
        printf("http://127.0.0.1:%u/ (Ctrl-C to stop)\n", server.port);
        fflush(stdout);
    }
    while (status == SYN_OK && !wants_end)
        serve_once(&server);
    for (size_t i = 0; i < MAX_CONNECTIONS; i++)
        if (server.connections[i].socket >= 0)
            close_connection(&server.connections[i]);
    if (server.listener >= 0)
        close(server.listener);
    return status;
}
