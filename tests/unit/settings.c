#include "settings.h"

#include <stdio.h>
#include <stdlib.h>

#include "scoreboard.h"
#include "support.h"

static const char *const variables[] = {"LARDER_DB",     "LARDER_RUN_DIR",     "LARDER_READERS",
                                        "LARDER_SYNC",   "LARDER_SOCKET_MODE", "LARDER_CORS_ORIGIN",
                                        "LARDER_PROBES", "LARDER_INIT",        "LARDER_SLOW_MS",
                                        "LARDER_LISTEN"};

static int setup(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(variables); i++) {
        unsetenv(variables[i]);
    }
    return 0;
}

static char error[256];

/* Reads arguments up to a NULL, behind the program's name. */
static bool read_settings(struct settings *settings, const char *const *arguments) {
    static char storage[8][256];
    char *argv[9] = {"larder"};
    int argc = 1;
    for (; arguments[argc - 1] != NULL; argc++) {
        argv[argc] = storage[argc - 1];
        snprintf(argv[argc], sizeof storage[0], "%s", arguments[argc - 1]);
    }
    argv[argc] = NULL;
    error[0] = '\0';
    return settings_read(settings, argc, argv, error, sizeof error);
}

#define READ(settings, ...) read_settings((settings), (const char *const[]){__VA_ARGS__ NULL})

static void without_options_the_defaults_hold(void **state) {
    (void)state;
    struct settings settings;
    assert_true(READ(&settings, ));
    assert_string_equal(settings.db, "larder.db");
    assert_string_equal(settings.run_dir, "/run/larder");
    assert_int_equal(settings.readers, settings_default_readers());
    assert_int_equal(settings.sync, DB_SYNC_FULL);
    assert_int_equal(settings.socket_mode, 0660);
    assert_null(settings.cors_origin);
    assert_false(settings.demo);
    assert_false(settings.overwrite);
    assert_true(settings.copy);
    assert_false(settings.probes);
    assert_int_equal(settings.init, INIT_NOTHING);
    assert_int_equal(settings.slow_ms, 1000);
    assert_false(settings.once);
}

static void each_option_sets_its_value(void **state) {
    (void)state;
    struct settings settings;
    assert_true(READ(&settings, "--db", "/var/x.db", "--run-dir=/run/x", "--readers", "3",
                     "--sync=normal", ));
    assert_string_equal(settings.db, "/var/x.db");
    assert_string_equal(settings.run_dir, "/run/x");
    assert_int_equal(settings.readers, 3);
    assert_int_equal(settings.sync, DB_SYNC_NORMAL);
    assert_true(
        READ(&settings, "--socket-mode", "0600", "--cors-origin=https://example.org", "--demo", ));
    assert_int_equal(settings.socket_mode, 0600);
    assert_string_equal(settings.cors_origin, "https://example.org");
    assert_true(settings.demo);
    assert_string_equal(settings.db, "larder.db"); /* nothing is left of the call before */
    assert_true(READ(&settings, "--db=a=b", ));
    assert_string_equal(settings.db, "a=b");
    assert_true(READ(&settings, "--overwrite", "--no-copy", ));
    assert_true(settings.overwrite);
    assert_false(settings.copy);
    assert_true(READ(&settings, "--slow-ms=250", "--once", ));
    assert_int_equal(settings.slow_ms, 250);
    assert_true(settings.once);
    assert_true(READ(&settings, "--slow-ms=off", ));
    assert_int_equal(settings.slow_ms, 0);
    assert_true(READ(&settings, "--probes=on", ));
    assert_true(settings.probes);
    assert_true(READ(&settings, "--init=demo", ));
    assert_int_equal(settings.init, INIT_DEMO);
    assert_true(READ(&settings, "--init=empty", ));
    assert_int_equal(settings.init, INIT_EMPTY);
}

static void an_option_beats_its_variable_and_a_later_one_beats_both(void **state) {
    (void)state;
    struct settings settings;
    setenv("LARDER_DB", "/from/environment", 1);
    setenv("LARDER_READERS", "7", 1);
    setenv("LARDER_RUN_DIR", "/run/environment", 1);
    setenv("LARDER_SYNC", "NORMAL", 1);
    setenv("LARDER_SOCKET_MODE", "666", 1);
    setenv("LARDER_CORS_ORIGIN", "*", 1);
    assert_true(READ(&settings, "--db", "/from/option", "--readers=1", "--readers", "2", ));
    assert_string_equal(settings.db, "/from/option");
    assert_int_equal(settings.readers, 2);
    assert_string_equal(settings.run_dir, "/run/environment");
    assert_int_equal(settings.sync, DB_SYNC_NORMAL);
    assert_int_equal(settings.socket_mode, 0666);
    assert_string_equal(settings.cors_origin, "*");
}

static void values_are_taken_or_refused_with_a_sentence_that_names_the_option(void **state) {
    static const struct {
        const char *option, *value;
        bool good;
    } cases[] = {
        {"--db", "", false},
        {"--run-dir", "", false},
        {"--readers", "0", true},
        {"--readers", "64", true},
        {"--readers", "65", false},
        {"--readers", "-1", false},
        {"--readers", "", false},
        {"--readers", "two", false},
        {"--readers", "2x", false},
        {"--readers", "99999999999999999999", false},
        {"--sync", "full", true},
        {"--sync", "FULL", true},
        {"--sync", "normal", true},
        {"--sync", "NORMAL", true},
        {"--sync", "off", false},
        {"--sync", "", false},
        {"--socket-mode", "660", true},
        {"--socket-mode", "0777", true},
        {"--socket-mode", "1", true},
        {"--socket-mode", "0", false},
        {"--socket-mode", "", false},
        {"--socket-mode", "1000", false},
        {"--socket-mode", "7777777777777777777777", false},
        {"--socket-mode", "68", false},
        {"--socket-mode", "rw", false},
        {"--socket-mode", "-660", false},
        {"--probes", "1", true},
        {"--probes", "on", true},
        {"--probes", "0", true},
        {"--probes", "off", true},
        {"--probes", "yes", false},
        {"--slow-ms", "1", true},
        {"--slow-ms", "3600000", true},
        {"--slow-ms", "off", true},
        {"--slow-ms", "0", false},
        {"--slow-ms", "-1", false},
        {"--slow-ms", "3600001", false},
        {"--slow-ms", "1.5", false},
        {"--slow-ms", "", false},
        {"--probes", "", false},
        {"--init", "no", true},
        {"--init", "yes", false},
        {"--init", "", false},
        {"--cors-origin", "", true},
        {"--cors-origin", "*", true},
        {"--cors-origin", "https://example.org:8443", true},
        {"--cors-origin", "https://example.org\r\nSet-Cookie: a", false},
        {"--cors-origin", "https://a.example https://b.example", false},
        {"--cors-origin", "https://\xC3\xA4.example", false},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct settings settings;
        bool good = READ(&settings, cases[i].option, cases[i].value, );
        if (good != cases[i].good || (!good && strstr(error, cases[i].option) != error)) {
            fail_msg("%s '%s': %s", cases[i].option, cases[i].value, error);
        }
    }
}

static void a_bad_variable_is_named_in_the_sentence(void **state) {
    static const char *const bad[][2] = {{"LARDER_READERS", "many"},
                                         {"LARDER_SYNC", "maybe"},
                                         {"LARDER_SOCKET_MODE", "9"},
                                         {"LARDER_CORS_ORIGIN", "a b"}};
    (void)state;
    for (size_t i = 0; i < COUNT(bad); i++) {
        struct settings settings;
        setenv(bad[i][0], bad[i][1], 1);
        assert_false(READ(&settings, ));
        assert_ptr_equal(strstr(error, bad[i][0]), error);
        assert_non_null(strstr(error, bad[i][1]));
        unsetenv(bad[i][0]);
    }
}

static void what_is_not_an_option_is_refused(void **state) {
    static const char *const arguments[] = {
        "--nonsense", "--nonsense=1", "--",     "-",        "db",    "",
        "--d",        "--dbx",        "--DB=x", "--demo=1", "-db=x", "=x"};
    (void)state;
    for (size_t i = 0; i < COUNT(arguments); i++) {
        struct settings settings;
        if (READ(&settings, arguments[i], )) {
            fail_msg("'%s' is taken", arguments[i]);
        }
        assert_non_null(strstr(error, "is not an option"));
    }
}

static void an_option_at_the_end_needs_its_value(void **state) {
    static const char *const options[] = {"--db",   "--run-dir",     "--readers",
                                          "--sync", "--socket-mode", "--cors-origin"};
    (void)state;
    for (size_t i = 0; i < COUNT(options); i++) {
        struct settings settings;
        assert_false(READ(&settings, options[i], ));
        assert_ptr_equal(strstr(error, options[i]), error);
        assert_non_null(strstr(error, "needs a value"));
    }
}

static void help_lists_every_option_with_its_variable(void **state) {
    char text[8192] = "";
    (void)state;
    FILE *out = tmpfile();
    assert_non_null(out);
    settings_help(out);
    rewind(out);
    text[fread(text, 1, sizeof text - 1, out)] = '\0';
    fclose(out);
    for (size_t i = 0; i < COUNT(variables); i++) {
        assert_non_null(strstr(text, variables[i]));
    }
    assert_non_null(strstr(text, "--db"));
    assert_non_null(strstr(text, "--readers"));
}

static void the_default_readers_fit_the_scoreboard(void **state) {
    (void)state;
    assert_in_range(settings_default_readers(), 1, SCOREBOARD_SLOTS - 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(without_options_the_defaults_hold, setup),
        cmocka_unit_test_setup(each_option_sets_its_value, setup),
        cmocka_unit_test_setup(an_option_beats_its_variable_and_a_later_one_beats_both, setup),
        cmocka_unit_test_setup(values_are_taken_or_refused_with_a_sentence_that_names_the_option,
                               setup),
        cmocka_unit_test_setup(a_bad_variable_is_named_in_the_sentence, setup),
        cmocka_unit_test_setup(what_is_not_an_option_is_refused, setup),
        cmocka_unit_test_setup(an_option_at_the_end_needs_its_value, setup),
        cmocka_unit_test_setup(help_lists_every_option_with_its_variable, setup),
        cmocka_unit_test_setup(the_default_readers_fit_the_scoreboard, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
