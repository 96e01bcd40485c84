/* SPDX-License-Identifier: MIT */
/* The table of questions; reading, judging, completing and writing answers by it. */
#include "advise/answers.h"

#include "base/error.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char *const answers_works[] = {"edit", "single-flight", "at-most-once", "hot-key",
                                            NULL};
static const char *const answers_sessions[] = {"http", "token", "job", NULL};
static const char *const answers_budgets[] = {"small", "medium", "large", NULL};
static const char *const answers_databases[] = {"postgres", "mariadb", "mysql",
                                                "sqlite",   "other",   NULL};
static const char *const answers_marks[] = {"assumed", "expert", "measured"};

/* clang-format off */
const advise_question advise_questions[ADVISE_ANSWERS] = {
    [ADVISE_WORK] = {"work", ADVISE_CHOICE, .choices = answers_works,
        .ask = "What kind of work is it?",
        .why = "edit: people change records. single-flight: a job runs once at a time. "
               "at-most-once: a call to another system must not be repeated. hot-key: many "
               "programs write one row at once. The last three want a lease."},
    [ADVISE_SPANS_REQUESTS] = {"spans_requests", ADVISE_YES_NO, .usual = 1,
        .ask = "Does one edit span several requests (open a form, think, save)?",
        .why = "If an edit fits into one request, one database transaction is enough."},
    [ADVISE_ENTITIES] = {"entities", ADVISE_LIST,
        .ask = "Which kinds of records are edited? (the main one first, commas between)",
        .why = "They name the locks and the tables in the plan."},
    [ADVISE_EDITORS] = {"editors", ADVISE_WHOLE, 1, 1e6, 5,
        .ask = "How many people edit at the same time?",
        .why = "Collisions grow with their number."},
    [ADVISE_RECORDS] = {"records", ADVISE_WHOLE, 1, 1e12, 1000,
        .ask = "How many records are there to edit?",
        .why = "The fewer there are, the more often two people meet."},
    [ADVISE_EDITS_PER_DAY] = {"edits_per_day", ADVISE_NUMBER, 0.01, 1e9, 40,
        .ask = "How many times a day is a record opened for editing, in all?",
        .why = "With the length of an edit this says how much goes on at once."},
    [ADVISE_EDIT_MINUTES] = {"edit_minutes", ADVISE_NUMBER, 0.05, 10080, 10,
        .ask = "How many minutes does an edit usually take, from opening to saving?",
        .why = "Long edits meet others more often, and more is lost with them.", .unit = "minutes"},
    [ADVISE_EDIT_MINUTES_P90] = {"edit_minutes_p90", ADVISE_NUMBER, 0.05, 43200, 30,
        .ask = "Which length do only one in ten edits exceed, in minutes?",
        .why = "Mostly long edits are lost; the usual length hides them.",
        .unit = "minutes"},
    [ADVISE_SAVE_SHARE] = {"save_share", ADVISE_SHARE, 0.001, 1, 0.7,
        .ask = "Of those who open a record for editing, how many save? (a share, 70%)",
        .why = "People who do not save cannot collide, but hold a lock until it expires."},
    [ADVISE_BUSIEST_TENTH_SHARE] = {"busiest_tenth_share", ADVISE_SHARE, 0.1, 1, 0.5,
        .ask = "What share of all edits goes to the busiest tenth of the records? (50%)",
        .why = "Ten thousand records are few when everybody works on the same ten."},
    [ADVISE_REDO_MINUTES] = {"redo_minutes", ADVISE_NUMBER, 0.01, 43200, 10, .expert = true,
        .ask = "If a usual edit is lost, how many minutes does it take to do it again?",
        .why = "This is what a refused save costs.", .unit = "minutes"},
    [ADVISE_WAIT_MINUTES] = {"wait_minutes_acceptable", ADVISE_NUMBER, 0, 10080, 10, .expert = true,
        .ask = "How many minutes would someone wait for a record before doing something else?",
        .why = "This is the most that a held lock costs someone.", .unit = "minutes"},
    [ADVISE_READERS_NEED_LATEST] = {"readers_need_latest", ADVISE_YES_NO, .expert = true,
        .ask = "Must readers be sure that nobody is changing what they read?",
        .why = "If so, reading takes a lock too."},
    [ADVISE_READ_MOSTLY] = {"read_mostly", ADVISE_YES_NO, .usual = 1,
        .ask = "Are there many more readers than editors?",
        .why = "If so, readers share a lock instead of excluding each other."},
    [ADVISE_GROUPED_WITH] = {"grouped_with", ADVISE_LIST, .expert = true,
        .ask = "Which records are edited together with it as one unit? (line items of an order, or none)",
        .why = "A group needs one lock or one version for all of it."},
    [ADVISE_CODE_PATHS] = {"code_paths", ADVISE_WHOLE, 1, 1e6, 3,
        .ask = "How many places in the code save such a record (pages, jobs, imports)?",
        .why = "One that forgets the lock defeats all the others."},
    [ADVISE_SERVERS] = {"servers", ADVISE_WHOLE, 1, 1e6, 2,
        .ask = "How many servers run the application?",
        .why = "With more than one, locks can't live in the memory of a process."},
    [ADVISE_SESSION] = {"session", ADVISE_CHOICE, .choices = answers_sessions,
        .ask = "How does the application identify one person's work?",
        .why = "http: web sessions with a cookie. token: tokens, no session on the server. "
               "job: programs without people. It says who owns a lock and what ends it."},
    [ADVISE_SCHEMA_MAY_CHANGE] = {"schema_may_change", ADVISE_YES_NO, .usual = 1,
        .ask = "May tables and columns be added to the database?",
        .why = "A version lives best in the record's own row."},
    [ADVISE_BUDGET] = {"budget", ADVISE_CHOICE, .usual = ADVISE_BUDGET_MEDIUM,
        .choices = answers_budgets,
        .ask = "How much may be built?",
        .why = "small: days. medium: weeks. large: as much as it takes. Locks take more "
               "building than versions."},
    [ADVISE_DATABASE] = {"database", ADVISE_CHOICE, .choices = answers_databases,
        .ask = "Which database holds the records?",
        .why = "The statements in the record and in the plan are for it."},
    [ADVISE_STACK] = {"stack", ADVISE_TEXT,
        .ask = "Which language and framework? (Java with Spring, Express and Redis, Django, ...)",
        .why = "The plan shows where the calls go in it."},
    [ADVISE_HOURS_PER_DAY] = {"hours_per_day", ADVISE_NUMBER, 0.1, 24, 8, .unit = "hours"},
    [ADVISE_DAYS_PER_WEEK] = {"days_per_week", ADVISE_NUMBER, 0.1, 7, 5, .unit = "days"},
};
/* clang-format on */

const char *advise_mark_name(advise_mark mark)
{
    return answers_marks[mark];
}

bool advise_mark_from_name(const char *name, advise_mark *out)
{
    for (advise_mark mark = ADVISE_ASSUMED; mark <= ADVISE_MEASURED; mark++) {
        if (strcmp(name, answers_marks[mark]) == 0) {
            *out = mark;
            return true;
        }
    }
    return false;
}

const char *advise_choice(const advise_answers *answers, advise_id id)
{
    return advise_questions[id].choices[(int)answers->numbers[id]];
}

/* ---- setting ---- */

static advise_names *answers_names(advise_answers *answers, advise_id id)
{
    return id == ADVISE_ENTITIES ? &answers->entities : &answers->grouped_with;
}

hf_status advise_set_number(advise_answers *answers, advise_id id, double value, advise_mark mark,
                            hf_error *err)
{
    const advise_question *row = &advise_questions[id];
    bool numeric = row->kind <= ADVISE_SHARE;
    if (numeric && !(value >= row->least && value <= row->most))
        return hf_fail(err, HF_INVALID, "%s is from %.10g to %.10g, not %.10g; check the number.",
                       row->name, row->least, row->most, value);
    if (row->kind == ADVISE_WHOLE && value != floor(value))
        return hf_fail(err, HF_INVALID, "%s is a whole number, not %g.", row->name, value);
    answers->numbers[id] = value;
    answers->marks[id] = mark;
    return HF_OK;
}

void advise_set_measured(advise_answers *answers, advise_id id, double value)
{
    const advise_question *row = &advise_questions[id];
    answers->numbers[id] = value < row->least ? row->least : value > row->most ? row->most : value;
    answers->marks[id] = ADVISE_MEASURED;
}

/* "a, b or c" */
static void answers_choices_say(const char *const *choices, char *out, size_t size)
{
    size_t used = 0;
    for (size_t i = 0; choices[i] != NULL && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, "%s%s",
                                 i == 0                   ? ""
                                 : choices[i + 1] == NULL ? " or "
                                                          : ", ",
                                 choices[i]);
}

static hf_status answers_choose(advise_answers *answers, advise_id id, const char *text,
                                advise_mark mark, hf_error *err)
{
    const advise_question *row = &advise_questions[id];
    char words[128];
    for (int i = 0; row->choices[i] != NULL; i++)
        if (strcasecmp(row->choices[i], text) == 0)
            return advise_set_number(answers, id, i, mark, err);
    answers_choices_say(row->choices, words, sizeof words);
    return hf_fail(err, HF_INVALID, "%s is one of %s.", row->name, words);
}

static hf_status answers_yes_no(advise_answers *answers, advise_id id, const char *text,
                                advise_mark mark, hf_error *err)
{
    bool yes =
        strcasecmp(text, "yes") == 0 || strcasecmp(text, "y") == 0 || strcmp(text, "true") == 0;
    bool no =
        strcasecmp(text, "no") == 0 || strcasecmp(text, "n") == 0 || strcmp(text, "false") == 0;
    if (!yes && !no)
        return hf_fail(err, HF_INVALID, "%s is yes or no.", advise_questions[id].name);
    return advise_set_number(answers, id, yes, mark, err);
}

static hf_status answers_number(advise_answers *answers, advise_id id, const char *text,
                                advise_mark mark, hf_error *err)
{
    const advise_question *row = &advise_questions[id];
    char *rest = NULL;
    double value = strtod(text, &rest);
    bool percent = row->kind == ADVISE_SHARE && *rest == '%';
    rest += percent;
    rest += strspn(rest, " ");
    if (rest == text || (*rest != '\0' && strcmp(rest, "minutes") != 0) || !isfinite(value))
        return hf_fail(err, HF_INVALID, "%s is a number%s.", row->name,
                       row->kind == ADVISE_SHARE ? ", as in 70% or 0.7" : ", as in 12 or 1.5");
    return advise_set_number(answers, id, percent ? value / 100 : value, mark, err);
}

/* Adds a name, without the blanks around it; an empty one is passed over. */
static hf_status answers_name_add(advise_names *names, const char *what, hf_slice name,
                                  hf_error *err)
{
    while (name.size > 0 && name.at[0] == ' ')
        name = (hf_slice){name.at + 1, name.size - 1};
    while (name.size > 0 && name.at[name.size - 1] == ' ')
        name.size--;
    if (name.size == 0)
        return HF_OK;
    if (names->count == ADVISE_NAMES_MAX)
        return hf_fail(err, HF_INVALID, "%s has more than %d names; name the most important.", what,
                       ADVISE_NAMES_MAX);
    if (name.size >= ADVISE_NAME_SIZE || !hf_text_is_clean(name.at, name.size))
        return hf_fail(
            err, HF_INVALID,
            "A name in %s is longer than %d bytes or has a control character in it; shorten it.",
            what, ADVISE_NAME_SIZE - 1);
    memcpy(names->items[names->count], name.at, name.size);
    names->items[names->count++][name.size] = '\0';
    return HF_OK;
}

static hf_status answers_list(advise_answers *answers, advise_id id, const char *text,
                              advise_mark mark, hf_error *err)
{
    advise_names names = {0};
    hf_status status = HF_OK;
    if (strcasecmp(text, "none") == 0)
        text = "";
    while (status == HF_OK && *text != '\0') {
        size_t size = strcspn(text, ",");
        status = answers_name_add(&names, advise_questions[id].name, (hf_slice){text, size}, err);
        text += size + (text[size] == ',');
    }
    if (status == HF_OK && names.count == 0 && id == ADVISE_ENTITIES)
        status = hf_fail(err, HF_INVALID, "entities needs at least one name, as in order.");
    if (status == HF_OK) {
        *answers_names(answers, id) = names;
        answers->marks[id] = mark;
    }
    return status;
}

static hf_status answers_plain_text(advise_answers *answers, advise_id id, const char *text,
                                    advise_mark mark, hf_error *err)
{
    size_t size = strlen(text);
    if (size >= ADVISE_TEXT_SIZE || !hf_text_is_clean(text, size))
        return hf_fail(err, HF_INVALID,
                       "%s is longer than %d bytes or has a control character in it; shorten it.",
                       advise_questions[id].name, ADVISE_TEXT_SIZE - 1);
    memcpy(answers->stack, text, size + 1);
    answers->marks[id] = mark;
    return HF_OK;
}

hf_status advise_set_text(advise_answers *answers, advise_id id, const char *text, advise_mark mark,
                          hf_error *err)
{
    switch (advise_questions[id].kind) {
    case ADVISE_YES_NO:
        return answers_yes_no(answers, id, text, mark, err);
    case ADVISE_CHOICE:
        return answers_choose(answers, id, text, mark, err);
    case ADVISE_LIST:
        return answers_list(answers, id, text, mark, err);
    case ADVISE_TEXT:
        return answers_plain_text(answers, id, text, mark, err);
    default:
        return answers_number(answers, id, text, mark, err);
    }
}

/* ---- from JSON ---- */

static hf_status answers_read_list(const hf_json_value *value, advise_answers *answers,
                                   advise_id id, advise_mark mark, hf_error *err)
{
    const char *what = advise_questions[id].name;
    advise_names names = {0};
    hf_status status = HF_OK;
    if (value->type != HF_JSON_ARRAY)
        return hf_fail(err, HF_INVALID, "%s is a list of names, as in [\"order\"].", what);
    for (const hf_json_value *item = value->inside; status == HF_OK && item != NULL;
         item = item->next)
        status = item->type == HF_JSON_TEXT
                     ? answers_name_add(&names, what, item->text, err)
                     : hf_fail(err, HF_INVALID, "%s is a list of names, as in [\"order\"].", what);
    if (status == HF_OK && names.count == 0 && id == ADVISE_ENTITIES)
        status = hf_fail(err, HF_INVALID, "entities needs at least one name, as in [\"order\"].");
    if (status == HF_OK) {
        *answers_names(answers, id) = names;
        answers->marks[id] = mark;
    }
    return status;
}

static hf_status answers_read_value(const hf_json_value *value, advise_answers *answers,
                                    advise_id id, advise_mark mark, hf_error *err)
{
    const advise_question *row = &advise_questions[id];
    if (row->kind == ADVISE_LIST)
        return answers_read_list(value, answers, id, mark, err);
    if (row->kind == ADVISE_YES_NO)
        return value->type == HF_JSON_BOOL
                   ? advise_set_number(answers, id, value->yes, mark, err)
                   : hf_fail(err, HF_INVALID, "%s is true or false.", row->name);
    if (row->kind == ADVISE_CHOICE || row->kind == ADVISE_TEXT)
        return value->type == HF_JSON_TEXT
                   ? advise_set_text(answers, id, value->text.at, mark, err)
                   : hf_fail(err, HF_INVALID, "%s is a text in quotes.", row->name);
    if (value->type == HF_JSON_WHOLE)
        return advise_set_number(answers, id, (double)value->whole, mark, err);
    if (value->type != HF_JSON_FRACTION)
        return hf_fail(err, HF_INVALID, "%s is a number.", row->name);
    char digits[64];
    snprintf(digits, sizeof digits, "%.*s", (int)(value->text.size < 60 ? value->text.size : 60),
             value->text.at);
    return advise_set_number(answers, id, strtod(digits, NULL), mark, err);
}

/* A value, or {"value": VALUE, "mark": MARK}. */
static hf_status answers_read_one(const hf_json_value *given, advise_answers *answers, advise_id id,
                                  hf_error *err)
{
    const hf_json_value *value = given, *said = NULL;
    advise_mark mark = ADVISE_EXPERT;
    if (given->type == HF_JSON_OBJECT) {
        value = hf_json_field(given, "value");
        said = hf_json_field(given, "mark");
        if (value == NULL || given->count != (said == NULL ? 1 : 2))
            return hf_fail(err, HF_INVALID, "%s is a value, or {\"value\": ..., \"mark\": ...}.",
                           advise_questions[id].name);
    }
    if (said != NULL &&
        (said->type != HF_JSON_TEXT || !advise_mark_from_name(said->text.at, &mark)))
        return hf_fail(err, HF_INVALID,
                       "The mark of %s is \"measured\", \"assumed\" or \"expert\".",
                       advise_questions[id].name);
    if (value->type == HF_JSON_NULL)
        return HF_OK;
    advise_answers judged = *answers; /* what was assumed is judged as well, but not kept */
    hf_status status = answers_read_value(value, &judged, id, mark, err);
    if (status == HF_OK && mark != ADVISE_ASSUMED)
        *answers = judged;
    return status;
}

hf_status advise_answers_read(const hf_json_value *object, advise_answers *answers, hf_error *err)
{
    hf_status status = HF_OK;
    for (const hf_json_value *field = object->inside; status == HF_OK && field != NULL;
         field = field->next) {
        int id = 0;
        while (id < ADVISE_ANSWERS && strcmp(advise_questions[id].name, field->name.at) != 0)
            id++;
        status =
            id < ADVISE_ANSWERS
                ? answers_read_one(field, answers, (advise_id)id, err)
                : hf_fail(err, HF_INVALID,
                          "There is no answer called \"%.40s\"; docs/advise.md lists all of them.",
                          hf_text_is_clean(field->name.at, field->name.size) ? field->name.at
                                                                             : "?");
    }
    return status;
}

/* ---- completing and judging ---- */

static void answers_assume(advise_answers *answers, advise_id id, double value)
{
    const advise_question *row = &advise_questions[id];
    if (answers->marks[id] != ADVISE_ASSUMED)
        return;
    bool numeric = row->kind <= ADVISE_SHARE;
    answers->numbers[id] = !numeric             ? value
                           : value < row->least ? row->least
                           : value > row->most  ? row->most
                                                : value;
}

void advise_answers_complete(advise_answers *answers)
{
    const double *numbers = answers->numbers;
    for (int id = 0; id < ADVISE_ANSWERS; id++)
        answers_assume(answers, (advise_id)id, advise_questions[id].usual);
    /* Eight edits a day and person, if that many fit into the day. */
    double day = numbers[ADVISE_HOURS_PER_DAY] * 60, length = numbers[ADVISE_EDIT_MINUTES];
    if (answers->marks[ADVISE_EDIT_MINUTES_P90] != ADVISE_ASSUMED &&
        answers->marks[ADVISE_EDIT_MINUTES] == ADVISE_ASSUMED)
        answers_assume(answers, ADVISE_EDIT_MINUTES, numbers[ADVISE_EDIT_MINUTES_P90] / 3);
    length = numbers[ADVISE_EDIT_MINUTES];
    answers_assume(answers, ADVISE_EDIT_MINUTES_P90, length * 3);
    answers_assume(answers, ADVISE_REDO_MINUTES, length);
    double each = day / (length * 4);
    answers_assume(answers, ADVISE_EDITS_PER_DAY, numbers[ADVISE_EDITORS] * (each < 8 ? each : 8));
    if (answers->marks[ADVISE_EDITORS] == ADVISE_ASSUMED &&
        answers->marks[ADVISE_EDITS_PER_DAY] != ADVISE_ASSUMED) {
        double busy = numbers[ADVISE_EDITS_PER_DAY] * length * 4 / day;
        answers_assume(answers, ADVISE_EDITORS,
                       ceil(busy > numbers[ADVISE_EDITS_PER_DAY] / 8
                                ? busy
                                : numbers[ADVISE_EDITS_PER_DAY] / 8));
    }
    if (answers->entities.count == 0)
        answers->entities = (advise_names){{"record"}, 1};
}

static bool answers_known(const advise_answers *answers, advise_id a, advise_id b)
{
    return answers->marks[a] != ADVISE_ASSUMED && answers->marks[b] != ADVISE_ASSUMED;
}

hf_status advise_answers_check(const advise_answers *answers, hf_error *err)
{
    const double *n = answers->numbers;
    if (n[ADVISE_EDIT_MINUTES_P90] < n[ADVISE_EDIT_MINUTES])
        return hf_fail(
            err, HF_INVALID,
            "edit_minutes_p90 (%g) is less than edit_minutes (%g), but one edit in ten takes "
            "longer "
            "than the first and half of them longer than the second; correct one of them.",
            n[ADVISE_EDIT_MINUTES_P90], n[ADVISE_EDIT_MINUTES]);
    if (answers->marks[ADVISE_SPANS_REQUESTS] != ADVISE_ASSUMED && n[ADVISE_SPANS_REQUESTS] == 0 &&
        answers->marks[ADVISE_EDIT_MINUTES] != ADVISE_ASSUMED && n[ADVISE_EDIT_MINUTES] >= 2)
        return hf_fail(err, HF_INVALID,
                       "spans_requests says that an edit is one request, but edit_minutes is %g; "
                       "if people think "
                       "in between, set spans_requests to yes.",
                       n[ADVISE_EDIT_MINUTES]);
    double day = n[ADVISE_HOURS_PER_DAY] * 60;
    double at_once = n[ADVISE_EDITS_PER_DAY] * n[ADVISE_EDIT_MINUTES] / day;
    if (answers_known(answers, ADVISE_EDITORS, ADVISE_EDITS_PER_DAY) && at_once > n[ADVISE_EDITORS])
        return hf_fail(err, HF_INVALID,
                       "%g edits a day (edits_per_day) of %g minutes (edit_minutes) keep %.1f "
                       "people busy all day, "
                       "but editors is %g; correct one of them.",
                       n[ADVISE_EDITS_PER_DAY], n[ADVISE_EDIT_MINUTES], at_once, n[ADVISE_EDITORS]);
    for (size_t i = 0; i < answers->grouped_with.count; i++)
        if (strcmp(answers->grouped_with.items[i], answers->entities.items[0]) == 0)
            return hf_fail(err, HF_INVALID,
                           "%s is in grouped_with and leads entities; name it once.",
                           answers->grouped_with.items[i]);
    return HF_OK;
}

/* ---- writing ---- */

static void answers_write_names(const advise_names *names, hf_json *json)
{
    hf_json_begin(json, '[');
    for (size_t i = 0; i < names->count; i++)
        hf_json_text(json, names->items[i]);
    hf_json_end(json, ']');
}

static void answers_write_value(const advise_answers *answers, advise_id id, hf_json *json)
{
    switch (advise_questions[id].kind) {
    case ADVISE_LIST:
        answers_write_names(id == ADVISE_ENTITIES ? &answers->entities : &answers->grouped_with,
                            json);
        break;
    case ADVISE_TEXT:
        hf_json_text(json, answers->stack);
        break;
    case ADVISE_CHOICE:
        hf_json_text(json, advise_choice(answers, id));
        break;
    case ADVISE_YES_NO:
        hf_json_bool(json, answers->numbers[id] != 0);
        break;
    default:
        hf_json_number(json, answers->numbers[id]);
    }
}

void advise_answers_write(const advise_answers *answers, hf_json *json)
{
    hf_json_begin(json, '{');
    for (int id = 0; id < ADVISE_ANSWERS; id++) {
        hf_json_name(json, advise_questions[id].name);
        hf_json_begin(json, '{');
        hf_json_name(json, "value");
        answers_write_value(answers, (advise_id)id, json);
        hf_json_put_text(json, "mark", advise_mark_name(answers->marks[id]));
        hf_json_end(json, '}');
    }
    hf_json_end(json, '}');
}

static void answers_say_names(const advise_names *names, hf_buffer *out)
{
    for (size_t i = 0; i < names->count; i++)
        hf_buffer_print(out, "%s%s", i == 0 ? "" : ", ", names->items[i]);
    if (names->count == 0)
        hf_buffer_print(out, "none");
}

const char *advise_figure(double value, char out[ADVISE_FIGURE_SIZE])
{
    int digits = value >= 9.95 ? 0 : value >= 0.995 ? 1 : value >= 0.0995 ? 2 : 3;
    snprintf(out, ADVISE_FIGURE_SIZE, "%.*f", digits, value);
    size_t end = strlen(out);
    while (digits > 0 && out[end - 1] == '0')
        out[--end] = '\0';
    if (digits > 0 && out[end - 1] == '.')
        out[--end] = '\0';
    return out;
}

void advise_answer_say(const advise_answers *answers, advise_id id, hf_buffer *out)
{
    const advise_question *row = &advise_questions[id];
    double value = answers->numbers[id];
    switch (row->kind) {
    case ADVISE_LIST:
        answers_say_names(id == ADVISE_ENTITIES ? &answers->entities : &answers->grouped_with, out);
        break;
    case ADVISE_TEXT:
        hf_buffer_print(out, "%s", answers->stack[0] == '\0' ? "not named" : answers->stack);
        break;
    case ADVISE_CHOICE:
        hf_buffer_print(out, "%s", advise_choice(answers, id));
        break;
    case ADVISE_YES_NO:
        hf_buffer_print(out, "%s", value != 0 ? "yes" : "no");
        break;
    case ADVISE_SHARE:
        hf_buffer_print(out, "%.3g %%", value * 100);
        break;
    default:
        hf_buffer_print(out, value >= 1e6 ? "%.0f%s%s" : "%.6g%s%s", value,
                        row->unit == NULL ? "" : " ", row->unit == NULL ? "" : row->unit);
    }
}
