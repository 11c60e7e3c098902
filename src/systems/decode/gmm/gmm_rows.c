// Likelihood of marks at every bin under mixtures.
//
// With the covariance's factor [A 0; B C] (marks first) and a = A^-1 (m - mean of marks), a
// component at a given mark is a Gaussian over places with mean (mean of places + B a) and factor
// C: only that is left to do at every bin.
#include "base/status.h"
#include "systems/decode/gmm/gmm.h"

#include <math.h>

enum { TILE = 512, SPIKES = 8 }; // spikes held at once, and of one block of the pool

static const double LOWEST_VALUE = -700;

// Exponents at the mark [n_component], then conditional means [n_component][n_dim].
static void condition(const tess_mixture *m, int64_t n_dim, const double *mark, double *exponent,
                      double *mean, double *a)
{
    const int64_t width = m->n_dim;
    const int64_t d = width - n_dim;
    for (int64_t c = 0; c < m->n_component; c++) {
        const double *factor = m->factor + c * width * width;
        double square = 0;
        for (int64_t k = 0; k < d; k++) {
            double sum = mark[k] - m->mean[c * width + k];
            for (int64_t i = 0; i < k; i++) {
                sum -= factor[k * width + i] * a[i];
            }
            a[k] = sum / factor[k * width + k];
            square += a[k] * a[k];
        }
        exponent[c] = m->log_norm[c] - 0.5 * square;
        for (int64_t k = 0; k < n_dim; k++) {
            double sum = m->mean[c * width + d + k];
            for (int64_t i = 0; i < d; i++) {
                sum += factor[(d + k) * width + i] * a[i];
            }
            mean[c * n_dim + k] = sum;
        }
    }
}

// Log joint density at a place of a mark that condition() has seen.
static double log_at(const tess_mixture *m, int64_t n_dim, const double *exponent,
                     const double *mean, const double *place, double *term)
{
    const int64_t width = m->n_dim;
    const int64_t d = width - n_dim;
    for (int64_t c = 0; c < m->n_component; c++) {
        const double *factor = m->factor + c * width * width;
        double z[TESS_DECODE_MAX_DIM];
        double square = 0;
        for (int64_t k = 0; k < n_dim; k++) {
            double sum = place[k] - mean[c * n_dim + k];
            for (int64_t i = 0; i < k; i++) {
                sum -= factor[(d + k) * width + d + i] * z[i];
            }
            z[k] = sum / factor[(d + k) * width + d + k];
            square += z[k] * z[k];
        }
        term[c] = exponent[c] - 0.5 * square;
    }
    return tess_log_sum_exp(term, m->n_component);
}

typedef struct tile_job {
    const tess_decode_encoding *encoding;
    int64_t electrode;
    const double *marks; // [n][n_feature]
    int64_t n;
    double *values;     // [n][P]
    int64_t *n_floored; // [n]
    double *scratch;    // [workers][scratch_items]
} tile_job;

static double floor_of(const tess_decode_encoding *encoding, double most)
{
    switch (encoding->info.floor) {
    case TESS_DECODE_FLOOR_ABSOLUTE:
        return TESS_DE_LOG_EPS;
    case TESS_DECODE_FLOOR_RELATIVE:
        return fmax(most - encoding->config.floor_nats, LOWEST_VALUE);
    default:
        return LOWEST_VALUE;
    }
}

int64_t tess_de_gmm_values(const tess_decode_encoding *encoding, int64_t electrode,
                           const double *mark, double *scratch, double *values)
{
    const tess_de_gmm *gmm = encoding->model;
    const tess_decode_environment_info *env = tess_decode_environment_get_info(encoding->env);
    const tess_mixture *m = &gmm->joint[electrode];
    double *exponent = scratch;
    double *term = exponent + m->n_component;
    double *mean = term + m->n_component;
    double *a = mean + m->n_component * gmm->n_dim;
    const double log_rate = log(gmm->mean_rates[electrode]);
    double most = -(double)INFINITY;
    condition(m, gmm->n_dim, mark, exponent, mean, a);
    for (int64_t p = 0; p < env->n_interior; p++) {
        const double *place = env->interior_centers + p * gmm->n_dim;
        values[p] =
            log_rate + log_at(m, gmm->n_dim, exponent, mean, place, term) - gmm->log_occupancy[p];
        most = values[p] > most ? values[p] : most;
    }
    const double floor = floor_of(encoding, most);
    int64_t n_floored = 0;
    for (int64_t p = 0; p < env->n_interior; p++) {
        const bool above = values[p] > floor;
        values[p] = above ? values[p] : floor;
        n_floored += !above;
    }
    return n_floored;
}

static tess_status tile_block(void *arg, int64_t block, int32_t worker)
{
    const tile_job *job = arg;
    const tess_de_gmm *gmm = job->encoding->model;
    const tess_decode_encoding_info *info = &job->encoding->info;
    const int64_t end = (block + 1) * SPIKES < job->n ? (block + 1) * SPIKES : job->n;
    for (int64_t i = block * SPIKES; i < end; i++) {
        job->n_floored[i] = tess_de_gmm_values(
            job->encoding, job->electrode, job->marks + i * info->n_feature[job->electrode],
            job->scratch + worker * gmm->scratch_items, job->values + i * info->n_interior);
    }
    return TESS_OK;
}

static void count(const tile_job *job, tess_decode_likelihood_report *report)
{
    const int64_t n_bin = job->encoding->info.n_interior;
    for (int64_t i = 0; i < job->n; i++) {
        report->n_value += n_bin;
        report->n_floored += job->n_floored[i];
        report->n_flat_spike += job->n_floored[i] == n_bin;
    }
}

static void put(tess_array *out, int64_t i, double value, bool add)
{
    if (out->dtype == TESS_F32) {
        float *at = (float *)out->data + i;
        *at = (float)(add ? (double)*at + value : value);
    } else {
        double *at = (double *)out->data + i;
        *at = add ? *at + value : value;
    }
}

// Tiles of an electrode's spikes: values are added to rows, or put one after another (row NULL).
static tess_status electrode_values(tess_context *ctx, tile_job *job, const double *marks,
                                    int64_t n, const int32_t *row, tess_array *out,
                                    tess_decode_likelihood_report *report)
{
    const int64_t n_bin = job->encoding->info.n_interior;
    const int64_t d = job->encoding->info.n_feature[job->electrode];
    for (int64_t first = 0; first < n; first += TILE) {
        TESS_TRY(tess_context_check_cancel(ctx));
        job->marks = marks + first * d;
        job->n = n - first < TILE ? n - first : TILE;
        TESS_TRY(tess_parallel_for(ctx->pool, (job->n + SPIKES - 1) / SPIKES, tile_block, job));
        count(job, report);
        for (int64_t i = 0; i < job->n; i++) {
            const int64_t to = row ? row[first + i] : first + i;
            for (int64_t p = 0; p < n_bin; p++) {
                put(out, to * n_bin + p, job->values[i * n_bin + p], row != NULL);
            }
        }
    }
    return TESS_OK;
}

static tess_status open_tile(tess_context *ctx, tess_blocks *scratch,
                             const tess_decode_encoding *encoding, tile_job *job)
{
    const tess_de_gmm *gmm = encoding->model;
    *job = (tile_job){.encoding = encoding};
    job->values = tess_blocks_alloc(scratch, TILE * encoding->info.n_interior, sizeof *job->values,
                                    "a tile of spikes");
    job->n_floored = tess_blocks_alloc(scratch, TILE, sizeof *job->n_floored, "counts");
    job->scratch = tess_blocks_alloc(scratch, tess_pool_threads(ctx->pool) * gmm->scratch_items,
                                     sizeof *job->scratch, "room");
    return job->values && job->n_floored && job->scratch ? TESS_OK : TESS_E_MEMORY;
}

tess_status tess_de_gmm_rows(tess_context *ctx, tess_device *device,
                             const tess_decode_encoding *encoding, const tess_de_row_spikes *spikes,
                             double scale, tess_array *out, tess_decode_likelihood_report *report)
{
    (void)device;
    const tess_de_gmm *gmm = encoding->model;
    const int64_t n_bin = encoding->info.n_interior;
    for (int64_t k = 0; k < spikes->n_row; k++) {
        for (int64_t p = 0; p < n_bin; p++) {
            put(out, k * n_bin + p, -scale * gmm->summed[p], false);
        }
    }
    tess_blocks scratch;
    tess_blocks_init(&scratch, &ctx->heap);
    tile_job job;
    tess_status status = open_tile(ctx, &scratch, encoding, &job);
    for (int64_t e = 0; e < gmm->n_electrode && status == TESS_OK; e++) {
        const int64_t first = spikes->electrode_first[e];
        job.electrode = e;
        status =
            electrode_values(ctx, &job, spikes->marks[e], spikes->electrode_first[e + 1] - first,
                             spikes->row + first, out, report);
    }
    tess_blocks_free(&scratch);
    return status;
}

tess_status tess_de_gmm_log_joint(tess_context *ctx, tess_device *device,
                                  const tess_decode_encoding *encoding, int64_t electrode,
                                  const double *marks, int64_t n, tess_array *out,
                                  tess_decode_likelihood_report *report)
{
    (void)device;
    tess_blocks scratch;
    tess_blocks_init(&scratch, &ctx->heap);
    tile_job job;
    tess_status status = open_tile(ctx, &scratch, encoding, &job);
    job.electrode = electrode;
    if (status == TESS_OK) {
        status = electrode_values(ctx, &job, marks, n, NULL, out, report);
    }
    tess_blocks_free(&scratch);
    return status;
}
