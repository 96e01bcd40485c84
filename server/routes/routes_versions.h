/* SPDX-License-Identifier: MIT */
/* The routes of versions: rows of the table in routes.c, which includes them in their place. */
/* clang-format off */
    {
        .name = "version-get",
        .method = HTTP_GET,
        .path = "/v1/versions/{type}/{id}",
        .access = ROUTE_EITHER,
        .role = "use or observe",
        .headers = INPUT(LOGIN) | INPUT(IF_MATCH) | INPUT(IF_NONE_MATCH),
        .refuses = OF_SESSION | ROUTE_STALE,
        .summary = "How often a record was saved, by whom and when.",
        .about = "The version is in the ETag too, as \"7\", and the fence of that save in "
                 "Holdfast-Fence. 404: it was never saved; 410: it was deleted, and `present` says "
                 "by whom and when; 412: it is not at the version in If-Match. Read the version "
                 "before the record.",
        .replies = {{200, "Version", "What the last save was."},
                    {304, NULL, "It is still at the version in If-None-Match."}},
        .parse = version_parse,
        .reply = version_reply,
    },
    {
        .name = "version-save",
        .method = HTTP_PUT,
        .path = "/v1/versions/{type}/{id}",
        .access = ROUTE_EITHER,
        .role = "use",
        .takes = INPUT(USER) | INPUT(NAME) | INPUT(REASON),
        .headers = CHANGE_OF | INPUT(IF_MATCH) | INPUT(IF_NONE_MATCH),
        .refuses = OF_SESSION | ROUTE_NOT_HELD | ROUTE_STALE | ROUTE_REUSED | ROUTE_BLIND,
        .summary = "Saves a record: counts its version up, if it is still as it was read.",
        .about =
            "By a session, or with a token in the name of \"user\". If-Match has the ETag that "
            "was read; If-None-Match: * says that the record was not there, never saved or "
            "deleted. Without either only a session that holds an exclusive lock saves: "
            "otherwise 428, and so it is for If-Match: *, which does not say what was read. "
            "412: it was changed or deleted meanwhile, `message` and `present` say by whom "
            "and when; 423: someone else holds it; 409: the type's policy wants a lock to "
            "edit. The answer has the new ETag and Holdfast-Fence. Save first, then write the "
            "record with the fence beside it, if the fence there is still the one that was read.",
        .replies = {{200, "Version", "The new version."},
                    {201, "Version", "The new version of a record that was not there."}},
        .parse = save_parse,
        .reply = save_reply,
    },
    {
        .name = "version-delete",
        .method = HTTP_DELETE,
        .path = "/v1/versions/{type}/{id}",
        .access = ROUTE_EITHER,
        .role = "use",
        .query = INPUT(USER) | INPUT(NAME) | INPUT(REASON),
        .headers = CHANGE_OF | INPUT(IF_MATCH) | INPUT(IF_NONE_MATCH),
        .refuses = OF_SESSION | ROUTE_NOT_HELD | ROUTE_STALE | ROUTE_REUSED | ROUTE_BLIND,
        .summary = "Saves that a record is deleted, if it is still as it was read.",
        .about = "A save like PUT, with its conditions and refusals. The number, who and when are "
                 "kept for a year, and the next save goes on from that number.",
        .replies = {{200, "Version", "The version of the deletion."}},
        .parse = delete_parse,
        .reply = save_reply,
    },
    {
        .name = "version-commit",
        .method = HTTP_POST,
        .path = "/v1/versions/commit",
        .access = ROUTE_EITHER,
        .role = "use for what is saved, use or observe for what is relied on",
        .takes = INPUT(SAVE) | INPUT(RELY) | INPUT(USER) | INPUT(NAME) | INPUT(REASON),
        .needs = INPUT(SAVE),
        .headers = CHANGE,
        .refuses = OF_SESSION | ROUTE_NOT_HELD | ROUTE_STALE | ROUTE_REUSED,
        .summary = "Saves several records, all or none, if all that they rely on is still so.",
        .about = "Up to 512 records in both lists, each named once. Refused, `conflicts` tells "
                 "every record that is not as it was read; of locks in the way the first.",
        .replies = {{200, "Versions", "The new versions, in the order of \"save\"."}},
        .parse = commit_parse,
        .reply = commit_reply,
        .refuse = commit_refuse,
    },
    {
        .name = "version-lookup",
        .method = HTTP_POST,
        .path = "/v1/versions/lookup",
        .access = ROUTE_EITHER,
        .role = "use or observe",
        .takes = INPUT(RESOURCES),
        .needs = INPUT(RESOURCES),
        .headers = LOGIN,
        .summary = "The versions of up to 1,000 records.",
        .replies = {{200, "Versions",
                     "In the order given; the version of what was never saved is 0."}},
        .parse = versions_parse,
        .reply = versions_reply,
    },
    /* clang-format on */
