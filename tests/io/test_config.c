// Configuration files against a small set of tables.

#include "document/config.h"
#include "document/config_tree.h"
#include "io_support.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct sample {
    int64_t n_fold;
    double rate_hz;
    int32_t verbose;
    int32_t method;
    uint64_t tile_bytes;
} sample;

static const tess_param fit_params[] = {
    {"n_fold", TESS_PARAM_INT, offsetof(sample, n_fold), 10, 2, 100, NULL, "folds", "folds"},
    {"rate_hz", TESS_PARAM_REAL, offsetof(sample, rate_hz), 1, 1e-6, 1e6, NULL, "Hz", "rate"},
    {"verbose", TESS_PARAM_FLAG, offsetof(sample, verbose), 0, 0, 1, NULL, "", "talk"},
    {"method", TESS_PARAM_CHOICE, offsetof(sample, method), 0, 0, 2, "exact|compat|off", "", "how"},
    {"tile_bytes", TESS_PARAM_BYTES, offsetof(sample, tile_bytes), 1e6, 1, 1e12, NULL, "bytes",
     "tile"},
};
static const tess_param run_params[] = {
    {"threads", TESS_PARAM_INT, 0, 0, 0, 1024, NULL, "", "threads"},
};
static const tess_param_table fit_table = {"demo.fit", fit_params, 5};
static const tess_param_table run_table = {"run", run_params, 1};
static const tess_param_table *const tables[] = {&fit_table, &run_table};

static tess_heap heap;

static tess_status load_named(const char *name, const char *text, size_t n_byte,
                              tess_config **config)
{
    const char *path = io_scratch(name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, n_byte, file), n_byte);
    fclose(file);
    return tess_config_load_with(&heap, path, tables, 2, config);
}

static tess_status load(const char *text, tess_config **config)
{
    return load_named(TESS_TEST_HAS_YAML ? ".yaml" : ".json", text, strlen(text), config);
}

static void assert_fails(const char *text, const char *part)
{
    tess_config *config = NULL;
    const tess_status status = load(text, &config);
    if (status != TESS_E_CONFIG || strstr(tess_last_error(), part) == NULL) {
        fail_msg("expected TESS_E_CONFIG with '%s', got %s: %s", part, tess_status_name(status),
                 tess_last_error());
    }
    assert_null(config);
    assert_int_equal(atomic_load(&heap.now_bytes), 0);
}

static void applies_typed_values(void **state)
{
    (void)state;
    tess_config *config = NULL;
    sample s;
    int64_t threads = 7;
    tess_params_defaults(&fit_table, &s);
    const char *text = "# a comment\n"
                       "demo:\n"
                       "  fit:\n"
                       "    n_fold: 0x10\n"
                       "    rate_hz: 2.5e+2\n"
                       "    verbose: yes\n"
                       "    method: compat\n"
                       "    tile_bytes: 256M\n"
                       "run:\n";
    assert_int_equal(load(text, &config), TESS_OK);
    assert_int_equal(tess_config_apply(config, &fit_table, &s), TESS_OK);
    assert_int_equal(tess_config_apply(config, &run_table, &threads), TESS_OK);
    assert_int_equal(s.n_fold, 16);
    assert_true(s.rate_hz == 250);
    assert_int_equal(s.verbose, 1);
    assert_int_equal(s.method, 1);
    assert_int_equal(s.tile_bytes, 256 << 20);
    assert_int_equal(threads, 7);
    assert_int_equal(tess_config_line(config, &fit_table, "rate_hz"), 5);
    assert_int_equal(tess_config_line(config, &run_table, "threads"), 0);
    assert_string_equal(tess_config_warnings(config), "");
    tess_config_destroy(config);
    tess_config_destroy(NULL);
    assert_int_equal(atomic_load(&heap.now_bytes), 0);
}

static void reads_json(void **state)
{
    (void)state;
    tess_config *config = NULL;
    sample s = {0};
    const char *text = "{\n\t\"demo\": {\"fit\": {\"n_fold\": 5, \"rate_hz\": 1e-3,\n"
                       "\t\"verbose\": true, \"method\": \"off\"}}}\n";
    assert_int_equal(load_named(".json", text, strlen(text), &config), TESS_OK);
    assert_int_equal(tess_config_apply(config, &fit_table, &s), TESS_OK);
    assert_int_equal(s.n_fold, 5);
    assert_true(s.rate_hz == 1e-3);
    assert_int_equal(s.verbose, 1);
    assert_int_equal(s.method, 2);
    assert_string_equal(tess_config_warnings(config), "");
    assert_int_equal(tess_config_line(config, &fit_table, "verbose"), 3);
    tess_config_destroy(config);

    const char *wrong = "{\"demo\": {\"fit\": {\"n_fold\": 1}}}";
    assert_int_equal(load_named(".json", wrong, strlen(wrong), &config), TESS_E_CONFIG);
    assert_non_null(strstr(tess_last_error(), "n_fold: 1 is out of range; allowed is 2 to 100"));
    const char *broken = "{\"demo\": {\"fit\": {\"n_fold\": }}";
    assert_int_equal(load_named(".json", broken, strlen(broken), &config), TESS_E_CONFIG);
    const char *twice = "{\"run\": {\"threads\": 1, \"threads\": 1}}";
    assert_int_equal(load_named(".json", twice, strlen(twice), &config), TESS_E_CONFIG);
}

static void accepts_empty_files(void **state)
{
    (void)state;
    static const char *const empty[] = {"", "# nothing\n", "---\n", "demo:\n  fit: ~\n", "{}"};
    for (size_t i = 0; i < sizeof empty / sizeof *empty; i++) {
        tess_config *config = NULL;
        if (load(empty[i], &config) != TESS_OK) {
            fail_msg("'%s': %s", empty[i], tess_last_error());
        }
        tess_config_destroy(config);
    }
}

static void names_the_nearest_key(void **state)
{
    (void)state;
    assert_fails("demo:\n  fit:\n    n_flod: 3\n",
                 "scratch.yaml:3:5: unknown key 'n_flod' in demo.fit; did you mean 'n_fold'?");
    assert_fails("deno:\n  fit:\n", "scratch.yaml:1:1: unknown key 'deno'; did you mean 'demo'?");
    assert_fails("run:\n  n_fold: 3\n", "it belongs into demo.fit");
    assert_fails("run:\n  entirely_else: 3\n", "known keys are: threads");
    assert_fails("demo.fit:\n  n_fold: 3\n", "unknown key 'demo.fit'");
    assert_fails("run:\n  <<: {threads: 2}\n", "merge keys are not read");
    char text[400] = "run:\n  ";
    memset(text + 7, 'k', 300);
    strcpy(text + 307, ": 1\n");
    assert_fails(text, "unknown key 'kkkk");
}

static void tells_place_and_range_of_wrong_values(void **state)
{
    (void)state;
    assert_fails("demo:\n  fit:\n    n_fold: 1\n",
                 "scratch.yaml:3:13: n_fold: 1 is out of range; allowed is 2 to 100");
    assert_fails("demo: {fit: {n_fold: many}}", ":1:22: n_fold: 'many' is not a whole number");
    assert_fails("demo: {fit: {rate_hz: 1:30}}", "is not a number");
    assert_fails("demo: {fit: {verbose: maybe}}", "neither true nor false");
    assert_fails("demo: {fit: {method: fast}}", "choose one of exact|compat|off");
    assert_fails("demo: {fit: {n_fold: [1]}}", "expected one value, found a list");
    assert_fails("demo: {fit: {n_fold: {a: 1}}}", "found a mapping");
    assert_fails("demo: {fit: {n_fold: }}", "found nothing");
    assert_fails("demo: {fit: {n_fold: ~}}", "found nothing");
    assert_fails("demo: 3", "'demo' is a section");
    assert_fails("- 3", "found a list");
    assert_fails("3", "found a single value");
}

static void refuses_dangerous_yaml(void **state)
{
    (void)state;
    assert_fails("run: {threads: 1}\nrun: {threads: 1}\n",
                 "scratch.yaml:2:1: 'run' is given twice, first on line 1");
    assert_fails("run: !!python/object:os.system {threads: 1}\n", "custom tags");
    assert_fails("run: {threads: !evil 1}\n", "custom tags");
    assert_fails("run: {threads: 1}\n---\nrun: {threads: 1}\n", "second document");
    assert_fails("? [a]\n: 1\n", "key must be plain text");
    assert_fails("a: &a 1\n*a : 1\n", "not an alias");
    assert_fails("run: &r\n  threads: *r\n", "not complete before it");
    assert_fails("run: {threads: \"a\\0b\"}\n", "zero character");
    assert_fails("run: {threads: 1\n", "scratch.yaml:2:1:");
    assert_fails("run:\n\tthreads: 1\n", "scratch.yaml:2:1:");
    assert_fails("run: \xff\xfe\n", "at byte");
    char deep[200];
    memset(deep, '[', sizeof deep - 1);
    deep[sizeof deep - 1] = '\0';
    assert_fails(deep, "deeper than 64 levels");
}

static void bounds_aliases(void **state)
{
    (void)state;
    char laughs[2000] = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
    for (int i = 1; i < 10; i++) {
        char line[120];
        snprintf(line, sizeof line,
                 "a%d: &a%d [*a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d]\n", i, i, i - 1,
                 i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1);
        strcat(laughs, line);
    }
    assert_fails(laughs, "more than 100000 values");

    tess_config *config = NULL;
    int64_t threads = 0;
    sample s = {0};
    assert_int_equal(load("run: {threads: &n 4}\ndemo: {fit: {n_fold: *n}}\n", &config), TESS_OK);
    assert_int_equal(tess_config_apply(config, &run_table, &threads), TESS_OK);
    assert_int_equal(tess_config_apply(config, &fit_table, &s), TESS_OK);
    assert_int_equal(threads, 4);
    assert_int_equal(s.n_fold, 4);
    tess_config_destroy(config);
}

static void bounds_size_and_keys(void **state)
{
    (void)state;
    size_t n_byte = (16 << 20) + 1;
    char *text = malloc(n_byte);
    memset(text, '#', n_byte);
    tess_config *config = NULL;
    assert_int_equal(load_named(".yaml", text, n_byte, &config), TESS_E_CONFIG);
    assert_non_null(strstr(tess_last_error(), "at most 16777216"));
    int length = snprintf(text, n_byte, "run:\n");
    for (int i = 0; i < 5000; i++) {
        length += snprintf(text + length, n_byte - (size_t)length, "  k%d: 1\n", i);
    }
    assert_fails(text, "more than 4096 keys");
    free(text);
}

static void assert_warns(const char *value, const char *part)
{
    char text[120];
    tess_config *config = NULL;
    snprintf(text, sizeof text, "demo: {fit: {%s}}\n", value);
    if (load(text, &config) != TESS_OK) {
        fail_msg("%s: %s", value, tess_last_error());
    }
    const char *warnings = tess_config_warnings(config);
    if (part == NULL ? warnings[0] != '\0' : strstr(warnings, part) == NULL) {
        fail_msg("%s: warnings are '%s'", value, warnings);
    }
    tess_config_destroy(config);
}

static void warns_where_pyyaml_reads_something_else(void **state)
{
    (void)state;
    assert_warns("rate_hz: 1e-3", ":1:23: rate_hz: 1e-3 is text to PyYAML");
    assert_warns("rate_hz: 1.5e3", "is text to PyYAML");
    assert_warns("rate_hz: 1.0e-3", NULL);
    assert_warns("rate_hz: 1.", NULL);
    assert_warns("rate_hz: .5", NULL);
    assert_warns("rate_hz: 10", NULL);
    assert_warns("rate_hz: +1.5E+3", NULL);
    assert_warns("rate_hz: 010", "octal");
    assert_warns("rate_hz: '10'", "because of its quotes");
    assert_warns("n_fold: 1e1", "is text to PyYAML");
    assert_warns("n_fold: 0x10", NULL);
    assert_warns("verbose: on", NULL);
    assert_warns("verbose: yEs", "is text to PyYAML");
    assert_warns("method: off", "is not text to PyYAML");
    assert_warns("method: 'off'", NULL);
    assert_warns("method: exact", NULL);
    assert_warns("tile_bytes: 256M", NULL);
    assert_warns("tile_bytes: 0777", "octal");
    assert_warns("rate_hz: 1e1, n_fold: 1e1", "n_fold: 1e1 is");
}

static void tells_missing_files(void **state)
{
    (void)state;
    tess_config *config = NULL;
    assert_int_equal(tess_config_load_with(&heap, "no/such.yaml", tables, 2, &config),
                     TESS_E_NOT_FOUND);
    assert_null(config);
}

// What a build without libyaml uses, in every build.
static void our_json_reader_makes_the_same_tree(void **state)
{
    (void)state;
    static const char text[] = "{\"a\": [18446744073709551615, -1.50e-3, null],\n"
                               " \"b\": {\"c\": true, \"d\": \"1\"}}";
    tess_tree tree;
    tess_tree_init(&tree, &heap, "f.json");
    assert_int_equal(tess_tree_parse_json(&tree, text, sizeof text - 1), TESS_OK);
    assert_int_equal(tree.root->kind, TESS_DOCUMENT_MAPPING);
    assert_int_equal(tree.root->n_child, 2);
    const tess_node *a = tree.root->first->value;
    assert_int_equal(a->kind, TESS_DOCUMENT_LIST);
    assert_string_equal(a->first->value->text, "18446744073709551615");
    assert_string_equal(a->first->next->value->text, "-1.50e-3");
    assert_string_equal(a->last->value->text, "null");
    assert_false(a->last->value->is_quoted);
    const tess_entry *b = tree.root->last;
    assert_string_equal(b->key, "b");
    assert_int_equal(b->key_place.line, 2);
    assert_string_equal(b->value->first->value->text, "true");
    assert_string_equal(b->value->last->value->text, "1");
    assert_true(b->value->last->value->is_quoted);
    tess_tree_release(&tree);
    assert_int_equal(atomic_load(&heap.now_bytes), 0);
}

static void our_json_reader_tells_lines(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *said;
    } cases[] = {
        {"{\n\"a\": }", "f.json: line 2: a value is expected"},
        {"{\"a\": 1,\n\"a\": 2}", "f.json:2: "},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tess_tree tree;
        tess_tree_init(&tree, &heap, "f.json");
        assert_int_equal(tess_tree_parse_json(&tree, cases[i].text, strlen(cases[i].text)),
                         TESS_E_CONFIG);
        assert_non_null(strstr(tess_last_error(), cases[i].said));
        tess_tree_release(&tree);
    }
    assert_int_equal(atomic_load(&heap.now_bytes), 0);
}

static void tells_missing_libraries(void **state)
{
    (void)state;
    tess_config *config = NULL;
    assert_int_equal(load_named(".yaml", "run:\n", 5, &config), TESS_E_UNSUPPORTED);
    assert_non_null(strstr(tess_last_error(), "libyaml"));
    assert_int_equal(atomic_load(&heap.now_bytes), 0);
}

static int setup(void **state)
{
    tess_heap_init(&heap, NULL);
    return io_setup(state);
}

int main(void)
{
    const struct CMUnitTest with_yaml[] = {
        cmocka_unit_test(applies_typed_values),
        cmocka_unit_test(reads_json),
        cmocka_unit_test(our_json_reader_makes_the_same_tree),
        cmocka_unit_test(our_json_reader_tells_lines),
        cmocka_unit_test(accepts_empty_files),
        cmocka_unit_test(names_the_nearest_key),
        cmocka_unit_test(tells_place_and_range_of_wrong_values),
        cmocka_unit_test(refuses_dangerous_yaml),
        cmocka_unit_test(bounds_aliases),
        cmocka_unit_test(bounds_size_and_keys),
        cmocka_unit_test(warns_where_pyyaml_reads_something_else),
        cmocka_unit_test(tells_missing_files),
    };
    const struct CMUnitTest with_json_only[] = {
        cmocka_unit_test(reads_json),
        cmocka_unit_test(our_json_reader_makes_the_same_tree),
        cmocka_unit_test(our_json_reader_tells_lines),
        cmocka_unit_test(tells_missing_files),
        cmocka_unit_test(tells_missing_libraries),
    };
    if (TESS_TEST_HAS_YAML) {
        return cmocka_run_group_tests(with_yaml, setup, io_teardown);
    }
    return cmocka_run_group_tests(with_json_only, setup, io_teardown);
}
