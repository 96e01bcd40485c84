/* SPDX-License-Identifier: MIT */
/* After fork() a child's calls are refused with a sentence, nothing of the parent's is touched, and
 * the child can open a manager of its own. */
#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <store/store.h>
#include <string.h>
#include <support/fixture.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct family {
    const char *url;
    hf_manager *manager;
    hf_session *session;
    hf_resource held, other;
    void (*child)(struct family *f);
} family;

/* In the child a failed check is an exit code: cmocka's way back leads into the parent's tests. */
#define CHILD_EXPECT(condition)                                                                    \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "in the child: %s:%d: %s\n", __FILE__, __LINE__, #condition);          \
            _exit(1);                                                                              \
        }                                                                                          \
    } while (0)

#define REFUSED(call)                                                                              \
    do {                                                                                           \
        hf_error err = {0};                                                                        \
        hf_status status = (call);                                                                 \
        if (status != HF_INVALID)                                                                  \
            fprintf(stderr, "%s came to %s\n", #call, hf_status_wire(status));                     \
        CHILD_EXPECT(status == HF_INVALID && err.status == HF_INVALID &&                           \
                     strstr(err.message, "fork"));                                                 \
    } while (0)

static void hear_nothing(void *context, const hf_notice *notice)
{
    (void)context, (void)notice;
}

static void every_call(family *f)
{
    hf_session *fresh = NULL;
    hf_result *result = NULL;
    hf_lock lock;
    hf_type type = {.type = "policy", .policy = HF_POLICY_READ_WRITE}, got;
    hf_session_options options = {.user = "child"};
    REFUSED(hf_manager_who(f->manager, &f->held, &result, &err));
    REFUSED(hf_manager_lookup(f->manager, &f->held, 1, &result, &err));
    REFUSED(hf_manager_list(f->manager, NULL, &result, &err));
    REFUSED(hf_manager_sessions(f->manager, NULL, &result, &err));
    REFUSED(hf_manager_force_release(f->manager, &f->held, "root", "why", 0, &result, &err));
    REFUSED(hf_manager_type_set(f->manager, &type, NULL, &err));
    REFUSED(hf_manager_type_get(f->manager, "policy", &got, &err));
    REFUSED(hf_manager_types(f->manager, &result, &err));
    REFUSED(hf_manager_events(f->manager, 0, 0, &result, &err));
    REFUSED(hf_manager_sweep(f->manager, 0, NULL, NULL, &err));
    REFUSED(hf_manager_poll(f->manager, NULL, &err));
    REFUSED(hf_manager_keeper_start(f->manager, &err));
    REFUSED(hf_manager_listen(f->manager, hear_nothing, NULL, &err));
    REFUSED(hf_session_open(f->manager, &options, &fresh, &err));
    REFUSED(hf_session_beat(f->session, &result, &err));
    REFUSED(hf_session_acquire(f->session, &f->other, NULL, &lock, &err));
    REFUSED(hf_session_acquire_all(f->session, &f->other, 1, NULL, NULL, &err));
    REFUSED(hf_session_renew(f->session, &f->held, 0, NULL, &lock, &err));
    REFUSED(hf_session_downgrade(f->session, &f->held, &lock, &err));
    REFUSED(hf_session_holds(f->session, &f->held, 0, &lock, &err));
    REFUSED(hf_session_request(f->session, &f->held, NULL, &err));
    REFUSED(hf_session_hand_over(f->session, &f->held, hf_session_id(f->session), &lock, &err));
    REFUSED(hf_session_decline(f->session, &f->held, hf_session_id(f->session), NULL, &err));
    REFUSED(hf_session_release(f->session, &f->held, 0, &err));
    REFUSED(hf_session_release_all(f->session, NULL, &err));
    REFUSED(hf_session_close(f->session, &err));
    REFUSED(hf_store_backup(hf_manager_store(f->manager), "/tmp/never", &err));
    REFUSED(hf_store_restore(hf_manager_store(f->manager), "/tmp/never", true, &err));
    hf_batch *batch = NULL;
    CHILD_EXPECT(hf_batch_new(1, &batch, NULL) == HF_OK);
    hf_batch_add(batch, HF_OP_TYPES);
    REFUSED(hf_store_execute(hf_manager_store(f->manager), batch, &err));
    hf_batch_free(batch);
    CHILD_EXPECT(!hf_session_is_held(f->session, &f->held));
    hf_session_info info;
    hf_session_describe(f->session, &info);
    CHILD_EXPECT(strcmp(info.user, "parent") == 0);
    hf_grade grade;
    hf_store_grade(hf_manager_store(f->manager), &grade);
    CHILD_EXPECT(grade.level == HF_GRADE_NONE && grade.text[0]);
    hf_manager_keeper_stop(f->manager);
    CHILD_EXPECT(!fresh && !result);
}

/* What a child does on its way out: it must neither hang nor close what is the parent's. */
static void frees_all(family *f)
{
    hf_session_free(f->session);
    hf_manager_close(f->manager);
}

static void opens_its_own(family *f)
{
    hf_manager *manager = NULL;
    hf_result *result = NULL;
    hf_error err = {0};
    CHILD_EXPECT(hf_manager_open(f->url, &manager, &err) == HF_OK);
    CHILD_EXPECT(hf_manager_who(manager, &f->held, &result, &err) == HF_OK);
    CHILD_EXPECT(hf_result_answer(result)->locks_count == (strcmp(f->url, "memory:") != 0));
    hf_result_free(result);
    hf_manager_close(manager);
}

static void run_child(family *f)
{
    pid_t pid = fork();
    expect_true(pid >= 0);
    if (pid == 0) {
        alarm(5);
        f->child(f);
        _exit(0);
    }
    int status = 0;
    expect_int(waitpid(pid, &status, 0), pid);
    expect_int(status, 0);
}

static void with_family(const char *url, bool keeper, void (*child)(family *))
{
    hf_error err = {0};
    family f = {.url = url,
                .child = child,
                .held = resource_of("policy/1"),
                .other = resource_of("policy/2")};
    expect(HF_OK, hf_manager_open(url, &f.manager, &err), err);
    hf_session_options options = {.user = "parent"};
    expect(HF_OK, hf_session_open(f.manager, &options, &f.session, &err), err);
    expect(HF_OK, hf_session_acquire(f.session, &f.held, NULL, NULL, &err), err);
    if (keeper)
        expect(HF_OK, hf_manager_keeper_start(f.manager, &err), err);
    run_child(&f);
    expect_true(hf_session_is_held(f.session, &f.held));
    expect(HF_OK, hf_session_holds(f.session, &f.held, 0, NULL, &err), err);
    expect(HF_OK, hf_session_beat(f.session, NULL, &err), err);
    expect(HF_OK, hf_session_acquire(f.session, &f.other, NULL, NULL, &err), err);
    expect(HF_OK, hf_session_close(f.session, &err), err);
    hf_session_free(f.session);
    hf_manager_close(f.manager);
}

static void fork_with_file(bool keeper, void (*child)(family *))
{
    char path[HF_URL_MAX], url[HF_URL_MAX + 8];
    scratch_path(".db", path);
    snprintf(url, sizeof url, "sqlite:%s", path);
    with_family(url, keeper, child);
}

static void a_childs_calls_are_refused(void **state)
{
    (void)state;
    with_family("memory:", false, every_call);
    fork_with_file(false, every_call);
}

static void a_childs_calls_are_refused_beside_a_keeper(void **state)
{
    (void)state;
    with_family("memory:", true, every_call);
    fork_with_file(true, every_call);
}

static void a_child_may_free_its_copies(void **state)
{
    (void)state;
    with_family("memory:", false, frees_all);
    with_family("memory:", true, frees_all);
    fork_with_file(false, frees_all);
    fork_with_file(true, frees_all);
}

static void a_child_opens_a_manager_of_its_own(void **state)
{
    (void)state;
    with_family("memory:", false, opens_its_own);
    fork_with_file(false, opens_its_own);
    fork_with_file(true, opens_its_own);
}

/* The keeper may be anywhere in the library when the fork comes. */
static void a_child_never_hangs_on_what_the_keeper_was_doing(void **state)
{
    (void)state;
    hf_error err = {0};
    family f = {
        .held = resource_of("policy/1"), .other = resource_of("policy/2"), .child = every_call};
    expect(HF_OK, hf_manager_open("memory:", &f.manager, &err), err);
    hf_session *all[8];
    hf_session_options options = {.user = "parent", .idle_us = 60 * MILLISECOND};
    for (int i = 0; i < 8; i++)
        expect(HF_OK, hf_session_open(f.manager, &options, &all[i], &err), err);
    f.session = all[0];
    expect(HF_OK, hf_manager_keeper_start(f.manager, &err), err);
    for (int i = 0; i < 60; i++)
        run_child(&f);
    for (int i = 0; i < 8; i++)
        hf_session_free(all[i]);
    hf_manager_close(f.manager);
}

static atomic_bool spinning;

/* In and out of the session's own lock as fast as it goes. */
static void *spin(void *context)
{
    hf_session_info info;
    while (atomic_load(&spinning))
        hf_session_describe(context, &info);
    return NULL;
}

/* Another thread may be inside the handle when the fork comes: what it held is held for ever in the
 * child. */
static void a_child_never_hangs_on_what_another_thread_was_doing(void **state)
{
    (void)state;
    hf_error err = {0};
    family f = {
        .held = resource_of("policy/1"), .other = resource_of("policy/2"), .child = every_call};
    expect(HF_OK, hf_manager_open("memory:", &f.manager, &err), err);
    hf_session_options options = {.user = "parent"};
    expect(HF_OK, hf_session_open(f.manager, &options, &f.session, &err), err);
    pthread_t thread;
    atomic_store(&spinning, true);
    expect_int(pthread_create(&thread, NULL, spin, f.session), 0);
    for (int i = 0; i < 100; i++)
        run_child(&f);
    atomic_store(&spinning, false);
    pthread_join(thread, NULL);
    hf_session_free(f.session);
    hf_manager_close(f.manager);
}

/* In and out of the lock around the application's handle. */
static void *spin_on_grade(void *context)
{
    hf_grade grade;
    while (atomic_load(&spinning))
        hf_store_grade(context, &grade);
    return NULL;
}

static void a_child_never_hangs_on_a_store_whose_grade_was_being_read(void **state)
{
    (void)state;
    hf_error err = {0};
    sqlite3 *db = NULL;
    hf_store *store = NULL;
    family f = {
        .held = resource_of("policy/1"), .other = resource_of("policy/2"), .child = every_call};
    expect_int(sqlite3_open(":memory:", &db), SQLITE_OK);
    expect(HF_OK, hf_sqlite_wrap(db, NULL, HF_SQLITE_INSTALL, &store, &err), err);
    expect(HF_OK, hf_manager_on(store, &f.manager, &err), err);
    hf_session_options options = {.user = "parent"};
    expect(HF_OK, hf_session_open(f.manager, &options, &f.session, &err), err);
    pthread_t thread;
    atomic_store(&spinning, true);
    expect_int(pthread_create(&thread, NULL, spin_on_grade, store), 0);
    for (int i = 0; i < 30; i++)
        run_child(&f);
    atomic_store(&spinning, false);
    pthread_join(thread, NULL);
    hf_session_free(f.session);
    hf_manager_close(f.manager);
    expect_int(sqlite3_close(db), SQLITE_OK);
}

/* A store that keeps its callers for as long as the test says. */
static atomic_bool kept;
static atomic_int calls_kept;

static void keep_caller(void *context, const char *line)
{
    (void)context, (void)line;
    if (!atomic_load(&kept))
        return;
    atomic_fetch_add(&calls_kept, 1);
    while (atomic_load(&kept))
        usleep(1000);
}

static void *beat_once(void *context)
{
    hf_status status = hf_session_beat(context, NULL, NULL);
    return status == HF_OK ? NULL : context;
}

/* One thread is in a call of the session's, others wait for their turn. */
static void a_child_may_free_a_handle_that_threads_were_waiting_for(void **state)
{
    (void)state;
    enum { WAITING = 3 };
    hf_error err = {0};
    hf_store *inner = NULL, *store = NULL;
    family f = {
        .held = resource_of("policy/1"), .other = resource_of("policy/2"), .child = frees_all};
    expect(HF_OK, hf_store_open("memory:", &inner, &err), err);
    expect(HF_OK, hf_trace_open(inner, keep_caller, NULL, &store, &err), err);
    expect(HF_OK, hf_manager_on(store, &f.manager, &err), err);
    hf_session_options options = {.user = "parent"};
    expect(HF_OK, hf_session_open(f.manager, &options, &f.session, &err), err);
    pthread_t threads[WAITING];
    atomic_store(&kept, true);
    for (int i = 0; i < WAITING; i++)
        expect_int(pthread_create(&threads[i], NULL, beat_once, f.session), 0);
    while (atomic_load(&calls_kept) == 0)
        usleep(1000);
    usleep(
        /* the others have come to wait by now; where they have not, the test is the weaker for it
         * */
        200000);
    run_child(&f);
    atomic_store(&kept, false);
    for (int i = 0; i < WAITING; i++) {
        void *failed = NULL;
        pthread_join(threads[i], &failed);
        expect_true(failed == NULL);
    }
    hf_session_free(f.session);
    hf_manager_close(f.manager);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_childs_calls_are_refused),
        cmocka_unit_test(a_childs_calls_are_refused_beside_a_keeper),
        cmocka_unit_test(a_child_may_free_its_copies),
        cmocka_unit_test(a_child_opens_a_manager_of_its_own),
        cmocka_unit_test(a_child_never_hangs_on_what_the_keeper_was_doing),
        cmocka_unit_test(a_child_never_hangs_on_what_another_thread_was_doing),
        cmocka_unit_test(a_child_may_free_a_handle_that_threads_were_waiting_for),
        cmocka_unit_test(a_child_never_hangs_on_a_store_whose_grade_was_being_read),
    };
    return cmocka_run_group_tests_name("fork", tests, NULL, NULL);
}
