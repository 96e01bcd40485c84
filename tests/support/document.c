/* SPDX-License-Identifier: MIT */
/* Documents with a part that is made from a table in the code. */
#include "document.h"

#include "check.h"

#include <base/buffer.h>
#include <base/seams.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ENDS "<!-- end of what is made -->\n"

static void document_read_whole(const char *path, hf_buffer *out)
{
    char block[4096];
    size_t size;
    FILE *file = fopen(path, "r");
    if (file == NULL)
        fail_msg("%s can't be opened", path);
    while ((size = fread(block, 1, sizeof block, file)) > 0)
        hf_buffer_add(out, block, size);
    fclose(file);
}

static void write_whole(const char *path, const hf_buffer *text)
{
    FILE *file = fopen(path, "w");
    expect_true(file != NULL);
    expect_int(fwrite(text->text, 1, text->size, file), text->size);
    expect_int(fclose(file), 0);
}

void expect_document(const char *name, const char *source, char *made)
{
    char path[4096], begins[256];
    hf_buffer document = {0}, wanted = {0};
    const char *root = getenv("HF_SOURCE_ROOT");
    snprintf(path, sizeof path, "%s/docs/%s", root ? root : ".", name);
    snprintf(begins, sizeof begins, "<!-- made from %s;", source);
    document_read_whole(path, &document);
    char *begin = strstr(document.text, begins);
    char *line = begin == NULL ? NULL : strchr(begin, '\n');
    char *end = line == NULL ? NULL : strstr(line, ENDS);
    expect_true(end != NULL && made != NULL);
    hf_buffer_add(&wanted, document.text, (size_t)(line + 1 - document.text));
    hf_buffer_print(&wanted, "\n%s%s", made, end);
    if (getenv("HF_TEST_UPDATE") != NULL)
        write_whole(path, &wanted);
    else if (strcmp(document.text, wanted.text) != 0)
        fail_msg("docs/%s is not what the tables say: run this test with HF_TEST_UPDATE=1", name);
    hf_buffer_done(&document);
    hf_buffer_done(&wanted);
    hf_free(made);
}
