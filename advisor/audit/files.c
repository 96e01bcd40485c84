/* SPDX-License-Identifier: MIT */
/* Walking folders: sources by their endings; not what others wrote (vendor, node_modules), not
 * what was generated, not tests. */
#include "audit/files.h"

#include "audit/deploy.h"
#include "audit/names.h"
#include "base/cleanup.h"
#include "base/error.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    FILES_DEPTH_MAX = 64,
    FILES_BESIDE_MAX = 256 << 10, /* templates and deployment files that people write are smaller */
};

static audit_language files_language(const char *name)
{
    static const struct {
        const char *ending;
        audit_language language;
    } endings[] = {
        {".java", AUDIT_JAVA},      {".py", AUDIT_PYTHON},     {".rb", AUDIT_RUBY},
        {".php", AUDIT_PHP},        {".js", AUDIT_JAVASCRIPT}, {".mjs", AUDIT_JAVASCRIPT},
        {".cjs", AUDIT_JAVASCRIPT}, {".jsx", AUDIT_TSX},       {".ts", AUDIT_TYPESCRIPT},
        {".mts", AUDIT_TYPESCRIPT}, {".tsx", AUDIT_TSX},       {".sql", AUDIT_SQL_FILE},
        {".ddl", AUDIT_SQL_FILE},   {".prisma", AUDIT_PRISMA}, {".xml", AUDIT_XML},
        {".html", AUDIT_TEMPLATE},  {".erb", AUDIT_TEMPLATE},  {".jsp", AUDIT_TEMPLATE},
        {".twig", AUDIT_TEMPLATE},  {".vue", AUDIT_TEMPLATE},  {".ftl", AUDIT_TEMPLATE},
        {".hbs", AUDIT_TEMPLATE},   {".ejs", AUDIT_TEMPLATE},  {".j2", AUDIT_TEMPLATE},
        {".haml", AUDIT_TEMPLATE},  {".slim", AUDIT_TEMPLATE}, {".svelte", AUDIT_TEMPLATE},
    };
    const char *dot = strrchr(name, '.');
    for (size_t i = 0; dot != NULL && i < sizeof endings / sizeof *endings; i++)
        if (strcmp(dot, endings[i].ending) == 0)
            return endings[i].language;
    return audit_deploy_is(name) ? AUDIT_DEPLOYMENT : AUDIT_NO_LANGUAGE;
}

static bool files_is_foreign(const char *name)
{
    return name[0] == '.' ||
           audit_name_among(hf_slice_of(name),
                            "node_modules vendor third_party thirdparty dist target venv "
                            "__pycache__ bower_components coverage site-packages");
}

static bool files_is_test(const char *name)
{
    return audit_name_has(hf_slice_of(name), "test tests spec specs testing mock mocks fixtures "
                                             "fixture e2e testdata");
}

static bool files_is_minified(const char *name)
{
    return strstr(name, ".min.") != NULL || strstr(name, ".bundle.") != NULL;
}

static bool files_undoes(const char *path)
{
    const char *name = strrchr(path, '/');
    return audit_name_has(hf_slice_of(name == NULL ? path : name), "down undo rollback");
}

static audit_file *files_push(audit_files *files, const char *path)
{
    if (files->count == files->room) {
        size_t room = files->room == 0 ? 256 : files->room * 2;
        audit_file *items = hf_realloc(files->items, room * sizeof *items);
        if (items == NULL)
            return NULL;
        files->items = items;
        files->room = room;
    }
    char *copy = hf_arena_text(files->arena, hf_slice_of(path));
    if (copy == NULL)
        return NULL;
    files->items[files->count] = (audit_file){.path = copy};
    return &files->items[files->count++];
}

static hf_status files_add_file(audit_files *files, const char *path, const struct stat *info,
                                hf_error *err)
{
    audit_language language = files_language(path);
    bool beside = language == AUDIT_TEMPLATE || language == AUDIT_DEPLOYMENT;
    if (language == AUDIT_NO_LANGUAGE ||
        (beside && (!S_ISREG(info->st_mode) || info->st_size > FILES_BESIDE_MAX)))
        return HF_OK;
    audit_file *file = files_push(files, path);
    if (file == NULL)
        return hf_fail_memory(err);
    size_t max = language == AUDIT_SQL_FILE ? AUDIT_SQL_FILE_MAX : AUDIT_FILE_MAX;
    file->language = language;
    file->deploys = audit_deploy_is(path);
    file->size = (size_t)info->st_size;
    file->migration = audit_name_has(hf_slice_of(path), "migrate migration migrations changelog "
                                                        "changelogs upgrade upgrades seeds");
    if (!S_ISREG(info->st_mode))
        file->skipped = "it is no regular file";
    else if (file->size > max)
        file->skipped =
            language == AUDIT_SQL_FILE ? "it is larger than 32 MB" : "it is larger than 2 MB";
    else if (files_is_minified(path))
        file->skipped = "it is minified";
    else if (language == AUDIT_SQL_FILE && files_undoes(path))
        file->skipped = "it undoes a migration";
    return HF_OK;
}

static hf_status files_walk(audit_files *files, const char *folder, int depth, hf_error *err)
{
    struct dirent **names = NULL;
    hf_status status = HF_OK;
    int count = depth > FILES_DEPTH_MAX ? -1 : scandir(folder, &names, NULL, alphasort);
    if (count < 0) {
        audit_file *file = files_push(files, folder);
        if (file == NULL)
            return hf_fail_memory(err);
        file->language = AUDIT_NO_LANGUAGE;
        file->skipped =
            depth > FILES_DEPTH_MAX ? "the folder is too deep" : "the folder can't be opened";
        return HF_OK;
    }
    for (int i = 0; i < count; i++) {
        const char *name = names[i]->d_name;
        char path[4096];
        struct stat info;
        size_t end = strlen(folder);
        bool here = strcmp(folder, ".") == 0; /* "src/a.c", not "./src/a.c" */
        const char *slash = here || (end > 0 && folder[end - 1] == '/') ? "" : "/";
        int length = snprintf(path, sizeof path, "%s%s%s", here ? "" : folder, slash, name);
        bool fits = length > 0 && (size_t)length < sizeof path && lstat(path, &info) == 0;
        if (status != HF_OK || !fits || strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
            S_ISLNK(info.st_mode))
            ;
        else if (S_ISDIR(info.st_mode) && !files_is_foreign(name) && !files_is_test(name))
            status = files_walk(files, path, depth + 1, err);
        else if (!S_ISDIR(info.st_mode) && files_is_test(name))
            files->tests += files_language(name) != AUDIT_NO_LANGUAGE;
        else if (!S_ISDIR(info.st_mode))
            status = files_add_file(files, path, &info, err);
        free(names[i]);
    }
    free(names);
    return status;
}

hf_status audit_files_add(audit_files *files, const char *path, hf_error *err)
{
    struct stat info;
    if (stat(path, &info) != 0)
        return hf_fail(err, HF_NOT_FOUND, "%s can't be read: %s.", path, strerror(errno));
    if (S_ISDIR(info.st_mode))
        return files_walk(files, path, 0, err);
    if (files_language(path) == AUDIT_NO_LANGUAGE)
        return hf_fail(err, HF_INVALID,
                       "%s has no ending that audit knows: .java .py .rb .php .js .mjs .cjs .jsx "
                       ".ts .mts .tsx .sql .ddl .prisma .xml.",
                       path);
    return files_add_file(files, path, &info, err);
}

void audit_files_done(audit_files *files)
{
    hf_free(files->items);
    *files = (audit_files){0};
}

/* Lines of hundreds of characters are a program's, not a person's. */
static const char *files_judge(const audit_file *file, const char *text, size_t size)
{
    size_t lines = 1;
    if (memchr(text, '\0', size) != NULL)
        return "it is binary";
    for (size_t i = 0; i < size; i++)
        lines += text[i] == '\n';
    if (file->language < AUDIT_LANGUAGES && size > 5000 && size / lines > 400)
        return "it is minified";
    return NULL;
}

bool audit_file_read(const audit_file *file, char **out, size_t *size, const char **why)
{
    int fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    hf_cleanup(hf_freep) char *text = hf_alloc(file->size + 1);
    size_t got = 0;
    *why = fd < 0 ? "it can't be opened" : text == NULL ? "memory is out" : NULL;
    while (*why == NULL && got < file->size) {
        ssize_t more = read(fd, text + got, file->size - got);
        if (more < 0 && errno == EINTR)
            continue;
        if (more < 0)
            *why = "it can't be read";
        if (more <= 0)
            break;
        got += (size_t)more;
    }
    if (fd >= 0)
        close(fd);
    if (*why == NULL)
        *why = files_judge(file, text, got);
    if (*why != NULL)
        return false;
    *size = got;
    *out = hf_take(text);
    return true;
}
