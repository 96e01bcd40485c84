/* SPDX-License-Identifier: MIT */
/* What a server can do to leases: the holder, its connection and the server are killed in turn; a
 * connection falls silent; what can't keep leases is refused when it is opened. */
#include <lease/inside.h>
#include <lease/scene.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <support/certificate.h>
#include <support/databases.h>
#include <support/proxy.h>
#include <support/test_store.h>
#include <sys/stat.h>
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
        hf_leases_options quick = {.pulse_us = 200 * MS};
        if (hf_leases_open(s->url, &quick, &leases, &err) != HF_OK ||
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
    expect_true(eventually(hf_lease_is_held(&lease)));
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

/* ---- fences ---- */

/* As if the server's clock had been set back by that while the lease was held. */
static void a_fence_grows_when_the_clock_is_set_back(void **state)
{
    (void)state;
    const int64_t back_us = 300 * MS;
    scene *s = scene_open(instance_url(server));
    hf_lease lease;
    for (int i = 0; i < 2; i++) { /* short, and long enough to be shown with its time */
        expect(HF_OK, hf_lease_acquire(s->a, "k", (i == 0 ? 1 : 600) * SEC, &lease, &s->err),
               s->err);
        int64_t last = lease.slot->hold->grant.fence += back_us;
        hf_lease_close(&lease);
        expect(HF_OK, hf_lease_acquire(s->b, "k", SEC, &lease, &s->err), s->err);
        expect_true(hf_lease_fence(&lease) > last);
        hf_lease_close(&lease);
    }
    scene_close(s);
}

/* ---- silence ---- */

/* A process that acquires a key, and then only keeps it. */
static pid_t holder_start(const char *url, const char *key)
{
    int told[2];
    char byte;
    assert_int_equal(pipe(told), 0);
    pid_t pid = fork();
    if (pid == 0) {
        hf_leases *leases = NULL;
        hf_lease lease;
        hf_error err;
        if (hf_leases_open(url, NULL, &leases, &err) != HF_OK ||
            hf_lease_try_acquire(leases, key, 0, 3600 * SEC, &lease, &err) != HF_OK)
            _exit(1);
        ssize_t written = write(told[1], "x", 1);
        (void)written;
        pause();
    }
    assert_int_equal(read(told[0], &byte, 1), 1);
    close(told[0]);
    close(told[1]);
    return pid;
}

/* A holder whose process is stopped, and one behind a middle box that passes nothing on while both
 * of its connections live: neither stays in the way until max_hold. Both are waited for at once.
 * The one that runs does not believe any more when its key is free. */
static void a_holder_that_is_stopped_or_cut_off_does_not_keep_its_key(void **state)
{
    (void)state;
    char through[HF_URL_MAX];
    proxy *p = proxy_start("127.0.0.1", instance_port(server));
    scene *s = scene_open_with(instance_url(server), &(hf_leases_options){.pulse_us = 2 * SEC});
    hf_leases *cut_off = NULL;
    hf_lease lease;
    instance_url_through(server, proxy_port(p), through);
    char *names = strstr(s->url, "namespace=");
    assert_non_null(names);
    size_t size = strlen(through);
    snprintf(through + size, sizeof through - size, "%c%s", strchr(through, '?') ? '&' : '?',
             names);
    expect(HF_OK, hf_leases_open(through, NULL, &cut_off, &s->err), s->err);
    expect(HF_OK, hf_lease_acquire(cut_off, "cut off", 3600 * SEC, &lease, &s->err), s->err);
    pid_t stopped = holder_start(s->url, "stopped");
    kill(stopped, SIGSTOP);
    proxy_hold(p, PROXY_BOTH);
    person waits[] = {{.leases = s->a, .key = "stopped", .wait_us = 75 * SEC},
                      {.leases = s->b, .key = "cut off", .wait_us = 75 * SEC}};
    for (int i = 0; i < 2; i++)
        person_start(&waits[i]);
    for (bool granted = false; !granted; nap(MS)) {
        granted = atomic_load(&waits[1].done); /* first, so that it can't come between */
        expect_true(!granted || !hf_lease_is_held(&lease));
    }
    for (int i = 0; i < 2; i++) {
        person_join(&waits[i]);
        expect(HF_OK, waits[i].status, waits[i].err);
    }
    kill(stopped, SIGKILL);
    waitpid(stopped, NULL, 0);
    proxy_cut(p);
    hf_leases_close(cut_off);
    scene_close(s);
    proxy_stop(p);
}

/* A provider that holds nothing is silent for longer than the server allows, but not closed. */
static void an_idle_provider_stays_connected(void **state)
{
    (void)state;
    char url[HF_URL_MAX];
    proxy *p = proxy_start("127.0.0.1", instance_port(server));
    instance_url_through(server, proxy_port(p), url);
    hf_leases *leases = NULL;
    hf_error err;
    expect(HF_OK, hf_leases_open(url, NULL, &leases, &err), err);
    size_t passed = proxy_passed(p, PROXY_UP);
    expect_true(eventually(proxy_passed(p, PROXY_UP) > passed));
    expect_int((int)proxy_open(p), 1);
    hf_leases_close(leases);
    proxy_stop(p);
}

/* ---- connections ---- */

/* An uncontended pair costs two, one for each call, on whatever server. */
static void a_pair_takes_two_round_trips(void **state)
{
    (void)state;
    enum { PAIRS = 50 };
    char url[HF_URL_MAX];
    proxy *p = proxy_start("127.0.0.1", instance_port(server));
    instance_url_through(server, proxy_port(p), url);
    hf_leases *leases = NULL;
    hf_lease lease;
    hf_error err;
    size_t before = 0;
    expect(HF_OK, hf_leases_open(url, &(hf_leases_options){.pulse_us = 60 * SEC}, &leases, &err),
           err);
    for (int i = 0; i < PAIRS + 3; i++) { /* the first ones connect and prepare */
        if (i == 3)
            before = proxy_trips(p);
        expect(HF_OK, hf_lease_acquire(leases, "k", 10 * SEC, &lease, &err), err);
        hf_lease_close(&lease);
    }
    expect_int((int)(proxy_trips(p) - before), 2 * PAIRS);
    hf_leases_close(leases);
    proxy_stop(p);
}

/* pool_max bounds them, and those that hold nothing are closed after pool_idle, but for one or two.
 */
static void connections_are_bounded_and_idle_ones_closed(void **state)
{
    (void)state;
    enum { PEOPLE = 12, POOL = 4 };
    char url[HF_URL_MAX];
    proxy *p = proxy_start("127.0.0.1", instance_port(server));
    instance_url_through(server, proxy_port(p), url);
    hf_leases *leases = NULL;
    hf_error err;
    hf_leases_options options = {.pool_max = POOL, .pool_idle_us = 300 * MS, .pulse_us = 200 * MS};
    expect(HF_OK, hf_leases_open(url, &options, &leases, &err), err);
    person people[PEOPLE] = {0};
    char keys[PEOPLE][16];
    proxy_hold(p, PROXY_DOWN); /* so that all of them are under way at once */
    for (int i = 0; i < PEOPLE; i++) {
        snprintf(keys[i], sizeof keys[i], "key %d", i);
        people[i] = (person){.leases = leases, .key = keys[i], .wait_us = 20 * SEC};
        person_start(&people[i]);
    }
    expect_true(eventually(proxy_accepted(p) > 1));
    nap(200 * MS);
    proxy_go_on(p);
    for (int i = 0; i < PEOPLE; i++) {
        person_join(&people[i]);
        expect(HF_OK, people[i].status, people[i].err);
    }
    expect_true(proxy_accepted(p) > 1 && proxy_open(p) <= POOL);
    expect_true(eventually(proxy_open(p) <= 2));
    expect(HF_OK, elsewhere(leases, "k", 0, &err), err);
    hf_leases_close(leases);
    proxy_stop(p);
}

/* Whether every established connection from or to a port has a timer that runs out within ten
 * seconds: that of keepalives, since nothing is on its way. */
static bool keepalives_run(int local, int remote)
{
    FILE *file = fopen("/proc/net/tcp", "re");
    char line[512];
    int all = 0, good = 0;
    assert_non_null(file);
    while (fgets(line, sizeof line, file) != NULL) {
        unsigned from, to, state, timer, when;
        if (sscanf(line, " %*d: %*x:%x %*x:%x %x %*x:%*x %x:%x", &from, &to, &state, &timer,
                   &when) != 5 ||
            state != 1 || (local != 0 && (int)from != local) || (remote != 0 && (int)to != remote))
            continue;
        all++;
        good += timer == 2 && when <= 10 * (unsigned)sysconf(_SC_CLK_TCK);
    }
    fclose(file);
    return all > 0 && good == all;
}

/* On PostgreSQL the session sets those of the server too; MariaDB and MySQL end a silent session.
 */
static void a_machine_that_vanishes_is_noticed(void **state)
{
    (void)state;
    hf_leases *leases = NULL;
    hf_lease lease;
    hf_error err;
    expect(HF_OK, hf_leases_open(instance_url_tcp(server), NULL, &leases, &err), err);
    expect(HF_OK, hf_lease_acquire(leases, "k", 60 * SEC, &lease, &err), err);
    int port = instance_port(server);
    expect_true(eventually(keepalives_run(0, port)));
    if (strncmp(instance_url(server), "postgres", 8) == 0)
        expect_true(eventually(keepalives_run(port, 0)));
    hf_leases_close(leases);
}

/* ---- Redis, where a lease belongs to no connection ---- */

/* False: the lease was lost. */
static bool redis_lease_stands(int64_t pulse_us)
{
    char url[HF_URL_MAX];
    proxy *p = proxy_start("127.0.0.1", instance_port(server));
    instance_url_through(server, proxy_port(p), url);
    scene *s = scene_open_with(url, &(hf_leases_options){.pulse_us = pulse_us});
    hf_lease lease;
    expect(HF_OK, hf_lease_acquire(s->a, "k", 60 * SEC, &lease, &s->err), s->err);
    bool stands = true;
    for (int i = 0; i < 3 && stands; i++) {
        proxy_cut(p);
        nap(5 * pulse_us / 2);
        stands = elsewhere(s->b, "k", pulse_us / 10, &s->err) == HF_TIMEOUT;
        expect_true(stands || !hf_lease_is_held(&lease)); /* whatever else, it is nobody else's */
        stands = stands && hf_lease_is_held(&lease);
    }
    nap(6 * pulse_us); /* longer than its key lives by itself */
    stands = stands && hf_lease_is_held(&lease);
    person waits = {.leases = s->b, .key = "k", .wait_us = 30 * SEC};
    person_start(&waits);
    nap(50 * MS);
    proxy_cut(p); /* who waits hears of it all the same */
    hf_lease_close(&lease);
    person_join(&waits);
    expect(HF_OK, waits.status, waits.err);
    stands = stands && atomic_load(&s->lost) == 0;
    scene_close(s);
    proxy_stop(p);
    return stands;
}

/* A machine that stands still for longer than the key lives loses it; so the key lives twice as
 * long each time. */
static void a_lost_connection_is_replaced_and_the_leases_stand(void **state)
{
    (void)state;
    int64_t pulse_us = 200 * MS;
    while (!redis_lease_stands(pulse_us) && pulse_us < 3 * SEC)
        pulse_us *= 2;
    expect_true(pulse_us < 3 * SEC);
}

static void a_silent_server_is_not_believed_for_long(void **state)
{
    (void)state;
    char url[HF_URL_MAX];
    proxy *p = proxy_start("127.0.0.1", instance_port(server));
    instance_url_through(server, proxy_port(p), url);
    scene *s = scene_open(url);
    hf_lease lease;
    expect(HF_OK, hf_lease_acquire(s->a, "k", 60 * SEC, &lease, &s->err), s->err);
    proxy_hold(p, PROXY_BOTH);
    expect_true(eventually(!hf_lease_is_held(&lease)));
    nap(1500 * MS); /* until its key has run out there too */
    proxy_go_on(p);
    expect_true(eventually(atomic_load(&s->lost) == 1));
    hf_lease_close(&lease);
    scene_close(s);
    proxy_stop(p);
}

/* With the client that comes with the server. */
static void redis_cli(const char *command)
{
    char line[HF_URL_MAX + 100];
    snprintf(line, sizeof line, "redis-cli -s %s %s >/dev/null",
             instance_url(server) + strlen("redis+unix://"), command);
    expect_int(system(line), 0);
}

static void a_key_that_was_deleted_is_a_lost_lease(void **state)
{
    (void)state;
    scene *s = scene_open(instance_url(server));
    hf_lease lease;
    expect(HF_OK, hf_lease_acquire(s->a, "k", 60 * SEC, &lease, &s->err), s->err);
    redis_cli("flushall");
    redis_cli("script flush"); /* and the scripts are brought again */
    expect_true(eventually(atomic_load(&s->lost) == 1));
    expect(HF_OK, hf_lease_acquire(s->a, "k", 60 * SEC, &lease, &s->err), s->err);
    hf_lease_close(&lease);
    scene_close(s);
}

static void a_fence_grows_over_a_server_that_was_emptied_or_runs_ahead(void **state)
{
    (void)state;
    scene *s = scene_open(instance_url(server));
    char command[HF_URL_MAX + 100];
    int64_t last = 0;
    for (int i = 0; i < 3; i++) {
        hf_lease lease;
        expect(HF_OK, hf_lease_acquire(s->a, "k", SEC, &lease, &s->err), s->err);
        expect_true(hf_lease_fence(&lease) > last);
        last = hf_lease_fence(&lease);
        hf_lease_close(&lease);
        if (i == 0) { /* as if its clock had been set back by an hour since */
            last += 3600 * SEC;
            snprintf(command, sizeof command, "set %s:lease:fence %lld",
                     strstr(s->url, "namespace=") + strlen("namespace="), (long long)last);
            redis_cli(command);
        } else {
            last -= 3600 * SEC;
            redis_cli("flushall");
        }
    }
    scene_close(s);
}

/* The holder has not noticed yet that it lost the key, which someone else has by now. */
static void a_late_close_leaves_the_key_of_another_alone(void **state)
{
    (void)state;
    scene *s = scene_open_with(instance_url(server), &(hf_leases_options){.pulse_us = 30 * SEC});
    hf_lease lease, other;
    expect(HF_OK, hf_lease_acquire(s->a, "k", 60 * SEC, &lease, &s->err), s->err);
    redis_cli("flushall");
    expect(HF_OK, hf_lease_try_acquire(s->b, "k", 0, 60 * SEC, &other, &s->err), s->err);
    expect_int(atomic_load(&s->lost), 0);
    hf_lease_close(&lease);
    expect(HF_TIMEOUT, elsewhere(s->a, "k", 0, &s->err), s->err);
    expect_true(hf_lease_is_held(&other));
    hf_lease_close(&other);
    expect(HF_OK, elsewhere(s->a, "k", 0, &s->err), s->err);
    scene_close(s);
}

static void a_redis_that_may_forget_is_refused_with_what_to_set(void **state)
{
    (void)state;
    hf_leases *leases = NULL;
    hf_error err;
    char url[HF_URL_MAX];
    snprintf(url, sizeof url, "%s?durability=relaxed", instance_url(server));
    redis_cli("config set maxmemory-policy allkeys-lru");
    expect(HF_INVALID, hf_leases_open(instance_url(server), NULL, &leases, &err), err);
    expect_contains(err.message, "noeviction");
    expect(HF_OK, hf_leases_open(url, NULL, &leases, &err), err);
    hf_leases_close(leases);
    redis_cli("config set maxmemory-policy noeviction");
    redis_cli("config set appendonly no");
    expect(HF_INVALID, hf_leases_open(instance_url(server), NULL, &leases, &err), err);
    expect_contains(err.message, "appendonly");
    redis_cli("config set appendonly yes");
    redis_cli("config set appendfsync everysec");
    expect(HF_OK, hf_leases_open(instance_url(server), NULL, &leases, &err), err);
    expect_contains(hf_leases_grade(leases), "every second");
    hf_leases_close(leases);
    redis_cli("replicaof 127.0.0.1 1");
    expect(HF_INVALID, hf_leases_open(instance_url(server), NULL, &leases, &err), err);
    expect_contains(err.message, "replica");
    redis_cli("replicaof no one");
    snprintf(url, sizeof url, "%s?durability=none", instance_url(server));
    expect(HF_INVALID, hf_leases_open(url, NULL, &leases, &err), err);
}

/* A Redis of a test's own, whose first option is the one for its port. Opens leases there, by a URL
 * of what stands before the port and after it, until it answers, whatever it answers then. */
static pid_t redis_own(const char *const more[], const char *before, const char *after, int *port,
                       hf_leases **leases, hf_status *status, hf_error *err)
{
    enum { PORT_TRIES = 5, WORDS_MAX = 32 };
    pid_t pid = 0;
    *status = HF_UNAVAILABLE;
    for (int i = 0; i < PORT_TRIES && *status == HF_UNAVAILABLE; i++) {
        char number[16], at[3 * HF_URL_MAX], folder[HF_URL_MAX];
        const char *words[WORDS_MAX] = {"redis-server", more[0], number};
        int count = 3;
        *port = 20000 + (int)((unsigned)now_us() % 12000);
        snprintf(number, sizeof number, "%d", *port);
        snprintf(at, sizeof at, "%s%d%s", before, *port, after);
        scratch_path(".redis", folder);
        assert_int_equal(mkdir(folder, 0700), 0);
        for (int word = 1; more[word] != NULL; word++)
            words[count++] = more[word];
        static const char *const common[] = {"--save",      "",   "--bind",    "127.0.0.1",
                                             "--daemonize", "no", "--logfile", "/dev/null"};
        for (size_t word = 0; word < sizeof common / sizeof *common; word++)
            words[count++] = common[word];
        words[count++] = "--dir";
        words[count++] = folder;
        pid = fork();
        if (pid == 0) {
            execvp(words[0], (char *const *)words);
            _exit(1);
        }
        int64_t until_us = now_us() + 20 * SEC;
        while ((*status = hf_leases_open(at, NULL, leases, err)) == HF_UNAVAILABLE &&
               now_us() < until_us && waitpid(pid, NULL, WNOHANG) == 0)
            nap(20 * MS);
    }
    return pid;
}

static void redis_end(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

/* It speaks TLS only, and wants a password. */
static void tls_and_passwords_are_checked(void **state)
{
    (void)state;
    hf_leases *leases = NULL;
    hf_lease lease;
    hf_error err = {0};
    char certificate[HF_URL_MAX], key[HF_URL_MAX], url[3 * HF_URL_MAX];
    scratch_path(".crt", certificate);
    scratch_path(".key", key);
    certificate_write("IP:127.0.0.1", 1, certificate, key);
    snprintf(url, sizeof url, "/0?durability=relaxed&ssl_ca=%s", certificate);
    int number = 0;
    hf_status status;
    pid_t pid =
        redis_own((const char *const[]){"--tls-port", "--port", "0", "--tls-cert-file", certificate,
                                        "--tls-key-file", key, "--tls-auth-clients", "no",
                                        "--requirepass", "se%cret", "--appendonly", "no", NULL},
                  "rediss://:se%25cret@127.0.0.1:", url, &number, &leases, &status, &err);
    expect(HF_OK, status, err);
    expect(HF_OK, hf_lease_acquire(leases, "k", 60 * SEC, &lease, &err), err);
    expect_true(hf_lease_is_held(&lease));
    hf_lease_close(&lease);
    hf_leases_close(leases);
    snprintf(url, sizeof url, "rediss://:se%%25cret@127.0.0.1:%d/0?durability=relaxed", number);
    expect(HF_UNAVAILABLE, hf_leases_open(url, NULL, &leases, &err),
           err); /* nobody knows who signed it */
    expect_contains(err.message, "certificate");
    snprintf(url, sizeof url, "rediss://:wrong@127.0.0.1:%d/0?ssl_verify=0", number);
    expect(HF_UNAVAILABLE, hf_leases_open(url, NULL, &leases, &err), err);
    expect_contains(err.message, "refused the password");
    expect_lacks(err.message, "wrong@");
    snprintf(url, sizeof url, "redis://:se%%25cret@127.0.0.1:%d/0", number);
    expect(HF_UNAVAILABLE, hf_leases_open(url, NULL, &leases, &err), err); /* without TLS */
    redis_end(pid);
}

/* A node of one, whether it is durable or not: a failover there forgets what was acknowledged. */
static void a_cluster_of_redis_is_refused(void **state)
{
    (void)state;
    hf_leases *leases = NULL;
    hf_error err = {0};
    int port = 0;
    hf_status status;
    pid_t pid = redis_own(
        (const char *const[]){"--port", "--cluster-enabled", "yes", "--appendonly", "yes", NULL},
        "redis://127.0.0.1:", "/0?durability=relaxed", &port, &leases, &status, &err);
    redis_end(pid);
    expect(HF_INVALID, status, err);
    expect_contains(err.message, "is part of a cluster");
    expect_contains(err.message, "one master");
}

static void redis_urls_that_make_no_sense_get_a_sentence(void **state)
{
    (void)state;
    static const char *const bad[] = {"redis://",         "redis:///0",      "redis://h:99999",
                                      "redis://h:x",      "redis://h/x",     "redis://h?a=1",
                                      "redis+unix://",    "redis:h",         "redis://h?ssl_ca=x",
                                      "redis://u:p%zz@h", "redis://h/0?db=1"};
    hf_leases *leases = NULL;
    hf_error err;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        expect(HF_INVALID, hf_leases_open(bad[i], NULL, &leases, &err), err);
}

/* ---- MariaDB and MySQL ---- */

/* With the client that comes with the servers. */
static void mysql_do(const char *sql)
{
    char line[HF_URL_MAX + 400];
    snprintf(line, sizeof line, "mariadb --no-defaults -u root --socket=%s -e \"%s\"",
             strstr(instance_url(server), "socket=") + strlen("socket="), sql);
    expect_int(system(line), 0);
}

/* It sees neither the performance schema nor the connections of others. */
static void an_account_without_rights_is_told_who_and_since_when(void **state)
{
    (void)state;
    hf_leases *plain = NULL;
    hf_lease lease;
    hf_error err = {0};
    char url[HF_URL_MAX];
    const char *at = strchr(instance_url(server), '@');
    assert_non_null(at);
    mysql_do("CREATE USER plain@localhost; GRANT SELECT ON test.* TO plain@localhost");
    snprintf(url, sizeof url, "mysql://plain%.4000s", at);
    scene *s = scene_open(instance_url(server));
    snprintf(url + strlen(url), sizeof url - strlen(url), "%s", strstr(s->url, "&namespace="));
    expect(HF_OK, hf_leases_open(url, NULL, &plain, &err), err);
    expect(HF_OK, hf_lease_acquire(s->a, "k", 3600 * SEC, &lease, &err), err);
    expect(HF_TIMEOUT, elsewhere(plain, "k", 0, &err), err);
    expect_contains(err.message, "held by connection ");
    expect_contains(err.message, " since ");
    hf_lease_close(&lease);
    expect(HF_OK, hf_lease_acquire(plain, "k", 3600 * SEC, &lease, &err), err);
    expect(HF_TIMEOUT, elsewhere(s->a, "k", 0, &err), err);
    expect_contains(err.message, "held by plain@localhost (connection ");
    expect_contains(err.message, " since ");
    hf_leases_close(plain);
    scene_close(s);
    mysql_do("DROP USER plain@localhost");
}

/* Five hundred on each of two connections. */
static void a_connection_keeps_five_hundred(void **state)
{
    (void)state;
    enum { MOST = 1000 };
    hf_leases *leases = NULL;
    hf_lease lease[MOST + 1];
    hf_error err;
    char key[24];
    expect(HF_OK,
           hf_leases_open(instance_url(server),
                          &(hf_leases_options){.pool_max = 2, .pulse_us = 60 * SEC}, &leases, &err),
           err);
    for (int i = 0; i <= MOST; i++) {
        snprintf(key, sizeof key, "key %d", i);
        expect(i < MOST ? HF_OK : HF_TOO_MANY,
               hf_lease_try_acquire(leases, key, 0, 50 * SEC, &lease[i], &err), err);
    }
    expect_contains(err.message, "1000");
    hf_lease_close(&lease[7]);
    expect(HF_OK, hf_lease_try_acquire(leases, key, 0, 50 * SEC, &lease[MOST], &err), err);
    hf_leases_close(leases);
}

/* ---- PostgreSQL ---- */

/* The client that comes with the server, listening. */
typedef struct listener {
    FILE *to, *from;
} listener;

static listener postgres_listen(void)
{
    listener out;
    char line[2 * HF_URL_MAX], path[HF_URL_MAX];
    scratch_path(".psql", path);
    assert_int_equal(mkfifo(path, 0600), 0);
    snprintf(line, sizeof line, "psql -XAtq '%.4000s' <'%.4000s'", instance_url(server), path);
    out.from = popen(line, "r");
    out.to = fopen(path, "we");
    assert_true(out.from != NULL && out.to != NULL);
    fputs("LISTEN holdfast_lease;\nSELECT 1;\n", out.to);
    fflush(out.to);
    while (fgets(line, sizeof line, out.from) != NULL && line[0] != '1')
        continue; /* it listens from here on */
    return out;
}

/* How often it was told. */
static int postgres_told(listener *it)
{
    char line[HF_URL_MAX];
    int count = 0;
    fputs("SELECT 2;\n", it->to);
    fclose(it->to);
    while (fgets(line, sizeof line, it->from) != NULL)
        count += strstr(line, "holdfast_lease") != NULL;
    expect_int(pclose(it->from), 0);
    return count;
}

/* Does someone who waits have their mark? */
static bool postgres_is_marked(void)
{
    char line[HF_URL_MAX + 200];
    snprintf(line, sizeof line,
             "psql -XAtq '%s' -c \"SELECT 'marked' FROM pg_locks WHERE locktype = 'advisory' AND "
             "mode = 'ShareLock'\" | grep -q marked",
             instance_url(server));
    return system(line) == 0;
}

static void nobody_is_told_of_a_key_that_nobody_waits_for(void **state)
{
    (void)state;
    scene *s = scene_open_with(instance_url(server), &(hf_leases_options){.pulse_us = 60 * SEC});
    hf_lease lease;
    listener ear = postgres_listen();
    for (int i = 0; i < 20; i++) {
        expect(HF_OK, hf_lease_acquire(s->a, "k", SEC, &lease, &s->err), s->err);
        expect(HF_TIMEOUT, elsewhere(s->b, "k", 0, &s->err), s->err); /* who does not wait */
        hf_lease_close(&lease);
    }
    expect_int(postgres_told(&ear), 0);
    ear = postgres_listen();
    expect(HF_OK, hf_lease_acquire(s->a, "k", 20 * SEC, &lease, &s->err), s->err);
    person waits = {.leases = s->b, .key = "k", .wait_us = 20 * SEC};
    person_start(&waits);
    expect_true(eventually(postgres_is_marked()));
    hf_lease_close(&lease);
    person_join(&waits);
    expect(HF_OK, waits.status, waits.err);
    expect_int(postgres_told(&ear), 1);
    scene_close(s);
}

/* A quarter of its table of locks, 64 * 200 here, and not one more. */
static void the_servers_lock_table_is_left_to_others(void **state)
{
    (void)state;
    enum { QUARTER = 64 * 200 / 4 };
    scene *s = scene_open(instance_url(server));
    hf_lease *leases = calloc(QUARTER + 1, sizeof *leases);
    char key[24];
    for (int i = 0; i <= QUARTER; i++) {
        snprintf(key, sizeof key, "key %d", i);
        expect(i < QUARTER ? HF_OK : HF_TOO_MANY,
               hf_lease_try_acquire(s->a, key, 0, 60 * SEC, &leases[i], &s->err), s->err);
    }
    hf_lease_close(&leases[0]);
    expect(HF_OK, hf_lease_try_acquire(s->a, key, 0, 60 * SEC, &leases[QUARTER], &s->err), s->err);
    free(leases);
    scene_close(s);
}

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
#define CONNECTIONS                                                                                \
    cmocka_unit_test(a_pair_takes_two_round_trips),                                                \
        cmocka_unit_test(connections_are_bounded_and_idle_ones_closed),                            \
        cmocka_unit_test(a_machine_that_vanishes_is_noticed)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_killed_holder_leaves_its_key_to_the_next),
        cmocka_unit_test(a_lost_connection_ends_its_leases_at_once_and_says_so),
        cmocka_unit_test(a_silent_connection_is_not_believed),
        cmocka_unit_test(a_server_that_goes_away_is_unavailable_and_no_timeout),
        CONNECTIONS,
        cmocka_unit_test(a_fence_grows_when_the_clock_is_set_back),
        cmocka_unit_test(a_holder_that_is_stopped_or_cut_off_does_not_keep_its_key),
        cmocka_unit_test(an_idle_provider_stays_connected),
    };
    const struct CMUnitTest redis[] = {
        cmocka_unit_test(a_killed_holder_leaves_its_key_to_the_next),
        cmocka_unit_test(a_lost_connection_is_replaced_and_the_leases_stand),
        cmocka_unit_test(a_silent_server_is_not_believed_for_long),
        cmocka_unit_test(a_server_that_goes_away_is_unavailable_and_no_timeout),
        CONNECTIONS,
        cmocka_unit_test(a_holder_that_is_stopped_or_cut_off_does_not_keep_its_key),
        cmocka_unit_test(a_fence_grows_over_a_server_that_was_emptied_or_runs_ahead),
        cmocka_unit_test(a_key_that_was_deleted_is_a_lost_lease),
        cmocka_unit_test(a_late_close_leaves_the_key_of_another_alone),
        cmocka_unit_test(a_redis_that_may_forget_is_refused_with_what_to_set),
        cmocka_unit_test(tls_and_passwords_are_checked),
        cmocka_unit_test(a_cluster_of_redis_is_refused),
        cmocka_unit_test(redis_urls_that_make_no_sense_get_a_sentence),
    };
    const struct CMUnitTest postgres[] = {
        cmocka_unit_test(the_servers_lock_table_is_left_to_others),
        cmocka_unit_test(nobody_is_told_of_a_key_that_nobody_waits_for),
        cmocka_unit_test(a_pooler_is_refused_unless_it_is_in_session_mode),
    };
    const struct CMUnitTest mysql[] = {
        cmocka_unit_test(an_account_without_rights_is_told_who_and_since_when),
        cmocka_unit_test(a_connection_keeps_five_hundred),
    };
    const char *kind = argc > 1 ? argv[1] : "postgres";
    server = instance_start(strcmp(kind, "postgres") == 0  ? INSTANCE_POSTGRES
                            : strcmp(kind, "mariadb") == 0 ? INSTANCE_MARIADB
                            : strcmp(kind, "redis") == 0   ? INSTANCE_REDIS
                                                           : INSTANCE_MYSQL);
    int failed = strcmp(kind, "redis") == 0
                     ? cmocka_run_group_tests_name("leases on Redis", redis, NULL, NULL)
                     : cmocka_run_group_tests_name("leases on servers", tests, NULL, NULL);
    if (strcmp(kind, "mariadb") == 0 || strcmp(kind, "mysql") == 0)
        failed += cmocka_run_group_tests_name("leases on MariaDB and MySQL", mysql, NULL, NULL);
    if (strcmp(kind, "postgres") == 0)
        failed += cmocka_run_group_tests_name("leases on PostgreSQL", postgres, NULL, NULL);
    instance_stop(server);
    return failed;
}
