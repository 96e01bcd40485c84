/* SPDX-License-Identifier: MIT */
/* holdfast: keeps people's work from being lost when an edit takes longer than a transaction. All
 * of the API. Reading order: lock.h, status.h, names.h, type.h, event.h, version.h, token.h,
 * manager.h, session.h; lease.h; batch.h, store.h and watch.h below them. */
#ifndef HOLDFAST_HOLDFAST_H
#define HOLDFAST_HOLDFAST_H

#include <holdfast/api.h>
#include <holdfast/batch.h>
#include <holdfast/event.h>
#include <holdfast/json.h>
#include <holdfast/lease.h>
#include <holdfast/limits.h>
#include <holdfast/lock.h>
#include <holdfast/manager.h>
#include <holdfast/mysql.h>
#include <holdfast/names.h>
#include <holdfast/postgres.h>
#include <holdfast/record.h>
#include <holdfast/session.h>
#include <holdfast/sqlite.h>
#include <holdfast/status.h>
#include <holdfast/store.h>
#include <holdfast/token.h>
#include <holdfast/type.h>
#include <holdfast/version.h>
#include <holdfast/watch.h>

HF_BEGIN_DECLS

/* The version of the library that the program runs with: "0.1.0". HF_VERSION is the version of the
 * headers that it was compiled with. The two may differ when only the library was updated; versions
 * with the same soversion work together. The string is static. */
HF_API const char *hf_library_version(void);

HF_END_DECLS

#endif
