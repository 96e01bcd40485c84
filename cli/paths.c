/* SPDX-License-Identifier: MIT */
/* Folders by the XDG base directory rules, with holdfast's own variables before them. */
#include "cli/paths.h"

#include "base/error.h"
#include "base/folder.h"
#include "base/redact.h"
#include "cli/output.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct {
    const char *own;
    const char *xdg;
    const char *below_home;
} folders[] = {
    [CLI_DATA] = {"HOLDFAST_DATA", "XDG_DATA_HOME", ".local/share"},
    [CLI_STATE] = {"HOLDFAST_STATE", "XDG_STATE_HOME", ".local/state"},
};

static const char *paths_variable(const char *name)
{
    const char *value = getenv(name);
    return value != NULL && value[0] != '\0' ? value : NULL;
}

static const char *paths_home(void)
{
    const char *value = paths_variable("HOME");
    if (value != NULL)
        return value;
    const struct passwd *user = getpwuid(getuid());
    return user != NULL ? user->pw_dir : NULL;
}

static hf_status name_folder(cli_folder folder, char out[PATH_MAX], hf_error *err)
{
    const char *own = paths_variable(folders[folder].own);
    const char *xdg = paths_variable(folders[folder].xdg);
    int length = 0;
    if (own != NULL) {
        length = snprintf(out, PATH_MAX, "%s", own);
    } else if (xdg != NULL &&
               xdg[0] == '/') { /* a relative one is to be ignored, says the standard */
        length = snprintf(out, PATH_MAX, "%s/holdfast", xdg);
    } else if (paths_home() != NULL) {
        length =
            snprintf(out, PATH_MAX, "%s/%s/holdfast", paths_home(), folders[folder].below_home);
    } else {
        return hf_fail(err, HF_UNAVAILABLE,
                       "There is no home directory to keep files in; set %s to a folder.",
                       folders[folder].own);
    }
    if (length >= PATH_MAX)
        return hf_fail(err, HF_UNAVAILABLE,
                       "The folder that %s, %s or HOME leads to has too long a name.",
                       folders[folder].own, folders[folder].xdg);
    return HF_OK;
}

static hf_status make_folder(const char *path, hf_error *err)
{
    int why = hf_folder_make(path);
    if (why == EEXIST)
        return hf_fail(err, HF_UNAVAILABLE, "%s is not a folder; move it away.", path);
    return why == 0 ? HF_OK
                    : hf_fail(err, HF_UNAVAILABLE, "The folder %s could not be created: %s.", path,
                              strerror(why));
}

hf_status cli_folder_path(cli_folder folder, bool make, char out[PATH_MAX], hf_error *err)
{
    hf_status status = name_folder(folder, out, err);
    return status == HF_OK && make ? make_folder(out, err) : status;
}

hf_status cli_default_store(char out[CLI_URL_SIZE], hf_error *err)
{
    char folder[PATH_MAX];
    hf_status status = cli_folder_path(CLI_DATA, true, folder, err);
    if (status == HF_OK &&
        snprintf(out, CLI_URL_SIZE, "sqlite:%s/holdfast.db", folder) >= CLI_URL_SIZE)
        status = hf_fail(err, HF_UNAVAILABLE, "The data directory %s has too long a name.", folder);
    return status;
}

/* The file's own path where it exists, else its folder's path and its name. False: neither could be
 * told. */
static bool paths_absolute(const char *path, char out[PATH_MAX])
{
    char folder[PATH_MAX];
    char real[PATH_MAX];
    const char *slash = strrchr(path, '/');
    if (realpath(path, out) != NULL)
        return true;
    snprintf(folder, sizeof folder, "%.*s", slash == NULL ? 1 : (int)(slash - path + 1),
             slash == NULL ? "." : path);
    return realpath(folder, real) != NULL &&
           snprintf(out, PATH_MAX, "%s/%s", real, slash == NULL ? path : slash + 1) < PATH_MAX;
}

static bool name_sqlite(const char *url, char out[CLI_URL_SIZE])
{
    static const char scheme[] = "sqlite:";
    char path[PATH_MAX], whole[PATH_MAX];
    if (strncmp(url, scheme, sizeof scheme - 1) != 0)
        return false;
    const char *start = url + sizeof scheme - 1;
    size_t length = strcspn(start, "?");
    return length < sizeof path && snprintf(path, sizeof path, "%.*s", (int)length, start) > 0 &&
           paths_absolute(path, whole) &&
           snprintf(out, CLI_URL_SIZE, "%s%s%s", scheme, whole, start + length) < CLI_URL_SIZE;
}

static const char trace[] = "trace+"; /* the same store, only told of more */

static const char *without_trace(const char *url)
{
    return strncmp(url, trace, sizeof trace - 1) == 0 ? url + sizeof trace - 1 : url;
}

bool cli_is_server(const char *url)
{
    url = without_trace(url);
    return strncmp(url, "http://", 7) == 0 || strncmp(url, "https://", 8) == 0;
}

/* By the URL's word: which address a name has is for whoever connects to find out. */
static bool paths_names_this_machine(const char *host)
{
    size_t size = host[0] == '[' ? strcspn(host, "]") : strcspn(host, ":/?");
    return (size == 9 && strncasecmp(host, "localhost", size) == 0) ||
           (size == 4 && strncmp(host, "[::1", size) == 0) ||
           (strncmp(host, "127.", 4) == 0 && strspn(host, "0123456789.") == size);
}

void cli_warn_plain(const char *url)
{
    static const char scheme[] = "http://";
    const char *token = getenv("HOLDFAST_TOKEN");
    url = without_trace(url);
    if (token == NULL || token[0] == '\0' || strncmp(url, scheme, sizeof scheme - 1) != 0)
        return;
    const char *host = url + sizeof scheme - 1, *query = strchr(host, '?');
    if (paths_names_this_machine(host) || strchr(host, '@') != NULL ||
        (query != NULL &&
         (strstr(query, "token_file=") != NULL || strstr(query, "socket=") != NULL)))
        return;
    cli_say("Warning: HOLDFAST_TOKEN is sent to %.*s unencrypted, and may be read on the way; use "
            "https://, or name the token of this server with --token-file.",
            (int)strcspn(host, "/?"), host);
}

hf_status cli_url_with_token(const char *url, const char *file, char out[CLI_URL_SIZE],
                             hf_error *err)
{
    static const char plain[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/";
    if (!cli_is_server(url))
        return hf_fail(err, HF_INVALID,
                       "--token-file is for a server, http://... or https://...; leave it out for "
                       "other stores.");
    int used =
        snprintf(out, CLI_URL_SIZE, "%s%ctoken_file=", url, strchr(url, '?') == NULL ? '?' : '&');
    for (; used < CLI_URL_SIZE && *file != '\0'; file++) {
        bool stays = strchr(plain, *file) != NULL;
        used += snprintf(out + used, (size_t)(CLI_URL_SIZE - used), stays ? "%c" : "%%%02X",
                         (unsigned char)*file);
    }
    return used < CLI_URL_SIZE
               ? HF_OK
               : hf_fail(err, HF_INVALID,
                         "The store's URL and the name of the token's file are too long.");
}

/* A server is the same however it is called. */
static void name_server(char *url)
{
    static const char *const how[] = {"token_file=", "ca_file=", "timeout="};
    for (size_t i = 0; i < sizeof how / sizeof *how; i++)
        hf_url_drop(url, how[i]);
    size_t end = strcspn(url, "?"), kept = end;
    while (kept > 0 && url[kept - 1] == '/')
        kept--;
    memmove(url + kept, url + end, strlen(url + end) + 1);
}

void cli_store_name(const char *url, char out[CLI_URL_SIZE])
{
    url = without_trace(url);
    if (name_sqlite(url, out))
        return;
    hf_url_redact(url, out, CLI_URL_SIZE);
    if (cli_is_server(out))
        name_server(out);
}
