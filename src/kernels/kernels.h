// The kernel table: pure functions on pointers, one set per ISA.
//
// A kernel knows nothing of threads, errors or files. The set "ref" is plain C and defines the
// right answer; the others are built from one source per family over the vocabulary in simd/.
//
//   ptp_T        out[r] = max - min of the n >= 1 items x[r * row_stride ...]; NaN in a row gives
//                NaN. Same bits on every ISA.
//   exp, log, sincos, erf   elementwise; bounds in ulp are stated in simd/math.h and tested.
//                Same bits on every ISA (each step is a fused multiply-add in fixed order).
//   decode_*     clusterless likelihood over tiles of spikes: lane s is decoding spike s, n_lane a
//                multiple of the lanes of a vector. y [n_feature][y_stride] are scaled marks of
//                encoding spikes, x [n_feature][n_lane] those of the tile. A lane's results do
//                not depend on the other lanes. Same bits on every ISA.
//   decode_weights_f32   w[i][s] = 2^-q, q = sum_f (x_fs - y_fi)^2, at least 2^-100; 2.5 ulp
//                        for the q as rounded.
//   decode_weights_f64   w[i][s] = exp(nearest[s] - q), underflowing to 0.
//   decode_nearest_f64   nearest[s] = min(nearest[s], min_i q).
//   decode_accumulate_T  out[k][s] += sum_g sum_i c[group[g]][i][k] w[g][i][s], in that order, for
//                        n_group groups of n rows and n_out columns of c; rows and groups are
//                        their strides apart. group NULL: every group in turn.
//   decode_logs_f32      values[p][s] = offset[p] + log(max(sums[p][s], 0)); best[s] the largest of
//                        those that are sure: at least offset[p] + sure[s]; -infinity: none is.
//   decode_floor_f32     values not above floor[s] become it and are counted in n_floored[s], but
//                        those not sure that might be above it in n_unsure[s].
//   decode_single_f32    one decoding spike x[n_feature], lanes are encoding spikes: moments[k] =
//                        sum_i base_i T_k(t_i) 2^-q_i, k < order <= 12, T_k Chebyshev's. The last
//                        bits depend on the length of a vector, here and in decode_place_f32:
//   decode_place_f32     out[j] = sum_i table[i][j] moments[i][j], j < 8, for n_row rows.
//   decode_joint_T       for every query y[j][n_dim]: peak = largest q_i = bias_i - |x_i - y_j|^2
//                        over the n >= 1 points x[n_dim][n] (bias NULL: 0), sum = sum_i
//                        exp(q_i - peak); sum 0 if every bias is -inf.
//   probe_read   reads bytes (a multiple of 64, 64-byte aligned) once, as fast as the core can.
//   probe_fma_T  n_round rounds of independent fused multiply-adds; *flops says how many.
//
// The steps of a hidden Markov model; arithmetic is f64 (decode_hmm.c):
//
//   hmm_max_T      *out = largest of the n items; -infinity for n = 0.
//   hmm_exp_T      y = exp(x - shift)
//   hmm_multiply   y = a * b                    *sum: of y, as in those below
//   hmm_divide     y = a / b, and 0 where b is 0
//   hmm_keep_T     x *= by, rounded to T, and to 0 if it is not a normal number of T; kept = x
//   hmm_take_T     x = kept. Its sum has the bits of hmm_keep_T's.
//   hmm_add_scaled y += by * x
//   tile_sums      every tile (base/tile_sum.h) in turn. Same bits on every ISA.
//   tile_maxima    the same with + for * and max for +. Same bits on every ISA.
//
// autoreject, interpolation and repair:
//
//   mix_f64        out[to[r]][t] = sum_i w[r][column[i]] x[from[i]][t], t < width, i < n_in in
//                  order, fused. from NULL: 0, 1, ...; column NULL: from; to NULL: 0, 1, ... Rows
//                  of x that are not in from are not read, and may be rows of out. Same bits on
//                  every ISA.
//   field_dots     out[j] = dot product of the lead fields of one point and of n others, the series
//                  cut after n_term <= 99 terms; point: unit vector, normal, length; place and
//                  normal [3][stride]. Same bits on every vector set.
//   spectrum_solve b [n_rhs][n] := a^+ b, a [n][n] symmetric (lower triangle, used up), where the
//                  inverse keeps the *rank largest eigenvalues, the fewest that sum to 1 - miss of
//                  all. work: tess_spectrum_items(n) (spectrum.h). *rank 0: a is not finite or 0.
//
// autoreject, local search:
//
//   local_sse    sse[t] += (sum[r][t] / count - median[r][t])^2, t < 16, for n_row rows in order,
//                fused. Same bits on every ISA.
//
// autoreject, RANSAC: 8 channels (TESS_RANSAC_ROWS) and 16 samples (TESS_RANSAC_TILE) at a time.
// Same bits on every ISA.
//
//   ransac_predict  out[k][r][t] = sum_i w[r][i][k] x[from[r][i]][t], i < n_from in order, fused.
//   ransac_median   out[t] = median of x[0..n)[t], n >= 1; even n: (lower + upper) / 2. Reorders
//                   x. No NaN; the sign of a zero is any.
//   ransac_sums     sums[0][t] += x p, sums[1][t] += x x, sums[2][t] += p p, fused.
//
// autoreject's threshold search, tiles of 16 samples x [.][16], a row per epoch. Same bits on every
// ISA:
//
//   autoreject_median  median[t] of the n >= 1 values x[index[.]][t], none NaN or infinite; the
//                      mean of the two middle ones for even n. rounded [n][16] is scratch. Two
//                      hints change nothing but the time: median comes with a guess, gaps with
//                      about how far neighbouring values are apart there (0: nothing is known, the
//                      guess is not looked at), and leaves with it.
//   autoreject_curve   for every split s: sse[s][k] += sum_t (median[s][t] - inverse[k] (x[i_0] +
//                      ... + x[i_k])[t])^2, k < n_train, where i_0 < i_1 < ... are the n_train of
//                      the n_row rows whose bit in validation [n_split][(n_row + 63) / 64] is
//                      clear.
//                      Products and squares are fused; samples t and t + 8 are added first, then
//                      neighbours, pairs and halves of the eight.
//
// xpcs: a run is n <= 256 columns of one row of a matrix (xpcs.h); scratch arrays hold f64, their
// padding up to a multiple of 16 is 0 and n may be any. Sums are taken in eight lanes. Same bits on
// every ISA.
//
//   xpcs_pairs     the factors of a run's pairs. The run does not cross the diagonal.
//   xpcs_points_T  m = e sinc(z)^power, t = e sinc(z)^(power - 1) (cos z - sinc z), z = amplitude
//   b;
//                  t NULL: not wanted.
//   xpcs_centre_T  g = y - mean; 0 in the padding, whatever y is there.
//   xpcs_mask      w = by (NULL: 1) row frames (NULL: 1) where g is not NaN, 0 elsewhere, and so is
//                  g.
//   xpcs_weigh     g = w y of g = y; *square = sum w y^2.
//   xpcs_robust    e = offset + contrast m - g weighted: w *= scipy's row scale squared, g = rho' w
//                  e; sums: rho, w e^2.
//   xpcs_sums_T    onto the lanes sums[27][8] of an angle: S1 and Sy where there are weights, Sf,
//                  Sff, Sfy; with want P Q R, phi0's without tau, and onto angles the terms of the
//                  Hessian. f32: 16 lanes along the run, added to the eight in f64; e, m and t are
//                  larger by TESS_XP_SCALE_F32, sums are not.
//   xpcs_narrow, _narrow_pairs, _widen   rounded to f32, and back; with and without that scale.
//   xpcs_outer     h: upper triangle of the Hessian, by rows, from the sums over angles.
//   xpcs_static_pairs   Sf Sff P[3] Q[3] H[6] where m = e and weights are 1.
//   xpcs_static_T  Sfy R[3] likewise.
//   xpcs_simulate_T     samples as stage/xpcs.h says, and their head.
//
// clifford, matrix products: a tile a [n_row][TESS_CL_GEMM_ROW], depth <= TESS_CL_GEMM_DEPTH, times
// a matrix of depth rows in panels: panel j has columns [j width, (j + 1) width) of all rows, zeros
// past the last column (clifford_gemm.h). Every item is one chain of fused steps. Same bits on
// every ISA.
//
//   clifford_gemm_shape    the width of panels, and how many rows are good.
//   clifford_gemm_T        c[r][n] = sum_i a[r][i] b[i][n], or is added to c.
//   clifford_gemm_t_T      c[r][n] = sum_i a[i][r] b[i][n], or is added to c: a is [depth][n_row].
//   clifford_gemm_pack_T   writes a row x[n_col] to its place in panels of that depth; b is the
//                          place of its first item.
//   clifford_pair_T        q [n_row][TESS_CL_GEMM_ROW] = sum of the terms of a pair.
//   clifford_unpair_T      from the gradient of q those of x and y, added to what is there; rows
//                          without data: not wanted.
//
// clifford: blocks of rows of multivectors (clifford.h). A row's results do not depend on the other
// rows. The last bits depend on the length of a vector.
//
//   clifford_take_T, _give_T   a row of any type and strides (f64: of f64) into a scratch row, and
//                       back: rounded to the nearest, ties to even.
//   clifford_gates_T    gate = f(x_0) f(y_0) with the activation's f; slope_x = f'(x_0) f(y_0),
//                       slope_y = f(x_0) f'(y_0).
//   clifford_gate_T     out_k = f(x_0) x_k.
//   clifford_gate_back_T   grad_x from x and g. _gate_twice_T: d_g and d_x from x, g and u.
//   clifford_moments_T  the sums of every row; those of g and u where these are.
//   clifford_scale_T    out = a o with the factors of every row and grade.
//   clifford_norm_back_T   h = gate (a g - b e o); tau = sum_k (a g - b e o) o / gate (NULL: not
//                       wanted). b = 0: o is not looked at.
//   clifford_norm_twice_T  d_g = a u - b o, d_o = -b g - c e u - e e o.
//   clifford_product_T  out = sum_p weight_p (sum of the terms of p), + tau slope in component 0;
//                       grad_weight_p += sum of x and the terms of p, row after row.
#ifndef TESS_KERNELS_H
#define TESS_KERNELS_H

#include "base/tile_sum.h"
#include "kernels/clifford.h"
#include "kernels/clifford_gemm.h"
#include "kernels/xpcs.h"

#include <stddef.h>
#include <stdint.h>

enum { TESS_RANSAC_ROWS = 8, TESS_RANSAC_TILE = 16 };

typedef struct tess_kernels {
    const char *isa;              // "ref", "avx2", "avx512", "neon", "sve"
    size_t (*vector_bytes)(void); // run-time: SVE's length is the machine's
#define KERNEL(name, arguments) void(*name) arguments;
#include "kernels/kernels.def"
#undef KERNEL
} tess_kernels;

// Every set compiled into this library, "ref" first, best last.
const tess_kernels *const *tess_kernels_built(size_t *n_set);

// 1 if this CPU and operating system can run the set.
int tess_kernels_usable(const tess_kernels *set);

// The set of that name (NULL: the best usable). NULL if it is not built or not usable.
const tess_kernels *tess_kernels_select(const char *isa);

#endif
