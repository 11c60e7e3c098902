// What is done to likelihood rows once their columns are there: the penalty near the animal for
// non-local states, the kernel that ties a Local state of many bins to it, and missing rows.
#include "systems/decode/states/detector.h"

#include "base/status.h"

#include <math.h>
#include <string.h>

enum { BLOCK_ROWS = 256 };

// One block of columns being modified, rows in parallel.
typedef struct modify_job {
    const tess_decode_detector *detector;
    const tess_de_columns *block;
    const double *distances; // [P][P]
    const int64_t *animal;   // [n_row] interior bin, -1: unknown
    double *rows;            // [n_worker][P] scratch
    void *ll;
    int64_t n_row;
} modify_job;

int tess_de_is_modified(const tess_decode_detector *d, const tess_de_columns *b)
{
    return b->kind == TESS_DE_COLUMNS_PLACES &&
           (b->has_kernel || d->config.non_local_position_penalty > 0);
}

// -A exp(-dist^2 / 2 w^2); nothing where the animal cannot go.
static void penalty_row(const tess_decode_detector *d, const double *distance, int64_t n,
                        double *row)
{
    const double w = d->config.non_local_penalty_std;
    for (int64_t p = 0; p < n; p++) {
        row[p] = isfinite(distance[p]) ? -d->config.non_local_position_penalty *
                                             exp(-distance[p] * distance[p] / (2 * w * w))
                                       : 0;
    }
}

// Log of a Gaussian of the distance, scaled to sum to the number of bins. Zero width: the animal's
// bin alone.
static void kernel_row(double std, const double *distance, int64_t animal, int64_t n, double *row)
{
    if (std == 0) {
        for (int64_t p = 0; p < n; p++) {
            row[p] = p == animal ? log((double)n) : -(double)INFINITY;
        }
        return;
    }
    double sum = 0;
    for (int64_t p = 0; p < n; p++) {
        const double u = distance[p] / std;
        row[p] = -0.5 * u * u;
        sum += exp(row[p]); // the animal's own bin adds 1
    }
    const double shift = log((double)n) - log(sum);
    for (int64_t p = 0; p < n; p++) {
        row[p] += shift;
    }
}

void tess_de_modifier_row(const tess_decode_detector *detector, const tess_de_columns *block,
                          const double *distance, int64_t animal, double *row)
{
    if (block->has_kernel) {
        kernel_row(detector->config.local_position_std, distance, animal, block->n_column, row);
    } else {
        penalty_row(detector, distance, block->n_column, row);
    }
}

static void add_row(const modify_job *job, int64_t t, const double *row)
{
    const int64_t at = t * job->detector->info.n_ll + job->block->first;
    if (job->detector->dtype == TESS_F64) {
        double *ll = (double *)job->ll + at;
        for (int64_t p = 0; p < job->block->n_column; p++) {
            ll[p] += row[p];
        }
    } else {
        float *ll = (float *)job->ll + at;
        for (int64_t p = 0; p < job->block->n_column; p++) {
            ll[p] = (float)((double)ll[p] + row[p]);
        }
    }
}

static tess_status modify_block(void *arg, int64_t block, int32_t worker)
{
    const modify_job *job = arg;
    const int64_t n = job->block->n_column;
    double *row = job->rows + (int64_t)worker * n;
    const int64_t first = block * BLOCK_ROWS;
    const int64_t end = first + BLOCK_ROWS < job->n_row ? first + BLOCK_ROWS : job->n_row;
    int64_t made_for = -1; // the animal rarely changes bins from row to row
    for (int64_t t = first; t < end; t++) {
        const int64_t animal = job->animal[t];
        if (animal < 0) {
            continue;
        }
        if (animal != made_for) {
            tess_de_modifier_row(job->detector, job->block, job->distances + animal * n, animal,
                                 row);
            made_for = animal;
        }
        add_row(job, t, row);
    }
    return TESS_OK;
}

// The sample at or before a time; -1 before the first.
static int64_t sample_before(const tess_decode_position *position, double time)
{
    int64_t low = 0;
    int64_t high = position->n_sample;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (position->time[middle] <= time) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low - 1;
}

static bool is_nan_sample(const tess_decode_position *position, int64_t sample)
{
    for (int64_t k = 0; k < position->n_dim; k++) {
        if (isnan(position->position[sample * position->n_dim + k])) {
            return true;
        }
    }
    return false;
}

bool tess_de_has_untracked(const tess_decode_position *position)
{
    int64_t sample = 0;
    while (sample < position->n_sample && !is_nan_sample(position, sample)) {
        sample++;
    }
    return sample < position->n_sample;
}

// A position is unknown where a sample it is interpolated from is NaN; at a sample's own time that
// sample alone counts.
bool tess_de_is_untracked(const tess_decode_position *position, double time)
{
    int64_t at = sample_before(position, time);
    if (at >= 0 && position->time[at] == time) {
        return is_nan_sample(position, at);
    }
    const int64_t last = position->n_sample - 2;
    at = at < 0 ? 0 : at > last ? last : at;
    return is_nan_sample(position, at < 0 ? 0 : at) || is_nan_sample(position, at + 1);
}

// The animal's interior bin at each row; -1 where its position is unknown.
static tess_status animal_bins(tess_context *ctx, const tess_decode_environment *env,
                               const tess_decode_observation *observation, int64_t first,
                               int64_t n_row, int64_t *animal)
{
    const tess_decode_environment_info *info = tess_decode_environment_get_info(env);
    const tess_decode_position *position = &observation->position;
    const size_t bytes =
        (size_t)n_row * (size_t)(position->n_dim + info->n_place_dim) * sizeof(double);
    const size_t map_bytes = (size_t)info->n_bin * sizeof(int64_t);
    double *raw = tess_heap_alloc(&ctx->heap, bytes, TESS_TAG_SCRATCH, "positions of rows");
    int64_t *interior = tess_heap_alloc(&ctx->heap, map_bytes, TESS_TAG_SCRATCH, "bin numbers");
    tess_status status = raw && interior ? TESS_OK : TESS_E_MEMORY;
    if (status == TESS_OK) {
        double *place = raw + n_row * position->n_dim;
        status = tess_decode_position_at(position->time, position->position, position->n_sample,
                                         position->n_dim, observation->time + first, n_row, raw);
        if (status == TESS_OK) {
            status = tess_decode_place(env, raw, n_row, place);
        }
        if (status == TESS_OK) {
            status = tess_decode_bin_index(env, place, n_row, animal);
        }
        memset(interior, 0xff, map_bytes);
        for (int64_t p = 0; p < info->n_interior; p++) {
            interior[info->interior_bin[p]] = p;
        }
        for (int64_t t = 0; status == TESS_OK && t < n_row; t++) {
            animal[t] = animal[t] >= 0 ? interior[animal[t]] : -1;
        }
    }
    tess_heap_free(&ctx->heap, interior, map_bytes, TESS_TAG_SCRATCH);
    tess_heap_free(&ctx->heap, raw, bytes, TESS_TAG_SCRATCH);
    return status;
}

static tess_status modify(tess_context *ctx, const tess_decode_detector *d,
                          const tess_de_columns *b, const tess_decode_observation *observation,
                          int64_t first, int64_t n_row, void *ll)
{
    tess_decode_environment *env = d->environments[b->environment];
    const size_t animal_bytes = (size_t)n_row * sizeof(int64_t);
    const size_t rows_bytes =
        (size_t)tess_pool_threads(ctx->pool) * (size_t)b->n_column * sizeof(double);
    modify_job job = {.detector = d, .block = b, .ll = ll, .n_row = n_row};
    int64_t *animal = tess_heap_alloc(&ctx->heap, animal_bytes, TESS_TAG_SCRATCH, "animal's bins");
    job.animal = animal;
    job.rows = tess_heap_alloc(&ctx->heap, rows_bytes, TESS_TAG_SCRATCH, "modifier rows");
    tess_status status = animal && job.rows ? TESS_OK : TESS_E_MEMORY;
    if (status == TESS_OK) {
        status = tess_decode_distances(ctx, env, &job.distances);
    }
    if (status == TESS_OK) {
        status = animal_bins(ctx, env, observation, first, n_row, animal);
    }
    if (status == TESS_OK) {
        status =
            tess_parallel_for(ctx->pool, (n_row + BLOCK_ROWS - 1) / BLOCK_ROWS, modify_block, &job);
    }
    tess_heap_free(&ctx->heap, job.rows, rows_bytes, TESS_TAG_SCRATCH);
    tess_heap_free(&ctx->heap, animal, animal_bytes, TESS_TAG_SCRATCH);
    return status;
}

tess_status tess_de_modify_rows(tess_context *ctx, const tess_decode_detector *detector,
                                const tess_decode_observation *observation, int64_t first,
                                int64_t n_row, void *ll)
{
    for (int32_t i = 0; i < detector->n_block; i++) {
        if (tess_de_is_modified(detector, &detector->blocks[i])) {
            TESS_TRY(modify(ctx, detector, &detector->blocks[i], observation, first, n_row, ll));
        }
    }
    return TESS_OK;
}

// Rows of a table, bin by bin.
typedef struct table_job {
    const tess_decode_detector *detector;
    const tess_de_columns *block;
    const double *distances;
    const int64_t *bins; // [n_table]
    double *table;
} table_job;

static tess_status make_table_row(void *arg, int64_t k, int32_t worker)
{
    (void)worker;
    const table_job *job = arg;
    const int64_t n = job->block->n_column;
    tess_de_modifier_row(job->detector, job->block, job->distances + job->bins[k] * n, job->bins[k],
                         job->table + k * n);
    return TESS_OK;
}

// The distinct bins of rows, rising, and which of them each row has.
static int64_t number_bins(const int64_t *animal, int64_t n_row, int64_t n_bin, int64_t *number,
                           int32_t *row)
{
    int64_t n = 0;
    for (int64_t t = 0; t < n_row; t++) {
        if (animal[t] >= 0) {
            number[animal[t]] = 1;
        }
    }
    for (int64_t p = 0; p < n_bin; p++) {
        number[p] = number[p] ? n++ : -1;
    }
    for (int64_t t = 0; t < n_row; t++) {
        row[t] = animal[t] >= 0 ? (int32_t)number[animal[t]] : -1;
    }
    return n;
}

tess_status tess_de_modifier_table(tess_context *ctx, tess_blocks *blocks,
                                   const tess_decode_detector *detector,
                                   const tess_de_columns *block,
                                   const tess_decode_observation *observation, int64_t first,
                                   int64_t n_row, tess_de_added *out)
{
    tess_decode_environment *env = detector->environments[block->environment];
    const int64_t n_bin = block->n_column;
    int64_t *animal = tess_blocks_alloc(blocks, n_row, sizeof *animal, "animal's bins");
    int64_t *number = tess_blocks_alloc(blocks, n_bin, sizeof *number, "animal's bins");
    int64_t *bins = tess_blocks_alloc(blocks, n_bin, sizeof *bins, "animal's bins");
    out->row = tess_blocks_alloc(blocks, n_row, sizeof *out->row, "animal's bins");
    if (!animal || !number || !bins || !out->row) {
        return TESS_E_MEMORY;
    }
    table_job job = {.detector = detector, .block = block, .bins = bins};
    TESS_TRY(tess_decode_distances(ctx, env, &job.distances));
    TESS_TRY(animal_bins(ctx, env, observation, first, n_row, animal));
    out->n_table = number_bins(animal, n_row, n_bin, number, out->row);
    for (int64_t p = 0; p < n_bin; p++) {
        if (number[p] >= 0) {
            bins[number[p]] = p;
        }
    }
    out->table = tess_blocks_alloc(blocks, out->n_table * n_bin, sizeof *out->table, "modifiers");
    if (!out->table) {
        return TESS_E_MEMORY;
    }
    job.table = out->table;
    return tess_parallel_for(ctx->pool, out->n_table, make_table_row, &job);
}

bool tess_de_is_missing(const tess_decode_observation *observation, int has_nan, int64_t row)
{
    return (observation->is_missing && observation->is_missing[row]) ||
           (has_nan && tess_de_is_untracked(&observation->position, observation->time[row]));
}

void tess_de_clear_missing(const tess_decode_detector *detector,
                           const tess_decode_observation *observation, int has_nan, int64_t first,
                           int64_t n_row, void *ll)
{
    const size_t row_bytes = (size_t)detector->info.n_ll *
                             (detector->dtype == TESS_F64 ? sizeof(double) : sizeof(float));
    for (int64_t t = 0; t < n_row; t++) {
        if (tess_de_is_missing(observation, has_nan, first + t)) {
            memset((char *)ll + (size_t)t * row_bytes, 0, row_bytes);
        }
    }
}
