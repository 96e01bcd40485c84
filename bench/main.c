/* SPDX-License-Identifier: MIT */
/* hf-bench: what holdfast costs, as ratios beside a baseline measured in the same run (README.md
 * says how to read it). Here: the arguments, the private directory, the order of the groups. */
#include "bench.h"

#include <errno.h>
#include <ftw.h>
#include <getopt.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

enum { ROUNDS = 9, ROUNDS_QUICK = 3, WORKING = 100000, WORKING_QUICK = 20000 };
#define SECONDS       6.0
#define SECONDS_QUICK 0.3

static bench run;
static volatile sig_atomic_t stopped;

static void main_on_signal(int number)
{
    stopped = number;
}

bool bench_stopped(void)
{
    return stopped != 0;
}

_Noreturn void bench_die(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fflush(stdout);
    fprintf(stderr, "hf-bench: ");
    vfprintf(stderr, format, args);
    fprintf(stderr, "\n");
    va_end(args);
    exit(2);
}

static const struct {
    long magic;
    const char *name;
} kinds[] = {
    {0xEF53, "ext4"},          {0x58465342, "xfs"},  {0x9123683E, "btrfs"}, {0x01021994, "tmpfs"},
    {0x794C7630, "overlayfs"}, {0x2FC12FC1, "zfs"},  {0x6969, "nfs"},       {0xF2F52010, "f2fs"},
    {0x858458F6, "ramfs"},     {0x65735546, "fuse"}, {0xFF534D42, "cifs"},  {0x01021997, "9p"},
};

static const char *fs_kind(const char *path)
{
    struct statfs fs;
    if (statfs(path, &fs) != 0)
        return NULL;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (kinds[i].magic == (long)fs.f_type)
            return kinds[i].name;
    return "an unknown filesystem";
}

static bool in_memory(const char *kind)
{
    return strcmp(kind, "tmpfs") == 0 || strcmp(kind, "ramfs") == 0;
}

/* Where the program lies: a build directory is nearly always on a real disk. */
static const char *own_folder(char *out, size_t size)
{
    ssize_t length = readlink("/proc/self/exe", out, size - 1);
    if (length <= 0)
        return NULL;
    out[length] = '\0';
    char *slash = strrchr(out, '/');
    if (slash == NULL)
        return NULL;
    *slash = '\0';
    return out;
}

/* The modules of this build, and not those that may be installed. */
static void find_modules(void)
{
    char own[BENCH_PATH_SIZE];
    char *slash = own_folder(own, sizeof own) == NULL ? NULL : strrchr(own, '/');
    if (slash == NULL)
        return;
    *slash = '\0';
    setenv("HOLDFAST_MODULES", own, 0);
}

/* --dir, else $TMPDIR, else the program's own folder; one in memory only when there is no other, or
 * by --dir. */
static void choose_folder(const char *asked, char *out, size_t size)
{
    char own[BENCH_PATH_SIZE];
    const char *candidates[] = {asked, getenv("TMPDIR"), own_folder(own, sizeof own), ".", "/tmp"};
    const char *chosen = NULL;
    for (size_t i = 0; i < sizeof candidates / sizeof candidates[0]; i++) {
        const char *kind = candidates[i] != NULL ? fs_kind(candidates[i]) : NULL;
        if (kind == NULL || access(candidates[i], W_OK) != 0)
            continue;
        if (chosen == NULL || in_memory(fs_kind(chosen)))
            chosen = candidates[i];
        if (asked != NULL || !in_memory(kind))
            break;
    }
    if (chosen == NULL || (asked != NULL && chosen != asked))
        bench_die("there is no folder to write to; name one with --dir");
    snprintf(out, size, "%s", chosen);
}

static int main_remove_one(const char *path, const struct stat *status, int flag, struct FTW *where)
{
    (void)status;
    (void)flag;
    (void)where;
    return remove(path);
}

static void remove_dir(void)
{
    if (run.dir[0] != '\0')
        nftw(run.dir, main_remove_one, 16, FTW_DEPTH | FTW_PHYS);
    run.dir[0] = '\0';
}

static void make_dir(const char *asked)
{
    char folder[BENCH_PATH_SIZE - 32];
    char path[BENCH_PATH_SIZE];
    choose_folder(asked, folder, sizeof folder);
    run.fs_kind = fs_kind(folder);
    snprintf(path, sizeof path, "%s/hf-bench-XXXXXX", folder);
    if (mkdtemp(path) == NULL)
        bench_die("no private folder can be made in %s: %s", folder, strerror(errno));
    snprintf(run.dir, sizeof run.dir, "%s", path);
    atexit(remove_dir);
    if (in_memory(run.fs_kind))
        fprintf(stderr,
                "hf-bench: %s is %s: nothing is synced to a disk there, the SQLite figures mean "
                "little\n",
                folder, run.fs_kind);
}

static void usage(FILE *out)
{
    fprintf(out,
            "usage: hf-bench [--quick] [--seconds N] [--only NAME] [--json FILE] [--dir DIR] "
            "[--check]\n"
            "                [--postgres URL] [--mariadb URL] [--redis URL] [--etcd URL]\n"
            "  --quick      a smoke run of under a minute\n"
            "  --seconds N  per comparison, all sides together (default %g)\n"
            "  --only NAME  figures with NAME in their name: pairs scale memory beat read call "
            "wire saves http, "
            "pairs/256,\n"
            "               postgres mariadb redis, postgres/32-clients ...\n"
            "  --json FILE  write every round there\n"
            "  --dir DIR    a private folder is made in it and removed at the end ($TMPDIR, else "
            "beside "
            "hf-bench)\n"
            "  --check      exit 1 when a figure is below its target\n"
            "  --postgres URL, --mariadb URL  servers to measure on ($HF_TEST_POSTGRES, "
            "$HF_TEST_MARIADB)\n"
            "  --redis URL, --etcd URL        servers to measure against ($HF_TEST_REDIS_TCP, "
            "$HF_TEST_ETCD)\n",
            SECONDS);
}

static double parse_seconds(const char *text)
{
    char *end;
    double seconds = strtod(text, &end);
    if (end == text || *end != '\0' || !(seconds > 0) || seconds > 3600)
        bench_die("--seconds takes a number between 0 and 3600, not '%s'", text);
    return seconds;
}

typedef struct arguments {
    const char *json, *dir;
    bool check;
} arguments;

static void main_parse(int argc, char **argv, arguments *out)
{
    static const struct option options[] = {
        {"quick", no_argument, NULL, 'q'},         {"seconds", required_argument, NULL, 's'},
        {"only", required_argument, NULL, 'o'},    {"json", required_argument, NULL, 'j'},
        {"dir", required_argument, NULL, 'd'},     {"check", no_argument, NULL, 'c'},
        {"help", no_argument, NULL, 'h'},          {"postgres", required_argument, NULL, 'p'},
        {"mariadb", required_argument, NULL, 'm'}, {"redis", required_argument, NULL, 'r'},
        {"etcd", required_argument, NULL, 'e'},    {NULL, 0, NULL, 0},
    };
    int option;
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        switch (option) {
        case 'q':
            run.quick = true;
            break;
        case 's':
            run.seconds = parse_seconds(optarg);
            break;
        case 'o':
            run.only = optarg;
            break;
        case 'j':
            out->json = optarg;
            break;
        case 'd':
            out->dir = optarg;
            break;
        case 'c':
            out->check = true;
            break;
        case 'p':
            run.postgres = optarg;
            break;
        case 'm':
            run.mariadb = optarg;
            break;
        case 'r':
            run.redis = optarg;
            break;
        case 'e':
            run.etcd = optarg;
            break;
        case 'h':
            usage(stdout);
            exit(0);
        default:
            usage(stderr);
            exit(2);
        }
    }
    if (optind < argc) {
        usage(stderr);
        exit(2);
    }
}

static size_t count_below(void)
{
    size_t below = 0;
    for (size_t i = 0; i < run.figures_count; i++)
        below += !bench_reached(&run.figures[i]);
    return below;
}

int main(int argc, char **argv)
{
    arguments given = {0};
    run.postgres = getenv("HF_TEST_POSTGRES");
    run.mariadb = getenv("HF_TEST_MARIADB");
    run.redis = getenv("HF_TEST_REDIS_TCP");
    run.etcd = getenv("HF_TEST_ETCD");
    main_parse(argc, argv, &given);
    find_modules();
    run.rounds = run.quick ? ROUNDS_QUICK : ROUNDS;
    run.working = run.quick ? WORKING_QUICK : WORKING;
    if (run.seconds <= 0)
        run.seconds = run.quick ? SECONDS_QUICK : SECONDS;
    struct sigaction stop = {.sa_handler = main_on_signal, .sa_flags = SA_RESETHAND};
    sigaction(SIGINT, &stop, NULL);
    sigaction(SIGTERM, &stop, NULL);
    make_dir(given.dir);
    bench_print_head(&run);

    bench_pairs(&run);
    bench_calls(&run);
    bench_commit(&run);
    bench_beats(&run);
    bench_reads(&run);
    bench_memory(&run);
    bench_scale(&run);
    bench_wire(&run);
    bench_servers(&run);
    bench_redis_store(&run);
    bench_saves(&run);
    bench_http(&run);
    bench_leases(&run);

    if (bench_stopped())
        bench_die("stopped");
    if (run.figures_count == 0)
        bench_die("no figure has '%s' in its name", run.only != NULL ? run.only : "");
    size_t below = count_below();
    printf("\n%zu figures, %zu below target\n", run.figures_count, below);
    if (given.json != NULL && !bench_write_json(&run, given.json))
        bench_die("%s can't be written: %s", given.json, strerror(errno));
    return given.check && below > 0 ? 1 : 0;
}
