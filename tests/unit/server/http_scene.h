/* SPDX-License-Identifier: MIT */
/* An HTTP server and its clients in one thread: whoever waits for something turns the server's loop
 * until it is there. */
#ifndef HF_TESTS_UNIT_SERVER_HTTP_SCENE_H
#define HF_TESTS_UNIT_SERVER_HTTP_SCENE_H

#include <server/http/http.h>
#include <server/http/listeners.h>
#include <support/check.h>

struct event_base;
struct ssl_st;
struct ssl_ctx_st;

enum { SCENE_PARKED_MAX = 20000, SCENE_COUNTS = 20 };

/* What the handler does is said by the path:
 *   /echo          200: method, path, query, body, peer, local, secure, each on a line
 *   /header?NAME   200: the header's value, 404: not there
 *   /reached?ADDR  200: that is where the client has connected to, 404: it is not
 *   /park          stays in `parked`
 *   /stream        a stream, which stays in `parked` too
 *   /big?N         200: N bytes
 *   /status?N      N, with a body of four bytes
 *   /close         200, and closes
 *   /bad           200 with a header that has a line end in it
 *   /cached        200 with a Cache-Control of its own
 */
typedef struct scene {
    struct event_base *base;
    http *h;
    char name[ADDRESS_NAME_SIZE]; /* of the listener that came last by scene_listen */
    http_settings settings;
    http_request *parked[SCENE_PARKED_MAX];
    size_t parked_count;
    size_t handled, left, drained;
    http_request *answers_when_left; /* it is answered when it is told */
    struct {
        const char *what;
        size_t count;
    } counts[SCENE_COUNTS];
} scene;

/* Generous timeouts; the test may change s->settings before scene_start. */
void scene_init(scene *s);
void scene_start(scene *s); /* listens on 127.0.0.1, at any port */
void scene_listen(scene *s, const char *where, const http_tls *tls);
/* A socket that listens, and its address with the port that came of it. */
int scene_socket(const char *where, char name[ADDRESS_NAME_SIZE]);
void scene_end(scene *s); /* answers what is parked */

/* Before and after a test whose state is a scene: initialized and started; ended. */
int scene_begin(void **state);
int scene_finish(void **state);

size_t scene_counted(const scene *s, const char *what);

/* Turns the loop until the condition holds; fails the test after many seconds. */
#define scene_until(s, condition)                                                                  \
    do {                                                                                           \
        int64_t begin_us_ = scene_now_us();                                                        \
        while (!(condition)) {                                                                     \
            if (scene_now_us() - begin_us_ > SCENE_PATIENCE_US)                                    \
                check_failed(__FILE__, __LINE__, "waited in vain for: %s", #condition);            \
            scene_turn(s);                                                                         \
        }                                                                                          \
    } while (0)

#define SCENE_PATIENCE_US 30000000

int64_t scene_now_us(void);
void scene_turn(scene *s); /* once; at most a few milliseconds */

/* ---- clients ---- */

typedef struct client {
    scene *scene;
    int fd;
    struct ssl_st *tls;
    char *text; /* all that was read and not yet taken; NUL behind it */
    size_t size, room;
    bool eof, reset;
} client;

/* Connects to s->name, or to that name. */
client dial(scene *s);
client dial_name(scene *s, const char *name);
/* To s->name from an address of this machine's own: 127.0.0.2. */
client dial_from(scene *s, const char *from);
/* By TLS, after the handshake. False: it failed. */
bool dial_tls(scene *s, struct ssl_ctx_st *context, client *out);
/* The same in two steps: the first word of the handshake, and the rest. */
client dial_hello(scene *s, struct ssl_ctx_st *context);
client dial_hello_from(scene *s, struct ssl_ctx_st *context, const char *from);
bool shake_hands(client *c);
void hang_up(client *c);
void hang_up_hard(client *c); /* by a reset */
void stop_sending(client *c);

void say(client *c, const char *text);
void say_bytes(client *c, const char *from, size_t size);
/* Reads what is there, without waiting. */
void listen_to(client *c);

typedef struct answer {
    int status;
    char head[2048]; /* all of it */
    char *body;      /* free it by answer_done */
    size_t body_size;
} answer;

/* Waits for the next answer; `head_only`: it has no body whatever its headers say. */
answer hear(client *c);
answer hear_head(client *c);
void answer_done(answer *a);
/* Waits for an answer and checks its status and body (NULL: any). */
void expect_answer(client *c, int status, const char *body);
/* Waits until the server closes; nothing more may have come. */
void expect_closed(client *c);

/* Makes a self-signed certificate and its key below `folder`: NAME.crt, NAME.key. */
void make_certificate(const char *folder, const char *name);
struct evp_pkey_st;
/* The same with a key, which is freed, and good from then to then, in seconds from now. */
void make_certificate_of(struct evp_pkey_st *key, long from_s, long to_s, const char *folder,
                         const char *name);

#endif
