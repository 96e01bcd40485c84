/* SPDX-License-Identifier: MIT */
/* Locks and stored versions: ops of the law, in the transaction of the rows they are about. */
#include "record/inside.h"

/* Runs the connection's batch; the first op that is refused is the answer. */
static hf_status lock_run(rec_conn *conn, hf_error *err)
{
    hf_status status = hf_store_execute(conn->store, conn->batch, err);
    for (size_t i = 0; status == HF_OK && i < hf_batch_count(conn->batch); i++) {
        const hf_op *op = hf_batch_op(conn->batch, i);
        const hf_answer *answer = &op->answer;
        if (answer->status == HF_OK || answer->status == HF_NOT_APPLIED)
            continue;
        status =
            hf_fail(err, answer->status, "%s",
                    answer->message == NULL ? hf_status_sentence(answer->status) : answer->message);
        if (err != NULL && answer->status == HF_LOCKED && answer->locks_count > 0)
            err->holder = answer->locks[0];
    }
    return status;
}

/* The same for ops of the unit's session. To the program a record that is not found is one that is
 * not there; here it is the session. */
static hf_status lock_run_session(rec_conn *conn, hf_error *err)
{
    hf_status status = lock_run(conn, err);
    return status != HF_NOT_FOUND ? status
                                  : hf_fail(err, HF_EXPIRED,
                                            "The session of this unit is not known in its "
                                            "database; open one there.");
}

static hf_status lock_begin(rec_conn *conn, hf_error *err)
{
    hf_status status = rec_conn_store(conn, err);
    if (status == HF_OK)
        hf_batch_clear(conn->batch);
    return status;
}

static hf_op *lock_add_acquire(rec_conn *conn, const hf_unit *unit, const rec_table *table,
                               const char *id, hf_mode mode)
{
    hf_op *op = hf_batch_add(conn->batch, HF_OP_ACQUIRE);
    op->session = hf_session_credentials(unit->session);
    op->type = table->type;
    op->id = id;
    op->mode = mode;
    op->purpose = unit->purpose;
    return op;
}

hf_status rec_lock_acquire(rec_conn *conn, hf_unit *unit, const rec_table *table, const char *id,
                           hf_mode mode, hf_error *err)
{
    if (unit->session == NULL)
        return hf_fail(err, HF_INVALID,
                       "The policy of %s wants a lock here, and this unit has no session to hold "
                       "it; open the unit with one.",
                       table->type);
    hf_status status = lock_begin(conn, err);
    if (status != HF_OK)
        return status;
    if (unit->replaces != NULL && unit->replaces != unit->session)
        hf_batch_add(conn->batch, HF_OP_CLOSE)->session = hf_session_credentials(unit->replaces);
    lock_add_acquire(conn, unit, table, id, mode);
    return lock_run_session(conn, err);
}

hf_status rec_lock_version(rec_conn *conn, const rec_table *table, const char *id, hf_version *out,
                           hf_error *err)
{
    *out = (hf_version){0};
    hf_status status = lock_begin(conn, err);
    if (status != HF_OK)
        return status;
    hf_op *op = hf_batch_add(conn->batch, HF_OP_VERSION);
    op->type = table->type;
    op->id = id;
    status = lock_run(conn, err);
    if (status == HF_NOT_FOUND)
        return HF_OK;
    if (status == HF_OK && op->answer.versions_count > 0)
        *out = op->answer.versions[0];
    if (out->gone)
        out->number = 0;
    return status;
}

const char *rec_version_who(const hf_version *version)
{
    return version->name[0] != '\0' ? version->name : version->user;
}

hf_status rec_version_keep(hf_arena *arena, const hf_version *version, hf_version **out,
                           hf_error *err)
{
    *out = NULL;
    if (version->saved_us == 0)
        return HF_OK;
    *out = hf_arena_alloc(arena, sizeof **out);
    if (*out == NULL)
        return hf_fail_memory(err);
    **out = *version;
    return HF_OK;
}

static hf_status lock_register_one(rec_conn *conn, const hf_table *as, const char *type,
                                   hf_error *err)
{
    hf_status status = lock_begin(conn, err);
    if (status != HF_OK)
        return status;
    hf_op *op = hf_batch_add(conn->batch, HF_OP_TYPE_GET);
    op->type = type;
    status = lock_run(conn, err);
    if (status == HF_OK && op->answer.types_count > 0 && op->answer.types[0].policy != as->policy)
        return hf_fail(err, HF_INVALID,
                       "The type %s is registered as %s, and its table says %s; change one of "
                       "them.",
                       type, hf_policy_name(op->answer.types[0].policy),
                       hf_policy_name(as->policy));
    if (status != HF_NOT_FOUND)
        return status;
    hf_batch_clear(conn->batch);
    op = hf_batch_add(conn->batch, HF_OP_TYPE_SET);
    op->type = type;
    op->policy = as->policy;
    op->actor = "records";
    return lock_run(conn, err);
}

hf_status rec_lock_register(rec_conn *conn, hf_error *err)
{
    hf_tables *tables = conn->tables;
    hf_status status = rec_conn_store(conn, err);
    for (size_t i = 0; status == HF_OK && i < tables->count; i++)
        if (tables->tables[i].as->policy != HF_POLICY_NONE)
            status = lock_register_one(conn, tables->tables[i].as, tables->tables[i].type, err);
    return status;
}

/* ---- saving ---- */

static bool lock_wants(const hf_record *record, rec_guard guard)
{
    return (record->guards >> guard & 1) != 0;
}

/* An added root whose members carry its fence is saved, or locked, before them. */
static bool lock_saves(const hf_record *record, bool added, const hf_record *only)
{
    const rec_table *table = record->table;
    if (table->parent != NULL || record->added != added)
        return false;
    if (added && only != (record->guards != 0 ? record : NULL))
        return false;
    if (lock_wants(record, REC_GUARD_SAVE) || (added && record->guards != 0))
        return true;
    return record->moves && (table->stored || (rec_locks_to_edit(table) && !added));
}

static void lock_fill(const rec_work *work, hf_op *op, const hf_record *record, bool added)
{
    const hf_unit *unit = work->unit;
    op->type = record->table->type;
    op->id = added ? record->coming_id : record->id;
    op->gone = record->removed || record->ends;
    if (unit->session != NULL)
        op->session = hf_session_credentials(unit->session);
    else
        op->user = unit->user;
    if (!record->table->stored && !lock_wants(record, REC_GUARD_SAVE))
        return;
    op->version = !record->table->stored        ? record->saved_before
                  : record->coming_version != 0 ? record->coming_version
                                                : record->version;
    op->absent = op->version == 0;
}

/* A row that was never saved has no version that its removal could name: it is saved first. */
static hf_status lock_save_unsaved(rec_work *work, hf_record *record, int64_t *version,
                                   hf_error *err)
{
    if (*version != 0 || !(record->removed || record->ends))
        return HF_OK;
    hf_status status = lock_begin(work->conn, err);
    if (status != HF_OK)
        return status;
    hf_op *op = hf_batch_add(work->conn->batch, HF_OP_SAVE);
    lock_fill(work, op, record, false);
    op->gone = false;
    status = lock_run_session(work->conn, err);
    if (status == HF_OK && op->answer.versions_count > 0)
        *version = op->answer.versions[0].number;
    return status;
}

/* Before the saves: versions that they name and nobody has read. Where the row has the version, the
 * one in holdfast's tables only makes the save possible that the guard asks for. */
static hf_status lock_prepare(rec_work *work, hf_record *record, bool added, hf_error *err)
{
    hf_version version = {0};
    if (record->table->stored) {
        int64_t known = record->coming_version != 0 ? record->coming_version : record->version;
        hf_status status = added ? HF_OK : lock_save_unsaved(work, record, &known, err);
        if (known != record->version)
            record->coming_version = known;
        return status;
    }
    if (!lock_wants(record, REC_GUARD_SAVE))
        return HF_OK;
    hf_status status = rec_lock_version(
        work->conn, record->table, added ? record->coming_id : record->id, &version, err);
    record->saved_before = version.number;
    return status == HF_OK && !added ? lock_save_unsaved(work, record, &record->saved_before, err)
                                     : status;
}

/* Without a session nobody can hold what the policy or a guard wants. */
static hf_status lock_refuse(const rec_work *work, const hf_record *record, hf_error *err)
{
    char name[HF_RESOURCE_SIZE];
    rec_record_name(record, name);
    if (name[0] == '\0') /* it is to be made */
        hf_slice_copy(name, sizeof name, hf_slice_of(record->table->type));
    if (work->unit->session != NULL)
        return HF_OK;
    if (lock_wants(record, REC_GUARD_LOCK))
        return hf_fail(err, HF_NOT_HELD,
                       "%s is guarded by locks and edited without one; open the unit with a "
                       "session that holds it.",
                       name);
    return !rec_locks_to_edit(record->table)
               ? HF_OK
               : hf_fail(err, HF_NOT_HELD,
                         "%s is edited without a lock, which its policy %s wants; open the unit "
                         "with a session and edit it by hf_unit_edit.",
                         name, hf_policy_name(record->table->as->policy));
}

/* The fences of the locks that guards ask for, which this unit's session must hold by now. */
static hf_status lock_fences(rec_work *work, hf_error *err)
{
    hf_status status = HF_OK;
    for (hf_record *it = work->unit->first; status == HF_OK && it != NULL; it = it->next) {
        if (it->added || !lock_wants(it, REC_GUARD_LOCK))
            continue;
        status = lock_refuse(work, it, err);
        if (status == HF_OK)
            status = lock_begin(work->conn, err);
        if (status != HF_OK)
            return status;
        hf_op *op = hf_batch_add(work->conn->batch, HF_OP_HOLDS);
        op->session = hf_session_credentials(work->unit->session);
        op->type = it->table->type;
        op->id = it->id;
        status = lock_run_session(work->conn, err);
        if (status == HF_OK && op->answer.locks[0].mode != HF_EXCLUSIVE)
            status = hf_fail(err, HF_NOT_HELD,
                             "%s/%s is guarded by exclusive locks, and this session has a shared "
                             "one.",
                             op->type, op->id);
        if (status == HF_OK)
            it->fences[REC_GUARD_LOCK] = op->answer.locks[0].fence;
    }
    return status;
}

/* What a batch of saves has answered; a lock stands before its save. */
static hf_status lock_take_answers(rec_work *work, hf_record **saved, const size_t *saves,
                                   size_t count, hf_error *err)
{
    hf_status status = HF_OK;
    for (size_t i = 0; status == HF_OK && i < count; i++) {
        const hf_answer *answer = &hf_batch_op(work->conn->batch, saves[i])->answer;
        if (saved[i]->added && saves[i] > (i == 0 ? 0 : saves[i - 1] + 1))
            saved[i]->fences[REC_GUARD_LOCK] =
                hf_batch_op(work->conn->batch, saves[i] - 1)->answer.locks[0].fence;
        if (answer->versions_count == 0)
            continue;
        saved[i]->fences[REC_GUARD_SAVE] = answer->versions[0].fence;
        if (!saved[i]->table->stored)
            continue;
        saved[i]->coming_version = answer->versions[0].number;
        status = rec_version_keep(&work->unit->arena, answer->versions, &saved[i]->coming_saved,
                                  err);
    }
    return status;
}

hf_status rec_lock_save(rec_work *work, bool added, const hf_record *only, hf_error *err)
{
    hf_record *saved[HF_SET_MAX];
    size_t saves[HF_SET_MAX], count = 0; /* which op of the batch each is */
    hf_op *last = NULL;
    hf_status status = HF_OK;
    for (hf_record *it = work->unit->first; status == HF_OK && it != NULL; it = it->next)
        if (lock_saves(it, added, only)) {
            status = lock_refuse(work, it, err);
            if (status == HF_OK)
                status = lock_prepare(work, it, added, err);
        }
    for (hf_record *it = work->unit->first; status == HF_OK && it != NULL; it = it->next) {
        if (!lock_saves(it, added, only))
            continue;
        if (count == HF_SET_MAX)
            return hf_fail(err, HF_TOO_LARGE, "A unit saves %d resources at most.", HF_SET_MAX);
        if (count == 0)
            status = lock_begin(work->conn, err);
        if (status != HF_OK)
            return status;
        /* nobody can hold what is not there yet; its maker does from now on */
        if (added && (rec_locks_to_edit(it->table) || lock_wants(it, REC_GUARD_LOCK)))
            lock_add_acquire(work->conn, work->unit, it->table, it->coming_id, HF_EXCLUSIVE)
                ->linked = true;
        saves[count] = hf_batch_count(work->conn->batch);
        last = hf_batch_add(work->conn->batch, HF_OP_SAVE);
        lock_fill(work, last, it, added);
        last->linked = true;
        saved[count++] = it;
    }
    if (status == HF_OK && count > 0) {
        last->linked = false;
        status = lock_run_session(work->conn, err);
    }
    if (status == HF_OK)
        status = lock_take_answers(work, saved, saves, count, err);
    return status == HF_OK && !added ? lock_fences(work, err) : status;
}
