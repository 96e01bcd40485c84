/* SPDX-License-Identifier: MIT */
/* What the tests of records share: an application's tables in a database of the run, opened as
 * records, and raw SQL beside them. In SQL {n} stands for the names of this scene. */
#ifndef HF_TESTS_RECORD_SCENE_H
#define HF_TESTS_RECORD_SCENE_H

#include "db/db.h"

#include <holdfast/holdfast.h>
#include <support/check.h>
#include <support/test_store.h>

enum { SCENE_TABLES = 15 };

typedef struct scene {
    const test_store *at;
    char url[HF_URL_MAX];
    char names[40];
    hf_db *db; /* raw */
    hf_table tables[SCENE_TABLES];
    char table_names[SCENE_TABLES][80];
    size_t count;
    char keys[HF_URL_MAX]; /* the file with secrets for tokens */
    hf_tables *records;
    hf_manager *manager; /* of locks; made when first asked for */
    hf_error err;
} scene;

/* The place of this run that is tested now: the runner calls every test for every place. */
extern const test_store *scene_place;

scene *scene_open(void);
void scene_close(scene *s);

/* Runs SQL, and asks for one value as text. */
void scene_run(scene *s, const char *sql);
const char *scene_value(scene *s, const char *sql);
/* SQL with {n} filled in; lives until the next. */
const char *scene_sql(const scene *s, const char *sql);

hf_table *scene_table(scene *s, const char *type);
hf_unit *scene_unit(scene *s, const char *user);
hf_session *scene_session(scene *s, const char *user);
hf_unit *scene_unit_of(scene *s, hf_session *session);

hf_record *scene_find(hf_unit *unit, const char *resource);
void scene_set(hf_record *record, const char *column, hf_field value);
const char *scene_text(const hf_record *record, const char *column);
void scene_commit(hf_unit *unit);
/* A refused commit with that status; the report, if there is one, is to be freed. */
hf_report *scene_refused(hf_unit *unit, hf_status status);

/* Runs every test in every place that is a database. */
int scene_main(const struct CMUnitTest *tests, size_t count);

#endif
