/* SPDX-License-Identifier: MIT */
/* Batches: making them, and checking every op at the door. One table says what each kind is called,
 * needs and does. */
#include "lock/batch.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "lock/names.h"

#include <stdio.h>
#include <string.h>

enum {
    SESSION = 1,     /* needs a session's id and key */
    RESOURCE = 2,    /* needs type and id */
    TYPE = 4,        /* needs a type */
    USER = 8,        /* needs a user */
    TARGET = 16,     /* needs a target session */
    REASON = 32,     /* needs a text, and an actor or a session */
    POLICY = 64,     /* needs a policy */
    ALONE = 128,     /* a batch of its own */
    READS = 256,     /* changes nothing */
    GROWS = 512,     /* needs room on disk */
    TOKEN = 1024,    /* needs a token's id */
    SECRET = 2048,   /* needs the hash of a token's secret */
    ROLES = 4096,    /* needs a name and roles */
    NOTE = 8192,     /* needs a kind of event and a text */
    FOUND = 16384,   /* needs a token's id or the hash of its secret, not both */
    VERSION = 32768, /* takes an expected version, or absent */
    PROVED = 131072, /* needs a session's id and key, or a target with a proof, not both */
    SAVER = 65536,   /* needs a session or a user, not both */
};

static const struct {
    const char *name;
    unsigned traits;
} kinds[HF_OP_KINDS] = {
    [HF_OP_SESSION_OPEN] = {"session-open", SESSION | USER | GROWS},
    [HF_OP_BEAT] = {"beat", SESSION},
    [HF_OP_CLOSE] = {"close", SESSION},
    [HF_OP_ACQUIRE] = {"acquire", SESSION | RESOURCE | GROWS},
    [HF_OP_RENEW] = {"renew", SESSION | RESOURCE},
    [HF_OP_DOWNGRADE] = {"downgrade", SESSION | RESOURCE},
    [HF_OP_RELEASE] = {"release", SESSION | RESOURCE},
    [HF_OP_RELEASE_ALL] = {"release-all", SESSION},
    [HF_OP_HOLDS] = {"holds", SESSION | RESOURCE | READS},
    [HF_OP_WHO] = {"who", RESOURCE | READS},
    [HF_OP_REQUEST] = {"request", SESSION | RESOURCE | GROWS},
    [HF_OP_HAND_OVER] = {"hand-over", SESSION | RESOURCE | TARGET},
    [HF_OP_DECLINE] = {"decline", SESSION | RESOURCE | TARGET},
    [HF_OP_FORCE_RELEASE] = {"force-release", RESOURCE | REASON},
    [HF_OP_TYPE_GET] = {"type-get", TYPE | READS},
    [HF_OP_NOTE] = {"note", NOTE | GROWS},
    [HF_OP_SESSION_FIND] = {"session-find", PROVED | READS},
    [HF_OP_VERSION] = {"version", RESOURCE | VERSION | READS},
    [HF_OP_SAVE] = {"save", RESOURCE | VERSION | SAVER | GROWS},
    [HF_OP_TYPE_SET] = {"type-set", TYPE | POLICY | ALONE | GROWS},
    [HF_OP_TYPES] = {"types", ALONE | READS},
    [HF_OP_LIST] = {"list", ALONE | READS},
    [HF_OP_SESSIONS] = {"sessions", ALONE | READS},
    [HF_OP_EVENTS] = {"events", ALONE | READS},
    [HF_OP_SWEEP] = {"sweep", ALONE},
    [HF_OP_TOKEN_CREATE] = {"token-create", TOKEN | SECRET | ROLES | ALONE | GROWS},
    [HF_OP_TOKEN_FIND] = {"token-find", FOUND | ALONE | READS},
    [HF_OP_TOKENS] = {"tokens", ALONE | READS},
    [HF_OP_TOKEN_REVOKE] = {"token-revoke", TOKEN | ALONE},
    [HF_OP_COUNT] = {"count", ALONE | READS},
};

static unsigned traits_of(hf_op_kind kind)
{
    return (unsigned)kind < HF_OP_KINDS ? kinds[kind].traits : 0;
}

bool hf_op_alone(hf_op_kind kind)
{
    return traits_of(kind) & ALONE;
}
bool hf_op_reads(hf_op_kind kind)
{
    return traits_of(kind) & READS;
}
bool hf_op_grows(hf_op_kind kind)
{
    return traits_of(kind) & GROWS;
}
bool hf_op_ends(hf_op_kind kind)
{
    return kind == HF_OP_RELEASE || kind == HF_OP_RELEASE_ALL || kind == HF_OP_HAND_OVER ||
           kind == HF_OP_DECLINE;
}
bool hf_op_leaves_end(const hf_op *op)
{
    return hf_op_ends(op->kind) && op->request_id != NULL && op->request_id[0] != '\0';
}
const char *hf_op_kind_name(hf_op_kind kind)
{
    return (unsigned)kind < HF_OP_KINDS ? kinds[kind].name : "unknown";
}

hf_status hf_batch_new(size_t capacity, hf_batch **out, hf_error *err)
{
    if (capacity == 0)
        return hf_fail(err, HF_INVALID, "Nothing was asked for: name at least one.");
    if (capacity > HF_BATCH_OPS_MAX)
        return hf_fail(err, HF_TOO_LARGE,
                       "A batch holds 1 to %d operations; %zu were asked for. Split it.",
                       HF_BATCH_OPS_MAX, capacity);
    hf_batch *batch = hf_alloc(sizeof *batch);
    hf_op *ops = hf_alloc(capacity * sizeof *ops);
    if (batch == NULL || ops == NULL) {
        hf_free(batch);
        hf_free(ops);
        return hf_fail_memory(err);
    }
    batch->ops = ops;
    batch->capacity = capacity;
    *out = batch;
    return HF_OK;
}

void hf_batch_free(hf_batch *batch)
{
    if (batch == NULL)
        return;
    hf_arena_done(&batch->arena);
    hf_free(batch->ops);
    hf_free(batch);
}

hf_op *hf_batch_add(hf_batch *batch, hf_op_kind kind)
{
    if (batch->count == batch->capacity)
        return NULL;
    hf_op *op = &batch->ops[batch->count++];
    memset(op, 0, sizeof *op);
    op->kind = kind;
    return op;
}

size_t hf_batch_count(const hf_batch *batch)
{
    return batch->count;
}

hf_op *hf_batch_op(hf_batch *batch, size_t index)
{
    return index < batch->count ? &batch->ops[index] : NULL;
}

void hf_batch_clear(hf_batch *batch)
{
    batch->count = 0;
    hf_arena_reset(&batch->arena);
}

void hf_batch_unanswer(hf_batch *batch)
{
    for (size_t i = 0; i < batch->count; i++)
        memset(&batch->ops[i].answer, 0, sizeof batch->ops[i].answer);
    hf_arena_reset(&batch->arena);
}

hf_status hf_batch_check(hf_batch *batch, hf_error *err)
{
    if (batch->count == 0)
        return hf_fail(err, HF_INVALID, "The batch is empty: add an operation first.");
    for (size_t i = 0; i < batch->count; i++) {
        if ((unsigned)batch->ops[i].kind >= HF_OP_KINDS)
            return hf_fail(err, HF_INVALID, "Operation %zu of the batch is of no known kind.",
                           i + 1);
        if (hf_op_alone(batch->ops[i].kind) && batch->count > 1)
            return hf_fail(err, HF_INVALID, "\"%s\" stands alone: give it a batch of its own.",
                           hf_op_kind_name(batch->ops[i].kind));
    }
    if (batch->ops[batch->count - 1].linked)
        return hf_fail(err, HF_INVALID,
                       "The last operation of a batch can't be linked: nothing follows it.");
    return HF_OK;
}

/* The checks below each answer NULL or the end of a sentence; *what gets its beginning. */

static const char *session_flaw(const hf_op *op, const hf_credentials *checked, unsigned traits,
                                const char **what)
{
    *what = "session";
    if ((traits & SESSION) && op->session == NULL)
        return "is missing: present its id and key";
    if ((traits & PROVED) && (op->session == NULL) == (op->target == NULL))
        return "to find is named by its id and key, or by its id and a proof: give one of both";
    if (op->session != NULL && op->session != checked &&
        hf_session_id_flaw(hf_slice_of(op->session->id)) != NULL)
        return "has an id that is not 32 hex digits in lower case";
    *what = "session to be replaced";
    if (op->replaces != NULL && hf_session_id_flaw(hf_slice_of(op->replaces->id)) != NULL)
        return "has an id that is not 32 hex digits in lower case";
    *what = "target session";
    if ((traits & TARGET) && op->target == NULL)
        return "is missing: give the public id of who is to get the lock";
    const char *flaw = op->target == NULL ? NULL : hf_session_id_flaw(hf_slice_of(op->target));
    if (flaw != NULL || !(traits & PROVED) || op->target == NULL)
        return flaw;
    *what = "proof";
    bool given = op->sha256 != NULL && hf_slice_of(op->text).size > 0;
    return given ? NULL : "is missing: give text and sha256";
}

static const char *count_flaw(const hf_op *op, const char **what)
{
    *what = "count";
    return op->kind == HF_OP_COUNT && op->target != NULL && hf_slice_of(op->caller).size > 0
               ? "is of one session or of one token: name one of both"
               : NULL;
}

static const char *version_flaw(const hf_op *op, unsigned traits, const char **what)
{
    *what = "version";
    if (!(traits & VERSION))
        return NULL;
    if (op->version < 0)
        return "is negative: they count from 1";
    if (op->version != 0 && op->absent)
        return "is given, and absent too: a record is there or it isn't";
    *what = "save";
    if (op->absent && op->gone)
        return "is of something absent, which can't be deleted";
    if ((traits & SAVER) && (op->session == NULL) == (op->user == NULL))
        return "is by a session or by a user: name one of both";
    return op->kind == HF_OP_SAVE && op->fence != 0 && op->session == NULL
               ? "names a fence, which only a session has: name the session too"
               : NULL;
}

static const char *resource_flaw(const hf_op *op, unsigned traits, const char **what)
{
    const char *flaw = NULL;
    *what = "type";
    if ((traits & (RESOURCE | TYPE)) || op->type != NULL)
        flaw = hf_type_flaw(hf_slice_of(op->type));
    if (flaw != NULL)
        return flaw;
    *what = "id";
    if ((traits & NOTE) && op->id != NULL && op->type == NULL)
        return "is given without a type";
    return (traits & RESOURCE) || ((traits & NOTE) && op->id != NULL)
               ? hf_id_flaw(hf_slice_of(op->id))
               : NULL;
}

static const char *texts_flaw(const hf_op *op, unsigned traits, const char **what)
{
    const struct {
        const char *what;
        const char *text;
        bool needed;
        const char *empty; /* NULL: an empty one is the same as none */
    } texts[] = {
        {"user", op->user, (traits & USER) != 0, "is empty: leave it out, or name one"},
        {"name", op->name, (traits & ROLES) != 0, NULL},
        {"purpose", op->purpose, false, NULL},
        {traits & (REASON | NOTE | SAVER) ? "reason" : "message", op->text,
         (traits & (REASON | NOTE)) != 0, NULL},
        {"actor", op->actor, (traits & REASON) && op->session == NULL, NULL},
        {"caller", op->caller, false, NULL},
        {"pattern of users", op->users, false, "is empty: leave it out for all users, or name one"},
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (texts[i].text == NULL && !texts[i].needed)
            continue;
        hf_slice text = hf_slice_of(texts[i].text);
        *what = texts[i].what;
        if (texts[i].needed && text.size == 0)
            return "is missing";
        if (texts[i].empty != NULL && text.size == 0)
            return texts[i].empty;
        const char *flaw = text.size == 0 ? NULL : hf_text_flaw(text);
        if (flaw != NULL)
            return flaw;
    }
    *what = "caller";
    if (hf_slice_of(op->caller).size > HF_CALLER_MAX)
        return "is longer than 64 bytes";
    *what = "request id";
    return op->request_id == NULL ? NULL : hf_request_id_flaw(hf_slice_of(op->request_id));
}

static const char *token_flaw(const hf_op *op, unsigned traits, const char **what)
{
    const char *flaw;
    hf_roles roles;
    *what = "token";
    if (!(traits & (TOKEN | SECRET | ROLES | NOTE | FOUND)))
        return NULL;
    if ((traits & FOUND) && (op->token == NULL) == (op->sha256 == NULL))
        return "to find is named by its id or by the hash of its secret: give one of both";
    if (((traits & TOKEN) || ((traits & FOUND) && op->token != NULL)) &&
        (flaw = hf_token_id_flaw(hf_slice_of(op->token))) != NULL)
        return flaw;
    *what = "hash of the secret";
    if ((traits & SECRET) && op->sha256 == NULL)
        return "is missing";
    *what = "name";
    if ((traits & ROLES) && hf_slice_of(op->name).size > HF_TOKEN_NAME_MAX)
        return "is longer than 200 bytes";
    *what = "roles";
    if ((traits & ROLES) && (flaw = hf_roles_read(op->roles, &roles)) != NULL)
        return flaw;
    *what = "event";
    if ((traits & NOTE) && op->event != HF_EVENT_DENIED && op->event != HF_EVENT_UNAUTHENTICATED)
        return "to note is neither denied nor unauthenticated";
    return NULL;
}

static const char *batch_keep_flaw(const hf_op *op, const char **what)
{
    *what = "time to keep events";
    if (op->keep_events_us < 0)
        return "is negative";
    *what = "time to keep forced acts";
    if (op->keep_forced_us < 0)
        return "is negative";
    return op->keep_forced_us != 0 &&
                   (op->keep_events_us == 0 || op->keep_forced_us < op->keep_events_us)
               ? "is shorter than that of other events"
               : NULL;
}

static const char *numbers_flaw(const hf_op *op, unsigned traits, const char **what)
{
    const char *flaw;
    *what = "ttl";
    if ((flaw = hf_duration_flaw(op->ttl_us)) != NULL)
        return flaw;
    *what = "longest ttl";
    if ((flaw = hf_duration_flaw(op->ttl_max_us)) != NULL)
        return flaw;
    *what = "idle bound";
    if ((flaw = hf_duration_flaw(op->idle_us)) != NULL)
        return flaw;
    *what = "default ttl";
    if ((traits & POLICY) && op->ttl_max_us != 0 && op->ttl_us > op->ttl_max_us)
        return "is longer than the longest ttl";
    *what = "mode";
    if ((unsigned)op->mode >= HF_MODE_COUNT)
        return "is neither exclusive nor shared";
    *what = "policy";
    if ((traits & POLICY) && (op->policy <= HF_POLICY_NONE || op->policy >= HF_POLICY_COUNT))
        return "is not one of optimistic, exclusive-write, exclusive-read, read-write";
    *what = "fence";
    if (op->fence < 0)
        return "is negative";
    *what = "limit";
    return op->limit > (op->kind == HF_OP_SWEEP ? HF_SWEEP_MAX : HF_LIST_MAX)
               ? "is over the most that is answered at once"
               : NULL;
}

const char *hf_op_flaw(const hf_op *op, const hf_credentials *checked, hf_arena *arena, bool *ok)
{
    unsigned traits = traits_of(op->kind);
    const char *what, *flaw;
    *ok = true;
    if ((flaw = session_flaw(op, checked, traits, &what)) == NULL &&
        (flaw = resource_flaw(op, traits, &what)) == NULL &&
        (flaw = texts_flaw(op, traits, &what)) == NULL &&
        (flaw = token_flaw(op, traits, &what)) == NULL &&
        (flaw = version_flaw(op, traits, &what)) == NULL &&
        (flaw = count_flaw(op, &what)) == NULL && (flaw = batch_keep_flaw(op, &what)) == NULL &&
        (flaw = numbers_flaw(op, traits, &what)) == NULL)
        return NULL;
    char sentence[256];
    int size = snprintf(sentence, sizeof sentence, "The %s %s.", what, flaw);
    char *copy = hf_arena_text(arena, (hf_slice){sentence, (size_t)size});
    *ok = copy != NULL;
    return copy;
}
