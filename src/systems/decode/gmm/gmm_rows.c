// Likelihood of marks at every bin under mixtures, on the host; gmm_there.c has it elsewhere.
#include "base/status.h"
#include "systems/decode/gmm/gmm.h"

#include <math.h>

enum { TILE = 512 }; // spikes held at once

typedef struct tile_job {
    const tess_decode_encoding *encoding;
    tess_stage_decode_gmm args; // values and n_floored of a tile
} tile_job;

int64_t tess_de_gmm_values(const tess_decode_encoding *encoding, int64_t electrode,
                           const double *mark, double *scratch, double *values)
{
    tess_gmm_bins bins;
    tess_de_gmm_bins(encoding, electrode, &bins);
    return tess_gmm_values(&bins, mark, scratch, values);
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
static tess_status electrode_values(tess_context *ctx, tile_job *job, int64_t electrode,
                                    const double *marks, int64_t n, const int32_t *row,
                                    tess_array *out, tess_decode_likelihood_report *report)
{
    tess_stage_decode_gmm *args = &job->args;
    const int64_t n_bin = job->encoding->info.n_interior;
    tess_de_gmm_bins(job->encoding, electrode, &args->bins);
    for (int64_t first = 0; first < n; first += TILE) {
        TESS_TRY(tess_context_check_cancel(ctx));
        args->marks = marks + first * args->bins.n_feature;
        args->n_spike = n - first < TILE ? n - first : TILE;
        TESS_TRY(tess_stage_run_on_host(ctx, TESS_STAGE_DECODE_GMM, args, sizeof *args));
        tess_de_gmm_count(job->encoding, args->n_floored, args->n_spike, report);
        for (int64_t i = 0; i < args->n_spike; i++) {
            const int64_t to = row ? row[first + i] : first + i;
            for (int64_t p = 0; p < n_bin; p++) {
                put(out, to * n_bin + p, args->values[i * n_bin + p], row != NULL);
            }
        }
    }
    return TESS_OK;
}

static tess_status open_tile(tess_blocks *scratch, const tess_decode_encoding *encoding,
                             tile_job *job)
{
    tess_stage_decode_gmm *args = &job->args;
    *job = (tile_job){.encoding = encoding};
    args->values = tess_blocks_alloc(scratch, TILE * encoding->info.n_interior,
                                     sizeof *args->values, "a tile of spikes");
    args->n_floored = tess_blocks_alloc(scratch, TILE, sizeof *args->n_floored, "counts");
    return args->values && args->n_floored ? TESS_OK : TESS_E_MEMORY;
}

static tess_status rows_here(tess_context *ctx, const tess_decode_encoding *encoding,
                             const tess_de_row_spikes *spikes, double scale, tess_array *out,
                             tess_decode_likelihood_report *report)
{
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
    tess_status status = open_tile(&scratch, encoding, &job);
    for (int64_t e = 0; e < gmm->n_electrode && status == TESS_OK; e++) {
        const int64_t first = spikes->electrode_first[e];
        status =
            electrode_values(ctx, &job, e, spikes->marks[e], spikes->electrode_first[e + 1] - first,
                             spikes->row + first, out, report);
    }
    tess_blocks_free(&scratch);
    return status;
}

// Rows that stay on a device which has no such mixtures: made here, and sent.
static tess_status send_rows(tess_context *ctx, tess_device *device,
                             const tess_decode_encoding *encoding, const tess_de_row_spikes *spikes,
                             double scale, tess_array *out, tess_decode_likelihood_report *report)
{
    const size_t bytes = (size_t)tess_array_items(out) * (size_t)out->item_bytes;
    tess_array here = *out;
    here.space = TESS_SPACE_HOST;
    here.data = tess_heap_alloc(&ctx->heap, bytes, TESS_TAG_SCRATCH, "rows of mixtures");
    if (!here.data) {
        return TESS_E_MEMORY;
    }
    tess_status status = rows_here(ctx, encoding, spikes, scale, &here, report);
    if (status == TESS_OK) {
        status = device->backend->copy(device->queue, out->data, TESS_SPACE_DEVICE, here.data,
                                       TESS_SPACE_HOST, bytes);
    }
    if (status == TESS_OK) {
        status = tess_stage_finish(device);
    }
    tess_heap_free(&ctx->heap, here.data, bytes, TESS_TAG_SCRATCH);
    return status;
}

tess_status tess_de_gmm_rows(tess_context *ctx, tess_device *device,
                             const tess_decode_encoding *encoding, const tess_de_row_spikes *spikes,
                             double scale, tess_array *out, tess_decode_likelihood_report *report)
{
    if (tess_de_gmm_is_there(ctx, device, encoding)) {
        return tess_de_gmm_rows_there(ctx, device, encoding, spikes, scale, out, report);
    }
    return out->space == TESS_SPACE_DEVICE
               ? send_rows(ctx, device, encoding, spikes, scale, out, report)
               : rows_here(ctx, encoding, spikes, scale, out, report);
}

tess_status tess_de_gmm_log_joint(tess_context *ctx, tess_device *device,
                                  const tess_decode_encoding *encoding, int64_t electrode,
                                  const double *marks, int64_t n, tess_array *out,
                                  tess_decode_likelihood_report *report)
{
    if (tess_de_gmm_is_there(ctx, device, encoding)) {
        return tess_de_gmm_joint_there(ctx, device, encoding, electrode, marks, n, out, report);
    }
    tess_blocks scratch;
    tess_blocks_init(&scratch, &ctx->heap);
    tile_job job;
    tess_status status = open_tile(&scratch, encoding, &job);
    if (status == TESS_OK) {
        status = electrode_values(ctx, &job, electrode, marks, n, NULL, out, report);
    }
    tess_blocks_free(&scratch);
    return status;
}
