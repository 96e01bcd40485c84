/* SPDX-License-Identifier: MIT */
/* docs/serve.md says what the table of settings says. With HF_TEST_UPDATE=1 its generated part is
 * written anew. */
#include <base/buffer.h>
#include <server/settings.h>
#include <support/check.h>
#include <support/document.h>

static char *settings_docs_generated(void)
{
    char takes[SETTING_TEXT_SIZE];
    hf_buffer out = {0};
    hf_buffer_print(&out,
                    "## Settings\n\n| name | what it is | takes | default |\n|---|---|---|---|\n");
    for (size_t i = 0; i < SETTINGS_COUNT; i++) {
        const setting *row = &settings_table[i];
        setting_takes(row, takes);
        hf_buffer_print(&out, "| `%s` | %s | %s | %s%s%s |\n", row->name, row->about, takes,
                        row->standard ? "`" : "", row->standard ? row->standard : "",
                        row->standard ? "`" : "");
    }
    return hf_buffer_take(&out);
}

static void the_document_says_what_the_table_says_in_settings_docs(void **state)
{
    (void)state;
    expect_document("serve.md", "server/settings_table.h", settings_docs_generated());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_document_says_what_the_table_says_in_settings_docs)};
    return cmocka_run_group_tests_name("server_settings_docs", tests, NULL, NULL);
}
