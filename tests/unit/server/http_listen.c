/* SPDX-License-Identifier: MIT */
/* HTTP: several listeners, TLS, certificates that are read again. */
#include <base/seams.h>
#include "unit/server/http_scene.h"

#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <support/test_store.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define ECHO "GET /echo HTTP/1.1\r\nHost: a\r\n\r\n"

static scene s;

static void http_listen_ask(const char *name, const char *origin)
{
    char expected[256];
    client c = dial_name(&s, name);
    snprintf(expected, sizeof expected, "GET\n/echo\n\n\n%s\nlocal\nclear\n", origin);
    say(&c, ECHO);
    expect_answer(&c, 200, expected);
    hang_up(&c);
}

static void several_addresses_may_be_listened_on(void **state)
{
    (void)state;
    char names[2][ADDRESS_NAME_SIZE], path[4200] = "unix:";
    hf_error err;
    scratch_path("sock", path + 5);
    expect(HF_OK, http_listen(s.h, scene_socket("[::1]:0", names[0]), NULL, &err), err);
    expect(HF_OK, http_listen(s.h, scene_socket(path, names[1]), NULL, &err), err);
    http_listen_ask(s.name, "127.0.0.1");
    http_listen_ask(names[0], "::1");
    http_listen_ask(names[1], "unix");
}

static void reached(const char *name, const char *where, int status)
{
    char text[256];
    client c = dial_name(&s, name);
    snprintf(text, sizeof text, "GET /reached?%s HTTP/1.1\r\nHost: a\r\n\r\n", where);
    say(&c, text);
    expect_answer(&c, status, NULL);
    hang_up(&c);
}

static void the_address_that_was_connected_to_is_known(void **state)
{
    (void)state;
    char any[ADDRESS_NAME_SIZE], six[ADDRESS_NAME_SIZE], local[ADDRESS_NAME_SIZE],
        path[4200] = "unix:";
    hf_error err;
    scratch_path("sock", path + 5);
    expect(HF_OK, http_listen(s.h, scene_socket("0.0.0.0:0", any), NULL, &err), err);
    expect(HF_OK, http_listen(s.h, scene_socket("[::1]:0", six), NULL, &err), err);
    expect(HF_OK, http_listen(s.h, scene_socket(path, local), NULL, &err), err);
    reached(s.name, "127.0.0.1", 200);
    reached(s.name, "::ffff:127.0.0.1", 200);
    static const char *const not_there[] = {"127.0.0.2", "0.0.0.0",   "::1",
                                            "10.0.0.5",  "localhost", ""};
    for (size_t i = 0; i < sizeof not_there / sizeof *not_there; i++)
        reached(s.name, not_there[i], 404);
    reached(six, "::1", 200);
    reached(six, "0:0:0:0:0:0:0:1", 200);
    reached(six, "127.0.0.1", 404);
    reached(local, "127.0.0.1", 404);
    reached(local, "::", 404);
    char second[ADDRESS_NAME_SIZE]; /* of a listener on all addresses */
    snprintf(second, sizeof second, "127.0.0.2%s", strchr(any, ':'));
    reached(second, "127.0.0.2", 200);
    reached(second, "127.0.0.1", 404);
    reached(second, "0.0.0.0", 404);
}

/* ---- TLS ---- */

static char certificate[2][4200], key[2][4200];

static void make_certificates(void)
{
    const char *folder = scratch_folder();
    for (int i = 0; i < 2; i++) {
        const char *name = i == 0 ? "first" : "second";
        make_certificate(folder, name);
        snprintf(certificate[i], sizeof certificate[i], "%s/%s.crt", folder, name);
        snprintf(key[i], sizeof key[i], "%s/%s.key", folder, name);
    }
}

static void http_listen_replace(const char *from, const char *to)
{
    char bytes[8192];
    FILE *in = fopen(from, "r"), *out = fopen(to, "w");
    expect_true(in != NULL && out != NULL);
    size_t size = fread(bytes, 1, sizeof bytes, in);
    expect_int(fwrite(bytes, 1, size, out), size);
    fclose(in);
    fclose(out);
}

/* Who the server says it is. */
static void expect_name(client *c, const char *name)
{
    char subject[256];
    X509 *shown = SSL_get1_peer_certificate(c->tls);
    expect_true(shown != NULL);
    X509_NAME_get_text_by_NID(X509_get_subject_name(shown), NID_commonName, subject,
                              sizeof subject);
    X509_free(shown);
    expect_text(subject, name);
}

static SSL_CTX *client_context(int most)
{
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    SSL_CTX_set_max_proto_version(context, most);
    SSL_CTX_set_security_level(context, 0);
    return context;
}

static void tls_is_spoken(void **state)
{
    (void)state;
    make_certificates();
    scene_listen(&s, "127.0.0.1:0", &(http_tls){certificate[0], key[0]});
    static const int versions[] = {TLS1_2_VERSION, TLS1_3_VERSION};
    for (int i = 0; i < 2; i++) {
        SSL_CTX *context = client_context(versions[i]);
        SSL_CTX_set_alpn_protos(context, (const unsigned char *)"\x02h2\x08http/1.1", 12);
        client c;
        expect_true(dial_tls(&s, context, &c));
        expect_name(&c, "first");
        const unsigned char *chosen;
        unsigned size;
        SSL_get0_alpn_selected(c.tls, &chosen, &size);
        expect_true(size == 8 && memcmp(chosen, "http/1.1", 8) == 0);
        for (int turn = 0; turn < 3; turn++) {
            say(&c, ECHO);
            expect_answer(&c, 200, "GET\n/echo\n\n\n127.0.0.1\nlocal\nsecure\n");
        }
        say(&c, ECHO ECHO "GET /big?3000000 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
        expect_answer(&c, 200, NULL);
        expect_answer(&c, 200, NULL);
        answer a = hear(&c);
        expect_int(a.body_size, 3000000);
        answer_done(&a);
        expect_closed(&c);
        expect_true(c.eof); /* closed with a word */
        hang_up(&c);
        SSL_CTX_free(context);
    }
    scene_until(&s, http_connections(s.h) == 0);
}

/* Every suite that OpenSSL has for TLS 1.2, one by one: by those that are taken nobody can read
 * later what was said, though they get the key, and what is said is sealed as a whole. */
static void only_good_suites_are_taken(void **state)
{
    (void)state;
    char paths[2][4200];
    make_certificates();
    make_certificate_of(EVP_RSA_gen(2048), -3600, 86400, scratch_folder(), "rsa");
    snprintf(paths[0], sizeof paths[0], "%s/rsa.crt", scratch_folder());
    snprintf(paths[1], sizeof paths[1], "%s/rsa.key", scratch_folder());
    size_t tried = 0, taken = 0;
    for (int rsa = 0; rsa < 2; rsa++) {
        http_tls files = {rsa ? paths[0] : certificate[0], rsa ? paths[1] : key[0]};
        scene_listen(&s, "127.0.0.1:0", &files);
        SSL_CTX *all = client_context(TLS1_2_VERSION);
        expect_int(SSL_CTX_set_cipher_list(all, "ALL:COMPLEMENTOFALL:!PSK:!SRP:@SECLEVEL=0"), 1);
        STACK_OF(SSL_CIPHER) *suites = SSL_CTX_get_ciphers(all);
        for (int i = 0; i < sk_SSL_CIPHER_num(suites); i++) {
            const SSL_CIPHER *suite = sk_SSL_CIPHER_value(suites, i);
            if (strcmp(SSL_CIPHER_get_version(suite), "TLSv1.3") == 0)
                continue;
            SSL_CTX *one = client_context(TLS1_2_VERSION);
            client c;
            SSL_CTX_set_cipher_list(one, SSL_CIPHER_get_name(suite));
            bool met = dial_tls(&s, one, &c);
            tried++;
            taken += met;
            if (met && (SSL_CIPHER_get_kx_nid(suite) != NID_kx_ecdhe || !SSL_CIPHER_is_aead(suite)))
                check_failed(__FILE__, __LINE__, "%s is taken", SSL_CIPHER_get_name(suite));
            hang_up(&c);
            SSL_CTX_free(one);
        }
        SSL_CTX_free(all);
    }
    printf("# %zu suites of %zu\n", taken, tried);
    expect_int(taken, 6); /* of each kind of key: AES with 128 and 256 bits, ChaCha20 */
}

static bool meets_with(int version, const char *groups)
{
    SSL_CTX *context = client_context(version);
    client c;
    expect_int(SSL_CTX_set1_groups_list(context, groups), 1);
    bool met = dial_tls(&s, context, &c);
    hang_up(&c);
    SSL_CTX_free(context);
    return met;
}

/* A hello that names a large group costs its sender nothing, and the server 100 ms. */
static void only_quick_groups_are_taken(void **state)
{
    (void)state;
    static const char *const good[] = {"X25519", "P-256", "P-384", "ffdhe8192:P-521:P-256"};
    static const char *const bad[] = {"ffdhe2048", "ffdhe3072", "ffdhe4096", "ffdhe6144",
                                      "ffdhe8192", "P-521",     "X448"};
    make_certificates();
    scene_listen(&s, "127.0.0.1:0", &(http_tls){certificate[0], key[0]});
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        if (!meets_with(TLS1_3_VERSION, good[i]))
            check_failed(__FILE__, __LINE__, "%s is refused", good[i]);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (meets_with(TLS1_3_VERSION, bad[i]))
            check_failed(__FILE__, __LINE__, "%s is taken", bad[i]);
    expect_true(meets_with(TLS1_2_VERSION, "X25519:P-256"));
    expect_true(!meets_with(TLS1_2_VERSION, "P-521"));
}

/* A new key costs its sender a few bytes. Nobody needs many of them. */
static void keys_are_not_changed_for_ever(void **state)
{
    (void)state;
    make_certificates();
    scene_listen(&s, "127.0.0.1:0", &(http_tls){certificate[0], key[0]});
    SSL_CTX *context = client_context(TLS1_3_VERSION);
    client c;
    expect_true(dial_tls(&s, context, &c));
    for (int i = 0; i < 8; i++) {
        SSL_key_update(c.tls, i % 2 ? SSL_KEY_UPDATE_REQUESTED : SSL_KEY_UPDATE_NOT_REQUESTED);
        say(&c, ECHO);
        expect_answer(&c, 200, NULL);
    }
    for (int i = 0; i < 1000 && SSL_key_update(c.tls, SSL_KEY_UPDATE_NOT_REQUESTED) == 1; i++)
        while (SSL_do_handshake(c.tls) != 1 && !c.reset)
            listen_to(&c), scene_turn(&s);
    expect_closed(&c);
    hang_up(&c);
    SSL_CTX_free(context);
}

static void want_many_files(void)
{
    struct rlimit files;
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
}

/* Has the server said something to it? */
static bool is_spoken_to(const client *c)
{
    char byte;
    return recv(c->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 1;
}

/* One address with many handshakes does not keep another one waiting; nor do those that it does
 * not go on with. Whoever has hung up is spared theirs. */
static void addresses_take_turns_with_handshakes(void **state)
{
    (void)state;
    enum { CROWD = 400, GONE = 100 };
    want_many_files();
    make_certificate_of(EVP_RSA_gen(2048), -3600, 86400, scratch_folder(), "slow");
    char files[2][4200];
    snprintf(files[0], sizeof files[0], "%s/slow.crt", scratch_folder());
    snprintf(files[1], sizeof files[1], "%s/slow.key", scratch_folder());
    scene_listen(&s, "127.0.0.1:0", &(http_tls){files[0], files[1]});
    SSL_CTX *context = client_context(TLS1_3_VERSION);
    client gone[GONE];
    for (int i = 0; i < GONE; i++) {
        gone[i] = dial_hello_from(&s, context, "127.0.0.2");
        shutdown(gone[i].fd, SHUT_WR);
    }
    scene_until(&s, scene_counted(&s, "connections") == GONE && http_connections(s.h) == 0);
    for (int i = 0; i < GONE; i++) {
        expect_true(!is_spoken_to(&gone[i]));
        hang_up(&gone[i]);
    }
    client *crowd = calloc(CROWD, sizeof *crowd);
    for (int i = 0; i < CROWD; i++)
        crowd[i] = dial_hello_from(&s, context, "127.0.0.2");
    client honest = dial_hello_from(&s, context, "127.0.0.3");
    expect_true(shake_hands(&honest));
    say(&honest, ECHO);
    expect_answer(&honest, 200, NULL);
    int before = 0;
    for (int i = 0; i < CROWD; i++)
        before += is_spoken_to(&crowd[i]);
    printf("# %d of %d were served before\n", before, CROWD);
    expect_true(before < CROWD / 2);
    scene_until(&s, is_spoken_to(&crowd[CROWD - 1]));
    expect_true(shake_hands(&crowd[CROWD - 1]));
    for (int i = 0; i < CROWD; i++)
        hang_up(&crowd[i]);
    hang_up(&honest);
    free(crowd);
    scene_until(&s, http_connections(s.h) == 0);
    SSL_CTX_free(context);
}

/* Their memory is bounded: of an address that has many, the oldest give way. */
static void handshakes_that_do_not_go_on_give_way(void **state)
{
    (void)state;
    enum { CROWD = 1500, MOST = 1024 };
    want_many_files();
    make_certificates();
    scene_listen(&s, "127.0.0.1:0", &(http_tls){certificate[0], key[0]});
    SSL_CTX *context = client_context(TLS1_3_VERSION);
    client honest = dial_hello_from(&s, context, "127.0.0.3");
    scene_until(&s, is_spoken_to(&honest));
    client *crowd = calloc(CROWD, sizeof *crowd);
    for (int i = 0; i < CROWD; i++) {
        crowd[i] = dial_hello_from(&s, context, "127.0.0.2");
        scene_until(&s, is_spoken_to(&crowd[i]));
        expect_true(http_connections(s.h) <= MOST + 1);
    }
    expect_int(scene_counted(&s, "timeout_handshake"), CROWD + 1 - MOST);
    expect_true(shake_hands(&honest) && shake_hands(&crowd[CROWD - 1]));
    say(&honest, ECHO);
    expect_answer(&honest, 200, NULL);
    hang_up(&honest);
    for (int i = 0; i < CROWD; i++)
        hang_up(&crowd[i]);
    free(crowd);
    scene_until(&s, http_connections(s.h) == 0);
    SSL_CTX_free(context);
}

/* ---- what is questionable ---- */

static char told[4][512];
static size_t told_count;

static void hear_flaw(void *context, const char *sentence)
{
    (void)context;
    expect_true(told_count < 4);
    snprintf(told[told_count++], sizeof told[0], "%s", sentence);
}

static int64_t check_files(const char *name, mode_t mode)
{
    char files[2][4200];
    snprintf(files[0], sizeof files[0], "%s/%s.crt", scratch_folder(), name);
    snprintf(files[1], sizeof files[1], "%s/%s.key", scratch_folder(), name);
    expect_int(chmod(files[1], mode), 0);
    told_count = 0;
    return http_tls_check(&(http_tls){files[0], files[1]}, hear_flaw, NULL);
}

static void questionable_files_are_told(void **state)
{
    enum { DAY = 86400 };
    static const struct {
        long from_s, to_s;
        const char *wanted; /* NULL: nothing */
    } cases[] = {
        {-300 * DAY, 90 * DAY, NULL},
        {-300 * DAY, -DAY, "has expired"},
        {-300 * DAY, 13 * DAY, "expires on"},
        {-3600, 6 * DAY, NULL}, /* one of those that are renewed every few days ... */
        {-5 * DAY, DAY, "expires on"},
        {DAY, 90 * DAY, "is not good before"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        make_certificate_of(EVP_EC_gen("P-256"), cases[i].from_s, cases[i].to_s, scratch_folder(),
                            "aged");
        int64_t ends_us = check_files("aged", 0600);
        int64_t off_us = ends_us - hf_seam.wall_us() - cases[i].to_s * INT64_C(1000000);
        expect_true(off_us > -60000000 && off_us < 60000000);
        expect_int(told_count, cases[i].wanted != NULL);
        if (cases[i].wanted != NULL)
            expect_contains(told[0], cases[i].wanted);
        if (cases[i].wanted != NULL)
            expect_contains(told[0], "/aged.crt");
    }
    make_certificate(scratch_folder(), "open");
    check_files("open", 0640); /* a group is a way to share it */
    expect_int(told_count, 0);
    check_files("open", 0644);
    expect_int(told_count, 1);
    expect_contains(told[0], "can be read by everyone on this machine (mode 0644)");
    expect_contains(told[0], "/open.key");
}

static void a_large_body_comes_by_tls(void **state)
{
    (void)state;
    static char body[1000000];
    make_certificates();
    scene_listen(&s, "127.0.0.1:0", &(http_tls){certificate[0], key[0]});
    SSL_CTX *context = client_context(TLS1_3_VERSION);
    client c;
    expect_true(dial_tls(&s, context, &c));
    memset(body, 'x', sizeof body);
    say(&c, "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n");
    say_bytes(&c, body, sizeof body);
    answer a = hear(&c);
    expect_true(a.status == 200 && a.body_size > 1000000);
    answer_done(&a);
    hang_up(&c);
    SSL_CTX_free(context);
}

static void a_parked_client_by_tls_may_leave(void **state)
{
    (void)state;
    make_certificates();
    scene_listen(&s, "127.0.0.1:0", &(http_tls){certificate[0], key[0]});
    SSL_CTX *context = client_context(TLS1_3_VERSION);
    for (int i = 0; i < 30; i++) {
        client c;
        expect_true(dial_tls(&s, context, &c));
        say(&c, i % 2 == 0 ? "GET /park HTTP/1.1\r\nHost: a\r\n\r\n"
                           : "GET /stream HTTP/1.1\r\nHost: a\r\n\r\n");
        scene_until(&s, s.parked_count == 1);
        if (i % 3 == 0)
            hang_up_hard(&c);
        else
            hang_up(&c);
        if (i % 3 == 0 || i % 2 == 1)
            scene_until(&s, s.left == 1);
        s.left = 0;
        s.parked_count--;
        if (i % 2 == 0)
            http_answer(s.parked[0], &(http_reply){.status = 200});
        else
            http_stream_end(s.parked[0]);
    }
    scene_until(&s, http_connections(s.h) == 0);
    SSL_CTX_free(context);
}

static void what_is_not_tls_is_closed(void **state)
{
    (void)state;
    make_certificates();
    scene_listen(&s, "127.0.0.1:0", &(http_tls){certificate[0], key[0]});
    client plain = dial(&s), old;
    say(&plain, ECHO);
    scene_until(&s, scene_counted(&s, "tls_failed") == 1);
    hang_up(&plain);
    SSL_CTX *context = client_context(TLS1_1_VERSION);
    expect_true(!dial_tls(&s, context, &old));
    scene_until(&s, scene_counted(&s, "tls_failed") == 2);
    hang_up(&old);
    SSL_CTX_free(context);
    scene_until(&s, http_connections(s.h) == 0);
    expect_int(s.handled, 0);
}

static void a_handshake_that_does_not_come_has_an_end(void **state)
{
    (void)state;
    make_certificates();
    http_free(s.h);
    s.settings.head_timeout_us = 100000;
    hf_error err;
    expect(HF_OK, http_new(&s.settings, &s.h, &err), err);
    scene_listen(&s, "127.0.0.1:0", &(http_tls){certificate[0], key[0]});
    client silent = dial(&s), half = dial(&s);
    say_bytes(&half, "\x16\x03\x01", 3);
    expect_closed(&silent);
    expect_closed(&half);
    expect_int(scene_counted(&s, "timeout_handshake"), 2);
    hang_up(&silent), hang_up(&half);
}

/* Who is asked to wait for the handshake has not been heard yet. */
static void a_stop_waits_a_moment_for_handshakes(void **state)
{
    (void)state;
    make_certificates();
    scene_listen(&s, "127.0.0.1:0", &(http_tls){certificate[0], key[0]});
    SSL_CTX *context = client_context(TLS1_3_VERSION);
    client early = dial_hello(&s, context), silent = dial(&s);
    scene_until(&s, http_connections(s.h) == 2);
    for (int i = 0; i < 3; i++)
        scene_turn(&s);
    client late = dial_hello(&s, context); /* waits to be accepted */
    http_stop(s.h);
    expect_int(http_connections(s.h), 3);
    client *both[] = {&early, &late};
    for (int i = 0; i < 2; i++) { /* both have the same second for it */
        expect_true(shake_hands(both[i]));
        say(both[i], ECHO);
    }
    for (int i = 0; i < 2; i++) {
        answer a = hear(both[i]);
        expect_int(a.status, 200);
        expect_contains(a.head, "Connection: close");
        answer_done(&a);
        expect_closed(both[i]);
        hang_up(both[i]);
    }
    expect_closed(&silent); /* long before the time that a handshake has otherwise */
    hang_up(&silent);
    scene_until(&s, http_connections(s.h) == 0);
    SSL_CTX_free(context);
}

/* New connections see the new certificate, old ones go on; what is wrong changes nothing. */
static void certificates_are_read_again(void **state)
{
    (void)state;
    make_certificates();
    char current[2][4200];
    snprintf(current[0], sizeof current[0], "%s/current.crt", scratch_folder());
    snprintf(current[1], sizeof current[1], "%s/current.key", scratch_folder());
    http_listen_replace(certificate[0], current[0]);
    http_listen_replace(key[0], current[1]);
    scene_listen(&s, "127.0.0.1:0", &(http_tls){current[0], current[1]});
    SSL_CTX *context = client_context(TLS1_3_VERSION);
    client before, after;
    hf_error err;
    expect_true(dial_tls(&s, context, &before));

    http_listen_replace(certificate[1], current[0]);
    expect(HF_INVALID, http_reload(s.h, &err), err);
    expect_contains(err.message, "does not belong to the certificate");
    expect_true(dial_tls(&s, context, &after));
    expect_name(&after, "first");
    hang_up(&after);

    http_listen_replace(key[1], current[1]);
    expect(HF_OK, http_reload(s.h, &err), err);
    expect_true(dial_tls(&s, context, &after));
    expect_name(&after, "second");
    expect_name(&before, "first");
    say(&before, ECHO);
    expect_answer(&before, 200, NULL);
    say(&after, ECHO);
    expect_answer(&after, 200, NULL);
    hang_up(&before), hang_up(&after);
    SSL_CTX_free(context);
}

static void http_listen_wrong(const char *with_certificate, const char *with_key,
                              const char *sentence, const char *name)
{
    hf_error err;
    char any[ADDRESS_NAME_SIZE];
    int fd = scene_socket("127.0.0.1:0", any);
    expect(HF_INVALID, http_listen(s.h, fd, &(http_tls){with_certificate, with_key}, &err), err);
    expect_int(close(fd), 0); /* it was still ours */
    expect_contains(err.message, sentence);
    expect_contains(err.message, name);
}

static void wrong_files_are_named(void **state)
{
    (void)state;
    make_certificates();
    char encrypted[4200], command[9000];
    snprintf(encrypted, sizeof encrypted, "%s/encrypted.key", scratch_folder());
    snprintf(command, sizeof command,
             "openssl ec -aes128 -passout pass:abcd -in %s -out %s 2>/dev/null", key[0], encrypted);
    expect_int(system(command), 0);
    http_listen_wrong("/nowhere.crt", key[0], "can't be read: No such file", "/nowhere.crt");
    http_listen_wrong(certificate[0], "/nowhere.key", "can't be read: No such file",
                      "/nowhere.key");
    http_listen_wrong(key[0], key[0], "holds no certificate", key[0]);
    http_listen_wrong(certificate[0], certificate[0], "holds no private key", certificate[0]);
    http_listen_wrong(certificate[0], key[1], "does not belong to the certificate", key[1]);
    http_listen_wrong(certificate[0], encrypted, "has a passphrase", encrypted);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_prestate_setup_teardown(name, scene_begin, scene_finish, &s)
    const struct CMUnitTest tests[] = {
        TEST(several_addresses_may_be_listened_on),
        TEST(the_address_that_was_connected_to_is_known),
        TEST(tls_is_spoken),
        TEST(only_good_suites_are_taken),
        TEST(only_quick_groups_are_taken),
        TEST(keys_are_not_changed_for_ever),
        TEST(addresses_take_turns_with_handshakes),
        TEST(handshakes_that_do_not_go_on_give_way),
        TEST(questionable_files_are_told),
        TEST(a_large_body_comes_by_tls),
        TEST(a_parked_client_by_tls_may_leave),
        TEST(what_is_not_tls_is_closed),
        TEST(a_handshake_that_does_not_come_has_an_end),
        TEST(a_stop_waits_a_moment_for_handshakes),
        TEST(certificates_are_read_again),
        TEST(wrong_files_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
