/* SPDX-License-Identifier: MIT */
/* The MySQL driver's patience: what waits too long is ended from another connection, the transaction stays, and no KILL ever meets what
 * was sent after it. */
#include "own_mysql.h"

#include <db/mysql_inside.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

static void accounts(hf_db *db)
{
    run(db, "DROP TABLE IF EXISTS k; CREATE TABLE k (a INT PRIMARY KEY, b INT) ENGINE = InnoDB; INSERT INTO "
            "k VALUES (1, 0), (2, 0), "
            "(3, 0)");
}

static void what_waits_too_long_is_busy_and_the_transaction_stays(void **state)
{
    const own_server *at = *state;
    hf_db *db = open_db(at), *other = open_db(at);
    accounts(db);
    run(other, "BEGIN; UPDATE k SET b = 9 WHERE a = 2");
    run(db, "SET SESSION innodb_lock_wait_timeout = 20");
    hf_db_patience(db, 300000);
    hf_stmt *all[4];
    static const char *const texts[] = {"UPDATE k SET b = 1 WHERE a = 1", "UPDATE k SET b = 1 WHERE a = 2",
                                        "UPDATE k SET b = 1 WHERE a = 3", "SELECT b FROM k WHERE a = 3"};
    for (int i = 0; i < 4; i++)
        all[i] = stmt(db, texts[i]);
    for (int round = 0; round < 3; round++) {
        run(db, "START TRANSACTION");
        for (int i = 0; i < 4; i++)
            hf_stmt_queue(all[i]);
        int64_t from = now_ms();
        expect(HF_OK, hf_db_send(db, &err), err);
        int64_t took = now_ms() - from;
        expect_true(took >= 290 && took < 5000); /* MySQL 5.6 looks once a second */
        done(all[0]);
        for (int i = 1; i < 4; i++) {
            expect(HF_BUSY, hf_stmt_run(all[i], &err), err);
            expect_int(hf_db_failure(db), HF_FAILURE_BUSY);
        }
        expect_true(hf_db_in_transaction(db) && hf_db_alive(db));
        expect_text(ask(db, "SELECT b FROM k WHERE a = 1 FOR UPDATE"), "1");
        expect_text(ask(db, "SELECT b FROM k WHERE a = 3 FOR UPDATE"), "0");
        if (round == 2)
            expect(HF_OK, hf_db_commit(db, &err), err);
        else
            expect(HF_OK, hf_db_rollback(db, &err), err);
        expect_text(ask(db, "SELECT b FROM k WHERE a = 1"), round == 2 ? "1" : "0");
    }
    hf_db_patience(db, 0);
    run(db, "SET SESSION innodb_lock_wait_timeout = 1");
    int64_t from = now_ms();
    expect(HF_BUSY, hf_db_run(db, "UPDATE k SET b = 1 WHERE a = 2", &err), err); /* by the server itself */
    expect_true(now_ms() - from >= 900);
    for (int i = 0; i < 4; i++)
        hf_stmt_free(all[i]);
    hf_db_close(other);
    hf_db_close(db);
}

/* What waits for nobody's rows has no bound: it may have much to read. */
static void what_only_reads_takes_what_it_takes(void **state)
{
    const own_server *at = *state;
    static const char *const texts[] = {"START TRANSACTION", "SELECT b FROM k WHERE a = 1 FOR UPDATE",
                                        "SELECT SLEEP(1)", "SELECT b FROM k WHERE a = 2"};
    hf_db *db = open_db(at);
    accounts(db);
    hf_db_patience(db, 300000);
    for (int from = 2; from >= 0; from -= 2) {
        hf_stmt *all[4] = {NULL};
        for (int i = from; i < 4; i++) {
            all[i] = stmt(db, texts[i]);
            hf_stmt_queue(all[i]);
        }
        expect(HF_OK, hf_db_send(db, &err), err);
        for (int i = from; i < 4; i++) {
            done(all[i]);
            hf_stmt_free(all[i]);
        }
    }
    expect(HF_OK, hf_db_rollback(db, &err), err);
    hf_stmt *slow = stmt(db, "SELECT SLEEP(5) FROM k WHERE a = 1 FOR UPDATE"); /* this one might wait */
    int64_t sent = now_ms();
    hf_stmt_run(slow, NULL); /* MySQL 5.6 does not call it an error */
    expect_true(now_ms() - sent < 4000);
    hf_stmt_free(slow);
    hf_db_close(db);
}

/* Whoever waits for a COMMIT must not be left without its answer. */
static void a_commit_is_waited_for(void **state)
{
    const own_server *at = *state;
    static const char *const texts[] = {"COMMIT", "UPDATE k SET b = 5 WHERE a = 2; COMMIT"};
    hf_db *db = open_db(at), *other = open_db(at);
    accounts(db);
    hf_db_patience(db, 50000);
    for (int i = 0; i < 2; i++) {
        task waits;
        run(db, "BEGIN; UPDATE k SET b = b + 1 WHERE a = 1");
        run(other, "FLUSH TABLES WITH READ LOCK");
        start(&waits, db, texts[i]);
        nap_ms(400);
        run(other, "UNLOCK TABLES");
        expect_int(finish(&waits), HF_OK);
    }
    expect_text(ask(other, "SELECT SUM(b) FROM k"), "7");
    hf_db_close(other);
    hf_db_close(db);
}

/* ---- races ---- */

/* Someone who takes the lock of row 2 again and again, for so long as he is told. */
typedef struct holder {
    hf_db *db;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t moved;
    int64_t hold_us; /* >0: take it and hold it so long; 0: nothing to do; -1: end */
    bool holds;
} holder;

static void *hold(void *context)
{
    holder *it = context;
    pthread_mutex_lock(&it->mutex);
    for (;;) {
        while (it->hold_us == 0)
            pthread_cond_wait(&it->moved, &it->mutex);
        if (it->hold_us < 0)
            break;
        hf_db_run(it->db, "START TRANSACTION; SELECT b FROM k WHERE a = 2 FOR UPDATE", NULL);
        int64_t us = it->hold_us;
        it->hold_us = 0;
        it->holds = true;
        pthread_cond_broadcast(&it->moved);
        pthread_mutex_unlock(&it->mutex);
        usleep((useconds_t)us);
        hf_db_run(it->db, "ROLLBACK", NULL);
        pthread_mutex_lock(&it->mutex);
    }
    pthread_mutex_unlock(&it->mutex);
    return NULL;
}

static void tell(holder *it, int64_t us)
{
    pthread_mutex_lock(&it->mutex);
    it->hold_us = us;
    it->holds = false;
    pthread_cond_broadcast(&it->moved);
    while (us > 0 && !it->holds)
        pthread_cond_wait(&it->moved, &it->mutex);
    pthread_mutex_unlock(&it->mutex);
}

/* The lock is set free at about the time the patience is over: the KILL meets the waiting, the running, the answered statement. */
static void a_kill_that_comes_late_harms_nothing(void **state)
{
    const own_server *at = *state;
    enum { ROUNDS = 200 };
    holder other = {.db = open_db(at), .mutex = PTHREAD_MUTEX_INITIALIZER, .moved = PTHREAD_COND_INITIALIZER};
    hf_db *db = open_db(at);
    int ended[2] = {0};
    unsigned seed = (unsigned)getpid();
    accounts(db);
    run(db, "SET SESSION innodb_lock_wait_timeout = 5");
    hf_stmt *take = stmt(db, "SELECT b FROM k WHERE a = 2 FOR UPDATE"),
            *change = stmt(db, "UPDATE k SET b = b + 1 WHERE a = 1");
    expect_int(pthread_create(&other.thread, NULL, hold, &other), 0);
    for (int round = 0; round < ROUNDS; round++) {
        expect(HF_OK, hf_db_begin(db, HF_READ_COMMITTED, false, &err), err);
        tell(&other, 5000);
        hf_db_patience(db, 4000 + rand_r(&seed) % 2000);
        hf_status status = hf_stmt_run(take, &err);
        expect_true(status == HF_OK || status == HF_BUSY);
        ended[status == HF_BUSY]++;
        hf_db_patience(db, 0);
        if (round % 2)
            done(change);
        else
            run(db, "UPDATE k SET b = b + 1 WHERE a = 1");
        expect_true(hf_db_in_transaction(db));
        expect(HF_OK, hf_db_commit(db, &err), err);
    }
    tell(&other, -1);
    expect_int(pthread_join(other.thread, NULL), 0);
    expect_int(strtol(ask(db, "SELECT b FROM k WHERE a = 1"), NULL, 10), ROUNDS);
    print_message("# %s: %d got the lock, %d were busy\n", at->name, ended[0], ended[1]);
    hf_stmt_free(take);
    hf_stmt_free(change);
    hf_db_close(other.db);
    hf_db_close(db);
}

/* ---- KILLs that go astray ---- */

/* MariaDB forgets a KILL that comes before it has begun with what was sent. */
static void a_kill_that_comes_early_is_sent_again(void **state)
{
    const own_server *at = *state;
    hf_db *db = open_db(at), *other = open_db(at);
    accounts(db);
    run(other, "BEGIN; UPDATE k SET b = 9 WHERE a = 2");
    hf_db_patience(db, 1);
    for (int i = 0; i < (at->mariadb ? 50 : 3); i++) {
        int64_t from = now_ms();
        expect(HF_BUSY, hf_db_run(db, "SELECT b FROM k WHERE a = 2 FOR UPDATE", &err), err);
        expect_true(now_ms() - from < 2000);
    }
    hf_db_close(other);
    hf_db_close(db);
}

/* Behind a balancer a second connection may lead to another server, where that number is someone else's. */
static void nobody_is_killed_on_another_server(void **state)
{
    const own_server *at = *state;
    hf_db *db = connect_with(at->tcp, NULL), *other = open_db(at);
    expect_true(my_of(db)->server[0] != '\0' && my_of(other)->server[0] == '\0');
    accounts(db);
    run(db, "SET SESSION innodb_lock_wait_timeout = 1");
    run(other, "BEGIN; UPDATE k SET b = 9 WHERE a = 2");
    hf_db_patience(db, 100000);
    my_of(db)->server[0] ^= 1;
    int64_t from = now_ms();
    expect(HF_BUSY, hf_db_run(db, "UPDATE k SET b = 1 WHERE a = 2", &err), err);
    expect_contains(err.message, "1205");
    expect_true(now_ms() - from >= 900);
    my_of(db)->server[0] ^= 1;
    expect(HF_BUSY, hf_db_run(db, "UPDATE k SET b = 1 WHERE a = 2", &err), err);
    expect_contains(err.message, "1317");
    hf_db_close(other);
    hf_db_close(db);
}

/* It may be carried out when something else is on its way: the connection is given up. */
static void after_a_kill_without_an_answer_nothing_more_is_sent(void **state)
{
    const own_server *at = *state;
    task waits;
    hf_db *db = open_db(at), *other = open_db(at);
    accounts(db);
    run(other, "BEGIN; UPDATE k SET b = 9 WHERE a = 2");
    hf_db_patience(db, 100000);
    expect(HF_BUSY, hf_db_run(db, "UPDATE k SET b = 1 WHERE a = 2", &err),
           err); /* the watcher is connected now */
    run(db, "DO 0");
    expect_int(kill(at->pid, SIGSTOP), 0);
    nap_ms(100);
    start(&waits, db, "SELECT 1");
    nap_ms(2700);
    expect_int(kill(at->pid, SIGCONT), 0);
    hf_status status = finish(&waits);
    expect_true(status == HF_OK || status == HF_BUSY);
    expect_true(!hf_db_alive(db));
    expect(HF_UNAVAILABLE, hf_db_run(db, "SELECT 1", &err), err);
    expect_int(hf_db_failure(db), HF_FAILURE_LOST);
    hf_db_close(other);
    hf_db_close(db);
}

/* ---- several connections ---- */

typedef struct worker {
    pthread_t thread;
    const char *url;
    int rounds, busy;
    unsigned seed;
    char wrong[HF_MESSAGE_SIZE]; /* what went wrong, if anything */
} worker;

static void note(worker *it, const hf_error *problem)
{
    snprintf(it->wrong, sizeof it->wrong, "%s", problem->message);
}

/* Opens and closes connections, so that watchers come and go, and waits with a bound. */
static void *work(void *context)
{
    worker *it = context;
    hf_error problem = {0};
    for (int i = 0; i < it->rounds; i++) {
        hf_db *db = NULL;
        if (hf_db_connect(&hf_db_mysql, it->url, NULL, &db, &problem) != HF_OK) {
            note(it, &problem);
            break;
        }
        for (int k = 0; k < 3; k++) {
            hf_db_patience(db, 1000 + rand_r(&it->seed) % 20000);
            hf_status status = hf_db_run(db, "SELECT b FROM k WHERE a = 2 FOR UPDATE", &problem);
            it->busy += status == HF_BUSY;
            if (status != HF_BUSY)
                note(it, &problem);
            hf_db_patience(db, 0);
            if (hf_db_run(db, "SELECT b FROM k WHERE a = 1", &problem) != HF_OK)
                note(it, &problem);
        }
        hf_db_close(db);
    }
    return NULL;
}

static void one_watcher_serves_many_connections(void **state)
{
    const own_server *at = *state;
    enum { WORKERS = 6 };
    worker workers[WORKERS];
    hf_db *other = open_db(at);
    int busy = 0;
    accounts(other);
    run(other, "BEGIN; UPDATE k SET b = 9 WHERE a = 2");
    for (int i = 0; i < WORKERS; i++) {
        workers[i] =
            (worker){.url = i % 2 ? at->url : at->tcp, .rounds = at->mariadb ? 10 : 3, .seed = (unsigned)i};
        expect_int(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < WORKERS; i++) {
        expect_int(pthread_join(workers[i].thread, NULL), 0);
        expect_text(workers[i].wrong, "");
        busy += workers[i].busy;
    }
    expect_int(busy, WORKERS * (at->mariadb ? 30 : 9));
    hf_db_close(other);
}

#if !defined(__SANITIZE_THREAD__)
static int threads_now(void)
{
    char line[256];
    int threads = -1;
    FILE *status = fopen("/proc/self/status", "r");
    while (status != NULL && fgets(line, sizeof line, status) != NULL)
        sscanf(line, "Threads: %d", &threads);
    fclose(status);
    return threads;
}
#endif

/* The last connection that had a bound takes the thread with it. (One that was joined may still be counted for a moment.) */
static void the_watcher_ends_with_its_connections(void **state)
{
    const own_server *at = *state;
    for (int round = 0; round < 3; round++) {
        hf_db *a = open_db(at), *b = open_db(at);
        hf_db_patience(a, 1000000);
        hf_db_patience(b, 1000000);
        run(a, "DO 1");
        run(b, "DO 1");
        hf_db_close(a);
        run(b, "DO 1");
        hf_db_close(b);
#if !defined(__SANITIZE_THREAD__)
        int64_t from = now_ms();
        while (threads_now() > 1 && now_ms() - from < 5000)
            nap_ms(1);
        expect_int(threads_now(), 1);
#endif
    }
}

/* A KILL that comes between two statements of a flight: the server has promised more answers, and forgets them. */
static void what_the_server_forgets_is_not_waited_for(void **state)
{
    const own_server *at = *state;
    hf_db *db = open_db(at);
    char text[2048];
    for (size_t i = 0; i < sizeof text; i += 9) /* SELECT 1;SELECT 1;... */
        snprintf(text + i, sizeof text - i, "SELECT 1;");
    text[sizeof text / 9 * 9 - 1] = '\0';
    int forgotten = 0, busy = 0, tries = 0;
    int64_t from = now_ms();
    for (; forgotten < 3 && now_ms() - from < 60000; tries++) {
        hf_db_patience(db, 200 + 37 * (tries % 50)); /* it takes about a millisecond */
        int64_t sent = now_ms();
        hf_status status = hf_db_run(db, text, &err);
        expect_true(now_ms() - sent < 5000); /* the connection's own bound is 10 s */
        expect_true(status == HF_OK || status == HF_BUSY);
        if (status == HF_BUSY)
            expect_int(hf_db_failure(db), HF_FAILURE_BUSY);
        busy += status == HF_BUSY;
        if (hf_db_alive(db))
            continue;
        forgotten++;
        hf_db_close(db);
        db = open_db(at);
    }
    printf("# %s: of %d flights %d were ended, %d with their connection\n", at->name, tries, busy, forgotten);
    expect_true(forgotten >= 3);
    hf_db_close(db);
}

/* ---- cancelling ---- */

static void what_is_cancelled_is_busy(void **state)
{
    const own_server *at = *state;
    hf_db *db = open_db(at), *other = open_db(at);
    accounts(db);
    run(other, "BEGIN; UPDATE k SET b = 9 WHERE a = 2");
    hf_db_cancel(db); /* nothing is on its way */
    run(db, "BEGIN; UPDATE k SET b = 1 WHERE a = 1");
    unsigned long id = id_of(db);
    task waits;
    start(&waits, db, "UPDATE k SET b = 1 WHERE a = 2");
    wait_for_state(other, id, "UPDATE");
    nap_ms(50);
    int64_t from = now_ms();
    hf_db_cancel(db);
    expect_int(finish(&waits), HF_BUSY);
    expect_true(now_ms() - from < 1500);
    expect_int(waits.failure, HF_FAILURE_BUSY);
    expect_true(hf_db_in_transaction(db));
    run(db, "UPDATE k SET b = b + 1 WHERE a = 1");
    expect(HF_OK, hf_db_commit(db, &err), err);
    expect_text(ask(db, "SELECT b FROM k WHERE a = 1"), "2");
    hf_db_close(other);
    hf_db_close(db);
}

typedef struct canceller {
    pthread_t thread;
    hf_db *db;
    atomic_bool ends;
} canceller;

static void *cancel_often(void *context)
{
    canceller *it = context;
    unsigned seed = 7;
    while (!atomic_load(&it->ends)) {
        hf_db_cancel(it->db);
        usleep((useconds_t)(rand_r(&seed) % 3000));
    }
    return NULL;
}

/* Whatever is cancelled, transactions with a COMMIT in their flight are carried out whole or not at all. */
static void cancelling_is_safe_from_any_thread(void **state)
{
    const own_server *at = *state;
    canceller other = {.db = open_db(at)};
    int committed = 0, busy = 0;
    accounts(other.db);
    expect_int(pthread_create(&other.thread, NULL, cancel_often, &other), 0);
    for (int i = 0; i < 300; i++) {
        hf_status status =
            hf_db_run(other.db, "START TRANSACTION; UPDATE k SET b = b + 1 WHERE a = 1; COMMIT", &err);
        expect_int(status, HF_OK);
        committed++;
        status = hf_db_run(other.db, "UPDATE k SET b = b + 1 WHERE a = 2", &err);
        expect_true(status == HF_OK || status == HF_BUSY);
        busy += status == HF_BUSY;
    }
    atomic_store(&other.ends, true);
    expect_int(pthread_join(other.thread, NULL), 0);
    expect_int(strtol(ask(other.db, "SELECT b FROM k WHERE a = 1"), NULL, 10), committed);
    expect_int(strtol(ask(other.db, "SELECT b FROM k WHERE a = 2"), NULL, 10), committed - busy);
    hf_db_close(other.db);
}

int main(int argc, char **argv)
{
    static const own_test tests[] = {
        OWN_TEST(what_waits_too_long_is_busy_and_the_transaction_stays),
        OWN_TEST(what_only_reads_takes_what_it_takes),
        OWN_TEST(a_commit_is_waited_for),
        OWN_TEST(a_kill_that_comes_late_harms_nothing),
        OWN_TEST(a_kill_that_comes_early_is_sent_again),
        OWN_TEST(nobody_is_killed_on_another_server),
        OWN_TEST(after_a_kill_without_an_answer_nothing_more_is_sent),
        OWN_TEST(one_watcher_serves_many_connections),
        OWN_TEST(the_watcher_ends_with_its_connections),
        OWN_TEST(what_the_server_forgets_is_not_waited_for),
        OWN_TEST(what_is_cancelled_is_busy),
        OWN_TEST(cancelling_is_safe_from_any_thread),
    };
    signal(SIGPIPE, SIG_DFL);
    return own_mysql_run("mysql_patience", tests, sizeof tests / sizeof *tests, argc, argv);
}
