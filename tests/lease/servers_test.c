/* SPDX-License-Identifier: MIT */
/* What a server can do to leases: the holder, its connection and the server are killed in turn; a
 * connection falls silent; what can't keep leases is refused when it is opened. */
#include <lease/scene.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <support/proxy.h>
#include <support/servers.h>
#include <sys/wait.h>
#include <unistd.h>

static instance *server;

/* A process that acquires, says so and is killed; the lease is free afterwards. */
static void a_killed_holder_leaves_its_key_to_the_next(void **state)
{
    (void)state;
    scene *s = scene_open(instance_url(server));
    int told[2];
    char byte;
    assert_int_equal(pipe(told), 0);
    pid_t pid = fork();
    if (pid == 0) {
        hf_leases *leases = NULL;
        hf_lease lease;
        hf_error err;
        if (hf_leases_open(s->url, NULL, &leases, &err) != HF_OK ||
            hf_lease_try_acquire(leases, "k", 0, 60 * SEC, &lease, &err) != HF_OK)
            _exit(1);
        ssize_t written = write(told[1], "x", 1);
        (void)written;
        pause();
    }
    assert_int_equal(read(told[0], &byte, 1), 1);
    person waits = {.leases = s->a, .key = "k", .wait_us = 30 * SEC};
    person_start(&waits);
    nap(50 * MS);
    expect_true(!atomic_load(&waits.done));
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    person_join(&waits);
    expect(HF_OK, waits.status, waits.err);
    scene_close(s);
    close(told[0]);
    close(told[1]);
}

static void a_lost_connection_ends_its_leases_at_once_and_says_so(void **state)
{
    (void)state;
    char url[HF_URL_MAX];
    proxy *p = proxy_start("127.0.0.1", instance_port(server));
    instance_url_through(server, proxy_port(p), url);
    scene *s = scene_open(url);
    hf_lease one, two;
    expect(HF_OK, hf_lease_acquire(s->a, "one", 60 * SEC, &one, &s->err), s->err);
    expect(HF_OK, hf_lease_acquire(s->a, "two", 60 * SEC, &two, &s->err), s->err);
    proxy_cut(p);
    expect_true(eventually(atomic_load(&s->lost) == 2));
    expect_contains(s->text, "lost");
    expect_true(!hf_lease_is_held(&one) && !hf_lease_is_held(&two));
    hf_lease_close(&one);
    expect(HF_OK, hf_lease_try_acquire(s->a, "one", 10 * SEC, 60 * SEC, &one, &s->err), s->err);
    expect_true(hf_lease_is_held(&one));
    hf_lease_close(&two);
    expect_true(hf_lease_is_held(&one));
    hf_lease_close(&one);
    scene_close(s);
    proxy_stop(p);
}

static void a_silent_connection_is_not_believed(void **state)
{
    (void)state;
    char url[HF_URL_MAX];
    proxy *p = proxy_start("127.0.0.1", instance_port(server));
    instance_url_through(server, proxy_port(p), url);
    scene *s = scene_open(url);
    hf_lease lease;
    expect(HF_OK, hf_lease_acquire(s->a, "k", 60 * SEC, &lease, &s->err), s->err);
    nap(600 * MS); /* some pulses */
    expect_true(hf_lease_is_held(&lease));
    proxy_hold(p, PROXY_BOTH);
    expect_true(eventually(!hf_lease_is_held(&lease)));
    expect_int(atomic_load(&s->lost), 0); /* not known */
    proxy_go_on(p);
    expect_true(eventually(hf_lease_is_held(&lease)));
    hf_lease_close(&lease);
    scene_close(s);
    proxy_stop(p);
}

static void a_server_that_goes_away_is_unavailable_and_no_timeout(void **state)
{
    (void)state;
    scene *s = scene_open(instance_url(server));
    hf_lease lease, other;
    expect(HF_OK, hf_lease_acquire(s->a, "k", 60 * SEC, &lease, &s->err), s->err);
    person waits = {.leases = s->b, .key = "k", .wait_us = 30 * SEC};
    person_start(&waits);
    nap(50 * MS);
    instance_down(server, INSTANCE_KILL);
    expect_true(eventually(atomic_load(&s->lost) == 1));
    expect_true(!hf_lease_is_held(&lease));
    expect(HF_UNAVAILABLE, hf_lease_try_acquire(s->a, "k", 0, SEC, &other, &s->err), s->err);
    person_join(&waits);
    expect(HF_UNAVAILABLE, waits.status, waits.err);
    instance_up(server);
    expect(HF_OK, hf_lease_try_acquire(s->a, "k", 0, 60 * SEC, &other, &s->err), s->err);
    hf_lease_close(&lease);
    expect_true(hf_lease_is_held(&other));
    expect(HF_TIMEOUT, elsewhere(s->b, "k", 0, &s->err), s->err);
    hf_lease_close(&other);
    scene_close(s);
}

/* ---- what is refused, and what is bounded ---- */

static void a_pooler_is_refused_unless_it_is_in_session_mode(void **state)
{
    (void)state;
    hf_leases *leases = NULL;
    hf_error err;
    instance *pool = instance_start(INSTANCE_PGBOUNCER);
    char url[HF_URL_MAX], plain[HF_URL_MAX];
    expect(HF_INVALID, hf_leases_open(instance_url(pool), NULL, &leases, &err), err);
    expect_contains(err.message, "transaction mode");
    snprintf(plain, sizeof plain, "%s", instance_url(pool));
    char *mode = strstr(plain, "&pooler=");
    assert_non_null(mode);
    *mode = '\0';
    expect(HF_INVALID, hf_leases_open(plain, NULL, &leases, &err), err);
    expect_contains(err.message, "pooler=session");
    snprintf(url, sizeof url, "%.4000s&pooler=session", plain);
    expect(HF_OK, hf_leases_open(url, NULL, &leases, &err), err); /* whoever says so is believed */
    hf_leases_close(leases);
    instance_stop(pool);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_killed_holder_leaves_its_key_to_the_next),
        cmocka_unit_test(a_lost_connection_ends_its_leases_at_once_and_says_so),
        cmocka_unit_test(a_silent_connection_is_not_believed),
        cmocka_unit_test(a_server_that_goes_away_is_unavailable_and_no_timeout),
    };
    const struct CMUnitTest postgres[] = {
        cmocka_unit_test(a_pooler_is_refused_unless_it_is_in_session_mode),
    };
    const char *kind = argc > 1 ? argv[1] : "postgres";
    server = instance_start(strcmp(kind, "postgres") == 0  ? INSTANCE_POSTGRES
                            : strcmp(kind, "mariadb") == 0 ? INSTANCE_MARIADB
                                                           : INSTANCE_MYSQL);
    int failed = cmocka_run_group_tests_name("leases on servers", tests, NULL, NULL);
    if (strcmp(kind, "postgres") == 0)
        failed += cmocka_run_group_tests_name("leases on PostgreSQL", postgres, NULL, NULL);
    instance_stop(server);
    return failed;
}
