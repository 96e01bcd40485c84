/* SPDX-License-Identifier: MIT */
/* Making a folder: that one above it is missing is only ever a consequence, so the reason that
 * counts is the first one. */
#include "base/folder.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

int hf_folder_make(const char *path)
{
    char part[PATH_MAX];
    struct stat there;
    int first = 0;
    if (snprintf(part, sizeof part, "%s", path) >= (int)sizeof part)
        return ENAMETOOLONG;
    for (char *slash = strchr(part + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(part, 0700) != 0 && errno != EEXIST && first == 0)
            first = errno;
        *slash = '/';
    }
    if (mkdir(path, 0700) != 0 && errno != EEXIST)
        return errno == ENOENT && first != 0 ? first : errno;
    if (stat(path, &there) != 0)
        return errno;
    return S_ISDIR(there.st_mode) ? 0 : EEXIST;
}
