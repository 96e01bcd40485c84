/* SPDX-License-Identifier: MIT */
/* A transaction that keeps rows locked while its program waits for a person. Found in the live
 * database only; live.c tells it. */
#include "audit/audit.h"

const audit_rule audit_rule_idle_in_transaction = {
    .name = "idle-in-transaction",
    .severity = AUDIT_HIGH,
    .confidence = AUDIT_HIGH,
    .sentence = "A transaction sits idle and keeps rows locked.",
    .why = "Everyone else who writes those rows waits, as long as a person thinks or a program "
           "hangs; old row versions pile up.",
    .holdfast = "End the transaction before the person starts to work, and hold a holdfast lock "
                "meanwhile (docs/patterns.md).",
    .without = "Set idle_in_transaction_session_timeout (PostgreSQL) or "
               "idle_transaction_timeout (MariaDB), and keep versions.",
    .judge = NULL,
};
