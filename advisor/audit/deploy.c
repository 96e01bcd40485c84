/* SPDX-License-Identifier: MIT */
/* Line by line, without a parser of YAML: which service or object a line is in is told by the
 * depth of the lines above it. A number that is put in at run time counts for nothing. */
#include "audit/deploy.h"

#include "audit/names.h"

#include <ctype.h>

enum { DEPLOY_SAID_MAX = 80 };

static const char *deploy_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

static bool deploy_ends(const char *name, const char *ending)
{
    size_t size = strlen(name), end = strlen(ending);
    return size >= end && strcmp(name + size - end, ending) == 0;
}

static bool deploy_is_yaml(const char *name)
{
    return deploy_ends(name, ".yml") || deploy_ends(name, ".yaml");
}

/* Files that a server of programs reads, the word before the number of its processes, and what it
 * runs. */
static const struct deploy_server {
    const char *file, *word, *language;
} deploy_servers[] = {
    {"gunicorn.conf.py", "workers", "python"},
    {"gunicorn_conf.py", "workers", "python"},
    {"puma.rb", "workers", "ruby"},
    {"unicorn.rb", "worker_processes", "ruby"},
    {"uwsgi.ini", "processes", "python"},
    {"uwsgi.ini", "workers", "python"},
    {"ecosystem.config.js", "instances", "node"},
    {"ecosystem.config.cjs", "instances", "node"},
};

/* Commands that start such a server, and their options. */
static const struct deploy_command {
    const char *program, *option, *language;
} deploy_commands[] = {
    {"gunicorn", "-w", "python"},
    {"gunicorn", "--workers", "python"},
    {"uvicorn", "--workers", "python"},
    {"hypercorn", "--workers", "python"},
    {"uwsgi", "--processes", "python"},
    {"uwsgi", "--workers", "python"},
    {"puma", "-w", "ruby"},
    {"puma", "--workers", "ruby"},
    {"pm2", "-i", "node"},
    {"pm2-runtime", "-i", "node"},
    {"pm2", "--instances", "node"},
};

bool audit_deploy_is(const char *path)
{
    const char *name = deploy_name(path);
    if (deploy_is_yaml(name) || strcmp(name, "Procfile") == 0 || strcmp(name, "Dockerfile") == 0)
        return true;
    for (size_t i = 0; i < sizeof deploy_servers / sizeof *deploy_servers; i++)
        if (strcmp(name, deploy_servers[i].file) == 0)
            return true;
    return false;
}

/* Whether what stands after a word is a number above one: "=4", ": '3'", " 2", "max". The last one
 * of a line is meant where a default stands in braces. */
static bool deploy_several(hf_slice after)
{
    size_t i = 0;
    if (after.size == 0)
        return false;
    while (i < after.size && strchr(" \t=:,'\"[(", after.at[i]) != NULL)
        i++;
    hf_slice rest = {after.at + i, after.size - i};
    if (rest.size >= 3 && strncmp(rest.at, "max", 3) == 0)
        return true;
    if (audit_text_find(rest, "cpu_count()") != NULL)
        return true;
    const char *brace = rest.size == 0 ? NULL : memchr(rest.at, '{', rest.size);
    if (rest.size > 3 && strncmp(rest.at, "ENV", 3) == 0 && brace != NULL)
        return deploy_several((hf_slice){brace + 1, rest.size - (size_t)(brace + 1 - rest.at)});
    long number = 0;
    size_t digits = 0;
    while (digits < rest.size && digits < 6 && isdigit((unsigned char)rest.at[digits]))
        number = number * 10 + (rest.at[digits++] - '0');
    char next = digits < rest.size ? rest.at[digits] : ' ';
    return digits > 0 && number > 1 && strchr(" \t\r,'\"]})#", next) != NULL;
}

/* What stands after the word, where it stands as a word of its own; empty: nowhere. */
static hf_slice deploy_after(hf_slice line, const char *word)
{
    size_t size = strlen(word);
    for (size_t i = 0; i + size < line.size; i++) {
        char before = i == 0 ? ' ' : line.at[i - 1], next = line.at[i + size];
        if (memcmp(line.at + i, word, size) == 0 && !isalnum((unsigned char)before) &&
            before != '-' && before != '_' && before != '.' && !isalpha((unsigned char)next) &&
            next != '-' && next != '_')
            return (hf_slice){line.at + i + size, line.size - i - size};
    }
    return HF_NOTHING;
}

/* ---- what is being read ---- */

/* A service of a compose file, or an object of Kubernetes. */
typedef struct deploy_part {
    hf_slice said, folder; /* what is built, from the file's own folder on */
    uint32_t line;
    bool ours;    /* built from the source */
    bool object;  /* a Deployment or the like */
    bool foreign; /* someone else's program, or who knows whose */
} deploy_part;

typedef struct deploy_reader {
    audit_emit_fn emit;
    void *context;
    bool compose;
    size_t depth; /* of the services' names; 0: not known yet */
    bool services;
    deploy_part part;
} deploy_reader;

static void deploy_emit(const deploy_reader *reader, hf_slice said, hf_slice of,
                        const char *language, uint32_t line)
{
    said = audit_trim(said);
    said.size = said.size > DEPLOY_SAID_MAX ? DEPLOY_SAID_MAX : said.size;
    reader->emit(reader->context, &(audit_fact){.kind = AUDIT_WORKERS,
                                                .line = line,
                                                .text = {said, of, hf_slice_of(language)}});
}

static void deploy_part_done(deploy_reader *reader)
{
    deploy_part *part = &reader->part;
    if (part->line > 0 && !part->foreign && (reader->compose ? part->ours : part->object))
        deploy_emit(reader, part->said, part->folder, "", part->line);
    *part = (deploy_part){0};
}

/* build: ./web, or context: ./web; a path that is put in or leads elsewhere is not known. */
static void deploy_build(deploy_part *part, hf_slice path)
{
    path = audit_trim(path);
    hf_slice quoted =
        path.size > 1 && strchr("'\"", path.at[0]) != NULL ? audit_quoted(path, path.at) : path;
    while (quoted.size > 0 && (quoted.at[0] == '.' || quoted.at[0] == '/') &&
           audit_text_find(quoted, "..") == NULL) {
        quoted.at++;
        quoted.size--;
    }
    while (quoted.size > 0 && quoted.at[quoted.size - 1] == '/')
        quoted.size--;
    part->ours = true;
    part->foreign = false;
    part->folder = quoted;
    for (size_t i = 0; i < quoted.size; i++)
        if (strchr("${}:# ", quoted.at[i]) != NULL || audit_text_find(quoted, "..") != NULL)
            part->foreign = true;
}

static void deploy_line_compose(deploy_reader *reader, hf_slice line, uint32_t number)
{
    size_t depth = 0;
    while (depth < line.size && line.at[depth] == ' ')
        depth++;
    hf_slice text = audit_trim(line);
    if (depth == 0) {
        deploy_part_done(reader);
        reader->services = text.size >= 9 && memcmp(text.at, "services:", 9) == 0;
        reader->depth = 0;
        return;
    }
    if (!reader->services)
        return;
    if (reader->depth == 0 || depth <= reader->depth) {
        deploy_part_done(reader);
        reader->depth = reader->depth == 0 ? depth : reader->depth;
        return;
    }
    if (text.size >= 6 && memcmp(text.at, "build:", 6) == 0)
        deploy_build(&reader->part, (hf_slice){text.at + 6, text.size - 6});
    else if (text.size >= 8 && memcmp(text.at, "context:", 8) == 0 && reader->part.ours)
        deploy_build(&reader->part, (hf_slice){text.at + 8, text.size - 8});
    bool says = (text.size > 9 && memcmp(text.at, "replicas:", 9) == 0) ||
                (text.size > 6 && memcmp(text.at, "scale:", 6) == 0);
    if (says && deploy_several(deploy_after(text, text.at[0] == 'r' ? "replicas" : "scale"))) {
        reader->part.said = text;
        reader->part.line = number;
    }
}

#define DEPLOY_FOREIGN                                                                             \
    "redis postgres postgresql mysql mariadb nginx traefik haproxy memcached kafka rabbitmq "      \
    "zookeeper elasticsearch mongo mongodb etcd envoy prometheus grafana keycloak minio consul "   \
    "vault pgbouncer proxysql ingress busybox"

static void deploy_line_object(deploy_reader *reader, hf_slice line, uint32_t number)
{
    hf_slice text = audit_trim(line), kind = deploy_after(line, "kind");
    if (text.size >= 3 && memcmp(text.at, "---", 3) == 0) {
        deploy_part_done(reader);
        return;
    }
    if (kind.at == line.at + 4 &&
        audit_name_has(kind, "deployment deployments statefulset rollout"))
        reader->part.object = true;
    if (kind.at == line.at + 4 && audit_text_find(kind, "StatefulSet") != NULL)
        reader->part.object = true;
    hf_slice image = deploy_after(text, "image");
    if (audit_name_has(image, DEPLOY_FOREIGN))
        reader->part.foreign = true;
    bool says = text.size > 9 && memcmp(text.at, "replicas:", 9) == 0;
    if (says && deploy_several((hf_slice){text.at + 8, text.size - 8})) {
        reader->part.said = text;
        reader->part.line = number;
    }
}

static void deploy_line_command(const deploy_reader *reader, hf_slice line, uint32_t number)
{
    for (size_t i = 0; i < sizeof deploy_commands / sizeof *deploy_commands; i++) {
        hf_slice rest = deploy_after(line, deploy_commands[i].program);
        if (rest.size > 0 && deploy_several(deploy_after(rest, deploy_commands[i].option))) {
            deploy_emit(reader, line, HF_NOTHING, deploy_commands[i].language, number);
            return;
        }
    }
}

static void deploy_line_server(const deploy_reader *reader, const char *name, hf_slice line,
                               uint32_t number)
{
    for (size_t i = 0; i < sizeof deploy_servers / sizeof *deploy_servers; i++) {
        hf_slice text = audit_trim(line);
        size_t size = strlen(deploy_servers[i].word);
        if (strcmp(name, deploy_servers[i].file) == 0 && text.size > size &&
            memcmp(text.at, deploy_servers[i].word, size) == 0 &&
            strchr(" \t=:", text.at[size]) != NULL &&
            deploy_several((hf_slice){text.at + size, text.size - size}))
            deploy_emit(reader, line, HF_NOTHING, deploy_servers[i].language, number);
    }
}

void audit_deploy_read(const char *path, hf_slice text, audit_emit_fn emit, void *context)
{
    const char *name = deploy_name(path);
    bool yaml = deploy_is_yaml(name);
    deploy_reader reader = {.emit = emit, .context = context};
    reader.compose = strstr(name, "compose") != NULL;
    bool commands = !yaml || reader.compose || audit_text_find(text, "kind:") != NULL;
    uint32_t number = 0;
    while (text.size > 0) {
        const char *end = memchr(text.at, '\n', text.size);
        hf_slice line = {text.at, end == NULL ? text.size : (size_t)(end - text.at)};
        hf_slice content = audit_trim(line);
        size_t taken = line.size + (end != NULL);
        text = (hf_slice){text.at + taken, text.size - taken};
        number++;
        if (content.size == 0 || content.at[0] == '#' || content.at[0] == ';' ||
            (content.size > 1 && content.at[0] == '/' && content.at[1] == '/'))
            continue;
        if (yaml && reader.compose)
            deploy_line_compose(&reader, line, number);
        else if (yaml)
            deploy_line_object(&reader, line, number);
        if (commands)
            deploy_line_command(&reader, line, number);
        deploy_line_server(&reader, name, line, number);
    }
    deploy_part_done(&reader);
}
