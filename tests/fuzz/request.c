/* SPDX-License-Identifier: MIT */
/* Any requests at all against the whole server, on a store in memory that has the same locks and
 * logins at the beginning of each input: parsed, routed, judged, carried out, answered. Every
 * request gets one answer, which is well formed and no 500; and whatever someone asks who may use
 * and observe policies, for users f-..., nothing else is changed. For libFuzzer: tools/fuzz
 * request 60.
 *
 * The first byte says how the rest is sent: 1 raw, 2 in pieces, 4 the administrator's token counts
 * too. Unless raw, the input is requests with a line "--" between them: a head with plain line
 * ends, an empty line, a body; Host and Content-Length are put in. */
#include <base/buffer.h>
#include <base/digest.h>
#include <event2/event.h>
#include <event2/thread.h>
#include <holdfast/store.h>
#include <jansson.h>
#include <netinet/in.h>
#include <server/feed/feed_inside.h>
#include <server/http/http_inside.h>
#include <server/request.h>
#include <server/service.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

enum { RAW = 1, PIECES = 2, ADMIN = 4, PIECE = 7, METHODS_MAX = 4096, PATIENCE_TURNS = 20000 };
enum { SESSIONS_MAX = 40, INPUTS_MAX = 500 }; /* then all is made anew */

static void fuzz_request_must(bool condition, const char *what)
{
    if (condition)
        return;
    fprintf(stderr, "not so: %s\n", what);
    abort();
}

/* ---- the store before anyone asks ---- */

/* Known to the corpus. */
#define LIMITED    "1111111111111111111111111111111111111111111111111111111111111111"
#define EVERYTHING "2222222222222222222222222222222222222222222222222222222222222222"
#define ANN        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1"
#define BOB        "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb.b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2"
/* Known to nobody. */
#define OWNER "0123456789abcdef0123456789abcdef.6b1f7c4d9e02a3586b1f7c4d9e02a358"

/* One op, which succeeds; the batch with its answer is freed by batch_done. */
static hf_op *fuzz_request_begin(hf_batch **batch, hf_op_kind kind)
{
    fuzz_request_must(hf_batch_new(1, batch, NULL) == HF_OK, "a batch is made");
    return hf_batch_add(*batch, kind);
}

static const hf_answer *fuzz_request_execute(hf_store *store, hf_batch *batch)
{
    hf_error err = {0};
    hf_status status = hf_store_execute(store, batch, &err);
    const hf_answer *answer = &hf_batch_op(batch, 0)->answer;
    fuzz_request_must(status == HF_OK, err.message);
    fuzz_request_must(answer->status == HF_OK, answer->message);
    return answer;
}

static void add_token(hf_store *store, const char *secret, const char *id, const char *roles,
                      const char *users)
{
    hf_batch *batch;
    hf_token_key key;
    hf_op *op = fuzz_request_begin(&batch, HF_OP_TOKEN_CREATE);
    fuzz_request_must(hf_token_read(secret, &key, NULL) == HF_OK, "a secret is one");
    op->token = id;
    op->sha256 = key.sha256;
    op->name = roles;
    op->roles = roles;
    op->users = users;
    op->actor = "nobody";
    fuzz_request_execute(store, batch);
    hf_batch_free(batch);
}

static void fuzz_request_add_session(hf_store *store, const char *text, const char *user,
                                     const char *caller)
{
    hf_batch *batch;
    hf_credentials login;
    hf_op *op = fuzz_request_begin(&batch, HF_OP_SESSION_OPEN);
    fuzz_request_must(hf_credentials_parse(text, &login, NULL) == HF_OK, "a login is one");
    op->session = &login;
    op->user = user;
    op->caller = caller;
    fuzz_request_execute(store, batch);
    hf_batch_free(batch);
}

static void fuzz_request_add_lock(hf_store *store, const char *text, const char *type,
                                  const char *id)
{
    hf_batch *batch;
    hf_credentials login;
    hf_op *op = fuzz_request_begin(&batch, HF_OP_ACQUIRE);
    fuzz_request_must(hf_credentials_parse(text, &login, NULL) == HF_OK, "a login is one");
    op->session = &login;
    op->type = type;
    op->id = id;
    fuzz_request_execute(store, batch);
    hf_batch_free(batch);
}

static void take_locks(hf_store *store)
{
    fuzz_request_add_lock(store, ANN, "policy", "1");
    fuzz_request_add_lock(store, OWNER, "policy", "held");
    fuzz_request_add_lock(store, OWNER, "vault", "1");
}

static void fuzz_request_prepare(hf_store *store, bool admin)
{
    static const char limited[] = "11111111111111111111111111111111",
                      everything[] = "22222222222222222222222222222222";
    add_token(store, LIMITED, limited, "use:policy observe:policy", "f-*");
    if (admin)
        add_token(store, EVERYTHING, everything, "use observe manage admin", NULL);
    fuzz_request_add_session(store, ANN, "f-ann", limited);
    fuzz_request_add_session(store, BOB, "f-bob", limited);
    fuzz_request_add_session(store, OWNER, "owner", "");
    take_locks(store);
}

static bool fuzz_request_lives(hf_store *store, const char *text)
{
    hf_batch *batch;
    hf_credentials login;
    hf_op *op = fuzz_request_begin(&batch, HF_OP_SESSION_FIND);
    fuzz_request_must(hf_credentials_parse(text, &login, NULL) == HF_OK, "a login is one");
    op->session = &login;
    fuzz_request_must(hf_store_execute(store, batch, NULL) == HF_OK, "the store answers");
    bool out = op->answer.status == HF_OK;
    hf_batch_free(batch);
    return out;
}

static void fuzz_request_force(hf_store *store, const hf_resource *resource)
{
    hf_batch *batch;
    hf_op *op = fuzz_request_begin(&batch, HF_OP_FORCE_RELEASE);
    op->type = resource->type;
    op->id = resource->id;
    op->text = "begin anew";
    op->actor = "nobody";
    fuzz_request_must(hf_store_execute(store, batch, NULL) == HF_OK, "the store answers");
    hf_batch_free(batch);
}

/* What is not the limited caller's to change: the owner's locks, the others' sessions, the tokens,
 * the types. */
typedef struct picture {
    int64_t fences[2];
    size_t locks, tokens, types, strangers;
    size_t others, sessions; /* these are the caller's: all other locks, all sessions */
} picture;

static void fuzz_request_count_locks(const hf_answer *answer, picture *out)
{
    for (size_t i = 0; i < answer->locks_count; i++)
        if (strcmp(answer->locks[i].user, "owner") == 0)
            out->fences[out->locks++ & 1] = answer->locks[i].fence;
        else
            out->others++;
}

static void fuzz_request_count_sessions(const hf_answer *answer, picture *out)
{
    out->sessions += answer->sessions_count;
    for (size_t i = 0; i < answer->sessions_count; i++)
        out->strangers += strncmp(answer->sessions[i].user, "f-", 2) != 0 &&
                          strncmp(answer->sessions[i].token, HF_SIGN_IN, strlen(HF_SIGN_IN)) != 0;
}

static picture fuzz_request_look(hf_store *store)
{
    static const hf_op_kind kinds[] = {HF_OP_LIST, HF_OP_SESSIONS, HF_OP_TOKENS, HF_OP_TYPES};
    picture out = {0};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        hf_batch *batch;
        hf_op *op = fuzz_request_begin(&batch, kinds[i]);
        op->limit = kinds[i] == HF_OP_TYPES ? 0 : HF_LIST_MAX;
        const hf_answer *answer = fuzz_request_execute(store, batch);
        fuzz_request_count_locks(answer, &out);
        fuzz_request_count_sessions(answer, &out);
        out.tokens += answer->tokens_count;
        out.types += answer->types_count;
        hf_batch_free(batch);
    }
    return out;
}

/* Ends all locks and takes those of the beginning again. False: logins, tokens or types are no
 * longer those, or there are too many. */
static bool restore(hf_store *store, bool admin)
{
    picture now = fuzz_request_look(store);
    hf_batch *list;
    if (now.tokens != (admin ? 2 : 1) || now.types != 0 || now.sessions > SESSIONS_MAX ||
        !fuzz_request_lives(store, ANN) || !fuzz_request_lives(store, BOB) ||
        !fuzz_request_lives(store, OWNER))
        return false;
    fuzz_request_begin(&list, HF_OP_LIST)->limit = HF_LIST_MAX;
    const hf_answer *locks = fuzz_request_execute(store, list);
    for (size_t i = 0; i < locks->locks_count; i++)
        fuzz_request_force(store, &locks->locks[i].resource);
    hf_batch_free(list);
    take_locks(store);
    return true;
}

/* ---- the server ---- */

static struct event_base *base;
static settings *set;

typedef struct fuzz_server {
    bool there;
    unsigned inputs;
    hf_store *store;
    committer *committer;
    service *service;
    listeners listening;
    log_sink log;
    http_method methods[METHODS_MAX]; /* of the requests that were handed out, in order */
    size_t handled;
} fuzz_server;

static fuzz_server *here;

static void fuzz_request_on_request(void *context, http_request *request)
{
    fuzz_request_must(here->handled < METHODS_MAX, "an input has few requests");
    here->methods[here->handled++] = request->method;
    request_begin(context, request);
}

static const char *fuzz_request_no_variable(const char *name)
{
    (void)name;
    return NULL;
}

static void start_once(void)
{
    static const settings_flag flags[] = {
        {"listen", "127.0.0.1:0"}, {"store", "memory:"},    {"rate-session", "0"},
        {"rate-address", "0"},     {"log-level", "error"},  {"allow-origin", "https://app.example"},
        {"readers", "1"},          {"trust-proxy", "::/0"}, {"locks-session", "2"},
        {"sessions-token", "3"},
    };
    static const char *const no_files[] = {NULL};
    settings_sources from = {.flags = flags,
                             .flags_count = sizeof flags / sizeof *flags,
                             .variable = fuzz_request_no_variable,
                             .files = no_files,
                             .data = "/nonexistent"};
    hf_error err = {0};
    evthread_use_pthreads();
    base = event_base_new();
    if (settings_read(&from, &set, &err) != HF_OK)
        fuzz_request_must(false, err.message);
}

static void fuzz_server_start(fuzz_server *w, bool admin)
{
    hf_error err = {0};
    *w = (fuzz_server){.there = true};
    log_init(&w->log, STDERR_FILENO, false, LOG_LEVEL_ERROR, NULL);
    fuzz_request_must(hf_store_open("memory:", &w->store, &err) == HF_OK, "a store is opened");
    fuzz_request_prepare(w->store, admin);
    fuzz_request_must(listeners_open(set, &w->listening, &err) == HF_OK, "there is a socket");
    fuzz_request_must(
        committer_new(&(committer_settings){.store = w->store}, &w->committer, &err) == HF_OK,
        "there is a committer");
    service_settings wanted = {.settings = set, .base = base, .store = w->store,
                               .committer = w->committer, .log = &w->log,
                               .listening = &w->listening};
    fuzz_request_must(service_new(&wanted, &w->service, &err) == HF_OK, "there is a service");
    w->service->http->settings.handle = fuzz_request_on_request;
}

static void fuzz_server_stop(fuzz_server *w)
{
    if (!w->there)
        return;
    service_stop(w->service);
    for (int i = 0; i < PATIENCE_TURNS && !service_idle(w->service); i++)
        event_base_loop(base, EVLOOP_ONCE);
    fuzz_request_must(service_idle(w->service), "all is answered in the end");
    committer_stop(w->committer);
    service_free(w->service);
    committer_free(w->committer);
    listeners_close(&w->listening);
    hf_store_close(w->store);
    log_done(&w->log);
    w->there = false;
}

static fuzz_server servers[2];

static void at_the_end(void)
{
    fuzz_server_stop(&servers[0]);
    fuzz_server_stop(&servers[1]);
    event_base_free(base);
    settings_free(set);
}

/* A server with a store as at the beginning: making one takes some milliseconds, so it serves
 * several inputs. */
static fuzz_server *fuzz_server_ready(bool admin)
{
    fuzz_server *w = &servers[admin];
    if (set == NULL) {
        unsigned char digest[32];
        start_once();
        /* libcrypto is to be cleaned up after our threads have ended, so it is to be begun before.
         * */
        fuzz_request_must(hf_sha256("", 0, digest), "there is libcrypto");
        atexit(at_the_end);
    }
    if (!w->there || w->inputs++ == INPUTS_MAX || !restore(w->store, admin)) {
        fuzz_server_stop(w);
        fuzz_server_start(w, admin);
    }
    w->handled = 0;
    here = w;
    return w;
}

/* ---- asking ---- */

static void fuzz_request_add(hf_buffer *out, const char *text, size_t size)
{
    hf_buffer_add(out, text, size);
}

/* One request with plain line ends, made whole. */
static void assemble(const char *text, size_t size, hf_buffer *out)
{
    const char *gap = memmem(text, size, "\n\n", 2);
    size_t head = gap == NULL ? size : (size_t)(gap - text),
           body = gap == NULL ? 0 : size - head - 2;
    for (size_t i = 0; i < head; i++)
        if (text[i] == '\n')
            fuzz_request_add(out, "\r\n", 2);
        else
            fuzz_request_add(out, text + i, 1);
    hf_buffer_print(out, "\r\nHost: localhost\r\nContent-Length: %zu\r\n\r\n", body);
    if (body > 0)
        fuzz_request_add(out, gap + 2, body);
}

static void assemble_all(const char *text, size_t size, hf_buffer *out)
{
    while (size > 0) {
        const char *end = memmem(text, size, "\n--\n", 4);
        size_t one = end == NULL ? size : (size_t)(end - text);
        assemble(text, one, out);
        size_t passed = end == NULL ? size : one + 4;
        text += passed;
        size -= passed;
    }
}

static void receive(int fd, hf_buffer *answers)
{
    char piece[65536];
    ssize_t got;
    while ((got = recv(fd, piece, sizeof piece, 0)) > 0)
        fuzz_request_add(answers, piece, (size_t)got);
}

static void fuzz_request_turn(int fd, int how, hf_buffer *answers)
{
    event_base_loop(base, how);
    receive(fd, answers);
}

/* Nobody is there, and what was asked of the store, by the server itself too, is done. */
/* A page may still be read for a follower that has left. What its thread has in hand then is no
 * leak, but has been taken for one. */
static bool reads_no_page(const fuzz_server *w)
{
    feed_pages_stats pages;
    feed_pages_stats_read(w->service->feed->pages, &pages);
    return pages.reads - pages.failures == feed_pages_asked(w->service->feed->pages);
}

static bool quiet(const fuzz_server *w)
{
    return http_connections(w->service->http) == 0 && jobs_under_way(w->service->jobs) == 0 &&
           reads_no_page(w);
}

static void fuzz_request_ask(fuzz_server *w, const hf_buffer *requests, bool pieces,
                             hf_buffer *answers)
{
    int fds[2];
    http_listener listener = {.http = w->service->http};
    struct sockaddr_in peer = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    fuzz_request_must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds) == 0,
                      "there are sockets");
    conn_open(w->service->http, &listener, fds[0], (struct sockaddr *)&peer);
    size_t cut = pieces ? PIECE : 65536;
    for (size_t at = 0; at < requests->size;) {
        size_t piece = requests->size - at < cut ? requests->size - at : cut;
        ssize_t sent = send(fds[1], requests->text + at, piece, MSG_NOSIGNAL);
        if (sent > 0)
            at += (size_t)sent;
        else if (http_connections(w->service->http) == 0)
            break;
        fuzz_request_turn(fds[1], EVLOOP_NONBLOCK, answers);
    }
    shutdown(fds[1], SHUT_WR);
    for (int i = 0; i < PATIENCE_TURNS && !quiet(w); i++)
        fuzz_request_turn(fds[1], EVLOOP_ONCE, answers);
    receive(fds[1], answers);
    fuzz_request_must(quiet(w) && http_requests(w->service->http) == 0, "nothing is left");
    close(fds[1]);
}

/* ---- the answers ---- */

typedef struct answer {
    int status;
    bool chunked, json;
    bool sized; /* else it goes on to the end, for HTTP/1.0 */
    size_t length;
} answer;

static bool known_status(int status)
{
    static const int known[] = {100, 200, 201, 204, 400, 401, 403, 404, 405, 408, 409, 410,
                                412, 413, 415, 417, 422, 423, 429, 431, 501, 503, 505};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i] == status)
            return true;
    return false;
}

static void read_field(const char *line, size_t size, answer *out)
{
    static const char length[] = "Content-Length: ", type[] = "Content-Type: application/",
                      chunked[] = "Transfer-Encoding: chunked";
    fuzz_request_must(memchr(line, ':', size) != NULL, "a header has a name");
    if (size >= sizeof length && strncasecmp(line, length, sizeof length - 1) == 0) {
        out->length = strtoul(line + sizeof length - 1, NULL, 10);
        out->sized = true;
    }
    out->chunked |= size == sizeof chunked - 1 && strncasecmp(line, chunked, size) == 0;
    out->json |= size > sizeof type && strncasecmp(line, type, sizeof type - 1) == 0;
}

/* The head at the beginning of `from`; what follows it. */
static hf_slice read_head(hf_slice from, answer *out)
{
    *out = (answer){0};
    const char *end = memmem(from.at, from.size, "\r\n\r\n", 4);
    fuzz_request_must(end != NULL && from.size > 12 && memcmp(from.at, "HTTP/1.1 ", 9) == 0,
                      "an answer has a head");
    out->status = (int)strtol(from.at + 9, NULL, 10);
    for (const char *line = memmem(from.at, from.size, "\r\n", 2); line < end;) {
        line += 2;
        const char *stop = memmem(line, (size_t)(end + 2 - line), "\r\n", 2);
        read_field(line, (size_t)(stop - line), out);
        line = stop;
    }
    return (hf_slice){end + 4, from.size - (size_t)(end + 4 - from.at)};
}

static void must_be_json(hf_slice body)
{
    json_t *json = json_loadb(body.at, body.size, JSON_REJECT_DUPLICATES, NULL);
    fuzz_request_must(json != NULL, "what says it is JSON is JSON");
    json_decref(json);
}

/* A stream that ended by itself or by its client: what follows its last piece. */
static hf_slice pass_chunks(hf_slice from)
{
    for (;;) {
        const char *end = from.size == 0 ? NULL : memmem(from.at, from.size, "\r\n", 2);
        size_t size = end == NULL ? 0 : strtoul(from.at, NULL, 16);
        size_t passed = end == NULL ? from.size : (size_t)(end - from.at) + 2 + size + 2;
        bool last = end == NULL || size == 0 || passed > from.size;
        passed = passed > from.size ? from.size : passed;
        from = (hf_slice){from.at + passed, from.size - passed};
        if (last)
            return from;
    }
}

static void check_answers(const fuzz_server *w, const hf_buffer *answers)
{
    hf_slice rest = {answers->text, answers->size};
    size_t given = 0, beyond = 0;
    while (rest.size > 0) {
        answer it;
        rest = read_head(rest, &it);
        if (!known_status(it.status))
            fprintf(stderr, "%.*s\n", (int)answers->size, answers->text);
        fuzz_request_must(known_status(it.status),
                          "an answer has a status that there is a reason for");
        if (it.status == 100)
            continue;
        bool asked = given < w->handled;
        bool bare = (asked && w->methods[given] == HTTP_HEAD) || it.status == 204;
        given += asked;
        beyond += !asked;
        if (it.chunked) {
            rest = bare ? rest : pass_chunks(rest);
            continue;
        }
        size_t body = bare ? 0 : it.sized ? it.length : rest.size;
        fuzz_request_must(body <= rest.size, "an answer is whole");
        if (it.json && !bare)
            must_be_json((hf_slice){rest.at, body});
        rest = (hf_slice){rest.at + body, rest.size - body};
    }
    fuzz_request_must(given == w->handled && beyond <= 1,
                      "each request is answered once, and what is no request at most once");
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    hf_buffer requests = {0}, answers = {0};
    if (size < 2)
        return 0;
    uint8_t manner = bytes[0];
    fuzz_server *w = fuzz_server_ready(manner & ADMIN);
    picture before = fuzz_request_look(w->store);
    fuzz_request_must(before.locks == 2 && before.others == 1 && before.strangers == 1,
                      "it begins as it should");
    if (manner & RAW)
        fuzz_request_add(&requests, (const char *)bytes + 1, size - 1);
    else
        assemble_all((const char *)bytes + 1, size - 1, &requests);
    fuzz_request_ask(w, &requests, manner & PIECES, &answers);
    check_answers(w, &answers);
    picture after = fuzz_request_look(w->store);
    before.others = after.others;
    before.sessions = after.sessions;
    fuzz_request_must((manner & ADMIN) || memcmp(&before, &after, sizeof before) == 0,
                      "what is not the caller's is as it was");
    hf_buffer_done(&requests);
    hf_buffer_done(&answers);
    return 0;
}
