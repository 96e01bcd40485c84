/* SPDX-License-Identifier: MIT */
/* The parking: two lists under one mutex, a condition for the thread, an eventfd for the loop. */
#include "park.h"

#include <event2/event.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { PARKED_MAX = 65536 };

const char park_json[] = "{\"locks\":[{\"resource\":\"record/"
                         "1234567\",\"mode\":\"exclusive\",\"fence\":1794739623123456,"
                         "\"since\":\"2026-11-15T10:47:03.123456Z\",\"expires\":\"2026-11-16T10:47:"
                         "03.123456Z\",\"purpose\":"
                         "\"edit\","
                         "\"session\":\"0123456789abcdef0123456789abcdef\",\"user\":\"bench\","
                         "\"name\":\"Bench Mark\"}]}";

struct park {
    pthread_mutex_t mutex;
    pthread_cond_t came;
    void **in, **out, **work; /* to the thread; back from it; what either looks at */
    size_t in_count, out_count;
    int wake;
    void (*answer)(void *request);
    void **answering;
};

static void *carry(void *context)
{
    park *p = context;
    for (;;) {
        pthread_mutex_lock(&p->mutex);
        while (p->in_count == 0)
            pthread_cond_wait(&p->came, &p->mutex);
        void **taken = p->in;
        size_t count = p->in_count;
        p->in = p->work;
        p->work = taken;
        p->in_count = 0;
        pthread_mutex_unlock(&p->mutex);
        pthread_mutex_lock(&p->mutex);
        size_t before = p->out_count;
        for (size_t i = 0; i < count; i++)
            p->out[p->out_count++] = taken[i];
        pthread_mutex_unlock(&p->mutex);
        uint64_t one = 1;
        if (before == 0 && write(p->wake, &one, sizeof one) < 0)
            abort();
    }
    return NULL;
}

static void park_on_wake(evutil_socket_t fd, short what, void *context)
{
    park *p = context;
    uint64_t count;
    (void)what;
    if (read(fd, &count, sizeof count) < 0)
        return;
    pthread_mutex_lock(&p->mutex);
    void **taken = p->out;
    size_t out_count = p->out_count;
    p->out = p->answering;
    p->answering = taken;
    p->out_count = 0;
    pthread_mutex_unlock(&p->mutex);
    for (size_t i = 0; i < out_count; i++)
        p->answer(taken[i]);
}

static void *park_must(void *pointer)
{
    if (pointer == NULL) {
        fputs("memory is out\n", stderr);
        exit(2);
    }
    return pointer;
}

park *park_new(struct event_base *base, void (*answer)(void *request))
{
    pthread_t thread;
    park *p = park_must(calloc(1, sizeof *p));
    pthread_mutex_init(&p->mutex, NULL);
    pthread_cond_init(&p->came, NULL);
    p->in = park_must(calloc(PARKED_MAX, sizeof *p->in));
    p->out = park_must(calloc(PARKED_MAX, sizeof *p->out));
    p->work = park_must(calloc(PARKED_MAX, sizeof *p->work));
    p->answering = park_must(calloc(PARKED_MAX, sizeof *p->answering));
    p->answer = answer;
    p->wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    struct event *woken =
        park_must(event_new(base, p->wake, EV_READ | EV_PERSIST, park_on_wake, p));
    event_add(woken, NULL);
    if (p->wake < 0 || pthread_create(&thread, NULL, carry, p) != 0)
        park_must(NULL);
    pthread_detach(thread);
    return p;
}

void park_add(park *p, void *request)
{
    pthread_mutex_lock(&p->mutex);
    if (p->in_count == PARKED_MAX)
        abort();
    p->in[p->in_count++] = request;
    if (p->in_count == 1)
        pthread_cond_signal(&p->came);
    pthread_mutex_unlock(&p->mutex);
}
