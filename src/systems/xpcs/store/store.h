// Data: records of tiles, wherever they lie.
#ifndef TESS_XPCS_STORE_STORE_H
#define TESS_XPCS_STORE_STORE_H

#include "runtime/comm.h"
#include "systems/xpcs/store/tiles.h"
#include "systems/xpcs/xpcs.h"
#include "tessera/xpcs/simulate.h"

// Data with room for everything, angles and tables; records are taken for IN_MEMORY (zeroed) only.
// phi, q [n_angle] are copied; NULL where the caller fills tables.
TESS_MUST_CHECK tess_status tess_xp_data_create(tess_context *ctx, tess_xpcs_residency residency,
                                                int64_t n_angle, int64_t n_frame, tess_dtype dtype,
                                                int32_t has_sigma, const double *phi,
                                                const double *q, tess_xpcs_data **out);
// The same where the memory limit leaves room for the records and spare_bytes besides; else
// IN_FILE: a scratch file in folder (NULL: the directory for temporaries) that vanishes with the
// data. Filled in the same way.
TESS_MUST_CHECK tess_status tess_xp_data_create_fitting(tess_context *ctx, const char *folder,
                                                        uint64_t spare_bytes, int64_t n_angle,
                                                        int64_t n_frame, tess_dtype dtype,
                                                        int32_t has_sigma, const double *phi,
                                                        const double *q, tess_xpcs_data **out);
// Appends a sentence to the notes. One that there is no memory for is lost.
void tess_xp_data_note(tess_xpcs_data *data, const char *format, ...) TESS_PRINTF(2, 3);
// Copies path into info.
TESS_MUST_CHECK tess_status tess_xp_data_set_path(tess_xpcs_data *data, const char *path);

// A matrix [n_frame][n_frame] of the data's dtype whose upper triangle counts; strides in items.
typedef struct tess_xp_matrix {
    const void *c2;
    int64_t row_stride;
    int64_t column_stride;
    const double *sigma; // NULL without
    int64_t sigma_row_stride;
    int64_t sigma_column_stride;
    const uint8_t *is_bad; // [n_frame]; NULL: none
    int64_t exclude_lags;  // pairs with j - i below are left out
} tess_xp_matrix;

// Fills the rows of one angle from a matrix, then the heads, info.mean and n_finite. What is left
// out or not finite becomes NaN. sigma has to be finite and positive where a sample counts.
TESS_MUST_CHECK tess_status tess_xp_data_put(tess_xpcs_data *data, int64_t angle,
                                             const tess_xp_matrix *matrix);
// The same; sigma [n_frame][n_frame] has the strides of the matrix.
TESS_MUST_CHECK tess_status tess_xp_data_put_matrix(tess_xpcs_data *data, int64_t angle,
                                                    const void *matrix, int64_t row_stride,
                                                    int64_t column_stride, const double *sigma,
                                                    const uint8_t *is_bad, int64_t exclude_lags);
// Memory for the records of data that have none yet, which are then IN_MEMORY.
TESS_MUST_CHECK tess_status tess_xp_data_take_records(tess_xpcs_data *data);
// After the last angle: angles without use (constant, or more than half of their points not finite)
// are dropped with a note, TESS_E_NUMERIC if none is left; then totals and fingerprint.
TESS_MUST_CHECK tess_status tess_xp_data_finish(tess_xpcs_data *data);

// Totals and fingerprint of records that were filled otherwise.
TESS_MUST_CHECK tess_status tess_xp_data_seal(tess_xpcs_data *data);

// Memory that estimates of contrast, offset and noise take.
uint64_t tess_xp_survey_bytes(const tess_xpcs_data *data);

// For estimates that all ranks of a job make together: what this one takes of angles, or other
// parts that know nothing of each other; all where the data are few.
tess_comm_deal tess_xp_deal_survey(const tess_context *ctx, const tess_xpcs_data *data);
// As tess_xpcs_data_quantile_scaling() and tess_xpcs_data_estimate_sigma(), with angles dealt out:
// then all ranks call it, and all have the whole.
TESS_MUST_CHECK tess_status tess_xp_data_scaling(tess_context *ctx, tess_xpcs_data *data,
                                                 tess_comm_deal angles, double *contrast,
                                                 double *offset);
TESS_MUST_CHECK tess_status tess_xp_data_sigma(tess_context *ctx, tess_xpcs_data *data,
                                               tess_comm_deal angles, double *sigma);
// Likewise standard deviations by angle and lag, sigma [n_angle][n_frame], from differences along
// the diagonals; where few pairs have a lag its neighbours help.
TESS_MUST_CHECK tess_status tess_xp_data_sigma_per_lag(tess_context *ctx, tess_xpcs_data *data,
                                                       tess_comm_deal angles, double *sigma);
// Of every point as given with the data, rows as tess_xpcs_data_rows(); NaN where a point is
// ignored and on the diagonal. has_sigma only.
TESS_MUST_CHECK tess_status tess_xp_data_sigma_rows(tess_xpcs_data *data, int64_t angle,
                                                    int64_t first, int64_t count, double *sigma);

// What rows have above the diagonal, at some of the angles: few tiles, where whole rows need most
// of them. Tile after tile in order, number k of the angles after the other: y [n_column], NaN
// where a sample is ignored.
typedef void (*tess_xp_visit_row)(void *self, int64_t k, const tess_xp_tile *tile, const double *y);
typedef struct tess_xp_some_rows {
    int64_t first; // row
    int64_t count;
    const int64_t *angles; // [n_angle]
    int64_t n_angle;
    tess_xp_visit_row visit;
    void *self;
} tess_xp_some_rows;
TESS_MUST_CHECK tess_status tess_xp_data_show_rows(tess_context *ctx, tess_xpcs_data *data,
                                                   const tess_xp_some_rows *look);
// Memory that it takes.
uint64_t tess_xp_rows_bytes(const tess_xpcs_data *data);

// Part of the data: all pairs of some frames, at some angles.
typedef struct tess_xp_chosen {
    const int64_t *frames; // [n_frame] rising, at least 3
    int64_t n_frame;
    const int64_t *angles; // [n_angle]
    int64_t n_angle;
    const double *lag_weight; // [n_angle of the data][its n_frame]; NULL: as the data have it
    bool ignore_sigma;        // points weigh alike although the data have a deviation of every one
} tess_xp_chosen;

// At most so many frames, with lags and ages of every size among their pairs; all if they are few.
// Returns how many.
int64_t tess_xp_choose_frames(int64_t n_frame, int64_t most, int64_t *frames);
// The chosen points in memory, f64, as data of their own with their means; nothing else of info.
TESS_MUST_CHECK tess_status tess_xp_data_sketch(tess_context *ctx, tess_xpcs_data *data,
                                                const tess_xp_chosen *choice, tess_xpcs_data **out);

// Takes over tiles of the angles that were not dropped, and moves their tables together.
void tess_xp_data_keep_angles(tess_xpcs_data *data, const tess_xp_tiles *tiles);
// The fingerprint of angles and samples from the checksums of leaves [n_leaf].
tess_hash tess_xp_data_hash(const tess_xpcs_data *data, const tess_hash *leaf_hash);

// With bad_chunk mask, for data in a file: goes over all of them, with max_retries; from then on
// every reader gives leaves that cannot be read, or whose checksum is wrong, as ignored points.
// n_finite and n_used follow. TESS_E_IO where less than min_success_rate of the points is left. Not
// while others use the data.
TESS_MUST_CHECK tess_status tess_xp_data_mask(tess_context *ctx, tess_xpcs_data *data,
                                              const tess_xpcs_fit_config *config);
// The fingerprint and what is masked.
tess_hash tess_xp_data_identity(const tess_xpcs_data *data);
// Whether a read that ends so may be tried again, and masked: the disk failed, or bytes are
// damaged.
bool tess_xp_is_bad_read(tess_status status);

// A reader of records for one pass: in memory a pointer, otherwise a buffer that is filled (files:
// the next stretch is brought in while this one is worked on).
typedef struct tess_xp_reader {
    tess_xpcs_data *data;
    tess_context *ctx;   // of the call: stops retries
    tess_device *device; // makes records that are made when asked for; NULL: none are
    int64_t leaves_per_chunk;
    const unsigned char *records; // all of them; NULL: through the buffer
    unsigned char *buffer; // of two chunks where records are read, of one where they are made
    uint64_t buffer_bytes;
    double read_s; // that the caller waited
    int64_t max_retries;
    bool in_second_half;         // of the buffer lies what was given out last
    int64_t first_leaf;          // of what was given out last
    int64_t n_leaf;              // 0: nothing yet
    int64_t next_leaf;           // what the caller will ask for after the next call
    int64_t n_next;              // 0: what follows
    struct tess_xp_ahead *ahead; // reads the next stretch; NULL: nobody does
} tess_xp_reader;

// For data in a file: reads all records into memory, where they stay with the data for readers that
// are opened from then on. Nothing to do where they are there already, or for other data.
TESS_MUST_CHECK tess_status tess_xp_data_hold(tess_context *ctx, tess_xpcs_data *data,
                                              int64_t max_retries);
bool tess_xp_data_is_held(const tess_xpcs_data *data);
// Gives that memory back. Not while others use the data.
void tess_xp_data_let_go(tess_xpcs_data *data);
// TESS_E_CHANGED if a file is not any more what it was when it was opened. Every read looks, too:
// this is for what was computed since.
TESS_MUST_CHECK tess_status tess_xp_data_check(const tess_xpcs_data *data);

// What tells the records from all others in the process; 0 where parts of them are masked that
// cannot be read.
uint64_t tess_xp_data_key(const tess_xpcs_data *data);

// Leaves of a chunk of about so many bytes, at least one.
int64_t tess_xp_leaves_in(const tess_xpcs_data *data, uint64_t bytes);
// Bytes a reader would take for chunks of this many leaves; is_streamed: reads a file even if its
// records are held.
uint64_t tess_xp_reader_bytes(const tess_xpcs_data *data, int64_t leaves_per_chunk,
                              bool is_streamed);
// ctx: of the call, which need not be the data's.
TESS_MUST_CHECK tess_status tess_xp_reader_open(tess_context *ctx, tess_xpcs_data *data,
                                                int64_t leaves_per_chunk, bool is_streamed,
                                                tess_xp_reader *reader);
// Records of leaves first..first+count-1 (count <= leaves_per_chunk), valid until the next call. A
// failing read is tried max_retries times more, after longer and longer pauses.
TESS_MUST_CHECK tess_status tess_xp_reader_get(tess_xp_reader *reader, int64_t first_leaf,
                                               int64_t n_leaf, const unsigned char **records);
// Says what will be asked for after the next call, so that it can be read ahead, where that is not
// just what follows.
void tess_xp_reader_expect(tess_xp_reader *reader, int64_t first_leaf, int64_t n_leaf);
void tess_xp_reader_close(tess_xp_reader *reader);

#endif
