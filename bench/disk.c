/* SPDX-License-Identifier: MIT */
#include "disk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    PIECE = 64 * 1024, /* about what a batch of the server's writes to the log */
    PIECES = 512,
    MOST = 1 << 20, /* of a run; further ones go uncounted */
};

struct disk {
    int fd;
    size_t at; /* the piece that is written next */
    char piece[PIECE];
    double *us; /* what the writes of this run took */
    bool warm;
    load_figures seen;
};

static void disk_write_piece(disk *d)
{
    ssize_t wrote = pwrite(d->fd, d->piece, PIECE, (off_t)(d->at * PIECE));
    if (wrote != PIECE)
        bench_die("a file of the bench could not be written: %s",
                  wrote < 0 ? strerror(errno) : "short write");
    d->at = (d->at + 1) % PIECES;
}

static void disk_sync_file(disk *d)
{
    if (fdatasync(d->fd) != 0)
        bench_die("a file of the bench could not be synced: %s", strerror(errno));
}

disk *disk_open(const bench *b)
{
    disk *d = calloc(1, sizeof *d);
    if (d == NULL || (d->us = calloc(MOST, sizeof *d->us)) == NULL)
        bench_die("no memory for the figures of the disk");
    char path[BENCH_PATH_SIZE + 16];
    snprintf(path, sizeof path, "%s/disk", b->dir);
    d->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (d->fd < 0)
        bench_die("%s could not be made: %s", path, strerror(errno));
    memset(d->piece, 'x', PIECE);
    for (size_t i = 0; i < PIECES; i++)
        disk_write_piece(d);
    disk_sync_file(d);
    return d;
}

void disk_close(disk *d)
{
    if (d == NULL)
        return;
    close(d->fd);
    free(d->us);
    free(d);
}

static int disk_by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void disk_note(disk *d, size_t count)
{
    load_figures *f = &d->seen;
    size_t i = f->p50.count;
    if (!d->warm || i == BENCH_ROUNDS_MAX || count == 0) {
        d->warm = true;
        return;
    }
    qsort(d->us, count, sizeof *d->us, disk_by_size);
    f->p50.value[i] = d->us[count / 2];
    f->p99.value[i] = d->us[count * 99 / 100];
    f->p50.count = f->p99.count = i + 1;
}

double disk_work(void *context, double seconds)
{
    disk *d = context;
    size_t count = 0;
    double began = bench_now(), now = began;
    while (now - began < seconds && !bench_stopped()) {
        double before = now;
        disk_write_piece(d);
        disk_sync_file(d);
        now = bench_now();
        if (count < MOST)
            d->us[count++] = (now - before) * 1e6;
    }
    disk_note(d, count);
    return (double)count / seconds;
}

void disk_forget(disk *d)
{
    d->seen = (load_figures){0};
    d->warm = false;
}

const load_figures *disk_seen(const disk *d)
{
    return &d->seen;
}
