/* SPDX-License-Identifier: MIT */
/* Every verb that stands anywhere begins a statement, which ends with its parenthesis or at a
 * semicolon. So common table expressions, bodies of procedures and scripts need no grammar. */
#include "audit/sql_read.h"

#include "audit/names.h"

/* ---- steps ---- */

bool audit_sql_word(const sql_tokens *tokens, size_t at, const char *word)
{
    return at < tokens->count && tokens->items[at].kind == SQL_WORD &&
           audit_word_is(tokens->items[at].text, word);
}

bool audit_sql_punct(const sql_tokens *tokens, size_t at, char c)
{
    return at < tokens->count && tokens->items[at].kind == SQL_PUNCT &&
           tokens->items[at].text.size == 1 && tokens->items[at].text.at[0] == c;
}

bool audit_sql_accept(const sql_tokens *tokens, size_t *at, const char *word)
{
    bool there = audit_sql_word(tokens, *at, word);
    *at += there;
    return there;
}

static bool read_is_name(const sql_token *token)
{
    return token->kind == SQL_WORD || token->kind == SQL_QUOTED;
}

hf_slice audit_sql_name(const sql_tokens *tokens, size_t *at)
{
    hf_slice name = HF_NOTHING;
    while (*at < tokens->count) {
        const sql_token *token = &tokens->items[*at];
        /* {prefix}account, #__account: what is glued to a placeholder is one name with it. */
        if (token->kind == SQL_PARAM && read_is_name(token + 1) && (token + 1)->glued) {
            (*at)++;
            continue;
        }
        if (!read_is_name(token))
            return name;
        name = token->text;
        (*at)++;
        const sql_token *next = &tokens->items[*at];
        if (next->kind == SQL_PARAM && next->glued) { /* account_{year}: a family of tables */
            (*at)++;
            return HF_NOTHING;
        }
        if (!audit_sql_punct(tokens, *at, '.'))
            return name;
        (*at)++;
    }
    return name;
}

size_t audit_sql_past(const sql_tokens *tokens, size_t at)
{
    int depth = 0;
    for (; at < tokens->count && tokens->items[at].kind != SQL_END; at++) {
        depth += audit_sql_punct(tokens, at, '(');
        depth -= audit_sql_punct(tokens, at, ')');
        if (depth <= 0)
            return at + 1;
    }
    return at;
}

/* ---- one statement ---- */

typedef struct sql_reader {
    const sql_tokens *tokens;
    size_t end; /* of the statement */
    sql_statement out;
} sql_reader;

static const sql_token *sql_read_token(const sql_reader *reader, size_t at)
{
    return &reader->tokens->items[at < reader->end ? at : reader->tokens->count - 1];
}

/* Words that end a list of assignments or conditions. */
static bool read_ends_clause(const sql_reader *reader, size_t at)
{
    static const char words[] = "where from order group having limit returning union for on "
                                "output option window into lock offset fetch do except intersect";
    return at >= reader->end || (reader->tokens->items[at].kind == SQL_WORD &&
                                 audit_name_among(reader->tokens->items[at].text, words));
}

/* The end of an expression: a comma, AND, OR or a clause at its own depth. */
static size_t read_expression_end(const sql_reader *reader, size_t at, bool conditions)
{
    while (at < reader->end) {
        if (audit_sql_punct(reader->tokens, at, '(')) {
            at = audit_sql_past(reader->tokens, at);
            continue;
        }
        if (audit_sql_punct(reader->tokens, at, ')') || audit_sql_punct(reader->tokens, at, ',') ||
            read_ends_clause(reader, at))
            return at;
        if (conditions &&
            (audit_sql_word(reader->tokens, at, "and") || audit_sql_word(reader->tokens, at, "or")))
            return at;
        at++;
    }
    return at < reader->end ? at : reader->end;
}

/* What an expression is made of. */
static sql_value read_value(const sql_reader *reader, size_t from, size_t to, hf_slice column)
{
    bool literal = true, bound = false;
    for (size_t i = from; i < to; i++) {
        const sql_token *token = &reader->tokens->items[i];
        bool name = read_is_name(token);
        if (name && audit_name_same(token->text, column))
            return SQL_MOVED;
        bound = bound || token->kind == SQL_PARAM;
        literal = literal && (!name || audit_name_among(token->text, "null true false default"));
    }
    return bound ? SQL_BOUND : literal ? SQL_LITERAL : SQL_OTHER;
}

static sql_use *read_use(sql_use *uses, size_t *count)
{
    static sql_use spare;
    spare = (sql_use){0};
    if (*count >= SQL_USES_MAX)
        return &spare;
    uses[*count] = (sql_use){0};
    return &uses[(*count)++];
}

/* SET a = ?, b = b + 1, (c, d) = (...), ... */
static size_t read_set(sql_reader *reader, size_t at)
{
    sql_statement *out = &reader->out;
    while (at < reader->end && !read_ends_clause(reader, at)) {
        const sql_token *token = sql_read_token(reader, at);
        size_t name_at = at;
        hf_slice column = audit_sql_name(reader->tokens, &at);
        if (column.size > 0 && audit_sql_punct(reader->tokens, at, '=')) {
            size_t end = read_expression_end(reader, at + 1, false);
            sql_use *use = read_use(out->writes, &out->writes_count);
            use->column = column;
            use->value = read_value(reader, at + 1, end, column);
            at = end;
        } else if (token->kind == SQL_PARAM) {
            out->unknown_set = true;
            at = read_expression_end(reader, name_at + 1, false);
        } else {
            out->unknown_set = out->unknown_set || audit_sql_punct(reader->tokens, name_at, '(');
            at = read_expression_end(reader, name_at, false);
            at += at == name_at;
        }
        at += audit_sql_punct(reader->tokens, at, ',');
    }
    return at;
}

/* Every column named in [from, to) counts as looked at. */
static void read_mentions(sql_reader *reader, size_t from, size_t to)
{
    sql_statement *out = &reader->out;
    for (size_t i = from; i < to; i++) {
        const sql_token *token = &reader->tokens->items[i];
        bool call = audit_sql_punct(reader->tokens, i + 1, '(');
        bool prefix = audit_sql_punct(reader->tokens, i + 1, '.');
        if (read_is_name(token) && !prefix && (!call || token->kind == SQL_QUOTED)) {
            sql_use *use = read_use(out->wheres, &out->wheres_count);
            use->column = token->text;
            use->value = SQL_OTHER;
        }
    }
}

/* One condition: `column = value`, `column IN (...)`, a hole, or something else. */
static void read_condition(sql_reader *reader, size_t from, size_t to, bool anded)
{
    sql_statement *out = &reader->out;
    size_t at = from;
    const sql_token *first = sql_read_token(reader, from);
    if (from >= to)
        return;
    if (first->kind == SQL_PARAM && to == from + 1) {
        out->unknown_where = true;
        return;
    }
    hf_slice column = audit_sql_name(reader->tokens, &at);
    if (column.size > 0 && audit_sql_punct(reader->tokens, at, '=')) {
        sql_use *use = read_use(out->wheres, &out->wheres_count);
        *use = (sql_use){
            .column = column, .equal = anded, .value = read_value(reader, at + 1, to, column)};
        return;
    }
    if (column.size > 0 && audit_sql_word(reader->tokens, at, "in")) {
        sql_use *use = read_use(out->wheres, &out->wheres_count);
        *use = (sql_use){.column = column, .many = anded, .value = SQL_OTHER};
        return;
    }
    /* A hole between two conditions hides a third. */
    for (size_t i = from; i + 1 < to; i++) {
        const sql_token *token = &reader->tokens->items[i], *next = token + 1;
        if (token->hole && (read_is_name(next) || audit_sql_punct(reader->tokens, i + 1, '(')))
            out->unknown_where = true;
        if (next->hole && i + 2 == to && (read_is_name(token) || token->kind == SQL_PARAM))
            out->unknown_where = true;
    }
    read_mentions(reader, from, to);
}

static size_t read_where(sql_reader *reader, size_t at)
{
    sql_statement *out = &reader->out;
    size_t start = at;
    bool ored = false;
    out->has_where = true;
    for (size_t i = at; i < reader->end && !read_ends_clause(reader, i);) {
        ored = ored || audit_sql_word(reader->tokens, i, "or");
        i = audit_sql_punct(reader->tokens, i, '(') ? audit_sql_past(reader->tokens, i) : i + 1;
    }
    while (at < reader->end && !read_ends_clause(reader, at)) {
        size_t end = read_expression_end(reader, at, true);
        const sql_token *last = end > at ? &reader->tokens->items[end - 1] : NULL;
        /* "WHERE id = ?" + more: what is appended may be a condition. */
        if (last != NULL && last->hole && end - at > 3 && read_is_name(last - 1) == false &&
            last[-1].kind == SQL_PARAM)
            out->unknown_where = true;
        read_condition(reader, at, end, !ored);
        at = end > at ? end : at + 1;
        at += audit_sql_word(reader->tokens, at, "and") || audit_sql_word(reader->tokens, at, "or");
    }
    out->unknown_where = out->unknown_where || at == start;
    return at;
}

/* What stands after WHERE, and between. */
static void read_tail(sql_reader *reader, size_t at)
{
    sql_statement *out = &reader->out;
    for (; at < reader->end; at++) {
        if (audit_sql_punct(reader->tokens, at, '(')) {
            at = audit_sql_past(reader->tokens, at) - 1;
        } else if (audit_sql_word(reader->tokens, at, "where") && !out->has_where) {
            at = read_where(reader, at + 1) - 1;
        } else if (audit_sql_word(reader->tokens, at, "for") &&
                   (audit_sql_word(reader->tokens, at + 1, "update") ||
                    audit_sql_word(reader->tokens, at + 1, "no"))) {
            out->locks = true;
        } else if (audit_sql_word(reader->tokens, at, "nowait") ||
                   audit_sql_word(reader->tokens, at, "skip") ||
                   audit_sql_word(reader->tokens, at, "wait")) {
            out->bounded = true;
        } else if (audit_sql_word(reader->tokens, at, "order")) {
            out->ordered = true;
        } else if (audit_sql_word(reader->tokens, at, "returning") ||
                   audit_sql_word(reader->tokens, at, "output")) {
            out->returning = true;
        } else if (audit_sql_word(reader->tokens, at, "conflict") ||
                   audit_sql_word(reader->tokens, at, "duplicate") ||
                   audit_sql_word(reader->tokens, at, "exists")) {
            out->upsert = true;
        } else if (audit_sql_word(reader->tokens, at, "join") ||
                   (out->verb == SQL_UPDATE && audit_sql_word(reader->tokens, at, "from"))) {
            out->joined = true;
        }
    }
}

/* The table and its alias. */
static size_t read_table(sql_reader *reader, size_t at)
{
    reader->out.prefixed = sql_read_token(reader, at)->kind == SQL_PARAM;
    reader->out.table = audit_sql_name(reader->tokens, &at);
    audit_sql_accept(reader->tokens, &at, "as");
    if (read_is_name(sql_read_token(reader, at)) && !read_ends_clause(reader, at) &&
        !audit_sql_word(reader->tokens, at, "set") && !audit_sql_word(reader->tokens, at, "join") &&
        !audit_sql_word(reader->tokens, at, "values"))
        at++;
    return at;
}

static bool read_update(sql_reader *reader, size_t at)
{
    static const char *const noise[] = {"low_priority", "ignore", "only", "or",
                                        "rollback",     "abort",  "fail", "replace"};
    for (size_t i = 0; i < sizeof noise / sizeof *noise; i++)
        audit_sql_accept(reader->tokens, &at, noise[i]);
    at = read_table(reader, at);
    while (at < reader->end && !audit_sql_word(reader->tokens, at, "set")) {
        if (audit_sql_word(reader->tokens, at, "join") || audit_sql_punct(reader->tokens, at, ','))
            reader->out.joined = true;
        at = audit_sql_punct(reader->tokens, at, '(') ? audit_sql_past(reader->tokens, at) : at + 1;
    }
    if (at >= reader->end)
        return false;
    read_tail(reader, read_set(reader, at + 1));
    return reader->out.writes_count > 0 || reader->out.unknown_set;
}

static bool read_delete(sql_reader *reader, size_t at)
{
    if (!audit_sql_accept(reader->tokens, &at, "from"))
        return false;
    audit_sql_accept(reader->tokens, &at, "only");
    read_tail(reader, read_table(reader, at));
    return true;
}

static bool read_insert(sql_reader *reader, size_t at)
{
    reader->out.upsert = audit_sql_accept(reader->tokens, &at, "ignore");
    if (audit_sql_accept(reader->tokens, &at, "or"))
        reader->out.upsert = true, at++;
    if (!audit_sql_accept(reader->tokens, &at, "into"))
        return false;
    reader->out.table = audit_sql_name(reader->tokens, &at);
    if (audit_sql_punct(reader->tokens, at, '(')) {
        size_t past = audit_sql_past(reader->tokens, at);
        for (size_t i = at + 1; i + 1 < past; i++)
            if (read_is_name(&reader->tokens->items[i]))
                read_use(reader->out.writes, &reader->out.writes_count)->column =
                    reader->tokens->items[i].text;
        at = past;
    }
    read_tail(reader, at);
    return reader->out.table.size > 0;
}

static bool read_select(sql_reader *reader, size_t at)
{
    while (at < reader->end && !audit_sql_word(reader->tokens, at, "from"))
        at = audit_sql_punct(reader->tokens, at, '(') ? audit_sql_past(reader->tokens, at) : at + 1;
    if (at >= reader->end)
        return false;
    at = read_table(reader, at + 1);
    reader->out.joined = audit_sql_punct(reader->tokens, at, ',');
    read_tail(reader, at);
    return true;
}

/* ---- all of them ---- */

static size_t read_statement_end(const sql_tokens *tokens, size_t at)
{
    while (at < tokens->count && tokens->items[at].kind != SQL_END) {
        if (audit_sql_punct(tokens, at, ';') || audit_sql_punct(tokens, at, ')'))
            return at;
        at = audit_sql_punct(tokens, at, '(') ? audit_sql_past(tokens, at) : at + 1;
    }
    return at;
}

/* UPDATE in FOR UPDATE, ON UPDATE, BEFORE UPDATE, ... begins nothing. */
static bool read_begins(const sql_tokens *tokens, size_t at)
{
    static const char not_after[] =
        "for for key do on before after or of no grant revoke instead then,";
    const sql_token *before = at == 0 ? NULL : &tokens->items[at - 1];
    if (before == NULL || before->kind != SQL_WORD)
        return before == NULL || before->kind != SQL_PUNCT || before->text.at[0] != '.';
    return !audit_name_among(before->text, not_after);
}

void audit_sql_read(hf_arena *arena, const sql_tokens *tokens, sql_statement_fn each, void *context)
{
    static const struct {
        const char *word;
        sql_verb verb;
        bool (*read)(sql_reader *reader, size_t at);
    } verbs[] = {{"update", SQL_UPDATE, read_update},
                 {"delete", SQL_DELETE, read_delete},
                 {"insert", SQL_INSERT, read_insert},
                 {"select", SQL_SELECT, read_select}};
    sql_reader *reader = hf_arena_alloc(arena, sizeof *reader);
    for (size_t at = 0; reader != NULL && at < tokens->count; at++)
        for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++) {
            if (!audit_sql_word(tokens, at, verbs[i].word) || !read_begins(tokens, at))
                continue;
            *reader = (sql_reader){.tokens = tokens, .end = read_statement_end(tokens, at)};
            reader->out.verb = verbs[i].verb;
            reader->out.line = tokens->items[at].line;
            bool read = verbs[i].read(reader, at + 1);
            for (size_t k = at; read && k < reader->end; k++)
                reader->out.params = reader->out.params || tokens->items[k].kind == SQL_PARAM;
            if (read)
                each(context, &reader->out);
        }
}
