/* SPDX-License-Identifier: MIT */
/* The door to all stores: the list of schemes, loading the module of one that stands outside the library, and the checks
 * every call passes before it reaches a store. */
#include "store/registry.h"

#include "base/error.h"
#include "base/seams.h"
#include "lock/batch.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef HF_MODULE_DIR
#define HF_MODULE_DIR "/usr/local/lib/holdfast"
#endif

/* Every store there is. One without a table of operations here is a module, loaded when a URL first asks for it. */
static const struct {
    const char *scheme;
    const hf_store_ops *ops;
    const char *module;
} stores[] = {
    {"memory", &hf_store_memory, NULL}, {"sqlite", &hf_store_sqlite, NULL},
    {"trace+", &hf_store_trace, NULL}, /* trace+URL: writes every op to standard error */
    {"postgres", NULL, "postgres"},     {"postgresql", NULL, "postgres"},
    {"mysql", NULL, "mysql"},           {"redis", NULL, "redis"},
    {"redis+unix", NULL, "redis"},      {"etcd", NULL, "etcd"},
    {"zookeeper", NULL, "zookeeper"},   {"http", NULL, "remote"},
    {"https", NULL, "remote"},
};

static hf_status load_module(const char *name, const hf_store_ops **out, hf_error *err)
{
    const char *folder = secure_getenv("HOLDFAST_MODULES");
    char path[HF_URL_MAX];
    int size =
        snprintf(path, sizeof path, "%s/holdfast-%s.so", folder != NULL ? folder : HF_MODULE_DIR, name);
    if (size < 0 || (size_t)size >= sizeof path)
        return hf_fail(err, HF_UNAVAILABLE, "The folder of the store modules has too long a name.");
    void *module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const hf_store_module_info *info = module == NULL ? NULL : dlsym(module, HF_STORE_MODULE_SYMBOL);
    if (info == NULL) {
        const char *why = dlerror(); /* names the file */
        return hf_fail(
            err, HF_UNAVAILABLE,
            "The module for %s stores can't be loaded: %s. Install it, or set HOLDFAST_MODULES to the "
            "folder it is in.",
            name, why == NULL ? path : why);
    }
    if (strcmp(info->version, HF_VERSION) != 0)
        return hf_fail(err, HF_UNAVAILABLE,
                       "The module %s is of version %s, the library of %s; install the same version.", path,
                       info->version, HF_VERSION);
    *out = info->ops; /* a module stays loaded: stores point into it */
    return HF_OK;
}

/* The part of a URL that says which store: up to the colon, or "trace+" for a wrapper. */
static size_t scheme_size(const char *url)
{
    if (strncmp(url, "trace+", 6) == 0)
        return 6;
    size_t size = strcspn(url, ":");
    return url[size] == ':' ? size : 0;
}

hf_status hf_store_open(const char *url, hf_store **out, hf_error *err)
{
    static const char known[] = "sqlite:PATH, memory:, and those of installed modules";
    if (url == NULL || url[0] == '\0')
        return hf_fail(err, HF_INVALID, "No store was named; the stores are %s.", known);
    if (strlen(url) > HF_URL_MAX)
        return hf_fail(err, HF_INVALID, "The store's URL is longer than %d bytes.", HF_URL_MAX);
    size_t size = scheme_size(url);
    for (size_t i = 0; i < sizeof stores / sizeof stores[0]; i++) {
        if (strlen(stores[i].scheme) != size || strncmp(stores[i].scheme, url, size) != 0)
            continue;
        const hf_store_ops *ops = stores[i].ops;
        hf_status status = ops != NULL ? HF_OK : load_module(stores[i].module, &ops, err);
        if (status != HF_OK)
            return status;
        return ops->open(url + size + (url[size] == ':'), out, err);
    }
    /* A URL may carry a password, so no more than its scheme is repeated. */
    if (size == 0 || size > 32 || !hf_text_is_clean(url, size))
        return hf_fail(err, HF_INVALID,
                       "The store's URL has no scheme: for a file write sqlite:PATH; the stores are %s.",
                       known);
    return hf_fail(err, HF_INVALID, "\"%.*s:\" is no store; the stores are %s.", (int)size, url, known);
}

/* ---- the checks every call passes ---- */

static hf_status check_process(const hf_store *store, hf_error *err)
{
    if (store->pid == getpid())
        return HF_OK;
    return hf_fail(err, HF_INVALID,
                   "This store was opened before fork(); open a new one in the child process.");
}

hf_status hf_store_execute(hf_store *store, hf_batch *batch, hf_error *err)
{
    hf_status status = check_process(store, err);
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
        *out = (hf_grade){HF_GRADE_NONE, "opened before fork(): of no use in the child process"};
}

static hf_status check_path(const hf_store *store, const char *path, hf_error *err)
{
    if (path == NULL || path[0] == '\0')
        return hf_fail(err, HF_INVALID, "No file was named for the backup.");
    return check_process(store, err);
}

hf_status hf_store_backup(hf_store *store, const char *path, hf_error *err)
{
    hf_status status = check_path(store, path, err);
    return status != HF_OK ? status : store->ops->backup(store, path, err);
}

hf_status hf_store_restore(hf_store *store, const char *path, hf_error *err)
{
    hf_status status = check_path(store, path, err);
    return status != HF_OK ? status : store->ops->restore(store, path, err);
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
