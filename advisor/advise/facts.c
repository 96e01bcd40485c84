/* SPDX-License-Identifier: MIT */
/* Words and figures of a record, by the names that templates/ uses. */
#include "advise/facts.h"

#include "templates/columns.h"
#include "templates/record.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Words that tell a stack, and what the plan calls it. The first that fits counts. */
const char *advise_stack_name(const char *stack)
{
    static const char *const known[][2] = {
        {"django", "django"},     {"rails", "rails"},   {"laravel", "laravel"},
        {"asp.net", "aspnet"},    {".net", "aspnet"},   {"c#", "aspnet"},
        {"express", "express"},   {"node", "express"},  {"spring", "servlet"},
        {"servlet", "servlet"},   {"java ", "servlet"}, {"jakarta", "servlet"},
        {"hibernate", "servlet"}, {"ruby", "rails"},    {"php", "laravel"},
        {"python", "django"},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcasestr(stack, known[i][0]) != NULL)
            return known[i][1];
    return strcasecmp(stack, "java") == 0 ? "servlet" : "";
}

/* Flags named after each word of an enumeration, of which one is set. */
static void facts_flags(advise_facts *facts, const char *const *names, size_t count, size_t chosen)
{
    for (size_t i = 0; i < count; i++)
        advise_fact_if(facts, names[i], i == chosen);
}

static void facts_list(advise_facts *facts, const char *name, const advise_sentences *list)
{
    hf_buffer out = {0};
    for (size_t i = 0; i < list->count; i++)
        hf_buffer_print(&out, "- %s\n", list->items[i]);
    advise_fact_take(facts, name, &out);
}

static void facts_figure(advise_facts *facts, const char *name, double value)
{
    char text[ADVISE_FIGURE_SIZE];
    advise_fact_set(facts, name, advise_figure(value, text));
}

/* A name may hold what Markdown takes for its own. */
static void facts_cell(const char *text, hf_buffer *out)
{
    for (; *text != '\0'; text++)
        hf_buffer_print(out, strchr("|`\\<>*_[]", *text) != NULL ? "\\%c" : "%c", *text);
}

/* ---- parts ---- */

/* A table's name as SQL takes it: some are its own words. */
static void facts_table(const advise_record *record, const char *name, advise_facts *facts)
{
    static const char *const words[] = {"case",  "check",  "column", "grant", "group",
                                        "index", "key",    "limit",  "match", "order",
                                        "range", "select", "table",  "user",  "where"};
    double database = record->answers.numbers[ADVISE_DATABASE];
    char quote = database == ADVISE_MARIADB || database == ADVISE_MYSQL ? '`' : '"';
    advise_fact_set(facts, "table", name);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(name, words[i]) == 0)
            advise_fact_print(facts, "table", "%c%s%c", quote, name, quote);
}

static void facts_names(const advise_record *record, advise_facts *facts)
{
    const advise_answers *answers = &record->answers;
    char table[ADVISE_NAME_SIZE];
    hf_buffer entities = {0}, scope = {0};
    advise_identifier(answers->entities.items[0], table);
    advise_answer_say(answers, ADVISE_ENTITIES, &entities);
    advise_answer_say(answers, ADVISE_GROUPED_WITH, &scope);
    facts->failed = facts->failed || entities.failed || scope.failed;
    advise_fact_set(facts, "entities", entities.text == NULL ? "" : entities.text);
    advise_fact_set(facts, "title", entities.text == NULL ? "" : entities.text);
    advise_fact_set(facts, "entity", answers->entities.items[0]);
    advise_fact_print(facts, "scope", "%s, %s", answers->entities.items[0],
                      scope.text == NULL ? "" : scope.text);
    advise_fact_set(facts, "parts", scope.text == NULL ? "" : scope.text);
    advise_fact_set(facts, "type", table);
    facts_table(record, table, facts);
    advise_fact_print(facts, "example", "%s/12345", table);
    advise_fact_set(facts, "date", record->date);
    advise_fact_set(facts, "stack", answers->stack[0] == '\0' ? "not named" : answers->stack);
    advise_fact_set(facts, "stack_name", advise_stack_name(answers->stack));
    hf_buffer_done(&entities);
    hf_buffer_done(&scope);
}

static void facts_strategy(const advise_record *record, advise_facts *facts)
{
    static const char *const names[] = {"optimistic", "pessimistic", "both", "transaction",
                                        "lease"};
    static const char *const titles[] = {
        "Optimistic: a version, compared when saving",
        "Pessimistic: a lock, taken before the record is loaded",
        "Both: a lock that tells people early, and a version under it",
        "One database transaction",
        "A lease",
    };
    facts_flags(facts, names, 5, record->strategy);
    advise_fact_set(facts, "strategy", advise_strategy_name(record->strategy));
    advise_fact_set(facts, "strategy_title", titles[record->strategy]);
    advise_fact_if(facts, "locks", advise_uses_locks(record));
    advise_fact_if(facts, "versions", advise_uses_versions(record));
    advise_fact_if(facts, "offline", advise_uses_locks(record) || advise_uses_versions(record));
    advise_fact_if(facts, "pessimistic_alone", record->strategy == ADVISE_BE_PESSIMISTIC);
    advise_fact_if(facts, "by_heuristic", record->by_heuristic);
    facts_list(facts, "reasons", &record->reasons);
    facts_list(facts, "doubts", &record->doubts);
    facts_list(facts, "warnings", &record->warnings);
    if (record->doubts.count > 0)
        advise_fact_print(facts, "doubts", "%s\n", advise_fact_get(facts, "doubts"));
}

static void facts_isolation(const advise_record *record, advise_facts *facts)
{
    static const char *const titles[] = {"none", "READ COMMITTED with locking reads",
                                         "REPEATABLE READ", "SERIALIZABLE"};
    static const char *const texts[] = {
        "",
        "Read the row that will be changed with SELECT ... FOR UPDATE; REPEATABLE READ alone does "
        "not refuse "
        "a lost "
        "update here.",
        "The second of two writers gets a serialization failure (SQLSTATE 40001) instead of "
        "overwriting; run "
        "the "
        "transaction again then.",
        "What depends on several rows is protected too. Be ready to run the transaction again "
        "after a "
        "serialization "
        "failure.",
    };
    bool sqlite = record->answers.numbers[ADVISE_DATABASE] == ADVISE_SQLITE;
    advise_fact_set(facts, "isolation_title", titles[record->isolation]);
    advise_fact_set(facts, "isolation_text",
                    sqlite ? "SQLite has no other. Begin with BEGIN IMMEDIATE, so that nobody "
                             "writes between your read "
                             "and your write."
                           : texts[record->isolation]);
}

static void facts_lock(const advise_record *record, advise_facts *facts)
{
    static const char *const flags[] = {"no_lock", "exclusive_write", "exclusive_read",
                                        "read_write"};
    static const char *const titles[] = {"None", "Exclusive write lock", "Exclusive read lock",
                                         "Read/write lock"};
    static const char *const reasons[] = {
        "",
        "Only who edits takes it; others may read meanwhile, and may see what is about to change.",
        "Readers must see the latest state, so they take the lock as well: one person at a time.",
        "Many readers must see the latest state: they share the lock; an editor needs it alone.",
    };
    facts_flags(facts, flags, 4, record->lock_type);
    advise_fact_set(facts, "lock_type", advise_lock_type_name(record->lock_type));
    advise_fact_set(facts, "lock_type_title", titles[record->lock_type]);
    advise_fact_set(facts, "lock_type_reason", reasons[record->lock_type]);
    advise_fact_print(facts, "lock_minutes", "%g", record->lock_minutes);
    advise_fact_print(facts, "idle_minutes", "%g",
                      record->idle_minutes > 0 ? record->idle_minutes : ADVISE_IDLE_MINUTES);
    advise_fact_print(facts, "beat_seconds", "%g", record->beat_seconds);
}

static void facts_group(const advise_record *record, advise_facts *facts)
{
    static const char *const titles[] = {"none", "shared version", "root lock"};
    advise_fact_if(facts, "group", record->group_required);
    advise_fact_if(facts, "shared_version", record->group == ADVISE_SHARED_VERSION);
    advise_fact_if(facts, "root_lock", record->group == ADVISE_ROOT_LOCK);
    advise_fact_set(facts, "group_title", titles[record->group]);
    const char *root = record->answers.entities.items[0];
    if (record->group == ADVISE_SHARED_VERSION)
        advise_fact_print(facts, "group_reason",
                          "One version, in the row of %s, counts every save of any part. Whoever "
                          "saves a part counts "
                          "it up in the same transaction, so two people who change two parts meet.",
                          root);
    else
        advise_fact_print(facts, "group_reason",
                          "The lock is on %s, whichever part is edited: whoever has a part walks "
                          "to its root and names "
                          "that. One lock covers the group, however large it grows.",
                          root);
}

static void facts_point(const advise_record *record, advise_facts *facts)
{
    static const char *const titles[] = {"none",
                                         "the single entry point",
                                         "an abstract mapper that all mappers extend",
                                         "a decorator around every mapper",
                                         "a base class of all repositories",
                                         "a hook of the ORM"};
    bool locks = advise_uses_locks(record);
    advise_fact_if(facts, "implicit", record->implicit_required);
    advise_fact_set(facts, "point", advise_point_name(record->point));
    advise_fact_set(facts, "point_title", titles[record->point]);
    advise_fact_print(facts, "code_paths", "%g", record->answers.numbers[ADVISE_CODE_PATHS]);
    advise_fact_set(facts, "point_text",
                    locks ? "Loading for editing takes the lock there; saving and deleting check "
                            "there that it is held, "
                            "and never take it: a lock that is missing at the save means that the "
                            "data may be stale. A "
                            "session listener releases everything when a person's session ends."
                          : "Every UPDATE and DELETE is made there, with the version that was read "
                            "in its WHERE clause "
                            "and a look at the row count.");
}

static void facts_database(const advise_record *record, advise_facts *facts)
{
    static const char *const names[] = {"postgres", "mariadb", "mysql", "sqlite", "other_database"};
    static const char *const titles[] = {"PostgreSQL", "MariaDB", "MySQL", "SQLite",
                                         "your database"};
    size_t database = (size_t)record->answers.numbers[ADVISE_DATABASE];
    facts_flags(facts, names, 5, database);
    advise_fact_set(facts, "database_title", titles[database]);
    advise_fact_if(facts, "mysql_like", database == ADVISE_MARIADB || database == ADVISE_MYSQL);
    advise_fact_if(facts, "schema_may_change",
                   record->answers.numbers[ADVISE_SCHEMA_MAY_CHANGE] != 0);
    advise_fact_set(facts, "now",
                    database == ADVISE_SQLITE ? "strftime('%Y-%m-%dT%H:%M:%fZ', 'now')"
                                              : "CURRENT_TIMESTAMP");
    advise_fact_set(facts, "same",
                    database == ADVISE_SQLITE ? "IS"
                    : database == ADVISE_MARIADB || database == ADVISE_MYSQL
                        ? "<=>"
                        : "IS NOT DISTINCT FROM");
    advise_fact_fill(facts, "columns", template_columns);
}

static void facts_storage(const advise_record *record, advise_facts *facts)
{
    static const char *const flags[] = {"in_nothing", "in_postgres", "in_mariadb", "in_mysql",
                                        "in_sqlite",  "in_redis",    "in_server"};
    static const char *const titles[] = {"none",
                                         "tables in the PostgreSQL database that holds the records",
                                         "tables in the MariaDB database that holds the records",
                                         "tables in the MySQL database that holds the records",
                                         "tables in a SQLite file",
                                         "Redis, with persistence",
                                         "a holdfast server with a store of its own"};
    static const char *const urls[] = {"",
                                       "postgres://app@db.example/app",
                                       "mysql://app@db.example/app",
                                       "mysql://app@db.example/app",
                                       "sqlite:/var/lib/app/holdfast.db",
                                       "redis://redis.example",
                                       "https://locks.example:7420"};
    const char *url = urls[record->storage];
    facts_flags(facts, flags, 7, record->storage);
    advise_fact_set(facts, "storage", advise_storage_name(record->storage));
    advise_fact_set(facts, "storage_title", titles[record->storage]);
    advise_fact_set(facts, "store_url", url);
    advise_fact_if(facts, "in_database",
                   record->storage >= ADVISE_IN_POSTGRES && record->storage <= ADVISE_IN_SQLITE);
    hf_buffer out = {0};
    if (record->storage >= ADVISE_IN_POSTGRES && record->storage <= ADVISE_IN_SQLITE)
        hf_buffer_print(&out, "holdfast install %s%s\n", url,
                        record->storage == ADVISE_IN_SQLITE
                            ? ""
                            : "        # --print shows the SQL; --role NAME");
    if (record->storage == ADVISE_IN_SERVER)
        hf_buffer_print(
            &out,
            "holdfast serve --listen 127.0.0.1:7420    # keeps its locks in SQLite; behind TLS\n");
    hf_buffer_print(&out, "holdfast type set %s --policy %s --ttl %gm --max-ttl %gm --store %s\n",
                    advise_fact_get(facts, "type"), advise_lock_type_name(record->lock_type),
                    record->lock_minutes, record->lock_minutes, url);
    facts->failed = facts->failed || out.failed;
    advise_fact_set(facts, "install_commands",
                    advise_uses_locks(record) && out.text != NULL ? out.text : "");
    hf_buffer_done(&out);
}

static void facts_bills(const advise_record *record, advise_facts *facts)
{
    static const char *const names[][3] = {
        {"none_hours", "none_spread", "none_count"},
        {"optimistic_hours", "optimistic_spread", "optimistic_count"},
        {"pessimistic_hours", "pessimistic_spread", "pessimistic_count"},
    };
    advise_fact_if(facts, "billed", record->billed);
    for (int p = 0; p < ADVISE_POLICIES; p++) {
        facts_figure(facts, names[p][0], record->bills.hours[p]);
        facts_figure(facts, names[p][1], record->bills.spread[p]);
        facts_figure(facts, names[p][2], record->bills.count[p]);
    }
    facts_figure(facts, "opens", record->bills.opens);
    facts_figure(facts, "saves", record->bills.saves);
    advise_fact_print(facts, "seed", "%llu", (unsigned long long)record->seed);
    advise_fact_print(facts, "wait_minutes", "%g", record->answers.numbers[ADVISE_WAIT_MINUTES]);
    advise_fact_print(facts, "edit_minutes", "%.3g", record->answers.numbers[ADVISE_EDIT_MINUTES]);
}

static void facts_replay(const advise_record *record, advise_facts *facts)
{
    const advise_replay *r = &record->replay;
    hf_buffer top = {0};
    advise_fact_if(facts, "replayed", record->replayed);
    facts_figure(facts, "replay_days", r->days);
    facts_figure(facts, "replay_opens", r->opens);
    facts_figure(facts, "replay_people", r->people);
    facts_figure(facts, "replay_records", r->records);
    facts_figure(facts, "replay_none_count", r->tally.overwritten);
    facts_figure(facts, "replay_none_hours", r->tally.overwritten_minutes / 60);
    facts_figure(facts, "replay_optimistic_count", r->tally.conflicts);
    facts_figure(facts, "replay_optimistic_hours", r->tally.conflict_minutes / 60);
    facts_figure(facts, "replay_pessimistic_count", r->tally.refused);
    facts_figure(facts, "replay_pessimistic_hours", r->tally.refused_minutes / 60);
    for (size_t i = 0; i < r->top_count; i++) {
        hf_buffer_print(&top, "| ");
        facts_cell(r->top[i].record, &top);
        char hours[ADVISE_FIGURE_SIZE];
        hf_buffer_print(&top, " | %.0f | %.0f | %.0f | %s |\n", r->top[i].opens, r->top[i].refused,
                        r->top[i].conflicts, advise_figure(r->top[i].hours, hours));
    }
    if (top.size > 0)
        top.text[--top.size] = '\0'; /* the template ends the line */
    advise_fact_take(facts, "replay_top", &top);
}

static void facts_answers(const advise_record *record, advise_facts *facts)
{
    hf_buffer table = {0};
    for (int id = 0; id < ADVISE_ANSWERS; id++) {
        const advise_question *row = &advise_questions[id];
        advise_mark mark = record->answers.marks[id];
        hf_buffer_print(&table, "| %s | ", row->name);
        hf_buffer value = {0};
        advise_answer_say(&record->answers, (advise_id)id, &value);
        facts_cell(value.text == NULL ? "" : value.text, &table);
        facts->failed = facts->failed || value.failed;
        hf_buffer_done(&value);
        hf_buffer_print(&table, " | %s%s |\n", advise_mark_name(mark),
                        mark == ADVISE_ASSUMED && row->expert ? ": ask a domain expert" : "");
    }
    advise_fact_take(facts, "answers_table", &table);
}

static void facts_thresholds(const advise_record *record, advise_facts *facts)
{
    static const char *const certainties[] = {
        "Not sure: find out more before you build.",
        "Fairly sure: one of the answers below, if it is off, would change the choice.",
        "Sure: no answer changes the choice, within what such an answer may be off.",
    };
    hf_buffer list = {0};
    for (size_t i = 0; i < record->thresholds_count; i++) {
        const advise_threshold *t = &record->thresholds[i];
        bool refusals = strcmp(t->measure, ADVISE_REFUSALS) == 0;
        hf_buffer_print(&list, "- %s is %s %.4g: %s%s\n", t->measure, t->above ? "above" : "below",
                        t->value,
                        refusals ? "three times what was expected; people work against each other"
                                 : "then the choice is ",
                        refusals ? "" : advise_strategy_name(t->instead));
    }
    if (list.size > 0)
        hf_buffer_print(&list, "\n");
    facts->failed = facts->failed || list.failed;
    advise_fact_set(facts, "thresholds", list.text == NULL ? "" : list.text);
    advise_fact_set(facts, "certainty_text", certainties[record->certainty]);
    hf_buffer_done(&list);
}

static void facts_next(const advise_record *record, advise_facts *facts)
{
    hf_buffer out = {0};
    hf_buffer_print(&out,
                    "- [ ] `holdfast plan` with this file prints the implementation plan%s.\n",
                    record->strategy == ADVISE_BE_PESSIMISTIC || record->strategy == ADVISE_BE_BOTH
                        ? ", with a script that tests the lock store"
                        : "");
    if (advise_uses_versions(record))
        hf_buffer_print(&out, "- [ ] Add the columns of section 5, and compare the version in "
                              "every UPDATE and DELETE.\n");
    if (advise_uses_locks(record))
        hf_buffer_print(&out, "- [ ] Install the lock store of section 5, and take the lock before "
                              "the record is loaded.\n");
    if (advise_uses_locks(record) || advise_uses_versions(record))
        hf_buffer_print(
            &out,
            "- [ ] Check the isolation level of the transaction that saves: what it reads and "
            "relies on "
            "must not change under it.\n"
            "- [ ] In a month: `holdfast advise --review` with this file and a log, or a server's "
            "metrics.\n");
    advise_fact_take(facts, "next_steps", &out);
}

void advise_record_facts(const advise_record *record, advise_facts *facts)
{
    facts_names(record, facts);
    facts_strategy(record, facts);
    facts_isolation(record, facts);
    facts_lock(record, facts);
    facts_group(record, facts);
    facts_point(record, facts);
    facts_database(record, facts);
    facts_storage(record, facts);
    facts_bills(record, facts);
    facts_replay(record, facts);
    facts_answers(record, facts);
    facts_thresholds(record, facts);
    facts_next(record, facts);
}

void advise_record_markdown(const advise_record *record, hf_buffer *out)
{
    advise_facts facts = {0};
    hf_buffer json = {0};
    advise_record_facts(record, &facts);
    advise_record_json(record, &json);
    facts.failed = facts.failed || json.failed;
    advise_fact_set(&facts, "json", json.text == NULL ? "" : json.text);
    advise_fill(template_record, &facts, out);
    hf_buffer_done(&json);
    advise_facts_done(&facts);
}
