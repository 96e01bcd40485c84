/* SPDX-License-Identifier: MIT */
/* A crowd of applications that all do the same at the same time, each in its own transaction, and
 * come again at once when they were in vain: everyone gets through in the end. At SERIALIZABLE on
 * MySQL and MariaDB all who have read stand in the way of all who write. */
#include "database/shop.h"

#include <pthread.h>
#include <stdatomic.h>

enum { CROWD = 16 };

typedef struct gate {
    shop *s;
    pthread_barrier_t open;
    int64_t until_us;
    atomic_size_t tries;
    atomic_size_t through;
} gate;

typedef struct visitor {
    gate *gate;
    app *app;
    hf_store *store;
    hf_credentials me;
    char id[16];
} visitor;

/* Opens a session and takes a new record, in one transaction. */
static bool crowd_enter(visitor *v)
{
    app_begin(v->app, v->gate->s->level);
    said opened = ASK(v->store, SESSION_OPEN, BY(v->me), .user = "visitor", .idle_us = HOUR);
    said taken = {.status = HF_BUSY};
    if (opened.status == HF_OK)
        taken = ASK(v->store, ACQUIRE, BY(v->me), ON("policy", v->id));
    if (taken.status == HF_OK)
        return app_commit(v->app);
    app_rollback(v->app);
    return false;
}

static void *crowd_visitor_main(void *context)
{
    visitor *v = context;
    bool in = false;
    pthread_barrier_wait(&v->gate->open);
    while (!in && now_us() < v->gate->until_us) {
        atomic_fetch_add(&v->gate->tries, 1);
        in = crowd_enter(v);
    }
    atomic_fetch_add(&v->gate->through, in);
    return NULL;
}

static void everyone_gets_through(shop *s)
{
    gate g = {.s = s, .until_us = now_us() + 40 * SECOND};
    visitor all[CROWD];
    pthread_t threads[CROWD];
    expect_int(pthread_barrier_init(&g.open, NULL, CROWD), 0);
    for (int i = 0; i < CROWD; i++) {
        all[i] = (visitor){.gate = &g, .app = app_connect(s->url), .me = drawn()};
        all[i].store = app_wrapped(all[i].app);
        snprintf(all[i].id, sizeof all[i].id, "%d", i);
        expect_int(pthread_create(&threads[i], NULL, crowd_visitor_main, &all[i]), 0);
    }
    int64_t began_us = now_us();
    for (int i = 0; i < CROWD; i++)
        expect_int(pthread_join(threads[i], NULL), 0);
    printf("# %s: %zu of %d came in with %zu tries, in %lld ms\n", app_level_name(s->level),
           (size_t)g.through, CROWD, (size_t)g.tries, (long long)(now_us() - began_us) / 1000);
    for (int i = 0; i < CROWD; i++)
        app_close(all[i].app);
    pthread_barrier_destroy(&g.open);
    expect_int(g.through, CROWD);
    expect_int(app_number(s->app, "SELECT count(*) FROM {lock}"), CROWD);
}

int main(int argc, char **argv)
{
    static const shop_test tests[] = {AT_EVERY_LEVEL(everyone_gets_through)};
    return SHOP_MAIN("crowds", tests, argc, argv);
}
