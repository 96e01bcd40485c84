/* SPDX-License-Identifier: MIT */
/* The list of all rules. A new one: a file in rules/, a line here, samples in tests/audit. */
#include "audit/audit.h"

#define RULES(X)                                                                                   \
    X(version_not_compared)                                                                        \
    X(version_not_moved)                                                                           \
    X(row_count_ignored)                                                                           \
    X(version_is_a_time)                                                                           \
    X(lock_table_not_unique)                                                                       \
    X(lock_table_without_owner)                                                                    \
    X(lock_table_without_expiry)                                                                   \
    X(check_then_insert)                                                                           \
    X(mixed_strategies)                                                                            \
    X(member_past_root)                                                                            \
    X(timestamp_compared)                                                                          \
    X(version_read_at_saving)                                                                      \
    X(locked_after_loading)                                                                        \
    X(locked_only_at_saving)                                                                       \
    X(bulk_write)                                                                                  \
    X(lock_map)                                                                                    \
    X(released_before_commit)                                                                      \
    X(locks_in_no_order)                                                                           \
    X(waits_without_bound)                                                                         \
    X(idle_in_transaction)

#define RULES_DECLARE(name) extern const audit_rule audit_rule_##name;
#define RULES_LIST(name)    &audit_rule_##name,

RULES(RULES_DECLARE)

const audit_rule *const audit_rules[] = {RULES(RULES_LIST) NULL};
