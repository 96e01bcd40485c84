/* SPDX-License-Identifier: MIT */
/* Blotting out what a command line should not have had: a file or the environment is the place for
 * it, but people type it all the same. Also where a sentence repeats it, since a URL that stands
 * where another value belongs is named as that value. */
#include "cli/hide.h"

#include "base/redact.h"
#include "base/seams.h"
#include "base/text.h"

#include <holdfast/limits.h>

#include <string.h>
#include <unistd.h>

enum { ID_DIGITS = 32, KEY_DIGITS_MIN = 32 };
static const char digits[] = "0123456789abcdefABCDEF";

/* The '.' of "ID.KEY", alone or behind an option and its '='; NULL: it is none. */
static char *hide_key_of(const char *word)
{
    char *dot = strrchr(word, '.');
    if (dot == NULL || dot - word < ID_DIGITS || strspn(dot - ID_DIGITS, digits) < ID_DIGITS)
        return NULL;
    size_t size = strlen(dot + 1);
    return size >= KEY_DIGITS_MIN && strspn(dot + 1, digits) == size ? dot : NULL;
}

/* All but the key. */
static void blot_key(char *word)
{
    char *dot = hide_key_of(word);
    if (dot != NULL)
        memset(dot + 1, 0, strlen(dot + 1));
}

static void blot_password(char *word, char *spare)
{
    size_t size = strlen(word);
    if (!hf_url_redact(word, spare, size + 1))
        return;
    memset(word, 0, size);
    memcpy(word, spare, strlen(spare) + 1);
}

/* What the command line was, as long as the program runs: words, one behind the other. */
static const char *hidden, *hidden_end;

char **cli_hide(int argc, char **argv)
{
    size_t size = 0;
    for (int i = 0; i < argc; i++)
        size += strlen(argv[i]) + 1;
    char **copy = hf_alloc(((size_t)argc + 1) * sizeof *copy + 2 * size);
    if (copy == NULL)
        return NULL;
    char *at = (char *)(copy + argc + 1), *spare = at + size;
    hidden = at;
    for (int i = 0; i < argc; i++) {
        copy[i] = at;
        at = stpcpy(at, argv[i]) + 1;
        blot_password(argv[i], spare);
        blot_key(argv[i]);
    }
    hidden_end = at;
    return copy;
}

void cli_hide_done(char **copy)
{
    hidden = hidden_end = NULL;
    hf_free(copy);
}

/* Takes the secret out wherever it follows `lead`: also where it was cut, or where characters of it
 * are shown as escapes; then all up to a blank, a quote or an '@'. */
static void hide_behind(char *text, hf_slice lead, hf_slice secret)
{
    for (char *at = text; (at = memmem(at, strlen(at), lead.at, lead.size)) != NULL;) {
        size_t same = 0;
        at += lead.size;
        while (same < secret.size && at[same] == secret.at[same])
            same++;
        if (same == 0)
            continue;
        char *end = at + same;
        end += same < secret.size ? strcspn(end, " \t\n'\"@") : 0;
        memmove(at, end, strlen(end) + 1);
    }
}

/* Whatever secret the word holds, of those above, and tokens. */
static void hide_word(char *text, const char *word)
{
    static const char *const parameters[] = {"password", "sslpassword"};
    size_t size = 0;
    const char *url = strstr(word, "://"), *secret = hf_url_password(word, &size);
    if (secret != NULL)
        hide_behind(text, (hf_slice){url, (size_t)(secret - url)}, (hf_slice){secret, size});
    for (size_t i = 0; url != NULL && i < sizeof parameters / sizeof *parameters; i++) {
        size_t length = strlen(parameters[i]);
        for (const char *at = url; (at = strstr(at, parameters[i])) != NULL; at += length)
            if ((at[-1] == '?' || at[-1] == '&') && at[length] == '=')
                hide_behind(text, (hf_slice){at, length},
                            (hf_slice){at + length, strcspn(at + length, "&")});
    }
    const char *dot = hide_key_of(word);
    if (dot != NULL)
        hide_behind(text, (hf_slice){dot - ID_DIGITS, ID_DIGITS}, hf_slice_of(dot));
    const char *value = strchr(word, '=') != NULL ? strchr(word, '=') + 1 : word;
    if (strlen(value) == HF_TOKEN_SECRET && strspn(value, digits) == HF_TOKEN_SECRET)
        hide_behind(text, (hf_slice){value, ID_DIGITS / 4}, hf_slice_of(value + ID_DIGITS / 4));
}

void cli_hide_in(char *text)
{
    static const char own[] = "HOLDFAST_";
    for (const char *word = hidden; word < hidden_end; word += strlen(word) + 1)
        hide_word(text, word);
    for (char **variable = environ; *variable != NULL; variable++)
        if (strncmp(*variable, own, sizeof own - 1) == 0)
            hide_word(text, *variable);
    hf_text_redact(text);
}
