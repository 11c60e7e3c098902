// The reject log as a map that can be edited, and its export.
#include "base/status.h"
#include "runtime/origin.h"
#include "systems/autoreject/report/page.h"
#include "systems/autoreject/result/model.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const tess_figure_kind CHANNEL_KINDS[] = {
    {"good", TESS_AR_GOOD}, {"bad", TESS_AR_BAD}, {"repaired", TESS_AR_REPAIRED}};
static const tess_figure_kind EPOCH_KINDS[] = {{"kept", TESS_AR_GOOD}, {"dropped", TESS_AR_BAD}};

typedef struct matrix {
    double *labels;     // [n_epoch][n_chan]
    double *bad_epochs; // [n_epoch]
    double *ptp;        // [n_epoch][n_chan] in units people read; NULL: not known
    const char **units; // [n_chan]
} matrix;

static void fill(const tess_ar_page *page, const tess_ar_sums *sums, matrix *m)
{
    const tess_autoreject_log_info *log = page->log;
    for (int64_t c = 0; c < log->n_chan; c++) {
        m->units[c] = tess_ar_unit_of_channel(page, c).name;
    }
    for (int64_t i = 0; i < log->n_epoch * log->n_chan; i++) {
        m->labels[i] = log->labels[i] < 0 ? (double)NAN : (double)log->labels[i];
        if (sums) {
            // Nine bits behind the first: a part in a thousand, and half the bytes on the page.
            const double value =
                sums->ptp[i] * tess_ar_unit_of_channel(page, i % log->n_chan).scale;
            int power = 0;
            const double share = frexp(value, &power);
            m->ptp[i] = ldexp(round(share * 1024), power - 10);
        }
    }
    for (int64_t e = 0; e < log->n_epoch; e++) {
        m->bad_epochs[e] = log->bad_epochs[e] != 0;
    }
}

static int height_of(int64_t n_chan)
{
    const int64_t height = n_chan * (n_chan <= 40 ? 14 : n_chan <= 100 ? 8 : 4);
    return (int)(height < 60 ? 60 : height > 900 ? 900 : height);
}

static void draw(tess_ar_page *page, const matrix *m)
{
    static const char *const row[] = {"epoch"};
    const tess_autoreject_log_info *log = page->log;
    const tess_figure_axis x = {"epoch", "", -0.5, (double)log->n_epoch - 0.5, false};
    const tess_figure_map epochs = {.values = m->bad_epochs,
                                    .n_column = log->n_epoch,
                                    .n_row = 1,
                                    .label = "epoch",
                                    .kinds = EPOCH_KINDS,
                                    .n_kind = 2,
                                    .rows = row,
                                    .edit = "bad_epochs"};
    tess_figure_draw(&page->html, &(tess_figure){.title = "Epochs",
                                                 .group = "log",
                                                 .x = x,
                                                 .x_is_whole = true,
                                                 .y = {"", "", -0.5, 0.5, false},
                                                 .height = 26,
                                                 .map = &epochs});
    const tess_figure_map cells = {.values = m->labels,
                                   .n_column = log->n_epoch,
                                   .n_row = log->n_chan,
                                   .label = "state",
                                   .kinds = CHANNEL_KINDS,
                                   .n_kind = 3,
                                   .rows = page->names,
                                   .also = m->ptp,
                                   .also_label = "peak-to-peak",
                                   .also_units = m->units,
                                   .edit = "labels"};
    tess_figure_draw(&page->html,
                     &(tess_figure){.title = "Channels in epochs",
                                    .group = "log",
                                    .x = x,
                                    .x_is_whole = true,
                                    .y = {"", "", (double)log->n_chan - 0.5, -0.5, false},
                                    .height = height_of(log->n_chan),
                                    .map = &cells,
                                    .note = "Grey: not considered."});
}

// What the page hands out: the log as it is, whose lists the script replaces by edited ones.
static tess_status write_export(tess_ar_page *page)
{
    const char *input = page->whole_log->input;
    const tess_origin origin = {.stage = "autoreject.report.log",
                                .inputs = {input && input[0] ? input : NULL}};
    char *text = NULL;
    size_t bytes = 0;
    tess_json *json = NULL;
    const char *finished = NULL;
    TESS_TRY(tess_origin_make(page->ctx, &origin, &text, &bytes));
    tess_status status = tess_json_create(page->ctx, 0, &json);
    if (status == TESS_OK) {
        tess_json_object_begin(json, NULL);
        tess_json_text(json, "schema", TESS_AR_LOG_SCHEMA);
        tess_json_raw(json, TESS_ORIGIN_NAME, text);
        tess_ar_log_put(json, page->log);
        tess_json_object_end(json);
        status = tess_json_finish(json, &finished);
    }
    if (status == TESS_OK) {
        tess_figure_export(&page->html, "Export the log", finished, "edited-log.json");
    }
    tess_json_destroy(json);
    tess_heap_free(&page->ctx->heap, text, bytes, TESS_TAG_RESULT);
    return status;
}

tess_status tess_ar_page_matrix(tess_ar_page *page, const tess_ar_sums *sums)
{
    const tess_autoreject_log_info *log = page->log;
    const int64_t n = log->n_epoch * log->n_chan;
    tess_html_heading(&page->html, "Reject log");
    if (n == 0) {
        tess_html_paragraph(&page->html, "There are no epochs.");
        return TESS_OK;
    }
    matrix m = {0};
    static const char what[] = "the report's log";
    m.labels = tess_blocks_alloc(&page->memory, n, sizeof *m.labels, what);
    m.bad_epochs = tess_blocks_alloc(&page->memory, log->n_epoch, sizeof *m.bad_epochs, what);
    m.units = tess_blocks_alloc(&page->memory, log->n_chan, sizeof *m.units, what);
    m.ptp = sums ? tess_blocks_alloc(&page->memory, n, sizeof *m.ptp, what) : NULL;
    if (!m.labels || !m.bad_epochs || !m.units || (sums && !m.ptp)) {
        return TESS_E_MEMORY;
    }
    fill(page, sums, &m);
    tess_html_paragraph(&page->html,
                        "Channels downwards, epochs to the right. A click on a cell makes it bad, "
                        "repaired or good in turn; one on the strip above drops an epoch or keeps "
                        "it. What was changed is exported as a log, edited-log.json, which the "
                        "lines below it carry out.");
    draw(page, &m);
    TESS_TRY(write_export(page));
    tess_html_code(&page->html, page->config.use_log
                                    ? page->config.use_log
                                    : "tessera autoreject transform INPUT -m MODEL.json --use-log "
                                      "edited-log.json -o edited-epo.fif");
    return TESS_OK;
}
