/* SPDX-License-Identifier: MIT */
/* Versions: how often a resource was saved, by whom and when. A save names the version that was
 * read. If another save came in between, it is refused (HF_STALE) and the answer says who changed
 * the resource. The members of an aggregate are saved under the name of its root, so that one
 * version protects them all.
 *
 * Version and record change together only if both are saved in one transaction: on an application's
 * own connection (sqlite.h, postgres.h, mysql.h), or by the functions of docs/sql.md. Elsewhere
 * save first, then write the record with the fence beside it, on the condition that the fence there
 * is the one that was read (docs/patterns.md). */
#ifndef HOLDFAST_VERSION_H
#define HOLDFAST_VERSION_H

#include <holdfast/lock.h>

HF_BEGIN_DECLS

/* The last save of a resource. */
typedef struct hf_version {
    hf_resource resource;
    int64_t number;   /* counts the saves from 1, deletions included; 0: never saved */
    int64_t fence;    /* of that save */
    int64_t saved_us; /* when */
    bool gone;        /* it marked the resource as deleted */
    /* public id of the session that saved; "": a user without one */
    char session[HF_SESSION_ID_SIZE];
    char user[HF_TEXT_SIZE];
    char name[HF_TEXT_SIZE]; /* display name */
} hf_version;

/* A resource to save, and what was read of it. Without `version` and `absent` only the holder of an
 * exclusive lock can save. */
typedef struct hf_save {
    hf_resource resource;
    int64_t version; /* the one that was read; 0: not given */
    bool absent;     /* it did not exist when read: never saved, or gone */
    bool gone;       /* this save deletes it */
    int64_t fence;   /* the session's live lock must have this fence; 0: any */
} hf_save;

/* A resource that the saves rely on but do not change: either the version that was read, or
 * absent. */
typedef struct hf_premise {
    hf_resource resource;
    int64_t version;
    bool absent;
} hf_premise;

/* Saves that succeed or fail together, with what they rely on: up to HF_SET_MAX resources, each
 * named once. Without saves it only checks whether everything is still as it was read. */
typedef struct hf_set {
    const hf_save *saves;
    size_t saves_count;
    const hf_premise *premises;
    size_t premises_count;
} hf_set;

typedef struct hf_save_options {
    const char *user;   /* who saves, if there is no session; a session has its own user */
    const char *name;   /* display name of that user; the user when NULL */
    const char *reason; /* kept with the event */
    const char *request_id;
} hf_save_options;

HF_END_DECLS

#endif
