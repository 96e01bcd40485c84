/* SPDX-License-Identifier: MIT */
/* Ending what takes too long, or is cancelled: KILL QUERY on another connection, by a thread that watches the flights with a bound. The
 * thread is started for the first such flight and ends with the last connection that had one.
 *
 * W1  A flight is killed only while it is MY_FLYING, and is MY_KILLING until the server has answered to the KILL. If it flies on it is
 *     killed again: a server that has not begun with it forgets the KILL.
 * W2  Who flies does not go on before that (my_landed waits). So a KILL meets its flight, or a connection that sends nothing but what
 *     my_landed's caller sends to absorb it; never the next flight. If the answer never came the connection is given up.
 * W3  A flight with a COMMIT or ROLLBACK in it is not killed.
 * W4  Where a server is slow to notice a KILL it is nudged (mysql_nudge.c) after each one, also after one that is sent again: the first
 *     nudge may have come before the wait. Nobody waits for a nudge.
 * W5  Only what may wait for others' rows has a bound: once the rest of a flight only reads, it takes what it takes, as long as the
 *     connection's own timeout. That goes for who waits behind a change of the tables themselves too.
 * W6  A KILL between two statements of a flight makes servers forget the rest of it, though they had promised more answers. So one that
 *     was killed and flies on, on a connection that the server calls idle and from which nothing is to be read, is ended with its
 *     connection. */
#include "db/mysql_inside.h"

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>

/* How soon a KILL is sent again that met nothing, or for which there was no connection. */
#define AGAIN_US INT64_C(50000)

/* A KILL that takes longer helps nobody, and who flies waits for it. */
enum { KILL_S = 2 };

/* How often in a row a connection is found idle before its flight is taken for forgotten: the server may just not have begun with it. */
enum { IDLE_TIMES = 4 };

/* A connection for KILLs, and what it takes to have them noticed. */
typedef struct killer {
    MYSQL *conn; /* NULL: none yet */
    my_target *target;
    char server[MY_SERVER_SIZE];
    bool owes; /* a nudge, after a KILL */
    my_nudger nudgers[2];
} killer;

struct my_watcher {
    pthread_t thread;
    pthread_cond_t wakes;
    int users; /* connections; it ends with the last */
    bool ends;
    int64_t wakes_us; /* when it will look by itself */
    my_db *first;     /* flights with a bound */
    killer killer;    /* of the thread alone: kept from one KILL to the next */
};

static struct {
    pthread_mutex_t mutex;
    pthread_cond_t answered; /* a KILL has been */
    my_watcher *watcher;
} all = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, NULL};

void my_watch_forked(void)
{
    all.mutex = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    all.answered = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
    all.watcher = NULL;
}

bool my_is_quiet(MYSQL *conn)
{
    struct pollfd socket = {.fd = mysql_get_socket(conn), .events = POLLIN | POLLRDHUP};
    return conn->net.pvio != NULL && poll(&socket, 1, 0) == 0;
}

/* ---- the list; with the mutex ---- */

static void list(my_db *db, int64_t due_us)
{
    my_watcher *watcher = db->watch.watcher;
    db->watch.listed = true;
    db->watch.due_us = due_us;
    db->watch.previous = NULL;
    db->watch.next = watcher->first;
    if (watcher->first != NULL)
        watcher->first->watch.previous = db;
    watcher->first = db;
    if (due_us < watcher->wakes_us) {
        watcher->wakes_us = due_us;
        pthread_cond_signal(&watcher->wakes);
    }
}

static void unlist(my_db *db)
{
    if (!db->watch.listed)
        return;
    if (db->watch.previous != NULL)
        db->watch.previous->watch.next = db->watch.next;
    else
        db->watch.watcher->first = db->watch.next;
    if (db->watch.next != NULL)
        db->watch.next->watch.previous = db->watch.previous;
    db->watch.listed = false;
}

/* ---- killing ---- */

static void killer_close(killer *it)
{
    my_shut(it->conn);
    my_nudge_end(it->nudgers);
    my_target_drop(it->target);
    *it = (killer){.conn = NULL};
}

/* Leaves a connection to the server of db in it, the one that is there if it will do. */
static bool killer_open(killer *it, const my_db *db)
{
    if (it->conn != NULL && (!my_target_same(it->target, db->target) || !my_is_quiet(it->conn)))
        killer_close(it);
    if (it->conn == NULL && my_open(db->target, KILL_S, &it->conn, NULL) == HF_OK) {
        it->target = my_target_hold(db->target);
        if (!my_identify(it->target, it->conn, it->server))
            killer_close(it);
    }
    if (it->conn != NULL && strcmp(it->server, db->server) != 0)
        killer_close(it);
    return it->conn != NULL;
}

/* Says it, with the number of db's connection. An error of the server is an answer too: that connection is gone. */
static my_fate say(killer *it, const my_db *db, const char *what, my_fate then)
{
    char text[128];
    my_hush hush;
    if (!killer_open(it, db))
        return MY_UNHARMED;
    int size = snprintf(text, sizeof text, "%s %lu", what, db->id);
    my_hush_begin(it->conn, &hush);
    bool failed = mysql_real_query(it->conn, text, (unsigned long)size) != 0;
    my_hush_end(&hush);
    if (!failed || !my_is_lost(it->conn))
        return then;
    my_fate fate = my_is_unsent(it->conn) ? MY_UNHARMED : MY_DOUBTFUL;
    killer_close(it);
    return fate;
}

/* An answer has come, and who flies has not got round to reading it. */
static bool has_answer(const my_db *db)
{
    struct pollfd fd = {.fd = db->fd, .events = POLLIN};
    return poll(&fd, 1, 0) > 0;
}

/* Whether the server has nothing to do on a connection, and nothing to tell any more. */
static bool finds_idle(killer *it, const my_db *db)
{
    if (has_answer(db) ||
        say(it, db,
            "SELECT info IS NULL AND command <> 'Busy' FROM information_schema.processlist WHERE id =",
            MY_KILLED) != MY_KILLED)
        return false;
    MYSQL_RES *rows = mysql_store_result(it->conn);
    MYSQL_ROW row = rows == NULL ? NULL : mysql_fetch_row(rows);
    bool idle = row != NULL && row[0] != NULL && row[0][0] == '1';
    mysql_free_result(rows);
    return idle;
}

/* The flight is MY_KILLING. */
static my_fate send_kill(killer *it, my_db *db)
{
    if (db->watch.fate == MY_KILLED) {
        db->watch.idle = finds_idle(it, db) ? db->watch.idle + 1 : 0;
        if (db->watch.idle >= IDLE_TIMES)
            return say(it, db, "KILL", MY_ENDED);
    }
    my_fate fate = say(it, db, "KILL QUERY", MY_KILLED);
    if (fate == MY_KILLED)
        it->owes = it->target->nudge != NULL;
    return fate;
}

static void nudge(killer *it)
{
    it->owes = false;
    my_nudge(it->nudgers, it->target, it->server, KILL_S);
}

/* With the mutex; the flight was MY_KILLING. */
static void note_kill(my_db *db, my_fate fate)
{
    db->watch.state = MY_FLYING;
    if (fate > db->watch.fate)
        db->watch.fate = fate;
    if (db->watch.fate < MY_ENDED)
        list(db, hf_seam.boot_us() + AGAIN_US);
    pthread_cond_broadcast(&all.answered);
}

/* ---- the thread ---- */

/* With the mutex. The first flight whose time is over; else *next_us says when there may be one. */
static my_db *find_late(const my_watcher *watcher, int64_t now_us, int64_t *next_us)
{
    *next_us = INT64_MAX;
    for (my_db *db = watcher->first; db != NULL; db = db->watch.next) {
        if (db->watch.due_us <= now_us)
            return db;
        if (db->watch.due_us < *next_us)
            *next_us = db->watch.due_us;
    }
    return NULL;
}

static void sleep_for(my_watcher *watcher, int64_t us)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    int64_t nanoseconds = until.tv_nsec + us % 1000000 * 1000;
    until.tv_sec += us / 1000000 + nanoseconds / 1000000000;
    until.tv_nsec = nanoseconds % 1000000000;
    pthread_cond_timedwait(&watcher->wakes, &all.mutex, &until);
}

/* One nudge serves all who were killed before it. */
static bool owes_nudge(const killer *it, const my_db *late)
{
    return it->owes && (late == NULL || !my_target_same(late->target, it->target));
}

static void *watch(void *context)
{
    my_watcher *watcher = context;
    int64_t next_us;
    mysql_thread_init();
    pthread_mutex_lock(&all.mutex);
    while (!watcher->ends) {
        int64_t now_us = hf_seam.boot_us();
        my_db *late = find_late(watcher, now_us, &next_us);
        bool nudges = owes_nudge(&watcher->killer, late);
        watcher->wakes_us =
            late != NULL || nudges ? INT64_MIN : next_us; /* nobody needs to wake it while it is at work */
        if (nudges) {
            pthread_mutex_unlock(&all.mutex);
            nudge(&watcher->killer);
            pthread_mutex_lock(&all.mutex);
        } else if (late != NULL) {
            unlist(late);
            late->watch.state = MY_KILLING;
            pthread_mutex_unlock(&all.mutex);
            my_fate fate = send_kill(&watcher->killer, late);
            pthread_mutex_lock(&all.mutex);
            note_kill(late, fate);
        } else if (next_us == INT64_MAX) {
            pthread_cond_wait(&watcher->wakes, &all.mutex);
        } else {
            sleep_for(watcher, next_us - now_us);
        }
    }
    pthread_mutex_unlock(&all.mutex);
    killer_close(&watcher->killer);
    mysql_thread_end();
    return NULL;
}

/* With the mutex. NULL: there can be none now. */
static my_watcher *start_watcher(void)
{
    my_watcher *watcher = hf_alloc(sizeof *watcher);
    if (watcher == NULL)
        return NULL;
    pthread_condattr_t clock;
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&watcher->wakes, &clock);
    pthread_condattr_destroy(&clock);
    watcher->wakes_us = INT64_MIN;
    sigset_t signals, before;
    sigfillset(&signals);
    pthread_sigmask(SIG_SETMASK, &signals, &before);
    int failed = pthread_create(&watcher->thread, NULL, watch, watcher);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failed != 0) {
        pthread_cond_destroy(&watcher->wakes);
        hf_free(watcher);
        return NULL;
    }
    return watcher;
}

void my_unwatch(my_db *db)
{
    pthread_mutex_lock(&all.mutex);
    while (db->watch.state == MY_KILLING)
        pthread_cond_wait(&all.answered, &all.mutex);
    my_watcher *watcher = db->watch.watcher;
    db->watch.watcher = NULL;
    if (watcher != NULL && --watcher->users > 0)
        watcher = NULL;
    if (watcher != NULL) { /* the next who needs one starts another */
        watcher->ends = true;
        if (all.watcher == watcher)
            all.watcher = NULL;
        pthread_cond_signal(&watcher->wakes);
    }
    pthread_mutex_unlock(&all.mutex);
    if (watcher == NULL)
        return;
    pthread_join(watcher->thread, NULL);
    pthread_cond_destroy(&watcher->wakes);
    hf_free(watcher);
}

/* ---- flights ---- */

/* With the mutex. Without a watcher the flight goes on without a bound; the server has one of its own. */
static void set_bound(my_db *db, int64_t due_us)
{
    if (db->watch.watcher == NULL) {
        if (all.watcher == NULL)
            all.watcher = start_watcher();
        if (all.watcher == NULL)
            return;
        db->watch.watcher = all.watcher;
        all.watcher->users++;
    }
    list(db, due_us);
}

void my_takes_off(my_db *db, bool untouchable, bool only_reads)
{
    if (db->target == NULL)
        return;
    pthread_mutex_lock(&all.mutex);
    db->watch.state = MY_FLYING;
    db->watch.fate = MY_UNHARMED;
    db->watch.idle = 0;
    db->watch.untouchable = untouchable;
    db->watch.cancelled = false;
    if (!untouchable && !only_reads && db->patience_us > 0)
        set_bound(db, hf_seam.boot_us() + db->patience_us);
    pthread_mutex_unlock(&all.mutex);
}

void my_waits_no_more(my_db *db)
{
    if (db->target == NULL)
        return;
    pthread_mutex_lock(&all.mutex);
    if (db->watch.state == MY_FLYING && db->watch.fate == MY_UNHARMED && !db->watch.cancelled)
        unlist(db);
    pthread_mutex_unlock(&all.mutex);
}

my_fate my_landed(my_db *db)
{
    if (db->target == NULL)
        return MY_UNHARMED;
    pthread_mutex_lock(&all.mutex);
    while (db->watch.state == MY_KILLING)
        pthread_cond_wait(&all.answered, &all.mutex);
    unlist(db);
    db->watch.state = MY_GROUNDED;
    my_fate fate = db->watch.fate;
    pthread_mutex_unlock(&all.mutex);
    return fate;
}

void my_cancel(hf_db *base)
{
    my_db *db = my_of(base);
    if (db->target == NULL)
        return;
    pthread_mutex_lock(&all.mutex);
    if (db->watch.state == MY_FLYING && !db->watch.untouchable && db->watch.fate < MY_ENDED) {
        unlist(db);
        db->watch.cancelled = true;
        set_bound(db, INT64_MIN);
    }
    pthread_mutex_unlock(&all.mutex);
}
