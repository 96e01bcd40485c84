/* SPDX-License-Identifier: MIT */
/* The plain HTTP client: only answers with a Content-Length. */
#include <support/http_client.h>

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <support/timing.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { PATIENCE_S = 60 };

void http_client_close(http_client *a)
{
    if (a->fd >= 0)
        close(a->fd);
    a->fd = -1;
    a->requests = 0;
}

static bool http_client_join(http_client *a)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)a->port),
                                  .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    struct timeval patience = {.tv_sec = PATIENCE_S};
    int yes = 1;
    a->sent_us = timing_now_us();
    a->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (a->fd < 0 || connect(a->fd, (struct sockaddr *)&address, sizeof address) != 0) {
        http_client_close(a);
        return false;
    }
    setsockopt(a->fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    setsockopt(a->fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    return true;
}

/* That the other side is gone shows when the answer is read. */
bool http_client_send(http_client *a, const char *text, size_t size)
{
    if (a->fd < 0 && !http_client_join(a))
        return false;
    a->requests++;
    for (ssize_t sent; size > 0 && (sent = send(a->fd, text, size, MSG_NOSIGNAL)) > 0;
         size -= (size_t)sent)
        text += sent;
    int64_t sent_us = timing_now_us();
    a->gap_us = sent_us - a->sent_us;
    a->sent_us = sent_us;
    return true;
}

/* The bytes of the whole answer; 0: its head is not there yet. */
static size_t size_of_answer(http_client_answer *out)
{
    const char *end = strstr(out->text, "\r\n\r\n");
    if (end == NULL)
        return 0;
    size_t length = 0;
    out->status = (int)strtol(out->text + strlen("HTTP/1.1 "), NULL, 10);
    out->closes = false;
    for (const char *line = strchr(out->text, '\n') + 1; line < end;
         line = strchr(line, '\n') + 1) {
        if (strncasecmp(line, "Content-Length:", 15) == 0)
            length = strtoul(line + 15, NULL, 10);
        out->closes |= strncasecmp(line, "Connection: close", 17) == 0;
    }
    out->body = end + 4;
    out->body_size = length;
    return (size_t)(end + 4 - out->text) + length;
}

http_client_end http_client_read(http_client *a, http_client_answer *out)
{
    size_t got = 0, whole = 0;
    *out = (http_client_answer){0};
    while (whole == 0 || got < whole) {
        ssize_t more = recv(a->fd, out->text + got, sizeof out->text - 1 - got, 0);
        /* with a timeout also when the process was stopped for a while */
        if (more < 0 && errno == EINTR)
            continue;
        if (more <= 0) {
            bool reset = more < 0;
            http_client_close(a);
            return got > 0 ? HTTP_CLIENT_CUT : reset ? HTTP_CLIENT_RESET : HTTP_CLIENT_CLOSED;
        }
        got += (size_t)more;
        out->text[got] = '\0';
        whole = size_of_answer(out);
    }
    if (out->closes)
        http_client_close(a);
    return HTTP_CLIENT_ANSWERED;
}

http_client_end http_client_ask(http_client *a, const char *method, const char *path,
                                const char *headers, const char *body, http_client_answer *out)
{
    char text[4096];
    size_t size = body ? strlen(body) : 0;
    int length = snprintf(text, sizeof text,
                          "%s %s HTTP/1.1\r\nHost: localhost\r\n%s%sContent-Length: %zu\r\n\r\n%s",
                          method, path, headers, body ? "Content-Type: application/json\r\n" : "",
                          size, body ? body : "");
    if (length >= (int)sizeof text)
        abort();
    return http_client_send(a, text, (size_t)length) ? http_client_read(a, out)
                                                     : HTTP_CLIENT_REFUSED;
}

static const char *http_client_value_of(const http_client_answer *answer, const char *name)
{
    char key[64];
    snprintf(key, sizeof key, "\"%s\":", name);
    const char *at = answer->body ? strstr(answer->body, key) : NULL;
    return at ? at + strlen(key) : NULL;
}

long long http_client_number(const http_client_answer *answer, const char *name)
{
    const char *at = http_client_value_of(answer, name);
    return at ? strtoll(at, NULL, 10) : 0;
}

bool http_client_text(const http_client_answer *answer, const char *name, char *out, size_t size)
{
    const char *at = http_client_value_of(answer, name),
               *end = at && *at == '"' ? strchr(at + 1, '"') : NULL;
    if (end == NULL || (size_t)(end - at) > size)
        return false;
    memcpy(out, at + 1, (size_t)(end - at - 1));
    out[end - at - 1] = '\0';
    return true;
}
