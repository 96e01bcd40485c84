/* SPDX-License-Identifier: MIT */
/* SQLite is here; the others' drivers come with their modules. */
#include "db/open.h"

#include "base/error.h"
#include "base/module.h"
#include "db/sqlite.h"
#include "db/url.h"

#include <string.h>
#include <unistd.h>

/* Every database there is; a module each but for SQLite. */
static const struct {
    const char *scheme;
    const char *module;
} open_databases[] = {
    {"sqlite:", NULL}, {"postgres:", "postgres"}, {"postgresql:", "postgres"}, {"mysql:", "mysql"}};

static hf_status open_driver(const char *module, const hf_db_driver **out, hf_error *err)
{
    const void *symbol = NULL;
    hf_status status = hf_module_load(module, HF_DB_MODULE_SYMBOL, &symbol, err);
    if (status == HF_OK)
        *out = ((const hf_db_module_info *)symbol)->driver;
    return status;
}

static hf_status open_connect(const char *module, const hf_url *url, hf_db **out, hf_error *err)
{
    const hf_db_driver *driver = NULL;
    hf_db_options options = {.pooler = url->pooler, .password = url->password};
    hf_status status = open_driver(module, &driver, err);
    return status != HF_OK ? status : hf_db_connect(driver, url->url, &options, out, err);
}

/* The row of the table above; -1: none. */
static int open_which(const char *url)
{
    for (size_t i = 0; i < sizeof open_databases / sizeof *open_databases; i++)
        if (strncmp(url, open_databases[i].scheme, strlen(open_databases[i].scheme)) == 0)
            return (int)i;
    return -1;
}

bool hf_db_is_url(const char *url)
{
    return open_which(url) >= 0;
}

static hf_status open_refuse(hf_error *err)
{
    return hf_fail(err, HF_INVALID,
                   "This is no database's URL; write sqlite:PATH, postgres://... or mysql://....");
}

hf_status hf_db_driver_of(const char *url, const hf_db_driver **out, hf_error *err)
{
    int which = open_which(url);
    if (which < 0)
        return open_refuse(err);
    if (open_databases[which].module != NULL)
        return open_driver(open_databases[which].module, out, err);
    *out = &hf_db_sqlite;
    return HF_OK;
}

hf_status hf_db_open_url(const char *url, hf_db **out, hf_error *err)
{
    int which = open_which(url);
    hf_url parts = {0};
    if (which < 0)
        return open_refuse(err);
    if (open_databases[which].module == NULL)
        return hf_db_open(url + strlen(open_databases[which].scheme), HF_DB_READ_ONLY, out, err);
    hf_status status = hf_url_read(url, &parts, err);
    if (status == HF_OK)
        status = open_connect(open_databases[which].module, &parts, out, err);
    hf_url_done(&parts);
    return status;
}

static hf_status db_open_file(const char *path, hf_db **out, hf_error *err)
{
    if (access(path, F_OK) != 0)
        return hf_fail(err, HF_NOT_FOUND, "There is no database at %s.", path);
    return hf_db_open(path, 0, out, err);
}

hf_status hf_db_open_to_change(const char *url, char names[HF_NAMES_SIZE], hf_db **out,
                               hf_error *err)
{
    int which = open_which(url);
    hf_url parts = {0};
    if (which < 0)
        return open_refuse(err);
    hf_status status = hf_url_read(url, &parts, err);
    if (status == HF_OK) {
        memcpy(names, parts.names, HF_NAMES_SIZE);
        status = open_databases[which].module == NULL
                     ? db_open_file(parts.url + strlen(open_databases[which].scheme), out, err)
                     : open_connect(open_databases[which].module, &parts, out, err);
    }
    hf_url_done(&parts);
    return status;
}
