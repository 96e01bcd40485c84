/* SPDX-License-Identifier: MIT */
/* The walk: statements in the order of the source, functions with their own variables. A text is
 * told once, where it is handed to a call, or at the end of its function. */
#include "audit/syntax/walk.h"

#include "audit/names.h"
#include "audit/sql_scan.h"
#include "base/cleanup.h"

#include <holdfast/status.h>

static void walk_node(syntax_walk *walk, TSNode node);

static void walk_children(syntax_walk *walk, TSNode node)
{
    TSTreeCursor cursor = ts_tree_cursor_new(node);
    if (ts_tree_cursor_goto_first_child(&cursor))
        do
            walk_node(walk, ts_tree_cursor_current_node(&cursor));
        while (ts_tree_cursor_goto_next_sibling(&cursor));
    ts_tree_cursor_delete(&cursor);
}

static void walk_emit(syntax_walk *walk, audit_fact fact)
{
    fact.scope = walk->scope;
    fact.flags |= (walk->counted ? AUDIT_COUNTED : 0u) | (walk->loops > 0 ? AUDIT_LOOPED : 0u) |
                  (walk->conditions > 0 ? AUDIT_GUARDED : 0u) | (walk->each > 0 ? AUDIT_EACH : 0u) |
                  (walk->refusals > 0 ? AUDIT_REFUSES : 0u) | walk->traits;
    walk->emit(walk->context, &fact);
}

static void walk_emit_sql(syntax_walk *walk, hf_slice text, uint32_t line, uint32_t flags)
{
    if (audit_sql_looks_like(text))
        walk_emit(walk,
                  (audit_fact){.kind = AUDIT_SQL, .line = line, .flags = flags, .text = {text}});
}

/* Tells an expression that is a text, with what is done with it. */
static void walk_text(syntax_walk *walk, TSNode node, uint32_t flags)
{
    hf_buffer text = {0};
    syntax_evaluate(walk, node, &text);
    if (!text.failed && text.size > 0)
        walk_emit_sql(walk, (hf_slice){text.text, text.size}, syntax_line(node), flags);
    hf_buffer_done(&text);
}

/* ---- variables ---- */

static void walk_forget(syntax_walk *walk, size_t down_to)
{
    while (walk->variables_count > down_to) {
        syntax_variable *variable = &walk->variables[--walk->variables_count];
        if (!variable->used && variable->text.size > 0)
            walk_emit_sql(walk, (hf_slice){variable->text.text, variable->text.size},
                          variable->line, 0);
        hf_buffer_done(&variable->text);
    }
}

static bool walk_bind(syntax_walk *walk, TSNode name, TSNode value)
{
    syntax_variable *variable = syntax_variable_find(walk, name);
    hf_slice called = audit_name_last(syntax_text(walk, name));
    if (called.size == 0 || walk->variables_count == SYNTAX_VARIABLES_MAX ||
        !(syntax_is_text(walk, value) || (variable != NULL && variable->text.size > 0 &&
                                          syntax_kind_of(walk, value) == SYNTAX_CONCAT)))
        return false;
    hf_buffer text = {0};
    syntax_evaluate(walk, value, &text);
    /* A new value for a name of this function; the old text has been told if it was used. */
    if (variable == NULL || !variable->used || walk->conditions > 0)
        variable = &walk->variables[walk->variables_count++];
    else
        hf_buffer_done(&variable->text);
    *variable = (syntax_variable){.name = called, .text = text, .line = syntax_line(value)};
    return true;
}

/* x += y, x.append(y).append(z): true if x is known. */
static bool walk_append(syntax_walk *walk, TSNode target, TSNode value)
{
    syntax_variable *variable = syntax_variable_find(walk, target);
    if (variable == NULL)
        return false;
    hf_buffer text = {0};
    syntax_evaluate(walk, value, &text);
    if (variable->text.size + text.size <= SYNTAX_TEXT_MAX)
        hf_buffer_add(&variable->text, text.text, text.size);
    hf_buffer_done(&text);
    variable->used = false;
    return true;
}

static bool walk_append_chain(syntax_walk *walk, TSNode call)
{
    TSNode object = syntax_call_object(walk, call), arguments = syntax_call_arguments(call);
    TSNode root = object;
    int links = 0;
    if (!audit_name_among(syntax_call_name(walk, call), "append concat") ||
        ts_node_is_null(arguments))
        return false;
    for (; syntax_kind_of(walk, root) == SYNTAX_CALL && links < 200; links++)
        root = syntax_call_object(walk, root);
    if (syntax_variable_find(walk, root) == NULL)
        return false;
    if (syntax_kind_of(walk, object) == SYNTAX_CALL && links < 200)
        walk_append_chain(walk, object);
    return walk_append(walk, root, ts_node_named_child(arguments, 0));
}

/* A variable that was given a record is given something else: told as a call named "=". */
static void walk_replace(syntax_walk *walk, TSNode name)
{
    hf_slice called = audit_name_last(syntax_text(walk, name));
    for (size_t i = 0; i < walk->loaded_count && i < SYNTAX_LOADED_MAX; i++)
        if (hf_slice_equal(walk->loaded[i], called)) {
            walk_emit(walk,
                      (audit_fact){.kind = AUDIT_CALL,
                                   .line = syntax_line(name),
                                   .text = {HF_NOTHING, hf_slice_of("="), HF_NOTHING, called}});
            return;
        }
}

static void walk_assign(syntax_walk *walk, TSNode node)
{
    TSNode left = syntax_field_either(node, "left", "name");
    TSNode right = syntax_field_either(node, "right", "value");
    if (ts_node_is_null(right))
        right = syntax_field(node, "default_value");
    if (ts_node_is_null(left) && ts_node_named_child_count(node) == 2) { /* PHP's constants */
        left = ts_node_named_child(node, 0);
        right = ts_node_named_child(node, 1);
    }
    hf_slice operator= syntax_text(walk, syntax_field(node, "operator"));
    bool plus = operator.size == 2 &&(operator.at[0] == '+' || operator.at[0] == '.');
    if (walk->scope == 0)
        syntax_emit_assigned(walk, node);
    else if (!ts_node_is_null(left) && syntax_kind_of(walk, left) == SYNTAX_NAME)
        walk_replace(walk, left);
    if (plus && walk_append(walk, left, right))
        return;
    if (!ts_node_is_null(right) && !walk_bind(walk, left, right))
        walk_node(walk, right);
}

/* ---- calls ---- */

/* Is the value of this call used? Awaiting and parentheses do not use it; a block does. */
static uint32_t walk_use(const syntax_walk *walk, TSNode call)
{
    if (walk->language == AUDIT_RUBY && !ts_node_is_null(syntax_field(call, "block")))
        return AUDIT_ASSIGNED;
    TSNode at = ts_node_parent(call);
    while (!ts_node_is_null(at) && syntax_kind_of(walk, at) == SYNTAX_PAREN)
        at = ts_node_parent(at);
    syntax_kind kind = syntax_kind_of(walk, at);
    return kind == SYNTAX_STATEMENT ? AUDIT_DISCARDED : AUDIT_ASSIGNED;
}

static void walk_argument(syntax_walk *walk, TSNode argument, uint32_t flags)
{
    const char *type = ts_node_type(argument);
    if (strcmp(type, "argument") == 0)
        argument = ts_node_named_child(argument, ts_node_named_child_count(argument) - 1);
    else if (strcmp(type, "keyword_argument") == 0 || strcmp(type, "element_value_pair") == 0)
        argument = syntax_field(argument, "value");
    if (ts_node_is_null(argument))
        return;
    syntax_variable *variable = syntax_variable_find(walk, argument);
    if (syntax_is_text(walk, argument)) {
        walk_text(walk, argument, flags);
    } else if (variable != NULL && variable->text.size > 0) {
        walk_emit_sql(walk, (hf_slice){variable->text.text, variable->text.size}, variable->line,
                      flags);
        variable->used = true;
    } else {
        walk_node(walk, argument);
    }
}

static hf_slice walk_clip(hf_slice text)
{
    if (text.size > 1000)
        text.size = 1000;
    return text;
}

/* Calls that the mappings and rules want to know of. */
#define WALK_CALLS                                                                                 \
    "execute executeUpdate exec executemany executeQuery update_all updateAll update updateMany "  \
    "update_columns update_column bulk_update save flush lock unlock release tryLock acquire "     \
    "commit rollback select_for_update lockForUpdate with_lock setLock pessimisticLock "           \
    "setLockMode create_table add_column add_index add_foreign_key create table change_table "     \
    "define_table Table merge find createQueryBuilder relation acquireLock lockRecord obtainLock " \
    "obtain takeLock tryAcquire getLock createLock newLock findById findOne findOneBy findByPk "   \
    "find_by getById getOne getReference findOrFail findUnique findUniqueOrThrow findFirst load "  \
    "refresh reload refresh_from_db persist transaction atomic begin beginTransaction "            \
    "startTransaction inTransaction query"

/* `get` is everyone's name; these have records. */
static bool walk_gets_record(const syntax_walk *walk, hf_slice name, TSNode object)
{
    return audit_name_among(name, "get first one") &&
           audit_name_has(walk_clip(syntax_text(walk, object)),
                          "objects session query repository repo dao em manager");
}

/* The variable that is given what this call, or a chain of calls that begins with it, answers. */
static hf_slice walk_target(const syntax_walk *walk, TSNode call)
{
    for (int i = 0; i < 8; i++) {
        TSNode parent = ts_node_parent(call);
        switch (syntax_kind_of(walk, parent)) {
        case SYNTAX_ASSIGN:
            return audit_name_last(syntax_text(walk, syntax_field_either(parent, "left", "name")));
        case SYNTAX_CALL:
            if (!ts_node_eq(syntax_call_object(walk, parent), call) &&
                !ts_node_eq(syntax_field(parent, "function"), call))
                return HF_NOTHING;
            break;
        case SYNTAX_PAREN:
        case SYNTAX_MEMBER:
            break;
        default:
            return HF_NOTHING;
        }
        call = parent;
    }
    return HF_NOTHING;
}

/* ---- comparisons ---- */

#define WALK_COMPARED                                                                              \
    "version rev revision etag updated modified changed mtime tstamp timestamp lastmodified"

static void walk_compared(syntax_walk *walk, TSNode node, TSNode left, TSNode right)
{
    hf_slice one = syntax_text(walk, left), two = syntax_text(walk, right);
    if (walk->conditions > 0 && one.size < 200 && two.size < 200 && one.size > 0 && two.size > 0 &&
        (audit_name_has(one, WALK_COMPARED) || audit_name_has(two, WALK_COMPARED)))
        walk_emit(walk, (audit_fact){
                            .kind = AUDIT_COMPARE, .line = syntax_line(node), .text = {one, two}});
}

static void walk_operator(syntax_walk *walk, TSNode node)
{
    hf_slice sign = syntax_text(walk, syntax_field(node, "operator"));
    if (sign.size > 0 && (strchr("<>", sign.at[0]) != NULL ||
                          (sign.size > 1 && (sign.at[0] == '!' || sign.at[0] == '='))))
        walk_compared(walk, node, syntax_field(node, "left"), syntax_field(node, "right"));
}

/* new X() { ... }: a class without a name. */
static void walk_body(syntax_walk *walk, TSNode node)
{
    uint32_t count = ts_node_named_child_count(node);
    for (uint32_t i = count > 3 ? count - 3 : 0; i < count; i++) {
        TSNode child = ts_node_named_child(node, i);
        const char *type = ts_node_type(child);
        if (strcmp(type, "class_body") == 0 || strcmp(type, "anonymous_class") == 0)
            walk_children(walk, child);
    }
}

static void walk_emit_call(syntax_walk *walk, TSNode node, hf_slice name, uint32_t flags)
{
    TSNode object = syntax_call_object(walk, node), arguments = syntax_call_arguments(node);
    hf_slice target = walk_target(walk, node);
    if (target.size > 0 && walk->scope != 0)
        walk->loaded[walk->loaded_count++ % SYNTAX_LOADED_MAX] = target;
    walk_emit(walk,
              (audit_fact){.kind = AUDIT_CALL,
                           .line = syntax_line(node),
                           .flags = flags,
                           .text = {walk_clip(syntax_text(walk, object)), name,
                                    walk_clip(syntax_text(walk, arguments)), target, walk->table}});
}

static void walk_call(syntax_walk *walk, TSNode node)
{
    hf_slice name = syntax_call_name(walk, node), outer = walk->table;
    TSNode arguments = syntax_call_arguments(node), object = syntax_call_object(walk, node);
    uint32_t flags = AUDIT_EXECUTED | walk_use(walk, node);
    if (walk->depth > SYNTAX_DEPTH_MAX || walk_append_chain(walk, node))
        return;
    if (audit_name_among(name, "equals isEqual eq compareTo before after isBefore isAfter") &&
        !ts_node_is_null(arguments) && ts_node_named_child_count(arguments) == 1)
        walk_compared(walk, node, object, ts_node_named_child(arguments, 0));
    if (audit_name_among(name, WALK_CALLS) || walk->table.size > 0 ||
        audit_name_has(name, "transaction transactional atomic") ||
        walk_gets_record(walk, name, object))
        walk_emit_call(walk, node, name, flags);
    if (!ts_node_is_null(object))
        walk_node(walk, object);
    bool each = audit_name_among(name, "each forEach each_with_index");
    walk->each += each;
    if (!ts_node_is_null(arguments) && syntax_kind_of(walk, arguments) == SYNTAX_STRING)
        walk_text(walk, arguments, flags);
    uint32_t count = ts_node_is_null(arguments) ? 0 : ts_node_named_child_count(arguments);
    bool laravel = audit_name_among(name, "create table") &&
                   audit_text_find(syntax_text(walk, object), "schema") != NULL;
    if (count > 0 && (laravel || audit_name_among(name, "create_table change_table")))
        walk->table = syntax_text(walk, ts_node_named_child(arguments, 0));
    for (uint32_t i = 0; i < count && syntax_kind_of(walk, arguments) != SYNTAX_STRING; i++)
        walk_argument(walk, ts_node_named_child(arguments, i), flags);
    TSNode block = syntax_field_either(node, "block", "body");
    if (!ts_node_is_null(block))
        walk_children(walk, block);
    walk_body(walk, node);
    walk->each -= each;
    walk->table = outer;
}

/* ---- functions and classes ---- */

/* Words by which a function looks at how many rows a statement found. */
static bool walk_counts(hf_slice text)
{
    static const char *const words[] = {"rowcount",  "row_count",   "affected", "cmd_tuples",
                                        "num_rows",  "numrows",     ".changes", "modifiedcount",
                                        "returning", "updatecount", ".count",   "result.rowcount"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (audit_text_find(text, words[i]) != NULL)
            return true;
    return false;
}

/* Words by which a function puts things in order; and a version among its parameters. */
static uint32_t walk_traits(const syntax_walk *walk, TSNode node)
{
    static const char *const words[] = {"sort",    "order by", "order_by", "orderby",  "treeset",
                                        "treemap", "range(",   ".order(",  "smallest", "min("};
    hf_slice text = syntax_text(walk, node);
    uint32_t traits = 0;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (audit_text_find(text, words[i]) != NULL)
            traits = AUDIT_SORTED;
    if (audit_name_has(syntax_text(walk, syntax_field(node, "parameters")),
                       "version rev revision etag match"))
        traits |= AUDIT_GIVEN;
    return traits;
}

static void walk_function(syntax_walk *walk, TSNode node)
{
    uint32_t scope = walk->scope, traits = walk->traits;
    bool counted = walk->counted;
    int each = walk->each, refusals = walk->refusals;
    int loops = walk->loops, conditions = walk->conditions;
    size_t variables = walk->variables_count;
    syntax_emit_getter(walk, node);
    /* A function inside another, a callback, is a part of it. */
    if (scope == 0) {
        walk->scope = ts_node_start_byte(node) + 1;
        walk->counted = walk_counts(syntax_text(walk, node));
        walk->traits = walk_traits(walk, node);
        walk->loaded_count = 0;
        walk->loops = walk->each = walk->conditions = walk->refusals = 0;
    }
    walk_children(walk, node);
    walk_forget(walk, variables);
    walk->scope = scope;
    walk->traits = traits;
    walk->counted = counted;
    walk->each = each;
    walk->refusals = refusals;
    walk->loops = loops;
    walk->conditions = conditions;
}

static void walk_class(syntax_walk *walk, TSNode node)
{
    hf_slice outer = walk->class_name;
    uint32_t scope = walk->scope;
    walk->scope = 0;
    walk->class_name = syntax_text(walk, syntax_field(node, "name"));
    syntax_emit_class(walk, node);
    walk_children(walk, node);
    walk->class_name = outer;
    walk->scope = scope;
}

/* Ruby: the body of the next heredoc, which stands after this line among the siblings. */
static void walk_remember_heredoc(syntax_walk *walk, TSNode node)
{
    uint32_t count = ts_node_named_child_count(node);
    for (uint32_t i = 0; i < count && count < 1000; i++) {
        TSNode child = ts_node_named_child(node, i);
        if (strcmp(ts_node_type(child), "heredoc_body") == 0) {
            walk->heredoc = syntax_text(walk, child);
            while (walk->heredoc.size > 0 && walk->heredoc.at[walk->heredoc.size - 1] != '\n')
                walk->heredoc.size--; /* the word that ends it */
            return;
        }
    }
}

static void walk_counted(syntax_walk *walk, TSNode node, int *counter)
{
    ++*counter;
    walk_children(walk, node);
    --*counter;
}

static void walk_each(syntax_walk *walk, TSNode node)
{
    walk->each++;
    walk_counted(walk, node, &walk->loops);
    walk->each--;
}

/* if (...) throw: a refusal. Only its beginning counts, so that it is the condition's own. */
static void walk_if(syntax_walk *walk, TSNode node)
{
    static const char *const words[] = {"throw", "raise", "conflict", "409", "stale", "abort"};
    hf_slice text = syntax_text(walk, node);
    int outer = walk->refusals;
    text.size = text.size > 400 ? 400 : text.size;
    walk->refusals = 0;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        walk->refusals += audit_text_find(text, words[i]) != NULL;
    walk_counted(walk, node, &walk->conditions);
    walk->refusals = outer;
}

/* long: one line for each kind of node. */
static void walk_node(syntax_walk *walk, TSNode node)
{
    if (walk->depth >= SYNTAX_DEPTH_MAX)
        return;
    walk->depth++;
    hf_slice heredoc = walk->heredoc;
    if (walk->language == AUDIT_RUBY)
        walk_remember_heredoc(walk, node);
    switch (syntax_kind_of(walk, node)) {
    case SYNTAX_FUNCTION:
        walk_function(walk, node);
        break;
    case SYNTAX_CLASS:
        walk_class(walk, node);
        break;
    case SYNTAX_FIELD:
        syntax_emit_field(walk, node);
        walk_children(walk, node);
        break;
    case SYNTAX_ASSIGN:
        walk_assign(walk, node);
        break;
    case SYNTAX_APPEND:
        if (!walk_append(walk, syntax_field(node, "left"), syntax_field(node, "right")))
            walk_children(walk, node);
        break;
    case SYNTAX_CALL:
        walk_call(walk, node);
        break;
    case SYNTAX_LOOP:
        walk_counted(walk, node, &walk->loops);
        break;
    case SYNTAX_EACH:
        walk_each(walk, node);
        break;
    case SYNTAX_IF:
        walk_if(walk, node);
        break;
    case SYNTAX_COMPARE:
        if (ts_node_named_child_count(node) == 2)
            walk_compared(walk, node, ts_node_named_child(node, 0), ts_node_named_child(node, 1));
        walk_children(walk, node);
        break;
    case SYNTAX_COMMENT:
        break;
    default:
        if (syntax_is_text(walk, node)) {
            walk_text(walk, node, 0);
            break;
        }
        if (syntax_kind_of(walk, node) == SYNTAX_CONCAT)
            walk_operator(walk, node);
        walk_children(walk, node);
    }
    walk->heredoc = heredoc;
    walk->depth--;
}

static bool walk_parse(audit_language language, hf_slice text, audit_emit_fn emit, void *context)
{
    TSParser *parser = ts_parser_new();
    hf_cleanup(hf_freep) syntax_walk *walk = hf_alloc(sizeof *walk);
    bool good = walk != NULL && parser != NULL &&
                ts_parser_set_language(parser, syntax_grammar(language)) &&
                syntax_kinds_fill(language, walk->kinds);
    TSTree *tree = good ? ts_parser_parse_string(parser, NULL, text.at, (uint32_t)text.size) : NULL;
    if (tree != NULL) {
        walk->language = language;
        walk->source = text;
        walk->concat = syntax_concat(language);
        walk->emit = emit;
        walk->context = context;
        walk_node(walk, ts_tree_root_node(tree));
        walk_forget(walk, 0);
        ts_tree_delete(tree);
    }
    ts_parser_delete(parser);
    return tree != NULL;
}

__attribute__((visibility("default"))) extern const audit_module hf_audit_module;
const audit_module hf_audit_module = {HF_VERSION, walk_parse};
