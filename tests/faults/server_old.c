/* SPDX-License-Identifier: MIT */
/* Tables of an older version; see server_old.h. */
#include "faults/server_old.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int64_t old_version(const char *url)
{
    app *a = app_connect(url);
    int64_t version = app_number(a, "SELECT value FROM {meta} WHERE name = 'schema'");
    app_close(a);
    return version;
}

/* A text of sql/, with this namespace in it, as statements one after another. */
static void run_file(const char *url, const char *file, const char *names)
{
    char path[4096], line[1024], statement[8192] = "";
    const char *root = getenv("HF_SOURCE_ROOT");
    snprintf(path, sizeof path, "%s/sql/%s/%s", root ? root : ".",
             input_server->postgres ? "postgres" : "mysql", file);
    FILE *in = fopen(path, "r");
    if (!in)
        check_failed(__FILE__, __LINE__, "%s can't be read", path);
    app *a = app_connect(url);
    while (fgets(line, sizeof line, in)) {
        size_t used = strlen(statement);
        if (strncmp(line, "--", 2) == 0)
            continue;
        for (const char *at = line; *at; at++) {
            if (strncmp(at, "{ns}", 4) == 0) {
                used += (size_t)snprintf(statement + used, sizeof statement - used, "%s", names);
                at += 3;
            } else if (used + 1 < sizeof statement) {
                statement[used++] = *at;
                statement[used] = '\0';
            }
        }
        if (used > 1 && strcmp(statement + used - 2, ";\n") == 0) {
            statement[used - 2] = '\0';
            if (!app_try(a, "%s", statement))
                check_failed(__FILE__, __LINE__, "%s: %s", statement, app_error(a));
            statement[0] = '\0';
        }
    }
    fclose(in);
    app_close(a);
}

/* The tables as the first version made them, with a lock in them. */
void old_make(char *url, int64_t *fence, hf_credentials *alice)
{
    const char *names = input_place(url);
    if (input_server->postgres)
        input_do(url, "CREATE SCHEMA %s", names);
    run_file(url, "schema.sql", names);
    /* This program puts a lock in, and works with version 2 only: what the step adds is taken away again. */
    run_file(url, "schema_2.sql", names);
    input_do(url, "INSERT INTO {meta} (name, value) VALUES ('schema', '2')");
    hf_store *store = input_open(url);
    *alice = newcomer(store, "alice", HOUR);
    *fence = must(HF_OK, store, ACQUIRE, BY(*alice), ON("policy", "1"), .purpose = "renewal").lock.fence;
    must(HF_OK, store, TYPE_SET, .type = "claim", .policy = HF_POLICY_READ_WRITE);
    hf_store_close(store);
    input_do(url, "DROP TABLE {token}");
    input_do(url, "UPDATE {meta} SET value = '1' WHERE name = 'schema'");
}
