/** xpcs: synthetic correlations with known parameters. */
#ifndef TESSERA_XPCS_SIMULATE_H
#define TESSERA_XPCS_SIMULATE_H

#include "tessera/xpcs/data.h"
#include "tessera/xpcs/model.h"

TESS_BEGIN_DECLS

/**
 * A simulation; scalars are described by table "xpcs.simulate". The noise of a point depends on
 * seed, angle and frames only: any tile can be made alone.
 */
typedef struct tess_xpcs_simulation {
    uint32_t struct_size;
    int32_t dtype; /* choice: f32 f64 */
    int64_t n_angle;
    int64_t n_frame; /* frames of the matrices, t0 included unless t0 is dropped by model */
    double q;        /* 1/Å, of every angle where q_list is NULL */
    double sigma;    /* of the noise */
    double contrast; /* of every angle where contrasts is NULL */
    double offset;
    double contrast_scatter; /* relative, normal */
    double offset_scatter;   /* absolute, normal */
    double spike;            /* added to the diagonal of files */
    double nan_fraction;     /* points that are NaN */
    int64_t seed;
    /* Not in the table; copied. */
    tess_xpcs_model model;
    const double *theta;     /* of the mode; NULL: published values */
    const double *phi;       /* [n_angle] degrees; NULL: evenly over -90..90 */
    const double *q_list;    /* [n_angle] */
    const double *contrasts; /* [n_angle] */
    const double *offsets;
    const int64_t *bad_frames; /* [n_bad_frame] 1-based: NaN in rows and columns */
    int64_t n_bad_frame;
    /* Of speckle; in the table. */
    double photons;  /* mean of a pixel and frame */
    int64_t n_pixel; /* of an angle */
    int32_t speckle; /* 1: correlations of photon counts of speckle, noise as in an experiment:
                        pairs that share a frame have correlated noise. sigma has no part in it.
                        Always in memory */
    int32_t reserved;
} tess_xpcs_simulation;

TESS_API void tess_xpcs_simulation_init(tess_xpcs_simulation *simulation, size_t struct_size);
TESS_API const tess_param_table *tess_xpcs_simulation_params(void);

/** Data whose tiles are made when they are needed; in memory where in_memory is 1. The frames of
 *  the data are n_frame, less t0 where model.keep_t0 is 0. */
TESS_API TESS_MUST_CHECK tess_status tess_xpcs_simulate(tess_context *ctx,
                                                        const tess_xpcs_simulation *simulation,
                                                        int32_t in_memory, tess_xpcs_data **out);

typedef enum tess_xpcs_file_layout {
    TESS_XPCS_APS_U = 0,
    TESS_XPCS_APS_LEGACY = 1,
    TESS_XPCS_TXC2 = 2
} tess_xpcs_file_layout;
typedef enum tess_xpcs_filter {
    TESS_XPCS_FILTER_LZF = 0,
    TESS_XPCS_FILTER_DEFLATE = 1,
    TESS_XPCS_FILTER_NONE = 2
} tess_xpcs_filter;

/** A file as a beamline writes it: the upper triangle as f32 with the diagonal's spike. */
TESS_API TESS_MUST_CHECK tess_status tess_xpcs_simulate_file(tess_context *ctx,
                                                             const tess_xpcs_simulation *simulation,
                                                             tess_xpcs_file_layout layout,
                                                             tess_xpcs_filter filter,
                                                             const char *path, int overwrite);

TESS_END_DECLS

#endif
