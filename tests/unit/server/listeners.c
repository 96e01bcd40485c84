/* SPDX-License-Identifier: MIT */
/* The sockets a server listens on: binding, ports and paths that are taken, files of sockets, and
 * sockets that others have made. */
#include <fcntl.h>
#include <netinet/in.h>
#include <server/http/listeners.h>
#include <stdio.h>
#include <string.h>
#include <support/check.h>
#include <support/test_store.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static char path[4096], at_path[4200]; /* "unix:" before it */

static int listeners_begin(void **state)
{
    (void)state;
    scratch_path("sock", path);
    snprintf(at_path, sizeof at_path, "unix:%s", path);
    return 0;
}

static listeners listeners_open_at(const char *where)
{
    const char *all[] = {where, NULL};
    settings s = {.listen = all};
    listeners l;
    hf_error err;
    expect(HF_OK, listeners_open(&s, &l, &err), err);
    return l;
}

static void listeners_refused(hf_status status, const char *where, const char *sentence)
{
    const char *all[] = {"127.0.0.1:0", where, NULL};
    settings s = {.listen = all};
    listeners l;
    hf_error err;
    expect(status, listeners_open(&s, &l, &err), err);
    expect_true(l.all == NULL && l.count == 0);
    expect_contains(err.message, sentence);
    expect_contains(err.message, where);
}

static void listeners_make_file(void)
{
    FILE *file = fopen(path, "w");
    expect_true(file != NULL);
    fclose(file);
}

/* ---- addresses ---- */

static void several_addresses_are_listened_on_and_named_with_their_ports(void **state)
{
    (void)state;
    const char *all[] = {"127.0.0.1:0", "[::1]:0", "localhost:0", NULL};
    settings s = {.listen = all};
    listeners l;
    hf_error err;
    expect(HF_OK, listeners_open(&s, &l, &err), err);
    expect_true(l.count == 3 && !l.inherited);
    for (size_t i = 0; i < l.count; i++) {
        address a;
        expect_true(address_read(l.all[i].name, &a));
        expect_true(address_port(&a) != 0 && l.all[i].local && !l.all[i].moved && !l.all[i].tls);
        expect_true((fcntl(l.all[i].fd, F_GETFL) & O_NONBLOCK) != 0);
        expect_int(strncmp(l.all[i].name, i == 1 ? "[::1]:" : "127.0.0.1:", i == 1 ? 6 : 10), 0);
    }
    listeners_close(&l);
    listeners_close(&l);
}

static void an_address_that_can_not_be_had_is_named_with_what_to_do(void **state)
{
    (void)state;
    listeners l = listeners_open_at("127.0.0.1:0");
    listeners_refused(HF_UNAVAILABLE, l.all[0].name,
                      "is taken: another program listens there. Stop that one, or choose");
    listeners_close(&l);
    listeners_refused(HF_INVALID, "7420", "is no address to listen on");
    listeners_refused(HF_INVALID, "192.0.2.1:7420", "can be reached from other machines");

    address a;
    hf_error err;
    int fd = -1;
    expect_true(address_read("192.0.2.1:7420", &a));
    expect(HF_UNAVAILABLE, address_listen(&a, 100, &fd, &err), err);
    expect_contains(err.message, "192.0.2.1:7420 is not an address of this machine");
    expect_int(fd, -1);
}

static void with_any_port_one_behind_a_taken_one_is_found(void **state)
{
    (void)state;
    listeners first = listeners_open_at("127.0.0.1:0"), second;
    const char *all[] = {first.all[0].name, NULL};
    settings s = {.listen = all, .any_port = true};
    hf_error err;
    address was, is;
    expect(HF_OK, listeners_open(&s, &second, &err), err);
    expect_true(second.all[0].moved);
    expect_true(address_read(first.all[0].name, &was) && address_read(second.all[0].name, &is));
    expect_true(address_port(&is) > address_port(&was));
    listeners_close(&second);
    listeners_close(&first);
}

/* ---- Unix sockets ---- */

static void a_unix_socket_has_mode_0660_whatever_the_umask_and_leaves_nothing_behind(void **state)
{
    (void)state;
    static const mode_t masks[] = {077, 022, 0};
    struct stat there;
    for (size_t i = 0; i < 3; i++) {
        mode_t before = umask(masks[i]);
        listeners l = listeners_open_at(at_path);
        expect_int(umask(before), masks[i]); /* it is the whole process's */
        expect_text(l.all[0].name, at_path);
        expect_int(stat(path, &there), 0);
        expect_int(there.st_mode & 07777, 0660);
        listeners_refused(HF_UNAVAILABLE, at_path, "is taken: another program listens there");
        expect_int(access(path, F_OK), 0);
        listeners_close(&l);
        expect_true(access(path, F_OK) != 0);
    }
}

static void a_unix_socket_that_nobody_listens_on_is_replaced(void **state)
{
    (void)state;
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    snprintf(at.sun_path, sizeof at.sun_path, "%.100s", path);
    expect_int(bind(fd, (struct sockaddr *)&at, sizeof at), 0);
    close(fd);
    listeners l = listeners_open_at(at_path);
    fd = socket(AF_UNIX, SOCK_STREAM, 0);
    expect_int(connect(fd, (struct sockaddr *)&at, sizeof at), 0);
    close(fd);
    listeners_close(&l);
}

static void a_file_that_is_no_socket_stays(void **state)
{
    (void)state;
    const char *all[] = {at_path, NULL};
    settings s = {.listen = all};
    listeners l;
    hf_error err;
    listeners_make_file();
    expect(HF_UNAVAILABLE, listeners_open(&s, &l, &err), err);
    expect_contains(err.message, path);
    expect_contains(err.message, "is in the way: it is no socket");
    expect_int(unlink(path), 0);
    listeners_refused(HF_UNAVAILABLE, "unix:/nowhere/at/all",
                      "Listening on unix:/nowhere/at/all failed: No such file");
}

/* As when a server starts while another, which has closed its sockets, still answers what it was
 * asked. */
static void the_socket_of_another_server_that_has_come_meanwhile_stays(void **state)
{
    (void)state;
    listeners old = listeners_open_at(at_path), young;
    close(old.all[0].fd);
    old.all[0].fd = -1;
    young = listeners_open_at(at_path);
    listeners_close(&old);
    expect_int(access(path, F_OK), 0);
    listeners_close(&young);
    expect_true(access(path, F_OK) != 0);
}

static void only_the_file_that_was_made_here_is_removed(void **state)
{
    (void)state;
    char aside[4200];
    listeners l = listeners_open_at(at_path);
    snprintf(aside, sizeof aside, "%s.aside", path);
    expect_int(rename(path, aside), 0);
    listeners_make_file();
    listeners_close(&l);
    expect_int(access(path, F_OK), 0);
    expect_int(unlink(path) + unlink(aside), 0);
}

/* ---- of others ---- */

static void a_socket_that_someone_else_has_made_must_listen(void **state)
{
    (void)state;
    address a;
    char name[ADDRESS_NAME_SIZE];
    int fd = socket(AF_INET, SOCK_STREAM, 0), datagrams = socket(AF_INET, SOCK_DGRAM, 0);
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    expect_int(bind(fd, (struct sockaddr *)&at, sizeof at), 0);
    expect_true(!address_of_socket(fd, &a));
    expect_int(listen(fd, 10), 0);
    expect_true(address_of_socket(fd, &a));
    address_write(&a, name);
    expect_int(strncmp(name, "127.0.0.1:", 10), 0);
    expect_true((fcntl(fd, F_GETFL) & O_NONBLOCK) != 0 && (fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
    expect_true(!address_of_socket(datagrams, &a) && !address_of_socket(9999, &a) &&
                !address_of_socket(STDERR_FILENO, &a));
    close(fd), close(datagrams);
}

static void a_socket_without_a_file_is_named_by_its_sign(void **state)
{
    (void)state;
    address a;
    char name[ADDRESS_NAME_SIZE], expected[64];
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    int size = snprintf(at.sun_path + 1, 60, "holdfast-test-%ld", (long)getpid());
    snprintf(expected, sizeof expected, "unix:@holdfast-test-%ld", (long)getpid());
    expect_int(
        bind(fd, (struct sockaddr *)&at, (socklen_t)(sizeof at.sun_family + 1 + (size_t)size)), 0);
    expect_int(listen(fd, 10), 0);
    expect_true(address_of_socket(fd, &a) && address_is_local(&a));
    expect_text(address_path(&a), "");
    address_write(&a, name);
    expect_text(name, expected);
    close(fd);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, listeners_begin)
    const struct CMUnitTest tests[] = {
        TEST(several_addresses_are_listened_on_and_named_with_their_ports),
        TEST(an_address_that_can_not_be_had_is_named_with_what_to_do),
        TEST(with_any_port_one_behind_a_taken_one_is_found),
        TEST(a_unix_socket_has_mode_0660_whatever_the_umask_and_leaves_nothing_behind),
        TEST(a_unix_socket_that_nobody_listens_on_is_replaced),
        TEST(a_file_that_is_no_socket_stays),
        TEST(the_socket_of_another_server_that_has_come_meanwhile_stays),
        TEST(only_the_file_that_was_made_here_is_removed),
        TEST(a_socket_that_someone_else_has_made_must_listen),
        TEST(a_socket_without_a_file_is_named_by_its_sign),
    };
    return cmocka_run_group_tests_name("server_listeners", tests, NULL, NULL);
}
