// The state in which next to nothing fires.
#include "base/status.h"
#include "base/struct_read.h"
#include "systems/decode/settings/check.h"
#include "systems/decode/store/inputs.h"

#include <math.h>

// A single bin has no width to be measured: that of the usual 500 Hz is taken.
static const double LONE_BIN_S = 0.002;

static tess_status check(const tess_decode_observation *o, double rate, int64_t first,
                         int64_t n_row, const tess_array *out)
{
    if (!(rate > 0) || isinf(rate)) {
        TESS_FAIL(TESS_E_RANGE, "no_spike_rate is %g; expected a positive number", rate);
    }
    if (o->n_time < 0 || (o->n_time > 0 && !o->time)) {
        TESS_FAIL(TESS_E_ARGUMENT, "time: %lld bins, but no times", (long long)o->n_time);
    }
    TESS_TRY(tess_de_check_rows(first, n_row, o->n_time));
    TESS_TRY(tess_de_check_out(out, n_row, 0));
    TESS_TRY(tess_de_check_times(o->time, o->n_time, "time"));
    return tess_de_check_spikes(&o->spikes, false);
}

static void put(tess_array *out, int64_t k, double value)
{
    if (out->dtype == TESS_F32) {
        ((float *)out->data)[k] = (float)value;
    } else {
        ((double *)out->data)[k] = value;
    }
}

static tess_status count_and_put(tess_context *ctx, tess_blocks *blocks,
                                 const tess_de_row_request *request, double rate, tess_array *out)
{
    const tess_decode_observation *o = request->observation;
    tess_decode_likelihood_report report = {0};
    tess_de_row_spikes spikes;
    double step_s = 0;
    TESS_TRY(tess_de_median_step(&ctx->heap, o->time, o->n_time, &step_s));
    TESS_TRY(tess_de_collect_rows(blocks, request, &spikes, &report));
    int64_t *count = tess_blocks_alloc(blocks, request->n_row, sizeof *count, "counts");
    if (!count) {
        return TESS_E_MEMORY;
    }
    for (int64_t i = 0; i < spikes.n_total; i++) {
        count[spikes.row[i]]++;
    }
    const double rho = rate * (step_s > 0 ? step_s : LONE_BIN_S);
    const double log_rho = log(rho);
    const double silence = (double)o->spikes.n_electrode * rho;
    for (int64_t k = 0; k < request->n_row; k++) {
        const bool missing = o->is_missing && o->is_missing[request->first + k];
        put(out, k, missing ? 0 : (double)count[k] * log_rho - silence);
    }
    return TESS_OK;
}

tess_status tess_decode_no_spike_log_likelihood(tess_context *ctx,
                                                const tess_decode_observation *observation,
                                                double rate, int64_t first, int64_t n_row,
                                                tess_array *out)
{
    tess_error_clear();
    tess_decode_observation o;
    tess_decode_observation_init(&o, sizeof o);
    TESS_TRY(tess_struct_read(observation, &o, sizeof o, "observation"));
    TESS_TRY(check(&o, rate, first, n_row, out));
    // Only times count here, and one that is not finite lies in no bin.
    const tess_de_row_request request = {.pool = ctx->pool,
                                         .observation = &o,
                                         .first = first,
                                         .n_row = n_row,
                                         .rules = {.nan_policy = TESS_DECODE_NAN_DROP}};
    tess_blocks blocks;
    tess_blocks_init(&blocks, &ctx->heap);
    const tess_status status = count_and_put(ctx, &blocks, &request, rate, out);
    tess_blocks_free(&blocks);
    return status;
}
