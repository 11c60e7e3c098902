// Writing recordings: our own layout, as named arrays of one .npz or HDF5 file.
#include "base/file.h"
#include "base/status.h"
#include "runtime/bundle.h"
#include "systems/decode/files/recording.h"

#include <string.h>

enum { MAX_ARRAYS = 32 };

typedef struct output {
    tess_context *ctx;
    tess_blocks blocks; // joined copies
    tess_format_writer_input arrays[MAX_ARRAYS];
    int64_t n_array;
    double scalars[3];
    int n_scalar;
} output;

static void add(output *out, const char *name, tess_dtype dtype, int32_t rank, int64_t rows,
                int64_t columns, const void *data)
{
    TESS_ASSERT(out->n_array < MAX_ARRAYS);
    tess_bundle_input(&out->arrays[out->n_array++], name, dtype, rank,
                      (const int64_t[]){rows, columns}, data);
}

// Nothing, where there is nothing.
static void add_optional(output *out, const char *name, tess_dtype dtype, int32_t rank,
                         int64_t rows, int64_t columns, const void *data)
{
    if (data) {
        add(out, name, dtype, rank, rows, columns, data);
    }
}

static void add_scalar(output *out, const char *name, double value)
{
    if (value != 0) {
        out->scalars[out->n_scalar] = value;
        add(out, name, TESS_F64, 0, 0, 0, &out->scalars[out->n_scalar++]);
    }
}

static void add_position(output *out, const char *time_name, const char *name,
                         const tess_decode_position *position)
{
    add(out, time_name, TESS_F64, 1, position->n_sample, 0, position->time);
    add(out, name, TESS_F64, 2, position->n_sample, position->n_dim, position->position);
}

// Names of one set of spikes.
typedef struct names {
    const char *times;
    const char *offsets;
    const char *marks;
} names;

static bool is_uniform(const tess_decode_spikes *spikes)
{
    for (int64_t e = 1; e < spikes->n_electrode; e++) {
        if (spikes->n_feature[e] != spikes->n_feature[0]) {
            return false;
        }
    }
    return true;
}

static tess_status add_marks(output *out, const tess_decode_spikes *spikes, const char *name,
                             int64_t n_spike)
{
    const tess_dtype dtype = (tess_dtype)spikes->mark_dtype;
    const size_t item = tess_dtype_bytes(dtype);
    int64_t n_value = 0;
    for (int64_t e = 0; e < spikes->n_electrode; e++) {
        n_value += spikes->n_spike[e] * spikes->n_feature[e];
    }
    char *joined = tess_blocks_alloc(&out->blocks, n_value, item, "marks");
    if (!joined) {
        return TESS_E_MEMORY;
    }
    char *at = joined;
    for (int64_t e = 0; e < spikes->n_electrode; e++) {
        const size_t bytes = (size_t)(spikes->n_spike[e] * spikes->n_feature[e]) * item;
        if (bytes > 0) {
            memcpy(at, spikes->marks[e], bytes);
        }
        at += bytes;
    }
    if (is_uniform(spikes)) {
        const int64_t n_feature = spikes->n_electrode > 0 ? spikes->n_feature[0] : 0;
        add(out, name, dtype, 2, n_spike, n_feature, joined);
    } else {
        add(out, name, dtype, 1, n_value, 0, joined);
    }
    return TESS_OK;
}

static tess_status add_spikes(output *out, const tess_decode_spikes *spikes, const names *n)
{
    const int64_t n_electrode = spikes->n_electrode;
    int64_t *offsets = tess_blocks_alloc(&out->blocks, n_electrode + 1, sizeof *offsets, "offsets");
    if (!offsets) {
        return TESS_E_MEMORY;
    }
    for (int64_t e = 0; e < n_electrode; e++) {
        offsets[e + 1] = offsets[e] + spikes->n_spike[e];
    }
    double *times =
        tess_blocks_alloc(&out->blocks, offsets[n_electrode], sizeof *times, "spike times");
    if (!times) {
        return TESS_E_MEMORY;
    }
    for (int64_t e = 0; e < n_electrode; e++) {
        if (spikes->n_spike[e] > 0) {
            memcpy(times + offsets[e], spikes->times[e],
                   (size_t)spikes->n_spike[e] * sizeof *times);
        }
    }
    add(out, n->times, TESS_F64, 1, offsets[n_electrode], 0, times);
    add(out, n->offsets, TESS_I64, 1, n_electrode + 1, 0, offsets);
    return spikes->marks ? add_marks(out, spikes, n->marks, offsets[n_electrode]) : TESS_OK;
}

static tess_status add_all_spikes(output *out, const tess_decode_recording_info *info)
{
    static const names encoding = {"spike_times", "spike_offsets", "marks"};
    static const names decoding = {"decode_spike_times", "decode_spike_offsets", "decode_marks"};
    const tess_decode_spikes *spikes = &info->training.spikes;
    TESS_TRY(add_spikes(out, spikes, &encoding));
    if (spikes->marks && !is_uniform(spikes)) {
        add(out, "n_feature", TESS_I64, 1, spikes->n_electrode, 0, spikes->n_feature);
    }
    add_optional(out, "electrode_id", TESS_I64, 1, spikes->n_electrode, 0, info->electrode_id);
    if (info->observation.spikes.times != spikes->times) {
        TESS_TRY(add_spikes(out, &info->observation.spikes, &decoding));
    }
    if (!info->unit) {
        return TESS_OK;
    }
    const tess_decode_spikes *seen = &info->observation.spikes;
    int64_t n_spike = 0;
    for (int64_t e = 0; e < seen->n_electrode; e++) {
        n_spike += seen->n_spike[e];
    }
    int32_t *unit = tess_blocks_alloc(&out->blocks, n_spike, sizeof *unit, "units");
    if (!unit) {
        return TESS_E_MEMORY;
    }
    add(out, "unit", TESS_I32, 1, n_spike, 0, unit);
    for (int64_t e = 0; e < seen->n_electrode; e++) {
        if (seen->n_spike[e] > 0) {
            memcpy(unit, info->unit[e], (size_t)seen->n_spike[e] * sizeof *unit);
        }
        unit += seen->n_spike[e];
    }
    return TESS_OK;
}

static void add_track(output *out, const tess_decode_track *track)
{
    add(out, "node_positions", TESS_F64, 2, track->n_node, 2, track->node_position);
    add(out, "edges", TESS_I64, 2, track->n_edge, 2, track->edges);
    add_optional(out, "edge_length", TESS_F64, 1, track->n_edge, 0, track->edge_length);
    add_optional(out, "edge_order", TESS_I64, 2, track->n_order, 2, track->edge_order);
    add_optional(out, "edge_spacing", TESS_F64, 1, track->n_spacing, 0,
                 track->n_spacing > 0 ? track->edge_spacing : NULL);
}

static tess_status collect(output *out, const tess_decode_recording_info *info)
{
    const tess_decode_position *position = &info->training.position;
    const tess_decode_observation *seen = &info->observation;
    const int64_t n_dim = position->n_dim;
    add_position(out, "position_time", "position", position);
    add_optional(out, "is_training", TESS_BOOL, 1, position->n_sample, 0,
                 info->training.is_training);
    if (seen->time != position->time) {
        add(out, "time", TESS_F64, 1, seen->n_time, 0, seen->time);
    }
    if (seen->position.n_sample > 0 && seen->position.position != position->position) {
        add_position(out, "dec_position_time", "dec_position", &seen->position);
    }
    add_optional(out, "is_missing", TESS_BOOL, 1, seen->n_time, 0, seen->is_missing);
    TESS_TRY(add_all_spikes(out, info));
    if (info->has_track) {
        add_track(out, &info->track);
    }
    add_optional(out, "interior_position", TESS_F64, 2, info->n_interior_position, n_dim,
                 info->interior_position);
    add_scalar(out, "place_bin_size", info->place_bin_size);
    add_scalar(out, "position_std", info->position_std);
    add_scalar(out, "waveform_std", info->waveform_std);
    add_optional(out, "true_position", TESS_F64, 2, seen->n_time, n_dim, info->true_position);
    add_optional(out, "represented_position", TESS_F64, 2, seen->n_time, n_dim,
                 info->represented_position);
    add_optional(out, "is_replay", TESS_BOOL, 1, seen->n_time, 0, info->is_replay);
    return TESS_OK;
}

tess_status tess_decode_recording_save(tess_context *ctx, const tess_decode_recording *recording,
                                       const char *path, int overwrite)
{
    tess_error_clear();
    TESS_TRY(tess_file_check_distinct(recording->info.path, path));
    output out = {.ctx = ctx};
    tess_blocks_init(&out.blocks, &ctx->heap);
    tess_status status = collect(&out, &recording->info);
    if (status == TESS_OK) {
        const tess_origin made = {.stage = "decode.simulate",
                                  .tables = {tess_decode_simulate_params()},
                                  .values = {&recording->simulation}};
        const char *input = recording->info.path;
        const tess_origin copied = {.stage = "decode.recording",
                                    .inputs = {input && input[0] ? input : NULL}};
        status = tess_bundle_write_from(ctx, recording->is_simulated ? &made : &copied, path,
                                        out.arrays, out.n_array, overwrite);
    }
    tess_blocks_free(&out.blocks);
    return status;
}
