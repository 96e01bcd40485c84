/* SPDX-License-Identifier: MIT */
/* Every route there is. */
#include "server/routes/route.h"

#include "server/routes/handlers.h"

#define LOGIN     (INPUT(LOGIN))
#define CHANGE    (INPUT(LOGIN) | INPUT(REQUEST_ID))
#define CHANGE_OF (INPUT(LOGIN) | INPUT(REQUEST_ID) | INPUT(FENCE))
#define PAGE      (INPUT(AFTER) | INPUT(LIMIT))
#define OF_SESSION                                                                                 \
    (ROUTE_NOT_FOUND | ROUTE_EXPIRED) /* of the session that is presented, or the record */
#define AT(what, how, where) .name = what, .method = HTTP_##how, .path = where
/* A file that is compiled in; the row of its content is in route_pages.c. */
#define PAGE_FILE(what, where, is, kind)                                                           \
    AT(what, GET, where), .headers = INPUT(IF_NONE_MATCH), .summary = is,                          \
                          .replies = {{200, NULL, kind}, {304, NULL, "As it is known already."}},  \
                          .reply = page_reply

const route routes[] = {
    /* ---- locks ---- */
    {
        AT("acquire", PUT, "/v1/locks/{type}/{id}"),
        .access = ROUTE_SESSION,
        .role = "use",
        .takes = INPUT(MODE) | INPUT(TTL) | INPUT(PURPOSE),
        .headers = CHANGE,
        .summary = "Takes a lock, or says who has it.",
        .about =
            "Never waits for a holder. Taking what the session holds is harmless: same fence, same "
            "bound. Shared becomes exclusive "
            "when the session is the only reader.",
        .replies = {{201, "Locks", "Granted, or upgraded."},
                    {200, "Locks", "It was the session's already."}},
        .refuses = OF_SESSION,
        .parse = acquire_parse,
        .reply = acquire_reply,
    },
    {
        AT("release", DELETE, "/v1/locks/{type}/{id}"),
        .access = ROUTE_SESSION,
        .headers = CHANGE_OF,
        .summary = "Gives a lock back.",
        .replies = {{200, "Lock", "What was released."},
                    {204, NULL, "Asked again: the request with this key has released it before."}},
        .refuses = OF_SESSION | ROUTE_NOT_HELD,
        .parse = release_parse,
        .reply = lock_reply,
    },
    {
        AT("change", PATCH, "/v1/locks/{type}/{id}"),
        .access = ROUTE_SESSION,
        .role = "use",
        .takes = INPUT(MODE) | INPUT(TTL) | INPUT(PURPOSE),
        .headers = CHANGE_OF,
        .summary = "Renews a lock, or makes it shared.",
        .about = "With \"mode\":\"shared\" and nothing else an exclusive lock becomes shared; "
                 "otherwise its own "
                 "bound is set anew, from now. Exclusive is asked for by PUT.",
        .replies = {{200, "Lock", "The lock as it is now."}},
        .refuses = OF_SESSION | ROUTE_NOT_HELD,
        .parse = change_parse,
        .reply = lock_reply,
    },
    {
        AT("who", GET, "/v1/locks/{type}/{id}"),
        .access = ROUTE_EITHER,
        .role = "use or observe",
        .headers = LOGIN,
        .summary = "Who holds it, and who waits for it.",
        .replies = {{200, "Who", "Both empty: it is free."}},
        .refuses = OF_SESSION,
        .parse = who_parse,
        .reply = who_reply,
    },
    {
        AT("acquire-all", POST, "/v1/locks"),
        .access = ROUTE_SESSION,
        .role = "use",
        .takes = INPUT(LOCKS) | INPUT(TTL),
        .needs = INPUT(LOCKS),
        .headers = CHANGE,
        .summary = "Takes several locks, all or none.",
        .about = "Refused, the answer is about the first that is blocked, in order of type and id. "
                 "An id "
                 "that is . or .. is taken this way too.",
        .replies = {{201, "Locks", "At least one was granted; in the order given."},
                    {200, "Locks", "All were the session's already."}},
        .refuses = OF_SESSION,
        .parse = acquire_all_parse,
        .reply = acquire_all_reply,
    },
    {
        AT("list", GET, "/v1/locks"),
        .access = ROUTE_TOKEN,
        .role = "observe",
        .query = INPUT(TYPE) | INPUT(USER) | INPUT(SESSION) | PAGE,
        .summary = "The live locks, page by page.",
        .replies = {{200, "Locks", "In order of type, id and session."}},
        .parse = list_parse,
        .reply = locks_reply,
    },
    {
        AT("lookup", POST, "/v1/locks/lookup"),
        .access = ROUTE_EITHER,
        .role = "use or observe",
        .takes = INPUT(RESOURCES),
        .needs = INPUT(RESOURCES),
        .headers = LOGIN,
        .summary = "Who holds each of up to 1,000 records.",
        .replies = {{200, "Lookup", "In the order given."}},
        .refuses = OF_SESSION,
        .parse = lookup_parse,
        .reply = lookup_reply,
    },
    {
        AT("request-lock", POST, "/v1/locks/{type}/{id}/request"),
        .access = ROUTE_SESSION,
        .role = "use",
        .takes = INPUT(MESSAGE),
        .headers = CHANGE,
        .summary = "Asks whoever holds it to let go.",
        .about = "They hear of it by the event `requested`, if they follow the record, and on "
                 "their next beat.",
        .replies = {{200, "Locks", "Those who hold it."}},
        .refuses = OF_SESSION | ROUTE_NOT_HELD,
        .parse = lock_request_parse,
        .reply = locks_reply,
    },
    {
        AT("hand-over", POST, "/v1/locks/{type}/{id}/hand-over"),
        .access = ROUTE_SESSION,
        .role = "use",
        .takes = INPUT(SESSION),
        .needs = INPUT(SESSION),
        .headers = CHANGE_OF,
        .summary = "Gives a lock to another session in one step, with a new fence.",
        .replies = {{200, "Lock", "The new holder's lock."},
                    {204, NULL,
                     "Asked again: the request with this key has handed it over, and the new "
                     "holder has let it "
                     "go since."}},
        .refuses = OF_SESSION | ROUTE_NOT_HELD,
        .parse = hand_over_parse,
        .reply = lock_reply,
    },
    {
        AT("decline", POST, "/v1/locks/{type}/{id}/decline"),
        .access = ROUTE_SESSION,
        .role = "use",
        .takes = INPUT(SESSION) | INPUT(MESSAGE),
        .needs = INPUT(SESSION),
        .headers = CHANGE_OF,
        .summary = "Declines the request of another session; the lock stays.",
        .about = "Whoever asked hears of it by the event `declined`, if it follows the record, and "
                 "is no longer among the requests. 404: that session does not ask for it. Any of "
                 "several readers may decline.",
        .replies = {{200, "Lock", "The session's lock, as it was."},
                    {204, NULL,
                     "Asked again: the request with this key has declined it, and the lock is gone "
                     "since."}},
        .refuses = OF_SESSION | ROUTE_NOT_HELD,
        .parse = decline_parse,
        .reply = lock_reply,
    },
    {
        AT("force-release", POST, "/v1/locks/{type}/{id}/force-release"),
        .access = ROUTE_TOKEN,
        .role = "manage",
        .takes = INPUT(REASON) | INPUT(FENCE_FIELD) | INPUT(ACTOR),
        .needs = INPUT(REASON),
        .headers = INPUT(LOGIN) | INPUT(REQUEST_ID),
        .summary = "Ends someone else's locks; who did it and why is kept.",
        .replies = {{200, "Locks", "Those that were ended."}},
        .refuses = OF_SESSION | ROUTE_NOT_HELD,
        .parse = force_release_parse,
        .reply = locks_reply,
    },
/* ---- versions ---- */
#include "server/routes/routes_versions.h"
    /* ---- sessions ---- */
    {
        AT("session-open", POST, "/v1/sessions"),
        .access = ROUTE_TOKEN,
        .role = "use",
        .takes = INPUT(USER) | INPUT(NAME) | INPUT(IDLE) | INPUT(REPLACES) | INPUT(KEY),
        .needs = INPUT(USER),
        .headers = INPUT(REQUEST_ID),
        .summary = "Opens a session: one person's piece of work, which owns locks.",
        .about = "The key is shown once; the server draws it when it is not given. From then on "
                 "the session "
                 "alone, as 'Holdfast-Session: ID.KEY', is "
                 "enough for its own work, so that a "
                 "browser needs no token.",
        .replies = {{201, "Session", "The new session, with its key."}},
        .refuses = ROUTE_EXPIRED | ROUTE_REUSED,
        .parse = session_open_parse,
        .reply = session_open_reply,
    },
    {
        AT("beat", POST, "/v1/sessions/{session}/beat"),
        .access = ROUTE_SESSION,
        .headers = LOGIN,
        .summary = "Says that the work goes on.",
        .about = "Tells what was lost and who asks for what. Beat at a third of idle_seconds.",
        .replies = {{200, "Beat", "It lives on."}},
        .refuses = OF_SESSION,
        .parse = beat_parse,
        .reply = beat_reply,
    },
    {
        AT("session-close", DELETE, "/v1/sessions/{session}"),
        .access = ROUTE_SESSION,
        .headers = CHANGE,
        .summary = "Ends a session and releases all it holds.",
        .replies = {{200, "Released", "How many locks it had."}},
        .refuses = ROUTE_NOT_FOUND,
        .parse = close_parse,
        .reply = close_reply,
    },
    {
        AT("session-close-beacon", POST, "/v1/sessions/{session}/close"),
        .access = ROUTE_SESSION,
        .takes = INPUT(KEY),
        .needs = INPUT(KEY),
        .beacon = true,
        .proved = true,
        .summary = "The same, for navigator.sendBeacon as a page closes: the key is in the body.",
        .replies = {{200, "Released", "How many locks it had."}},
        .refuses = ROUTE_NOT_FOUND,
        .parse = close_beacon_parse,
        .reply = close_reply,
    },
    {
        AT("sessions", GET, "/v1/sessions"),
        .access = ROUTE_TOKEN,
        .role = "observe",
        .query = INPUT(USER) | PAGE,
        .summary = "The live sessions, page by page.",
        .replies = {{200, "Sessions", "No key is shown."}},
        .parse = sessions_parse,
        .reply = sessions_reply,
    },
    /* ---- types ---- */
    {
        AT("type-get", GET, "/v1/types/{type}"),
        .access = ROUTE_EITHER,
        .headers = LOGIN,
        .summary = "What a type of records demands.",
        .replies = {{200, "Type", "Its policy and bounds."}},
        .refuses = OF_SESSION,
        .parse = type_parse,
        .reply = type_reply,
    },
    {
        AT("type-set", PUT, "/v1/types/{type}"),
        .access = ROUTE_TOKEN,
        .role = "admin",
        .takes = INPUT(POLICY) | INPUT(TTL) | INPUT(TTL_MAX) | INPUT(ACTOR),
        .needs = INPUT(POLICY),
        .headers = INPUT(REQUEST_ID),
        .summary = "Registers a type, or sets it anew.",
        .about = "Here \"ttl_seconds\" is the bound that a lock gets when none is asked for. The "
                 "policy can't be "
                 "changed while locks of the type live.",
        .replies = {{200, "Type", "As it is now."}},
        .parse = type_set_parse,
        .reply = type_set_reply,
    },
    {
        AT("types", GET, "/v1/types"),
        .access = ROUTE_EITHER,
        .headers = LOGIN,
        .summary = "All types that were registered.",
        .replies = {{200, "Types", "In order of their names."}},
        .refuses = OF_SESSION,
        .parse = types_parse,
        .reply = types_reply,
    },
    /* ---- tokens ---- */
    {
        AT("token-create", POST, "/v1/tokens"),
        .access = ROUTE_TOKEN,
        .role = "admin",
        .takes = INPUT(NAME) | INPUT(ROLES) | INPUT(USERS) | INPUT(EXPIRES) | INPUT(ACTOR),
        .needs = INPUT(NAME) | INPUT(ROLES),
        .headers = INPUT(REQUEST_ID),
        .summary = "Makes a token: a program's right to call.",
        .replies = {{201, "TokenKey", "The secret is shown once."}},
        .refuses = ROUTE_REUSED,
        .parse = token_create_parse,
        .reply = token_create_reply,
    },
    {
        AT("tokens", GET, "/v1/tokens"),
        .access = ROUTE_TOKEN,
        .role = "admin",
        .query = PAGE,
        .summary = "All tokens, revoked ones too, without their secrets.",
        .replies = {{200, "Tokens", "In order of their ids."}},
        .parse = tokens_parse,
        .reply = tokens_reply,
    },
    {
        AT("token-revoke", DELETE, "/v1/tokens/{token}"),
        .access = ROUTE_TOKEN,
        .role = "admin",
        .headers = INPUT(REQUEST_ID),
        .summary = "Revokes a token: effective on every server within a second.",
        .about = "The last live token with admin for all types is not revoked here (403), only on "
                 "the store itself ('holdfast token revoke --store URL').",
        .replies = {{200, "Token", "As it is now."}},
        .refuses = ROUTE_NOT_FOUND,
        .parse = token_revoke_parse,
        .reply = token_reply,
    },
    {
        AT("login", POST, "/v1/login"),
        .access = ROUTE_TOKEN,
        .takes = INPUT(SECRET),
        .needs = INPUT(SECRET),
        .proved = true,
        .summary = "Signs a page in with a token: it gets a cookie.",
        .about = "The cookie is not the token. Every server of the store takes it, until the page "
                 "signs out, the token ends, or nothing was asked with it for 12 hours. It is "
                 "__Host-holdfast"
                 ": for this server alone, out of the reach of scripts, never sent by other sites. "
                 "On plain HTTP at localhost or a loopback address it is holdfast, without Secure, "
                 "which Safari needs. "
                 "A change "
                 "that it authorises needs the header Holdfast-CSRF with any value.",
        .replies = {{204, NULL, "The cookie is set."}},
        .parse = login_parse,
        .authorize = login_open_authorize,
        .reply = login_reply,
    },
    {
        AT("login-show", GET, "/v1/login"),
        .access = ROUTE_TOKEN,
        .summary =
            "The token that is presented, by the cookie or in the header: its name and roles.",
        .replies = {{200, "Caller", "Without its secret."}},
        .authorize = login_authorize,
        .reply = login_show_reply,
    },
    {
        AT("logout", DELETE, "/v1/login"),
        .access = ROUTE_MORE,
        .summary = "Signs the page out, at every server of the store, and takes the cookie back.",
        .replies = {{204, NULL, "It is signed out, and the cookie is gone."}},
        .parse = logout_parse,
        .authorize = logout_authorize,
        .reply = logout_reply,
        .refuse = logout_refuse,
    },
    /* ---- what happened ---- */
    {
        AT("events", GET, "/v1/events"),
        .access = ROUTE_EITHER,
        .role = "observe; use or observe for a session's own token",
        .query = INPUT(TYPE) | INPUT(RESOURCE) | INPUT(USER) | INPUT(AFTER_SEQ) | INPUT(TICKET),
        .headers = INPUT(LOGIN) | INPUT(LAST_EVENT),
        .stream = true,
        .summary = "What happens, as it happens: server-sent events.",
        .about =
            "With Last-Event-ID (or after_seq) the stream goes on after that event, without a gap; "
            "otherwise it begins now. An event called "
            "resync says that some were missed: read the lists anew. A session without a "
            "token follows the records that it names, and hears what happens to itself "
            "besides; what is no longer in the server's memory (some thousand events) is a "
            "resync. Its stream ends when it ends, or when the token that opened it does. "
            "EventSource can't send a session and opens the stream with a ticket; 410: it "
            "has expired.",
        .replies = {{200, NULL, "text/event-stream; the data of each event is an Event."}},
        .refuses = OF_SESSION,
        .parse = events_parse,
        .authorize = events_authorize,
        .reply = events_reply,
    },
    {
        .name = "events-of-many",
        .method = HTTP_POST,
        .path = "/v1/events",
        .access = ROUTE_EITHER,
        .role = "observe; use or observe for a session's own token",
        .takes = INPUT(RESOURCES) | INPUT(USER) | INPUT(AFTER_SEQ),
        .needs = INPUT(RESOURCES),
        .headers = INPUT(LOGIN) | INPUT(LAST_EVENT),
        .stream = true,
        .summary = "The same stream for up to 1,000 records, read by fetch.",
        .replies = {{200, NULL, "text/event-stream; the data of each event is an Event."}},
        .refuses = OF_SESSION,
        .parse = events_parse,
        .authorize = events_authorize,
        .reply = events_reply,
    },
    {
        .name = "event-ticket",
        .method = HTTP_POST,
        .path = "/v1/events/tickets",
        .access = ROUTE_SESSION,
        .role = "use or observe",
        .takes = INPUT(RESOURCES),
        .needs = INPUT(RESOURCES),
        .headers = LOGIN,
        .summary = "Gives a session a ticket that opens its stream of these records for a minute.",
        .about = "For EventSource, which can't send headers: GET /v1/events?ticket=... on any "
                 "server of the same store. It is a secret, and may be used again until it "
                 "expires; the streams that it opened go on. The names of the records may be "
                 "3,500 bytes long together.",
        .replies = {{201, "Ticket", "The ticket, and when it expires."}},
        .refuses = OF_SESSION,
        .parse = ticket_parse,
        .authorize = events_authorize,
        .reply = ticket_reply,
    },
    {
        .name = "audit-log",
        .method = HTTP_GET,
        .path = "/v1/audit-log",
        .access = ROUTE_TOKEN,
        .role = "observe",
        .query = INPUT(AFTER_SEQ) | INPUT(BEFORE_SEQ) | INPUT(LIMIT) | INPUT(TYPE) |
                 INPUT(RESOURCE) | INPUT(USER) | INPUT(KIND) | INPUT(SINCE) | INPUT(UNTIL),
        .summary = "What happened, page by page: who, what, when, why.",
        .about =
            "The log is walked, some 50,000 events for a request at most: `next` is where to go "
            "on, as after_seq or before_seq, also when none was found so far. \"user\" is whose "
            "it is, or who did it.",
        .replies = {{200, "Events", "Go on with `next`; null: there is nothing further."}},
        .parse = audit_log_parse,
        .reply = audit_log_reply,
        .release = audit_log_release,
    },
    {
        AT("history", GET, "/v1/history"),
        .access = ROUTE_TOKEN,
        .role = "observe",
        .query = INPUT(SPAN),
        .summary = "Locks, sessions, grants, refusals, requests and saves of the last hour or day.",
        .about = "In columns. Locks and sessions are the store's, null before they were counted; "
                 "the rest "
                 "is what this server answered in each step. It begins anew when the server does.",
        .replies = {{200, "History", "The oldest first."}},
        .parse = history_parse,
        .authorize = metrics_authorize,
        .reply = history_reply,
    },
    /* ---- batches ---- */
    {
        AT("batch", POST, "/v1/batch"),
        .access = ROUTE_EITHER,
        .role = "what each op needs",
        .raw = true,
        .summary =
            "Any ops, in order, each with its own answer; linked ones stand or fall together.",
        .about = "What the remote store speaks; docs/wire.md has the ops. Sessions and request ids "
                 "stand in "
                 "the ops.",
        .replies = {{200, "Answers",
                     "An answer for each op: one that was refused does not fail the others."}},
        .refuses = OF_SESSION,
        .parse = batch_parse,
        .authorize = batch_authorize,
        .admit = batch_admit,
        .reply = batch_reply,
        .release = batch_release,
    },
    /* ---- the server itself ---- */
    {
        AT("health", GET, "/healthz"),
        .summary = "Is the process there?",
        .replies = {{200, "Health", "It is."}},
        .reply = health_reply,
    },
    {
        AT("ready", GET, "/readyz"),
        .access = ROUTE_MORE,
        .summary = "Can the store be used, and what durability does it stand on?",
        .about = "With a token it also tells in words what that durability is.",
        .replies = {{200, "Ready", "It can."}},
        .parse = ready_parse,
        .authorize = ready_authorize,
        .reply = ready_reply,
    },
    {
        AT("metrics", GET, "/metrics"),
        .access = ROUTE_NEARBY,
        .role = "observe, unless asked from the same machine",
        .summary = "What is counted, for Prometheus.",
        .replies = {{200, NULL, "text/plain; version=0.0.4"}},
        .authorize = metrics_authorize,
        .reply = metrics_reply,
    },
    {
        AT("openapi", GET, "/openapi.json"),
        .summary = "This document.",
        .replies = {{200, NULL, "OpenAPI 3.1"}},
        .reply = openapi_reply,
    },
    /* ---- pages ---- */
    {
        AT("api", GET, "/api"),
        .summary = "What can be asked, for a person.",
        .replies = {{200, NULL, "text/html"}},
        .reply = api_reply,
    },
    {PAGE_FILE("front", "/", "The dashboard: who holds what, live.", "text/html")},
    {PAGE_FILE("dashboard-script", "/dashboard.js", "What makes it work.", "text/javascript")},
    {PAGE_FILE("style", "/style.css", "How the pages look.", "text/css")},
    {PAGE_FILE("icon", "/icon.svg", "Their icon.", "image/svg+xml")},
    {PAGE_FILE("edit-lock", "/edit-lock.js",
               "The elements edit-lock and lock-badge, for pages of any origin.",
               "text/javascript"),
     .public = true},
};

const size_t routes_count = sizeof routes / sizeof routes[0];
