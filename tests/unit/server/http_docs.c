/* SPDX-License-Identifier: MIT */
/* docs/http.md says what the table of routes says. With HF_TEST_UPDATE=1 its generated part is
 * written anew. */
#include <base/buffer.h>
#include <server/routes/route.h>
#include <support/check.h>
#include <support/document.h>

static const char *const access_names[] = {
    [ROUTE_OPEN] = "nothing",
    [ROUTE_SESSION] = "the session's key",
    [ROUTE_TOKEN] = "a token",
    [ROUTE_EITHER] = "a token or a session",
    [ROUTE_NEARBY] = "nothing on the same machine, otherwise a token",
    [ROUTE_MORE] = "nothing",
};

static void add_inputs(hf_buffer *out, const char *title, input_set set, input_set needed)
{
    if (set == 0)
        return;
    hf_buffer_print(out, "| %s | |\n|---|---|\n", title);
    for (unsigned i = 0; i < INPUT_COUNT; i++)
        if (set >> i & 1)
            hf_buffer_print(out, "| `%s`%s | %s |\n", input_table[i].name,
                            needed >> i & 1 ? " (needed)" : "", input_table[i].about);
    hf_buffer_print(out, "\n");
}

static char *http_docs_generated(void)
{
    hf_buffer out = {0};
    for (size_t i = 0; i < routes_count; i++) {
        const route *r = &routes[i];
        hf_buffer_print(&out, "### %s %s\n\n%s", http_method_name(r->method), r->path, r->summary);
        if (r->about != NULL)
            hf_buffer_print(&out, " %s", r->about);
        hf_buffer_print(&out, "\n\nNeeds %s", access_names[r->access]);
        if (r->role != NULL)
            hf_buffer_print(&out, "; role: %s", r->role);
        hf_buffer_print(&out, ".\n\n");
        add_inputs(&out, "parameter", r->query, 0);
        add_inputs(&out, "header", r->headers, 0);
        add_inputs(&out, "field", r->takes, r->needs);
        for (size_t j = 0; j < ROUTE_REPLIES_MAX && r->replies[j].status != 0; j++)
            hf_buffer_print(&out, "- **%d** %s%s%s%s\n", r->replies[j].status,
                            r->replies[j].schema ? "`" : "",
                            r->replies[j].schema ? r->replies[j].schema : "",
                            r->replies[j].schema ? "`: " : "", r->replies[j].about);
        hf_buffer_print(&out, "\n");
    }
    return hf_buffer_take(&out);
}

static void the_document_says_what_the_table_says_in_http_docs(void **state)
{
    (void)state;
    expect_document("http.md", "server/routes/routes.c", http_docs_generated());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_document_says_what_the_table_says_in_http_docs)};
    return cmocka_run_group_tests_name("http_docs", tests, NULL, NULL);
}
