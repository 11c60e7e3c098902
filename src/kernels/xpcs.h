// What the xpcs kernels share: runs of pairs of frames, and constants of their functions.
#ifndef TESS_KERNELS_XPCS_H
#define TESS_KERNELS_XPCS_H

#include <stddef.h>
#include <stdint.h>

enum {
    TESS_XP_RUN = 256,  // most columns of a run; a run is padded to a multiple of 16
    TESS_XP_LANES = 8,  // column c is added into lane c % 8 of every sum
    TESS_XP_N_SUM = 27, // S1 Sf Sff Sy Syy Sfy, P[7], Q[7], R[7]
    TESS_XP_N_SUM_ROOM = 32,
    TESS_XP_N_STATIC_SUM = 14, // Sf Sff P[3] Q[3] H[6]
    TESS_XP_N_OUTER = 28
};

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
typedef struct tess_xp_pairs {
    double e[TESS_XP_RUN];    // exp(-w2 I), I the integral of diffusion
    double u[3][TESS_XP_RUN]; // -w2 dI/dtheta
    double b[TESS_XP_RUN];    // integral of shear
    double inverse[TESS_XP_RUN];
    double v[3][TESS_XP_RUN]; // power db/dtheta / b; static: e u
} tess_xp_pairs;

// Sums over angles of weight times M^2, M T, T^2, M T tau, T^2 tau, T^2 tau^2, for every pair.
typedef struct tess_xp_angle_sums {
    double a[6][TESS_XP_RUN];
} tess_xp_angle_sums;

// What xpcs_sums multiplies: M, T (NULL: static), weights (NULL: 1) and weighted samples.
typedef struct tess_xp_terms {
    const double *m;
    const double *t;
    const double *w;
    const double *g;
    double weight; // of the angle in the Hessian
    double tau;    // power times that of the angle
} tess_xp_terms;

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
// Below this z = A b, sinc and cos - sinc come from their series: the difference cancels.
#define TESS_XP_SMALL 0.03
// Larger z are taken as this: sinc is nothing there, and the reduction would fail at 2^51.
#define TESS_XP_FAR 0x1p40
#define TESS_XP_MAGIC 0x1.8p52

// pi in two parts; sin(r)/r = 1 + z tail(z) and cos(r) = 1 + z tail(z), z = r^2, on |r| <= pi/2
// with absolute errors of 5e-18 and 3e-17; highest power first. The reduction is by pi, not pi/2:
// even powers of sine and cosine do not see the sign.
#define TESS_XP_PI_1 0x1.921fb54442d18p+1
#define TESS_XP_PI_2 0x1.1a62633145c07p-53
#define TESS_XP_INVERSE_PI 0x1.45f306dc9c883p-2
enum { TESS_XP_N_TAIL = 8 };
static const double tess_xp_sin_tail[TESS_XP_N_TAIL] = {
    0x1.8853074849969p-49, -0x1.ae44b4caf4b8ap-41, 0x1.6123d1814461p-33, -0x1.ae6454e59c853p-26,
    0x1.71de3a52c3ac9p-19, -0x1.a01a01a0151e4p-13, 0x1.11111111110ccp-7, -0x1.5555555555555p-3};
static const double tess_xp_cos_tail[TESS_XP_N_TAIL] = {
    0x1.9f4360808b16dp-45, -0x1.9351edce98aebp-37, 0x1.1eece4bf07d4ep-29, -0x1.27e4f992480cdp-22,
    0x1.a01a0199cda04p-16, -0x1.6c16c16c0b2dfp-10, 0x1.555555555540cp-5,  -0x1.ffffffffffffdp-2};

// Series in z^2 of sinc and of (cos - sinc) / z^2; highest power first.
static const double tess_xp_sinc_series[4] = {-1.0 / 5040, 1.0 / 120, -1.0 / 6, 1.0};
static const double tess_xp_slope_series[4] = {1.0 / 45360, -1.0 / 840, 1.0 / 30, -1.0 / 3};

#endif
