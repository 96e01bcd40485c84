/* SPDX-License-Identifier: MIT */
/* Statements as text: taken apart once, then written again and again with literals where parameters
 * stand. Text and bytes are written in hex, so that no quoting and no character set can go wrong.
 * Batches of hundreds of rows come through here: writing asks for room once a value and allocates
 * only when the text is longer than any before. */
#include "db/mysql_inside.h"

#include <stdio.h>
#include <strings.h>

/* ---- reading SQL ---- */

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '$' || (c & 0x80) != 0;
}

/* The end of the quoted text that begins here; the same place when there is none. A doubled quote
 * reads as two quoted texts. */
static const char *skip_quoted(const char *at)
{
    char quote = *at;
    if (quote != '\'' && quote != '"' && quote != '`')
        return at;
    for (at++; *at != '\0' && *at != quote; at++)
        if (*at == '\\' && quote != '`' && at[1] != '\0')
            at++;
    return *at == quote ? at + 1 : at;
}

/* The same for white space and comments. */
static const char *skip_blank(const char *at)
{
    for (;;) {
        const char *from = at;
        while (is_space(*at))
            at++;
        if (*at == '#' || (at[0] == '-' && at[1] == '-' && (is_space(at[2]) || at[2] == '\0'))) {
            at += strcspn(at, "\n");
        } else if (at[0] == '/' && at[1] == '*') {
            const char *end = strstr(at + 2, "*/");
            at = end == NULL ? at + strlen(at) : end + 2;
        }
        if (at == from)
            return at;
    }
}

static hf_slice word_at(const char *at)
{
    size_t size = 0;
    while (is_word(at[size]))
        size++;
    return (hf_slice){at, size};
}

static bool mysql_text_word_is(hf_slice word, const char *name)
{
    return word.size == strlen(name) && strncasecmp(word.at, name, word.size) == 0;
}

/* What a word in a CREATE does to how deep we are in its body, whose ";" end nothing: BEGIN and
 * CASE have an END of their own; so have IF and the loops, but with a word after it. */
static int mysql_text_deeper(hf_slice word)
{
    if (mysql_text_word_is(word, "BEGIN") || mysql_text_word_is(word, "CASE"))
        return 1;
    if (!mysql_text_word_is(word, "END"))
        return 0;
    static const char *const others[] = {"IF", "LOOP", "REPEAT", "WHILE", "FOR"};
    hf_slice next = word_at(skip_blank(word.at + word.size));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (mysql_text_word_is(next, others[i]))
            return 0;
    return -1;
}

bool my_split(const char **at, hf_slice *statement)
{
    const char *from = skip_blank(*at), *end;
    while (*from == ';')
        from = skip_blank(from + 1);
    bool creates = mysql_text_word_is(word_at(from), "CREATE");
    int depth = 0;
    const char *next = end = from;
    while (*next != '\0' && (*next != ';' || depth > 0)) {
        hf_slice word = word_at(next);
        const char *rest = word.size > 0 ? next + word.size : skip_quoted(next);
        if (creates && word.size > 0) {
            depth += mysql_text_deeper(word);
            /* which begins nothing */
            if (mysql_text_word_is(word, "END") &&
                mysql_text_word_is(word_at(skip_blank(rest)), "CASE"))
                rest = skip_blank(rest) + 4;
        }
        end = rest == next ? next + 1 : rest;
        next = skip_blank(end);
    }
    *at = next;
    *statement = (hf_slice){from, (size_t)(end - from)};
    return statement->size > 0;
}

my_verb my_verb_of(hf_slice statement)
{
    static const char *const verbs[] = {[MY_COMMIT] = "COMMIT",
                                        [MY_ROLLBACK] = "ROLLBACK",
                                        [MY_CALL] = "CALL",
                                        [MY_UPDATE] = "UPDATE"};
    for (my_verb verb = MY_COMMIT; verb <= MY_UPDATE; verb++) {
        size_t size = strlen(verbs[verb]);
        if (statement.size >= size && strncasecmp(statement.at, verbs[verb], size) == 0 &&
            (statement.size == size || !is_word(statement.at[size])))
            return verb;
    }
    return MY_OTHER;
}

bool my_rolls_back(hf_slice statement)
{
    return mysql_text_word_is(statement, "ROLLBACK");
}

/* ---- taking a statement apart ---- */

static bool mysql_text_add(my_parsed *parsed, my_piece piece)
{
    if ((parsed->count & (parsed->count - 1)) == 0) { /* room is a power of two, at least 1 */
        size_t room = parsed->count == 0 ? 1 : parsed->count * 2;
        my_piece *pieces = hf_realloc(parsed->pieces, room * sizeof *pieces);
        if (pieces == NULL)
            return false;
        parsed->pieces = pieces;
    }
    parsed->pieces[parsed->count++] = piece;
    return true;
}

/* The names of $1(type, id) or $1[type, id]; `at` is at the bracket. The end, after the closing
 * one; NULL when they make no sense. */
static const char *mysql_text_add_names(my_parsed *parsed, int param, const char *at, bool *memory)
{
    size_t match = parsed->count;
    char close = *at == '(' ? ')' : ']';
    *memory = mysql_text_add(
        parsed, (my_piece){.kind = *at++ == '(' ? MY_MATCH : MY_TABLE, .param = param});
    for (bool more = true; *memory && more; at++) {
        at = skip_blank(at);
        const char *from = at;
        if (*at == '+')
            at++;
        while (is_word(*at) || *at == '.' || *at == '`')
            at++;
        hf_slice name = {from, (size_t)(at - from)};
        at = skip_blank(at);
        if (name.size == 0 || (*at != ',' && *at != close))
            return NULL;
        more = *at == ',';
        *memory = mysql_text_add(parsed, (my_piece){.kind = MY_NAME, .text = name});
        parsed->pieces[match].names++;
    }
    return at;
}

/* The parameter that begins with the $ here. The end; NULL when it makes no sense. */
static const char *add_param(my_parsed *parsed, const char *at, bool *memory)
{
    int number = 0;
    for (at++; *at >= '0' && *at <= '9' && number <= HF_PARAMS_MAX; at++)
        number = number * 10 + (*at - '0');
    if (number < 1 || number > HF_PARAMS_MAX)
        return NULL;
    if (*at == '(' || *at == '[')
        return mysql_text_add_names(parsed, number, at, memory);
    *memory = mysql_text_add(parsed,
                             (my_piece){.kind = *at == '*' ? MY_ROWS : MY_VALUE, .param = number});
    return *at == '*' ? at + 1 : at;
}

static hf_status take_apart(my_parsed *parsed, hf_error *err)
{
    const char *from = parsed->sql, *at = from;
    bool memory = true;
    while (*at != '\0') {
        const char *next = skip_blank(at);
        next = next > at ? next : skip_quoted(at);
        if (next > at || *at != '$' || at[1] < '0' || at[1] > '9') {
            at = next > at ? next : at + 1;
            continue;
        }
        if (at > from)
            memory = mysql_text_add(
                parsed, (my_piece){.kind = MY_TEXT, .text = {from, (size_t)(at - from)}});
        at = memory ? add_param(parsed, at, &memory) : at;
        if (!memory)
            return hf_fail_memory(err);
        if (at == NULL)
            return hf_fail(err, HF_INTERNAL, "A parameter in this statement makes no sense: %s.",
                           parsed->sql);
        from = at;
    }
    if (at > from &&
        !mysql_text_add(parsed, (my_piece){.kind = MY_TEXT, .text = {from, (size_t)(at - from)}}))
        return hf_fail_memory(err);
    return HF_OK;
}

hf_status my_parse(const char *sql, my_parsed *out, hf_error *err)
{
    hf_slice statement, another;
    *out = (my_parsed){0};
    if (!my_split(&sql, &statement) || my_split(&sql, &another))
        return hf_fail(err, HF_INTERNAL,
                       "A statement is one statement: run several with hf_db_run.");
    out->sql = hf_alloc(statement.size + 1);
    if (out->sql == NULL)
        return hf_fail_memory(err);
    memcpy(out->sql, statement.at, statement.size);
    out->verb = my_verb_of(statement);
    out->rolls_back = my_rolls_back(statement);
    hf_status status = take_apart(out, err);
    if (status != HF_OK)
        my_parsed_done(out);
    return status;
}

void my_parsed_done(my_parsed *parsed)
{
    hf_free(parsed->sql);
    hf_free(parsed->pieces);
    *parsed = (my_parsed){0};
}

/* ---- writing ---- */

/* Room for so many bytes at the end of the text; NULL when there is none. Who writes adds to its
 * size. */
static char *mysql_text_reserve(hf_buffer *out, size_t more)
{
    if (out->failed || more > HF_BUFFER_MAX - out->size) {
        out->failed = true;
        return NULL;
    }
    if (out->size + more > out->room) {
        size_t room = out->room * 2 > out->size + more ? out->room * 2 : out->size + more + 4096;
        char *text = hf_realloc(out->text, room);
        if (text == NULL) {
            out->failed = true;
            return NULL;
        }
        out->text = text;
        out->room = room;
    }
    return out->text + out->size;
}

void my_begin_text(hf_buffer *out)
{
    out->size = 0;
    out->failed = false;
}

static void mysql_text_put(hf_buffer *out, const char *bytes, size_t size)
{
    char *at = mysql_text_reserve(out, size);
    if (at != NULL) {
        memcpy(at, bytes, size);
        out->size += size;
    }
}

void my_add_text(hf_buffer *out, hf_slice text)
{
    mysql_text_put(out, text.at, text.size);
}

static void put_int(hf_buffer *out, int64_t number)
{
    char digits[HF_NUMBER_MAX], *end = digits + sizeof digits;
    char *at = hf_number_print(number, end);
    mysql_text_put(out, at, (size_t)(end - at));
}

/* With an exponent it is a double, and not a decimal. */
static void put_real(hf_buffer *out, double real)
{
    char digits[40];
    mysql_text_put(out, digits, (size_t)snprintf(digits, sizeof digits, "%.16e", real));
}

static void put_bytes(hf_buffer *out, hf_slice bytes)
{
    static const char hex[] = "0123456789abcdef";
    char *at = bytes.size > HF_BUFFER_MAX / 2 ? NULL : mysql_text_reserve(out, 2 * bytes.size + 3);
    if (at == NULL) {
        out->failed = true;
        return;
    }
    if (bytes.size > 0)
        *at++ = 'x';
    *at++ = '\'';
    for (size_t i = 0; i < bytes.size; i++) {
        unsigned char byte = (unsigned char)bytes.at[i];
        *at++ = hex[byte >> 4];
        *at++ = hex[byte & 15];
    }
    *at++ = '\'';
    out->size = (size_t)(at - out->text);
}

static void mysql_text_put_value(hf_buffer *out, hf_value_kind kind, const hf_value *value)
{
    if (value->null || kind == HF_VALUE_LIST)
        mysql_text_put(out, "NULL", 4);
    else if (kind == HF_VALUE_INT)
        put_int(out, value->number);
    else if (kind == HF_VALUE_REAL)
        put_real(out, value->real);
    else {
        if (kind == HF_VALUE_UTF8)
            mysql_text_put(out, "_utf8mb4 ", 9);
        put_bytes(out, value->bytes);
    }
}

static void put_rows(hf_buffer *out, const hf_list *list)
{
    const hf_value *value = list->values;
    for (size_t row = 0; row < list->count; row++) {
        for (size_t i = 0; i < list->columns; i++) {
            mysql_text_put(out, i > 0 ? "," : row > 0 ? ",(" : "(", i == 0 && row > 0 ? 2 : 1);
            mysql_text_put_value(out, hf_kind_of_letter(list->kinds[i]), value++);
        }
        mysql_text_put(out, ")", 1);
    }
}

/* ---- conditions ---- */

/* Servers work out a long row of ORs in time that grows with its square, so rows with the same
 * first value are put together:
 *
 *   one name      session IN (x'61',x'62')
 *   two           (type=x'61' AND id IN (x'62',x'63') OR type=...)
 *   three         (type=x'61' AND id IN (x'62') AND (id,session) IN ((x'62',x'64')) OR type=...)
 *   +session, ... (session IN (x'61') AND (session,type,id) IN ((x'61',x'62',x'63')))
 *
 * A few rows are written out one by one, whatever they have in common. */
enum { FEW_ROWS = 4, GROUPS_MAX = 64 };

typedef struct match {
    hf_buffer *out;
    const hf_list *list;
    const my_piece *names;
    size_t count; /* of names */
} match;

static const hf_value *mysql_text_cell(const match *m, size_t row, size_t column)
{
    return &m->list->values[row * m->list->columns + column];
}

static void put_cell(const match *m, size_t row, size_t column)
{
    mysql_text_put_value(m->out, hf_kind_of_letter(m->list->kinds[column]),
                         mysql_text_cell(m, row, column));
}

static void put_name(const match *m, size_t column)
{
    hf_slice name = m->names[column].text;
    if (name.size > 0 && name.at[0] == '+')
        name = (hf_slice){name.at + 1, name.size - 1};
    mysql_text_put(m->out, name.at, name.size);
}

static void put_word(const match *m, const char *word)
{
    mysql_text_put(m->out, word, strlen(word));
}

static bool mysql_text_same(const match *m, size_t row, size_t other)
{
    const hf_value *a = mysql_text_cell(m, row, 0), *b = mysql_text_cell(m, other, 0);
    return a->null == b->null && a->number == b->number && hf_slice_equal(a->bytes, b->bytes);
}

/* "type=x'61' AND id=x'62'" */
static void put_row(const match *m, size_t row)
{
    for (size_t i = 0; i < m->count; i++) {
        put_word(m, i > 0 ? " AND " : "");
        put_name(m, i);
        put_word(m, "=");
        put_cell(m, row, i);
    }
}

/* "id IN (...)" or "(id,session) IN ((...),(...))": the columns from `from` to before `to`, of the
 * rows whose first value is that of `first` (of all with SIZE_MAX). */
static void put_in(const match *m, size_t from, size_t to, size_t first)
{
    bool several = to - from > 1;
    size_t written = 0;
    put_word(m, several ? "(" : "");
    for (size_t i = from; i < to; i++) {
        put_word(m, i > from ? "," : "");
        put_name(m, i);
    }
    put_word(m, several ? ") IN (" : " IN (");
    for (size_t row = 0; row < m->list->count; row++) {
        if (first != SIZE_MAX && !mysql_text_same(m, row, first))
            continue;
        put_word(m, written++ > 0 ? "," : "");
        for (size_t i = from; i < to; i++) {
            put_word(m, i > from ? "," : several ? "(" : "");
            put_cell(m, row, i);
        }
        put_word(m, several ? ")" : "");
    }
    put_word(m, ")");
}

/* The first row with each first value; how many there are, or more than GROUPS_MAX. */
static size_t find_groups(const match *m, size_t *firsts)
{
    size_t groups = 0;
    for (size_t row = 0; row < m->list->count; row++) {
        size_t i = 0;
        while (i < groups && !mysql_text_same(m, row, firsts[i]))
            i++;
        if (i < groups)
            continue;
        if (groups == GROUPS_MAX)
            return GROUPS_MAX + 1;
        firsts[groups++] = row;
    }
    return groups;
}

static void put_groups(const match *m, const size_t *firsts, size_t groups)
{
    for (size_t i = 0; i < groups; i++) {
        put_word(m, i > 0 ? " OR " : "");
        put_name(m, 0);
        put_word(m, "=");
        put_cell(m, firsts[i], 0);
        put_word(m, " AND ");
        put_in(m, 1, 2, firsts[i]);
        if (m->count > 2) {
            put_word(m, " AND ");
            put_in(m, 1, m->count, firsts[i]);
        }
    }
}

static void put_match(hf_buffer *out, const hf_list *list, const my_piece *names, size_t count)
{
    match m = {out, list, names, count};
    size_t firsts[GROUPS_MAX], groups;
    if (list->count == 0 || count > list->columns) { /* nothing is in an empty list */
        put_word(&m, "(1=0)");
        return;
    }
    if (count == 1) {
        put_in(&m, 0, 1, SIZE_MAX);
        return;
    }
    put_word(&m, "(");
    if (list->count > FEW_ROWS && names->text.at[0] == '+') {
        put_in(&m, 0, 1, SIZE_MAX);
        put_word(&m, " AND ");
        put_in(&m, 0, count, SIZE_MAX);
    } else if (list->count > FEW_ROWS && (groups = find_groups(&m, firsts)) <= GROUPS_MAX) {
        put_groups(&m, firsts, groups);
    } else {
        for (size_t row = 0; row < list->count; row++) {
            put_word(&m, row > 0 ? " OR " : "");
            put_row(&m, row);
        }
    }
    put_word(&m, ")");
}

/* "(SELECT x'61' AS type,x'62' AS id UNION ALL SELECT x'61',x'63')": a table, for a join that no
 * statistics can turn into a scan. */
static void put_table(hf_buffer *out, const hf_list *list, const my_piece *names, size_t count)
{
    match m = {out, list, names, count};
    size_t rows = count > list->columns ? 0 : list->count;
    put_word(&m, "(");
    for (size_t row = 0; row < (rows == 0 ? 1 : rows); row++) {
        put_word(&m, row > 0 ? " UNION ALL SELECT " : "SELECT ");
        for (size_t i = 0; i < count; i++) {
            put_word(&m, i > 0 ? "," : "");
            if (rows == 0)
                put_word(&m, "NULL");
            else
                put_cell(&m, row, i);
            put_word(&m, row == 0 ? " AS " : "");
            if (row == 0)
                put_name(&m, i);
        }
    }
    put_word(&m, rows == 0 ? " FROM DUAL WHERE 1=0)" : ")");
}

/* A plain parameter: a value, or a column of the first row of a list that was bound there or
 * before. */
static void put_plain(hf_buffer *out, const hf_params *params, int at)
{
    for (int from = at; from > 0; from--) {
        const hf_list *list = params->at[from].kind == HF_VALUE_LIST ? params->at[from].list : NULL;
        size_t column = (size_t)(at - from);
        if (list != NULL && column < list->columns && list->count > 0) {
            mysql_text_put_value(out, hf_kind_of_letter(list->kinds[column]),
                                 &list->values[column]);
            return;
        }
    }
    mysql_text_put_value(out, params->at[at].kind, &params->at[at].value);
}

/* A * after a parameter that is no list is a multiplication. */
static void mysql_text_put_piece(hf_buffer *out, const my_piece *piece, const hf_params *params)
{
    const hf_param *param = &params->at[piece->param];
    bool listed = param->kind == HF_VALUE_LIST;
    if (listed && param->list->failed)
        out->failed = true;
    else if (piece->kind == MY_TEXT)
        mysql_text_put(out, piece->text.at, piece->text.size);
    else if (piece->kind == MY_ROWS && listed)
        put_rows(out, param->list);
    else if (piece->kind == MY_MATCH && listed)
        put_match(out, param->list, piece + 1, piece->names);
    else if (piece->kind == MY_TABLE && listed)
        put_table(out, param->list, piece + 1, piece->names);
    else
        put_plain(out, params, piece->param);
    if (piece->kind == MY_ROWS && !listed)
        mysql_text_put(out, "*", 1);
}

void my_write(hf_buffer *out, const my_parsed *parsed, const hf_params *params)
{
    for (size_t i = 0; i < parsed->count && !out->failed; i += 1 + parsed->pieces[i].names)
        mysql_text_put_piece(out, &parsed->pieces[i], params);
}
