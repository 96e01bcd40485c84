/* SPDX-License-Identifier: MIT */
/* Where a URL leads, and connecting to it. The client library reads no files of its own and nothing
 * from the environment that is not asked for here. */
#include "db/mysql_inside.h"
#include "db/url.h"

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* ---- reading the URL ---- */

#define URL_HELP "write mysql://USER@HOST/DATABASE or mysql://USER@/DATABASE?socket=PATH"

/* A whole number in the text, up to `max`; false: it is none. */
static bool number_of(hf_slice text, unsigned max, unsigned *out)
{
    *out = 0;
    for (size_t i = 0; i < text.size; i++) {
        if (text.at[i] < '0' || text.at[i] > '9' || *out > max)
            return false;
        *out = *out * 10 + (unsigned)(text.at[i] - '0');
    }
    return text.size > 0 && *out <= max;
}

static hf_slice mysql_target_between(const char *from, const char *to)
{
    return (hf_slice){from, (size_t)(to - from)};
}

/* The client library takes some hosts for more than a name: lists, plugins, whole connection
 * strings. */
static bool mysql_target_is_host(const char *host)
{
    return host[strspn(host,
                       "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.:_-%")] ==
           '\0';
}

/* "HOST", "HOST:PORT", "[::1]:PORT" or nothing. Not repeated in a sentence: a password with a / in
 * it may end up here. */
static hf_status read_host(my_target *target, hf_slice text, hf_error *err)
{
    if (text.size == 0)
        return HF_OK;
    const char *end = text.at + text.size;
    const char *colon = memchr(text.at, ':', text.size);
    hf_slice host = mysql_target_between(text.at, colon == NULL ? end : colon);
    if (text.at[0] == '[') {
        const char *close = memchr(text.at, ']', text.size);
        host = mysql_target_between(text.at + 1, close == NULL ? text.at + 1 : close);
        colon = close == NULL || close + 1 == end ? NULL : close + 1;
    }
    if (colon != NULL &&
        (*colon != ':' || !number_of(mysql_target_between(colon + 1, end), 65535, &target->port) ||
         target->port == 0))
        return hf_fail(
            err, HF_INVALID,
            "The port in the URL is not a number from 1 to 65535; if the password has a / or @ in "
            "it, write it as "
            "%%2F or %%40.");
    hf_status status = hf_url_decode(host, "host", &target->host, err);
    if (status == HF_OK && (target->host[0] == '\0' || !mysql_target_is_host(target->host)))
        return hf_fail(err, HF_INVALID,
                       "The host in the URL is not a name or an address; " URL_HELP ".");
    return status;
}

static hf_status read_user(my_target *target, hf_slice text, hf_error *err)
{
    const char *colon = text.size == 0 ? NULL : memchr(text.at, ':', text.size);
    hf_slice user = colon == NULL ? text : mysql_target_between(text.at, colon);
    if (user.size == 0)
        return hf_fail(err, HF_INVALID, "The URL names no user; " URL_HELP ".");
    hf_status status = hf_url_decode(user, "user", &target->user, err);
    if (status == HF_OK && colon != NULL)
        status = hf_url_decode(mysql_target_between(colon + 1, text.at + text.size), "password",
                               &target->password, err);
    return status;
}

/* "USER:PASSWORD@HOST:PORT/DATABASE". */
static hf_status read_place(my_target *target, hf_slice text, hf_error *err)
{
    const char *slash = text.size == 0 ? NULL : memchr(text.at, '/', text.size),
               *end = text.at + text.size;
    hf_slice authority = mysql_target_between(text.at, slash == NULL ? end : slash);
    const char *at = authority.size == 0 ? NULL : memrchr(authority.at, '@', authority.size);
    hf_slice database = slash == NULL ? HF_NOTHING : mysql_target_between(slash + 1, end);
    if (database.size == 0)
        return hf_fail(err, HF_INVALID, "The URL names no database; " URL_HELP ".");
    if (memchr(database.at, '/', database.size) != NULL ||
        memchr(database.at, '@', database.size) != NULL)
        return hf_fail(err, HF_INVALID,
                       "The database in the URL has a / or @ in its name; write such a character "
                       "as %%2F or %%40, in a "
                       "password too.");
    hf_status status =
        read_user(target, at == NULL ? HF_NOTHING : mysql_target_between(authority.at, at), err);
    if (status == HF_OK)
        status = read_host(
            target,
            mysql_target_between(at == NULL ? authority.at : at + 1, authority.at + authority.size),
            err);
    return status != HF_OK ? status : hf_url_decode(database, "database", &target->database, err);
}

/* ---- parameters ---- */

typedef enum param {
    SOCKET,
    SSL_CA,
    SSL_CERT,
    SSL_KEY,
    SSL_VERIFY,
    CONNECT_TIMEOUT,
    PARAM_COUNT
} param;

static const char *const param_names[] = {"socket",  "ssl_ca",     "ssl_cert",
                                          "ssl_key", "ssl_verify", "connect_timeout"};

static hf_status read_param(my_target *target, param it, hf_slice value, hf_error *err)
{
    char **texts[] = {&target->socket, &target->ssl_ca, &target->ssl_cert, &target->ssl_key};
    unsigned number = 0;
    if (it >= SSL_CA && it <= SSL_VERIFY)
        target->tls = true;
    if (it == SSL_VERIFY) {
        if (!number_of(value, 1, &number))
            return hf_fail(err, HF_INVALID, "The parameter ssl_verify of the URL is 1 or 0.");
        target->tls_verify = number == 1;
        return HF_OK;
    }
    if (it == CONNECT_TIMEOUT) {
        if (!number_of(value, 3600, &target->connect_s) || target->connect_s == 0)
            return hf_fail(
                err, HF_INVALID,
                "The parameter connect_timeout of the URL is a number of seconds, from 1 to 3600.");
        return HF_OK;
    }
    if (value.size == 0)
        return hf_fail(err, HF_INVALID, "The parameter %s of the URL has no value: write %s=PATH.",
                       param_names[it], param_names[it]);
    return hf_url_decode(value, param_names[it], texts[it], err);
}

static hf_status read_params(my_target *target, const char *query, hf_error *err)
{
    hf_slice name, value;
    bool seen[PARAM_COUNT] = {false};
    while (hf_url_next(&query, &name, &value)) {
        param it = SOCKET;
        while (it < PARAM_COUNT && !hf_slice_equal(name, hf_slice_of(param_names[it])))
            it++;
        if (it == PARAM_COUNT)
            return hf_fail(
                err, HF_INVALID,
                "The URL has a parameter \"%.*s\", which is not known; there are socket, "
                "connect_timeout, ssl_ca, "
                "ssl_cert, ssl_key and ssl_verify.",
                name.size > 64 || !hf_text_is_clean(name.at, name.size) ? 0 : (int)name.size,
                name.at);
        if (seen[it])
            return hf_fail(err, HF_INVALID,
                           "The parameter %s is in the URL twice; keep one of them.",
                           param_names[it]);
        seen[it] = true;
        hf_status status = read_param(target, it, value, err);
        if (status != HF_OK)
            return status;
    }
    if (target->socket != NULL && (target->host != NULL || target->port != 0))
        return hf_fail(err, HF_INVALID,
                       "The URL names a host and a socket; keep one of them: " URL_HELP ".");
    return HF_OK;
}

/* ---- targets ---- */

static char *mysql_target_copy_of(const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = hf_alloc(size);
    if (copy != NULL)
        memcpy(copy, text, size);
    return copy;
}

static hf_status fill_in(my_target *target, const hf_db_options *options, hf_error *err)
{
    int64_t timeout_us =
        options == NULL || options->timeout_us <= 0 ? HF_DB_TIMEOUT_US : options->timeout_us;
    const char *password =
        options == NULL || options->password == NULL ? getenv("MYSQL_PWD") : options->password;
    target->timeout_s =
        timeout_us > INT64_C(86400000000) ? 86400 : (unsigned)((timeout_us + 999999) / 1000000);
    if (target->connect_s == 0)
        target->connect_s = target->timeout_s;
    if (target->password == NULL && password != NULL &&
        (target->password = mysql_target_copy_of(password)) == NULL)
        return hf_fail_memory(err);
    if (target->socket != NULL)
        snprintf(target->path, sizeof target->path, "the database %s at %s", target->database,
                 target->socket);
    else if (target->port != 0)
        snprintf(target->path, sizeof target->path, "the database %s on %s, port %u",
                 target->database, target->host, target->port);
    else
        snprintf(target->path, sizeof target->path, "the database %s on %s", target->database,
                 target->host == NULL ? "localhost" : target->host);
    return HF_OK;
}

hf_status my_target_read(const char *url, const hf_db_options *options, my_target **out,
                         hf_error *err)
{
    static const char scheme[] = "mysql://";
    *out = NULL;
    if (strncmp(url, scheme, sizeof scheme - 1) != 0)
        return hf_fail(err, HF_INVALID, "The URL does not begin with mysql://; " URL_HELP ".");
    my_target *target = hf_alloc(sizeof *target);
    if (target == NULL)
        return hf_fail_memory(err);
    target->tls_verify = true;
    const char *query = hf_url_query(url), *from = url + sizeof scheme - 1;
    hf_status status = read_place(
        target, mysql_target_between(from, query == NULL ? url + strlen(url) : query - 1), err);
    if (status == HF_OK)
        status = read_params(target, query, err);
    if (status == HF_OK)
        status = fill_in(target, options, err);
    if (status != HF_OK) {
        my_target_free(target);
        return status;
    }
    *out = target;
    return HF_OK;
}

void my_target_free(my_target *target)
{
    if (target == NULL)
        return;
    hf_url_wipe(target->password);
    char *const texts[] = {target->user,   target->host,     target->database, target->socket,
                           target->ssl_ca, target->ssl_cert, target->ssl_key};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        hf_free(texts[i]);
    hf_free(target);
}

/* ---- connecting ---- */

/* The library ignores SIGPIPE for the whole process, which is not its to decide; it asks for none
 * where it writes itself. */
static void begin_library(void)
{
    struct sigaction before;
    sigaction(SIGPIPE, NULL, &before);
    mysql_library_init(0, NULL, NULL);
    sigaction(SIGPIPE, &before, NULL);
}

static bool goes_by_tcp(const my_target *target)
{
    return target->host != NULL && (target->port != 0 || strcmp(target->host, "localhost") != 0);
}

static void set_options(const my_target *target, MYSQL *conn)
{
    my_bool no = 0, yes = 1, verify = target->tls_verify;
    unsigned off = 0;
    unsigned protocol = goes_by_tcp(target) ? MYSQL_PROTOCOL_TCP : MYSQL_PROTOCOL_SOCKET;
    mysql_options(conn, MYSQL_OPT_CONNECT_TIMEOUT, &target->connect_s);
    mysql_options(conn, MYSQL_OPT_READ_TIMEOUT, &target->timeout_s);
    mysql_options(conn, MYSQL_OPT_WRITE_TIMEOUT, &target->timeout_s);
    mysql_options(conn, MYSQL_OPT_RECONNECT, &no);
    mysql_options(conn, MYSQL_OPT_LOCAL_INFILE, &off);
    mysql_options(conn, MYSQL_OPT_PROTOCOL, &protocol);
    mysql_options(conn, MYSQL_SET_CHARSET_NAME, "utf8mb4");
    if (target->tls) {
        mysql_ssl_set(conn, target->ssl_key, target->ssl_cert, target->ssl_ca, NULL, NULL);
        mysql_options(conn, MYSQL_OPT_SSL_ENFORCE, &yes);
        mysql_options(conn, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &verify);
    }
}

hf_status my_open(const my_target *target, MYSQL **out, hf_error *err)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    *out = NULL;
    pthread_once(&once, begin_library);
    MYSQL *conn = mysql_init(NULL);
    if (conn == NULL)
        return hf_fail_memory(err);
    set_options(target, conn);
    my_hush hush;
    my_hush_begin(target->tls ? NULL : conn, &hush);
    bool connected = mysql_real_connect(conn, target->host, target->user,
                                        target->password == NULL ? "" : target->password,
                                        target->database, target->port, target->socket,
                                        CLIENT_FOUND_ROWS | CLIENT_MULTI_STATEMENTS) != NULL;
    my_hush_end(&hush);
    /* the library lets that pass */
    bool in_the_clear = connected && target->tls && mysql_get_ssl_cipher(conn) == NULL;
    if (connected && !in_the_clear) {
        *out = conn;
        return HF_OK;
    }
    hf_status status =
        !in_the_clear
            ? my_unconnected(target, conn, err)
            : hf_fail(
                  err, HF_UNAVAILABLE,
                  "The server of %s has no TLS, which the URL demands with its ssl_ parameters.",
                  target->path);
    my_shut(conn);
    return status;
}

bool my_is_quiet(MYSQL *conn)
{
    struct pollfd socket = {.fd = mysql_get_socket(conn), .events = POLLIN | POLLRDHUP};
    return conn->net.pvio != NULL && poll(&socket, 1, 0) == 0;
}

void my_shut(MYSQL *conn)
{
    if (conn == NULL)
        return;
    my_hush hush;
    my_hush_begin(conn, &hush);
    mysql_close(conn);
    my_hush_end(&hush);
}

void my_hush_begin(MYSQL *conn, my_hush *hush)
{
    sigset_t pipe, pending;
    *hush = (my_hush){.needed = conn == NULL || mysql_get_ssl_cipher(conn) != NULL};
    if (!hush->needed)
        return;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    sigpending(&pending);
    hush->pending = sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &pipe, &hush->before);
}

/* A SIGPIPE that came meanwhile is taken out; one that was there before is left. */
void my_hush_end(my_hush *hush)
{
    sigset_t pipe;
    if (!hush->needed)
        return;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    while (!hush->pending && sigtimedwait(&pipe, NULL, &(struct timespec){0}) > 0)
        ;
    pthread_sigmask(SIG_SETMASK, &hush->before, NULL);
}
