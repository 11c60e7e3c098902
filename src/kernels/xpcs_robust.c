// Weights and weighted residuals under a robust loss; built once per ISA.

#include "kernels/isa.h"
#include "kernels/simd/math.h"
#include "kernels/xpcs_lanes.h"

#include <float.h>
#include <math.h>

// By the C library, lane by lane: the loss that needs it is rare.
static inline v_f64 arctangent(v_f64 x)
{
    double lane[LANES] = {0};
    store(lane, x);
    for (size_t k = 0; k < lanes(); k++) {
        lane[k] = atan(lane[k]);
    }
    return load(lane);
}

static inline void soft_l1(v_f64 z, v_f64 *rho, v_f64 *slope, v_f64 *scale)
{
    const v_f64 unity = v_set1_f64(1), one = v_add_f64(unity, z), root = v_sqrt_f64(one);
    *rho = v_div_f64(v_add_f64(z, z), v_add_f64(root, unity));
    *slope = v_div_f64(unity, root);
    *scale = v_div_f64(*slope, one);
}

static inline void huber(v_f64 z, v_f64 *rho, v_f64 *slope, v_f64 *scale)
{
    const v_f64 unity = v_set1_f64(1), root = v_sqrt_f64(z);
    const v_mask_f64 is_far = v_lt_f64(unity, z);
    *rho = v_select_f64(is_far, v_sub_f64(v_add_f64(root, root), unity), z);
    *slope = v_select_f64(is_far, v_div_f64(unity, root), unity);
    *scale = v_select_f64(is_far, v_set1_f64(0), unity);
}

// log(1 + z), with what the sum 1 + z lost.
static inline void cauchy(v_f64 z, v_f64 *rho, v_f64 *slope, v_f64 *scale)
{
    const v_f64 unity = v_set1_f64(1), one = v_add_f64(unity, z);
    const v_f64 lost = v_sub_f64(z, v_sub_f64(one, unity));
    *slope = v_div_f64(unity, one);
    *rho = v_fma_f64(lost, *slope, v_log_f64(one));
    *scale = v_mul_f64(v_sub_f64(unity, z), v_mul_f64(*slope, *slope));
}

static inline void arctan(v_f64 z, v_f64 *rho, v_f64 *slope, v_f64 *scale)
{
    const v_f64 unity = v_set1_f64(1);
    *rho = arctangent(z);
    *slope = v_div_f64(unity, v_fma_f64(z, z, unity));
    *scale =
        v_mul_f64(v_fma_f64(v_mul_f64(v_set1_f64(-3), z), z, unity), v_mul_f64(*slope, *slope));
}

// rho, its first derivative and rho' + 2 rho'' z, which is kept above 0 as scipy does.
static inline void loss_at(int64_t loss, v_f64 z, v_f64 *rho, v_f64 *slope, v_f64 *scale)
{
    switch (loss) {
    case TESS_XP_SOFT_L1:
        soft_l1(z, rho, slope, scale);
        break;
    case TESS_XP_HUBER:
        huber(z, rho, slope, scale);
        break;
    case TESS_XP_CAUCHY:
        cauchy(z, rho, slope, scale);
        break;
    case TESS_XP_ARCTAN:
        arctan(z, rho, slope, scale);
        break;
    default:
        *rho = z;
        *slope = *scale = v_set1_f64(1);
        break;
    }
    const v_f64 least = v_set1_f64(DBL_EPSILON);
    *scale = v_select_f64(v_lt_f64(least, *scale), *scale, least);
}

void TESS_KFN(xpcs_robust)(const tess_xp_robust *restrict loss, const double *restrict m, size_t n,
                           double *restrict w, double *restrict g, double *restrict sums)
{
    double rows[8 * LANES] __attribute__((aligned(64))) = {0};
    const v_f64 contrast = v_set1_f64(loss->contrast), offset = v_set1_f64(loss->offset);
    const v_f64 by = v_set1_f64(loss->inverse_variance / (loss->f_scale * loss->f_scale));
    for (size_t at = 0; at < LANES; at += lanes()) {
        v_f64 rho_sum = v_set1_f64(0), square_sum = rho_sum;
        for (size_t c = at; c < tess_xp_padded(n); c += LANES) {
            const v_f64 model = v_fma_f64(contrast, load(m + c), offset);
            const v_f64 error = v_sub_f64(model, load(g + c)), weight = load(w + c);
            const v_f64 weighted = v_mul_f64(weight, error);
            const v_f64 square = v_mul_f64(weighted, error);
            v_f64 rho, slope, scale;
            loss_at(loss->loss, v_mul_f64(square, by), &rho, &slope, &scale);
            rho_sum = v_add_f64(rho_sum, rho);
            square_sum = v_add_f64(square_sum, square);
            store(w + c, v_mul_f64(weight, scale));
            store(g + c, v_mul_f64(slope, weighted));
        }
        store(rows + at, rho_sum);
        store(rows + LANES + at, square_sum);
    }
    double totals[8];
    v_row_sums_f64(rows, totals);
    sums[0] = totals[0];
    sums[1] = totals[1];
}
