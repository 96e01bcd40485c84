/* SPDX-License-Identifier: MIT */
/* A Concurrency Decision Record: what was decided, from which answers, with which figures, and
 * when to decide anew. It is written as JSON or as Markdown (which ends with the JSON), and read
 * from both. */
#ifndef HF_ADVISE_RECORD_H
#define HF_ADVISE_RECORD_H

#include "advise/answers.h"
#include "advise/model.h"
#include "advise/replay.h"

#define ADVISE_RECORD_VERSION 1
#define ADVISE_SENTENCE       512
#define ADVISE_SENTENCES_MAX  24

/* Words of a record; each has its name in JSON (advise_..._name) in this order. */
typedef enum advise_strategy {
    ADVISE_BE_OPTIMISTIC,
    ADVISE_BE_PESSIMISTIC,
    ADVISE_BE_BOTH,
    ADVISE_BE_TRANSACTION,
    ADVISE_BE_LEASE
} advise_strategy;

typedef enum advise_lock_type {
    ADVISE_NO_LOCK,
    ADVISE_EXCLUSIVE_WRITE,
    ADVISE_EXCLUSIVE_READ,
    ADVISE_READ_WRITE
} advise_lock_type;

typedef enum advise_group { ADVISE_NO_GROUP, ADVISE_SHARED_VERSION, ADVISE_ROOT_LOCK } advise_group;

typedef enum advise_point { /* where the calls are made that nobody may forget */
                            ADVISE_NO_POINT,
                            ADVISE_ENTRY_POINT,
                            ADVISE_ABSTRACT_MAPPER,
                            ADVISE_MAPPER_DECORATOR,
                            ADVISE_REPOSITORY_BASE,
                            ADVISE_ORM_HOOK
} advise_point;

typedef enum advise_storage { /* of locks */
                              ADVISE_NO_STORAGE,
                              ADVISE_IN_POSTGRES,
                              ADVISE_IN_MARIADB,
                              ADVISE_IN_MYSQL,
                              ADVISE_IN_SQLITE,
                              ADVISE_IN_REDIS,
                              ADVISE_IN_SERVER /* a holdfast server with a store of its own */
} advise_storage;

typedef enum advise_isolation {
    ADVISE_NO_ISOLATION,
    ADVISE_READ_COMMITTED, /* with locking reads */
    ADVISE_REPEATABLE_READ,
    ADVISE_SERIALIZABLE
} advise_isolation;

typedef enum advise_certainty { ADVISE_UNSURE, ADVISE_FAIRLY_SURE, ADVISE_SURE } advise_certainty;

const char *advise_strategy_name(advise_strategy strategy);
const char *advise_lock_type_name(
    advise_lock_type type); /* "none" for none, as of all that follow */
const char *advise_group_name(advise_group group);
const char *advise_point_name(advise_point point);
const char *advise_storage_name(advise_storage storage);
const char *advise_isolation_name(advise_isolation isolation);
const char *advise_certainty_name(advise_certainty certainty); /* "low", "fair", "high" */

/* An answer (or REFUSALS_PER_DAY) beyond which the decision no longer holds. */
typedef struct advise_threshold {
    char measure[32]; /* the answer's name, or ADVISE_REFUSALS */
    bool above;       /* crossed above `value`; else below */
    double value;
    advise_strategy instead; /* what it would be then; of ADVISE_REFUSALS: to be looked at */
} advise_threshold;

#define ADVISE_REFUSALS       "refusals_per_day"
#define ADVISE_THRESHOLDS_MAX 20

typedef struct advise_sentences {
    char items[ADVISE_SENTENCES_MAX][ADVISE_SENTENCE];
    size_t count;
} advise_sentences;

typedef struct advise_record {
    char date[11]; /* 2026-11-18 */
    uint64_t seed;
    advise_answers answers;
    advise_strategy strategy;
    advise_lock_type lock_type;
    bool group_required;
    advise_group group;
    bool implicit_required;
    advise_point point;
    advise_storage storage;
    advise_isolation isolation;
    double lock_minutes, idle_minutes, beat_seconds; /* 0: there is no lock */
    bool billed;       /* the figures below are there: the work is editing, and spans requests */
    bool by_heuristic; /* too little was known for them to decide */
    advise_bills bills;
    double building; /* hours a week that locks cost more to build than versions */
    advise_certainty certainty;
    advise_sentences reasons;
    advise_sentences doubts; /* which answers would change the choice, and whom to ask */
    advise_threshold thresholds[ADVISE_THRESHOLDS_MAX];
    size_t thresholds_count;
    advise_sentences warnings;
    bool replayed;
    advise_replay replay;
} advise_record;

/* Adds a sentence, if there is room. */
void advise_say(advise_sentences *list, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Decides: fills all but answers, date, seed and replay from the answers, which are completed
 * and checked first. HF_INVALID: they contradict each other. HF_NO_MEMORY. */
hf_status advise_decide(advise_record *record, hf_error *err);

/* The record as JSON, and as Markdown with the JSON at its end. Failures stick to the buffer. */
void advise_record_json(const advise_record *record, hf_buffer *out);
void advise_record_markdown(const advise_record *record, hf_buffer *out);

/* Reads either. HF_INVALID says what is wrong: it is no record, of another version, or a field
 * is not good. What only explains (reasons, warnings, replay) is read as far as the plan and a
 * review need it. */
hf_status advise_record_read(const char *text, size_t size, advise_record *out, hf_error *err);

/* Reads answers: an object of them, or a record of either form, whose answers count. */
hf_status advise_answers_parse(const char *text, size_t size, advise_answers *out, hf_error *err);

/* Does the decision use a lock, a version? */
bool advise_uses_locks(const advise_record *record);
bool advise_uses_versions(const advise_record *record);

/* A name as an identifier of SQL and a type of lock: "Line Item" is line_item. */
void advise_identifier(const char *name, char out[ADVISE_NAME_SIZE]);

#endif
