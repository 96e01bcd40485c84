/* SPDX-License-Identifier: MIT */
/* The grades of MariaDB and MySQL: the first thing that may lose what was acknowledged names the
 * grade. */
#include "store/mysql_grade.h"

#include <stdio.h>
#include <string.h>

void mysql_fact(mysql_facts *facts, hf_slice name, hf_slice value)
{
    const struct {
        const char *name;
        char *to;
        size_t size;
    } all[] = {
        {"version", facts->version, sizeof facts->version},
        {"innodb_flush_log_at_trx_commit", facts->flush, sizeof facts->flush},
        {"tx_read_only", facts->reads_only, sizeof facts->reads_only},
        {"transaction_read_only", facts->reads_only, sizeof facts->reads_only},
        {"Slave_running", facts->replica, sizeof facts->replica},
        {"log_bin", facts->log_bin, sizeof facts->log_bin},
        {"sync_binlog", facts->binlog_sync, sizeof facts->binlog_sync},
        {"binlog_format", facts->binlog_format, sizeof facts->binlog_format},
        {"wsrep_on", facts->wsrep, sizeof facts->wsrep},
        {"innodb_rollback_on_timeout", facts->rollback, sizeof facts->rollback},
        {"group_replication_group_name", facts->group, sizeof facts->group},
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (hf_slice_equal(name, hf_slice_of(all[i].name)))
            hf_slice_copy(all[i].to, all[i].size, value);
}

void mysql_judge(const mysql_facts *facts, bool wrapped, hf_grade *out)
{
    const char *name = facts->mariadb ? "MariaDB" : "MySQL",
               *own = wrapped ? " on the application's own connection" : "";
    *out = (hf_grade){.level = HF_GRADE_PROCESS};
    if (strcmp(facts->wsrep, "ON") == 0 || facts->group[0] != '\0') {
        snprintf(
            out->text, sizeof out->text,
            "%s %s in a cluster (%s)%s: what was acknowledged may be lost in a failover; use one "
            "primary server",
            name, facts->version, facts->group[0] != '\0' ? "group replication" : "Galera", own);
    } else if (strcmp(facts->replica, "ON") == 0) {
        snprintf(out->text, sizeof out->text,
                 "%s %s, a replica that can be written to%s: its primary knows nothing of locks "
                 "taken here; "
                 "name the primary server in the URL",
                 name, facts->version, own);
    } else if (strcmp(facts->flush, "1") != 0) {
        snprintf(out->text, sizeof out->text,
                 "%s %s with innodb_flush_log_at_trx_commit %s%s: a crash may lose the last "
                 "second; set it to 1",
                 name, facts->version, facts->flush, own);
    } else if (strcmp(facts->log_bin, "ON") == 0 && strcmp(facts->binlog_sync, "1") != 0) {
        snprintf(out->text, sizeof out->text,
                 "%s %s with a binary log and sync_binlog %s%s: a crash of the machine may undo "
                 "the last "
                 "moments; set it to 1",
                 name, facts->version, facts->binlog_sync, own);
    } else {
        out->level = HF_GRADE_DISK;
        snprintf(out->text, sizeof out->text,
                 "%s %s, log flushed at every commit%s, one server: a failover to a replica may "
                 "lose the "
                 "last moments",
                 name, facts->version, own);
    }
}
