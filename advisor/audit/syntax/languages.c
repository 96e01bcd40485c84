/* SPDX-License-Identifier: MIT */
/* The node types of seven grammars, once each. A type that is not named here is passed through. */
#include "audit/syntax/languages.h"

#include <string.h>

const TSLanguage *tree_sitter_java(void);
const TSLanguage *tree_sitter_python(void);
const TSLanguage *tree_sitter_ruby(void);
const TSLanguage *tree_sitter_php(void);
const TSLanguage *tree_sitter_javascript(void);
const TSLanguage *tree_sitter_typescript(void);
const TSLanguage *tree_sitter_tsx(void);

typedef struct languages_type {
    const char *type;
    syntax_kind kind;
} languages_type;

static const languages_type languages_java[] = {
    {"method_declaration", SYNTAX_FUNCTION},
    {"constructor_declaration", SYNTAX_FUNCTION},
    {"class_declaration", SYNTAX_CLASS},
    {"record_declaration", SYNTAX_CLASS},
    {"interface_declaration", SYNTAX_CLASS},
    {"field_declaration", SYNTAX_FIELD},
    {"string_literal", SYNTAX_STRING},
    {"string_fragment", SYNTAX_FRAGMENT},
    {"multiline_string_fragment", SYNTAX_FRAGMENT},
    {"escape_sequence", SYNTAX_ESCAPE},
    {"binary_expression", SYNTAX_CONCAT},
    {"element_value_array_initializer", SYNTAX_LIST},
    {"variable_declarator", SYNTAX_ASSIGN},
    {"assignment_expression", SYNTAX_ASSIGN},
    {"method_invocation", SYNTAX_CALL},
    {"object_creation_expression", SYNTAX_CALL},
    {"annotation", SYNTAX_CALL},
    {"identifier", SYNTAX_NAME},
    {"field_access", SYNTAX_MEMBER},
    {"parenthesized_expression", SYNTAX_PAREN},
    {"expression_statement", SYNTAX_STATEMENT},
    {"for_statement", SYNTAX_LOOP},
    {"enhanced_for_statement", SYNTAX_EACH},
    {"while_statement", SYNTAX_LOOP},
    {"if_statement", SYNTAX_IF},
    {"line_comment", SYNTAX_COMMENT},
    {"block_comment", SYNTAX_COMMENT},
    {NULL, SYNTAX_PLAIN},
};

static const languages_type languages_python[] = {
    {"function_definition", SYNTAX_FUNCTION},
    {"class_definition", SYNTAX_CLASS},
    {"string", SYNTAX_STRING},
    {"string_content", SYNTAX_FRAGMENT},
    {"concatenated_string", SYNTAX_JOIN},
    {"binary_operator", SYNTAX_CONCAT},
    {"list", SYNTAX_LIST},
    {"tuple", SYNTAX_LIST},
    {"assignment", SYNTAX_ASSIGN},
    {"augmented_assignment", SYNTAX_APPEND},
    {"call", SYNTAX_CALL},
    {"identifier", SYNTAX_NAME},
    {"attribute", SYNTAX_MEMBER},
    {"parenthesized_expression", SYNTAX_PAREN},
    {"await", SYNTAX_PAREN},
    {"expression_statement", SYNTAX_STATEMENT},
    {"for_statement", SYNTAX_EACH},
    {"comparison_operator", SYNTAX_COMPARE},
    {"while_statement", SYNTAX_LOOP},
    {"if_statement", SYNTAX_IF},
    {"comment", SYNTAX_COMMENT},
    {NULL, SYNTAX_PLAIN},
};

static const languages_type languages_ruby[] = {
    {"method", SYNTAX_FUNCTION},
    {"singleton_method", SYNTAX_FUNCTION},
    {"class", SYNTAX_CLASS},
    {"string", SYNTAX_STRING},
    {"heredoc_body", SYNTAX_STRING},
    {"string_content", SYNTAX_FRAGMENT},
    {"heredoc_content", SYNTAX_FRAGMENT},
    {"escape_sequence", SYNTAX_ESCAPE},
    {"heredoc_beginning", SYNTAX_HEREDOC},
    {"chained_string", SYNTAX_JOIN},
    {"binary", SYNTAX_CONCAT},
    {"array", SYNTAX_LIST},
    {"assignment", SYNTAX_ASSIGN},
    {"operator_assignment", SYNTAX_APPEND},
    {"call", SYNTAX_CALL},
    {"identifier", SYNTAX_NAME},
    {"constant", SYNTAX_NAME},
    {"scope_resolution", SYNTAX_MEMBER},
    {"parenthesized_statements", SYNTAX_PAREN},
    {"while", SYNTAX_LOOP},
    {"for", SYNTAX_EACH},
    {"if", SYNTAX_IF},
    {"unless", SYNTAX_IF},
    {"if_modifier", SYNTAX_IF},
    {"unless_modifier", SYNTAX_IF},
    {"body_statement", SYNTAX_STATEMENT},
    {"then", SYNTAX_STATEMENT},
    {"comment", SYNTAX_COMMENT},
    {NULL, SYNTAX_PLAIN},
};

static const languages_type languages_php[] = {
    {"method_declaration", SYNTAX_FUNCTION},
    {"function_definition", SYNTAX_FUNCTION},
    {"class_declaration", SYNTAX_CLASS},
    {"property_declaration", SYNTAX_FIELD},
    {"string", SYNTAX_STRING},
    {"encapsed_string", SYNTAX_STRING},
    {"heredoc_body", SYNTAX_STRING},
    {"nowdoc_body", SYNTAX_STRING},
    {"string_content", SYNTAX_FRAGMENT},
    {"nowdoc_string", SYNTAX_FRAGMENT},
    {"escape_sequence", SYNTAX_ESCAPE},
    {"heredoc", SYNTAX_JOIN},
    {"nowdoc", SYNTAX_JOIN},
    {"binary_expression", SYNTAX_CONCAT},
    {"array_creation_expression", SYNTAX_LIST},
    {"assignment_expression", SYNTAX_ASSIGN},
    {"property_element", SYNTAX_ASSIGN},
    {"const_element", SYNTAX_ASSIGN},
    {"augmented_assignment_expression", SYNTAX_APPEND},
    {"function_call_expression", SYNTAX_CALL},
    {"member_call_expression", SYNTAX_CALL},
    {"nullsafe_member_call_expression", SYNTAX_CALL},
    {"scoped_call_expression", SYNTAX_CALL},
    {"object_creation_expression", SYNTAX_CALL},
    {"variable_name", SYNTAX_NAME},
    {"name", SYNTAX_NAME},
    {"member_access_expression", SYNTAX_MEMBER},
    {"class_constant_access_expression", SYNTAX_MEMBER},
    {"scoped_property_access_expression", SYNTAX_MEMBER},
    {"parenthesized_expression", SYNTAX_PAREN},
    {"expression_statement", SYNTAX_STATEMENT},
    {"foreach_statement", SYNTAX_EACH},
    {"for_statement", SYNTAX_LOOP},
    {"while_statement", SYNTAX_LOOP},
    {"if_statement", SYNTAX_IF},
    {"comment", SYNTAX_COMMENT},
    {NULL, SYNTAX_PLAIN},
};

static const languages_type languages_javascript[] = {
    {"function_declaration", SYNTAX_FUNCTION},
    {"method_definition", SYNTAX_FUNCTION},
    {"arrow_function", SYNTAX_FUNCTION},
    {"function_expression", SYNTAX_FUNCTION},
    {"class_declaration", SYNTAX_CLASS},
    {"abstract_class_declaration", SYNTAX_CLASS},
    {"field_definition", SYNTAX_FIELD},
    {"public_field_definition", SYNTAX_FIELD},
    {"string", SYNTAX_STRING},
    {"template_string", SYNTAX_STRING},
    {"string_fragment", SYNTAX_FRAGMENT},
    {"escape_sequence", SYNTAX_ESCAPE},
    {"binary_expression", SYNTAX_CONCAT},
    {"array", SYNTAX_LIST},
    {"variable_declarator", SYNTAX_ASSIGN},
    {"assignment_expression", SYNTAX_ASSIGN},
    {"augmented_assignment_expression", SYNTAX_APPEND},
    {"call_expression", SYNTAX_CALL},
    {"identifier", SYNTAX_NAME},
    {"member_expression", SYNTAX_MEMBER},
    {"parenthesized_expression", SYNTAX_PAREN},
    {"await_expression", SYNTAX_PAREN},
    {"expression_statement", SYNTAX_STATEMENT},
    {"for_statement", SYNTAX_LOOP},
    {"for_in_statement", SYNTAX_EACH},
    {"while_statement", SYNTAX_LOOP},
    {"if_statement", SYNTAX_IF},
    {"comment", SYNTAX_COMMENT},
    {NULL, SYNTAX_PLAIN},
};

static const struct languages_entry {
    const TSLanguage *(*grammar)(void);
    char concat; /* the operator that joins texts */
    const languages_type *types;
} languages_table[AUDIT_LANGUAGES] = {
    [AUDIT_JAVA] = {tree_sitter_java, '+', languages_java},
    [AUDIT_PYTHON] = {tree_sitter_python, '+', languages_python},
    [AUDIT_RUBY] = {tree_sitter_ruby, '+', languages_ruby},
    [AUDIT_PHP] = {tree_sitter_php, '.', languages_php},
    [AUDIT_JAVASCRIPT] = {tree_sitter_javascript, '+', languages_javascript},
    [AUDIT_TYPESCRIPT] = {tree_sitter_typescript, '+', languages_javascript},
    [AUDIT_TSX] = {tree_sitter_tsx, '+', languages_javascript},
};

const TSLanguage *syntax_grammar(audit_language language)
{
    return languages_table[language].grammar();
}

char syntax_concat(audit_language language)
{
    return languages_table[language].concat;
}

bool syntax_kinds_fill(audit_language language, uint8_t kinds[SYNTAX_SYMBOLS_MAX])
{
    const TSLanguage *grammar = syntax_grammar(language);
    uint32_t count = ts_language_symbol_count(grammar);
    if (count > SYNTAX_SYMBOLS_MAX)
        return false;
    memset(kinds, SYNTAX_PLAIN, SYNTAX_SYMBOLS_MAX);
    for (uint32_t symbol = 0; symbol < count; symbol++) {
        if (ts_language_symbol_type(grammar, (TSSymbol)symbol) != TSSymbolTypeRegular)
            continue;
        const char *name = ts_language_symbol_name(grammar, (TSSymbol)symbol);
        const languages_type *type = languages_table[language].types;
        while (type->type != NULL && strcmp(type->type, name) != 0)
            type++;
        kinds[symbol] = (uint8_t)type->kind;
    }
    return true;
}
