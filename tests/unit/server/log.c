/* SPDX-License-Identifier: MIT */
/* The log: what a line looks like, that nothing odd gets out, and that a reader who takes nothing
 * holds nobody up. */
#include <base/seams.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <server/log.h>
#include <stdio.h>
#include <string.h>
#include <support/check.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- a desk with a pipe ---- */

static struct desk {
    int ends[2]; /* 0: where it is read */
    log_sink log;
    char text[1 << 20];
} desk;

static int log_open_desk(void **state)
{
    (void)state;
    memset(&desk, 0, sizeof desk);
    return pipe2(desk.ends, O_CLOEXEC);
}

static int log_close_desk(void **state)
{
    (void)state;
    log_done(&desk.log);
    close(desk.ends[0]);
    close(desk.ends[1]);
    return 0;
}

static void server_log_begin(bool json, log_level least)
{
    log_init(&desk.log, desk.ends[1], json, least, NULL);
}

/* All there is to read now. */
static const char *said(void)
{
    size_t used = 0;
    struct pollfd one = {.fd = desk.ends[0], .events = POLLIN};
    while (poll(&one, 1, 0) > 0 && (one.revents & POLLIN)) {
        ssize_t size = read(desk.ends[0], desk.text + used, sizeof desk.text - 1 - used);
        expect_true(size > 0);
        used += (size_t)size;
    }
    desk.text[used] = '\0';
    return desk.text;
}

static size_t lines_of(const char *text)
{
    size_t count = 0;
    for (; *text != '\0'; text++)
        count += *text == '\n';
    return count;
}

static int64_t fixed_time(void)
{
    return INT64_C(1794700023123456);
}

/* ---- what a line looks like ---- */

static void a_line_has_time_level_sentence_and_fields(void **state)
{
    (void)state;
    int64_t (*wall_us)(void) = hf_seam.wall_us;
    hf_seam.wall_us = fixed_time;
    server_log_begin(false, LOG_LEVEL_INFO);
    log_line(&desk.log, LOG_LEVEL_INFO, "It began.");
    log_line(&desk.log, LOG_LEVEL_WARNING, "It \"goes\" on.", LOG_TEXT("a", "b"),
             LOG_NUMBER("n", -7), LOG_TEXT("none", NULL));
    log_line(&desk.log, LOG_LEVEL_ERROR, "It ended.", LOG_TEXT("why", "a b=\"c\""));
    hf_seam.wall_us = wall_us;
    expect_text(said(), "2026-11-14T23:47:03.123456Z info: It began.\n"
                        "2026-11-14T23:47:03.123456Z warning: It \"goes\" on. a=b n=-7 none=\"\"\n"
                        "2026-11-14T23:47:03.123456Z error: It ended. why=\"a b=\\\"c\\\"\"\n");
}

static void a_line_of_json_has_the_same(void **state)
{
    (void)state;
    int64_t (*wall_us)(void) = hf_seam.wall_us;
    hf_seam.wall_us = fixed_time;
    server_log_begin(true, LOG_LEVEL_INFO);
    log_line(&desk.log, LOG_LEVEL_INFO, "It \"began\".", LOG_TEXT("a", "b\\c"), LOG_NUMBER("n", 7));
    hf_seam.wall_us = wall_us;
    expect_text(said(), "{\"time\":\"2026-11-14T23:47:03.123456Z\",\"level\":\"info\",\"message\":"
                        "\"It \\\"began\\\".\","
                        "\"a\":\"b\\\\c\",\"n\":7}\n");
}

static void what_is_below_the_level_is_not_logged(void **state)
{
    (void)state;
    server_log_begin(false, LOG_LEVEL_WARNING);
    log_line(&desk.log, LOG_LEVEL_INFO, "Not this.");
    log_line(&desk.log, LOG_LEVEL_DEBUG, "Nor this.");
    log_line(&desk.log, LOG_LEVEL_WARNING, "But this.");
    expect_contains(said(), "But this.");
    expect_int(lines_of(desk.text), 1);
    expect_true(log_wants(&desk.log, LOG_LEVEL_ERROR) && !log_wants(&desk.log, LOG_LEVEL_INFO));
}

/* A line break in a value must not look like another line, nor a terminal obey what a client sent.
 * */
static void nothing_odd_gets_out(void **state)
{
    (void)state;
    const char *odd =
        "a\nb\r\t\x1b[31m\x7f\xc2\x9b \xff\xc3\xa9 \xe2\x80\xa8\xe2\x80\xae\xe2\x81\xa6\xd8\x9c";
    for (int json = 0; json < 2; json++) {
        server_log_begin(json, LOG_LEVEL_INFO);
        log_line(&desk.log, LOG_LEVEL_INFO, odd, LOG_TEXT("value", odd));
        const char *text = said();
        expect_int(lines_of(text), 1);
        expect_contains(text, "a\\nb\\u000d\\u0009\\u001b[31m\\u007f\\u009b \\ufffd\xc3\xa9 "
                              "\\u2028\\u202e\\u2066\\u061c");
        for (const char *c = text; *c != '\0'; c++)
            expect_true((unsigned char)*c >= 0x20 || *c == '\n');
    }
}

static void a_long_line_is_cut_and_stays_whole(void **state)
{
    (void)state;
    static char text[3 * LOG_LINE_MAX];
    for (size_t size = LOG_LINE_MAX - 300; size < LOG_LINE_MAX + 20; size++) {
        memset(text, 0, sizeof text);
        memset(text, size % 2 ? 'x' : '\n', size / (size % 2 ? 1 : 2));
        server_log_begin(true, LOG_LEVEL_INFO);
        log_line(&desk.log, LOG_LEVEL_INFO, "Long.", LOG_TEXT("first", text),
                 LOG_TEXT("second", text), LOG_NUMBER("third", 3));
        const char *line = said();
        size_t length = strlen(line);
        expect_true(length <= LOG_LINE_MAX);
        expect_text(line + length - 2, "}\n");
        expect_true(line[length - 3] == '"' || line[length - 3] == '3');
        log_done(&desk.log);
    }
    memset(text, 'y', sizeof text - 1);
    server_log_begin(true, LOG_LEVEL_INFO);
    log_line(&desk.log, LOG_LEVEL_INFO, text);
    expect_contains(said(), "yyy...\"}\n");
}

static void for_journald_a_line_begins_with_its_level(void **state)
{
    (void)state;
    struct stat file;
    char stream[64];
    expect_int(fstat(desk.ends[1], &file), 0);
    snprintf(stream, sizeof stream, "%ju:%ju", (uintmax_t)file.st_dev, (uintmax_t)file.st_ino);
    log_init(&desk.log, desk.ends[1], false, LOG_LEVEL_DEBUG, stream);
    log_line(&desk.log, LOG_LEVEL_ERROR, "One.");
    log_line(&desk.log, LOG_LEVEL_WARNING, "Two.");
    log_line(&desk.log, LOG_LEVEL_INFO, "Three.", LOG_NUMBER("n", 1));
    log_line(&desk.log, LOG_LEVEL_DEBUG, "Four.");
    expect_text(said(), "<3>One.\n<4>Two.\n<6>Three. n=1\n<7>Four.\n");
    log_done(&desk.log);
    log_init(&desk.log, desk.ends[1], true, LOG_LEVEL_INFO, stream);
    log_line(&desk.log, LOG_LEVEL_INFO, "Five.");
    expect_text(said(), "<6>{\"level\":\"info\",\"message\":\"Five.\"}\n");
    log_done(&desk.log);
    log_init(&desk.log, desk.ends[1], false, LOG_LEVEL_INFO,
             "1:2"); /* inherited, but stderr leads elsewhere */
    log_line(&desk.log, LOG_LEVEL_INFO, "Six.");
    expect_contains(said(), "Z info: Six.\n");
}

/* ---- a reader who takes nothing ---- */

static void log_fill(int fd)
{
    char block[4096];
    memset(block, '.', sizeof block);
    int flags = fcntl(fd, F_GETFL);
    fcntl(fd, F_SETFL, flags | O_NONBLOCK);
    while (write(fd, block, sizeof block) > 0 || errno == EINTR)
        ;
    fcntl(fd, F_SETFL, flags);
}

static void lines_that_nobody_reads_are_dropped_counted_and_told(void **state)
{
    (void)state;
    server_log_begin(false, LOG_LEVEL_INFO);
    log_fill(desk.ends[1]);
    int64_t start = hf_seam.boot_us();
    for (int i = 0; i < 1000; i++)
        log_line(&desk.log, LOG_LEVEL_INFO, "Nobody reads this.");
    expect_true(hf_seam.boot_us() - start < 10000000);
    expect_int(log_dropped(&desk.log), 1000);
    said();
    log_line(&desk.log, LOG_LEVEL_INFO, "This is read.");
    const char *text = said();
    expect_contains(
        text,
        "warning: Lines of this log were dropped, because nobody read them in time. lines=1000\n");
    expect_contains(text, "info: This is read.\n");
    expect_int(lines_of(text), 2);
    log_line(&desk.log, LOG_LEVEL_INFO, "This too.");
    expect_int(lines_of(said()), 1);
    expect_int(log_dropped(&desk.log), 1000);
}

static void a_closed_stderr_changes_nothing(void **state)
{
    (void)state;
    server_log_begin(false, LOG_LEVEL_INFO);
    log_done(&desk.log);
    log_init(&desk.log, -1, false, LOG_LEVEL_INFO, "1:2");
    log_line(&desk.log, LOG_LEVEL_INFO, "Nobody.");
    expect_int(log_dropped(&desk.log), 1);
}

static void a_socket_is_not_waited_for_either(void **state)
{
    (void)state;
    int ends[2];
    char block[65536];
    server_log_begin(false, LOG_LEVEL_INFO);
    log_done(&desk.log);
    expect_int(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    log_init(&desk.log, ends[1], false, LOG_LEVEL_INFO, NULL);
    memset(block, 'x', 3000);
    block[3000] = '\0';
    uint64_t lines = 0;
    for (; log_dropped(&desk.log) < 5; lines++)
        log_line(&desk.log, LOG_LEVEL_INFO, block);
    expect_true(lines > 10);
    expect_true(recv(ends[0], block, sizeof block, 0) > 0);
    shutdown(ends[0], SHUT_RD);
    close(ends[0]);
    log_line(&desk.log, LOG_LEVEL_INFO, "To a reader who left."); /* and no SIGPIPE */
    close(ends[1]);
}

/* ---- threads ---- */

enum { WRITERS = 4, EACH = 500 };

static void *write_many(void *name)
{
    for (int i = 0; i < EACH; i++)
        log_line(&desk.log, LOG_LEVEL_INFO, "Together.", LOG_TEXT("by", name), LOG_NUMBER("i", i));
    return NULL;
}

static void *read_until_end(void *out)
{
    size_t *used = out;
    ssize_t size;
    while ((size = read(desk.ends[0], desk.text + *used, sizeof desk.text - 1 - *used)) > 0)
        *used += (size_t)size;
    return NULL;
}

static void lines_of_threads_do_not_mix(void **state)
{
    (void)state;
    static char names[WRITERS][2] = {"a", "b", "c", "d"};
    pthread_t writers[WRITERS], reader;
    size_t used = 0;
    server_log_begin(false, LOG_LEVEL_INFO);
    expect_int(pthread_create(&reader, NULL, read_until_end, &used), 0);
    for (int i = 0; i < WRITERS; i++)
        expect_int(pthread_create(&writers[i], NULL, write_many, names[i]), 0);
    for (int i = 0; i < WRITERS; i++)
        pthread_join(writers[i], NULL);
    close(desk.ends[1]);
    pthread_join(reader, NULL);
    desk.text[used] = '\0';
    size_t whole = 0;
    for (char *line = desk.text; *line != '\0'; line = strchr(line, '\n') + 1)
        whole += strstr(line, "Z info: Together. by=") == line + 26;
    expect_int(whole + log_dropped(&desk.log), WRITERS * EACH);
    expect_true(whole > 0);
    desk.ends[1] = dup(desk.ends[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_line_has_time_level_sentence_and_fields, log_open_desk,
                                        log_close_desk),
        cmocka_unit_test_setup_teardown(a_line_of_json_has_the_same, log_open_desk, log_close_desk),
        cmocka_unit_test_setup_teardown(what_is_below_the_level_is_not_logged, log_open_desk,
                                        log_close_desk),
        cmocka_unit_test_setup_teardown(nothing_odd_gets_out, log_open_desk, log_close_desk),
        cmocka_unit_test_setup_teardown(a_long_line_is_cut_and_stays_whole, log_open_desk,
                                        log_close_desk),
        cmocka_unit_test_setup_teardown(for_journald_a_line_begins_with_its_level, log_open_desk,
                                        log_close_desk),
        cmocka_unit_test_setup_teardown(lines_that_nobody_reads_are_dropped_counted_and_told,
                                        log_open_desk, log_close_desk),
        cmocka_unit_test_setup_teardown(a_closed_stderr_changes_nothing, log_open_desk,
                                        log_close_desk),
        cmocka_unit_test_setup_teardown(a_socket_is_not_waited_for_either, log_open_desk,
                                        log_close_desk),
        cmocka_unit_test_setup_teardown(lines_of_threads_do_not_mix, log_open_desk, log_close_desk),
    };
    return cmocka_run_group_tests_name("server_log", tests, NULL, NULL);
}
