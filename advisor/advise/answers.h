/* SPDX-License-Identifier: MIT */
/* The answers that a decision is made from: a table of what is asked, and a value with a mark
 * for each row. */
#ifndef HF_ADVISE_ANSWERS_H
#define HF_ADVISE_ANSWERS_H

#include "base/json.h"
#include "base/json_parse.h"

#include <holdfast/status.h>
#include <stdbool.h>
#include <stddef.h>

/* In the order in which they are asked. */
typedef enum advise_id {
    ADVISE_WORK,
    ADVISE_SPANS_REQUESTS,
    ADVISE_ENTITIES,
    ADVISE_EDITORS,
    ADVISE_RECORDS,
    ADVISE_EDITS_PER_DAY,
    ADVISE_EDIT_MINUTES,
    ADVISE_EDIT_MINUTES_P90,
    ADVISE_SAVE_SHARE,
    ADVISE_BUSIEST_TENTH_SHARE,
    ADVISE_REDO_MINUTES,
    ADVISE_WAIT_MINUTES,
    ADVISE_READERS_NEED_LATEST,
    ADVISE_READ_MOSTLY,
    ADVISE_GROUPED_WITH,
    ADVISE_CODE_PATHS,
    ADVISE_SERVERS,
    ADVISE_SESSION,
    ADVISE_SCHEMA_MAY_CHANGE,
    ADVISE_BUDGET,
    ADVISE_DATABASE,
    ADVISE_STACK,
    ADVISE_HOURS_PER_DAY, /* not asked: assumed, measured, or given in a file; so is the next */
    ADVISE_DAYS_PER_WEEK,
    ADVISE_ANSWERS
} advise_id;

typedef enum advise_kind {
    ADVISE_NUMBER,
    ADVISE_WHOLE,  /* a number without a fraction */
    ADVISE_SHARE,  /* 0 to 1; people may write 70% */
    ADVISE_YES_NO, /* 1 or 0 */
    ADVISE_CHOICE, /* index into choices */
    ADVISE_LIST,   /* names */
    ADVISE_TEXT
} advise_kind;

/* How an answer is known. The order is that of trust. */
typedef enum advise_mark {
    ADVISE_ASSUMED, /* nobody said: the usual value */
    ADVISE_EXPERT,  /* a person who knows the work said so */
    ADVISE_MEASURED /* counted in a log, a database or a server's metrics */
} advise_mark;

/* The choices, in the order of the table's words. */
enum { ADVISE_WORK_EDIT, ADVISE_WORK_SINGLE_FLIGHT, ADVISE_WORK_AT_MOST_ONCE, ADVISE_WORK_HOT_KEY };
enum { ADVISE_SESSION_HTTP, ADVISE_SESSION_TOKEN, ADVISE_SESSION_JOB };
enum { ADVISE_BUDGET_SMALL, ADVISE_BUDGET_MEDIUM, ADVISE_BUDGET_LARGE };
enum { ADVISE_POSTGRES, ADVISE_MARIADB, ADVISE_MYSQL, ADVISE_SQLITE, ADVISE_OTHER_DATABASE };

/* A row of the table. */
typedef struct advise_question {
    const char *name; /* in JSON */
    advise_kind kind;
    double least, most, usual;  /* of numbers; of others `usual` alone */
    const char *const *choices; /* words, ended by NULL */
    const char *ask;            /* NULL: it is not asked */
    const char *why;            /* it matters */
    const char *unit;           /* after the value: "minutes"; "" */
    bool expert;                /* only someone who knows the work can tell; no log can */
} advise_question;

extern const advise_question advise_questions[ADVISE_ANSWERS];

#define ADVISE_NAMES_MAX 16
#define ADVISE_NAME_SIZE 65
#define ADVISE_TEXT_SIZE 129

typedef struct advise_names {
    char items[ADVISE_NAMES_MAX][ADVISE_NAME_SIZE];
    size_t count;
} advise_names;

/* A plain value: copied with =. All zero: nothing is known. */
typedef struct advise_answers {
    advise_mark marks[ADVISE_ANSWERS];
    double numbers[ADVISE_ANSWERS]; /* of all kinds but lists and texts */
    advise_names entities;
    advise_names grouped_with;
    char stack[ADVISE_TEXT_SIZE];
} advise_answers;

/* The mark's name, and back; false: there is no such mark. */
const char *advise_mark_name(advise_mark mark);
bool advise_mark_from_name(const char *name, advise_mark *out);

/* The word of a choice. */
const char *advise_choice(const advise_answers *answers, advise_id id);

/* Sets a number (or yes/no, or choice), judged by the table. HF_INVALID names the answer and its
 * bounds. */
hf_status advise_set_number(advise_answers *answers, advise_id id, double value, advise_mark mark,
                            hf_error *err);

/* Sets a number that was measured, brought within the answer's bounds: a log may hold what no
 * person would answer. */
void advise_set_measured(advise_answers *answers, advise_id id, double value);

/* Sets any answer from what a person types: "12", "70%", "yes", "exclusive", "order, line item".
 * HF_INVALID says what would be understood. */
hf_status advise_set_text(advise_answers *answers, advise_id id, const char *text, advise_mark mark,
                          hf_error *err);

/* Reads an object NAME: VALUE or NAME: {"value": VALUE, "mark": MARK}; a bare value is an
 * expert's. What was assumed in an earlier record stays open: it is assumed anew. HF_INVALID
 * names the answer that is not known or not good. */
hf_status advise_answers_read(const hf_json_value *object, advise_answers *answers, hf_error *err);

/* Fills what is not known with what is usual, marked assumed; some depend on others. */
void advise_answers_complete(advise_answers *answers);

/* HF_INVALID names two answers that can't both be true. After advise_answers_complete. */
hf_status advise_answers_check(const advise_answers *answers, hf_error *err);

/* Writes the object that advise_answers_read reads, every answer with its mark. */
void advise_answers_write(const advise_answers *answers, hf_json *json);

/* A figure for people, to two digits or to a whole number: 0.037, 1.2, 4322. Returns out. */
#define ADVISE_FIGURE_SIZE 32
const char *advise_figure(double value, char out[ADVISE_FIGURE_SIZE]);

/* The value as people read it: "12 minutes", "70 %", "yes", "policy, coverage"; "none" for an
 * empty list. */
void advise_answer_say(const advise_answers *answers, advise_id id, hf_buffer *out);

#endif
