/* SPDX-License-Identifier: MIT */
/* Settings: each of them from each source, which source wins, what is refused and how, and that
 * what is printed can be read again. */
#include <base/seams.h>
#include <server/settings.h>
#include <server/settings_inside.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <support/check.h>
#include <support/out_of_memory.h>
#include <support/test_store.h>

/* ---- a desk with sources that can be set ---- */

enum { FLAGS = 8, VARIABLES = 8 };

static struct desk {
    settings_flag flags[FLAGS];
    size_t flags_count;
    char names[VARIABLES][SETTING_TEXT_SIZE];
    const char *values[VARIABLES];
    size_t variables;
    char path[HF_URL_MAX];
    const char *files[2];
    settings *s;
    hf_error err;
} desk;

static const char *settings_variable(const char *name)
{
    for (size_t i = 0; i < desk.variables; i++)
        if (strcmp(desk.names[i], name) == 0)
            return desk.values[i];
    return NULL;
}

static int clear(void **state)
{
    (void)state;
    settings_free(desk.s);
    memset(&desk, 0, sizeof desk);
    return 0;
}

static void flag(const char *name, const char *value)
{
    desk.flags[desk.flags_count++] = (settings_flag){name, value};
}

static void set_variable(const char *name, const char *value)
{
    snprintf(desk.names[desk.variables], SETTING_TEXT_SIZE, "%s", name);
    desk.values[desk.variables++] = value;
}

static void settings_write_bytes(const char *bytes, size_t size)
{
    scratch_path(".ini", desk.path);
    FILE *out = fopen(desk.path, "w");
    expect_true(out != NULL && fwrite(bytes, 1, size, out) == size && fclose(out) == 0);
    desk.files[0] = desk.path;
}

static void settings_write_file(const char *text)
{
    settings_write_bytes(text, strlen(text));
}

static hf_status try_sources(void)
{
    settings_sources from = {.flags = desk.flags,
                             .flags_count = desk.flags_count,
                             .variable = settings_variable,
                             .files = desk.files,
                             .data = "/home/someone/holdfast"};
    settings_free(desk.s);
    desk.s = NULL;
    memset(&desk.err, 0, sizeof desk.err);
    return settings_read(&from, &desk.s, &desk.err);
}

static const settings *settings_read_all(void)
{
    expect(HF_OK, try_sources(), desk.err);
    return desk.s;
}

static void settings_refused(const char *part)
{
    expect(HF_INVALID, try_sources(), desk.err);
    expect_contains(desk.err.message, part);
}

/* ---- values to try, by kind ---- */

/* Three values that each kind takes, as they are printed, and one it does not take. */
static const char *const samples[][4] = {
    [SETTING_ADDRESSES] = {"127.0.0.1:1", "[::1]:2", "unix:/run/three", "nowhere"},
    [SETTING_ORIGINS] = {"https://a.example", "http://b.example:8080", "https://[::1]:3",
                         "https://a.example/path"},
    [SETTING_HOSTS] = {"one.example", "two", "[fd00::3]", "Three.example:80"},
    [SETTING_NETWORKS] = {"10.0.0.1", "10.0.0.0/8, unix", "fd00::/8", "10.0.0.1/8"},
    [SETTING_STORE] = {"memory:", "sqlite:/two.db", "postgres://three@h/db", " x"},
    [SETTING_PATH] = {"/one", "two/2 and a half", "/three", "/four ;x"},
    [SETTING_DURATION] = {"1h", "50m", "3599s", "5 minutes"},
    [SETTING_NUMBER] = {"1", "2", "3", "-1"},
    [SETTING_SIZE] = {"1K", "2K", "3M", "1X"},
    [SETTING_SWITCH] = {"yes", "no", "yes", "maybe"},
};

static const char *sample(const setting *row, int which)
{
    static const char *const choices[][4] = {{"json", "text", "json", "xml"},
                                             {"error", "debug", "warning", "loud"}};
    return row->kind == SETTING_CHOICE ? choices[strcmp(row->name, "log") != 0][which]
                                       : samples[row->kind][which];
}

/* A sample that settings which go together do not refuse. */
static const char *fitting(const setting *row, int which)
{
    static const char *const forced[] = {"100d", "101d", "365d"};
    return strcmp(row->name, "keep-forced") == 0 && which < 3 ? forced[which] : sample(row, which);
}

static void pair_up(const setting *row)
{
    if (strcmp(row->name, "tls-key") == 0)
        flag("tls-certificate", "/c.pem");
    if (strcmp(row->name, "tls-certificate") == 0)
        flag("tls-key", "/k.pem");
}

static void has_value(const setting *row, const char *value, settings_from from)
{
    hf_buffer out = {0};
    setting_write(row, (const char *)desk.s + row->offset, &out);
    if (out.text == NULL || strcmp(out.text, value) != 0 ||
        settings_origin_of(desk.s, row)->from != from)
        fail_msg("%s is '%s' from %d, not '%s' from %d", row->name, out.text,
                 settings_origin_of(desk.s, row)->from, value, from);
    hf_buffer_done(&out);
}

/* ---- every setting ---- */

static void every_setting_has_a_name_a_default_and_a_description(void **state)
{
    (void)state;
    const settings *s = settings_read_all();
    for (size_t i = 0; i < SETTINGS_COUNT; i++) {
        const setting *row = &settings_table[i];
        expect_int(strspn(row->name, "abcdefghijklmnopqrstuvwxyz-"), strlen(row->name));
        expect_true(settings_find(row->name) == row);
        expect_true(strlen(row->about) > 10 && row->about[strlen(row->about) - 1] != '.');
        expect_true((row->kind == SETTING_SWITCH) == (row->value == NULL));
        if (row->standard != NULL)
            has_value(row, row->standard, SETTINGS_FROM_DEFAULT);
        if (setting_is_list(row))
            expect_true(*(const char *const *const *)((const char *)s + row->offset) != NULL);
    }
    expect_text(s->data, "/home/someone/holdfast");
    expect_text(s->store, "sqlite:/home/someone/holdfast/holdfast.db");
    expect_int(s->head_timeout_us, 10000000);
    expect_int(s->body_max, 1048576);
    expect_int(s->keep_forced_us, INT64_C(730) * 86400000000);
    expect_text(s->listen[0], "127.0.0.1:7420");
    expect_true(s->listen[1] == NULL && !s->allow_plain && s->log == SETTINGS_LOG_TEXT);
}

static void every_setting_that_takes_0_says_what_it_means(void **state)
{
    (void)state;
    for (size_t i = 0; i < SETTINGS_COUNT; i++) {
        const setting *row = &settings_table[i];
        bool amount = row->kind == SETTING_NUMBER || row->kind == SETTING_DURATION ||
                      row->kind == SETTING_SIZE;
        if (amount && row->min == 0)
            expect_contains(row->about, "; 0: ");
    }
}

/* File, then environment over it, then the flag over both. */
static void every_setting_comes_from_every_source_and_the_stronger_wins(void **state)
{
    char line[256], name[SETTING_TEXT_SIZE];
    for (size_t i = 0; i < SETTINGS_COUNT; i++) {
        const setting *row = &settings_table[i];
        clear(state);
        pair_up(row);
        size_t pairs = desk.flags_count;
        if (row != &settings_table[SETTINGS_ID_config]) {
            snprintf(line, sizeof line, "# first\n[server]\n%s = %s\n", row->name, fitting(row, 0));
            settings_write_file(line);
            settings_read_all();
            has_value(row, fitting(row, 0), SETTINGS_FROM_FILE);
            expect_int(settings_origin_of(desk.s, row)->line, 3);
            expect_text(settings_origin_of(desk.s, row)->file, desk.path);
            setting_variable(row, name);
            set_variable(name, fitting(row, 1));
            settings_read_all();
            has_value(row, fitting(row, 1), SETTINGS_FROM_ENVIRONMENT);
            flag(row->name, row->kind == SETTING_SWITCH ? NULL : fitting(row, 2));
            settings_read_all();
            has_value(row, fitting(row, 2), SETTINGS_FROM_FLAG);
            desk.flags_count = pairs;
            set_variable(name, NULL);
            desk.values[0] = ""; /* an empty variable counts as not set */
            settings_read_all();
            has_value(row, fitting(row, 0), SETTINGS_FROM_FILE);
        }
    }
}

static void every_setting_refuses_what_it_does_not_take_and_says_where(void **state)
{
    char line[256], name[SETTING_TEXT_SIZE], takes[SETTING_TEXT_SIZE];
    for (size_t i = 0; i < SETTINGS_COUNT; i++) {
        const setting *row = &settings_table[i];
        clear(state);
        setting_takes(row, takes);
        setting_variable(row, name);
        set_variable(name, sample(row, 3));
        settings_refused(name);
        expect_contains(desk.err.message, takes);
        desk.variables = 0;
        snprintf(line, sizeof line, "--%s", row->name);
        flag(row->name, sample(row, 3));
        settings_refused(line);
        desk.flags_count = 0;
        if (row == &settings_table[SETTINGS_ID_config] || row->kind == SETTING_STORE ||
            row->kind == SETTING_PATH)
            continue; /* blanks and comments are inih's there */
        snprintf(line, sizeof line, "\n\n%s=%s", row->name, sample(row, 3));
        settings_write_file(line);
        settings_refused("line 3");
        expect_contains(desk.err.message, row->name);
        expect_contains(desk.err.message, desk.path);
        expect_contains(desk.err.message, sample(row, 3));
        expect_contains(desk.err.message, takes);
    }
}

static void amounts_keep_to_their_bounds(void **state)
{
    (void)state;
    char text[64];
    for (size_t i = 0; i < SETTINGS_COUNT; i++) {
        const setting *row = &settings_table[i];
        if (row->kind != SETTING_NUMBER && row->kind != SETTING_SIZE)
            continue;
        int64_t value = 0;
        snprintf(text, sizeof text, "%lld", (long long)row->max);
        expect_int(setting_read(row, text, NULL, &value), HF_OK);
        expect_int(value, row->max);
        snprintf(text, sizeof text, "%lld", (long long)row->max + 1);
        expect_int(setting_read(row, text, NULL, &value), HF_INVALID);
        snprintf(text, sizeof text, "%lld", (long long)row->min);
        expect_int(setting_read(row, text, NULL, &value), HF_OK);
        if (row->min > 0) {
            snprintf(text, sizeof text, "%lld", (long long)row->min - 1);
            expect_int(setting_read(row, text, NULL, &value), HF_INVALID);
        }
        expect_int(value, row->min);
    }
    const char *const bad[] = {"",
                               "1",
                               "s",
                               "1.5s",
                               "-1s",
                               "1 s",
                               "1S",
                               "99999999999999999999s",
                               "9223372036854775807d",
                               "50ms",
                               "2h"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        int64_t value = 7;
        expect_int(setting_read(&settings_table[SETTINGS_ID_head_timeout_us], bad[i], NULL, &value),
                   HF_INVALID);
        expect_int(value, 7);
    }
}

/* ---- lists ---- */

static void lists_are_gathered_within_a_source_and_replaced_by_a_stronger_one(void **state)
{
    (void)state;
    settings_write_file("listen = 127.0.0.1:1 ,127.0.0.1:2\nlisten = unix:/three\n");
    const settings *s = settings_read_all();
    expect_text(s->listen[0], "127.0.0.1:1");
    expect_text(s->listen[1], "127.0.0.1:2");
    expect_text(s->listen[2], "unix:/three");
    expect_true(s->listen[3] == NULL);
    flag("listen", "127.0.0.1:4");
    flag("listen", "127.0.0.1:5,127.0.0.1:6");
    s = settings_read_all();
    expect_text(s->listen[0], "127.0.0.1:4");
    expect_text(s->listen[2], "127.0.0.1:6");
    expect_true(s->listen[3] == NULL);
}

static void a_list_may_be_emptied_but_for_the_addresses(void **state)
{
    (void)state;
    set_variable("HOLDFAST_TRUST_PROXY", "10.0.0.1");
    flag("trust-proxy", "");
    expect_true(settings_read_all()->trust_proxy[0] == NULL);
    flag("listen", "");
    settings_refused("--listen is empty");
    desk.flags[1].value = "127.0.0.1:1,,127.0.0.1:2";
    settings_refused("--listen is");
}

/* ---- the file ---- */

static void the_file_may_be_indented_and_have_no_section(void **state)
{
    (void)state;
    settings_write_file(
        "\xef\xbb\xbf; a comment\r\n   log = json ; said here\r\n\t# another\r\n [server]  \n  "
        "body-max : 2M\n\n\twriters=3");
    const settings *s = settings_read_all();
    expect_int(s->log, SETTINGS_LOG_JSON);
    expect_int(s->body_max, 2097152);
    expect_int(s->writers, 3);
    expect_int(s->origins[SETTINGS_ID_writers].line, 7);
}

static void unknown_keys_and_sections_are_refused_by_name(void **state)
{
    (void)state;
    static const struct {
        const char *text, *part;
    } all[] = {
        {"listne = 127.0.0.1:1\n", "line 1: there is no setting 'listne'; did you mean 'listen'?"},
        {"\nbody_max = 1M\n", "line 2: there is no setting 'body_max'; did you mean 'body-max'?"},
        {"colour = red\n", "there is no setting 'colour'; 'holdfast help serve' lists"},
        {"x = red\n", "there is no setting 'x'; 'holdfast help serve' lists"},
        {"config = /x\n", "a file can't name another"},
        {"[client]\nlisten = 127.0.0.1:1\n", "line 2: there is no section [client]"},
        {"[server]\nlisten\n", "line 2 is no setting"},
        {"[server\n", "line 1 is no setting"},
        {"= 3\n", "line 1: there is no setting ''"},
        {"nonsense\nbody-max = x\n", "line 1 is no setting"},
        {"body-max = x\nnonsense\n", "line 1, is 'x'"},
        {"body-max = 1M\nbody-max = 2M\n", "line 2, is set twice"},
        {"log-level = \n", "line 1, is empty"},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        settings_write_file(all[i].text);
        settings_refused(all[i].part);
    }
}

static void long_lines_are_taken_whole_or_refused(void **state)
{
    (void)state;
    char text[20000] = "store = sqlite:/";
    size_t used = strlen(text);
    memset(text + used, 'x', 3000);
    settings_write_file(text);
#ifdef HF_INI_MAX_LINE
    expect_int(strlen(settings_read_all()->store), 3008);
#endif
    memset(text + used, 'x', 9000);
    settings_write_file(text);
    settings_refused("line 1 is too long");
    text[0] = '#';
    settings_write_file(text);
    settings_read_all();
}

static void a_file_that_is_named_must_be_there(void **state)
{
    (void)state;
    desk.files[0] = "/nowhere/at/all.ini";
    expect_true(settings_read_all()->config == NULL);
    flag("config", "/nowhere/at/all.ini");
    expect(HF_UNAVAILABLE, try_sources(), desk.err);
    expect_contains(desk.err.message, "/nowhere/at/all.ini can't be opened");
    settings_write_file("writers = 5\n");
    desk.flags[0].value = desk.path;
    desk.files[0] = NULL;
    expect_int(settings_read_all()->writers, 5);
    expect_text(desk.s->config, desk.path);
    desk.flags_count = 0;
    set_variable("HOLDFAST_CONFIG", desk.path);
    expect_int(settings_read_all()->writers, 5);
    expect_int(desk.s->origins[SETTINGS_ID_config].from, SETTINGS_FROM_ENVIRONMENT);
}

static void what_is_no_text_is_no_file_of_settings(void **state)
{
    (void)state;
    static char large[300000];
    settings_write_bytes("log = json\0\n", 12);
    settings_refused("holds a zero byte");
    memset(large, '\n', sizeof large);
    settings_write_bytes(large, sizeof large);
    expect(HF_TOO_LARGE, try_sources(), desk.err);
    settings_write_file("host = a\x01"
                        "b\n");
    settings_refused("line 1");
    desk.files[0] = scratch_folder();
    expect(HF_UNAVAILABLE, try_sources(), desk.err);
}

/* ---- what is worked out, and what goes together ---- */

static void the_data_directory_of_a_unit_counts_before_the_home(void **state)
{
    (void)state;
    set_variable("STATE_DIRECTORY", "/var/lib/holdfast:/var/lib/other");
    const settings *s = settings_read_all();
    expect_text(s->data, "/var/lib/holdfast");
    expect_text(s->store, "sqlite:/var/lib/holdfast/holdfast.db");
    flag("data", "/srv/holdfast");
    expect_text(settings_read_all()->store, "sqlite:/srv/holdfast/holdfast.db");
    flag("store", "");
    settings_refused("--store is empty");
}

static void without_a_home_a_folder_must_be_named(void **state)
{
    (void)state;
    settings_sources from = {.variable = settings_variable};
    expect(HF_INVALID, settings_read(&from, &desk.s, &desk.err), desk.err);
    expect_contains(desk.err.message, "--data");
}

static void what_goes_together_is_checked(void **state)
{
    (void)state;
    flag("tls-key", "/k.pem");
    settings_refused("tls-key is set without tls-certificate");
    desk.flags[0].name = "tls-certificate";
    settings_refused("tls-certificate is set without tls-key");
    desk.flags[0] = (settings_flag){"keep-forced", "89d"};
    settings_refused("keep-forced is shorter than keep-events");
    expect_contains(desk.err.message,
                    "make it as long (0: for ever), leave it out, or make keep-events shorter");
    desk.flags[0].value = "0";
    settings_read_all();
    flag("keep-events", "0");
    settings_read_all();
    desk.flags[0].value = "730d";
    settings_refused("keep-forced is shorter");
}

static void forced_acts_are_kept_as_long_as_other_events_when_nobody_says_how_long(void **state)
{
    static const char *const events[] = {"0", "1000d", "730d", "1d"};
    static const int64_t forced_days[] = {0, 1000, 730, 730};
    for (size_t i = 0; i < sizeof events / sizeof *events; i++) {
        clear(state);
        flag("keep-events", events[i]);
        expect_int(settings_read_all()->keep_forced_us, forced_days[i] * SETTINGS_DAY);
    }
}

/* ---- printing ---- */

static void print_as(bool json, hf_buffer *out)
{
    settings_print(desk.s, json, out);
    expect_true(!out->failed && out->text != NULL);
}

static void what_is_printed_can_be_read_again(void **state)
{
    hf_buffer first = {0}, second = {0};
    char text[8192] = "", line[256];
    for (int which = 0; which < 2; which++) {
        clear(state);
        text[0] = '\0';
        for (size_t i = 0; i < SETTINGS_COUNT; i++) {
            const setting *row = &settings_table[i];
            snprintf(line, sizeof line, "%s = %s\n", row->name, fitting(row, which));
            if (row != &settings_table[SETTINGS_ID_config])
                strncat(text, line, sizeof text - strlen(text) - 1);
        }
        settings_write_file(text);
        settings_read_all();
        print_as(false, &first);
        settings_write_file(first.text);
        settings_read_all();
        print_as(false, &second);
        for (size_t i = 0; i < SETTINGS_COUNT; i++)
            if (i != SETTINGS_ID_config)
                has_value(&settings_table[i], fitting(&settings_table[i], which),
                          SETTINGS_FROM_FILE);
        hf_buffer_done(&first);
        hf_buffer_done(&second);
    }
}

static void every_value_is_printed_with_its_origin(void **state)
{
    (void)state;
    char wanted[HF_URL_MAX + 64];
    hf_buffer text = {0}, json = {0};
    settings_write_file("\nwriters = 3\n");
    set_variable("HOLDFAST_LOG", "json");
    flag("hints", NULL);
    flag("store", "postgres://u:secret@h/db");
    settings_read_all();
    print_as(false, &text);
    print_as(true, &json);
    snprintf(wanted, sizeof wanted, "\nwriters = 3 ; file %s line 2\n", desk.path);
    expect_contains(text.text, wanted);
    expect_contains(text.text, "\nlog = json ; environment\n");
    expect_contains(text.text, "\nhints = yes ; flag\n");
    expect_contains(text.text, "\nbody-max = 1M ; default\n");
    expect_contains(text.text, "\nstore = postgres://u@h/db ; flag, password not shown\n");
    expect_contains(json.text,
                    "{\"name\":\"listen\",\"value\":[\"127.0.0.1:7420\"],\"from\":\"default\"}");
    expect_contains(json.text, "{\"name\":\"tls-key\",\"value\":null,\"from\":\"default\"}");
    snprintf(wanted, sizeof wanted,
             "{\"name\":\"writers\",\"value\":\"3\",\"from\":\"file\",\"file\":\"%s\",\"line\":2}",
             desk.path);
    expect_contains(json.text, wanted);
    expect_lacks(text.text, "secret");
    expect_lacks(json.text, "secret");
    hf_buffer_done(&text);
    hf_buffer_done(&json);
}

static void a_refused_store_is_not_repeated(void **state)
{
    (void)state;
    flag("store", "postgres://u:secret@h/db ");
    settings_refused("--store");
    expect_lacks(desk.err.message, "secret");
}

/* ---- memory ---- */

static void every_allocation_that_fails_is_told(void **state)
{
    (void)state;
    unsigned failed = 0;
    settings_write_file("listen = 127.0.0.1:1\nstore = memory:\nhost = a, b, c\n");
    flag("trust-proxy", "10.0.0.1");
    for (unsigned n = 1;; n++) {
        out_of_memory_begin(OF_LIBRARY, n, true);
        hf_status status = try_sources();
        if (!out_of_memory_end()) {
            expect_int(status, HF_OK);
            break;
        }
        expect_int(status, HF_NO_MEMORY);
        failed++;
    }
    expect_true(failed >= 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(every_setting_has_a_name_a_default_and_a_description, clear),
        cmocka_unit_test_setup(every_setting_that_takes_0_says_what_it_means, clear),
        cmocka_unit_test_setup(every_setting_comes_from_every_source_and_the_stronger_wins, clear),
        cmocka_unit_test_setup(every_setting_refuses_what_it_does_not_take_and_says_where, clear),
        cmocka_unit_test_setup(amounts_keep_to_their_bounds, clear),
        cmocka_unit_test_setup(lists_are_gathered_within_a_source_and_replaced_by_a_stronger_one,
                               clear),
        cmocka_unit_test_setup(a_list_may_be_emptied_but_for_the_addresses, clear),
        cmocka_unit_test_setup(the_file_may_be_indented_and_have_no_section, clear),
        cmocka_unit_test_setup(unknown_keys_and_sections_are_refused_by_name, clear),
        cmocka_unit_test_setup(long_lines_are_taken_whole_or_refused, clear),
        cmocka_unit_test_setup(a_file_that_is_named_must_be_there, clear),
        cmocka_unit_test_setup(what_is_no_text_is_no_file_of_settings, clear),
        cmocka_unit_test_setup(the_data_directory_of_a_unit_counts_before_the_home, clear),
        cmocka_unit_test_setup(without_a_home_a_folder_must_be_named, clear),
        cmocka_unit_test_setup(what_goes_together_is_checked, clear),
        cmocka_unit_test_setup(
            forced_acts_are_kept_as_long_as_other_events_when_nobody_says_how_long, clear),
        cmocka_unit_test_setup(what_is_printed_can_be_read_again, clear),
        cmocka_unit_test_setup(every_value_is_printed_with_its_origin, clear),
        cmocka_unit_test_setup(a_refused_store_is_not_repeated, clear),
        cmocka_unit_test_setup_teardown(every_allocation_that_fails_is_told, clear, clear),
    };
    return cmocka_run_group_tests_name("server_settings", tests, NULL, NULL);
}
