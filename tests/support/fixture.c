/* SPDX-License-Identifier: MIT */
/* The world of one test; see fixture.h. */
#include <stdlib.h>
#include <store/store.h>
#include <string.h>
#include <support/fixture.h>
#include <support/timing.h>

static void freeze(fixture *w)
{
    hf_store_clock_freeze(w->store, w->now_us);
    test_store_clock(w->at, w->url, w->now_us);
}

static void fixture_store_open(fixture *w)
{
    hf_error err = {0};
    expect(HF_OK, hf_store_open(w->url, &w->store, &err), err);
    freeze(w);
}

fixture *fixture_open(const test_store *at)
{
    fixture *w = calloc(1, sizeof *w);
    w->at = at;
    w->now_us = FIXTURE_BEGINS_US;
    test_store_url(at, w->url);
    fixture_store_open(w);
    return w;
}

static void fixture_store_close(fixture *w)
{
    if (w->manager)
        hf_manager_close(w->manager);
    else
        hf_store_close(w->store);
    w->manager = NULL;
    w->store = NULL;
}

void fixture_close(fixture *w)
{
    if (!w)
        return;
    for (size_t i = 0; i < w->batches_count; i++)
        hf_batch_free(w->batches[i]);
    free(w->batches);
    free(w->secrets);
    fixture_store_close(w);
    test_store_discard(w->at, w->url);
    free(w);
}

void fixture_reopen(fixture *w)
{
    expect_true(w->at->keeps);
    fixture_store_close(w);
    fixture_store_open(w);
}

void fixture_fault(fixture *w)
{
    hf_error err = {0};
    hf_store *inner = w->store;
    w->store = NULL;
    expect(HF_OK, hf_fault_open(inner, &w->store, &err), err);
}

hf_manager *fixture_manager(fixture *w)
{
    hf_error err = {0};
    if (!w->manager) {
        hf_store *store = w->store;
        w->store = NULL;
        expect(HF_OK, hf_manager_on(store, &w->manager, &err), err);
        w->store = hf_manager_store(w->manager);
    }
    return w->manager;
}

void clock_set(fixture *w, int64_t now_us)
{
    w->now_us = now_us;
    freeze(w);
}

void clock_forward(fixture *w, int64_t us)
{
    clock_set(w, w->now_us + us);
}

void keep_secret(fixture *w, const hf_credentials *secret)
{
    w->secrets = realloc(w->secrets, (w->secrets_count + 1) * sizeof *w->secrets);
    w->secrets[w->secrets_count++] = *secret;
}

hf_credentials draw(fixture *w)
{
    char id[HF_SESSION_ID_SIZE], key[HF_KEY_SIZE];
    unsigned n = ++w->drawn;
    snprintf(id, sizeof id, "%08x5e5510a0000000000000%04x", n * 2654435761u, n);
    snprintf(key, sizeof key, "%08xfeedfacecafe5ec4e7000000%08x", n, n * 2246822519u);
    hf_credentials out;
    hf_error err = {0};
    expect(HF_OK, hf_credentials_set(&out, id, key, &err), err);
    keep_secret(w, &out);
    return out;
}

hf_credentials person_idle(fixture *w, const char *user, const char *name, int64_t idle_us)
{
    hf_credentials out = draw(w);
    const hf_answer *opened =
        done(w, SESSION_OPEN, BY(out), .user = user, .name = name, .idle_us = idle_us);
    expect_int(opened->sessions_count, 1);
    expect_text(opened->sessions[0].id, out.id);
    return out;
}

hf_credentials person(fixture *w, const char *user, const char *name)
{
    return person_idle(w, user, name, 0);
}

hf_batch *batch_of(fixture *w, size_t capacity)
{
    hf_error err = {0};
    hf_batch *batch = NULL;
    expect(HF_OK, hf_batch_new(capacity, &batch, &err), err);
    w->batches = realloc(w->batches, (w->batches_count + 1) * sizeof *w->batches);
    w->batches[w->batches_count++] = batch;
    return batch;
}

void add_op(hf_batch *batch, const hf_op *op)
{
    hf_op *room = hf_batch_add(batch, op->kind);
    expect_true(room != NULL);
    *room = *op;
}

static void look_at_answers(fixture *w, hf_batch *batch, const char *file, int line)
{
    for (size_t i = 0; i < hf_batch_count(batch); i++) {
        const hf_op *op = hf_batch_op(batch, i);
        const char *flaw = answer_flaw(op, w->secrets, w->secrets_count);
        if (flaw) {
            dump_op(stderr, op);
            dump_answer(stderr, op);
            check_failed(file, line, "answer %zu (%s): %s", i, hf_op_kind_name(op->kind), flaw);
        }
    }
}

static void look_at_error(fixture *w, const hf_error *err, const char *file, int line)
{
    for (size_t i = 0; i < w->secrets_count; i++)
        if (strstr(err->message, w->secrets[i].key))
            check_failed(file, line, "a key is in the sentence of a failure");
}

void run_batch(fixture *w, hf_status status, hf_batch *batch, const char *file, int line)
{
    hf_error err = {0};
    hf_status came_to = hf_store_execute(w->store, batch, &err);
    check_call(status, came_to, &err, "the batch", file, line);
    if (came_to == HF_OK)
        look_at_answers(w, batch, file, line);
    else
        look_at_error(w, &err, file, line);
}

void run_batch_fully(fixture *w, hf_batch *batch, const char *file, int line)
{
    size_t count = hf_batch_count(batch), busy = 0;
    run_batch(w, HF_OK, batch, file, line);
    for (size_t i = 0; i < count; i++)
        busy += hf_batch_op(batch, i)->answer.status == HF_BUSY;
    for (int64_t until_us = timing_now_us() + 40 * SECOND;
         busy > 0 && timing_now_us() < until_us;) {
        hf_batch *again = batch_of(w, busy);
        size_t at = 0;
        for (size_t i = 0; i < count; i++)
            if (hf_batch_op(batch, i)->answer.status == HF_BUSY)
                add_op(again, hf_batch_op(batch, i));
        run_batch(w, HF_OK, again, file, line);
        busy = 0;
        for (size_t i = 0; i < count; i++)
            if (hf_batch_op(batch, i)->answer.status == HF_BUSY) {
                *hf_batch_op(batch, i) = *hf_batch_op(again, at++);
                busy += hf_batch_op(batch, i)->answer.status == HF_BUSY;
            }
    }
}

const hf_answer *answer_of(hf_batch *batch, size_t index, hf_status expected, const char *file,
                           int line)
{
    const hf_op *op = hf_batch_op(batch, index);
    check_status(expected, op->answer.status, op->answer.message, hf_op_kind_name(op->kind), file,
                 line);
    return &op->answer;
}

const hf_answer *asked(fixture *w, hf_status status, const hf_op *op, const char *file, int line)
{
    char *before = status != HF_OK && status != HF_STATUS_COUNT ? snapshot(w) : NULL;
    hf_batch *batch = batch_of(w, 1);
    add_op(batch, op);
    hf_error err = {0};
    hf_status came_to = hf_store_execute(w->store, batch, &err);
    look_at_error(w, &err, file, line);
    hf_op *asked_op = hf_batch_op(batch, 0);
    if (came_to == HF_OK)
        look_at_answers(w, batch, file, line);
    else
        asked_op->answer = (hf_answer){.status = came_to, .message = NULL};
    if (status != HF_STATUS_COUNT)
        check_status(status, asked_op->answer.status,
                     came_to == HF_OK ? asked_op->answer.message : err.message,
                     hf_op_kind_name(op->kind), file, line);
    if (before)
        unchanged_since(w, before, file, line);
    return &asked_op->answer;
}

/* Reads past the events that were told already. */
static const hf_answer *unread(fixture *w)
{
    hf_batch *batch = batch_of(w, 1);
    add(batch, EVENTS, .after_seq = w->seen_seq, .limit = HF_LIST_MAX);
    run(w, batch);
    const hf_answer *answer = answer_of(batch, 0, HF_OK, __FILE__, __LINE__);
    if (answer->events_count)
        w->seen_seq = answer->events[answer->events_count - 1].seq;
    return answer;
}

const hf_event *news_of(fixture *w, size_t count, const char *file, int line)
{
    const hf_answer *answer = unread(w);
    if (answer->events_count != count) {
        for (size_t i = 0; i < answer->events_count; i++)
            dump_event(stderr, &answer->events[i]);
        check_failed(file, line, "%zu new events, not %zu", answer->events_count, count);
    }
    return answer->events;
}

void news_skip(fixture *w)
{
    while (unread(w)->events_count == HF_LIST_MAX)
        continue;
}

size_t news_count(const hf_event *events, size_t count, hf_event_kind kind)
{
    size_t found = 0;
    for (size_t i = 0; i < count; i++)
        found += events[i].kind == kind;
    return found;
}

size_t sweep_all(fixture *w, size_t limit)
{
    size_t swept = 0;
    for (int calls = 0; calls < 1000; calls++) {
        const hf_answer *answer = done(w, SWEEP, .limit = limit);
        if (limit)
            expect_true(answer->swept <= limit);
        swept += answer->swept;
        if (!answer->more)
            return swept;
    }
    check_failed(__FILE__, __LINE__, "the sweep never ends");
}

char *snapshot(fixture *w)
{
    return dump_store(w->store, DUMP_ALL);
}

void unchanged_since(fixture *w, char *before, const char *file, int line)
{
    char *after = snapshot(w);
    bool same = strcmp(before, after) == 0;
    if (!same)
        fprintf(stderr, "before:\n%safter:\n%s", before, after);
    free(before);
    free(after);
    if (!same)
        check_failed(file, line, "something changed that should not have");
}

hf_resource resource_of(const char *text)
{
    hf_resource out;
    hf_error err = {0};
    expect(HF_OK, hf_resource_parse(text, &out, &err), err);
    return out;
}
