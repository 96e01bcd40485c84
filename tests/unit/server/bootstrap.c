/* SPDX-License-Identifier: MIT */
/* The first start: the admin token and its file, whatever happens between the two; the watchdog's
 * judgement. */
#include <base/seams.h>
#include <errno.h>
#include <fcntl.h>
#include <holdfast/holdfast.h>
#include <pthread.h>
#include <server/bootstrap.h>
#include <server/systemd.h>
#include <stdio.h>
#include <string.h>
#include <support/check.h>
#include <support/out_of_memory.h>
#include <support/test_store.h>
#include <sys/stat.h>
#include <unistd.h>

static struct desk {
    char data[HF_URL_MAX];
    char file[HF_URL_MAX + 16];
    hf_store *store;
    bootstrap_token token;
    hf_error err;
} desk;

static int first_open_desk(void **state)
{
    char url[HF_URL_MAX + 32];
    (void)state;
    memset(&desk, 0, sizeof desk);
    scratch_path("/deep/data", desk.data);
    snprintf(desk.file, sizeof desk.file, "%s/admin-token", desk.data);
    snprintf(url, sizeof url, "sqlite:%s/holdfast.db", desk.data);
    expect(HF_OK, bootstrap_folder(desk.data, &desk.err), desk.err);
    expect(HF_OK, hf_store_open(url, &desk.store, &desk.err), desk.err);
    return 0;
}

static int first_close_desk(void **state)
{
    (void)state;
    hf_store_close(desk.store);
    return 0;
}

static void server_first_ready(bootstrap_outcome outcome)
{
    expect(HF_OK, bootstrap_token_ready(desk.store, desk.data, &desk.token, &desk.err), desk.err);
    expect_int(desk.token.outcome, outcome);
    expect_text(desk.token.path, desk.file);
}

static size_t tokens(hf_token *first)
{
    hf_batch *batch = NULL;
    expect(HF_OK, hf_batch_new(1, &batch, &desk.err), desk.err);
    hf_batch_add(batch, HF_OP_TOKENS);
    expect(HF_OK, hf_store_execute(desk.store, batch, &desk.err), desk.err);
    size_t count = hf_batch_op(batch, 0)->answer.tokens_count;
    if (first != NULL && count > 0)
        *first = hf_batch_op(batch, 0)->answer.tokens[0];
    hf_batch_free(batch);
    return count;
}

static void end_token(const char *id)
{
    hf_batch *batch = NULL;
    expect(HF_OK, hf_batch_new(1, &batch, &desk.err), desk.err);
    hf_batch_add(batch, HF_OP_TOKEN_REVOKE)->token = id;
    expect(HF_OK, hf_store_execute(desk.store, batch, &desk.err), desk.err);
    hf_batch_free(batch);
}

static void first_write_file(const char *text, mode_t mode)
{
    int fd = open(desk.file, O_WRONLY | O_CREAT | O_TRUNC, mode);
    expect_true(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text) &&
                fchmod(fd, mode) == 0);
    close(fd);
}

/* ---- once ---- */

static void a_store_without_tokens_gets_one_whose_secret_its_owner_can_read(void **state)
{
    (void)state;
    struct stat file, folder;
    hf_token token;
    hf_token_key key;
    server_first_ready(FIRST_MADE);
    expect_int(tokens(&token), 1);
    expect_text(token.roles, "use observe manage admin");
    expect_text(token.users, "");
    expect_int(token.expires_us, 0);
    expect_true(stat(desk.file, &file) == 0 && stat(desk.data, &folder) == 0);
    expect_int(file.st_mode & 07777, 0600);
    expect_int(folder.st_mode & 07777, 0700);
    expect_int(file.st_nlink, 1);
    expect(HF_OK, bootstrap_secret(desk.file, &key, &desk.err), desk.err);
    hf_manager *manager = NULL;
    hf_token found;
    bool lives = false;
    char url[HF_URL_MAX + 32];
    snprintf(url, sizeof url, "sqlite:%s/holdfast.db", desk.data);
    expect(HF_OK, hf_manager_open(url, &manager, &desk.err), desk.err);
    expect(HF_OK, hf_manager_token_find(manager, key.secret, &found, &lives, &desk.err), desk.err);
    expect_text(found.id, token.id);
    expect_true(lives);
    hf_manager_close(manager);
}

static void a_second_start_makes_no_second_token(void **state)
{
    (void)state;
    server_first_ready(FIRST_MADE);
    server_first_ready(FIRST_KNOWN);
    expect_int(tokens(NULL), 1);
    expect_int(unlink(desk.file), 0); /* put away, as it should be */
    server_first_ready(FIRST_NOTHING);
    expect_int(tokens(NULL), 1);
    expect_true(access(desk.file, F_OK) != 0);
}

/* ---- a file that the store does not know ---- */

static void what_a_crash_left_half_done_is_completed(void **state)
{
    (void)state;
    hf_token_key key, again;
    expect(HF_OK, hf_token_new(&key, &desk.err), desk.err);
    char text[HF_TOKEN_SECRET_SIZE + 1];
    snprintf(text, sizeof text, "%s\n", key.secret);
    first_write_file(text, 0600);
    server_first_ready(FIRST_MADE);
    expect_int(tokens(NULL), 1);
    expect(HF_OK, bootstrap_secret(desk.file, &again, &desk.err), desk.err);
    expect_text(again.secret, key.secret);
    server_first_ready(FIRST_KNOWN);
}

static void a_token_that_has_ended_is_told(void **state)
{
    (void)state;
    hf_token token;
    server_first_ready(FIRST_MADE);
    tokens(&token);
    end_token(token.id);
    server_first_ready(FIRST_USELESS);
    expect_contains(desk.token.why, "has been revoked or is past its end");
    expect_contains(desk.token.why, desk.file);
    expect_int(tokens(NULL), 1);
}

static void a_token_of_another_store_is_told_and_left(void **state)
{
    (void)state;
    char secret[HF_TOKEN_SECRET_SIZE + 1];
    server_first_ready(FIRST_MADE);
    memset(secret, 'a', HF_TOKEN_SECRET);
    secret[HF_TOKEN_SECRET] = '\n';
    secret[HF_TOKEN_SECRET + 1] = '\0';
    first_write_file(secret, 0600);
    server_first_ready(FIRST_USELESS);
    expect_contains(desk.token.why, "is not one of this store's");
    expect_lacks(desk.token.why, "aaaa");
    first_write_file("rubbish\n", 0600);
    server_first_ready(FIRST_USELESS);
    expect_contains(desk.token.why, "holds no token");
}

static void a_file_that_is_no_secret_stops_a_first_start(void **state)
{
    (void)state;
    first_write_file("", 0600);
    expect(HF_INVALID, bootstrap_token_ready(desk.store, desk.data, &desk.token, &desk.err),
           desk.err);
    expect_contains(desk.err.message, "holds no token; remove it");
    first_write_file("0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\n", 0644);
    expect(HF_DENIED, bootstrap_token_ready(desk.store, desk.data, &desk.token, &desk.err),
           desk.err);
    expect_contains(desk.err.message, desk.file);
    expect_lacks(desk.err.message, "0123456789abcdef");
    expect_int(unlink(desk.file), 0);
    expect_int(symlink("/etc/passwd", desk.file), 0);
    expect(HF_UNAVAILABLE, bootstrap_token_ready(desk.store, desk.data, &desk.token, &desk.err),
           desk.err);
    expect_int(tokens(NULL), 0);
}

/* ---- failures ---- */

static bool no_random(void *out, size_t size)
{
    (void)out;
    (void)size;
    return false;
}

static void a_start_that_fails_is_completed_by_the_next(void **state)
{
    (void)state;
    unsigned failures = 0;
    bool (*usual)(void *, size_t) = hf_seam.random;
    hf_seam.random = no_random;
    expect(HF_UNAVAILABLE, bootstrap_token_ready(desk.store, desk.data, &desk.token, &desk.err),
           desk.err);
    hf_seam.random = usual;
    expect_true(access(desk.file, F_OK) != 0);
    for (unsigned n = 1;; n++) {
        out_of_memory_begin(OF_LIBRARY, n, true);
        hf_status status = bootstrap_token_ready(desk.store, desk.data, &desk.token, NULL);
        if (!out_of_memory_end())
            break;
        expect_true(status != HF_OK);
        failures++;
    }
    expect_true(failures > 0);
    expect_int(tokens(NULL), 1);
    server_first_ready(FIRST_KNOWN);
}

static void a_data_directory_in_whose_place_a_file_is_is_told(void **state)
{
    (void)state;
    char path[HF_URL_MAX];
    scratch_path("", path);
    FILE *file = fopen(path, "w");
    expect_true(file != NULL && fclose(file) == 0);
    expect(HF_UNAVAILABLE, bootstrap_folder(path, &desk.err), desk.err);
    expect_contains(desk.err.message, "is in the way");
    strncat(path, "/below", sizeof path - strlen(path) - 1);
    expect(HF_UNAVAILABLE, bootstrap_folder(path, &desk.err), desk.err);
    expect_contains(desk.err.message, "could not be made: Not a directory");
}

/* ---- several at once ---- */

static void *start_one(void *out)
{
    static _Thread_local bootstrap_token token;
    hf_error err = {0};
    hf_status *status = out;
    *status = bootstrap_token_ready(desk.store, desk.data, &token, &err);
    return NULL;
}

static void servers_that_start_at_once_share_one_token(void **state)
{
    enum { AT_ONCE = 6, ROUNDS = 5 };
    pthread_t threads[AT_ONCE];
    hf_status statuses[AT_ONCE];
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < AT_ONCE; i++)
            expect_int(pthread_create(&threads[i], NULL, start_one, &statuses[i]), 0);
        for (int i = 0; i < AT_ONCE; i++) {
            pthread_join(threads[i], NULL);
            expect_int(statuses[i], HF_OK);
        }
        expect_int(tokens(NULL), 1);
        server_first_ready(FIRST_KNOWN);
        first_close_desk(state);
        first_open_desk(state);
    }
}

/* ---- the watchdog ---- */

static void progress_is_work_done_or_nothing_to_do(void **state)
{
    (void)state;
    systemd_progress p = {0};
    expect_true(systemd_progresses(&p, 0, true, 1000, 100));  /* the first look */
    expect_true(systemd_progresses(&p, 0, true, 1099, 100));  /* not done yet */
    expect_true(!systemd_progresses(&p, 0, true, 1100, 100)); /* stuck */
    expect_true(!systemd_progresses(&p, 0, true, 9999, 100));
    expect_true(systemd_progresses(&p, 1, true, 9999, 100)); /* one batch came through */
    expect_true(systemd_progresses(&p, 1, true, 10050, 100));
    expect_true(systemd_progresses(&p, 1, false, 20000, 100)); /* nothing waits */
    expect_true(systemd_progresses(&p, 1, true, 20050, 100));
    expect_true(!systemd_progresses(&p, 1, true, 20100, 100));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            a_store_without_tokens_gets_one_whose_secret_its_owner_can_read, first_open_desk,
            first_close_desk),
        cmocka_unit_test_setup_teardown(a_second_start_makes_no_second_token, first_open_desk,
                                        first_close_desk),
        cmocka_unit_test_setup_teardown(what_a_crash_left_half_done_is_completed, first_open_desk,
                                        first_close_desk),
        cmocka_unit_test_setup_teardown(a_token_that_has_ended_is_told, first_open_desk,
                                        first_close_desk),
        cmocka_unit_test_setup_teardown(a_token_of_another_store_is_told_and_left, first_open_desk,
                                        first_close_desk),
        cmocka_unit_test_setup_teardown(a_file_that_is_no_secret_stops_a_first_start,
                                        first_open_desk, first_close_desk),
        cmocka_unit_test_setup_teardown(a_start_that_fails_is_completed_by_the_next,
                                        first_open_desk, first_close_desk),
        cmocka_unit_test(a_data_directory_in_whose_place_a_file_is_is_told),
        cmocka_unit_test_setup_teardown(servers_that_start_at_once_share_one_token, first_open_desk,
                                        first_close_desk),
        cmocka_unit_test(progress_is_work_done_or_nothing_to_do),
    };
    return cmocka_run_group_tests_name("server_first", tests, NULL, NULL);
}
