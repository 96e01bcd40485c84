/* SPDX-License-Identifier: MIT */
/* A store on Redis with replicas=N: nothing is acknowledged before a replica has it, whoever asks
 * and however often it was asked before. */
#include "database/shop.h"
#include "faults/redis_server.h"

#include <signal.h>
#include <stdio.h>
#include <store/store.h>
#include <string.h>
#include <support/http_client.h>
#include <support/server_process.h>

enum { ASKED = 2 }; /* how often each thing is asked without a replica */

#define SYNCS_AT_ONCE "--repl-diskless-sync-delay", "0"

static redis_server *master;

static int redis_replicas_start(void **state)
{
    (void)state;
    master = REDIS_SERVER(SYNCS_AT_ONCE);
    return 0;
}

static int redis_replicas_stop(void **state)
{
    (void)state;
    redis_server_stop(master);
    return 0;
}

/* A replica, which acknowledges. */
static redis_server *replica_of(const redis_server *of)
{
    static char ports[8][16];
    static unsigned count;
    char *port = ports[count++ % 8];
    snprintf(port, sizeof ports[0], "%d", of->port);
    redis_server *it = REDIS_SERVER(SYNCS_AT_ONCE, "--replicaof", "127.0.0.1", port);
    for (int i = 0; i < 500 && strcmp(redis_server_ask(of, "wait 1 100"), "1") != 0; i++)
        rest_ms(20);
    return it;
}

static hf_store *redis_replicas_open(const redis_server *at, const char *names, const char *more)
{
    char url[HF_URL_MAX], parameters[128];
    hf_store *store = NULL;
    hf_error err = {0};
    snprintf(parameters, sizeof parameters, "namespace=%s%s", names, more);
    redis_server_url(at, "", 0, parameters, url);
    expect(HF_OK, hf_store_open(url, &store, &err), err);
    return store;
}

/* A replica may be late on a machine that is busy: asked until it is sure. */
#define sure(store, op, ...)                                                                       \
    sure_op((store), &(hf_op){.kind = HF_OP_##op, __VA_ARGS__}, __FILE__, __LINE__)
static said sure_op(hf_store *store, const hf_op *op, const char *file, int line)
{
    said it = {.status = HF_UNSURE};
    for (int i = 0; i < 20 && (it.status == HF_UNSURE || it.status == HF_UNAVAILABLE); i++)
        it = ask_op(store, op);
    if (it.status != HF_OK)
        check_failed(file, line, "%s: %s", hf_status_wire(it.status), it.message);
    return it;
}

/* Asked again and again, on this connection and on another, it stays unsure. */
#define never(one, two, op, ...)                                                                   \
    never_op((one), (two), &(hf_op){.kind = HF_OP_##op, __VA_ARGS__}, #op, __LINE__)
static void never_op(hf_store *one, hf_store *two, const hf_op *op, const char *what, int line)
{
    for (int i = 0; i < ASKED; i++) {
        said no = must_op(HF_UNSURE, i % 2 == 0 ? one : two, op, what, __FILE__, line);
        expect_contains(no.message, "0 of 1 replicas");
    }
}

static void what_no_replica_has_is_never_acknowledged(void **state)
{
    (void)state;
    redis_server *replica = replica_of(master);
    hf_store *one = redis_replicas_open(master, "again", "&replicas=1");
    hf_store *two = redis_replicas_open(master, "again", "&replicas=1");
    hf_store *looks = redis_replicas_open(master, "again", "");
    hf_credentials alice = drawn(), bob = drawn(), carol = drawn();
    hf_grade grade = {0};
    hf_store_grade(one, &grade);
    expect_contains(grade.text, "acknowledged by 1 replica in memory");
    sure(one, SESSION_OPEN, BY(alice), .user = "alice", .request_id = "a");
    sure(one, SESSION_OPEN, BY(carol), .user = "carol", .request_id = "c");
    sure(one, ACQUIRE, BY(alice), ON("policy", "kept"));
    kill(replica->pid, SIGSTOP); /* it is connected, and acknowledges no more */
    never(one, two, SESSION_OPEN, BY(bob), .user = "bob", .request_id = "b");
    never(one, two, ACQUIRE, BY(alice), ON("policy", "1"), .request_id = "lock");
    never(one, two, ACQUIRE, BY(alice), ON("policy", "1")); /* it holds it already */
    never(one, two, SAVE, BY(alice), ON("policy", "1"), .request_id = "save");
    never(one, two, TYPE_SET, .type = "claim", .policy = HF_POLICY_OPTIMISTIC);
    /* It relies on what it reads: not told before a replica has it. */
    must(HF_UNAVAILABLE, two, HOLDS, BY(alice), ON("policy", "1"));
    must(HF_UNAVAILABLE, two, VERSION, ON("policy", "1"));
    /* A refusal promises nothing; looking shows what the master has. */
    must(HF_LOCKED, two, ACQUIRE, BY(carol), ON("policy", "1"));
    int64_t fence = must(HF_OK, two, WHO, ON("policy", "1")).lock.fence;
    expect_true(fence > 0 && holders(looks, "1") == 1);
    kill(replica->pid, SIGCONT);
    sure(two, SESSION_OPEN, BY(bob), .user = "bob", .request_id = "b");
    sure(two, SAVE, BY(alice), ON("policy", "1"), .request_id = "save");
    sure(two, HOLDS, BY(alice), ON("policy", "1"));
    expect_true(sure(two, ACQUIRE, BY(alice), ON("policy", "1")).lock.fence == fence);
    expect_contains(redis_server_ask(replica, "keys '*r:policy/1'"), "policy/1");
    hf_store_close(one);
    hf_store_close(two);
    hf_store_close(looks);
    redis_server_stop(replica);
}

/* A client of the old master and one of the new, both with replicas=1, and by the easy calls, which
 * ask again by themselves. */
static void in_a_split_brain_no_two_are_granted_or_saved(void **state)
{
    (void)state;
    redis_server *next = replica_of(master);
    hf_manager *old = NULL;
    hf_session *alice = NULL;
    hf_error err = {0};
    expect(HF_OK, hf_manager_on(redis_replicas_open(master, "split", "&replicas=1"), &old, &err),
           err);
    hf_status status = HF_UNSURE;
    for (int i = 0; i < 10 && status == HF_UNSURE; i++)
        status = hf_session_open(old, &(hf_session_options){.user = "alice"}, &alice, &err);
    expect(HF_OK, status, err);
    redis_server_ask(next, "replicaof no one"); /* the old master is left without any */
    redis_server *behind = replica_of(next);
    hf_store *new = redis_replicas_open(next, "split", "&replicas=1");
    hf_credentials bob = drawn();
    sure(new, SESSION_OPEN, BY(bob), .user = "bob", .request_id = "b");
    hf_lock lock;
    hf_version version;
    hf_resource record = {.type = "policy", .id = "1"};
    expect(HF_UNSURE, hf_session_acquire(alice, &record, NULL, &lock, &err), err);
    expect(HF_UNSURE, hf_session_save(alice, &(hf_save){.resource = record}, NULL, &version, &err),
           err);
    sure(new, ACQUIRE, BY(bob), ON("policy", "1"));
    sure(new, SAVE, BY(bob), ON("policy", "1"), .request_id = "save");
    hf_session_free(alice);
    hf_manager_close(old);
    hf_store_close(new);
    redis_server_stop(behind);
    redis_server_stop(next);
}

static int redis_replicas_http(http_client *client, const char *method, const char *path,
                               const char *headers, const char *body, http_client_answer *out)
{
    expect_int(http_client_ask(client, method, path, headers, body, out), HTTP_CLIENT_ANSWERED);
    return out->status;
}

static void a_put_that_is_repeated_stays_504_until_a_replica_has_it(void **state)
{
    (void)state;
    char url[HF_URL_MAX], headers[400], id[64], key[HF_KEY_SIZE];
    http_client_answer answer;
    redis_server *replica = replica_of(master);
    redis_server_url(master, "", 0, "namespace=http&replicas=1", url);
    server_process *server = server_process_start(url, NULL);
    http_client client = {.port = server_process_port(server), .fd = -1};
    snprintf(headers, sizeof headers, "Authorization: Bearer %s\r\n",
             server_process_secret(server));
    expect_int(redis_replicas_http(&client, "POST", "/v1/sessions", headers,
                                   "{\"user\":\"alice\",\"idle_seconds\":3600}", &answer),
               201);
    expect_true(http_client_text(&answer, "id", id, sizeof id) &&
                http_client_text(&answer, "key", key, sizeof key));
    snprintf(headers, sizeof headers, "Holdfast-Session: %s.%s\r\nIdempotency-Key: put-1\r\n", id,
             key);
    redis_server_stop(replica);
    for (int i = 0; i < ASKED; i++)
        expect_int(
            redis_replicas_http(&client, "PUT", "/v1/locks/policy/1", headers, NULL, &answer), 504);
    replica = replica_of(master);
    int status = 504;
    for (int i = 0; i < 20 && status == 504; i++)
        status = redis_replicas_http(&client, "PUT", "/v1/locks/policy/1", headers, NULL, &answer);
    expect_true(status == 200 || status == 201);
    http_client_close(&client);
    expect_int(server_process_stop(server), 0);
    server_process_end(server);
    redis_server_stop(replica);
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_no_replica_has_is_never_acknowledged),
        cmocka_unit_test(in_a_split_brain_no_two_are_granted_or_saved),
        cmocka_unit_test(a_put_that_is_repeated_stays_504_until_a_replica_has_it),
    };
    return cmocka_run_group_tests_name("redis replicas", tests, redis_replicas_start,
                                       redis_replicas_stop);
}
