/* SPDX-License-Identifier: MIT */
/* The report for programs: JSON of our own, and SARIF 2.1.0 for the tools that show findings. */
#include "audit/report.h"
#include "base/json.h"

#include <stdio.h>

/* A slice as a text; what is no UTF-8 is replaced. */
static void json_slice(hf_json *json, const char *name, hf_slice slice)
{
    char text[256];
    snprintf(text, sizeof text, "%.*s", (int)slice.size, slice.at == NULL ? "" : slice.at);
    hf_json_put_text(json, name, hf_text_is_utf8(text, strlen(text)) ? text : "?");
}

static const char *json_path(const audit_run *run, audit_place place)
{
    const char *path = place.file < run->files.count ? run->files.items[place.file].path : NULL;
    return path != NULL && hf_text_is_utf8(path, strlen(path)) ? path : NULL;
}

static void json_place(const audit_run *run, hf_json *json, const char *name, audit_place place)
{
    hf_json_name(json, name);
    if (place.line == 0 && place.file < run->files.count) {
        hf_json_text(json, NULL);
        return;
    }
    hf_json_begin(json, '{');
    hf_json_put_text(json, "file", json_path(run, place));
    hf_json_put_int(json, "line", place.line);
    hf_json_end(json, '}');
}

static void json_finding(const audit_run *run, hf_json *json, const audit_finding *finding)
{
    hf_json_begin(json, '{');
    hf_json_put_text(json, "rule", finding->rule->name);
    hf_json_put_text(json, "severity", audit_level_name(finding->severity));
    hf_json_put_text(json, "confidence", audit_level_name(finding->confidence));
    hf_json_put_text(json, "message", finding->text);
    json_place(run, json, "at", finding->place);
    json_place(run, json, "declared", finding->declared);
    json_slice(json, "table", finding->table);
    hf_json_put_text(json, "statement", finding->statement);
    hf_json_put_text(json, "why", finding->rule->why);
    hf_json_put_text(json, "fix_with_holdfast", finding->rule->holdfast);
    hf_json_put_text(json, "fix_without", finding->rule->without);
    hf_json_put_text(json, "suppressed", finding->reason);
    hf_json_put_bool(json, "known", finding->known);
    hf_json_put_text(json, "fingerprint", finding->fingerprint);
    hf_json_end(json, '}');
}

void audit_report_json(const audit_run *run, hf_buffer *out)
{
    hf_json json = {0};
    hf_json_begin(&json, '{');
    hf_json_name(&json, "findings");
    hf_json_begin(&json, '[');
    for (size_t i = 0; i < run->findings_count; i++)
        json_finding(run, &json, &run->findings[i]);
    hf_json_end(&json, ']');
    hf_json_name(&json, "questions");
    hf_json_begin(&json, '[');
    for (size_t i = 0; i < run->questions_count; i++) {
        hf_json_begin(&json, '{');
        hf_json_put_text(&json, "question", run->questions[i].name);
        hf_json_put_text(&json, "text", run->questions[i].text);
        json_place(run, &json, "at", run->questions[i].place);
        hf_json_end(&json, '}');
    }
    hf_json_end(&json, ']');
    hf_json_name(&json, "skipped");
    hf_json_begin(&json, '[');
    for (size_t i = 0; i < run->files.count; i++)
        if (run->files.items[i].skipped != NULL) {
            hf_json_begin(&json, '{');
            hf_json_put_text(&json, "file", json_path(run, (audit_place){(uint32_t)i, 0}));
            hf_json_put_text(&json, "why", run->files.items[i].skipped);
            hf_json_end(&json, '}');
        }
    hf_json_end(&json, ']');
    hf_json_name(&json, "notes");
    hf_json_begin(&json, '[');
    for (size_t i = 0; i < run->notes_count; i++)
        hf_json_text(&json, run->notes[i]);
    hf_json_end(&json, ']');
    hf_json_put_int(&json, "files", (int64_t)run->files.count);
    hf_json_put_int(&json, "tables", (int64_t)run->schema.count);
    hf_json_put_int(&json, "statements", (int64_t)run->statements_count);
    hf_json_end(&json, '}');
    *out = json.out;
}

/* ---- SARIF ---- */

static void sarif_text(hf_json *json, const char *name, const char *text)
{
    hf_json_name(json, name);
    hf_json_begin(json, '{');
    hf_json_put_text(json, "text", text);
    hf_json_end(json, '}');
}

static const char *sarif_level(audit_level severity)
{
    return severity == AUDIT_HIGH ? "error" : severity == AUDIT_MEDIUM ? "warning" : "note";
}

static void sarif_rule(hf_json *json, const audit_rule *rule)
{
    char help[1024];
    snprintf(help, sizeof help, "%s With holdfast: %s Without: %s", rule->why, rule->holdfast,
             rule->without);
    hf_json_begin(json, '{');
    hf_json_put_text(json, "id", rule->name);
    sarif_text(json, "shortDescription", rule->sentence);
    sarif_text(json, "fullDescription", rule->why);
    sarif_text(json, "help", help);
    hf_json_name(json, "defaultConfiguration");
    hf_json_begin(json, '{');
    hf_json_put_text(json, "level", sarif_level(rule->severity));
    hf_json_end(json, '}');
    hf_json_end(json, '}');
}

/* As a URI: blanks and what has a meaning there are escaped. */
static void sarif_uri(hf_json *json, const char *path)
{
    hf_buffer uri = {0};
    for (const char *at = path; *at != '\0'; at++)
        if ((unsigned char)*at <= ' ' || (unsigned char)*at >= 0x7f ||
            strchr("%?#[]\\:\"<>^`{|}", *at) != NULL)
            hf_buffer_print(&uri, "%%%02X", (unsigned char)*at);
        else
            hf_buffer_add(&uri, at, 1);
    hf_json_put_text(json, "uri", uri.text == NULL ? "" : uri.text);
    hf_buffer_done(&uri);
}

static void sarif_location(const audit_run *run, hf_json *json, audit_place place)
{
    hf_json_begin(json, '{');
    if (place.file < run->files.count) {
        hf_json_name(json, "physicalLocation");
        hf_json_begin(json, '{');
        hf_json_name(json, "artifactLocation");
        hf_json_begin(json, '{');
        sarif_uri(json, run->files.items[place.file].path);
        hf_json_end(json, '}');
        hf_json_name(json, "region");
        hf_json_begin(json, '{');
        hf_json_put_int(json, "startLine", place.line > 0 ? place.line : 1);
        hf_json_end(json, '}');
        hf_json_end(json, '}');
    } else {
        sarif_text(json, "message", run->database != NULL ? run->database : "the database");
    }
    hf_json_end(json, '}');
}

static void sarif_result(const audit_run *run, hf_json *json, const audit_finding *finding)
{
    hf_json_begin(json, '{');
    hf_json_put_text(json, "ruleId", finding->rule->name);
    hf_json_put_text(json, "level", sarif_level(finding->severity));
    sarif_text(json, "message", finding->text);
    hf_json_name(json, "locations");
    hf_json_begin(json, '[');
    sarif_location(run, json, finding->place);
    hf_json_end(json, ']');
    hf_json_name(json, "partialFingerprints");
    hf_json_begin(json, '{');
    hf_json_put_text(json, "holdfastAudit/v1", finding->fingerprint);
    hf_json_end(json, '}');
    hf_json_put_text(json, "baselineState", finding->known ? "unchanged" : "new");
    if (finding->reason != NULL) {
        hf_json_name(json, "suppressions");
        hf_json_begin(json, '[');
        hf_json_begin(json, '{');
        hf_json_put_text(json, "kind", "inSource");
        hf_json_put_text(json, "justification", finding->reason);
        hf_json_end(json, '}');
        hf_json_end(json, ']');
    }
    hf_json_name(json, "properties");
    hf_json_begin(json, '{');
    hf_json_put_text(json, "confidence", audit_level_name(finding->confidence));
    hf_json_end(json, '}');
    hf_json_end(json, '}');
}

/* What was not read, as notifications of the tool. */
static void sarif_invocation(const audit_run *run, hf_json *json)
{
    hf_json_name(json, "invocations");
    hf_json_begin(json, '[');
    hf_json_begin(json, '{');
    hf_json_put_bool(json, "executionSuccessful", true);
    hf_json_name(json, "toolExecutionNotifications");
    hf_json_begin(json, '[');
    for (size_t i = 0; i < run->files.count; i++)
        if (run->files.items[i].skipped != NULL) {
            char text[4400];
            const char *path = json_path(run, (audit_place){(uint32_t)i, 0});
            snprintf(text, sizeof text, "Not read: %s: %s.", path == NULL ? "?" : path,
                     run->files.items[i].skipped);
            hf_json_begin(json, '{');
            hf_json_put_text(json, "level", "warning");
            sarif_text(json, "message", text);
            hf_json_end(json, '}');
        }
    hf_json_end(json, ']');
    hf_json_end(json, '}');
    hf_json_end(json, ']');
}

void audit_report_sarif(const audit_run *run, hf_buffer *out)
{
    hf_json json = {0};
    hf_json_begin(&json, '{');
    hf_json_put_text(&json, "$schema", "https://json.schemastore.org/sarif-2.1.0.json");
    hf_json_put_text(&json, "version", "2.1.0");
    hf_json_name(&json, "runs");
    hf_json_begin(&json, '[');
    hf_json_begin(&json, '{');
    hf_json_name(&json, "tool");
    hf_json_begin(&json, '{');
    hf_json_name(&json, "driver");
    hf_json_begin(&json, '{');
    hf_json_put_text(&json, "name", "holdfast audit");
    hf_json_put_text(&json, "version", HF_VERSION);
    hf_json_name(&json, "rules");
    hf_json_begin(&json, '[');
    for (const audit_rule *const *rule = audit_rules; *rule != NULL; rule++)
        sarif_rule(&json, *rule);
    hf_json_end(&json, ']');
    hf_json_end(&json, '}');
    hf_json_end(&json, '}');
    sarif_invocation(run, &json);
    hf_json_name(&json, "results");
    hf_json_begin(&json, '[');
    for (size_t i = 0; i < run->findings_count; i++)
        sarif_result(run, &json, &run->findings[i]);
    hf_json_end(&json, ']');
    hf_json_end(&json, '}');
    hf_json_end(&json, ']');
    hf_json_end(&json, '}');
    *out = json.out;
}
