/* SPDX-License-Identifier: MIT */
/* What the tests of the stores on database servers share: a shop whose application has its own
 * connection with a store on it, another one beside it, a store by URL, and people with sessions. A
 * program is a table of tests; each runs on every server of HF_TEST_STORES and, where it says so,
 * at every isolation level. The clock is the server's own. */
#ifndef HF_TESTS_DATABASE_SHOP_H
#define HF_TESTS_DATABASE_SHOP_H

#include "database/app.h"

#include <support/fixture.h>
#include <support/timing.h>

typedef struct shop {
    const test_store *at;
    char url[HF_URL_MAX];
    app_engine engine;
    app_level level; /* of this run of the test */
    app *app;        /* the application's connection ... */
    hf_store *store; /* ... and the store on it */
    app *other;      /* someone else's */
    hf_store *others;
    hf_store *plain; /* by URL */
    hf_credentials alice, bob, carol;
    /* SQL that is run when the test is over, however it ended, the last first */
    const char *undo[8];
    size_t undo_count;
} shop;

typedef struct shop_test {
    const char *name;
    void (*body)(shop *s);
    unsigned engines; /* which it is about */
    unsigned levels;  /* at which isolation levels, a bit each; 0: it is not about them */
} shop_test;

enum { LEVELS_ALL = 7, LEVELS_WITH_SNAPSHOT = 6, LEVELS_BELOW_SERIALIZABLE = 3 };

#define ON_ANY(test)                                                                               \
    {                                                                                              \
#test, test, ON_ALL, 0                                                                     \
    }
#define ON_SOME(engines_, test)                                                                    \
    {                                                                                              \
#test, test, (engines_), 0                                                                 \
    }
#define AT_EVERY_LEVEL(test)                                                                       \
    {                                                                                              \
#test, test, ON_ALL, LEVELS_ALL                                                            \
    }
#define AT_LEVELS(engines_, levels_, test)                                                         \
    {                                                                                              \
#test, test, (engines_), (levels_)                                                         \
    }

/* Runs them; an argument chooses those whose name holds it. For main to return. */
#define SHOP_MAIN(group, tests, argc, argv)                                                        \
    shop_main((group), (tests), sizeof(tests) / sizeof *(tests), (argc) > 1 ? (argv)[1] : NULL)
int shop_main(const char *group, const shop_test *tests, size_t count, const char *part);

/* Changes the store's tables, and back again when the test is over: they are used for the next one.
 * */
void meddle(shop *s, const char *sql, const char *undo);

/* What was answered to one op, all of it copied. */
typedef struct said {
    hf_status status;
    bool whole; /* the batch as a whole failed with that status */
    bool pending;
    hf_outcome outcome;
    size_t locks_count, events_count;
    int64_t last_seq;
    hf_lock lock;            /* the first, if any */
    hf_session_info session; /* likewise */
    char message[HF_MESSAGE_SIZE];
    int64_t took_us;
} said;

/* Asks one thing; must() demands that status. */
#define ASK(store, op, ...) ask_op((store), &(hf_op){.kind = HF_OP_##op, __VA_ARGS__})
#define must(expected, store, op, ...)                                                             \
    must_op((expected), (store), &(hf_op){.kind = HF_OP_##op, __VA_ARGS__}, #op, __FILE__, __LINE__)
said ask_op(hf_store *store, const hf_op *op);
said must_op(hf_status expected, hf_store *store, const hf_op *op, const char *what,
             const char *file, int line);

/* A batch that has to be executed; answers are looked at with answer() of fixture.h. Frees
 * nothing. */
#define execute(store, batch) execute_batch((store), (batch), __FILE__, __LINE__)
/* microseconds */
int64_t execute_batch(hf_store *store, hf_batch *batch, const char *file, int line);
hf_batch *batch_new(size_t capacity);

/* A new session; idle 0: the default. */
hf_credentials newcomer(hf_store *store, const char *user, int64_t idle_us);
hf_credentials drawn(void);
/* In a new session: takes two, looks at them and gives them back, each in one batch; then takes
 * them again and closes. Each of it needs more than one row. */
void takes_two_and_gives_them_back(hf_store *store, const char *user);
/* A new session that dies soon but holds policy/ID. When it died before it came to that, another
 * one that lives twice as long is opened; idle_us is what it came to. */
#define BRIEF_MAX_US (20 * SECOND)
hf_credentials brief_holder(hf_store *store, const char *user, int64_t *idle_us, const char *id);

/* Who holds policy/ID, as seen through that store; 0 or 1 or more. */
size_t holders(hf_store *store, const char *id);

/* The most live locks on any one resource of which at least one is exclusive: more than 1 is a
 * double grant. Read from the tables. */
int64_t most_holders(app *a);

/* Of events of that kind in the table, numbered or not, as that connection sees it. */
int64_t events_of(app *a, const char *kind);

int64_t now_us(void); /* CLOCK_MONOTONIC */
void rest_ms(int64_t ms);

/* How long an answer of "busy" may take on this engine. MySQL's lock waits are counted in whole
 * seconds. */
int64_t busy_max_us(const shop *s);

#endif
