/* SPDX-License-Identifier: MIT */
/* One person's piece of work, the owner of locks. A handle is shared by threads if need be.
 * Acquiring never waits for a holder: it answers at once who stands in the way. Every changing call
 * carries a request id; when the store's answer is unsure the call asks once more with it, unless
 * two seconds have gone by, so HF_UNSURE means that this could not be settled now. */
#ifndef HOLDFAST_SESSION_H
#define HOLDFAST_SESSION_H

#include <holdfast/manager.h>

HF_BEGIN_DECLS

typedef struct hf_session_options {
    const char *user;       /* required: who it is */
    const char *name;       /* display name; the user when NULL */
    int64_t idle_us;        /* dies when it hasn't beaten for that long; 0: HF_IDLE_DEFAULT_US */
    const char *key;        /* the caller's own secret, hex; drawn at random when NULL */
    const char *replaces;   /* "ID.KEY" of older work whose locks are released in the same step */
    const char *request_id; /* asking again with the same id and key settles an unsure open */
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

/* Says that the work goes on: moves the idle bound. HF_EXPIRED: it is dead, and stays so. out (may
 * be NULL): answer.sessions[0], locks_count live locks, lost, requests. Tells the listeners too. */
HF_API HF_MUST_USE hf_status hf_session_beat(hf_session *session, hf_result **out, hf_error *err);

/* Ends the work: every lock is released. Closing what has ended is ok. The handle is still to be
 * freed. In a transaction of the caller's own the session ends with its commit, and the listeners
 * hear of it on the next beat. */
HF_API HF_MUST_USE hf_status hf_session_close(hf_session *session, hf_error *err);

typedef struct hf_acquire_options {
    hf_mode mode; /* HF_EXCLUSIVE when zero */
    /* absolute bound from now; 0: the type's default, else its longest, else none */
    int64_t ttl_us;
    const char *purpose; /* shown to whoever is refused */
    const char *request_id;
} hf_acquire_options;

/* Takes a lock. HF_OK: it is yours, in *out (may be NULL). HF_LOCKED: err->holder says who has it.
 * Acquiring what you hold is harmless: same fence, never a weaker mode, bound and purpose
 * unchanged. Shared becomes exclusive (a new fence) when you are the only reader. options may be
 * NULL. */
HF_API HF_MUST_USE hf_status hf_session_acquire(hf_session *session, const hf_resource *resource,
                                                const hf_acquire_options *options, hf_lock *out,
                                                hf_error *err);

/* Takes all or none, in canonical order. out (may be NULL) has an answer per resource, in the order
 * given. A resource named twice: HF_INVALID. HF_LOCKED: err is about the first blocked one in
 * canonical order, and *out is left as it was. */
HF_API HF_MUST_USE hf_status hf_session_acquire_all(hf_session *session,
                                                    const hf_resource *resources, size_t count,
                                                    const hf_acquire_options *options,
                                                    hf_result **out, hf_error *err);

/* Sets the absolute bound anew, from now; ttl_us 0 gives the type's default, else its longest, else
 * none. purpose NULL leaves it as it is. HF_NOT_HELD: it isn't yours any more; it is never taken
 * again by this. out may be NULL. */
HF_API HF_MUST_USE hf_status hf_session_renew(hf_session *session, const hf_resource *resource,
                                              int64_t ttl_us, const char *purpose, hf_lock *out,
                                              hf_error *err);

/* Exclusive becomes shared; the fence stays. */
HF_API HF_MUST_USE hf_status hf_session_downgrade(hf_session *session, const hf_resource *resource,
                                                  hf_lock *out, hf_error *err);

/* Gives a lock back. fence 0: the live grant; otherwise it must be that grant. HF_NOT_HELD: it was
 * lost before. */
HF_API HF_MUST_USE hf_status hf_session_release(hf_session *session, const hf_resource *resource,
                                                int64_t fence, hf_error *err);

/* Gives all back; *count (may be NULL) says how many; when the answer was lost and it was asked
 * again, how many were left then. */
HF_API HF_MUST_USE hf_status hf_session_release_all(hf_session *session, size_t *count,
                                                    hf_error *err);

/* Asks the store: does this session hold it now, and (fence not 0) by that grant? */
HF_API HF_MUST_USE hf_status hf_session_holds(hf_session *session, const hf_resource *resource,
                                              int64_t fence, hf_lock *out, hf_error *err);

/* Judged here, without asking: it was granted through this handle, and by CLOCK_BOOTTIME, counted
 * from when the last acknowledged beat was sent, it can't have run out yet. False is certain to be
 * safe; true can't see a forced release: what is written is protected by the fence. What was
 * granted inside the application's own transaction is never believed: the handle can't see whether
 * it committed. */
HF_API bool hf_session_is_held(hf_session *session, const hf_resource *resource);

/* Saves for the session's user; a lock that the session holds stays, with its fence. Answers as
 * hf_manager_save and hf_manager_save_all do. options may be NULL. */
HF_API HF_MUST_USE hf_status hf_session_save(hf_session *session, const hf_save *save,
                                             const hf_save_options *options, hf_version *out,
                                             hf_error *err);
HF_API HF_MUST_USE hf_status hf_session_save_all(hf_session *session, const hf_set *set,
                                                 const hf_save_options *options, hf_result **out,
                                                 hf_error *err);

/* Asks whoever holds it to let go; they see it on their next beat. message may be NULL.
 * HF_NOT_HELD: nobody else holds it. */
HF_API HF_MUST_USE hf_status hf_session_request(hf_session *session, const hf_resource *resource,
                                                const char *message, hf_error *err);

/* Declines the request of another session for what this one holds; the lock stays. The request
 * is no longer shown, and the event says why not. message may be NULL. HF_NOT_HELD: this session
 * does not hold it; HF_NOT_FOUND: that session does not ask for it. */
HF_API HF_MUST_USE hf_status hf_session_decline(hf_session *session, const hf_resource *resource,
                                                const char *asking_session, const char *message,
                                                hf_error *err);

/* Gives a lock to another live session in one step, with a new fence. The receiver isn't told; it
 * acquires, which is harmless, to learn of it and to believe in it. out (may be NULL): the new
 * holder's lock; all zero when it was done, its answer lost, and the new holder's lock gone by the
 * time it was asked again. */
HF_API HF_MUST_USE hf_status hf_session_hand_over(hf_session *session, const hf_resource *resource,
                                                  const char *to_session, hf_lock *out,
                                                  hf_error *err);

HF_END_DECLS

#endif
