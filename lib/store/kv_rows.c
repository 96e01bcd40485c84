/* SPDX-License-Identifier: MIT */
/* The compare-and-set store: rows as text, keys, and the members of sets that a row has. The form
 * of all of them stands at the head of kv.h. */
#include "store/kv.h"

#include <stdlib.h>
#include <string.h>

/* ---- names ---- */

hf_slice kv_join(kv_work *work, hf_arena *arena, const char *between, const hf_slice *parts,
                 size_t count)
{
    size_t size = 0, gap = between[0] != '\0';
    for (size_t i = 0; i < count; i++)
        size += parts[i].size + gap;
    char *out = kv_alloc(work, arena, size + 1), *at = out;
    for (size_t i = 0; out != NULL && i < count; i++) {
        if (parts[i].size > 0)
            at = mempcpy(at, parts[i].at, parts[i].size);
        *at = between[0];
        at += gap;
    }
    return out == NULL ? HF_NOTHING : (hf_slice){out, size - gap};
}

hf_slice kv_resource_key(kv_work *work, const hf_resource_row *row)
{
    return KV_JOIN(work, &work->rows->arena, "", {"r:", 2}, row->type, {"/", 1}, row->id);
}

hf_slice kv_digits(char out[KV_TIME_SIZE + 1], int64_t time_us)
{
    uint64_t left = time_us < 0 ? 0 : (uint64_t)time_us;
    out[KV_TIME_SIZE] = '\0';
    for (size_t i = KV_TIME_SIZE; i-- > 0; left /= 10)
        out[i] = (char)('0' + left % 10);
    return (hf_slice){out, KV_TIME_SIZE};
}

hf_slice kv_until(kv_work *work, int64_t time_us)
{
    char digits[KV_TIME_SIZE + 1];
    return KV_KEY(work, kv_digits(digits, time_us).at, ((hf_slice){"\2", 1}));
}

hf_slice kv_cut(hf_slice *left, char byte)
{
    const char *end = left->size == 0 ? NULL : memchr(left->at, byte, left->size);
    hf_slice out = *left;
    if (end == NULL) {
        *left = HF_NOTHING;
        return out;
    }
    out.size = (size_t)(end - out.at);
    *left = (hf_slice){end + 1, left->size - out.size - 1};
    return out;
}

/* ---- fields ---- */

/* What would end a field or a line is written as a backslash and a letter. */
static const char field_bytes[] = "\t\n\\", field_letters[] = "tn\\";

static void field_write(hf_buffer *out, hf_slice text)
{
    static const bool special[256] = {['\t'] = true, ['\n'] = true, ['\\'] = true};
    size_t from = 0;
    for (size_t i = 0; i < text.size; i++) {
        if (!special[(unsigned char)text.at[i]])
            continue;
        const char *byte = memchr(field_bytes, text.at[i], sizeof field_bytes - 1);
        char code[] = {'\\', field_letters[byte - field_bytes]};
        hf_buffer_add(out, text.at + from, i - from);
        hf_buffer_add(out, code, sizeof code);
        from = i + 1;
    }
    hf_buffer_add(out, text.at + from, text.size - from);
}

/* False: a code in it is none of ours; or out of memory. */
static bool field_read(hf_rows *rows, hf_slice *text)
{
    if (text->size == 0 || memchr(text->at, '\\', text->size) == NULL)
        return true;
    char *out = hf_arena_alloc(&rows->arena, text->size);
    size_t size = 0;
    rows->failed |= out == NULL;
    for (size_t i = 0; out != NULL && i < text->size; i++) {
        const char *letter = NULL;
        out[size++] = text->at[i];
        if (text->at[i] != '\\')
            continue;
        if (++i < text->size)
            letter = memchr(field_letters, text->at[i], sizeof field_letters - 1);
        if (letter == NULL)
            return false;
        out[size - 1] = field_bytes[letter - field_letters];
    }
    *text = (hf_slice){out, size};
    return out != NULL;
}

bool kv_number(hf_slice text, int64_t *out)
{
    bool minus = text.size > 0 && text.at[0] == '-', good = !(minus && text.size == 1);
    int64_t number = 0;
    for (size_t i = minus; i < text.size && good; i++) {
        int digit = text.at[i] - '0';
        good = digit >= 0 && digit <= 9 && !__builtin_mul_overflow(number, 10, &number) &&
               !__builtin_add_overflow(number, digit, &number);
    }
    *out = good ? (minus ? -number : number) : 0;
    return good;
}

/* Empty fields at the end are left out. */
void kv_write(hf_buffer *out, const hf_row_fields *of, unsigned mask, const void *row)
{
    size_t before = 0;
    for (const hf_row_field *field = of->fields; field < of->fields + of->count; field++) {
        if (hf_row_field_is_out(field, mask))
            continue;
        bool is_text = hf_row_field_is_text(field);
        hf_slice text = is_text ? hf_row_field_text(field, row) : HF_NOTHING;
        int64_t number = is_text ? 0 : hf_row_field_number(field, row);
        if (text.size > 0 || number != 0) {
            char *tabs = before == 0 ? NULL : hf_buffer_extend(out, before);
            if (tabs != NULL)
                memset(tabs, '\t', before);
            before = 0;
        }
        bool any =
            field->kind == HF_ROW_TEXT || field->kind == HF_ROW_CHARS || field->kind == HF_ROW_HASH;
        if (text.size > 0 && any)
            field_write(out, text);
        else if (text.size > 0) /* a name or an id, in which nothing is special */
            hf_buffer_add(out, text.at, text.size);
        else if (number != 0)
            hf_buffer_number(out, number);
        before++;
    }
}

/* False: it is none of ours; or out of memory, which sticks in the set. */
bool kv_read(hf_rows *rows, hf_slice line, const hf_row_fields *of, unsigned mask, void *row)
{
    bool good = true;
    for (const hf_row_field *field = of->fields; good && field < of->fields + of->count; field++) {
        int64_t number;
        if (hf_row_field_is_out(field, mask))
            continue;
        hf_slice text = kv_cut(&line, '\t');
        if (text.size == 0 && (field->kind == HF_ROW_TEXT || !hf_row_field_is_text(field)))
            continue; /* as it is in a new row */
        if (hf_row_field_is_text(field)) {
            good = field_read(rows, &text) && hf_row_field_set_text(field, row, text);
        } else {
            good = kv_number(text, &number);
            hf_row_field_set_number(field, row, number);
        }
    }
    return good && line.size == 0;
}

/* ---- rows of several lines ---- */

enum {
    KV_IN_LINE = HF_EVERY & ~HF_NAMED,                /* of a lock or a request of a resource */
    KV_BEHIND = HF_REST | HF_VERSIONED | HF_WITH_ENDS /* of a session: what its first line lacks */
};

/* "L", a tab, and the fields of a lock; "Q" of a request. Both begin with the session. */
static bool resource_read_line(hf_rows *rows, hf_resource_row *row, char kind, hf_slice fields)
{
    bool named = fields.size >= HF_SESSION_ID_MAX && hf_is_hex(fields.at, HF_SESSION_ID_MAX) &&
                 (fields.size == HF_SESSION_ID_MAX || fields.at[HF_SESSION_ID_MAX] == '\t');
    hf_session_row *session = named ? hf_rows_session(rows, fields.at) : NULL;
    if (session == NULL)
        return false;
    if (kind == 'L') {
        hf_lock_row *lock = hf_rows_lock(rows, row, session);
        if (lock != NULL)
            lock->stored = lock->present = true;
        return lock != NULL && kv_read(rows, fields, &hf_lock_fields, KV_IN_LINE, lock);
    }
    hf_request_row *request = kind == 'Q' ? hf_rows_request(rows, row, session) : NULL;
    if (request != NULL)
        request->stored = request->present = true;
    return request != NULL && kv_read(rows, fields, &hf_request_fields, KV_IN_LINE, request);
}

bool kv_read_resource(hf_rows *rows, hf_resource_row *row, hf_slice value)
{
    bool good = value.size > 0 &&
                kv_read(rows, kv_cut(&value, '\n'), &hf_resource_fields, HF_MOVES, row) &&
                (row->rev != 0 || row->fence != 0);
    row->stored = row->present = true;
    while (good && value.size > 0) {
        hf_slice line = kv_cut(&value, '\n');
        if (line.size < 2 || line.at[1] != '\t')
            return false;
        hf_slice fields = {line.at + 2, line.size - 2};
        good = line.at[0] == 'V' ? kv_read(rows, fields, &hf_resource_fields, HF_VERSIONED, row)
                                 : resource_read_line(rows, row, line.at[0], fields);
    }
    return good;
}

static void resource_write_line(hf_buffer *out, const char *begin, const hf_row_fields *of,
                                unsigned mask, const void *row)
{
    hf_buffer_text(out, begin);
    kv_write(out, of, mask, row);
    hf_buffer_add(out, "\n", 1);
}

void kv_write_resource(hf_buffer *out, const hf_resource_row *row)
{
    resource_write_line(out, "", &hf_resource_fields, HF_MOVES, row);
    if (row->version != 0)
        resource_write_line(out, "V\t", &hf_resource_fields, HF_VERSIONED, row);
    for (const hf_lock_row *it = row->locks; it != NULL; it = it->next)
        if (it->present)
            resource_write_line(out, "L\t", &hf_lock_fields, KV_IN_LINE, it);
    for (const hf_request_row *it = row->requests; it != NULL; it = it->next)
        if (it->present)
            resource_write_line(out, "Q\t", &hf_request_fields, KV_IN_LINE, it);
}

bool kv_read_session(hf_rows *rows, hf_session_row *row, hf_slice value)
{
    row->stored = row->present = true;
    return value.size > 0 &&
           kv_read(rows, kv_cut(&value, '\n'), &hf_session_fields, HF_MOVES, row) &&
           kv_read(rows, kv_cut(&value, '\n'), &hf_session_fields, KV_BEHIND, row) &&
           value.size == 0;
}

void kv_write_session(hf_buffer *out, const hf_session_row *row)
{
    kv_write(out, &hf_session_fields, HF_MOVES, row);
    hf_buffer_add(out, "\n", 1);
    kv_write(out, &hf_session_fields, KV_BEHIND, row);
}

/* ---- members of sets ---- */

void kv_add_change(kv_work *work, kv_changes *to, hf_slice set, hf_slice member, bool enters)
{
    to->all = kv_grow(work, &work->rows->arena, to->all, to->count, sizeof *to->all);
    if (to->all != NULL)
        to->all[to->count++] = (kv_change){set, member, enters};
}

static void entry_add(kv_work *work, kv_changes *to, const char *name, hf_slice of, hf_slice member)
{
    kv_add_change(work, to, of.size == 0 ? hf_slice_of(name) : KV_KEY(work, name, of), member,
                  false);
}

/* The set of what a session holds: its name is made once. */
static hf_slice holds_set(kv_work *work, hf_session_row *row)
{
    hf_slice *set = row->fresh_text;
    if (set == NULL && (set = kv_alloc(work, &work->rows->arena, sizeof *set)) != NULL)
        *set = KV_KEY(work, "h:", kv_id(row));
    row->fresh_text = set;
    return set == NULL ? HF_NOTHING : *set;
}

void kv_resource_entries(kv_work *work, const hf_resource_row *row, kv_changes *out)
{
    bool asked = false, kept = row->version != 0 || row->ended_request.size > 0;
    hf_slice endless = {"~", 1}, name = HF_NOTHING;
    char digits[KV_TIME_SIZE + 1];
    if (kept || row->requests != NULL)
        name = KV_MEMBER(work, row->type, row->id);
    for (const hf_request_row *it = row->requests; it != NULL; it = it->next)
        if (it->present) {
            asked = true;
            entry_add(work, out, "q:", kv_id(it->session), name);
        }
    for (const hf_lock_row *it = row->locks; it != NULL; it = it->next) {
        hf_slice id = kv_id(it->session);
        if (!it->present)
            continue;
        entry_add(work, out, "locks", HF_NOTHING, KV_MEMBER(work, row->type, row->id, id));
        hf_slice bound = it->ends_us == 0 ? endless : kv_digits(digits, it->ends_us);
        kv_add_change(work, out, holds_set(work, it->session),
                      KV_MEMBER(work, bound, row->type, row->id), false);
        if (it->ends_us != 0)
            entry_add(work, out, "bounds", HF_NOTHING,
                      KV_MEMBER(work, bound, row->type, row->id, id));
        if (asked)
            entry_add(work, out, "a:", id, name);
    }
    if (kept)
        entry_add(work, out, "kept", HF_NOTHING, name);
}

void kv_session_entries(kv_work *work, const hf_session_row *row, kv_changes *out)
{
    char digits[KV_TIME_SIZE + 1];
    bool ended = row->ended_us != 0;
    hf_slice id = kv_id(row),
             timed =
                 KV_MEMBER(work, kv_digits(digits, ended ? row->ended_us : row->expires_us), id);
    entry_add(work, out, ended ? "ended" : "expiry", HF_NOTHING, timed);
    if (ended)
        return;
    entry_add(work, out, "sessions", HF_NOTHING, id);
    entry_add(work, out, "u:", row->user, id);
    if (row->caller.size > 0)
        entry_add(work, out, "c:", row->caller, timed);
}
