/* SPDX-License-Identifier: MIT */
/* The settings of a server, a row each. From a row come the field of `settings`, the flag
 * (--listen), the environment variable (HOLDFAST_LISTEN), the key of the file (listen), the help,
 * what --print-config prints, and the table in docs/serve.md.
 *
 * Kinds: ADDRESSES, ORIGINS, HOSTS, NETWORKS are lists (min and max count their items); STORE, PATH
 * text (min 1: may not be empty); DURATION in microseconds; NUMBER; SIZE in bytes; SWITCH yes or
 * no; CHOICE one of the words of the column value. The default is read as if someone had written
 * it; NULL: nothing, or settings.c works it out. */
#ifndef HF_SERVER_SETTINGS_TABLE_H
#define HF_SERVER_SETTINGS_TABLE_H

#define SETTINGS_MS  INT64_C(1000)
#define SETTINGS_S   INT64_C(1000000)
#define SETTINGS_DAY (86400 * SETTINGS_S)
#define SETTINGS_KIB INT64_C(1024)
#define SETTINGS_MIB (1024 * SETTINGS_KIB)

/* clang-format off */
#define SETTINGS_TABLE(X) \
    /* kind, field, name, value, default, min, max, \
       what it is */ \
    X(ADDRESSES, listen, "listen", "ADDRESS...", "127.0.0.1:7420", 1, 64, \
      "where to listen: ADDR:PORT, [ADDR6]:PORT or unix:PATH; port 0 is any free one") \
    X(STORE, store, "store", "URL", NULL, 1, 0, \
      "where the locks live; the file holdfast.db in the data directory when not given") \
    X(PATH, data, "data", "FOLDER", NULL, 1, 0, \
      "the data directory; else that of the systemd unit (STATE_DIRECTORY), $XDG_DATA_HOME/holdfast or ~/.local/share/holdfast") \
    X(PATH, config, "config", "FILE", NULL, 1, 0, \
      "the file of settings; else $XDG_CONFIG_HOME/holdfast/holdfast.ini or /etc/holdfast/holdfast.ini, if there") \
    X(PATH, tls_certificate, "tls-certificate", "FILE", NULL, 0, 0, \
      "the server's certificate and those it builds on, PEM; with tls-key every address but Unix sockets speaks TLS") \
    X(PATH, tls_key, "tls-key", "FILE", NULL, 0, 0, \
      "the key of the certificate, PEM") \
    X(SWITCH, allow_plain, "allow-plain", NULL, "no", 0, 0, \
      "listen beyond this machine without TLS: tokens and keys can be read on the way") \
    X(DURATION, hsts_us, "hsts", "DURATION", "0", 0, 36500 * SETTINGS_DAY, \
      "browsers that came by TLS come by TLS alone for so long (Strict-Transport-Security), also to other ports of the host; 0: they are not told") \
    X(ORIGINS, allow_origin, "allow-origin", "ORIGIN...", NULL, 0, 256, \
      "pages of these origins (https://app.example.org) may call the server from a browser") \
    X(HOSTS, host, "host", "NAME...", NULL, 0, 256, \
      "names that clients call the server by, besides localhost and the address they connect to") \
    X(NETWORKS, trust_proxy, "trust-proxy", "ADDRESS...", NULL, 0, 256, \
      "proxies that say truly whom they speak for: addresses, ranges (10.0.0.0/8), or unix for whoever comes by a Unix socket") \
    X(NUMBER, connections_max, "connections-max", "N", "16000", 1, 1000000, \
      "connections at a time; one that has been idle for 5 seconds gives way to a new one, else that is turned away; fewer when the system allows fewer open files") \
    X(NUMBER, connections_address, "connections-address", "N", "8000", 0, 1000000, \
      "connections of one address at a time (IPv6: of a /64), at most half of connections-max; no limit for trusted proxies and Unix sockets; 0: no limit") \
    X(SIZE, body_max, "body-max", "SIZE", "1M", SETTINGS_KIB, 64 * SETTINGS_MIB, \
      "the largest body of a request; without a token or session in its head 256 KiB at most") \
    X(DURATION, head_timeout_us, "head-timeout", "DURATION", "10s", 100 * SETTINGS_MS, 3600 * SETTINGS_S, \
      "how long the head of a request may take to come") \
    X(DURATION, body_timeout_us, "body-timeout", "DURATION", "30s", 100 * SETTINGS_MS, 3600 * SETTINGS_S, \
      "how long its body may take") \
    X(DURATION, idle_timeout_us, "idle-timeout", "DURATION", "75s", 100 * SETTINGS_MS, SETTINGS_DAY, \
      "how long a connection may stay without a request") \
    X(DURATION, write_timeout_us, "write-timeout", "DURATION", "30s", 100 * SETTINGS_MS, 3600 * SETTINGS_S, \
      "how long a client may take nothing of its answer") \
    X(CHOICE, log, "log", "text|json", "text", 0, 0, \
      "lines for people, or JSON") \
    X(CHOICE, log_level, "log-level", "error|warning|info|debug", "info", 0, 0, \
      "the least that is logged; debug has a line for every request") \
    X(NUMBER, rate_token, "rate-token", "N", "0", 0, 10000000, \
      "requests a second of one token; 0: no limit") \
    X(NUMBER, burst_token, "burst-token", "N", "1000", 1, 10000000, \
      "how many of them may come at once") \
    X(NUMBER, rate_session, "rate-session", "N", "1000", 0, 10000000, \
      "requests a second of one session; 0: no limit") \
    X(NUMBER, burst_session, "burst-session", "N", "5000", 1, 10000000, \
      "how many of them may come at once") \
    X(NUMBER, rate_address, "rate-address", "N", "100", 0, 10000000, \
      "requests a second from one address of callers that have shown no token or key that counts, each op of a batch for one; 0: no limit") \
    X(NUMBER, burst_address, "burst-address", "N", "1000", 1, 10000000, \
      "how many of them may come at once") \
    X(NUMBER, requests_token, "requests-token", "N", "4096", 1, 1000000, \
      "requests of one token that wait for their answers at a time") \
    X(NUMBER, streams_token, "streams-token", "N", "16000", 0, 1000000, \
      "event streams of one token and of the sessions it opened at a time; 0: no limit") \
    X(NUMBER, streams_session, "streams-session", "N", "8", 0, 1000000, \
      "event streams of one session at a time; 0: no limit") \
    X(SIZE, names_token, "names-token", "SIZE", "128M", 0, 65536 * SETTINGS_MIB, \
      "names of records, in bytes, that the event streams of one token and of its sessions follow together; all streams four times as much; 0: no limit") \
    X(NUMBER, locks_session, "locks-session", "N", "10000", 0, 10000000, \
      "locks that one session may hold at a time; 0: no limit") \
    X(NUMBER, sessions_token, "sessions-token", "N", "100000", 0, 10000000, \
      "live sessions that one token may have opened; 0: no limit") \
    X(DURATION, keep_events_us, "keep-events", "DURATION", "90d", 0, 36500 * SETTINGS_DAY, \
      "how long events are kept; 0: for ever") \
    X(DURATION, keep_forced_us, "keep-forced", "DURATION", "730d", 0, 36500 * SETTINGS_DAY, \
      "how long forced acts, refused callers and changes of tokens are kept, not shorter than keep-events (when not given: as long at least); 0: for ever") \
    X(DURATION, sweep_interval_us, "sweep-interval", "DURATION", "1m", SETTINGS_S, SETTINGS_DAY, \
      "how often what is dead is removed") \
    X(NUMBER, writers, "writers", "N", "0", 0, 64, \
      "threads that change the store; 0: as many as suit it") \
    X(NUMBER, readers, "readers", "N", "0", 0, 64, \
      "threads that only read; 0: as many as suit the store") \
    X(DURATION, stop_timeout_us, "stop-timeout", "DURATION", "30s", 100 * SETTINGS_MS, 3600 * SETTINGS_S, \
      "how long a stop waits for requests to be answered") \
    X(SWITCH, metrics_public, "metrics-public", NULL, "no", 0, 0, \
      "/metrics needs no token from other machines either") \
    X(SWITCH, any_port, "any-port", NULL, "no", 0, 0, \
      "when a port is taken, take the next free one") \
    X(SWITCH, hints, "hints", NULL, "no", 0, 0, \
      "print a few lines to try when ready") \
    X(SWITCH, print_token, "print-token", NULL, "no", 0, 0, \
      "with hints on a terminal, print the admin token itself")
/* clang-format on */

#endif
