// The reject log as a table that anything reads.
#include "base/file.h"
#include "base/status.h"
#include "base/text.h"
#include "systems/autoreject/study/record.h"

#include <string.h>

// What is between tabs may hold none.
static void add_cell(tess_text *out, const char *text)
{
    for (; *text; text++) {
        const char c = *text == '\t' || *text == '\n' || *text == '\r' ? ' ' : *text;
        tess_text_append(out, &c, 1);
    }
}

static const char *event_of(const tess_autoreject_epochs_info *info, int64_t epoch)
{
    for (int64_t i = 0; info->events && i < info->n_event_name; i++) {
        if (info->event_codes[i] == info->events[3 * epoch + 2]) {
            return info->event_names[i];
        }
    }
    return "n/a";
}

static void add_row(tess_text *out, const tess_autoreject_log_info *log,
                    const tess_autoreject_epochs_info *info, int64_t epoch)
{
    static const char *const labels[] = {"\tn/a", "\t0", "\t1", "\t2"};
    const int8_t *row = log->labels + epoch * log->n_chan;
    int64_t n_bad = 0;
    int64_t n_repaired = 0;
    for (int64_t c = 0; c < log->n_chan; c++) {
        n_bad += row[c] > 0;
        n_repaired += row[c] == 2;
    }
    tess_text_printf(out, "%lld\t", (long long)epoch);
    if (info->events) {
        tess_text_printf(out, "%d\t", (int)info->events[3 * epoch]);
    } else {
        tess_text_add(out, "n/a\t");
    }
    add_cell(out, event_of(info, epoch));
    tess_text_printf(out, "\t%d\t%lld\t%lld", log->bad_epochs[epoch] != 0, (long long)n_bad,
                     (long long)n_repaired);
    for (int64_t c = 0; c < log->n_chan; c++) {
        tess_text_add(out, labels[row[c] + 1]);
    }
    tess_text_add(out, "\n");
}

tess_status tess_ar_log_table_write(tess_context *ctx, const tess_autoreject_log *log,
                                    const tess_autoreject_epochs *epochs, const char *path)
{
    const tess_autoreject_log_info *info = tess_autoreject_log_get_info(log);
    const tess_autoreject_epochs_info *of = tess_autoreject_epochs_get_info(epochs);
    const char *chars = NULL;
    tess_text out;
    tess_text_init(&out, &ctx->heap);
    tess_text_add(&out, "epoch\tsample\ttrial_type\tbad\tn_bad\tn_repaired");
    for (int64_t c = 0; c < info->n_chan; c++) {
        tess_text_add(&out, "\t");
        add_cell(&out, info->channel_names[c]);
    }
    tess_text_add(&out, "\n");
    for (int64_t e = 0; e < info->n_epoch; e++) {
        add_row(&out, info, of, e);
    }
    tess_status status = tess_text_finish(&out, &chars);
    if (status == TESS_OK) {
        status = tess_file_write_text(path, chars, 1);
    }
    tess_text_destroy(&out);
    return status;
}
