/* SPDX-License-Identifier: MIT */
/* The face over MariaDB and MySQL: connections and statements; the rest is in mysql_*.c
 * (mysql_inside.h). */
#include "db/mysql.h"

#include "db/mysql_inside.h"

#include <stdlib.h>

/* ---- connections ---- */

/* "10.11.19-MariaDB-0+deb12u1", "5.5.5-10.5.0-MariaDB" (so that old replicas take it), "8.0.36". */
static void mysql_read_version(my_db *db)
{
    const char *text = mysql_get_server_info(db->conn);
    text = text == NULL ? "" : text;
    bool mariadb = strcasestr(text, "mariadb") != NULL;
    if (mariadb && strncmp(text, "5.5.5-", 6) == 0)
        text += 6;
    int parts[3] = {0};
    for (int i = 0; i < 3; i++) {
        for (; *text >= '0' && *text <= '9' && parts[i] < 1000; text++)
            parts[i] = parts[i] * 10 + (*text - '0');
        text += *text == '.';
    }
    db->base.kind = mariadb ? HF_DB_MARIADB : HF_DB_MYSQL;
    db->base.version = parts[0] * 10000 + parts[1] * 100 + parts[2];
}

/* That it was rolled back is known by the library's last error (my_is_rolled_back), which another
 * statement wipes out. */
void hf_db_mysql_put_back(hf_db *base, const char *sql)
{
    my_db *db = my_of(base);
    NET was = db->conn->net;
    unsigned status = db->conn->server_status;
    bool rolled_back = my_is_rolled_back(db);
    if (rolled_back)
        db->conn->net.last_errno = 0;
    (void)my_run(db, sql);
    if (!rolled_back || db->lost)
        return;
    NET *net = &db->conn->net;
    net->last_errno = was.last_errno;
    memcpy(net->last_error, was.last_error, sizeof net->last_error);
    memcpy(net->sqlstate, was.sqlstate, sizeof net->sqlstate);
    db->conn->server_status = status;
}

static my_db *mysql_db_new(MYSQL *conn, my_target *target, const char *path)
{
    my_db *db = hf_alloc(sizeof *db);
    if (db != NULL) {
        db->base = (hf_db){.driver = &hf_db_mysql, .failure = HF_FAILURE_OTHER};
        db->conn = conn;
        db->target = target;
        db->end = &db->queued;
        hf_slice_copy(db->path, sizeof db->path, hf_slice_of(path));
        mysql_read_version(db);
    }
    return db;
}

static void mysql_close_db(hf_db *base)
{
    my_db *db = my_of(base);
    if (db->target != NULL) {
        my_shut(db->conn);
        my_target_free(db->target);
    }
    hf_buffer_done(&db->text);
    hf_free(db);
}

/* What db->error says, for the caller. */
static hf_status mysql_give(const my_db *db, hf_error *err)
{
    if (err != NULL)
        *err = db->error;
    return db->error.status;
}

static hf_status db_mysql_run(hf_db *db, const char *sql, hf_error *err)
{
    return my_run(my_of(db), sql) == HF_OK ? HF_OK : mysql_give(my_of(db), err);
}

static hf_status mysql_set_up(my_db *db, const char *setup, hf_error *err)
{
    hf_buffer text = {0};
    hf_buffer_print(&text, "SET SESSION " HF_DB_MYSQL_UNLIMITED ";%s", setup == NULL ? "" : setup);
    hf_status status = text.failed ? hf_fail_memory(err) : db_mysql_run(&db->base, text.text, err);
    hf_buffer_done(&text);
    return status;
}

/* An account that may write all the same is refused too: it would write to a replica. (A variable
 * that is on may be 1, ON, or another word for how far.) */
hf_status hf_db_mysql_refuse_read_only(hf_db *db, hf_error *err)
{
    char why[32];
    hf_status status =
        hf_db_ask(db,
                  "SELECT CASE WHEN CONCAT(@@global.read_only) NOT IN ('0', 'OFF') THEN 'read_only'"
                  " WHEN CONCAT(@@global.innodb_read_only) NOT IN ('0', 'OFF') THEN "
                  "'innodb_read_only' ELSE '' END",
                  why, sizeof why, err);
    if (status != HF_OK || why[0] == '\0')
        return status;
    return hf_fail(
        err, HF_UNAVAILABLE,
        "%s is read-only (%s is on), as a replica is; name the primary server in the URL.",
        hf_db_path(db), why);
}

/* The first releases with SELECT ... FOR UPDATE SKIP LOCKED, on which the stores stand. */
static hf_status refuse_old(const my_db *db, hf_error *err)
{
    bool mariadb = db->base.kind == HF_DB_MARIADB;
    int version = db->base.version;
    if (version >= (mariadb ? 100600 : 80000))
        return HF_OK;
    return hf_fail(err, HF_UNAVAILABLE,
                   "%s runs on %s %d.%d.%d, which is too old; upgrade it to %s or later.", db->path,
                   mariadb ? "MariaDB" : "MySQL", version / 10000, version / 100 % 100,
                   version % 100, mariadb ? "MariaDB 10.6" : "MySQL 8.0");
}

static hf_status connect_db(const char *url, const hf_db_options *options, hf_db **out,
                            hf_error *err)
{
    my_target *target = NULL;
    MYSQL *conn = NULL;
    *out = NULL;
    hf_status status = my_target_read(url, options, &target, err);
    if (status == HF_OK)
        status = my_open(target, &conn, err);
    if (status != HF_OK) {
        my_target_free(target);
        return status;
    }
    my_db *db = mysql_db_new(conn, target, target->path);
    if (db == NULL) {
        my_shut(conn);
        my_target_free(target);
        return hf_fail_memory(err);
    }
    status = refuse_old(db, err);
    if (status == HF_OK)
        status = mysql_set_up(db, options == NULL ? NULL : options->setup, err);
    if (status == HF_OK)
        status = hf_db_mysql_refuse_read_only(&db->base, err);
    if (status != HF_OK)
        mysql_close_db(&db->base);
    else
        *out = &db->base;
    return status;
}

hf_status hf_db_mysql_wrap(struct st_mysql *conn, hf_db **out, hf_error *err)
{
    *out = NULL;
    if (conn == NULL || conn->net.pvio == NULL)
        return hf_fail(
            err, HF_INVALID,
            "The application's connection is not connected; connect it before it is wrapped.");
    my_db *db = mysql_db_new(conn, NULL, "the application's database");
    if (db == NULL)
        return hf_fail_memory(err);
    hf_status status = refuse_old(db, err);
    if (status != HF_OK)
        mysql_close_db(&db->base);
    else
        *out = &db->base;
    return status;
}

static const char *mysql_path_of(hf_db *db)
{
    return my_of(db)->path;
}

static bool mysql_alive(hf_db *base)
{
    const my_db *db = my_of(base);
    return !db->lost && db->conn->net.pvio != NULL;
}

static bool mysql_fresh(hf_db *db)
{
    return mysql_alive(db) && my_is_quiet(my_of(db)->conn);
}

static int my_fd_of(hf_db *db)
{
    return (int)mysql_get_socket(my_of(db)->conn);
}

static int64_t my_number(hf_db *db)
{
    return (int64_t)mysql_thread_id(my_of(db)->conn);
}

/* ---- transactions ---- */

static bool mysql_transaction_failed(hf_db *base)
{
    return mysql_alive(base) && my_is_rolled_back(my_of(base));
}

/* Without autocommit an application is always in one. */
static bool mysql_in_transaction(hf_db *base)
{
    const my_db *db = my_of(base);
    unsigned status = db->conn->server_status;
    return mysql_alive(base) && ((status & SERVER_STATUS_IN_TRANS) != 0 ||
                                 (db->target == NULL && (status & SERVER_STATUS_AUTOCOMMIT) == 0));
}

static void empty_queue(my_db *db)
{
    for (my_stmt *stmt = db->queued; stmt != NULL; stmt = stmt->next)
        stmt->state = MY_STMT_READY;
    db->queued = NULL;
    db->end = &db->queued;
}

/* With a lost connection goes its transaction. */
static hf_status db_mysql_rollback(hf_db *base, hf_error *err)
{
    empty_queue(my_of(base));
    return mysql_alive(base) && mysql_in_transaction(base) ? db_mysql_run(base, "ROLLBACK", err)
                                                           : HF_OK;
}

/* ---- statements ---- */

/* What a statement came to is told when it is stepped; here only that nothing was sent. */
static hf_status send_queued(hf_db *base, hf_error *err)
{
    my_db *db = my_of(base);
    my_stmt *first = db->queued;
    db->queued = NULL;
    db->end = &db->queued;
    if (first == NULL)
        return HF_OK;
    my_fly(db, first);
    return first->unsent ? mysql_give(db, err) : HF_OK;
}

static hf_status mysql_stmt_new(hf_db *db, const char *sql, hf_stmt **out, hf_error *err)
{
    *out = NULL;
    my_stmt *stmt = hf_alloc(sizeof *stmt);
    if (stmt == NULL)
        return hf_fail_memory(err);
    stmt->base.db = db;
    hf_status status = hf_params_init(&stmt->params, sql, err);
    if (status == HF_OK)
        status = my_parse(sql, &stmt->parsed, err);
    if (status != HF_OK) {
        hf_params_done(&stmt->params);
        hf_free(stmt);
        return status;
    }
    *out = &stmt->base;
    return HF_OK;
}

/* Out of the queue, if it is in it. */
static void mysql_unqueue(my_stmt *stmt)
{
    my_db *db = my_of(stmt->base.db);
    if (stmt->state != MY_STMT_QUEUED)
        return;
    my_stmt **link = &db->queued;
    while (*link != stmt)
        link = &(*link)->next;
    *link = stmt->next;
    if (db->end == &stmt->next)
        db->end = link;
}

static void mysql_reset(hf_stmt *base)
{
    my_stmt *stmt = my_stmt_of(base);
    mysql_unqueue(stmt);
    my_drop_result(stmt);
    stmt->state = MY_STMT_READY;
}

static void mysql_stmt_free(hf_stmt *base)
{
    mysql_reset(base);
    my_parsed_done(&my_stmt_of(base)->parsed);
    hf_params_done(&my_stmt_of(base)->params);
    hf_free(base);
}

static void mysql_bind(hf_stmt *stmt, int at, hf_value_kind kind, const hf_value *value)
{
    hf_params_bind(&my_stmt_of(stmt)->params, at, kind, value);
}

static void mysql_bind_list(hf_stmt *stmt, int at, const hf_list *list)
{
    hf_params_list(&my_stmt_of(stmt)->params, at, list);
}

static void mysql_queue(hf_stmt *base)
{
    my_stmt *stmt = my_stmt_of(base);
    my_db *db = my_of(base->db);
    if (stmt->state == MY_STMT_QUEUED)
        return;
    mysql_reset(base);
    stmt->state = MY_STMT_QUEUED;
    stmt->next = NULL;
    *db->end = stmt;
    db->end = &stmt->next;
}

static hf_status mysql_step(hf_stmt *base, bool *row, hf_error *err)
{
    my_stmt *stmt = my_stmt_of(base);
    my_db *db = my_of(base->db);
    *row = false;
    if (stmt->state == MY_STMT_QUEUED)
        send_queued(base->db, NULL);
    if (stmt->state == MY_STMT_READY) {
        stmt->next = NULL;
        my_fly(db, stmt);
    }
    if (stmt->state == MY_STMT_FAILED) {
        db->base.failure = stmt->failure;
        return mysql_give(db, err);
    }
    stmt->row = stmt->result == NULL ? NULL : mysql_fetch_row(stmt->result);
    stmt->lengths = stmt->row == NULL ? NULL : mysql_fetch_lengths(stmt->result);
    *row = stmt->row != NULL;
    return HF_OK;
}

static int64_t mysql_changed(hf_stmt *stmt)
{
    return my_stmt_of(stmt)->changed;
}

static hf_slice mysql_column_text(hf_stmt *base, int at)
{
    const my_stmt *stmt = my_stmt_of(base);
    if (stmt->row == NULL || at < 0 || (unsigned)at >= stmt->columns || stmt->row[at] == NULL)
        return HF_NOTHING;
    return (hf_slice){stmt->row[at], stmt->lengths[at]};
}

static bool mysql_column_null(hf_stmt *base, int at)
{
    const my_stmt *stmt = my_stmt_of(base);
    return stmt->row == NULL || at < 0 || (unsigned)at >= stmt->columns || stmt->row[at] == NULL;
}

static double mysql_column_real(hf_stmt *base, int at)
{
    return mysql_column_null(base, at) ? 0 : strtod(my_stmt_of(base)->row[at], NULL);
}

static int64_t mysql_made_key(hf_stmt *stmt)
{
    return my_stmt_of(stmt)->made_key;
}

static void *mysql_native(hf_db *db)
{
    return my_of(db)->conn;
}

static int64_t mysql_column_int(hf_stmt *stmt, int at)
{
    hf_slice text = mysql_column_text(stmt, at);
    bool negative = text.size > 0 && text.at[0] == '-';
    uint64_t number = 0;
    for (size_t i = negative; i < text.size && text.at[i] >= '0' && text.at[i] <= '9'; i++)
        number = number * 10 + (uint64_t)(text.at[i] - '0');
    return (int64_t)(negative ? 0 - number : number);
}

/* MySQL has no other way to say the level of one transaction. */
#define BEGIN_AT(level, how) "SET TRANSACTION ISOLATION LEVEL " level "; START TRANSACTION" how

static const char *const begins[] = {
    BEGIN_AT("READ COMMITTED", ""),
    BEGIN_AT("REPEATABLE READ", ""),
    BEGIN_AT("SERIALIZABLE", ""),
    BEGIN_AT("READ COMMITTED", " READ ONLY"),
    BEGIN_AT("REPEATABLE READ", " READ ONLY"),
    BEGIN_AT("SERIALIZABLE", " READ ONLY"),
};

const hf_db_driver hf_db_mysql = {
    .connect = connect_db,
    .close = mysql_close_db,
    .path = mysql_path_of,
    .native = mysql_native,
    .alive = mysql_alive,
    .fresh = mysql_fresh,
    .socket = my_fd_of,
    .number = my_number,
    .in_transaction = mysql_in_transaction,
    .transaction_failed = mysql_transaction_failed,
    .run = db_mysql_run,
    .rollback = db_mysql_rollback,
    .send = send_queued,
    .begin = begins,
    .stmt_new = mysql_stmt_new,
    .stmt_free = mysql_stmt_free,
    .bind = mysql_bind,
    .bind_list = mysql_bind_list,
    .queue = mysql_queue,
    .step = mysql_step,
    .reset = mysql_reset,
    .changed = mysql_changed,
    .made_key = mysql_made_key,
    .column_null = mysql_column_null,
    .column_int = mysql_column_int,
    .column_real = mysql_column_real,
    .column_text = mysql_column_text,
    .column_blob = mysql_column_text,
};
