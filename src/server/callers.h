/* SPDX-License-Identifier: MIT */
/* Who asks: tokens and sessions are rows of the store, kept here for a moment so that most requests
 * need no look. Runs on the loop; looks at the store by jobs, and never waits for it.
 *
 *   W1  A token is believed for CALLERS_FRESH_US from when the store was asked, no longer: what was
 *       revoked anywhere is refused then. One that is in use is asked for anew at half that age,
 *       while the old answer still counts.
 *   W2  When the store does not answer, nobody is known: what it came to is the answer.
 *   W3  A secret that no token has is remembered as long, in a small table of its own; wrong ones
 *       can't crowd out right ones.
 *   W4  Of secrets and keys only hashes are kept, compared in constant time and wiped.
 *   W5  However many ask for the same token at once, the store is asked once.
 *   W6  Before several sessions are looked up for one who presents no token that counts, `may_look`
 *       is asked: looks come before it is known who asks, so they have to be paid for by someone.
 *       One session is looked up for everyone. */
#ifndef HF_SERVER_CALLERS_H
#define HF_SERVER_CALLERS_H

#include "server/jobs.h"
#include "server/rights.h"

typedef struct callers callers;

enum {
    CALLERS_FRESH_US = 500000,
    /* what a session is does not change; that it lives is looked at again after so long */
    CALLERS_SESSION_US = 60000000,
    CALLERS_TOKENS_MAX = 4096,
    CALLERS_UNKNOWN_MAX = 1024,
    CALLERS_SESSIONS_MAX = 65536,
};

typedef struct callers_settings {
    jobs *jobs; /* borrowed until callers_free */
    /* of the store that has the tokens, where that is another; NULL: it is not */
    jobs *tokens_jobs;
    size_t tokens_max, unknown_max, sessions_max; /* 0: CALLERS_..._MAX */
    /* Tokens that callers_token_lives is asked for again and again; room for them comes on top of
     * tokens_max. */
    size_t streams_max;
} callers_settings;

typedef struct callers_stats {
    size_t tokens, unknown,
        sessions;   /* kept now; a token counts twice that is presented and has opened sessions */
    uint64_t hits;  /* tokens and sessions that were known */
    uint64_t looks; /* ... that the store was asked for */
} callers_stats;

hf_status callers_new(const callers_settings *settings, callers **out, hf_error *err);
/* Nothing may be under way: after jobs_drain. Accepts NULL. */
void callers_free(callers *all);

/* Finds out who it is and calls who->done, at once when all is known. `who` and what it names stay
 * where they are until then. */
void callers_resolve(callers *all, caller *who);

/* What this server did to the store, so that it counts here at once. A session was opened: it is
 * known without a look. */
void callers_note_session(callers *all, const hf_credentials *session, const hf_session_info *info);
/* ... or ended. */
void callers_forget_session(callers *all, const char *id);
/* A token was made: its secret is no longer unknown. */
void callers_note_token(callers *all, const unsigned char sha256[32]);
/* ... or revoked. */
void callers_forget_token(callers *all, const char *id);

/* Whether the token with that id lives, as far as is known now. What is known is never older than
 * CALLERS_FRESH_US and what a look takes when this is asked again and again, as for those who stay
 * longer than a request, of streams_max tokens at most. While the store does not answer, what was
 * known stands, but that it is unknown or was revoked only for CALLERS_FRESH_US from when the
 * answer came: then it lives until the store has said so again. */
bool callers_token_lives(callers *all, const char *id);

void callers_stats_read(const callers *all, callers_stats *out);

#endif
