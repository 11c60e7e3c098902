#include "base/json.h"
#include "unit.h"

#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static tess_heap heap;

static tess_json *new_json(int indent)
{
    tess_json *json = NULL;
    assert_ok(tess_json_create_on(&heap, indent, &json));
    return json;
}

// The finished text is exactly this, and JSON.
static void finish_as(tess_json *json, const char *expected)
{
    const char *text = NULL;
    assert_ok(tess_json_finish(json, &text));
    assert_string_equal(text, expected);
    assert_true(unit_is_json(text, NULL));
    tess_json_destroy(json);
    assert_int_equal(atomic_load(&heap.now_bytes), 0);
}

static void writes_every_kind_on_one_line(void **state)
{
    (void)state;
    tess_json *json = new_json(0);
    tess_json_object_begin(json, NULL);
    tess_json_text(json, "text", "a");
    tess_json_int(json, "int", INT64_MIN);
    tess_json_uint(json, "uint", UINT64_MAX);
    tess_json_real(json, "real", 0.1);
    tess_json_bool(json, "yes", 7);
    tess_json_text(json, "none", NULL);
    tess_json_raw(json, "raw", "[1]");
    tess_json_array_begin(json, "array");
    tess_json_int(json, NULL, 1);
    tess_json_object_begin(json, NULL);
    tess_json_object_end(json);
    tess_json_array_end(json);
    tess_json_object_end(json);
    finish_as(json, "{\"text\": \"a\", \"int\": -9223372036854775808, "
                    "\"uint\": 18446744073709551615, \"real\": 0.1, "
                    "\"yes\": true, \"none\": null, \"raw\": [1], \"array\": [1, {}]}");
}

static void indents(void **state)
{
    (void)state;
    tess_json *json = new_json(2);
    tess_json_object_begin(json, NULL);
    tess_json_array_begin(json, "a");
    tess_json_int(json, NULL, 1);
    tess_json_int(json, NULL, 2);
    tess_json_array_end(json);
    tess_json_array_begin(json, "b");
    tess_json_array_end(json);
    tess_json_object_end(json);
    finish_as(json, "{\n  \"a\": [\n    1,\n    2\n  ],\n  \"b\": []\n}");
}

static void escapes_what_json_forbids(void **state)
{
    (void)state;
    tess_json *json = new_json(0);
    tess_json_text(json, NULL, "q\" b\\ n\n t\t \x01 \x7f \xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80");
    finish_as(json, "\"q\\\" b\\\\ n\\u000a t\\u0009 \\u0001 \x7f \xc3\xa9 \xe2\x82\xac "
                    "\xf0\x9f\x98\x80\"");
}

static void repairs_invalid_utf8(void **state)
{
    (void)state;
    static const char *const broken[] = {
        "\xff",             // no lead byte
        "\x80",             // a continuation alone
        "\xc0\xaf",         // overlong
        "\xc3",             // cut off
        "\xe0\x9f\xbf",     // overlong
        "\xed\xa0\x80",     // surrogate
        "\xf4\x90\x80\x80", // beyond U+10FFFF
        "\xf5\x80\x80\x80",
    };
    for (size_t i = 0; i < ARRAY_LEN(broken); i++) {
        tess_json *json = new_json(0);
        const char *text = NULL;
        tess_json_text(json, NULL, broken[i]);
        assert_ok(tess_json_finish(json, &text));
        assert_int_equal(strlen(text), 2 + 3 * strlen(broken[i]));
        for (size_t k = 0; k < strlen(broken[i]); k++) {
            assert_memory_equal(text + 1 + 3 * k, "\xef\xbf\xbd", 3);
        }
        tess_json_destroy(json);
    }
}

static void not_finite_is_null(void **state)
{
    (void)state;
    tess_json *json = new_json(0);
    tess_json_array_begin(json, NULL);
    tess_json_real(json, NULL, (double)NAN);
    tess_json_real(json, NULL, (double)INFINITY);
    tess_json_real(json, NULL, (double)-INFINITY);
    tess_json_real(json, NULL, -0.0);
    tess_json_real(json, NULL, 5e-324);
    tess_json_array_end(json);
    finish_as(json, "[null, null, null, -0, 4.94065645841247e-324]");
}

static void reals_have_the_fewest_digits_that_read_back(void **state)
{
    (void)state;
    static const double values[] = {0.0054, 2e6, 0.1 + 0.2, 1.0 / 3, 1e22, -DBL_MAX};
    tess_json *json = new_json(0);
    const char *text = NULL;
    tess_json_array_begin(json, NULL);
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        tess_json_real(json, NULL, values[i]);
    }
    tess_json_array_end(json);
    assert_int_equal(tess_json_finish(json, &text), TESS_OK);
    assert_string_equal(text, "[0.0054, 2000000, 0.30000000000000004, 0.3333333333333333, 1e+22, "
                              "-1.7976931348623157e+308]");
    char *at = (char *)(uintptr_t)text;
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        assert_true(strtod(at + 1, &at) == values[i]);
    }
    tess_json_destroy(json);
}

static void decimal_comma_does_not_leak(void **state)
{
    (void)state;
    if (!unit_set_decimal_comma()) {
        skip();
    }
    tess_json *json = new_json(0);
    tess_json_real(json, NULL, 1.5);
    finish_as(json, "1.5");
    setlocale(LC_ALL, "C");
}

typedef void misuse_fn(tess_json *json);

static void no_end(tess_json *json)
{
    tess_json_object_begin(json, NULL);
}
static void wrong_end(tess_json *json)
{
    tess_json_object_begin(json, NULL);
    tess_json_array_end(json);
}
static void end_alone(tess_json *json)
{
    tess_json_int(json, NULL, 1);
    tess_json_object_end(json);
}
static void key_missing(tess_json *json)
{
    tess_json_object_begin(json, NULL);
    tess_json_int(json, NULL, 1);
    tess_json_object_end(json);
}
static void key_in_array(tess_json *json)
{
    tess_json_array_begin(json, NULL);
    tess_json_int(json, "key", 1);
    tess_json_array_end(json);
}
static void two_values(tess_json *json)
{
    tess_json_int(json, NULL, 1);
    tess_json_int(json, NULL, 2);
}
static void nothing_at_all(tess_json *json)
{
    (void)json;
}
static void too_deep(tess_json *json)
{
    for (int i = 0; i < 40; i++) {
        tess_json_array_begin(json, NULL);
    }
    for (int i = 0; i < 40; i++) {
        tess_json_array_end(json);
    }
}

static void misuse_is_reported_at_the_end(void **state)
{
    (void)state;
    misuse_fn *const ways[] = {no_end,       wrong_end,  end_alone,      key_missing,
                               key_in_array, two_values, nothing_at_all, too_deep};
    for (size_t i = 0; i < ARRAY_LEN(ways); i++) {
        tess_json *json = new_json(0);
        const char *text = NULL;
        ways[i](json);
        if (tess_json_finish(json, &text) != TESS_E_INTERNAL) {
            fail_msg("misuse %zu was not noticed: %s", i, text);
        }
        assert_string_equal(text, "");
        tess_json_destroy(json);
    }
}

static void lost_memory_is_reported_at_the_end(void **state)
{
    (void)state;
    for (long long fail_at = 1; fail_at <= 4; fail_at++) {
        unit_allocator allocator;
        unit_allocator_init(&allocator, fail_at);
        tess_heap failing;
        tess_heap_init(&failing, &allocator.table);
        tess_json *json = NULL;
        const char *text = NULL;
        tess_status status = tess_json_create_on(&failing, 0, &json);
        if (status == TESS_OK) {
            tess_json_array_begin(json, NULL);
            for (int i = 0; i < 1000; i++) {
                tess_json_int(json, NULL, i);
            }
            tess_json_array_end(json);
            status = tess_json_finish(json, &text);
        }
        assert_int_equal(status, TESS_E_MEMORY);
        assert_contains(tess_last_error(), "bytes");
        tess_json_destroy(json);
        assert_int_equal(allocator.n_live, 0);
    }
}

int main(void)
{
    tess_heap_init(&heap, NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_every_kind_on_one_line),
        cmocka_unit_test(indents),
        cmocka_unit_test(escapes_what_json_forbids),
        cmocka_unit_test(repairs_invalid_utf8),
        cmocka_unit_test(not_finite_is_null),
        cmocka_unit_test(reals_have_the_fewest_digits_that_read_back),
        cmocka_unit_test(decimal_comma_does_not_leak),
        cmocka_unit_test(misuse_is_reported_at_the_end),
        cmocka_unit_test(lost_memory_is_reported_at_the_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
