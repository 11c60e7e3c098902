// Statistics of a peak-to-peak result of any size, in constant memory.
#ifndef TESSERA_CLI_SUMMARY_H
#define TESSERA_CLI_SUMMARY_H

#include <tessera/io.h>

enum { SUMMARY_FLAT_LISTED = 10 };

typedef struct summary {
    int64_t n_row;     // epochs x channels
    int64_t n_nan_row; // left out of the statistics below
    double minimum;    // NaN if every row is NaN or there is none
    double median;
    double maximum;
    int64_t n_flat;                    // channels that are 0 in every epoch
    int64_t flat[SUMMARY_FLAT_LISTED]; // the first of them
} summary;

// result: f32 or f64 [n_epoch][n_chan]. Exit code.
int summary_compute(tess_source *result, summary *out);

#endif
