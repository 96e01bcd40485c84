/* SPDX-License-Identifier: MIT */
/* After fork() nothing is held in the child: its calls are refused, and nothing of the parent's is
 * touched. */
#include <lease/scene.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *base;

static int child(scene *s, const hf_lease *lease)
{
    hf_error err = {0};
    hf_lease mine;
    hf_leases *own = NULL;
    if (hf_lease_is_held(lease) || hf_lease_fence(lease) != 0)
        return 1;
    if (hf_lease_acquire(s->a, "other", SEC, &mine, &err) != HF_INVALID ||
        !strstr(err.message, "fork"))
        return 2;
    hf_lease_close(lease);
    hf_leases_stop(s->a);
    hf_leases_close(s->a);
    if (hf_leases_open(s->url, NULL, &own, &err) != HF_OK)
        return 3;
    hf_status expected = s->local ? HF_OK : HF_TIMEOUT; /* the parent has it */
    if (hf_lease_try_acquire(own, "k", 0, SEC, &mine, &err) != expected)
        return 4;
    if (hf_lease_try_acquire(own, "free", 0, SEC, &mine, &err) != HF_OK || !hf_lease_is_held(&mine))
        return 5;
    hf_leases_close(own);
    return 0;
}

static void a_forked_child_holds_nothing(void **state)
{
    (void)state;
    scene *s = scene_open(base);
    hf_lease lease;
    int code = 0;
    expect(HF_OK, hf_lease_acquire(s->a, "k", 60 * SEC, &lease, &s->err), s->err);
    pid_t pid = fork();
    if (pid == 0)
        _exit(child(s, &lease));
    waitpid(pid, &code, 0);
    expect_int(WIFEXITED(code) ? WEXITSTATUS(code) : 100 + WTERMSIG(code), 0);
    expect_true(hf_lease_is_held(&lease));
    expect(HF_TIMEOUT, elsewhere(s->b, "k", 0, &s->err), s->err);
    hf_lease_close(&lease);
    scene_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_forked_child_holds_nothing)};
    int failed = 0;
    for (const char *const *url = scene_urls(); *url != NULL; url++) {
        base = *url;
        failed += cmocka_run_group_tests_name("leases and fork", tests, NULL, NULL);
    }
    return failed;
}
