// Samples that lie in a file (or in memory) as one block of numbers, interleaved or channel by
// channel: BrainVision's .eeg, EEGLAB's .fdt and data inside .set.
#ifndef TESS_AUTOREJECT_SAMPLES_H
#define TESS_AUTOREJECT_SAMPLES_H

#include "systems/autoreject/epochs/epochs.h"

typedef struct tess_ar_samples {
    const tess_infile *file; // watched with the epochs
    const char *path;        // of the file they come from, also where they are in memory
    uint64_t offset;         // of the first sample in the file
    const uint8_t *memory;   // all of them; NULL: file
    int32_t dtype;           // integers, f32 or f64
    bool is_swapped;         // big-endian
    int64_t n_channel;
    int64_t n_sample;
    int64_t n_time;        // samples of an epoch; of a continuous recording n_sample
    bool is_interleaved;   // [n_sample][n_channel], else [n_channel][n_sample]
    const double *factors; // [n_channel] to SI units
    uint8_t *buffer;       // of prepare
    size_t buffer_bytes;
} tess_ar_samples;

// The file that a header names, beside it; a name that was not changed along with the header's own
// is forgiven where that leads to a file. *out lives with the epochs.
TESS_MUST_CHECK tess_status tess_ar_samples_find(tess_autoreject_epochs *epochs, const char *header,
                                                 const char *name, const char *extension,
                                                 const char **out);

// Checks that the block fits into bytes (of the file behind offset, or of the memory) and makes the
// buffer, in memory of the epochs.
TESS_MUST_CHECK tess_status tess_ar_samples_prepare(tess_autoreject_epochs *epochs,
                                                    tess_ar_samples *samples, uint64_t bytes);

// Samples first..first+count-1 of the channels into dst [n_channel][count]. impl: tess_ar_samples.
TESS_MUST_CHECK tess_status tess_ar_samples_read(tess_context *ctx, void *impl, int64_t first,
                                                 int64_t count, const int64_t *channels,
                                                 int64_t n_channel, double *dst);
// The same for epochs, of n_time samples each.
TESS_MUST_CHECK tess_status tess_ar_samples_read_epochs(tess_context *ctx, void *impl,
                                                        int64_t first, int64_t count,
                                                        const int64_t *channels, int64_t n_channel,
                                                        double *dst);
// Turns the bytes of each of n items around.
void tess_ar_swap(void *items, size_t item_bytes, int64_t n);
// n items of a type, stride items apart, times factor, as doubles.
void tess_ar_convert(int32_t dtype, const void *src, int64_t stride, int64_t n, double factor,
                     double *dst);

#endif
