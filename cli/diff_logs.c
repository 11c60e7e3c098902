// Compares two reject logs, of which one at least was exported by a page: epochs and cells by name.

#include "diff.h"

#include <tessera/autoreject.h>

#include <string.h>

static void add_text(diff_row *row, const char *text)
{
    const size_t used = strlen(row->detail);
    const size_t n = strlen(text);

    if (used + n + 8 < sizeof row->detail) {
        snprintf(row->detail + used, sizeof row->detail - used, "%s%s", used > 0 ? ", " : "", text);
    } else if (used < 4 || strcmp(row->detail + used - 3, "...") != 0) {
        snprintf(row->detail + used, sizeof row->detail - used, ", ...");
    }
}

static void differ(diff_row *row, double distance, const char *where, const char *text)
{
    if (row->n_different++ == 0) {
        snprintf(row->first, sizeof row->first, "%s", where);
    }
    row->status = DIFF_DIFFERENT;
    row->max_abs = distance > row->max_abs ? distance : row->max_abs;
    add_text(row, text);
}

static int is_one_shape(diff *d, const char *prefix, const tess_autoreject_log_info *a,
                        const tess_autoreject_log_info *b)
{
    int is_same = a->n_epoch == b->n_epoch && a->n_chan == b->n_chan;

    for (int64_t c = 0; is_same && c < a->n_chan; c++) {
        is_same = strcmp(a->channel_names[c], b->channel_names[c]) == 0;
    }
    diff_row *row = is_same ? NULL : diff_add_row(d, prefix, "ch_names");
    if (row) {
        row->status = DIFF_DIFFERENT;
        snprintf(row->detail, sizeof row->detail,
                 "%lld epochs x %lld channels -> %lld x %lld, or channels of other names",
                 (long long)a->n_epoch, (long long)a->n_chan, (long long)b->n_epoch,
                 (long long)b->n_chan);
    }
    return is_same;
}

static void compare_epochs(diff *d, const char *prefix, const tess_autoreject_log_info *a,
                           const tess_autoreject_log_info *b)
{
    diff_row *row = diff_add_row(d, prefix, "bad_epochs");

    for (int64_t e = 0; row && e < a->n_epoch; e++) {
        row->n_value++;
        if ((a->bad_epochs[e] != 0) != (b->bad_epochs[e] != 0)) {
            char where[48];
            char text[96];
            snprintf(where, sizeof where, "epoch %lld", (long long)e);
            snprintf(text, sizeof text, "%s %s", where,
                     a->bad_epochs[e] ? "dropped -> kept" : "kept -> dropped");
            differ(row, 1, where, text);
        }
    }
}

static void compare_labels(diff *d, const char *prefix, const tess_autoreject_log_info *a,
                           const tess_autoreject_log_info *b)
{
    static const char *const names[] = {"not considered", "good", "bad", "repaired"};
    diff_row *row = diff_add_row(d, prefix, "labels");

    for (int64_t i = 0; row && i < a->n_epoch * a->n_chan; i++) {
        row->n_value++;
        if (a->labels[i] != b->labels[i]) {
            char where[80];
            char text[128];
            snprintf(where, sizeof where, "epoch %lld %.40s", (long long)(i / a->n_chan),
                     a->channel_names[i % a->n_chan]);
            snprintf(text, sizeof text, "%s %s -> %s", where, names[(a->labels[i] + 1) & 3],
                     names[(b->labels[i] + 1) & 3]);
            differ(row,
                   a->labels[i] > b->labels[i] ? a->labels[i] - b->labels[i]
                                               : b->labels[i] - a->labels[i],
                   where, text);
        }
    }
}

int diff_logs(diff *d, const char *prefix, const char *a, const char *b)
{
    tess_autoreject_log *logs[2] = {NULL, NULL};
    const int is_pair = tess_autoreject_log_load(d->c->ctx, a, &logs[0]) == TESS_OK &&
                        tess_autoreject_log_load(d->c->ctx, b, &logs[1]) == TESS_OK;

    if (is_pair) {
        const tess_autoreject_log_info *left = tess_autoreject_log_get_info(logs[0]);
        const tess_autoreject_log_info *right = tess_autoreject_log_get_info(logs[1]);
        if (is_one_shape(d, prefix, left, right)) {
            compare_epochs(d, prefix, left, right);
            compare_labels(d, prefix, left, right);
        }
    }
    tess_autoreject_log_destroy(logs[0]);
    tess_autoreject_log_destroy(logs[1]);
    return is_pair;
}
