/* SPDX-License-Identifier: MIT */
/* What the tests of leases share: providers on a key space of the test's own, and people in other
 * threads. The URL is that of HF_TEST_LEASES (a server's), else each of "memory:" and "sqlite:" in
 * turn. */
#ifndef HF_TESTS_LEASE_SCENE_H
#define HF_TESTS_LEASE_SCENE_H

#include <holdfast/holdfast.h>
#include <pthread.h>
#include <stdatomic.h>
#include <support/check.h>

#define MS  INT64_C(1000)
#define SEC INT64_C(1000000)

/* Two providers that exclude each other, as two processes would; with memory: they are one and the
 * same. */
typedef struct scene {
    char url[HF_URL_MAX];
    hf_leases *a, *b;
    bool local; /* in this process alone */
    hf_error err;
    /* What the listener of a has heard. */
    atomic_int expired, lost, leaking;
    char key[HF_LEASE_KEY_SIZE], text[HF_MESSAGE_SIZE];
} scene;

/* The URLs of this run; NULL after the last. */
const char *const *scene_urls(void);

/* A URL below one of them with keys of its own. */
void scene_url(const char *base, char *out);

scene *scene_open(const char *base);
scene *scene_open_with(const char *base, hf_leases_options *options);
void scene_close(scene *it);

/* A server of the program's own, by its name (NULL: none, *url is "sqlite:"), on which a thousand
 * locks more fit than by default; its URL. And its end. */
void scene_server(const char *name, const char **url);
void scene_server_end(void);
/* That server has at most so many connections of the scene's. */
void scene_connections(scene *it, int max);

/* What comes to pass when another thread tries; granted, it closes the lease at once. */
hf_status elsewhere(hf_leases *leases, const char *key, int64_t wait_us, hf_error *err);

/* A thread that acquires (max_wait_us < 0: for ever), notes the order in which it got it, holds and
 * closes. */
typedef struct person {
    pthread_t thread;
    hf_leases *leases;
    const char *key;
    int64_t wait_us, hold_us, pause_us;
    hf_lease lease;
    hf_status status;
    hf_error err;
    atomic_int *order;
    int place;
    atomic_bool begun, done;
} person;

void person_start(person *who);
void person_join(person *who);

int64_t now_us(void);
void nap(int64_t us);
/* Waits until it is true, for ten seconds at most; false: it never was. */
#define eventually(condition)                                                                      \
    __extension__({                                                                                \
        int64_t until_ = now_us() + 40 * SEC;                                                      \
        bool true_ = (condition);                                                                  \
        while (!true_ && now_us() < until_) {                                                      \
            nap(MS);                                                                               \
            true_ = (condition);                                                                   \
        }                                                                                          \
        true_;                                                                                     \
    })

#endif
