// One pass over the epochs: sums for the averages, peak-to-peaks, and samples for the traces.
#include "base/status.h"
#include "systems/autoreject/epochs/channels.h"
#include "systems/autoreject/report/page.h"
#include "systems/autoreject/result/model.h"

#include <math.h>

enum { BLOCK_BYTES = 64 << 20 };

typedef struct pass {
    tess_ar_page *page;
    tess_ar_traces *traces;
    tess_ar_sums *sums;
    tess_blocks memory;
    double *block;  // [n_block][n_chan][n_time]
    uint8_t *marks; // [n_block][n_chan]
    int64_t *picks; // [n_pick] channels of the model's types, ascending
    int64_t n_pick;
    int64_t n_block;
} pass;

static void add_epoch(const pass *p, const double *epoch, double *sum)
{
    const int64_t n_time = p->page->epochs_info->n_time;
    for (int64_t k = 0; k < p->n_pick; k++) {
        const int64_t first = p->picks[k] * n_time;
        for (int64_t t = 0; t < n_time; t++) {
            sum[first + t] += epoch[first + t];
        }
    }
}

static void find_ptp(const pass *p, const double *epoch, double *ptp)
{
    const int64_t n_time = p->page->epochs_info->n_time;
    for (int64_t c = 0; c < p->page->log->n_chan; c++) {
        const double *row = epoch + c * n_time;
        double low = row[0];
        double high = row[0];
        for (int64_t t = 1; t < n_time; t++) {
            low = row[t] < low ? row[t] : low;
            high = row[t] > high ? row[t] : high;
        }
        ptp[c] = high - low;
    }
}

static tess_status repair_block(const pass *p, int64_t first, int64_t count)
{
    const tess_ar_page *page = p->page;
    const tess_autoreject_epochs_info *info = page->epochs_info;
    const tess_autoreject_log_info *log = page->log;
    bool any = false;
    for (int64_t i = 0; i < count * log->n_chan; i++) {
        const int64_t c = i % log->n_chan;
        const int32_t type = info->sensors->channels[c].type;
        p->marks[i] = log->labels[first * log->n_chan + i] == 2 && page->type_of[c] >= 0 &&
                      !log->bad_epochs[first + i / log->n_chan] &&
                      tess_ar_type_is_predictable(type);
        any = any || p->marks[i];
    }
    if (!any) {
        return TESS_OK;
    }
    const tess_autoreject_interpolation_config config = tess_ar_model_interpolation(page->model);
    tess_array x;
    const int64_t shape[] = {count, log->n_chan, info->n_time};
    TESS_TRY(tess_array_init(&x, p->block, TESS_F64, 3, shape));
    return tess_autoreject_interpolate(page->ctx, info->sensors, p->picks, p->n_pick, p->marks,
                                       &config, &x);
}

static tess_status take_block(const pass *p, int64_t first, int64_t count)
{
    const tess_ar_page *page = p->page;
    const int64_t n_chan = page->log->n_chan;
    const int64_t items = n_chan * page->epochs_info->n_time;
    TESS_TRY(tess_autoreject_epochs_read(page->ctx, page->epochs, first, count, NULL, 0, p->block));
    for (int64_t e = 0; e < count; e++) {
        double *ptp = p->sums->ptp + (first + e) * n_chan;
        add_epoch(p, p->block + e * items, p->sums->before);
        find_ptp(p, p->block + e * items, ptp);
        TESS_TRY(tess_ar_traces_before(p->traces, first + e, p->block + e * items, ptp));
    }
    p->sums->n_before += count;
    TESS_TRY(repair_block(p, first, count));
    for (int64_t e = 0; e < count; e++) {
        TESS_TRY(tess_ar_traces_after(p->traces, first + e, p->block + e * items));
        if (!page->log->bad_epochs[first + e]) {
            add_epoch(p, p->block + e * items, p->sums->after);
            p->sums->n_after++;
        }
    }
    return TESS_OK;
}

static tess_status prepare(pass *p)
{
    const tess_ar_page *page = p->page;
    const tess_autoreject_epochs_info *info = page->epochs_info;
    const int64_t n_chan = page->log->n_chan;
    const int64_t items = n_chan * info->n_time;
    const size_t epoch_bytes = (size_t)items * sizeof(double);
    const int64_t most = (int64_t)(BLOCK_BYTES / epoch_bytes);
    static const char what[] = "the report's pass over the epochs";
    p->n_block = most < 1 ? 1 : most < info->n_epoch ? most : info->n_epoch;
    p->block = tess_blocks_alloc(&p->memory, p->n_block, epoch_bytes, what);
    p->marks = tess_blocks_alloc(&p->memory, p->n_block * n_chan, 1, what);
    p->picks = tess_blocks_alloc(&p->memory, n_chan, sizeof *p->picks, what);
    tess_blocks *kept = &p->page->memory;
    p->sums->before = tess_blocks_alloc(kept, items, sizeof(double), what);
    p->sums->after = tess_blocks_alloc(kept, items, sizeof(double), what);
    p->sums->ptp = tess_blocks_alloc(kept, info->n_epoch * n_chan, sizeof(double), what);
    if (!p->block || !p->marks || !p->picks || !p->sums->before || !p->sums->after ||
        !p->sums->ptp) {
        return TESS_E_MEMORY;
    }
    for (int64_t c = 0; c < n_chan; c++) {
        if (page->type_of[c] >= 0) {
            p->picks[p->n_pick++] = c;
        }
    }
    return TESS_OK;
}

static tess_status run(pass *p)
{
    TESS_TRY(prepare(p));
    const int64_t n_epoch = p->page->epochs_info->n_epoch;
    for (int64_t first = 0; first < n_epoch; first += p->n_block) {
        const int64_t left = n_epoch - first;
        TESS_TRY(tess_context_check_cancel(p->page->ctx));
        TESS_TRY(take_block(p, first, left < p->n_block ? left : p->n_block));
    }
    return TESS_OK;
}

tess_status tess_ar_page_pass(tess_ar_page *page, tess_ar_traces *traces, tess_ar_sums *sums)
{
    pass p = {.page = page, .traces = traces, .sums = sums};
    tess_blocks_init(&p.memory, &page->ctx->heap);
    const tess_status status = run(&p);
    tess_blocks_free(&p.memory);
    return status;
}
