/* SPDX-License-Identifier: MIT */
/* The face over PostgreSQL: statements and their results. Beside it: postgres_connect.c,
 * postgres_flight.c (sending and waiting), postgres_values.c, postgres_errors.c. */
#include "db/postgres.h"

#include "base/seams.h"
#include "db/postgres_inside.h"

#include <endian.h>
#include <poll.h>
#include <stdio.h>

enum { OID_BOOL = 16, OID_CHAR = 18, OID_NAME = 19, OID_INT8 = 20, OID_INT2 = 21, OID_INT4 = 23 };
enum { OID_TEXT = 25, OID_OID = 26, OID_UNKNOWN = 705, OID_VARCHAR = 1043 };

/* ---- connections ---- */

static const char *postgres_path(hf_db *db)
{
    return pg_of(db)->path;
}

static bool postgres_alive(hf_db *db)
{
    return !pg_of(db)->dead && PQstatus(pg_of(db)->conn) == CONNECTION_OK;
}

/* On an idle connection the server says nothing before it closes it, but for a change of its
 * settings. */
static bool postgres_fresh(hf_db *db)
{
    struct pollfd socket = {.fd = PQsocket(pg_of(db)->conn), .events = POLLIN};
    return postgres_alive(db) && poll(&socket, 1, 0) == 0;
}

static int64_t pg_number(hf_db *db)
{
    return PQbackendPID(pg_of(db)->conn);
}

static bool postgres_in_transaction(hf_db *db)
{
    PGTransactionStatusType status = PQtransactionStatus(pg_of(db)->conn);
    return postgres_alive(db) && status != PQTRANS_IDLE && status != PQTRANS_UNKNOWN;
}

static bool postgres_transaction_failed(hf_db *db)
{
    return postgres_alive(db) && PQtransactionStatus(pg_of(db)->conn) == PQTRANS_INERROR;
}

static hf_status db_postgres_run(hf_db *db, const char *sql, hf_error *err)
{
    return pg_run(pg_of(db), sql, pg_deadline(pg_of(db)->timeout_us), err);
}

/* ---- statements ---- */

static bool is_commit(const char *sql)
{
    sql += strspn(sql, " \t\r\n");
    return strncasecmp(sql, "COMMIT", 6) == 0 && sql[6 + strspn(sql + 6, "; \t\r\n")] == '\0';
}

static hf_status postgres_stmt_new(hf_db *base, const char *sql, hf_stmt **out, hf_error *err)
{
    pg_db *db = pg_of(base);
    size_t size = strlen(sql) + 1;
    pg_stmt *stmt = hf_alloc(sizeof *stmt + size);
    *out = NULL;
    if (stmt == NULL)
        return hf_fail_memory(err);
    hf_status status = hf_params_init(&stmt->params, sql, err);
    if (status != HF_OK) {
        hf_free(stmt);
        return status;
    }
    stmt->base.db = base;
    stmt->sql = memcpy(stmt + 1, sql, size);
    stmt->commit = is_commit(sql);
    stmt->form = &stmt->forms[0];
    stmt->forms[0].sql = stmt->sql;
    /* a list may have more columns than the text names */
    size_t types = (size_t)stmt->params.room + HF_LIST_COLUMNS_MAX;
    if (!pg_single_text(sql, &stmt->forms[1].sql) ||
        (stmt->forms[0].types = hf_alloc(2 * types * sizeof(Oid))) == NULL) {
        hf_free(stmt->forms[1].sql);
        hf_params_done(&stmt->params);
        hf_free(stmt);
        return hf_fail_memory(err);
    }
    stmt->forms[1].types = stmt->forms[0].types + types;
    stmt->following = db->stmts;
    stmt->whence = &db->stmts;
    if (db->stmts != NULL)
        db->stmts->whence = &stmt->following;
    db->stmts = stmt;
    *out = &stmt->base;
    return HF_OK;
}

static void leave_queue(pg_db *db, pg_stmt *stmt)
{
    pg_stmt **at = &db->queued;
    while (*at != stmt)
        at = &(*at)->next;
    *at = stmt->next;
    if (db->end == &stmt->next)
        db->end = at;
}

static void postgres_drop(pg_db *db, pg_stmt *stmt)
{
    if (stmt->state == PG_QUEUED)
        leave_queue(db, stmt);
    PQclear(stmt->result);
    stmt->result = NULL;
    stmt->state = PG_READY;
}

static void postgres_stmt_free(hf_stmt *base)
{
    pg_stmt *stmt = pg_stmt_of(base);
    postgres_drop(pg_of(base->db), stmt);
    *stmt->whence = stmt->following;
    if (stmt->following != NULL)
        stmt->following->whence = stmt->whence;
    hf_free(stmt->forms[1].sql);
    hf_free(stmt->forms[0].types);
    hf_params_done(&stmt->params);
    hf_free(stmt);
}

static hf_status postgres_rollback(hf_db *base, hf_error *err)
{
    pg_db *db = pg_of(base);
    for (pg_stmt *it = db->stmts; it != NULL; it = it->following)
        postgres_drop(db, it);
    return postgres_in_transaction(base) ? db_postgres_run(base, "ROLLBACK", err) : HF_OK;
}

static void postgres_bind(hf_stmt *stmt, int at, hf_value_kind kind, const hf_value *value)
{
    hf_params_bind(&pg_stmt_of(stmt)->params, at, kind, value);
}

static void postgres_bind_list(hf_stmt *stmt, int at, const hf_list *list)
{
    hf_params_list(&pg_stmt_of(stmt)->params, at, list);
}

static void postgres_queue(hf_stmt *base)
{
    pg_stmt *stmt = pg_stmt_of(base);
    pg_db *db = pg_of(base->db);
    postgres_drop(db, stmt);
    stmt->next = NULL;
    stmt->state = PG_QUEUED;
    *db->end = stmt;
    db->end = &stmt->next;
}

static hf_status postgres_send(hf_db *base, hf_error *err)
{
    pg_db *db = pg_of(base);
    pg_stmt *first = db->queued;
    db->queued = NULL;
    db->end = &db->queued;
    return first == NULL ? HF_OK : pg_fly(db, first, err);
}

static hf_status postgres_step(hf_stmt *base, bool *row, hf_error *err)
{
    pg_stmt *stmt = pg_stmt_of(base);
    pg_db *db = pg_of(base->db);
    hf_status status = HF_OK;
    *row = false;
    if (stmt->state == PG_READY)
        postgres_queue(base);
    if (stmt->state == PG_QUEUED)
        status = postgres_send(base->db, err);
    if (status != HF_OK)
        return status;
    if (stmt->state == PG_FAILED) {
        if (err != NULL)
            *err = db->error;
        return db->error.status;
    }
    *row = stmt->row + 1 < PQntuples(stmt->result);
    if (*row)
        stmt->row++;
    return HF_OK;
}

static int64_t postgres_changed(hf_stmt *stmt)
{
    return pg_stmt_of(stmt)->changed;
}

static void postgres_reset(hf_stmt *stmt)
{
    postgres_drop(pg_of(stmt->db), pg_stmt_of(stmt));
}

/* ---- columns ---- */

/* Integers of the server's width, in its order of bytes. */
static int64_t postgres_decode(const char *at, int size)
{
    uint16_t two;
    uint32_t four;
    uint64_t eight;
    switch (size) {
    case 1:
        return *at;
    case 2:
        memcpy(&two, at, sizeof two);
        return (int16_t)be16toh(two);
    case 4:
        memcpy(&four, at, sizeof four);
        return (int32_t)be32toh(four);
    case 8:
        memcpy(&eight, at, sizeof eight);
        return (int64_t)be64toh(eight);
    default:
        return 0;
    }
}

static int64_t postgres_parse(const char *at, int size)
{
    bool negative = size > 0 && at[0] == '-';
    uint64_t number = 0;
    for (int i = negative; i < size && at[i] >= '0' && at[i] <= '9'; i++)
        number = number * 10 + (uint64_t)(at[i] - '0');
    return (int64_t)(negative ? 0 - number : number);
}

static int64_t postgres_column_int(hf_stmt *base, int at)
{
    pg_stmt *stmt = pg_stmt_of(base);
    const char *bytes = PQgetvalue(stmt->result, stmt->row, at);
    int size = PQgetlength(stmt->result, stmt->row, at);
    switch (PQftype(stmt->result, at)) {
    case OID_TEXT:
    case OID_VARCHAR:
    case OID_NAME:
    case OID_CHAR:
    case OID_UNKNOWN:
        return postgres_parse(bytes, size);
    case OID_OID:
        return (uint32_t)postgres_decode(bytes, size);
    default:
        return postgres_decode(bytes, size);
    }
}

static bool postgres_column_null(hf_stmt *base, int at)
{
    pg_stmt *stmt = pg_stmt_of(base);
    return PQgetisnull(stmt->result, stmt->row, at) != 0;
}

static double postgres_column_real(hf_stmt *base, int at)
{
    pg_stmt *stmt = pg_stmt_of(base);
    int64_t bits = postgres_decode(PQgetvalue(stmt->result, stmt->row, at),
                                   PQgetlength(stmt->result, stmt->row, at));
    double real;
    memcpy(&real, &bits, sizeof real);
    return real;
}

static void *postgres_native(hf_db *db)
{
    return pg_of(db)->conn;
}

static hf_slice postgres_column_blob(hf_stmt *base, int at)
{
    pg_stmt *stmt = pg_stmt_of(base);
    if (PQgetisnull(stmt->result, stmt->row, at))
        return HF_NOTHING;
    return (hf_slice){PQgetvalue(stmt->result, stmt->row, at),
                      (size_t)PQgetlength(stmt->result, stmt->row, at)};
}

/* Whole numbers and truth read as decimal digits. Any other type that is not text comes as the
 * server's bytes: cast it. */
static hf_slice postgres_column_text(hf_stmt *base, int at)
{
    pg_stmt *stmt = pg_stmt_of(base);
    hf_slice bytes = postgres_column_blob(base, at);
    if (bytes.size == 0)
        return bytes;
    switch (PQftype(stmt->result, at)) {
    case OID_BOOL:
    case OID_INT2:
    case OID_INT4:
    case OID_INT8:
    case OID_OID: {
        char *digits = stmt->digits[at % 4];
        int size = snprintf(digits, sizeof stmt->digits[0], "%lld",
                            (long long)postgres_column_int(base, at));
        return (hf_slice){digits, (size_t)size};
    }
    default:
        return bytes;
    }
}

static const char *const begins[] = {
    "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE",
    "BEGIN ISOLATION LEVEL REPEATABLE READ READ WRITE",
    "BEGIN ISOLATION LEVEL SERIALIZABLE READ WRITE",
    "BEGIN ISOLATION LEVEL READ COMMITTED READ ONLY",
    "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
    "BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY",
};

const hf_db_driver hf_db_postgres = {
    .connect = pg_connect,
    .close = pg_close,
    .path = postgres_path,
    .native = postgres_native,
    .alive = postgres_alive,
    .fresh = postgres_fresh,
    .socket = hf_db_postgres_socket,
    .number = pg_number,
    .in_transaction = postgres_in_transaction,
    .transaction_failed = postgres_transaction_failed,
    .run = db_postgres_run,
    .rollback = postgres_rollback,
    .send = postgres_send,
    .begin = begins,
    .stmt_new = postgres_stmt_new,
    .stmt_free = postgres_stmt_free,
    .bind = postgres_bind,
    .bind_list = postgres_bind_list,
    .queue = postgres_queue,
    .step = postgres_step,
    .reset = postgres_reset,
    .changed = postgres_changed,
    .column_null = postgres_column_null,
    .column_int = postgres_column_int,
    .column_real = postgres_column_real,
    .column_text = postgres_column_text,
    .column_blob = postgres_column_blob,
};
