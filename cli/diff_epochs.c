// Compares the epochs of two FIF files as everybody reads them: calibrated, baseline applied.

#include "diff.h"

#include <tessera/autoreject.h>

#include <stdlib.h>
#include <string.h>

static tess_status open_epochs(diff *d, const char *path, tess_autoreject_epochs **out)
{
    tess_autoreject_epochs_config config;
    tess_autoreject_epochs_config_init(&config, sizeof config);
    return tess_autoreject_epochs_open(d->c->ctx, path, &config, out);
}

static int compare_names(diff *d, const char *prefix, const tess_autoreject_epochs_info *a,
                         const tess_autoreject_epochs_info *b)
{
    diff_row *row = diff_add_row(d, prefix, "channels");

    if (!row) {
        return console_fail(71, "out of memory");
    }
    for (int64_t i = 0; i < a->sensors->n_chan && row->status == DIFF_SAME; i++) {
        const tess_autoreject_channel *left = &a->sensors->channels[i];
        const tess_autoreject_channel *right = &b->sensors->channels[i];
        if (strcmp(left->name, right->name) != 0) {
            row->status = DIFF_DIFFERENT;
            snprintf(row->detail, sizeof row->detail, "[%lld] %.80s -> %.80s", (long long)i,
                     left->name, right->name);
        }
    }
    return 0;
}

static int compare_samples(diff *d, const char *prefix, tess_autoreject_epochs *a,
                           tess_autoreject_epochs *b)
{
    const tess_autoreject_epochs_info *info = tess_autoreject_epochs_get_info(a);
    const int64_t n_chan = info->sensors->n_chan;
    const int64_t n = n_chan * info->n_time;
    diff_row *row = diff_add_row(d, prefix, "epochs");
    double *left = malloc((size_t)n * sizeof *left + 1);
    double *right = malloc((size_t)n * sizeof *right + 1);
    int code = row && left && right ? 0 : console_fail(71, "no memory to compare epochs");

    for (int64_t e = 0; e < info->n_epoch && code == 0; e++) {
        tess_status status = tess_autoreject_epochs_read(d->c->ctx, a, e, 1, NULL, n_chan, left);
        status = status == TESS_OK
                     ? tess_autoreject_epochs_read(d->c->ctx, b, e, 1, NULL, n_chan, right)
                     : status;
        code = status == TESS_OK ? 0 : console_status(status);
        for (int64_t i = 0; i < n && code == 0; i++) {
            char index[96] = "";
            if (row->n_different == 0 && !(left[i] == right[i])) {
                snprintf(index, sizeof index, "[%lld][%lld][%lld]", (long long)e,
                         (long long)(i / info->n_time), (long long)(i % info->n_time));
            }
            diff_take(d, row, left[i], right[i], index);
        }
    }
    free(left);
    free(right);
    return code;
}

static int compare_shapes(diff *d, const char *prefix, const tess_autoreject_epochs_info *a,
                          const tess_autoreject_epochs_info *b, int *is_same)
{
    *is_same = a->n_epoch == b->n_epoch && a->n_time == b->n_time &&
               a->sensors->n_chan == b->sensors->n_chan;
    if (*is_same) {
        return 0;
    }
    diff_row *row = diff_add_row(d, prefix, "epochs");
    if (!row) {
        return console_fail(71, "out of memory");
    }
    row->status = DIFF_DIFFERENT;
    snprintf(row->detail, sizeof row->detail, "[%lld][%lld][%lld] -> [%lld][%lld][%lld]",
             (long long)a->n_epoch, (long long)a->sensors->n_chan, (long long)a->n_time,
             (long long)b->n_epoch, (long long)b->sensors->n_chan, (long long)b->n_time);
    return 0;
}

int diff_epochs(diff *d, const char *prefix, const char *a, const char *b)
{
    tess_autoreject_epochs *epochs[2] = {NULL, NULL};
    int is_same = 0;
    tess_status status = open_epochs(d, a, &epochs[0]);
    status = status == TESS_OK ? open_epochs(d, b, &epochs[1]) : status;
    int code = status == TESS_OK ? 0 : console_status(status);

    if (code == 0) {
        const tess_autoreject_epochs_info *left = tess_autoreject_epochs_get_info(epochs[0]);
        const tess_autoreject_epochs_info *right = tess_autoreject_epochs_get_info(epochs[1]);
        code = compare_shapes(d, prefix, left, right, &is_same);
        code = code || !is_same ? code : compare_names(d, prefix, left, right);
        code = code || !is_same ? code : compare_samples(d, prefix, epochs[0], epochs[1]);
    }
    tess_autoreject_epochs_close(epochs[0]);
    tess_autoreject_epochs_close(epochs[1]);
    return code;
}
