#include "systems/xpcs/posterior/laplace.h"

#include "base/rng.h"
#include "base/status.h"
#include "numerics/cholesky.h"
#include "numerics/pareto.h"

#include <math.h>
#include <string.h>

enum { MOST_STEPS = 50, MOST_HALVES = 12 };
enum { NORMALS = 5, RESAMPLE = 6, SHUFFLE = 7 }; // purposes of random numbers

static const double LOG_2PI = 1.8378770664093454836;
static const double FIRST_STEP = 3;
static const double TINY_STEP = 1e-4; // of a climb's end, in standard deviations

// ---- A normal -----------------------------------------------------------------------------------

double tess_xp_normal_draw(const tess_xp_normal *normal, const double *z, double *x)
{
    double squares = 0;
    for (int64_t i = 0; i < normal->n; i++) {
        x[i] = normal->u[i];
        squares += z[i] * z[i];
        for (int64_t k = 0; k <= i; k++) {
            x[i] += normal->root[i * normal->n + k] * z[k];
        }
    }
    return -0.5 * (squares + (double)normal->n * LOG_2PI) - normal->log_determinant;
}

double tess_xp_normal_at(const tess_xp_normal *normal, const double *x)
{
    double z[TESS_XP_MAX_COORD];
    double squares = 0;
    for (int64_t i = 0; i < normal->n; i++) {
        z[i] = x[i] - normal->u[i];
        for (int64_t k = 0; k < i; k++) {
            z[i] -= normal->root[i * normal->n + k] * z[k];
        }
        z[i] /= normal->root[i * normal->n + i];
        squares += z[i] * z[i];
    }
    return -0.5 * (squares + (double)normal->n * LOG_2PI) - normal->log_determinant;
}

void tess_xp_normal_covariance(const tess_xp_normal *normal, double *covariance)
{
    const int64_t n = normal->n;
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < n; j++) {
            covariance[i * n + j] = 0;
            for (int64_t k = 0; k <= i && k <= j; k++) {
                covariance[i * n + j] += normal->root[i * n + k] * normal->root[j * n + k];
            }
        }
    }
}

double tess_xp_normal_evidence(const tess_xp_normal *normal)
{
    return normal->log_density + 0.5 * (double)normal->n * LOG_2PI + normal->log_determinant;
}

double tess_xp_told_evidence(const tess_xp_sampler *s, double evidence)
{
    return s->adjust.is_on ? (double)NAN : evidence;
}

// ---- The top ------------------------------------------------------------------------------------

typedef struct climb {
    tess_xp_sampler *sampler;
    double u[TESS_XP_MAX_COORD];
    double gradient[TESS_XP_MAX_COORD];
    double value;
    double unit[TESS_XP_MAX_COORD]; // of differences: a tenth of a standard deviation
    double precision[TESS_XP_MAX_COORD * TESS_XP_MAX_COORD];
} climb;

// Second derivatives by differences of the first, of all coordinates in passes they share.
static tess_status measure_precision(climb *c)
{
    const int64_t n = c->sampler->coords.n;
    double points[2 * TESS_XP_MAX_COORD][TESS_XP_MAX_COORD];
    const double *trials[2 * TESS_XP_MAX_COORD];
    double values[2 * TESS_XP_MAX_COORD];
    double gradients[2 * TESS_XP_MAX_COORD * TESS_XP_MAX_COORD];
    for (int64_t i = 0; i < 2 * n; i++) {
        memcpy(points[i], c->u, (size_t)n * sizeof(double));
        points[i][i / 2] += i % 2 == 0 ? c->unit[i / 2] : -c->unit[i / 2];
        trials[i] = points[i];
    }
    TESS_TRY(tess_xp_sampler_evaluate(c->sampler, trials, 2 * n, values, gradients));
    for (int64_t i = 0; i < n; i++) {
        for (int64_t k = 0; k < n; k++) {
            c->precision[i * n + k] =
                (gradients[(2 * i + 1) * n + k] - gradients[2 * i * n + k]) / (2 * c->unit[i]);
        }
    }
    for (int64_t i = 0; i < n; i++) {
        for (int64_t k = 0; k < i; k++) {
            const double mean = 0.5 * (c->precision[i * n + k] + c->precision[k * n + i]);
            c->precision[i * n + k] = c->precision[k * n + i] = mean;
        }
    }
    return TESS_OK;
}

// The lower root of the inverse of a matrix whose lower root is a: that of the transpose turned.
static bool invert(const double *precision, int64_t n, double *covariance)
{
    double root[TESS_XP_MAX_COORD * TESS_XP_MAX_COORD];
    memcpy(root, precision, (size_t)(n * n) * sizeof *root);
    if (!tess_cholesky(root, n)) {
        return false;
    }
    for (int64_t c = 0; c < n; c++) {
        double x[TESS_XP_MAX_COORD];
        for (int64_t i = 0; i < n; i++) {
            x[i] = i == c;
            for (int64_t k = 0; k < i; k++) {
                x[i] -= root[i * n + k] * x[k];
            }
            x[i] /= root[i * n + i];
        }
        for (int64_t i = n - 1; i >= 0; i--) {
            for (int64_t k = i + 1; k < n; k++) {
                x[i] -= root[k * n + i] * x[k];
            }
            x[i] /= root[i * n + i];
            covariance[i * n + c] = x[i];
        }
    }
    return true;
}

// The same where there is no top: as much is added to the diagonal as it takes. False: not even so.
static bool invert_damped(const double *precision, int64_t n, double *covariance)
{
    double damped[TESS_XP_MAX_COORD * TESS_XP_MAX_COORD];
    for (double damping = 0.01; damping < 1e12; damping *= 4) {
        memcpy(damped, precision, (size_t)(n * n) * sizeof *damped);
        for (int64_t i = 0; i < n; i++) {
            const double own = fabs(precision[i * n + i]);
            damped[i * n + i] += damping * (own > 0 ? own : 1);
        }
        if (invert(damped, n, covariance)) {
            return true;
        }
    }
    return false;
}

// A step by the covariance, halved until it leads up. *size: its length in standard deviations;
// *most: what one may have, more after every step that was not halved.
static tess_status take_step(climb *c, const double *covariance, double *size, double *most)
{
    const int64_t n = c->sampler->coords.n;
    double step[TESS_XP_MAX_COORD];
    double rise = 0;
    for (int64_t i = 0; i < n; i++) {
        step[i] = 0;
        for (int64_t k = 0; k < n; k++) {
            step[i] += covariance[i * n + k] * c->gradient[k];
        }
        rise += step[i] * c->gradient[i];
    }
    *size = sqrt(fmax(rise, 0));
    double scale = *size > *most ? *most / *size : 1;
    for (int64_t half = 0; half < MOST_HALVES; half++, scale *= 0.5) {
        double at[TESS_XP_MAX_COORD];
        double value;
        double gradient[TESS_XP_MAX_COORD];
        const double *trial = at;
        for (int64_t i = 0; i < n; i++) {
            at[i] = c->u[i] + scale * step[i];
        }
        TESS_TRY(tess_xp_sampler_evaluate(c->sampler, &trial, 1, &value, gradient));
        if (value > c->value - 1e-9 * fabs(c->value)) {
            memcpy(c->u, at, sizeof at);
            memcpy(c->gradient, gradient, sizeof gradient);
            c->value = value;
            *most = half == 0 ? 2 * *most : fmax(scale * *size, FIRST_STEP);
            return TESS_OK;
        }
    }
    *size = 0; // nowhere to go
    return TESS_OK;
}

tess_status tess_xp_laplace_climb(tess_xp_sampler *s, const double *u, tess_xp_normal *out,
                                  bool *is_found)
{
    const int64_t n = s->coords.n;
    climb c = {.sampler = s};
    const double *trial = c.u;
    double covariance[TESS_XP_MAX_COORD * TESS_XP_MAX_COORD];
    *is_found = false;
    memcpy(c.u, u, (size_t)n * sizeof *u);
    TESS_TRY(tess_xp_sampler_evaluate(s, &trial, 1, &c.value, c.gradient));
    double most = FIRST_STEP;
    const bool has_first = tess_xp_sampler_covariance(s, u, 1, covariance);
    for (int64_t i = 0; i < n; i++) {
        const double sd = has_first ? sqrt(covariance[i * n + i]) : 0;
        c.unit[i] = sd > 0 && sd < 1 ? 0.1 * sd : 0.1;
    }
    for (int64_t step = 0; step < MOST_STEPS; step++) {
        double size;
        TESS_TRY(measure_precision(&c));
        const bool is_top = invert(c.precision, n, covariance);
        if (!is_top && !invert_damped(c.precision, n, covariance)) {
            return TESS_OK;
        }
        // Differences over what is not a tenth of the width here may hide a top.
        for (int64_t i = 0; i < n; i++) {
            c.unit[i] = fmin(0.1 * sqrt(covariance[i * n + i]), is_top ? 1 : 4 * c.unit[i]);
        }
        TESS_TRY(take_step(&c, covariance, &size, &most));
        if (size < TINY_STEP && is_top) {
            *is_found = true;
            break;
        }
    }
    *out = (tess_xp_normal){.n = n, .log_density = c.value};
    memcpy(out->u, c.u, sizeof c.u);
    memcpy(out->root, covariance, (size_t)(n * n) * sizeof *covariance);
    if (!tess_cholesky(out->root, n)) {
        *is_found = false;
        return TESS_OK;
    }
    for (int64_t i = 0; i < n; i++) {
        out->log_determinant += log(out->root[i * n + i]);
    }
    return TESS_OK;
}

// ---- Draws --------------------------------------------------------------------------------------

typedef struct importance {
    double *x;          // [n][coords.n] proposals
    double *value;      // [n] log density of the posterior
    double *log_weight; // [n]
    int64_t *which;     // [n] the proposal that a draw is
    double *scratch;    // [2 n]
} importance;

static tess_status propose(tess_xp_sampler *s, const tess_xp_normal *normal, importance *im,
                           int64_t n)
{
    const int64_t dim = s->coords.n;
    const tess_philox_stream stream = tess_philox_open((uint64_t)s->config.seed, 0, NORMALS);
    for (int64_t first = 0; first < n; first += TESS_XP_MAX_SET) {
        const int64_t count = n - first < TESS_XP_MAX_SET ? n - first : TESS_XP_MAX_SET;
        const double *trials[TESS_XP_MAX_SET];
        for (int64_t i = 0; i < count; i++) {
            double z[TESS_XP_MAX_COORD + 1];
            double *x = im->x + (first + i) * dim;
            const uint64_t at = (uint64_t)((first + i) * (dim + dim % 2));
            tess_philox_normals(&stream, at, (size_t)dim, z);
            im->log_weight[first + i] = -tess_xp_normal_draw(normal, z, x);
            trials[i] = x;
        }
        TESS_TRY(tess_xp_sampler_evaluate(s, trials, count, im->value + first, NULL));
        for (int64_t i = 0; i < count; i++) {
            im->log_weight[first + i] += im->value[first + i];
        }
    }
    return TESS_OK;
}

static double log_mean(const double *x, int64_t n)
{
    double top = -(double)INFINITY;
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        top = x[i] > top ? x[i] : top;
    }
    for (int64_t i = 0; i < n; i++) {
        sum += exp(x[i] - top);
    }
    return top + log(sum / (double)n);
}

// Draws as many as there are proposals by their weights, evenly, and mixes them.
static void resample(const tess_xp_sampler *s, importance *im, int64_t n)
{
    const tess_philox_stream one = tess_philox_open((uint64_t)s->config.seed, 0, RESAMPLE);
    const tess_philox_stream mix = tess_philox_open((uint64_t)s->config.seed, 0, SHUFFLE);
    const double offset = tess_philox_uniform(&one, 0);
    double sum = 0;
    int64_t from = -1;
    for (int64_t i = 0; i < n; i++) {
        const double wanted = ((double)i + offset) / (double)n;
        while (from + 1 < n && (from < 0 || sum <= wanted)) {
            sum += exp(im->log_weight[++from]);
        }
        im->which[i] = from;
    }
    for (int64_t i = n - 1; i > 0; i--) {
        const int64_t k = (int64_t)(tess_philox_uniform(&mix, (uint64_t)i) * (double)(i + 1));
        const int64_t kept = im->which[i];
        im->which[i] = im->which[k];
        im->which[k] = kept;
    }
}

static void keep(tess_xp_sampler *s, const importance *im, int64_t n)
{
    const tess_xpcs_posterior_info *info = &s->out->info;
    for (int64_t i = 0; i < n; i++) {
        const int64_t from = im->which[i];
        tess_xp_place place;
        tess_xp_coords_place(&s->coords, im->x + from * s->coords.n, &place);
        memcpy(TESS_XP_OWN(double, info->theta) + i * info->n_param, place.theta,
               (size_t)info->n_param * sizeof(double));
        TESS_XP_OWN(double, info->noise)[i] = place.s;
        TESS_XP_OWN(double, info->log_density)[i] = im->value[from] - place.log_volume;
        TESS_XP_OWN(double, info->energy)[i] = -im->value[from];
        TESS_XP_OWN(double, info->accept)[i] = 1;
        TESS_XP_OWN(int64_t, info->n_step)[i] = 1;
    }
}

static void judge(tess_xp_sampler *s, const importance *im, int64_t n)
{
    tess_xpcs_posterior_info *info = &s->out->info;
    double squares = 0;
    for (int64_t i = 0; i < n; i++) {
        squares += exp(2 * im->log_weight[i]);
    }
    info->effective_weights = 1 / squares;
    if (!(info->pareto_k < 0.7)) {
        tess_text_printf(&s->warnings,
                         "the posterior is not near enough to a normal for laplace (Pareto k %.2f, "
                         "at most 0.7): sample with nuts\n",
                         info->pareto_k);
    }
}

tess_status tess_xp_sampler_laplace(tess_xp_sampler *s)
{
    static const char what[] = "draws by importance";
    tess_xpcs_posterior_info *info = &s->out->info;
    const int64_t n = info->n_chain * info->n_draw;
    importance im = {.x = tess_blocks_alloc(&s->blocks, n * s->coords.n, sizeof(double), what),
                     .value = tess_blocks_alloc(&s->blocks, n, sizeof(double), what),
                     .log_weight = tess_blocks_alloc(&s->blocks, n, sizeof(double), what),
                     .which = tess_blocks_alloc(&s->blocks, n, sizeof(int64_t), what),
                     .scratch = tess_blocks_alloc(&s->blocks, 2 * n, sizeof(double), what)};
    if (!im.x || !im.value || !im.log_weight || !im.which || !im.scratch) {
        return TESS_E_MEMORY;
    }
    double u[TESS_XP_MAX_COORD];
    tess_xp_normal normal;
    bool is_found;
    tess_xp_sampler_start(s, s->fit->theta, s->tally.noise, u);
    if (s->top) {
        memcpy(u, s->top->u, sizeof u);
    }
    TESS_TRY(tess_xp_laplace_climb(s, u, &normal, &is_found));
    if (!is_found) {
        TESS_FAIL(TESS_E_NUMERIC, "the posterior has no top near the fit that a normal could stand "
                                  "for: sample with nuts");
    }
    TESS_TRY(propose(s, &normal, &im, n));
    info->log_evidence = tess_xp_told_evidence(s, log_mean(im.log_weight, n));
    TESS_XP_OWN(double, info->mode_evidence)
    [0] = tess_xp_told_evidence(s, tess_xp_normal_evidence(&normal));
    info->pareto_k = tess_pareto_smooth(im.log_weight, n, im.scratch);
    resample(s, &im, n);
    keep(s, &im, n);
    judge(s, &im, n);
    return TESS_OK;
}
