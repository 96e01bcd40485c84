/* SPDX-License-Identifier: MIT */
/* What durability a MariaDB or MySQL server gives, judged by its variables; pure, so that it can be
 * judged for servers that are not at hand. */
#ifndef HF_STORE_MYSQL_GRADE_H
#define HF_STORE_MYSQL_GRADE_H

#include "base/text.h"

#include <holdfast/holdfast.h>

/* The variables that matter, as the server writes them; "": it has none of that name. */
typedef struct mysql_facts {
    bool mariadb;
    char version[64], flush[8], reads_only[8], log_bin[8], binlog_sync[16], binlog_format[16],
        wsrep[8], rollback[8], group[64], replica[8];
} mysql_facts;

/* Asks for them: rows of name and value, each for mysql_fact. */
#define MYSQL_FACTS                                                                                \
    "SHOW VARIABLES WHERE Variable_name IN ('version', 'innodb_flush_log_at_trx_commit', "         \
    "'tx_read_only', "                                                                             \
    "'transaction_read_only', 'log_bin', 'sync_binlog', "                                          \
    "'binlog_format', 'wsrep_on', 'innodb_rollback_on_timeout', 'group_replication_group_name')"

/* Whether it follows another server. (MySQL tells only who may ask for more.) */
#define MYSQL_REPLICA "SHOW GLOBAL STATUS LIKE 'Slave_running'"

/* Notes one of them; a name that is not known is passed over. */
void mysql_fact(mysql_facts *facts, hf_slice name, hf_slice value);

/* `wrapped`: on an application's own connection. */
void mysql_judge(const mysql_facts *facts, bool wrapped, hf_grade *out);

#endif
