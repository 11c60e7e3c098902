#include "base/json_read.h"
#include "unit.h"

#include <stdlib.h>
#include <string.h>

static tess_heap heap;

static tess_status parse(tess_blocks *memory, const char *text, const tess_json_value **out)
{
    tess_heap_init(&heap, NULL);
    tess_blocks_init(memory, &heap);
    // A copy of exactly this size: reading past its end is seen by the sanitizer.
    const size_t n = strlen(text);
    char *copy = malloc(n + (n == 0));
    memcpy(copy, text, n);
    const tess_status status = tess_json_parse(memory, "f.json", copy, n, out);
    free(copy);
    return status;
}

static void trees_are_read(void **state)
{
    (void)state;
    tess_blocks memory;
    const tess_json_value *v = NULL;
    assert_ok(
        parse(&memory,
              " {\"a\": [1, -2.5e-3, 0.1, null, true, false],\n \"b\\u00e9\\n\\ud83d\\ude00\": "
              "\"x\\\"\\/\", \"c\": {}, \"d\": []} ",
              &v));
    assert_int_equal(v->n, 4);
    const tess_json_value *a = tess_json_find(v, "a");
    assert_int_equal(a->kind, TESS_JSON_ARRAY);
    assert_int_equal(a->n, 6);
    assert_true(a->first->number == 1 && a->first->next->number == -2.5e-3);
    assert_true(a->first->next->next->number == 0.1);
    assert_string_equal(a->first->next->text, "-2.5e-3");
    assert_int_equal(a->first->next->next->next->kind, TESS_JSON_NULL);
    const tess_json_value *b = tess_json_find(v, "b\xc3\xa9\n\xf0\x9f\x98\x80");
    assert_non_null(b);
    assert_string_equal(b->text, "x\"/");
    assert_int_equal(b->line, 2);
    assert_int_equal(tess_json_find(v, "c")->n, 0);
    assert_int_equal(tess_json_find(v, "d")->n, 0);
    assert_null(tess_json_find(v, "e"));
    assert_null(tess_json_find(a, "e"));
    tess_blocks_free(&memory);
}

static void numbers_do_not_obey_the_locale(void **state)
{
    (void)state;
    if (!unit_set_decimal_comma()) {
        skip();
    }
    tess_blocks memory;
    const tess_json_value *v = NULL;
    assert_ok(parse(&memory, "1.25", &v));
    assert_true(v->number == 1.25);
    tess_blocks_free(&memory);
}

static void what_is_no_json_is_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",          " ",       "{",           "[",          "[1",        "[1,",   "[1,]",
        "{\"a\"",    "{\"a\":", "{\"a\":1",    "{\"a\":1,}", "{1:2}",     "\"a",   "\"\\",
        "\"\\u12\"", "\"\\x\"", "\"\\u0000\"", "01",         "-",         "-a",    "1.",
        "1e",        "1e+",     ".5",          "+1",         "nul",       "nullx", "1 2",
        "[1 2]",     "\"\t\"",  "'a'",         "[1}",        "{\"a\" 1}", "\xff",  "00",
        "-01",       "tru",     "[,1]",        "NaN",        "Infinity"};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        tess_blocks memory;
        const tess_json_value *v = NULL;
        assert_fails(parse(&memory, texts[i], &v), TESS_E_FORMAT, "f.json: line 1");
        tess_blocks_free(&memory);
    }
    char deep[4096];
    memset(deep, '[', sizeof deep - 1);
    deep[sizeof deep - 1] = '\0';
    tess_blocks memory;
    const tess_json_value *v = NULL;
    assert_fails(parse(&memory, deep, &v), TESS_E_FORMAT, "nested more than 64 deep");
    tess_blocks_free(&memory);
    memset(deep, '1', sizeof deep - 1);
    assert_fails(parse(&memory, deep, &v), TESS_E_FORMAT, "more than 63 characters");
    tess_blocks_free(&memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trees_are_read),
        cmocka_unit_test(what_is_no_json_is_refused),
        cmocka_unit_test(numbers_do_not_obey_the_locale),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
