/* SPDX-License-Identifier: MIT */
/* The world of one test: an empty store whose clock stands still until the test moves it, people
 * with sessions, and short ways to ask. Every answer is looked at for what no answer may have, and
 * every refusal for what it changed. */
#ifndef HF_TESTS_SUPPORT_FIXTURE_H
#define HF_TESTS_SUPPORT_FIXTURE_H

#include <holdfast/holdfast.h>
#include <support/check.h>
#include <support/dump.h>
#include <support/test_store.h>

/* 2026-11-15T10:47:03.123456Z: when a world begins. */
#define FIXTURE_BEGINS_US INT64_C(1794739623123456)

#define MILLISECOND INT64_C(1000)
#define SECOND      INT64_C(1000000)
#define MINUTE      (60 * SECOND)
#define HOUR        (60 * MINUTE)
#define DAY         (24 * HOUR)

typedef struct fixture {
    const test_store *at;
    char url[HF_URL_MAX];
    hf_store *store;
    hf_manager *manager; /* NULL until fixture_manager; owns the store from then on */
    int64_t now_us;
    int64_t seen_seq;   /* the last event that news() told */
    hf_batch **batches; /* every batch of this test: answers stay until its end */
    size_t batches_count;
    hf_credentials *secrets; /* every key that may not be told */
    size_t secrets_count;
    unsigned drawn; /* credentials so far */
} fixture;

/* Opens an empty store at the place, its clock frozen at FIXTURE_BEGINS_US. */
fixture *fixture_open(const test_store *at);
/* Closes and removes it. Accepts NULL. */
void fixture_close(fixture *w);

/* Closes the store and opens it again by the same URL, at the world's time. */
void fixture_reopen(fixture *w);

/* Puts the fault wrapper around the store. */
void fixture_fault(fixture *w);

/* A manager on the store, made when first asked for. */
hf_manager *fixture_manager(fixture *w);

void clock_set(fixture *w, int64_t now_us);
void clock_forward(fixture *w, int64_t us);

/* New id and key, the same in every run, known as a secret. */
hf_credentials draw(fixture *w);

/* Opens a session with the default idle bound, or with that one. */
hf_credentials person(fixture *w, const char *user, const char *name);
hf_credentials person_idle(fixture *w, const char *user, const char *name, int64_t idle_us);

/* A key that is not to be told by any answer of this test. */
void keep_secret(fixture *w, const hf_credentials *secret);

/* Asks one thing. done() demands HF_OK; refused() that status, and that nothing changed; tried()
 * takes either. The answer lives until the end of the test:
 *     const hf_answer *no = refused(w, HF_LOCKED, ACQUIRE, BY(bob), ON("policy", "1")); */
#define done(w, op, ...)                                                                           \
    asked((w), HF_OK, &(hf_op){.kind = HF_OP_##op, __VA_ARGS__}, __FILE__, __LINE__)
#define refused(w, status, op, ...)                                                                \
    asked((w), (status), &(hf_op){.kind = HF_OP_##op, __VA_ARGS__}, __FILE__, __LINE__)
#define tried(w, op, ...)                                                                          \
    asked((w), HF_STATUS_COUNT, &(hf_op){.kind = HF_OP_##op, __VA_ARGS__}, __FILE__, __LINE__)
#define BY(credentials) .session = &(credentials)
#define ON(type_, id_)  .type = (type_), .id = (id_)

const hf_answer *asked(fixture *w, hf_status status, const hf_op *op, const char *file, int line);

/* Several in one batch: add(b, ACQUIRE, BY(alice), ON("policy", "1"), .linked = true); run(w, b).
 * */
#define add(batch, op, ...) add_op((batch), &(hf_op){.kind = HF_OP_##op, __VA_ARGS__})
hf_batch *batch_of(fixture *w, size_t capacity);
void add_op(hf_batch *batch, const hf_op *op);

/* Executes it and looks at every answer; run() demands that the batch as a whole is HF_OK. */
#define run(w, batch)                 run_batch((w), HF_OK, (batch), __FILE__, __LINE__)
#define run_refused(w, status, batch) run_batch((w), (status), (batch), __FILE__, __LINE__)
void run_batch(fixture *w, hf_status status, hf_batch *batch, const char *file, int line);

/* The same, and asks again what is busy: on a slow server a large batch may take longer than the
 * store has patience. */
#define run_fully(w, batch) run_batch_fully((w), (batch), __FILE__, __LINE__)
void run_batch_fully(fixture *w, hf_batch *batch, const char *file, int line);

/* The answer of one op in a batch that was run, with that status. */
#define answer(batch, index, expected) answer_of((batch), (index), (expected), __FILE__, __LINE__)
const hf_answer *answer_of(hf_batch *batch, size_t index, hf_status expected, const char *file,
                           int line);

/* Events since the last call: there must be exactly that many. */
#define news(w, count) news_of((w), (count), __FILE__, __LINE__)
const hf_event *news_of(fixture *w, size_t count, const char *file, int line);
/* Passes over the events so far. */
void news_skip(fixture *w);

/* How many of these events are of that kind. */
size_t news_count(const hf_event *events, size_t count, hf_event_kind kind);

/* Sweeps until there is no more; how many rows that were. `limit` 0 is the store's own. */
size_t sweep_all(fixture *w, size_t limit);

/* All that can be seen of the store now, freed with the test; unchanged() demands that it is still
 * so. */
char *snapshot(fixture *w);
#define unchanged(w, before) unchanged_since((w), (before), __FILE__, __LINE__)
void unchanged_since(fixture *w, char *before, const char *file, int line);

/* "type/id" as a value. */
hf_resource resource_of(const char *text);

#endif
