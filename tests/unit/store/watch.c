/* SPDX-License-Identifier: MIT */
/* Watches: where a store can tell that others have changed something, what is told is heard by all
 * others and nobody else; where it can't, that is said. */
#include <holdfast/watch.h>
#include <poll.h>
#include <store/store.h>
#include <string.h>
#include <support/check.h>
#include <support/test_store.h>
#include <support/watches.h>

static hf_store *watch_open_store(const char *url)
{
    hf_store *store = NULL;
    hf_error err = {0};
    expect(HF_OK, hf_store_open(url, &store, &err), err);
    return store;
}

static hf_watch *watch_on(hf_store *store)
{
    hf_watch *watch = NULL;
    hf_error err = {0};
    expect(HF_OK, hf_store_watch(store, &watch, &err), err);
    return watch;
}

static void watch_tell(hf_watch *watch)
{
    hf_error err = {0};
    expect(HF_OK, hf_watch_tell(watch, &err), err);
}

static bool watch_heard(hf_watch *watch)
{
    bool out = false;
    hf_error err = {0};
    expect(HF_OK, hf_watch_heard(watch, &out, &err), err);
    return out;
}

/* Waits until something can be read; false: nothing came for a long time. */
static bool watch_wait_for(hf_watch *watch)
{
    struct pollfd fd = {.fd = hf_watch_fd(watch), .events = POLLIN};
    return poll(&fd, 1, 20000) == 1;
}

static bool can_tell(const test_store *at)
{
    return strncmp(at->url, "postgres", 8) == 0 && strstr(at->url, "pooler=") == NULL;
}

static void who_can_not_tell_says_so_at(const test_store *at)
{
    char url[HF_URL_MAX];
    hf_watch *watch = NULL;
    hf_store *fault = NULL;
    hf_error err = {0};
    test_store_url(at, url);
    hf_store *store = watch_open_store(url);
    if (!can_tell(at)) {
        expect(HF_NOT_FOUND, hf_store_watch(store, &watch, &err), err);
        expect_contains(err.message, "now and then");
    }
    /* what stands in front of a store passes it on */
    expect(HF_OK, hf_fault_open(store, &fault, &err), err);
    expect_int(hf_store_watch(fault, &watch, &err), can_tell(at) ? HF_OK : HF_NOT_FOUND);
    hf_watch_close(watch);
    hf_watch_close(NULL);
    hf_store_close(fault);
    test_store_discard(at, url);
}

static void what_is_told_is_heard_by_the_others_at(const test_store *at)
{
    char url[HF_URL_MAX], elsewhere[HF_URL_MAX];
    test_store_url(at, url);
    test_store_url(at, elsewhere);
    hf_store *one = watch_open_store(url), *two = watch_open_store(url),
             *three = watch_open_store(elsewhere);
    hf_watch *a = watch_on(one), *b = watch_on(two), *c = watch_on(one), *other = watch_on(three);
    expect_true(!watch_heard(a) && !watch_heard(b) && !watch_heard(c) && !watch_heard(other));
    watch_tell(a);
    expect_true(watch_wait_for(b) && watch_heard(b));
    expect_true(watch_wait_for(c) && watch_heard(c));
    expect_true(!watch_heard(b) && !watch_heard(c)); /* once */
    watch_tell(b);
    /* its own is not heard, nor what other tables are told */
    expect_true(watch_wait_for(a) && watch_heard(a));
    watch_tell(other);
    watch_tell(c);
    expect_true(watch_wait_for(b) && watch_heard(b));
    expect_true(!watch_heard(other));
    for (int i = 0; i < 100; i++)
        watch_tell(a);
    expect_true(watch_wait_for(c) && watch_heard(c));
    hf_watch_close(a);
    hf_watch_close(b);
    hf_watch_close(c);
    hf_watch_close(other);
    hf_store_close(one);
    hf_store_close(two);
    hf_store_close(three);
    test_store_discard(at, url);
    test_store_discard(at, elsewhere);
}

static void a_connection_that_is_lost_is_noticed_at(const test_store *at)
{
    char url[HF_URL_MAX];
    bool out = false;
    hf_error err = {0};
    test_store_url(at, url);
    hf_store *store = watch_open_store(url);
    hf_watch *watch = watch_on(store), *other = watch_on(store);
    expect_true(end_watches(at, url) == 2);
    expect_true(watch_wait_for(watch));
    hf_status status = HF_OK;
    for (int i = 0; i < 100 && status == HF_OK && watch_wait_for(watch); i++)
        status = hf_watch_heard(watch, &out, &err);
    expect(HF_UNAVAILABLE, status, err);
    expect(HF_UNAVAILABLE, hf_watch_heard(watch, &out, &err), err);
    expect(HF_UNAVAILABLE, hf_watch_tell(other, &err), err);
    hf_watch_close(watch);
    hf_watch_close(other);
    watch = watch_on(store);
    watch_tell(watch);
    hf_watch_close(watch);
    hf_store_close(store);
    test_store_discard(at, url);
}

static void on_places(void (*test)(const test_store *at), bool all)
{
    size_t count;
    const test_store *them = test_stores(&count);
    for (size_t i = 0; i < count; i++)
        if (all || can_tell(&them[i]))
            test(&them[i]);
}

static void a_store_that_can_not_tell_says_so(void **state)
{
    (void)state;
    on_places(who_can_not_tell_says_so_at, true);
}

static void what_is_told_is_heard_by_all_others(void **state)
{
    (void)state;
    on_places(what_is_told_is_heard_by_the_others_at, false);
}

static void a_lost_connection_is_noticed(void **state)
{
    (void)state;
    on_places(a_connection_that_is_lost_is_noticed_at, false);
}

static void a_fork_may_not_watch(void **state)
{
    (void)state;
    hf_store *store = watch_open_store("memory:");
    hf_watch *watch = NULL;
    hf_error err = {0};
    store->pid++; /* as if it had been opened by another process */
    expect(HF_INVALID, hf_store_watch(store, &watch, &err), err);
    store->pid--;
    hf_store_close(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_store_that_can_not_tell_says_so),
        cmocka_unit_test(a_fork_may_not_watch),
    };
    const struct CMUnitTest told[] = {
        cmocka_unit_test(what_is_told_is_heard_by_all_others),
        cmocka_unit_test(a_lost_connection_is_noticed),
    };
    size_t count, able = 0;
    const test_store *all = test_stores(&count);
    for (size_t i = 0; i < count; i++)
        able += can_tell(&all[i]);
    int failed = cmocka_run_group_tests_name("watch", tests, NULL, NULL);
    return failed + (able == 0 ? 0 : cmocka_run_group_tests_name("what is told", told, NULL, NULL));
}
