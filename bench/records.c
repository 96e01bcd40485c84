/* SPDX-License-Identifier: MIT */
/* Load, change and commit of one record, beside the same in prepared SQL by hand, in turns in one
 * run: what the unit of work costs. Prints the middle of all turns, and the range of the ratios.
 *   bench-records sqlite:PATH | postgres://... [ROUNDS]
 * Or by several clients on the table that is there, for bench/records.py: says that it is ready,
 * and after each line that it reads how many were saved in that time.
 *   bench-records URL --clients N SECONDS */
#include <holdfast/holdfast.h>
#include <libpq-fe.h>
#include <pthread.h>
#include <sched.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { RECORDS_TURN = 200, RECORDS_ROWS = 1000, RECORDS_CLIENTS = 16, RECORDS_ROUNDS = 1000 };

static const hf_table records_tables[] = {{.name = "bench_customer", .version = "version"}};

static const char records_schema[] =
    "DROP TABLE IF EXISTS bench_customer;"
    "CREATE TABLE bench_customer (id INTEGER PRIMARY KEY, name VARCHAR(40), phone VARCHAR(40),"
    " city VARCHAR(40), visits INTEGER, version INTEGER NOT NULL DEFAULT 1);";

typedef struct records_hand {
    sqlite3 *file;
    sqlite3_stmt *load, *save;
    PGconn *server;
} records_hand;

static int64_t records_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static void records_die(const char *why)
{
    fprintf(stderr, "%s\n", why);
    exit(1);
}

/* ---- by hand ---- */

static void records_run(records_hand *hand, const char *sql)
{
    if (hand->file != NULL && sqlite3_exec(hand->file, sql, NULL, NULL, NULL) != SQLITE_OK)
        records_die(sqlite3_errmsg(hand->file));
    if (hand->file != NULL)
        return;
    PGresult *result = PQexec(hand->server, sql);
    if (PQresultStatus(result) != PGRES_COMMAND_OK)
        records_die(PQerrorMessage(hand->server));
    PQclear(result);
}

static const char records_load_sql[] =
    "SELECT id, name, phone, city, visits, version FROM bench_customer WHERE id = $1";
static const char records_save_sql[] = "UPDATE bench_customer SET visits = $1, version = version + "
                                       "1 WHERE id = $2 AND version = $3";

static void records_open_hand(records_hand *hand, const char *url)
{
    char sql[160];
    if (strncmp(url, "sqlite:", 7) == 0) {
        if (sqlite3_open(url + 7, &hand->file) != SQLITE_OK)
            records_die(sqlite3_errmsg(hand->file));
        sqlite3_busy_timeout(hand->file, 5000);
        sqlite3_exec(hand->file, "PRAGMA journal_mode = WAL", NULL, NULL, NULL);
    } else if (PQstatus(hand->server = PQconnectdb(url)) != CONNECTION_OK)
        records_die(PQerrorMessage(hand->server));
    records_run(hand, records_schema);
    records_run(hand, "BEGIN");
    for (int i = 1; i <= RECORDS_ROWS; i++) {
        snprintf(sql, sizeof sql,
                 "INSERT INTO bench_customer VALUES (%d, 'Meier & Co', '031 555', 'Bern', 0, 1)",
                 i);
        records_run(hand, sql);
    }
    records_run(hand, "COMMIT");
    if (hand->file != NULL) {
        sqlite3_prepare_v2(hand->file, records_load_sql, -1, &hand->load, NULL);
        sqlite3_prepare_v2(hand->file, records_save_sql, -1, &hand->save, NULL);
        return;
    }
    PQclear(PQprepare(hand->server, "load", records_load_sql, 1, (Oid[]){23}));
    PQclear(PQprepare(hand->server, "save", records_save_sql, 3, (Oid[]){23, 23, 23}));
}

/* A function of its own, so that a profile tells it from the other way. */
__attribute__((noinline)) static bool records_by_hand_file(records_hand *hand, int id)
{
    sqlite3_bind_int(hand->load, 1, id);
    if (sqlite3_step(hand->load) != SQLITE_ROW)
        return false;
    int visits = sqlite3_column_int(hand->load, 4), version = sqlite3_column_int(hand->load, 5);
    sqlite3_reset(hand->load);
    sqlite3_bind_int(hand->save, 1, visits + 1);
    sqlite3_bind_int(hand->save, 2, id);
    sqlite3_bind_int(hand->save, 3, version);
    bool good = sqlite3_step(hand->save) == SQLITE_DONE && sqlite3_changes(hand->file) == 1;
    sqlite3_reset(hand->save);
    return good;
}

static bool records_by_hand_server(records_hand *hand, int id)
{
    char text[3][24];
    const char *values[] = {text[0], text[1], text[2]};
    snprintf(text[0], sizeof text[0], "%d", id);
    PGresult *result = PQexecPrepared(hand->server, "load", 1, values, NULL, NULL, 0);
    if (PQntuples(result) != 1)
        return false;
    snprintf(text[2], sizeof text[2], "%s", PQgetvalue(result, 0, 5));
    snprintf(text[0], sizeof text[0], "%ld", strtol(PQgetvalue(result, 0, 4), NULL, 10) + 1);
    snprintf(text[1], sizeof text[1], "%d", id);
    PQclear(result);
    result = PQexecPrepared(hand->server, "save", 3, values, NULL, NULL, 0);
    bool good = strcmp(PQcmdTuples(result), "1") == 0;
    PQclear(result);
    return good;
}

/* ---- by records ---- */

__attribute__((noinline)) static bool records_by_unit(hf_tables *tables, int id)
{
    char name[32];
    hf_unit *unit = NULL;
    hf_record *record = NULL;
    hf_error err;
    snprintf(name, sizeof name, "bench_customer/%d", id);
    hf_status status = hf_unit_open(tables, &(hf_unit_options){.user = "bench"}, &unit, &err);
    if (status == HF_OK)
        status = hf_unit_find(unit, name, &record, &err);
    if (status == HF_OK)
        status = hf_record_set(record, "visits",
                               HF_NUMBER(hf_record_get(record, "visits")->number + 1), &err);
    if (status == HF_OK)
        status = hf_unit_commit(unit, NULL, &err);
    hf_unit_free(unit);
    if (status != HF_OK)
        fprintf(stderr, "%s\n", err.message);
    return status == HF_OK;
}

/* All rows by one bulk; by units one after the other it is RECORDS_ROWS times a unit's time. */
static int64_t records_by_bulk(records_hand *hand, hf_tables *tables)
{
    static char names[RECORDS_ROWS][8];
    static const char *keys[RECORDS_ROWS];
    static int64_t versions[RECORDS_ROWS];
    static hf_field values[RECORDS_ROWS];
    static const char *const columns[] = {"visits"};
    hf_bulk bulk = {"bench_customer", columns, 1, keys, versions, values, RECORDS_ROWS, false};
    hf_error err;
    records_run(hand, "UPDATE bench_customer SET version = 1");
    for (int i = 0; i < RECORDS_ROWS; i++) {
        snprintf(names[i], sizeof names[i], "%d", i + 1);
        keys[i] = names[i];
        versions[i] = 1;
        values[i] = HF_NUMBER(i);
    }
    int64_t began = records_now();
    if (hf_tables_bulk(tables, &(hf_unit_options){.user = "bench"}, &bulk, NULL, NULL, &err) !=
        HF_OK)
        records_die(err.message);
    return records_now() - began;
}

/* ---- several clients ---- */

typedef struct records_client {
    hf_tables *tables;
    int first, last; /* records of its own */
    int64_t until_us, done;
    bool good;
} records_client;

static void *records_client_run(void *context)
{
    records_client *it = context;
    int id = it->first;
    for (it->good = true; it->good && records_now() < it->until_us; it->done += it->good) {
        it->good = records_by_unit(it->tables, id);
        id = id < it->last ? id + 1 : it->first;
    }
    return NULL;
}

/* One round: how many were saved; -1: one failed. */
static int64_t records_round(hf_tables *tables, int count, double seconds)
{
    records_client clients[RECORDS_CLIENTS] = {0};
    pthread_t threads[RECORDS_CLIENTS];
    int64_t done = 0, until = records_now() + (int64_t)(seconds * 1e6);
    bool good = true;
    for (int i = 0; i < count; i++) {
        int share = RECORDS_ROWS / count;
        clients[i] = (records_client){tables, i * share + 1, (i + 1) * share, until, 0, false};
        if (pthread_create(&threads[i], NULL, records_client_run, &clients[i]) != 0)
            records_die("A thread can't be started.");
    }
    for (int i = 0; i < count; i++) {
        pthread_join(threads[i], NULL);
        done += clients[i].done;
        good = good && clients[i].good;
    }
    return good ? done : -1;
}

static int records_clients(const char *url, int count, double seconds)
{
    hf_tables *tables = NULL;
    hf_error err;
    char line[8];
    int64_t done = 0;
    if (count < 1 || count > RECORDS_CLIENTS)
        records_die("There are 1 to 16 clients.");
    if (hf_tables_open(url, records_tables, 1, NULL, &tables, &err) != HF_OK)
        records_die(err.message);
    puts("ready");
    fflush(stdout);
    while (done >= 0 && fgets(line, sizeof line, stdin) != NULL) {
        done = records_round(tables, count, seconds);
        printf("%lld\n", (long long)done);
        fflush(stdout);
    }
    hf_tables_close(tables);
    return done >= 0 ? 0 : 1;
}

/* ---- in turns ---- */

/* To wake a server on another processor may take longer than all that it does, and which of the two
 * servers is there is chance: client and servers share one processor. False: the servers are
 * somebody else's. */
static bool records_share_processor(records_hand *hand)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET((size_t)sched_getcpu(), &one);
    bool good = sched_setaffinity(0, sizeof one, &one) == 0;
    PGresult *result =
        hand->server == NULL
            ? NULL
            : PQexec(hand->server, "SELECT pid FROM pg_stat_activity WHERE pid = pg_backend_pid() "
                                   "OR application_name = 'holdfast'");
    for (int i = 0; good && i < PQntuples(result); i++)
        good = sched_setaffinity((pid_t)strtol(PQgetvalue(result, i, 0), NULL, 10), sizeof one,
                                 &one) == 0;
    PQclear(result);
    return good;
}

static int records_order(const void *a, const void *b)
{
    double one = *(const double *)a, other = *(const double *)b;
    return (one > other) - (one < other);
}

/* The middle one; puts them in order. Turns in which something else kept the machine busy don't
 * weigh more than others. */
static double records_middle(double *all, int count)
{
    qsort(all, (size_t)count, sizeof *all, records_order);
    return all[count / 2];
}

int main(int argc, char **argv)
{
    if (argc == 5 && strcmp(argv[2], "--clients") == 0)
        return records_clients(argv[1], (int)strtol(argv[3], NULL, 10), strtod(argv[4], NULL));
    records_hand hand = {0};
    hf_tables *tables = NULL;
    hf_error err;
    static double spent[2][RECORDS_ROUNDS], ratios[RECORDS_ROUNDS]; /* us a record, by turns */
    int rounds = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 20, id = 0;
    if (rounds < 2 || rounds > RECORDS_ROUNDS)
        records_die("There are 2 to 1000 rounds.");
    if (argc < 2)
        records_die("bench-records URL [ROUNDS], or URL --clients N SECONDS");
    records_open_hand(&hand, argv[1]);
    if (hf_tables_open(argv[1], records_tables, 1, NULL, &tables, &err) != HF_OK)
        records_die(err.message);
    if (!records_share_processor(&hand))
        puts("The server can't be put on this processor; the times depend on where it is.");
    bool good = true;
    for (int round = 0; good && round < 2 * rounds; round++) {
        int64_t began = records_now();
        for (int i = 0; good && i < RECORDS_TURN; i++) {
            id = id % RECORDS_ROWS + 1;
            good = round % 2 == 1      ? records_by_unit(tables, id)
                   : hand.file != NULL ? records_by_hand_file(&hand, id)
                                       : records_by_hand_server(&hand, id);
        }
        if (round >= 2) /* the first turn of each warms up */
            spent[round % 2][round / 2 - 1] = (double)(records_now() - began) / RECORDS_TURN;
    }
    rounds--;
    for (int i = 0; i < rounds; i++)
        ratios[i] = spent[0][i] / spent[1][i];
    int64_t bulk_us = good ? records_by_bulk(&hand, tables) : 0;
    hf_tables_close(tables);
    double hand_us = records_middle(spent[0], rounds), unit_us = records_middle(spent[1], rounds),
           ratio = records_middle(ratios, rounds);
    if (good)
        printf("by hand %.1f us, by records %.1f us, %.2f of its speed (%.2f to %.2f)\n", hand_us,
               unit_us, ratio, ratios[0], ratios[rounds - 1]);
    if (good)
        printf("bulk %.1f us a record, %.0f times as fast\n", (double)bulk_us / RECORDS_ROWS,
               unit_us * RECORDS_ROWS / (double)bulk_us);
    return good ? 0 : 1;
}
