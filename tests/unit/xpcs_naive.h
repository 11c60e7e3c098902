// The xpcs model once more, in long double precision, straight from its definition.
#ifndef TESS_TESTS_XPCS_NAIVE_H
#define TESS_TESTS_XPCS_NAIVE_H

#include "unit_golden.h"

#include "tessera/xpcs/model.h"

#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

// Complex, so that derivatives can be taken by a step into the imaginary direction.
typedef long double complex naive_number;
#define NAIVE_I ((naive_number)I)

static const long double NAIVE_PI = 3.14159265358979323846264338327950288L;

static inline long double naive_time(const tess_xpcs_model *model, int64_t i)
{
    const long double dt = (long double)model->dt_s;
    const long double t = (long double)(i + (model->keep_t0 ? 0 : 1)) * dt;
    const long double least = 0.5L * dt > 1e-8L ? 0.5L * dt : 1e-8L;
    return model->keep_t0 && t < least ? least : t;
}

// Integral of amplitude t^exponent + offset from frame i to j, in steps.
static inline naive_number naive_integral(const tess_xpcs_model *model, const naive_number *theta,
                                          int64_t i, int64_t j)
{
    naive_number sum = 0;
    naive_number before = 0;
    for (int64_t k = i; k <= j; k++) {
        naive_number rate = theta[0] * cexpl(theta[1] * logl(naive_time(model, k))) + theta[2];
        rate = creall(rate) > 1e-10L ? rate : 1e-10L;
        sum += k > i ? 0.5L * (before + rate) : 0;
        before = rate;
    }
    return model->compat_eps ? csqrtl(sum * sum + 1e-12L) : sum;
}

static inline naive_number naive_cosine(naive_number degrees)
{
    const long double rest = remainderl(creall(degrees), 360);
    const long double inside = (90 - fabsl(rest)) * NAIVE_PI / 180;
    const long double slope = -sinl(rest * NAIVE_PI / 180) * NAIVE_PI / 180;
    return sinl(inside) + slope * cimagl(degrees) * NAIVE_I;
}

// sin z / z; the quotient would lose the derivative of small z.
static inline naive_number naive_sinc(naive_number z)
{
    if (cabsl(z) > 0.3L) {
        return csinl(z) / z;
    }
    naive_number sum = 0;
    naive_number term = 1;
    for (int k = 1; k < 12; k++) {
        sum += term;
        term *= -z * z / (long double)(2 * k * (2 * k + 1));
    }
    return sum;
}

// M of one pair. The derivative by a parameter is the imaginary part per imaginary step.
static inline naive_number naive_model(const tess_xpcs_model *model, const naive_number *theta,
                                       double phi, double q, int64_t i, int64_t j)
{
    const long double q_l = (long double)q;
    const long double dt = (long double)model->dt_s;
    const naive_number decay = cexpl(-q_l * q_l * dt * naive_integral(model, theta, i, j));
    if (model->mode != TESS_XPCS_LAMINAR_FLOW) {
        return decay;
    }
    const naive_number x = q_l * (long double)model->gap_angstrom * dt *
                           naive_cosine(theta[6] - (long double)phi) *
                           naive_integral(model, theta + 3, i, j);
    const naive_number s =
        naive_sinc(model->kernel == TESS_XPCS_KERNEL_UPSTREAM ? x / (2 * NAIVE_PI) : x / 2);
    return decay * s * s * (model->kernel == TESS_XPCS_KERNEL_PHYSICAL ? 1 : s * s);
}

// All pairs i < j in order of rows; free() both.
static inline int64_t naive_pairs(int64_t n_frame, int64_t **first, int64_t **second)
{
    const int64_t n_pair = n_frame * (n_frame - 1) / 2;
    *first = malloc((size_t)n_pair * sizeof **first);
    *second = malloc((size_t)n_pair * sizeof **second);
    assert_true(*first && *second);
    int64_t k = 0;
    for (int64_t i = 0; i < n_frame; i++) {
        for (int64_t j = i + 1; j < n_frame; j++, k++) {
            (*first)[k] = i;
            (*second)[k] = j;
        }
    }
    return n_pair;
}

static inline tess_xpcs_model naive_constants(int32_t mode, int32_t kernel)
{
    tess_xpcs_model model;
    tess_xpcs_model_init(&model, sizeof model);
    model.mode = mode;
    model.kernel = kernel;
    model.dt_s = 0.1;
    model.gap_angstrom = 2e6;
    return model;
}

static uint64_t naive_state = 20261115;

static inline double naive_uniform(double lower, double upper)
{
    naive_state = naive_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return lower + (upper - lower) * (double)(naive_state >> 11) * 0x1p-53;
}

// Parameters anywhere within their bounds.
static inline void naive_theta(int32_t mode, double *theta)
{
    int64_t n = 0;
    const tess_xpcs_param_info *params = tess_xpcs_params((tess_xpcs_mode)mode, &n);
    for (int64_t k = 0; k < n; k++) {
        const double lower = params[k].lower;
        theta[k] = lower > 0 ? lower * pow(params[k].upper / lower, naive_uniform(0, 1))
                             : naive_uniform(lower, params[k].upper);
    }
}

#endif
