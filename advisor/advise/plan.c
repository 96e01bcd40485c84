/* SPDX-License-Identifier: MIT */
/* What a plan says beyond the record; the words around it are in templates/. */
#include "advise/plan.h"

#include "advise/facts.h"
#include "templates/columns.h"
#include "templates/lease.h"
#include "templates/plan.h"
#include "templates/saves.h"
#include "templates/script.h"
#include "templates/stack.h"
#include "templates/versions.h"

#include <stdio.h>
#include <string.h>

static bool plan_has_versions_script(const advise_record *record)
{
    return record->strategy == ADVISE_BE_OPTIMISTIC &&
           record->answers.numbers[ADVISE_SCHEMA_MAY_CHANGE] != 0 &&
           record->answers.numbers[ADVISE_DATABASE] != ADVISE_OTHER_DATABASE;
}

/* ---- section 2 ---- */

static void plan_storage(const advise_record *record, advise_facts *facts)
{
    static const char *const reasons[] = {
        [ADVISE_NO_STORAGE] = "",
        [ADVISE_IN_POSTGRES] =
            "It is there already, every server sees it, and a save can check its lock in its own "
            "transaction.",
        [ADVISE_IN_MARIADB] =
            "It is there already, every server sees it, and a save can check its lock in its own "
            "transaction.",
        [ADVISE_IN_MYSQL] =
            "It is there already, every server sees it, and a save can check its lock in its own "
            "transaction.",
        [ADVISE_IN_SQLITE] = "One server runs the application; the file survives its restarts. "
                             "With a second server, "
                             "`holdfast serve` goes in front of it.",
        [ADVISE_IN_REDIS] =
            "It is in the stack already. Its store is a module of its own (holdfast-redis.so); "
            "while it "
            "is not installed, any other store serves in its place, and nothing else changes.",
        [ADVISE_IN_SERVER] =
            "The records' database can't hold them, or may not change. The save compares the fence "
            "that acquire answered with the largest it has seen for the record.",
    };
    advise_fact_set(facts, "storage_reason", reasons[record->storage]);
}

/* ---- section 4 ---- */

static void plan_protocol(const advise_record *record, advise_facts *facts)
{
    static const struct {
        const char *stack, *acquire, *end;
    } stacks[] = {
        {"servlet", "the command or controller that opens the edit page, as its first statement",
         "an `HttpSessionListener`"},
        {"express", "the handler of `GET /.../:id/edit`, before it loads",
         "the hook where web sessions end, and a beacon"},
        {"django", "the view that opens the edit form (or claims the record), before its query",
         "the signal `user_logged_out`"},
        {"rails", "a `before_action` of `edit`, ahead of the one that loads", "`before_logout`"},
        {"laravel",
         "the controller's `edit`, or a middleware of its route, before the model is bound",
         "the event `Logout`"},
        {"aspnet", "the GET handler of the edit page, before its query", "`OnSigningOut`"},
        {"", "whatever opens the edit page, as the first thing it does",
         "wherever your framework ends a session"},
    };
    static const char *const owners[] = {
        [ADVISE_SESSION_HTTP] =
            "one holdfast session for each edit page, kept with the web session; its user is the "
            "person, its name what others read. Two tabs are two sessions.",
        [ADVISE_SESSION_TOKEN] =
            "there is no session on the server, so the page keeps `ID.KEY` of its holdfast "
            "session; "
            "its user is that of the token, and each piece of work has a session of its own.",
        [ADVISE_SESSION_JOB] =
            "one holdfast session a run, whose user names the job and whose name the host and the "
            "run; it beats from the job's own loop.",
    };
    size_t i = 0;
    const char *stack = advise_fact_get(facts, "stack_name");
    while (stacks[i].stack[0] != '\0' && strcmp(stacks[i].stack, stack) != 0)
        i++;
    advise_fact_set(facts, "acquire_point", stacks[i].acquire);
    advise_fact_set(facts, "session_end", stacks[i].end);
    advise_fact_set(facts, "owner_identity", owners[(int)record->answers.numbers[ADVISE_SESSION]]);
    for (size_t k = 0; k < sizeof stacks / sizeof *stacks; k++)
        if (stacks[k].stack[0] != '\0')
            advise_fact_if(facts, stacks[k].stack, k == i);
    advise_fact_if(facts, "no_stack", stacks[i].stack[0] == '\0');
    advise_fact_fill(facts, "stack_text", template_stack);
}

static void plan_save_check(const advise_record *record, advise_facts *facts)
{
    const char *type = advise_fact_get(facts, "type");
    advise_fact_set(facts, "sql_check", "");
    if (record->storage == ADVISE_IN_POSTGRES)
        advise_fact_print(facts, "sql_check", "SELECT holdfast.check('%s', :id, :session, :fence)",
                          type);
    else if (record->storage == ADVISE_IN_MARIADB || record->storage == ADVISE_IN_MYSQL)
        advise_fact_print(facts, "sql_check", "CALL holdfast_check('%s', :id, :session, :fence)",
                          type);
    if (advise_fact_get(facts, "sql_check")[0] != '\0')
        advise_fact_print(facts, "save_check", "`%s`. It fails with the sentence to show.",
                          advise_fact_get(facts, "sql_check"));
    else
        advise_fact_set(
            facts, "save_check",
            "`holdfast holds` (exit 8: not held any more), or the fence of the grant compared "
            "with the largest "
            "that the record has seen; a smaller one is refused.");
}

/* ---- section 8 ---- */

typedef struct plan_item {
    const char *text;
    bool done; /* by this choice; what is open only the code can tell */
} plan_item;

static void plan_checklist(const advise_record *record, advise_facts *facts)
{
    static const plan_item locks[] = {
        {"No SELECT ... FOR UPDATE is held while a person thinks", false},
        {"The lock store is durable, and every server sees it", true},
        {"Timeouts are set, and the end of a session releases", false},
        {"The owner is known by name and session", true},
        {"Every path that saves goes through section 6", false},
        {"No save of this type only compares versions, or only locks", false},
        {"A lock that is taken is refused at once; nobody waits", true},
        {"Several locks are taken in one order", true},
    };
    static const plan_item versions[] = {
        {"The version is a whole number, not a time", true},
        {"It is in the WHERE clause of every UPDATE and DELETE, and counted up by each", false},
        {"The row count is looked at, and 0 is a conflict", false},
        {"The version that was read goes to the client and comes back; it is not read again before "
         "saving",
         false},
        {"Who and when are written, and shown", false},
        {"Every path that saves goes through section 5", false},
        {"No save of this type relies on a lock instead", false},
        {"No SELECT ... FOR UPDATE is held while a person thinks", false},
    };
    const plan_item *items = advise_uses_locks(record) ? locks : versions;
    hf_buffer out = {0};
    hf_buffer_print(&out, "Ticked: done by this choice. Open: look in the code.\n\n");
    for (size_t i = 0; i < sizeof locks / sizeof *locks; i++)
        hf_buffer_print(&out, "- [%c] %s\n", items[i].done ? 'x' : ' ', items[i].text);
    advise_fact_take(facts, "checklist", &out);
}

/* ---- section 9 ---- */

static void plan_scripts(const advise_record *record, advise_facts *facts)
{
    static const char *const places[] = {"postgres://app@db.example/scratch",
                                         "\"-h db.example -u app scratch\"",
                                         "\"-h db.example -u app scratch\"", "FILE", ""};
    char table[ADVISE_NAME_SIZE];
    advise_fact_set(facts, "client_place", places[(int)record->answers.numbers[ADVISE_DATABASE]]);
    snprintf(table, sizeof table, "%s", advise_fact_get(facts, "table"));
    advise_fact_set(facts, "table", "$table");
    advise_fact_fill(facts, "columns_here", template_columns);
    advise_fact_set(facts, "table", table);
    advise_fact_set(facts, "policy", "");
    if (advise_uses_locks(record))
        advise_fact_print(
            facts, "policy",
            "[ $# -gt 0 ] || \"$HOLDFAST\" type set %s --policy %s >/dev/null || exit 1",
            advise_fact_get(facts, "type"), advise_lock_type_name(record->lock_type));
    advise_fact_set(facts, "script", "");
    if (advise_uses_locks(record))
        advise_fact_fill(facts, "script", template_script);
    else if (record->strategy == ADVISE_BE_LEASE)
        advise_fact_fill(facts, "script", template_lease);
    else if (plan_has_versions_script(record))
        advise_fact_fill(facts, "script", template_versions);
}

/* ---- all of it ---- */

static void plan_facts(const advise_record *record, advise_facts *facts)
{
    advise_record_facts(record, facts);
    advise_fact_fill(facts, "saves", template_saves);
    advise_fact_if(facts, "list_badge", true);
    plan_storage(record, facts);
    plan_protocol(record, facts);
    plan_save_check(record, facts);
    plan_checklist(record, facts);
    plan_scripts(record, facts);
}

void advise_plan_markdown(const advise_record *record, hf_buffer *out)
{
    advise_facts facts = {0};
    plan_facts(record, &facts);
    advise_fill(template_plan, &facts, out);
    advise_facts_done(&facts);
}

void advise_plan_script(const advise_record *record, hf_buffer *out)
{
    advise_facts facts = {0};
    plan_facts(record, &facts);
    advise_fill("{{script}}", &facts, out);
    advise_facts_done(&facts);
}

/* Lines of a text, as a list. */
static void plan_put_lines(hf_json *json, const char *text)
{
    hf_json_begin(json, '[');
    while (*text != '\0') {
        char line[512];
        size_t size = strcspn(text, "\n");
        snprintf(line, sizeof line, "%.*s", (int)size, text);
        hf_json_text(json, line);
        text += size + (text[size] == '\n');
    }
    hf_json_end(json, ']');
}

void advise_plan_json(const advise_record *record, hf_buffer *out)
{
    advise_facts facts = {0};
    hf_json json = {0};
    hf_buffer page = {0};
    static const char *const names[] = {"date",    "stack", "strategy", "lock_type",
                                        "storage", "type",  "point",    "script"};
    plan_facts(record, &facts);
    advise_fill(template_plan, &facts, &page);
    hf_json_begin(&json, '{');
    hf_json_put_int(&json, "holdfast_plan", 1);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        hf_json_name(&json, names[i]);
        hf_json_text(&json, advise_fact_get(&facts, names[i]));
    }
    hf_json_put_text(&json, "aggregate", advise_group_name(record->group));
    hf_json_name(&json, "lock_minutes");
    hf_json_number(&json, record->lock_minutes);
    hf_json_name(&json, "idle_minutes");
    hf_json_number(&json, record->idle_minutes);
    hf_json_name(&json, "beat_seconds");
    hf_json_number(&json, record->beat_seconds);
    hf_json_name(&json, "commands");
    plan_put_lines(&json, advise_fact_get(&facts, "install_commands"));
    hf_json_put_text(&json, "markdown", page.text == NULL ? "" : page.text);
    hf_json_end(&json, '}');
    out->failed = out->failed || json.out.failed || page.failed || facts.failed;
    if (json.out.text != NULL)
        hf_buffer_add(out, json.out.text, json.out.size);
    hf_buffer_done(&json.out);
    hf_buffer_done(&page);
    advise_facts_done(&facts);
}
