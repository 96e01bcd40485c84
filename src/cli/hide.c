/* SPDX-License-Identifier: MIT */
/* Blotting out what a command line should not have had: a file or the environment is the place for
 * it, but people type it all the same. */
#include "cli/hide.h"

#include "base/redact.h"
#include "base/seams.h"

#include <string.h>

enum { ID_DIGITS = 32, KEY_DIGITS_MIN = 32 };
static const char digits[] = "0123456789abcdefABCDEF";

/* "ID.KEY", alone or behind an option and its '=': all but the key. */
static void blot_key(char *word)
{
    char *dot = strrchr(word, '.');
    if (dot == NULL || dot - word < ID_DIGITS || strspn(dot - ID_DIGITS, digits) != ID_DIGITS)
        return;
    size_t size = strlen(dot + 1);
    if (size >= KEY_DIGITS_MIN && strspn(dot + 1, digits) == size)
        memset(dot + 1, 0, size);
}

static void blot_password(char *word, char *spare)
{
    size_t size = strlen(word);
    if (!hf_url_redact(word, spare, size + 1))
        return;
    memset(word, 0, size);
    memcpy(word, spare, strlen(spare) + 1);
}

char **cli_hide(int argc, char **argv)
{
    size_t size = 0;
    for (int i = 0; i < argc; i++)
        size += strlen(argv[i]) + 1;
    char **copy = hf_alloc(((size_t)argc + 1) * sizeof *copy + 2 * size);
    if (copy == NULL)
        return NULL;
    char *at = (char *)(copy + argc + 1), *spare = at + size;
    for (int i = 0; i < argc; i++) {
        copy[i] = at;
        at = stpcpy(at, argv[i]) + 1;
        blot_password(argv[i], spare);
        blot_key(argv[i]);
    }
    return copy;
}

void cli_hide_done(char **copy)
{
    hf_free(copy);
}
