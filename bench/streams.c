/* SPDX-License-Identifier: MIT */
/* What it costs our server to keep event streams open on which nothing happens: pages that someone
 * left open. */
#include "served.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

enum { STREAMS = 10000, STREAMS_QUICK = 1000, SPARE_FILES = 300, PATIENCE_S = 30 };

/* As many as we, and the server that inherits it from us, may have open. */
static size_t raise_limit(size_t wanted)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0)
        bench_die("the limit of open files is not known: %s", strerror(errno));
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    return files.rlim_cur < wanted + SPARE_FILES ? files.rlim_cur - SPARE_FILES : wanted;
}

/* Opens one and waits until the server has said that it begins. */
static int open_stream(const served *s)
{
    char text[1024];
    size_t got = 0;
    int size = snprintf(text, sizeof text,
                        "GET /v1/events HTTP/1.1\r\nHost: localhost\r\nAccept: "
                        "text/event-stream\r\nAuthorization: Bearer %s\r\n\r\n",
                        s->token);
    int fd = load_connect(s->program->address);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &(struct timeval){.tv_sec = PATIENCE_S},
               sizeof(struct timeval));
    if (send(fd, text, (size_t)size, MSG_NOSIGNAL) != size)
        bench_die("a stream can't be asked for: %s", strerror(errno));
    do {
        ssize_t more = recv(fd, text + got, sizeof text - 1 - got, 0);
        if (more <= 0)
            bench_die("a stream was not answered: %s", more < 0 ? strerror(errno) : "end of file");
        got += (size_t)more;
        text[got] = '\0';
    } while (strstr(text, "\r\n\r\n") == NULL && got + 1 < sizeof text);
    if (strncmp(text, "HTTP/1.1 200", 12) != 0)
        bench_die("a stream was answered with: %s", text);
    return fd;
}

void bench_streams(bench *b)
{
    bench_figure figure = {
        .name = "http/idle-streams", .unit = "MB", .judge = BENCH_OURS_AT_MOST, .target = 60};
    if (!bench_wants(b, figure.name))
        return;
    char against[96];
    size_t wanted = b->quick ? STREAMS_QUICK : STREAMS, count = raise_limit(wanted);
    snprintf(against, sizeof against, "grown by %zu streams%s", count,
             count < wanted ? ": no more files may be open" : "");
    figure.against = count == STREAMS ? "grown by 10,000 streams" : against;
    if (count < STREAMS)
        figure.judge = BENCH_PRINT_ONLY;
    int *fds = calloc(count, sizeof *fds);
    if (fds == NULL)
        bench_die("out of memory");
    served *s = served_start(b, "streams", SERVED_NEW);
    double before = child_memory(s->program->pid);
    size_t opened = 0;
    for (; opened < count && !bench_stopped(); opened++)
        fds[opened] = open_stream(s);
    bench_series grown = {.value = {(child_memory(s->program->pid) - before) / 1e6}, .count = 1};
    bench_report(b, &figure, &grown, NULL);
    for (size_t i = 0; i < opened; i++)
        close(fds[i]);
    free(fds);
    served_stop(s);
}
