// Matrices into records: one angle at a time, angles without use taken out at the end.
#include "base/status.h"
#include "systems/xpcs/store/store.h"
#include "systems/xpcs/store/txc2.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    BLOCK_ROWS = 32,
    MISSING_CHARS = 400,
    HEAD = TESS_STAGE_XPCS_HEAD,
    LEAF = TESS_STAGE_XPCS_LEAF,
    RUN = TESS_STAGE_XPCS_RUN
};

static const uint64_t WINDOW_BYTES = 16 << 20;

// What a row of the triangle tells.
typedef struct row_sums {
    double sum;
    double least;
    double largest;
    double near; // the sample of the shortest lag; NaN: none
    int64_t n_finite;
    int64_t n_wanted;
    int64_t n_negative;
} row_sums;

typedef struct fill_job {
    tess_xpcs_data *data;
    const tess_xp_matrix *matrix;
    int64_t angle;
    int64_t first_leaf;
    double mean;
    row_sums *rows; // [n_frame - 1]
} fill_job;

// Pairs (i, first..first+n-1) as f64, NaN where one is left out or not finite; returns how many are
// not left out on purpose.
static int64_t load(const fill_job *job, int64_t i, int64_t first, int64_t n, double *y)
{
    const tess_xp_matrix *m = job->matrix;
    const int64_t at = i * m->row_stride + first * m->column_stride;
    if (job->data->tiles.item_bytes == sizeof(double)) {
        for (int64_t k = 0; k < n; k++) {
            y[k] = ((const double *)m->c2)[at + k * m->column_stride];
        }
    } else if (m->column_stride == 1) {
        for (int64_t k = 0; k < n; k++) {
            y[k] = (double)((const float *)m->c2)[at + k];
        }
    } else {
        for (int64_t k = 0; k < n; k++) {
            y[k] = (double)((const float *)m->c2)[at + k * m->column_stride];
        }
    }
    int64_t n_wanted = n;
    for (int64_t k = 0; k < n && first + k - i < m->exclude_lags; k++) {
        y[k] = (double)NAN;
        n_wanted--;
    }
    for (int64_t k = n - n_wanted; k < n && m->is_bad; k++) {
        if (m->is_bad[i] || m->is_bad[first + k]) {
            y[k] = (double)NAN;
            n_wanted--;
        }
    }
    for (int64_t k = 0; k < n; k++) {
        y[k] = fabs(y[k]) <= DBL_MAX ? y[k] : (double)NAN;
    }
    return n_wanted;
}

static void scan_run(const double *y, int64_t n, row_sums *row)
{
    for (int64_t k = 0; k < n; k++) {
        if (!isnan(y[k])) {
            row->n_finite++;
            row->sum += y[k];
            row->least = y[k] < row->least ? y[k] : row->least;
            row->largest = y[k] > row->largest ? y[k] : row->largest;
            row->n_negative += y[k] < 0;
        }
    }
}

static tess_status scan_rows(void *arg, int64_t block, int32_t worker)
{
    (void)worker;
    const fill_job *job = arg;
    const int64_t n = job->data->tiles.n_frame;
    const int64_t near = job->matrix->exclude_lags > 1 ? job->matrix->exclude_lags : 1;
    const int64_t end = (block + 1) * BLOCK_ROWS < n - 1 ? (block + 1) * BLOCK_ROWS : n - 1;
    double y[RUN];
    for (int64_t i = block * BLOCK_ROWS; i < end; i++) {
        row_sums row = {
            .least = (double)INFINITY, .largest = -(double)INFINITY, .near = (double)NAN};
        for (int64_t first = i + 1; first < n; first += RUN) {
            const int64_t count = n - first < RUN ? n - first : RUN;
            row.n_wanted += load(job, i, first, count, y);
            scan_run(y, count, &row);
            if (i + near >= first && i + near < first + count) {
                row.near = y[i + near - first];
            }
        }
        job->rows[i] = row;
    }
    return TESS_OK;
}

static tess_status check_sigma(double sigma, int64_t angle, int64_t i, int64_t j)
{
    if (!(sigma > 0) || !isfinite(sigma)) {
        TESS_FAIL(
            TESS_E_NUMERIC,
            "sigma: %g at [%lld, %lld, %lld] of the matrices that are fitted, counted from 0; a "
            "standard deviation has to be positive and finite where c2 is",
            sigma, (long long)angle, (long long)i, (long long)j);
    }
    return TESS_OK;
}

static tess_status fill_weights(const fill_job *job, const tess_xp_tile *tile, const double *y,
                                double *weight)
{
    const tess_xp_matrix *m = job->matrix;
    const double *sigma = m->sigma + tile->row * m->sigma_row_stride;
    for (int64_t k = 0; k < tile->width; k++) {
        weight[k] = 0;
        if (k < tile->n_column && !isnan(y[k])) {
            const int64_t j = tile->first_column + k;
            const double sd = sigma[j * m->sigma_column_stride];
            TESS_TRY(check_sigma(sd, job->angle, tile->row, j));
            weight[k] = 1 / (sd * sd);
        }
    }
    return TESS_OK;
}

// Samples, weights and head of the job's angle in one record.
static tess_status fill_tile(const fill_job *job, const tess_xp_tile *tile)
{
    const tess_xp_tiles *tiles = &job->data->tiles;
    const int64_t n_angle = tiles->n_angle;
    const int64_t plane = job->angle * tile->width;
    unsigned char *record = job->data->records + tile->offset;
    unsigned char *samples = record + n_angle * HEAD * (int64_t)sizeof(double);
    double y[RUN];
    load(job, tile->row, tile->first_column, tile->n_column, y);
    for (int64_t k = tile->n_column; k < tile->width; k++) {
        y[k] = (double)NAN;
    }
    double sums[HEAD] = {0};
    for (int64_t k = 0; k < tile->n_column; k++) {
        const double d = isnan(y[k]) ? 0 : y[k] - job->mean;
        sums[0] += isnan(y[k]) ? 0 : 1;
        sums[1] += d;
        sums[2] += d * d;
    }
    memcpy(record + job->angle * (int64_t)sizeof sums, sums, sizeof sums);
    if (tiles->item_bytes == sizeof(double)) {
        memcpy((double *)(void *)samples + plane, y, (size_t)tile->width * sizeof *y);
    } else {
        for (int64_t k = 0; k < tile->width; k++) {
            ((float *)(void *)samples)[plane + k] = (float)y[k];
        }
    }
    if (!tiles->has_sigma) {
        return TESS_OK;
    }
    double *weight = (double *)(void *)(samples + n_angle * tile->width * tiles->item_bytes);
    return fill_weights(job, tile, y, weight + plane);
}

static tess_status fill_leaf(void *arg, int64_t number, int32_t worker)
{
    (void)worker;
    const fill_job *job = arg;
    const tess_xp_tiles *tiles = &job->data->tiles;
    const int64_t first = (job->first_leaf + number) * LEAF;
    const int64_t end = first + LEAF < tiles->n_tile ? first + LEAF : tiles->n_tile;
    for (int64_t t = first; t < end; t++) {
        const tess_xp_tile tile = tess_xp_tiles_at(tiles, t);
        TESS_TRY(fill_tile(job, &tile));
    }
    return TESS_OK;
}

// Runs a function for every leaf, counted from first_leaf of its job. A scratch file is gone over a
// window at a time whose pages are then given back: what was written goes to the disk in its own
// time, and would else cost as much memory as there are data.
static tess_status run_leaves(tess_xpcs_data *data, tess_block_fn run, void *job,
                              int64_t *first_leaf)
{
    const int64_t all = tess_xp_tiles_n_leaf(&data->tiles);
    const uint64_t largest = tess_xp_tiles_at(&data->tiles, 0).bytes * LEAF;
    const int64_t window = data->file ? (int64_t)(WINDOW_BYTES / largest) + 1 : all;
    tess_status status = TESS_OK;
    for (int64_t leaf = 0; leaf < all && status == TESS_OK; leaf += window) {
        const int64_t n = window < all - leaf ? window : all - leaf;
        *first_leaf = leaf;
        status = tess_parallel_for(data->ctx->pool, n, run, job);
        if (data->file) {
            tess_xp_txc2_release(data->file, &data->tiles, leaf, n);
        }
    }
    return status;
}

// Sums of rows in order, compensated: the mean of 1e9 samples keeps its digits.
static double combine(const row_sums *rows, int64_t n_row, tess_xp_found *found, int64_t *n_finite)
{
    *found = (tess_xp_found){.least = (double)INFINITY, .largest = -(double)INFINITY};
    double sum = 0;
    double rest = 0;
    double near = 0;
    int64_t n_near = 0;
    *n_finite = 0;
    for (int64_t i = 0; i < n_row; i++) {
        const row_sums *row = rows + i;
        const double next = sum + row->sum;
        rest += fabs(sum) >= fabs(row->sum) ? (sum - next) + row->sum : (row->sum - next) + sum;
        sum = next;
        *n_finite += row->n_finite;
        found->n_wanted += row->n_wanted;
        found->n_negative += row->n_negative;
        found->least = row->least < found->least ? row->least : found->least;
        found->largest = row->largest > found->largest ? row->largest : found->largest;
        if (!isnan(row->near)) {
            near += row->near;
            n_near++;
        }
    }
    found->near_mean = n_near > 0 ? near / (double)n_near : (double)NAN;
    return *n_finite > 0 ? (sum + rest) / (double)*n_finite : 0;
}

tess_status tess_xp_data_put(tess_xpcs_data *data, int64_t angle, const tess_xp_matrix *matrix)
{
    TESS_ASSERT(data->records && angle >= 0 && angle < data->n_made);
    TESS_ASSERT(!data->tiles.has_sigma || matrix->sigma);
    const int64_t n_row = data->tiles.n_frame - 1;
    const int64_t n_block = (n_row + BLOCK_ROWS - 1) / BLOCK_ROWS;
    tess_heap *heap = &data->ctx->heap;
    fill_job job = {.data = data, .matrix = matrix, .angle = angle};
    job.rows =
        tess_heap_alloc(heap, (size_t)n_row * sizeof *job.rows, TESS_TAG_SCRATCH, "sums of rows");
    if (!job.rows) {
        return TESS_E_MEMORY;
    }
    tess_status status = tess_parallel_for(data->ctx->pool, n_block, scan_rows, &job);
    if (status == TESS_OK) {
        int64_t n_finite = 0;
        job.mean = combine(job.rows, n_row, &data->found[angle], &n_finite);
        data->tables[2 * data->n_made + angle] = job.mean;
        ((int64_t *)(void *)(data->tables + 3 * data->n_made))[angle] = n_finite;
        status = run_leaves(data, fill_leaf, &job, &job.first_leaf);
    }
    tess_heap_free(heap, job.rows, (size_t)n_row * sizeof *job.rows, TESS_TAG_SCRATCH);
    return status == TESS_OK ? tess_context_check_cancel(data->ctx) : status;
}

tess_status tess_xp_data_put_matrix(tess_xpcs_data *data, int64_t angle, const void *matrix,
                                    int64_t row_stride, int64_t column_stride, const double *sigma,
                                    const uint8_t *is_bad, int64_t exclude_lags)
{
    const tess_xp_matrix given = {.c2 = matrix,
                                  .row_stride = row_stride,
                                  .column_stride = column_stride,
                                  .sigma = sigma,
                                  .sigma_row_stride = row_stride,
                                  .sigma_column_stride = column_stride,
                                  .is_bad = is_bad,
                                  .exclude_lags = exclude_lags};
    return tess_xp_data_put(data, angle, &given);
}

// Why an angle is of no use; NULL: it is of use.
static const char *fault(const tess_xpcs_data *data, int64_t angle, char *text, size_t capacity)
{
    const tess_xp_found *found = &data->found[angle];
    const int64_t n_finite = data->info.n_finite[angle];
    if (found->n_wanted == 0) {
        return "no pair of frames is left after bad frames and excluded lags";
    }
    if (n_finite == 0) {
        return "all its values are NaN or infinite";
    }
    if (2 * n_finite < found->n_wanted) {
        snprintf(text, capacity, "%.1f %% of its values are NaN or infinite",
                 100 * (1 - (double)n_finite / (double)found->n_wanted));
        return text;
    }
    if (found->least == found->largest) {
        snprintf(text, capacity, "all its values are %g", found->least);
        return text;
    }
    return NULL;
}

// The one of the records of kept angles that tile becomes.
static void move_record(unsigned char *records, const tess_xp_found *found,
                        const tess_xp_tiles *from, const tess_xp_tile *old, const tess_xp_tile *new)
{
    const size_t plane_bytes[3] = {HEAD * sizeof(double),
                                   (size_t)old->width * (size_t)from->item_bytes,
                                   from->has_sigma ? (size_t)old->width * sizeof(double) : 0};
    const unsigned char *src = records + old->offset;
    unsigned char *dst = records + new->offset;
    for (int plane = 0; plane < 3; plane++) {
        for (int64_t a = 0; a < from->n_angle; a++, src += plane_bytes[plane]) {
            if (!found[a].is_dropped) {
                memmove(dst, src, plane_bytes[plane]);
                dst += plane_bytes[plane];
            }
        }
    }
    memset(dst, 0, (size_t)(records + new->offset + new->bytes - dst));
}

// Takes dropped angles out in place: every byte moves towards the front.
static tess_status drop_angles(tess_xpcs_data *data, int64_t n_kept)
{
    tess_xp_tiles kept;
    TESS_TRY(tess_xp_tiles_create(data->ctx, n_kept, data->tiles.n_frame, data->tiles.item_bytes,
                                  data->tiles.has_sigma, &kept));
    uint64_t moved = 0;
    for (int64_t t = 0; t < kept.n_tile; t++) {
        const tess_xp_tile old = tess_xp_tiles_at(&data->tiles, t);
        const tess_xp_tile new = tess_xp_tiles_at(&kept, t);
        move_record(data->records, data->found, &data->tiles, &old, &new);
        moved += old.bytes;
        if (data->file && (moved >= WINDOW_BYTES || t == kept.n_tile - 1)) {
            tess_xp_txc2_release(data->file, &data->tiles, 0, tess_xp_tiles_n_leaf(&data->tiles));
            moved = 0;
        }
    }
    tess_xp_data_keep_angles(data, &kept);
    return TESS_OK;
}

static tess_status judge_angles(tess_xpcs_data *data)
{
    const int64_t n = data->tiles.n_angle;
    char text[96];
    int64_t n_kept = 0;
    for (int64_t a = 0; a < n; a++) {
        const char *why = fault(data, a, text, sizeof text);
        data->found[a].is_dropped = why != NULL;
        n_kept += why == NULL;
        if (why) {
            tess_xp_data_note(data, "angle %lld (phi %g, q %g) was dropped: %s", (long long)a,
                              data->info.phi[a], data->info.q[a], why);
        }
    }
    if (n_kept == 0) {
        TESS_FAIL(TESS_E_NUMERIC, "%s: no angle is left; angle 0 (phi %g): %s",
                  data->info.path[0] ? data->info.path : "c2", data->info.phi[0],
                  fault(data, 0, text, sizeof text));
    }
    return n_kept < n ? drop_angles(data, n_kept) : TESS_OK;
}

// How many values of which angles are ignored: a few pixels, or a detector that failed at one.
static void note_missing(tess_xpcs_data *data)
{
    char list[MISSING_CHARS] = "";
    size_t used = 0;
    int64_t n_missing = 0;
    int64_t n_hit = 0;
    int64_t n_told = 0;
    int64_t kept = 0;
    for (int64_t a = 0; a < data->n_made; a++) {
        const tess_xp_found *found = &data->found[a];
        if (found->is_dropped) {
            continue;
        }
        const int64_t n = found->n_wanted - data->info.n_finite[kept];
        if (n > 0 && used + 80 < sizeof list) {
            used += (size_t)snprintf(list + used, sizeof list - used, "%s%lld of %lld at phi %g",
                                     used ? ", " : "", (long long)n, (long long)found->n_wanted,
                                     data->info.phi[kept]);
            n_told++;
        }
        n_missing += n;
        n_hit += n > 0;
        kept++;
    }
    if (n_hit > n_told) {
        snprintf(list + used, sizeof list - used, ", and in %lld angles more",
                 (long long)(n_hit - n_told));
    }
    if (n_missing > 0) {
        tess_xp_data_note(data, "%lld values are NaN or infinite and are ignored: %s",
                          (long long)n_missing, list);
    }
}

// Things a user should know of the angles that are kept; before the dropped ones are forgotten.
static void note_oddities(tess_xpcs_data *data)
{
    int64_t n_negative = 0;
    int64_t n_angle_negative = 0;
    int64_t n_far_off = 0;
    double far_off = 0;
    for (int64_t a = 0; a < data->n_made; a++) {
        const tess_xp_found *found = &data->found[a];
        if (found->is_dropped) {
            continue;
        }
        n_negative += found->n_negative;
        n_angle_negative += found->n_negative > 0;
        if (!isnan(found->near_mean) && !(found->near_mean >= 0.5 && found->near_mean <= 2)) {
            far_off = n_far_off++ == 0 ? found->near_mean : far_off;
        }
    }
    note_missing(data);
    if (n_negative > 0) {
        tess_xp_data_note(data, "%lld values in %lld angles are negative; c2 should be near 1",
                          (long long)n_negative, (long long)n_angle_negative);
    }
    if (n_far_off > 0) {
        tess_xp_data_note(data,
                          "c2 at the shortest lag is %.4g on average, outside 0.5..2, in %lld "
                          "angle(s); is it normalised?",
                          far_off, (long long)n_far_off);
    }
}

typedef struct hash_job {
    const tess_xpcs_data *data;
    tess_hash *leaf_hash;
    int64_t first_leaf;
} hash_job;

static tess_status hash_leaf(void *arg, int64_t number, int32_t worker)
{
    (void)worker;
    const hash_job *job = arg;
    const int64_t leaf = job->first_leaf + number;
    const uint64_t begin = tess_xp_tiles_leaf_offset(&job->data->tiles, leaf);
    const uint64_t end = tess_xp_tiles_leaf_offset(&job->data->tiles, leaf + 1);
    job->leaf_hash[leaf] =
        tess_hash_bytes(tess_hash_default(), job->data->records + begin, end - begin);
    return TESS_OK;
}

tess_status tess_xp_data_finish(tess_xpcs_data *data)
{
    TESS_TRY(judge_angles(data));
    note_oddities(data);
    return tess_xp_data_seal(data);
}

tess_status tess_xp_data_seal(tess_xpcs_data *data)
{
    TESS_ASSERT(data->records);
    data->info.n_used = 0;
    for (int64_t a = 0; a < data->info.n_angle; a++) {
        data->info.n_used += data->info.n_finite[a];
    }
    const int64_t n_leaf = tess_xp_tiles_n_leaf(&data->tiles);
    const size_t bytes = (size_t)n_leaf * sizeof(tess_hash);
    tess_heap *heap = &data->ctx->heap;
    hash_job job = {.data = data,
                    .leaf_hash = tess_heap_alloc(heap, bytes, TESS_TAG_SCRATCH, "checksums")};
    if (!job.leaf_hash) {
        return TESS_E_MEMORY;
    }
    const tess_status status = run_leaves(data, hash_leaf, &job, &job.first_leaf);
    data->fingerprint = tess_xp_data_hash(data, job.leaf_hash);
    tess_heap_free(heap, job.leaf_hash, bytes, TESS_TAG_SCRATCH);
    if (data->file) {
        tess_xp_txc2_unmap(data->file);
        data->records = NULL; // from now on through a reader
    }
    return status;
}
