// Averages of the epochs before and after rejection and repair.
#include "base/status.h"
#include "page/html_plot.h"
#include "systems/autoreject/epochs/channels.h"
#include "systems/autoreject/report/page.h"
#include "systems/autoreject/result/model.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { BLOCK_BYTES = 64 << 20, MAP_HEIGHT = 220 };

// The mean over epochs of all picked channels, before and after.
typedef struct averages {
    double *before; // [n_pick][n_time]
    double *after;
    int64_t n_before;
    int64_t n_after;
    double *block;  // [n_block][n_chan][n_time]
    uint8_t *marks; // [n_block][n_chan]
    int64_t n_block;
} averages;

static void add_rows(const tess_ar_page *page, const double *epoch, int64_t n_time, double *sum)
{
    for (int64_t k = 0; k < page->model->n_pick; k++) {
        const double *row = epoch + page->model->picks[k] * n_time;
        for (int64_t t = 0; t < n_time; t++) {
            sum[k * n_time + t] += row[t];
        }
    }
}

static tess_status repair_block(tess_ar_page *page, averages *a, int64_t first, int64_t count)
{
    const tess_autoreject_epochs_info *info = tess_autoreject_epochs_get_info(page->epochs);
    const tess_autoreject_log_info *log = page->log;
    bool any = false;
    for (int64_t i = 0; i < count * log->n_chan; i++) {
        const int64_t e = first + i / log->n_chan;
        const int32_t type = info->sensors->channels[i % log->n_chan].type;
        a->marks[i] = log->labels[first * log->n_chan + i] == 2 && !log->bad_epochs[e] &&
                      tess_ar_type_is_predictable(type);
        any = any || a->marks[i];
    }
    if (!any) {
        return TESS_OK;
    }
    const tess_autoreject_interpolation_config config = tess_ar_model_interpolation(page->model);
    tess_array x;
    const int64_t shape[] = {count, log->n_chan, info->n_time};
    TESS_TRY(tess_array_init(&x, a->block, TESS_F64, 3, shape));
    return tess_autoreject_interpolate(page->ctx, info->sensors, page->model->picks,
                                       page->model->n_pick, a->marks, &config, &x);
}

static tess_status accumulate(tess_ar_page *page, averages *a)
{
    const tess_autoreject_epochs_info *info = tess_autoreject_epochs_get_info(page->epochs);
    const int64_t epoch_items = info->sensors->n_chan * info->n_time;
    for (int64_t first = 0; first < info->n_epoch; first += a->n_block) {
        const int64_t left = info->n_epoch - first;
        const int64_t count = left < a->n_block ? left : a->n_block;
        TESS_TRY(tess_context_check_cancel(page->ctx));
        TESS_TRY(
            tess_autoreject_epochs_read(page->ctx, page->epochs, first, count, NULL, 0, a->block));
        for (int64_t e = 0; e < count; e++) {
            add_rows(page, a->block + e * epoch_items, info->n_time, a->before);
        }
        a->n_before += count;
        TESS_TRY(repair_block(page, a, first, count));
        for (int64_t e = 0; e < count; e++) {
            if (!page->log->bad_epochs[first + e]) {
                add_rows(page, a->block + e * epoch_items, info->n_time, a->after);
                a->n_after++;
            }
        }
    }
    return TESS_OK;
}

// Standard deviation over the channels of one type at every sample.
static void field_power(const tess_ar_page *page, const tess_autoreject_type_fit *fit,
                        const double *mean, int64_t n_time, double *power)
{
    for (int64_t t = 0; t < n_time; t++) {
        double sum = 0;
        double squares = 0;
        int64_t n = 0;
        for (int64_t k = 0, c = 0; k < page->model->n_pick && c < fit->n_chan; k++) {
            if (page->model->picks[k] == fit->channels[c]) {
                sum += mean[k * n_time + t];
                c++;
                n++;
            }
        }
        for (int64_t k = 0, c = 0; k < page->model->n_pick && c < fit->n_chan; k++) {
            if (page->model->picks[k] == fit->channels[c]) {
                const double miss = mean[k * n_time + t] - sum / (double)n;
                squares += miss * miss;
                c++;
            }
        }
        power[t] = sqrt(squares / (double)n);
    }
}

static tess_status write_power(tess_ar_page *page, const averages *a)
{
    const tess_autoreject_epochs_info *info = tess_autoreject_epochs_get_info(page->epochs);
    const int64_t n = info->n_time;
    double *power = tess_heap_alloc(&page->ctx->heap, (size_t)n * 2 * sizeof *power,
                                    TESS_TAG_GENERAL, "the report's averages");
    if (!power) {
        return TESS_E_MEMORY;
    }
    for (int64_t t = 0; t < page->model->n_type; t++) {
        const tess_autoreject_type_fit *fit = &page->model->types[t];
        field_power(page, fit, a->before, n, power);
        field_power(page, fit, a->after, n, power + n);
        const tess_ar_unit unit = tess_ar_unit_of(fit->type);
        double high = 0;
        for (int64_t i = 0; i < 2 * n; i++) {
            power[i] *= unit.scale;
            high = fmax(high, power[i]);
        }
        char label[64];
        snprintf(label, sizeof label, "%s: standard deviation over channels (%s)",
                 tess_autoreject_type_name(fit->type), unit.name);
        const double step = info->sampling_hz > 0 ? 1 / info->sampling_hz : 1;
        const tess_html_plot plot = {
            {info->tmin, info->tmin + (double)(n > 1 ? n - 1 : 1) * step, "time (s)"},
            {0, high > 0 ? high : 1, label},
            MAP_HEIGHT};
        const tess_html_series lines[] = {{"before", power, n}, {"after", power + n, n}};
        tess_html_chart(&page->html, &plot, lines, 2);
    }
    tess_heap_free(&page->ctx->heap, power, (size_t)n * 2 * sizeof *power, TESS_TAG_GENERAL);
    return TESS_OK;
}

static void finish_means(averages *a, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        a->before[i] /= a->n_before > 0 ? (double)a->n_before : 1;
        a->after[i] /= a->n_after > 0 ? (double)a->n_after : 1;
    }
}

static tess_status write_averages(tess_ar_page *page, averages *a, size_t n_mean)
{
    char text[160];
    TESS_TRY(accumulate(page, a));
    finish_means(a, n_mean);
    tess_html_heading(&page->html, "Average before and after");
    snprintf(text, sizeof text,
             "Mean of all %lld epochs, and of the %lld that were kept, repaired.",
             (long long)a->n_before, (long long)a->n_after);
    tess_html_paragraph(&page->html, text);
    return write_power(page, a);
}

tess_status tess_ar_page_averages(tess_ar_page *page)
{
    const tess_autoreject_epochs_info *info = tess_autoreject_epochs_get_info(page->epochs);
    tess_heap *heap = &page->ctx->heap;
    if (info->n_epoch == 0 || info->n_time == 0 || page->model->n_pick == 0) {
        return TESS_OK;
    }
    averages a = {0};
    const size_t epoch_bytes =
        (size_t)info->sensors->n_chan * (size_t)info->n_time * sizeof(double);
    a.n_block = epoch_bytes < BLOCK_BYTES ? (int64_t)(BLOCK_BYTES / epoch_bytes) : 1;
    a.n_block = a.n_block < info->n_epoch ? a.n_block : info->n_epoch;
    const size_t n_mean = (size_t)page->model->n_pick * (size_t)info->n_time;
    const size_t block_bytes = (size_t)a.n_block * epoch_bytes;
    const size_t mark_bytes = (size_t)a.n_block * (size_t)info->sensors->n_chan;
    static const char what[] = "the report's averages";
    a.before = tess_heap_alloc_zero(heap, n_mean * sizeof(double), TESS_TAG_GENERAL, what);
    a.after = tess_heap_alloc_zero(heap, n_mean * sizeof(double), TESS_TAG_GENERAL, what);
    a.block = tess_heap_alloc(heap, block_bytes, TESS_TAG_TILE, what);
    a.marks = tess_heap_alloc(heap, mark_bytes, TESS_TAG_TILE, what);
    tess_status status = TESS_E_MEMORY;
    if (a.before && a.after && a.block && a.marks) {
        status = write_averages(page, &a, n_mean);
    }
    tess_heap_free(heap, a.marks, mark_bytes, TESS_TAG_TILE);
    tess_heap_free(heap, a.block, block_bytes, TESS_TAG_TILE);
    tess_heap_free(heap, a.after, n_mean * sizeof(double), TESS_TAG_GENERAL);
    tess_heap_free(heap, a.before, n_mean * sizeof(double), TESS_TAG_GENERAL);
    return status;
}
