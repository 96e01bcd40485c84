/* SPDX-License-Identifier: MIT */
/* Application sessions, in memory. */
#include "session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

/* ---- secrets ---- */

bool secret_new(char out[SECRET_SIZE])
{
    unsigned char bytes[SECRET_SIZE / 2];
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return false;
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(out + 2 * i, 3, "%02x", bytes[i]);
    return true;
}

bool secret_equals(const char *a, const char *b)
{
    unsigned differs = 0;
    if (strlen(a) != SECRET_SIZE - 1 || strlen(b) != SECRET_SIZE - 1)
        return false;
    for (size_t i = 0; i < SECRET_SIZE - 1; i++)
        differs |= (unsigned)(a[i] ^ b[i]);
    return differs == 0;
}

/* ---- sessions ---- */

app_session *session_begin(app_sessions *all, const person *who)
{
    app_session *it = all->count < SESSIONS_MAX ? calloc(1, sizeof *it) : NULL;
    if (it == NULL || !secret_new(it->id) || !secret_new(it->csrf)) {
        free(it);
        return NULL;
    }
    it->who = who;
    it->used = time(NULL);
    it->next = all->first;
    all->first = it;
    all->count++;
    return it;
}

app_session *session_find(app_sessions *all, const person *who, const char *id)
{
    for (app_session *it = all->first; it != NULL; it = it->next)
        if (it->who == who && secret_equals(it->id, id)) {
            it->used = time(NULL);
            return it;
        }
    return NULL;
}

void session_end(app_sessions *all, app_session *it)
{
    app_session **at = &all->first;
    while (*at != it)
        at = &(*at)->next;
    *at = it->next;
    all->count--;
    while (it->works != NULL) {
        work *one = it->works;
        it->works = one->next;
        work_end(one);
    }
    explicit_bzero(it, sizeof *it);
    free(it);
}

void session_end_all(app_sessions *all)
{
    while (all->first != NULL)
        session_end(all, all->first);
}

/* Does one of its pages still hold something? Pages beat at holdfast's server, so the application
 * does not hear them. When the store can't be asked nothing is ended. */
static bool session_at_work(const app_sessions *all, const app_session *it)
{
    for (const work *one = it->works; one != NULL; one = one->next) {
        hf_result *locks = NULL;
        hf_list_options options = {.session = hf_session_id(one->session), .limit = 1};
        hf_status status = hf_manager_list(all->office->manager, &options, &locks, NULL);
        bool holds = status != HF_OK || hf_result_answer(locks)->locks_count > 0;
        hf_result_free(locks);
        if (holds)
            return true;
    }
    return false;
}

void session_expire(app_sessions *all)
{
    time_t now = time(NULL);
    for (app_session *it = all->first, *next; it != NULL; it = next) {
        next = it->next;
        if (now - it->used >= all->idle_s && !session_at_work(all, it))
            session_end(all, it);
    }
}

/* ---- their works ---- */

void session_keep(app_session *it, work *one)
{
    size_t count = 1;
    one->next = it->works;
    it->works = one;
    for (work **at = &one->next; *at != NULL; at = &(*at)->next)
        if (++count > WORKS_MAX) {
            work *oldest = *at;
            *at = oldest->next;
            work_end(oldest);
            return;
        }
}

work *session_work(app_session *it, const char *name)
{
    for (work *one = it->works; one != NULL && name != NULL; one = one->next)
        if (strcmp(one->name, name) == 0)
            return one;
    return NULL;
}

work *session_work_on(app_session *it, int64_t number)
{
    for (work *one = it->works; one != NULL; one = one->next)
        if (one->customer == number)
            return one;
    return NULL;
}

void session_unread_all(app_sessions *all)
{
    for (app_session *it = all->first; it != NULL; it = it->next)
        for (work *one = it->works; one != NULL; one = one->next)
            work_unread(one);
}

void session_forget(app_session *it, const work *one)
{
    work **at = &it->works;
    while (*at != NULL && *at != one)
        at = &(*at)->next;
    if (*at != NULL)
        *at = one->next;
}
