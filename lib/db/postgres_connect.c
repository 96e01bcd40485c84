/* SPDX-License-Identifier: MIT */
/* Connecting to PostgreSQL by URL, and taking an application's connection. Looking up a host's name
 * is the one thing here that may block for longer than the timeout: libpq does it by itself. */
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/seams.h"
#include "db/postgres_inside.h"
#include "db/url.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#define AT_ONCE_US 100000

/* ---- the URL ---- */

/* Connection parameters as libpq takes them: a later one wins. */
typedef struct pg_words {
    const char *keys[16];
    const char *values[16];
    int count;
} pg_words;

static void add_word(pg_words *words, const char *key, const char *value)
{
    words->keys[words->count] = key;
    words->values[words->count++] = value;
}

/* One port or several, "5432,5433"; an empty one is the usual. */
static bool good_ports(const char *text)
{
    char *end = NULL;
    for (const char *at = text; *at != '\0'; at = *end == ',' ? end + 1 : end) {
        end = (char *)at;
        long port = *at == ',' ? 1 : strtol(at, &end, 10);
        if (port < 1 || port > 65535 || (*end != ',' && *end != '\0'))
            return false;
    }
    return true;
}

static const char *find_word(const PQconninfoOption *given, const char *key)
{
    while (given->keyword != NULL && strcmp(given->keyword, key) != 0)
        given++;
    return given->keyword == NULL ? NULL : given->val;
}

/* The first parameter of the URL that libpq doesn't know; an empty slice: none. */
static hf_slice unknown_param(const char *url)
{
    PQconninfoOption *all = PQconndefaults();
    const char *at = hf_url_query(url);
    hf_slice name = HF_NOTHING, value, found = HF_NOTHING;
    while (all != NULL && found.size == 0 && at != NULL && hf_url_next(&at, &name, &value)) {
        const PQconninfoOption *it = all;
        while (it->keyword != NULL && !hf_slice_equal(hf_slice_of(it->keyword), name))
            it++;
        if (it->keyword == NULL && !hf_slice_equal(name, hf_slice_of("ssl")))
            found = name;
    }
    PQconninfoFree(all);
    return found;
}

/* libpq's message may quote the URL, password and all: it is passed on only where no password can
 * be. */
static hf_status check_url(const char *url, PQconninfoOption **out, hf_error *err)
{
    char *problem = NULL;
    bool known = strncmp(url, "postgres://", 11) == 0 || strncmp(url, "postgresql://", 13) == 0;
    *out = known ? PQconninfoParse(url, &problem) : NULL;
    const char *port = *out == NULL ? NULL : find_word(*out, "port");
    if (port != NULL && !good_ports(port))
        return hf_fail(err, HF_INVALID,
                       "The URL makes no sense: a port is between 1 and 65535, not %s.", port);
    if (*out != NULL)
        return HF_OK;
    hf_slice unknown = known ? unknown_param(url) : HF_NOTHING;
    bool telling = unknown.size == 0 || memmem(unknown.at, unknown.size, "pass", 4) ==
                                            NULL; /* else it may be a mistyped password=... */
    if (unknown.size > 0 && telling && hf_text_is_clean(unknown.at, unknown.size)) {
        PQfreemem(problem);
        return hf_fail(
            err, HF_INVALID,
            "The URL makes no sense: its parameter %.*s is not known to PostgreSQL's client "
            "library; leave it out.",
            (int)(unknown.size < 64 ? unknown.size : 64), unknown.at);
    }
    bool secret = problem == NULL || strchr(url, '@') != NULL || strstr(url, "pass") != NULL;
    hf_status status = hf_fail(
        err, HF_INVALID, "The URL makes no sense as postgres://USER@HOST:PORT/DATABASE%s%.*s%s",
        secret ? "." : ": ", secret ? 0 : (int)strcspn(problem, "\n"), secret ? "" : problem,
        secret ? "" : ".");
    PQfreemem(problem);
    return status;
}

/* "name=value name=value" as command line options of the server, after those of the URL or the
 * environment; hf_free it. */
static char *server_options(const PQconninfoOption *given, const char *settings)
{
    hf_buffer text = {0};
    const char *before = find_word(given, "options");
    if (before == NULL)
        before = getenv("PGOPTIONS");
    hf_buffer_print(&text, "%s", before == NULL ? "" : before);
    while (*(settings += strspn(settings, " ")) != '\0') {
        size_t size = strcspn(settings, " ");
        while (size > 0 && settings[size - 1] == '\\') /* a space that belongs to the value */
            size += 1 + strcspn(settings + size + 1, " ");
        hf_buffer_print(&text, " -c %.*s", (int)size, settings);
        settings += size;
    }
    return hf_buffer_take(&text);
}

/* ---- several hosts ---- */

/* libpq goes on to the next host by time only in calls that block, so each is tried alone, with its
 * share of the time. */

static const char *const places[] = {"host", "hostaddr", "port"};
enum { PLACES = 3, PART_MAX = 256 };

static int list_size(const char *list)
{
    int count = list == NULL || list[0] == '\0' ? 0 : 1;
    for (; count > 0 && (list = strchr(list, ',')) != NULL; list++)
        count++;
    return count;
}

/* One of a list "a,b"; an empty one is `usual`. False: there is nothing, or it is too long. */
static bool list_part(const char *list, int at, const char *usual, char out[PART_MAX])
{
    for (; at > 0; at--)
        list += strcspn(list, ",") + 1;
    int size = (int)strcspn(list, ",");
    int written =
        snprintf(out, PART_MAX, "%.*s", size == 0 ? PART_MAX : size, size == 0 ? usual : list);
    return written > 0 && written < PART_MAX;
}

/* How many there are to be tried alone. 1: libpq takes them as they are, be it to say why it can't.
 * */
static int count_hosts(const PQconninfoOption *given)
{
    char part[PART_MAX];
    int sizes[PLACES], count;
    for (int i = 0; i < PLACES; i++)
        sizes[i] = list_size(find_word(given, places[i]));
    count = sizes[0] > sizes[1] ? sizes[0] : sizes[1];
    for (int i = 0; i < PLACES; i++) {
        if (sizes[i] != 0 && sizes[i] != count && (i < 2 || sizes[i] != 1))
            return 1;
        for (int at = 0; i < 2 && at < sizes[i]; at++)
            if (!list_part(find_word(given, places[i]), at, "", part))
                return 1;
    }
    return count > 1 ? count : 1;
}

/* ---- connecting ---- */

static void postgres_connect_silence(void *context, const char *message)
{
    (void)context;
    (void)message;
}

/* Whether libpq refused the parameters themselves, which it tells in words only, in any language.
 * Asked when connecting failed at once, so that this does too. */
static bool makes_no_sense(pg_words *words)
{
    add_word(words, "connect_timeout", "2");
    return PQpingParams(words->keys, words->values, 1) == PQPING_NO_ATTEMPT;
}

static hf_status wait_for_connection(PGconn *conn, int64_t deadline_us, int64_t timeout_us,
                                     hf_error *err)
{
    PostgresPollingStatusType state = PGRES_POLLING_WRITING;
    while (state != PGRES_POLLING_OK) {
        if (state == PGRES_POLLING_FAILED)
            return pg_unconnected(conn, false, timeout_us, err);
        if (!pg_wait(conn, state == PGRES_POLLING_READING ? POLLIN : POLLOUT, deadline_us))
            return pg_unconnected(conn, true, timeout_us, err);
        state = PQconnectPoll(conn);
    }
    return HF_OK;
}

/* The connection is given even when it failed, to be closed. */
static hf_status postgres_connect_start(pg_words *words, int64_t deadline_us, int64_t timeout_us,
                                        PGconn **out, hf_error *err)
{
    PGconn *conn = *out = PQconnectStartParams(words->keys, words->values, 1);
    if (conn == NULL)
        return hf_fail_memory(err);
    PQsetNoticeProcessor(conn, postgres_connect_silence, NULL);
    PQsetErrorVerbosity(conn, PQERRORS_VERBOSE); /* for pg_unconnected */
    if (PQstatus(conn) != CONNECTION_BAD) {
        hf_status status = wait_for_connection(conn, deadline_us, timeout_us, err);
        PQsetErrorVerbosity(conn, PQERRORS_DEFAULT);
        return status;
    }
    bool at_once = deadline_us - hf_seam.boot_us() > timeout_us - AT_ONCE_US;
    if (!at_once || !makes_no_sense(words))
        return pg_unconnected(conn, false, timeout_us, err);
    const char *problem = PQerrorMessage(conn);
    return hf_fail(err, HF_INVALID, "The URL makes no sense to PostgreSQL: %.*s.",
                   (int)strcspn(problem, "\n"), problem);
}

/* All that is known before connecting. */
typedef struct pg_order {
    const char *url;
    const PQconninfoOption *given; /* in the URL */
    const char *server;            /* options for it, or NULL */
    const hf_db_options *options;
    int64_t deadline_us, timeout_us;
} pg_order;

/* To one of its hosts, or to all as libpq does it (-1), for so long. */
static hf_status postgres_connect_to(const pg_order *order, int host, int64_t share_us,
                                     PGconn **out, hf_error *err)
{
    char patience[24], parts[PLACES][PART_MAX];
    pg_words words = {0};
    snprintf(patience, sizeof patience, "%lld", (long long)(order->timeout_us + 999) / 1000);
    /* What the URL may change stands before it. */
    add_word(&words, "tcp_user_timeout", patience);
    add_word(&words, "keepalives_idle", "30");
    add_word(&words, "keepalives_interval", "10");
    add_word(&words, "keepalives_count", "3");
    add_word(&words, "fallback_application_name", "holdfast");
    add_word(&words, "dbname", order->url);
    add_word(&words, "client_encoding", "UTF8");
    if (order->server != NULL)
        add_word(&words, "options", order->server);
    if (order->options->password != NULL)
        add_word(&words, "password", order->options->password);
    for (int i = 0; host >= 0 && i < PLACES; i++) {
        const char *list = find_word(order->given, places[i]);
        if (list_size(list) > 1 && list_part(list, host, i == 2 ? "5432" : "", parts[i]))
            add_word(&words, places[i], parts[i]);
    }
    return postgres_connect_start(&words, pg_deadline(share_us), share_us, out, err);
}

/* The first that answers and is of the kind that is wanted. The connection is given even when it
 * failed, to be closed. */
static hf_status connect_in_turn(const pg_order *order, PGconn **out, hf_error *err)
{
    int count = count_hosts(order->given);
    hf_status status = HF_UNAVAILABLE;
    for (int i = 0; i < count; i++) {
        int64_t left_us = order->deadline_us - hf_seam.boot_us();
        PQfinish(*out);
        status = postgres_connect_to(
            order, count == 1 ? -1 : i,
            count == 1 ? order->timeout_us : (left_us > 0 ? left_us : 0) / (count - i), out, err);
        if (status != HF_UNAVAILABLE || !pg_next_may_do(*out))
            break;
    }
    return status;
}

static hf_status postgres_connect_db_new(PGconn *conn, int64_t timeout_us, pg_db **out,
                                         hf_error *err)
{
    pg_db *db = *out = hf_alloc(sizeof *db);
    if (db == NULL)
        return hf_fail_memory(err);
    db->base = (hf_db){&hf_db_postgres, HF_DB_POSTGRES, PQserverVersion(conn), HF_FAILURE_OTHER};
    db->conn = conn;
    db->timeout_us = timeout_us;
    db->end = &db->queued;
    pg_describe(conn, db->path, sizeof db->path);
    return HF_OK;
}

void pg_close(hf_db *base)
{
    pg_db *db = pg_of(base);
    if (!db->borrowed)
        PQfinish(db->conn);
    hf_free(db->bytes);
    hf_free(db);
}

/* Of all warnings one matters. Its text is in the server's language, the place it comes from is
 * not. */
static void postgres_connect_hear(void *context, const PGresult *notice)
{
    pg_db *db = context;
    const char *source = PQresultErrorField(notice, PG_DIAG_SOURCE_FUNCTION);
    if (source != NULL && strcmp(source, "SyncRepWaitForLSN") == 0)
        db->unreplicated = true;
}

static hf_status postgres_connect_set_up(pg_db *db, const hf_db_options *options,
                                         int64_t deadline_us, hf_error *err)
{
    PQsetNoticeReceiver(db->conn, postgres_connect_hear, db);
    db->unnamed = options->pooler;
    PQsetnonblocking(db->conn, 1);
    if (options->setup == NULL || options->pooler)
        return HF_OK;
    return pg_run(db, options->setup, deadline_us, err);
}

/* Servers before 14 don't report it, and poolers may keep to themselves what theirs did, or repeat
 * what it once was: so only "off" is taken at its word. */
hf_status hf_db_postgres_refuse_standby(hf_db *base, hf_error *err)
{
    char standby[8] = "";
    const char *told = PQparameterStatus(pg_of(base)->conn, "in_hot_standby");
    if (told != NULL && strcmp(told, "off") == 0)
        return HF_OK;
    hf_status status =
        hf_db_ask(base, "SELECT CASE WHEN pg_is_in_recovery() THEN 'yes' ELSE 'no' END", standby,
                  sizeof standby, err);
    if (status != HF_OK || strcmp(standby, "yes") != 0)
        return status;
    return hf_fail(err, HF_UNAVAILABLE,
                   "%s is a standby, which takes no writes; name the primary server in the URL.",
                   hf_db_path(base));
}

hf_status pg_connect(const char *url, const hf_db_options *options, hf_db **out, hf_error *err)
{
    int64_t timeout_us = options->timeout_us > 0 ? options->timeout_us : HF_DB_TIMEOUT_US;
    int64_t deadline_us = pg_deadline(timeout_us);
    PQconninfoOption *given = NULL;
    hf_cleanup(hf_freep) char *server = NULL;
    PGconn *conn = NULL;
    pg_db *db = NULL;
    *out = NULL;
    hf_status status = check_url(url, &given, err);
    if (status != HF_OK) {
        PQconninfoFree(given);
        return status;
    }
    bool settings = options->settings != NULL && !options->pooler;
    if (settings)
        server = server_options(given, options->settings);
    const pg_order order = {url, given, server, options, deadline_us, timeout_us};
    status = settings && server == NULL ? hf_fail_memory(err) : connect_in_turn(&order, &conn, err);
    PQconninfoFree(given);
    if (status == HF_OK)
        status = postgres_connect_db_new(conn, timeout_us, &db, err);
    if (status == HF_OK && db != NULL)
        status = postgres_connect_set_up(db, options, deadline_us, err);
    if (status == HF_OK && db != NULL)
        status = hf_db_postgres_refuse_standby(&db->base, err);
    if (status == HF_OK && db != NULL)
        *out = &db->base;
    else if (db != NULL)
        pg_close(&db->base);
    else
        PQfinish(conn);
    return status;
}

/* ---- an application's connection ---- */

hf_status pg_check_borrowed(PGconn *conn, bool rolling_back, hf_error *err)
{
    if (conn == NULL || PQstatus(conn) != CONNECTION_OK)
        return hf_fail(err, HF_INVALID,
                       "The application's PostgreSQL connection is not connected.");
    if (PQpipelineStatus(conn) != PQ_PIPELINE_OFF)
        return hf_fail(
            err, HF_INVALID,
            "The application's PostgreSQL connection is in pipeline mode; leave it first.");
    PGTransactionStatusType transaction = PQtransactionStatus(conn);
    if (transaction == PQTRANS_ACTIVE)
        return hf_fail(err, HF_INVALID,
                       "The application's PostgreSQL connection is busy with a statement; take its "
                       "results first.");
    if (strcmp(pg_encoding_to_char(PQclientEncoding(conn)), "UTF8") != 0)
        return hf_fail(
            err, HF_INVALID,
            "The application's PostgreSQL connection has the client encoding %s; it must be UTF8.",
            pg_encoding_to_char(PQclientEncoding(conn)));
    if (transaction == PQTRANS_INERROR && !rolling_back)
        return hf_fail(err, HF_INVALID, "The transaction has failed; roll it back first.");
    return HF_OK;
}

hf_status hf_db_postgres_wrap(struct pg_conn *conn, hf_db **out, hf_error *err)
{
    pg_db *db = NULL;
    *out = NULL;
    hf_status status = pg_check_borrowed(conn, true, err);
    if (status == HF_OK)
        status = postgres_connect_db_new(conn, HF_DB_TIMEOUT_US, &db, err);
    if (status != HF_OK || db == NULL)
        return status;
    db->borrowed = db->unnamed = true;
    *out = &db->base;
    return HF_OK;
}
