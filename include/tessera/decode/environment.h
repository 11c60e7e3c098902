/** decode: environments, the bins of position in which everything is evaluated. */
#ifndef TESSERA_DECODE_ENVIRONMENT_H
#define TESSERA_DECODE_ENVIRONMENT_H

#include "tessera/context.h"
#include "tessera/param.h"

TESS_BEGIN_DECLS

enum { TESS_DECODE_MAX_DIM = 3 };

/** A maze of corridors: nodes in the plane, edges between them, and their order on a line. */
typedef struct tess_decode_track {
    uint32_t struct_size;
    int32_t reserved;
    int64_t n_node;
    const double *node_position; /* [n_node][2], cm */
    int64_t n_edge;
    const int64_t *edges;      /* [n_edge][2] node numbers; ids are given by the graph's own
                                  enumeration: nodes ascending, their edges in the order given */
    const double *edge_length; /* [n_edge] in the order of edges; NULL: Euclidean */
    int64_t n_order;
    const int64_t *edge_order; /* [n_order][2]; (b, a) runs from b to a; NULL: the enumeration */
    int64_t n_spacing;
    const double *edge_spacing; /* n_spacing 0: none; 1: every gap; n_order - 1: one per gap; cm */
} tess_decode_track;

TESS_API void tess_decode_track_init(tess_decode_track *track, size_t struct_size);

/** Options of an environment; scalars are described by table "decode.environment". */
typedef struct tess_decode_environment_config {
    uint32_t struct_size;
    int32_t infer_track_interior;
    int32_t fill_holes;
    int32_t dilate;
    int64_t bin_count_threshold;
    double place_bin_size; /* cm, upper bound of the width of a bin */
    /* Not in the table. All NULL by default. */
    const double *bin_size;           /* [n_dim], instead of place_bin_size */
    const double *position_range;     /* [n_dim][2] min, max; instead of the samples' range */
    const uint8_t *is_track_interior; /* [n_is_track_interior] user mask over all bins, C order */
    int64_t n_is_track_interior;
    const tess_decode_track *track; /* NULL: a grid over the positions */
    const char *name;               /* NULL: "" */
} tess_decode_environment_config;

TESS_API void tess_decode_environment_config_init(tess_decode_environment_config *config,
                                                  size_t struct_size);
TESS_API const tess_param_table *tess_decode_environment_params(void);

/** Immutable once created. */
typedef struct tess_decode_environment tess_decode_environment;

/** Everything known of an environment; pointers live with it. */
typedef struct tess_decode_environment_info {
    uint32_t struct_size;
    int32_t is_track;
    const char *name;
    int64_t n_dim;                                /* coordinates of a raw position: d */
    int64_t n_place_dim;                          /* coordinates of a bin: 1 with a track, else d */
    int64_t n_bin;                                /* all bins: B */
    int64_t n_interior;                           /* P */
    int64_t grid_shape[TESS_DECODE_MAX_DIM];      /* of the B bins, C order, last axis fastest */
    const double *bin_edges[TESS_DECODE_MAX_DIM]; /* per axis, grid_shape + 1 values */
    const double *bin_centers;                    /* [B][n_place_dim] */
    const uint8_t *is_interior;                   /* [B] */
    const uint8_t *is_boundary;                   /* [B]; all 0 unless n_place_dim >= 2 */
    const int64_t *interior_bin;                  /* [P] bin numbers, ascending */
    const double *interior_centers;               /* [P][n_place_dim] */
    const int64_t *track_edges; /* [n_edge][2] in enumeration order: row = edge id; or NULL */
    int64_t n_track_edge;
    int64_t n_sample; /* position samples the grid was made from */
} tess_decode_environment_info;

/**
 * Makes the bins.
 *
 * position  in  [n_sample][n_dim] f64, any NaN rows are ignored; with a track n_dim is 2 and only
 *               the dimension is checked. NULL with n_sample 0 if a track or a range is given.
 *
 * Errors name the argument: zero extent, wrong mask length, edge not in the graph, spacing list of
 * the wrong length, 1-D positions with a track.
 */
TESS_API TESS_MUST_CHECK tess_status tess_decode_environment_create(
    tess_context *ctx, const tess_decode_environment_config *config, const double *position,
    int64_t n_sample, int64_t n_dim, tess_decode_environment **out);
TESS_API void tess_decode_environment_destroy(tess_decode_environment *env);

/** Lives with the environment. */
TESS_API const tess_decode_environment_info *
tess_decode_environment_get_info(const tess_decode_environment *env);

/** Linear position of raw 2-D points on the track; segment and projected ([n][2]) may be NULL.
 *  NaN points give NaN and segment -1. TESS_E_ARGUMENT without a track. */
TESS_API TESS_MUST_CHECK tess_status tess_decode_linearize(const tess_decode_environment *env,
                                                           const double *points, int64_t n,
                                                           double *linear, int64_t *segment,
                                                           double *projected);

/** Raw positions [n][n_dim] to bin coordinates [n][n_place_dim]: linearised with a track, copied
 *  otherwise. */
TESS_API TESS_MUST_CHECK tess_status tess_decode_place(const tess_decode_environment *env,
                                                       const double *points, int64_t n,
                                                       double *place);

/** Bin of bin coordinates [n][n_place_dim]; NaN gives -1. The rule is the original's (a value on
 *  the last remaining edge goes one bin down; off the track: nearest interior centre). */
TESS_API TESS_MUST_CHECK tess_status tess_decode_bin_index(const tess_decode_environment *env,
                                                           const double *place, int64_t n,
                                                           int64_t *bin);

/** Shortest paths between interior bins, [P][P], inf where unreachable. Made on first demand and
 *  kept; *distances lives with the environment. Any thread. */
TESS_API TESS_MUST_CHECK tess_status tess_decode_distances(tess_context *ctx,
                                                           tess_decode_environment *env,
                                                           const double **distances);

/** Linear interpolation of position [n_sample][n_dim] at times query[n]; beyond the ends it goes
 *  on with the slope of the last segment. n_sample >= 2 unless n is 0. */
TESS_API TESS_MUST_CHECK tess_status tess_decode_position_at(const double *time,
                                                             const double *position,
                                                             int64_t n_sample, int64_t n_dim,
                                                             const double *query, int64_t n,
                                                             double *out);

TESS_END_DECLS

#endif
