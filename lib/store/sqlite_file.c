/* SPDX-License-Identifier: MIT */
/* The SQLite store: which files it opens, and the reserve. A small file beside the database holds
 * disk space; when the disk is full it is given up, so that releases and beats still work until
 * there is room again. It must make good for what the log has let the database grow by, so a store
 * that grows fast lays in a larger one. */
#include "base/error.h"
#include "base/seams.h"
#include "store/sqlite.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Filesystems that reach over a network: SQLite's locks and shared memory can't be trusted there.
 * */
static const struct {
    int64_t kind;
    const char *name;
} networks[] = {
    {0x6969, "NFS"},       {0x517b, "SMB"},        {0xff534d42, "CIFS"},   {0xfe534d42, "SMB2"},
    {0x01021997, "9P"},    {0x5346414f, "AFS"},    {0x73757245, "Coda"},   {0x564c, "NCP"},
    {0x00c36400, "Ceph"},  {0x0bd00bd0, "Lustre"}, {0x47504653, "GPFS"},   {0x013111a8, "IBRIX"},
    {0x19830326, "FhGFS"}, {0x7461636f, "OCFS2"},  {0x01161970, "GFS2"},   {0x6b414653, "kAFS"},
    {0xaad7aaea, "PanFS"}, {0xbacbacbc, "VMHGFS"}, {0x786f4256, "vboxsf"}, {0x65735546, "FUSE"},
};

/* A FUSE mount may be a local disk or the far end of a network; its name in the mount table tells.
 * */
static bool sqlite_file_fuse_is_local(const char *path)
{
    static const char *const local[] = {"fuseblk", "fuse.ntfs-3g", "fuse.lazyfs", "fuse.exfat"};
    char real[PATH_MAX], line[2 * PATH_MAX], best[64] = "";
    size_t best_size = 0;
    const char *slash = strrchr(path, '/');
    char parent[PATH_MAX];
    snprintf(parent, sizeof parent, "%.*s", slash == NULL ? 1 : (int)(slash - path + 1),
             slash == NULL ? "." : path);
    FILE *mounts = fopen("/proc/self/mounts", "re");
    if (mounts == NULL || realpath(parent, real) == NULL) {
        if (mounts != NULL)
            fclose(mounts);
        return false;
    }
    while (fgets(line, sizeof line, mounts) != NULL) {
        char at[PATH_MAX], kind[64];
        if (sscanf(line, "%*s %4095s %63s", at, kind) != 2)
            continue;
        size_t size = strlen(at);
        bool within =
            strncmp(at, real, size) == 0 && (size == 1 || real[size] == '/' || real[size] == '\0');
        if (size >= best_size && within) {
            best_size = size;
            snprintf(best, sizeof best, "%s", kind);
        }
    }
    fclose(mounts);
    for (size_t i = 0; i < sizeof local / sizeof local[0]; i++)
        if (strcmp(best, local[i]) == 0)
            return true;
    return false;
}

static const char *sqlite_file_network_name(const char *path)
{
    int64_t kind = hf_seam.fs_kind(path);
    for (size_t i = 0; i < sizeof networks / sizeof networks[0]; i++)
        if ((kind & 0xffffffff) == networks[i].kind)
            return strcmp(networks[i].name, "FUSE") == 0 && sqlite_file_fuse_is_local(path)
                       ? NULL
                       : networks[i].name;
    return NULL;
}

/* The file itself is only ever opened by SQLite: closing any other descriptor of it would drop the
 * locks that this process's SQLite connections hold on it. */
hf_status sqlite_file_check(const char *path, bool *exists, hf_error *err)
{
    struct stat info;
    *exists = stat(path, &info) == 0;
    if (!*exists && errno != ENOENT)
        return hf_fail(err, HF_UNAVAILABLE, "%s can't be reached: %s.", path, strerror(errno));
    if (*exists && S_ISDIR(info.st_mode))
        return hf_fail(err, HF_UNAVAILABLE,
                       "%s is a directory; name a file in it, for example sqlite:%s/holdfast.db.",
                       path, path);
    if (*exists && !S_ISREG(info.st_mode))
        return hf_fail(err, HF_UNAVAILABLE, "%s is not a regular file; name another.", path);
    const char *network = sqlite_file_network_name(path);
    if (network != NULL)
        return hf_fail(err, HF_UNAVAILABLE,
                       "%s lies on a network filesystem (%s), where SQLite's locks can't be "
                       "trusted; keep the file on a "
                       "local disk and share it with holdfast serve.",
                       path, network);
    return HF_OK;
}

int64_t sqlite_file_size(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 ? info.st_size : 0;
}

static void sqlite_file_reserve_path(const char *path, char *out, size_t size)
{
    snprintf(out, size, "%s-reserve", path);
}

static bool sqlite_file_for_want_of_room(int reason)
{
    return reason == ENOSPC || reason == EDQUOT || reason == EFBIG;
}

/* Makes the file `want` bytes long, and leaves it `has` bytes long, or not at all, when there is no
 * room for that. Where others may write to the folder, a link to someone's file may be there. */
static int sqlite_file_lay_in(const char *reserve, off_t has, off_t want)
{
    struct stat info;
    int file = open(reserve, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
    if (file < 0)
        return errno;
    if (fstat(file, &info) != 0 || !S_ISREG(info.st_mode) || info.st_nlink != 1) {
        close(file);
        return EEXIST;
    }
    int reason = posix_fallocate(file, 0, want);
    if (reason != 0 && (has < SQLITE_RESERVE_LEAST || ftruncate(file, has) != 0))
        unlink(reserve);
    close(file);
    return reason;
}

int64_t sqlite_reserve(const char *path, int64_t want)
{
    char reserve[PATH_MAX + 16];
    struct stat info;
    sqlite_file_reserve_path(path, reserve, sizeof reserve);
    off_t has = lstat(reserve, &info) == 0 && S_ISREG(info.st_mode) ? info.st_size : 0;
    if (has >= want)
        return has;
    int reason = sqlite_file_lay_in(reserve, has, want);
    if (reason == 0)
        return want;
    return has >= SQLITE_RESERVE_LEAST || !sqlite_file_for_want_of_room(reason)
               ? SQLITE_RESERVE_LEAST
               : 0;
}

void sqlite_reserve_give_up(const char *path)
{
    char reserve[PATH_MAX + 16];
    sqlite_file_reserve_path(path, reserve, sizeof reserve);
    unlink(reserve);
}
