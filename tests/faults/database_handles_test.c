/* SPDX-License-Identifier: MIT */
/* Handles ask once more when an answer is unsure: a caller whose connection was cut around a commit
 * is told the truth, or that it is not known, never that nothing was done when it was. The argument
 * names the server. */
#include "faults/database_fixture.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FAIL(...)   check_failed(__FILE__, __LINE__, __VA_ARGS__)
#define CALL_MAX_US (15 * SECOND)

typedef struct work {
    hf_manager *manager;
    hf_session *session;
    hf_resource resource;
    hf_lock lock;
    const char *target;
} work;

static hf_status by_open(work *w, hf_error *err)
{
    hf_session *session = NULL;
    hf_session_options options = {.user = "erin", .idle_us = HOUR};
    hf_status status = hf_session_open(w->manager, &options, &session, err);
    hf_session_free(session);
    return status;
}

static hf_status by_acquire(work *w, hf_error *err)
{
    return hf_session_acquire(w->session, &w->resource, NULL, &w->lock, err);
}

static hf_status by_renew(work *w, hf_error *err)
{
    return hf_session_renew(w->session, &w->resource, HOUR, NULL, &w->lock, err);
}

static hf_status by_downgrade(work *w, hf_error *err)
{
    return hf_session_downgrade(w->session, &w->resource, &w->lock, err);
}

static hf_status by_hand_over(work *w, hf_error *err)
{
    return hf_session_hand_over(w->session, &w->resource, w->target, &w->lock, err);
}

static hf_status by_release(work *w, hf_error *err)
{
    return hf_session_release(w->session, &w->resource, 0, err);
}

static hf_status by_release_all(work *w, hf_error *err)
{
    size_t count = 0;
    return hf_session_release_all(w->session, &count, err);
}

static hf_status by_force(work *w, hf_error *err)
{
    return hf_manager_force_release(w->manager, &w->resource, "dave", "because", 0, NULL, err);
}

static hf_status by_close(work *w, hf_error *err)
{
    return hf_session_close(w->session, err);
}

typedef hf_status call(work *w, hf_error *err);

static const struct easy {
    const char *name;
    call *call;
    bool first_acquire;
    const char *event; /* told once more by it, but where that may be twice */
} easy[] = {
    {"open", by_open, false, "session_opened"},
    {"acquire", by_acquire, false, "acquired"},
    {"renew", by_renew, true, NULL},
    {"downgrade", by_downgrade, true, "downgraded"},
    {"hand over", by_hand_over, true, "handed_over"},
    {"release", by_release, true, "released"},
    {"release all", by_release_all, true, "released"},
    {"force release", by_force, true, "forced"},
    {"close", by_close, false, "session_closed"},
};

static void one_easy_call(scene *s, work *w, const struct easy *e, proxy_when when)
{
    hf_error err = {0};
    snprintf(w->resource.id, sizeof w->resource.id, "%06u", ++s->number);
    if (e->first_acquire)
        expect(HF_OK, by_acquire(w, &err), err);
    int64_t before = e->event ? events_of(s->admin, e->event) : 0;
    proxy_cut(s->proxy);
    size_t sprung = proxy_sprung(s->proxy);
    proxy_cut_at(s->proxy, PROXY_UP, s->before_commit, when);
    int64_t began_us = now_us();
    hf_status status = e->call(w, &err);
    if (!proxy_wait_sprung(s->proxy, sprung, 2000))
        FAIL("no commit of %s was seen", e->name);
    if (now_us() - began_us > CALL_MAX_US)
        FAIL("%s took %.1f s", e->name, (double)(now_us() - began_us) / 1e6);
    if (status != HF_OK)
        FAIL("%s, cut %s a commit, came to %s: %s", e->name,
             when == PROXY_BEFORE ? "before" : "after", hf_status_wire(status), err.message);
    if (e->event)
        expect_int(events_of(s->admin, e->event) - before, 1);
}

static void handles_settle_by_themselves(void **state)
{
    scene *s = *state;
    hf_error err = {0};
    for (size_t i = 0; i < 2 * sizeof easy / sizeof *easy; i++) {
        work w = {.resource = {.type = "policy"}, .target = s->bob.id};
        hf_session_options options = {.user = "erin", .idle_us = HOUR};
        expect(HF_OK, hf_manager_open(s->url, &w.manager, &err), err);
        expect(HF_OK, hf_session_open(w.manager, &options, &w.session, &err), err);
        one_easy_call(s, &w, &easy[i / 2], i % 2 ? PROXY_AFTER : PROXY_BEFORE);
        hf_session_free(w.session);
        hf_manager_close(w.manager);
    }
}

/* ---- handles, when settling is not that easy ---- */

static void *acquire_main(void *context)
{
    work *w = context;
    hf_error *err = calloc(1, sizeof *err);
    err->status = by_acquire(w, err); /* the thread's answer, HF_OK too */
    return err;
}

/* A handle whose connection has sent everything before. */
static work warm_work(scene *s)
{
    hf_error err = {0};
    work w = {.resource = {.type = "policy", .id = "000000"}};
    hf_session_options options = {.user = "erin", .idle_us = HOUR};
    expect(HF_OK, hf_manager_open(s->url, &w.manager, &err), err);
    expect(HF_OK, hf_session_open(w.manager, &options, &w.session, &err), err);
    for (int i = 0; i < 3; i++) {
        expect(HF_OK, by_acquire(&w, &err), err);
        expect(HF_OK, by_release(&w, &err), err);
    }
    return w;
}

static void work_done(work *w)
{
    hf_session_free(w->session);
    hf_manager_close(w->manager);
}

/* False: none of the tries came after the trap was set, which is luck. */
static bool is_cut_and_settled(scene *s)
{
    hf_error err = {0};
    void *got = NULL;
    pthread_t thread;
    work w = warm_work(s);
    app_begin(s->admin, READ_COMMITTED);
    app_do(s->admin,
           "SELECT fence FROM {resource} WHERE type = 'policy' AND id = '000000' FOR UPDATE");
    size_t sprung = proxy_sprung(s->proxy);
    expect_int(pthread_create(&thread, NULL, acquire_main, &w), 0);
    rest_ms(60);
    proxy_cut_at(s->proxy, scene_server->postgres ? PROXY_DOWN : PROXY_UP, "COMMIT",
                 scene_server->postgres ? PROXY_BEFORE : PROXY_AFTER);
    bool cut = proxy_wait_sprung(s->proxy, sprung, 1000);
    app_rollback(s->admin);
    pthread_join(thread, &got);
    memcpy(&err, got, sizeof err);
    free(got);
    proxy_cut_never(s->proxy);
    work_done(&w);
    ASK(s->direct, FORCE_RELEASE, ON("policy", "000000"), .text = "over", .actor = "chief");
    if (err.status != HF_OK && err.status != HF_BUSY)
        FAIL("it came to %s, and was not asked again: %s", hf_status_wire(err.status), err.message);
    return cut;
}

/* Someone sits on the anchor for a while, so the op is tried several times; one of the tries loses
 * its answer. */
static void what_was_held_back_and_then_unsure_is_settled_too(void **state)
{
    scene *s = *state;
    expect_once(is_cut_and_settled(s));
}

/* Writing takes the server a while. */
static void server_handles_slow_down(scene *s)
{
    if (scene_server->postgres) {
        app_do(s->admin, "CREATE FUNCTION {app}() RETURNS trigger LANGUAGE plpgsql AS "
                         "'BEGIN PERFORM pg_sleep(2); RETURN NULL; END'");
        app_do(s->admin, "CREATE TRIGGER slow AFTER INSERT ON {event} EXECUTE FUNCTION {app}()");
    } else {
        app_do(s->admin,
               "CREATE TRIGGER {app} BEFORE INSERT ON {event} FOR EACH ROW SET @slow = SLEEP(2)");
    }
}

/* The connection is cut when all has been sent, and the server is still at it when the handle asks
 * again: what is in the way then is its own first try. Busy would mean that nothing was done. */
static void what_is_still_being_written_is_not_told_as_busy(void **state)
{
    scene *s = *state;
    hf_error err = {0};
    work w = warm_work(s);
    size_t before = proxy_passed(s->proxy, PROXY_UP);
    expect(HF_OK, by_acquire(&w, &err), err);
    size_t all = proxy_passed(s->proxy, PROXY_UP) - before;
    expect(HF_OK, by_release(&w, &err), err);
    int64_t granted = events_of(s->admin, "acquired");
    server_handles_slow_down(s);
    proxy_cut_after(s->proxy, PROXY_UP, all);
    hf_status status = by_acquire(&w, &err);
    proxy_cut_never(s->proxy);
    rest_ms(2500);
    app_begin(s->admin, READ_COMMITTED); /* until it has been written, or rolled back */
    app_try(s->admin,
            "SELECT fence FROM {resource} WHERE type = 'policy' AND id = '000000' FOR UPDATE");
    app_rollback(s->admin);
    bool held = must(HF_OK, s->direct, WHO, ON("policy", "000000")).locks_count > 0;
    work_done(&w);
    printf("# %s; it was %sdone\n", hf_status_wire(status), held ? "" : "not ");
    if (status != HF_OK && status != HF_UNSURE)
        FAIL("it is told as %s, and was %sdone: %s", hf_status_wire(status), held ? "" : "not ",
             err.message);
    expect_true(status != HF_OK || held);
    expect_int(events_of(s->admin, "acquired") - granted, held);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        SCENE(handles_settle_by_themselves),
        SCENE(what_is_still_being_written_is_not_told_as_busy),
        SCENE(what_was_held_back_and_then_unsure_is_settled_too),
    };
    return scene_main("handles", tests, sizeof tests / sizeof *tests, argc, argv);
}
