// Epochs of golden files, and the golden case that a formula gives.
#ifndef TESS_TESTS_AUTOREJECT_GOLDEN_H
#define TESS_TESTS_AUTOREJECT_GOLDEN_H

#include "autoreject_data.h"
#include "unit_golden.h"

#include <string.h>

// EEG epochs "X" of a file with positions "pos".
static inline ar_data ar_golden_eeg(tess_context *ctx, const char *file, int64_t n_epoch,
                                    int64_t n_chan, int64_t n_time)
{
    ar_data d = ar_data_make(ctx, n_epoch, n_chan, n_time, 1);
    int64_t n = 0;
    double *x = golden_f64(ctx, file, "X", &n);
    double *pos = golden_f64(ctx, file, "pos", NULL);
    assert_int_equal(n, n_epoch * n_chan * n_time);
    memcpy(d.x, x, (size_t)n * sizeof *x);
    for (int64_t c = 0; c < n_chan; c++) {
        memcpy(d.channels[c].loc, pos + 3 * c, 3 * sizeof *pos);
    }
    free(x);
    free(pos);
    tess_autoreject_epochs_close(d.epochs);
    ar_data_open(ctx, &d);
    return d;
}

// 40 epochs of 16 channels and 50 samples.
static inline ar_data ar_golden_formula(tess_context *ctx)
{
    ar_data d = ar_data_make(ctx, 40, 16, 50, 1);
    const double turn = 6.283185307179586;
    uint32_t s = 12345;
    for (int64_t e = 0; e < 40; e++) {
        for (int64_t c = 0; c < 16; c++) {
            for (int64_t t = 0; t < 50; t++) {
                s = (1103515245u * s + 12345u) & 0x7fffffffu;
                double x = 10e-6 * sin(turn * (double)t / 25 + 0.3 * (double)c) +
                           20e-6 * ((double)s / 2147483648.0 - 0.5);
                x += (7 * e + 3 * c) % 23 == 0 ? 80e-6 * sin(turn * (double)t / 10) : 0;
                d.x[(e * 16 + c) * 50 + t] = e == 5 || e == 12 || e == 22 ? 3 * x : x;
            }
        }
    }
    return d;
}

// 0, 1, ..., n - 1; the caller frees it.
static inline int64_t *ar_first_channels(int64_t n)
{
    int64_t *channels = malloc((size_t)n * sizeof *channels);
    for (int64_t c = 0; c < n; c++) {
        channels[c] = c;
    }
    return channels;
}

#endif
