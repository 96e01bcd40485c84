/* SPDX-License-Identifier: MIT */
/* The one option parser. Its sentences name options but never repeat their values or surplus
 * operands: either may hold a session's key. */
#include "cli/options.h"

#include "base/error.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const cli_option cli_common_options[] = {
    {"store", "URL",
     "where the locks are; default: HOLDFAST_STORE, else SQLite in the data directory"},
    {"token-file", "FILE",
     "the token for a server, in a file that only its owner can read; default: HOLDFAST_TOKEN"},
    {"json", NULL, "answer in JSON"},
    {"help", NULL, "show this help"},
    CLI_END_OF_OPTIONS,
};

static const cli_option *find_in(const cli_option *options, const char *name, size_t length)
{
    for (const cli_option *option = options; option != NULL && option->name != NULL; option++)
        if (strlen(option->name) == length && memcmp(option->name, name, length) == 0)
            return option;
    return NULL;
}

const cli_option *cli_option_find(const cli_verb *verb, const char *name, size_t length)
{
    const cli_option *own = find_in(verb->options, name, length);
    return own != NULL ? own : find_in(cli_common_options, name, length);
}

static const cli_given *find_given(const cli_arguments *arguments, const char *name)
{
    for (size_t i = 0; i < arguments->given_count; i++)
        if (strcmp(arguments->given[i].option->name, name) == 0)
            return &arguments->given[i];
    return NULL;
}

static bool may_repeat(const cli_option *option)
{
    size_t size = option->value == NULL ? 0 : strlen(option->value);
    return size > 3 && strcmp(option->value + size - 3, "...") == 0;
}

/* Takes one option. *next is the argument after it and moves on when that is its value. */
static hf_status take_option(cli_arguments *out, const char *text, char **end, char ***next,
                             hf_error *err)
{
    const char *verb = out->verb->name;
    const char *name = text + 2;
    size_t length = strcspn(name, "=");
    const char *value = name[length] == '=' ? name + length + 1 : NULL;
    const cli_option *option = cli_option_find(out->verb, name, length);
    if (option == NULL)
        return hf_fail(err, HF_INVALID,
                       "'%s' has no option --%.*s; 'holdfast help %s' lists its options.", verb,
                       (int)(length > 64 ? 64 : length), name, verb);
    if (out->given_count == CLI_GIVEN_MAX)
        return hf_fail(err, HF_INVALID, "There are more than %d options; give fewer.",
                       CLI_GIVEN_MAX);
    if (find_given(out, option->name) != NULL && !may_repeat(option))
        return hf_fail(err, HF_INVALID, "--%s is given twice; give it once.", option->name);
    if (option->value == NULL && value != NULL)
        return hf_fail(err, HF_INVALID, "--%s takes no value; leave out what follows the '='.",
                       option->name);
    if (option->value != NULL && value == NULL) {
        if (*next == end || strncmp(**next, "--", 2) == 0) {
            return hf_fail(err, HF_INVALID, "--%s needs a value: --%s %s.", option->name,
                           option->name, option->value);
        }
        value = *(*next)++;
    }
    out->given[out->given_count++] = (cli_given){option, value};
    return HF_OK;
}

hf_status cli_parse(const cli_verb *verb, int argc, char **argv, cli_arguments *out, hf_error *err)
{
    char **end = argv + argc;
    bool only_operands = false;
    *out = (cli_arguments){.verb = verb, .operands = argv};
    for (char **next = argv; next < end;) {
        char *text = *next++;
        hf_status status = HF_OK;
        if (only_operands || text[0] != '-' || text[1] == '\0') {
            out->operands[out->operands_count++] = text;
        } else if (strcmp(text, "--") == 0) {
            only_operands = true;
        } else if (text[1] == '-') {
            status = take_option(out, text, end, &next, err);
        } else if (strcmp(text, "-h") == 0) {
            char long_form[] = "--help";
            status = take_option(out, long_form, end, &next, err);
        } else {
            status = hf_fail(err, HF_INVALID,
                             "Options begin with two dashes; 'holdfast help %s' lists those '%s' "
                             "has. An operand "
                             "that begins with a dash goes after '--'.",
                             verb->name, verb->name);
        }
        if (status != HF_OK)
            return status;
    }
    return HF_OK;
}

hf_status cli_check_operands(const cli_arguments *arguments, hf_error *err)
{
    const cli_verb *verb = arguments->verb;
    if (arguments->operands_count < verb->operands_min && strcmp(verb->name, "version") == 0)
        return hf_fail(err, HF_INVALID,
                       "'version' needs an operand: 'holdfast version %s'. The program's own "
                       "version is shown by 'holdfast --version'.",
                       verb->operands);
    if (arguments->operands_count < verb->operands_min)
        return hf_fail(err, HF_INVALID, "'%s' needs an operand: 'holdfast %s %s'.", verb->name,
                       verb->name, verb->operands);
    if (arguments->operands_count > verb->operands_max && verb->operands == NULL)
        return hf_fail(err, HF_INVALID,
                       "'%s' takes options only, no operands; see 'holdfast help %s'.", verb->name,
                       verb->name);
    if (arguments->operands_count > verb->operands_max)
        return hf_fail(err, HF_INVALID,
                       "'%s' takes at most %d operand%s (%s), but %d were given; put quotes around "
                       "a value with spaces.",
                       verb->name, verb->operands_max, verb->operands_max == 1 ? "" : "s",
                       verb->operands, arguments->operands_count);
    return HF_OK;
}

bool cli_has(const cli_arguments *arguments, const char *name)
{
    return find_given(arguments, name) != NULL;
}

const char *cli_value(const cli_arguments *arguments, const char *name)
{
    const cli_given *given = find_given(arguments, name);
    return given != NULL ? given->value : NULL;
}

hf_status cli_value_duration(const cli_arguments *arguments, const char *name, int64_t *out_us,
                             hf_error *err)
{
    const char *text = cli_value(arguments, name);
    hf_error inner = {0};
    if (text == NULL)
        return HF_OK;
    hf_status status = hf_duration_parse(text, out_us, &inner);
    return status == HF_OK ? HF_OK : hf_fail(err, status, "--%s: %s", name, inner.message);
}

hf_status cli_value_number(const cli_arguments *arguments, const char *name, int64_t min,
                           int64_t *out, hf_error *err)
{
    const char *text = cli_value(arguments, name);
    if (text == NULL)
        return HF_OK;
    char *rest = NULL;
    errno = 0;
    long long number = strtoll(text, &rest, 10);
    if (text[0] < '0' || text[0] > '9' || *rest != '\0' || errno != 0 || number < min)
        return hf_fail(err, HF_INVALID, "--%s needs a whole number from %lld to %lld.", name,
                       (long long)min, (long long)INT64_MAX);
    *out = number;
    return HF_OK;
}

/* A store is not always asked for one type, so it does not always see this: what is wrong with it
 * is found as in a resource. */
hf_status cli_value_type(const cli_arguments *arguments, const char **out, hf_error *err)
{
    char text[HF_TYPE_MAX + 4];
    hf_resource resource;
    hf_error flaw = {0};
    const char *type = cli_value(arguments, "type");
    *out = type;
    if (type == NULL)
        return HF_OK;
    if (type[0] == '\0')
        return hf_fail(err, HF_INVALID,
                       "--type is empty: leave it out for all types, or name one.");
    int size = snprintf(text, sizeof text, "%.*s/x", HF_TYPE_MAX + 1, type);
    for (int i = 0; i < size - 2; i++)
        text[i] = text[i] == '/' ? ' ' : text[i]; /* which splits a resource, and is in no type */
    hf_status status = hf_resource_parse(text, &resource, &flaw);
    return status == HF_OK ? HF_OK : hf_fail(err, status, "--type: %s", flaw.message);
}
