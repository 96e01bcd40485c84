/* SPDX-License-Identifier: MIT */
/* Ending the connections of watches; see watches.h. They are known by their last statement, which
 * names the store's tables. */
#include <libpq-fe.h>
#include <stdio.h>
#include <string.h>
#include <support/check.h>
#include <support/watches.h>

bool can_watch(const test_store *at)
{
    return strncmp(at->url, "redis", 5) == 0 ||
           (strncmp(at->url, "postgres", 8) == 0 && strstr(at->url, "pooler=") == NULL);
}

int end_watches(const test_store *at, const char *url)
{
    char sql[512];
    const char *names = strstr(url, "namespace=");
    if (strncmp(url, "postgres", 8) != 0 || strstr(url, "pooler=") != NULL)
        return 0;
    expect_true(names != NULL);
    names += strlen("namespace=");
    snprintf(sql, sizeof sql,
             "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() "
             "AND query "
             "LIKE '%%\"%.*s.events\"'",
             (int)strcspn(names, "&"), names);
    PGconn *conn = PQconnectdb(at->url); /* without our own parameters */
    expect_int(PQstatus(conn), CONNECTION_OK);
    PGresult *result = PQexec(conn, sql);
    expect_int(PQresultStatus(result), PGRES_TUPLES_OK);
    int count = PQntuples(result);
    PQclear(result);
    PQfinish(conn);
    return count;
}
