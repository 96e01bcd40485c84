/* SPDX-License-Identifier: MIT */
/* One character decides what begins; the rest is finding its end. */
#include "audit/sql_scan.h"

#include "audit/names.h"

#include <ctype.h>

typedef struct sql_scanner {
    hf_arena *arena;
    hf_slice text;
    size_t at;
    uint32_t line;
    bool glued;
    sql_tokens *out;
    size_t room;
    bool failed;
} sql_scanner;

static char scan_peek(const sql_scanner *scan, size_t ahead)
{
    return scan->at + ahead < scan->text.size ? scan->text.at[scan->at + ahead] : '\0';
}

static bool scan_is_name(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$' || c == '#' ||
           (unsigned char)c >= 0x80;
}

static void scan_put(sql_scanner *scan, sql_token token)
{
    if (scan->out->count + 1 >= scan->room) {
        size_t room = scan->room == 0 ? 32 : scan->room * 4;
        sql_token *items = hf_arena_alloc(scan->arena, room * sizeof *items);
        if (items == NULL) {
            scan->failed = true;
            return;
        }
        if (scan->out->count > 0)
            memcpy(items, scan->out->items, scan->out->count * sizeof *items);
        scan->out->items = items;
        scan->room = room;
    }
    token.glued = scan->glued;
    scan->out->items[scan->out->count++] = token;
}

/* Takes `size` bytes as one token whose text leaves out `cut` bytes at both ends. */
static void scan_take(sql_scanner *scan, sql_kind kind, size_t size, size_t cut)
{
    hf_slice text = {scan->text.at + scan->at, size};
    sql_token token = {.kind = kind, .text = text, .line = scan->line};
    if (2 * cut <= size) {
        token.text.at += cut;
        token.text.size -= 2 * cut;
    }
    scan_put(scan, token);
    for (size_t i = 0; i < size; i++)
        scan->line += text.at[i] == '\n';
    scan->at += size;
    scan->glued = true;
}

static void scan_pass(sql_scanner *scan, size_t size)
{
    for (size_t i = 0; i < size && scan->at < scan->text.size; i++)
        scan->line += scan->text.at[scan->at++] == '\n';
    scan->glued = false;
}

/* Bytes up to and with the closing quote; a doubled one and, in texts, one after a backslash do
 * not close. */
static size_t scan_quoted(const sql_scanner *scan, char close, bool escapes)
{
    size_t i = 1;
    for (char c; scan->at + i < scan->text.size; i++) {
        c = scan_peek(scan, i);
        if (escapes && c == '\\')
            i++;
        else if (c == close && scan_peek(scan, i + 1) == close)
            i++;
        else if (c == close)
            return i + 1;
    }
    return scan->text.size - scan->at;
}

static size_t scan_until(const sql_scanner *scan, const char *end)
{
    size_t left = scan->text.size - scan->at;
    const char *found = memmem(scan->text.at + scan->at, left, end, strlen(end));
    return found == NULL ? left : (size_t)(found - scan->text.at) - scan->at + strlen(end);
}

static size_t scan_name(const sql_scanner *scan, size_t from)
{
    size_t i = from;
    while (scan_is_name(scan_peek(scan, i)))
        i++;
    return i;
}

/* $1 is a parameter, so is ${name}; $$ and $tag$ begin a body; $name is PHP's, or a name. */
static void scan_dollar(sql_scanner *scan)
{
    size_t size = 1;
    if (scan_peek(scan, 1) == '{' && scan_until(scan, "}") <= 80) {
        scan_take(scan, SQL_PARAM, scan_until(scan, "}"), 0);
        return;
    }
    while (isalnum((unsigned char)scan_peek(scan, size)) || scan_peek(scan, size) == '_')
        size++;
    if (scan_peek(scan, size) != '$') {
        scan_take(scan, SQL_PARAM, size, 0);
        return;
    }
    char tag[64];
    if (size + 2 > sizeof tag) {
        scan_pass(scan, size);
        return;
    }
    memcpy(tag, scan->text.at + scan->at, size + 1);
    tag[size + 1] = '\0';
    scan_pass(scan, size + 1);
    size_t whole = scan_until(scan, tag);
    bool closed = whole >= size + 1 &&
                  memcmp(scan->text.at + scan->at + whole - size - 1, tag, size + 1) == 0;
    scan_take(scan, SQL_BODY, closed ? whole - size - 1 : whole, 0);
    scan_pass(scan, closed ? size + 1 : 0);
}

/* %s %d %(name)s %1$s %NAME%: a placeholder; otherwise the operator. */
static void scan_percent(sql_scanner *scan)
{
    size_t i = scan_name(scan, 1);
    if (i > 1 && scan_peek(scan, i) == '%') {
        scan_take(scan, SQL_PARAM, i + 1, 0);
        return;
    }
    i = 1;
    if (scan_peek(scan, 1) == '(') {
        size_t end = scan_until(scan, ")");
        if (scan_peek(scan, end) != '\0' && strchr("sd", scan_peek(scan, end)) != NULL) {
            scan_take(scan, SQL_PARAM, end + 1, 0);
            return;
        }
    }
    while (isdigit((unsigned char)scan_peek(scan, i)) || scan_peek(scan, i) == '$')
        i++;
    char c = scan_peek(scan, i);
    if (c != '\0' && strchr("sdiuf", c) != NULL && !scan_is_name(scan_peek(scan, i + 1)))
        scan_take(scan, SQL_PARAM, i + 1, 0);
    else
        scan_take(scan, SQL_PUNCT, 1, 0);
}

static void scan_word(sql_scanner *scan)
{
    sql_kind kind = isdigit((unsigned char)scan_peek(scan, 0)) ? SQL_NUMBER : SQL_WORD;
    scan_take(scan, kind, scan_name(scan, 1), 0);
}

static void scan_punct(sql_scanner *scan)
{
    static const char *const pairs[] = {"<>", "<=", ">=", "!=", "::", "||", ":="};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (scan_peek(scan, 0) == pairs[i][0] && scan_peek(scan, 1) == pairs[i][1]) {
            scan_take(scan, SQL_PUNCT, 2, 0);
            return;
        }
    char next = scan_peek(scan, 1);
    bool name = isalpha((unsigned char)next) || next == '_';
    char c = scan_peek(scan, 0);
    if ((c == ':' || c == '@') && (name || isdigit((unsigned char)next)))
        scan_take(scan, SQL_PARAM, scan_name(scan, 1), 0);
    else
        scan_take(scan, SQL_PUNCT, 1, 0);
}

static void scan_hole(sql_scanner *scan)
{
    size_t before = scan->out->count;
    scan_take(scan, SQL_PARAM, 1, 0);
    if (scan->out->count > before)
        scan->out->items[before].hole = true;
}

static void scan_brace(sql_scanner *scan)
{
    size_t open = scan_peek(scan, 0) == '{' ? 0 : 1;
    size_t left = scan->text.size - scan->at;
    const char *close = memchr(scan->text.at + scan->at, '}', left);
    size_t size = close == NULL ? left : (size_t)(close - scan->text.at) - scan->at + 1;
    scan_take(scan, close == NULL || size > 80 + open ? SQL_PUNCT : SQL_PARAM,
              close == NULL || size > 80 + open ? 1 : size, 0);
}

/* One token, or what stands between tokens. */
static void scan_step(sql_scanner *scan)
{
    char c = scan_peek(scan, 0), next = scan_peek(scan, 1);
    if (isspace((unsigned char)c) || c == '\0')
        scan_pass(scan, 1);
    else if (c == '-' && next == '-')
        scan_pass(scan, scan_until(scan, "\n"));
    else if (c == '/' && next == '*')
        scan_pass(scan, scan_until(scan, "*/"));
    else if (c == '#' && next != '{' && !scan->glued)
        scan_pass(scan, scan_until(scan, "\n"));
    else if (c == AUDIT_HOLE)
        scan_hole(scan);
    else if (c == '\'')
        scan_take(scan, SQL_TEXT, scan_quoted(scan, c, true), 1);
    else if (c == '"' || c == '`')
        scan_take(scan, SQL_QUOTED, scan_quoted(scan, c, false), 1);
    else if (c == '[' && (isalpha((unsigned char)next) || next == '_'))
        scan_take(scan, SQL_QUOTED, scan_until(scan, "]"), 1);
    else if (c == '$')
        scan_dollar(scan);
    else if (c == '%')
        scan_percent(scan);
    else if (c == '{' || (c == '#' && next == '{'))
        scan_brace(scan);
    else if (c == '?')
        scan_take(scan, SQL_PARAM, scan_name(scan, 1), 0);
    else if (scan_is_name(c))
        scan_word(scan);
    else
        scan_punct(scan);
}

bool audit_sql_scan(hf_arena *arena, hf_slice text, sql_tokens *out)
{
    sql_scanner scan = {.arena = arena, .text = text, .out = out};
    *out = (sql_tokens){0};
    while (scan.at < text.size && !scan.failed && out->count < SQL_TOKENS_MAX)
        scan_step(&scan);
    if (!scan.failed)
        scan_put(&scan, (sql_token){.kind = SQL_END, .line = scan.line});
    return !scan.failed;
}

bool audit_sql_looks_like(hf_slice text)
{
    static const char *const first[] = {"update", "insert", "delete", "select", "create",  "alter",
                                        "with",   "merge",  "lock",   "call",   "replace", "drop"};
    size_t at = 0;
    while (at < text.size && (isspace((unsigned char)text.at[at]) || text.at[at] == '('))
        at++;
    size_t end = at;
    while (end < text.size && isalpha((unsigned char)text.at[end]))
        end++;
    hf_slice word = {text.at + at, end - at};
    bool parted = end < text.size && (isspace((unsigned char)text.at[end]) ||
                                      text.at[end] == AUDIT_HOLE || text.at[end] == '(');
    for (size_t i = 0; parted && i < sizeof first / sizeof *first; i++)
        if (audit_word_is(word, first[i]))
            return true;
    return false;
}
