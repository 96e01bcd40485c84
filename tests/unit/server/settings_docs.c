/* SPDX-License-Identifier: MIT */
/* docs/serve.md says what the table of settings says. With HF_TEST_UPDATE=1 its generated part is written anew. */
#include <base/buffer.h>
#include <base/seams.h>
#include <server/settings.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <support/check.h>

#define BEGINS                                                                                               \
    "<!-- made from src/server/settings_table.h; HF_TEST_UPDATE=1 tools/run-tests --in build "               \
    "unit/server_settings_docs -->\n"
#define ENDS "<!-- end of what is made -->\n"

static char *generated(void)
{
    char takes[SETTING_TEXT_SIZE];
    hf_buffer out = {0};
    hf_buffer_print(&out, "\n## Settings\n\n| name | what it is | takes | default |\n|---|---|---|---|\n");
    for (size_t i = 0; i < SETTINGS_COUNT; i++) {
        const setting *row = &settings_table[i];
        setting_takes(row, takes);
        hf_buffer_print(&out, "| `%s` | %s | %s | %s%s%s |\n", row->name, row->about, takes,
                        row->standard ? "`" : "", row->standard ? row->standard : "",
                        row->standard ? "`" : "");
    }
    hf_buffer_print(&out, "\n");
    return hf_buffer_take(&out);
}

static void read_whole(const char *path, hf_buffer *out)
{
    char block[4096];
    size_t size;
    FILE *file = fopen(path, "r");
    expect_true(file != NULL);
    while ((size = fread(block, 1, sizeof block, file)) > 0)
        hf_buffer_add(out, block, size);
    fclose(file);
}

static void the_document_says_what_the_table_says(void **state)
{
    (void)state;
    char path[4096];
    hf_buffer document = {0}, wanted = {0};
    const char *root = getenv("HF_SOURCE_ROOT");
    snprintf(path, sizeof path, "%s/docs/serve.md", root ? root : ".");
    read_whole(path, &document);
    char *begins = strstr(document.text, BEGINS), *ends = strstr(document.text, ENDS), *made = generated();
    expect_true(begins != NULL && ends != NULL && made != NULL);
    begins += strlen(BEGINS);
    hf_buffer_add(&wanted, document.text, (size_t)(begins - document.text));
    hf_buffer_add(&wanted, made, strlen(made));
    hf_buffer_add(&wanted, ends, strlen(ends));
    if (getenv("HF_TEST_UPDATE") != NULL) {
        FILE *file = fopen(path, "w");
        expect_true(file != NULL);
        expect_int(fwrite(wanted.text, 1, wanted.size, file), wanted.size);
        expect_int(fclose(file), 0);
    } else if (strcmp(document.text, wanted.text) != 0)
        fail_msg("docs/serve.md is not what the table says: run this test with HF_TEST_UPDATE=1");
    hf_buffer_done(&document);
    hf_buffer_done(&wanted);
    hf_free(made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_document_says_what_the_table_says)};
    return cmocka_run_group_tests_name("server_settings_docs", tests, NULL, NULL);
}
