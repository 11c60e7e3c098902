#include "systems/xpcs/rates/basis.h"

#include "base/status.h"
#include "numerics/cholesky.h"

#include <math.h>
#include <string.h>

enum { MOST = TESS_XP_RATES_MOST_BASIS };

// The four cubic splines that are not 0 at x, of knots that are one step apart; first: which.
static void splines_at(double x, int64_t n_knot, int64_t *first, double b[4])
{
    int64_t m = (int64_t)floor(x);
    m = m < 0 ? 0 : m > n_knot - 2 ? n_knot - 2 : m;
    const double u = x - (double)m;
    const double v = 1 - u;
    *first = m;
    b[0] = v * v * v / 6;
    b[1] = (3 * u * u * u - 6 * u * u + 4) / 6;
    b[2] = (3 * v * v * v - 6 * v * v + 4) / 6;
    b[3] = u * u * u / 6;
}

static void fill_row(double x, int64_t n_knot, double *row)
{
    int64_t first = 0;
    double b[4];
    splines_at(x, n_knot, &first, b);
    memcpy(row + first, b, sizeof b);
}

// Second differences of coefficients, or first ones of the logarithms of their steps.
static void fill_differences(tess_xp_spline *s)
{
    static const double second[3] = {1, -2, 1};
    static const double first[3] = {0, -1, 1};
    const double *by = s->shape == TESS_XPCS_RATES_MONOTONE ? first : second;
    for (int64_t i = 0; i < s->n - 2; i++) {
        memcpy(s->difference + i * s->n + i, by, sizeof second);
    }
}

// What differences do not see: the level, and the slope over the knots (or the step's logarithm).
static void fill_null(tess_xp_spline *s)
{
    const bool is_monotone = s->shape == TESS_XPCS_RATES_MONOTONE;
    const double range = (double)(s->n_knot - 1);
    for (int64_t k = 0; k < s->n; k++) {
        const double at = ((double)k - 1) / range - 0.5; // of the knots, by Greville
        s->null[k] = is_monotone ? k == 0 : 1;
        s->null[s->n + k] = is_monotone ? k > 0 : at;
    }
}

static double dot(const double *x, const double *y, int64_t n)
{
    double sum = 0;
    for (int64_t k = 0; k < n; k++) {
        sum += x[k] * y[k];
    }
    return sum;
}

static double log_determinant(double *a, int64_t n)
{
    double sum = 0;
    if (!tess_cholesky(a, n)) {
        return (double)NAN;
    }
    for (int64_t i = 0; i < n; i++) {
        sum += 2 * log(a[i * (n + 1)]);
    }
    return sum;
}

// The rows of null are orthogonal to each other and to those of difference, whose products with
// themselves have the eigenvalues of the penalty that are not 0.
static void fill_prior(tess_xp_spline *s)
{
    const int64_t n = s->n;
    double inner[MOST * MOST];
    for (int64_t i = 0; i < n - 2; i++) {
        for (int64_t j = 0; j < n - 2; j++) {
            inner[i * (n - 2) + j] = dot(s->difference + i * n, s->difference + j * n, n);
        }
    }
    s->log_constant = log_determinant(inner, n - 2);
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < n; j++) {
            for (int64_t k = 0; k < n - 2; k++) {
                s->penalty[i * n + j] += s->difference[k * n + i] * s->difference[k * n + j];
            }
        }
    }
    for (int64_t r = 0; r < 2; r++) {
        const double *row = s->null + r * n;
        const double length = dot(row, row, n);
        const double precision = 1 / (s->sd[r] * s->sd[r]);
        for (int64_t i = 0; i < n; i++) {
            s->centre[i] += s->mean[r] * row[i];
            for (int64_t j = 0; j < n; j++) {
                s->weak[i * n + j] += precision * row[i] * row[j] / (length * length);
            }
        }
        s->log_constant += log(precision / length);
    }
}

static tess_status take_memory(tess_blocks *memory, tess_xp_spline *s)
{
    const int64_t n = s->n;
    const struct {
        double **at;
        int64_t n;
    } rooms[] = {{&s->difference, n * n},  {&s->null, 2 * n}, {&s->penalty, n * n},
                 {&s->weak, n * n},        {&s->centre, n},   {&s->value, s->n_frame * n},
                 {&s->knot, s->n_knot * n}};
    for (size_t k = 0; k < sizeof rooms / sizeof *rooms; k++) {
        *rooms[k].at = tess_blocks_alloc(memory, rooms[k].n, sizeof(double), "splines");
        if (!*rooms[k].at) {
            return TESS_E_MEMORY;
        }
    }
    return TESS_OK;
}

tess_status tess_xp_spline_create(tess_blocks *memory, const double *x, int64_t n_frame,
                                  int64_t n_knot, int32_t shape, const double mean[2],
                                  const double sd[2], tess_xp_spline *out)
{
    *out = (tess_xp_spline){.n = n_knot + 2,
                            .n_knot = n_knot,
                            .n_frame = n_frame,
                            .shape = shape,
                            .sign = 1,
                            .scale = 1,
                            .mean = {mean[0], mean[1]},
                            .sd = {sd[0], sd[1]}};
    TESS_TRY(take_memory(memory, out));
    const double step = (x[n_frame - 1] - x[0]) / (double)(n_knot - 1);
    for (int64_t f = 0; f < n_frame; f++) {
        fill_row((x[f] - x[0]) / step, n_knot, out->value + f * out->n);
    }
    for (int64_t k = 0; k < n_knot; k++) {
        fill_row((double)k, n_knot, out->knot + k * out->n);
    }
    fill_differences(out);
    fill_null(out);
    fill_prior(out);
    return TESS_OK;
}

void tess_xp_spline_coefficients(const tess_xp_spline *s, const double *z, double *c, double *slope)
{
    const int64_t n = s->n;
    const bool is_monotone = s->shape == TESS_XPCS_RATES_MONOTONE;
    if (slope) {
        memset(slope, 0, (size_t)(n * n) * sizeof *slope);
    }
    for (int64_t k = 0; k < n; k++) {
        const double step = is_monotone && k > 0 ? s->sign * exp(z[k]) : 0;
        c[k] = !is_monotone || k == 0 ? z[k] : c[k - 1] + step;
        if (slope && (!is_monotone || k == 0)) {
            slope[k * (n + 1)] = 1;
        } else if (slope) {
            memcpy(slope + k * n, slope + (k - 1) * n, (size_t)n * sizeof *slope);
            slope[k * (n + 1)] = step;
        }
    }
}

// Least squares with a little of the penalty, for where no frame is.
tess_status tess_xp_spline_start(tess_blocks *memory, const tess_xp_spline *s, const double *y,
                                 double *z)
{
    static const double some = 1e-3;
    const int64_t n = s->n;
    double *a = tess_blocks_alloc(memory, n * n, sizeof *a, "splines");
    double second[MOST] = {0};
    if (!a) {
        return TESS_E_MEMORY;
    }
    for (int64_t f = 0; f < s->n_frame; f++) {
        const double *row = s->value + f * n;
        for (int64_t i = 0; i < n; i++) {
            second[i] += row[i] * y[f];
            for (int64_t j = 0; j < n; j++) {
                a[i * n + j] += row[i] * row[j];
            }
        }
    }
    for (int64_t i = 0; i + 2 < n; i++) {
        static const double by[3] = {1, -2, 1};
        for (int64_t j = 0; j < 9; j++) {
            a[(i + j / 3) * n + i + j % 3] += some * by[j / 3] * by[j % 3];
        }
    }
    if (!tess_cholesky(a, n)) {
        TESS_FAIL(TESS_E_NUMERIC, "knots: %lld of them for %lld frames; take fewer",
                  (long long)s->n_knot, (long long)s->n_frame);
    }
    tess_cholesky_solve(a, n, second);
    memcpy(z, second, (size_t)n * sizeof *z);
    if (s->shape == TESS_XPCS_RATES_MONOTONE) {
        const double even = fmax(fabs(second[n - 1] - second[0]) / (double)(n - 1), 1e-3);
        for (int64_t k = 1; k < n; k++) {
            z[k] = log(fmax(s->sign * (second[k] - second[k - 1]), 0.05 * even));
        }
    }
    return TESS_OK;
}

static double rate_of(const tess_xp_spline *s, double spline)
{
    // Beyond, exp() would leave nothing of the other terms of a sum.
    return s->is_log ? exp(fmin(fmax(spline, -300), 300)) : s->scale * spline;
}

void tess_xp_spline_rates(const tess_xp_spline *s, const double *z, double *rate)
{
    double c[MOST];
    tess_xp_spline_coefficients(s, z, c, NULL);
    for (int64_t f = 0; f < s->n_frame; f++) {
        rate[f] = rate_of(s, dot(s->value + f * s->n, c, s->n));
    }
}

void tess_xp_spline_row(const tess_xp_spline *s, const double *slope, const double *row,
                        double *out)
{
    const int64_t n = s->n;
    memset(out, 0, (size_t)n * sizeof *out);
    for (int64_t k = 0; k < n; k++) {
        for (int64_t l = 0; l < n && row[k] != 0; l++) {
            out[l] += row[k] * slope[k * n + l];
        }
    }
}

void tess_xp_spline_integrals(const tess_xp_spline *s, const double *z, double *integral,
                              double *basis)
{
    const int64_t n = s->n;
    double c[MOST];
    double slope[MOST * MOST];
    double last[MOST] = {0};
    double at[MOST];
    double last_rate = 0;
    tess_xp_spline_coefficients(s, z, c, basis ? slope : NULL);
    for (int64_t f = 0; f < s->n_frame; f++) {
        const double *row = s->value + f * n;
        const double rate = rate_of(s, dot(row, c, n));
        integral[f] = f == 0 ? 0 : integral[f - 1] + 0.5 * (last_rate + rate);
        last_rate = rate;
        if (!basis) {
            continue;
        }
        tess_xp_spline_row(s, slope, row, at);
        for (int64_t k = 0; k < n; k++) {
            at[k] *= s->is_log ? rate : s->scale;
            basis[f * n + k] = f == 0 ? 0 : basis[(f - 1) * n + k] + 0.5 * (last[k] + at[k]);
        }
        memcpy(last, at, (size_t)n * sizeof *at);
    }
}
