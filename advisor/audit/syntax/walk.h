/* SPDX-License-Identifier: MIT */
/* One walk over one file's tree: what it carries along. */
#ifndef HF_AUDIT_SYNTAX_WALK_H
#define HF_AUDIT_SYNTAX_WALK_H

#include "audit/syntax/languages.h"

/* A variable that holds a text. */
typedef struct syntax_variable {
    hf_slice name;
    hf_buffer text; /* with holes */
    uint32_t line;
    bool used; /* handed to a call already */
} syntax_variable;

enum {
    SYNTAX_VARIABLES_MAX = 512,
    SYNTAX_TEXT_MAX = 64 << 10,
    SYNTAX_DEPTH_MAX = 400,
    SYNTAX_LOADED_MAX = 8
};

typedef struct syntax_walk {
    audit_language language;
    hf_slice source;
    uint8_t kinds[SYNTAX_SYMBOLS_MAX];
    char concat;
    audit_emit_fn emit;
    void *context;
    syntax_variable variables[SYNTAX_VARIABLES_MAX];
    size_t variables_count;
    uint32_t scope; /* of the function we are in */
    bool counted;   /* it speaks of a number of rows */
    hf_slice class_name;
    hf_slice table; /* of the migration's block we are in: create_table "x" do ... */
    hf_slice loaded[SYNTAX_LOADED_MAX]; /* variables of it that were given a record */
    size_t loaded_count;
    uint32_t traits; /* of the function we are in: AUDIT_SORTED, AUDIT_GIVEN */
    int depth, loops, each, conditions, refusals;
    hf_slice heredoc; /* Ruby: bodies stand after the line that begins them */
} syntax_walk;

syntax_kind syntax_kind_of(const syntax_walk *walk, TSNode node);
hf_slice syntax_text(const syntax_walk *walk, TSNode node);
uint32_t syntax_line(TSNode node);
TSNode syntax_field(TSNode node, const char *name);
/* The same with the first of two names that is there. */
TSNode syntax_field_either(TSNode node, const char *name, const char *other);

/* Of a call: its name, what it is called on, its arguments (either may be null). */
hf_slice syntax_call_name(const syntax_walk *walk, TSNode call);
TSNode syntax_call_object(const syntax_walk *walk, TSNode call);
TSNode syntax_call_arguments(TSNode call);

/* Whether an expression is a text that is written out here, at least in part. */
bool syntax_is_text(const syntax_walk *walk, TSNode node);

/* Adds what it is to `out`, holes for what is not known. */
void syntax_evaluate(syntax_walk *walk, TSNode node, hf_buffer *out);

syntax_variable *syntax_variable_find(syntax_walk *walk, TSNode node);

/* Classes and their members (members.c). */
void syntax_emit_class(syntax_walk *walk, TSNode node);
void syntax_emit_field(syntax_walk *walk, TSNode node);
/* An assignment in the body of a class or of the file, and a method with annotations. */
void syntax_emit_assigned(syntax_walk *walk, TSNode node);
void syntax_emit_getter(syntax_walk *walk, TSNode node);

#endif
