/* SPDX-License-Identifier: MIT */
/* Threads that begin together and work for the same time. */
#include "clients.h"

#include <pthread.h>

typedef struct client {
    const bench_clients *all;
    void *context;
    double seconds;
    double rate;
    pthread_barrier_t *start;
} client;

static void *run_client(void *argument)
{
    client *c = argument;
    pthread_barrier_wait(c->start);
    c->rate = c->all->work(c->context, c->seconds);
    return NULL;
}

double bench_clients_work(void *context, double seconds)
{
    const bench_clients *all = context;
    client clients[BENCH_CLIENTS_MAX];
    pthread_t threads[BENCH_CLIENTS_MAX];
    pthread_barrier_t start;
    pthread_barrier_init(&start, NULL, (unsigned)all->count);
    for (size_t i = 0; i < all->count; i++) {
        clients[i] =
            (client){.all = all, .context = all->contexts[i], .seconds = seconds, .start = &start};
        if (pthread_create(&threads[i], NULL, run_client, &clients[i]) != 0)
            bench_die("no thread can be started");
    }
    double rate = 0;
    for (size_t i = 0; i < all->count; i++) {
        pthread_join(threads[i], NULL);
        rate += clients[i].rate;
    }
    pthread_barrier_destroy(&start);
    return rate;
}
