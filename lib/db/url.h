/* SPDX-License-Identifier: MIT */
/* A store's URL before a client library sees it: holdfast's own parameters are taken out. And the
 * small tools for whoever reads the rest of it. No sentence repeats what may be a password. */
#ifndef HF_DB_URL_H
#define HF_DB_URL_H

#include "base/text.h"

#include <holdfast/status.h>

enum { HF_NAMES_SIZE = 33 }; /* a namespace has at most 31 bytes, as with SQLite */

typedef struct hf_url {
    char *url;                 /* without holdfast's own parameters */
    char names[HF_NAMES_SIZE]; /* namespace=NAME; "holdfast" when not given */
    bool pooler;               /* pooler=transaction */
    bool pooler_session;       /* pooler=session */
    char *durability;          /* durability=WORD; NULL when not given */
    unsigned replicas;         /* replicas=N; 0 when not given */
    char *password;            /* the first line of password_file=PATH; NULL when not given */
} hf_url;

/* Reads a URL, complete with its scheme. HF_INVALID: one of holdfast's parameters makes no sense or
 * is there twice, or others may read the password file. HF_UNAVAILABLE: the file can't be read.
 * Whatever it came to, hf_url_done may be called. */
hf_status hf_url_read(const char *url, hf_url *out, hf_error *err);

/* Frees what it holds; secrets are wiped. Accepts NULL. */
void hf_url_done(hf_url *url);

/* Whether it can be the name of a schema, or the prefix of tables; err says what a namespace is. */
bool hf_url_names_ok(const char *names, hf_error *err);

/* ---- for readers of the rest ---- */

/* What stands after the '?', NULL when there is nothing. A '?' in a password is none. */
const char *hf_url_query(const char *url);

/* The next NAME=VALUE of a query, as they stand there; false at the end. *at begins at
 * hf_url_query's. */
bool hf_url_next(const char **at, hf_slice *name, hf_slice *value);

/* With %XX resolved; hf_free it. HF_INVALID (with `what` in the sentence): a bad escape, or a NUL.
 * */
hf_status hf_url_decode(hf_slice text, const char *what, char **out, hf_error *err);

/* The first line of a file that holds a secret (`what` in the sentence: "password"); hf_url_wipe
 * it. HF_INVALID: there is none, or others may read the file. HF_UNAVAILABLE: it can't be read. */
hf_status hf_url_secret(const char *what, const char *path, char **out, hf_error *err);

/* Wipes and frees a secret. Accepts NULL. */
void hf_url_wipe(char *secret);

#endif
