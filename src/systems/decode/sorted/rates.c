#include "systems/decode/sorted/rates.h"
#include "base/status.h"
#include "runtime/resident.h"
#include "stage/decode_likelihood.h"

#include <math.h>
#include <string.h>

// Bytes of rows that a device with its own memory makes at a time.
static const int64_t DEVICE_BYTES = 256 << 20;

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

tess_status tess_de_group_rows(tess_blocks *blocks, const tess_de_row_spikes *spikes,
                               int64_t n_unit, tess_de_row_groups *out)
{
    const int64_t n_row = spikes->n_row;
    int64_t *first = tess_blocks_alloc(blocks, n_row + 1, sizeof *first, "rows");
    int64_t *unit = tess_blocks_alloc(blocks, spikes->n_total, sizeof *unit, "units");
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
            unit[first[spikes->row[i]]++] = e;
        }
    }
    memmove(first + 1, first, (size_t)n_row * sizeof *first); // begins became ends
    first[0] = 0;
    *out = (tess_de_row_groups){.n_row = n_row, .first = first, .unit = unit};
    return TESS_OK;
}

// What the stage reads, where the device can, and room for what it writes.
typedef struct rates_there {
    tess_resident log_field;
    tess_resident summed;
    tess_resident first;
    tess_resident unit;
    tess_resident out; // of the rows at hand; unused where rows are written in place
} rates_there;

static tess_status send(tess_device *device, const tess_decode_encoding *encoding,
                        const tess_de_rates *rates, const tess_de_row_groups *groups,
                        rates_there *there)
{
    const size_t bins = (size_t)encoding->info.n_interior * sizeof(double);
    const size_t units = (size_t)encoding->info.n_electrode;
    const size_t n_row = (size_t)groups->n_row;
    TESS_TRY(tess_resident_from(device, rates->log_field, units * bins, &there->log_field));
    TESS_TRY(tess_resident_from(device, rates->summed, bins, &there->summed));
    TESS_TRY(
        tess_resident_from(device, groups->first, (n_row + 1) * sizeof(int64_t), &there->first));
    return tess_resident_from(device, groups->unit, (size_t)groups->first[n_row] * sizeof(int64_t),
                              &there->unit);
}

static tess_status run(tess_device *device, const tess_decode_encoding *encoding,
                       const tess_de_row_groups *groups, double scale, rates_there *there,
                       tess_array *out)
{
    const int64_t n_bin = encoding->info.n_interior;
    const int64_t row_bytes = n_bin * out->item_bytes;
    const bool is_in_place = device->shares_host_memory || out->space == TESS_SPACE_DEVICE;
    const int64_t fitting = DEVICE_BYTES / row_bytes > 1 ? DEVICE_BYTES / row_bytes : 1;
    const int64_t at_once = is_in_place || groups->n_row < fitting ? groups->n_row : fitting;
    if (!is_in_place) {
        TESS_TRY(tess_resident_create(device, (size_t)(at_once * row_bytes), &there->out));
    }
    for (int64_t row = 0; row < groups->n_row; row += at_once) {
        const int64_t left = groups->n_row - row;
        char *to = (char *)out->data + row * row_bytes;
        const tess_stage_decode_rows args = {.n_row = left < at_once ? left : at_once,
                                             .n_bin = n_bin,
                                             .intensity = there->summed.data,
                                             .row_first = (const int64_t *)there->first.data + row,
                                             .item = there->unit.data,
                                             .values = there->log_field.data,
                                             .out = is_in_place ? (void *)to : there->out.data,
                                             .scale = scale,
                                             .value_dtype = TESS_F64,
                                             .out_dtype = (int32_t)out->dtype};
        TESS_TRY(tess_stage_start(device, TESS_STAGE_DECODE_ROWS, &args, sizeof args));
        TESS_TRY(is_in_place
                     ? tess_stage_finish(device)
                     : tess_resident_fetch(&there->out, to, (size_t)(args.n_row * row_bytes)));
    }
    return TESS_OK;
}

tess_status tess_de_rates_rows(tess_context *ctx, tess_device *device,
                               const tess_decode_encoding *encoding, const tess_de_rates *rates,
                               const tess_de_row_spikes *spikes, double scale, tess_array *out)
{
    tess_blocks scratch;
    tess_blocks_init(&scratch, &ctx->heap);
    rates_there there = {0};
    tess_de_row_groups groups;
    tess_status status = tess_de_group_rows(&scratch, spikes, encoding->info.n_electrode, &groups);
    if (status == TESS_OK) {
        status = send(device, encoding, rates, &groups, &there);
    }
    if (status == TESS_OK) {
        status = run(device, encoding, &groups, scale, &there, out);
    }
    tess_resident *rooms[] = {&there.log_field, &there.summed, &there.first, &there.unit,
                              &there.out};
    for (size_t k = 0; k < sizeof rooms / sizeof *rooms; k++) {
        tess_resident_free(rooms[k]);
    }
    tess_blocks_free(&scratch);
    return status;
}

const int32_t tess_de_rates_stages[1] = {TESS_STAGE_DECODE_ROWS};

size_t tess_de_rates_scratch_bytes(const tess_decode_encoding *encoding)
{
    (void)encoding;
    return 0;
}

void tess_de_rates_spike(const tess_decode_encoding *encoding, const tess_de_rates *rates,
                         int64_t unit, float *out)
{
    const int64_t n_bin = encoding->info.n_interior;
    const double *log_field = rates->log_field + unit * n_bin;
    for (int64_t p = 0; p < n_bin; p++) {
        out[p] = (float)log_field[p];
    }
}
