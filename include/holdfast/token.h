/* SPDX-License-Identifier: MIT */
/* Who may call a server. A token is a secret that is shown once, with a name, the roles it gives
 * and the users it may act for. The store keeps a hash of the secret, so nobody can read it
 * back. */
#ifndef HOLDFAST_TOKEN_H
#define HOLDFAST_TOKEN_H

#include <holdfast/status.h>

HF_BEGIN_DECLS

/* A token as an administrator may see it: no secret, no hash. */
typedef struct hf_token {
    char id[HF_TOKEN_ID_SIZE];
    char name[HF_TOKEN_NAME_SIZE]; /* what it is for */
    char roles[HF_ROLES_SIZE];     /* as hf_roles_format writes them */
    char users[HF_TEXT_SIZE];      /* pattern of the users it may name; "" is any */
    int64_t created_us;
    int64_t expires_us; /* 0: never */
    int64_t revoked_us; /* 0: it was not */
} hf_token;

/* Whether it is valid at that time of the store's clock: neither revoked nor expired. */
HF_API bool hf_token_lives(const hf_token *token, int64_t now_us);

/* A token's public id, its secret and the secret's hash. Clear it with hf_token_clear. */
typedef struct hf_token_key {
    char id[HF_TOKEN_ID_SIZE];
    char secret[HF_TOKEN_SECRET_SIZE];
    unsigned char sha256[32];
} hf_token_key;

/* Draws a new id and a secret of 256 bits from the system's randomness. */
HF_API HF_MUST_USE hf_status hf_token_new(hf_token_key *out, hf_error *err);

/* Reads a secret that a caller presents: 64 hex digits in lower case. The id stays empty. No
 * message repeats the secret. */
HF_API HF_MUST_USE hf_status hf_token_read(const char *secret, hf_token_key *out, hf_error *err);

HF_API void hf_token_clear(hf_token_key *key);

/* What a caller may do. No role includes another. */
typedef enum hf_role {
    HF_ROLE_USE,     /* open sessions and work with locks */
    HF_ROLE_OBSERVE, /* see locks, sessions and events */
    HF_ROLE_MANAGE,  /* end locks that are someone else's */
    HF_ROLE_ADMIN,   /* set types; make and revoke tokens */
    HF_ROLE_COUNT
} hf_role;

/* A role for one type, or for all. */
typedef struct hf_grant {
    hf_role role;
    char type[HF_TYPE_SIZE]; /* "": all types */
} hf_grant;

/* The grants of a token, in order of role and type, without duplicates and without those that
 * another grant covers. */
typedef struct hf_roles {
    hf_grant grants[HF_GRANTS_MAX];
    size_t count;
} hf_roles;

/* Reads grants with spaces between them: "ROLE" and "ROLE:*" are for all types, "ROLE:TYPE" is for
 * one; a role is use, observe, manage or admin. "use manage:policy". HF_INVALID says what is wrong.
 * */
HF_API HF_MUST_USE hf_status hf_roles_parse(const char *text, hf_roles *out, hf_error *err);

/* Writes roles in their one canonical form. out holds HF_ROLES_SIZE bytes. */
HF_API void hf_roles_format(const hf_roles *roles, char *out);

/* Whether the role is given for that type; type NULL or "": for all of them. */
HF_API bool hf_roles_allow(const hf_roles *roles, hf_role role, const char *type);

/* "use", "observe", "manage", "admin". */
HF_API const char *hf_role_name(hf_role role);

/* Whether a user matches a pattern, in which each * stands for any text, including none. An empty
 * pattern matches every user. Bytes are compared. */
HF_API bool hf_users_match(const char *pattern, const char *user);

HF_END_DECLS

#endif
