/* SPDX-License-Identifier: MIT */
/* What PostgreSQL's errors come to: SQLSTATEs become a status, a failure and a sentence for a
 * person, here and nowhere else. */
#include "db/postgres_inside.h"

#include <ctype.h>
#include <stdio.h>

typedef struct postgres_meaning {
    const char *state; /* the first characters of the SQLSTATE */
    hf_status status;
    hf_failure failure;
    const char *what; /* before "the database ..." */
    const char *advice;
} postgres_meaning;

/* The first that fits. */
static const postgres_meaning meanings[] = {
    {"40001", HF_RETRY, HF_FAILURE_CONFLICT, "Another transaction got in between in",
     "Run this one again."},
    {"40P01", HF_RETRY, HF_FAILURE_CONFLICT, "Two transactions waited for each other in",
     "Run this one again."},
    {"55P03", HF_BUSY, HF_FAILURE_BUSY, "Another transaction holds what is needed in",
     "Try again."},
    {"57014", HF_BUSY, HF_FAILURE_BUSY, "A statement took too long or was cancelled in",
     "Try again."},
    {"23505", HF_RETRY, HF_FAILURE_DUPLICATE, "A row with that key is there already in",
     "Run the transaction again."},
    {"42P01", HF_UNAVAILABLE, HF_FAILURE_MISSING, "A table is missing in", "Create it first."},
    {"3F000", HF_UNAVAILABLE, HF_FAILURE_MISSING, "A schema is missing in", "Create it first."},
    {"42883", HF_UNAVAILABLE, HF_FAILURE_MISSING, "A function is missing in", "Create it first."},
    {"42704", HF_UNAVAILABLE, HF_FAILURE_MISSING, "Something is missing in", "Create it first."},
    {"3D000", HF_UNAVAILABLE, HF_FAILURE_MISSING, "A database is missing beside",
     "Create it, or name another in the URL."},
    {"42501", HF_UNAVAILABLE, HF_FAILURE_DENIED, "The user lacks a right in",
     "Grant it, or use another user."},
    {"28", HF_UNAVAILABLE, HF_FAILURE_DENIED, "The user was refused by",
     "Check user, password and the server's pg_hba.conf."},
    {"25006", HF_UNAVAILABLE, HF_FAILURE_READ_ONLY, "Nothing can be written to",
     "Connect to the server that takes writes."},
    {"53100", HF_UNAVAILABLE, HF_FAILURE_LIMIT, "The disk is full under", "Make room there."},
    {"53200", HF_UNAVAILABLE, HF_FAILURE_LIMIT, "Memory or lock table are full in",
     "Raise max_locks_per_transaction on the server, or send fewer at once."},
    {"53300", HF_UNAVAILABLE, HF_FAILURE_LIMIT, "No connection is left to",
     "Raise max_connections there, or use fewer connections."},
    {"53", HF_UNAVAILABLE, HF_FAILURE_LIMIT, "A limit was reached in",
     "Give it more, or ask for less."},
    {"08P01", HF_UNAVAILABLE, HF_FAILURE_OTHER, "The server does not speak as PostgreSQL does:",
     "If a pooler stands between, add pooler=transaction to the URL."},
    {"08", HF_UNAVAILABLE, HF_FAILURE_LOST, "The connection was lost to", "Try again."},
    {"57P", HF_UNAVAILABLE, HF_FAILURE_LOST, "The server closed the connection to", "Try again."},
    /* Someone threw our prepared statements away, or a pooler hands us one server connection after
     * another. */
    {"26000", HF_UNAVAILABLE, HF_FAILURE_OTHER, "A prepared statement is gone from",
     "If a pooler stands between, add pooler=transaction to the URL."},
    {"42P05", HF_UNAVAILABLE, HF_FAILURE_OTHER, "A prepared statement is somebody else's in",
     "If a pooler stands between, add pooler=transaction to the URL."},
    {"", HF_INTERNAL, HF_FAILURE_OTHER, "A statement failed in", ""},
};

static const postgres_meaning changed_tables = {"0A000", HF_RETRY, HF_FAILURE_CONFLICT,
                                                "A table was altered meanwhile in",
                                                "Run the transaction again."};

/* Waiting may help: it starts, ends, or has no connection left. */
static bool postgres_errors_is_away(const postgres_meaning *it)
{
    return it->failure == HF_FAILURE_LOST || it->failure == HF_FAILURE_LIMIT;
}

static const postgres_meaning *postgres_errors_meaning_of(const char *state)
{
    const postgres_meaning *it = meanings;
    while (strncmp(it->state, state, strlen(it->state)) != 0)
        it++;
    return it;
}

/* The first line of a message, without its final dot. */
static int line_size(const char *text)
{
    size_t size = strcspn(text, "\r\n");
    while (size > 0 && (text[size - 1] == '.' || text[size - 1] == ' '))
        size--;
    return (int)(size < 700 ? size : 700);
}

static const char *postgres_errors_field(const PGresult *result, int code)
{
    const char *text = PQresultErrorField(result, code);
    return text == NULL ? "" : text;
}

bool pg_is_fatal(const PGresult *result)
{
    const char *severity = PQresultErrorField(result, PG_DIAG_SEVERITY_NONLOCALIZED);
    if (severity == NULL)
        severity = postgres_errors_field(result, PG_DIAG_SEVERITY);
    return strcmp(severity, "FATAL") == 0 || strcmp(severity, "PANIC") == 0;
}

bool pg_is_servers_own(const PGresult *result)
{
    return PQresultErrorField(result, PG_DIAG_SOURCE_FUNCTION) != NULL;
}

hf_status pg_roll_back_first(pg_db *db, hf_error *err)
{
    db->base.failure = HF_FAILURE_OTHER;
    return hf_fail(err, HF_INVALID, "The transaction has failed; roll it back first.");
}

hf_status pg_refused(pg_db *db, const PGresult *result, bool named, hf_error *err)
{
    const char *state = postgres_errors_field(result, PG_DIAG_SQLSTATE);
    const char *message = postgres_errors_field(result, PG_DIAG_MESSAGE_PRIMARY);
    if (strcmp(state, "25P02") == 0)
        return pg_roll_back_first(db, err);
    bool altered = named && strcmp(state, changed_tables.state) == 0;
    const postgres_meaning *it =
        altered ? &changed_tables : postgres_errors_meaning_of(pg_is_fatal(result) ? "57P" : state);
    db->base.failure = it->failure;
    hf_error_set(err, it->status, "%s %s: %.*s (%s).%s%s", it->what, db->path, line_size(message),
                 message, state, it->advice[0] == '\0' ? "" : " ", it->advice);
    if (postgres_errors_is_away(it))
        hf_error_away(err);
    return it->status;
}

hf_status pg_lost(pg_db *db, bool late, bool unsure, hf_error *err)
{
    char reason[256];
    const char *message = PQerrorMessage(db->conn);
    if (late)
        snprintf(reason, sizeof reason, "no answer within %.1f s", (double)db->timeout_us / 1e6);
    else if (message[0] == '\0')
        snprintf(reason, sizeof reason, "it was given up earlier");
    else
        snprintf(reason, sizeof reason, "%.*s", line_size(message), message);
    db->base.failure = HF_FAILURE_LOST;
    if (unsure)
        return hf_fail_away(
            err, HF_UNSURE,
            "The connection to %s was lost during a commit (%s): whether it was done is not known. "
            "Ask again to find out.",
            db->path, reason);
    return hf_fail_away(err, HF_UNAVAILABLE, "The connection to %s was lost: %s. Try again.",
                        db->path, reason);
}

hf_status pg_unreplicated(pg_db *db, hf_error *err)
{
    db->base.failure = HF_FAILURE_OTHER;
    return hf_fail(err, HF_UNSURE,
                   "It was committed in %s, but the wait for its synchronous standby was "
                   "cancelled: a failover may "
                   "lose it. Ask again once a standby is connected.",
                   db->path);
}

/* ---- connecting ---- */

void pg_describe(PGconn *conn, char *out, size_t size)
{
    const char *host = PQhost(conn), *name = PQdb(conn), *port = PQport(conn);
    bool socket = host == NULL || host[0] == '/' || host[0] == '@' || host[0] == '\0';
    snprintf(out, size, "the database %s on %s%s%s", name == NULL ? "" : name,
             host == NULL || host[0] == '\0' ? "this machine" : host, socket ? ", port " : ":",
             port == NULL ? "" : port);
}

/* libpq tells no SQLSTATE of a failed connection, but writes it in front of the message when asked
 * to be verbose: "FATAL:  3D000: database ...". Matching words would not do: they come in the
 * server's language. */
static const char *find_state(const char *text, char state[6])
{
    for (const char *at = strstr(text, ":  "); at != NULL; at = strstr(at + 1, ":  ")) {
        int i = 0;
        while (i < 5 && (isdigit((unsigned char)at[3 + i]) || isupper((unsigned char)at[3 + i])))
            i++;
        if (i == 5 && strncmp(at + 8, ": ", 2) == 0) {
            memcpy(state, at + 3, 5);
            state[5] = '\0';
            return at + 10;
        }
    }
    return NULL;
}

bool pg_next_may_do(PGconn *conn)
{
    char state[6];
    return find_state(PQerrorMessage(conn), state) == NULL || strcmp(state, "57P03") == 0;
}

/* Certificates and TLS are not mended by waiting; libpq has only words for that. In another
 * language they count as a connection that failed. */
static bool postgres_errors_is_tls(const char *text)
{
    return strstr(text, "certificate") != NULL || strstr(text, "private key") != NULL ||
           strstr(text, "does not support SSL") != NULL;
}

hf_status pg_unconnected(PGconn *conn, bool late, int64_t timeout_us, hf_error *err)
{
    char path[512], state[6] = "";
    const char *text = PQerrorMessage(conn), *user = PQuser(conn);
    pg_describe(conn, path, sizeof path);
    if (user == NULL)
        user = "";
    if (late)
        return hf_fail_away(
            err, HF_UNAVAILABLE,
            "No connection to %s as %s: no answer within %.1f s. Check that the server runs.", path,
            user, (double)timeout_us / 1e6);
    const char *message = find_state(text, state);
    const postgres_meaning *it = postgres_errors_meaning_of(state);
    bool away = message != NULL ? postgres_errors_is_away(it)
                                : !PQconnectionNeedsPassword(conn) && !postgres_errors_is_tls(text);
    if (message != NULL)
        hf_error_set(err, HF_UNAVAILABLE, "No connection to %s as %s: %.*s (%s). %s", path, user,
                     line_size(message), message, state, it->advice);
    const char *advice = PQconnectionNeedsPassword(conn)
                             ? "Give the user's password."
                             : "Check that the server runs and can be reached.";
    if (message == NULL)
        hf_error_set(err, HF_UNAVAILABLE, "No connection to %s as %s: %.*s. %s", path, user,
                     line_size(text), text, advice);
    if (away)
        hf_error_away(err);
    return HF_UNAVAILABLE;
}
