/* SPDX-License-Identifier: MIT */
/* Keeping facts, and sending them between processes of one program. */
#include "audit/fact.h"

#include "base/cleanup.h"

void audit_fact_add(audit_facts *facts, const audit_fact *fact)
{
    if (facts->count == facts->room) {
        size_t room = facts->room == 0 ? 256 : facts->room * 2;
        audit_fact *items = hf_realloc(facts->items, room * sizeof *items);
        if (items == NULL) {
            facts->failed = true;
            return;
        }
        facts->items = items;
        facts->room = room;
    }
    audit_fact copy = *fact;
    for (int i = 0; i < AUDIT_TEXTS; i++)
        if (!hf_arena_copy(&facts->arena, fact->text[i], &copy.text[i]))
            facts->failed = true;
    if (!facts->failed)
        facts->items[facts->count++] = copy;
}

void audit_facts_done(audit_facts *facts)
{
    hf_arena_done(&facts->arena);
    hf_free(facts->items);
    *facts = (audit_facts){0};
}

static void fact_number(hf_buffer *out, uint32_t number)
{
    hf_buffer_add(out, (const char *)&number, sizeof number);
}

void audit_fact_pack(hf_buffer *out, const audit_fact *fact)
{
    fact_number(out, (uint32_t)fact->kind);
    fact_number(out, fact->file);
    fact_number(out, fact->line);
    fact_number(out, fact->scope);
    fact_number(out, fact->flags);
    for (int i = 0; i < AUDIT_TEXTS; i++) {
        fact_number(out, (uint32_t)fact->text[i].size);
        hf_buffer_add(out, fact->text[i].at, fact->text[i].size);
    }
}

typedef struct fact_reader {
    const char *at;
    size_t left;
    bool broken;
} fact_reader;

static uint32_t fact_take_number(fact_reader *reader)
{
    uint32_t number = 0;
    if (reader->left < sizeof number) {
        reader->broken = true;
        return 0;
    }
    memcpy(&number, reader->at, sizeof number);
    reader->at += sizeof number;
    reader->left -= sizeof number;
    return number;
}

static hf_slice fact_take_text(fact_reader *reader)
{
    uint32_t size = fact_take_number(reader);
    if (reader->left < size) {
        reader->broken = true;
        return HF_NOTHING;
    }
    hf_slice text = {reader->at, size};
    reader->at += size;
    reader->left -= size;
    return text;
}

bool audit_facts_unpack(audit_facts *facts, const char *bytes, size_t size)
{
    fact_reader reader = {bytes, size, false};
    while (reader.left > 0) {
        audit_fact fact = {.kind = (audit_fact_kind)fact_take_number(&reader)};
        fact.file = fact_take_number(&reader);
        fact.line = fact_take_number(&reader);
        fact.scope = fact_take_number(&reader);
        fact.flags = fact_take_number(&reader);
        for (int i = 0; i < AUDIT_TEXTS; i++)
            fact.text[i] = fact_take_text(&reader);
        if (reader.broken || fact.kind >= AUDIT_KINDS)
            return false;
        audit_fact_add(facts, &fact);
    }
    return true;
}
