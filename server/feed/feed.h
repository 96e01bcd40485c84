/* SPDX-License-Identifier: MIT */
/* The feed: the events of the store, sent to the followers of this server as server-sent events.
 * All of them, in order, none twice, whichever server or program they came from.
 *
 *   L1  One thread reads the event table, while there are followers. What it reads is kept in a
 *       ring of the newest events, each written as text once; followers are served from there.
 *   L2  Followers behind the ring are served from the table, page by page. One page at a time is
 *       read for all of them, and those at the same place share it. Then they continue with the
 *       ring, without a gap or a duplicate.
 *   L3  A follower that does not read, so long that the ring has passed it, is told to resync and
 *       ended. Nobody else waits for it, and at most FEED_WAITING_MAX and one record are buffered.
 *   L4  The loop is never busy here for more than a few milliseconds at a time.
 *   L5  While the store is away, followers get beats only; when it is back, all that happened
 *       meanwhile.
 *   L6  A session's follower ends with the event that the session has ended, the last it gets.
 *
 * What a follower is sent:
 *
 *   id: 7                        an event, see hf_event_json
 *   event: acquired
 *   data: {"seq":7, ...}
 *
 *   : beat                       nothing happened. Sent first of all, and after beat_us of silence.
 *   id: 9                        All events up to here were looked at: those that the filter
 *                                excludes leave no other trace. May be missing
 *
 *   id: 12                       events are missing: some are no longer kept (those from `first` on
 *   event: resync                are), the numbers started again, or the follower was too slow
 *   data: {"newest":12,          and the stream ends now. The follower must read the locks again.
 *          "first":5,"last":3}   This stream, or the next one with this id, continues after
 *                                `newest`. To get each event that is left, ask with Last-Event-ID:
 *                                the larger of last and first - 1
 *
 * Everything here is called on the loop's thread, and so are the functions of a sink;
 * feed_nudge may be called from any thread. */
#ifndef HF_SERVER_FEED_FEED_H
#define HF_SERVER_FEED_FEED_H

#include <holdfast/store.h>

struct event_base;

typedef struct feed feed;
typedef struct feed_follower feed_follower;

enum {
    /* bytes a follower has not taken yet, beyond which it is given nothing */
    FEED_WAITING_MAX = 64 * 1024,
    FEED_KEEP = 4096,           /* events in the ring */
    FEED_KEEP_BYTES = 16 << 20, /* ... and what they may take up at most */
    FEED_POLL_US = 500000,
    FEED_BEAT_US = 15000000,
    FEED_START_US = 5000000,
};

/* What a follower wants and may see. NULL: all. HF_EVENT_RESTORED passes every filter. */
typedef struct feed_filter {
    const char *type;
    const hf_resource *resources; /* these records alone; count 0: all */
    size_t resources_count;
    const char *user; /* whose lock or session it is */
    /* A session's id: what happens to it is wanted besides all that, and when it has ended, so
     * does the follower. */
    const char *session;
    bool newest_only; /* events older than the ring are not sent: the follower must resync */
    bool (*may_see)(void *context, const hf_event *event);
    void *context; /* borrowed until the follower is gone */
} feed_filter;

/* Where a follower's records go. In these, feed_leave of this very follower is allowed, and nothing
 * else of the feed. */
typedef struct feed_sink {
    /* Takes whole records, ready to be sent. The first one comes when it is known where the
     * follower begins: who answers the HTTP request only then can promise that nothing after the
     * answer's head is missed. */
    void (*write)(void *context, const char *bytes, size_t size);
    size_t (*waiting)(void *context); /* bytes that have been written and not been taken yet */
    void (*end)(void *context);       /* no more will come; the follower is gone */
    void *context;
} feed_sink;

typedef struct feed_settings {
    struct event_base *base;
    hf_store *store; /* borrowed until feed_free */
    /* how often the table is looked at when nothing is heard of; more often while something
     * happens. 0: FEED_POLL_US */
    int64_t poll_us;
    int64_t beat_us; /* 0: FEED_BEAT_US */
    /* a follower of what comes from now on is ended when it could not begin for so long. 0:
     * FEED_START_US */
    int64_t start_us;
    size_t keep;    /* events in the ring; 0: FEED_KEEP */
    bool poll_only; /* does without the store's own way to tell */
} feed_settings;

hf_status feed_new(const feed_settings *settings, feed **out, hf_error *err);

/* after: the last event the follower has seen; -1: only what comes from now on. What the filter
 * points to is copied. */
hf_status feed_follow(feed *f, const feed_filter *filter, int64_t after, const feed_sink *sink,
                      feed_follower **out, hf_error *err);

/* What was written has been taken, or most of it. To be called whenever that has come about. */
void feed_drained(feed_follower *follower);

/* The follower goes away. Not after `end`. */
void feed_leave(feed_follower *follower);

/* This server has just committed something: look now, and tell the other servers. Costs next to
 * nothing; any thread. */
void feed_nudge(feed *f);

typedef struct feed_stats {
    size_t followers;
    size_t replaying;  /* of them: who reads the table */
    int64_t newest;    /* the newest event in the ring; -1: not known, nobody has followed yet */
    int64_t delivered; /* up to here all who keep up have been given everything */
    /* how old the oldest of the events that were read last was by then, on the store's clock */
    int64_t lag_us;
    int64_t silent_us; /* since the table was last read; 0 while nobody follows */
    uint64_t events;   /* read by the reader, since the start; and so on: */
    uint64_t reads;    /* of the table by the reader ... */
    uint64_t replays;  /* ... and pages read for those behind */
    uint64_t failures; /* reads that failed */
    uint64_t resyncs;  /* told */
    uint64_t overruns; /* of them: who took nothing any more */
    bool watching;     /* the store tells of what other servers change */
} feed_stats;

void feed_stats_read(feed *f, feed_stats *out);

/* Ends all followers and refuses new ones; may be called again. */
void feed_stop(feed *f);

/* The same, and ends the threads; a read that is under way is waited for. Accepts NULL. */
void feed_free(feed *f);

#endif
