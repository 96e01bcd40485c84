/* SPDX-License-Identifier: MIT */
/* serve: the server in the foreground. Its options are the rows of server/settings_table.h. */
#include "base/error.h"
#include "base/seams.h"
#include "cli/call.h"
#include "cli/hide.h"
#include "cli/hints.h"
#include "cli/verbs.h"

#include <holdfast/sqlite.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ETC_FILE "/etc/holdfast/holdfast.ini"

/* A variable of the environment that is not empty. */
static const char *serve_variable(const char *name)
{
    const char *value = getenv(name);
    return value != NULL && value[0] != '\0' ? value : NULL;
}

/* $XDG_CONFIG_HOME/holdfast/holdfast.ini, else that below the home directory; "" when there is
 * neither. */
static void name_own_file(char out[PATH_MAX])
{
    const char *xdg = serve_variable("XDG_CONFIG_HOME"), *home = serve_variable("HOME");
    out[0] = '\0';
    if (xdg != NULL && xdg[0] == '/')
        snprintf(out, PATH_MAX, "%s/holdfast/holdfast.ini", xdg);
    else if (home != NULL)
        snprintf(out, PATH_MAX, "%s/.config/holdfast/holdfast.ini", home);
}

static size_t gather_flags(const cli_arguments *arguments, settings_flag out[CLI_GIVEN_MAX])
{
    size_t count = 0;
    for (size_t i = 0; i < arguments->given_count; i++) {
        const cli_given *given = &arguments->given[i];
        if (strcmp(given->option->name, "json") != 0 &&
            strcmp(given->option->name, "print-config") != 0)
            out[count++] = (settings_flag){given->option->name, given->value};
    }
    return count;
}

static hf_status serve_read_settings(const cli_call *call, settings **out, hf_error *err)
{
    char own[PATH_MAX], data[PATH_MAX];
    settings_flag flags[CLI_GIVEN_MAX];
    name_own_file(own);
    const char *const files[] = {own[0] != '\0' ? own : ETC_FILE, ETC_FILE, NULL};
    settings_sources from = {
        .flags = flags,
        .flags_count = gather_flags(&call->arguments, flags),
        .variable = serve_variable,
        .files = files,
        .data = cli_folder_path(CLI_DATA, false, data, NULL) == HF_OK ? data : NULL,
    };
    return settings_read(&from, out, err);
}

static hf_status print_settings(const settings *s, bool json, hf_error *err)
{
    hf_buffer text = {0};
    settings_print(s, json, &text);
    hf_status status = text.failed ? hf_fail_memory(err) : HF_OK;
    if (status == HF_OK) {
        cli_hide_in(text.text);
        fputs(text.text, stdout);
    }
    hf_buffer_done(&text);
    return status;
}

static void on_ready(void *context, const server_ready *what)
{
    const settings *s = context;
    if (s->hints)
        cli_print_hints(s, what);
}

static hf_status serve_run(cli_call *call, hf_error *err)
{
    settings *s = NULL;
    if (cli_has(&call->arguments, "token-file"))
        return hf_fail(
            err, HF_INVALID,
            "'serve' takes no --token-file: its own tokens are in its store. A store that is a "
            "server gets its token by token_file=PATH in its URL or in HOLDFAST_TOKEN.");
    hf_status status = serve_read_settings(call, &s, err);
    if (status != HF_OK)
        return status;
    cli_store_name(s->store, call->store);
    cli_warn_plain(s->store);
    (void)hf_sqlite_uncounted(); /* it would be a little slower, and no worse */
    if (cli_has(&call->arguments, "print-config"))
        status = print_settings(s, call->json, err);
    else
        status = server_main(s, &(server_hooks){.ready = on_ready, .context = s}, err);
    settings_free(s);
    return status;
}

/* --store is one of the common options. */
/* clang-format off */
#define SERVE_OPTION(kind, field, name, value, standard, min, max, about) SERVE_OPTION_##kind(name, value, about)
#define SERVE_OPTION_STORE(name, value, about)
#define SERVE_OPTION_ADDRESSES(name, value, about) {name, value, about},
#define SERVE_OPTION_ORIGINS(name, value, about)   {name, value, about},
#define SERVE_OPTION_HOSTS(name, value, about)     {name, value, about},
#define SERVE_OPTION_NETWORKS(name, value, about)  {name, value, about},
#define SERVE_OPTION_PATH(name, value, about)      {name, value, about},
#define SERVE_OPTION_DURATION(name, value, about)  {name, value, about},
#define SERVE_OPTION_NUMBER(name, value, about)    {name, value, about},
#define SERVE_OPTION_SIZE(name, value, about)      {name, value, about},
#define SERVE_OPTION_SWITCH(name, value, about)    {name, value, about},
#define SERVE_OPTION_CHOICE(name, value, about)    {name, value, about},
/* clang-format on */

static const cli_option options[] = {
    SETTINGS_TABLE(SERVE_OPTION){"print-config", NULL,
                                 "print all settings and where each came from, then exit"},
    CLI_END_OF_OPTIONS,
};

const cli_verb cli_serve = {
    .name = "serve",
    .summary = "Serves the locks of a store over HTTP, until it is stopped.",
    .about = "Each option is also a variable (HOLDFAST_BODY_MAX for --body-max) and a key of the "
             "file (body-max = 1M, in [server]); an option overrides the variable, and the "
             "variable overrides the file. The first start makes a token that may do everything "
             "and puts it into the file admin-token of the data directory. SIGTERM and SIGINT stop "
             "it, SIGHUP makes it read its certificates again.",
    .options = options,
    .run = serve_run,
};
