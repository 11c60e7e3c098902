/** xpcs: the transport and shear model of a two-time correlation. */
#ifndef TESSERA_XPCS_MODEL_H
#define TESSERA_XPCS_MODEL_H

#include "tessera/context.h"
#include "tessera/param.h"

TESS_BEGIN_DECLS

typedef enum tess_xpcs_mode {
    TESS_XPCS_STATIC_ISOTROPIC = 0,   /* D0, alpha, D_offset; one contrast and offset for all */
    TESS_XPCS_STATIC_ANISOTROPIC = 1, /* the same, a contrast and offset for every angle */
    TESS_XPCS_LAMINAR_FLOW = 2,       /* and gamma_dot_t0, beta, gamma_dot_t_offset, phi0 */
    TESS_XPCS_TWO_COMPONENT = 3       /* heterodyne: a reference and a sample that moves past it */
} tess_xpcs_mode;

/** The factor of shear in c2 is sinc(kappa x)^power, x = q L cos(phi0 - phi) strain. */
typedef enum tess_xpcs_kernel {
    TESS_XPCS_KERNEL_UPSTREAM = 0,    /* 1/(2 pi), 4: homodyne 2 and xpcsjax */
    TESS_XPCS_KERNEL_UPSTREAM_V1 = 1, /* 1/2, 4: homodyne 0 and 1 */
    TESS_XPCS_KERNEL_PHYSICAL = 2     /* 1/2, 2: the papers */
} tess_xpcs_kernel;

enum {
    TESS_XPCS_N_STATIC = 3,
    TESS_XPCS_N_LAMINAR = 7,
    TESS_XPCS_N_TWO = 14,
    TESS_XPCS_MAX_PARAM = 16
};

/** A physical parameter, or contrast and offset. */
typedef struct tess_xpcs_param_info {
    const char *name;    /* "D0" */
    const char *aliases; /* other spellings taken on input, "a|b" or "" */
    const char *unit;    /* "Å²/s" */
    double lower;
    double upper;
    double start;
    double prior_mean;
    double prior_sd;
} tess_xpcs_param_info;

/** Physical parameters of a mode in the order of every vector; *n of them. Static. */
TESS_API const tess_xpcs_param_info *tess_xpcs_params(tess_xpcs_mode mode, int64_t *n);
/** Contrast (which 0) and offset (which 1). Static. */
TESS_API const tess_xpcs_param_info *tess_xpcs_scaling_param(int32_t which);

/** "static_isotropic" and so on; NULL if there is no such mode. */
TESS_API const char *tess_xpcs_mode_name(tess_xpcs_mode mode);
TESS_API const char *tess_xpcs_kernel_name(tess_xpcs_kernel kernel);

/** Model constants; scalars are described by table "xpcs.model". */
typedef struct tess_xpcs_model {
    uint32_t struct_size;
    int32_t mode;       /* tess_xpcs_mode */
    int32_t kernel;     /* tess_xpcs_kernel */
    int32_t keep_t0;    /* 1: t_k = k dt floored at dt/2; 0: t_k = (k + 1) dt */
    int32_t compat_eps; /* 1: integrals are sqrt(d^2 + 1e-12), as the original's */
    int32_t reserved;
    double dt_s;         /* time between frames of c2, s */
    double gap_angstrom; /* of the shear cell; laminar flow only */
} tess_xpcs_model;

TESS_API void tess_xpcs_model_init(tess_xpcs_model *model, size_t struct_size);
TESS_API const tess_param_table *tess_xpcs_model_params(void);

/** The angles of a model: what differs from matrix to matrix. */
typedef struct tess_xpcs_angles {
    uint32_t struct_size;
    uint32_t reserved;
    int64_t n_angle;
    const double *phi;      /* [n_angle] degrees */
    const double *q;        /* [n_angle] 1/Å */
    const double *contrast; /* [n_angle]; NULL: 1 */
    const double *offset;   /* [n_angle]; NULL: 0 */
} tess_xpcs_angles;

/**
 * c2 of every angle and pair of frames, c2 [n_angle][n_frame][n_frame], symmetric; on the diagonal
 * contrast + offset. theta has as many values as the mode has parameters. Cancel is polled.
 */
TESS_API TESS_MUST_CHECK tess_status tess_xpcs_model_surface(tess_context *ctx,
                                                             const tess_xpcs_model *model,
                                                             const tess_xpcs_angles *angles,
                                                             const double *theta, int64_t n_frame,
                                                             double *c2);

/**
 * c2 [n_angle][n_pair] at pairs of frames first[k] < second[k], and if it is not NULL its
 * derivative by theta, jacobian [n_angle][n_pair][n_param]. The derivatives by contrast and offset
 * are (c2 - offset) / contrast and 1.
 */
TESS_API TESS_MUST_CHECK tess_status tess_xpcs_model_pairs(
    tess_context *ctx, const tess_xpcs_model *model, const tess_xpcs_angles *angles,
    const double *theta, int64_t n_frame, const int64_t *first, const int64_t *second,
    int64_t n_pair, double *c2, double *jacobian);

/** Rates and integrals on the grid of frames, [n_frame] each and [3][n_frame] derivatives by
 *  amplitude, exponent and offset; NULL where not wanted. Shear: laminar flow only. The last seven:
 *  two components only, which have no others but t; their sums are integrals over seconds. */
typedef struct tess_xpcs_grids {
    uint32_t struct_size;
    uint32_t reserved;
    double *t;
    double *diffusion; /* after the floor */
    double *diffusion_sum;
    double *diffusion_derivatives;
    double *shear;
    double *shear_sum;
    double *shear_derivatives;
    double *reference; /* transport rate of the reference, Å²/s */
    double *sample;    /* of the sample */
    double *velocity;  /* of one past the other, Å/s */
    double *fraction;  /* of the sample in the scattered field */
    double *reference_sum;
    double *sample_sum;
    double *velocity_sum;
} tess_xpcs_grids;

TESS_API TESS_MUST_CHECK tess_status tess_xpcs_model_grids(tess_context *ctx,
                                                           const tess_xpcs_model *model,
                                                           const double *theta, int64_t n_frame,
                                                           tess_xpcs_grids *grids);

TESS_END_DECLS

#endif
