#include "systems/decode/sorted/rates.h"
#include "base/status.h"

#include <math.h>
#include <string.h>

// Rows of one block of the pool.
enum { ROWS = 64 };

tess_status tess_de_rates_init(tess_decode_encoding *encoding, const tess_de_selection *s,
                               tess_de_rates *rates)
{
    tess_blocks *blocks = &encoding->blocks;
    tess_decode_encoding_info *info = &encoding->info;
    const int64_t n_field = s->n_electrode * info->n_interior;
    rates->field = tess_blocks_alloc(blocks, n_field, sizeof(double), "place fields");
    rates->log_field = tess_blocks_alloc(blocks, n_field, sizeof(double), "place fields");
    rates->summed = tess_blocks_alloc(blocks, info->n_interior, sizeof(double), "summed rates");
    rates->mean = tess_blocks_alloc(blocks, s->n_electrode, sizeof(double), "mean rates");
    if (!rates->field || !rates->log_field || !rates->summed || !rates->mean) {
        return TESS_E_MEMORY;
    }
    double total = 0;
    for (int64_t i = 0; i < s->n_sample; i++) {
        total += s->weights ? s->weights[i] : 1;
    }
    for (int64_t e = 0; e < s->n_electrode; e++) {
        double spikes = 0;
        for (int64_t i = 0; i < s->n_spike[e]; i++) {
            spikes += s->spike_weight ? s->spike_weight[e][i] : 1;
        }
        rates->mean[e] = total > 0 ? spikes / total : 0;
    }
    info->place_fields = rates->field;
    info->summed_ground_intensity = rates->summed;
    info->mean_rates = rates->mean;
    return TESS_OK;
}

void tess_de_rates_finish(const tess_decode_encoding *encoding, tess_de_rates *rates)
{
    const int64_t n_bin = encoding->info.n_interior;
    for (int64_t e = 0; e < encoding->info.n_electrode; e++) {
        for (int64_t p = 0; p < n_bin; p++) {
            double *rate = &rates->field[e * n_bin + p];
            *rate = *rate > TESS_DE_EPS ? *rate : TESS_DE_EPS; // NaN too
            rates->log_field[e * n_bin + p] = log(*rate);
            rates->summed[p] += *rate;
        }
    }
}

typedef struct rows_job {
    const tess_de_rates *rates;
    const tess_de_row_groups *groups;
    int64_t n_bin;
    double scale;
    double *sums; // [workers][n_bin]
    tess_array *out;
} rows_job;

static tess_status rows_block(void *arg, int64_t block, int32_t worker)
{
    const rows_job *job = arg;
    const int64_t n_bin = job->n_bin;
    double *sum = job->sums + worker * n_bin;
    const int64_t n_row = job->groups->n_row;
    const int64_t end = (block + 1) * ROWS < n_row ? (block + 1) * ROWS : n_row;
    for (int64_t k = block * ROWS; k < end; k++) {
        for (int64_t p = 0; p < n_bin; p++) {
            sum[p] = -job->scale * job->rates->summed[p];
        }
        for (int64_t i = job->groups->first[k]; i < job->groups->first[k + 1]; i++) {
            const double *log_field = job->rates->log_field + job->groups->unit[i] * n_bin;
            for (int64_t p = 0; p < n_bin; p++) {
                sum[p] += log_field[p];
            }
        }
        for (int64_t p = 0; p < n_bin; p++) {
            if (job->out->dtype == TESS_F32) {
                ((float *)job->out->data)[k * n_bin + p] = (float)sum[p];
            } else {
                ((double *)job->out->data)[k * n_bin + p] = sum[p];
            }
        }
    }
    return TESS_OK;
}

tess_status tess_de_group_rows(tess_blocks *blocks, const tess_de_row_spikes *spikes,
                               int64_t n_unit, tess_de_row_groups *out)
{
    const int64_t n_row = spikes->n_row;
    int64_t *first = tess_blocks_alloc(blocks, n_row + 1, sizeof *first, "rows");
    int32_t *unit = tess_blocks_alloc(blocks, spikes->n_total, sizeof *unit, "units");
    if (!first || !unit) {
        return TESS_E_MEMORY;
    }
    for (int64_t i = 0; i < spikes->n_total; i++) {
        first[spikes->row[i] + 1]++;
    }
    for (int64_t k = 0; k < n_row; k++) {
        first[k + 1] += first[k];
    }
    for (int64_t e = 0; e < n_unit; e++) {
        for (int64_t i = spikes->electrode_first[e]; i < spikes->electrode_first[e + 1]; i++) {
            unit[first[spikes->row[i]]++] = (int32_t)e;
        }
    }
    memmove(first + 1, first, (size_t)n_row * sizeof *first); // begins became ends
    first[0] = 0;
    *out = (tess_de_row_groups){.n_row = n_row, .first = first, .unit = unit};
    return TESS_OK;
}

tess_status tess_de_rates_rows(tess_context *ctx, const tess_decode_encoding *encoding,
                               const tess_de_rates *rates, const tess_de_row_spikes *spikes,
                               double scale, tess_array *out)
{
    const int64_t n_bin = encoding->info.n_interior;
    tess_blocks scratch;
    tess_blocks_init(&scratch, &ctx->heap);
    tess_de_row_groups groups;
    tess_status status = tess_de_group_rows(&scratch, spikes, encoding->info.n_electrode, &groups);
    double *sums = tess_blocks_alloc(&scratch, tess_pool_threads(ctx->pool) * n_bin, sizeof *sums,
                                     "sums of rows");
    if (status == TESS_OK) {
        rows_job job = {rates, &groups, n_bin, scale, sums, out};
        status =
            sums ? tess_parallel_for(ctx->pool, (spikes->n_row + ROWS - 1) / ROWS, rows_block, &job)
                 : TESS_E_MEMORY;
    }
    tess_blocks_free(&scratch);
    return status;
}
