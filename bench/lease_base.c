/* SPDX-License-Identifier: MIT */
/* Leases by hand, as a programmer would write them with each client library: PostgreSQL's advisory
 * locks by prepared statements, GET_LOCK by text, and for Redis SET NX PX with a script that
 * compares and deletes. No fence, no watchdog, no queue. */
#include "leases.h"

#include "redis_release.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef BENCH_POSTGRES
#include <libpq-fe.h>
#endif
#ifdef BENCH_MYSQL
#include <mysql.h>
#endif
#ifdef BENCH_HIREDIS
#include <hiredis/hiredis.h>
#endif

struct lease_base {
    bool (*pair)(lease_base *base, int64_t key);
#ifdef BENCH_POSTGRES
    PGconn *postgres;
#endif
#ifdef BENCH_MYSQL
    MYSQL *mysql;
#endif
#ifdef BENCH_HIREDIS
    redisContext *redis;
    char script[48];
#endif
};

#ifdef BENCH_POSTGRES
static bool postgres_one(PGconn *conn, const char *name, int64_t key)
{
    uint64_t net = __builtin_bswap64((uint64_t)key);
    const char *value = (const char *)&net;
    PGresult *result = PQexecPrepared(conn, name, 1, &value, &(int){8}, &(int){1}, 1);
    bool good = PQresultStatus(result) == PGRES_TUPLES_OK && PQgetvalue(result, 0, 0)[0] == 1;
    PQclear(result);
    return good;
}

static bool postgres_pair(lease_base *base, int64_t key)
{
    return postgres_one(base->postgres, "take", key) && postgres_one(base->postgres, "give", key);
}

static void lease_base_postgres_open(lease_base *base, const char *url)
{
    base->pair = postgres_pair;
    base->postgres = PQconnectdb(url);
    PQclear(PQprepare(base->postgres, "take", "SELECT pg_try_advisory_lock($1)", 1, &(Oid){20}));
    PQclear(PQprepare(base->postgres, "give", "SELECT pg_advisory_unlock($1)", 1, &(Oid){20}));
}
#endif

#ifdef BENCH_MYSQL
static bool mysql_one(MYSQL *conn, const char *call, const char *more, int64_t key)
{
    char text[128];
    int size = snprintf(text, sizeof text, "SELECT %s('bench-%lld'%s)", call, (long long)key, more);
    if (mysql_real_query(conn, text, (unsigned long)size) != 0)
        return false;
    MYSQL_RES *result = mysql_store_result(conn);
    MYSQL_ROW row = result == NULL ? NULL : mysql_fetch_row(result);
    bool good = row != NULL && row[0] != NULL && row[0][0] == '1';
    mysql_free_result(result);
    return good;
}

static bool mysql_pair(lease_base *base, int64_t key)
{
    return mysql_one(base->mysql, "GET_LOCK", ", 0", key) &&
           mysql_one(base->mysql, "RELEASE_LOCK", "", key);
}

static void mysql_open(lease_base *base, const char *url)
{
    const char *socket = strstr(url, "socket=");
    base->pair = mysql_pair;
    base->mysql = mysql_init(NULL);
    if (socket == NULL ||
        mysql_real_connect(base->mysql, NULL, "root", NULL, "test", 0, socket + 7, 0) == NULL)
        bench_die("MariaDB by hand: %s", mysql_error(base->mysql));
}
#endif

#ifdef BENCH_HIREDIS
static bool redis_pair(lease_base *base, int64_t key)
{
    redisReply *taken = redisCommand(
        base->redis, "SET bench:%lld 0123456789abcdef0123456789abcdef NX PX 10000", (long long)key);
    bool good = taken != NULL && taken->type == REDIS_REPLY_STATUS;
    freeReplyObject(taken);
    redisReply *given =
        redisCommand(base->redis, "EVALSHA %s 1 bench:%lld 0123456789abcdef0123456789abcdef",
                     base->script, (long long)key);
    good = good && given != NULL && given->integer == 1;
    freeReplyObject(given);
    return good;
}

static void lease_base_redis_open(lease_base *base, const char *url)
{
    char host[64] = "";
    int port = 6379;
    base->pair = redis_pair;
    if (sscanf(url, "redis://%63[^:/]:%d", host, &port) < 1)
        bench_die("Redis by hand needs redis://HOST:PORT");
    base->redis = redisConnect(host, port);
    redisReply *loaded = redisCommand(base->redis, "SCRIPT LOAD %s", redis_release);
    if (loaded == NULL || loaded->type != REDIS_REPLY_STRING)
        bench_die("Redis by hand: %s", base->redis->errstr);
    snprintf(base->script, sizeof base->script, "%s", loaded->str);
    freeReplyObject(loaded);
}
#endif

lease_base *lease_base_open(const char *url)
{
    lease_base *base = calloc(1, sizeof *base);
    if (base == NULL)
        bench_die("out of memory");
#ifdef BENCH_POSTGRES
    if (strncmp(url, "postgres", 8) == 0)
        lease_base_postgres_open(base, url);
#endif
#ifdef BENCH_MYSQL
    if (strncmp(url, "mysql", 5) == 0)
        mysql_open(base, url);
#endif
#ifdef BENCH_HIREDIS
    if (strncmp(url, "redis", 5) == 0)
        lease_base_redis_open(base, url);
#endif
    if (base->pair == NULL) {
        free(base);
        return NULL;
    }
    return base;
}

void lease_base_close(lease_base *base)
{
#ifdef BENCH_POSTGRES
    PQfinish(base->postgres);
#endif
#ifdef BENCH_MYSQL
    if (base->mysql != NULL)
        mysql_close(base->mysql);
#endif
#ifdef BENCH_HIREDIS
    if (base->redis != NULL)
        redisFree(base->redis);
#endif
    free(base);
}

double lease_base_pairs(void *context, double seconds)
{
    lease_base *base = context;
    int64_t pairs = 0;
    double start = bench_now(), end;
    do {
        if (!base->pair(base, pairs % 1000))
            bench_die("a lease by hand was refused");
        pairs++;
        end = bench_now();
    } while (end - start < seconds && !bench_stopped());
    return (double)pairs / (end - start);
}
