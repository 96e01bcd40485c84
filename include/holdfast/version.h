/* SPDX-License-Identifier: MIT */
/* Versions: how often a resource was saved, by whom and when. Whoever saves names the version that was read; if another save came
 * in between, the save is refused (HF_STALE) and the answer says who changed it. The members of an aggregate are saved under the
 * name of its root, so that one version guards them all.
 *
 * Version and record are one only if both are saved in one transaction: on an application's own connection (sqlite.h, postgres.h,
 * mysql.h), or by the functions of docs/sql.md. Elsewhere save first, then write the record with the fence beside it and refuse a
 * lower one (docs/patterns.md). */
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
    char session[HF_SESSION_ID_SIZE]; /* public id of the session that saved; "": a user without one */
    char user[HF_TEXT_SIZE];
    char name[HF_TEXT_SIZE]; /* display name */
} hf_version;

HF_END_DECLS

#endif
