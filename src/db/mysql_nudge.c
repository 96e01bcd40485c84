/* SPDX-License-Identifier: MIT */
/* Nudging MySQL 5.6, so that it notices a KILL at once. Who waits for a row lock there is looked at a second after the wait began, or
 * when the next wait begins, whoever's it is. So we let one begin: of two connections the first locks a row that nobody else does, for a
 * moment, and the second asks for the same row.
 *
 * N1  Each sends all it has to say at once, and the server carries it out alone to the ROLLBACK: whatever becomes of us, the row is not
 *     locked for longer than that moment.
 * N2  Nobody is waited for longer than that moment either. Where another process nudges just then our first one waits for it, and that
 *     serves as well. One that is still waiting when the next nudge is due is left alone. */
#include "db/mysql_inside.h"

#include <poll.h>

/* The moment. The second one has to get to the row in it, on a machine with much to do too. */
enum { HOLD_MS = 20 };
#define HOLD_S "0.02"

static bool is_readable(MYSQL *conn, int wait_ms)
{
    struct pollfd socket = {.fd = mysql_get_socket(conn), .events = POLLIN};
    return poll(&socket, 1, wait_ms) > 0;
}

static void shut(my_nudger *it)
{
    my_shut(it->conn);
    *it = (my_nudger){.conn = NULL};
}

/* Sends text; its answer is read later. False: it could not be sent. */
static bool ask(my_nudger *it, const char *text, const char *more)
{
    my_hush hush;
    hf_buffer whole = {0};
    hf_buffer_print(&whole, "%s%s", text, more);
    my_hush_begin(it->conn, &hush);
    it->asked = !whole.failed && mysql_send_query(it->conn, whole.text, (unsigned long)whole.size) == 0;
    my_hush_end(&hush);
    hf_buffer_done(&whole);
    if (!it->asked)
        shut(it);
    return it->asked;
}

/* Passes over the answers. An error is one too: the server has stopped there, and locked nothing. */
static bool take(my_nudger *it)
{
    bool failed = mysql_read_query_result(it->conn) != 0;
    for (it->asked = false; !failed; failed = mysql_next_result(it->conn) != 0) {
        mysql_free_result(mysql_store_result(it->conn));
        if (!mysql_more_results(it->conn))
            return true;
    }
    return !my_is_lost(it->conn);
}

static bool reopen(my_nudger *it, const my_target *target, const char *server, unsigned most_s)
{
    char reached[MY_SERVER_SIZE];
    shut(it);
    if (my_open(target, most_s, &it->conn, NULL) == HF_OK && my_identify(target, it->conn, reached) &&
        strcmp(reached, server) == 0 &&
        ask(it, "SET SESSION autocommit = 0, innodb_lock_wait_timeout = 1", "") && take(it))
        return true;
    shut(it);
    return false;
}

/* False: it can't be asked anything now. */
static bool make_ready(my_nudger *it, const my_target *target, const char *server, unsigned most_s)
{
    if (it->conn != NULL && it->asked) {
        if (!is_readable(it->conn, HOLD_MS))
            return false;
        if (!take(it))
            shut(it);
    }
    return (it->conn != NULL && my_is_quiet(it->conn)) || reopen(it, target, server, most_s);
}

void my_nudge(my_nudger pair[2], const my_target *target, const char *server, unsigned most_s)
{
    bool first = make_ready(&pair[0], target, server, most_s),
         second = make_ready(&pair[1], target, server, most_s);
    if (first && ask(&pair[0], target->nudge, "; DO SLEEP(" HOLD_S "); ROLLBACK"))
        is_readable(pair[0].conn, HOLD_MS);
    if (second)
        ask(&pair[1], target->nudge, "; ROLLBACK");
}

void my_nudge_end(my_nudger pair[2])
{
    for (int i = 0; i < 2; i++)
        shut(&pair[i]);
}
