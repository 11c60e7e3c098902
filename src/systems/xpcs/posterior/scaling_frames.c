// Contrast and offset of every draw of a fit with noise frames: normal given the parameters, by the
// covariance of the fit. What the data say of a pair at given parameters is of independent points.
#include "base/rng.h"
#include "base/status.h"
#include "numerics/cholesky.h"
#include "systems/xpcs/posterior/sample.h"

#include <math.h>
#include <string.h>

enum { MAX_TRY = 64 };

typedef struct given {
    int64_t n_pair; // numbers: contrasts, then offsets
    int64_t n;      // parameters
    double *mean;   // [n_pair]
    double *follow; // [n_pair][n] by how much they move with each parameter
    double *root;   // [n_pair][n_pair] lower, of what the parameters leave open
    double *z;      // [n_pair + 1]
    double *drawn;  // [n_pair]
    double slope[TESS_XPCS_MAX_PARAM * TESS_XPCS_MAX_PARAM]; // of the parameters by coordinate
} given;

static int64_t row_of(const tess_xp_sampler *s, int64_t i)
{
    return 2 * s->density.n_angle + s->coords.index[i];
}

static bool is_known(const tess_xp_sampler *s, int64_t i)
{
    const int64_t at = row_of(s, i) * (s->fit->n_covariance + 1);
    return s->fit->covariance[at] > 0 && isfinite(s->fit->covariance[at]);
}

// Covariances of scaling and parameters, divided by those of the parameters.
static bool find_follow(const tess_xp_sampler *s, given *g)
{
    const int64_t m = s->fit->n_covariance;
    const double *c = s->fit->covariance;
    double own[TESS_XPCS_MAX_PARAM * TESS_XPCS_MAX_PARAM];
    for (int64_t i = 0; i < g->n * g->n; i++) {
        const bool is_in = is_known(s, i / g->n) && is_known(s, i % g->n);
        own[i] = is_in ? c[row_of(s, i / g->n) * m + row_of(s, i % g->n)] : i / g->n == i % g->n;
    }
    if (!tess_cholesky(own, g->n)) {
        return false;
    }
    for (int64_t r = 0; r < g->n_pair; r++) {
        double *row = g->follow + r * g->n;
        for (int64_t i = 0; i < g->n; i++) {
            row[i] = is_known(s, i) ? c[r * m + row_of(s, i)] : 0;
        }
        tess_cholesky_solve(own, g->n, row);
    }
    return true;
}

// Lower root of a matrix that may have directions without any width.
static void find_root(double *a, int64_t n)
{
    for (int64_t c = 0; c < n; c++) {
        const double whole = a[c * (n + 1)];
        double left = whole;
        for (int64_t k = 0; k < c; k++) {
            left -= a[c * n + k] * a[c * n + k];
        }
        const double pivot = left > 1e-10 * whole ? sqrt(left) : 0;
        a[c * (n + 1)] = pivot;
        for (int64_t r = c + 1; r < n; r++) {
            for (int64_t k = 0; k < c; k++) {
                a[r * n + c] -= a[r * n + k] * a[c * n + k];
            }
            a[r * n + c] = pivot > 0 ? a[r * n + c] / pivot : 0;
        }
    }
}

static tess_status prepare(tess_xp_sampler *s, given *g)
{
    static const char what[] = "contrasts and offsets of draws";
    tess_xp_place place;
    const int64_t m = s->fit->n_covariance;
    const int64_t p = g->n_pair;
    g->mean = tess_blocks_alloc(&s->blocks, p, sizeof *g->mean, what);
    g->follow = tess_blocks_alloc(&s->blocks, p * g->n, sizeof *g->follow, what);
    g->root = tess_blocks_alloc(&s->blocks, p * p, sizeof *g->root, what);
    g->z = tess_blocks_alloc(&s->blocks, p + 1, sizeof *g->z, what);
    g->drawn = tess_blocks_alloc(&s->blocks, p, sizeof *g->drawn, what);
    if (!g->mean || !g->follow || !g->root || !g->z || !g->drawn) {
        return TESS_E_MEMORY;
    }
    if (!find_follow(s, g)) {
        TESS_FAIL(TESS_E_NUMERIC, "noise: frames, but the covariance of the fit makes no normal; "
                                  "fix parameters that the data do not tell");
    }
    for (int64_t i = 0; i < p * p; i++) {
        g->root[i] = s->fit->covariance[i / p * m + i % p];
        for (int64_t k = 0; k < g->n; k++) {
            const double by = s->fit->covariance[i % p * m + row_of(s, k)];
            g->root[i] -= is_known(s, k) ? g->follow[i / p * g->n + k] * by : 0;
        }
        g->root[i] = isfinite(g->root[i]) ? g->root[i] : 0;
    }
    find_root(g->root, p);
    tess_xp_coords_place(&s->coords, s->adjust.u, &place);
    tess_xp_coords_jacobian(&s->coords, &place, g->slope);
    return TESS_OK;
}

// Where the pairs lie, the parameters moving straight with their coordinates: rates that bend do
// not, and pairs follow the coordinates.
static void find_mean(const tess_xp_sampler *s, given *g, int64_t draw)
{
    const tess_xpcs_posterior_info *info = &s->out->info;
    double u[TESS_XP_MAX_COORD];
    double moved[TESS_XPCS_MAX_PARAM] = {0};
    tess_xp_coords_of(&s->coords, info->theta + draw * info->n_param, info->noise[draw], u);
    for (int64_t i = 0; i < g->n * g->n; i++) {
        moved[i % g->n] += (u[i / g->n] - s->adjust.u[i / g->n]) * g->slope[i];
    }
    for (int64_t r = 0; r < g->n_pair; r++) {
        const int64_t a = r % info->n_angle;
        g->mean[r] = r < info->n_angle ? s->fit->contrast[a] : s->fit->offset[a];
        for (int64_t i = 0; i < g->n; i++) {
            g->mean[r] += g->follow[r * g->n + i] * moved[i];
        }
    }
}

// One try; true where all lie within their bounds. Those that do not are counted and put there.
static bool try_draw(tess_xp_sampler *s, given *g, const tess_philox_stream *stream, int64_t index)
{
    const int64_t n = s->density.n_angle;
    const int64_t many = g->n_pair + g->n_pair % 2;
    bool is_inside = true;
    tess_philox_normals(stream, (uint64_t)(index * many), (size_t)g->n_pair, g->z);
    for (int64_t r = 0; r < g->n_pair; r++) {
        const double lower = s->fit_config.scaling_lower[r >= n];
        const double upper = s->fit_config.scaling_upper[r >= n];
        double x = g->mean[r];
        for (int64_t k = 0; k <= r; k++) {
            x += g->root[r * g->n_pair + k] * g->z[k];
        }
        if (!(x >= lower && x <= upper)) {
            is_inside = false;
            TESS_XP_OWN(double, s->out->info.outside_angle)[r % n] += 1;
        }
        g->drawn[r] = fmin(fmax(x, lower), upper);
    }
    return is_inside;
}

tess_status tess_xp_sampler_draw_scaling_frames(tess_xp_sampler *s)
{
    const tess_xpcs_posterior_info *info = &s->out->info;
    const int64_t n = info->n_angle;
    given g = {.n_pair = 2 * n, .n = s->coords.n - 1};
    TESS_TRY(prepare(s, &g));
    while (s->tally.n_scaled < info->n_chain * info->n_draw) {
        const int64_t draw = s->tally.n_scaled++;
        const tess_philox_stream stream = tess_philox_open(
            (uint64_t)s->config.seed, (uint32_t)(draw / info->n_draw), TESS_XP_RANDOM_SCALING);
        find_mean(s, &g, draw);
        for (int64_t k = 0; k < MAX_TRY; k++) {
            if (try_draw(s, &g, &stream, draw % info->n_draw * MAX_TRY + k)) {
                break;
            }
        }
        memcpy(TESS_XP_OWN(double, info->contrast) + draw * n, g.drawn, (size_t)n * sizeof(double));
        memcpy(TESS_XP_OWN(double, info->offset) + draw * n, g.drawn + n,
               (size_t)n * sizeof(double));
    }
    return tess_xp_sampler_between(s);
}
