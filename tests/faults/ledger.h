/* SPDX-License-Identifier: MIT */
/* What a store has acknowledged to its one client, kept outside the store: random ops are chosen,
 * their answers are foretold, and after a crash the store must be found as it was left, with or
 * without the op that was under way, never with half of it. */
#ifndef HF_TESTS_FAULTS_LEDGER_H
#define HF_TESTS_FAULTS_LEDGER_H

#include <holdfast/holdfast.h>

#define LEDGER_SESSIONS   6
#define LEDGER_RESOURCES  24
#define LEDGER_SET        4 /* resources of one acquire, at most */
#define LEDGER_EVENTS_MAX 1024

typedef enum ledger_kind {
    LEDGER_NOTHING,
    LEDGER_OPEN,
    LEDGER_BEAT,
    LEDGER_CLOSE,
    LEDGER_ACQUIRE, /* one or several, all or none */
    LEDGER_RENEW,
    LEDGER_DOWNGRADE,
    LEDGER_RELEASE,
    LEDGER_RELEASE_ALL,
    LEDGER_HAND_OVER,
    LEDGER_FORCE,
    LEDGER_KINDS
} ledger_kind;

/* Something to ask. A plain value: it can be sent through a pipe. */
typedef struct ledger_op {
    ledger_kind kind;
    unsigned number; /* of the op: also its request id */
    unsigned session;
    unsigned target;
    unsigned count;
    unsigned resources[LEDGER_SET];
    hf_mode mode;
    int64_t ttl_us;
    hf_credentials credentials; /* LEDGER_OPEN */
} ledger_op;

typedef struct ledger_answer {
    hf_status status;
    unsigned count;
    struct {
        hf_mode mode;
        int64_t fence;
        int64_t ends_us;
    } locks[LEDGER_SET];
    int64_t expires_us; /* of the session: open, beat */
    char message[256];
} ledger_answer;

typedef struct ledger_lock {
    bool held;
    hf_mode mode;
    int64_t fence; /* 0: not told */
    int64_t ends_us;
    bool ends_known;
} ledger_lock;

/* An event that an acknowledged change must have left. */
typedef struct ledger_event {
    hf_event_kind kind;
    unsigned resource; /* LEDGER_RESOURCES: of a session */
    int64_t fence;     /* 0: whichever */
    char session[HF_SESSION_ID_SIZE];
} ledger_event;

/* A plain value. */
typedef struct ledger {
    char type[16]; /* the type of its resources: several ledgers can share a store */
    unsigned seed;
    unsigned ops; /* chosen so far */
    struct {
        bool open;
        hf_credentials credentials;
        int64_t expires_us;       /* as acknowledged last */
        int64_t least_expires_us; /* as acknowledged by what leaves an event */
    } sessions[LEDGER_SESSIONS];
    ledger_lock locks[LEDGER_RESOURCES][LEDGER_SESSIONS];
    int64_t last_fence[LEDGER_RESOURCES];   /* the highest that was told */
    ledger_op pending;                      /* kind LEDGER_NOTHING: none is under way */
    bool pending_was_done;                  /* what the last ledger_verify found out about it */
    ledger_event events[LEDGER_EVENTS_MAX]; /* that were left and have not been read yet */
    size_t events_count;
    int64_t seen_seq; /* the last event that was read */
    hf_event seen;    /* and what it was */
    /* the crash may have taken beats: a session may be shorter than acknowledged */
    bool loses_beats;
} ledger;

void ledger_init(ledger *l, const char *type, unsigned seed);

/* Chooses what to do next and notes it as pending. */
ledger_op ledger_choose(ledger *l);

/* Asks the store. The status of the batch as a whole, or of its first op that was refused, is in
 * the answer. */
void ledger_ask(hf_store *store, const ledger *l, const ledger_op *op, ledger_answer *out);

/* What the answer must be, by what was acknowledged before. */
hf_status ledger_foretell(const ledger *l, const ledger_op *op);

/* Books an answer. NULL: all is well; otherwise what is wrong with it. An answer that says nothing
 * was done (busy, unavailable) changes nothing; after HF_UNSURE the op stays pending. */
const char *ledger_book(ledger *l, const ledger_op *op, const ledger_answer *answer);

/* Choose, ask and book. *status (may be NULL) gets the answer's. */
const char *ledger_step(ledger *l, hf_store *store, hf_status *status);

/* Reads the events so far, as a client that follows them. To be called now and then: only so many
 * are kept. */
const char *ledger_follow(ledger *l, hf_store *store);

/* Compares the store with the ledger: locks, sessions, events. The pending op is there as a whole
 * or not at all; after that the ledger is as the store is and nothing is pending. NULL: all is
 * well. The text is static. */
const char *ledger_verify(ledger *l, hf_store *store);

/* Asks the pending op again, with its request id, and checks that the answer settles it (P12). */
const char *ledger_settle(ledger *l, hf_store *store);

/* How many locks are held. */
size_t ledger_held(const ledger *l);

/* PRAGMA integrity_check and the queries that must find nothing, on the file itself. NULL: all is
 * well. */
const char *ledger_inspect(const char *path);

#endif
