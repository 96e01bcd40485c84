/* SPDX-License-Identifier: MIT */
/* install and uninstall: holdfast's tables in a database, or the SQL for it, for an administrator
 * to read and run. */
#include "base/error.h"
#include "base/json.h"
#include "cli/call.h"
#include "cli/output.h"
#include "cli/verbs.h"
#include "guard/guard.h"

#include <stdio.h>
#include <string.h>

/* The URL without what stands for user, password and settings: any of it may be a secret. */
static void install_name_place(const char *url, char out[CLI_URL_SIZE])
{
    const char *host = strstr(url, "://");
    if (strncmp(url, "sqlite:", 7) == 0 || host == NULL) {
        snprintf(out, CLI_URL_SIZE, "%.*s", (int)strcspn(url, "?"), url);
        return;
    }
    size_t scheme = (size_t)(host + 3 - url);
    host += 3;
    for (const char *at = host; *at != '\0' && *at != '/'; at++)
        if (*at == '@')
            host = at + 1;
    snprintf(out, CLI_URL_SIZE, "%.*s%.*s", (int)scheme, url, (int)strcspn(host, "?"), host);
}

/* The namespace the URL names; it was understood, so it is one. */
static void name_namespace(const char *url, char out[64])
{
    const char *given = strstr(url, "namespace=");
    snprintf(out, 64, "holdfast");
    if (given != NULL && given > url && (given[-1] == '?' || given[-1] == '&'))
        snprintf(out, 64, "%.*s", (int)strcspn(given + 10, "&"), given + 10);
}

static void install_write_piece(void *context, const char *text)
{
    (void)context;
    fputs(text, stdout);
}

static hf_status install_check(const cli_call *call, const char **url, hf_error *err)
{
    *url = call->arguments.operands[0];
    if (cli_has(&call->arguments, "store"))
        return hf_fail(err, HF_INVALID, "'%s' takes the URL as its operand; leave --store out.",
                       call->arguments.verb->name);
    if (cli_has(&call->arguments, "token-file"))
        return hf_fail(err, HF_INVALID,
                       "'%s' works on a database, not on a server; leave --token-file out.",
                       call->arguments.verb->name);
    if (cli_has(&call->arguments, "print") && call->json)
        return hf_fail(err, HF_INVALID, "--print writes SQL; leave --json out.");
    return HF_OK;
}

/* "Installed holdfast in schema NAMESPACE of PLACE. The account ROLE may use it." */
static void install_say(bool removed, const char *place, const char *names, const char *role)
{
    if (strncmp(place, "postgres", 8) == 0)
        cli_print("%s schema %s of %s.",
                  removed ? "Removed holdfast from" : "Installed holdfast in", names, place);
    else if (strncmp(place, "redis", 5) == 0)
        cli_print("%s %s:* %s %s.",
                  removed ? "Removed holdfast's keys" : "Installed holdfast as keys", names,
                  removed ? "from" : "in", place);
    else
        cli_print("%s %s_... %s %s.",
                  removed ? "Removed holdfast's tables" : "Installed holdfast as", names,
                  removed ? "from" : "in", place);
    if (role != NULL)
        cli_print(" The account %s may use it.", role);
    putchar('\n');
}

static hf_status install_tell(const cli_call *call, const char *url, bool removed, const char *role,
                              hf_error *err)
{
    char place[CLI_URL_SIZE], names[64];
    hf_json json = {0};
    install_name_place(url, place);
    name_namespace(url, names);
    if (!call->json) {
        install_say(removed, place, names, role);
        return HF_OK;
    }
    hf_json_begin(&json, '{');
    hf_json_put_text(&json, "done", removed ? "uninstalled" : "installed");
    hf_json_put_text(&json, "store", place);
    hf_json_put_text(&json, "namespace", names);
    if (role != NULL) {
        hf_json_put_text(&json, "role", role);
    }
    hf_json_end(&json, '}');
    return cli_print_json(hf_buffer_take(&json.out), err);
}

static hf_status run_install(cli_call *call, hf_error *err)
{
    const char *url, *role = cli_value(&call->arguments, "role");
    hf_status status = install_check(call, &url, err);
    if (status == HF_OK && cli_has(&call->arguments, "print"))
        return hf_store_install_sql(url, false, role, install_write_piece, NULL, err);
    if (status == HF_OK)
        status = hf_store_install(url, role, err);
    if (status == HF_OK)
        status = guard_renew(url, err);
    return status != HF_OK ? status : install_tell(call, url, false, role, err);
}

static hf_status run_uninstall(cli_call *call, hf_error *err)
{
    const char *url;
    hf_status status = install_check(call, &url, err);
    if (status == HF_OK && cli_has(&call->arguments, "print"))
        return hf_store_install_sql(url, true, NULL, install_write_piece, NULL, err);
    if (status == HF_OK)
        status = hf_store_uninstall(url, cli_has(&call->arguments, "force"), err);
    return status != HF_OK ? status : install_tell(call, url, true, NULL, err);
}

static const cli_option install_options[] = {
    {"print", NULL, "print the SQL for an administrator instead; connects to nothing"},
    {"role", "NAME", "a database account that may use the tables, but not alter them"},
    CLI_END_OF_OPTIONS,
};

static const cli_option uninstall_options[] = {
    {"print", NULL, "print the SQL for an administrator instead; connects to nothing"},
    {"force", NULL, "even if locks are held (they end), or another version made the tables"},
    CLI_END_OF_OPTIONS,
};

const cli_verb cli_install = {
    .name = "install",
    .operands = "URL",
    .operands_min = 1,
    .operands_max = 1,
    .summary = "Creates holdfast's tables in a database.",
    .about = "Existing data stays, so it can be repeated. It is one transaction where the database "
             "allows. The triggers of guards are created again.",
    .options = install_options,
    .run = run_install,
};

const cli_verb cli_uninstall = {
    .name = "uninstall",
    .operands = "URL",
    .operands_min = 1,
    .operands_max = 1,
    .summary = "Removes holdfast's tables and their content from a database.",
    .about = "Refused while locks are held. Other objects in the database stay.",
    .options = uninstall_options,
    .run = run_uninstall,
};
