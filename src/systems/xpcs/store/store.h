// The inside of tess_xpcs_data: records of tiles, wherever they lie.
#ifndef TESS_XPCS_STORE_STORE_H
#define TESS_XPCS_STORE_STORE_H

#include "base/hash.h"
#include "systems/xpcs/store/tiles.h"
#include "tessera/xpcs/data.h"
#include "tessera/xpcs/simulate.h"

#include <stdbool.h>

struct tess_xpcs_data {
    tess_context *ctx;
    tess_xpcs_data_info info;
    tess_xp_tiles tiles;
    unsigned char *records;              // IN_MEMORY
    struct tess_xp_txc2 *file;           // IN_FILE
    struct tess_xp_generator *generator; // GENERATED
    tess_hash fingerprint; // of the samples' origin: file size, time and ends, or the samples
    char *notes;
    size_t notes_bytes;
};

// Data with room for everything, angles and tables; records are taken for IN_MEMORY (zeroed) only.
// phi, q [n_angle] are copied.
TESS_MUST_CHECK tess_status tess_xp_data_create(tess_context *ctx, tess_xpcs_residency residency,
                                                int64_t n_angle, int64_t n_frame, tess_dtype dtype,
                                                int32_t has_sigma, const double *phi,
                                                const double *q, tess_xpcs_data **out);
// Appends a sentence to the notes.
void tess_xp_data_note(tess_xpcs_data *data, const char *format, ...) TESS_PRINTF(2, 3);

// Fills the rows of one angle from a matrix [n_frame][n_frame] of the data's dtype whose upper
// triangle counts (strides in items), and its sigma (NULL without); then the heads, info.mean and
// n_finite. Lags below exclude_lags and frames marked bad become NaN.
TESS_MUST_CHECK tess_status tess_xp_data_put_matrix(tess_xpcs_data *data, int64_t angle,
                                                    const void *matrix, int64_t row_stride,
                                                    int64_t column_stride, const double *sigma,
                                                    const uint8_t *is_bad, int64_t exclude_lags);
// After the last angle: totals and fingerprint.
TESS_MUST_CHECK tess_status tess_xp_data_finish(tess_xpcs_data *data);

// A reader of records for one pass: in memory a pointer, mapped a window, otherwise a buffer that
// is filled (files: the next stretch is brought in while this one is worked on).
typedef struct tess_xp_reader {
    tess_xpcs_data *data;
    int64_t leaves_per_chunk;
    unsigned char *buffer; // of two chunks where records have to be read or made
    uint64_t buffer_bytes;
    double read_s;
    int64_t max_retries;
    bool is_streamed; // read through buffers although it could be mapped
} tess_xp_reader;

// Bytes a reader would take for chunks of this many leaves.
uint64_t tess_xp_reader_bytes(const tess_xpcs_data *data, int64_t leaves_per_chunk,
                              bool is_streamed);
TESS_MUST_CHECK tess_status tess_xp_reader_open(tess_xpcs_data *data, int64_t leaves_per_chunk,
                                                bool is_streamed, tess_xp_reader *reader);
// Records of leaves first..first+count-1 (count <= leaves_per_chunk), valid until the next call.
TESS_MUST_CHECK tess_status tess_xp_reader_get(tess_xp_reader *reader, int64_t first_leaf,
                                               int64_t n_leaf, const unsigned char **records);
void tess_xp_reader_close(tess_xp_reader *reader);

#endif
