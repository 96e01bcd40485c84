/* SPDX-License-Identifier: MIT */
/* A session's id and key: drawing, reading and clearing them. No sentence repeats a key. */
#include "base/digest.h"
#include "base/error.h"
#include "base/seams.h"
#include "base/time.h"
#include "lock/names.h"
#include "manager/manager.h"

#include <holdfast/holdfast.h>
#include <string.h>

const char *hf_library_version(void)
{
    return HF_VERSION;
}

void hf_time_format(int64_t time_us, char *out)
{
    hf_time_write(time_us, out);
}

static hf_status credentials_set(hf_credentials *out, hf_slice id, hf_slice key, hf_error *err)
{
    const char *flaw = hf_session_id_flaw(id);
    if (flaw != NULL)
        return hf_fail(err, HF_INVALID, "The session's id %s.", flaw);
    flaw = hf_key_flaw(key);
    if (flaw != NULL)
        return hf_fail(err, HF_INVALID, "The session's key %s.", flaw);
    hf_credentials made = {0};
    hf_slice_copy(made.id, sizeof made.id, id);
    hf_slice_copy(made.key, sizeof made.key, key);
    if (!hf_sha256(key.at, key.size, made.key_sha256))
        return hf_fail_memory(err);
    *out = made;
    hf_secret_wipe(&made, sizeof made);
    return HF_OK;
}

hf_status hf_credentials_set(hf_credentials *out, const char *id, const char *key, hf_error *err)
{
    return credentials_set(out, hf_slice_of(id), hf_slice_of(key), err);
}

hf_status hf_credentials_parse(const char *text, hf_credentials *out, hf_error *err)
{
    const char *dot = text == NULL ? NULL : strchr(text, '.');
    if (dot == NULL)
        return hf_fail(
            err, HF_INVALID,
            "A session is presented as ID.KEY, the way it was printed when it was opened.");
    return credentials_set(out, (hf_slice){text, (size_t)(dot - text)}, hf_slice_of(dot + 1), err);
}

hf_status hf_credentials_new(const char *key, hf_credentials *out, hf_error *err)
{
    unsigned char random[16];
    char id[HF_SESSION_ID_SIZE], drawn[HF_KEY_MIN + 1];
    if (!hf_seam.random(random, sizeof random))
        return hf_fail(err, HF_UNAVAILABLE, "The system gives no random bytes.");
    hf_hex(random, sizeof random, id);
    if (key == NULL && !hf_seam.random(random, sizeof random))
        return hf_fail(err, HF_UNAVAILABLE, "The system gives no random bytes.");
    hf_hex(random, sizeof random, drawn);
    hf_status status =
        credentials_set(out, hf_slice_of(id), hf_slice_of(key == NULL ? drawn : key), err);
    hf_secret_wipe(drawn, sizeof drawn);
    hf_secret_wipe(random, sizeof random);
    return status;
}

bool hf_draw_request(char *out)
{
    unsigned char random[8];
    if (!hf_seam.random(random, sizeof random))
        return false;
    hf_hex(random, sizeof random, out);
    return true;
}

void hf_credentials_clear(hf_credentials *credentials)
{
    hf_secret_wipe(credentials, sizeof *credentials);
}
