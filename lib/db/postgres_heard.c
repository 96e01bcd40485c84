/* SPDX-License-Identifier: MIT */
/* Notifications of PostgreSQL. libpq keeps them when they come, whatever it was waiting for; here
 * they are taken out. */
#include "db/postgres_inside.h"

int hf_db_postgres_socket(hf_db *db)
{
    return PQsocket(pg_of(db)->conn);
}

/* Under encryption a part of what has come may be held back until libpq is asked once more; see
 * postgres_flight.c. */
static bool postgres_heard_read_all(PGconn *conn)
{
    bool encrypted = PQsslInUse(conn) || PQgssEncInUse(conn);
    return PQconsumeInput(conn) && (!encrypted || PQconsumeInput(conn));
}

static void postgres_heard_note(void *context, const char *payload)
{
    (void)payload;
    *(bool *)context = true;
}

hf_status hf_db_postgres_heard(hf_db *base, bool *out, hf_error *err)
{
    *out = false;
    return hf_db_postgres_hear(base, postgres_heard_note, out, err);
}

hf_status hf_db_postgres_hear(hf_db *base, void (*tell)(void *context, const char *payload),
                              void *context, hf_error *err)
{
    pg_db *db = pg_of(base);
    bool good =
        !db->dead && postgres_heard_read_all(db->conn) && PQstatus(db->conn) == CONNECTION_OK;
    for (PGnotify *it; (it = PQnotifies(db->conn)) != NULL; PQfreemem(it))
        if (it->be_pid != PQbackendPID(db->conn))
            tell(context, it->extra);
    if (good)
        return HF_OK;
    db->dead = true;
    return pg_lost(db, false, false, err);
}
