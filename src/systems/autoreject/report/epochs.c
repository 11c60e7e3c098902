// The table of epochs: what becomes of each.
#include "systems/autoreject/report/page.h"

#include <math.h>
#include <stdio.h>

enum { LISTED = 2000 };

// The channel that is furthest above its threshold.
static int64_t worst_channel(const tess_ar_page *page, const tess_ar_sums *sums, int64_t epoch,
                             double *ratio)
{
    int64_t worst = -1;
    *ratio = 0;
    for (int64_t c = 0; c < page->log->n_chan; c++) {
        const double own = sums->ptp[epoch * page->log->n_chan + c] / page->threshold_of[c];
        if (own > *ratio) {
            worst = c;
            *ratio = own;
        }
    }
    return worst;
}

static void say_worst(const tess_ar_page *page, const tess_ar_sums *sums, int64_t epoch,
                      char name[TESS_AR_NAME], char ptp[40])
{
    double ratio = 0;
    const int64_t c = sums ? worst_channel(page, sums, epoch, &ratio) : -1;
    snprintf(name, TESS_AR_NAME, "-");
    snprintf(ptp, 40, "-");
    if (c >= 0) {
        const tess_ar_unit unit = tess_ar_unit_of_channel(page, c);
        snprintf(name, TESS_AR_NAME, "%s", page->names[c]);
        snprintf(ptp, 40, "%.4g %s", unit.scale * sums->ptp[epoch * page->log->n_chan + c],
                 unit.name);
    }
}

static void write_epoch(tess_ar_page *page, const tess_ar_traces *traces, const tess_ar_sums *sums,
                        int64_t e)
{
    const tess_autoreject_log_info *log = page->log;
    const int32_t *events = page->epochs_info ? page->epochs_info->events : NULL;
    int64_t n_repaired = 0;
    for (int64_t c = 0; c < log->n_chan; c++) {
        n_repaired += log->labels[e * log->n_chan + c] == 2;
    }
    char text[4][32];
    char worst[TESS_AR_NAME];
    char ptp[40];
    char id[40];
    snprintf(text[0], sizeof text[0], "%lld", (long long)e);
    snprintf(text[1], sizeof text[1], events ? "%d" : "-", events ? (int)events[3 * e + 2] : 0);
    snprintf(text[2], sizeof text[2], "%lld", (long long)page->n_bad_of[e]);
    snprintf(text[3], sizeof text[3], "%lld", (long long)n_repaired);
    say_worst(page, sums, e, worst, ptp);
    const char *verdict = log->bad_epochs[e]      ? "dropped"
                          : n_repaired > 0        ? "repaired"
                          : page->n_bad_of[e] > 0 ? "bad channels left"
                                                  : "good";
    const char *const cells[] = {text[0], text[1], verdict, text[2], text[3], worst, ptp};
    if (tess_ar_traces_has(traces, e)) {
        snprintf(id, sizeof id, "epoch%lld", (long long)e);
        tess_html_table_row_to(&page->html, cells, 7, id);
    } else {
        tess_html_table_row(&page->html, cells, 7);
    }
}

void tess_ar_page_epochs(tess_ar_page *page, const tess_ar_traces *traces, const tess_ar_sums *sums)
{
    static const char *const heads[] = {"epoch",    "event",         "verdict",     "bad channels",
                                        "repaired", "worst channel", "peak-to-peak"};
    const tess_autoreject_log_info *log = page->log;
    tess_html_heading(&page->html, "Epochs");
    if (log->n_epoch == 0) {
        tess_html_paragraph(&page->html, "There are none.");
        return;
    }
    int64_t n = 0;
    tess_html_table_begin(&page->html, heads, 7);
    // Where there are too many: dropped ones, then the others as far as there is room.
    for (int pass = 0; pass < 2; pass++) {
        for (int64_t e = 0; e < log->n_epoch && n < LISTED; e++) {
            if ((log->bad_epochs[e] != 0) == (pass == 0)) {
                write_epoch(page, traces, sums, e);
                n++;
            }
        }
    }
    tess_html_table_end(&page->html);
    if (n < log->n_epoch) {
        tess_html_paragraph(&page->html, "The list ends here; the reject log has them all.");
    }
}
