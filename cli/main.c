/* SPDX-License-Identifier: MIT */
/* holdfast, the program: finds the verb, parses its arguments by its table, runs it, and turns the
 * status into the exit code. All verbs are in the table below. */
#include "base/error.h"
#include "cli/call.h"
#include "cli/hide.h"
#include "cli/output.h"
#include "cli/verbs.h"

#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

const cli_verb *const cli_verbs[] = {
    &cli_session_open, &cli_session_beat, &cli_session_close, &cli_session_list,
    &cli_acquire,      &cli_release,      &cli_renew,         &cli_downgrade,
    &cli_holds,        &cli_who,          &cli_list,          &cli_request,
    &cli_hand_over,    &cli_decline,      &cli_force_release, &cli_version,
    &cli_save,         &cli_type_set,     &cli_type_get,      &cli_type_list,
    &cli_token_create, &cli_token_list,   &cli_token_revoke,  &cli_run,
    &cli_sweep,        &cli_events,       &cli_watch,         &cli_top,
    &cli_backup,       &cli_restore,      &cli_install,       &cli_uninstall,
    &cli_guard_add,    &cli_guard_show,   &cli_guard_mode,    &cli_guard_report,
    &cli_guard_remove, &cli_probe,        &cli_advise,        &cli_plan,
    &cli_audit,        &cli_serve,        &cli_help,          NULL,
};

const cli_verb *cli_verb_find(const char *name)
{
    for (const cli_verb *const *verb = cli_verbs; *verb != NULL; verb++)
        if (strcmp((*verb)->name, name) == 0)
            return *verb;
    return NULL;
}

/* How many letters must be changed, added, left out or exchanged with their neighbor. */
static size_t verb_distance(const char *a, const char *b)
{
    enum { MOST = 32 };
    size_t rows[3][MOST + 1], m = strnlen(a, MOST), n = strnlen(b, MOST);
    for (size_t j = 0; j <= n; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= m; i++) {
        size_t *now = rows[i % 3], *last = rows[(i - 1) % 3], *before = rows[(i + 1) % 3];
        now[0] = i;
        for (size_t j = 1; j <= n; j++) {
            size_t least = last[j - 1] + (a[i - 1] != b[j - 1]);
            least = last[j] + 1 < least ? last[j] + 1 : least;
            least = now[j - 1] + 1 < least ? now[j - 1] + 1 : least;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                least = before[j - 2] + 1 < least ? before[j - 2] + 1 : least;
            now[j] = least;
        }
    }
    return rows[m % 3][n];
}

/* What other programs call it, or the verb that is spelled nearly so; NULL: neither. */
static const char *verb_meant(const char *name)
{
    static const struct {
        const char *said, *meant;
    } words[] = {
        {"lock", "acquire"}, {"get", "acquire"}, {"unlock", "release"}, {"free", "release"},
        {"ls", "list"}, {"locks", "list"}, {"status", "list"}, {"ps", "list"}, {"show", "who"},
        {"info", "who"}, {"holder", "who"}, {"open", "session open"}, {"login", "session open"},
        {"close", "session close"}, {"logout", "session close"}, {"beat", "session beat"},
        {"ping", "session beat"}, {"sessions", "session list"}, {"tokens", "token list"},
        {"types", "type list"}, {"guards", "guard show"}, {"log", "events"}, {"history", "events"},
        {"tail", "watch"}, {"break", "force-release"}, {"steal", "force-release"},
        {"kill", "force-release"}, {"ask", "request"}, {"give", "hand-over"},
        {"handover", "hand-over"}, {"exec", "run"}, {"with", "run"}, {"server", "serve"},
        {"start", "serve"}, {"dump", "backup"}, {"export", "backup"}, {"import", "restore"},
        {"gc", "sweep"}, {"versions", "version"}, {"migrate", "install"}, {"lint", "audit"},
    };
    const char *nearest = NULL;
    size_t least = strlen(name) > 4 ? 3 : 2;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i].said, name) == 0)
            return words[i].meant;
    for (const cli_verb *const *verb = cli_verbs; *verb != NULL; verb++) {
        size_t distance = verb_distance(name, (*verb)->name);
        if (distance < least) {
            least = distance;
            nearest = (*verb)->name;
        }
    }
    return nearest;
}

hf_status cli_verb_refuse(const char *name, hf_error *err)
{
    const char *meant = verb_meant(name);
    return meant == NULL
               ? hf_fail(err, HF_INVALID,
                         "There is no verb '%.20s'; 'holdfast help' lists all verbs.", name)
               : hf_fail(err, HF_INVALID,
                         "There is no verb '%.20s'; did you mean 'holdfast %s'? 'holdfast help' "
                         "lists all verbs.",
                         name, meant);
}

bool cli_verb_is_noun(const char *word)
{
    size_t length = strlen(word);
    for (const cli_verb *const *verb = cli_verbs; *verb != NULL; verb++)
        if (strncmp((*verb)->name, word, length) == 0 && (*verb)->name[length] == ' ')
            return true;
    return false;
}

/* Does the option, of whichever verb, take the next argument as its value? */
static bool takes_next(const char *text)
{
    const char *name = text + 2;
    if (strncmp(text, "--", 2) != 0 || strchr(name, '=') != NULL)
        return false;
    for (const cli_verb *const *verb = cli_verbs; *verb != NULL; verb++) {
        const cli_option *option = cli_option_find(*verb, name, strlen(name));
        if (option != NULL)
            return option->value != NULL;
    }
    return false;
}

/* Takes the next word that is neither an option nor its value out of argv; NULL when there is none.
 * */
static char *take_word(int *argc, char **argv)
{
    for (int i = 0; i < *argc; i++) {
        char *text = argv[i];
        if (text[0] != '-') {
            memmove(&argv[i], &argv[i + 1], (size_t)(*argc - i - 1) * sizeof *argv);
            (*argc)--;
            return text;
        }
        i += takes_next(text);
    }
    return NULL;
}

static bool main_asks(int argc, char *const *argv, const char *option)
{
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], option) == 0)
            return true;
    return false;
}

/* "session" alone: its help, or what could follow. */
static hf_status noun_alone(const char *noun, bool help, hf_error *err)
{
    char words[128] = "";
    size_t used = 0;
    size_t length = strlen(noun);
    if (help) {
        cli_print_noun_help(noun);
        return HF_OK;
    }
    for (const cli_verb *const *verb = cli_verbs; *verb != NULL; verb++) {
        const char *name = (*verb)->name;
        if (strncmp(name, noun, length) == 0 && name[length] == ' ' && used < sizeof words)
            used += (size_t)snprintf(words + used, sizeof words - used, "%s%s",
                                     used > 0 ? ", " : "", name + length + 1);
    }
    return hf_fail(err, HF_INVALID, "'%s' needs one more word, one of %s; see 'holdfast help %s'.",
                   noun, words, noun);
}

/* Finds the verb. HF_OK with *out NULL: the answer was printed and nothing is left to do. */
static hf_status find_verb(int *argc, char **argv, const cli_verb **out, hf_error *err)
{
    char name[64];
    bool help = main_asks(*argc, argv, "--help") || main_asks(*argc, argv, "-h");
    const char *first = take_word(argc, argv);
    if (first == NULL && main_asks(*argc, argv, "--version")) {
        printf("holdfast %s\n", hf_library_version());
        return HF_OK;
    }
    if (first == NULL && help) {
        cli_print_overview();
        return HF_OK;
    }
    if (first == NULL)
        return hf_fail(err, HF_INVALID,
                       "A verb is missing, as in 'holdfast list'; 'holdfast help' lists them all.");
    snprintf(name, sizeof name, "%s", first);
    if (cli_verb_is_noun(first)) {
        const char *second = take_word(argc, argv);
        if (second == NULL)
            return noun_alone(first, help, err);
        snprintf(name, sizeof name, "%s %s", first, second);
    }
    *out = cli_verb_find(name);
    return *out != NULL ? HF_OK : cli_verb_refuse(name, err);
}

static hf_status main_run(cli_call *call, int argc, char **argv, hf_error *err)
{
    const cli_verb *verb = NULL;
    if (argc == 0) {
        cli_print_overview();
        call->exit_code = hf_status_exit(HF_INVALID);
        return HF_OK;
    }
    hf_status status = find_verb(&argc, argv, &verb, err);
    if (status != HF_OK || verb == NULL)
        return status;
    status = cli_parse(verb, argc, argv, &call->arguments, err);
    if (status == HF_OK && cli_has(&call->arguments, "help")) {
        cli_print_verb_help(verb);
        return HF_OK;
    }
    if (status == HF_OK)
        status = cli_check_operands(&call->arguments, err);
    return status == HF_OK ? verb->run(call, err) : status;
}

/* So that no file opened later gets the number of a closed stdout, and what is printed ends up
 * inside it. */
static void fill_standard_files(void)
{
    int fd = 0;
    do
        fd = open("/dev/null", O_RDONLY);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0)
        close(fd);
}

int main(int argc, char **argv)
{
    cli_call call = {0};
    hf_error err = {0};
    fill_standard_files();
    setlocale(
        LC_CTYPE,
        /* names are UTF-8 whatever the user's language; table.c wants to know how wide they are */
        "C.UTF-8");
    signal(SIGPIPE, SIG_IGN); /* a reader that goes away shows as a failed write */
    signal(SIGXFSZ, SIG_IGN); /* so does a file that reached its limit: like a full disk */
    argv += argc > 0;
    argc -= argc > 0;
    char **words = cli_hide(argc, argv);
    argv = words != NULL ? words : argv;
    call.json = main_asks(argc, argv, "--json");
    hf_status status = main_run(&call, argc, argv, &err);
    if (status != HF_OK)
        cli_print_refusal(&call, status, &err);
    int exit_code = call.exit_code != 0 ? call.exit_code : hf_status_exit(status);
    cli_call_done(&call);
    cli_hide_done(words);
    return cli_finish(exit_code);
}
