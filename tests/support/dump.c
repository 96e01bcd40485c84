/* SPDX-License-Identifier: MIT */
/* Writes answers as text and looks for what no answer may have. */
#include <stdlib.h>
#include <string.h>
#include <support/check.h>
#include <support/dump.h>

enum { PAGE = 64 }; /* stores make room for a whole page, and a dump is made often */

static const char *or_dash(const char *text)
{
    return text ? text : "-";
}

static void dump_names(FILE *out, const hf_op *op)
{
    fprintf(out, " session=%s replaces=%s of=%s/%s", op->session ? op->session->id : "-",
            op->replaces ? op->replaces->id : "-", or_dash(op->type), or_dash(op->id));
    fprintf(out, " target=%s user=%s name=%s actor=%s caller=%s", or_dash(op->target),
            or_dash(op->user), or_dash(op->name), or_dash(op->actor), or_dash(op->caller));
    fprintf(out, " purpose=%s text=%s request=%s", or_dash(op->purpose), or_dash(op->text),
            or_dash(op->request_id));
}

void dump_op(FILE *out, const hf_op *op)
{
    fprintf(out, "%s%s", hf_op_kind_name(op->kind), op->linked ? " linked" : "");
    dump_names(out, op);
    fprintf(out, " mode=%d policy=%d ttl=%lld max=%lld idle=%lld fence=%lld", (int)op->mode,
            (int)op->policy, (long long)op->ttl_us, (long long)op->ttl_max_us,
            (long long)op->idle_us, (long long)op->fence);
    fprintf(out, " version=%lld%s%s", (long long)op->version, op->absent ? " absent" : "",
            op->gone ? " gone" : "");
    fprintf(out, " token=%s roles=%s users=%s event=%d keep=%lld/%lld", or_dash(op->token),
            or_dash(op->roles), or_dash(op->users), (int)op->event, (long long)op->keep_events_us,
            (long long)op->keep_forced_us);
    static const hf_cursor start;
    const hf_cursor *after = op->after == NULL ? &start : op->after;
    fprintf(out, " after=%s/%s/%s after_seq=%lld limit=%zu\n", after->resource.type,
            after->resource.id, after->session, (long long)op->after_seq, op->limit);
}

void dump_lock(FILE *out, const hf_lock *lock)
{
    fprintf(out,
            "  lock %s/%s %s fence=%lld since=%lld expires=%lld ends=%lld \"%s\" by %s %s \"%s\"\n",
            lock->resource.type, lock->resource.id, hf_mode_name(lock->mode),
            (long long)lock->fence, (long long)lock->since_us, (long long)lock->expires_us,
            (long long)lock->ends_us, lock->purpose, lock->session, lock->user, lock->name);
}

static void dump_request(FILE *out, const hf_request *it)
{
    fprintf(out, "  request %s/%s by %s %s \"%s\" \"%s\" at=%lld\n", it->resource.type,
            it->resource.id, it->session, it->user, it->name, it->message, (long long)it->at_us);
}

static void dump_lost(FILE *out, const hf_lost *it)
{
    fprintf(out, "  lost %s/%s fence=%lld %s by \"%s\" \"%s\" at=%lld\n", it->resource.type,
            it->resource.id, (long long)it->fence, it->why, it->by, it->reason,
            (long long)it->at_us);
}

static void dump_version(FILE *out, const hf_version *it)
{
    fprintf(out, "  version %s/%s %lld fence=%lld at=%lld%s by %s %s \"%s\"\n", it->resource.type,
            it->resource.id, (long long)it->number, (long long)it->fence, (long long)it->saved_us,
            it->gone ? " gone" : "", it->session, it->user, it->name);
}

/* A server names the token it was called with where no caller was named: that is no difference. */
static void dump_session(FILE *out, const hf_session_info *it)
{
    bool of_server = strspn(it->token, "0123456789abcdef") == HF_TOKEN_ID_MAX;
    fprintf(out, "  session %s %s \"%s\" idle=%lld opened=%lld expires=%lld ended=%lld token=%s\n",
            it->id, it->user, it->name, (long long)it->idle_us, (long long)it->opened_us,
            (long long)it->expires_us, (long long)it->ended_us, of_server ? "" : it->token);
}

static void dump_type(FILE *out, const hf_type *it)
{
    fprintf(out, "  type %s %s ttl=%lld max=%lld\n", it->type, hf_policy_name(it->policy),
            (long long)it->ttl_us, (long long)it->ttl_max_us);
}

static void dump_token(FILE *out, const hf_token *it)
{
    fprintf(out, "  token %s \"%s\" \"%s\" \"%s\" created=%lld expires=%lld revoked=%lld\n", it->id,
            it->name, it->roles, it->users, (long long)it->created_us, (long long)it->expires_us,
            (long long)it->revoked_us);
}

void dump_event(FILE *out, const hf_event *it)
{
    fprintf(out, "  event %lld at=%lld %s %s/%s session=%s user=%s actor=%s fence=%lld \"%s\"\n",
            (long long)it->seq, (long long)it->at_us, hf_event_kind_name(it->kind),
            it->resource.type, it->resource.id, it->session, it->user, it->actor,
            (long long)it->fence, it->reason);
}

void dump_answer(FILE *out, const hf_op *op)
{
    const hf_answer *it = &op->answer;
    fprintf(out,
            " %s outcome=%d now=%lld locks=%zu swept=%zu more=%d first_seq=%lld last_seq=%lld "
            "next=%s/%s/%s %s\n",
            hf_status_wire(it->status), (int)it->outcome, (long long)it->now_us, it->locks_count,
            it->swept, it->more, (long long)it->first_seq, (long long)it->last_seq,
            it->next ? it->next->resource.type : "", it->next ? it->next->resource.id : "",
            it->next ? it->next->session : "", it->message ? it->message : "");
    for (size_t i = 0; it->locks && i < it->locks_count; i++)
        dump_lock(out, &it->locks[i]);
    for (size_t i = 0; i < it->requests_count; i++)
        dump_request(out, &it->requests[i]);
    for (size_t i = 0; i < it->lost_count; i++)
        dump_lost(out, &it->lost[i]);
    for (size_t i = 0; i < it->versions_count; i++)
        dump_version(out, &it->versions[i]);
    for (size_t i = 0; i < it->sessions_count; i++)
        dump_session(out, &it->sessions[i]);
    for (size_t i = 0; i < it->types_count; i++)
        dump_type(out, &it->types[i]);
    for (size_t i = 0; i < it->tokens_count; i++)
        dump_token(out, &it->tokens[i]);
    for (size_t i = 0; i < it->counts_count; i++)
        fprintf(out, "  count %s %zu\n", it->counts[i].type, it->counts[i].locks);
    if (it->total_locks || it->total_sessions)
        fprintf(out, "  total locks=%zu sessions=%zu\n", it->total_locks, it->total_sessions);
    for (size_t i = 0; i < it->events_count; i++)
        dump_event(out, &it->events[i]);
}

/* Executes the batch's one op, which must be answered. */
static const hf_answer *read_one(hf_store *store, hf_batch *batch)
{
    hf_error err = {0};
    expect(HF_OK, hf_store_execute(store, batch, &err), err);
    const hf_answer *answer = &hf_batch_op(batch, 0)->answer;
    expect_status(HF_OK, answer->status, answer->message);
    return answer;
}

static void dump_waiting(FILE *out, hf_store *store, const hf_resource *resource)
{
    hf_error err = {0};
    hf_batch *batch = NULL;
    expect(HF_OK, hf_batch_new(1, &batch, &err), err);
    hf_op *who = hf_batch_add(batch, HF_OP_WHO);
    who->type = resource->type;
    who->id = resource->id;
    const hf_answer *answer = read_one(store, batch);
    for (size_t i = 0; i < answer->requests_count; i++)
        dump_request(out, &answer->requests[i]);
    hf_batch_free(batch);
}

static void dump_locks(FILE *out, hf_store *store, hf_batch *batch)
{
    hf_cursor after = {0};
    hf_resource last = {0};
    for (bool more = true; more;) {
        hf_batch_clear(batch);
        hf_op *list = hf_batch_add(batch, HF_OP_LIST);
        list->after = &after;
        list->limit = PAGE;
        const hf_answer *answer = read_one(store, batch);
        for (size_t i = 0; i < answer->locks_count; i++) {
            dump_lock(out, &answer->locks[i]);
            if (hf_resource_compare(&last, &answer->locks[i].resource) != 0)
                dump_waiting(out, store, &answer->locks[i].resource);
            last = answer->locks[i].resource;
        }
        if (answer->next != NULL)
            after = *answer->next;
        more = answer->more;
    }
}

static void dump_sessions(FILE *out, hf_store *store, hf_batch *batch)
{
    hf_cursor after = {0};
    for (bool more = true; more;) {
        hf_batch_clear(batch);
        hf_op *list = hf_batch_add(batch, HF_OP_SESSIONS);
        list->after = &after;
        list->limit = PAGE;
        const hf_answer *answer = read_one(store, batch);
        for (size_t i = 0; i < answer->sessions_count; i++)
            dump_session(out, &answer->sessions[i]);
        if (answer->next != NULL)
            after = *answer->next;
        more = answer->more;
    }
}

static void dump_types(FILE *out, hf_store *store, hf_batch *batch)
{
    hf_batch_clear(batch);
    hf_batch_add(batch, HF_OP_TYPES);
    const hf_answer *answer = read_one(store, batch);
    for (size_t i = 0; i < answer->types_count; i++)
        dump_type(out, &answer->types[i]);
}

static void dump_tokens(FILE *out, hf_store *store, hf_batch *batch)
{
    hf_cursor after = {0};
    for (bool more = true; more;) {
        hf_batch_clear(batch);
        hf_op *list = hf_batch_add(batch, HF_OP_TOKENS);
        list->after = &after;
        list->limit = PAGE;
        const hf_answer *answer = read_one(store, batch);
        for (size_t i = 0; i < answer->tokens_count; i++)
            dump_token(out, &answer->tokens[i]);
        if (answer->next != NULL)
            after = *answer->next;
        more = answer->more;
    }
}

static void dump_events(FILE *out, hf_store *store, hf_batch *batch)
{
    size_t got = 0;
    int64_t after = 0;
    do {
        hf_batch_clear(batch);
        hf_op *events = hf_batch_add(batch, HF_OP_EVENTS);
        events->after_seq = after;
        events->limit = PAGE;
        const hf_answer *answer = read_one(store, batch);
        got = answer->events_count;
        for (size_t i = 0; i < got; i++) {
            expect_true(answer->events[i].seq > after);
            dump_event(out, &answer->events[i]);
            after = answer->events[i].seq;
        }
    } while (got);
}

char *dump_store(hf_store *store, unsigned parts)
{
    char *text = NULL;
    size_t size = 0;
    hf_error err = {0};
    hf_batch *batch = NULL;
    expect(HF_OK, hf_batch_new(1, &batch, &err), err);
    FILE *out = open_memstream(&text, &size);
    if (parts & DUMP_LOCKS)
        dump_locks(out, store, batch);
    if (parts & DUMP_SESSIONS)
        dump_sessions(out, store, batch);
    if (parts & DUMP_TYPES)
        dump_types(out, store, batch);
    if (parts & DUMP_TOKENS)
        dump_tokens(out, store, batch);
    if (parts & DUMP_EVENTS)
        dump_events(out, store, batch);
    fclose(out);
    hf_batch_free(batch);
    return text;
}

/* Is the text ended, and is all after its end zero? */
static bool dump_clean(const char *text, size_t size)
{
    size_t length = strnlen(text, size);
    if (length == size)
        return false;
    for (size_t i = length; i < size; i++)
        if (text[i])
            return false;
    return true;
}

#define CLEAN(field) dump_clean((field), sizeof(field))

static bool clean_resource(const hf_resource *it)
{
    return CLEAN(it->type) && CLEAN(it->id);
}

static const char *lock_flaw(const hf_op *op, const hf_lock *it)
{
    if (!clean_resource(&it->resource) || !CLEAN(it->purpose) || !CLEAN(it->session) ||
        !CLEAN(it->user) || !CLEAN(it->name))
        return "a lock has bytes after the end of a text";
    if (it->mode != HF_EXCLUSIVE && it->mode != HF_SHARED)
        return "a lock's mode is neither";
    if (it->fence <= 0 || it->since_us <= 0 || !it->session[0] || !it->user[0] || !it->name[0])
        return "a lock lacks its fence, time or names";
    if (it->ends_us && it->expires_us > it->ends_us)
        return "a lock expires after its own bound";
    if (op->kind != HF_OP_RELEASE && op->kind != HF_OP_FORCE_RELEASE &&
        it->expires_us <= op->answer.now_us)
        return "a dead lock is shown as live";
    return NULL;
}

static const char *rows_flaw(const hf_op *op)
{
    const hf_answer *it = &op->answer;
    for (size_t i = 0; it->locks && i < it->locks_count; i++)
        if (lock_flaw(op, &it->locks[i]))
            return lock_flaw(op, &it->locks[i]);
    for (size_t i = 0; i < it->requests_count; i++) {
        const hf_request *row = &it->requests[i];
        if (!clean_resource(&row->resource) || !CLEAN(row->session) || !CLEAN(row->user) ||
            !CLEAN(row->name) || !CLEAN(row->message))
            return "a request has bytes after the end of a text";
    }
    for (size_t i = 0; i < it->lost_count; i++) {
        const hf_lost *row = &it->lost[i];
        if (!clean_resource(&row->resource) || !CLEAN(row->why) || !CLEAN(row->by) ||
            !CLEAN(row->reason))
            return "a lost lock has bytes after the end of a text";
        if (strcmp(row->why, "forced") != 0 && strcmp(row->why, "expired") != 0)
            return "a lock was lost for no known reason";
    }
    for (size_t i = 0; i < it->versions_count; i++) {
        const hf_version *row = &it->versions[i];
        if (!clean_resource(&row->resource) || !CLEAN(row->session) || !CLEAN(row->user) ||
            !CLEAN(row->name))
            return "a version has bytes after the end of a text";
        if (row->number <= 0 || row->fence <= 0 || row->saved_us <= 0 || !row->user[0] ||
            !row->name[0])
            return "a version lacks its number, fence, time or who saved it";
    }
    for (size_t i = 0; i < it->sessions_count; i++) {
        const hf_session_info *row = &it->sessions[i];
        if (!CLEAN(row->id) || !CLEAN(row->user) || !CLEAN(row->name) || !CLEAN(row->token))
            return "a session has bytes after the end of a text";
    }
    for (size_t i = 0; i < it->tokens_count; i++) {
        const hf_token *row = &it->tokens[i];
        if (!CLEAN(row->id) || !CLEAN(row->name) || !CLEAN(row->roles) || !CLEAN(row->users))
            return "a token has bytes after the end of a text";
        if (!row->id[0] || !row->name[0] || !row->roles[0] || row->created_us <= 0)
            return "a token lacks its id, name, roles or time";
    }
    for (size_t i = 0; i < it->counts_count; i++) {
        if (!CLEAN(it->counts[i].type))
            return "a count has bytes after the end of a text";
        if (it->counts[i].locks == 0 ||
            (i > 0 && strcmp(it->counts[i - 1].type, it->counts[i].type) >= 0))
            return "a count is of nothing or out of order";
    }
    for (size_t i = 0; i < it->events_count; i++) {
        const hf_event *row = &it->events[i];
        if (!clean_resource(&row->resource) || !CLEAN(row->session) || !CLEAN(row->user) ||
            !CLEAN(row->actor) || !CLEAN(row->reason))
            return "an event has bytes after the end of a text";
        if (row->seq <= 0 || row->kind < 0 || row->kind >= HF_EVENT_KINDS)
            return "an event has no number or kind";
    }
    return NULL;
}

static bool dump_has(const void *block, size_t size, const char *secret)
{
    return block && size && memmem(block, size, secret, strlen(secret));
}

static bool dump_tells(const hf_answer *it, const char *secret)
{
    return dump_has(it->message, it->message ? strlen(it->message) : 0, secret) ||
           dump_has(it->locks, it->locks_count * sizeof *it->locks, secret) ||
           dump_has(it->requests, it->requests_count * sizeof *it->requests, secret) ||
           dump_has(it->lost, it->lost_count * sizeof *it->lost, secret) ||
           dump_has(it->versions, it->versions_count * sizeof *it->versions, secret) ||
           dump_has(it->sessions, it->sessions_count * sizeof *it->sessions, secret) ||
           dump_has(it->tokens, it->tokens_count * sizeof *it->tokens, secret) ||
           dump_has(it->events, it->events_count * sizeof *it->events, secret) ||
           dump_has(&it->next, sizeof it->next, secret);
}

const char *answer_flaw(const hf_op *op, const hf_credentials *secrets, size_t secrets_count)
{
    const hf_answer *it = &op->answer;
    if (it->status < 0 || it->status >= HF_STATUS_COUNT)
        return "the status is not one of the table's";
    if (it->status == HF_OK && it->message)
        return "a sentence came with ok";
    if (it->status != HF_OK && (!it->message || !it->message[0]))
        return "a refusal came without a sentence";
    for (size_t i = 0; i < secrets_count; i++)
        if (dump_tells(it, secrets[i].key))
            return "a key is in the answer";
    return rows_flaw(op);
}
