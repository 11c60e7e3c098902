// What the xpcs kernels share: runs of pairs of frames, and constants of their functions.
#ifndef TESS_KERNELS_XPCS_H
#define TESS_KERNELS_XPCS_H

#include <stddef.h>
#include <stdint.h>

enum {
    TESS_XP_RUN = 256, // most columns of a run; a run is padded to a multiple of 16
    // Items from one array of a run to the next. Not a power of two: where a store and a later load
    // are 4096 bytes apart, processors take the one for the other and wait.
    TESS_XP_ROW = 304,
    TESS_XP_LANES = 8,         // column c is added into lane c % 8 of every sum
    TESS_XP_N_SUM = 27,        // S1 Sf Sff Sy Syy Sfy, P[7], Q[7], R[7]
    TESS_XP_N_STATIC_SUM = 14, // Sf Sff P[3] Q[3] H[6]
    TESS_XP_N_OUTER = 28
};

// Columns of a run with its padding.
static inline size_t tess_xp_padded(size_t n)
{
    return (n + 15) / 16 * 16;
}

// Which part of the sums of an angle is wanted.
enum { TESS_XP_COST = 0, TESS_XP_GRADIENT = 1, TESS_XP_HESSIAN = 2 };

enum {
    TESS_XP_LINEAR = 0,
    TESS_XP_SOFT_L1 = 1,
    TESS_XP_HUBER = 2,
    TESS_XP_CAUCHY = 3,
    TESS_XP_ARCTAN = 4
};

// Where the integrals of a run's pairs come from: arrays over frames and the two ends.
typedef struct tess_xp_source {
    const double *diffusion;
    const double *diffusion_d[3]; // NULL: E alone
    const double *shear;          // NULL: static
    const double *shear_d[3];
    double eps;    // integrals are sqrt(d^2 + eps)
    double w2;     // q^2 dt
    double power;  // of sinc
    size_t row;    // i
    size_t column; // first j; on either side of the row
    size_t n;      // columns
} tess_xp_source;

// The factors of a run that all angles of equal q share; 0 from n on.
#define TESS_XP_PAIRS(SCALAR)                                                                      \
    {                                                                                              \
        SCALAR e[TESS_XP_ROW];    /* exp(-w2 I), I the integral of diffusion */                    \
        SCALAR u[3][TESS_XP_ROW]; /* -w2 dI/dtheta */                                              \
        SCALAR b[TESS_XP_ROW];    /* integral of shear */                                          \
        SCALAR inverse[TESS_XP_ROW];                                                               \
        SCALAR v[3][TESS_XP_ROW]; /* power db/dtheta / b; static: e u */                           \
    }
typedef struct tess_xp_pairs_f64 TESS_XP_PAIRS(double) tess_xp_pairs_f64;
typedef struct tess_xp_pairs_f32 TESS_XP_PAIRS(float) tess_xp_pairs_f32;
#undef TESS_XP_PAIRS

// Sums over angles of weight times M^2, M T, T^2, M T tau, T^2 tau, T^2 tau^2, for every pair.
typedef struct tess_xp_angle_sums_f64 {
    double a[6][TESS_XP_ROW];
} tess_xp_angle_sums_f64;
typedef struct tess_xp_angle_sums_f32 {
    float a[6][TESS_XP_ROW];
} tess_xp_angle_sums_f32;

// What xpcs_sums multiplies: M, T (NULL: static), weights (NULL: 1) and weighted samples.
#define TESS_XP_TERMS(SCALAR)                                                                      \
    {                                                                                              \
        const SCALAR *m;                                                                           \
        const SCALAR *t;                                                                           \
        const SCALAR *w;                                                                           \
        const SCALAR *g;                                                                           \
        double weight; /* of the angle in the Hessian */                                           \
        double tau;    /* power times that of the angle: in the Hessian */                         \
    }
typedef struct tess_xp_terms_f64 TESS_XP_TERMS(double) tess_xp_terms_f64;
typedef struct tess_xp_terms_f32 TESS_XP_TERMS(float) tess_xp_terms_f32;
#undef TESS_XP_TERMS

typedef struct tess_xp_robust {
    double contrast;
    double offset;
    double inverse_variance;
    double f_scale;
    int64_t loss;
} tess_xp_robust;

// A run of simulated samples offset + contrast M + noise.
typedef struct tess_xp_simulation {
    double contrast;
    double offset;
    double mean;           // subtracted in the head
    double sigma;          // of the noise
    double nan_fraction;   // of samples that are NaN
    const uint8_t *is_bad; // [n] columns whose samples are NaN; NULL: none
    uint64_t key;          // of the first sample; the next ones are 2 apart
    size_t n;              // samples; NaN from here to the padded end
} tess_xp_simulation;

// E is 0 where its exponent is below: products of such numbers would be denormal, which costs a
// processor a hundred cycles each.
#define TESS_XP_EXPONENT_LEAST (-160.0)
// In f32 e, m and t are larger by this, so that squares of what still counts are normal numbers.
#define TESS_XP_SCALE_F32 0x1p32
// What e is then at least, or 0: below 4e-18 it counts for nothing.
#define TESS_XP_LEAST_F32 0x1p-26

#endif
