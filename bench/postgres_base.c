/* SPDX-License-Identifier: MIT */
/* PostgreSQL by hand: libpq, prepared statements, pipeline mode. The planner is told what the store
 * tells it. */
#include "hand.h"

#include "base/seams.h"
#include "hand_sql.h"
#include "store/sql_conn.h"

#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The store's settings (lib/store/postgres.c), as far as they say how a statement is carried out.
 * */
#define SETTINGS                                                                                   \
    "SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off;"             \
    "SET plan_cache_mode = force_generic_plan; SET jit = off"

struct hand_link {
    PGconn *conn;
    char names[32];
    bool pipeline;
    bool prepared[HAND_COUNT];
    int params[HAND_COUNT]; /* how many it takes */
};

static _Noreturn void postgres_base_fail(const hand_link *link, int which)
{
    bench_die("PostgreSQL by hand: %s: %s", which < 0 ? "connecting" : hand_names[which],
              PQerrorMessage(link->conn));
}

static void postgres_base_silence(void *context, const char *message)
{
    (void)context;
    (void)message;
}

static hand_link *postgres_base_open_link(const char *url, const char *names)
{
    hand_link *link = calloc(1, sizeof *link);
    if (link == NULL)
        bench_die("out of memory");
    link->conn = PQconnectdb(url);
    snprintf(link->names, sizeof link->names, "%s", names);
    if (PQstatus(link->conn) != CONNECTION_OK)
        postgres_base_fail(link, -1);
    PQsetNoticeProcessor(link->conn, postgres_base_silence, NULL);
    PGresult *set = PQexec(link->conn, SETTINGS);
    if (PQresultStatus(set) != PGRES_COMMAND_OK)
        postgres_base_fail(link, -1);
    PQclear(set);
    return link;
}

static void postgres_base_close_link(hand_link *link)
{
    PQfinish(link->conn);
    free(link);
}

static char *postgres_base_text_of(const hand_link *link, int which)
{
    char *sql = sql_name(hand_postgres[which], &(sql_words){.ns = link->names});
    if (sql == NULL)
        bench_die("out of memory");
    return sql;
}

static void leave_pipeline(hand_link *link)
{
    if (link->pipeline && !PQexitPipelineMode(link->conn))
        bench_die("PostgreSQL by hand: the pipeline isn't empty");
    link->pipeline = false;
}

static void postgres_base_prepare(hand_link *link, int which)
{
    leave_pipeline(link);
    char *sql = postgres_base_text_of(link, which);
    PGresult *result = PQprepare(link->conn, hand_names[which], sql, 0, NULL);
    if (PQresultStatus(result) != PGRES_COMMAND_OK)
        postgres_base_fail(link, which);
    PQclear(result);
    for (int i = 1; i <= HAND_PARAMS_MAX; i++) {
        char mark[8];
        snprintf(mark, sizeof mark, "$%d", i);
        if (strstr(sql, mark) != NULL)
            link->params[which] = i;
    }
    hf_free(sql);
    link->prepared[which] = true;
}

static void postgres_base_read_step(hand_link *link, hand_step *step)
{
    PGresult *result = PQgetResult(link->conn);
    ExecStatusType status = PQresultStatus(result);
    if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK)
        postgres_base_fail(link, step->which);
    if (status == PGRES_COMMAND_OK)
        step->rows = strtol(PQcmdTuples(result), NULL, 10);
    else
        step->rows = PQntuples(result);
    for (int i = 0; i < HAND_COLUMNS_MAX && i < PQnfields(result) && PQntuples(result) > 0; i++)
        step->column[i] = strtoll(PQgetvalue(result, 0, i), NULL, 10);
    if (PQntuples(result) > 0)
        snprintf(step->last, sizeof step->last, "%s", PQgetvalue(result, 0, PQnfields(result) - 1));
    PQclear(result);
    PQclear(PQgetResult(link->conn)); /* the end of it */
}

static void postgres_base_fly(hand_link *link, hand_step *steps, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!link->prepared[steps[i].which])
            postgres_base_prepare(link, steps[i].which);
    if (!link->pipeline && !PQenterPipelineMode(link->conn))
        postgres_base_fail(link, steps[0].which);
    link->pipeline = true;
    for (size_t i = 0; i < count; i++)
        if (!PQsendQueryPrepared(link->conn, hand_names[steps[i].which],
                                 link->params[steps[i].which], steps[i].params, NULL, NULL, 0))
            postgres_base_fail(link, steps[i].which);
    if (!PQpipelineSync(link->conn))
        postgres_base_fail(link, steps[0].which);
    for (size_t i = 0; i < count; i++)
        postgres_base_read_step(link, &steps[i]);
    PQclear(PQgetResult(link->conn)); /* the sync */
}

static double postgres_base_run(hand_link *link, int which, const char *const *params, int count)
{
    if (hand_postgres[which] == NULL)
        return 0;
    leave_pipeline(link);
    char *sql = postgres_base_text_of(link, which);
    PGresult *result = count == 0
                           ? PQexec(link->conn, sql)
                           : PQexecParams(link->conn, sql, count, NULL, params, NULL, NULL, 0);
    ExecStatusType status = PQresultStatus(result);
    if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK)
        postgres_base_fail(link, which);
    double number = PQntuples(result) > 0 ? strtod(PQgetvalue(result, 0, 0), NULL) : 0;
    PQclear(result);
    hf_free(sql);
    return number;
}

const hand_kind hand_kind_postgres = {
    .name = "postgres",
    .connect = postgres_base_open_link,
    .close = postgres_base_close_link,
    .fly = postgres_base_fly,
    .run = postgres_base_run,
    .socket_key = "host",
    .port_key = "port",
};
