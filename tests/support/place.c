/* SPDX-License-Identifier: MIT */
/* How each kind of store is found empty: memory by opening it, SQLite by a new file, anything else by a namespace of
 * its own. A kind that can do neither gets its own pair of functions in the table below. */
#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <support/place.h>
#include <sys/stat.h>
#include <unistd.h>

struct place_kind {
    const char *scheme; /* NULL: every other */
    bool keeps;
    bool own_file;
    void (*fresh)(const place *at, char *url);
    void (*discard)(const place *at, const char *url);
};

static char scratch[256];
static pid_t scratch_owner;
static unsigned counter;

static void give_up(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, strerror(errno));
    exit(2);
}

static int remove_one(const char *path, const struct stat *info, int flag, struct FTW *ftw)
{
    (void)info, (void)flag, (void)ftw;
    chmod(path, 0700);
    return remove(path);
}

static void scratch_remove(void)
{
    if (getpid() == scratch_owner)
        nftw(scratch, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

const char *scratch_folder(void)
{
    if (!scratch[0]) {
        const char *base = getenv("TMPDIR");
        snprintf(scratch, sizeof scratch, "%s/holdfast-XXXXXX", base && *base ? base : "/tmp");
        if (!mkdtemp(scratch))
            give_up(scratch);
        scratch_owner = getpid();
        atexit(scratch_remove);
    }
    return scratch;
}

void scratch_path(const char *suffix, char *path)
{
    snprintf(path, HF_URL_MAX, "%s/%u%s", scratch_folder(), ++counter, suffix);
}

static void fresh_as_given(const place *at, char *url)
{
    snprintf(url, HF_URL_MAX, "%s", at->url);
}

static void discard_nothing(const place *at, const char *url)
{
    (void)at, (void)url;
}

static void fresh_file(const place *at, char *url)
{
    (void)at;
    char path[HF_URL_MAX];
    scratch_path(".db", path);
    snprintf(url, HF_URL_MAX, "sqlite:%.*s", HF_URL_MAX - 8, path);
}

static void discard_file(const place *at, const char *url)
{
    (void)at;
    static const char *const endings[] = {"", "-wal", "-shm", "-journal"};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        char path[HF_URL_MAX + 16];
        snprintf(path, sizeof path, "%s%s", strchr(url, ':') + 1, endings[i]);
        unlink(path);
    }
}

static void fresh_namespace(const place *at, char *url)
{
    char mark = strchr(at->url, '?') ? '&' : '?';
    snprintf(url, HF_URL_MAX, "%.*s%cnamespace=t%d_%u", HF_URL_MAX - 64, at->url, mark, (int)getpid(),
             ++counter);
}

/* The first that fits counts. */
static const place_kind kinds[] = {
    {"memory:", false, false, fresh_as_given, discard_nothing},
    {"sqlite:", true, true, fresh_file, discard_file}, /* "sqlite:" alone; with a path it is as any other */
    {NULL, true, false, fresh_namespace, discard_nothing},
};

static bool fits(const place_kind *kind, const char *url)
{
    return !kind->scheme || strcmp(kind->scheme, url) == 0;
}

static void place_init(place *at, const char *url, size_t length, const place *before, size_t count)
{
    snprintf(at->url, sizeof at->url, "%.*s", (int)length, url);
    for (at->kind = kinds; !fits(at->kind, at->url);)
        at->kind++;
    at->keeps = at->kind->keeps;
    at->own_file = at->kind->own_file;
    int scheme = (int)strcspn(at->url, ":");
    unsigned same = 1;
    for (size_t i = 0; i < count; i++)
        same += strncmp(before[i].url, at->url, (size_t)scheme + 1) == 0;
    if (same == 1)
        snprintf(at->name, sizeof at->name, "%.*s", scheme < 32 ? scheme : 32, url);
    else
        snprintf(at->name, sizeof at->name, "%.*s %u", scheme < 32 ? scheme : 32, url, same);
}

const place *places(size_t *count)
{
    enum { PLACES_MAX = 16 };
    static place all[PLACES_MAX];
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

place place_memory(void)
{
    place at;
    memset(&at, 0, sizeof at);
    place_init(&at, "memory:", strlen("memory:"), NULL, 0);
    return at;
}

void place_fresh(const place *at, char *url)
{
    at->kind->fresh(at, url);
}

void place_discard(const place *at, const char *url)
{
    at->kind->discard(at, url);
}
