/* SPDX-License-Identifier: MIT */
/* What a verb of the command line takes, declared once as a table: parsing, usage, help and the
 * shell completions' check all read it. Options may stand anywhere, as `--name value` or
 * `--name=value`; `--` ends them. */
#ifndef HF_CLI_OPTIONS_H
#define HF_CLI_OPTIONS_H

#include <holdfast/holdfast.h>

typedef struct cli_call cli_call;

typedef struct cli_option {
    const char *name; /* without the dashes; NULL ends a table */
    /* what the value is called, "DURATION"; NULL: a switch; "ROLE...": may be given again */
    const char *value;
    const char *help;
} cli_option;

typedef struct cli_verb {
    const char *name;     /* "acquire", "session open" */
    const char *operands; /* as help shows them, "RESOURCE..."; NULL: none */
    int operands_min;
    int operands_max;
    const char *summary;       /* what it does, in a line */
    const char *about;         /* what else there is to know; may be NULL */
    const cli_option *options; /* besides the common ones; may be NULL */
    hf_status (*run)(cli_call *call, hf_error *err);
} cli_verb;

/* --store, --token-file, --json, --help: every verb has them. */
extern const cli_option cli_common_options[];

/* Rows that several tables have. */
#define CLI_SESSION_HELP                                                                           \
    "the session; process lists show it, so prefer HOLDFAST_SESSION or the remembered one"
/* clang-format off */
#define CLI_SESSION_OPTION {"session", "ID.KEY", CLI_SESSION_HELP}
#define CLI_FENCE_OPTION(help) {"fence", "N", help}
#define CLI_END_OF_OPTIONS {NULL, NULL, NULL}
/* clang-format on */

enum {
    CLI_GIVEN_MAX = 128 /* options in one call; few may be given twice */
};

typedef struct cli_given {
    const cli_option *option;
    const char *value;
} cli_given;

typedef struct cli_arguments {
    const cli_verb *verb;
    cli_given given[CLI_GIVEN_MAX];
    size_t given_count;
    char **operands; /* borrowed from argv */
    int operands_count;
} cli_arguments;

/* The option called by the first `length` bytes of name, or NULL. */
const cli_option *cli_option_find(const cli_verb *verb, const char *name, size_t length);

/* Sorts argv (without the verb's own words) into options and operands; argv is rearranged and
 * borrowed. */
hf_status cli_parse(const cli_verb *verb, int argc, char **argv, cli_arguments *out, hf_error *err);

/* Are there as many operands as the verb takes? Apart from cli_parse, so that --help needs none. */
hf_status cli_check_operands(const cli_arguments *arguments, hf_error *err);

/* Was it given? And its (first) value; NULL when it was not. */
bool cli_has(const cli_arguments *arguments, const char *name);
const char *cli_value(const cli_arguments *arguments, const char *name);

/* The value as what it stands for; a number is at least `min`. When it was not given, *out stays as
 * it is. */
hf_status cli_value_duration(const cli_arguments *arguments, const char *name, int64_t *out_us,
                             hf_error *err);
hf_status cli_value_number(const cli_arguments *arguments, const char *name, int64_t min,
                           int64_t *out, hf_error *err);

/* --type, which leaves out what is of other types; NULL when it was not given. */
hf_status cli_value_type(const cli_arguments *arguments, const char **out, hf_error *err);

#endif
