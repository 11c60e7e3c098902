#include "numerics/mixture.h"

#include "base/status.h"
#include "numerics/cholesky.h"

#include <math.h>
#include <string.h>

// Points are summed in blocks, and blocks in order: at least so many points, at most so many
// blocks.
enum { BLOCK_POINTS = 1024, MOST_BLOCKS = 256 };

static const double LOG_SQRT_2PI = 0.91893853320467274178;

// Exponents so far below the largest that they change no sum.
static const double NEGLIGIBLE = 45;

double tess_log_sum_exp(const double *x, int64_t n)
{
    double most = -(double)INFINITY;
    for (int64_t i = 0; i < n; i++) {
        most = x[i] > most ? x[i] : most;
    }
    if (!(most > -(double)INFINITY)) {
        return most;
    }
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        if (x[i] > most - NEGLIGIBLE) {
            sum += exp(x[i] - most);
        }
    }
    return most + log(sum);
}

// Log of weight times density of every component; z [n_dim].
static void component_logs(const tess_mixture *m, const double *point, double *out, double *z)
{
    const int64_t d = m->n_dim;
    for (int64_t c = 0; c < m->n_component; c++) {
        double square = 0;
        for (int64_t k = 0; k < d; k++) {
            z[k] = point[k] - m->mean[c * d + k];
        }
        tess_lower_solve(m->factor + c * d * d, d, z);
        for (int64_t k = 0; k < d; k++) {
            square += z[k] * z[k];
        }
        out[c] = m->log_norm[c] - 0.5 * square;
    }
}

double tess_mixture_log(const tess_mixture *m, const double *point, double *scratch)
{
    component_logs(m, point, scratch, scratch + m->n_component);
    return tess_log_sum_exp(scratch, m->n_component);
}

// Sums of one component, about its old mean: weight, first moments, lower triangle of the second.
static int64_t moment_items(int64_t d)
{
    return 1 + d + d * (d + 1) / 2;
}

static void add_point(const double *point, const double *mean, int64_t d, double weight,
                      double *sums)
{
    sums[0] += weight;
    double *second = sums + 1 + d;
    for (int64_t a = 0; a < d; a++) {
        const double u = point[a] - mean[a];
        sums[1 + a] += weight * u;
        for (int64_t b = 0; b <= a; b++) {
            *second++ += weight * u * (point[b] - mean[b]);
        }
    }
}

// Weight, mean and covariance of a component from its sums.
static void update_component(tess_mixture *m, int64_t c, const double *sums, double n, double ridge)
{
    const int64_t d = m->n_dim;
    double *factor = m->factor + c * d * d;
    const double weight = sums[0];
    if (!(weight > 1e-8)) {
        m->log_norm[c] = -(double)INFINITY; // nobody is near: it stays where it is, without weight
        return;
    }
    double extra = ridge;
    do { // more than the ridge only where rounding ate a direction without spread
        const double *second = sums + 1 + d;
        for (int64_t a = 0; a < d; a++) {
            for (int64_t b = 0; b <= a; b++) {
                const double shift = sums[1 + a] / weight * (sums[1 + b] / weight);
                factor[a * d + b] = *second++ / weight - shift + (a == b ? extra : 0);
            }
        }
        extra = extra > 0 ? 10 * extra : 1e-12;
    } while (!tess_cholesky(factor, d) && extra < 1e30);
    m->log_norm[c] = log(weight / n) - (double)d * LOG_SQRT_2PI;
    for (int64_t a = 0; a < d; a++) {
        m->mean[c * d + a] += sums[1 + a] / weight;
        m->log_norm[c] -= log(factor[a * d + a]);
    }
}

typedef struct em_job {
    const tess_mixture *mixture;
    const double *points;
    const int64_t *label; // the first time: whole points to their component
    int64_t n;
    int64_t block_points;
    int64_t n_sum;   // items of one block: components' sums and the log likelihood
    double *sums;    // [n_block][n_sum]
    double *scratch; // [workers][n_component + n_dim]
} em_job;

static tess_status em_block(void *arg, int64_t block, int32_t worker)
{
    const em_job *job = arg;
    const tess_mixture *m = job->mixture;
    const int64_t items = moment_items(m->n_dim);
    double *sums = job->sums + block * job->n_sum;
    double *logs = job->scratch + worker * (m->n_component + m->n_dim);
    memset(sums, 0, (size_t)job->n_sum * sizeof *sums);
    const int64_t first = block * job->block_points;
    const int64_t end = first + job->block_points < job->n ? first + job->block_points : job->n;
    for (int64_t i = first; i < end; i++) {
        const double *point = job->points + i * m->n_dim;
        if (job->label) {
            const int64_t c = job->label[i];
            add_point(point, m->mean + c * m->n_dim, m->n_dim, 1, sums + c * items);
            continue;
        }
        const double log_density = tess_mixture_log(m, point, logs);
        sums[job->n_sum - 1] += log_density;
        for (int64_t c = 0; c < m->n_component; c++) {
            if (logs[c] > log_density - NEGLIGIBLE) {
                add_point(point, m->mean + c * m->n_dim, m->n_dim, exp(logs[c] - log_density),
                          sums + c * items);
            }
        }
    }
    return TESS_OK;
}

// One round over all points; the mean log likelihood before it.
static tess_status em_round(tess_context *ctx, em_job *job, tess_mixture *m, double ridge,
                            double *mean_log)
{
    const int64_t n_block = (job->n + job->block_points - 1) / job->block_points;
    TESS_TRY(tess_context_check_cancel(ctx));
    TESS_TRY(tess_parallel_for(ctx->pool, n_block, em_block, job));
    for (int64_t block = 1; block < n_block; block++) {
        for (int64_t k = 0; k < job->n_sum; k++) {
            job->sums[k] += job->sums[block * job->n_sum + k];
        }
    }
    for (int64_t c = 0; c < m->n_component; c++) {
        update_component(m, c, job->sums + c * moment_items(m->n_dim), (double)job->n, ridge);
    }
    *mean_log = job->sums[job->n_sum - 1] / (double)job->n;
    return TESS_OK;
}

static tess_status iterate(tess_context *ctx, em_job *job, const tess_mixture_config *config,
                           tess_mixture *m)
{
    double mean_log = 0;
    TESS_TRY(em_round(ctx, job, m, config->ridge, &mean_log));
    job->label = NULL;
    double previous = -(double)INFINITY;
    while (m->n_iteration < config->max_iterations && !m->converged) {
        TESS_TRY(em_round(ctx, job, m, config->ridge, &mean_log));
        m->n_iteration++;
        m->converged = fabs(mean_log - previous) < config->tolerance;
        previous = mean_log;
    }
    m->mean_log_likelihood = mean_log;
    return TESS_OK;
}

static tess_status allocate(tess_context *ctx, int64_t n_component, int64_t d, tess_mixture *m)
{
    const size_t items = (size_t)(n_component * (d + d * d + 1));
    m->heap = &ctx->heap;
    m->bytes = items * sizeof(double);
    m->mean = tess_heap_alloc_zero(m->heap, m->bytes, TESS_TAG_RESULT, "mixture");
    if (!m->mean) {
        return TESS_E_MEMORY;
    }
    m->factor = m->mean + n_component * d;
    m->log_norm = m->factor + n_component * d * d;
    m->n_component = n_component;
    return TESS_OK;
}

// Room that is needed while fitting, in one block.
typedef struct room {
    double *distance; // [n]
    double *centres;
    double *sums;
    double *scratch;
    int64_t *label; // [n]
} room;

static tess_status fit(tess_context *ctx, const double *points, int64_t n,
                       const tess_mixture_config *config, tess_mixture *m)
{
    const int64_t d = m->n_dim;
    const int64_t c = m->n_component;
    const int64_t even = (n + MOST_BLOCKS - 1) / MOST_BLOCKS;
    em_job job = {.mixture = m, .points = points, .n = n, .n_sum = c * moment_items(d) + 1};
    job.block_points = even > BLOCK_POINTS ? even : BLOCK_POINTS;
    const int64_t n_block = (n + job.block_points - 1) / job.block_points;
    const size_t n_centre = (size_t)(2 * c * d + c + d);
    const size_t n_sum = (size_t)(n_block * job.n_sum);
    const size_t n_scratch = (size_t)((c + d) * tess_pool_threads(ctx->pool));
    const size_t bytes =
        ((size_t)n + n_centre + n_sum + n_scratch) * sizeof(double) + (size_t)n * sizeof(int64_t);
    unsigned char *block = tess_heap_alloc(&ctx->heap, bytes, TESS_TAG_SCRATCH, "mixture");
    if (!block) {
        return TESS_E_MEMORY;
    }
    room r = {.distance = (double *)block};
    r.centres = r.distance + n;
    r.sums = r.centres + n_centre;
    r.scratch = r.sums + n_sum;
    r.label = (int64_t *)(r.scratch + n_scratch);
    tess_mixture_start(points, n, d, c, config, r.distance, r.centres, r.label);
    memcpy(m->mean, r.centres, (size_t)(c * d) * sizeof *m->mean);
    job.label = r.label;
    job.sums = r.sums;
    job.scratch = r.scratch;
    const tess_status status = iterate(ctx, &job, config, m);
    tess_heap_free(&ctx->heap, block, bytes, TESS_TAG_SCRATCH);
    return status;
}

tess_status tess_mixture_fit(tess_context *ctx, const double *points, int64_t n, int64_t n_dim,
                             const tess_mixture_config *config, tess_mixture *out)
{
    *out = (tess_mixture){.n_dim = n_dim};
    if (n == 0) {
        return TESS_OK;
    }
    TESS_TRY(allocate(ctx, config->n_component < n ? config->n_component : n, n_dim, out));
    const tess_status status = fit(ctx, points, n, config, out);
    if (status != TESS_OK) {
        tess_mixture_free(out);
    }
    return status;
}

void tess_mixture_free(tess_mixture *m)
{
    if (m->mean) {
        tess_heap_free(m->heap, m->mean, m->bytes, TESS_TAG_RESULT);
    }
    *m = (tess_mixture){.n_dim = m->n_dim};
}
