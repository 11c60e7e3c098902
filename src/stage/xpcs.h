// Stages of xpcs: sums over tiles of two-time correlations, and tiles of a simulation.
//
// Structs that an argument points to (tiles, grid) lie in the host's memory; every array, their own
// included, is reachable by the device.
#ifndef TESS_STAGE_XPCS_H
#define TESS_STAGE_XPCS_H

#include <stdint.h>

enum {
    TESS_STAGE_XPCS_PASS = 0x0201,
    TESS_STAGE_XPCS_MODEL = 0x0202,
    TESS_STAGE_XPCS_SIMULATE = 0x0203,
    TESS_STAGE_XPCS_REDUCE = 0x0204,
    TESS_STAGE_XPCS_GRIDS = 0x0205,
    // MODEL for two components; who has it has the others for them, too.
    TESS_STAGE_XPCS_TWO = 0x0207,
};

enum {
    TESS_STAGE_XPCS_RUN = 256,      // columns of a tile
    TESS_STAGE_XPCS_PAD = 16,       // a tile's rows are padded to this many items
    TESS_STAGE_XPCS_LEAF = 16,      // tiles whose sums are taken in order, by one thread
    TESS_STAGE_XPCS_MAX_PARAM = 14, // physical parameters
    TESS_STAGE_XPCS_HEAD = 3,       // numbers per angle ahead of a tile's samples
};

// How the upper triangle of an n_frame x n_frame matrix is cut. Row i has columns i+1..n_frame-1,
// taken in runs of RUN columns; tiles are numbered row by row, run by run. The record of a tile:
//
//   head  f64 [n_angle][HEAD]   number of finite samples, sum and sum of squares of (y - mean)
//   y     dtype [n_angle][width]  samples, NaN where one is to be ignored; width is the number of
//                               columns rounded up to PAD, NaN from the last column on
//   sd    f64 [n_angle][width]  only with has_sigma: 1/sigma^2, 0 where ignored
//
// Records follow each other in order of tiles, each a whole number of 64-byte lines.
typedef struct tess_xp_tiles {
    int64_t n_frame;
    int64_t n_angle;
    int64_t n_tile;
    int32_t item_bytes; // of a sample: 4 or 8
    int32_t has_sigma;
    const int64_t *row_tile;   // [n_frame] first tile of a row; n_tile for the last row
    const int64_t *row_offset; // [n_frame] byte where the record of that tile begins
} tess_xp_tiles;

// The O(n) arrays of the model at one theta, all f64 [n_frame]. Shear NULL in static modes.
typedef struct tess_xp_grid {
    const double *diffusion;      // C_D: cumulative trapezoid
    const double *diffusion_d[3]; // by D0, alpha, D_offset
    const double *shear;          // C_G
    const double *shear_d[3];     // by gamma_dot_t0, beta, gamma_dot_t_offset
    double eps_abs;               // integrals are sqrt(d^2 + eps_abs)
    const double *two;            // of two components, else NULL: [TWO_ARRAYS][n_frame]
    int64_t two_stride;           // n_frame
} tess_xp_grid;

// The arrays of two components. Integrals over seconds of the transport rates of reference and
// sample and of the velocity, each with its derivatives by amplitude, exponent and offset; then
// cosine and sine of the angle whose tangent is fs / fr, and its derivatives by f0 to f3.
enum {
    TESS_XP_TWO_REFERENCE = 0,
    TESS_XP_TWO_SAMPLE = 4,
    TESS_XP_TWO_VELOCITY = 8,
    TESS_XP_TWO_COSINE = 12,
    TESS_XP_TWO_SINE = 13,
    TESS_XP_TWO_MIXING_D = 14,
    TESS_XP_TWO_ARRAYS = 18,
    TESS_XP_TWO_PARAMS = 14
};

// Arrays of a grid, which follow each other.
static inline int64_t tess_xp_grid_arrays(int64_t n_param)
{
    return n_param == TESS_XP_TWO_PARAMS ? TESS_XP_TWO_ARRAYS : n_param == 3 ? 4 : 8;
}

// What the model needs of an angle. Angles of equal q are neighbours and share w2. Of two
// components w2 is q^2 / 2, amplitude q cos(phi + phi0) and tau its derivative by phi0.
typedef struct tess_xp_angle {
    double w2;        // q^2 dt
    double amplitude; // A: z = A (C_G[j] - C_G[i]); exactly 0 perpendicular to the flow
    double tau;       // dA/dphi0 / A; 0 where A is 0
    double mean;      // subtracted from y
    double weight;    // c^2 w: of this angle in the Hessian (w: 1/sigma^2 or 1 with weights)
    double contrast;  // robust losses only
    double offset;
    double inverse_variance; // w; robust losses only
} tess_xp_angle;

// Grids of n_set points of the parameters at some of the times, which trapezoids go over all of:
// grids [n_set][4 or 8][n_frame], diffusion and its derivatives, shear and its. Bits of the CPU.
typedef struct tess_stage_xpcs_grids {
    const double *log_t;   // [n_time][2] ln t in two parts
    const double *theta;   // [n_set][n_param]
    const int64_t *frames; // [n_frame] rising
    double *grids;
    int64_t n_time;
    int64_t n_frame;
    int64_t n_set;
    int32_t n_param; // 3: no shear, 7
    int32_t reserved;
} tess_stage_xpcs_grids;

enum {
    TESS_XP_WANT_GRADIENT = 1, // P, Q, R besides the six sums
    TESS_XP_WANT_HESSIAN = 2   // and H
};

// Sums over n_leaf leaves at n_set points of the parameters, one row per point and leaf. Leaves
// first_leaf, first_leaf + 1, ..; or of a part of all leaves that is spread over them, the first
// group of every period, those that are numbers first_leaf, first_leaf + 1, .. of that part.
//
//   sums[set][leaf][a * (6 + 3 p) + ...]  S1 Sf Sff Sy Syy Sfy, P[p], Q[p], R[p] of angle a
//   sums[set][leaf][n_angle * (6 + 3 p) + ...]  H, upper triangle by rows, p (p + 1) / 2
//
// With M = exp(-w2 (C_D[j] - C_D[i])) sinc(z)^power, J_k = dM/dtheta_k and v the weight of a point
// (1 if it is finite, or lag_weight, else the record's sd plane where there is one; times
// frame_weight of both frames):
//
//   S1 = sum v        Sf = sum v M      Sff = sum v M^2
//   Sy = sum v y      Syy = sum v y^2   Sfy = sum v M y      y less the angle's mean
//   P_k = sum v J_k   Q_k = sum v J_k M R_k = sum v J_k y
//   H_kl = sum over angles of weight * sum v J_k J_l
//
// Two components (n_param 14): M = X^2 + Y^2 + 2 X Y cos(amplitude (C_v[j] - C_v[i])) with
// X = cosine_i cosine_j exp(-w2 (C_r[j] - C_r[i])), Y = sine_i sine_j exp(-w2 (C_s[j] - C_s[i])).
//
// With a robust loss r = (offset + contrast M - y) sqrt(v inverse_variance) / f_scale and scipy's
// rho', rho'': s = v max(rho' + 2 rho'' r^2, eps) takes the place of v in H, and s inverse_variance
// in S1, Sf, Sff, P and Q;
//
//   Sy = sum rho' e    Sfy = sum rho' e M    R_k = sum rho' e J_k
//
// with e = v inverse_variance (offset + contrast M - y), Syy = f_scale^2 sum rho (twice the cost);
// y is then not centred. chi2, the sum of f_scale^2 r^2, follows H as one more number (0 for linear
// losses). The phi0 column is tau times sum of T, T M, T y: tau is applied here.
typedef struct tess_stage_xpcs_pass {
    const tess_xp_tiles *tiles;
    const tess_xp_grid *grid;     // [n_set]
    const tess_xp_angle *angles;  // [n_set][n_angle]
    const unsigned char *records; // of tile first_leaf * LEAF on; with a period of tile 0 on
    const double *lag_weight;     // [n_angle][n_frame] by j - i; NULL: 1
    const double *frame_weight;   // [n_set][n_frame]: pairs weigh w_i w_j, of a bootstrap; NULL: 1
    double *sums;                 // [n_set][n_leaf][n_sum]
    int64_t n_sum;                // n_angle (6 + 3 p) + p (p + 1) / 2 + 1
    int64_t n_set;
    int64_t first_leaf;
    int64_t n_leaf;
    int64_t group;   // leaves of a period that count
    int64_t period;  // 0: all of them
    int32_t n_param; // 3: no shear, 7, or 14: two components
    int32_t power;   // of sinc: 2 or 4
    int32_t want;
    int32_t loss;         // tess_xpcs_loss
    int32_t is_mixed;     // f32 elements, f64 sums
    int32_t ignore_sigma; // 1: weights are 1 although the records have sd
    double f_scale;
    void *scratch; // scratch_bytes() of the device
} tess_stage_xpcs_pass;

// Which of all leaves is number k of a call's.
static inline int64_t tess_xp_leaf_of(const tess_stage_xpcs_pass *pass, int64_t k)
{
    const int64_t n = pass->first_leaf + k;
    return pass->period > 0 ? n / pass->group * pass->period + n % pass->group : n;
}

// Sums of leaves in a tree of fixed shape. Leaf k of those given is number first + k of all that
// are summed; what comes out are the sums of the longest stretches of 2^j leaves whose first number
// is a multiple of 2^j, in order: TESS_STAGE_XPCS_REDUCE's caller adds few numbers. In a stretch
// neighbours are added, then pairs of neighbours, and so on, the earlier one always on the left.
typedef struct tess_stage_xpcs_reduce {
    double *sums; // [n_set][n_leaf][n_sum], used up
    double *out;  // [n_set][n_stretch][n_sum]
    int64_t n_sum;
    int64_t n_set;
    int64_t n_leaf;
    int64_t first;
    int64_t n_stretch; // tess_xp_count_stretches(first, n_leaf)
} tess_stage_xpcs_reduce;

// Leaves of the stretch that begins at number first where n are left: 2^j.
static inline int64_t tess_xp_stretch(int64_t first, int64_t n)
{
    int64_t length = 1;
    while (first % (2 * length) == 0 && 2 * length <= n) {
        length *= 2;
    }
    return length;
}

static inline int64_t tess_xp_count_stretches(int64_t first, int64_t n)
{
    int64_t count = 0;
    for (int64_t length; n > 0; first += length, n -= length) {
        length = tess_xp_stretch(first, n);
        count++;
    }
    return count;
}

// Values of the model for rows first_row..first_row+n_row-1 of an angle: M [n_row][n_frame], both
// triangles, 1 on the diagonal.
typedef struct tess_stage_xpcs_model {
    const tess_xp_grid *grid;
    const tess_xp_angle *angle;
    double *out;
    int64_t n_frame;
    int64_t first_row;
    int64_t n_row;
    int32_t n_param;
    int32_t power;
} tess_stage_xpcs_model;

// Fills records of leaves with simulated samples offset + contrast M + noise, heads included.
// Noise of point (a, i, j) of the whole matrix: k = seed 2^40 + 2 ((a n + i) n + j), u1, u2 from
// splitmix64(k), splitmix64(k + 1), sigma sqrt(-2 ln u1) cos(2 pi u2). A sample is NaN where
// splitmix64(k ^ 2^63) / 2^64 < nan_fraction, or a frame is bad.
typedef struct tess_stage_xpcs_simulate {
    const tess_xp_tiles *tiles;
    const tess_xp_grid *grid;
    const tess_xp_angle *angles; // contrast, offset and mean are used
    const uint8_t *is_bad;       // [n_frame]; NULL: none
    unsigned char *records;
    int64_t first_leaf;
    int64_t n_leaf;
    uint64_t seed;
    double sigma;
    double nan_fraction;
    int32_t n_param;
    int32_t power;
} tess_stage_xpcs_simulate;

#endif
