/* SPDX-License-Identifier: MIT */
/* Starting holdfast serve. The rates that it allows are set so high that they are judged, but never
 * met. */
#include "served.h"

#include "ours.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define NO_LIMIT "1000000"

static void fill_store(const bench *b, const char *data)
{
    char url[BENCH_PATH_SIZE + 64];
    snprintf(url, sizeof url, "sqlite:%s/holdfast.db", data);
    ours *filler = ours_open(b, url);
    ours_visit_all(filler);
    ours_close(filler);
}

static void served_read_token(served *s, const char *data)
{
    char path[BENCH_PATH_SIZE + 64];
    snprintf(path, sizeof path, "%s/admin-token", data);
    FILE *file = fopen(path, "r");
    if (file == NULL || fgets(s->token, sizeof s->token, file) == NULL)
        bench_die("%s can't be read: %s", path, strerror(errno));
    s->token[strcspn(s->token, "\r\n")] = '\0';
    fclose(file);
}

served *served_start(const bench *b, const char *name, const char *store)
{
    char data[BENCH_PATH_SIZE];
    served *s = calloc(1, sizeof *s);
    if (s == NULL)
        bench_die("out of memory");
    snprintf(data, sizeof data, "%.900s/%s", b->dir, name);
    if (mkdir(data, 0700) != 0)
        bench_die("%s can't be made: %s", data, strerror(errno));
    if (store == SERVED_WORKED)
        fill_store(b, data);
    bool own = store == SERVED_WORKED || store[0] == '\0';
    const char *words[] = {"holdfast",
                           "serve",
                           "--data",
                           data,
                           "--listen",
                           "127.0.0.1:0",
                           "--log",
                           "json",
                           "--rate-session",
                           NO_LIMIT,
                           "--burst-session",
                           NO_LIMIT,
                           "--connections-address",
                           "0",
                           own ? NULL : "--store",
                           store,
                           NULL};
    s->program = child_start("holdfast serve", words);
    served_read_token(s, data);
    s->clients = lockers_new(b);
    lockers_open_sessions(s->clients, s->program->address, s->token);
    return s;
}

void served_stop(served *s)
{
    if (s == NULL)
        return;
    lockers_free(s->clients);
    child_stop(s->program);
    explicit_bzero(s->token, sizeof s->token);
    free(s);
}

load *served_load(const served *s, const char *name, const load_talk *talk, size_t units,
                  size_t connections)
{
    return load_open(&(load_settings){.name = name,
                                      .address = s->program->address,
                                      .talk = talk,
                                      .context = s->clients,
                                      .connections = connections,
                                      .units = units,
                                      .server = s->program->pid});
}
