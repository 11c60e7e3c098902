// The HTML report: escaped, whole, honest about what is not finite.
#include "tessera/autoreject.h"
#include "unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static tess_context *ctx;

static tess_array view(void *data, tess_dtype dtype, int64_t n_epoch, int64_t n_chan)
{
    const int64_t shape[2] = {n_epoch, n_chan};
    tess_array array;
    assert_ok(tess_array_init(&array, data, dtype, 2, shape));
    return array;
}

static char *report_of(const tess_array *ptp, const char *provenance)
{
    assert_ok(tess_autoreject_ptp_report(ctx, ptp, provenance, unit_path("report.html"), 1));
    return unit_read_file(unit_path("report.html"), NULL);
}

// Not strstr(): under ASan each call measures the whole text first.
static int count(const char *text, const char *part)
{
    int n = 0;
    for (const char *s = text; *s; s++) {
        n += *s == *part && strncmp(s, part, strlen(part)) == 0;
    }
    return n;
}

static void strings_are_escaped(void **state)
{
    (void)state;
    double data[6] = {1, 2, 3, 4, 5, 6};
    tess_array ptp = view(data, TESS_F64, 2, 3);
    char *text = report_of(&ptp, "{\"command_line\": \"<script>alert('x') & more</script>\a\x1b[2J"
                                 "\xe5\x81\x9c\xe5\x81<\xff\"}");
    assert_null(strstr(text, "<script>alert"));
    assert_contains(text, "&lt;script&gt;alert('x') &amp; more&lt;/script&gt;");
    assert_contains(text, "{&quot;command_line&quot;");
    assert_contains(text, "??[2J\xe5\x81\x9c\xef\xbf\xbd\xef\xbf\xbd&lt;\xef\xbf\xbd");
    assert_contains(text, "2 x 3");
    assert_int_equal(count(text, "<svg"), count(text, "</svg>"));
    assert_int_equal(count(text, "<table"), count(text, "</table>"));
    assert_null(strstr(text, "http://"));
    assert_contains(text, "</body></html>");
    free(text);
    text = report_of(&ptp, NULL);
    assert_null(strstr(text, "Provenance"));
    free(text);
}

static void summaries_are_right(void **state)
{
    (void)state;
    // Channel 0 has no finite value, 1 is flat, 2 has the larger median, 3 the largest value.
    float data[3 * 4];
    const float rows[3][4] = {{NAN, 0, 10, 1}, {INFINITY, 0, 20, 2}, {NAN, 0, 30, 99}};
    memcpy(data, rows, sizeof data);
    tess_array ptp = view(data, TESS_F32, 3, 4);
    char *text = report_of(&ptp, NULL);
    assert_contains(text, "<th>not finite</th>\n<td>3</td>");
    assert_contains(text, "<th>largest</th>\n<td>99</td>");
    assert_contains(text, "<li>Flat channels (peak-to-peak 0 in every epoch): 1.</li>");
    assert_contains(text, "1 flat channels");
    assert_contains(text, "3 values not finite");
    // By falling median: 2 (20), 3 (2), 1 (0), and 0, which has none, last.
    const char *row2 = strstr(text, "<td>2</td>\n<td class=\"n\">20</td>");
    const char *row3 = strstr(text, "<td>3</td>\n<td class=\"n\">2</td>");
    const char *row1 = strstr(text, "<td>1</td>\n<td class=\"n\">0</td>");
    const char *row0 = strstr(text, "<td>0</td>\n<td class=\"n\">nan</td>");
    assert_true(row2 && row3 && row1 && row0);
    assert_true(row2 < row3 && row3 < row1 && row1 < row0);
    free(text);
}

static void odd_sizes_have_reports_too(void **state)
{
    (void)state;
    static double data[400 * 310];
    static const int64_t sizes[][2] = {{0, 5}, {5, 0}, {1, 1}, {400, 310}};
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        tess_array ptp = view(data, TESS_F64, sizes[i][0], sizes[i][1]);
        char *text = report_of(&ptp, NULL);
        assert_contains(text, "</body></html>");
        assert_true(count(text, "<rect") <= 300 * 300 + 60);
        free(text);
    }
    for (size_t i = 0; i < 4; i++) {
        data[i] = (double)NAN;
    }
    tess_array ptp = view(data, TESS_F64, 2, 2);
    char *text = report_of(&ptp, NULL);
    assert_contains(text, "<th>not finite</th>\n<td>4</td>");
    free(text);
}

static void files_are_replaced_whole_or_kept(void **state)
{
    (void)state;
    double data[4] = {1, 2, 3, 4};
    tess_array ptp = view(data, TESS_F64, 2, 2);
    unit_write_file(unit_path("report.html"), "mine", 4);
    const int before = unit_count_files();
    assert_fails(tess_autoreject_ptp_report(ctx, &ptp, NULL, unit_path("report.html"), 0),
                 TESS_E_EXISTS, "report.html: exists already");
    char *text = unit_read_file(unit_path("report.html"), NULL);
    assert_string_equal(text, "mine");
    free(text);
    assert_int_equal(unit_count_files(), before);
    assert_fails(tess_autoreject_ptp_report(ctx, &ptp, NULL, unit_path("no/r.html"), 0),
                 TESS_E_CREATE, "no/r.html");
    ptp.stride[0] = 3;
    assert_fails(tess_autoreject_ptp_report(ctx, &ptp, NULL, unit_path("r.html"), 0), TESS_E_SHAPE,
                 "ptp: expected a C-contiguous");
}

static void failed_allocations_leave_nothing(void **state)
{
    (void)state;
    double data[4] = {1, 2, 3, 4};
    tess_array ptp = view(data, TESS_F64, 2, 2);
    unlink(unit_path("report.html"));
    for (long long n = 1; n < 100; n++) {
        unit_allocator allocator;
        unit_allocator_init(&allocator, 0);
        tess_context_config config;
        tess_context_config_init(&config, sizeof config);
        config.allocator = &allocator.table;
        tess_context *own = NULL;
        assert_ok(tess_context_create(&config, &own));
        allocator.fail_at = allocator.n_alloc + n;
        const int before = unit_count_files();
        const tess_status status =
            tess_autoreject_ptp_report(own, &ptp, NULL, unit_path("report.html"), 1);
        tess_context_destroy(own);
        assert_int_equal(allocator.n_live, 0);
        if (status == TESS_OK) {
            assert_true(n > 3);
            return;
        }
        assert_int_equal(status, TESS_E_MEMORY);
        assert_int_equal(unit_count_files(), before);
    }
    fail_msg("no end of allocations");
}

int main(void)
{
    ctx = unit_context(1, 0);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strings_are_escaped),
        cmocka_unit_test(summaries_are_right),
        cmocka_unit_test(odd_sizes_have_reports_too),
        cmocka_unit_test(files_are_replaced_whole_or_kept),
        cmocka_unit_test(failed_allocations_leave_nothing),
    };
    const int n_failed = cmocka_run_group_tests(tests, NULL, NULL);
    tess_context_destroy(ctx);
    return n_failed;
}
