/* SPDX-License-Identifier: MIT */
/* Installing holdfast's tables into a database and removing them: what PostgreSQL and MySQL have in
 * common, and what their stores call. meta keeps the fingerprint of the table of fields that the
 * tables were made from; a program with another one leaves them alone. (From the first release on
 * there will be upgrades.) */
#ifndef HF_STORE_SQL_SCHEMA_H
#define HF_STORE_SQL_SCHEMA_H

#include "base/buffer.h"
#include "db/db.h"
#include "db/url.h"
#include "store/store.h"

/* ---- what the stores call ---- */

/* ops->install. `rest` is the URL after the scheme. */
hf_status postgres_install(const char *rest, const hf_install_order *order, hf_error *err);
hf_status mysql_install(const char *rest, const hf_install_order *order, hf_error *err);

/* When a store is opened: are the tables there, ours, and of this program's form? Missing ones are
 * made when `may_install` and the account may. HF_UNAVAILABLE: they can't
 * be used; the sentence says why, and nothing was changed. Without may_install nothing is set on
 * the connection and no statement fails a transaction: it may be in an application's. */
hf_status postgres_schema_ready(hf_db *db, const char *names, bool may_install, hf_error *err);
hf_status mysql_schema_ready(hf_db *db, const char *names, bool may_install, hf_error *err);

/* ---- what they share ---- */

/* What {ns}, {role} and {digest} stand for in the texts of sql/; {form} is the fingerprint. */
typedef struct schema_words {
    const char *names;
    const char *role; /* quoted */
    const char *digest;
} schema_words;

/* Adds SQL with its words filled in. */
void schema_add(hf_buffer *out, const char *sql, const schema_words *words);
hf_status schema_run(hf_db *db, const char *sql, const schema_words *words, hf_error *err);
hf_status schema_ask(hf_db *db, const char *sql, const schema_words *words, char *out, size_t size,
                     hf_error *err);

/* The sentence about a guarded table, which it names twice. */
#define SCHEMA_GUARDED                                                                             \
    "%s is guarded, and its triggers need holdfast's tables; take the guard away first: "          \
    "'holdfast guard remove URL %s'."

/* How many tables there are. */
enum { SCHEMA_TABLES = 10 };

/* What a look has found. */
typedef enum schema_state {
    SCHEMA_NONE,  /* no tables, or some whose making was not completed */
    SCHEMA_OURS,  /* of this program's form */
    SCHEMA_OTHER, /* of another form */
} schema_state;

/* What meta says: the fingerprint, or something else. */
schema_state schema_judge(const char *form);

/* Whether `role` can be the name of an account: not empty, not too long, no control characters. */
hf_status schema_check_role(const char *role, hf_error *err);

/* Hands the text to the order's sink, and frees it. */
hf_status schema_print(const hf_install_order *order, hf_buffer *text, hf_error *err);

/* Reads "SCHEME:REST". hf_url_done it, whatever comes of it. */
hf_status schema_read_url(const char *scheme, const char *rest, hf_url *out, hf_error *err);

/* What differs between databases when tables are installed. */
typedef struct schema_kind {
    const char *scheme;
    const hf_db_driver *driver;
    /* the name of an account as SQL for it; hf_free it */
    hf_status (*quote_role)(const char *role, char **out, hf_error *err);
    hf_status (*print)(const hf_install_order *order, const char *names, const char *role,
                       hf_error *err);
    /* Makes what is missing, makes the surface anew and lets the role use it all (SQL for it,
     * quoted; NULL: nobody). On PostgreSQL in one transaction; on MySQL, which has none for this,
     * so that it can be run again after an interruption. */
    hf_status (*make)(hf_db *db, const char *names, const char *role, hf_error *err);
    hf_status (*uninstall)(hf_db *db, const char *names, bool force, hf_error *err);
} schema_kind;

/* ops->install. */
hf_status schema_install(const schema_kind *kind, const char *rest, const hf_install_order *order,
                         hf_error *err);

/* When a store is opened. Tables that are missing are made if `may_install`. */
hf_status schema_ready(const schema_kind *kind, hf_db *db, const char *names, schema_state state,
                       bool may_install, hf_error *err);

/* Tables of another form, at a place ("schema holdfast of ..."): at open; before removing them. */
hf_status schema_refuse_form(const char *place, hf_error *err);
hf_status schema_refuse_unknown(const char *place, hf_error *err);
/* Where tables are: "schema holdfast of the database app on db1", "FILE, as holdfast_...". */
enum { PLACE_SIZE = 512 };
const char *schema_place(hf_db *db, const char *names, char out[PLACE_SIZE]);

/* Sentences. `table` is complete with its schema or prefix. */
hf_status schema_refuse_foreign(hf_db *db, const char *name, hf_error *err);
hf_status schema_refuse_broken(hf_db *db, const char *names, hf_error *err);
hf_status schema_refuse_account(hf_db *db, const char *names, const char *account, hf_error *err);
hf_status schema_refuse_live(hf_db *db, const char *count, hf_error *err);

/* Refuses while tables are guarded: their triggers need what would go. The texts ask whether there
 * is a table of guards ("": no), and for the name of a guarded one. */
hf_status schema_refuse_guarded(hf_db *db, const char *there_sql, const char *guarded_sql,
                                const schema_words *words, hf_error *err);
hf_status schema_refuse_none(hf_db *db, const char *names, hf_error *err);

/* A failure while the tables were being made or removed: told better when it was for want of a
 * right. */
hf_status schema_failed(hf_db *db, const char *names, hf_status status, bool removing,
                        hf_error *err);

#endif
