/* SPDX-License-Identifier: MIT */
/* The URL of a server: http or https, a host, perhaps a prefix, and holdfast's own parameters. */
#include "base/error.h"
#include "base/seams.h"
#include "db/url.h"
#include "store/remote.h"

#include <holdfast/names.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    TIMEOUT_MS = 30000, /* unless the URL says otherwise */
    CONNECT_MS = 5000,
    TIMEOUT_MIN_MS = 100,
    TIMEOUT_MAX_MS = 3600000,
    TOKEN_MAX = 1024,
};

#define GIVE_TOKEN "a token is given in a file, token_file=PATH, or in HOLDFAST_TOKEN"

/* ---- the token ---- */

/* It becomes a line of a request: nothing in it may end that line. */
static bool remote_target_is_token(const char *text)
{
    size_t size = strnlen(text, TOKEN_MAX + 1);
    for (size_t i = 0; i < size; i++)
        if (text[i] < '!' || text[i] > '~')
            return false;
    return size > 0 && size <= TOKEN_MAX;
}

static hf_status remote_target_check_token(const char *token, const char *where, hf_error *err)
{
    return remote_target_is_token(token)
               ? HF_OK
               : hf_fail(err, HF_INVALID,
                         "%s holds no token: that is up to %d characters of ASCII, without spaces.",
                         where, TOKEN_MAX);
}

static hf_status remote_target_token_of_environment(remote_target *out, hf_error *err)
{
    const char *given = secure_getenv("HOLDFAST_TOKEN");
    if (given == NULL || given[0] == '\0')
        return HF_OK;
    hf_status status = remote_target_check_token(given, "HOLDFAST_TOKEN", err);
    if (status != HF_OK)
        return status;
    size_t size = strlen(given);
    out->token = hf_alloc(size + 1);
    if (out->token == NULL)
        return hf_fail_memory(err);
    memcpy(out->token, given, size);
    return HF_OK;
}

/* ---- parameters ---- */

typedef enum own { OWN_TOKEN_FILE, OWN_CA_FILE, OWN_TIMEOUT, OWN_SOCKET, OWN_COUNT } own;

static const char *const own_names[] = {"token_file", "ca_file", "timeout", "socket"};

static hf_status remote_target_take_timeout(remote_target *out, const char *value, hf_error *err)
{
    int64_t us = 0;
    if (hf_duration_parse(value, &us, NULL) != HF_OK || us < TIMEOUT_MIN_MS * INT64_C(1000) ||
        us > TIMEOUT_MAX_MS * INT64_C(1000))
        return hf_fail(
            err, HF_INVALID,
            "The parameter timeout of the URL is a duration from 100ms to 1h, as in timeout=30s.");
    out->timeout_ms = (long)(us / 1000);
    out->connect_ms = out->timeout_ms < CONNECT_MS ? out->timeout_ms : CONNECT_MS;
    return HF_OK;
}

static hf_status remote_target_take_ca_file(const remote_target *out, const char *path,
                                            hf_error *err)
{
    if (strncmp(out->base, "https:", 6) != 0)
        return hf_fail(err, HF_INVALID,
                       "ca_file= is for https://; over http:// no certificate is shown.");
    if (access(path, R_OK) != 0)
        return hf_fail(err, HF_UNAVAILABLE, "The file of certificates %s can't be read: %m.", path);
    return HF_OK;
}

static hf_status remote_target_take(remote_target *out, own it, char **value, hf_error *err)
{
    hf_status status;
    switch (it) {
    case OWN_TOKEN_FILE:
        status = hf_url_secret("token", *value, &out->token, err);
        return status != HF_OK ? status : remote_target_check_token(out->token, *value, err);
    case OWN_CA_FILE:
        if ((status = remote_target_take_ca_file(out, *value, err)) == HF_OK) {
            out->ca_file = *value;
            *value = NULL;
        }
        return status;
    case OWN_TIMEOUT:
        return remote_target_take_timeout(out, *value, err);
    default:
        out->socket = *value;
        *value = NULL;
        return HF_OK;
    }
}

static hf_status remote_target_refuse_parameter(hf_slice name, hf_error *err)
{
    if (hf_slice_equal(name, hf_slice_of("namespace")))
        return hf_fail(
            err, HF_INVALID,
            "A server's tables are those of its own store: leave namespace= out, and give it in "
            "the URL the server is started with.");
    return hf_fail(
        err, HF_INVALID,
        "The URL of a server takes the parameters token_file, ca_file, timeout and socket, and no "
        "other; " GIVE_TOKEN ".");
}

static hf_status remote_target_take_parameter(remote_target *out, hf_slice name, hf_slice value,
                                              bool *seen, hf_error *err)
{
    own it = OWN_TOKEN_FILE;
    char *plain = NULL;
    while (it < OWN_COUNT && !hf_slice_equal(name, hf_slice_of(own_names[it])))
        it++;
    if (it == OWN_COUNT)
        return remote_target_refuse_parameter(name, err);
    if (seen[it])
        return hf_fail(err, HF_INVALID, "The parameter %s is in the URL twice; keep one of them.",
                       own_names[it]);
    seen[it] = true;
    if (value.size == 0)
        return hf_fail(err, HF_INVALID, "The parameter %s of the URL has no value: write %s=VALUE.",
                       own_names[it], own_names[it]);
    hf_status status = hf_url_decode(value, own_names[it], &plain, err);
    if (status == HF_OK)
        status = remote_target_take(out, it, &plain, err);
    hf_free(plain);
    return status;
}

static hf_status remote_target_take_parameters(remote_target *out, const char *query, hf_error *err)
{
    bool seen[OWN_COUNT] = {false};
    hf_slice name, value;
    hf_status status = HF_OK;
    while (status == HF_OK && hf_url_next(&query, &name, &value))
        status = remote_target_take_parameter(out, name, value, seen, err);
    return status != HF_OK || out->token != NULL ? status
                                                 : remote_target_token_of_environment(out, err);
}

/* ---- the address ---- */

static hf_status remote_target_explain(CURLUcode code, hf_error *err)
{
    if (code == CURLUE_OUT_OF_MEMORY)
        return hf_fail_memory(err);
    if (code == CURLUE_USER_NOT_ALLOWED)
        return hf_fail(err, HF_INVALID,
                       "The URL of a server has no user and no password; " GIVE_TOKEN ".");
    return hf_fail(err, HF_INVALID,
                   "The URL of a server can't be understood (%s); write http://HOST:PORT or "
                   "https://HOST:PORT.",
                   curl_url_strerror(code));
}

/* The URL as libcurl understands it, without slashes at its end. */
static hf_status remote_target_keep_base(CURLU *parsed, char **out, hf_error *err)
{
    char *whole = NULL;
    CURLUcode code = curl_url_get(parsed, CURLUPART_URL, &whole, 0);
    if (code != CURLUE_OK)
        return remote_target_explain(code, err);
    size_t size = strlen(whole);
    while (size > 0 && whole[size - 1] == '/')
        size--;
    *out = hf_alloc(size + 1);
    if (*out != NULL)
        memcpy(*out, whole, size);
    curl_free(whole);
    return *out == NULL ? hf_fail_memory(err) : HF_OK;
}

/* libcurl makes sense of much that was meant otherwise. */
static bool remote_target_has_host(const char *address)
{
    const char *host = strstr(address, "://");
    return host != NULL && host[3] != '\0' && host[3] != '/' &&
           strcspn(address, ":") == (size_t)(host - address);
}

static hf_status remote_target_read_address(const char *address, char **out, hf_error *err)
{
    if (!remote_target_has_host(address))
        return remote_target_explain(CURLUE_NO_HOST, err);
    if (strchr(address, '#') != NULL)
        return hf_fail(err, HF_INVALID, "The URL of a server has no part after a #; leave it out.");
    CURLU *parsed = curl_url();
    if (parsed == NULL)
        return hf_fail_memory(err);
    CURLUcode code = curl_url_set(parsed, CURLUPART_URL, address, CURLU_DISALLOW_USER);
    hf_status status = code == CURLUE_OK ? remote_target_keep_base(parsed, out, err)
                                         : remote_target_explain(code, err);
    curl_url_cleanup(parsed);
    return status;
}

static hf_status remote_target_name_it(remote_target *out, hf_error *err)
{
    hf_buffer name = {0};
    hf_buffer_print(&name, "%s", out->base);
    if (out->socket != NULL)
        hf_buffer_print(&name, " on the socket %s", out->socket);
    out->name = hf_buffer_take(&name);
    return out->name == NULL ? hf_fail_memory(err) : HF_OK;
}

hf_status remote_target_read(const char *url, remote_target *out, hf_error *err)
{
    hf_buffer address = {0};
    size_t size = strcspn(url, "?");
    *out = (remote_target){.timeout_ms = TIMEOUT_MS, .connect_ms = CONNECT_MS};
    hf_buffer_add(&address, url, size);
    hf_status status = address.failed ? hf_fail_memory(err)
                                      : remote_target_read_address(address.text, &out->base, err);
    hf_buffer_done(&address);
    if (status == HF_OK)
        status = remote_target_take_parameters(out, url[size] == '?' ? url + size + 1 : NULL, err);
    return status != HF_OK ? status : remote_target_name_it(out, err);
}

void remote_target_done(remote_target *target)
{
    hf_free(target->base);
    hf_free(target->name);
    hf_free(target->socket);
    hf_free(target->ca_file);
    hf_url_wipe(target->token);
    *target = (remote_target){0};
}
