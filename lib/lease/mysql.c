/* SPDX-License-Identifier: MIT */
/* Leases on MariaDB and MySQL: GET_LOCK of the session. Neither tells when one is given back, so
 * those that wait are tried again and again, all in one statement. GET_LOCK never waits in the
 * server: a session that waits while it holds others could deadlock with another such, though no
 * thread does. MariaDB looks through all locks of a session for each new one, so a connection has
 * 500 at most. */
#include "db/mysql.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/seams.h"
#include "base/time.h"
#include "lease/links.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A client that has vanished, is stopped or is cut off is ended by the server when it was silent
 * for that long. The zone is for the clock of the fences. The name is for those who may read the
 * performance schema. */
#define MY_SETUP "SET SESSION wait_timeout = %lld, time_zone = '+00:00', @holdfast_lease = x'%s'"

/* The server's time in microseconds, which no session variable moves. */
#define MY_NOW_US "TIMESTAMPDIFF(MICROSECOND,'1970-01-01',SYSDATE(6))"

#define MY_MINUTE_US INT64_C(60000000)

enum {
    MY_LINK_MAX = 500,
    MY_LOOK_MS = 10,
    MY_NAME_HEX = 32,   /* of the digest: 128 bits */
    MY_MARKED_MAX = 64, /* keys that are marked in one statement */
};

/* A mark is the minute in which a key was taken, by the server's clock, modulo two years: four
 * digits to the base of 32. */
enum {
    MY_DIGITS = 4,
    MY_DIGIT_BITS = 5,
    MY_DIGIT_MAX = (1 << MY_DIGIT_BITS) - 1,
    MY_MARK_MAX = (1 << MY_DIGITS * MY_DIGIT_BITS) - 1
};

enum { MY_TRY, MY_RELEASE };

/* ---- names ---- */

typedef struct my_lock_name {
    char text[2 + MY_NAME_HEX + 16];
} my_lock_name;

static const char *my_name(const hf_lease_grant *grant, my_lock_name *out)
{
    memcpy(out->text, "hf", 2);
    hf_hex(grant->digest, MY_NAME_HEX / 2, out->text + 2);
    return out->text;
}

/* "GET_LOCK('hf...@37',0)" for each digit of the mark. */
static void my_put_marks(hf_buffer *out, const hf_lease_grant *grant, const char *call,
                         const char *more)
{
    my_lock_name name;
    my_name(grant, &name);
    for (int i = 0; i < MY_DIGITS; i++) {
        int64_t digit = grant->mark >> i * MY_DIGIT_BITS & MY_DIGIT_MAX;
        hf_buffer_print(out, ",%s('%s@%d'%s)", call, name.text, i * (MY_DIGIT_MAX + 1) + (int)digit,
                        more);
    }
}

/* ---- taking and giving ---- */

/* A column for each key: its fence, or 0 when someone else has it. */
#define MY_TRY_OF(name) "IF(GET_LOCK(" name ",0)," MY_NOW_US ",0)a"

static hf_status my_read_tries(hf_stmt *stmt, hf_lease_request **asks, size_t count, bool *got,
                               hf_error *err)
{
    bool row = false;
    hf_status status = hf_stmt_step(stmt, &row, err);
    if (status == HF_OK && !row)
        status = hf_fail(err, HF_INTERNAL, "GET_LOCK was not answered.");
    for (size_t i = 0; i < count && status == HF_OK; i++) {
        asks[i]->grant->mark = -1;
        asks[i]->grant->fence = hf_stmt_column_int(stmt, (int)i);
        got[i] = asks[i]->grant->fence != 0;
    }
    return status;
}

/* Those that wait: as many columns. */
static hf_status my_try_many(hf_link *link, hf_lease_request **asks, size_t count, bool *got,
                             hf_error *err)
{
    hf_buffer text = {0};
    hf_stmt *stmt = NULL;
    for (size_t i = 0; i < count; i++) {
        my_lock_name name;
        hf_buffer_print(&text, "%s" MY_TRY_OF("'%s'"), i == 0 ? "SELECT " : ",",
                        my_name(asks[i]->grant, &name));
    }
    hf_status status =
        text.failed ? hf_fail_memory(err) : hf_stmt_new(link->db, text.text, &stmt, err);
    if (status == HF_OK)
        status = my_read_tries(stmt, asks, count, got, err);
    if (stmt != NULL)
        hf_stmt_free(stmt);
    hf_buffer_done(&text);
    return status;
}

/* One key, by a statement that is kept. */
static hf_status my_try(hf_link *link, hf_lease_request **asks, size_t count, bool *got,
                        hf_error *err)
{
    my_lock_name name;
    hf_stmt *stmt = NULL;
    if (count > 1)
        return my_try_many(link, asks, count, got, err);
    hf_status status = hf_link_stmt(link, MY_TRY, "SELECT " MY_TRY_OF("$1"), &stmt, err);
    if (status != HF_OK)
        return status;
    hf_stmt_text(stmt, 1, hf_slice_of(my_name(asks[0]->grant, &name)));
    status = my_read_tries(stmt, asks, count, got, err);
    hf_stmt_reset(stmt);
    return status;
}

/* Nobody else has the key before the server's clock has passed this fence, unless that was set back
 * by more than a second. */
#define MY_RELEASE_OF(fence, name)                                                                 \
    "DO SLEEP(GREATEST(0,LEAST(" fence "+1-" MY_NOW_US ",1000000))/1000000),RELEASE_LOCK(" name ")"

static hf_status my_release_marked(hf_link *link, const hf_lease_grant *grant, hf_error *err)
{
    hf_buffer text = {0};
    my_lock_name name;
    hf_buffer_print(&text, MY_RELEASE_OF("%lld", "'%s'"), (long long)grant->fence,
                    my_name(grant, &name));
    my_put_marks(&text, grant, "RELEASE_LOCK", "");
    hf_status status = text.failed ? hf_fail_memory(err) : hf_db_run(link->db, text.text, err);
    hf_buffer_done(&text);
    return status;
}

static hf_status my_release(hf_link *link, const hf_lease_grant *grant, hf_error *err)
{
    my_lock_name name;
    hf_stmt *stmt = NULL;
    if (grant->mark >= 0)
        return my_release_marked(link, grant, err);
    hf_status status = hf_link_stmt(link, MY_RELEASE, MY_RELEASE_OF("$1", "$2"), &stmt, err);
    if (status != HF_OK)
        return status;
    hf_stmt_int(stmt, 1, grant->fence);
    hf_stmt_text(stmt, 2, hf_slice_of(my_name(grant, &name)));
    return hf_stmt_run(stmt, err);
}

static void my_release_all(hf_link *link)
{
    char ignored[24];
    hf_status status =
        hf_db_ask(link->db, "SELECT RELEASE_ALL_LOCKS()", ignored, sizeof ignored, NULL);
    (void)status; /* closing it does the same */
}

/* ---- who has it ---- */

/* Neither server tells an ordinary account since when a lock is held, but everyone may ask whether
 * a lock of a given name is, and on which connection. So a key that is held for longer than a
 * moment gets four more locks, whose names are its own and the digits of its mark; who wants to
 * know since when asks for all the digits there are, 128, in one statement. */

/* The grants of a link stay where they are while it is used. */
static hf_status my_ping(hf_link *link, hf_error *err)
{
    hf_buffer text = {0};
    int count = 0;
    hf_buffer_print(&text, "DO 0");
    pthread_mutex_lock(&link->links->desk.mutex);
    for (hf_lease_grant *it = link->grants; it != NULL && count < MY_MARKED_MAX; it = it->next) {
        if (it->mark >= 0)
            continue;
        it->mark = (link->clock_us + it->asked_us) / MY_MINUTE_US & MY_MARK_MAX;
        my_put_marks(&text, it, "GET_LOCK", ",0");
        count++;
    }
    pthread_mutex_unlock(&link->links->desk.mutex);
    hf_status status = text.failed ? hf_fail_memory(err) : hf_db_run(link->db, text.text, err);
    hf_buffer_done(&text);
    return status;
}

/* Since when a connection has the key, by the server's clock; 0: it has not said so, or not yet. */
static int64_t my_since_us(hf_link *link, const hf_lease_request *ask, const char *id)
{
    static const char query[] =
        "SELECT GROUP_CONCAT(n.d ORDER BY n.d) FROM (SELECT a.d+4*b.d+16*c.d+64*e.d d FROM"
        " (SELECT 0 d UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3) a,"
        " (SELECT 0 d UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3) b,"
        " (SELECT 0 d UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3) c,"
        " (SELECT 0 d UNION ALL SELECT 1) e) n WHERE IS_USED_LOCK(CONCAT('%s@',n.d))=%s";
    my_lock_name name;
    char text[sizeof query + sizeof name.text + 24], found[64] = "", *at = found;
    int64_t mark = 0, now = (link->clock_us + hf_seam.boot_us()) / MY_MINUTE_US;
    snprintf(text, sizeof text, query, my_name(ask->grant, &name), id);
    if (hf_db_ask(link->db, text, found, sizeof found, NULL) != HF_OK)
        return 0;
    for (int i = 0; i < MY_DIGITS; i++) {
        int64_t digit = *at == '\0' ? -1 : strtoll(at, &at, 10) - i * (MY_DIGIT_MAX + 1);
        if (digit < 0 || digit > MY_DIGIT_MAX)
            return 0;
        mark |= digit << i * MY_DIGIT_BITS;
        at += *at == ',';
    }
    int64_t age = (now - mark) & MY_MARK_MAX;
    return (age > HF_DURATION_MAX_US / MY_MINUTE_US ? now : now - age) * MY_MINUTE_US;
}

static void my_find_name(hf_link *link, const char *id, char *out, size_t size)
{
    char text[300], name[256] = "";
    snprintf(text, sizeof text,
             "SELECT v.variable_value FROM performance_schema.user_variables_by_thread v"
             " JOIN performance_schema.threads t USING (thread_id)"
             " WHERE t.processlist_id = %s AND v.variable_name = 'holdfast_lease'",
             id);
    if (hf_db_ask(link->db, text, name, sizeof name, NULL) == HF_OK && name[0] != '\0') {
        snprintf(out, size, "%s", name);
        return;
    }
    snprintf(text, sizeof text,
             "SELECT CONCAT(user, '@', host) FROM information_schema.processlist WHERE id = %s",
             id);
    if (hf_db_ask(link->db, text, name, sizeof name, NULL) == HF_OK && name[0] != '\0')
        snprintf(out, size, "%s (connection %s)", name, id);
    else
        snprintf(out, size, "connection %s", id);
}

static void my_who(hf_link *link, const hf_lease_request *ask, char *out, size_t size)
{
    my_lock_name key;
    char text[80], id[24] = "", name[320], when[HF_TIME_TEXT];
    snprintf(text, sizeof text, "SELECT IS_USED_LOCK('%s')", my_name(ask->grant, &key));
    if (hf_db_ask(link->db, text, id, sizeof id, NULL) != HF_OK || id[0] == '\0')
        return;
    my_find_name(link, id, name, sizeof name);
    int64_t since_us = my_since_us(link, ask, id);
    hf_time_say(since_us, link->clock_us + hf_seam.boot_us(), when);
    snprintf(out, size, "held by %s%s%s", name, since_us == 0 ? "" : " since ",
             since_us == 0 ? "" : when);
}

/* ---- open ---- */

/* Not every account may look: then the server's status tells of those that are connected just now,
 * on MariaDB. Where replication was set up and stands still, as after a failover, it is no replica.
 */
static hf_status my_is_replica(hf_link *link, bool *out, hf_error *err)
{
    bool mariadb = hf_db_kind_of(link->db) == HF_DB_MARIADB, row = true;
    hf_stmt *stmt = NULL;
    const char *sql = mariadb                            ? "SHOW ALL SLAVES STATUS"
                      : hf_db_version(link->db) >= 80022 ? "SHOW REPLICA STATUS"
                                                         : "SHOW SLAVE STATUS";
    hf_status status = hf_stmt_new(link->db, sql, &stmt, err);
    while (status == HF_OK && !*out && (status = hf_stmt_step(stmt, &row, err)) == HF_OK && row)
        *out = hf_stmt_column_text(stmt, mariadb ? 2 : 0).size > 0; /* what its I/O thread does */
    if (stmt != NULL)
        hf_stmt_free(stmt);
    return hf_db_alive(link->db) ? HF_OK : status;
}

/* What can't keep them: each member of a cluster has locks of its own, and so has a replica. */
static hf_status my_refuse_cluster(hf_link *link, hf_error *err)
{
    static const struct {
        const char *sql, *what;
    } facts[] = {
        {"SHOW GLOBAL VARIABLES WHERE Variable_name = 'wsrep_on' AND Value = 'ON'",
         "part of a Galera cluster"},
        {"SHOW GLOBAL VARIABLES WHERE Variable_name = 'group_replication_group_name' AND Value <> "
         "''",
         "part of a group replication"},
        {"SHOW GLOBAL STATUS WHERE Variable_name = 'Slave_running' AND Value = 'ON'", "a replica"},
    };
    char found[64];
    bool replica = false;
    const char *what = NULL;
    hf_status status = HF_OK;
    for (size_t i = 0; i < sizeof facts / sizeof *facts && status == HF_OK && what == NULL; i++) {
        status = hf_db_ask(link->db, facts[i].sql, found, sizeof found, err);
        what = found[0] != '\0' ? facts[i].what : NULL;
    }
    if (status == HF_OK && what == NULL)
        status = my_is_replica(link, &replica, err);
    what = replica ? "a replica" : what;
    if (status != HF_OK || what == NULL)
        return status;
    return hf_fail(err, HF_INVALID,
                   "%s is %s: GET_LOCK is known to one server only, so it can't keep leases. Use a "
                   "server of its own, or a store on this one (holdfast run --lock).",
                   hf_db_path(link->db), what);
}

/* And sets the link's clock. */
static hf_status my_refuse_pooler(hf_link *link, hf_error *err)
{
    char own[64], *clock = own;
    hf_status status = hf_db_ask(link->db, "SELECT CONCAT(CONNECTION_ID(), ' ', UNIX_TIMESTAMP())",
                                 own, sizeof own, err);
    int64_t number = strtoll(own, &clock, 10);
    link->clock_us = strtoll(clock, NULL, 10) * 1000000 - hf_seam.boot_us();
    if (status == HF_OK && !link->links->url.pooler_session && number != hf_db_number(link->db))
        return hf_fail(err, HF_INVALID,
                       "There is a pooler in front of %s: a lease is a lock of a server session, "
                       "which the pooler may give to other clients. Connect to the server itself, "
                       "or, if it keeps a session for each client, add pooler=session to the URL.",
                       hf_db_path(link->db));
    return status;
}

/* Before these a session has one lock only, or can't give all back. */
static hf_status my_refuse_old(hf_link *link, hf_error *err)
{
    bool mariadb = hf_db_kind_of(link->db) == HF_DB_MARIADB;
    if (hf_db_version(link->db) >= (mariadb ? 100600 : 80000))
        return HF_OK;
    return hf_fail(err, HF_UNAVAILABLE,
                   "%s is older than %s, from which on it can keep leases; upgrade it.",
                   hf_db_path(link->db), mariadb ? "MariaDB 10.6" : "MySQL 8.0");
}

static hf_status my_ready(hf_link *link, bool first, hf_error *err)
{
    hf_links *links = link->links;
    bool mariadb = hf_db_kind_of(link->db) == HF_DB_MARIADB;
    int version = hf_db_version(link->db);
    char text[2 * HF_TEXT_SIZE + 120], name[2 * HF_TEXT_SIZE];
    hf_status status = first ? my_refuse_old(link, err) : HF_OK;
    if (status == HF_OK && first)
        status = my_refuse_cluster(link, err);
    if (status == HF_OK)
        status = my_refuse_pooler(link, err);
    hf_hex(links->name, strlen(links->name), name);
    snprintf(text, sizeof text, MY_SETUP, (long long)(hf_links_silence_us(links) / 1000000), name);
    if (status == HF_OK)
        status = hf_db_run(link->db, text, err);
    if (status == HF_OK && first)
        snprintf(links->grade, sizeof links->grade,
                 "%s %d.%d, GET_LOCK of its sessions: gone with a restart or a failover",
                 mariadb ? "MariaDB" : "MySQL", version / 10000, version / 100 % 100);
    return status;
}

static const hf_link_dialect my_dialect = {
    .driver = &hf_db_mysql,
    .link_max = MY_LINK_MAX,
    .look_ms = MY_LOOK_MS,
    .ready = my_ready,
    .try = my_try,
    .release = my_release,
    .ping = my_ping,
    .release_all = my_release_all,
    .who = my_who,
};

static const hf_lease_ops my_ops;

static hf_status my_open_leases(const hf_lease_setup *setup, hf_lease_backend **out, hf_error *err)
{
    return hf_links_open(&my_dialect, &my_ops, setup, out, err);
}

static const hf_lease_ops my_ops = {
    .open = my_open_leases,
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
const hf_lease_module_info hf_lease_module = {HF_VERSION, &my_ops};
