/* SPDX-License-Identifier: MIT */
/* Running tests side by side; see side_by_side.h. The number of the next test lies in memory that
 * all the processes share. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <support/side_by_side.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static int side_run(const char *group, const struct CMUnitTest *tests, size_t count,
                    atomic_size_t *next)
{
    int failed = 0;
    for (size_t i; (i = atomic_fetch_add(next, 1)) < count;)
        failed += _cmocka_run_group_tests(group, &tests[i], 1, NULL, NULL) != 0;
    return failed;
}

int run_side_by_side(const char *group, const struct CMUnitTest *tests, size_t count,
                     size_t processes)
{
    int failed = 0, status = 0;
    atomic_size_t *next =
        mmap(NULL, sizeof *next, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (next == MAP_FAILED) {
        perror("mmap");
        return 1;
    }
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ); /* so that they do not cut each other's lines */
    for (size_t i = 0; i < processes; i++) {
        pid_t pid = fork();
        if (pid == 0)
            exit(side_run(group, tests, count, next) != 0);
        if (pid < 0) {
            perror("fork");
            failed++;
        }
    }
    while (wait(&status) > 0)
        failed += status != 0;
    if (atomic_load(next) < count) {
        fprintf(stderr, "Not all of the %zu tests were run.\n", count);
        failed++;
    }
    munmap(next, sizeof *next);
    return failed;
}
