#include "tessera/param.h"
#include "tessera/tessera.h"
#include "unit.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct settings {
    uint32_t struct_size;
    int32_t flag;
    int32_t choice;
    int32_t reserved;
    int64_t count;
    double rate;
    uint64_t limit;
    int32_t mode;
    int32_t floor;
    double bound;
} settings;

static const tess_param params[] = {
    {"flag", TESS_PARAM_FLAG, offsetof(settings, flag), 1, 0, 1, NULL, "", "a flag"},
    {"choice", TESS_PARAM_CHOICE, offsetof(settings, choice), 2, 0, 2, "red|green|dark_blue", "",
     "a colour"},
    {"count", TESS_PARAM_INT, offsetof(settings, count), 10, -5, 9.1e18, NULL, "epochs", "a count"},
    {"rate", TESS_PARAM_REAL, offsetof(settings, rate), 0.25, 0, 1000, NULL, "Hz", "a rate"},
    {"limit", TESS_PARAM_BYTES, offsetof(settings, limit), 1048576, 0, 9e18, NULL, "bytes",
     "a limit"},
    {"mode", TESS_PARAM_CHOICE, offsetof(settings, mode), 1, 0, 3, "exact|fast|bounded:|raw", "",
     "a choice, one of which takes a number"},
    {"bound", TESS_PARAM_REAL, offsetof(settings, bound), 1e-6, 1e-12, 1, NULL, "nats",
     "the number of bounded"},
};
static const tess_param_table table = {"demo", params, ARRAY_LEN(params)};
enum { FLAG, CHOICE, COUNT, RATE, LIMIT, MODE, BOUND };

static settings defaults(void)
{
    settings s = {.struct_size = sizeof s};
    tess_params_defaults(&table, &s);
    return s;
}

static void defaults_come_from_the_table(void **state)
{
    (void)state;
    const settings s = defaults();
    assert_int_equal(s.struct_size, sizeof s);
    assert_int_equal(s.flag, 1);
    assert_int_equal(s.choice, 2);
    assert_int_equal(s.count, 10);
    assert_true(s.rate == 0.25);
    assert_int_equal(s.limit, 1048576);
    assert_ok(tess_params_check(&table, &s));
}

static void whole_numbers_in_many_spellings(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t value;
    } good[] = {{"7", 7},     {"-5", -5},       {"+3", 3},
                {"0x10", 16}, {"1e3", 1000},    {"10.0", 10},
                {"010", 10},  {"1e6", 1000000}, {"9007199254740993", INT64_C(9007199254740993)},
                {"0", 0},     {"0007", 7}};
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        settings s = defaults();
        assert_ok(tess_param_set_text(&params[COUNT], &s, good[i].text));
        if (s.count != good[i].value) {
            fail_msg("'%s' became %lld", good[i].text, (long long)s.count);
        }
    }
    static const char *const bad[] = {"",    "many", "1.5", "1e-3", "5 apples", "0x",
                                      "nan", " 5",   "5 ",  "1,0",  "--3",      "1e30"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        settings s = defaults();
        assert_fails(tess_param_set_text(&params[COUNT], &s, bad[i]), TESS_E_RANGE, "count: '");
        assert_contains(tess_last_error(), "not a whole number");
    }
}

static void reals_in_many_spellings(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double value;
    } good[] = {{"1e-3", 1e-3}, {".5", 0.5}, {"10", 10}, {"1E2", 100}, {"0.1", 0.1}};
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        settings s = defaults();
        assert_ok(tess_param_set_text(&params[RATE], &s, good[i].text));
        assert_true(s.rate == good[i].value);
    }
    static const char *const bad[] = {"", "fast", "1,5", "1.5Hz", " 1", "1.2.3", "1 "};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        settings s = defaults();
        assert_fails(tess_param_set_text(&params[RATE], &s, bad[i]), TESS_E_RANGE,
                     "is not a number");
    }
    settings s = defaults();
    assert_fails(tess_param_set_text(&params[RATE], &s, "nan"), TESS_E_RANGE, "out of range");
    assert_fails(tess_param_set_text(&params[RATE], &s, "inf"), TESS_E_RANGE, "out of range");
}

static void flags_and_choices(void **state)
{
    (void)state;
    static const char *const yes[] = {"true", "yes", "on", "1", "YES", "True"};
    static const char *const no[] = {"false", "no", "off", "0", "Off"};
    settings s = defaults();
    for (size_t i = 0; i < ARRAY_LEN(yes); i++) {
        s.flag = 0;
        assert_ok(tess_param_set_text(&params[FLAG], &s, yes[i]));
        assert_int_equal(s.flag, 1);
    }
    for (size_t i = 0; i < ARRAY_LEN(no); i++) {
        s.flag = 1;
        assert_ok(tess_param_set_text(&params[FLAG], &s, no[i]));
        assert_int_equal(s.flag, 0);
    }
    assert_fails(tess_param_set_text(&params[FLAG], &s, "maybe"), TESS_E_RANGE,
                 "flag: 'maybe' is neither true nor false");
    assert_ok(tess_param_set_text(&params[CHOICE], &s, "green"));
    assert_int_equal(s.choice, 1);
    static const char *const bad[] = {"blue", "Green", "", "dark", "red|green", "1"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        assert_fails(tess_param_set_text(&params[CHOICE], &s, bad[i]), TESS_E_RANGE,
                     "choose one of red|green|dark_blue");
    }
}

static void choices_with_a_number(void **state)
{
    (void)state;
    char text[64];
    settings s = defaults();
    assert_int_equal(s.mode, 1);
    assert_ok(tess_param_set_text(&params[MODE], &s, "bounded:1e-4"));
    assert_int_equal(s.mode, 2);
    assert_true(s.bound == 1e-4);
    // Without a number the row of the number decides.
    s = defaults();
    assert_ok(tess_param_set_text(&params[MODE], &s, "bounded"));
    assert_int_equal(s.mode, 2);
    assert_true(s.bound == 1e-6);
    tess_param_get_text(&params[MODE], &s, text, sizeof text);
    assert_string_equal(text, "bounded");
    assert_ok(tess_param_set_text(&params[MODE], &s, "raw"));
    assert_int_equal(s.mode, 3);

    static const struct {
        const char *text;
        const char *message;
    } bad[] = {{"bounded:", "bound: '' is not a number"},
               {"bounded:x", "bound: 'x' is not a number"},
               {"bounded:1e-4 ", "bound: '1e-4 ' is not a number"},
               {"bounded:2", "bound: 2 is out of range; allowed is 1e-12 to 1 nats"},
               {"bounded:nan", "bound: nan is out of range"},
               {"exact:1", "mode: 'exact' takes no number, got 'exact:1'"},
               {"exact:", "mode: 'exact' takes no number"},
               {"bound:1", "mode: 'bound:1' does not exist; choose one of exact|fast|bounded:|raw"},
               {":1", "mode: ':1' does not exist"}};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        s = defaults();
        assert_fails(tess_param_set_text(&params[MODE], &s, bad[i].text), TESS_E_RANGE,
                     bad[i].message);
    }
}

static void sizes_in_bytes(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t value;
    } good[] = {{"256M", UINT64_C(256) << 20},
                {"2GiB", UINT64_C(2) << 30},
                {"1.5G", UINT64_C(3) << 29},
                {"4096", 4096},
                {"1k", 1024},
                {"8gb", UINT64_C(8) << 30},
                {"12B", 12},
                {"1T", UINT64_C(1) << 40},
                {"1e3", 1000},
                {"0", 0}};
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        uint64_t bytes = 1;
        assert_ok(tess_parse_bytes(good[i].text, &bytes));
        assert_true(bytes == good[i].value);
    }
    static const char *const bad[] = {"",    "M",   "-1",  "1X",     "1MM", "12iB",
                                      "nan", "inf", "1 M", "99999P", "1,5G"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        uint64_t bytes = 1;
        assert_fails(tess_parse_bytes(bad[i], &bytes), TESS_E_RANGE, "write 256M, 8G");
    }
    settings s = defaults();
    assert_ok(tess_param_set_text(&params[LIMIT], &s, "2GiB"));
    assert_true(s.limit == UINT64_C(2) << 30);
    assert_fails(tess_param_set_text(&params[LIMIT], &s, "lots"), TESS_E_RANGE,
                 "limit: 'lots' is not a size");
}

static void ranges_are_checked_with_a_helpful_message(void **state)
{
    (void)state;
    settings s = defaults();
    assert_fails(tess_param_set_text(&params[COUNT], &s, "-6"), TESS_E_RANGE,
                 "count: -6 is out of range; allowed is -5 to 9.1e+18 epochs");
    s = defaults();
    s.rate = 1001;
    assert_fails(tess_params_check(&table, &s), TESS_E_RANGE,
                 "rate: 1001 is out of range; allowed is 0 to 1000 Hz");
    s = defaults();
    s.rate = (double)NAN;
    assert_fails(tess_params_check(&table, &s), TESS_E_RANGE, "rate: ");
    s = defaults();
    s.choice = 3;
    assert_fails(tess_params_check(&table, &s), TESS_E_RANGE,
                 "choice: choice 3 does not exist; choose one of red|green|dark_blue");
}

static void text_reads_back_as_the_same_value(void **state)
{
    (void)state;
    static const double rates[] = {0, 0.1, 1e-300, 123.456, 1.0 / 3.0, 1000};
    static const int64_t counts[] = {
        -5, 0, 1, 1000000, INT64_C(9007199254740993), INT64_C(9000000000000000001)};
    char text[64];
    for (size_t i = 0; i < ARRAY_LEN(rates); i++) {
        settings s = {.rate = rates[i]};
        settings back = {0};
        tess_param_get_text(&params[RATE], &s, text, sizeof text);
        assert_ok(tess_param_set_text(&params[RATE], &back, text));
        assert_true(back.rate == rates[i]);
    }
    for (size_t i = 0; i < ARRAY_LEN(counts); i++) {
        settings s = {.count = counts[i]};
        settings back = {0};
        tess_param_get_text(&params[COUNT], &s, text, sizeof text);
        assert_ok(tess_param_set_text(&params[COUNT], &back, text));
        assert_true(back.count == counts[i]);
    }
    settings s = defaults();
    tess_param_get_text(&params[FLAG], &s, text, sizeof text);
    assert_string_equal(text, "true");
    tess_param_get_text(&params[CHOICE], &s, text, sizeof text);
    assert_string_equal(text, "dark_blue");
    tess_param_get_text(&params[LIMIT], &s, text, sizeof text);
    assert_string_equal(text, "1048576");
    tess_param_get_text(&params[RATE], &s, text, sizeof text);
    assert_string_equal(text, "0.25");
}

static void a_success_leaves_no_message(void **state)
{
    (void)state;
    settings s = defaults();
    uint64_t bytes = 0;
    assert_fails(tess_parse_bytes("x", &bytes), TESS_E_RANGE, "x");
    assert_ok(tess_parse_bytes("1", &bytes));
    assert_string_equal(tess_last_error(), "");
    assert_fails(tess_param_set_text(&params[COUNT], &s, "x"), TESS_E_RANGE, "x");
    assert_ok(tess_param_set_text(&params[COUNT], &s, "1"));
    assert_string_equal(tess_last_error(), "");
    assert_fails(tess_param_set_text(&params[COUNT], &s, "x"), TESS_E_RANGE, "x");
    assert_ok(tess_params_check(&table, &s));
    assert_string_equal(tess_last_error(), "");
}

static void decimal_comma_changes_nothing(void **state)
{
    (void)state;
    if (!unit_set_decimal_comma()) {
        skip();
    }
    settings s = defaults();
    char text[64];
    assert_ok(tess_param_set_text(&params[RATE], &s, "1.5"));
    assert_true(s.rate == 1.5);
    tess_param_get_text(&params[RATE], &s, text, sizeof text);
    assert_string_equal(text, "1.5");
    assert_fails(tess_param_set_text(&params[RATE], &s, "1,5"), TESS_E_RANGE, "is not a number");
    uint64_t bytes = 0;
    assert_ok(tess_parse_bytes("1.5K", &bytes));
    assert_int_equal(bytes, 1536);
    setlocale(LC_ALL, "C");
}

static void every_table_of_the_library_is_sound(void **state)
{
    (void)state;
    int64_t n_table = 0;
    const tess_param_table *const *tables = tess_param_tables(&n_table);
    assert_true(n_table >= 2);
    for (int64_t t = 0; t < n_table; t++) {
        double config[64] = {0};
        tess_params_defaults(tables[t], config);
        assert_ok(tess_params_check(tables[t], config));
        for (int64_t i = 0; i < tables[t]->n_param; i++) {
            const tess_param *p = &tables[t]->params[i];
            assert_true(p->minimum <= p->default_value && p->default_value <= p->maximum);
            assert_int_equal(strspn(p->name, "abcdefghijklmnopqrstuvwxyz_0123456789"),
                             strlen(p->name));
            assert_true(strlen(p->help) > 5 && p->help[strlen(p->help) - 1] != '.');
            assert_int_equal(p->type == TESS_PARAM_CHOICE, p->choices != NULL);
            assert_true(p->offset + 4 <= sizeof config);
            if (p->choices && strchr(p->choices, ':')) {
                assert_true(i + 1 < tables[t]->n_param && p[1].type == TESS_PARAM_REAL);
            }
            for (int64_t k = 0; k < i; k++) {
                assert_string_not_equal(p->name, tables[t]->params[k].name);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_come_from_the_table),
        cmocka_unit_test(whole_numbers_in_many_spellings),
        cmocka_unit_test(reals_in_many_spellings),
        cmocka_unit_test(flags_and_choices),
        cmocka_unit_test(choices_with_a_number),
        cmocka_unit_test(sizes_in_bytes),
        cmocka_unit_test(ranges_are_checked_with_a_helpful_message),
        cmocka_unit_test(text_reads_back_as_the_same_value),
        cmocka_unit_test(a_success_leaves_no_message),
        cmocka_unit_test(decimal_comma_changes_nothing),
        cmocka_unit_test(every_table_of_the_library_is_sound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
