/* SPDX-License-Identifier: MIT */
/* Amounts from the environment, and stores by path. */
#include "faults/setting.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

size_t setting_amount(const char *variable, size_t normal, size_t longer)
{
    const char *given = getenv(variable), *is_long = getenv("HF_TEST_LONG");
    if (given && *given)
        return (size_t)strtoul(given, NULL, 10);
    return is_long && *is_long && strcmp(is_long, "0") != 0 ? longer : normal;
}

hf_status setting_open(const char *path, hf_store **out, hf_error *err)
{
    char url[HF_URL_MAX + 16];
    snprintf(url, sizeof url, "sqlite:%s", path);
    return hf_store_open(url, out, err);
}

void setting_skip_reserve(const char *path)
{
    char reserve[HF_URL_MAX + 16];
    snprintf(reserve, sizeof reserve, "%s-reserve", path);
    int fd = open(reserve, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    if (fd >= 0)
        close(fd);
}

void setting_remove(const char *path)
{
    static const char *const endings[] = {"", "-wal", "-shm", "-journal", "-reserve"};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        char file[HF_URL_MAX + 16];
        snprintf(file, sizeof file, "%s%s", path, endings[i]);
        unlink(file);
    }
}
