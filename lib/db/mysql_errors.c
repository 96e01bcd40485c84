/* SPDX-License-Identifier: MIT */
/* What errors mean. The numbers of the client library and the server become statuses and sentences
 * here and nowhere else. */
#include "db/mysql_inside.h"

typedef struct mysql_meaning {
    unsigned code;
    hf_status status;
    hf_failure failure;
} mysql_meaning;

/* By number. What is not here is HF_INTERNAL with the server's words; from 2000 to 2999 it is the
 * client library's, and the connection is of no more use. */
static const mysql_meaning meanings[] = {
    {1020, HF_RETRY, HF_FAILURE_CONFLICT},      /* record has changed since last read */
    {1021, HF_UNAVAILABLE, HF_FAILURE_LIMIT},   /* disk full */
    {1037, HF_UNAVAILABLE, HF_FAILURE_LIMIT},   /* out of memory */
    {1038, HF_UNAVAILABLE, HF_FAILURE_LIMIT},   /* out of sort memory */
    {1040, HF_UNAVAILABLE, HF_FAILURE_LIMIT},   /* too many connections */
    {1041, HF_UNAVAILABLE, HF_FAILURE_LIMIT},   /* out of resources */
    {1044, HF_UNAVAILABLE, HF_FAILURE_DENIED},  /* to the database */
    {1045, HF_UNAVAILABLE, HF_FAILURE_DENIED},  /* wrong password */
    {1047, HF_UNAVAILABLE, HF_FAILURE_OTHER},   /* a Galera node that is not ready */
    {1049, HF_UNAVAILABLE, HF_FAILURE_MISSING}, /* no such database */
    {1053, HF_UNAVAILABLE, HF_FAILURE_LOST},    /* shutting down */
    {1062, HF_RETRY, HF_FAILURE_DUPLICATE},     /* duplicate key */
    {1077, HF_UNAVAILABLE, HF_FAILURE_LOST},    /* shutting down */
    {1078, HF_UNAVAILABLE, HF_FAILURE_LOST},    /* ended by a signal */
    {1079, HF_UNAVAILABLE, HF_FAILURE_LOST},    /* shut down */
    {1114, HF_UNAVAILABLE, HF_FAILURE_LIMIT},   /* table full */
    {1129, HF_UNAVAILABLE, HF_FAILURE_DENIED},  /* host blocked */
    {1130, HF_UNAVAILABLE, HF_FAILURE_DENIED},  /* host not allowed */
    {1142, HF_UNAVAILABLE, HF_FAILURE_DENIED},  /* to the table */
    {1143, HF_UNAVAILABLE, HF_FAILURE_DENIED},  /* to the column */
    {1146, HF_UNAVAILABLE, HF_FAILURE_MISSING}, /* no such table */
    /* more than max_allowed_packet: the server hangs up */
    {1153, HF_UNAVAILABLE, HF_FAILURE_LOST},
    {1158, HF_UNAVAILABLE, HF_FAILURE_LOST},      /* reading failed */
    {1159, HF_UNAVAILABLE, HF_FAILURE_LOST},      /* reading took too long */
    {1160, HF_UNAVAILABLE, HF_FAILURE_LOST},      /* writing failed */
    {1161, HF_UNAVAILABLE, HF_FAILURE_LOST},      /* writing took too long */
    {1180, HF_RETRY, HF_FAILURE_CONFLICT},        /* MariaDB gave the statement's changes up */
    {1203, HF_UNAVAILABLE, HF_FAILURE_LIMIT},     /* too many connections of that user */
    {1205, HF_BUSY, HF_FAILURE_BUSY},             /* lock wait timeout */
    {1206, HF_UNAVAILABLE, HF_FAILURE_LIMIT},     /* lock table full */
    {1213, HF_RETRY, HF_FAILURE_CONFLICT},        /* deadlock */
    {1226, HF_UNAVAILABLE, HF_FAILURE_LIMIT},     /* a limit of that user's */
    {1227, HF_UNAVAILABLE, HF_FAILURE_DENIED},    /* a privilege is needed */
    {1290, HF_UNAVAILABLE, HF_FAILURE_READ_ONLY}, /* server is read-only */
    {1305, HF_UNAVAILABLE, HF_FAILURE_MISSING},   /* no such procedure, function or savepoint */
    {1317, HF_BUSY, HF_FAILURE_BUSY},             /* ended by KILL QUERY */
    {1370, HF_UNAVAILABLE, HF_FAILURE_DENIED},    /* to the routine */
    {1410, HF_UNAVAILABLE, HF_FAILURE_DENIED},    /* to grant */
    {1419, HF_UNAVAILABLE, HF_FAILURE_DENIED},    /* to make routines while there is a binary log */
    {1586, HF_RETRY, HF_FAILURE_DUPLICATE},       /* as 1062, naming the key */
    {1698, HF_UNAVAILABLE, HF_FAILURE_DENIED},    /* not that user of the operating system */
    {1792, HF_UNAVAILABLE, HF_FAILURE_READ_ONLY}, /* transaction is read-only */
    {1820, HF_UNAVAILABLE, HF_FAILURE_DENIED},    /* password must be changed */
    {1836, HF_UNAVAILABLE, HF_FAILURE_READ_ONLY}, /* running in read-only mode */
    {1862, HF_UNAVAILABLE, HF_FAILURE_DENIED},    /* password has expired */
    {1927, HF_UNAVAILABLE, HF_FAILURE_LOST},      /* connection was killed */
    {1969, HF_BUSY, HF_FAILURE_BUSY},             /* max_statement_time */
    {3024, HF_BUSY, HF_FAILURE_BUSY},             /* max_execution_time */
    {3101, HF_RETRY, HF_FAILURE_CONFLICT},        /* rolled back by group replication */
    {3572, HF_BUSY, HF_FAILURE_BUSY},             /* NOWAIT */
    {4031, HF_UNAVAILABLE, HF_FAILURE_LOST},      /* ended for being idle */
};

enum {
    RECORD_CHANGED = 1020,
    COMMIT_FAILED = 1180,
    WRITE_FAILED = 1160, /* these two are the client library's as well */
    WRITE_INTERRUPTED = 1161,
    LOCKS_FULL = 1206,
    DEADLOCK = 1213,
    INTERRUPTED = 1317,
    CLIENT_FIRST = 2000,
    SERVER_GONE = 2006,
    OUT_OF_SYNC = 2014,
    CLIENT_LAST = 2999,
    IDLE_TOO_LONG = 4031, /* something else in MariaDB */
    LARGE = 1 << 20,      /* what is smaller is allowed by every server's max_allowed_packet */
};

/* NULL: the table does not tell. */
static const mysql_meaning *mysql_errors_told(unsigned code, bool mariadb)
{
    for (size_t i = 0; i < sizeof meanings / sizeof *meanings; i++)
        if (meanings[i].code == code && (code != IDLE_TOO_LONG || !mariadb))
            return &meanings[i];
    return NULL;
}

/* Waiting may help. Of the library's own errors these say that the server is not there; 2005 is a
 * host whose name is not known, perhaps not yet. */
static bool mysql_errors_is_away(unsigned code, bool mariadb)
{
    static const unsigned away[] = {1047, 2002, 2003, 2005, SERVER_GONE, 2013};
    const mysql_meaning *told = mysql_errors_told(code, mariadb);
    bool is =
        told != NULL && (told->failure == HF_FAILURE_LOST || told->failure == HF_FAILURE_LIMIT);
    for (size_t i = 0; i < sizeof away / sizeof *away; i++)
        is = is || away[i] == code;
    return is;
}

/* The library closes what it has found to be lost. */
static mysql_meaning mysql_errors_meaning_of(MYSQL *conn)
{
    unsigned code = mysql_errno(conn);
    if (conn->net.pvio == NULL || (code >= CLIENT_FIRST && code <= CLIENT_LAST))
        return (mysql_meaning){code, HF_UNAVAILABLE, HF_FAILURE_LOST};
    const mysql_meaning *told = mysql_errors_told(code, mariadb_connection(conn));
    if (told != NULL)
        return *told;
    if (strcmp(mysql_sqlstate(conn), "40001") == 0)
        return (mysql_meaning){code, HF_RETRY, HF_FAILURE_CONFLICT};
    return (mysql_meaning){code, HF_INTERNAL, HF_FAILURE_OTHER};
}

bool my_is_lost(MYSQL *conn)
{
    return mysql_errors_meaning_of(conn).failure == HF_FAILURE_LOST;
}

bool my_is_unsent(MYSQL *conn)
{
    unsigned code = mysql_errno(conn);
    return code == SERVER_GONE || code == WRITE_FAILED || code == WRITE_INTERRUPTED;
}

/* The library keeps an error until the next statement, so an application that still has one has run
 * none since. What the library knows of a transaction is what the server said last, before that
 * error. */
bool my_is_rolled_back(const my_db *db)
{
    unsigned code = mysql_errno(db->conn), status = db->conn->server_status;
    return db->target == NULL &&
           (code == DEADLOCK || code == LOCKS_FULL ||
            (code == RECORD_CHANGED && db->base.kind == HF_DB_MARIADB)) &&
           ((status & SERVER_STATUS_IN_TRANS) != 0 || (status & SERVER_STATUS_AUTOCOMMIT) == 0);
}

/* ---- sentences ---- */

/* Before the name of the database, and after it. */
static const char *const sentences[][2] = {
    [HF_FAILURE_OTHER] = {"A statement failed in ", ""},
    [HF_FAILURE_LOST] = {"The connection to ", " was lost"},
    [HF_FAILURE_BUSY] = {"Someone else is in the middle of a change in ", "; try again"},
    [HF_FAILURE_CONFLICT] = {"Another transaction got in between in ", "; run it again"},
    [HF_FAILURE_DUPLICATE] = {"A row with that key is there already in ", "; run it again"},
    [HF_FAILURE_MISSING] = {"Something is missing in ", ""},
    [HF_FAILURE_DENIED] = {"A right is missing in ", "; ask its administrator"},
    [HF_FAILURE_READ_ONLY] = {"Nothing can be written to ", "; name the server that takes writes"},
    [HF_FAILURE_LIMIT] = {"A limit is reached in ", "; make room or raise it"},
};

/* The words of the server or the library, without a full stop; a message of the server may be in
 * any language. */
static void words_of(MYSQL *conn, char *out, size_t size)
{
    hf_slice_copy(out, size, hf_slice_of(mysql_error(conn)));
    for (size_t end = strlen(out); end > 0 && (out[end - 1] == '.' || out[end - 1] == ' '); end--)
        out[end - 1] = '\0';
}

/* The server's words for a duplicate repeat the key, for someone who is busy they say nothing more.
 * */
static void mysql_errors_say(my_db *db, const mysql_meaning *it)
{
    char words[MYSQL_ERRMSG_SIZE] = "";
    bool large = it->failure == HF_FAILURE_LOST && db->text.size > LARGE;
    if (it->failure != HF_FAILURE_DUPLICATE && it->failure != HF_FAILURE_BUSY)
        words_of(db->conn, words, sizeof words);
    hf_error_set(&db->error, it->status, "%s%s%s%s%s (error %u%s).", sentences[it->failure][0],
                 db->path, sentences[it->failure][1], words[0] == '\0' ? "" : ": ", words, it->code,
                 large ? "; it was sent more than 1 MiB at once, look at its max_allowed_packet"
                       : "");
    if (mysql_errors_is_away(it->code, db->base.kind == HF_DB_MARIADB))
        hf_error_away(&db->error);
}

/* ---- failures ---- */

hf_status my_failed(my_db *db, bool commits, bool coming)
{
    unsigned code = mysql_errno(db->conn);
    mysql_meaning it = mysql_errors_meaning_of(db->conn);
    if (code == OUT_OF_SYNC && db->target == NULL && !db->lost) {
        db->base.failure = HF_FAILURE_OTHER;
        return hf_fail(&db->error, HF_INVALID,
                       "The connection still has a result that was not read; read it to its end "
                       "before the next call.");
    }
    db->lost = db->lost || it.failure == HF_FAILURE_LOST;
    db->base.failure = it.failure;
    mysql_errors_say(db, &it);
    bool open_end = it.failure == HF_FAILURE_OTHER || it.failure == HF_FAILURE_LIMIT ||
                    code == INTERRUPTED || code == COMMIT_FAILED;
    if ((it.failure == HF_FAILURE_LOST && !my_is_unsent(db->conn) && (commits || coming)) ||
        (commits && open_end)) {
        char words[MYSQL_ERRMSG_SIZE];
        words_of(db->conn, words, sizeof words);
        hf_error_set(
            &db->error, HF_UNSURE,
            "No good answer came to the commit in %s, so it is not known whether it was carried "
            "out; look before "
            "doing it again: %s (error %u).",
            db->path, words, code);
    }
    return db->error.status;
}

hf_status my_unconnected(const my_target *target, MYSQL *conn, hf_error *err)
{
    char words[MYSQL_ERRMSG_SIZE];
    unsigned code = mysql_errno(conn);
    words_of(conn, words, sizeof words);
    hf_error_set(err, HF_UNAVAILABLE, "The user %s can't connect to %s: %s (error %u).",
                 target->user, target->path, words, code);
    if (mysql_errors_is_away(code, false)) /* which server it is, is not known yet */
        hf_error_away(err);
    return HF_UNAVAILABLE;
}
