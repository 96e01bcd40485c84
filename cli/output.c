/* SPDX-License-Identifier: MIT */
/* The words of the program. Times are shown in UTC, as the library's own sentences show them. */
#include "cli/output.h"

#include "base/error.h"
#include "base/text.h"
#include "cli/hide.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { CLI_LINE_SIZE = 8192 }; /* of the longest names, with words between them */

#define SECOND_US INT64_C(1000000)
#define DAY_US    (86400 * SECOND_US)

/* Everything but the line break that the format ends in is text that may have come from outside. */
__attribute__((format(printf, 3, 0))) static void output_line(FILE *to, const char *lead,
                                                              const char *format, va_list list)
{
    char line[CLI_LINE_SIZE];
    size_t end = strlen(format);
    bool broken = end > 0 && format[end - 1] == '\n';
    int size = vsnprintf(line, sizeof line, format, list);
    if (broken && size > 0 && size < CLI_LINE_SIZE)
        line[size - 1] = '\0';
    cli_hide_in(line);
    hf_text_show(line, sizeof line);
    fprintf(to, "%s%s%s", lead, line, broken ? "\n" : "");
}

void cli_say(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    output_line(stderr, "holdfast: ", format, list);
    va_end(list);
    fputc('\n', stderr);
}

void cli_print(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    output_line(stdout, "", format, list);
    va_end(list);
}

char *cli_shown(const char *text)
{
    size_t size = 6 * strlen(text) + 1; /* a byte becomes six at most */
    char *copy = malloc(size);
    if (copy == NULL)
        return NULL;
    memcpy(copy, text, strlen(text) + 1);
    hf_text_show(copy, size);
    return copy;
}

void cli_time_format(int64_t time_us, int64_t now_us, char out[CLI_TIME_SIZE])
{
    time_t seconds = (time_t)(time_us / SECOND_US);
    struct tm parts;
    if (time_us <= 0 || gmtime_r(&seconds, &parts) == NULL) {
        snprintf(out, CLI_TIME_SIZE, "-");
        return;
    }
    bool today = time_us / DAY_US == now_us / DAY_US;
    if (strftime(out, CLI_TIME_SIZE, today ? "%H:%M:%S UTC" : "%Y-%m-%d %H:%M UTC", &parts) == 0)
        snprintf(out, CLI_TIME_SIZE, "-");
}

void cli_duration_format(int64_t us, char out[CLI_DURATION_SIZE])
{
    static const struct {
        int64_t us;
        const char *name;
    } units[] = {{DAY_US, "d"}, {3600 * SECOND_US, "h"}, {60 * SECOND_US, "m"}, {SECOND_US, "s"}};
    if (us <= 0) {
        snprintf(out, CLI_DURATION_SIZE, "-");
        return;
    }
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (us % units[i].us == 0) {
            snprintf(out, CLI_DURATION_SIZE, "%" PRId64 "%s", us / units[i].us, units[i].name);
            return;
        }
    }
    snprintf(out, CLI_DURATION_SIZE, "%" PRId64 "ms", us / 1000);
}

void cli_print_lock(const char *word, const hf_lock *lock, int64_t now_us)
{
    char resource[HF_RESOURCE_SIZE];
    char expires[CLI_TIME_SIZE];
    char ends[CLI_TIME_SIZE];
    hf_resource_format(&lock->resource, resource);
    cli_time_format(lock->expires_us, now_us, expires);
    cli_time_format(lock->ends_us, now_us, ends);
    bool by_own_bound = lock->ends_us != 0 && lock->ends_us <= lock->expires_us;
    bool later_bound = lock->ends_us > lock->expires_us;
    cli_print("%s %s: %s holds it (%s, fence %" PRId64 "); it frees at %s unless %s%s%s.\n", word,
              resource, lock->name, hf_mode_name(lock->mode), lock->fence, expires,
              by_own_bound ? "it is renewed" : "the session beats",
              later_bound ? ", and in any case at " : "", later_bound ? ends : "");
}

void cli_print_event(const hf_event *event, int64_t now_us)
{
    char resource[HF_RESOURCE_SIZE];
    char at[CLI_TIME_SIZE];
    hf_resource_format(&event->resource, resource);
    if (event->resource.id[0] == '\0')
        snprintf(resource, sizeof resource, "%s", event->resource.type);
    cli_time_format(event->at_us, now_us, at);
    cli_print("%6" PRId64 "  %s  %-15s", event->seq, at, hf_event_kind_name(event->kind));
    if (resource[0] != '\0')
        cli_print("  %s", resource);
    if (event->user[0] != '\0')
        cli_print("  %s", event->user);
    if (event->actor[0] != '\0')
        cli_print("  by %s", event->actor);
    if (event->reason[0] != '\0')
        cli_print("  \"%s\"", event->reason);
    putchar('\n');
}

hf_status cli_print_json(char *json, hf_error *err)
{
    if (json == NULL)
        return hf_fail_memory(err);
    puts(json);
    hf_json_free(json);
    return HF_OK;
}

hf_status cli_json_item(size_t index, char *json, hf_error *err)
{
    if (json == NULL)
        return hf_fail_memory(err);
    printf("%s%s", index == 0 ? "" : ",", json);
    hf_json_free(json);
    return HF_OK;
}

static bool reader_is_gone(void)
{
    struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};
    return poll(&out, 1, 0) == 1 && (out.revents & POLLERR) != 0;
}

/* Why stdout took no more: of the first flush that failed, since the stream only remembers that one
 * did. */
static int first_errno;

static bool output_flush(void)
{
    errno = 0;
    if (fflush(stdout) == 0 && ferror(stdout) == 0)
        return true;
    if (first_errno == 0)
        first_errno = errno;
    return false;
}

bool cli_flush(void)
{
    return output_flush() && !reader_is_gone();
}

int cli_finish(int exit_code)
{
    bool flushed = output_flush();
    bool gone = !flushed && (first_errno == EPIPE || reader_is_gone());
    if (fclose(stdout) != 0 && flushed) {
        flushed = false;
        first_errno = errno;
    }
    if (flushed || gone)
        return exit_code;
    cli_say("%s could not be written: %s.",
            exit_code == 0 ? "What was asked for was done, but the answer" : "The answer",
            strerror(first_errno != 0 ? first_errno : EIO));
    return exit_code != 0 ? exit_code : 1;
}
