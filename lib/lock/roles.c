/* SPDX-License-Identifier: MIT */
/* What a token gives: reading and writing its roles, and the pattern of the users it may name. */
#include "lock/names.h"

#include "base/error.h"

#include <stdio.h>
#include <stdlib.h>

static const char *const role_names[HF_ROLE_COUNT] = {
    [HF_ROLE_USE] = "use",
    [HF_ROLE_OBSERVE] = "observe",
    [HF_ROLE_MANAGE] = "manage",
    [HF_ROLE_ADMIN] = "admin",
};

_Static_assert(HF_ROLES_MAX >= HF_GRANTS_MAX * (sizeof "observe:" + HF_TYPE_MAX) - 1,
               "the longest list of roles fits");

const char *hf_role_name(hf_role role)
{
    return (unsigned)role < HF_ROLE_COUNT ? role_names[role] : "unknown";
}

/* ---- reading ---- */

static const char *read_grant(hf_slice text, hf_grant *out)
{
    const char *colon = memchr(text.at, ':', text.size);
    hf_slice name = {text.at, colon == NULL ? text.size : (size_t)(colon - text.at)};
    *out = (hf_grant){.role = HF_ROLE_COUNT};
    for (int i = 0; i < HF_ROLE_COUNT; i++)
        if (hf_slice_equal(name, hf_slice_of(role_names[i])))
            out->role = (hf_role)i;
    if (out->role == HF_ROLE_COUNT)
        return "may only name use, observe, manage and admin, each alone or as ROLE:TYPE";
    if (colon == NULL)
        return NULL;
    hf_slice type = {colon + 1, text.size - name.size - 1};
    if (hf_slice_equal(type, hf_slice_of("*")))
        return NULL;
    if (hf_type_flaw(type) != NULL)
        return "have a type that is none: after the colon comes a type (a-z, 0-9, _, . and -, a "
               "letter "
               "first, at most 64), or *";
    hf_slice_copy(out->type, sizeof out->type, type);
    return NULL;
}

static bool roles_covers(const hf_grant *a, const hf_grant *b)
{
    return a->role == b->role && (a->type[0] == '\0' || strcmp(a->type, b->type) == 0);
}

/* Adds a grant and takes out those it covers. False: there is no room. */
static bool add_grant(hf_roles *roles, const hf_grant *grant)
{
    size_t kept = 0;
    for (size_t i = 0; i < roles->count; i++)
        if (roles_covers(&roles->grants[i], grant))
            return true;
    for (size_t i = 0; i < roles->count; i++)
        if (!roles_covers(grant, &roles->grants[i]))
            roles->grants[kept++] = roles->grants[i];
    roles->count = kept;
    if (kept == HF_GRANTS_MAX)
        return false;
    roles->grants[roles->count++] = *grant;
    return true;
}

static int by_role(const void *a, const void *b)
{
    const hf_grant *x = a, *y = b;
    return x->role != y->role ? (x->role < y->role ? -1 : 1) : strcmp(x->type, y->type);
}

const char *hf_roles_read(const char *text, hf_roles *out)
{
    hf_roles roles = {.count = 0};
    for (const char *at = text == NULL ? "" : text; *at != '\0';) {
        hf_slice word = {at, strcspn(at, " ")};
        at += word.size + (at[word.size] == ' ');
        if (word.size == 0)
            continue;
        hf_grant grant;
        const char *flaw = read_grant(word, &grant);
        if (flaw != NULL)
            return flaw;
        if (!add_grant(&roles, &grant))
            return "are more than 16";
    }
    if (roles.count == 0)
        return "are missing: name at least one of use, observe, manage, admin";
    qsort(roles.grants, roles.count, sizeof roles.grants[0], by_role);
    memset(&roles.grants[roles.count], 0, (HF_GRANTS_MAX - roles.count) * sizeof roles.grants[0]);
    *out = roles;
    return NULL;
}

hf_status hf_roles_parse(const char *text, hf_roles *out, hf_error *err)
{
    const char *flaw = hf_roles_read(text, out);
    return flaw == NULL ? HF_OK : hf_fail(err, HF_INVALID, "The roles %s.", flaw);
}

void hf_roles_format(const hf_roles *roles, char *out)
{
    size_t used = 0;
    memset(out, 0, HF_ROLES_SIZE);
    for (size_t i = 0; i < roles->count && i < HF_GRANTS_MAX; i++) {
        const hf_grant *grant = &roles->grants[i];
        used += (size_t)snprintf(out + used, HF_ROLES_SIZE - used, "%s%s%s%s", i == 0 ? "" : " ",
                                 hf_role_name(grant->role), grant->type[0] == '\0' ? "" : ":",
                                 grant->type);
    }
}

/* ---- asking ---- */

bool hf_roles_allow(const hf_roles *roles, hf_role role, const char *type)
{
    for (size_t i = 0; i < roles->count; i++)
        if (roles->grants[i].role == role &&
            (roles->grants[i].type[0] == '\0' ||
             (type != NULL && strcmp(roles->grants[i].type, type) == 0)))
            return true;
    return false;
}

/* Each * first takes nothing, and one byte more whenever what follows doesn't fit; only the last
 * one is gone back to, so the work is bounded by the product of the lengths. */
bool hf_users_match(const char *pattern, const char *user)
{
    const char *star = NULL, *taken = NULL;
    if (pattern == NULL || pattern[0] == '\0')
        return true;
    while (*user != '\0') {
        if (*pattern == '*') {
            star = ++pattern;
            taken = user;
        } else if (*pattern == *user) {
            pattern++;
            user++;
        } else if (star != NULL) {
            pattern = star;
            user = ++taken;
        } else {
            return false;
        }
    }
    while (*pattern == '*')
        pattern++;
    return *pattern == '\0';
}

bool hf_token_lives(const hf_token *token, int64_t now_us)
{
    return token->revoked_us == 0 && (token->expires_us == 0 || token->expires_us > now_us);
}
