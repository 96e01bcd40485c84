/* SPDX-License-Identifier: MIT */
/* A connection to any database by its URL: sqlite:PATH, postgres://..., mysql://... For those
 * who are no store: what looks at an application's own tables. */
#ifndef HF_DB_OPEN_H
#define HF_DB_OPEN_H

#include "db/db.h"
#include "db/url.h"

/* What a module with a driver exports besides its store. */
typedef struct hf_db_module_info {
    const char *version; /* HF_VERSION it was built with */
    const hf_db_driver *driver;
} hf_db_module_info;

#define HF_DB_MODULE_SYMBOL "hf_db_module"

/* Connects, to read: a SQLite file must be there, and nothing about it is changed. Of the
 * parameters that are holdfast's own, pooler and password_file count. HF_INVALID: the URL makes
 * no sense, or is of no database. HF_UNAVAILABLE: no connection, no file, or no module for it. */
hf_status hf_db_open_url(const char *url, hf_db **out, hf_error *err);

/* The same to change it; `names` is the URL's namespace. HF_NOT_FOUND: there is no such file. */
hf_status hf_db_open_to_change(const char *url, char names[HF_NAMES_SIZE], hf_db **out,
                               hf_error *err);

/* The driver that a URL asks for; its module is loaded. For pools. HF_INVALID: of no database. */
hf_status hf_db_driver_of(const char *url, const hf_db_driver **out, hf_error *err);

/* Whether it begins as the URL of a database does. */
bool hf_db_is_url(const char *url);

#endif
