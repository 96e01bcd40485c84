/* SPDX-License-Identifier: MIT */
/* help: all of it is read from the verbs' own tables. With --json the tables themselves, for those
 * who check the completions against them. */
#include "base/error.h"
#include "cli/call.h"
#include "cli/verbs.h"

#include <stdio.h>
#include <string.h>

enum { LINE = 90 };

/* Prints text broken at blanks, each line after `indent` blanks; the first starts at the present
 * column. */
static void print_wrapped(const char *text, int indent)
{
    int column = indent;
    while (*text != '\0') {
        int word = (int)strcspn(text, " ");
        if (column > indent && column + 1 + word > LINE) {
            printf("\n%*s", indent, "");
            column = indent;
        } else if (column > indent) {
            putchar(' ');
            column++;
        }
        printf("%.*s", word, text);
        column += word;
        text += word;
        text += strspn(text, " ");
    }
    putchar('\n');
}

static void print_usage(const cli_verb *verb)
{
    printf("holdfast %s%s%s [OPTION...]", verb->name, verb->operands != NULL ? " " : "",
           verb->operands != NULL ? verb->operands : "");
}

static void print_options(const cli_option *options)
{
    char left[40];
    for (const cli_option *option = options; option != NULL && option->name != NULL; option++) {
        snprintf(left, sizeof left, "--%s%s%s", option->name, option->value != NULL ? " " : "",
                 option->value != NULL ? option->value : "");
        printf("  %-24s  ", left);
        print_wrapped(option->help, 28);
    }
}

void cli_print_verb_help(const cli_verb *verb)
{
    printf("Usage: ");
    print_usage(verb);
    printf("\n\n");
    print_wrapped(verb->summary, 0);
    if (verb->about != NULL) {
        putchar('\n');
        print_wrapped(verb->about, 0);
    }
    printf("\nOptions:\n");
    print_options(verb->options);
    print_options(cli_common_options);
}

static bool belongs_to(const cli_verb *verb, const char *noun)
{
    size_t length = strlen(noun);
    return strncmp(verb->name, noun, length) == 0 && verb->name[length] == ' ';
}

void cli_print_noun_help(const char *noun)
{
    const char *gap = "";
    for (const cli_verb *const *verb = cli_verbs; *verb != NULL; verb++) {
        if (belongs_to(*verb, noun)) {
            fputs(gap, stdout);
            cli_print_verb_help(*verb);
            gap = "\n";
        }
    }
}

void cli_print_overview(void)
{
    printf("holdfast keeps people's work from being lost when an edit takes longer than a "
           "transaction.\n\n"
           "Usage: holdfast VERB [OPERAND...] [OPTION...]\n\n");
    for (const cli_verb *const *verb = cli_verbs; *verb != NULL; verb++) {
        printf("  %-14s ", (*verb)->name);
        print_wrapped((*verb)->summary, 17);
    }
    printf("\nEvery verb:\n");
    print_options(cli_common_options);
    printf("\nTry this first:\n  holdfast session open --user alice --name \"Alice Chen\"\n  "
           "holdfast acquire policy/12345 --purpose renewal\n  holdfast who "
           "policy/12345\n\n'holdfast help VERB' says more, 'man holdfast' has everything.\n");
}

static void print_options_json(const cli_option *options, const char *gap)
{
    for (const cli_option *option = options; option != NULL && option->name != NULL; option++) {
        const char *quote = option->value != NULL ? "\"" : "";
        printf("%s{\"name\":\"%s\",\"value\":%s%s%s}", gap, option->name, quote,
               option->value != NULL ? option->value : "null", quote);
        gap = ",";
    }
}

static void print_tables_json(void)
{
    const char *gap = "";
    printf("{\"verbs\":[");
    for (const cli_verb *const *verb = cli_verbs; *verb != NULL; verb++) {
        printf("%s{\"name\":\"%s\",\"operands\":\"%s\",\"options\":[", gap, (*verb)->name,
               (*verb)->operands != NULL ? (*verb)->operands : "");
        print_options_json(cli_common_options, "");
        print_options_json((*verb)->options, ",");
        printf("]}");
        gap = ",";
    }
    printf("]}\n");
}

static hf_status help_run(cli_call *call, hf_error *err)
{
    const cli_arguments *arguments = &call->arguments;
    char name[64];
    if (call->json) {
        print_tables_json();
        return HF_OK;
    }
    if (arguments->operands_count == 0) {
        cli_print_overview();
        return HF_OK;
    }
    bool noun = arguments->operands_count == 1 && cli_verb_is_noun(arguments->operands[0]);
    snprintf(name, sizeof name, "%s%s%s", arguments->operands[0],
             arguments->operands_count > 1 ? " " : "",
             arguments->operands_count > 1 ? arguments->operands[1] : "");
    const cli_verb *verb = cli_verb_find(name);
    if (verb == NULL && !noun)
        return cli_verb_refuse(name, err);
    if (noun)
        cli_print_noun_help(arguments->operands[0]);
    else
        cli_print_verb_help(verb);
    return HF_OK;
}

const cli_verb cli_help = {
    .name = "help",
    .operands = "[VERB]",
    .operands_max = 2,
    .summary = "Shows what the verbs do, and their options.",
    .run = help_run,
};
