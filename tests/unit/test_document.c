// YAML and JSON as trees, what PyYAML makes of scalars, and the nearest word.
#include "base/guess.h"
#include "tess_features.h"
#include "tessera/sys/document.h"
#include "unit.h"

#include <stdlib.h>
#include <string.h>

static tess_context *ctx;

static void a_tree_has_places(void **state)
{
    (void)state;
    static const char text[] = "a: 1\nb:\n  - x\n  - {c: \"2\"}\nd: &k [3]\ne: *k\n";
    const char *path = unit_path("tree.yaml");
    unit_write_file(path, text, sizeof text - 1);
    tess_document *document = NULL;
    assert_ok(tess_document_load(ctx, path, &document));
    const tess_document_node *root = tess_document_root(document);
    assert_int_equal(root->kind, TESS_DOCUMENT_MAPPING);
    assert_int_equal(root->n_child, 4);
    const tess_document_entry *b = root->first->next;
    assert_string_equal(b->key, "b");
    assert_true(b->key_place.line == 2 && b->key_place.column == 1);
    assert_int_equal(b->value->kind, TESS_DOCUMENT_LIST);
    const tess_document_node *item = b->value->first->next->value;
    assert_null(b->value->first->key);
    const tess_document_node *two = item->first->value;
    assert_true(two->is_quoted && two->place.line == 4 && two->place.column == 9);
    assert_ptr_equal(b->next->value, b->next->next->value); // an alias
    tess_document_destroy(document);
    static const char broken[] = "a: [1\n";
    unit_write_file(path, broken, sizeof broken - 1);
    assert_fails(tess_document_load(ctx, path, &document), TESS_E_CONFIG, "tree.yaml:2:1: ");
    assert_null(document);
    assert_fails(tess_document_load(ctx, "/nowhere.yaml", &document), TESS_E_NOT_FOUND,
                 "/nowhere.yaml");
    unit_write_file(path, "", 0);
    assert_ok(tess_document_load(ctx, path, &document));
    assert_null(tess_document_root(document));
    tess_document_destroy(document);
    tess_document_destroy(NULL);
}

static void text_is_parsed_where_it_opens_a_bracket(void **state)
{
    (void)state;
    tess_document *document = NULL;
    assert_ok(tess_document_parse(ctx, "--set", " [1, {\"a\": true}]", &document));
    assert_int_equal(tess_document_root(document)->n_child, 2);
    tess_document_destroy(document);
    static const char *const plain[] = {"", "a: b", "- x", "\t", "&a", "null", "it's"};
    for (size_t i = 0; i < ARRAY_LEN(plain); i++) {
        assert_ok(tess_document_parse(ctx, "--set", plain[i], &document));
        const tess_document_node *root = tess_document_root(document);
        assert_int_equal(root->kind, TESS_DOCUMENT_SCALAR);
        assert_string_equal(root->text, plain[i]);
        tess_document_destroy(document);
    }
    assert_fails(tess_document_parse(ctx, "--set", "[1, ", &document), TESS_E_CONFIG, "--set");
}

static void scalars_have_the_types_of_yaml_1_1(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int32_t type;
    } cases[] = {
        {"1", TESS_DOCUMENT_INT},        {"1_000", TESS_DOCUMENT_INT},
        {"-1.5", TESS_DOCUMENT_FLOAT},   {"1e-8", TESS_DOCUMENT_TEXT},
        {"1.0e-8", TESS_DOCUMENT_FLOAT}, {"1.0e8", TESS_DOCUMENT_TEXT},
        {"010", TESS_DOCUMENT_OCTAL},    {"no", TESS_DOCUMENT_BOOL},
        {"True", TESS_DOCUMENT_BOOL},    {"~", TESS_DOCUMENT_NULL},
        {"", TESS_DOCUMENT_NULL},        {".nan", TESS_DOCUMENT_FLOAT},
        {"0x1F", TESS_DOCUMENT_INT},     {"word", TESS_DOCUMENT_TEXT},
    };
    tess_document_node node = {.kind = TESS_DOCUMENT_SCALAR};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        node.text = cases[i].text;
        node.is_quoted = 0;
        assert_int_equal(tess_document_scalar_type(&node), cases[i].type);
        node.is_quoted = 1;
        assert_int_equal(tess_document_scalar_type(&node), TESS_DOCUMENT_TEXT);
    }
}

static void the_nearest_word_is_guessed(void **state)
{
    (void)state;
    tess_guess guess;
    tess_guess_init(&guess, "tolerence");
    tess_guess_offer_all(&guess, "loss|tolerance|xtol|tol|loss");
    assert_string_equal(guess.best, "tolerance");
    assert_int_equal(guess.best_distance, 1);
    assert_true(tess_guess_is_near(&guess));
    assert_string_equal(guess.known, "loss, tolerance, xtol, tol");
    tess_guess_init(&guess, "qqqqqq");
    tess_guess_offer(&guess, "alphabet", 5);
    assert_string_equal(guess.best, "alpha");
    assert_false(tess_guess_is_near(&guess));
    char longer[100];
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    tess_guess_init(&guess, longer);
    for (int i = 0; i < 50; i++) {
        longer[0] = (char)('a' + i % 26);
        tess_guess_offer(&guess, longer, strlen(longer)); // too long to compare; few fit the list
    }
    assert_false(tess_guess_is_near(&guess));
    assert_true(strlen(guess.known) < sizeof guess.known);
}

static int setup(void **state)
{
    (void)state;
    ctx = unit_context(1, 0);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    tess_context_destroy(ctx);
    return 0;
}

int main(void)
{
    const struct CMUnitTest without_yaml[] = {
        cmocka_unit_test(scalars_have_the_types_of_yaml_1_1),
        cmocka_unit_test(the_nearest_word_is_guessed),
    };
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tree_has_places),
        cmocka_unit_test(text_is_parsed_where_it_opens_a_bracket),
        cmocka_unit_test(scalars_have_the_types_of_yaml_1_1),
        cmocka_unit_test(the_nearest_word_is_guessed),
    };
    return TESS_HAVE_YAML ? cmocka_run_group_tests(tests, setup, teardown)
                          : cmocka_run_group_tests(without_yaml, setup, teardown);
}
