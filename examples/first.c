/* SPDX-License-Identifier: MIT */
/* holdfast embedded in twenty lines: Alice edits a record, Bob is told at once that he can't, and
 * by whom. */
#include <holdfast/holdfast.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    hf_manager *manager = NULL;
    hf_session *alice = NULL, *bob = NULL;
    hf_resource policy;
    hf_error err;
    /* or "sqlite:PATH" */
    if (hf_manager_open(argc > 1 ? argv[1] : "memory:", &manager, &err) != HF_OK ||
        hf_session_open(manager, &(hf_session_options){.user = "alice", .name = "Alice Chen"},
                        &alice, &err) != HF_OK ||
        hf_session_open(manager, &(hf_session_options){.user = "bob", .name = "Bob Smith"}, &bob,
                        &err) != HF_OK ||
        hf_resource_parse("policy/12345", &policy, &err) != HF_OK ||
        hf_session_acquire(alice, &policy, &(hf_acquire_options){.purpose = "renewal"}, NULL,
                           &err) != HF_OK)
        return fprintf(stderr, "%s\n", err.message), 1;
    hf_status status = hf_session_acquire(bob, &policy, NULL, NULL, &err);
    printf("Bob: %s\n", status == HF_LOCKED ? err.message : "got it, which should not be");
    if (hf_session_close(alice, &err) != HF_OK || hf_session_close(bob, &err) != HF_OK)
        /* then they end, with what they hold, at their idle bound */
        fprintf(stderr, "%s\n", err.message);
    hf_session_free(alice);
    hf_session_free(bob);
    hf_manager_close(manager);
    return status == HF_LOCKED ? 0 : 1;
}
