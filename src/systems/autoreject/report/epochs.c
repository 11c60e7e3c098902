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

// What an epoch is one of: a name, else a code, else nothing.
static void event_of(const tess_ar_page *page, int64_t epoch, char shown[TESS_AR_NAME])
{
    const tess_autoreject_epochs_info *info = page->epochs_info;
    if (!info || !info->events) {
        snprintf(shown, TESS_AR_NAME, "-");
        return;
    }
    const int32_t code = info->events[3 * epoch + 2];
    snprintf(shown, TESS_AR_NAME, "%d", (int)code);
    for (int64_t i = 0; i < info->n_event_name; i++) {
        if (info->event_codes[i] == code) {
            tess_ar_shown_name(info->event_names[i], shown);
        }
    }
}

static int64_t count_repaired(const tess_autoreject_log_info *log, int64_t epoch)
{
    int64_t n = 0;
    for (int64_t c = 0; c < log->n_chan; c++) {
        n += log->labels[epoch * log->n_chan + c] == 2;
    }
    return n;
}

// How many epochs of each event stay: rejection that falls on one condition alone biases what
// conditions are compared for.
static void write_conditions(tess_ar_page *page)
{
    static const char *const heads[] = {"event", "epochs", "kept", "of them repaired", "dropped"};
    const tess_autoreject_epochs_info *info = page->epochs_info;
    if (!info || !info->events || info->n_event_name < 2) {
        return;
    }
    tess_html_table_begin(&page->html, heads, 5);
    for (int64_t i = 0; i < info->n_event_name; i++) {
        int64_t n[4] = {0}; // all, kept, of them repaired, dropped
        for (int64_t e = 0; e < info->n_epoch; e++) {
            const bool is_own = info->events[3 * e + 2] == info->event_codes[i];
            const bool is_bad = page->log->bad_epochs[e] != 0;
            n[0] += is_own;
            n[1] += is_own && !is_bad;
            n[2] += is_own && !is_bad && count_repaired(page->log, e) > 0;
            n[3] += is_own && is_bad;
        }
        char texts[4][24];
        char shown[TESS_AR_NAME];
        for (int k = 0; k < 4; k++) {
            snprintf(texts[k], sizeof texts[k], "%lld", (long long)n[k]);
        }
        tess_ar_shown_name(info->event_names[i], shown);
        const char *const cells[] = {shown, texts[0], texts[1], texts[2], texts[3]};
        tess_html_table_row(&page->html, cells, 5);
    }
    tess_html_table_end(&page->html);
}

static void write_epoch(tess_ar_page *page, const tess_ar_traces *traces, const tess_ar_sums *sums,
                        int64_t e)
{
    const tess_autoreject_log_info *log = page->log;
    const int64_t n_repaired = count_repaired(log, e);
    char text[3][32];
    char event[TESS_AR_NAME];
    char worst[TESS_AR_NAME];
    char ptp[40];
    char id[40];
    snprintf(text[0], sizeof text[0], "%lld", (long long)e);
    event_of(page, e, event);
    snprintf(text[1], sizeof text[1], "%lld", (long long)page->n_bad_of[e]);
    snprintf(text[2], sizeof text[2], "%lld", (long long)n_repaired);
    say_worst(page, sums, e, worst, ptp);
    const char *verdict = log->bad_epochs[e]      ? "dropped"
                          : n_repaired > 0        ? "repaired"
                          : page->n_bad_of[e] > 0 ? "bad channels left"
                                                  : "good";
    const char *const cells[] = {text[0], event, verdict, text[1], text[2], worst, ptp};
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
    write_conditions(page);
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
