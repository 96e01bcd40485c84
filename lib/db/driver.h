/* SPDX-License-Identifier: MIT */
/* What a database is, seen from inside: a const table of functions, and what every connection and
 * statement begins with. Private to lib/db. */
#ifndef HF_DB_DRIVER_H
#define HF_DB_DRIVER_H

#include "db/db.h"

struct hf_db_driver {
    /* hf_db_connect; NULL where there is no URL. */
    hf_status (*connect)(const char *url, const hf_db_options *options, hf_db **out, hf_error *err);
    void (*close)(hf_db *db);
    const char *(*path)(hf_db *db);
    void *(*native)(hf_db *db); /* the client library's own handle */
    bool (*alive)(hf_db *db);
    bool (*fresh)(hf_db *db);     /* NULL: true */
    int (*socket)(hf_db *db);     /* NULL: it has none */
    int64_t (*number)(hf_db *db); /* the same */
    bool (*in_transaction)(hf_db *db);
    bool (*transaction_failed)(hf_db *db);
    void (*patience)(hf_db *db, int64_t us); /* NULL: nothing to do */
    hf_status (*run)(hf_db *db, const char *sql, hf_error *err);
    /* Drops what was queued and what was not read, then rolls back if a transaction is open. */
    hf_status (*rollback)(hf_db *db, hf_error *err);
    hf_status (*send)(hf_db *db, hf_error *err);
    const char *const *begin; /* the statement for each hf_isolation; read-only ones after them */

    hf_status (*stmt_new)(hf_db *db, const char *sql, hf_stmt **out, hf_error *err);
    void (*stmt_free)(hf_stmt *stmt);
    void (*bind)(hf_stmt *stmt, int at, hf_value_kind kind, const hf_value *value);
    void (*bind_list)(hf_stmt *stmt, int at, const hf_list *list);
    void (*queue)(hf_stmt *stmt);
    hf_status (*step)(hf_stmt *stmt, bool *row, hf_error *err);
    void (*reset)(hf_stmt *stmt);
    int64_t (*changed)(hf_stmt *stmt);
    int64_t (*made_key)(hf_stmt *stmt); /* NULL: the database returns it only when asked */
    bool (*column_null)(hf_stmt *stmt, int at);
    int64_t (*column_int)(hf_stmt *stmt, int at);
    double (*column_real)(hf_stmt *stmt, int at);
    hf_slice (*column_text)(hf_stmt *stmt, int at);
    hf_slice (*column_blob)(hf_stmt *stmt, int at);
};

struct hf_db {
    const hf_db_driver *driver;
    hf_db_kind kind;
    int version;
    hf_failure failure; /* of the last failure */
};

struct hf_stmt {
    hf_db *db;
};

/* Parameters kept until a statement is sent, for drivers that bind nothing earlier. */
typedef struct hf_param {
    hf_value_kind kind;
    hf_value value;
    const hf_list *list; /* of HF_VALUE_LIST: its columns take this parameter and those after it */
} hf_param;

enum { HF_PARAMS_MAX = 2048 };

typedef struct hf_params {
    hf_param *at; /* from 1 */
    int room;     /* the highest that the statement's text has */
    int count;    /* the highest bound, with the columns of a list */
} hf_params;

/* Makes room for every parameter $1, $2 ... of the text, all null. HF_INVALID: too many. */
hf_status hf_params_init(hf_params *params, const char *sql, hf_error *err);
void hf_params_done(hf_params *params);

/* What the text does not name is not kept. */
void hf_params_bind(hf_params *params, int at, hf_value_kind kind, const hf_value *value);
void hf_params_list(hf_params *params, int at, const hf_list *list);

#endif
