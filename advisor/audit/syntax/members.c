/* SPDX-License-Identifier: MIT */
/* Classes and their members as facts, for the mappings: names, types, annotations, first values.
 * What a framework means by them is decided elsewhere. */
#include "audit/names.h"
#include "audit/syntax/walk.h"

enum { MEMBERS_TEXT_MAX = 2000 };

static hf_slice members_clip(hf_slice text)
{
    if (text.size > MEMBERS_TEXT_MAX)
        text.size = MEMBERS_TEXT_MAX;
    return text;
}

/* From the first annotation, attribute, decorator or comment before a declaration to its name. */
static hf_slice members_marks(const syntax_walk *walk, TSNode node, TSNode name)
{
    TSNode first = node, before = ts_node_prev_sibling(node);
    TSNode parent = ts_node_parent(node);
    if (!ts_node_is_null(parent) && (strcmp(ts_node_type(parent), "decorated_definition") == 0 ||
                                     strcmp(ts_node_type(parent), "export_statement") == 0)) {
        first = parent;
        before = ts_node_prev_sibling(parent);
    }
    while (!ts_node_is_null(before) && (syntax_kind_of(walk, before) == SYNTAX_COMMENT ||
                                        strcmp(ts_node_type(before), "decorator") == 0)) {
        first = before;
        before = ts_node_prev_sibling(before);
    }
    uint32_t start = ts_node_start_byte(first), end = ts_node_start_byte(name);
    return ts_node_is_null(name) || end < start
               ? HF_NOTHING
               : members_clip((hf_slice){walk->source.at + start, end - start});
}

void syntax_emit_class(syntax_walk *walk, TSNode node)
{
    TSNode name = syntax_field(node, "name"), body = syntax_field(node, "body");
    if (ts_node_is_null(name))
        return;
    uint32_t end = ts_node_end_byte(name);
    uint32_t stop = ts_node_is_null(body) ? end : ts_node_start_byte(body);
    hf_slice bases = {walk->source.at + end, stop > end ? stop - end : 0};
    walk->emit(walk->context, &(audit_fact){.kind = AUDIT_CLASS,
                                            .line = syntax_line(name),
                                            .text = {syntax_text(walk, name), members_clip(bases),
                                                     members_marks(walk, node, name)}});
}

static void members_emit(syntax_walk *walk, TSNode node, TSNode name, TSNode type, TSNode value)
{
    hf_slice called = syntax_text(walk, name);
    if (called.size > 0 && called.at[0] == '$')
        called = (hf_slice){called.at + 1, called.size - 1};
    walk->emit(walk->context, &(audit_fact){.kind = AUDIT_FIELD,
                                            .line = syntax_line(name),
                                            .flags = walk->class_name.size == 0 ? AUDIT_SHARED : 0,
                                            .text = {walk->class_name, called,
                                                     members_clip(syntax_text(walk, type)),
                                                     members_marks(walk, node, name),
                                                     members_clip(syntax_text(walk, value))}});
}

void syntax_emit_field(syntax_walk *walk, TSNode node)
{
    TSNode part = syntax_field(node, "declarator");
    for (uint32_t i = 0; ts_node_is_null(part) && i < ts_node_named_child_count(node); i++)
        if (strcmp(ts_node_type(ts_node_named_child(node, i)), "property_element") == 0)
            part = ts_node_named_child(node, i);
    TSNode holder = ts_node_is_null(part) ? node : part;
    TSNode name = syntax_field_either(holder, "name", "property");
    if (!ts_node_is_null(name))
        members_emit(walk, node, name, syntax_field(node, "type"),
                     syntax_field_either(holder, "value", "default_value"));
}

void syntax_emit_assigned(syntax_walk *walk, TSNode node)
{
    TSNode name = syntax_field_either(node, "left", "name");
    TSNode value = syntax_field_either(node, "right", "value");
    if (walk->language == AUDIT_JAVA || walk->language == AUDIT_PHP || ts_node_is_null(name))
        return;
    if (!ts_node_is_null(value) || !ts_node_is_null(syntax_field(node, "type")))
        members_emit(walk, node, name, syntax_field(node, "type"), value);
}

/* JPA's annotations may stand at getters: getVersion() is the field "version". */
void syntax_emit_getter(syntax_walk *walk, TSNode node)
{
    TSNode name = syntax_field(node, "name");
    hf_slice called = syntax_text(walk, name);
    hf_slice marks = ts_node_is_null(name) ? HF_NOTHING : members_marks(walk, node, name);
    if (walk->language != AUDIT_JAVA || called.size < 4 || memcmp(called.at, "get", 3) != 0 ||
        (audit_text_find(marks, "@Version") == NULL && audit_text_find(marks, "@Id") == NULL))
        return;
    walk->emit(walk->context, &(audit_fact){.kind = AUDIT_FIELD,
                                            .line = syntax_line(name),
                                            .text = {walk->class_name,
                                                     {called.at + 3, called.size - 3},
                                                     syntax_text(walk, syntax_field(node, "type")),
                                                     marks}});
}
