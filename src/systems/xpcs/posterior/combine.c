// Draws of shards to draws of the whole.
#include "systems/xpcs/posterior/combine.h"
#include "base/rng.h"
#include "base/status.h"
#include "base/struct_read.h"
#include "numerics/cholesky.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { COMBINE = 10 }; // purpose of random numbers

void tess_xpcs_combine_config_init(tess_xpcs_combine_config *config, size_t struct_size)
{
    const tess_xpcs_combine_config defaults = {.struct_size = sizeof defaults,
                                               .max_divergence = 0.1,
                                               .max_rhat = 1.1,
                                               .min_ess = 100,
                                               .min_success = 0.8,
                                               .max_cv = 10,
                                               .seed = 42};
    tess_struct_init(config, struct_size, &defaults, sizeof defaults);
}

static tess_status check_shards(const tess_xp_combine *c)
{
    const tess_xpcs_posterior_info *first = tess_xp_combine_info(c, 0);
    for (int64_t k = 0; k < c->n_shard; k++) {
        const tess_xpcs_posterior_info *info = tess_xp_combine_info(c, k);
        if (info->n_param != first->n_param || info->n_angle != first->n_angle ||
            info->n_chain != first->n_chain || info->n_draw != first->n_draw ||
            info->model_mode != first->model_mode || info->n_shard != c->n_shard ||
            info->n_frame != first->n_frame || info->scaling != first->scaling ||
            info->method != first->method || info->priors != first->priors ||
            info->temper != first->temper ||
            memcmp(info->fit_theta, first->fit_theta, (size_t)first->n_param * sizeof(double)) !=
                0) {
            TESS_FAIL(TESS_E_MISMATCH,
                      "posteriors: number %lld is of other data, another fit or other options than "
                      "the first, or not of %lld shards",
                      (long long)k + 1, (long long)c->n_shard);
        }
        if (info->shard_seed != first->shard_seed ||
            info->shard_strategy != first->shard_strategy) {
            TESS_FAIL(TESS_E_MISMATCH,
                      "posteriors: number %lld was cut with another shard_seed or shard_strategy "
                      "than the first: they share points",
                      (long long)k + 1);
        }
        for (int64_t j = 0; j < k; j++) {
            if (tess_xp_combine_info(c, j)->shard == info->shard) {
                TESS_FAIL(TESS_E_ARGUMENT, "posteriors: shard %lld comes twice",
                          (long long)info->shard);
            }
        }
    }
    return TESS_OK;
}

static int64_t n_pair_of(const tess_xpcs_posterior_info *info)
{
    return info->scaling == TESS_XPCS_DRAW_SCALING_CONSTANT ||
                   info->scaling == TESS_XPCS_DRAW_SCALING_CONSTANT_AVERAGED
               ? 0
           : info->scaling == TESS_XPCS_DRAW_SCALING_AVERAGED ? 1
                                                              : info->n_angle;
}

static tess_status take_room(tess_xp_combine *c)
{
    static const char what[] = "draws of shards";
    const int64_t n = c->n;
    tess_blocks_init(&c->blocks, &c->ctx->heap);
    tess_text_init(&c->warnings, &c->ctx->heap);
    c->is_used = tess_blocks_alloc(&c->blocks, c->n_shard, 1, what);
    c->x = tess_blocks_alloc(&c->blocks, c->n_shard * c->n_draw * n, sizeof(double), what);
    c->mean = tess_blocks_alloc(&c->blocks, c->n_shard * n, sizeof(double), what);
    c->precision = tess_blocks_alloc(&c->blocks, c->n_shard * n * n, sizeof(double), what);
    c->root = tess_blocks_alloc(&c->blocks, 3 * n * n, sizeof(double), what);
    return c->is_used && c->x && c->mean && c->precision && c->root ? TESS_OK : TESS_E_MEMORY;
}

// ---- Quality ------------------------------------------------------------------------------------

// Mean and precision of a shard; false where its draws span no space.
static bool measure(tess_xp_combine *c, int64_t shard)
{
    const int64_t n = c->n;
    double *mean = c->mean + shard * n;
    double *precision = c->precision + shard * n * n;
    double *root = c->root + n * n;
    const double *x = c->x + shard * c->n_draw * n;
    memset(root, 0, (size_t)(n * n) * sizeof *root);
    for (int64_t i = 0; i < c->n_draw; i++) {
        for (int64_t k = 0; k < n; k++) {
            mean[k] += x[i * n + k] / (double)c->n_draw;
        }
    }
    for (int64_t i = 0; i < c->n_draw; i++) {
        for (int64_t j = 0; j < n; j++) {
            const double d = (x[i * n + j] - mean[j]) / (double)(c->n_draw - 1);
            for (int64_t k = 0; k <= j; k++) {
                root[j * n + k] += d * (x[i * n + k] - mean[k]);
            }
        }
    }
    for (int64_t j = 0; j < n; j++) {
        for (int64_t k = 0; k < j; k++) {
            root[k * n + j] = root[j * n + k];
        }
    }
    if (c->n_draw <= n + 1 || !tess_cholesky(root, n)) {
        return false;
    }
    // The inverse, column by column; that of few draws is too large by this factor.
    const double shrink = (double)(c->n_draw - n - 2) / (double)(c->n_draw - 1);
    double *column = c->root + 2 * n * n;
    for (int64_t j = 0; j < n; j++) {
        for (int64_t i = 0; i < n; i++) {
            column[i] = i == j;
            for (int64_t k = 0; k < i; k++) {
                column[i] -= root[i * n + k] * column[k];
            }
            column[i] /= root[i * n + i];
        }
        for (int64_t i = n - 1; i >= 0; i--) {
            for (int64_t k = i + 1; k < n; k++) {
                column[i] -= root[k * n + i] * column[k];
            }
            column[i] /= root[i * n + i];
            precision[i * n + j] = shrink * column[i];
        }
    }
    return true;
}

// ---- Together -----------------------------------------------------------------------------------

// to += precision of the shard times x.
static void add_weighted(const tess_xp_combine *c, int64_t shard, const double *x, double *to)
{
    const double *precision = c->precision + shard * c->n * c->n;
    for (int64_t i = 0; i < c->n; i++) {
        for (int64_t k = 0; k < c->n; k++) {
            to[i] += precision[i * c->n + k] * x[k];
        }
    }
}

// The root of the sum of the used precisions, and the mean of all, mu [n].
static bool find_whole(tess_xp_combine *c, double *mu)
{
    const int64_t n = c->n;
    memset(c->root, 0, (size_t)(n * n) * sizeof *c->root);
    memset(mu, 0, (size_t)n * sizeof *mu);
    for (int64_t s = 0; s < c->n_shard; s++) {
        for (int64_t k = 0; c->is_used[s] && k < n * n; k++) {
            c->root[k] += c->precision[s * n * n + k];
        }
        if (c->is_used[s]) {
            add_weighted(c, s, c->mean + s * n, mu);
        }
    }
    if (!tess_cholesky(c->root, n)) {
        return false;
    }
    tess_xp_combine_solve(c, mu);
    return true;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median_of(double *x, int64_t n)
{
    qsort(x, (size_t)n, sizeof *x, by_value);
    return n % 2 ? x[n / 2] : 0.5 * (x[n / 2 - 1] + x[n / 2]);
}

// Distance of a shard from the whole in its own errors, per coordinate of theta and noise.
static double distance_of(const tess_xp_combine *c, int64_t shard, const double *mu,
                          double *scratch)
{
    double sum = 0;
    memset(scratch, 0, (size_t)c->n * sizeof *scratch);
    for (int64_t k = 0; k < c->n; k++) {
        scratch[c->n + k] = c->mean[shard * c->n + k] - mu[k];
    }
    add_weighted(c, shard, scratch + c->n, scratch);
    for (int64_t k = 0; k < c->n; k++) {
        sum += scratch[k] * scratch[c->n + k];
    }
    return sqrt(fmax(sum, 0) / (double)c->n);
}

// Drops shards that lie too far out, by the median of their distances.
static tess_status filter(tess_xp_combine *c, double *mu)
{
    const int64_t n = tess_xp_combine_n_used(c);
    double *far =
        tess_blocks_alloc(&c->blocks, 3 * c->n_shard + 2 * c->n, sizeof(double), "shards");
    if (!far) {
        return TESS_E_MEMORY;
    }
    double *sorted = far + c->n_shard;
    double *scratch = far + 2 * c->n_shard;
    int64_t at = 0;
    for (int64_t s = 0; s < c->n_shard; s++) {
        if (c->is_used[s]) {
            far[s] = distance_of(c, s, mu, scratch);
            sorted[at++] = far[s];
        }
    }
    const double median = median_of(sorted, n);
    at = 0;
    for (int64_t s = 0; s < c->n_shard; s++) {
        if (c->is_used[s]) {
            sorted[at++] = fabs(far[s] - median);
        }
    }
    const double mad = median_of(sorted, n);
    int64_t n_left = n;
    for (int64_t s = 0; s < c->n_shard && n > 3; s++) {
        const bool is_far = c->is_used[s] && far[s] > 2 &&
                            0.6745 * (far[s] - median) >= 3.5 * fmax(mad, 0.05 * median);
        if (is_far && n_left > 3) {
            c->is_used[s] = 0;
            n_left--;
            tess_text_printf(&c->warnings,
                             "shard %lld is left out: it lies %.1f of its errors from the others\n",
                             (long long)tess_xp_combine_info(c, s)->shard, far[s]);
        }
    }
    if (median > c->config.max_cv) {
        TESS_FAIL(TESS_E_NUMERIC,
                  "the shards' means lie %.1f of their own errors apart, at most %g: they are of "
                  "different things, and have no consensus; sample all data, or look for what "
                  "changes in them",
                  median, c->config.max_cv);
    }
    return TESS_OK;
}

static tess_status choose_shards(tess_xp_combine *c)
{
    for (int64_t s = 0; s < c->n_shard; s++) {
        tess_xp_combine_take(c, s);
        const char *fault = tess_xp_combine_fault(c, s);
        c->is_used[s] = !fault && measure(c, s);
        if (!c->is_used[s]) {
            tess_text_printf(&c->warnings, "shard %lld is left out: %s\n",
                             (long long)tess_xp_combine_info(c, s)->shard,
                             fault ? fault : "its draws span no space");
        }
    }
    return TESS_OK;
}

// All that are used get the mean of their precisions.
static void share_precision(tess_xp_combine *c)
{
    const int64_t size = c->n * c->n;
    for (int64_t k = 0; k < size; k++) {
        double sum = 0;
        for (int64_t s = 0; s < c->n_shard; s++) {
            sum += c->is_used[s] ? c->precision[s * size + k] : 0;
        }
        for (int64_t s = 0; s < c->n_shard; s++) {
            c->precision[s * size + k] = sum / (double)tess_xp_combine_n_used(c);
        }
    }
}

static tess_status judge(tess_xp_combine *c)
{
    const double share = (double)tess_xp_combine_n_used(c) / (double)c->n_shard;
    if (share < 0.5 * c->config.min_success || tess_xp_combine_n_used(c) == 0) {
        const char *first = c->warnings.chars ? c->warnings.chars : ""; // of many, line by line
        TESS_FAIL(TESS_E_NUMERIC,
                  "only %lld of %lld shards can be used; sample fewer shards, or with more draws; "
                  "%.*s",
                  (long long)tess_xp_combine_n_used(c), (long long)c->n_shard,
                  (int)strcspn(first, "\n"), first);
    }
    if (share < c->config.min_success) {
        tess_text_printf(&c->warnings, "only %lld of %lld shards were used\n",
                         (long long)tess_xp_combine_n_used(c), (long long)c->n_shard);
    }
    return TESS_OK;
}

// Every number of the vector by itself, as the original does it: precisions clipped, fresh normals.
static tess_status draw_upstream(tess_xp_combine *c, double *x)
{
    const int64_t m = tess_xp_combine_n_used(c);
    double *room = tess_blocks_alloc(&c->blocks, 3 * c->n_shard, sizeof(double), "shards");
    const tess_philox_stream stream = tess_philox_open((uint64_t)c->config.seed, 0, COMBINE);
    if (!room) {
        return TESS_E_MEMORY;
    }
    double *mean = room;
    double *variance = room + c->n_shard;
    double *sorted = room + 2 * c->n_shard;
    for (int64_t k = 0; k < c->n; k++) {
        int64_t n = 0;
        for (int64_t s = 0; s < c->n_shard; s++) {
            if (!c->is_used[s]) {
                continue;
            }
            mean[n] = c->mean[s * c->n + k];
            variance[n] = 0;
            for (int64_t i = 0; i < c->n_draw; i++) {
                const double d = c->x[(s * c->n_draw + i) * c->n + k] - mean[n];
                variance[n] += d * d / (double)(c->n_draw - 1);
            }
            n++;
        }
        memcpy(sorted, mean, (size_t)m * sizeof *sorted);
        const double median = median_of(sorted, m);
        for (int64_t i = 0; i < m; i++) {
            sorted[i] = fabs(mean[i] - median);
        }
        const double mad = median_of(sorted, m);
        memcpy(sorted, variance, (size_t)m * sizeof *sorted);
        const double middle = median_of(sorted, m);
        const double low = sorted[(int64_t)(0.05 * (double)(m - 1))];
        const double high = sorted[(int64_t)ceil(0.95 * (double)(m - 1))];
        int64_t n_near = 0;
        for (int64_t i = 0; i < m; i++) {
            n_near += 0.6745 * fabs(mean[i] - median) < 3.5 * mad;
        }
        double sum = 0;
        double weighted = 0;
        for (int64_t i = 0; i < m; i++) {
            const bool is_far = n_near >= 3 && !(0.6745 * fabs(mean[i] - median) < 3.5 * mad);
            if (!is_far && variance[i] >= 1e-6 * middle) {
                const double w = 1 / fmin(fmax(variance[i], low), high);
                sum += w;
                weighted += w * mean[i];
            }
        }
        for (int64_t i = 0; i < c->n_draw; i++) {
            double z[2];
            tess_philox_normals(&stream, (uint64_t)(2 * (i * c->n + k)), 2, z);
            x[i * c->n + k] = weighted / sum + z[0] / sqrt(sum);
        }
    }
    return TESS_OK;
}

// Scott's average: every shard's draw by its precision.
static void draw_whole(const tess_xp_combine *c, const double *shift, double *x)
{
    memset(x, 0, (size_t)(c->n_draw * c->n) * sizeof *x);
    for (int64_t i = 0; i < c->n_draw; i++) {
        for (int64_t s = 0; s < c->n_shard; s++) {
            if (c->is_used[s]) {
                add_weighted(c, s, c->x + (s * c->n_draw + i) * c->n, x + i * c->n);
            }
        }
        tess_xp_combine_solve(c, x + i * c->n);
        for (int64_t k = 0; k < c->n; k++) {
            x[i * c->n + k] += shift[k];
        }
    }
}

static tess_status fill(tess_xp_combine *c, const double *x, tess_xpcs_posterior *out)
{
    const tess_xpcs_posterior_info *info = &out->info;
    const tess_xpcs_posterior_info *first = tess_xp_combine_info(c, 0);
    const int64_t n_angle = info->n_angle;
    for (int64_t i = 0; i < c->n_draw; i++) {
        tess_xp_place place;
        tess_xp_coords_place(&c->coords, x + i * c->n, &place);
        memcpy(TESS_XP_OWN(double, info->theta) + i * info->n_param, place.theta,
               (size_t)info->n_param * sizeof(double));
        TESS_XP_OWN(double, info->noise)[i] = place.s;
        const double *pairs = x + i * c->n + c->coords.n;
        for (int64_t a = 0; a < n_angle; a++) {
            const int64_t own = a < c->n_pair ? a : 0;
            TESS_XP_OWN(double, info->contrast)
            [i * n_angle + a] = c->n_pair > 0 ? pairs[own] : first->contrast[a];
            TESS_XP_OWN(double, info->offset)
            [i * n_angle + a] = c->n_pair > 0 ? pairs[c->n_pair + own] : first->offset[a];
        }
        TESS_XP_OWN(double, info->log_density)[i] = (double)NAN;
        TESS_XP_OWN(double, info->energy)[i] = (double)NAN;
        TESS_XP_OWN(double, info->accept)[i] = 1;
    }
    const char *warnings = NULL;
    TESS_TRY(tess_text_finish(&c->warnings, &warnings));
    const char *const texts[5] = {warnings, first->device, first->data_path,
                                  first->data_fingerprint, first->identity};
    return tess_xp_posterior_set_texts(out, texts);
}

// What the shards have in common, and their sums.
static tess_status create(tess_xp_combine *c, tess_xpcs_posterior **out)
{
    const tess_xpcs_posterior_info *first = tess_xp_combine_info(c, 0);
    tess_xpcs_posterior_info sizes = *first;
    sizes.method = TESS_XPCS_METHOD_CONSENSUS;
    sizes.shard = 0;
    sizes.temper = 1;
    sizes.n_evaluation = sizes.n_pass = sizes.n_gradient = sizes.n_point = 0;
    sizes.seconds = 0;
    for (int64_t s = 0; s < c->n_shard; s++) {
        sizes.n_evaluation += tess_xp_combine_info(c, s)->n_evaluation;
        sizes.n_gradient += tess_xp_combine_info(c, s)->n_gradient;
        sizes.n_pass += tess_xp_combine_info(c, s)->n_pass;
        sizes.n_point += c->is_used[s] ? tess_xp_combine_info(c, s)->n_point : 0;
        sizes.seconds += tess_xp_combine_info(c, s)->seconds;
    }
    TESS_TRY(tess_xp_posterior_create(c->ctx, &sizes, out));
    const tess_xpcs_posterior_info *info = &(*out)->info;
    for (int64_t k = 0; k < info->n_param; k++) {
        TESS_XP_OWN(double, info->prior_mean)[k] = first->prior_mean[k];
        TESS_XP_OWN(double, info->prior_sd)[k] = first->prior_sd[k] / sqrt(first->temper);
        TESS_XP_OWN(double, info->lower)[k] = first->lower[k];
        TESS_XP_OWN(double, info->upper)[k] = first->upper[k];
        TESS_XP_OWN(uint8_t, info->is_fixed)[k] = first->is_fixed[k];
        TESS_XP_OWN(double, info->fit_theta)[k] = first->fit_theta[k];
        TESS_XP_OWN(double, info->fit_sd)[k] = first->fit_sd[k];
        TESS_XP_OWN(double, info->mode_theta)[k] = first->fit_theta[k];
    }
    for (int64_t a = 0; a < info->n_angle; a++) {
        TESS_XP_OWN(double, info->phi)[a] = first->phi[a];
        TESS_XP_OWN(double, info->q)[a] = first->q[a];
        TESS_XP_OWN(double, info->fit_contrast)[a] = first->fit_contrast[a];
        TESS_XP_OWN(double, info->fit_offset)[a] = first->fit_offset[a];
        TESS_XP_OWN(uint8_t, info->is_truncated)[a] = first->is_truncated[a];
    }
    TESS_XP_OWN(double, info->mode_weight)[0] = 1;
    return TESS_OK;
}

static tess_status run(tess_xp_combine *c, tess_xpcs_posterior **out)
{
    TESS_TRY(check_shards(c));
    tess_xp_combine_coords(c, true);
    c->n_pair = n_pair_of(tess_xp_combine_info(c, 0));
    c->n = c->coords.n + 2 * c->n_pair;
    c->n_draw = tess_xp_combine_info(c, 0)->n_chain * tess_xp_combine_info(c, 0)->n_draw;
    TESS_TRY(take_room(c));
    double *x = tess_blocks_alloc(&c->blocks, c->n_draw * c->n, sizeof *x, "draws");
    double *mu = tess_blocks_alloc(&c->blocks, 5 * c->n, sizeof *mu, "a mean");
    if (!x || !mu) {
        return TESS_E_MEMORY;
    }
    tess_xp_combine_choose(c);
    TESS_TRY(choose_shards(c));
    TESS_TRY(judge(c));
    if (c->is_nearly_normal) {
        share_precision(c);
    }
    if (!find_whole(c, mu)) {
        TESS_FAIL(TESS_E_NUMERIC, "the shards' covariances have no sum that could be inverted");
    }
    TESS_TRY(filter(c, mu));
    TESS_TRY(judge(c));
    if (!find_whole(c, mu)) {
        TESS_FAIL(TESS_E_NUMERIC, "the shards' covariances have no sum that could be inverted");
    }
    if (c->config.is_robust_upstream) {
        TESS_TRY(draw_upstream(c, x));
    } else {
        tess_xp_combine_shift(c, mu, mu + c->n, mu + 2 * c->n);
        draw_whole(c, mu + c->n, x);
    }
    TESS_TRY(create(c, out));
    return fill(c, x, *out);
}

tess_status tess_xpcs_combine(tess_context *ctx, const tess_xpcs_posterior *const *posteriors,
                              int64_t n, const tess_xpcs_combine_config *config,
                              tess_xpcs_posterior **out)
{
    tess_error_clear();
    if (!ctx || !posteriors || !out || n < 1) {
        TESS_FAIL(TESS_E_ARGUMENT, "%s: NULL or none",
                  !ctx          ? "context"
                  : !posteriors ? "posteriors"
                  : !out        ? "out"
                                : "n");
    }
    *out = NULL;
    tess_xp_combine c = {.ctx = ctx, .shards = posteriors, .n_shard = n};
    tess_xpcs_combine_config_init(&c.config, sizeof c.config);
    if (config) {
        TESS_TRY(tess_struct_read(config, &c.config, sizeof c.config, "config"));
    }
    tess_xpcs_posterior *made = NULL;
    const tess_status status = run(&c, &made);
    tess_blocks_free(&c.blocks);
    tess_text_destroy(&c.warnings);
    if (status != TESS_OK) {
        tess_xpcs_posterior_destroy(made);
        return status;
    }
    *out = made;
    return TESS_OK;
}
