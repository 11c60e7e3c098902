// The decode kernels, as plainly as they can be said; the same roundings as the vector sets.

#include "kernels/decode_kde.h"
#include "kernels/isa.h"
#include "kernels/simd/math.h"

#include <string.h>

// 2^t, t <= 0, not below 2^TESS_DE_LEAST_POWER.
static float weight_of(float t)
{
    t = t > TESS_DE_LEAST_POWER ? t : TESS_DE_LEAST_POWER;
    const float whole = rintf(t);
    const float r = t - whole;
    float p = tess_exp2_tail[0];
    for (size_t k = 1; k < sizeof tess_exp2_tail / sizeof *tess_exp2_tail; k++) {
        p = fmaf(p, r, tess_exp2_tail[k]);
    }
    return ldexpf(fmaf(p, r, 1), (int)whole);
}

void TESS_KFN(decode_weights_f32)(const float *restrict y, size_t y_stride, size_t n,
                                  size_t n_feature, const float *restrict x, size_t n_lane,
                                  float *restrict w)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t s = 0; s < n_lane; s++) {
            float t = 0;
            float sum = 0; // of four features
            for (size_t f = 0; f < n_feature; f++) {
                const float a = x[f * n_lane + s] - y[f * y_stride + i];
                sum = fmaf(-a, a, sum);
                if (f % 4 == 3 || f + 1 == n_feature) {
                    t += sum;
                    sum = 0;
                }
            }
            w[i * n_lane + s] = weight_of(t);
        }
    }
}

void TESS_KFN(decode_single_f32)(const float *restrict y, size_t y_stride, size_t n,
                                 size_t n_feature, const float *restrict x, const float *restrict t,
                                 const float *restrict base, size_t order, float *restrict moments)
{
    memset(moments, 0, order * sizeof *moments);
    for (size_t i = 0; i < n; i++) {
        float q = 0;
        for (size_t f = 0; f < n_feature; f++) {
            const float a = x[f] - y[f * y_stride + i];
            q = fmaf(-a, a, q);
        }
        float now = base[i] * weight_of(q);
        float before = now * t[i];
        for (size_t k = 0; k < order; k++) {
            moments[k] += now;
            const float next = fmaf(2 * t[i], now, -before);
            before = now;
            now = next;
        }
    }
}

void TESS_KFN(decode_place_f32)(const float *restrict table, const float *restrict moments,
                                size_t n_row, float *restrict out)
{
    memset(out, 0, 8 * sizeof *out);
    for (size_t i = 0; i < 8 * n_row; i++) {
        out[i % 8] += table[i] * moments[i];
    }
}

static double distance(const double *y, size_t y_stride, size_t n_feature, const double *x,
                       size_t n_lane)
{
    double q = 0;
    for (size_t f = 0; f < n_feature; f++) {
        const double a = x[f * n_lane] - y[f * y_stride];
        q = fma(a, a, q);
    }
    return q;
}

void TESS_KFN(decode_weights_f64)(const double *restrict y, size_t y_stride, size_t n,
                                  size_t n_feature, const double *restrict x, size_t n_lane,
                                  const double *restrict nearest, double *restrict w)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t s = 0; s < n_lane; s++) {
            const double q = distance(y + i, y_stride, n_feature, x + s, n_lane);
            w[i * n_lane + s] = v_exp_f64(nearest[s] - q);
        }
    }
}

void TESS_KFN(decode_nearest_f64)(const double *restrict y, size_t y_stride, size_t n,
                                  size_t n_feature, const double *restrict x, size_t n_lane,
                                  double *restrict nearest)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t s = 0; s < n_lane; s++) {
            const double q = distance(y + i, y_stride, n_feature, x + s, n_lane);
            nearest[s] = q < nearest[s] ? q : nearest[s];
        }
    }
}

void TESS_KFN(decode_logs_f32)(const float *restrict sums, const float *restrict offset,
                               size_t n_bin, size_t n_lane, const float *restrict sure,
                               float *restrict values, float *restrict best)
{
    for (size_t s = 0; s < n_lane; s++) {
        best[s] = -INFINITY;
        for (size_t p = 0; p < n_bin; p++) {
            const float sum = sums[p * n_lane + s];
            const float value = v_log_f32(sum > 0 ? sum : 0) + offset[p];
            values[p * n_lane + s] = value;
            best[s] = !(value < sure[s] + offset[p]) && value > best[s] ? value : best[s];
        }
    }
}

void TESS_KFN(decode_floor_f32)(float *restrict values, const float *restrict offset, size_t n_bin,
                                size_t n_lane, const float *restrict sure,
                                const float *restrict floor, float *restrict n_unsure,
                                float *restrict n_floored)
{
    for (size_t s = 0; s < n_lane; s++) {
        n_unsure[s] = 0;
        n_floored[s] = 0;
        for (size_t p = 0; p < n_bin; p++) {
            float *value = &values[p * n_lane + s];
            const float limit = sure[s] + offset[p];
            n_unsure[s] += *value < limit && floor[s] < limit ? 1.0f : 0.0f;
            n_floored[s] += *value > floor[s] ? 0.0f : 1.0f;
            *value = *value > floor[s] ? *value : floor[s];
        }
    }
}

void TESS_KFN(decode_accumulate_f32)(const float *restrict c, size_t c_stride, size_t c_group,
                                     const int32_t *restrict group, const float *restrict w,
                                     size_t w_stride, size_t w_group, size_t n, size_t n_group,
                                     size_t n_out, size_t n_lane, float *restrict out,
                                     size_t out_stride)
{
    for (size_t k = 0; k < n_out; k++) {
        for (size_t s = 0; s < n_lane; s++) {
            float sum = 0;
            for (size_t j = 0; j < n_group * n; j++) {
                const size_t g = group ? (size_t)group[j / n] : j / n;
                const float factor = c[g * c_group + j % n * c_stride + k];
                sum = fmaf(factor, w[j / n * w_group + j % n * w_stride + s], sum);
            }
            out[k * out_stride + s] += sum;
        }
    }
}

void TESS_KFN(decode_accumulate_f64)(const double *restrict c, size_t c_stride, size_t c_group,
                                     const int32_t *restrict group, const double *restrict w,
                                     size_t w_stride, size_t w_group, size_t n, size_t n_group,
                                     size_t n_out, size_t n_lane, double *restrict out,
                                     size_t out_stride)
{
    for (size_t k = 0; k < n_out; k++) {
        for (size_t s = 0; s < n_lane; s++) {
            double sum = 0;
            for (size_t j = 0; j < n_group * n; j++) {
                const size_t g = group ? (size_t)group[j / n] : j / n;
                const double factor = c[g * c_group + j % n * c_stride + k];
                sum = fma(factor, w[j / n * w_group + j % n * w_stride + s], sum);
            }
            out[k * out_stride + s] += sum;
        }
    }
}
