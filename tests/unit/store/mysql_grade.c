/* SPDX-License-Identifier: MIT */
/* The grades of MariaDB and MySQL by the variables of servers, also of those that no test can
 * start. */
#include "store/mysql_grade.h"

#include <stdio.h>
#include <string.h>
#include <support/check.h>

enum { VARIABLES_MAX = 12 };

typedef struct server {
    bool mariadb, wrapped;
    const char *variables[VARIABLES_MAX]
                         /* as rows of SHOW VARIABLES; what is not among them the server does not
                          * have */
                         [2];
    hf_grade_level level;
    const char *text;
} server;

#define PLAIN                                                                                      \
    {"innodb_flush_log_at_trx_commit", "1"},                                                       \
    {                                                                                              \
        "innodb_rollback_on_timeout", "OFF"                                                        \
    }

#define FAILOVER "what was acknowledged may be lost in a failover; use one primary server"

static const server servers[] = {
    {true,
     false,
     {PLAIN,
      {"version", "10.11.6-MariaDB"},
      {"log_bin", "OFF"},
      {"sync_binlog", "0"},
      {"wsrep_on", "OFF"}},
     HF_GRADE_DISK,
     "MariaDB 10.11.6-MariaDB, log flushed at every commit, one server: a failover to a replica "
     "may lose the "
     "last moments"},
    {true,
     false,
     {PLAIN, {"version", "10.11.6-MariaDB"}, {"log_bin", "OFF"}, {"Slave_running", "ON"}},
     HF_GRADE_PROCESS,
     "MariaDB 10.11.6-MariaDB, a replica that can be written to: its primary knows nothing of "
     "locks taken "
     "here; name the primary server in the URL"},
    {true,
     false,
     {PLAIN, {"version", "10.11.6-MariaDB"}, {"log_bin", "OFF"}, {"wsrep_on", "ON"}},
     HF_GRADE_PROCESS,
     "MariaDB 10.11.6-MariaDB in a cluster (Galera): " FAILOVER},
    {true,
     true,
     {PLAIN,
      {"version", "11.4.2-MariaDB-log"},
      {"log_bin", "ON"},
      {"sync_binlog", "1"},
      {"wsrep_on", "ON"}},
     HF_GRADE_PROCESS,
     "MariaDB 11.4.2-MariaDB-log in a cluster (Galera) on the application's own "
     "connection: " FAILOVER},
    {false, /* Percona XtraDB Cluster */
     false,
     {PLAIN,
      {"version", "8.0.36-28.1"},
      {"log_bin", "ON"},
      {"sync_binlog", "1"},
      {"wsrep_on", "ON"}},
     HF_GRADE_PROCESS,
     "MySQL 8.0.36-28.1 in a cluster (Galera): " FAILOVER},
    {false,
     false,
     {PLAIN,
      {"version", "8.0.36"},
      {"log_bin", "ON"},
      {"sync_binlog", "1"},
      {"group_replication_group_name", "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee"}},
     HF_GRADE_PROCESS,
     "MySQL 8.0.36 in a cluster (group replication): " FAILOVER},
    {false, /* the plugin is there and not used */
     false,
     {PLAIN,
      {"version", "8.0.36"},
      {"log_bin", "ON"},
      {"sync_binlog", "1"},
      {"group_replication_group_name", ""}},
     HF_GRADE_DISK,
     "MySQL 8.0.36, log flushed at every commit, one server: a failover to a replica may lose the "
     "last "
     "moments"},
    {false, /* what is lost with the group counts for more than what is lost with the machine */
     false,
     {{"version", "8.4.0"},
      {"innodb_flush_log_at_trx_commit", "2"},
      {"group_replication_group_name", "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee"}},
     HF_GRADE_PROCESS,
     "MySQL 8.4.0 in a cluster (group replication): " FAILOVER},
    {false,
     false,
     {PLAIN, {"version", "8.0.36"}, {"log_bin", "ON"}, {"sync_binlog", "100"}},
     HF_GRADE_PROCESS,
     "MySQL 8.0.36 with a binary log and sync_binlog 100: a crash of the machine may undo the last "
     "moments; "
     "set it to 1"},
    {false,
     true,
     {{"version", "8.0.36"},
      {"innodb_flush_log_at_trx_commit", "0"},
      {"log_bin", "ON"},
      {"sync_binlog", "0"}},
     HF_GRADE_PROCESS,
     "MySQL 8.0.36 with innodb_flush_log_at_trx_commit 0 on the application's own connection: a "
     "crash may "
     "lose the last second; set it to 1"},
};

static void each_server_is_graded_by_its_variables(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof servers / sizeof *servers; i++) {
        const server *s = &servers[i];
        mysql_facts facts = {.mariadb = s->mariadb};
        hf_grade grade = {0};
        mysql_fact(&facts, hf_slice_of("wsrep_on_or_so"), hf_slice_of("ON"));
        for (size_t j = 0; j < VARIABLES_MAX && s->variables[j][0]; j++)
            mysql_fact(&facts, hf_slice_of(s->variables[j][0]), hf_slice_of(s->variables[j][1]));
        mysql_judge(&facts, s->wrapped, &grade);
        expect_text(grade.text, s->text);
        expect_int(grade.level, s->level);
    }
}

static void every_variable_that_is_judged_is_asked_for(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof servers / sizeof *servers; i++)
        for (size_t j = 0; j < VARIABLES_MAX && servers[i].variables[j][0]; j++) {
            char quoted[64];
            snprintf(quoted, sizeof quoted, "'%s'", servers[i].variables[j][0]);
            expect_contains(MYSQL_FACTS MYSQL_REPLICA, quoted);
        }
}

static void a_long_version_leaves_the_sentence_whole(void **state)
{
    (void)state;
    hf_grade grade = {0};
    mysql_facts facts = {.mariadb = true};
    char version[128];
    memset(version, '9', sizeof version);
    version[sizeof version - 1] = '\0';
    mysql_fact(&facts, hf_slice_of("version"), hf_slice_of(version));
    mysql_fact(&facts, hf_slice_of("group_replication_group_name"), hf_slice_of(version));
    mysql_judge(&facts, true, &grade);
    expect_contains(grade.text, "use one primary server");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_server_is_graded_by_its_variables),
        cmocka_unit_test(every_variable_that_is_judged_is_asked_for),
        cmocka_unit_test(a_long_version_leaves_the_sentence_whole),
    };
    return cmocka_run_group_tests_name("grades by variables", tests, NULL, NULL);
}
