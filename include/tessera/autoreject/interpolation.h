/** autoreject: prediction of channels from others. */
#ifndef TESSERA_AUTOREJECT_INTERPOLATION_H
#define TESSERA_AUTOREJECT_INTERPOLATION_H

#include "tessera/autoreject/epochs.h"

TESS_BEGIN_DECLS

/** How MEG dot products are evaluated. */
typedef enum tess_autoreject_dots {
    TESS_AUTOREJECT_DOTS_DIRECT = 0,
    TESS_AUTOREJECT_DOTS_TABLE = 1 /* MNE up to 1.12: float32 table, to compare with */
} tess_autoreject_dots;

/** Options of interpolation; scalars are described by table "autoreject.interpolation". */
typedef struct tess_autoreject_interpolation_config {
    uint32_t struct_size;
    int32_t meg_dots;      /* tess_autoreject_dots */
    int32_t meg_accurate;  /* 1: 99 terms (and a linear table) instead of 49 */
    int32_t fitted_origin; /* 1: EEG positions are taken from the centre of a sphere fitted to the
                              digitised points, MEG uses it as the centre of its sphere */
    const double *eeg_origin; /* [3], metres; NULL: 0, 0, 0 */
} tess_autoreject_interpolation_config;

TESS_API void
tess_autoreject_interpolation_config_init(tess_autoreject_interpolation_config *config,
                                          size_t struct_size);
TESS_API const tess_param_table *tess_autoreject_interpolation_params(void);

/** Spherical splines: out[n_to][n_from] predicts positions `to` from positions `from` (metres, any
 *  unit; only directions matter). */
TESS_API TESS_MUST_CHECK tess_status tess_autoreject_spline_weights(tess_context *ctx,
                                                                    const double *from,
                                                                    int64_t n_from,
                                                                    const double *to, int64_t n_to,
                                                                    double *out);

/** Weights that predict channels to[] of the sensors from channels from[]: EEG by splines, MEG by
 *  field mapping. out [n_to][n_from]. All of them EEG, or all of them mag and grad. */
TESS_API TESS_MUST_CHECK tess_status
tess_autoreject_weights(tess_context *ctx, const tess_autoreject_sensors *sensors,
                        const int64_t *from, int64_t n_from, const int64_t *to, int64_t n_to,
                        const tess_autoreject_interpolation_config *config, double *out);

/** Dot products of MEG channels[n]: out [n][n], symmetric. */
TESS_API TESS_MUST_CHECK tess_status tess_autoreject_meg_dots(
    tess_context *ctx, const tess_autoreject_sensors *sensors, const int64_t *channels, int64_t n,
    const tess_autoreject_interpolation_config *config, double *out);

/** The sphere through the head-shape points of the sensors (linear least squares). */
TESS_API TESS_MUST_CHECK tess_status tess_autoreject_fit_sphere(
    const tess_autoreject_sensors *sensors, double origin[3], double *radius);

/**
 * Repairs samples in place: epoch by epoch, the channels marked in bad are predicted from the
 * other channels of picks of the same kind (EEG; mag and grad together).
 *
 * x    inout  f64 [n_epoch][n_chan][n_time] host, C-contiguous.
 * bad  in     [n_epoch][n_chan] 1: predict. Channels outside picks must be 0.
 */
TESS_API TESS_MUST_CHECK tess_status tess_autoreject_interpolate(
    tess_context *ctx, const tess_autoreject_sensors *sensors, const int64_t *picks, int64_t n_pick,
    const uint8_t *bad, const tess_autoreject_interpolation_config *config, tess_array *x);

TESS_END_DECLS

#endif
