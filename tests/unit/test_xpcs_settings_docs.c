// The manual's list of keys is that of the schema, word for word, and its bounds are the model's.
//
// test_xpcs_settings_docs --write brings docs/systems/xpcs-config.md up to date.
#include "base/text.h"
#include "systems/xpcs/settings/schema.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MANUAL TESS_GOLDEN "/../../docs/systems/xpcs-config.md"
#define BOUNDS TESS_GOLDEN "/../../docs/systems/xpcs.md"

static const char begin[] = "<!-- keys: from the schema -->\n";
static const char end[] = "<!-- end of keys -->\n";

static void put_cell(tess_text *text, const char *words)
{
    tess_text_add(text, words[0] != '\0' ? " " : "");
    for (; *words != '\0'; words++) {
        tess_text_printf(text, *words == '|' ? "\\|" : "%c", *words);
    }
    tess_text_add(text, " |");
}

static void put_row(tess_text *text, const tess_xp_setting *row)
{
    static const char *const uses[] = {"used", "kept", "sampling", "no effect"};
    const tess_xp_rule rule = tess_xp_rule_of(row);
    char allowed[TESS_XP_ALLOWED_CHARS];
    char value[TESS_XP_DEFAULT_CHARS];
    char cell[512];
    const int has_range =
        rule.choices != NULL || rule.type == TESS_XP_REAL || rule.type == TESS_XP_INT;
    tess_text_printf(text, "| `%s` |", row->path);
    snprintf(cell, sizeof cell, "%s%s%s%s",
             rule.choices != NULL ? "" : tess_xp_type_name(rule.type),
             has_range && rule.choices == NULL ? ", " : "",
             has_range ? tess_xp_allowed(&rule, allowed) : "",
             (row->flags & TESS_XP_AUTO) != 0                          ? ", auto or null"
             : (row->flags & TESS_XP_NULL) && row->use == TESS_XP_USED ? ", or null"
                                                                       : "");
    put_cell(text, row->use == TESS_XP_NO_EFFECT ? "" : cell);
    put_cell(text, row->use == TESS_XP_USED ? tess_xp_default(&rule, value) : "");
    put_cell(text, uses[row->use]);
    put_cell(text, rule.help);
    tess_text_add(text, "\n");
}

// A table for each top-level group, in the order of the schema.
static const char *wanted_keys(tess_text *text)
{
    int64_t n = 0;
    const tess_xp_setting *rows = tess_xp_settings_rows(&n);
    char group[64] = "";
    tess_text_add(text, begin);
    for (int64_t i = 0; i < n; i++) {
        const size_t length = strcspn(rows[i].path, ".");
        if (strlen(group) != length || strncmp(group, rows[i].path, length) != 0) {
            snprintf(group, sizeof group, "%.*s", (int)length, rows[i].path);
            tess_text_printf(text,
                             "\n### %s\n\n| key | value | default | use | meaning |\n"
                             "|---|---|---|---|---|\n",
                             group);
        }
        put_row(text, &rows[i]);
    }
    tess_text_printf(text, "\n%s", end);
    const char *chars = NULL;
    assert_ok(tess_text_finish(text, &chars));
    return chars;
}

static void the_manual_lists_every_key(void **state)
{
    (void)state;
    tess_heap heap;
    tess_text text;
    tess_heap_init(&heap, NULL);
    tess_text_init(&text, &heap);
    const char *want = wanted_keys(&text);
    char *manual = unit_read_file(MANUAL, NULL);
    const char *from = strstr(manual, begin);
    assert_non_null(from);
    if (strncmp(from, want, strlen(want)) != 0) {
        size_t same = 0;
        while (from[same] == want[same]) {
            same++;
        }
        while (same > 0 && want[same - 1] != '\n') {
            same--;
        }
        fail_msg(
            "docs/systems/xpcs-config.md differs from the schema; run this test with --write.\n"
            "  manual: %.*s\n  schema: %.*s",
            (int)strcspn(from + same, "\n"), from + same, (int)strcspn(want + same, "\n"),
            want + same);
    }
    free(manual);
    tess_text_destroy(&text);
}

static void expect_bounds(const char *manual, const tess_xpcs_param_info *param)
{
    char row[128];
    snprintf(row, sizeof row, "| `%s` |%s%s | %g | %g |\n", param->name, param->unit[0] ? " " : "",
             param->unit, param->lower, param->upper);
    if (strstr(manual, row) == NULL) {
        fail_msg("docs/systems/xpcs.md: the table of bounds has no row %s", row);
    }
}

static void the_manual_has_every_bound(void **state)
{
    (void)state;
    int64_t n = 0;
    const tess_xpcs_param_info *params = tess_xpcs_params(TESS_XPCS_LAMINAR_FLOW, &n);
    char *manual = unit_read_file(BOUNDS, NULL);
    for (int64_t i = 0; i < n; i++) {
        expect_bounds(manual, &params[i]);
    }
    params = tess_xpcs_params(TESS_XPCS_TWO_COMPONENT, &n);
    for (int64_t i = 0; i < n; i++) {
        expect_bounds(manual, &params[i]);
    }
    expect_bounds(manual, tess_xpcs_scaling_param(0));
    expect_bounds(manual, tess_xpcs_scaling_param(1));
    free(manual);
}

static int write_manual(void)
{
    tess_heap heap;
    tess_text text;
    tess_heap_init(&heap, NULL);
    tess_text_init(&text, &heap);
    char *manual = unit_read_file(MANUAL, NULL);
    char *from = strstr(manual, begin);
    const char *rest = from ? strstr(from, end) : NULL;
    if (!rest) {
        return 1;
    }
    *from = '\0';
    FILE *file = fopen(MANUAL, "w");
    if (!file) {
        return 1;
    }
    fprintf(file, "%s%s%s", manual, wanted_keys(&text), rest + strlen(end));
    free(manual);
    tess_text_destroy(&text);
    return fclose(file);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--write") == 0) {
        return write_manual();
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_manual_lists_every_key),
                                       cmocka_unit_test(the_manual_has_every_bound)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
