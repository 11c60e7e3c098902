// Where fits begin: the usual values, a look at the data, or anywhere.
#include "base/rng.h"
#include "base/status.h"
#include "systems/xpcs/fit/problem.h"

#include <math.h>
#include <string.h>

enum {
    D0 = 0,
    ALPHA = 1,
    D_OFFSET = 2,
    GAMMA = 3,
    GAMMA_OFFSET = 5,
    AGES = 12,
    MAX_ANGLES = 4,
    MAX_ROWS = 8,
    PURPOSE_LATIN = 0x58500001,
};

// theta[k] where it is free and nothing was given, within the bounds.
static void set_free(const tess_xp_problem *p, double *theta, int64_t k, double value)
{
    theta[k] = isnan(p->start[k]) ? fmin(fmax(value, p->lower[k]), p->upper[k]) : p->start[k];
}

void tess_xp_start_default(const tess_xp_problem *p, double *theta)
{
    int64_t n = 0;
    const tess_xpcs_param_info *info = tess_xpcs_params((tess_xpcs_mode)p->model.mode, &n);
    for (int64_t k = 0; k < n; k++) {
        set_free(p, theta, k, info[k].start);
    }
}

// The angles where shear disturbs least; all are alike in static modes. Returns how many.
static int64_t choose_angles(const tess_xp_problem *p, int64_t *angles)
{
    static const double radian = 3.14159265358979323846 / 180;
    double best[MAX_ANGLES];
    int64_t n = 0;
    for (int64_t a = 0; a < p->n_angle; a++) {
        const double along = p->model.mode == TESS_XPCS_LAMINAR_FLOW
                                 ? fabs(cos(p->data->info.phi[a] * radian))
                                 : (double)a;
        int64_t at = n < MAX_ANGLES ? n++ : MAX_ANGLES;
        while (at > 0 && best[at - 1] > along) {
            if (at < MAX_ANGLES) {
                best[at] = best[at - 1];
                angles[at] = angles[at - 1];
            }
            at--;
        }
        if (at < MAX_ANGLES) {
            best[at] = along;
            angles[at] = a;
        }
    }
    return n;
}

// Adds the decay of rows of an angle, (c2 - offset) / contrast by lag.
static void add_decay(const tess_xp_problem *p, int64_t angle, const double *rows, int64_t first,
                      int64_t n_row, double *sum, double *count)
{
    const int64_t n = p->data->info.n_frame;
    const double contrast = fmax(p->contrast[angle], 1e-3);
    for (int64_t r = 0; r < n_row; r++) {
        for (int64_t j = first + r + 1; j < n; j++) {
            const double y = (rows[r * n + j] - p->offset[angle]) / contrast;
            if (isfinite(y)) {
                sum[j - first - r] += y;
                count[j - first - r] += 1;
            }
        }
    }
}

// The lag at which the mean over growing windows falls to 1/e, in frames; NaN: it does not.
static double decay_lag(const double *sum, const double *count, int64_t n)
{
    const double level = exp(-1);
    double before = 1;
    double lag_before = 0;
    for (int64_t low = 1; low < n;) {
        const int64_t high = low + low / 4 + 1;
        double total = 0;
        double weight = 0;
        for (int64_t lag = low; lag < high && lag < n; lag++) {
            total += sum[lag];
            weight += count[lag];
        }
        const double middle = 0.5 * (double)(low + high - 1);
        if (weight > 0) {
            const double mean = total / weight;
            if (mean < level) {
                const double part = (before - level) / fmax(before - mean, 1e-12);
                return lag_before + fmin(part, 1) * (middle - lag_before);
            }
            before = fmax(mean, level);
            lag_before = middle;
        }
        low = high;
    }
    return (double)NAN;
}

typedef struct line {
    double n;
    double x;
    double y;
    double xx;
    double xy;
} line;

// Rates at one age, averaged over angles and rows. work: MAX_ROWS + 2 rows of n_frame.
static tess_status add_age(tess_xp_problem *p, int64_t first, int64_t n_row, const int64_t *angles,
                           int64_t n_angle, double *work, line *fit)
{
    const tess_xpcs_data_info *info = &p->data->info;
    const int64_t n = info->n_frame;
    double *sum = work + MAX_ROWS * n;
    double *count = sum + n;
    memset(sum, 0, (size_t)(2 * n) * sizeof *sum);
    for (int64_t k = 0; k < n_angle; k++) {
        TESS_TRY(tess_xpcs_data_rows(p->ctx, p->data, angles[k], first, n_row, work));
        add_decay(p, angles[k], work, first, n_row, sum, count);
    }
    const double lag = decay_lag(sum, count, n);
    if (!(lag > 0)) {
        return TESS_OK;
    }
    const double q = info->q[angles[0]];
    const double t = p->model.dt_s * ((double)first + 0.5 * (double)n_row + 0.5 * lag + 1);
    const double x = log(t);
    const double y = -log(q * q * p->model.dt_s * lag);
    fit->n += 1;
    fit->x += x;
    fit->y += y;
    fit->xx += x * x;
    fit->xy += x * y;
    return TESS_OK;
}

tess_status tess_xp_start_guess(tess_xp_problem *p, double *theta, bool *is_found)
{
    const int64_t n = p->data->info.n_frame;
    int64_t angles[MAX_ANGLES];
    const int64_t n_angle = choose_angles(p, angles);
    const size_t bytes = (size_t)((MAX_ROWS + 2) * n) * sizeof(double);
    double *work = tess_heap_alloc(&p->ctx->heap, bytes, TESS_TAG_SCRATCH, "rows of the data");
    tess_status status = work ? TESS_OK : TESS_E_MEMORY;
    line fit = {0};
    int64_t last = -1;
    for (int64_t k = 0; k < AGES && status == TESS_OK; k++) {
        const int64_t row = (int64_t)(exp((double)k / (AGES - 1) * log(0.7 * (double)n))) - 1;
        const int64_t most = row / 4 + 1 < MAX_ROWS ? row / 4 + 1 : MAX_ROWS;
        if (row > last && row + most < n - 1) {
            status = add_age(p, row, most, angles, n_angle, work, &fit);
            last = row;
        }
    }
    tess_heap_free(&p->ctx->heap, work, bytes, TESS_TAG_SCRATCH);
    const double spread = fit.n * fit.xx - fit.x * fit.x;
    *is_found = fit.n >= 3 && spread > 1e-6;
    tess_xp_start_default(p, theta);
    if (*is_found) {
        const double slope = (fit.n * fit.xy - fit.x * fit.y) / spread;
        set_free(p, theta, ALPHA, slope);
        set_free(p, theta, D0, exp((fit.y - theta[ALPHA] * fit.x) / fit.n));
        set_free(p, theta, D_OFFSET, 0);
    }
    return status;
}

// A column of numbers in 0..1, one in each of n equal strata, in random order.
static void fill_strata(const tess_philox_stream *stream, int64_t n, double *column, int64_t stride)
{
    for (int64_t i = 0; i < n; i++) {
        column[i * stride] = (double)i;
    }
    for (int64_t i = n - 1; i > 0; i--) {
        const int64_t j = (int64_t)(tess_philox_uniform(stream, (uint64_t)i) * (double)(i + 1));
        const double item = column[i * stride];
        column[i * stride] = column[j * stride];
        column[j * stride] = item;
    }
    for (int64_t i = 0; i < n; i++) {
        const double inside = tess_philox_uniform(stream, (uint64_t)(n + i));
        column[i * stride] = (column[i * stride] + inside) / (double)n;
    }
}

static double between(double lower, double upper, double u, bool is_log)
{
    return is_log && lower > 0 ? lower * exp(u * log(upper / lower)) : lower + u * (upper - lower);
}

// theta holds numbers in 0..1 and becomes a start.
static void place(const tess_xp_problem *p, double *theta)
{
    // Offsets are drawn relative to the rate at the geometric mean of the times.
    const double middle = p->model.dt_s * sqrt((double)p->data->info.n_frame);
    double start[TESS_XPCS_MAX_PARAM];
    tess_xp_start_default(p, start);
    for (int64_t k = 0; k < p->n_param; k++) {
        if (p->is_fixed[k]) {
            theta[k] = start[k];
        } else if (k == D_OFFSET || k == GAMMA_OFFSET) {
            const double rate = theta[k - 2] * pow(middle, theta[k - 1]);
            theta[k] = fmin(fmax((theta[k] - 0.5) * rate, p->lower[k]), p->upper[k]);
        } else {
            theta[k] = between(p->lower[k], p->upper[k], theta[k], k == D0 || k == GAMMA);
        }
    }
}

void tess_xp_start_latin(const tess_xp_problem *p, int64_t n, double *thetas, int64_t stride)
{
    for (int64_t k = 0; k < p->n_param; k++) {
        const tess_philox_stream stream =
            tess_philox_open((uint64_t)p->config.seed, (uint32_t)k, PURPOSE_LATIN);
        fill_strata(&stream, n, thetas + k, stride);
    }
    for (int64_t i = 0; i < n; i++) {
        place(p, thetas + i * stride);
    }
}
