/* SPDX-License-Identifier: MIT */
/* A session: one person's piece of work, and the owner of locks. Threads may share a handle.
 * Acquiring never waits for a holder: it answers at once who holds the lock. Every changing call
 * carries a request id. When the store's answer is unsure, the call asks once more with the same
 * id, unless two seconds have passed. HF_UNSURE therefore means that it could not be settled
 * now. */
#ifndef HOLDFAST_SESSION_H
#define HOLDFAST_SESSION_H

#include <holdfast/manager.h>

HF_BEGIN_DECLS

typedef struct hf_session_options {
    const char *user;       /* required: who it is */
    const char *name;       /* display name; the user when NULL */
    int64_t idle_us;        /* it expires after this long without a beat; 0: HF_IDLE_DEFAULT_US */
    const char *key;        /* the caller's own secret, hex; drawn at random when NULL */
    const char *replaces;   /* "ID.KEY" of an older session; its locks are released too */
    const char *request_id; /* repeating the call with the same id and key settles an unsure open */
} hf_session_options;

/* Opens a session in the store. */
HF_API HF_MUST_USE hf_status hf_session_open(hf_manager *manager, const hf_session_options *options,
                                             hf_session **out, hf_error *err);

/* A handle on a session that was opened elsewhere, by its "ID.KEY". Beats once to see that it
 * lives. */
HF_API HF_MUST_USE hf_status hf_session_attach(hf_manager *manager, const char *id_and_key,
                                               hf_session **out, hf_error *err);

/* Frees the handle. The session lives on in the store until it is closed or its bound comes.
 * Accepts NULL. */
HF_API void hf_session_free(hf_session *session);

/* The public id; borrowed. */
HF_API const char *hf_session_id(const hf_session *session);
/* Id, key and hash; borrowed, secret. */
HF_API const hf_credentials *hf_session_credentials(const hf_session *session);
/* As of the last answer from the store. */
HF_API void hf_session_describe(hf_session *session, hf_session_info *out);

/* Renews the session: moves its idle bound. HF_EXPIRED: it has ended, and cannot be revived. out
 * (may be NULL): answer.sessions[0], locks_count live locks, lost, requests. Calls the listeners
 * too. */
HF_API HF_MUST_USE hf_status hf_session_beat(hf_session *session, hf_result **out, hf_error *err);

/* Ends the session and releases all its locks. Closing an ended session is HF_OK. The handle must
 * still be freed. In the caller's own transaction the session ends with the commit, and the
 * listeners are called on the next beat. */
HF_API HF_MUST_USE hf_status hf_session_close(hf_session *session, hf_error *err);

typedef struct hf_acquire_options {
    hf_mode mode; /* HF_EXCLUSIVE when zero */
    /* absolute bound from now; 0: the type's default, else its longest, else none */
    int64_t ttl_us;
    const char *purpose; /* shown to whoever is refused */
    const char *request_id;
} hf_acquire_options;

/* Acquires a lock. HF_OK: it is yours, in *out (may be NULL). HF_LOCKED: err->holder says who holds
 * it. Acquiring a lock you hold is harmless: the fence, the bound and the purpose stay, and the
 * mode never gets weaker. A shared lock becomes exclusive (with a new fence) when you are the only
 * reader. options may be NULL. */
HF_API HF_MUST_USE hf_status hf_session_acquire(hf_session *session, const hf_resource *resource,
                                                const hf_acquire_options *options, hf_lock *out,
                                                hf_error *err);

/* Acquires all or none, in canonical order. out (may be NULL) has an answer per resource, in the
 * order given. A resource named twice: HF_INVALID. HF_LOCKED: err is about the first blocked one in
 * canonical order, and *out is left as it was. */
HF_API HF_MUST_USE hf_status hf_session_acquire_all(hf_session *session,
                                                    const hf_resource *resources, size_t count,
                                                    const hf_acquire_options *options,
                                                    hf_result **out, hf_error *err);

/* Sets a new absolute bound, counted from now; ttl_us 0 gives the type's default, else its longest,
 * else none. purpose NULL keeps the old one. HF_NOT_HELD: the lock is no longer yours; renewing
 * never acquires it again. out may be NULL. */
HF_API HF_MUST_USE hf_status hf_session_renew(hf_session *session, const hf_resource *resource,
                                              int64_t ttl_us, const char *purpose, hf_lock *out,
                                              hf_error *err);

/* Exclusive becomes shared; the fence stays. */
HF_API HF_MUST_USE hf_status hf_session_downgrade(hf_session *session, const hf_resource *resource,
                                                  hf_lock *out, hf_error *err);

/* Releases a lock. fence 0: the live grant; otherwise the live grant must have that fence.
 * HF_NOT_HELD: it was lost before. */
HF_API HF_MUST_USE hf_status hf_session_release(hf_session *session, const hf_resource *resource,
                                                int64_t fence, hf_error *err);

/* Releases all locks; *count (may be NULL) says how many. If the first answer was lost and the call
 * was repeated, it is how many were left then. */
HF_API HF_MUST_USE hf_status hf_session_release_all(hf_session *session, size_t *count,
                                                    hf_error *err);

/* Asks the store: does this session hold it now, and (fence not 0) by that grant? */
HF_API HF_MUST_USE hf_status hf_session_holds(hf_session *session, const hf_resource *resource,
                                              int64_t fence, hf_lock *out, hf_error *err);

/* Decides locally, without asking the store: true if the lock was granted through this handle and
 * cannot have expired yet. Time is CLOCK_BOOTTIME, counted from when the last acknowledged beat was
 * sent. True does not exclude a forced release: check the fence when writing. A lock granted inside
 * the application's own transaction is always false here, because the handle cannot see whether the
 * transaction committed. */
HF_API bool hf_session_is_held(hf_session *session, const hf_resource *resource);

/* Saves for the session's user. The session keeps its lock, with its fence. Answers as
 * hf_manager_save and hf_manager_save_all do. options may be NULL. */
HF_API HF_MUST_USE hf_status hf_session_save(hf_session *session, const hf_save *save,
                                             const hf_save_options *options, hf_version *out,
                                             hf_error *err);
HF_API HF_MUST_USE hf_status hf_session_save_all(hf_session *session, const hf_set *set,
                                                 const hf_save_options *options, hf_result **out,
                                                 hf_error *err);

/* Asks the holders to release the lock; they see the request on their next beat. message may be
 * NULL. HF_NOT_HELD: nobody else holds it. */
HF_API HF_MUST_USE hf_status hf_session_request(hf_session *session, const hf_resource *resource,
                                                const char *message, hf_error *err);

/* Declines another session's request for a lock that this session holds and keeps. The request is
 * removed, and an event carries the message (may be NULL). HF_NOT_HELD: this session does not hold
 * it. HF_NOT_FOUND: that session has not asked for it. */
HF_API HF_MUST_USE hf_status hf_session_decline(hf_session *session, const hf_resource *resource,
                                                const char *asking_session, const char *message,
                                                hf_error *err);

/* Gives a lock to another live session in one step, with a new fence. The receiver is not notified:
 * it calls hf_session_acquire to learn of the lock, so that hf_session_is_held knows it too. out
 * (may be NULL): the new holder's lock; all zero if the first answer was lost and the new holder's
 * lock was already gone when the call was repeated. */
HF_API HF_MUST_USE hf_status hf_session_hand_over(hf_session *session, const hf_resource *resource,
                                                  const char *to_session, hf_lock *out,
                                                  hf_error *err);

HF_END_DECLS

#endif
