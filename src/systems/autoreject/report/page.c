#include "systems/autoreject/report/page.h"

#include "base/status.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

tess_ar_unit tess_ar_unit_of(int32_t type)
{
    switch (type) {
    case TESS_AUTOREJECT_MAG:
        return (tess_ar_unit){"fT", 1e15};
    case TESS_AUTOREJECT_GRAD:
        return (tess_ar_unit){"fT/cm", 1e13};
    case TESS_AUTOREJECT_HBO:
    case TESS_AUTOREJECT_HBR:
        return (tess_ar_unit){"\302\265M", 1e6}; // micro sign in UTF-8
    default:
        return (tess_ar_unit){"\302\265V", 1e6};
    }
}

tess_ar_number tess_ar_number_of(double value)
{
    tess_ar_number number;
    const bool is_thousands = fabs(value) >= 999.5 && fabs(value) < 1e6;
    snprintf(number.text, sizeof number.text, is_thousands ? "%.0f" : "%.3g", value);
    return number;
}

tess_ar_unit tess_ar_unit_of_channel(const tess_ar_page *page, int64_t channel)
{
    const int32_t type = page->type_of[channel];
    return tess_ar_unit_of(type >= 0 ? page->model->types[type].type : TESS_AUTOREJECT_EEG);
}

double tess_ar_label_share(const tess_autoreject_log_info *log, int64_t channel, int8_t a, int8_t b)
{
    int64_t n = 0;
    for (int64_t e = 0; e < log->n_epoch; e++) {
        const int8_t label = log->labels[e * log->n_chan + channel];
        n += label == a || label == b;
    }
    return log->n_epoch > 0 ? (double)n / (double)log->n_epoch : 0;
}

static int64_t find_channel(const tess_autoreject_log_info *log, const char *name, int64_t guess)
{
    if (guess < log->n_chan && strcmp(log->channel_names[guess], name) == 0) {
        return guess; // the same order, as a rule
    }
    for (int64_t c = 0; c < log->n_chan; c++) {
        if (strcmp(log->channel_names[c], name) == 0) {
            return c;
        }
    }
    return -1;
}

static void add_missing(tess_ar_page *page, const char *name, size_t room)
{
    const size_t used = strlen(page->missing);
    if (used + TESS_AR_NAME + 8 < room) {
        char shown[TESS_AR_NAME];
        tess_ar_shown_name(name, shown);
        snprintf(page->missing + used, room - used, "%s%s", used > 0 ? ", " : "", shown);
    }
    page->n_missing++;
}

static void match_type(tess_ar_page *page, int32_t t, size_t room)
{
    const tess_autoreject_type_fit *fit = &page->model->types[t];
    for (int64_t k = 0; k < fit->n_chan; k++) {
        const char *name = page->model->channel_names[fit->channels[k]];
        const int64_t c = find_channel(page->log, name, fit->channels[k]);
        if (c < 0) {
            add_missing(page, name, room);
            continue;
        }
        page->type_of[c] = t;
        page->threshold_of[c] = fit->thresholds[k];
        page->error_of[c] = fit->standard_errors ? fit->standard_errors[k] : (double)NAN;
    }
}

tess_status tess_ar_page_match(tess_ar_page *page)
{
    enum { ROOM = 1024 };
    const tess_autoreject_log_info *log = page->log;
    tess_blocks *memory = &page->memory;
    static const char what[] = "the report";
    page->names = tess_blocks_alloc(memory, log->n_chan, sizeof *page->names, what);
    char *texts = tess_blocks_alloc(memory, log->n_chan, TESS_AR_NAME, what);
    page->type_of = tess_blocks_alloc(memory, log->n_chan, sizeof *page->type_of, what);
    page->threshold_of = tess_blocks_alloc(memory, log->n_chan, sizeof *page->threshold_of, what);
    page->error_of = tess_blocks_alloc(memory, log->n_chan, sizeof *page->error_of, what);
    page->n_bad_of = tess_blocks_alloc(memory, log->n_epoch, sizeof *page->n_bad_of, what);
    page->missing = tess_blocks_alloc(memory, ROOM, 1, what);
    if (!page->names || !texts || !page->type_of || !page->threshold_of || !page->error_of ||
        !page->n_bad_of || !page->missing) {
        return TESS_E_MEMORY;
    }
    for (int64_t c = 0; c < log->n_chan; c++) {
        page->names[c] = texts + c * TESS_AR_NAME;
        tess_ar_shown_name(log->channel_names[c], texts + c * TESS_AR_NAME);
        page->type_of[c] = -1;
        page->threshold_of[c] = page->error_of[c] = (double)NAN;
    }
    for (int64_t t = 0; t < page->model->n_type; t++) {
        match_type(page, (int32_t)t, ROOM);
    }
    for (int64_t i = 0; i < log->n_epoch * log->n_chan; i++) {
        page->n_bad_of[i / log->n_chan] += log->labels[i] > 0;
    }
    return TESS_OK;
}
