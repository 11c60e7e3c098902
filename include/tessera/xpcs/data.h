/** xpcs: measured two-time correlations, whatever file they come from and wherever they lie. */
#ifndef TESSERA_XPCS_DATA_H
#define TESSERA_XPCS_DATA_H

#include "tessera/array.h"
#include "tessera/context.h"
#include "tessera/param.h"

TESS_BEGIN_DECLS

/** The upper triangles (i < j) of one matrix per angle, in memory, in a file or made on demand. */
typedef struct tess_xpcs_data tess_xpcs_data;

typedef enum tess_xpcs_residency {
    TESS_XPCS_IN_MEMORY = 0,
    TESS_XPCS_IN_FILE = 1,  /* a .txc2 file, held in memory by fits or read in each pass */
    TESS_XPCS_GENERATED = 2 /* tiles of a simulation, made anew in each pass */
} tess_xpcs_residency;

typedef struct tess_xpcs_angle_range {
    double minimum; /* degrees, inclusive; minimum > maximum wraps through 180 */
    double maximum;
} tess_xpcs_angle_range;

/** What to take from a file; scalars are described by table "xpcs.data". */
/** Matrices by q, angle and quality; NaN: that end, or the quality, is not looked at. */
typedef struct tess_xpcs_data_filter {
    uint32_t struct_size;
    int32_t any;          /* 1: one filter that lets a matrix pass is enough; 0: all must */
    int32_t fallback_all; /* 1: all matrices where none passes, with a note; 0: an error */
    int32_t reserved;
    double q_min; /* 1/Å, inclusive */
    double q_max;
    double phi_min; /* degrees, inclusive; above phi_max: through 180 */
    double phi_max;
    double quality_min; /* 0 to 1: 0.4 of the finite share, 0.3 for a first value of 0.5 to 2, 0.2
                           for symmetry, 0.1 for a mean of 0.1 to 5; 0 below 90 % finite */
} tess_xpcs_data_filter;

typedef struct tess_xpcs_data_config {
    uint32_t struct_size;
    int32_t keep_t0;        /* 1: keep frame 0, at time 0; 2: it is gone, the first is at dt */
    int32_t lenient;        /* 1: frames out of range are clamped with a note */
    int32_t fallback_all;   /* 1: all angles where no range matches, with a note */
    int64_t start_frame;    /* 1-based, inclusive */
    int64_t end_frame;      /* inclusive; -1: last */
    int64_t min_angles;     /* fewer are an error */
    int64_t exclude_lags;   /* pairs with j - i below are ignored; 1: none but the diagonal */
    double q;               /* wanted, 1/Å; nearest bin is taken */
    double q_max_deviation; /* relative */
    double q_tolerance;     /* fraction of q: bins that count as one ring; negative: 0.1 for APS
                               legacy files, else 0 */
    double dt_s;            /* 0: what the file says; else compared with it */
    double gap_angstrom;    /* 0: unknown */
    /* Not in the table; copied. */
    const tess_xpcs_angle_range *phi_ranges; /* [n_phi_range]; n 0: all angles */
    int64_t n_phi_range;
    const int64_t *bad_frames; /* [n_bad_frame] 1-based frames of the file */
    int64_t n_bad_frame;
    const char *c2_path; /* data set of a file of unknown layout, (P,N,N) or (N,N); with: */
    const double *phi;   /* [n_phi] degrees */
    int64_t n_phi;
    int32_t angles_last;        /* 1: (N,N,P) */
    int32_t no_cache;           /* 1: neither read nor write a cache */
    const char *cache_folder;   /* NULL: no cache */
    const char *cache_template; /* NULL: cached_c2_frames_${start_frame}_${end_frame}.npz */
    const char *sigma_dataset;  /* data set with (P,N,N) or (N,N) standard deviations; NULL: none */
    const tess_xpcs_data_filter *filter; /* of files other than txc2; NULL: none */
} tess_xpcs_data_config;

TESS_API void tess_xpcs_data_config_init(tess_xpcs_data_config *config, size_t struct_size);
TESS_API const tess_param_table *tess_xpcs_data_params(void);

typedef struct tess_xpcs_data_info {
    uint32_t struct_size;
    int32_t residency; /* tess_xpcs_residency */
    int32_t dtype;     /* TESS_F32 or TESS_F64: of the samples */
    int32_t has_sigma; /* a standard deviation for every point */
    int64_t n_angle;
    int64_t n_frame;         /* after the selection, t0 dropped if asked for */
    int64_t n_point;         /* n_angle * n_frame * n_frame, as strategies count */
    int64_t n_used;          /* finite points above the diagonal */
    const double *phi;       /* [n_angle] degrees in -180..180 */
    const double *q;         /* [n_angle] 1/Å */
    const double *mean;      /* [n_angle] of the used points */
    const int64_t *n_finite; /* [n_angle] */
    double dt_s;
    double gap_angstrom; /* 0: unknown */
    int64_t start_frame; /* resolved; 1 for arrays */
    int64_t end_frame;
    uint64_t bytes;     /* of all tiles */
    const char *path;   /* "" for arrays */
    const char *layout; /* "aps-u", "aps-legacy", "chx", "cache", "txc2", "array", "simulation",
                           "dataset" */
    const char *notes;  /* what a user should know, a sentence per line; "" if nothing */
    int32_t keep_t0;
    int32_t reserved;
} tess_xpcs_data_info;

/** Lives with the data. */
TESS_API const tess_xpcs_data_info *tess_xpcs_data_get_info(const tess_xpcs_data *data);
TESS_API void tess_xpcs_data_destroy(tess_xpcs_data *data);

/** Opens APS-U, APS legacy and CHX HDF5, caches (.npz), .txc2, or any data set with c2_path. Read
 * into memory where the limit allows; else into a temporary .txc2 beside the cache folder. config
 * may be NULL. */
TESS_API TESS_MUST_CHECK tess_status tess_xpcs_data_open(tess_context *ctx, const char *path,
                                                         const tess_xpcs_data_config *config,
                                                         tess_xpcs_data **out);

/** Matrices in memory: c2 (P,N,N) or (N,N), f32 or f64, any strides; copied. phi and q [P]. The
 *  config's frames, ranges, keep_t0, lags, dt and gap apply. sigma NULL or of c2's shape. */
TESS_API TESS_MUST_CHECK tess_status tess_xpcs_data_from_array(
    tess_context *ctx, const tess_array *c2, const double *phi, const double *q,
    const tess_array *sigma, const tess_xpcs_data_config *config, tess_xpcs_data **out);

/** Rows first..first+count-1 of an angle's symmetric matrix as f64, c2 [count][n_frame]; the
 *  diagonal is interpolated from its neighbours; ignored points are NaN. */
TESS_API TESS_MUST_CHECK tess_status tess_xpcs_data_rows(tess_context *ctx, tess_xpcs_data *data,
                                                         int64_t angle, int64_t first,
                                                         int64_t count, double *c2);

/** One angle as data of its own, in memory (f64), with the times, path and layout of all: for fits
 *  of angles one by one. */
TESS_API TESS_MUST_CHECK tess_status tess_xpcs_data_angle(tess_context *ctx, tess_xpcs_data *data,
                                                          int64_t angle, tess_xpcs_data **out);

/** Contrast and offset [n_angle] by quantiles of short and long lags: starts, and the values of the
 *  constant modes. */
TESS_API TESS_MUST_CHECK tess_status tess_xpcs_data_quantile_scaling(tess_context *ctx,
                                                                     tess_xpcs_data *data,
                                                                     double *contrast,
                                                                     double *offset);

/** sigma [n_angle] from differences of neighbours at long lags (1.4826 MAD / sqrt 2). */
TESS_API TESS_MUST_CHECK tess_status tess_xpcs_data_estimate_sigma(tess_context *ctx,
                                                                   tess_xpcs_data *data,
                                                                   double *sigma);

/** A .txc2 file for streaming: packed triangles by tiles, checksummed. */
TESS_API TESS_MUST_CHECK tess_status tess_xpcs_data_save(tess_context *ctx, tess_xpcs_data *data,
                                                         const char *path, int overwrite);

/** Data that tess_xpcs_data_save() wrote to file, in memory if they fit (else they stay in the
 *  file, which may be removed meanwhile), under the path and layout they had before: for copies in
 *  other processes. */
TESS_API TESS_MUST_CHECK tess_status tess_xpcs_data_restore(tess_context *ctx, const char *file,
                                                            const char *path, const char *layout,
                                                            tess_xpcs_data **out);

/** A bin of a file, for listings. */
typedef struct tess_xpcs_bin {
    uint32_t struct_size;
    int32_t is_valid; /* 0: its number is out of range */
    int64_t number;   /* as the file counts */
    int64_t n_frame;
    double q;
    double phi;
    const char *dataset;
} tess_xpcs_bin;

typedef struct tess_xpcs_file_info {
    uint32_t struct_size;
    int32_t dtype;
    int64_t n_bin;
    const tess_xpcs_bin *bins;
    double dt_s; /* frame time, stride and averaging together; 0: the file does not say */
    double frame_time_s;
    int64_t stride;
    int64_t averaging;
    const char *layout;
    const char *filter; /* "lzf", "deflate", "none", ... of the first matrix */
    const char *notes;
} tess_xpcs_file_info;

/** Return of tess_xpcs_file_inspect(); free with tess_xpcs_file_close(). */
typedef struct tess_xpcs_file tess_xpcs_file;
TESS_API TESS_MUST_CHECK tess_status tess_xpcs_file_inspect(tess_context *ctx, const char *path,
                                                            tess_xpcs_file **out);
TESS_API const tess_xpcs_file_info *tess_xpcs_file_get_info(const tess_xpcs_file *file);
TESS_API void tess_xpcs_file_close(tess_xpcs_file *file);

TESS_END_DECLS

#endif
