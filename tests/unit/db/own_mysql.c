/* SPDX-License-Identifier: MIT */
/* Starting the servers with tools/servers, and the short ways of the tests. */
#include "own_mysql.h"

#include <limits.h>
#include <support/test_store.h>
#include <time.h>
#include <unistd.h>

hf_error err;
static own_server servers[] = {{.name = "mariadb", .mariadb = true}, {.name = "mysql"}};
enum { SERVERS = sizeof servers / sizeof *servers };
static char folder[PATH_MAX];

/* ---- the servers ---- */

static void note_line(const char *line)
{
    for (size_t i = 0; i < SERVERS; i++) {
        own_server *it = &servers[i];
        const char *name = it->mariadb ? "HF_TEST_MARIADB" : "HF_TEST_MYSQL",
                   *value = line + strlen(name);
        if (strncmp(line, name, strlen(name)) != 0)
            continue;
        if (sscanf(value, "=%255s", it->url) == 1)
            sscanf(strstr(it->url, "socket="), "socket=%127s", it->socket);
        else if (sscanf(value, "_TCP=%255s", it->tcp) == 1)
            it->port = (int)strtol(strrchr(it->tcp, ':') + 1, NULL, 10);
    }
}

static bool start_servers(void)
{
    char command[PATH_MAX * 3], line[512];
    const char *root = getenv("HF_SOURCE_ROOT");
    snprintf(folder, sizeof folder, "%s/servers", scratch_folder());
    snprintf(command, sizeof command, "'%s/tools/servers' start '%s' mariadb mysql --while %d",
             root == NULL ? "." : root, folder, (int)getpid());
    FILE *pipe = popen(command, "r");
    while (pipe != NULL && fgets(line, sizeof line, pipe) != NULL)
        note_line(line);
    bool good = pipe != NULL && pclose(pipe) == 0;
    for (size_t i = 0; i < SERVERS; i++) {
        snprintf(command, sizeof command, "%s/%s.pid", folder, servers[i].name);
        FILE *file = fopen(command, "r");
        good = good && file != NULL && fscanf(file, "%d", &servers[i].pid) == 1;
        if (file != NULL)
            fclose(file);
    }
    return good;
}

static void stop_servers(void)
{
    char command[PATH_MAX * 2];
    const char *root = getenv("HF_SOURCE_ROOT");
    snprintf(command, sizeof command, "'%s/tools/servers' stop '%s'", root == NULL ? "." : root,
             folder);
    if (system(command) != 0)
        fprintf(stderr, "the servers can't be stopped\n");
}

int own_mysql_run(const char *group, const own_test *tests, size_t count, int argc, char **argv)
{
    static char names[SERVERS * 64][128];
    struct CMUnitTest units[SERVERS * 64];
    size_t chosen = 0;
    for (size_t i = 0; i < SERVERS * count && i < SERVERS * 64; i++) {
        const own_server *at = &servers[i / count];
        snprintf(names[i], sizeof names[i], "%s: %s", at->name, tests[i % count].name);
        if (argc < 2 || strstr(names[i], argv[1]) != NULL)
            units[chosen++] = (struct CMUnitTest){names[i], tests[i % count].body, NULL, NULL,
                                                  (void *)(uintptr_t)at};
    }
    if (!start_servers()) {
        fprintf(stderr, "tools/servers can't start MariaDB and MySQL\n");
        return 1;
    }
    int failed = _cmocka_run_group_tests(group, units, chosen, NULL, NULL);
    stop_servers();
    return failed;
}

/* ---- short ways ---- */

hf_db *connect_with(const char *url, const hf_db_options *options)
{
    hf_db *db = NULL;
    expect(HF_OK, hf_db_connect(&hf_db_mysql, url, options, &db, &err), err);
    return db;
}

hf_db *open_db(const own_server *at)
{
    return connect_with(at->url, NULL);
}

const char *ask(hf_db *db, const char *sql)
{
    static char answers[4][1024];
    static unsigned next;
    char *answer = answers[next++ % 4];
    expect(HF_OK, hf_db_ask(db, sql, answer, sizeof *answers, &err), err);
    return answer;
}

void run(hf_db *db, const char *sql)
{
    expect(HF_OK, hf_db_run(db, sql, &err), err);
}

hf_stmt *stmt(hf_db *db, const char *sql)
{
    hf_stmt *it = NULL;
    expect(HF_OK, hf_stmt_new(db, sql, &it, &err), err);
    return it;
}

bool step(hf_stmt *it)
{
    bool row = false;
    expect(HF_OK, hf_stmt_step(it, &row, &err), err);
    return row;
}

void done(hf_stmt *it)
{
    expect(HF_OK, hf_stmt_run(it, &err), err);
}

int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000) + now.tv_nsec / 1000000;
}

void nap_ms(int64_t ms)
{
    nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

unsigned long id_of(hf_db *db)
{
    return strtoul(ask(db, "SELECT CONNECTION_ID()"), NULL, 10);
}

void wait_for_state(hf_db *db, unsigned long id, const char *part)
{
    char sql[256];
    const char *text = "";
    snprintf(sql, sizeof sql,
             "SELECT CONCAT(COALESCE(STATE, ''), ' | ', COALESCE(INFO, '')) FROM "
             "information_schema.PROCESSLIST "
             "WHERE ID = %lu",
             id);
    for (int i = 0; i < 4000; i++, nap_ms(10))
        if (strstr(text = ask(db, sql), part) != NULL)
            return;
    check_failed(__FILE__, __LINE__, "connection %lu does not come to \"%s\" but is at \"%s\"", id,
                 part, text);
}

void wait_for_lock(hf_db *db, unsigned long id)
{
    char sql[160];
    snprintf(sql, sizeof sql,
             "SELECT COUNT(*) FROM information_schema.INNODB_TRX WHERE trx_state = 'LOCK WAIT'"
             " AND trx_mysql_thread_id = %lu",
             id);
    /* the server looks again only if nobody has asked for a tenth of a second */
    for (int i = 0; i < 200; i++, nap_ms(150))
        if (strcmp(ask(db, sql), "1") == 0)
            return;
    check_failed(__FILE__, __LINE__, "connection %lu does not come to wait for a lock", id);
}

static void *own_mysql_carry_out(void *context)
{
    task *it = context;
    it->status = hf_db_run(it->db, it->sql, &it->err);
    it->failure = hf_db_failure(it->db);
    return NULL;
}

void start(task *it, hf_db *db, const char *sql)
{
    *it = (task){.db = db, .sql = sql};
    expect_int(pthread_create(&it->thread, NULL, own_mysql_carry_out, it), 0);
}

hf_status finish(task *it)
{
    expect_int(pthread_join(it->thread, NULL), 0);
    return it->status;
}

MYSQL *app_open(const own_server *at, unsigned long flags)
{
    MYSQL *app = mysql_init(NULL);
    if (mysql_real_connect(app, NULL, "root", "", "test", 0, at->socket, flags) == NULL)
        check_failed(__FILE__, __LINE__, "the application can't connect: %s", mysql_error(app));
    return app;
}

void app_run(MYSQL *app, const char *sql)
{
    if (mysql_query(app, sql) != 0)
        check_failed(__FILE__, __LINE__, "%s: %s", sql, mysql_error(app));
    mysql_free_result(mysql_store_result(app));
}
