/* SPDX-License-Identifier: MIT */
/* Reading URLs: what is holdfast's own is taken out, the rest is left as it was written. */
#include "db/url.h"

#include "base/buffer.h"
#include "base/error.h"
#include "base/seams.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    SECRET_MAX = 1024, /* bytes of a file's first line */
    NAMES_MAX = HF_NAMES_SIZE - 2,
};

/* ---- parts ---- */

/* As libpq does, up to the last '@' before a '/' all is user and password: a '?' there begins no
 * query. */
const char *hf_url_query(const char *url)
{
    const char *at = strstr(url, "://");
    if (at != NULL) {
        at += 3;
        for (const char *seek = at; *seek != '\0' && *seek != '/'; seek++)
            if (*seek == '@')
                at = seek + 1;
    }
    const char *mark = strchr(at == NULL ? url : at, '?');
    return mark == NULL ? NULL : mark + 1;
}

bool hf_url_next(const char **at, hf_slice *name, hf_slice *value)
{
    while (*at != NULL && **at == '&')
        (*at)++;
    if (*at == NULL || **at == '\0')
        return false;
    size_t size = strcspn(*at, "&"), name_size = strcspn(*at, "=&");
    *name = (hf_slice){*at, name_size};
    *value = name_size < size ? (hf_slice){*at + name_size + 1, size - name_size - 1} : HF_NOTHING;
    *at += size;
    return true;
}

static int digit_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* The byte that %XX stands for at the beginning of the text; 0 when it is none, or may not be. */
static char url_unescape(hf_slice text)
{
    int high = text.size < 3 ? -1 : digit_of(text.at[1]),
        low = text.size < 3 ? -1 : digit_of(text.at[2]);
    return high < 0 || low < 0 ? '\0' : (char)(high * 16 + low);
}

hf_status hf_url_decode(hf_slice text, const char *what, char **out, hf_error *err)
{
    *out = NULL;
    char *plain = hf_alloc(text.size + 1), *end = plain;
    if (plain == NULL)
        return hf_fail_memory(err);
    for (size_t i = 0; i < text.size; i++) {
        bool escaped = text.at[i] == '%';
        *end = escaped ? url_unescape((hf_slice){text.at + i, text.size - i}) : text.at[i];
        if (*end++ == '\0') {
            hf_url_wipe(plain);
            return hf_fail(err, HF_INVALID,
                           "The %s in the URL has a %% without two hex digits after it, or a zero "
                           "byte; a plain %% is "
                           "written %%25.",
                           what);
        }
        i += escaped ? 2 : 0;
    }
    *out = plain;
    return HF_OK;
}

void hf_url_wipe(char *secret)
{
    if (secret != NULL)
        explicit_bzero(secret, strlen(secret));
    hf_free(secret);
}

bool hf_url_names_ok(const char *names, hf_error *err)
{
    static const char *const taken[] = {"sqlite", "pg_", "mysql"};
    size_t size = strlen(names);
    bool good = size > 0 && size <= NAMES_MAX && names[0] >= 'a' && names[0] <= 'z';
    for (size_t i = 0; good && i < size; i++)
        good = (names[i] >= 'a' && names[i] <= 'z') || (names[i] >= '0' && names[i] <= '9') ||
               (names[i] == '_' && names[i + 1] != '_' && names[i + 1] != '\0');
    for (size_t i = 0; good && i < sizeof taken / sizeof *taken; i++)
        good = strncmp(names, taken[i], strlen(taken[i])) != 0;
    if (!good)
        hf_error_set(err, HF_INVALID,
                     "A namespace is 1 to %d characters of a-z, 0-9 and single _ between them, "
                     "begins with a "
                     "letter, and "
                     "not with sqlite, pg_ or mysql.",
                     NAMES_MAX);
    return good;
}

/* ---- a secret's file ---- */

/* Up to `size` bytes of the file; -1 with errno. */
static ssize_t url_read_all(int file, char *out, size_t size)
{
    size_t got = 0;
    while (got < size) {
        ssize_t more = read(file, out + got, size - got);
        if (more < 0 && errno != EINTR)
            return -1;
        if (more == 0)
            break;
        got += more > 0 ? (size_t)more : 0;
    }
    return (ssize_t)got;
}

static hf_status url_keep_line(const char *what, const char *path, const char *bytes, size_t size,
                               char **out, hf_error *err)
{
    const char *end = memchr(bytes, '\n', size);
    size_t line = end == NULL ? size : (size_t)(end - bytes);
    if (line > 0 && bytes[line - 1] == '\r')
        line--;
    if (line > SECRET_MAX)
        return hf_fail(err, HF_INVALID, "The first line of the %s file %s has more than %d bytes.",
                       what, path, SECRET_MAX);
    if (line == 0 || memchr(bytes, '\0', line) != NULL)
        return hf_fail(
            err, HF_INVALID,
            "The %s file %s has no %s on its first line; write it there, and nothing else.", what,
            path, what);
    *out = hf_alloc(line + 1);
    if (*out == NULL)
        return hf_fail_memory(err);
    memcpy(*out, bytes, line);
    return HF_OK;
}

/* A pipe is refused, and not waited for: the file is read again whenever a store is opened. */
hf_status hf_url_secret(const char *what, const char *path, char **out, hf_error *err)
{
    struct stat it;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (file < 0 || fstat(file, &it) != 0) {
        hf_error_set(err, HF_UNAVAILABLE, "The %s file %s can't be read: %m.", what, path);
        if (file >= 0)
            close(file);
        return HF_UNAVAILABLE;
    }
    char bytes[SECRET_MAX + 3];
    hf_status status;
    ssize_t size;
    if (!S_ISREG(it.st_mode))
        status = hf_fail(err, HF_INVALID, "The %s file %s is not a plain file.", what, path);
    else if (it.st_mode & 077)
        status = hf_fail(err, HF_INVALID,
                         "The %s file %s may be read or changed by others; make it its owner's "
                         "alone: chmod 600.",
                         what, path);
    else if ((size = url_read_all(file, bytes, sizeof bytes)) < 0)
        status = hf_fail(err, HF_UNAVAILABLE, "The %s file %s can't be read: %m.", what, path);
    else
        status = url_keep_line(what, path, bytes, (size_t)size, out, err);
    explicit_bzero(bytes, sizeof bytes);
    close(file);
    return status;
}

/* ---- holdfast's parameters ---- */

typedef enum url_parameter {
    OWN_NAMESPACE,
    OWN_POOLER,
    OWN_DURABILITY,
    OWN_PASSWORD_FILE,
    OWN_REPLICAS,
    OWN_COUNT
} url_parameter;

static const char *const own_names[] = {"namespace", "pooler", "durability", "password_file",
                                        "replicas"};

static url_parameter url_parameter_of(hf_slice name)
{
    url_parameter it = OWN_NAMESPACE;
    while (it < OWN_COUNT && !hf_slice_equal(name, hf_slice_of(own_names[it])))
        it++;
    return it;
}

static hf_status url_take_replicas(hf_url *out, const char *value, hf_error *err)
{
    enum { REPLICAS_MAX = 9 };
    if (value[0] < '1' || value[0] > '0' + REPLICAS_MAX || value[1] != '\0')
        return hf_fail(err, HF_INVALID, "The parameter replicas of the URL is 1 to %d.",
                       REPLICAS_MAX);
    out->replicas = (unsigned)(value[0] - '0');
    return HF_OK;
}

static hf_status url_take(hf_url *out, url_parameter it, const char *value, hf_error *err)
{
    switch (it) {
    case OWN_NAMESPACE:
        if (!hf_url_names_ok(value, err))
            return HF_INVALID;
        memcpy(out->names, value, strlen(value) + 1);
        return HF_OK;
    case OWN_POOLER:
        out->pooler = strcmp(value, "transaction") == 0;
        out->pooler_session = strcmp(value, "session") == 0;
        return out->pooler || out->pooler_session
                   ? HF_OK
                   : hf_fail(err, HF_INVALID,
                             "The parameter pooler of the URL is \"transaction\", \"session\" or "
                             "is left out.");
    case OWN_REPLICAS:
        return url_take_replicas(out, value, err);
    case OWN_PASSWORD_FILE:
        return hf_url_secret("password", value, &out->password, err);
    default:
        return HF_OK;
    }
}

/* `value` as it stands in the URL. */
static hf_status take_own(hf_url *out, url_parameter it, hf_slice value, hf_error *err)
{
    char *plain = NULL;
    if (value.size == 0)
        return hf_fail(err, HF_INVALID, "The parameter %s of the URL has no value: write %s=VALUE.",
                       own_names[it], own_names[it]);
    hf_status status = hf_url_decode(value, own_names[it], &plain, err);
    if (status != HF_OK || plain == NULL)
        return status;
    if (it == OWN_DURABILITY)
        out->durability = plain;
    else {
        status = url_take(out, it, plain, err);
        hf_free(plain);
    }
    return status;
}

static hf_status read_query(const char *query, hf_url *out, hf_buffer *rest, hf_error *err)
{
    hf_slice name, value;
    bool seen[OWN_COUNT] = {false};
    char before = '?';
    while (hf_url_next(&query, &name, &value)) {
        url_parameter it = url_parameter_of(name);
        if (it == OWN_COUNT) {
            hf_buffer_add(rest, &before, 1);
            hf_buffer_add(rest, name.at, (size_t)(query - name.at));
            before = '&';
            continue;
        }
        if (seen[it])
            return hf_fail(err, HF_INVALID,
                           "The parameter %s is in the URL twice; keep one of them.",
                           own_names[it]);
        seen[it] = true;
        hf_status status = take_own(out, it, value, err);
        if (status != HF_OK)
            return status;
    }
    return HF_OK;
}

/* A password with a plain @ or / in it would be taken apart in the wrong place, and its parts for a
 * host or a database, which are named in sentences. */
static bool is_torn(const char *url)
{
    const char *host = strstr(url, "://"), *query = hf_url_query(url);
    if (host == NULL)
        return false;
    const char *end = query == NULL ? url + strlen(url) : query - 1, *path = host + 3;
    while (path < end && *path != '/')
        path++;
    const char *first = memchr(host + 3, '@', (size_t)(end - host - 3));
    return first != NULL &&
           (first > path || memchr(first + 1, '@', (size_t)(end - first - 1)) != NULL);
}

hf_status hf_url_read(const char *url, hf_url *out, hf_error *err)
{
    hf_buffer rest = {0};
    if (is_torn(url)) {
        *out = (hf_url){.names = "holdfast"};
        return hf_fail(
            err, HF_INVALID,
            "The URL can't be taken apart: in a user's name or a password write %%40 for @, %%2F "
            "for / and %%3F for ?.");
    }
    const char *query = hf_url_query(url);
    *out = (hf_url){.names = "holdfast"};
    hf_buffer_add(&rest, url, query == NULL ? strlen(url) : (size_t)(query - 1 - url));
    hf_status status = read_query(query, out, &rest, err);
    out->url = hf_buffer_take(&rest);
    if (status == HF_OK && out->url == NULL)
        status = hf_fail_memory(err);
    if (status != HF_OK)
        hf_url_done(out);
    return status;
}

void hf_url_done(hf_url *url)
{
    if (url == NULL)
        return;
    hf_url_wipe(url->url);
    hf_url_wipe(url->password);
    hf_free(url->durability);
    *url = (hf_url){0};
}
