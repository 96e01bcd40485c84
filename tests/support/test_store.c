/* SPDX-License-Identifier: MIT */
/* How each kind of store is found empty: memory by opening it, SQLite by a new file, on a database
 * server by a namespace whose tables are emptied and used again, behind a server of our own by
 * starting one, anything else by a new namespace. A kind that can do none of these gets its own
 * pair of functions in the table below. */
#include <errno.h>
#include <ftw.h>
#include <holdfast/store.h>
#include <stdio.h>
#include <stdlib.h>
#include <store/store.h>
#include <string.h>
#include <support/batch_server.h>
#include <support/server_thread.h>
#include <support/tables.h>
#include <support/test_store.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct test_store_kind {
    const char *scheme; /* NULL: every other */
    bool keeps;
    bool own_file;
    void (*fresh)(const test_store *at, char *url);
    void (*discard)(const test_store *at, const char *url);
    void (*clock)(const char *url, int64_t now_us); /* NULL: it is the opener's own */
};

static char scratch[256];
static pid_t scratch_owner;
static unsigned counter;

static void place_give_up(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, strerror(errno));
    exit(2);
}

static int place_remove_one(const char *path, const struct stat *info, int flag, struct FTW *ftw)
{
    (void)info, (void)ftw;
    if (flag != FTW_SL && flag != FTW_SLN) /* chmod would follow it, wherever it leads */
        chmod(path, 0700);
    return remove(path);
}

static void scratch_remove(void)
{
    if (getpid() == scratch_owner)
        nftw(scratch, place_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

const char *scratch_folder(void)
{
    if (!scratch[0]) {
        const char *base = getenv("TMPDIR");
        snprintf(scratch, sizeof scratch, "%s/holdfast-XXXXXX", base && *base ? base : "/tmp");
        if (!mkdtemp(scratch))
            place_give_up(scratch);
        scratch_owner = getpid();
        atexit(scratch_remove);
    }
    return scratch;
}

void scratch_path(const char *suffix, char *path)
{
    snprintf(path, HF_URL_MAX, "%s/%u%s", scratch_folder(), ++counter, suffix);
}

static void fresh_as_given(const test_store *at, char *url)
{
    snprintf(url, HF_URL_MAX, "%s", at->url);
}

static void discard_nothing(const test_store *at, const char *url)
{
    (void)at, (void)url;
}

static void fresh_file(const test_store *at, char *url)
{
    (void)at;
    char path[HF_URL_MAX];
    scratch_path(".db", path);
    snprintf(url, HF_URL_MAX, "sqlite:%.*s", HF_URL_MAX - 8, path);
}

static void discard_file(const test_store *at, const char *url)
{
    (void)at;
    static const char *const endings[] = {"", "-wal", "-shm", "-journal"};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        char path[HF_URL_MAX + 16];
        snprintf(path, sizeof path, "%s%s", strchr(url, ':') + 1, endings[i]);
        unlink(path);
    }
}

/* No two processes choose the same: not even one that gets the number of another that crashed. */
static void fresh_namespace(const test_store *at, char *url)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    char mark = strchr(at->url, '?') ? '&' : '?';
    snprintf(url, HF_URL_MAX, "%.*s%cnamespace=t_%d_%05lx_%u", HF_URL_MAX - 64, at->url, mark,
             (int)getpid(), (unsigned long)now.tv_nsec / 1000 & 0xfffff, ++counter);
}

/* ---- namespaces on a database server ---- */

/* A namespace that this process installed. */
typedef struct installed {
    char url[HF_URL_MAX];
    tables *tables;
    bool used;
} installed;

static struct {
    pid_t owner;
    size_t count;
    installed all[32];
} pool;

static void installed_remove(installed *it)
{
    hf_error err = {0};
    tables_close(it->tables);
    if (hf_store_uninstall(it->url, true, &err) != HF_OK)
        fprintf(stderr, "# a namespace stays behind: %s\n", err.message);
    *it = pool.all[--pool.count];
}

static void pool_empty(void)
{
    while (getpid() == pool.owner && pool.count > 0)
        installed_remove(&pool.all[pool.count - 1]);
}

/* One of that place that is free and could be emptied; one that could not is made away with. NULL:
 * none. */
static installed *installed_renewed(const test_store *at)
{
    for (size_t i = 0; i < pool.count;) {
        installed *it = &pool.all[i];
        if (it->used || strncmp(it->url, at->url, strlen(at->url)) != 0)
            i++;
        else if (tables_renew(it->tables))
            return it;
        else
            installed_remove(it);
    }
    return NULL;
}

static installed *installed_new(const test_store *at)
{
    hf_error err = {0};
    if (pool.owner != getpid()) { /* those of a parent are the parent's */
        pool.count = 0;
        pool.owner = getpid();
        atexit(pool_empty);
    }
    if (pool.count == sizeof pool.all / sizeof *pool.all) {
        fprintf(stderr, "More than %zu namespaces are in use at once.\n", pool.count);
        exit(2);
    }
    installed *it = &pool.all[pool.count];
    memset(it, 0, sizeof *it);
    fresh_namespace(at, it->url);
    if (hf_store_install(it->url, NULL, &err) != HF_OK) {
        fprintf(stderr, "No tables for a test: %s\n", err.message);
        exit(2);
    }
    pool.count++;
    it->tables = tables_open(it->url);
    if (!it->tables)
        exit(2);
    return it;
}

static void fresh_tables(const test_store *at, char *url)
{
    installed *it = pool.owner == getpid() ? installed_renewed(at) : NULL;
    if (!it)
        it = installed_new(at);
    it->used = true;
    snprintf(url, HF_URL_MAX, "%s", it->url);
}

static void discard_tables(const test_store *at, const char *url)
{
    (void)at;
    for (size_t i = 0; i < pool.count; i++)
        if (strcmp(pool.all[i].url, url) == 0)
            pool.all[i].used = false;
}

/* ---- behind a server ---- */

/* A server of this process, in front of a store of its own. */
typedef struct served_store {
    char url[HF_URL_MAX], behind[HF_URL_MAX];
    batch_server *server; /* one of the two */
    server_thread *host;
} served_store;

static served_store all_served[32];

static served_store *served_find(const char *url)
{
    for (size_t i = 0; i < sizeof all_served / sizeof *all_served; i++)
        if (strcmp(all_served[i].url, url) == 0)
            return &all_served[i];
    return NULL;
}

static void fresh_served(const test_store *at, char *url)
{
    served_store *it = served_find("");
    hf_store *store = NULL;
    hf_error err = {0};
    if (!it) {
        fprintf(stderr, "More servers are in use at once than a test may have.\n");
        exit(2);
    }
    if (strstr(at->url, ":sqlite:") != NULL)
        fresh_file(at, it->behind);
    else
        snprintf(it->behind, sizeof it->behind, "memory:");
    if (hf_store_open(it->behind, &store, &err) != HF_OK) {
        fprintf(stderr, "No store for a server: %s\n", err.message);
        exit(2);
    }
    if (strncmp(at->url, "http:", 5) == 0) {
        it->server = batch_server_start(store, NULL, NULL);
        batch_server_url(it->server, it->url);
    } else {
        it->host = server_thread_start(store);
        server_thread_url(it->host, it->url);
    }
    snprintf(url, HF_URL_MAX, "%s", it->url);
}

static void discard_served(const test_store *at, const char *url)
{
    served_store *it = served_find(url);
    if (!it || !*url)
        return;
    hf_store *store = it->host ? server_thread_store(it->host) : batch_server_store(it->server);
    batch_server_stop(it->server);
    server_thread_stop(it->host);
    hf_store_close(store);
    if (strcmp(it->behind, "memory:") != 0)
        discard_file(at, it->behind);
    memset(it, 0, sizeof *it);
}

static void clock_served(const char *url, int64_t now_us)
{
    served_store *it = served_find(url);
    if (it && it->host)
        hf_store_clock_freeze(server_thread_store(it->host), now_us);
    else if (it)
        batch_server_clock(it->server, now_us);
}

/* ---- the kinds ---- */

/* The first that fits counts. */
static const test_store_kind kinds[] = {
    {"memory:", false, false, fresh_as_given, discard_nothing, NULL},
    {"sqlite:", true, true, fresh_file, discard_file,
     NULL}, /* "sqlite:" alone; with a path it is as any other */
    {"postgres://", true, false, fresh_tables, discard_tables, NULL},
    {"postgresql://", true, false, fresh_tables, discard_tables, NULL},
    {"mysql://", true, false, fresh_tables, discard_tables, NULL},
    {"http:memory:", true, false, fresh_served, discard_served, clock_served},
    {"http:sqlite:", true, false, fresh_served, discard_served, clock_served},
    {"serve:memory:", true, false, fresh_served, discard_served, clock_served},
    {"serve:sqlite:", true, false, fresh_served, discard_served, clock_served},
    {NULL, true, false, fresh_namespace, discard_nothing, NULL},
};

static bool place_fits(const test_store_kind *kind, const char *url)
{
    if (!kind->scheme)
        return true;
    bool server = strstr(kind->scheme, "//") != NULL;
    return server ? strncmp(kind->scheme, url, strlen(kind->scheme)) == 0
                  : strcmp(kind->scheme, url) == 0;
}

static void place_init(test_store *at, const char *url, size_t length, const test_store *before,
                       size_t count)
{
    snprintf(at->url, sizeof at->url, "%.*s", (int)length, url);
    for (at->kind = kinds; !place_fits(at->kind, at->url);)
        at->kind++;
    at->keeps = at->kind->keeps;
    at->own_file = at->kind->own_file;
    at->served = at->kind->clock != NULL;
    at->drops_free = strstr(at->url, "memory:") != NULL || strstr(at->url, "sqlite:") != NULL ||
                     strncmp(at->url, "redis", 5) == 0;
    int scheme = (int)strcspn(at->url, ":");
    unsigned same = 1;
    for (size_t i = 0; i < count; i++)
        same += strncmp(before[i].url, at->url, (size_t)scheme + 1) == 0;
    if (same == 1)
        snprintf(at->name, sizeof at->name, "%.*s", scheme < 32 ? scheme : 32, url);
    else
        snprintf(at->name, sizeof at->name, "%.*s %u", scheme < 32 ? scheme : 32, url, same);
}

const test_store *test_stores(size_t *count)
{
    enum { PLACES_MAX = 16 };
    static test_store all[PLACES_MAX];
    static size_t known;
    *count = known;
    if (known)
        return all;
    const char *list = getenv("HF_TEST_STORES");
    if (!list || !*list)
        list = "memory: sqlite:";
    for (;;) {
        list += strspn(list, " ");
        size_t length = strcspn(list, " ");
        if (length == 0 || length >= HF_URL_MAX || known == PLACES_MAX)
            break;
        place_init(&all[known], list, length, all, known);
        known++;
        list += length;
    }
    *count = known;
    return all;
}

test_store test_store_memory(void)
{
    test_store at;
    memset(&at, 0, sizeof at);
    place_init(&at, "memory:", strlen("memory:"), NULL, 0);
    return at;
}

void test_store_url(const test_store *at, char *url)
{
    at->kind->fresh(at, url);
}

void test_store_discard(const test_store *at, const char *url)
{
    at->kind->discard(at, url);
}

void test_store_clock(const test_store *at, const char *url, int64_t now_us)
{
    if (at->kind->clock)
        at->kind->clock(url, now_us);
}
