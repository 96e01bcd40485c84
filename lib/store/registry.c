/* SPDX-License-Identifier: MIT */
/* The door to all stores: the list of schemes, loading the module of one that stands outside the
 * library, and the checks every call passes before it reaches a store. */
#include "store/registry.h"

#include "base/error.h"
#include "base/module.h"
#include "base/seams.h"
#include "lock/batch.h"

#include <holdfast/mysql.h>
#include <holdfast/postgres.h>
#include <string.h>
#include <unistd.h>

/* Every store there is. One without a table of operations here is a module, loaded when a URL first
 * asks for it. */
static const struct {
    const char *scheme;
    const hf_store_ops *ops;
    const char *module;
} stores[] = {
    {"memory", &hf_store_memory, NULL}, {"sqlite", &hf_store_sqlite, NULL},
    {"trace+", &hf_store_trace, NULL}, /* trace+URL: writes every op to standard error */
    {"postgres", NULL, "postgres"},     {"postgresql", NULL, "postgres"},
    {"mysql", NULL, "mysql"},           {"http", NULL, "remote"},
    {"https", NULL, "remote"},          {"redis", NULL, "redis"},
    {"rediss", NULL, "redis"},          {"redis+unix", NULL, "redis"},
};

static hf_status registry_load_module(const char *name, const hf_store_module_info **out,
                                      hf_error *err)
{
    const void *info = NULL;
    hf_status status = hf_module_load(name, HF_STORE_MODULE_SYMBOL, &info, err);
    *out = info;
    return status;
}

/* The part of a URL that says which store: up to the colon, or "trace+" for a wrapper. */
static size_t registry_scheme_size(const char *url)
{
    if (strncmp(url, "trace+", 6) == 0)
        return 6;
    size_t size = strcspn(url, ":");
    return url[size] == ':' ? size : 0;
}

/* The table of operations for a URL, and what follows the scheme. */
static hf_status store_registry_find(const char *url, const hf_store_ops **ops, const char **rest,
                                     hf_error *err)
{
    static const char known[] = "sqlite:PATH, postgres://..., mysql://..., redis://..., "
                                "http://..., https://... and memory:";
    if (url == NULL || url[0] == '\0')
        return hf_fail(err, HF_INVALID, "No store was named; the stores are %s.", known);
    if (strlen(url) > HF_URL_MAX)
        return hf_fail(err, HF_INVALID, "The store's URL is longer than %d bytes.", HF_URL_MAX);
    size_t size = registry_scheme_size(url);
    for (size_t i = 0; i < sizeof stores / sizeof stores[0]; i++) {
        if (strlen(stores[i].scheme) != size || strncmp(stores[i].scheme, url, size) != 0)
            continue;
        *ops = stores[i].ops;
        const hf_store_module_info *info = NULL;
        hf_status status =
            *ops != NULL ? HF_OK : registry_load_module(stores[i].module, &info, err);
        if (info != NULL)
            *ops = info->ops;
        *rest = *ops != NULL && (*ops)->whole_url ? url : url + size + (url[size] == ':');
        return status;
    }
    /* A URL may carry a password, so no more than its scheme is repeated. */
    if (size == 0 || size > 32 || !hf_text_is_clean(url, size))
        return hf_fail(
            err, HF_INVALID,
            "The store's URL has no scheme: for a file write sqlite:PATH; the stores are %s.",
            known);
    return hf_fail(err, HF_INVALID, "\"%.*s:\" is no store; the stores are %s.", (int)size, url,
                   known);
}

hf_status hf_store_open(const char *url, hf_store **out, hf_error *err)
{
    const hf_store_ops *ops = NULL;
    const char *rest = NULL;
    hf_status status = store_registry_find(url, &ops, &rest, err);
    return status != HF_OK ? status : ops->open(rest, out, err);
}

hf_status hf_store_open_existing(const char *url, hf_store **out, hf_error *err)
{
    const hf_store_ops *ops = NULL;
    const char *rest = NULL;
    hf_status status = store_registry_find(url, &ops, &rest, err);
    if (status != HF_OK)
        return status;
    return ops->open_existing != NULL ? ops->open_existing(rest, out, err)
                                      : ops->open(rest, out, err);
}

static hf_status registry_wrap(const char *module, void *handle, const char *names, unsigned flags,
                               hf_store **out, hf_error *err)
{
    const hf_store_module_info *info = NULL;
    if (handle == NULL)
        return hf_fail(err, HF_INVALID, "No connection was given.");
    if (flags != 0)
        return hf_fail(err, HF_INVALID, "The flags must be 0.");
    hf_status status = registry_load_module(module, &info, err);
    return status != HF_OK ? status : info->wrap(handle, names, out, err);
}

hf_status hf_postgres_wrap(struct pg_conn *connection, const char *names, unsigned flags,
                           hf_store **out, hf_error *err)
{
    return registry_wrap("postgres", connection, names, flags, out, err);
}

hf_status hf_mysql_wrap(struct st_mysql *connection, const char *names, unsigned flags,
                        hf_store **out, hf_error *err)
{
    return registry_wrap("mysql", connection, names, flags, out, err);
}

static hf_status store_registry_install(const char *url, const hf_install_order *order,
                                        hf_error *err)
{
    const hf_store_ops *ops = NULL;
    const char *rest = NULL;
    hf_status status = store_registry_find(url, &ops, &rest, err);
    if (status == HF_OK && ops->install == NULL)
        return hf_fail(err, HF_INVALID, "A store of %s: has no tables to install.", ops->scheme);
    return status != HF_OK ? status : ops->install(rest, order, err);
}

hf_status hf_store_install(const char *url, const char *role, hf_error *err)
{
    return store_registry_install(url, &(hf_install_order){.role = role}, err);
}

hf_status hf_store_uninstall(const char *url, bool force, hf_error *err)
{
    return store_registry_install(url, &(hf_install_order){.remove = true, .force = force}, err);
}

hf_status hf_store_install_sql(const char *url, bool uninstall, const char *role,
                               void (*sink)(void *context, const char *text), void *context,
                               hf_error *err)
{
    return store_registry_install(
        url,
        &(hf_install_order){
            .remove = uninstall, .print = true, .role = role, .sink = sink, .context = context},
        err);
}

/* ---- the checks every call passes ---- */

static hf_status registry_check_process(const hf_store *store, hf_error *err)
{
    if (store->pid == getpid())
        return HF_OK;
    return hf_fail(err, HF_INVALID,
                   "This store was opened before fork(); open a new one in the child process.");
}

hf_status hf_store_execute(hf_store *store, hf_batch *batch, hf_error *err)
{
    hf_status status = registry_check_process(store, err);
    if (status != HF_OK || (status = hf_batch_check(batch, err)) != HF_OK)
        return status;
    hf_batch_unanswer(batch);
    return store->ops->execute(store, batch, err);
}

void hf_store_grade(hf_store *store, hf_grade *out)
{
    if (store->pid == getpid())
        store->ops->grade(store, out);
    else
        *out = (hf_grade){.level = HF_GRADE_NONE,
                          .text = "opened before fork(): of no use in the child process"};
}

static hf_status registry_check_path(const hf_store *store, const char *path, hf_error *err)
{
    if (path == NULL || path[0] == '\0')
        return hf_fail(err, HF_INVALID, "No file was named for the backup.");
    return registry_check_process(store, err);
}

hf_status hf_store_backup(hf_store *store, const char *path, hf_error *err)
{
    hf_status status = registry_check_path(store, path, err);
    return status != HF_OK ? status : store->ops->backup(store, path, err);
}

hf_status hf_store_restore(hf_store *store, const char *path, bool replace, hf_error *err)
{
    hf_status status = registry_check_path(store, path, err);
    if (status != HF_OK)
        return status;
    return store->ops->restore == NULL ? store->ops->backup(store, path, err)
                                       : store->ops->restore(store, path, replace, err);
}

hf_status hf_store_metrics(hf_store *store, char **out, hf_error *err)
{
    hf_status status = registry_check_process(store, err);
    if (status == HF_OK && store->ops->metrics == NULL)
        return hf_fail(err, HF_NOT_FOUND,
                       "A store of %s: is no server, and counts nothing by itself.",
                       store->ops->scheme);
    return status != HF_OK ? status : store->ops->metrics(store, out, err);
}

hf_status hf_store_watch(hf_store *store, hf_watch **out, hf_error *err)
{
    hf_status status = registry_check_process(store, err);
    if (status == HF_OK && store->ops->watch == NULL)
        return hf_fail(err, HF_NOT_FOUND,
                       "A store of %s: can't tell of changes; look for them now and then.",
                       store->ops->scheme);
    return status != HF_OK ? status : store->ops->watch(store, out, err);
}

int hf_watch_fd(const hf_watch *watch)
{
    return watch->ops->fd(watch);
}

hf_status hf_watch_heard(hf_watch *watch, bool *out, hf_error *err)
{
    return watch->ops->heard(watch, out, err);
}

hf_status hf_watch_tell(hf_watch *watch, hf_error *err)
{
    return watch->ops->tell(watch, err);
}

void hf_watch_close(hf_watch *watch)
{
    if (watch != NULL)
        watch->ops->close(watch);
}

/* In a forked child the handles are the parent's: they are left alone. */
void hf_store_close(hf_store *store)
{
    if (store != NULL && store->pid == getpid())
        store->ops->close(store);
}

void hf_store_init(hf_store *store, const hf_store_ops *ops)
{
    store->ops = ops;
    store->pid = getpid();
    store->clock_frozen = false;
    store->clock_us = 0;
}

int64_t hf_store_now(const hf_store *store, int64_t own_clock_us)
{
    return store->clock_frozen ? store->clock_us : own_clock_us + store->clock_us;
}
