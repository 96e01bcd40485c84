/* SPDX-License-Identifier: MIT */
/* HTTP as a client hears it, and names for connections. */
#include "talk.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

/* The value of Content-Length; -1 if there is none. */
static long length_of(const char *head, const char *end)
{
    static const char name[] = "content-length:";
    for (const char *line = head; line < end;) {
        const char *next = memchr(line, '\n', (size_t)(end - line));
        if (strncasecmp(line, name, sizeof name - 1) == 0)
            return strtol(line + sizeof name - 1, NULL, 10);
        if (next == NULL)
            break;
        line = next + 1;
    }
    return -1;
}

load_heard talk_http_read(const char *answer, size_t size, talk_http *out)
{
    static const char version[] = "HTTP/1.1 ";
    const char *end = memmem(answer, size, "\r\n\r\n", 4);
    if (end == NULL)
        return LOAD_MORE;
    if (strncmp(answer, version, sizeof version - 1) != 0)
        return LOAD_BAD;
    *out =
        (talk_http){.status = (int)strtol(answer + sizeof version - 1, NULL, 10), .body = end + 4};
    long length = out->status == 204 ? 0 : length_of(answer, end);
    if (length < 0)
        return LOAD_BAD;
    out->body_size = (size_t)length;
    size_t whole = (size_t)(out->body - answer) + out->body_size;
    return size < whole ? LOAD_MORE : size == whole ? LOAD_GOOD : LOAD_BAD;
}

void talk_http_call(const char *address, const char *head, const char *body, int status, char *out,
                    size_t size)
{
    char *text = malloc(LOAD_ROOM + 1);
    if (text == NULL)
        bench_die("out of memory");
    int length = snprintf(text, LOAD_ROOM, "%sHost: localhost\r\nContent-Length: %zu\r\n\r\n%s",
                          head, strlen(body), body);
    int fd = load_connect(address);
    talk_http heard;
    size_t got = 0;
    load_heard complete = LOAD_MORE;
    if (send(fd, text, (size_t)length, MSG_NOSIGNAL) != length)
        bench_die("%s takes no requests", address);
    while (complete == LOAD_MORE && got < LOAD_ROOM) {
        ssize_t more = recv(fd, text + got, LOAD_ROOM - got, 0);
        if (more <= 0)
            break;
        got += (size_t)more;
        text[got] = '\0';
        complete = talk_http_read(text, got, &heard);
    }
    if (complete != LOAD_GOOD || heard.status != status)
        bench_die("%s was asked %.*s and answered: %.*s", address, (int)strcspn(head, "\r"), head,
                  (int)got, text);
    snprintf(out, size, "%.*s", (int)heard.body_size, heard.body);
    close(fd);
    explicit_bzero(text, LOAD_ROOM);
    free(text);
}

void talk_names_open(talk_names *names, const bench *b)
{
    for (uint32_t i = 0; i < LOAD_CONNECTIONS; i++) {
        names->pickers[i] = bench_picker_new(200 + i, b->working);
        bench_picker_share(names->pickers[i], i, LOAD_CONNECTIONS);
    }
}

void talk_names_close(talk_names *names)
{
    for (size_t i = 0; i < LOAD_CONNECTIONS; i++)
        free(names->pickers[i]);
}

const bench_pick *talk_names_at(talk_names *names, size_t connection, size_t step)
{
    if (step == 0)
        bench_picker_fill(names->pickers[connection], &names->picks[connection], 1);
    return &names->picks[connection];
}
