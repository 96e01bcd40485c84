/* SPDX-License-Identifier: MIT */
/* Loose comparison of names, without copies. */
#include "audit/names.h"

#include <ctype.h>
#include <strings.h>

static bool names_alnum(char c)
{
    return isalnum((unsigned char)c) || (unsigned char)c >= 0x80;
}

bool audit_name_same(hf_slice a, hf_slice b)
{
    size_t i = 0, j = 0;
    if (a.size == 0 || b.size == 0)
        return false;
    while (true) {
        while (i < a.size && a.at[i] == '_')
            i++;
        while (j < b.size && b.at[j] == '_')
            j++;
        if (i == a.size || j == b.size)
            return i == a.size && j == b.size;
        if (tolower((unsigned char)a.at[i++]) != tolower((unsigned char)b.at[j++]))
            return false;
    }
}

bool audit_word_is(hf_slice text, const char *word)
{
    return strlen(word) == text.size && strncasecmp(text.at, word, text.size) == 0;
}

/* The next of the words in a list; false at its end. */
static bool names_next(const char **at, hf_slice *word)
{
    *at += strspn(*at, " ");
    size_t size = strcspn(*at, " ");
    *word = (hf_slice){*at, size};
    *at += size;
    return size > 0;
}

static bool names_listed(hf_slice word, const char *words)
{
    hf_slice one;
    while (names_next(&words, &one))
        if (one.size == word.size && strncasecmp(one.at, word.at, one.size) == 0)
            return true;
    return false;
}

bool audit_name_has(hf_slice name, const char *words)
{
    size_t start = 0;
    for (size_t i = 0; name.size > 0 && i <= name.size; i++) {
        bool end = i == name.size || !names_alnum(name.at[i]);
        bool hump = !end && i > start && isupper((unsigned char)name.at[i]) &&
                    !isupper((unsigned char)name.at[i - 1]);
        if (!end && !hump)
            continue;
        if (i > start && names_listed((hf_slice){name.at + start, i - start}, words))
            return true;
        start = hump ? i : i + 1;
    }
    return false;
}

/* Called for every call in every program: without a copy, and mostly one letter is looked at. */
bool audit_name_among(hf_slice name, const char *words)
{
    size_t skip = 0;
    while (skip < name.size && name.at[skip] == '_')
        skip++;
    if (skip == name.size)
        return false;
    char first = (char)tolower((unsigned char)name.at[skip]);
    while (*words != '\0') {
        const char *word = words;
        while (*words != '\0' && *words != ' ')
            words++;
        if ((*word == '_' || (char)tolower((unsigned char)*word) == first) &&
            audit_name_same((hf_slice){word, (size_t)(words - word)}, name))
            return true;
        words += *words == ' ';
    }
    return false;
}

const char *audit_text_find(hf_slice text, const char *part)
{
    size_t size = strlen(part);
    char small = (char)tolower((unsigned char)part[0]), large = (char)toupper((unsigned char)small);
    for (size_t i = 0; i + size <= text.size; i++)
        if ((text.at[i] == small || text.at[i] == large) &&
            strncasecmp(text.at + i, part, size) == 0)
            return text.at + i;
    return NULL;
}

static bool names_continues(char c)
{
    return names_alnum(c) || c == '_';
}

bool audit_text_names(hf_slice text, hf_slice name)
{
    for (size_t i = 0; name.size > 0 && i + name.size <= text.size; i++)
        if (strncasecmp(text.at + i, name.at, name.size) == 0 &&
            (i == 0 || !names_continues(text.at[i - 1])) &&
            (i + name.size == text.size || !names_continues(text.at[i + name.size])))
            return true;
    return false;
}

hf_slice audit_name_last(hf_slice name)
{
    size_t start = name.size;
    if (name.size == 0)
        return HF_NOTHING;
    while (start > 0 && (names_alnum(name.at[start - 1]) || name.at[start - 1] == '_'))
        start--;
    return (hf_slice){name.at + start, name.size - start};
}

/* English plurals as frameworks make them, without their lists of exceptions. */
static size_t names_pluralize(char *text, size_t size)
{
    char last = size > 0 ? text[size - 1] : '\0';
    bool sibilant = last == 's' || last == 'x' || last == 'z' ||
                    (last == 'h' && size > 1 && (text[size - 2] == 's' || text[size - 2] == 'c'));
    if (last == 'y' && size > 1 && strchr("aeiou", text[size - 2]) == NULL)
        text[size - 1] = 'i';
    if (sibilant || (last == 'y' && text[size - 1] == 'i'))
        text[size++] = 'e';
    text[size++] = 's';
    return size;
}

hf_slice audit_name_snake(hf_arena *arena, hf_slice name, bool plural)
{
    char *out = hf_arena_alloc(arena, name.size * 2 + 4);
    size_t size = 0;
    if (out == NULL || name.size == 0)
        return HF_NOTHING;
    for (size_t i = 0; i < name.size; i++) {
        bool upper = isupper((unsigned char)name.at[i]);
        bool after = i > 0 && !isupper((unsigned char)name.at[i - 1]) && name.at[i - 1] != '_';
        bool before = i > 0 && i + 1 < name.size && islower((unsigned char)name.at[i + 1]) &&
                      name.at[i - 1] != '_';
        if (upper && (after || before))
            out[size++] = '_';
        out[size++] = (char)tolower((unsigned char)name.at[i]);
    }
    if (plural)
        size = names_pluralize(out, size);
    return (hf_slice){out, size};
}

hf_slice audit_trim(hf_slice text)
{
    while (text.size > 0 && isspace((unsigned char)text.at[0])) {
        text.at++;
        text.size--;
    }
    while (text.size > 0 && isspace((unsigned char)text.at[text.size - 1]))
        text.size--;
    return text;
}

hf_slice audit_quoted(hf_slice text, const char *from)
{
    size_t i = from == NULL ? 0 : (size_t)(from - text.at);
    while (i < text.size && strchr("'\"`", text.at[i]) == NULL)
        i++;
    if (i >= text.size)
        return HF_NOTHING;
    const char *end = memchr(text.at + i + 1, text.at[i], text.size - i - 1);
    return end == NULL ? HF_NOTHING : (hf_slice){text.at + i + 1, (size_t)(end - text.at) - i - 1};
}
