/* SPDX-License-Identifier: MIT */
/* Hearing of changes on PostgreSQL: a connection that listens on the channel of the store's tables.
 * Writers do not notify: at their commit they would wait for each other (docs/decisions/0010).
 * Whoever wants others to look says so here, in a transaction with nothing else in it, which nobody
 * waits to be synced for. */
#include "base/error.h"
#include "base/seams.h"
#include "db/postgres.h"
#include "store/database.h"

#include <stdio.h>

typedef struct postgres_ear {
    hf_watch base;
    hf_db *db;
    char notify[SQL_NAMES_SIZE + 32];
} postgres_ear;

static int postgres_watch_fd(const hf_watch *watch)
{
    return hf_db_postgres_socket(((const postgres_ear *)watch)->db);
}

static hf_status postgres_watch_heard(hf_watch *watch, bool *out, hf_error *err)
{
    return hf_db_postgres_heard(((postgres_ear *)watch)->db, out, err);
}

static hf_status postgres_watch_tell(hf_watch *watch, hf_error *err)
{
    const postgres_ear *ear = (postgres_ear *)watch;
    return hf_db_run(ear->db, ear->notify, err);
}

static void postgres_watch_close_ear(hf_watch *watch)
{
    hf_db_close(((postgres_ear *)watch)->db);
    hf_free(watch);
}

static const hf_watch_ops ops = {postgres_watch_fd, postgres_watch_heard, postgres_watch_tell,
                                 postgres_watch_close_ear};

hf_status postgres_watch(hf_store *base, hf_watch **out, hf_error *err)
{
    database_store *store = (database_store *)base;
    char listen[sizeof((postgres_ear *)NULL)->notify + 64];
    hf_db *db = NULL;
    hf_status status = database_connect_own(store, &db, err);
    if (status != HF_OK)
        return status;
    postgres_ear *ear = hf_alloc(sizeof *ear);
    if (ear == NULL) {
        hf_db_close(db);
        return hf_fail_memory(err);
    }
    ear->base.ops = &ops;
    ear->db = db;
    snprintf(ear->notify, sizeof ear->notify, "NOTIFY \"%s.events\"", store->names);
    snprintf(listen, sizeof listen, "SET synchronous_commit = off; LISTEN \"%s.events\"",
             store->names);
    status = hf_db_run(db, listen, err);
    if (status == HF_OK)
        *out = &ear->base;
    else
        postgres_watch_close_ear(&ear->base);
    return status;
}
