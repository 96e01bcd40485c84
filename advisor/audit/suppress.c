/* SPDX-License-Identifier: MIT */
/* Looking at the lines where findings are. */
#include "audit/suppress.h"

#include "audit/names.h"
#include "base/cleanup.h"

void audit_lines(const audit_run *run, audit_place place, uint32_t before, uint32_t after,
                 audit_line_fn each, void *context)
{
    hf_cleanup(hf_freep) char *text = NULL;
    const char *why = NULL;
    size_t size = 0, at = 0;
    if (place.file >= run->files.count ||
        !audit_file_read(&run->files.items[place.file], &text, &size, &why))
        return;
    for (uint32_t number = 1; at < size && number <= place.line + after; number++) {
        const char *end = memchr(text + at, '\n', size - at);
        size_t length = end == NULL ? size - at : (size_t)(end - text) - at;
        if (number + before >= place.line)
            each(context, number, (hf_slice){text + at, length});
        at += length + 1;
    }
}

typedef struct suppress_look {
    audit_run *run;
    audit_finding *finding;
} suppress_look;

static void suppress_line(void *context, uint32_t number, hf_slice line)
{
    static const char mark[] = "holdfast-audit: ignore ";
    const suppress_look *look = context;
    const char *found = audit_text_find(line, mark);
    if (found == NULL || look->finding->reason != NULL)
        return;
    hf_slice rest = {found + strlen(mark), 0};
    rest.size = line.size - (size_t)(rest.at - line.at);
    size_t name = strlen(look->finding->rule->name);
    if (rest.size < name || memcmp(rest.at, look->finding->rule->name, name) != 0)
        return;
    hf_slice reason = audit_trim((hf_slice){rest.at + name, rest.size - name});
    for (size_t i = 0; i < reason.size; i++) /* the end of the comment */
        if (memcmp(reason.at + i, "*/", reason.size - i >= 2 ? 2 : 1) == 0 && reason.size - i >= 2)
            reason = audit_trim((hf_slice){reason.at, i});
    if (reason.size == 0)
        audit_note(look->run, "%s:%u ignores %s without a reason; say why after the rule's name.",
                   look->run->files.items[look->finding->place.file].path, number,
                   look->finding->rule->name);
    else
        look->finding->reason = hf_arena_text(&look->run->arena, reason);
}

void audit_suppress(audit_run *run)
{
    for (size_t i = 0; i < run->findings_count; i++) {
        suppress_look look = {run, &run->findings[i]};
        audit_lines(run, run->findings[i].place, 1, 0, suppress_line, &look);
    }
}
