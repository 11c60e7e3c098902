// The page of many fits: of a watched folder's files against time, with what set off alarms, or of
// the angles of one file.
#include "base/status.h"
#include "base/struct_read.h"
#include "systems/xpcs/report/page.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { N_LISTED = 200, N_QUALITY = 3, CELL = 64, MAX_HEAD = TESS_XPCS_MAX_PARAM + 5 };

typedef struct watch_page {
    tess_html html;
    tess_xpcs_watch_info info;
    tess_blocks memory;
    const tess_xpcs_param_info *params;
    int64_t n_param;
    double *x; // [n_row] since the first
    double *y; // [N_QUALITY][n_row]
    double *low;
    double *high;
    tess_figure_mark *marks;
    int64_t n_mark;
    const char *unit; // of x
} watch_page;

static const tess_html_grade grades[N_QUALITY] = {TESS_HTML_GOOD, TESS_HTML_CHECK, TESS_HTML_BAD};

static bool is_fitted(const tess_xpcs_watch_row *row)
{
    return row->quality >= 0 && row->quality < N_QUALITY;
}

static const char *quality_name(int32_t quality)
{
    return tess_xpcs_quality_name((tess_xpcs_quality)quality);
}

static void write_clock(double time_s, char text[CELL])
{
    const time_t seconds = (time_t)floor(time_s);
    struct tm utc;
    if (!gmtime_r(&seconds, &utc) || !strftime(text, CELL, "%Y-%m-%d %H:%M:%S", &utc)) {
        snprintf(text, CELL, "?");
    }
}

static void write_verdict(watch_page *page)
{
    const tess_xpcs_watch_info *info = &page->info;
    const tess_xpcs_watch_row *last = info->n_row > 0 ? &info->rows[info->n_row - 1] : NULL;
    char text[640];
    if (last && is_fitted(last) && !info->by_angle) {
        snprintf(text, sizeof text, "last fit %s", quality_name(last->quality));
        tess_html_badge(&page->html, grades[last->quality], text);
    }
    snprintf(text, sizeof text, "%lld fitted", (long long)info->n_fitted);
    tess_html_badge(&page->html, TESS_HTML_NEUTRAL, text);
    if (info->n_failed > 0) {
        snprintf(text, sizeof text, "%lld not fitted", (long long)info->n_failed);
        tess_html_badge(&page->html, TESS_HTML_CHECK, text);
    }
    if (info->n_alarm > 0) {
        snprintf(text, sizeof text, "%lld with alarms", (long long)info->n_alarm);
        tess_html_badge(&page->html, TESS_HTML_BAD, text);
    }
    if (last && last->alarms[0]) {
        snprintf(text, sizeof text, "alarm: %.200s: %.400s", last->name, last->alarms);
        tess_html_warning(&page->html, text);
    }
}

static void write_facts(watch_page *page)
{
    const tess_xpcs_watch_info *info = &page->info;
    char text[CELL];
    tess_html_fact_begin(&page->html);
    tess_html_fact(&page->html, info->by_angle ? "data" : "folder", info->folder);
    tess_html_fact(&page->html, "model", tess_xpcs_mode_name((tess_xpcs_mode)info->mode));
    if (info->n_row > 0 && !info->by_angle) {
        write_clock(info->rows[0].at, text);
        tess_html_fact(&page->html, "first file shown (UTC)", text);
        write_clock(info->rows[info->n_row - 1].at, text);
        tess_html_fact(&page->html, "last file (UTC)", text);
    }
    write_clock((double)time(NULL), text);
    tess_html_fact(&page->html, "page of (UTC)", text);
    tess_html_fact_end(&page->html);
}

// Angles as they are; times since the first row, in the unit that suits their range.
static void lay_out_x(watch_page *page)
{
    const tess_xpcs_watch_info *info = &page->info;
    double first = (double)INFINITY;
    double last = -(double)INFINITY;
    for (int64_t i = 0; i < info->n_row; i++) {
        first = fmin(first, info->rows[i].at);
        last = fmax(last, info->rows[i].at);
    }
    const double range = last - first;
    const double unit = info->by_angle ? 1 : range > 2 * 3600 ? 3600 : range > 120 ? 60 : 1;
    page->unit = info->by_angle ? "degrees" : unit > 60 ? "h" : unit > 1 ? "min" : "s";
    first = info->by_angle ? 0 : first;
    for (int64_t i = 0; i < info->n_row; i++) {
        const tess_xpcs_watch_row *row = &info->rows[i];
        page->x[i] = (row->at - first) / unit;
        if (row->alarms[0]) {
            page->marks[page->n_mark++] = (tess_figure_mark){page->x[i], page->x[i], row->name};
        }
    }
}

// One quantity of all rows; param below 0: reduced chi2.
static void draw_one(watch_page *page, int64_t param)
{
    const tess_xpcs_watch_info *info = &page->info;
    const int64_t n = info->n_row;
    tess_figure_series series[N_QUALITY];
    static const int colours[N_QUALITY] = {0, 1, 3};
    for (int q = 0; q < N_QUALITY; q++) {
        double *y = page->y + q * n;
        for (int64_t i = 0; i < n; i++) {
            const tess_xpcs_watch_row *row = &info->rows[i];
            const bool is_here = row->quality == q;
            const double sd =
                is_here && param >= 0 && isfinite(row->sd[param]) ? row->sd[param] : 0;
            y[i] = !is_here ? (double)NAN : param < 0 ? row->reduced_chi2 : row->theta[param];
            page->low[q * n + i] = y[i] - sd;
            page->high[q * n + i] = y[i] + sd;
        }
        series[q] = (tess_figure_series){.name = quality_name(q),
                                         .x = page->x,
                                         .y = y,
                                         .low = param < 0 ? NULL : page->low + q * n,
                                         .high = param < 0 ? NULL : page->high + q * n,
                                         .n = n,
                                         .style = TESS_FIGURE_POINTS,
                                         .colour = colours[q]};
    }
    const char *name = param < 0 ? "reduced chi2" : page->params[param].name;
    const tess_figure figure = {
        .title = name,
        .group = "fits",
        .x = {.label = info->by_angle ? "phi" : "time since the first file", .unit = page->unit},
        .y = {.label = name, .unit = param < 0 ? NULL : page->params[param].unit},
        .height = 180,
        .series = series,
        .n_series = N_QUALITY,
        .marks = page->marks,
        .n_mark = page->n_mark};
    tess_figure_draw(&page->html, &figure);
}

// As an address: bytes with a meaning in one are written as numbers.
static void write_address(const char *path, char *text, size_t capacity)
{
    size_t used = 0;
    for (const char *c = path; *c && used + 4 < capacity; c++) {
        const bool is_plain = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') ||
                              (*c >= '0' && *c <= '9') || strchr("-._~/", *c);
        used += (size_t)snprintf(text + used, capacity - used, is_plain ? "%c" : "%%%02X",
                                 (unsigned char)*c);
    }
    text[used] = '\0';
}

static void write_row(watch_page *page, const tess_xpcs_watch_row *row)
{
    char cells[MAX_HEAD][CELL] = {{0}};
    const char *list[MAX_HEAD];
    char address[1024];
    int n = 2;
    if (page->info.by_angle) {
        snprintf(cells[1], CELL, "%.6g", row->at);
    } else {
        write_clock(row->at, cells[1]);
    }
    snprintf(cells[n++], CELL, "%s", is_fitted(row) ? quality_name(row->quality) : "not fitted");
    for (int64_t k = 0; k < page->n_param; k++, n++) {
        if (is_fitted(row)) {
            tess_xp_with_error(row->theta[k], row->sd[k], cells[n], CELL);
        }
    }
    if (is_fitted(row)) {
        snprintf(cells[n], CELL, "%.4g", row->reduced_chi2);
    }
    n++;
    for (int k = 0; k < n; k++) {
        list[k] = cells[k];
    }
    list[0] = row->name;
    list[n++] = is_fitted(row) ? row->alarms : row->message;
    if (row->page) {
        write_address(row->page, address, sizeof address);
        tess_html_table_row_link(&page->html, list, n, address);
    } else {
        tess_html_table_row(&page->html, list, n);
    }
}

static void write_files(watch_page *page)
{
    const tess_xpcs_watch_info *info = &page->info;
    const char *heads[MAX_HEAD] = {info->by_angle ? "angle" : "file",
                                   info->by_angle ? "phi / degrees" : "time (UTC)", "fit"};
    char text[128];
    int n = 3;
    for (int64_t k = 0; k < page->n_param; k++) {
        heads[n++] = page->params[k].name;
    }
    heads[n++] = "reduced chi2";
    heads[n++] = "alarms";
    tess_html_heading(&page->html, info->by_angle ? "Angles" : "Files");
    if (info->n_row > N_LISTED && !info->by_angle) {
        snprintf(text, sizeof text, "The latest %d; all are in the table beside this page.",
                 (int)N_LISTED);
        tess_html_paragraph(&page->html, text);
    }
    tess_html_table_begin(&page->html, heads, n);
    for (int64_t k = 0; k < info->n_row && (info->by_angle || k < N_LISTED); k++) {
        write_row(page, &info->rows[info->by_angle ? k : info->n_row - 1 - k]);
    }
    tess_html_table_end(&page->html);
}

static tess_status write_page(watch_page *page)
{
    const int64_t n = page->info.n_row;
    write_verdict(page);
    write_facts(page);
    if (n == 0) {
        tess_html_paragraph(&page->html, "No file has been fitted yet.");
        return TESS_OK;
    }
    page->x = tess_blocks_alloc(&page->memory, n, sizeof(double), "the page");
    page->y = tess_blocks_alloc(&page->memory, N_QUALITY * n, sizeof(double), "the page");
    page->low = tess_blocks_alloc(&page->memory, N_QUALITY * n, sizeof(double), "the page");
    page->high = tess_blocks_alloc(&page->memory, N_QUALITY * n, sizeof(double), "the page");
    page->marks = tess_blocks_alloc(&page->memory, n, sizeof *page->marks, "the page");
    if (!page->x || !page->y || !page->low || !page->high || !page->marks) {
        return TESS_E_MEMORY;
    }
    lay_out_x(page);
    tess_html_heading(&page->html, "Parameters");
    for (int64_t k = 0; k < page->n_param; k++) {
        draw_one(page, k);
    }
    draw_one(page, -1);
    write_files(page);
    return TESS_OK;
}

tess_status tess_xpcs_watch_page(tess_context *ctx, const tess_xpcs_watch_info *info,
                                 const char *path)
{
    watch_page page = {.n_param = 0};
    tess_error_clear();
    if (!ctx || !info || !path) {
        TESS_FAIL(TESS_E_ARGUMENT, "ctx, info or path is NULL; the page needs all of them");
    }
    TESS_TRY(tess_struct_read(info, &page.info, sizeof page.info, "info"));
    page.params = tess_xpcs_params((tess_xpcs_mode)page.info.mode, &page.n_param);
    if (!page.params || !page.info.folder || page.info.n_row < 0 ||
        (page.info.n_row > 0 && !page.info.rows)) {
        TESS_FAIL(TESS_E_ARGUMENT, "info: mode, folder or rows are not set");
    }
    char title[256];
    snprintf(title, sizeof title, "%s: %.200s",
             page.info.by_angle ? "Angles one by one" : "xpcs watch", page.info.folder);
    const tess_origin origin = {.stage = page.info.by_angle ? "xpcs.per_angle" : "xpcs.watch"};
    tess_blocks_init(&page.memory, &ctx->heap);
    tess_html_begin_live(&page.html, ctx, &origin, title, page.info.refresh_s);
    tess_status status = write_page(&page);
    if (status == TESS_OK) {
        status = tess_html_write(&page.html, path, 1);
    }
    tess_html_destroy(&page.html);
    tess_blocks_free(&page.memory);
    return status;
}
