/* SPDX-License-Identifier: MIT */
/* What a store on Redis refuses, and with which words: settings under which it would forget,
 * accounts without the rights it needs, values that are not its own, full memory. Nothing is half
 * done, and no password is shown. */
#include "database/shop.h"
#include "faults/redis_server.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <store/store.h>
#include <string.h>
#include <support/certificate.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SECRET "Gehe1m_S3cret"

static redis_server *server;

static int redis_refusals_start(void **state)
{
    (void)state;
    server = redis_server_start(NULL);
    return 0;
}

/* What a test that failed may have left. */
static int redis_refusals_reset(void **state)
{
    (void)state;
    redis_server_ask(server,
                     "config set appendonly yes appendfsync always "
                     "no-appendfsync-on-rewrite no maxmemory-policy noeviction maxmemory 0");
    redis_server_ask(server, "replicaof no one");
    return 0;
}

static int redis_refusals_stop(void **state)
{
    (void)state;
    redis_server_stop(server);
    return 0;
}

/* A URL of a namespace of its own. */
static const char *redis_refusals_url(const char *login, const char *more)
{
    static char url[HF_URL_MAX];
    static unsigned count;
    char parameters[256];
    snprintf(parameters, sizeof parameters, "namespace=r%u%s", ++count, more);
    redis_server_url(server, login, 0, parameters, url);
    return url;
}

static hf_store *redis_refusals_open(const char *url)
{
    hf_store *store = NULL;
    hf_error err = {0};
    expect(HF_OK, hf_store_open(url, &store, &err), err);
    return store;
}

/* It can't be opened, and the sentence has these words. */
static void redis_refusals_refuse(hf_status status, const char *url, const char *part,
                                  const char *other)
{
    hf_store *store = NULL;
    hf_error err = {0};
    expect(status, hf_store_open(url, &store, &err), err);
    expect_contains(err.message, part);
    expect_contains(err.message, other);
    expect_lacks(err.message, SECRET);
}

static void redis_refusals_grade(const char *url, hf_grade_level level, const char *part)
{
    hf_grade grade = {0};
    hf_store *store = redis_refusals_open(url);
    hf_store_grade(store, &grade);
    hf_store_close(store);
    expect_int(grade.level, level);
    expect_contains(grade.text, part);
}

/* ---- settings ---- */

static void settings_under_which_it_forgets_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *name, *bad, *good; /* good is what the sentence says, too */
        hf_grade_level level;
        const char *grade;
    } settings[] = {
        {"appendonly", "no", "yes", HF_GRADE_NONE, "a restart forgets locks"},
        {"appendfsync", "everysec", "always", HF_GRADE_PROCESS, "a crash may lose the last one"},
        {"appendfsync", "no", "always", HF_GRADE_PROCESS, "the last moments"},
        {"no-appendfsync-on-rewrite", "yes", "no", HF_GRADE_PROCESS, "the last moments"},
        {"maxmemory-policy", "allkeys-lru", "noeviction", HF_GRADE_NONE, "may be forgotten"},
        {"maxmemory-policy", "volatile-ttl", "noeviction", HF_GRADE_NONE, "may be forgotten"},
    };
    char advice[64];
    redis_refusals_grade(redis_refusals_url("", ""), HF_GRADE_DISK,
                         "synced to disk before it is acknowledged");
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        redis_server_ask(server, "config set %s %s", settings[i].name, settings[i].bad);
        snprintf(advice, sizeof advice, "Set %s %s,", settings[i].name, settings[i].good);
        redis_refusals_refuse(HF_UNAVAILABLE, redis_refusals_url("", ""), advice,
                              "durability=relaxed");
        redis_refusals_grade(redis_refusals_url("", "&durability=relaxed"), settings[i].level,
                             settings[i].grade);
        redis_server_ask(server, "config set %s %s", settings[i].name, settings[i].good);
    }
    redis_refusals_refuse(HF_INVALID, redis_refusals_url("", "&durability=none"), "durability",
                          "relaxed");
    redis_refusals_refuse(HF_INVALID, redis_refusals_url("", "&replicas=0"), "replicas", "1 to");
}

static void a_replica_is_refused_and_a_master_that_becomes_one(void **state)
{
    (void)state;
    hf_store *store = redis_refusals_open(redis_refusals_url("", ""));
    hf_credentials alice = newcomer(store, "alice", HOUR);
    redis_server_ask(server, "replicaof 127.0.0.1 1");
    redis_refusals_refuse(HF_UNAVAILABLE, redis_refusals_url("", ""), "is a replica",
                          "name the master");
    redis_refusals_refuse(HF_UNAVAILABLE, redis_refusals_url("", "&durability=relaxed"),
                          "is a replica", "name the master");
    for (int i = 0; i < 2; i++) {
        said no = must(HF_UNAVAILABLE, store, ACQUIRE, BY(alice), ON("policy", "1"));
        expect_contains(no.message, "replica");
    }
    redis_server_ask(server, "replicaof no one");
    must(HF_OK, store, ACQUIRE, BY(alice), ON("policy", "1"));
    hf_store_close(store);
}

static void a_cluster_is_refused(void **state)
{
    (void)state;
    redis_server *node = REDIS_SERVER("--cluster-enabled", "yes", "--cluster-port", "0");
    char url[HF_URL_MAX];
    snprintf(url, sizeof url, "%.4000s?durability=relaxed", node->url);
    redis_refusals_refuse(HF_UNAVAILABLE, node->url, "is part of a cluster", "one master");
    redis_refusals_refuse(HF_UNAVAILABLE, url, "is part of a cluster", "one master");
    redis_server_stop(node);
}

static time_t redis_refusals_ahead_s; /* of the clock that counts from when the machine started */

/* In place of the C library's, for modules too. */
int clock_gettime(clockid_t clock, struct timespec *out)
{
    int result = (int)syscall(SYS_clock_gettime, clock, out);
    if (clock == CLOCK_BOOTTIME)
        out->tv_sec += redis_refusals_ahead_s;
    return result;
}

static void settings_that_change_under_an_open_store_are_noticed(void **state)
{
    (void)state;
    hf_store *store = redis_refusals_open(redis_refusals_url("", ""));
    hf_credentials alice = newcomer(store, "alice", HOUR);
    redis_server_ask(server, "config set appendfsync everysec");
    must(HF_OK, store, BEAT, BY(alice));
    redis_refusals_ahead_s += 61;
    said no = must(HF_UNAVAILABLE, store, BEAT, BY(alice));
    expect_contains(no.message, "appendfsync always");
    redis_server_ask(server, "config set appendfsync always");
    must(HF_OK, store, BEAT, BY(alice));
    hf_store_close(store);
}

/* ---- accounts ---- */

static void accounts_without_the_rights_are_told_before_anything_is_written(void **state)
{
    (void)state;
    static const struct {
        const char *rights, *parts[2];
    } accounts[] = {
        {"+@all -config", {"CONFIG GET is forbidden", "+config|get"}},
        {"+@all -info", {"INFO", "NOPERM"}},
        {"+@all -evalsha", {"evalsha", "ACL SETUSER"}},
        {"+@all -eval", {"eval", "ACL SETUSER"}},
        {"+@all -script", {"script", "ACL SETUSER"}},
        {"+@all -zadd", {"ZADD", "ACL SETUSER"}},
        {"+@all -xadd", {"XADD", "ACL SETUSER"}},
        {"+@all -mget", {"MGET", "ACL SETUSER"}},
        {"+@all -zlexcount", {"ZLEXCOUNT", "ACL SETUSER"}},
        {"+@all -zrangebylex", {"ZRANGEBYLEX", "ACL SETUSER"}},
        {"+@all resetchannels", {"channel", "ACL SETUSER"}},
        {"+@all resetkeys ~other:*", {"key", "ACL SETUSER"}},
    };
    hf_store *store = NULL;
    int bad = 0;
    redis_server_ask(server, "flushall");
    for (size_t i = 0; i < sizeof accounts / sizeof *accounts; i++) {
        hf_error err = {0};
        redis_server_ask(server, "acl setuser plain reset on '>" SECRET "' '~*' '&*' %s",
                         accounts[i].rights);
        hf_status status = hf_store_open(redis_refusals_url("plain:" SECRET "@", ""), &store, &err);
        bool good = status == HF_UNAVAILABLE && strstr(err.message, accounts[i].parts[0]) &&
                    strstr(err.message, accounts[i].parts[1]) && !strstr(err.message, SECRET);
        bool clean = strcmp(redis_server_ask(server, "dbsize"), "0") == 0;
        if (!good || !clean)
            printf("# %s: %s, %s keys: %s\n", accounts[i].rights, hf_status_wire(status),
                   redis_server_ask(server, "dbsize"), err.message);
        bad += !good || !clean;
        if (status == HF_OK)
            hf_store_close(store);
        redis_server_ask(server, "flushall");
    }
    /* what the documents say that an account needs */
    redis_server_ask(server, "acl setuser plain reset on '>" SECRET "' '~r*' '&r*' +@read +@write "
                             "+@scripting +@connection +info '+config|get' +time +wait +publish "
                             "+subscribe");
    store = redis_refusals_open(redis_refusals_url("plain:" SECRET "@", ""));
    hf_watch *watch = NULL;
    hf_error err = {0};
    expect(HF_OK, hf_store_watch(store, &watch, &err), err);
    hf_watch_close(watch);
    hf_credentials alice = newcomer(store, "alice", HOUR);
    must(HF_OK, store, ACQUIRE, BY(alice), ON("policy", "1"));
    must(HF_OK, store, LIST, .limit = 10);
    must(HF_OK, store, BEAT, BY(alice));
    must(HF_OK, store, CLOSE, BY(alice));
    must(HF_OK, store, SWEEP, .limit = 10);
    hf_store_close(store);
    expect_int(bad, 0);
}

static void redis_refusals_write(const char *path, const char *text)
{
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    expect_int(chmod(path, 0600), 0);
}

/* It speaks TLS, and wants a password, which comes by URL, by a file and by the environment. */
static void passwords_and_tls_are_checked_and_never_shown(void **state)
{
    (void)state;
    char certificate[HF_URL_MAX], key[HF_URL_MAX], file[HF_URL_MAX], port[16], more[HF_URL_MAX],
        url[3 * HF_URL_MAX];
    scratch_path(".crt", certificate);
    scratch_path(".key", key);
    scratch_path(".password", file);
    certificate_write("IP:127.0.0.1", 1, certificate, key);
    redis_server *tls = REDIS_SERVER("--tls-cert-file", certificate, "--tls-key-file", key,
                                     "--tls-auth-clients", "no", "--requirepass", SECRET);
    snprintf(port, sizeof port, "%d", 32000 - (tls->port - 20000));
    redis_server_ask(tls, "-a " SECRET " --no-auth-warning config set tls-port %s", port);
    snprintf(more, sizeof more, "127.0.0.1:%s/0?ssl_ca=%.4000s", port, certificate);
    snprintf(url, sizeof url, "rediss://:" SECRET "@%s", more);
    hf_store_close(redis_refusals_open(url));
    redis_refusals_write(file, SECRET "\n");
    snprintf(url, sizeof url, "rediss://%s&password_file=%s", more, file);
    hf_store_close(redis_refusals_open(url));
    snprintf(url, sizeof url, "rediss://%s", more);
    redis_refusals_refuse(HF_UNAVAILABLE, url, "wants a password", "password_file=");
    setenv("REDISCLI_AUTH", SECRET, 1);
    hf_store_close(redis_refusals_open(url));
    setenv("REDISCLI_AUTH", SECRET "x", 1);
    redis_refusals_refuse(HF_UNAVAILABLE, url, "refused the password", "127.0.0.1");
    unsetenv("REDISCLI_AUTH");
    redis_refusals_write(file, SECRET "y\n");
    snprintf(url, sizeof url, "rediss://%s&password_file=%s", more, file);
    redis_refusals_refuse(HF_UNAVAILABLE, url, "refused the password", "127.0.0.1");
    snprintf(url, sizeof url, "rediss://:" SECRET "z@%s", more);
    redis_refusals_refuse(HF_UNAVAILABLE, url, "refused the password", "127.0.0.1");
    snprintf(url, sizeof url, "rediss://nobody:" SECRET "@%s", more);
    redis_refusals_refuse(HF_UNAVAILABLE, url, "refused the password", "127.0.0.1");
    snprintf(url, sizeof url, "rediss://:" SECRET "@127.0.0.1:%s/0", port);
    redis_refusals_refuse(HF_UNAVAILABLE, url, "certificate", "127.0.0.1");
    snprintf(url, sizeof url, "redis://:" SECRET "@127.0.0.1:%s/0", port); /* without TLS */
    redis_refusals_refuse(HF_UNAVAILABLE, url, "127.0.0.1", "");
    redis_server_stop(tls);
}

/* ---- values ---- */

static void namespaces_do_not_see_each_other(void **state)
{
    (void)state;
    char url[HF_URL_MAX];
    redis_server_url(server, "", 0, "namespace=a", url);
    hf_store *a = redis_refusals_open(url);
    redis_server_url(server, "", 0, "namespace=b", url);
    hf_store *b = redis_refusals_open(url);
    hf_credentials alice = newcomer(a, "alice", HOUR), bob = newcomer(b, "bob", HOUR);
    must(HF_OK, a, ACQUIRE, BY(alice), ON("policy", "1"));
    must(HF_OK, b, ACQUIRE, BY(bob), ON("policy", "1"));
    expect_int(must(HF_OK, a, LIST, .limit = 10).locks_count, 1);
    expect_int(must(HF_OK, a, EVENTS, .limit = 10).events_count, 2);
    said unknown = ASK(a, BEAT, BY(bob));
    expect_true(unknown.status != HF_OK);
    hf_error err = {0};
    redis_server_ask(server, "set b:lease:fence 7"); /* leases are not the store's */
    expect(HF_OK, hf_store_uninstall(url, true, &err), err);
    expect_text(redis_server_ask(server, "keys 'b:*'"), "b:lease:fence");
    expect_int(must(HF_OK, a, LIST, .limit = 10).locks_count, 1);
    hf_store_close(a);
    hf_store_close(b);
}

/* Everything under the prefix "f:", as DUMP tells it. */
static void redis_refusals_dump(char *out, size_t size)
{
    snprintf(out, size, "%s",
             redis_server_ask(server, "eval \"local all = redis.call('KEYS', 'f:*') "
                                      "table.sort(all) local sum = '' for _, key in ipairs(all) do "
                                      "sum = redis.sha1hex(sum .. key .. redis.call('DUMP', key)) "
                                      "end return sum\" 0"));
}

static void values_of_others_are_named_and_left_alone(void **state)
{
    (void)state;
    static const struct {
        const char *command, *key; /* what someone wrote, and where */
    } foreign[] = {
        {"rpush f:r:policy/1 x", "f:r:policy/1"},
        {"set f:r:policy/1 garbage", "f:r:policy/1"},
        {"set f:r:policy/1 \"$(printf '1\\t\\t\\tx')\"", "f:r:policy/1"},
        {"hset f:r:policy/1 a b", "f:r:policy/1"},
        {"set f:locks x", "f:locks"},
        {"rpush f:events x", "f:events"},
        {"set f:s:%s garbage", "f:s:"},
        {"set f:y:policy garbage", "f:y:policy"},
        {"set f:h:%s garbage", "f:h:"},
        {"set f:schema 'something else'", "f:schema"},
        {"set f:schema x", "f:schema"},
        {"set f:schema 'holdfast 2'", "made by another version"},
        {"set f:l:%s garbage", "f:l:"},
        {"set f:seq x", "f:seq"},
        {"set f:floor x", "f:floor"},
    };
    char url[HF_URL_MAX], before[64], after[64], line[512];
    int bad = 0;
    redis_server_url(server, "", 0, "namespace=f", url);
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++) {
        redis_server_ask(server, "flushall");
        hf_store *store = redis_refusals_open(url);
        hf_credentials alice = newcomer(store, "alice", HOUR);
        const char *at = strstr(foreign[i].command, "%s");
        snprintf(line, sizeof line, "%.*s%s%s", at ? (int)(at - foreign[i].command) : 500,
                 foreign[i].command, at ? alice.id : "", at ? at + 2 : "");
        const char *key = strchr(line, ' ') + 1;
        redis_server_ask(server, "del %.*s", (int)strcspn(key, " "), key);
        redis_server_ask(server, "%s", line);
        redis_refusals_dump(before, sizeof before);
        said no = ASK(store, ACQUIRE, BY(alice), ON("policy", "1"));
        redis_refusals_dump(after, sizeof after);
        bool good = no.status == HF_UNAVAILABLE && strstr(no.message, foreign[i].key) &&
                    strcmp(before, after) == 0;
        if (!good)
            printf("# %s: %s%s: %s\n", line, hf_status_wire(no.status),
                   strcmp(before, after) == 0 ? "" : ", something changed", no.message);
        bad += !good;
        hf_store_close(store);
    }
    redis_server_ask(server, "flushall");
    expect_int(bad, 0);
}

/* Whose rows have another form: neither read nor written, but removed by whoever insists. */
static void keys_of_another_version_are_refused_and_can_be_removed(void **state)
{
    (void)state;
    static const char *const schemas[] = {"holdfast 1", "holdfast 0123456789abcdef"};
    char url[HF_URL_MAX], before[64], after[64];
    hf_error err = {0};
    redis_server_url(server, "", 0, "namespace=f", url);
    for (size_t i = 0; i < sizeof schemas / sizeof *schemas; i++) {
        hf_store *store = redis_refusals_open(url);
        hf_credentials alice = newcomer(store, "alice", HOUR);
        must(HF_OK, store, ACQUIRE, BY(alice), ON("policy", "1"));
        redis_server_ask(server, "set f:schema '%s'", schemas[i]);
        redis_refusals_dump(before, sizeof before);
        said no = must(HF_UNAVAILABLE, store, ACQUIRE, BY(alice), ON("policy", "2"));
        expect_contains(no.message, "The keys of the namespace f on ");
        expect_contains(no.message, "were made by another version of holdfast");
        expect_contains(no.message, "'holdfast uninstall URL --force'");
        must(HF_UNAVAILABLE, store, LIST, .limit = 10);
        hf_store_close(store);
        redis_refusals_refuse(HF_UNAVAILABLE, url, "another version", "left as they are");
        expect(HF_UNAVAILABLE, hf_store_uninstall(url, false, &err), err);
        expect_contains(err.message, "another version");
        redis_refusals_dump(after, sizeof after);
        expect_text(after, before);
        expect(HF_OK, hf_store_uninstall(url, true, &err), err);
        expect_text(redis_server_ask(server, "keys 'f:*'"), "");
    }
}

/* What a key holds is text in which some bytes mean something. */
static void texts_with_any_character_come_back_as_they_were(void **state)
{
    (void)state;
    hf_store *store = redis_refusals_open(redis_refusals_url("", ""));
    hf_credentials alice = newcomer(store, "a\\t\\n\\\\", HOUR), bob = newcomer(store, "bob", HOUR);
    must(HF_OK, store, ACQUIRE, BY(alice), ON("policy", "1\\"), .purpose = "\\");
    said no = must(HF_LOCKED, store, ACQUIRE, BY(bob), ON("policy", "1\\"));
    expect_text(no.lock.user, "a\\t\\n\\\\");
    expect_text(no.lock.purpose, "\\");
    expect_text(must(HF_OK, store, LIST, .user = "a\\t\\n\\\\", .limit = 10).lock.resource.id,
                "1\\");
    hf_store_close(store);
}

static void a_server_that_was_emptied_is_told(void **state)
{
    (void)state;
    char url[HF_URL_MAX];
    snprintf(url, sizeof url, "%s", redis_refusals_url("", ""));
    hf_store *store = redis_refusals_open(url);
    hf_credentials alice = newcomer(store, "alice", HOUR);
    must(HF_OK, store, ACQUIRE, BY(alice), ON("policy", "1"));
    redis_server_ask(server, "flushall");
    said no = must(HF_UNAVAILABLE, store, ACQUIRE, BY(alice), ON("policy", "2"));
    expect_contains(no.message, "are gone from");
    must(HF_UNAVAILABLE, store, BEAT, BY(alice));
    expect_text(redis_server_ask(server, "dbsize"), "0");
    hf_store *again = redis_refusals_open(url);
    said unknown = ASK(again, BEAT, BY(alice));
    expect_true(unknown.status != HF_OK && unknown.status != HF_UNAVAILABLE);
    newcomer(store, "bob", HOUR); /* it goes on, too */
    hf_store_close(again);
    hf_store_close(store);
}

/* ---- room ---- */

static void with_full_memory_nothing_is_taken_and_all_can_be_given_back(void **state)
{
    (void)state;
    char url[HF_URL_MAX];
    snprintf(url, sizeof url, "%s", redis_refusals_url("", ""));
    hf_store *store = redis_refusals_open(url);
    hf_credentials alice = newcomer(store, "alice", HOUR), bob = newcomer(store, "bob", HOUR);
    hf_credentials carol = drawn();
    must(HF_OK, store, ACQUIRE, BY(alice), ON("policy", "1"));
    must(HF_OK, store, ACQUIRE, BY(alice), ON("policy", "2"));
    must(HF_OK, store, ACQUIRE, BY(bob), ON("policy", "4"));
    redis_server_ask(server, "config set maxmemory 1");
    said no = must(HF_UNAVAILABLE, store, ACQUIRE, BY(alice), ON("policy", "3"));
    expect_contains(no.message, "memory of Redis is full");
    expect_contains(no.message, "Releasing");
    must(HF_LOCKED, store, ACQUIRE, BY(bob), ON("policy", "1")); /* needs no room */
    no = ASK(store, SESSION_OPEN, BY(carol), .user = "carol");
    expect_true(no.status == HF_UNAVAILABLE);
    must(HF_OK, store, BEAT, BY(alice));
    must(HF_OK, store, RELEASE, BY(alice), ON("policy", "1"));
    must(HF_OK, store, LIST, .limit = 10);
    must(HF_OK, store, SWEEP, .limit = 10);
    must(HF_OK, store, CLOSE, BY(alice));
    hf_store *second = redis_refusals_open(url); /* as a program does that only releases */
    must(HF_OK, second, RELEASE, BY(bob), ON("policy", "4"));
    redis_server_ask(server, "config set maxmemory 0");
    must(HF_OK, store, ACQUIRE, BY(bob), ON("policy", "1"));
    expect_int(holders(store, "2"), 0);
    hf_store_close(second);
    hf_store_close(store);
}

/* More than Lua can unpack. */
static void redis_refusals_take_many(hf_store *store, const hf_credentials *who, size_t count)
{
    enum { AT_ONCE = 500 };
    char ids[AT_ONCE][16];
    for (size_t from = 0; from < count; from += AT_ONCE) {
        hf_batch *batch = batch_new(AT_ONCE);
        for (size_t i = 0; i < AT_ONCE; i++) {
            hf_op *op = hf_batch_add(batch, HF_OP_ACQUIRE);
            snprintf(ids[i], sizeof ids[i], "%06zu", from + i);
            op->session = who;
            op->type = "policy";
            op->id = ids[i];
        }
        execute(store, batch);
        answer(batch, AT_ONCE - 1, HF_OK);
        hf_batch_free(batch);
    }
}

static void a_session_with_ten_thousand_locks_is_no_problem(void **state)
{
    (void)state;
    enum { MANY = 10000 };
    redis_server_ask(server, "flushall");
    hf_store *store = redis_refusals_open(redis_refusals_url("", ""));
    for (int way = 0; way < 3; way++) {
        hf_credentials who = newcomer(store, "many", HOUR);
        redis_refusals_take_many(store, &who, MANY);
        must(HF_OK, store, BEAT, BY(who));
        said all = must(HF_OK, store, LIST, .user = "many", .limit = 1000);
        expect_int(all.locks_count, 1000);
        if (way == 0)
            must(HF_OK, store, RELEASE_ALL, BY(who));
        else if (way == 1)
            must(HF_OK, store, CLOSE, BY(who));
        else { /* dead, and swept */
            hf_store_clock_offset(store, 2 * HOUR);
            for (bool more = true; more;) {
                hf_batch *batch = batch_new(1);
                hf_op *op = hf_batch_add(batch, HF_OP_SWEEP);
                op->limit = HF_LIST_MAX;
                execute(store, batch);
                expect_status(HF_OK, op->answer.status, op->answer.message);
                more = op->answer.more;
                hf_batch_free(batch);
            }
        }
        expect_int(must(HF_OK, store, LIST, .limit = 10).locks_count, 0);
        expect_text(redis_server_ask(server, "keys '*:r:*'"), "");
    }
    hf_store_close(store);
}

#define ALONE(test) cmocka_unit_test_setup(test, redis_refusals_reset)

int main(void)
{
    signal(SIGPIPE, SIG_IGN);
    const struct CMUnitTest tests[] = {
        ALONE(settings_under_which_it_forgets_are_refused),
        ALONE(a_replica_is_refused_and_a_master_that_becomes_one),
        ALONE(a_cluster_is_refused),
        ALONE(settings_that_change_under_an_open_store_are_noticed),
        ALONE(accounts_without_the_rights_are_told_before_anything_is_written),
        ALONE(passwords_and_tls_are_checked_and_never_shown),
        ALONE(namespaces_do_not_see_each_other),
        ALONE(values_of_others_are_named_and_left_alone),
        ALONE(keys_of_another_version_are_refused_and_can_be_removed),
        ALONE(texts_with_any_character_come_back_as_they_were),
        ALONE(a_server_that_was_emptied_is_told),
        ALONE(with_full_memory_nothing_is_taken_and_all_can_be_given_back),
        ALONE(a_session_with_ten_thousand_locks_is_no_problem),
    };
    return cmocka_run_group_tests_name("redis refusals", tests, redis_refusals_start,
                                       redis_refusals_stop);
}
