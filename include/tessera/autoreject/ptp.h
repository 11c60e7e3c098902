/** autoreject: peak-to-peak amplitudes and simulated epochs. */
#ifndef TESSERA_AUTOREJECT_PTP_H
#define TESSERA_AUTOREJECT_PTP_H

#include "tessera/array.h"
#include "tessera/context.h"
#include "tessera/io.h"
#include "tessera/param.h"
#include "tessera/run.h"

TESS_BEGIN_DECLS

/** What a non-finite sample does to the peak-to-peak of its row. */
typedef enum tess_autoreject_nonfinite {
    TESS_AUTOREJECT_NONFINITE_PROPAGATE = 0, /* NaN makes the row's result NaN; +-Inf counts */
    TESS_AUTOREJECT_NONFINITE_ERROR = 1      /* stop and name the first epoch and channel */
} tess_autoreject_nonfinite;

/** Options of the peak-to-peak stage; described by table "autoreject.ptp". */
typedef struct tess_autoreject_ptp_config {
    uint32_t struct_size;
    int32_t nonfinite;   /* tess_autoreject_nonfinite */
    int64_t tile_epochs; /* epochs per tile; 0: from the memory budget */
} tess_autoreject_ptp_config;

TESS_API void tess_autoreject_ptp_config_init(tess_autoreject_ptp_config *config,
                                              size_t struct_size);

/** The table of the options above. */
TESS_API const tess_param_table *tess_autoreject_ptp_params(void);

/**
 * Peak-to-peak amplitude of every channel of every epoch:
 *
 *     out[e][c] = max_t x[e][c][t] - min_t x[e][c][t]
 *
 * ctx     in   Threads, device, log. One call at a time per context.
 * x       in   f32 or f64 [n_epoch][n_chan][n_time], volts (or any unit). Last axis contiguous,
 *              n_time >= 1; n_epoch and n_chan may be 0.
 * config  in   NULL: defaults.
 * out     out  [n_epoch][n_chan], dtype and memory space of x, C-contiguous, no overlap with x.
 *
 * A NaN in a row makes that row's result NaN unless config says error. Same bits for any thread
 * count, tile size, CPU ISA and device (NaN payloads aside).
 *
 * Returns TESS_OK, TESS_E_SHAPE, TESS_E_DTYPE, TESS_E_SPACE, TESS_E_NUMERIC, TESS_E_MEMORY,
 * TESS_E_DEVICE or TESS_CANCELLED. On anything but TESS_OK the content of out is unspecified.
 */
TESS_API TESS_MUST_CHECK tess_status tess_autoreject_ptp(tess_context *ctx, const tess_array *x,
                                                         const tess_autoreject_ptp_config *config,
                                                         tess_array *out);

/** Plans the same computation over a source; run it with tess_run_create(). The sink takes
 *  [n_epoch][n_chan] of the source's dtype. */
TESS_API TESS_MUST_CHECK tess_status
tess_autoreject_ptp_plan_create(tess_context *ctx, const tess_source *source,
                                const tess_autoreject_ptp_config *config, tess_plan **out);

/** Simulated epochs; described by table "autoreject.simulate". */
typedef struct tess_autoreject_simulate_config {
    uint32_t struct_size;
    int32_t dtype_index; /* choice: 0 f32, 1 f64 */
    int64_t n_epoch;
    int64_t n_chan;
    int64_t n_time;
    int64_t seed;
    double sampling_hz;
    double bad_fraction; /* of (epoch, channel) pairs that get an artifact */
} tess_autoreject_simulate_config;

TESS_API void tess_autoreject_simulate_config_init(tess_autoreject_simulate_config *config,
                                                   size_t struct_size);
TESS_API const tess_param_table *tess_autoreject_simulate_params(void);

/**
 * EEG-like epochs in volts: smooth 1/f sources seen by electrodes on a sphere, sensor noise, an
 * evoked response, artifacts (jumps, muscle bursts, drifts, blinks, movement) in a given fraction
 * of rows. Counter-based: the value at (seed, epoch, channel, sample) never depends on the rest.
 *
 * out  out  f32 or f64 [n_epoch][n_chan][n_time] as configured, C-contiguous host memory.
 */
TESS_API TESS_MUST_CHECK tess_status tess_autoreject_simulate(
    tess_context *ctx, const tess_autoreject_simulate_config *config, tess_array *out);

/** Where the simulated electrodes are: out [n_chan][3], metres. */
TESS_API TESS_MUST_CHECK tess_status tess_autoreject_simulated_positions(int64_t n_chan,
                                                                         double *out);

/** Plans the same simulation tile by tile into a sink (source: NULL in tess_run_create()). */
TESS_API TESS_MUST_CHECK tess_status tess_autoreject_simulate_plan_create(
    tess_context *ctx, const tess_autoreject_simulate_config *config, tess_plan **out);

/**
 * A one-file HTML report of a peak-to-peak result: heat map of epochs x channels, distribution,
 * per-channel summary, suspicious channels, provenance. Written atomically.
 *
 * ptp         in  f32 or f64 [n_epoch][n_chan], host.
 * provenance  in  JSON of tess_run_provenance(); may be NULL.
 * overwrite   in  1: a file of this name is replaced; 2: if it is the report of these very values.
 */
TESS_API TESS_MUST_CHECK tess_status tess_autoreject_ptp_report(tess_context *ctx,
                                                                const tess_array *ptp,
                                                                const char *provenance,
                                                                const char *path, int overwrite);

TESS_END_DECLS

#endif
