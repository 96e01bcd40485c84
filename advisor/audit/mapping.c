/* SPDX-License-Identifier: MIT */
/* What classes declare: JPA, Doctrine, TypeORM, Django, SQLAlchemy, Rails, Eloquent. Each is a
 * row of the table at the end: how its classes are known, how they name tables and columns. */
#include "audit/mapping.h"
#include "audit/audit.h"
#include "audit/names.h"

typedef struct mapping_class {
    audit_run *run;
    const audit_fact *facts; /* the class, then all that follow in its file */
    size_t count;
    audit_table *table;
} mapping_class;

static bool mapping_has(hf_slice text, const char *part)
{
    return audit_text_find(text, part) != NULL;
}

/* `@Version` but not `@Versioned`. */
static bool mapping_marked(hf_slice marks, const char *mark)
{
    const char *at = audit_text_find(marks, mark);
    size_t size = strlen(mark);
    if (at == NULL)
        return false;
    char next = at + size < marks.at + marks.size ? at[size] : ' ';
    return !((next | 32) >= 'a' && (next | 32) <= 'z');
}

/* The quoted text after `name=`, `name:` or `name =>` behind a mark. */
static hf_slice mapping_named(hf_slice marks, const char *mark, const char *name)
{
    const char *at = audit_text_find(marks, mark);
    if (at == NULL)
        return HF_NOTHING;
    hf_slice rest = {at, marks.size - (size_t)(at - marks.at)};
    const char *close = memchr(rest.at, ')', rest.size);
    if (close != NULL)
        rest.size = (size_t)(close - rest.at);
    const char *found = audit_text_find(rest, name);
    return found == NULL ? HF_NOTHING : audit_quoted(rest, found);
}

/* ---- fields ---- */

static audit_column *mapping_column(mapping_class *class, const audit_fact *field, hf_slice name)
{
    hf_slice column =
        name.size > 0 ? name : audit_name_snake(&class->run->arena, field->text[1], false);
    return audit_schema_column(&class->run->schema, class->table, column, field->text[2],
                               (audit_place){field->file, field->line});
}

static void mapping_key(mapping_class *class, const audit_column *column)
{
    if (column != NULL)
        audit_schema_key(&class->run->schema, class->table,
                         &(audit_key){.columns = {column->name}, .count = 1, .primary = true});
}

static void mapping_marked_field(mapping_class *class, const audit_fact *field)
{
    hf_slice marks = field->text[3];
    if (mapping_has(marks, " static ") || mapping_marked(marks, "@Transient"))
        return;
    bool version = mapping_marked(marks, "@Version") || mapping_marked(marks, "ORM\\Version") ||
                   mapping_marked(marks, "@VersionColumn");
    bool key = mapping_marked(marks, "@Id") || mapping_marked(marks, "ORM\\Id") ||
               mapping_has(marks, "@Primary") || mapping_marked(marks, "@EmbeddedId");
    hf_slice name = mapping_named(marks, "Column", "name");
    audit_column *column = mapping_column(class, field, name);
    if (column != NULL && version)
        column->version = true;
    if (key)
        mapping_key(class, column);
}

static void mapping_python_field(mapping_class *class, const audit_fact *field)
{
    hf_slice value = field->text[4], name = field->text[1];
    if (audit_word_is(name, "__mapper_args__")) {
        const char *at = audit_text_find(value, "version_id_col");
        size_t past = at == NULL ? 0 : (size_t)(at - value.at) + strlen("version_id_col");
        hf_slice rest = {value.at + past, value.size - past};
        for (audit_column *it = class->table->columns; at != NULL && it != NULL; it = it->next)
            it->version = it->version || audit_text_names(rest, it->name);
        return;
    }
    if (!mapping_has(value, "Field(") && !mapping_has(value, "Column(") &&
        !mapping_has(value, "mapped_column") && !mapping_has(field->text[2], "Mapped["))
        return;
    audit_fact typed = *field;
    typed.text[2] = mapping_has(value, "Integer") || mapping_has(field->text[2], "int")
                        ? hf_slice_of("integer")
                    : mapping_has(value, "DateTime") ? hf_slice_of("datetime")
                                                     : hf_slice_of("text");
    audit_column *column = mapping_column(class, &typed, HF_NOTHING);
    if (column != NULL && mapping_has(value, "VersionField("))
        column->version = true;
    if (mapping_has(value, "primary_key=True"))
        mapping_key(class, column);
}

static void mapping_ruby_field(mapping_class *class, const audit_fact *field)
{
    bool off = audit_word_is(audit_trim(field->text[4]), "nil");
    if (audit_word_is(field->text[1], "self.locking_column") && !off) {
        audit_fact named = *field;
        hf_slice name = audit_name_last(audit_trim(field->text[4]));
        if (name.size == 0)
            name = audit_quoted(field->text[4], NULL);
        named.text[2] = hf_slice_of("integer");
        audit_column *column = mapping_column(class, &named, name);
        if (column != NULL)
            column->version = true;
    }
}

/* ---- classes ---- */

static bool mapping_is_jpa(const audit_fact *class)
{
    return mapping_marked(class->text[2], "@Entity") ||
           mapping_marked(class->text[2], "ORM\\Entity") ||
           mapping_marked(class->text[2], "@ORM\\Entity");
}

static bool mapping_is_python(const audit_fact *class)
{
    return mapping_has(class->text[1], "models.Model") || mapping_has(class->text[1], "Base") ||
           mapping_has(class->text[1], "db.Model") || mapping_has(class->text[1], "Model)");
}

static bool mapping_is_record(const audit_fact *class)
{
    return mapping_has(class->text[1], "ActiveRecord::Base") ||
           mapping_has(class->text[1], "ApplicationRecord");
}

static bool mapping_is_eloquent(const audit_fact *class)
{
    return mapping_has(class->text[1], "extends Model");
}

/* What a member of the class says: __tablename__, db_table, self.table_name, $table. */
static hf_slice mapping_said(const mapping_class *class, const char *member)
{
    for (size_t i = 1; i < class->count; i++) {
        const audit_fact *fact = &class->facts[i];
        if (fact->kind == AUDIT_CLASS && !audit_word_is(fact->text[0], "Meta"))
            break;
        if (fact->kind == AUDIT_FIELD && audit_word_is(fact->text[1], member))
            return audit_quoted(fact->text[4], NULL);
    }
    return HF_NOTHING;
}

static hf_slice mapping_jpa_table(const mapping_class *class)
{
    hf_slice marks = class->facts[0].text[2];
    hf_slice name = mapping_named(marks, "Table", "name");
    if (name.size == 0 && mapping_has(marks, "@Entity(")) /* TypeORM: @Entity("accounts") */
        name = mapping_named(marks, "@Entity(", "(");
    return name.size > 0 ? name
                         : audit_name_snake(&class->run->arena, class->facts[0].text[0], false);
}

/* Django names a table after the folder of models.py. */
static hf_slice mapping_python_table(const mapping_class *class)
{
    hf_slice name = mapping_said(class, "__tablename__");
    if (name.size == 0)
        name = mapping_said(class, "db_table");
    if (name.size > 0 || !mapping_has(class->facts[0].text[1], "models.Model"))
        return name.size > 0 ? name
                             : audit_name_snake(&class->run->arena, class->facts[0].text[0], false);
    hf_slice path = hf_slice_of(class->run->files.items[class->facts[0].file].path);
    hf_buffer out = {0};
    while (path.size > 0 && path.at[path.size - 1] != '/')
        path.size--;
    path.size -= path.size > 0;
    hf_slice folder = audit_name_last(path);
    hf_buffer_print(&out, "%.*s_%.*s", (int)folder.size, folder.at,
                    (int)class->facts[0].text[0].size, class->facts[0].text[0].at);
    if (!out.failed)
        hf_arena_copy(&class->run->arena, (hf_slice){out.text, out.size}, &name);
    hf_buffer_done(&out);
    return name;
}

static hf_slice mapping_plural_table(const mapping_class *class)
{
    hf_slice name = mapping_said(class, "self.table_name");
    if (name.size == 0)
        name = mapping_said(class, "table");
    return name.size > 0 ? name
                         : audit_name_snake(&class->run->arena, class->facts[0].text[0], true);
}

#define MAPPING_IN(language) (1u << (language))

static const struct mapping {
    unsigned languages;
    bool (*is)(const audit_fact *class);
    hf_slice (*table)(const mapping_class *class);
    void (*field)(mapping_class *class, const audit_fact *field);
    bool whole; /* its members are all columns there are */
} mappings[] = {
    {MAPPING_IN(AUDIT_JAVA) | MAPPING_IN(AUDIT_PHP) | MAPPING_IN(AUDIT_TYPESCRIPT), mapping_is_jpa,
     mapping_jpa_table, mapping_marked_field, false},
    {MAPPING_IN(AUDIT_PYTHON), mapping_is_python, mapping_python_table, mapping_python_field, true},
    {MAPPING_IN(AUDIT_RUBY), mapping_is_record, mapping_plural_table, mapping_ruby_field, false},
    {MAPPING_IN(AUDIT_PHP), mapping_is_eloquent, mapping_plural_table, NULL, false},
};

/* The members of a class, and of those it extends: a version often stands in a base class. */
static void mapping_fields(mapping_class *class, const struct mapping *mapping,
                           const audit_fact *from, int depth)
{
    const audit_facts *facts = &class->run->facts;
    for (const audit_fact *fact = from + 1; fact < facts->items + facts->count; fact++) {
        if (fact->file != from->file || fact->kind == AUDIT_CLASS)
            break;
        if (fact->kind == AUDIT_FIELD && hf_slice_equal(fact->text[0], from->text[0]) &&
            mapping->field != NULL)
            mapping->field(class, fact);
    }
    if (depth > 4 || mapping->table != mapping_jpa_table)
        return;
    for (size_t i = 0; i < facts->count; i++) {
        const audit_fact *base = &facts->items[i];
        if (base->kind == AUDIT_CLASS && base != from && base->text[0].size > 2) {
            if (audit_text_names(from->text[1], base->text[0]) && !mapping_is_jpa(base))
                mapping_fields(class, mapping, base, depth + 1);
        }
    }
}

void audit_map_classes(audit_run *run)
{
    audit_map_calls(run);
    for (size_t i = 0; i < run->facts.count; i++) {
        const audit_fact *fact = &run->facts.items[i];
        for (size_t k = 0; fact->kind == AUDIT_CLASS && k < sizeof mappings / sizeof *mappings;
             k++) {
            mapping_class class = {run, fact, 0, NULL};
            while (i + class.count < run->facts.count &&
                   run->facts.items[i + class.count].file == fact->file)
                class.count++;
            audit_language language = run->files.items[fact->file].language;
            if ((mappings[k].languages & MAPPING_IN(language)) == 0 || !mappings[k].is(fact))
                continue;
            class.table = audit_schema_table(&run->schema, mappings[k].table(&class),
                                             (audit_place){fact->file, fact->line});
            if (class.table == NULL)
                break;
            hf_arena_copy(&run->arena, fact->text[0], &class.table->entity);
            class.table->whole = class.table->whole || mappings[k].whole;
            mapping_fields(&class, &mappings[k], fact, 0);
            break;
        }
    }
}
