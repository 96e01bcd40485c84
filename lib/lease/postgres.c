/* SPDX-License-Identifier: MIT */
/* Leases on PostgreSQL: advisory locks of the session, on a key of 64 bits. Who waits marks the key
 * by a shared lock on a second one and tries again; who gives the key back looks for that mark in
 * the same statement, and only then notifies. So nobody is told for nothing, and an uncontended
 * pair costs what two plain statements cost. Who died without a word is found by looking, four
 * times a second. */
#include "db/postgres.h"
#include "base/error.h"
#include "base/seams.h"
#include "base/time.h"
#include "lease/links.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The server notices a client whose machine has vanished by keepalives of its own. Set by
 * statements: a pooler takes no settings on connecting, and is to be refused by a better sentence
 * than its own. */
#define PG_SETUP                                                                                   \
    "SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 3"

/* One whose process is stopped, or which a middle box cuts off, still answers keepalives: it is
 * ended after so many ms without a statement (from version 14 on), or without taking in what it is
 * sent (12). */
#define PG_SILENCE                                                                                 \
    "SELECT count(set_config(name, '%lld', false)) FROM pg_settings"                               \
    " WHERE name IN ('idle_session_timeout', 'tcp_user_timeout')"

/* The server's time in microseconds. */
#define PG_NOW_US  "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint"
#define PG_CHANNEL "holdfast_lease"

enum {
    PG_SHARE = 4,     /* of the server's lock table: a quarter */
    PG_NAME_MAX = 63, /* of an application_name */
};

enum { PG_TRY, PG_TRY_MARKED, PG_RELEASE, PG_UNMARK, PG_PING, PG_WHO };

/* What the statement that marks and tries answers for a key. */
enum { PG_BUSY, PG_MARKED, PG_GOT };

/* ---- keys ---- */

static int64_t pg_key(const hf_lease_grant *grant, int part)
{
    int64_t key;
    memcpy(&key, grant->digest + part * (int)sizeof key, sizeof key);
    return key;
}

static void pg_payload(const hf_lease_grant *grant, char out[17])
{
    snprintf(out, 17, "%llx", (unsigned long long)pg_key(grant, 0));
}

/* ---- statements ---- */

/* The number of the first column; false: there is no row. */
static hf_status pg_number_of(hf_stmt *stmt, int64_t *out, hf_error *err)
{
    bool row = false;
    hf_status status = hf_stmt_step(stmt, &row, err);
    if (status == HF_OK && row)
        *out = hf_stmt_column_int(stmt, 0);
    hf_stmt_reset(stmt);
    return status;
}

static hf_status pg_try_one(hf_link *link, hf_lease_request *ask, bool *got, hf_error *err)
{
    static const char text[] =
        "SELECT CASE WHEN pg_try_advisory_lock($1) THEN " PG_NOW_US " ELSE 0 END";
    hf_stmt *stmt = NULL;
    int64_t number = 0;
    hf_status status = hf_link_stmt(link, PG_TRY, text, &stmt, err);
    if (status != HF_OK)
        return status;
    hf_stmt_int(stmt, 1, pg_key(ask->grant, 0));
    status = pg_number_of(stmt, &number, err);
    *got = status == HF_OK && number > 0;
    ask->grant->fence = number;
    return status;
}

static hf_status pg_try(hf_link *link, hf_lease_request **asks, size_t count, bool *got,
                        hf_error *err)
{
    hf_status status = HF_OK;
    for (size_t i = 0; i < count && status == HF_OK; i++)
        status = pg_try_one(link, asks[i], &got[i], err);
    return status;
}

/* A mark that can't be made at once is tried again soon: whoever gives the key back has it for a
 * moment. */
#define PG_TRY_MARKED_TEXT                                                                         \
    "SELECT CASE WHEN s IN (0, 1) THEN s ELSE 2 END, CASE WHEN s = 2 THEN " PG_NOW_US              \
    " ELSE 0 END FROM (SELECT CASE WHEN had = 1 OR pg_try_advisory_lock_shared(mark)"              \
    " THEN CASE WHEN pg_try_advisory_lock(key)"                                                    \
    " THEN CASE WHEN pg_advisory_unlock_shared(mark) THEN 2 ELSE 2 END ELSE 1 END"                 \
    " ELSE CASE WHEN pg_try_advisory_lock(key) THEN 2 ELSE 0 END END AS s"                         \
    " FROM unnest($1, $2, $3) u (key, mark, had) OFFSET 0) AS tried"

static hf_status pg_read_marked(hf_stmt *stmt, hf_lease_request **asks, size_t count, bool *got,
                                hf_error *err)
{
    hf_status status = HF_OK;
    size_t at = 0;
    for (bool row = true; status == HF_OK && row && at <= count; at++) {
        status = hf_stmt_step(stmt, &row, err);
        if (status != HF_OK || !row || at == count)
            break;
        int64_t state = hf_stmt_column_int(stmt, 0);
        got[at] = state == PG_GOT;
        asks[at]->marked = state == PG_MARKED;
        asks[at]->grant->fence = hf_stmt_column_int(stmt, 1);
    }
    hf_stmt_reset(stmt);
    if (status == HF_OK && at != count)
        status = hf_fail(err, HF_INTERNAL, "The server answered for %zu of %zu keys.", at, count);
    return status;
}

static hf_status pg_try_marked(hf_link *link, hf_lease_request **asks, size_t count, bool *got,
                               hf_error *err)
{
    hf_stmt *stmt = NULL;
    hf_list list;
    hf_arena arena = {0};
    hf_list_init(&list, "iii", &arena);
    for (size_t i = 0; i < count; i++) {
        hf_value *row = hf_list_add(&list);
        if (row == NULL)
            break;
        hf_set_int(&row[0], pg_key(asks[i]->grant, 0));
        hf_set_int(&row[1], pg_key(asks[i]->grant, 1));
        hf_set_int(&row[2], asks[i]->marked);
    }
    hf_status status = list.failed ? hf_fail_memory(err) : HF_OK;
    if (status == HF_OK)
        status = hf_link_stmt(link, PG_TRY_MARKED, PG_TRY_MARKED_TEXT, &stmt, err);
    if (status == HF_OK) {
        hf_stmt_list(stmt, 1, &list);
        status = pg_read_marked(stmt, asks, count, got, err);
    }
    hf_arena_done(&arena);
    return status;
}

static void pg_unmark(hf_link *link, const hf_lease_request *ask)
{
    hf_stmt *stmt = NULL;
    int64_t number;
    if (hf_link_stmt(link, PG_UNMARK,
                     "SELECT CASE WHEN pg_advisory_unlock_shared($1) THEN 1 ELSE 0 END", &stmt,
                     NULL) != HF_OK)
        return;
    hf_stmt_int(stmt, 1, pg_key(ask->grant, 1));
    hf_status status = pg_number_of(stmt, &number, NULL);
    (void)status; /* the link is dead then, and the mark gone with it */
}

/* First the key, then the mark: who marks after that finds the key free. Nobody else has the key
 * before the clock has passed this fence, unless it was set back by more than a second. */
static hf_status pg_release(hf_link *link, const hf_lease_grant *grant, hf_error *err)
{
    static const char text[] =
        "SELECT CASE WHEN pg_sleep(greatest(0, least($3 + 1 - " PG_NOW_US ", 1000000)) / 1e6)"
        " IS NULL OR NOT pg_advisory_unlock($1) THEN 0"
        " WHEN pg_try_advisory_xact_lock($2) THEN 1"
        " WHEN pg_notify('" PG_CHANNEL "', to_hex($1)) IS NULL THEN 2 ELSE 2 END";
    hf_stmt *stmt = NULL;
    int64_t number = 0;
    hf_status status = hf_link_stmt(link, PG_RELEASE, text, &stmt, err);
    if (status != HF_OK)
        return status;
    hf_stmt_int(stmt, 1, pg_key(grant, 0));
    hf_stmt_int(stmt, 2, pg_key(grant, 1));
    hf_stmt_int(stmt, 3, grant->fence);
    status = pg_number_of(stmt, &number, err);
    return status != HF_OK || number > 0 ? status
                                         : hf_fail(err, HF_NOT_HELD, "The lock was not held.");
}

static void pg_release_all(hf_link *link)
{
    char ignored[8];
    hf_status status =
        hf_db_ask(link->db, "SELECT CASE WHEN pg_advisory_unlock_all() IS NULL THEN 1 END", ignored,
                  sizeof ignored, NULL);
    (void)status; /* closing it does the same */
}

/* ---- hearing ---- */

static bool pg_is_told(hf_lease_request *ask, void *context)
{
    char payload[17];
    pg_payload(ask->grant, payload);
    return strcmp(payload, context) == 0;
}

static void pg_tell(void *context, const char *payload)
{
    hf_link *link = context;
    hf_desk_due(&link->links->desk, pg_is_told, (void *)payload);
}

static hf_status pg_hear(hf_link *link, hf_error *err)
{
    return hf_db_postgres_hear(link->db, pg_tell, link, err);
}

/* ---- who has it ---- */

/* The provider's name and, if the link holds a single lease, since when. The name is cut where
 * there is no room. */
static void pg_say(hf_link *link, char out[PG_NAME_MAX + 1])
{
    hf_desk *desk = &link->links->desk;
    char when[HF_TIME_TEXT], since[40] = "";
    pthread_mutex_lock(&desk->mutex);
    const hf_lease_grant *only =
        link->grants != NULL && link->grants->next == NULL ? link->grants : NULL;
    int64_t asked_us = only == NULL ? 0 : only->asked_us;
    pthread_mutex_unlock(&desk->mutex);
    if (only != NULL) {
        hf_time_write(hf_seam.wall_us() - (hf_seam.boot_us() - asked_us), when);
        snprintf(since, sizeof since, " since %.10s %.5s UTC", when, when + 11);
    }
    snprintf(out, PG_NAME_MAX + 1, "%.*s%s", PG_NAME_MAX - (int)strlen(since), link->links->name,
             since);
}

/* What others read in pg_stat_activity. */
static hf_status pg_ping(hf_link *link, hf_error *err)
{
    char name[PG_NAME_MAX + 1];
    hf_stmt *stmt = NULL;
    hf_status status =
        hf_link_stmt(link, PG_PING, "SELECT set_config('application_name', $1, false)", &stmt, err);
    if (status != HF_OK)
        return status;
    pg_say(link, name);
    hf_stmt_text(stmt, 1, hf_slice_of(name));
    return hf_stmt_run(stmt, err);
}

static void pg_who(hf_link *link, const hf_lease_request *ask, char *out, size_t size)
{
    static const char text[] =
        "SELECT CASE WHEN a.application_name IN ('', 'holdfast') THEN a.usename ELSE "
        "a.application_name END"
        " FROM pg_locks AS l JOIN pg_stat_activity AS a USING (pid)"
        " WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1 AND l.mode = "
        "'ExclusiveLock'"
        " AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())"
        " AND (l.classid::bigint << 32 | l.objid::bigint) = $1 LIMIT 1";
    hf_stmt *stmt = NULL;
    bool row = false;
    if (hf_link_stmt(link, PG_WHO, text, &stmt, NULL) != HF_OK)
        return;
    hf_stmt_int(stmt, 1, pg_key(ask->grant, 0));
    if (hf_stmt_step(stmt, &row, NULL) == HF_OK && row) {
        hf_slice name = hf_stmt_column_text(stmt, 0);
        snprintf(out, size, "held by %.*s", (int)name.size, name.at);
    }
    hf_stmt_reset(stmt);
}

/* ---- open ---- */

static hf_status pg_refuse_pooler(hf_link *link, hf_error *err)
{
    char own[24];
    if (link->links->url.pooler_session)
        return HF_OK;
    hf_status status = hf_db_ask(link->db, "SELECT pg_backend_pid()", own, sizeof own, err);
    if (status == HF_OK && strtoll(own, NULL, 10) != hf_db_number(link->db))
        return hf_fail(err, HF_INVALID,
                       "There is a pooler in front of %s: a lease is a lock of a server session, "
                       "which the pooler may give to other clients. Connect to the server itself, "
                       "or, if its pool is in session mode, add pooler=session to the URL.",
                       hf_db_path(link->db));
    return status;
}

/* The lock table is the whole server's: a quarter of it is this provider's at most. */
static hf_status pg_learn(hf_link *link, hf_error *err)
{
    hf_links *links = link->links;
    char number[32];
    hf_status status = hf_db_ask(link->db,
                                 "SELECT current_setting('max_locks_per_transaction')::bigint"
                                 " * current_setting('max_connections')::bigint",
                                 number, sizeof number, err);
    links->held_max = (size_t)strtoll(number, NULL, 10) / PG_SHARE;
    snprintf(links->grade, sizeof links->grade,
             "PostgreSQL %d, advisory locks of its sessions: gone with a restart or a failover",
             hf_db_version(link->db) / 10000);
    return status;
}

static hf_status pg_ready(hf_link *link, bool first, hf_error *err)
{
    char text[sizeof PG_SILENCE + 24], ignored[24];
    hf_status status = pg_refuse_pooler(link, err);
    snprintf(text, sizeof text, PG_SILENCE, (long long)hf_links_silence_us(link->links) / 1000);
    if (status == HF_OK && first)
        status = pg_learn(link, err);
    if (status == HF_OK)
        status = hf_db_ask(link->db, text, ignored, sizeof ignored, err);
    if (status == HF_OK && link->ear)
        status = hf_db_run(link->db, "LISTEN " PG_CHANNEL, err);
    if (status == HF_OK)
        status = pg_ping(link, err); /* its name */
    return status;
}

static const hf_link_dialect pg_dialect = {
    .driver = &hf_db_postgres,
    .setup = PG_SETUP,
    .link_max = SIZE_MAX,
    .ready = pg_ready,
    .try = pg_try,
    .release = pg_release,
    .ping = pg_ping,
    .release_all = pg_release_all,
    .who = pg_who,
    .try_marked = pg_try_marked,
    .unmark = pg_unmark,
    .hear = pg_hear,
};

static const hf_lease_ops pg_ops;

static hf_status pg_open(const hf_lease_setup *setup, hf_lease_backend **out, hf_error *err)
{
    return hf_links_open(&pg_dialect, &pg_ops, setup, out, err);
}

static const hf_lease_ops pg_ops = {
    .open = pg_open,
    .take = hf_links_take,
    .wait = hf_links_wait,
    .unwait = hf_links_unwait,
    .give = hf_links_give,
    .sure = hf_links_sure,
    .who = hf_links_who,
    .grade = hf_links_grade,
    .close = hf_links_close,
};

__attribute__((visibility("default"))) extern const hf_lease_module_info hf_lease_module;
const hf_lease_module_info hf_lease_module = {HF_VERSION, &pg_ops};
