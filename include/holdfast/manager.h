/* SPDX-License-Identifier: MIT */
/* The lock manager: the calls that need no session of their own, over any store. Threads may share
 * a manager. After fork() a child's calls are refused: it opens its own. The library never logs,
 * installs no signal handler, never exits, and starts no thread unless hf_manager_keeper_start asks
 * for it. */
#ifndef HOLDFAST_MANAGER_H
#define HOLDFAST_MANAGER_H

#include <holdfast/store.h>

HF_BEGIN_DECLS

typedef struct hf_manager hf_manager;
typedef struct hf_session hf_session;

/* Opens the store the URL names and a manager on it. */
HF_API HF_MUST_USE hf_status hf_manager_open(const char *url, hf_manager **out, hf_error *err);

/* A manager on a store that is open already; it closes the store with itself, also when this call
 * fails. */
HF_API HF_MUST_USE hf_status hf_manager_on(hf_store *store, hf_manager **out, hf_error *err);

/* Stops the keeper and closes the store. Session handles must be freed before. Accepts NULL. */
HF_API void hf_manager_close(hf_manager *manager);

/* The store of the manager, for batches of your own. Borrowed. */
HF_API hf_store *hf_manager_store(hf_manager *manager);

/* The rows of an answer. Free it with hf_result_free, which accepts NULL. Arrays as in
 * hf_answer. */
typedef struct hf_result hf_result;
HF_API const hf_answer *hf_result_answer(const hf_result *result);
/* Of several answers (look-up, set): how many, and each, in the order asked. */
HF_API size_t hf_result_count(const hf_result *result);
HF_API const hf_answer *hf_result_at(const hf_result *result, size_t index);
HF_API void hf_result_free(hf_result *result);

/* Who holds it and who waits for it: answer.locks and answer.requests, both empty when it is free.
 * */
HF_API HF_MUST_USE hf_status hf_manager_who(hf_manager *manager, const hf_resource *resource,
                                            hf_result **out, hf_error *err);

/* The same for up to HF_BATCH_OPS_MAX resources in one go. */
HF_API HF_MUST_USE hf_status hf_manager_lookup(hf_manager *manager, const hf_resource *resources,
                                               size_t count, hf_result **out, hf_error *err);

/* The version of a resource. HF_NOT_FOUND: it was never saved. One that was deleted is HF_OK, with
 * `gone`. */
HF_API HF_MUST_USE hf_status hf_manager_version(hf_manager *manager, const hf_resource *resource,
                                                hf_version *out, hf_error *err);

/* The same for up to HF_BATCH_OPS_MAX resources in one go. Each answer has its own status: HF_OK
 * with versions[0], or HF_NOT_FOUND. */
HF_API HF_MUST_USE hf_status hf_manager_versions(hf_manager *manager, const hf_resource *resources,
                                                 size_t count, hf_result **out, hf_error *err);

/* Saves for options->user without a session (with a session: hf_session_save). The call settles an
 * unsure answer as those of session.h do. HF_OK: *out is the new version. HF_STALE: the version is
 * not the one that was read; *out is the current version, with number 0 if it was never saved.
 * HF_LOCKED: err->holder says who holds it. HF_NOT_HELD: the type's policy requires a lock to edit.
 * out may be NULL. */
HF_API HF_MUST_USE hf_status hf_manager_save(hf_manager *manager, const hf_save *save,
                                             const hf_save_options *options, hf_version *out,
                                             hf_error *err);

/* Saves all of a set or none. *out has an answer for each save and then for each premise, in the
 * order given, also when the set is refused. Then every stale member has its status, message and
 * versions[0], and HF_NOT_APPLIED means that this member was not the cause. Of the locks that block
 * the set only the first is reported. err is about the first refusal in that order. *out is NULL if
 * there was no answer; out may be NULL. */
HF_API HF_MUST_USE hf_status hf_manager_save_all(hf_manager *manager, const hf_set *set,
                                                 const hf_save_options *options, hf_result **out,
                                                 hf_error *err);

typedef struct hf_list_options {
    const char *type;    /* only this type */
    const char *user;    /* only this user's */
    const char *session; /* only this session's (public id) */
    hf_cursor after;     /* answer.next of the page before */
    size_t limit;        /* 0: HF_LIST_DEFAULT */
} hf_list_options;

/* Live locks in canonical order, a page at a time. options may be NULL. */
HF_API HF_MUST_USE hf_status hf_manager_list(hf_manager *manager, const hf_list_options *options,
                                             hf_result **out, hf_error *err);

/* Live sessions by id, a page at a time; options->user and ->after.session and ->limit count. */
HF_API HF_MUST_USE hf_status hf_manager_sessions(hf_manager *manager,
                                                 const hf_list_options *options, hf_result **out,
                                                 hf_error *err);

/* Ends other people's locks and records who did it and why. fence 0: all holders; else only that
 * grant. HF_NOT_HELD: nobody holds it (or not with that fence). Answers the locks that were
 * ended. */
HF_API HF_MUST_USE hf_status hf_manager_force_release(hf_manager *manager,
                                                      const hf_resource *resource,
                                                      const char *actor, const char *reason,
                                                      int64_t fence, hf_result **out,
                                                      hf_error *err);

/* Registers the policy of a type. Changing the policy of a type while locks of it live: HF_INVALID.
 * actor (may be NULL) is recorded with the event. */
HF_API HF_MUST_USE hf_status hf_manager_type_set(hf_manager *manager, const hf_type *type,
                                                 const char *actor, hf_error *err);
HF_API HF_MUST_USE hf_status hf_manager_type_get(hf_manager *manager, const char *type,
                                                 hf_type *out, hf_error *err);
HF_API HF_MUST_USE hf_status hf_manager_types(hf_manager *manager, hf_result **out, hf_error *err);

typedef struct hf_token_options {
    const char *name;  /* what it is for */
    const char *roles; /* as hf_roles_parse reads them */
    const char *users; /* pattern of the users it may name; NULL: any; "" is refused */
    int64_t ttl_us;    /* how long it lives; 0: for ever */
    const char *actor; /* recorded with the event; may be NULL */
} hf_token_options;

/* Makes a token. *out has its secret, which cannot be shown again: clear it with hf_token_clear.
 * token may be NULL. */
HF_API HF_MUST_USE hf_status hf_manager_token_create(hf_manager *manager,
                                                     const hf_token_options *options,
                                                     hf_token_key *out, hf_token *token,
                                                     hf_error *err);

/* The token of a secret that a caller presents. *lives (may be NULL): it is neither revoked nor
 * expired, by the store's clock. HF_NOT_FOUND: there is none. HF_INVALID: this is not a token. */
HF_API HF_MUST_USE hf_status hf_manager_token_find(hf_manager *manager, const char *secret,
                                                   hf_token *out, bool *lives, hf_error *err);

/* All tokens by id, dead ones too, a page at a time; options->after and ->limit count. Never a
 * secret. */
HF_API HF_MUST_USE hf_status hf_manager_tokens(hf_manager *manager, const hf_list_options *options,
                                               hf_result **out, hf_error *err);

/* Revokes a token, by its public id. Revoking twice is HF_OK. out may be NULL. */
HF_API HF_MUST_USE hf_status hf_manager_token_revoke(hf_manager *manager, const char *id,
                                                     const char *actor, hf_token *out,
                                                     hf_error *err);

/* Events after a sequence number (0: from the oldest kept), at most `limit` (0: HF_LIST_DEFAULT).
 * */
HF_API HF_MUST_USE hf_status hf_manager_events(hf_manager *manager, int64_t after_seq, size_t limit,
                                               hf_result **out, hf_error *err);

/* Removes dead rows. Looks at `limit` rows at most (0: HF_SWEEP_DEFAULT); *more: call again. It
 * only frees space: expiry is judged whenever a lock is read. What others' transactions have locked
 * is left to a later sweep. swept and more may be NULL. */
HF_API HF_MUST_USE hf_status hf_manager_sweep(hf_manager *manager, size_t limit, size_t *swept,
                                              bool *more, hf_error *err);

/* Notices to listeners about this manager's own sessions. What a beat sees inside the caller's own
 * transaction may be rolled back, so it is reported by the next beat outside of one. */
typedef enum hf_notice_kind {
    HF_NOTICE_LOST, /* a lock was lost: forced, or its own bound has come */
    /* the session has ended: closed here, or dead at its idle bound; all its locks are gone */
    HF_NOTICE_ENDED,
    HF_NOTICE_REQUESTED /* someone asks for a lock this session holds */
} hf_notice_kind;

typedef struct hf_notice {
    hf_notice_kind kind;
    hf_session *session;  /* the handle concerned */
    hf_resource resource; /* LOST, REQUESTED */
    const char *why;      /* LOST: "forced" or "expired"; ENDED: "closed" or "expired" */
    const char *by;       /* LOST: who; REQUESTED: the display name of the session that asks */
    const char *text;     /* LOST: the reason given; REQUESTED: the message */
} hf_notice;

/* Called from the thread that calls hf_session_beat, hf_session_close or hf_manager_poll, or from
 * the keeper, with no lock of the library held. It may call the library, but not free the session
 * or close the manager. */
typedef void hf_listener(void *context, const hf_notice *notice);

/* Adds a listener for all sessions of this manager. At most 16 (HF_TOO_MANY). */
HF_API HF_MUST_USE hf_status hf_manager_listen(hf_manager *manager, hf_listener *listener,
                                               void *context, hf_error *err);

/* Beats every session handle that is due, many in a batch, checks bounds and calls the listeners. A
 * handle is due when a third of its idle bound has passed. After a failed beat it is due again
 * after a quarter of the time left, but at least a second (or a third of the bound, if that is
 * shorter). next_us (may be NULL): how long until the next call. An unreachable session is not an
 * error here: it ends at its bound. */
HF_API HF_MUST_USE hf_status hf_manager_poll(hf_manager *manager, int64_t *next_us, hf_error *err);

/* Starts a thread that polls. It blocks all signals. Stopping twice or without a start is harmless.
 * */
HF_API HF_MUST_USE hf_status hf_manager_keeper_start(hf_manager *manager, hf_error *err);
HF_API void hf_manager_keeper_stop(hf_manager *manager);

HF_END_DECLS

#endif
