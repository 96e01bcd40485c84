/* SPDX-License-Identifier: MIT */
/* Lines to try, with the addresses and files of the server that has just started, so that they can
 * be pasted as they are. */
#include "cli/hints.h"

#include "base/redact.h"

#include <errno.h>
#include <holdfast/limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* How curl reaches the first address: the words before the URL, and the URL; and the URL of the
 * same as a store. */
typedef struct target {
    char options[ADDRESS_NAME_SIZE + 32];
    char url[ADDRESS_NAME_SIZE + 16];
    char store[ADDRESS_NAME_SIZE + 32];
} target;

/* An address that stands for all of the machine's is reached by loopback. */
static void name_target(const listener *one, target *out)
{
    const char *port = strrchr(one->name, ':');
    const char *scheme = one->tls ? "https" : "http";
    out->options[0] = '\0';
    if (strncmp(one->name, "unix:", 5) == 0) {
        snprintf(out->options, sizeof out->options, " --unix-socket '%s'", one->name + 5);
        snprintf(out->url, sizeof out->url, "http://localhost");
    } else if (strncmp(one->name, "0.0.0.0:", 8) == 0 || strncmp(one->name, "[::]:", 5) == 0) {
        snprintf(out->url, sizeof out->url, "%s://localhost%s", scheme, port);
    } else {
        snprintf(out->url, sizeof out->url, "%s://%s", scheme, one->name);
    }
    bool by_path = out->options[0] != '\0';
    snprintf(out->store, sizeof out->store, "%s%s%s", out->url, by_path ? "?socket=" : "",
             by_path ? one->name + 5 : "");
}

static bool has_file(const bootstrap_token *token)
{
    return token->outcome == FIRST_MADE || token->outcome == FIRST_KNOWN;
}

static void print_token(const settings *s, const bootstrap_token *token)
{
    hf_token_key key;
    if (!has_file(token)) {
        printf("The store has tokens already.\n");
        return;
    }
    if (s->print_token && isatty(STDOUT_FILENO) &&
        bootstrap_secret(token->path, &key, NULL) == HF_OK) {
        printf("The admin token, which may do everything: %s\nIt is also in %s.\n", key.secret,
               token->path);
        hf_token_clear(&key);
        return;
    }
    printf("The admin token, which may do everything, is in %s.\n", token->path);
}

static void print_lines(const target *t, const bootstrap_token *token)
{
    const char *o = t->options, *url = t->url;
    printf("\nTwo people, one record (paste this into another terminal):\n\n");
    if (has_file(token))
        printf("  token=$(cat '%s')\n", token->path);
    else
        printf("  token=...   # one of yours\n");
    printf("  url=%s\n"
           "  call() { curl -sw '\\n'%s \"$@\"; }\n"
           "  open() { call $url/v1/sessions -H \"Authorization: Bearer $token\" --json "
           "\"{\\\"user\\\":\\\"$1\\\"}\" |\n"
           "    sed -E 's/.*\"id\":\"([^\"]*)\".*\"key\":\"([^\"]*)\".*/\\1.\\2/'; }\n"
           "  alice=$(open alice) bob=$(open bob)\n",
           url, o);
    printf("  call -X PUT $url/v1/locks/policy/12345 -H \"Holdfast-Session: $alice\" --json "
           "'{\"purpose\":\"renewal\"}'\n"
           "  call -X PUT $url/v1/locks/policy/12345 -H \"Holdfast-Session: $bob\" --json '{}'   # "
           "who has "
           "it, since when\n"
           "  call -X DELETE $url/v1/locks/policy/12345 -H \"Holdfast-Session: $alice\"\n"
           "  call -N $url/v1/events -H \"Authorization: Bearer $token\" -H 'Last-Event-ID: 0'   # "
           "all that "
           "happened\n\n");
}

/* With the admin token by this server; without it by the store itself. */
static void print_create(const settings *s, const target *t, const bootstrap_token *token)
{
    char store[HF_URL_MAX + 1];
    printf("A token for a program of yours:\n\n  '%s' token create --name shop --role use --role "
           "observe",
           program_invocation_name);
    if (has_file(token)) {
        printf(" --store '%s' --token-file '%s'\n\n", t->store, token->path);
    } else {
        bool hidden = hf_url_redact(s->store, store, sizeof store);
        printf(" --store '%s'%s\n\n", store, hidden ? "   # and its password" : "");
    }
}

void cli_print_hints(const settings *s, const server_ready *what)
{
    target t;
    name_target(&what->listening->all[0], &t);
    bool by_path = t.options[0] != '\0';
    printf("holdfast serves on %s%s%s. Ctrl-C stops it.\n", t.url, by_path ? ", by" : "",
           t.options);
    if (!by_path)
        printf("The dashboard: %s/ (sign in with the admin token).\n", t.url);
    printf("The store: %s.\n", what->grade->text);
    print_token(s, what->token);
    print_lines(&t, what->token);
    print_create(s, &t, what->token);
    fflush(stdout);
}
