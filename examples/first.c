/* SPDX-License-Identifier: MIT */
/* holdfast embedded in twenty lines: Alice edits a record, Bob is told at once that he can't, and by whom. */
#include <holdfast/holdfast.h>
#include <stdio.h>

int main(void)
{
    hf_manager *manager = NULL;
    hf_session *alice = NULL, *bob = NULL;
    hf_resource policy;
    hf_error err;
    if (hf_manager_open("memory:", &manager, &err) != HF_OK || /* or "sqlite:/var/lib/myapp/locks.db" */
        hf_session_open(manager, &(hf_session_options){.user = "alice", .name = "Alice Chen"}, &alice,
                        &err) != HF_OK ||
        hf_session_open(manager, &(hf_session_options){.user = "bob", .name = "Bob Smith"}, &bob, &err) !=
            HF_OK ||
        hf_resource_parse("policy/12345", &policy, &err) != HF_OK ||
        hf_session_acquire(alice, &policy, &(hf_acquire_options){.purpose = "renewal"}, NULL, &err) != HF_OK)
        return fprintf(stderr, "%s\n", err.message), 1;
    hf_status status = hf_session_acquire(bob, &policy, NULL, NULL, &err);
    printf("Bob: %s\n", status == HF_LOCKED ? err.message : "got it, which should not be");
    hf_session_free(alice);
    hf_session_free(bob);
    hf_manager_close(manager);
    return status == HF_LOCKED ? 0 : 1;
}
