// Likelihoods of rows: collect the spikes, ask the algorithm, put missing rows to 0.
#include "systems/decode/encoding/evaluate.h"

#include "base/status.h"
#include "base/struct_read.h"
#include "systems/decode/settings/check.h"
#include "systems/decode/store/inputs.h"

#include <math.h>
#include <string.h>

// Where the animal is at the rows' times and at each spike's own time.
typedef struct places {
    double *row;          // [n_row][n_dim]
    const double **spike; // [n_electrode] -> [n][n_dim]
    uint8_t *is_missing;  // [n_row]: tracking is lost at the row or at one of its spikes
} places;

static bool any_nan(const double *place, int64_t n_dim)
{
    for (int64_t k = 0; k < n_dim; k++) {
        if (isnan(place[k])) {
            return true;
        }
    }
    return false;
}

static tess_status place_at(tess_blocks *blocks, const tess_decode_environment *env,
                            const tess_decode_position *position, const double *time, int64_t n,
                            double *place)
{
    double *raw = tess_blocks_alloc(blocks, n, (size_t)position->n_dim * sizeof *raw, "positions");
    if (!raw) {
        return TESS_E_MEMORY;
    }
    TESS_TRY(tess_decode_position_at(position->time, position->position, position->n_sample,
                                     position->n_dim, time, n, raw));
    return tess_decode_place(env, raw, n, place);
}

static tess_status find_places(tess_blocks *blocks, const tess_decode_encoding *encoding,
                               const tess_decode_observation *o, const tess_de_row_spikes *spikes,
                               places *out)
{
    const int64_t n_dim = encoding->info.n_place_dim;
    const int64_t n_electrode = o->spikes.n_electrode;
    const size_t place_bytes = (size_t)n_dim * sizeof(double);
    double *all = tess_blocks_alloc(blocks, spikes->n_total, place_bytes, "spike positions");
    out->row = tess_blocks_alloc(blocks, spikes->n_row, place_bytes, "positions of rows");
    out->spike = tess_blocks_alloc(blocks, n_electrode, sizeof *out->spike, "spike places");
    out->is_missing = tess_blocks_alloc(blocks, spikes->n_row, 1, "missing rows");
    if (!all || !out->row || !out->spike || !out->is_missing) {
        return TESS_E_MEMORY;
    }
    TESS_TRY(place_at(blocks, encoding->env, &o->position, o->time + spikes->first, spikes->n_row,
                      out->row));
    for (int64_t k = 0; k < spikes->n_row; k++) {
        out->is_missing[k] = any_nan(out->row + k * n_dim, n_dim);
    }
    for (int64_t e = 0; e < n_electrode; e++) {
        const int64_t first = spikes->electrode_first[e];
        double *place = all + first * n_dim;
        TESS_TRY(place_at(blocks, encoding->env, &o->position, spikes->time[e],
                          spikes->electrode_first[e + 1] - first, place));
        out->spike[e] = place;
    }
    for (int64_t i = 0; i < spikes->n_total; i++) {
        out->is_missing[spikes->row[i]] |= any_nan(all + i * n_dim, n_dim);
    }
    return TESS_OK;
}

// Those of a device are cleared by who asked for them.
static void clear_rows(const uint8_t *is_missing, tess_array *out)
{
    if (out->space == TESS_SPACE_DEVICE) {
        return;
    }
    const int64_t n_column = out->rank == 2 ? out->shape[1] : 1;
    const size_t row_bytes = (size_t)n_column * (size_t)out->item_bytes;
    for (int64_t k = 0; is_missing && k < out->shape[0]; k++) {
        if (is_missing[k]) {
            memset((char *)out->data + (size_t)k * row_bytes, 0, row_bytes);
        }
    }
}

static tess_status collect(tess_context *ctx, tess_device *device, tess_blocks *blocks,
                           const tess_decode_encoding *encoding, const tess_decode_observation *o,
                           int64_t first, int64_t n_row, bool local, tess_array *out,
                           tess_decode_likelihood_report *report)
{
    const bool exclude = encoding->info.floor != TESS_DECODE_FLOOR_ABSOLUTE;
    const tess_de_row_request request = {
        .pool = ctx->pool,
        .observation = o,
        .first = first,
        .n_row = n_row,
        .with_marks = encoding->info.n_feature != NULL,
        .rules = {encoding->config.nan_policy, encoding->config.strict},
        .n_encoding_spike = exclude ? encoding->info.n_spike : NULL};
    tess_de_row_spikes spikes;
    TESS_TRY(tess_de_bin_scale(ctx, encoding, o, &report->bin_scale));
    TESS_TRY(tess_de_collect_rows(blocks, &request, &spikes, report));
    if (!local) {
        TESS_TRY(
            encoding->ops->rows(ctx, device, encoding, &spikes, report->bin_scale, out, report));
    } else {
        places at;
        TESS_TRY(find_places(blocks, encoding, o, &spikes, &at));
        TESS_TRY(encoding->ops->local_rows(ctx, device, encoding, &spikes, report->bin_scale,
                                           at.row, at.spike, out, report));
        clear_rows(at.is_missing, out);
    }
    clear_rows(o->is_missing ? o->is_missing + first : NULL, out);
    return TESS_OK;
}

static tess_status evaluate(tess_context *ctx, tess_device *device,
                            const tess_decode_encoding *encoding,
                            const tess_decode_observation *observation, int64_t first,
                            int64_t n_row, bool local, tess_array *out,
                            tess_decode_likelihood_report *report)
{
    TESS_TRY(tess_context_check_cancel(ctx));
    if (n_row == 0) {
        return TESS_OK;
    }
    tess_blocks blocks;
    tess_blocks_init(&blocks, &ctx->heap);
    const tess_status status =
        collect(ctx, device, &blocks, encoding, observation, first, n_row, local, out, report);
    tess_blocks_free(&blocks);
    return status;
}

void tess_de_warn_floor(tess_context *ctx, const tess_decode_encoding *encoding,
                        const tess_decode_likelihood_report *report)
{
    const double share =
        report->n_value > 0 ? (double)report->n_floored / (double)report->n_value : 0;
    if (encoding->info.floor != TESS_DECODE_FLOOR_ABSOLUTE || !encoding->info.n_feature ||
        (share <= 0.05 && report->n_flat_spike == 0)) {
        return;
    }
    tess_log_warn(&ctx->log, TESS_W_DECODE_FLOOR,
                  "%.3g %% of the (spike, bin) values lie on the absolute floor of 1e-15 and %lld "
                  "of %lld spikes carry no information about position; pass floor=relative, which "
                  "does not depend on the number of features and their units",
                  100 * share, (long long)report->n_flat_spike, (long long)report->n_spike);
}

tess_status tess_de_likelihood_seen(tess_context *ctx, tess_device *device,
                                    const tess_decode_encoding *encoding,
                                    const tess_decode_observation *given, int64_t first,
                                    int64_t n_row, bool local, tess_array *out,
                                    tess_decode_likelihood_report *report)
{
    tess_decode_observation o;
    tess_decode_observation_init(&o, sizeof o);
    TESS_TRY(tess_struct_read(given, &o, sizeof o, "observation"));
    TESS_TRY(tess_de_check_rows(first, n_row, o.n_time));
    TESS_TRY(tess_de_check_grid(encoding, &o, local));
    tess_decode_likelihood_report counts = {.struct_size = sizeof counts,
                                            .bound = encoding->info.bound};
    TESS_TRY(evaluate(ctx, device, encoding, &o, first, n_row, local, out, &counts));
    if (report) {
        tess_struct_init(report, report->struct_size, &counts, sizeof counts);
    } else {
        tess_de_warn_floor(ctx, encoding, &counts); // nobody else could
    }
    return TESS_OK;
}

// Everything is checked before anything is computed.
tess_status tess_de_likelihood(tess_context *ctx, tess_device *device,
                               const tess_decode_encoding *encoding,
                               const tess_decode_observation *given, int64_t first, int64_t n_row,
                               bool local, tess_array *out, tess_decode_likelihood_report *report)
{
    tess_decode_observation o;
    tess_decode_observation_init(&o, sizeof o);
    TESS_TRY(tess_struct_read(given, &o, sizeof o, "observation"));
    TESS_TRY(tess_de_check_rows(first, n_row, o.n_time));
    TESS_TRY(tess_de_check_out(out, n_row, local ? 0 : encoding->info.n_interior));
    if (first == 0) {
        TESS_TRY(tess_de_check_observation(ctx, encoding, &o, local));
    }
    return tess_de_likelihood_seen(ctx, device, encoding, given, first, n_row, local, out, report);
}

static tess_status choose(tess_context *ctx, const tess_decode_encoding *encoding,
                          tess_device **device)
{
    const tess_de_encoding_ops *ops = encoding->ops;
    return tess_stage_choose(ctx, ops->stages, ops->n_stage, "likelihood", device);
}

tess_status tess_decode_log_likelihood(tess_context *ctx, const tess_decode_encoding *encoding,
                                       const tess_decode_observation *observation, int64_t first,
                                       int64_t n_row, tess_array *out,
                                       tess_decode_likelihood_report *report)
{
    tess_error_clear();
    tess_device *device = NULL;
    TESS_TRY(choose(ctx, encoding, &device));
    return tess_de_likelihood(ctx, device, encoding, observation, first, n_row, false, out, report);
}

tess_status tess_decode_local_log_likelihood(tess_context *ctx,
                                             const tess_decode_encoding *encoding,
                                             const tess_decode_observation *observation,
                                             int64_t first, int64_t n_row, tess_array *out,
                                             tess_decode_likelihood_report *report)
{
    tess_error_clear();
    tess_device *device = NULL;
    TESS_TRY(choose(ctx, encoding, &device));
    return tess_de_likelihood(ctx, device, encoding, observation, first, n_row, true, out, report);
}

static tess_status check_joint(const tess_decode_encoding *encoding, int64_t electrode,
                               const tess_array *marks)
{
    if (!encoding->ops->log_joint) {
        TESS_FAIL(TESS_E_UNSUPPORTED, "%s has no marks and no joint density", encoding->ops->name);
    }
    if (electrode < 0 || electrode >= encoding->info.n_electrode) {
        TESS_FAIL(TESS_E_RANGE, "electrode %lld: the model has %lld", (long long)electrode,
                  (long long)encoding->info.n_electrode);
    }
    const int64_t d = encoding->info.n_feature[electrode];
    if (marks->rank != 2 || marks->shape[1] != d) {
        TESS_FAIL(TESS_E_SHAPE, "electrode %lld: fitted with %lld features, got %lld",
                  (long long)electrode, (long long)d,
                  (long long)(marks->rank == 2 ? marks->shape[1] : 0));
    }
    if ((marks->dtype != TESS_F32 && marks->dtype != TESS_F64) ||
        marks->space == TESS_SPACE_DEVICE || !tess_array_is_contiguous(marks)) {
        TESS_FAIL(TESS_E_DTYPE, "marks: expected contiguous f32 or f64 in host memory");
    }
    return TESS_OK;
}

// The marks as f64, each finite.
static tess_status read_marks(const tess_array *marks, int64_t electrode, double *out)
{
    for (int64_t i = 0; i < tess_array_items(marks); i++) {
        out[i] = marks->dtype == TESS_F32 ? (double)((const float *)marks->data)[i]
                                          : ((const double *)marks->data)[i];
        if (!isfinite(out[i])) {
            TESS_FAIL(TESS_E_NUMERIC, "electrode %lld, spike %lld: feature %lld is not finite",
                      (long long)electrode, (long long)(i / marks->shape[1]),
                      (long long)(i % marks->shape[1]));
        }
    }
    return TESS_OK;
}

tess_status tess_decode_log_joint(tess_context *ctx, const tess_decode_encoding *encoding,
                                  int64_t electrode, const tess_array *marks, tess_array *out)
{
    tess_error_clear();
    tess_device *device = NULL;
    TESS_TRY(check_joint(encoding, electrode, marks));
    TESS_TRY(choose(ctx, encoding, &device));
    const int64_t n = marks->shape[0];
    TESS_TRY(tess_de_check_out(out, n, encoding->info.n_interior));
    if (n == 0) {
        return TESS_OK;
    }
    const size_t bytes = (size_t)tess_array_items(marks) * sizeof(double);
    double *values = tess_heap_alloc(&ctx->heap, bytes, TESS_TAG_SCRATCH, "marks");
    if (!values) {
        return TESS_E_MEMORY;
    }
    tess_decode_likelihood_report counts = {.struct_size = sizeof counts};
    tess_status status = read_marks(marks, electrode, values);
    if (status == TESS_OK) {
        status =
            encoding->ops->log_joint(ctx, device, encoding, electrode, values, n, out, &counts);
    }
    tess_heap_free(&ctx->heap, values, bytes, TESS_TAG_SCRATCH);
    return status;
}
