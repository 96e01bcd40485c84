/* SPDX-License-Identifier: MIT */
/* Of SARIF only what a sentence needs: runs, results, rule, message, first place. */
#include "advise/findings.h"

#include "base/error.h"

#include <stdio.h>
#include <string.h>

enum { FINDINGS_DEPTH = 24, FINDINGS_VALUES = 200000 };

/* The member of an object; NULL: there is none, or it is of another type. */
static const hf_json_value *findings_member(const hf_json_value *object, const char *name,
                                            hf_json_type type)
{
    const hf_json_value *value =
        object == NULL || object->type != HF_JSON_OBJECT ? NULL : hf_json_field(object, name);
    return value != NULL && value->type == type ? value : NULL;
}

static const char *findings_text(const hf_json_value *object, const char *name)
{
    const hf_json_value *value = findings_member(object, name, HF_JSON_TEXT);
    return value == NULL ? "" : value->text.at;
}

/* "src/a.py:12: ", or nothing. */
static void findings_place(const hf_json_value *result, char *out, size_t size)
{
    const hf_json_value *list = findings_member(result, "locations", HF_JSON_ARRAY);
    const hf_json_value *place =
        findings_member(list == NULL ? NULL : list->inside, "physicalLocation", HF_JSON_OBJECT);
    const char *file =
        findings_text(findings_member(place, "artifactLocation", HF_JSON_OBJECT), "uri");
    const hf_json_value *line = findings_member(findings_member(place, "region", HF_JSON_OBJECT),
                                                "startLine", HF_JSON_WHOLE);
    out[0] = '\0';
    if (file[0] != '\0' && line != NULL)
        snprintf(out, size, "%.160s:%lld: ", file, (long long)line->whole);
    else if (file[0] != '\0')
        snprintf(out, size, "%.160s: ", file);
}

/* A text of the code's may be anything: on one line, without what ends a page's block. */
static void findings_clean(const char *text, char *out, size_t size)
{
    size_t used = 0;
    for (; *text != '\0' && used + 1 < size; text++)
        out[used++] = (unsigned char)*text < 0x20 ? ' ' : *text;
    while (used > 0 && (out[used - 1] & 0xc0) == 0x80 && *text != '\0') /* cut within a character */
        used--;
    out[used] = '\0';
}

static void findings_say(const hf_json_value *result, advise_sentences *warnings)
{
    char place[192], message[240], file[192];
    const char *rule = findings_text(result, "ruleId");
    findings_place(result, place, sizeof place);
    findings_clean(place, file, sizeof file);
    findings_clean(findings_text(findings_member(result, "message", HF_JSON_OBJECT), "text"),
                   message, sizeof message);
    advise_say(warnings, "%s%s%s%.60s%s", file, message, rule[0] != '\0' ? " (" : "", rule,
               rule[0] != '\0' ? ")" : "");
}

static void findings_run(const hf_json_value *run, advise_sentences *warnings, size_t *count)
{
    const hf_json_value *results = findings_member(run, "results", HF_JSON_ARRAY);
    for (const hf_json_value *result = results == NULL ? NULL : results->inside; result != NULL;
         result = result->next) {
        const hf_json_value *suppressed = findings_member(result, "suppressions", HF_JSON_ARRAY);
        if (suppressed != NULL && suppressed->count > 0)
            continue;
        if ((*count)++ < ADVISE_FINDINGS_MAX)
            findings_say(result, warnings);
    }
}

hf_status advise_findings_read(const char *text, size_t size, advise_sentences *warnings,
                               hf_error *err)
{
    hf_arena arena = {0};
    hf_json_value *object = NULL;
    hf_json_source source = {"The audit's report", text, size, (size_t)16 << 20, FINDINGS_VALUES};
    size_t count = 0;
    hf_status status = hf_json_parse_deep(&source, FINDINGS_DEPTH, &arena, &object, err);
    const hf_json_value *runs =
        status != HF_OK ? NULL : findings_member(object, "runs", HF_JSON_ARRAY);
    if (status == HF_OK && runs == NULL)
        status =
            hf_fail(err, HF_INVALID,
                    "The audit's report is no SARIF: it has no \"runs\"; write it in SARIF 2.1.0.");
    for (const hf_json_value *run = runs == NULL ? NULL : runs->inside; run != NULL;
         run = run->next)
        findings_run(run, warnings, &count);
    if (count > ADVISE_FINDINGS_MAX)
        advise_say(warnings, "The audit found %zu more; its report has them.",
                   count - ADVISE_FINDINGS_MAX);
    hf_arena_done(&arena);
    return status;
}
