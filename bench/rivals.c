/* SPDX-License-Identifier: MIT */
/* What the rivals share. */
#include "rivals.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

rival *rival_new(const bench *b, const char *url, const char *scheme, const char *unix_scheme)
{
    rival *r = calloc(1, sizeof *r);
    if (r == NULL)
        bench_die("out of memory");
    talk_names_open(&r->names, b);
    if (unix_scheme != NULL && strncmp(url, unix_scheme, strlen(unix_scheme)) == 0)
        snprintf(r->address, sizeof r->address, "unix:%s", url + strlen(unix_scheme));
    else if (strncmp(url, scheme, strlen(scheme)) == 0)
        snprintf(r->address, sizeof r->address, "%.*s", (int)strcspn(url + strlen(scheme), "/"),
                 url + strlen(scheme));
    else
        bench_die("'%s' does not begin with %s", url, scheme);
    return r;
}

void rival_connect(rival *r, const char *name, const load_talk *talk)
{
    r->load = load_open(&(load_settings){.name = name,
                                         .address = r->address,
                                         .talk = talk,
                                         .context = r,
                                         .connections = LOAD_CONNECTIONS,
                                         .units = 1,
                                         .server = r->server});
}

load *rival_load(rival *r)
{
    return r->load;
}

void rival_close(rival *r)
{
    if (r == NULL)
        return;
    load_close(r->load);
    if (r->undo != NULL)
        r->undo(r);
    talk_names_close(&r->names);
    free(r);
}
