/* SPDX-License-Identifier: MIT */
/* The disk is full: what needs room is refused with a sentence that says so, releases and beats
 * still work (a reserve beside the database is given up), nothing acknowledged is lost, and when
 * there is room again all is as before. Once on a disk that the shim makes small, once on a small
 * tmpfs where one can be mounted. */
#include "base/seams.h"
#include "faults/ledger.h"
#include "faults/shim.h"

#include <errno.h>
#include <fcntl.h>
#include <holdfast/holdfast.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <support/check.h>
#include <support/test_store.h>
#include <support/timing.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define LOCKS_MAX 20000
#define SOME      16 /* of so many locks one is released */
#define MEGABYTE  (1024 * 1024)

typedef struct disk {
    char path[HF_URL_MAX];
    char reserve[HF_URL_MAX + 16];
    hf_manager *manager;
    hf_session *holder;
    hf_session *reader;
    size_t count; /* locks acknowledged */
    int64_t fences[LOCKS_MAX];
    bool released[LOCKS_MAX];
} disk;

static void disk_full_open_disk(disk *d)
{
    char url[HF_URL_MAX + 16];
    hf_error err = {0};
    snprintf(url, sizeof url, "sqlite:%s", d->path);
    snprintf(d->reserve, sizeof d->reserve, "%s-reserve", d->path);
    expect(HF_OK, hf_manager_open(url, &d->manager, &err), err);
}

static hf_session *disk_full_open_session(disk *d, const char *user)
{
    hf_error err = {0};
    hf_session *session = NULL;
    hf_session_options options = {.user = user, .idle_us = INT64_C(3600000000)};
    expect(HF_OK, hf_session_open(d->manager, &options, &session, &err), err);
    return session;
}

static hf_resource numbered(size_t number)
{
    hf_resource resource = {.type = "full"};
    snprintf(resource.id, sizeof resource.id, "%06zu", number);
    return resource;
}

static hf_status disk_full_acquire(disk *d, size_t number, int64_t *fence, hf_error *err)
{
    static const char purpose[] =
        "a purpose that is as long as purposes tend to be, so that the disk fills up sooner "
        "than it would with purposes of the shorter kind";
    hf_resource resource = numbered(number);
    hf_acquire_options options = {.purpose = purpose};
    hf_lock lock;
    hf_status status = hf_session_acquire(d->holder, &resource, &options, &lock, err);
    if (status == HF_OK)
        *fence = lock.fence;
    return status;
}

/* Acquires until it is refused for good: the first time, the log is cut short, and that makes room.
 * */
static void disk_full_fill(disk *d)
{
    hf_error err = {0};
    for (int refused = 0; d->count < LOCKS_MAX && refused < 50;) {
        hf_status status = disk_full_acquire(d, d->count, &d->fences[d->count], &err);
        d->count += status == HF_OK;
        refused = status == HF_OK ? 0 : refused + 1;
        if (status == HF_OK)
            continue;
        expect_status(HF_UNAVAILABLE, status, err.message);
        expect_contains(err.message, "full");
    }
    expect_true(d->count < LOCKS_MAX);
    printf("# refused after %zu locks: %s\n", d->count, err.message);
}

static void expect_still_full(disk *d)
{
    for (size_t i = 0; i < 20; i++) {
        hf_error err = {0};
        int64_t fence;
        expect_status(HF_UNAVAILABLE, disk_full_acquire(d, d->count + i, &fence, &err),
                      err.message);
        expect_contains(err.message, "full");
    }
}

static void disk_full_beat(hf_session *session)
{
    hf_error err = {0};
    expect(HF_OK, hf_session_beat(session, NULL, &err), err);
}

/* Releases every lock that leaves that remainder, with beats in between. */
static void release_some(disk *d, size_t remainder)
{
    for (size_t i = 0; i < d->count; i++) {
        hf_error err = {0};
        hf_resource resource = numbered(i);
        if (i % SOME != remainder)
            continue;
        expect(HF_OK, hf_session_release(d->holder, &resource, d->fences[i], &err), err);
        d->released[i] = true;
        disk_full_beat(d->holder);
        disk_full_beat(d->reader);
    }
}

/* Whatever was acknowledged is so. */
static void expect_as_acknowledged(disk *d)
{
    for (size_t i = 0; i < d->count; i++) {
        hf_error err = {0};
        hf_resource resource = numbered(i);
        hf_status status = hf_session_holds(d->holder, &resource, d->fences[i], NULL, &err);
        expect_status(d->released[i] ? HF_NOT_HELD : HF_OK, status, err.message);
    }
}

static void reopen(disk *d)
{
    char holder[HF_SESSION_ID_SIZE + HF_KEY_SIZE], reader[HF_SESSION_ID_SIZE + HF_KEY_SIZE];
    hf_error err = {0};
    snprintf(holder, sizeof holder, "%s.%s", hf_session_id(d->holder),
             hf_session_credentials(d->holder)->key);
    snprintf(reader, sizeof reader, "%s.%s", hf_session_id(d->reader),
             hf_session_credentials(d->reader)->key);
    hf_session_free(d->holder);
    hf_session_free(d->reader);
    hf_manager_close(d->manager);
    disk_full_open_disk(d);
    expect(HF_OK, hf_session_attach(d->manager, holder, &d->holder, &err), err);
    expect(HF_OK, hf_session_attach(d->manager, reader, &d->reader, &err), err);
}

/* The whole story on one disk. make_room gives space back. */
static void disk_full_story(disk *d, void (*make_room)(disk *))
{
    hf_error err = {0};
    disk_full_open_disk(d);
    d->holder = disk_full_open_session(d, "Alice Chen");
    d->reader = disk_full_open_session(d, "Bob Smith");
    expect_int(access(d->reserve, F_OK), 0);
    disk_full_fill(d);
    expect_still_full(d);
    expect_as_acknowledged(d);
    release_some(d, 0);
    expect_as_acknowledged(d);
    printf("# %zu of %zu locks released, with beats, while full; the reserve is %s\n",
           d->count / SOME + (d->count % SOME != 0), d->count,
           access(d->reserve, F_OK) == 0 ? "still there" : "given up");
    reopen(d); /* also while it is full */
    expect_as_acknowledged(d);
    release_some(d, 1);
    expect_as_acknowledged(d);

    make_room(d);
    int64_t fence;
    for (size_t i = 0; i < 50; i++)
        expect(HF_OK, disk_full_acquire(d, LOCKS_MAX + i, &fence, &err), err);
    expect_int(access(d->reserve, F_OK), 0); /* laid in again */
    expect_as_acknowledged(d);
    hf_session_free(d->holder);
    hf_session_free(d->reader);
    hf_manager_close(d->manager);
    hf_seam.sqlite_vfs = NULL;
    const char *problem = ledger_inspect(d->path);
    if (problem)
        check_failed(__FILE__, __LINE__, "%s", problem);
}

/* ---- a small disk, by the shim ---- */

/* The reserve is laid in past SQLite: the linker leads its call here, so that it finds the same
 * disk. */
int __real_posix_fallocate(int fd, off_t offset, off_t size);
int __wrap_posix_fallocate(int fd, off_t offset, off_t size);
int __wrap_posix_fallocate64(int fd, off_t offset, off_t size);

int __wrap_posix_fallocate(int fd, off_t offset, off_t size)
{
    return shim_has_room(size) ? __real_posix_fallocate(fd, offset, size) : ENOSPC;
}

int __wrap_posix_fallocate64(int fd, off_t offset, off_t size)
{
    return __wrap_posix_fallocate(fd, offset, size);
}

static void raise_capacity(disk *d)
{
    (void)d;
    shim.capacity = 0;
}

static void on_a_small_disk(int64_t capacity)
{
    static disk d;
    memset(&d, 0, sizeof d);
    shim_reset();
    scratch_path(".db", d.path);
    snprintf(d.reserve, sizeof d.reserve, "%s-reserve", d.path);
    shim.capacity = capacity;
    shim.beside = d.reserve;
    hf_seam.sqlite_vfs = SHIM_VFS;
    disk_full_story(&d, raise_capacity);
    printf("# %llu writes found no room on %lld bytes\n", (unsigned long long)shim_count().full,
           (long long)capacity);
    expect_true(shim_count().full > 0);
    /* the log, of which every lock takes some pages, has not eaten the disk */
    expect_true(d.count > 1000);
    shim_reset();
}

static void release_and_beat_still_work_when_the_disk_is_full(void **state)
{
    (void)state;
    on_a_small_disk(6 * MEGABYTE);
    on_a_small_disk(4 * MEGABYTE);
}

/* ---- beside another process ---- */

/* Is in the middle of a change half of the time, for 2 ms each, and ends with its parent. */
static void change_all_the_time(const char *path)
{
    sqlite3 *db = NULL;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK) {
        sqlite3_close(db); /* it is not there yet */
        usleep(1000);
    }
    for (;;) {
        if (sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL) == SQLITE_OK) {
            usleep(2000);
            sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
        }
        usleep(2000);
    }
}

/* Nothing is busy: what finds no room and is tried again waits for others as it did at first. */
static void another_process_that_writes_changes_nothing(void **state)
{
    (void)state;
    static disk d;
    memset(&d, 0, sizeof d);
    shim_reset();
    scratch_path(".db", d.path);
    snprintf(d.reserve, sizeof d.reserve, "%s-reserve", d.path);
    fflush(NULL);
    pid_t other = fork();
    expect_true(other >= 0);
    if (other == 0)
        change_all_the_time(d.path);
    shim.capacity = 4 * MEGABYTE;
    shim.beside = d.reserve;
    hf_seam.sqlite_vfs = SHIM_VFS;
    disk_full_story(&d, raise_capacity);
    expect_true(shim_count().full > 0);
    kill(other, SIGKILL);
    expect_int(waitpid(other, NULL, 0), other);
    shim_reset();
}

/* ---- beside someone else, to the moment ---- */

enum { TURNS = 3 }; /* after what found no room: after the checkpoint, and after the log was cut */

/* Someone else, who begins to write as the store, which has found no room, lets go of the file for
 * the n-th time. */
static struct {
    sqlite3 *db;
    int turn;
    int64_t keep_us; /* how long; 0: until it is told to end */
    int64_t slow_us; /* so long takes the write that finds no room */
    pthread_t ends;
    bool begun, is_ending;
} rival;

static void *end_soon(void *context)
{
    (void)context;
    usleep((useconds_t)rival.keep_us);
    sqlite3_exec(rival.db, "ROLLBACK", NULL, NULL, NULL);
    return NULL;
}

static void come_in_turn(void *context)
{
    (void)context;
    if (shim_count().full == 0)
        return;
    shim.capacity = 0;
    if (--rival.turn != 0)
        return;
    rival.begun = sqlite3_exec(rival.db, "BEGIN IMMEDIATE", NULL, NULL, NULL) == SQLITE_OK;
    if (rival.keep_us > 0)
        rival.is_ending = pthread_create(&rival.ends, NULL, end_soon, NULL) == 0;
}

static void be_slow(void *context, shim_event kind, const char *path)
{
    (void)context;
    (void)path;
    if (kind == SHIM_WRITE && shim.capacity != 0)
        usleep((useconds_t)rival.slow_us);
}

/* One write of a release finds no room, and the rival comes. What the release came to, and how long
 * that took. */
static hf_status release_beside_a_rival(int turn, int64_t keep_us, int64_t slow_us,
                                        int64_t *took_us)
{
    static disk d;
    hf_error err = {0};
    hf_resource resource = numbered(0);
    memset(&d, 0, sizeof d);
    memset(&rival, 0, sizeof rival);
    shim_reset();
    scratch_path(".db", d.path);
    hf_seam.sqlite_vfs = SHIM_VFS;
    disk_full_open_disk(&d);
    d.holder = disk_full_open_session(&d, "Alice Chen");
    expect(HF_OK, disk_full_acquire(&d, 0, &d.fences[0], &err), err);
    expect_int(sqlite3_open_v2(d.path, &rival.db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    rival.turn = turn;
    rival.keep_us = keep_us;
    rival.slow_us = slow_us;
    shim.on_event = be_slow;
    shim.on_unlock = come_in_turn;
    shim.capacity = 1;
    int64_t since_us = timing_now_us();
    hf_status status = hf_session_release(d.holder, &resource, d.fences[0], &err);
    *took_us = timing_now_us() - since_us;
    shim.on_unlock = NULL;
    expect_int(shim_count().full, 1);
    expect_true(rival.begun);
    if (rival.is_ending)
        pthread_join(rival.ends, NULL);
    else
        expect_int(sqlite3_exec(rival.db, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(rival.db);
    if (status == HF_BUSY)
        expect(HF_OK, hf_session_release(d.holder, &resource, d.fences[0], &err), err);
    hf_session_free(d.holder);
    hf_manager_close(d.manager);
    hf_seam.sqlite_vfs = NULL;
    shim_reset();
    return status;
}

/* Half a second in all, however often it is tried. */
static bool is_busy_in_time(int turn)
{
    int64_t took_us;
    expect_int(release_beside_a_rival(turn, 0, 0, &took_us), HF_BUSY);
    printf("# busy after %lld ms\n", (long long)took_us / 1000);
    return took_us < 800000;
}

static void on_a_full_disk_a_batch_is_busy_in_time(void **state)
{
    (void)state;
    for (int turn = 1; turn <= TURNS; turn++)
        expect_once(is_busy_in_time(turn));
}

/* Only waiting for others counts, not how slow the disk is. */
static void on_a_slow_full_disk_a_batch_still_waits_for_others(void **state)
{
    (void)state;
    int64_t took_us;
    for (int turn = 1; turn <= TURNS; turn++)
        expect_once(release_beside_a_rival(turn, 20000, 600000, &took_us) == HF_OK);
}

static void a_store_that_grows_fast_lays_in_more(void **state)
{
    (void)state;
    static disk d;
    struct stat info = {0};
    hf_error err = {0};
    memset(&d, 0, sizeof d);
    shim_reset();
    scratch_path(".db", d.path);
    disk_full_open_disk(&d);
    expect_int(stat(d.reserve, &info), 0);
    expect_int(info.st_size, 2 * MEGABYTE);
    d.holder = disk_full_open_session(&d, "Alice Chen");
    for (; d.count < 4000; d.count++)
        expect(HF_OK, disk_full_acquire(&d, d.count, &d.fences[d.count], &err), err);
    expect_int(stat(d.reserve, &info), 0);
    printf("# the reserve has %lld bytes after %zu new locks\n", (long long)info.st_size, d.count);
    expect_true(info.st_size >= 4 * MEGABYTE && info.st_size <= 16 * MEGABYTE);
    hf_session_free(d.holder);
    hf_manager_close(d.manager);
}

/* ---- a small tmpfs ---- */

static bool disk_full_write_text(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool good = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    if (fd >= 0)
        close(fd);
    return good;
}

/* Mounts of this process alone; without rights, in a user namespace of its own. */
static bool own_mounts(void)
{
    char users[64], groups[64];
    snprintf(users, sizeof users, "%u %u 1", getuid(), getuid());
    snprintf(groups, sizeof groups, "%u %u 1", getgid(), getgid());
    if (unshare(CLONE_NEWNS) == 0)
        return true;
    return unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0 &&
           disk_full_write_text("/proc/self/uid_map", users) &&
           disk_full_write_text("/proc/self/setgroups", "deny") &&
           disk_full_write_text("/proc/self/gid_map", groups);
}

static char mounted[HF_URL_MAX], ballast[HF_URL_MAX + 16];

static bool mount_small(const char *options)
{
    if (!own_mounts())
        return false;
    scratch_path(".mnt", mounted);
    return mkdir(mounted, 0700) == 0 && mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount("holdfast-test", mounted, "tmpfs", 0, options) == 0;
}

static void remove_ballast(disk *d)
{
    (void)d;
    expect_int(unlink(ballast), 0);
}

static void the_same_on_a_real_small_filesystem(void **state)
{
    (void)state;
    static disk d;
    memset(&d, 0, sizeof d);
    shim_reset();
    hf_seam.sqlite_vfs = NULL;
    if (!mount_small("size=8m,mode=0700")) {
        printf("# no tmpfs can be mounted here (%s): only the shim's disk was tried\n",
               strerror(errno));
        skip();
    }
    snprintf(ballast, sizeof ballast, "%s/ballast", mounted);
    int fd = open(ballast, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    expect_true(fd >= 0);
    expect_int(posix_fallocate(fd, 0, 3 * MEGABYTE), 0);
    close(fd);
    snprintf(d.path, sizeof d.path, "%.*s/locks.db", HF_URL_MAX - 16, mounted);
    disk_full_story(&d, remove_ballast);
    expect_int(umount2(mounted, MNT_DETACH), 0);
}

int main(void)
{
    if (!shim_register())
        return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(release_and_beat_still_work_when_the_disk_is_full),
        cmocka_unit_test(another_process_that_writes_changes_nothing),
        cmocka_unit_test(on_a_full_disk_a_batch_is_busy_in_time),
        cmocka_unit_test(on_a_slow_full_disk_a_batch_still_waits_for_others),
        cmocka_unit_test(a_store_that_grows_fast_lays_in_more),
        cmocka_unit_test(the_same_on_a_real_small_filesystem),
    };
    return cmocka_run_group_tests_name("a full disk", tests, NULL, NULL);
}
