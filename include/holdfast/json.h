/* SPDX-License-Identifier: MIT */
/* The JSON of the command line and of HTTP, /v1/batch included, for programs that pass it on. Each
 * returns a new string to be freed with hf_json_free, or NULL when out of memory. Times are RFC
 * 3339 UTC, durations numbers of seconds. What there is not is null, but "purpose" and "message"
 * are "" then. */
#ifndef HOLDFAST_JSON_H
#define HOLDFAST_JSON_H

#include <holdfast/batch.h>

HF_BEGIN_DECLS

HF_API void hf_json_free(char *json);

/* {"resource","mode","fence","since","expires","ends","purpose","session","user","name"}: "ends" is
 * the lock's own bound */
HF_API char *hf_lock_json(const hf_lock *lock);

/* The lock in the answer to an acquire. If the resource was ever saved, also "version", and "gone"
 * where it is true. */
HF_API char *hf_acquired_json(const hf_answer *answer);

/* {"resource","version","fence","saved","session","user","name","gone"}; never saved: "version" is
 * 0, "gone" false and the rest null */
HF_API char *hf_version_json(const hf_version *version);

/* {"versions":[...]} */
HF_API char *hf_versions_json(const hf_version *versions, size_t count);

/* {"id","user","name","idle_seconds","opened","expires","ended","token","key"}; "token" is the id
 * of the token that opened it; key only when not NULL: shown once, on opening. */
HF_API char *hf_session_json(const hf_session_info *session, const char *key);

/* {"locks":[...]}, with "next" when `more`. If the answer has versions, in the order of the locks,
 * each lock is written as by hf_acquired_json. */
HF_API char *hf_locks_json(const hf_answer *answer);

/* {"resource","holders":[...],"requests":[...]} */
HF_API char *hf_who_json(const hf_resource *resource, const hf_answer *answer);

/* {"expires","locks":N,"lost":[...],"requests":[...]}; what was lost is
 * {"resource","fence","why","by","reason","at"}, a request
 * {"resource","session","user","name","message","at"} */
HF_API char *hf_beat_json(const hf_answer *answer);

/* One resource that blocked a set of saves. */
typedef struct hf_conflict {
    hf_resource resource;
    int64_t expected; /* the version that was read; 0: none */
    const hf_answer *answer;
} hf_conflict;

/* The parts of a refusal. Those that are NULL or 0 are left out, except the holders. */
typedef struct hf_refusal {
    hf_status status;
    const char *message;
    const char *resource; /* "type/id" */
    const hf_lock *holders;
    size_t holders_count;
    const hf_version *present; /* the current version, if the save was stale */
    const hf_conflict *conflicts;
    size_t conflicts_count;
} hf_refusal;

/* {"code","message","resource","holders":[...],"present":{...},"conflicts":[...]}; a conflict is
 * {"resource","code","message","expected","present"}, present null if nothing was ever saved. */
HF_API char *hf_refusal_json(const hf_refusal *refusal);

/* The same as problem details (RFC 9457): with "type", "title", "status" and "detail". http 0: the
 * HTTP code of the status. */
HF_API char *hf_problem_json(int http, const hf_refusal *refusal);

/* {"sessions":[...]}, {"tokens":[...]}, {"events":[...]}; the first two with "next" when `more` */
HF_API char *hf_sessions_json(const hf_answer *answer);
HF_API char *hf_tokens_json(const hf_answer *answer);
HF_API char *hf_events_json(const hf_answer *answer);

/* {"type","policy","ttl_seconds","max_ttl_seconds"} and {"types":[...]} */
HF_API char *hf_type_json(const hf_type *type);
HF_API char *hf_types_json(const hf_answer *answer);

/* {"seq","at","kind","resource","session","user","actor","fence","reason"}; of an event of a type
 * "resource" is the type alone */
HF_API char *hf_event_json(const hf_event *event);

/* {"id","name","roles","users","created","expires","revoked"}: roles as text, users null when it
 * may name any */
HF_API char *hf_token_json(const hf_token *token);

/* {"id","token"}: the only time that the secret is shown. */
HF_API char *hf_token_key_json(const hf_token_key *key);

HF_END_DECLS

#endif
