/* SPDX-License-Identifier: MIT */
/* Events get their numbers after their commit: a reader that goes on from the last number it saw
 * never passes over one that commits late, and all readers see the same events in the same order,
 * each once. */
#include "database/shop.h"

#include "store/store.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define A(id_) BY(s->alice), ON("policy", id_)
#define B(id_) BY(s->bob), ON("policy", id_)

/* The events after *seq, as "kind id" lines; *seq becomes the last one's. */
static void read_on(hf_store *store, int64_t *seq, char *out, size_t size)
{
    hf_batch *batch = batch_new(1);
    add(batch, EVENTS, .after_seq = *seq, .limit = HF_LIST_MAX);
    execute(store, batch);
    const hf_answer *got = answer(batch, 0, HF_OK);
    size_t at = 0;
    out[0] = '\0';
    for (size_t i = 0; i < got->events_count; i++) {
        const hf_event *event = &got->events[i];
        expect_true(event->seq > *seq);
        *seq = event->seq;
        int more = snprintf(out + at, size - at, "%s %s\n", hf_event_kind_name(event->kind),
                            event->resource.id);
        at += (size_t)more < size - at ? (size_t)more : 0;
    }
    expect_int(got->last_seq, *seq);
    hf_batch_free(batch);
}

static int64_t skip_all(shop *s)
{
    char text[4096];
    int64_t seq = 0;
    read_on(s->plain, &seq, text, sizeof text);
    return seq;
}

static void an_event_that_commits_late_is_not_skipped(shop *s)
{
    char text[1024];
    /* on MySQL "first" locks the gap up to the next record */
    must(HF_OK, s->plain, ACQUIRE, B("part"));
    int64_t seq = skip_all(s), before = seq;
    app_begin(s->app, s->level);
    must(HF_OK, s->store, ACQUIRE, A("first"));
    must(HF_OK, s->plain, ACQUIRE, B("second"));
    read_on(s->plain, &seq, text, sizeof text);
    expect_text(text, "acquired second\n");
    expect_int(seq, before + 1);
    must(HF_OK, s->store, ACQUIRE, A("first too"));
    must(HF_OK, s->plain, RELEASE, B("second"));
    read_on(s->others, &seq, text, sizeof text);
    expect_text(text, "released second\n");
    expect_true(app_commit(s->app));
    read_on(s->plain, &seq, text, sizeof text);
    expect_text(text, "acquired first\nacquired first too\n");
    expect_int(seq, before + 4);
    read_on(s->plain, &seq, text, sizeof text);
    expect_text(text, "");
}

/* However old it is by then: a sweep looks at what has a number only. */
static void an_event_that_commits_late_is_not_swept_before_it_was_read(shop *s)
{
    char text[4096];
    int64_t seq = skip_all(s);
    app_begin(s->app, s->level);
    must(HF_OK, s->store, ACQUIRE, A("late"));
    must(HF_OK, s->plain, ACQUIRE, B("1"));
    hf_store_clock_offset(s->plain, 2 * MINUTE);
    hf_store_clock_offset(s->others, 2 * MINUTE);
    must(HF_OK, s->plain, RELEASE, B("1"));
    must(HF_OK, s->others, SWEEP, .keep_events_us = MINUTE);
    expect_int(app_number(s->other, "SELECT count(*) FROM {event}"), 1);
    expect_true(app_commit(s->app));
    must(HF_OK, s->others, SWEEP, .keep_events_us = HOUR);
    read_on(s->plain, &seq, text, sizeof text);
    expect_text(text, "released 1\nacquired late\n");
}

/* What was rolled back leaves no gap that a reader could take for a loss. */
static void what_was_rolled_back_has_no_number(shop *s)
{
    char text[1024];
    int64_t seq = skip_all(s), before = seq;
    app_begin(s->app, s->level);
    must(HF_OK, s->store, ACQUIRE, A("1"));
    app_rollback(s->app);
    must(HF_OK, s->plain, ACQUIRE, B("2"));
    read_on(s->plain, &seq, text, sizeof text);
    expect_text(text, "acquired 2\n");
    expect_int(seq, before + 1);
}

/* A reader inside a transaction hears nothing of its own that others might hear of, or never will.
 * */
static void reading_inside_a_transaction_numbers_nothing(shop *s)
{
    char text[1024];
    int64_t seq = skip_all(s), inside = seq;
    must(HF_OK, s->plain, ACQUIRE, B("1"));
    app_begin(s->app, s->level);
    must(HF_OK, s->store, ACQUIRE, A("2"));
    read_on(s->store, &inside, text, sizeof text);
    expect_lacks(text, "acquired 2");
    app_rollback(s->app);
    read_on(s->plain, &seq, text, sizeof text);
    expect_text(text, "acquired 1\n");
    must(HF_OK, s->plain, ACQUIRE, A("3"));
    read_on(s->plain, &seq, text, sizeof text);
    expect_text(text, "acquired 3\n");
}

/* Is numbering, until its transaction ends. */
static void keep_numbering(app *a)
{
    app_begin(a, READ_COMMITTED);
    app_do(a, "SELECT 1 FROM {meta} WHERE name = 'events_to' FOR UPDATE");
}

/* Whoever numbers and does not come to an end keeps nobody from reading what has numbers; what has
 * none is kept, in its order. */
static void a_reader_does_not_wait_for_ever_for_another_that_numbers(shop *s)
{
    char text[1024];
    int64_t seq = skip_all(s);
    must(HF_OK, s->plain, ACQUIRE, B("1"));
    read_on(s->plain, &seq, text, sizeof text);
    must(HF_OK, s->plain, ACQUIRE, B("2"));
    keep_numbering(s->other);
    must(HF_OK, s->plain, RELEASE, B("1"));
    int64_t seen;
    expect_in_time(busy_max_us(s), "a reader",
                   (seen = 0, read_on(s->plain, &seen, text, sizeof text)));
    expect_contains(text, "acquired 1\n");
    expect_lacks(text, "acquired 2\n");
    expect_lacks(text, "released 1\n");
    expect_int(seen, seq);
    expect_int(app_number(s->app, "SELECT count(*) FROM {event} WHERE seq IS NULL"), 2);
    app_rollback(s->other);
    read_on(s->plain, &seq, text, sizeof text);
    expect_text(text, "acquired 2\nreleased 1\n");
}

static void *stop_numbering(void *other)
{
    rest_ms(200);
    app_rollback(other);
    return NULL;
}

/* False: the reader's patience was over before the other had done. */
static bool is_read_when_another_has_done(shop *s)
{
    char text[1024];
    pthread_t thread;
    int64_t seq = skip_all(s);
    keep_numbering(s->other);
    must(HF_OK, s->plain, ACQUIRE, B("1"));
    must(HF_OK, s->plain, RELEASE, B("1"));
    expect_int(pthread_create(&thread, NULL, stop_numbering, s->other), 0);
    read_on(s->plain, &seq, text, sizeof text);
    expect_int(pthread_join(thread, NULL), 0);
    if (text[0])
        expect_text(text, "acquired 1\nreleased 1\n");
    return text[0] != '\0';
}

/* Who was told that a change is done and then reads events finds it, though someone else is
 * numbering just then. */
static void what_was_acknowledged_is_read_when_another_has_done_with_numbering(shop *s)
{
    expect_once(is_read_when_another_has_done(s));
}

/* ---- writers and readers at once ---- */

enum { WRITERS = 4, READERS = 2, SEEN_MAX = 200000 };

typedef struct crowd {
    shop *s;
    atomic_bool over;
    atomic_int problems;
} crowd;

typedef struct writer {
    crowd *c;
    hf_store *store; /* its own, or the one it wraps a connection with */
    app *app;        /* NULL: by URL */
    hf_credentials me;
    int number;
    atomic_size_t events; /* that its answers promise */
} writer;

typedef struct reader {
    crowd *c;
    hf_store *store;
    int64_t seen[SEEN_MAX]; /* fence, writer and kind, which tell events apart; 0: not a writer's */
    size_t count, all;
    int64_t last_seq;
} reader;

static hf_status events_ask_quietly(hf_store *store, const hf_op *op)
{
    hf_batch *batch = NULL;
    hf_error err = {0};
    if (hf_batch_new(1, &batch, &err) != HF_OK)
        return HF_NO_MEMORY;
    *hf_batch_add(batch, op->kind) = *op;
    hf_status status = hf_store_execute(store, batch, &err);
    status = status == HF_OK ? hf_batch_op(batch, 0)->answer.status : status;
    if (status != HF_OK && status != HF_BUSY && status != HF_RETRY)
        fprintf(stderr, "a writer: %s: %s\n", hf_status_wire(status), err.message);
    hf_batch_free(batch);
    return status;
}

/* Takes and gives back something nobody else wants; those with a connection of their own do so in
 * transactions of uneven length. */
static void *write_main(void *argument)
{
    writer *w = argument;
    unsigned seed = (unsigned)w->number + 1;
    char id[16];
    snprintf(id, sizeof id, "w%d", w->number);
    hf_op take = {.kind = HF_OP_ACQUIRE, BY(w->me), ON("policy", id)},
          give = {.kind = HF_OP_RELEASE, BY(w->me), ON("policy", id)};
    while (!atomic_load(&w->c->over)) {
        size_t done = 0;
        if (w->app)
            app_begin(w->app, (app_level)(rand_r(&seed) % 2));
        hf_status status = events_ask_quietly(w->store, &take);
        done += status == HF_OK;
        if (w->app)
            rest_ms(rand_r(&seed) % 20);
        if (status == HF_OK)
            done += events_ask_quietly(w->store, &give) == HF_OK;
        if (!w->app || app_commit(w->app))
            w->events += done;
        if (status != HF_OK && status != HF_BUSY && status != HF_RETRY)
            atomic_fetch_add(&w->c->problems, 1);
    }
    return NULL;
}

static void read_some(reader *r)
{
    hf_batch *batch = NULL;
    hf_error err = {0};
    if (hf_batch_new(1, &batch, &err) != HF_OK)
        return;
    hf_op *op = hf_batch_add(batch, HF_OP_EVENTS);
    op->after_seq = r->last_seq;
    op->limit = 100;
    hf_status status = hf_store_execute(r->store, batch, &err);
    if (status != HF_OK) {
        fprintf(stderr, "a reader: %s: %s\n", hf_status_wire(status), err.message);
        atomic_fetch_add(&r->c->problems, 1);
    }
    for (size_t i = 0; status == HF_OK && i < op->answer.events_count && r->count < SEEN_MAX; i++) {
        const hf_event *event = &op->answer.events[i];
        if (event->seq != r->last_seq + 1)
            atomic_fetch_add(&r->c->problems, 1);
        r->last_seq = event->seq;
        bool writers = event->resource.id[0] == 'w';
        int64_t mark =
            (int64_t)(event->resource.id[1] - '0') * 2 + (event->kind == HF_EVENT_ACQUIRED);
        r->seen[r->count++] = writers ? event->fence * 2 * WRITERS + mark : 0;
        r->all += writers;
    }
    hf_batch_free(batch);
}

static void *read_main(void *argument)
{
    reader *r = argument;
    while (!atomic_load(&r->c->over))
        read_some(r);
    return NULL;
}

static int events_order(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void writer_init(writer *w, crowd *c, int number)
{
    hf_error err = {0};
    *w = (writer){.c = c, .number = number, .me = newcomer(c->s->plain, "writer", 0)};
    if (number % 2) {
        w->app = app_connect(c->s->url);
        w->store = app_wrapped(w->app);
    } else {
        expect(HF_OK, hf_store_open(c->s->url, &w->store, &err), err);
    }
}

static void writer_done(writer *w)
{
    if (w->app)
        app_close(w->app);
    else
        hf_store_close(w->store);
}

static size_t events_promised(const writer *writers)
{
    size_t sum = 0;
    for (int i = 0; i < WRITERS; i++)
        sum += atomic_load(&writers[i].events);
    return sum;
}

/* Reads what is left, then: every event once, and both the same. */
static void events_judge(reader *readers, size_t promised, size_t before)
{
    for (int i = 0; i < READERS; i++) {
        size_t seen;
        do {
            seen = readers[i].count;
            read_some(&readers[i]);
        } while (readers[i].count > seen);
    }
    printf("# %zu events promised; read %zu and %zu\n", promised, readers[0].all, readers[1].all);
    expect_int(readers[0].all, promised);
    expect_int(readers[0].count, before + promised);
    expect_int(readers[0].count, readers[1].count);
    expect_true(
        memcmp(readers[0].seen, readers[1].seen, readers[0].count * sizeof *readers[0].seen) == 0);
    qsort(readers[0].seen, readers[0].count, sizeof *readers[0].seen, events_order);
    for (size_t i = 1; i < readers[0].count; i++)
        expect_true(readers[0].seen[i] == 0 || readers[0].seen[i] != readers[0].seen[i - 1]);
}

static void readers_see_every_event_once_and_in_the_same_order(shop *s)
{
    static writer writers[WRITERS];
    static reader readers[READERS];
    pthread_t threads[WRITERS + READERS];
    crowd c = {.s = s};
    hf_error err = {0};
    for (int i = 0; i < WRITERS; i++)
        writer_init(&writers[i], &c, i);
    size_t before = (size_t)skip_all(s);
    for (int i = 0; i < READERS; i++) {
        memset(&readers[i], 0, sizeof readers[i]);
        readers[i].c = &c;
        expect(HF_OK, hf_store_open(s->url, &readers[i].store, &err), err);
    }
    for (int i = 0; i < WRITERS; i++)
        expect_int(pthread_create(&threads[i], NULL, write_main, &writers[i]), 0);
    for (int i = 0; i < READERS; i++)
        expect_int(pthread_create(&threads[WRITERS + i], NULL, read_main, &readers[i]), 0);
    rest_ms(1500);
    for (int64_t until_us = now_us() + 40 * SECOND;
         events_promised(writers) <= 100 && now_us() < until_us;)
        rest_ms(100);
    atomic_store(&c.over, true);
    for (int i = 0; i < WRITERS + READERS; i++)
        expect_int(pthread_join(threads[i], NULL), 0);
    size_t promised = events_promised(writers);
    events_judge(readers, promised, before);
    expect_int(c.problems, 0);
    expect_true(promised > 100);
    for (int i = 0; i < READERS; i++)
        hf_store_close(readers[i].store);
    for (int i = 0; i < WRITERS; i++)
        writer_done(&writers[i]);
}

int main(int argc, char **argv)
{
    static const shop_test tests[] = {
        AT_LEVELS(ON_POSTGRES, LEVELS_ALL, an_event_that_commits_late_is_not_skipped),
        ON_ANY(an_event_that_commits_late_is_not_swept_before_it_was_read),
        /* At SERIALIZABLE InnoDB locks the gaps around all it reads: others might have to wait. */
        AT_LEVELS(ON_MARIADB | ON_MYSQL, LEVELS_BELOW_SERIALIZABLE,
                  an_event_that_commits_late_is_not_skipped),
        AT_EVERY_LEVEL(what_was_rolled_back_has_no_number),
        AT_EVERY_LEVEL(reading_inside_a_transaction_numbers_nothing),
        ON_ANY(a_reader_does_not_wait_for_ever_for_another_that_numbers),
        ON_ANY(what_was_acknowledged_is_read_when_another_has_done_with_numbering),
        ON_ANY(readers_see_every_event_once_and_in_the_same_order),
    };
    return SHOP_MAIN("events", tests, argc, argv);
}
