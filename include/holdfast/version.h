/* SPDX-License-Identifier: MIT */
/* Versions: how often a resource was saved, by whom and when. Whoever saves names the version that
 * was read; if another save came in between, the save is refused (HF_STALE) and the answer says who
 * changed it. The members of an aggregate are saved under the name of its root, so that one version
 * guards them all.
 *
 * Version and record are one only if both are saved in one transaction: on an application's own
 * connection (sqlite.h, postgres.h, mysql.h), or by the functions of docs/sql.md. Elsewhere save
 * first, then write the record with the fence beside it and refuse a lower one (docs/patterns.md).
 * */
#ifndef HOLDFAST_VERSION_H
#define HOLDFAST_VERSION_H

#include <holdfast/lock.h>

HF_BEGIN_DECLS

/* What the last save of a resource was. */
typedef struct hf_version {
    hf_resource resource;
    int64_t number;   /* counts the saves, from 1, over deletion too; 0: never saved */
    int64_t fence;    /* of that save */
    int64_t saved_us; /* when */
    bool gone;        /* it marked the resource as deleted */
    /* public id of the session that saved; "": a user without one */
    char session[HF_SESSION_ID_SIZE];
    char user[HF_TEXT_SIZE];
    char name[HF_TEXT_SIZE]; /* display name */
} hf_version;

/* What was read of a resource that is to be saved now. Without `version` and `absent` only the
 * holder of an exclusive lock saves. */
typedef struct hf_save {
    hf_resource resource;
    int64_t version; /* the one that was read; 0: not given */
    bool absent;     /* it was not there: never saved, or gone */
    bool gone;       /* it is deleted */
    int64_t fence;   /* only if that grant is the session's live lock; 0: whichever is */
} hf_save;

/* What was read of a resource that is only relied on: one of both. */
typedef struct hf_premise {
    hf_resource resource;
    int64_t version;
    bool absent;
} hf_premise;

/* Saves that stand or fall together, with what they rely on: up to HF_SET_MAX resources, each named
 * once. Without saves it is a question: is all still as it was read? */
typedef struct hf_set {
    const hf_save *saves;
    size_t saves_count;
    const hf_premise *premises;
    size_t premises_count;
} hf_set;

typedef struct hf_save_options {
    const char *user;   /* who saves, of a save without a session; a session has its own */
    const char *name;   /* display name of that user; the user when NULL */
    const char *reason; /* kept with the event */
    const char *request_id;
} hf_save_options;

HF_END_DECLS

#endif
