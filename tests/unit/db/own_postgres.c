/* SPDX-License-Identifier: MIT */
/* The server of the tests of the PostgreSQL driver, and the short ways. */
#include "own_postgres.h"

#include <holdfast/limits.h>
#include <stdio.h>
#include <string.h>
#include <support/check.h>

static instance *server;
static char folder[256];

int own_postgres_start(void **state)
{
    (void)state;
    server = instance_start(INSTANCE_POSTGRES);
    const char *host = strstr(instance_url(server), "host=");
    if (host == NULL || sscanf(host, "host=%255[^&]", folder) != 1)
        check_failed(__FILE__, __LINE__, "The server's URL names no socket: %s",
                     instance_url(server));
    return 0;
}

int own_postgres_end(void **state)
{
    (void)state;
    instance_stop(server);
    return 0;
}

instance *own_postgres(void)
{
    return server;
}

const char *own_postgres_folder(void)
{
    return folder;
}

static char *next_buffer(size_t *size)
{
    static char buffers[8][HF_URL_MAX];
    static unsigned at;
    *size = sizeof buffers[0];
    return buffers[at++ % 8];
}

const char *own_postgres_url(const char *user, const char *name, const char *more)
{
    size_t size;
    char *url = next_buffer(&size);
    snprintf(url, size, "postgres://%s@/%s?host=%s&port=%d%s", user, name, folder,
             instance_port(server), more);
    return url;
}

const char *own_postgres_tcp_url(const char *user, const char *name, const char *more)
{
    size_t size;
    char *url = next_buffer(&size);
    snprintf(url, size, "postgres://%s@127.0.0.1:%d/%s?sslmode=disable%s", user,
             instance_port(server), name, more);
    return url;
}

/* ---- what the tests do with it ---- */

hf_error err;

hf_db *connect_with(const char *url, const hf_db_options *options)
{
    hf_db *db = NULL;
    expect(HF_OK, hf_db_connect(&hf_db_postgres, url, options, &db, &err), err);
    return db;
}

hf_db *open_db(void)
{
    return connect_with(own_postgres_url("postgres", "postgres", ""), &(hf_db_options){0});
}

const char *ask(hf_db *db, const char *sql)
{
    static char answers[4][512];
    static unsigned at;
    char *answer = answers[at++ % 4];
    expect(HF_OK, hf_db_ask(db, sql, answer, sizeof answers[0], &err), err);
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
