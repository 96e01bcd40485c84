/* SPDX-License-Identifier: MIT */
/* P13: a session's key is nowhere but with its owner. Every answer of this suite is searched for
 * keys as it comes; here are the other places it could leak to. */
#include "suite.h"

#include <stdlib.h>
#include <store/store.h>
#include <string.h>

static void collect(void *context, const char *line)
{
    fprintf(context, "%s\n", line);
}

/* A bit of everything, with refusals. */
static void secrets_story(fixture *w, hf_credentials *alice, hf_credentials *bob)
{
    *alice = person(w, "alice", "Alice Chen");
    *bob = person(w, "bob", "Bob Smith");
    hf_credentials thief;
    hf_error err = {0};
    expect(HF_OK, hf_credentials_set(&thief, alice->id, bob->key, &err), err);
    done(w, ACQUIRE, BY(*alice), ON("policy", "1"), .request_id = "r1");
    refused(w, HF_LOCKED, ACQUIRE, BY(*bob), ON("policy", "1"));
    refused(w, HF_DENIED, RELEASE, BY(thief), ON("policy", "1"));
    done(w, REQUEST, BY(*bob), ON("policy", "1"), .text = "please");
    done(w, BEAT, BY(*alice));
    done(w, FORCE_RELEASE, BY(*bob), ON("policy", "1"), .text = "why");
    hf_credentials fresh = draw(w);
    refused(w, HF_DENIED, SESSION_OPEN, BY(fresh), .user = "mallory", .replaces = &thief);
    done(w, SESSION_OPEN, BY(fresh), .user = "alice", .replaces = alice);
    done(w, SESSIONS);
    done(w, LIST);
    done(w, EVENTS);
    done(w, CLOSE, BY(fresh));
}

/* P13 */
static void a_trace_tells_every_op_and_no_key_in_secrets(fixture *w)
{
    char *text = NULL;
    size_t size = 0;
    hf_error err = {0};
    FILE *lines = open_memstream(&text, &size);
    hf_store *inner = w->store;
    w->store = NULL;
    expect(HF_OK, hf_trace_open(inner, collect, lines, &w->store, &err), err);
    clock_forward(w, SECOND);
    hf_credentials alice, bob;
    secrets_story(w, &alice, &bob);
    fflush(lines);
    static const char *const kinds[] = {"session-open", "acquire",       "release", "request",
                                        "beat",         "force-release", "close",   "list",
                                        "events",       "sessions"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        expect_contains(text, kinds[i]);
    expect_contains(text, "policy/1");
    expect_contains(text, "locked");
    expect_contains(text, alice.id);
    for (size_t i = 0; i < w->secrets_count; i++)
        expect_lacks(text, w->secrets[i].key);
    hf_store_close(w->store);
    w->store = NULL;
    fclose(lines);
    free(text);
}

/* P13 */
static void json_tells_a_key_only_when_it_is_given_one(fixture *w)
{
    hf_credentials alice = draw(w);
    const hf_answer *opened = done(w, SESSION_OPEN, BY(alice), .user = "alice");
    char *without = hf_session_json(&opened->sessions[0], NULL),
         *with = hf_session_json(&opened->sessions[0], alice.key);
    expect_contains(without, alice.id);
    expect_lacks(without, alice.key);
    expect_lacks(without, "\"key\"");
    expect_contains(with, alice.key);
    hf_json_free(without);
    hf_json_free(with);
    const hf_answer *events = done(w, EVENTS);
    char *event = hf_event_json(&events->events[0]);
    expect_lacks(event, alice.key);
    hf_json_free(event);
}

/* P13 */
static void a_refusal_of_credentials_does_not_repeat_the_key(fixture *w)
{
    (void)w;
    static const char key[] = "0123456789abcdef0123456789abcdeX";
    hf_credentials out;
    hf_error err = {0};
    char text[128];
    snprintf(text, sizeof text, "%s.%s", "00000000000000000000000000000001", key);
    expect(HF_INVALID, hf_credentials_parse(text, &out, &err), err);
    expect_lacks(err.message, "0123456789abcdef");
    expect(HF_INVALID, hf_credentials_set(&out, "00000000000000000000000000000001", key, &err),
           err);
    expect_lacks(err.message, "0123456789abcdef");
    expect(HF_INVALID, hf_credentials_new(key, &out, &err), err);
    expect_lacks(err.message, "0123456789abcdef");
    snprintf(text, sizeof text, "%s%s", "00000000000000000000000000000001", key);
    expect(HF_INVALID, hf_credentials_parse(text, &out, &err), err);
    expect_lacks(err.message, "0123456789abcdef");
}

/* Whether a file holds these bytes. A file that is not there holds none. */
static bool file_holds(const char *path, const char *bytes)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        return false;
    fseek(file, 0, SEEK_END);
    long size = ftell(file);
    rewind(file);
    char *content = malloc((size_t)size + 1);
    size_t got = fread(content, 1, (size_t)size, file);
    bool found = memmem(content, got, bytes, strlen(bytes)) != NULL;
    free(content);
    fclose(file);
    return found;
}

/* P13: the file holds the hash of a key, not the key. */
static void the_file_holds_no_key(fixture *w)
{
    hf_credentials alice, bob;
    secrets_story(w, &alice, &bob);
    static const char *const endings[] = {"", "-wal"};
    bool seen = false;
    for (size_t i = 0; i < 2; i++) {
        char path[HF_URL_MAX + 8];
        snprintf(path, sizeof path, "%s%s", strchr(w->url, ':') + 1, endings[i]);
        seen = seen || file_holds(path, alice.id);
        for (size_t s = 0; s < w->secrets_count; s++)
            expect_true(!file_holds(path, w->secrets[s].key));
    }
    expect_true(seen);
}

static const suite_test secrets_tests[] = {
    TEST(a_trace_tells_every_op_and_no_key_in_secrets),
    TEST(json_tells_a_key_only_when_it_is_given_one),
    TEST(a_refusal_of_credentials_does_not_repeat_the_key),
    TEST_FILE(the_file_holds_no_key),
};
THEME(secrets);
