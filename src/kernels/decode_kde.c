// Mark kernels and weighted sums of the clusterless likelihood; built once per ISA.
//
// Lanes are decoding spikes and encoding spikes are broadcast, so that every lane does the same
// operations in the same order whatever lies beside it.

#include "kernels/decode_exp2.h"
#include "kernels/isa.h"

// A pass over a few features. Between passes w holds -q so far; the last one makes it the weight.
typedef struct pass {
    const float *y, *x;
    size_t y_stride, n, n_lane;
    int is_first, is_last;
} pass;

static inline void end_pass(const pass *p, v_f32 sum, float *w)
{
    const v_f32 q = p->is_first ? sum : v_add_f32(v_load_f32(w), sum);
    v_store_f32(w, p->is_last ? tess_weight_of(q) : q);
}

// Four features: the tile's marks stay in registers.
static inline void pass_of_4(const pass *p, float *restrict w)
{
    const float *y0 = p->y, *y1 = y0 + p->y_stride, *y2 = y1 + p->y_stride, *y3 = y2 + p->y_stride;
    const v_f32 zero = v_set1_f32(0);
    for (size_t s = 0; s < p->n_lane; s += v_len_f32()) {
        const float *x = p->x + s;
        const v_f32 x0 = v_load_f32(x), x1 = v_load_f32(x + p->n_lane);
        const v_f32 x2 = v_load_f32(x + 2 * p->n_lane), x3 = v_load_f32(x + 3 * p->n_lane);
        for (size_t i = 0; i < p->n; i++) {
            const v_f32 a = v_sub_f32(x0, v_set1_f32(y0[i]));
            const v_f32 b = v_sub_f32(x1, v_set1_f32(y1[i]));
            const v_f32 c = v_sub_f32(x2, v_set1_f32(y2[i]));
            const v_f32 d = v_sub_f32(x3, v_set1_f32(y3[i]));
            v_f32 sum = v_fnma_f32(b, b, v_fnma_f32(a, a, zero));
            sum = v_fnma_f32(d, d, v_fnma_f32(c, c, sum));
            end_pass(p, sum, w + i * p->n_lane + s);
        }
    }
}

static void pass_of_rest(const pass *p, size_t n_feature, float *restrict w)
{
    for (size_t s = 0; s < p->n_lane; s += v_len_f32()) {
        for (size_t i = 0; i < p->n; i++) {
            v_f32 sum = v_set1_f32(0);
            for (size_t f = 0; f < n_feature; f++) {
                const v_f32 x = v_load_f32(p->x + f * p->n_lane + s);
                const v_f32 a = v_sub_f32(x, v_set1_f32(p->y[f * p->y_stride + i]));
                sum = v_fnma_f32(a, a, sum);
            }
            end_pass(p, sum, w + i * p->n_lane + s);
        }
    }
}

// Four features at a time, which also halves what many of them would round away.
void TESS_KFN(decode_weights_f32)(const float *restrict y, size_t y_stride, size_t n,
                                  size_t n_feature, const float *restrict x, size_t n_lane,
                                  float *restrict w)
{
    pass p = {y, x, y_stride, n, n_lane, 1, 1};
    if (n_feature == 4) { // tetrodes: what is known of the pass is known to the compiler
        pass_of_4(&p, w);
        return;
    }
    for (size_t first = 0; first < n_feature; first += 4) {
        const size_t left = n_feature - first;
        p.y = y + first * y_stride;
        p.x = x + first * n_lane;
        p.is_first = first == 0;
        p.is_last = left <= 4;
        if (left >= 4) {
            pass_of_4(&p, w);
        } else {
            pass_of_rest(&p, left, w);
        }
    }
}

// Sum over the features of (x - y_i)^2.
static inline v_f64 distance_f64(const double *y, size_t y_stride, size_t n_feature,
                                 const double *x, size_t n_lane)
{
    v_f64 q = v_set1_f64(0);
    for (size_t f = 0; f < n_feature; f++) {
        const v_f64 a = v_sub_f64(v_load_f64(x + f * n_lane), v_set1_f64(y[f * y_stride]));
        q = v_fma_f64(a, a, q);
    }
    return q;
}

void TESS_KFN(decode_weights_f64)(const double *restrict y, size_t y_stride, size_t n,
                                  size_t n_feature, const double *restrict x, size_t n_lane,
                                  const double *restrict nearest, double *restrict w)
{
    for (size_t s = 0; s < n_lane; s += v_len_f64()) {
        const v_f64 least = v_load_f64(nearest + s);
        for (size_t i = 0; i < n; i++) {
            const v_f64 q = distance_f64(y + i, y_stride, n_feature, x + s, n_lane);
            v_store_f64(w + i * n_lane + s, v_exp_f64(v_sub_f64(least, q)));
        }
    }
}

void TESS_KFN(decode_nearest_f64)(const double *restrict y, size_t y_stride, size_t n,
                                  size_t n_feature, const double *restrict x, size_t n_lane,
                                  double *restrict nearest)
{
    for (size_t s = 0; s < n_lane; s += v_len_f64()) {
        v_f64 least = v_load_f64(nearest + s);
        for (size_t i = 0; i < n; i++) {
            least = v_min_f64(least, distance_f64(y + i, y_stride, n_feature, x + s, n_lane));
        }
        v_store_f64(nearest + s, least);
    }
}

void TESS_KFN(decode_logs_f32)(const float *restrict sums, const float *restrict offset,
                               size_t n_bin, size_t n_lane, const float *restrict sure,
                               float *restrict values, float *restrict best)
{
    const v_f32 lowest = v_set1_f32(-INFINITY);
    for (size_t s = 0; s < n_lane; s += v_len_f32()) {
        const v_f32 least = v_load_f32(sure + s);
        v_f32 most = lowest;
        for (size_t p = 0; p < n_bin; p++) {
            const v_f32 sum = v_max_f32(v_load_f32(sums + p * n_lane + s), v_set1_f32(0));
            const v_f32 here = v_set1_f32(offset[p]);
            const v_f32 value = v_add_f32(v_log_f32(sum), here);
            v_store_f32(values + p * n_lane + s, value);
            const v_mask_f32 is_unsure = v_lt_f32(value, v_add_f32(least, here));
            most = v_max_f32(most, v_select_f32(is_unsure, lowest, value));
        }
        v_store_f32(best + s, most);
    }
}

void TESS_KFN(decode_floor_f32)(float *restrict values, const float *restrict offset, size_t n_bin,
                                size_t n_lane, const float *restrict sure,
                                const float *restrict floor, float *restrict n_unsure,
                                float *restrict n_floored)
{
    const v_f32 zero = v_set1_f32(0), one = v_set1_f32(1);
    for (size_t s = 0; s < n_lane; s += v_len_f32()) {
        const v_f32 least = v_load_f32(sure + s);
        const v_f32 low = v_load_f32(floor + s);
        v_f32 unsure = zero, floored = zero;
        for (size_t p = 0; p < n_bin; p++) {
            const v_f32 value = v_load_f32(values + p * n_lane + s);
            const v_f32 limit = v_add_f32(least, v_set1_f32(offset[p]));
            const v_mask_f32 is_above = v_lt_f32(low, value);
            const v_f32 may_be_above = v_select_f32(v_lt_f32(low, limit), one, zero);
            unsure = v_add_f32(unsure, v_select_f32(v_lt_f32(value, limit), may_be_above, zero));
            floored = v_add_f32(floored, v_select_f32(is_above, zero, one));
            v_store_f32(values + p * n_lane + s, v_select_f32(is_above, value, low));
        }
        v_store_f32(n_unsure + s, unsure);
        v_store_f32(n_floored + s, floored);
    }
}

enum { ROWS_AHEAD = 12 };
#define T_BITS 32
#include "kernels/decode_accumulate_body.h"

#define T_BITS 64
#include "kernels/decode_accumulate_body.h"
