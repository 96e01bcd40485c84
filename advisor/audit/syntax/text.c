/* SPDX-License-Identifier: MIT */
/* Texts as a program puts them together: literals, concatenation, formats, builders, variables. */
#include "audit/names.h"
#include "audit/syntax/walk.h"

#include <string.h>

syntax_kind syntax_kind_of(const syntax_walk *walk, TSNode node)
{
    if (ts_node_is_null(node))
        return SYNTAX_PLAIN;
    TSSymbol symbol = ts_node_symbol(node);
    return symbol >= SYNTAX_SYMBOLS_MAX ? SYNTAX_PLAIN : walk->kinds[symbol];
}

hf_slice syntax_text(const syntax_walk *walk, TSNode node)
{
    if (ts_node_is_null(node))
        return HF_NOTHING;
    uint32_t start = ts_node_start_byte(node), end = ts_node_end_byte(node);
    return end > walk->source.size || start >= end
               ? HF_NOTHING
               : (hf_slice){walk->source.at + start, end - start};
}

uint32_t syntax_line(TSNode node)
{
    return ts_node_start_point(node).row + 1;
}

TSNode syntax_field(TSNode node, const char *name)
{
    if (ts_node_is_null(node))
        return node;
    return ts_node_child_by_field_name(node, name, (uint32_t)strlen(name));
}

TSNode syntax_field_either(TSNode node, const char *name, const char *other)
{
    TSNode found = syntax_field(node, name);
    return ts_node_is_null(found) ? syntax_field(node, other) : found;
}

/* ---- calls ---- */

hf_slice syntax_call_name(const syntax_walk *walk, TSNode call)
{
    TSNode name = syntax_field_either(call, "name", "method");
    if (ts_node_is_null(name))
        name = syntax_field_either(call, "function", "type");
    if (ts_node_is_null(name))
        name = ts_node_named_child(call, 0); /* PHP: new X(...) */
    return audit_name_last(syntax_text(walk, name));
}

TSNode syntax_call_object(const syntax_walk *walk, TSNode call)
{
    TSNode object = syntax_field_either(call, "object", "receiver");
    if (ts_node_is_null(object))
        object = syntax_field(call, "scope");
    if (!ts_node_is_null(object))
        return object;
    TSNode function = syntax_field(call, "function");
    return syntax_kind_of(walk, function) == SYNTAX_MEMBER ? syntax_field(function, "object")
                                                           : object;
}

TSNode syntax_call_arguments(TSNode call)
{
    return syntax_field(call, "arguments");
}

/* PHP wraps each argument. */
static TSNode text_argument(TSNode arguments, uint32_t index)
{
    TSNode argument = ts_node_named_child(arguments, index);
    if (!ts_node_is_null(argument) && strcmp(ts_node_type(argument), "argument") == 0)
        argument = ts_node_named_child(argument, ts_node_named_child_count(argument) - 1);
    return argument;
}

/* Calls whose value is their first argument, or what they are called on, as far as we care. */
#define TEXT_OF_ARGUMENT                                                                           \
    "format sprintf text sql raw unsafe StringBuilder StringBuffer String literal vsprintf "       \
    "sanitize_sql sanitize_sql_array trim SQL"
#define TEXT_OF_OBJECT                                                                             \
    "format formatted trim strip toString squish stripIndent strip_heredoc append concat to_s "    \
    "freeze dedent replace"

static bool text_is_builder(hf_slice name)
{
    return audit_name_among(name, "append concat");
}

/* ---- is it a text? ---- */

static bool text_operator_joins(const syntax_walk *walk, TSNode node)
{
    hf_slice operator= syntax_text(walk, syntax_field(node, "operator"));
    char c = operator.size == 1 ? operator.at[0] : '\0';
    return c == walk->concat || (c == '%' && walk->concat == '+');
}

bool syntax_is_text(const syntax_walk *walk, TSNode node)
{
    if (ts_node_is_null(node))
        return false;
    switch (syntax_kind_of(walk, node)) {
    case SYNTAX_STRING:
    case SYNTAX_HEREDOC:
    case SYNTAX_JOIN:
        return true;
    case SYNTAX_PAREN:
        return syntax_is_text(walk, ts_node_named_child(node, 0));
    case SYNTAX_CONCAT:
        return text_operator_joins(walk, node) &&
               (syntax_is_text(walk, syntax_field(node, "left")) ||
                syntax_is_text(walk, syntax_field(node, "right")));
    case SYNTAX_CALL: {
        hf_slice name = syntax_call_name(walk, node);
        TSNode object = syntax_call_object(walk, node), arguments = syntax_call_arguments(node);
        if (!ts_node_is_null(arguments) && syntax_kind_of(walk, arguments) == SYNTAX_STRING)
            return false; /* a tagged template: a call with the text as its argument */
        TSNode first = ts_node_is_null(arguments) ? arguments : text_argument(arguments, 0);
        if (audit_name_among(name, TEXT_OF_OBJECT) && syntax_is_text(walk, object))
            return true;
        if (audit_name_among(name, "join"))
            return syntax_kind_of(walk, object) == SYNTAX_LIST ||
                   syntax_kind_of(walk, first) == SYNTAX_LIST;
        return audit_name_among(name, TEXT_OF_ARGUMENT) && syntax_is_text(walk, first);
    }
    default:
        return false;
    }
}

/* ---- what is it? ---- */

static void text_hole(hf_buffer *out)
{
    char hole = AUDIT_HOLE;
    if (out->size < SYNTAX_TEXT_MAX)
        hf_buffer_add(out, &hole, 1);
}

static void text_add(hf_buffer *out, hf_slice text)
{
    size_t room = out->size < SYNTAX_TEXT_MAX ? SYNTAX_TEXT_MAX - out->size : 0;
    hf_buffer_add(out, text.at, text.size < room ? text.size : room);
}

static void text_escape(const syntax_walk *walk, TSNode node, hf_buffer *out)
{
    hf_slice text = syntax_text(walk, node);
    char c = text.size > 1 ? text.at[1] : ' ';
    c = strchr("nrtbf\n", c) != NULL ? (c == 'n' || c == '\n' ? '\n' : ' ') : c;
    hf_buffer_add(out, &c, 1);
}

/* The quotes are not fragments. A string without fragments, as PHP's single-quoted ones can be in
 * some versions of the grammar, is all between its quotes. */
static void text_string(syntax_walk *walk, TSNode node, hf_buffer *out)
{
    uint32_t count = ts_node_named_child_count(node);
    for (uint32_t i = 0; i < count; i++) {
        TSNode child = ts_node_named_child(node, i);
        const char *type = ts_node_type(child);
        switch (syntax_kind_of(walk, child)) {
        case SYNTAX_FRAGMENT:
            text_add(out, syntax_text(walk, child));
            break;
        case SYNTAX_ESCAPE:
            text_escape(walk, child, out);
            break;
        default:
            if (strcmp(type, "string_start") != 0 && strcmp(type, "string_end") != 0 &&
                strcmp(type, "heredoc_end") != 0)
                text_hole(out);
        }
    }
}

static void text_children(syntax_walk *walk, TSNode node, const char *between, hf_buffer *out)
{
    uint32_t count = ts_node_named_child_count(node);
    for (uint32_t i = 0; i < count; i++) {
        TSNode child = text_argument(node, i);
        const char *type = ts_node_type(child);
        if (strcmp(type, "heredoc_start") == 0 || strcmp(type, "heredoc_end") == 0)
            continue;
        if (strcmp(type, "array_element_initializer") == 0)
            child = ts_node_named_child(child, 0);
        if (i > 0)
            text_add(out, hf_slice_of(between));
        syntax_evaluate(walk, child, out);
    }
}

static void text_call(syntax_walk *walk, TSNode node, hf_buffer *out)
{
    hf_slice name = syntax_call_name(walk, node);
    TSNode object = syntax_call_object(walk, node), arguments = syntax_call_arguments(node);
    TSNode first = ts_node_is_null(arguments) ? arguments : text_argument(arguments, 0);
    if (audit_name_among(name, "join")) {
        text_children(walk, syntax_kind_of(walk, object) == SYNTAX_LIST ? object : first, " ", out);
    } else if (text_is_builder(name)) {
        syntax_evaluate(walk, object, out);
        syntax_evaluate(walk, first, out);
    } else if (audit_name_among(name, TEXT_OF_OBJECT) &&
               (syntax_is_text(walk, object) || syntax_kind_of(walk, object) == SYNTAX_NAME)) {
        syntax_evaluate(walk, object, out);
    } else if (audit_name_among(name, TEXT_OF_ARGUMENT) && !ts_node_is_null(first)) {
        syntax_evaluate(walk, first, out);
    } else {
        text_hole(out);
    }
}

syntax_variable *syntax_variable_find(syntax_walk *walk, TSNode node)
{
    syntax_kind kind = syntax_kind_of(walk, node);
    if (kind != SYNTAX_NAME && kind != SYNTAX_MEMBER)
        return NULL;
    hf_slice name = audit_name_last(syntax_text(walk, node));
    for (size_t i = walk->variables_count; i-- > 0;)
        if (hf_slice_equal(walk->variables[i].name, name))
            return &walk->variables[i];
    return NULL;
}

void syntax_evaluate(syntax_walk *walk, TSNode node, hf_buffer *out)
{
    if (ts_node_is_null(node) || walk->depth >= SYNTAX_DEPTH_MAX || out->size >= SYNTAX_TEXT_MAX) {
        text_hole(out);
        return;
    }
    walk->depth++;
    syntax_variable *variable = syntax_variable_find(walk, node);
    hf_slice heredoc = walk->heredoc;
    switch (syntax_kind_of(walk, node)) {
    case SYNTAX_STRING:
        text_string(walk, node, out);
        break;
    case SYNTAX_HEREDOC:
        if (heredoc.size > 0)
            text_add(out, heredoc);
        else
            text_hole(out);
        break;
    case SYNTAX_JOIN:
        text_children(walk, node, "", out);
        break;
    case SYNTAX_PAREN:
        syntax_evaluate(walk, ts_node_named_child(node, 0), out);
        break;
    case SYNTAX_CONCAT:
        syntax_evaluate(walk, syntax_field(node, "left"), out);
        if (!hf_slice_equal(syntax_text(walk, syntax_field(node, "operator")), hf_slice_of("%")))
            syntax_evaluate(walk, syntax_field(node, "right"), out);
        break;
    case SYNTAX_CALL:
        text_call(walk, node, out);
        break;
    default:
        if (variable != NULL && variable->text.size > 0 && variable->text.text != out->text)
            text_add(out, (hf_slice){variable->text.text, variable->text.size});
        else
            text_hole(out);
    }
    walk->depth--;
}
