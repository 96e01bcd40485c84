/* SPDX-License-Identifier: MIT */
/* One thread, one epoll, a small machine for each connection: head, chunks, lines, records. */
#include <support/sse_clients.h>

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <support/timing.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
    LINE_MAX_SIZE = 4096,
    READ_SIZE = 1 << 18,
    SPARE_FILES = 256,
    AGAIN_US = 20000,
    SMALL_BUFFER = 4096
};

typedef enum stage { ABSENT, CONNECTING, HEAD, CHUNK_SIZE, CHUNK, CHUNK_END, OVER } stage;

typedef struct follower {
    int fd;
    stage stage;
    bool slow, seated;
    bool passed; /* told to resync: it asks again for what it has missed */
    unsigned server;
    int64_t seq;    /* heard up to here; -1: not told yet */
    int64_t due_us; /* absent: to connect; else to leave by chance, 0: never */
    size_t chunk;   /* bytes of it that are to come */
    size_t size;    /* of the line so far */
    char *line;     /* LINE_MAX_SIZE bytes, while connected */
    int64_t id;     /* of the record so far; -1: none */
    char event[32];
    uint64_t hash; /* of what it says */
    char data[128];
} follower;

struct sse_clients {
    sse_clients_options options;
    follower *all;
    pthread_t thread;
    int epoll;
    unsigned seed;
    char request[256];
    char *buffer;
    uint64_t *words; /* the hash of each event, by number; 0: nobody has heard it */
    size_t words_room;
    atomic_bool ends, deaf;
    _Atomic int64_t stays_us;
    bool was_deaf, restless;
    sse_clients_report so_far;
    pthread_mutex_t mutex; /* guards the rest, which is brought up to date now and then */
    sse_clients_report report;
    size_t seated;
    int64_t least; /* what every one has heard */
};

static void sse_clients_wrong(sse_clients *a, const follower *l, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void sse_clients_wrong(sse_clients *a, const follower *l, const char *format, ...)
{
    va_list args;
    char *problem = a->so_far.problem;
    if (problem[0] != '\0')
        return;
    int size = snprintf(problem, sizeof a->so_far.problem, "follower %td: ", l - a->all);
    va_start(args, format);
    vsnprintf(problem + size, sizeof a->so_far.problem - (size_t)size, format, args);
    va_end(args);
}

/* ---- records ---- */

/* The same number has the same words for everybody, whoever has served it and whenever. */
static void compare_words(sse_clients *a, const follower *l)
{
    size_t at = (size_t)l->id;
    if (at >= a->words_room) {
        size_t room = a->words_room ? a->words_room : 1024;
        while (room <= at)
            room *= 2;
        a->words = realloc(a->words, room * sizeof *a->words);
        if (a->words == NULL)
            abort();
        memset(a->words + a->words_room, 0, (room - a->words_room) * sizeof *a->words);
        a->words_room = room;
    }
    if (a->words[at] != 0 && a->words[at] != l->hash)
        sse_clients_wrong(a, l, "event %lld is told in other words than to others: %s",
                          (long long)l->id, l->data);
    a->words[at] = l->hash;
}

/* What is missed is asked for again: all that is kept is heard. */
static void sse_clients_take_resync(sse_clients *a, follower *l)
{
    long long newest = 0, first = 0, last = 0;
    if (sscanf(l->data, "{\"newest\":%lld,\"first\":%lld,\"last\":%lld}", &newest, &first, &last) !=
        3)
        sse_clients_wrong(a, l, "a resync makes no sense: %s", l->data);
    if (!l->slow)
        sse_clients_wrong(a, l, "told to resync, though it takes all it is given: %s", l->data);
    if (last != l->seq)
        sse_clients_wrong(a, l, "a resync says %lld, but %lld was the last that was heard", last,
                          (long long)l->seq);
    a->so_far.resyncs++;
    l->seq = first - 1 > l->seq ? first - 1 : l->seq;
    l->passed = true;
}

static void sse_clients_take_event(sse_clients *a, follower *l)
{
    if (l->id != l->seq + 1)
        sse_clients_wrong(a, l, "event %lld comes after %lld", (long long)l->id, (long long)l->seq);
    if (l->id <= 0 || l->id > (INT64_C(1) << 32))
        return;
    compare_words(a, l);
    l->seq = l->id;
    a->so_far.events++;
    if (l->seq > a->so_far.newest)
        a->so_far.newest = l->seq;
}

/* A beat's number may not go beyond what was heard: this follower wants everything. */
static void take_beat(sse_clients *a, follower *l)
{
    if (l->seq < 0)
        l->seq = l->id < 0 ? 0 : l->id;
    else if (l->id >= 0 && l->id != l->seq)
        sse_clients_wrong(a, l, "a beat says %lld, but %lld was the last that was heard",
                          (long long)l->id, (long long)l->seq);
}

static void end_record(sse_clients *a, follower *l)
{
    if (l->passed)
        return;
    if (l->event[0] == '\0')
        take_beat(a, l);
    else if (strcmp(l->event, "resync") == 0)
        sse_clients_take_resync(a, l);
    else
        sse_clients_take_event(a, l);
    l->seated = true;
    l->id = -1;
    l->event[0] = l->data[0] = '\0';
    l->hash = UINT64_C(14695981039346656037);
}

static void sse_clients_take_line(sse_clients *a, follower *l)
{
    l->line[l->size] = '\0';
    if (l->size == 0) {
        end_record(a, l);
        return;
    }
    for (size_t i = 0; i < l->size; i++)
        l->hash = (l->hash ^ (unsigned char)l->line[i]) * UINT64_C(1099511628211);
    if (strncmp(l->line, "id: ", 4) == 0)
        l->id = strtoll(l->line + 4, NULL, 10);
    else if (strncmp(l->line, "event: ", 7) == 0)
        snprintf(l->event, sizeof l->event, "%.31s", l->line + 7);
    else if (strncmp(l->line, "data: ", 6) == 0)
        snprintf(l->data, sizeof l->data, "%.127s", l->line + 6);
    else if (l->line[0] != ':')
        sse_clients_wrong(a, l, "a line makes no sense: %.100s", l->line);
    l->size = 0;
}

/* ---- bytes ---- */

/* Adds to the line up to its end; how many bytes were used. *whole: the line is. */
static size_t gather_line(sse_clients *a, follower *l, const char *from, size_t size, bool *whole)
{
    const char *end = memchr(from, '\n', size);
    size_t more = end ? (size_t)(end - from) : size;
    if (l->size + more >= LINE_MAX_SIZE) {
        sse_clients_wrong(a, l, "a line is too long");
        more = 0;
    }
    memcpy(l->line + l->size, from, more);
    l->size += more;
    *whole = end != NULL;
    return end ? (size_t)(end - from) + 1 : size;
}

static size_t sse_clients_take_head(sse_clients *a, follower *l, const char *from, size_t size)
{
    bool whole;
    size_t used = gather_line(a, l, from, size, &whole);
    if (!whole)
        return used;
    l->line[l->size] = '\0';
    if (strncmp(l->line, "HTTP/", 5) == 0 && strncmp(l->line, "HTTP/1.1 200", 12) != 0) {
        if (strncmp(l->line, "HTTP/1.1 503", 12) != 0)
            sse_clients_wrong(a, l, "answered %.60s", l->line);
        l->stage = OVER;
    }
    if (l->size == 1) { /* the carriage return */
        l->stage = CHUNK_SIZE;
        l->id = -1;
        l->event[0] = l->data[0] = '\0';
        l->hash = UINT64_C(14695981039346656037);
    }
    l->size = 0;
    return used;
}

/* Lines of HTTP and lines of events share the buffer: a chunk ends where a record does. */
static size_t take_size(sse_clients *a, follower *l, const char *from, size_t size)
{
    bool whole;
    size_t used = gather_line(a, l, from, size, &whole);
    if (!whole)
        return used;
    l->line[l->size] = '\0';
    if (l->stage == CHUNK_END) {
        l->stage = CHUNK_SIZE;
    } else {
        l->chunk = strtoul(l->line, NULL, 16);
        l->stage = l->chunk ? CHUNK : OVER;
        a->so_far.ended += l->chunk == 0;
    }
    l->size = 0;
    return used;
}

static size_t take_chunk(sse_clients *a, follower *l, const char *from, size_t size)
{
    bool whole;
    size_t used = gather_line(a, l, from, size < l->chunk ? size : l->chunk, &whole);
    l->chunk -= used;
    if (whole)
        sse_clients_take_line(a, l);
    if (l->chunk == 0) {
        if (l->size > 0)
            sse_clients_wrong(a, l, "a chunk ends in the middle of a line");
        l->stage = CHUNK_END;
    }
    return used;
}

static void take_bytes(sse_clients *a, follower *l, const char *from, size_t size)
{
    a->so_far.bytes += size;
    while (size > 0 && l->stage != OVER) {
        size_t used = l->stage == HEAD    ? sse_clients_take_head(a, l, from, size)
                      : l->stage == CHUNK ? take_chunk(a, l, from, size)
                                          : take_size(a, l, from, size);
        from += used;
        size -= used;
    }
}

/* ---- coming and going ---- */

static int64_t by_chance(sse_clients *a, int64_t about_us)
{
    return about_us / 2 + (int64_t)((uint64_t)rand_r(&a->seed) % (uint64_t)(about_us + 1));
}

static void sse_clients_leave(sse_clients *a, follower *l, int64_t back_us)
{
    if (l->fd >= 0)
        close(l->fd);
    l->fd = -1;
    free(l->line);
    l->line = NULL;
    l->stage = ABSENT;
    l->size = 0;
    l->due_us = timing_now_us() + back_us;
    l->passed = false;
    if (!a->options.stays_with_one)
        l->server = (l->server + 1) % (unsigned)a->options.servers;
}

static void sse_clients_come(sse_clients *a, follower *l)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)a->options.ports[l->server]),
                                  .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    struct epoll_event want = {.events = EPOLLOUT, .data.ptr = l};
    int small = SMALL_BUFFER;
    l->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    l->line = malloc(LINE_MAX_SIZE);
    if (l->fd < 0 || l->line == NULL) {
        sse_clients_wrong(a, l, "no socket: %s", strerror(errno));
        sse_clients_leave(a, l, AGAIN_US);
        return;
    }
    if (l->slow)
        setsockopt(l->fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
    l->stage = CONNECTING;
    l->due_us = 0;
    a->so_far.connections++;
    if ((connect(l->fd, (struct sockaddr *)&address, sizeof address) != 0 &&
         errno != EINPROGRESS) ||
        epoll_ctl(a->epoll, EPOLL_CTL_ADD, l->fd, &want) != 0) {
        a->so_far.refused++;
        sse_clients_leave(a, l, AGAIN_US);
    }
}

static void sse_clients_ask(sse_clients *a, follower *l)
{
    struct epoll_event want = {.events = EPOLLIN | EPOLLRDHUP, .data.ptr = l};
    char text[512];
    int failed = 0;
    socklen_t size = sizeof failed;
    getsockopt(l->fd, SOL_SOCKET, SO_ERROR, &failed, &size);
    int length = l->seq >= 0 ? snprintf(text, sizeof text, "%sLast-Event-ID: %lld\r\n\r\n",
                                        a->request, (long long)l->seq)
                             : snprintf(text, sizeof text, "%s\r\n", a->request);
    if (failed || send(l->fd, text, (size_t)length, MSG_NOSIGNAL) != length) {
        a->so_far.refused++;
        sse_clients_leave(a, l, AGAIN_US);
        return;
    }
    l->stage = HEAD;
    l->due_us = a->restless ? timing_now_us() + by_chance(a, atomic_load(&a->stays_us)) : 0;
    epoll_ctl(a->epoll, EPOLL_CTL_MOD, l->fd, &want);
}

static void sse_clients_hear(sse_clients *a, follower *l)
{
    ssize_t got = recv(l->fd, a->buffer, READ_SIZE, 0);
    if (got > 0) {
        take_bytes(a, l, a->buffer, (size_t)got);
    } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
        a->so_far.cut += l->stage != OVER;
        l->stage = OVER;
    }
    if (l->stage == OVER || l->passed)
        sse_clients_leave(a, l, AGAIN_US / 4);
}

/* ---- the thread ---- */

static void set_deaf(sse_clients *a, bool deaf)
{
    for (size_t i = 0; i < a->options.followers; i++) {
        follower *l = &a->all[i];
        struct epoll_event want = {.events = deaf ? 0 : EPOLLIN | EPOLLRDHUP, .data.ptr = l};
        if (l->slow && l->fd >= 0 && l->stage > CONNECTING)
            epoll_ctl(a->epoll, EPOLL_CTL_MOD, l->fd, &want);
    }
    a->was_deaf = deaf;
}

static void become_restless(sse_clients *a)
{
    a->restless = true;
    for (size_t i = 0; i < a->options.followers; i++)
        if (a->all[i].stage > CONNECTING)
            a->all[i].due_us = timing_now_us() + by_chance(a, atomic_load(&a->stays_us));
}

static void sse_clients_look_around(sse_clients *a)
{
    int64_t now = timing_now_us(), least = INT64_MAX;
    size_t seated = 0;
    for (size_t i = 0; i < a->options.followers; i++) {
        follower *l = &a->all[i];
        if (l->stage == ABSENT && now >= l->due_us && !(l->slow && a->was_deaf)) {
            sse_clients_come(a, l);
        } else if (l->stage > CONNECTING && l->due_us && now >= l->due_us &&
                   !(l->slow && a->was_deaf)) {
            a->so_far.left++;
            sse_clients_leave(a, l, 0);
        }
        seated += l->seated && l->stage > HEAD;
        least = l->seq < least ? l->seq : least;
    }
    pthread_mutex_lock(&a->mutex);
    a->seated = seated;
    a->least = least;
    a->report = a->so_far;
    pthread_mutex_unlock(&a->mutex);
}

static void *sse_clients_listen_on(void *context)
{
    sse_clients *a = context;
    struct epoll_event found[256];
    int64_t looked_us = 0;
    while (!atomic_load(&a->ends)) {
        int count = epoll_wait(a->epoll, found, 256, 2);
        for (int i = 0; i < count; i++) {
            follower *l = found[i].data.ptr;
            if (l->stage == CONNECTING)
                sse_clients_ask(a, l);
            else if (l->stage != ABSENT && !(l->slow && a->was_deaf))
                sse_clients_hear(a, l);
        }
        if (atomic_load(&a->deaf) != a->was_deaf)
            set_deaf(a, !a->was_deaf);
        if (!a->restless && atomic_load(&a->stays_us) > 0)
            become_restless(a);
        if (timing_now_us() - looked_us > 5000) {
            sse_clients_look_around(a);
            looked_us = timing_now_us();
        }
    }
    return NULL;
}

static void sse_clients_raise_files(size_t followers)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= followers + SPARE_FILES)
        return;
    limit.rlim_cur =
        followers + SPARE_FILES < limit.rlim_max ? followers + SPARE_FILES : limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

sse_clients *sse_clients_start(const sse_clients_options *options)
{
    sse_clients *a = calloc(1, sizeof *a);
    if (a == NULL || (a->all = calloc(options->followers, sizeof *a->all)) == NULL ||
        (a->buffer = malloc(READ_SIZE)) == NULL)
        abort();
    sse_clients_raise_files(options->followers);
    a->options = *options;
    a->seed = (unsigned)timing_now_us();
    a->epoll = epoll_create1(EPOLL_CLOEXEC);
    snprintf(a->request, sizeof a->request,
             "GET /v1/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n",
             options->secret);
    for (size_t i = 0; i < options->followers; i++) {
        bool first = i < options->at_first;
        a->all[i] = (follower){.fd = -1,
                               .slow = i >= options->followers - options->slow,
                               .server = (unsigned)(i % options->servers),
                               .seq = first ? 0 : -1};
    }
    pthread_mutex_init(&a->mutex, NULL);
    if (a->epoll < 0 || pthread_create(&a->thread, NULL, sse_clients_listen_on, a) != 0)
        abort();
    return a;
}

void sse_clients_reconnect(sse_clients *a, int64_t stays_us)
{
    atomic_store(&a->stays_us, stays_us);
}

void sse_clients_stop_reading(sse_clients *a, bool deaf)
{
    atomic_store(&a->deaf, deaf);
}

/* Until all have heard that, and, if asked for, sit. */
static bool sse_clients_wait_until(sse_clients *a, bool sit, int64_t seq, unsigned seconds)
{
    for (int64_t until_us = timing_now_us() + (int64_t)seconds * 1000000;; usleep(2000)) {
        pthread_mutex_lock(&a->mutex);
        bool there = a->least >= seq && (!sit || a->seated == a->options.followers);
        bool bad = a->report.problem[0] != '\0';
        pthread_mutex_unlock(&a->mutex);
        if (there || bad || timing_now_us() > until_us)
            return there && !bad;
    }
}

bool sse_clients_connected(sse_clients *a, unsigned seconds)
{
    return sse_clients_wait_until(a, true, -1, seconds);
}

/* Some may just be on their way back. */
bool sse_clients_received(sse_clients *a, int64_t seq, unsigned seconds)
{
    return sse_clients_wait_until(a, false, seq, seconds);
}

void sse_clients_read(sse_clients *a, sse_clients_report *out)
{
    pthread_mutex_lock(&a->mutex);
    *out = a->report;
    pthread_mutex_unlock(&a->mutex);
}

void sse_clients_end(sse_clients *a, sse_clients_report *out)
{
    atomic_store(&a->ends, true);
    pthread_join(a->thread, NULL);
    if (out)
        *out = a->so_far;
    for (size_t i = 0; i < a->options.followers; i++) {
        if (a->all[i].fd >= 0)
            close(a->all[i].fd);
        free(a->all[i].line);
    }
    close(a->epoll);
    pthread_mutex_destroy(&a->mutex);
    free(a->words);
    free(a->buffer);
    free(a->all);
    free(a);
}
