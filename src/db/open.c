/* SPDX-License-Identifier: MIT */
/* SQLite is here; the others' drivers come with their modules. */
#include "db/open.h"

#include "base/error.h"
#include "base/module.h"
#include "db/sqlite.h"
#include "db/url.h"

#include <string.h>

/* Every database there is; a module each but for SQLite. */
static const struct {
    const char *scheme;
    const char *module;
} open_databases[] = {
    {"sqlite:", NULL}, {"postgres:", "postgres"}, {"postgresql:", "postgres"}, {"mysql:", "mysql"}};

static hf_status open_connect(const char *module, const char *url, hf_db **out, hf_error *err)
{
    const void *symbol = NULL;
    hf_url parts = {0};
    hf_status status = hf_module_load(module, HF_DB_MODULE_SYMBOL, &symbol, err);
    if (status == HF_OK)
        status = hf_url_read(url, &parts, err);
    if (status == HF_OK) {
        const hf_db_module_info *info = symbol;
        hf_db_options options = {.pooler = parts.pooler, .password = parts.password};
        status = hf_db_connect(info->driver, parts.url, &options, out, err);
    }
    hf_url_done(&parts);
    return status;
}

hf_status hf_db_open_url(const char *url, hf_db **out, hf_error *err)
{
    for (size_t i = 0; i < sizeof open_databases / sizeof *open_databases; i++) {
        size_t size = strlen(open_databases[i].scheme);
        if (strncmp(url, open_databases[i].scheme, size) != 0)
            continue;
        return open_databases[i].module == NULL
                   ? hf_db_open(url + size, HF_DB_READ_ONLY, out, err)
                   : open_connect(open_databases[i].module, url, out, err);
    }
    return hf_fail(err, HF_INVALID,
                   "This is no database's URL; write sqlite:PATH, postgres://... or mysql://....");
}
