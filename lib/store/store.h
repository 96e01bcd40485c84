/* SPDX-License-Identifier: MIT */
/* What a store is, seen from inside: a const table of operations and what every store begins with.
 * A store begins, loads the rows a batch names, asks the law, saves what changed, commits (see
 * README.md). */
#ifndef HF_STORE_STORE_H
#define HF_STORE_STORE_H

#include <holdfast/store.h>
#include <holdfast/watch.h>
#include <pthread.h>
#include <sys/types.h>

/* What hf_store_install and its kin ask of a store. */
typedef struct hf_install_order {
    bool remove; /* uninstall */
    bool force;  /* ... also when locks live */
    bool print;  /* only write the SQL to the sink; no connection is made */
    /* may use the tables afterwards, without rights to change their shape; NULL: nobody new */
    const char *role;
    void (*sink)(void *context, const char *text);
    void *context;
} hf_install_order;

typedef struct hf_store_ops {
    const char *scheme; /* what stands before the colon in a URL */
    bool whole_url;     /* there are several such schemes, and it matters which */

    /* `rest` is the URL after "scheme:", with whole_url all of it. A failed open leaves nothing to
     * close. */
    hf_status (*open)(const char *rest, hf_store **out, hf_error *err);

    /* hf_store_open_existing; NULL: the same as open. */
    hf_status (*open_existing)(const char *rest, hf_store **out, hf_error *err);

    /* The batch has been checked (names, limits, standing alone) before it comes here. HF_OK:
     * committed and every op answered. HF_UNSURE: perhaps committed. Anything else: nothing was
     * done. */
    hf_status (*execute)(hf_store *store, hf_batch *batch, hf_error *err);

    /* Creates or removes the tables; NULL: the store has none. */
    hf_status (*install)(const char *rest, const hf_install_order *order, hf_error *err);

    void (*grade)(hf_store *store, hf_grade *out);
    hf_status (*backup)(hf_store *store, const char *path, hf_error *err);
    /* NULL: backup refuses, for both. */
    hf_status (*restore)(hf_store *store, const char *path, bool replace, hf_error *err);

    /* hf_store_metrics; NULL: it is no server. */
    hf_status (*metrics)(hf_store *store, char **out, hf_error *err);

    /* hf_store_watch; NULL: the store can't tell. */
    hf_status (*watch)(hf_store *store, hf_watch **out, hf_error *err);

    /* Called in the process that opened it only. */
    void (*close)(hf_store *store);
} hf_store_ops;

/* Every store embeds this first and fills it with hf_store_init. */
struct hf_store {
    const hf_store_ops *ops;
    pid_t pid;         /* of the opener: a forked child is refused */
    bool clock_frozen; /* tests: the store's time is clock_us and stands still */
    int64_t clock_us;  /* tests: the frozen time, or an offset to the store's own clock */
};

void hf_store_init(hf_store *store, const hf_store_ops *ops);

/* Every watch embeds this first. */
typedef struct hf_watch_ops {
    int (*fd)(const hf_watch *watch);
    hf_status (*heard)(hf_watch *watch, bool *out, hf_error *err);
    hf_status (*tell)(hf_watch *watch, hf_error *err);
    void (*close)(hf_watch *watch);
} hf_watch_ops;

struct hf_watch {
    const hf_watch_ops *ops;
};

/* The store's time: what its own clock says, as moved by a test. */
int64_t hf_store_now(const hf_store *store, int64_t own_clock_us);

/* The private clock seam. Never over the wire. Wrappers pass it on to the store below. */
void hf_store_clock_freeze(hf_store *store, int64_t now_us);
void hf_store_clock_offset(hf_store *store, int64_t offset_us);

/* Wrappers that sit behind the same door. Each owns `inner`, also when opening fails. */
typedef void hf_trace_sink(void *context, const char *line);
hf_status hf_trace_open(hf_store *inner, hf_trace_sink *sink, void *context, hf_store **out,
                        hf_error *err);

/* Fails the n-th execute (1 is the next) once: HF_UNAVAILABLE before the store below sees it, or
 * HF_UNSURE after it has committed. n 0: none. */
hf_status hf_fault_open(hf_store *inner, hf_store **out, hf_error *err);
void hf_fault_arm(hf_store *fault, unsigned n, bool after_commit);
/* After arming: so many executes in a row fail after the n-th too. */
void hf_fault_more(hf_store *fault, unsigned more);

#endif
