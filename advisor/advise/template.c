/* SPDX-License-Identifier: MIT */
/* One pass over the text; sections are passed over or gone into. */
#include "advise/template.h"

#include "base/cleanup.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static advise_fact *template_find(advise_facts *facts, hf_slice name)
{
    for (size_t i = 0; i < facts->count; i++)
        if (hf_slice_equal(hf_slice_of(facts->at[i].name), name))
            return &facts->at[i];
    return NULL;
}

void advise_fact_set(advise_facts *facts, const char *name, const char *text)
{
    advise_fact *fact = template_find(facts, hf_slice_of(name));
    char *copy = hf_arena_text(&facts->arena, hf_slice_of(text));
    if (fact == NULL && facts->count < ADVISE_FACTS_MAX)
        fact = &facts->at[facts->count++];
    assert(fact != NULL); /* the names are ours */
    facts->failed = facts->failed || copy == NULL;
    *fact = (advise_fact){name, copy == NULL ? "" : copy};
}

void advise_fact_print(advise_facts *facts, const char *name, const char *format, ...)
{
    char text[2048];
    va_list values;
    va_start(values, format);
    vsnprintf(text, sizeof text, format, values);
    va_end(values);
    advise_fact_set(facts, name, text);
}

void advise_fact_take(advise_facts *facts, const char *name, hf_buffer *text)
{
    facts->failed = facts->failed || text->failed;
    advise_fact_set(facts, name, text->text == NULL ? "" : text->text);
    hf_buffer_done(text);
}

void advise_fact_if(advise_facts *facts, const char *name, bool is)
{
    advise_fact_set(facts, name, is ? "yes" : "");
}

void advise_fact_fill(advise_facts *facts, const char *name, const char *template)
{
    hf_buffer out = {0};
    advise_fill(template, facts, &out);
    advise_fact_take(facts, name, &out);
}

static const char *template_text(const advise_facts *facts, hf_slice name)
{
    const advise_fact *fact = template_find((advise_facts *)facts, name);
    return fact == NULL ? "" : fact->text;
}

const char *advise_fact_get(const advise_facts *facts, const char *name)
{
    return template_text(facts, hf_slice_of(name));
}

/* What a tag says: its sign ('#', '^', '/' or 0), its name, and where the text goes on. */
typedef struct template_tag {
    const char *start;
    const char *after;
    hf_slice name;
    char sign;
} template_tag;

/* The next tag; false: there is none. A section tag alone on its line takes the line with it. */
static bool template_next(const char *begin, const char *text, template_tag *out)
{
    const char *start = strstr(text, "{{"), *end = start == NULL ? NULL : strstr(start, "}}");
    if (end == NULL)
        return false;
    const char *name = start + 2;
    char sign = strchr("#^/", *name) != NULL ? *name++ : '\0';
    *out = (template_tag){start, end + 2, {name, (size_t)(end - name)}, sign};
    bool alone = (start == begin || start[-1] == '\n') && *out->after == '\n';
    out->after += sign != '\0' && alone;
    return true;
}

/* Behind the end of the section; its inside ends at *inside_end. */
static const char *template_skip(const char *begin, const template_tag *section,
                                 const char **inside_end)
{
    template_tag tag;
    int depth = 1;
    for (const char *at = section->after; template_next(begin, at, &tag); at = tag.after) {
        if (!hf_slice_equal(tag.name, section->name))
            continue;
        depth += tag.sign == '/' ? -1 : tag.sign != '\0';
        if (depth == 0) {
            *inside_end = tag.start;
            return tag.after;
        }
    }
    assert(!"a section of a template has no end");
    *inside_end = section->after + strlen(section->after);
    return *inside_end;
}

static void template_fill(const char *begin, const char *text, const char *end,
                          const advise_facts *facts, hf_buffer *out)
{
    template_tag tag;
    while (text < end && template_next(begin, text, &tag) && tag.start < end) {
        hf_buffer_add(out, text, (size_t)(tag.start - text));
        text = tag.after;
        const char *value = template_text(facts, tag.name);
        if (tag.sign == '\0') {
            hf_buffer_add(out, value, strlen(value));
        } else {
            const char *inside_end;
            const char *after = template_skip(begin, &tag, &inside_end);
            if ((*value != '\0') == (tag.sign == '#'))
                template_fill(begin, text, inside_end, facts, out);
            text = after;
        }
    }
    if (text < end)
        hf_buffer_add(out, text, (size_t)(end - text));
}

void advise_fill(const char *template, const advise_facts *facts, hf_buffer *out)
{
    template_fill(template, template, template + strlen(template), facts, out);
    out->failed = out->failed || facts->failed;
}

void advise_facts_done(advise_facts *facts)
{
    hf_arena_done(&facts->arena);
    *facts = (advise_facts){0};
}
