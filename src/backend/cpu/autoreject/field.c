// MEG field mapping on the CPU: dot products of coils, and mappings by a truncated spectrum.
#include "stage/autoreject_interpolation.h"

#include "backend/cpu/autoreject/stages.h"
#include "base/status.h"
#include "kernels/field.h"
#include "kernels/spectrum.h"

#include <math.h>
#include <string.h>

// The table of MNE up to version 1.12: Legendre's polynomials and two derivatives, single
// precision.
enum { TABLE_STEPS = 20000, STEPS_PER_BLOCK = 1000 };

typedef struct dots_job {
    const tess_kernels *kernels;
    const tess_stage_autoreject_dots *args;
    float *table; // [TABLE_STEPS + 1][n_term][3]; NULL: the series
    double *rows; // [worker][n_point]
} dots_job;

static tess_status table_block(void *arg, int64_t block, int32_t worker)
{
    (void)worker;
    const dots_job *job = arg;
    const size_t n_term = (size_t)job->args->n_term;
    tess_field_term terms[TESS_FIELD_TERMS];
    tess_field_terms(terms, n_term);
    const int64_t first = block * STEPS_PER_BLOCK;
    const int64_t end =
        first + STEPS_PER_BLOCK < TABLE_STEPS ? first + STEPS_PER_BLOCK : TABLE_STEPS + 1;
    for (int64_t step = first; step < end; step++) {
        const double x = step == TABLE_STEPS ? 1 : (double)step * (2.0 / TABLE_STEPS) - 1;
        float *entry = job->table + (size_t)step * n_term * 3;
        double p0 = 0, p = 1, dp = 0, ddp = 0;
        for (size_t i = 0; i < n_term; i++) {
            const double next = terms[i].up * x * p - terms[i].down * p0;
            ddp = x * ddp + (terms[i].n + 1) * dp;
            dp = x * dp + terms[i].n * p;
            p0 = p;
            p = next;
            entry[3 * i] = (float)p;
            entry[3 * i + 1] = (float)dp;
            entry[3 * i + 2] = (float)ddp;
        }
    }
    return TESS_OK;
}

// Where x is in the table: between entry and the one behind, so much of the way.
static const float *look_up(const dots_job *job, double x, double *share)
{
    const tess_stage_autoreject_dots *a = job->args;
    const double at = x * (TABLE_STEPS / 2) + TABLE_STEPS / 2;
    double step = a->linear ? floor(at) : ceil(at - 0.5);
    step = step > TABLE_STEPS - a->linear ? TABLE_STEPS - a->linear : step < 0 ? 0 : step;
    *share = a->linear ? at - step : 0;
    return job->table + (size_t)step * (size_t)a->n_term * 3;
}

static void sum_table(const dots_job *job, double x, double beta, double sums[4])
{
    const size_t n_term = (size_t)job->args->n_term;
    double share = 0;
    const float *low = look_up(job, x, &share);
    const float *high = job->args->linear ? low + 3 * n_term : low;
    double power = beta;
    memset(sums, 0, 4 * sizeof *sums);
    for (size_t i = 0; i < n_term; i++) {
        const double n = (double)i + 1;
        double value[3];
        for (size_t k = 0; k < 3; k++) {
            value[k] = (1 - share) * (double)low[3 * i + k] + share * (double)high[3 * i + k];
        }
        power *= beta;
        const double c3 = n / ((2 * n + 1) * (n + 1)) * power;
        sums[0] += n * (n + 1) / (2 * n + 1) * power * value[0];
        sums[1] += n / (2 * n + 1) * power * value[1];
        sums[2] += c3 * value[1];
        sums[3] += c3 * value[2];
    }
}

static double inner(const double *x, const double *y)
{
    return x[0] * y[0] + x[1] * y[1] + x[2] * y[2];
}

// What the kernel field_dots does, with the table.
static void table_dots(const dots_job *job, const double *point, int64_t first, int64_t n,
                       double *out)
{
    const tess_stage_autoreject_dots *a = job->args;
    for (int64_t j = 0; j < n; j++) {
        double f[3];
        double m[3];
        for (int64_t k = 0; k < 3; k++) {
            f[k] = a->place[k * a->n_point + first + j];
            m[k] = a->normal[k * a->n_point + first + j];
        }
        const double lengths = point[6] * a->length[first + j];
        double x = inner(point, f);
        x = x > 1 ? 1 : x < -1 ? -1 : x;
        double sums[4];
        sum_table(job, x, a->radius * a->radius / lengths, sums);
        const double n1c1 = inner(point, point + 3);
        const double n1c2 = inner(point + 3, f);
        const double n2c1 = inner(point, m);
        const double n2c2 = inner(f, m);
        const double p1 = x * n1c1 * n2c2;
        const double p2 = n1c1 * n2c1 + n1c2 * n2c2;
        out[j] = TESS_FIELD_UNIT / lengths *
                 (n1c1 * n2c2 * sums[0] + (2 * p1 - p2) * sums[1] +
                  (inner(point + 3, m) + p1 - p2) * sums[2] +
                  (n1c2 - x * n1c1) * (n2c1 - x * n2c2) * sums[3]);
    }
}

// A coil with itself and all behind it.
static tess_status dots_block(void *arg, int64_t i, int32_t worker)
{
    const dots_job *job = arg;
    const tess_stage_autoreject_dots *a = job->args;
    const int64_t first = a->first[i];
    const int64_t n = a->n_point - first;
    double *row = job->rows + worker * a->n_point;
    for (int64_t j = i; j < a->n_coil; j++) {
        a->out[i * a->n_coil + j] = 0;
    }
    for (int64_t p = first; p < a->first[i + 1]; p++) {
        double point[7] = {0};
        for (int64_t k = 0; k < 3; k++) {
            point[k] = a->place[k * a->n_point + p];
            point[3 + k] = a->normal[k * a->n_point + p];
        }
        point[6] = a->length[p];
        if (job->table) {
            table_dots(job, point, first, n, row);
        } else {
            job->kernels->field_dots(point, a->place + first, a->normal + first, a->length + first,
                                     (size_t)a->n_point, (size_t)n, a->radius, (size_t)a->n_term,
                                     row);
        }
        for (int64_t j = i; j < a->n_coil; j++) {
            double sum = 0;
            for (int64_t q = a->first[j]; q < a->first[j + 1]; q++) {
                sum += a->weight[q] * row[q - first];
            }
            a->out[i * a->n_coil + j] += a->weight[p] * sum;
        }
    }
    for (int64_t j = i; j < a->n_coil; j++) {
        a->out[j * a->n_coil + i] = a->out[i * a->n_coil + j];
    }
    return TESS_OK;
}

tess_status tess_cpu_autoreject_dots(tess_backend_device *device, const void *args)
{
    const tess_stage_autoreject_dots *a = args;
    tess_context *ctx = device->ctx;
    TESS_ASSERT(a->n_term <= TESS_FIELD_TERMS);
    dots_job job = {.kernels = device->kernels, .args = a};
    const size_t row_bytes = (size_t)ctx->n_thread * (size_t)a->n_point * sizeof *job.rows;
    const size_t table_bytes =
        a->table ? (TABLE_STEPS + 1) * (size_t)a->n_term * 3 * sizeof *job.table : 0;
    job.rows = tess_heap_alloc(&ctx->heap, row_bytes, TESS_TAG_SCRATCH, "dot products of points");
    job.table = a->table ? tess_heap_alloc(&ctx->heap, table_bytes, TESS_TAG_SCRATCH,
                                           "a table of Legendre polynomials")
                         : NULL;
    tess_status status = job.rows && (job.table || !a->table) ? TESS_OK : TESS_E_MEMORY;
    if (status == TESS_OK && a->table) {
        status = tess_parallel_for(ctx->pool, TABLE_STEPS / STEPS_PER_BLOCK, table_block, &job);
    }
    if (status == TESS_OK) {
        status = tess_parallel_for(ctx->pool, a->n_coil, dots_block, &job);
    }
    tess_heap_free(&ctx->heap, job.table, table_bytes, TESS_TAG_SCRATCH);
    tess_heap_free(&ctx->heap, job.rows, row_bytes, TESS_TAG_SCRATCH);
    return status;
}

typedef struct map_job {
    const tess_kernels *kernels;
    const tess_stage_autoreject_map *args;
    size_t n_scratch; // items per worker
    double *scratch;
} map_job;

// z [n_basis][n] such that the projected matrix is D - basis^T z - z^T basis.
static void prepare_projection(const tess_stage_autoreject_map *a, const tess_ar_map *map,
                               double *z)
{
    const int64_t n = map->n_from;
    for (int64_t k = 0; k < map->n_basis; k++) {
        const double *u = map->basis + k * n;
        for (int64_t i = 0; i < n; i++) {
            const double *row = a->dots + map->from[i] * a->n_chan;
            double sum = 0;
            for (int64_t j = 0; j < n; j++) {
                sum += row[map->from[j]] * u[j];
            }
            z[k * n + i] = sum;
        }
    }
    // z_k - 1/2 sum_l (u_l D u_k) u_l; the products are those with z as it was.
    double *products = z + map->n_basis * n;
    for (int64_t k = 0; k < map->n_basis; k++) {
        for (int64_t l = 0; l < map->n_basis; l++) {
            double sum = 0;
            for (int64_t i = 0; i < n; i++) {
                sum += map->basis[l * n + i] * z[k * n + i];
            }
            products[k * map->n_basis + l] = sum / 2;
        }
    }
    for (int64_t k = 0; k < map->n_basis; k++) {
        for (int64_t l = 0; l < map->n_basis; l++) {
            for (int64_t i = 0; i < n; i++) {
                z[k * n + i] -= products[k * map->n_basis + l] * map->basis[l * n + i];
            }
        }
    }
}

// The lower triangle of the projected, scaled matrix of the sources.
static void make_matrix(const tess_stage_autoreject_map *a, const tess_ar_map *map, const double *z,
                        double *matrix)
{
    const int64_t n = map->n_from;
    for (int64_t i = 0; i < n; i++) {
        const double *row = a->dots + map->from[i] * a->n_chan;
        double *to = matrix + i * n;
        for (int64_t j = 0; j <= i; j++) {
            to[j] = row[map->from[j]];
        }
        for (int64_t k = 0; k < map->n_basis; k++) {
            const double *u = map->basis + k * n;
            for (int64_t j = 0; j <= i; j++) {
                to[j] -= u[i] * z[k * n + j] + z[k * n + i] * u[j];
            }
        }
        const double scale = a->scale[map->from[i]];
        for (int64_t j = 0; j <= i; j++) {
            to[j] *= scale * a->scale[map->from[j]];
        }
    }
}

static void make_right_side(const tess_stage_autoreject_map *a, const tess_ar_map *map, int64_t t,
                            double *w)
{
    const int64_t n = map->n_from;
    const double *row = a->dots + map->to[t] * a->n_chan;
    for (int64_t i = 0; i < n; i++) {
        w[i] = row[map->from[i]];
    }
    for (int64_t k = 0; k < map->n_basis; k++) {
        const double *u = map->basis + k * n;
        double sum = 0;
        for (int64_t i = 0; i < n; i++) {
            sum += w[i] * u[i];
        }
        for (int64_t i = 0; i < n; i++) {
            w[i] -= sum * u[i];
        }
    }
    for (int64_t i = 0; i < n; i++) {
        w[i] *= a->scale[map->from[i]];
    }
}

static tess_status map_block(void *arg, int64_t block, int32_t worker)
{
    const map_job *job = arg;
    const tess_stage_autoreject_map *a = job->args;
    const tess_ar_map *map = &a->maps[block];
    const int64_t n = map->n_from;
    double *matrix = job->scratch + (size_t)worker * job->n_scratch;
    double *work = matrix + n * n;
    prepare_projection(a, map, work);
    make_matrix(a, map, work, matrix);
    for (int64_t t = 0; t < map->n_to; t++) {
        make_right_side(a, map, t, map->w + t * n);
    }
    size_t rank = 0;
    job->kernels->spectrum_solve(matrix, (size_t)n, map->w, (size_t)map->n_to, a->miss, work,
                                 &rank);
    if (rank == 0) {
        TESS_FAIL(TESS_E_NUMERIC,
                  "the field of %lld MEG channels cannot be mapped: their dot products are 0 or "
                  "not finite; check positions and directions of the coils",
                  (long long)n);
    }
    for (int64_t t = 0; t < map->n_to; t++) {
        for (int64_t i = 0; i < n; i++) {
            map->w[t * n + i] *= a->scale[map->from[i]];
        }
    }
    return TESS_OK;
}

tess_status tess_cpu_autoreject_map(tess_backend_device *device, const void *args)
{
    const tess_stage_autoreject_map *a = args;
    tess_context *ctx = device->ctx;
    map_job job = {.kernels = device->kernels, .args = a};
    for (int64_t m = 0; m < a->n_map; m++) {
        const tess_ar_map *map = &a->maps[m];
        const size_t n = (size_t)map->n_from;
        const size_t n_basis = (size_t)map->n_basis;
        const size_t projection = n_basis * (n + n_basis);
        const size_t spectrum = tess_spectrum_items(n);
        const size_t need = n * n + (projection > spectrum ? projection : spectrum);
        job.n_scratch = need > job.n_scratch ? need : job.n_scratch;
    }
    const size_t bytes = (size_t)ctx->n_thread * job.n_scratch * sizeof *job.scratch;
    job.scratch = tess_heap_alloc(&ctx->heap, bytes, TESS_TAG_SCRATCH, "matrices of MEG channels");
    if (!job.scratch) {
        return TESS_E_MEMORY;
    }
    const tess_status status = tess_parallel_for(ctx->pool, a->n_map, map_block, &job);
    tess_heap_free(&ctx->heap, job.scratch, bytes, TESS_TAG_SCRATCH);
    return status;
}
