/* SPDX-License-Identifier: MIT */
/* The PostgreSQL store: opening it by URL or on an application's own connection, and what
 * durability it stands on. What it does with batches stands in server.c. */
#include "store/database.h"

#include "base/error.h"
#include "db/postgres.h"
#include "store/registry.h"
#include "store/sql_schema.h"

#include <stdio.h>
#include <string.h>

/* On its own connections the plans are the indexes', whatever the statistics of these small, busy
 * tables say just now. */
#define SETTINGS                                                                                   \
    "enable_seqscan=off enable_hashjoin=off enable_mergejoin=off "                                 \
    "plan_cache_mode=force_generic_plan "                                                          \
    "jit=off default_transaction_isolation=read\\ committed "                                      \
    "max_parallel_workers_per_gather=0 lock_timeout=400 statement_timeout=8000 "                   \
    "idle_in_transaction_session_timeout=8000"

static const database_kind kind;

/* ---- what it stands on ---- */

typedef struct facts {
    char version[64], fsync[16], commit[32], standbys[8], read_only[8];
} facts;

static hf_status postgres_ask_facts(hf_db *db, facts *out, hf_error *err)
{
    const struct {
        const char *sql;
        char *to;
        size_t size;
    } all[] = {
        {"SELECT current_setting('server_version')", out->version, sizeof out->version},
        {"SELECT current_setting('fsync')", out->fsync, sizeof out->fsync},
        {"SELECT current_setting('synchronous_commit')", out->commit, sizeof out->commit},
        {"SELECT CASE WHEN current_setting('synchronous_standby_names') = '' THEN 'no' ELSE 'yes' "
         "END",
         out->standbys, sizeof out->standbys},
        {"SELECT current_setting('default_transaction_read_only')", out->read_only,
         sizeof out->read_only},
    };
    hf_status status = HF_OK;
    for (size_t i = 0; status == HF_OK && i < sizeof all / sizeof all[0]; i++)
        status = hf_db_ask(db, all[i].sql, all[i].to, all[i].size, err);
    return status;
}

static hf_status postgres_refuse_read_only(hf_db *db, const facts *known, hf_error *err)
{
    if (strcmp(known->read_only, "on") == 0)
        return hf_fail(
            err, HF_UNAVAILABLE,
            "%s is read-only for this account (default_transaction_read_only is on); let it write.",
            hf_db_path(db));
    return HF_OK;
}

static void postgres_grade(const facts *known, bool wrapped, hf_grade *out)
{
    bool synced = strcmp(known->fsync, "on") == 0, waits = strcmp(known->commit, "off") != 0;
    bool standby = strcmp(known->standbys, "yes") == 0 && strcmp(known->commit, "local") != 0;
    *out = (hf_grade){.level = synced && waits ? HF_GRADE_DISK : HF_GRADE_PROCESS};
    if (!synced)
        snprintf(out->text, sizeof out->text,
                 "PostgreSQL %s with fsync off: a crash of the machine may lose or damage what was "
                 "acknowledged; set fsync on",
                 known->version);
    else if (!waits)
        snprintf(
            out->text, sizeof out->text,
            "PostgreSQL %s with synchronous_commit off: a crash of the server may lose the last "
            "moments; set it on",
            known->version);
    else
        snprintf(
            out->text, sizeof out->text, "PostgreSQL %s%s, synchronous_commit %s, %s",
            known->version, wrapped ? " on the application's own connection" : "", known->commit,
            standby
                ? "with a synchronous standby"
                : "one server: a failover to an asynchronous standby may lose the last moments");
}

/* ---- opening ---- */

/* Looks at the server through one connection: what it is, what it has. */
static hf_status postgres_look(database_store *store, const hf_url *url, hf_db_options *options,
                               hf_error *err)
{
    hf_db *db = NULL;
    facts known = {0};
    options->settings = SETTINGS;
    if (!url->pooler) /* its own connections have that level: see SETTINGS */
        store->words.level = NULL;
    hf_status status = hf_db_connect(&hf_db_postgres, url->url, options, &db, err);
    if (status != HF_OK || db == NULL)
        return status;
    if (hf_db_version(db) < 120000)
        status = hf_fail(err, HF_UNAVAILABLE, "%s is a PostgreSQL older than 12; upgrade it.",
                         hf_db_path(db));
    if (status == HF_OK)
        status = postgres_ask_facts(db, &known, err);
    if (status == HF_OK)
        status = postgres_refuse_read_only(db, &known, err);
    /* What was acknowledged is on disk, whatever the account's default is. */
    if (status == HF_OK && strcmp(known.commit, "off") == 0 && !options->pooler) {
        options->setup = "SET synchronous_commit = on";
        snprintf(known.commit, sizeof known.commit, "on");
    }
    if (status == HF_OK)
        status = postgres_schema_ready(db, store->names, true, err);
    postgres_grade(&known, false, &store->grade);
    hf_db_close(db);
    return status;
}

static hf_status postgres_look_wrapped(database_store *store, hf_db *db, hf_error *err)
{
    facts known = {0};
    hf_status status = hf_db_postgres_refuse_standby(db, err);
    if (status == HF_OK)
        status = postgres_ask_facts(db, &known, err);
    if (status == HF_OK)
        status = postgres_refuse_read_only(db, &known, err);
    if (status == HF_OK)
        status = postgres_schema_ready(db, store->names, false, err);
    postgres_grade(&known, true, &store->grade);
    return status;
}

static hf_status postgres_wrap_db(void *handle, hf_db **out, hf_error *err)
{
    return hf_db_postgres_wrap(handle, out, err);
}

static hf_status postgres_store_open(const char *rest, hf_store **out, hf_error *err)
{
    return database_store_open(&kind, rest, out, err);
}

static hf_status postgres_wrap(void *handle, const char *names, hf_store **out, hf_error *err)
{
    return database_wrap(&kind, handle, names, out, err);
}

static const hf_store_ops hf_store_postgres = {
    .scheme = "postgres",
    .open = postgres_store_open,
    .execute = database_execute,
    .install = postgres_install,
    .grade = database_grade,
    .backup = database_backup,
    .watch = postgres_watch,
    .close = database_store_close,
};

static const database_kind kind = {
    .ops = &hf_store_postgres,
    .driver = &hf_db_postgres,
    .sql = sql_do_postgres,
    .backup_with = "pg_dump --schema=NAMESPACE, and pg_restore",
    .poolers = true,
    .look = postgres_look,
    .wrap = postgres_wrap_db,
    .look_wrapped = postgres_look_wrapped,
};

__attribute__((visibility("default"))) extern const hf_store_module_info hf_store_module;
const hf_store_module_info hf_store_module = {HF_VERSION, &hf_store_postgres, postgres_wrap};
