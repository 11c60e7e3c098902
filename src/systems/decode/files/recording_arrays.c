// Our own layout: named arrays in a .npz file or in the root of an HDF5 file.
#include "base/status.h"
#include "systems/decode/files/recording_input.h"

#include <stdio.h>
#include <string.h>

// Values [n][n_dim] of one row per time; a vector counts as [n][1]. n_dim 0: any up to the limit.
static tess_status read_rows(tess_de_input *in, const char *name, int64_t n, int64_t n_dim,
                             const char *one_per, const double **out, int64_t *found_dim)
{
    const tess_bundle_entry *entry = NULL;
    TESS_TRY(tess_de_input_need(in, name, &entry));
    const int64_t dim = entry->rank == 2 ? entry->shape[1] : 1;
    const char *path = in->bundle.path;
    if (entry->rank != 1 && entry->rank != 2) {
        TESS_FAIL(TESS_E_SHAPE, "%s: data set '%s' has %d axes; expected [rows] or [rows][dims]",
                  path, name, (int)entry->rank);
    }
    if (n >= 0 && entry->shape[0] != n) {
        TESS_FAIL(TESS_E_SHAPE, "%s: data set '%s' has %lld rows; expected %lld, %s", path, name,
                  (long long)entry->shape[0], (long long)n, one_per);
    }
    if (dim < 1 || dim > TESS_DECODE_MAX_DIM) {
        TESS_FAIL(TESS_E_SHAPE, "%s: data set '%s' has %lld columns; expected 1 to %d coordinates",
                  path, name, (long long)dim, TESS_DECODE_MAX_DIM);
    }
    if (n_dim > 0 && dim != n_dim) {
        TESS_FAIL(TESS_E_SHAPE, "%s: data set '%s' has %lld columns; expected %lld, as 'position'",
                  path, name, (long long)dim, (long long)n_dim);
    }
    *found_dim = dim;
    return tess_de_input_f64(in, entry, out);
}

static tess_status read_position(tess_de_input *in, const char *time_name,
                                 const char *position_name, int64_t n_dim,
                                 tess_decode_position *out)
{
    const tess_bundle_entry *entry = NULL;
    char one_per[96];
    snprintf(one_per, sizeof one_per, "one per value of '%s'", time_name);
    TESS_TRY(tess_de_input_need(in, time_name, &entry));
    TESS_TRY(tess_de_input_vector(in, entry, -1, ""));
    out->n_sample = entry->n_item;
    TESS_TRY(tess_de_input_f64(in, entry, &out->time));
    return read_rows(in, position_name, out->n_sample, n_dim, one_per, &out->position, &out->n_dim);
}

// A flag per row, if the file has them.
static tess_status read_flags(tess_de_input *in, const char *name, int64_t n, const char *one_per,
                              const uint8_t **out)
{
    const tess_bundle_entry *entry = tess_bundle_find(&in->bundle, name);
    if (!entry) {
        return TESS_OK;
    }
    TESS_TRY(tess_de_input_vector(in, entry, n, one_per));
    return tess_de_input_bool(in, entry, out);
}

static tess_status read_scalar(tess_de_input *in, const char *name, double *out)
{
    const tess_bundle_entry *entry = tess_bundle_find(&in->bundle, name);
    if (!entry) {
        return TESS_OK;
    }
    if (entry->n_item != 1) {
        TESS_FAIL(TESS_E_SHAPE, "%s: data set '%s' has %lld values; expected one", in->bundle.path,
                  name, (long long)entry->n_item);
    }
    return tess_bundle_read_f64(&in->bundle, entry, out);
}

// Pairs of node numbers [n][2].
static tess_status read_pairs(tess_de_input *in, const tess_bundle_entry *entry, int64_t *n,
                              const int64_t **out)
{
    if (entry->rank != 2 || entry->shape[1] != 2) {
        TESS_FAIL(TESS_E_SHAPE, "%s: data set '%s' must be [n][2] node numbers; its shape differs",
                  in->bundle.path, entry->name);
    }
    *n = entry->shape[0];
    return tess_de_input_i64(in, entry, out);
}

static tess_status read_track(tess_de_input *in)
{
    static const char *const edge_names[] = {"edges", "edge_list", "graph_edges"};
    tess_decode_track *track = &in->recording->info.track;
    const tess_bundle_entry *nodes = tess_bundle_find(&in->bundle, "node_positions");
    const tess_bundle_entry *edges = NULL;
    if (!nodes) {
        return TESS_OK;
    }
    if (nodes->rank != 2 || nodes->shape[1] != 2) {
        TESS_FAIL(TESS_E_SHAPE, "%s: data set 'node_positions' must be [nodes][2], x and y in cm",
                  in->bundle.path);
    }
    for (size_t i = 0; !edges && i < sizeof edge_names / sizeof *edge_names; i++) {
        edges = tess_bundle_find(&in->bundle, edge_names[i]);
    }
    if (!edges) {
        return tess_de_input_need(in, "edges", &edges);
    }
    track->n_node = nodes->shape[0];
    TESS_TRY(tess_de_input_f64(in, nodes, &track->node_position));
    TESS_TRY(read_pairs(in, edges, &track->n_edge, &track->edges));
    const tess_bundle_entry *order = tess_bundle_find(&in->bundle, "edge_order");
    if (order) {
        TESS_TRY(read_pairs(in, order, &track->n_order, &track->edge_order));
    }
    const tess_bundle_entry *lengths = tess_bundle_find(&in->bundle, "edge_length");
    if (lengths) {
        TESS_TRY(tess_de_input_vector(in, lengths, track->n_edge, "one per edge"));
        TESS_TRY(tess_de_input_f64(in, lengths, &track->edge_length));
    }
    const tess_bundle_entry *spacing = tess_bundle_find(&in->bundle, "edge_spacing");
    if (spacing) {
        track->n_spacing = spacing->n_item;
        TESS_TRY(tess_de_input_f64(in, spacing, &track->edge_spacing));
    }
    in->recording->info.has_track = 1;
    return TESS_OK;
}

static tess_status read_decoding(tess_de_input *in)
{
    tess_decode_recording_info *info = &in->recording->info;
    tess_decode_observation *seen = &info->observation;
    const tess_bundle_entry *time = tess_bundle_find(&in->bundle, "time");
    if (time) {
        TESS_TRY(tess_de_input_vector(in, time, -1, ""));
        seen->n_time = time->n_item;
        TESS_TRY(tess_de_input_f64(in, time, &seen->time));
    } else {
        seen->n_time = info->training.position.n_sample;
        seen->time = info->training.position.time;
    }
    if (tess_bundle_find(&in->bundle, "dec_position_time")) {
        return read_position(in, "dec_position_time", "dec_position", info->training.position.n_dim,
                             &seen->position);
    }
    seen->position = info->training.position;
    return TESS_OK;
}

// What is known of the truth, and the recording's own wishes.
static tess_status read_extras(tess_de_input *in)
{
    static const char per_time[] = "one per value of 'time'";
    tess_decode_recording_info *info = &in->recording->info;
    const int64_t n_time = info->observation.n_time;
    const int64_t n_dim = info->training.position.n_dim;
    int64_t found = 0;
    TESS_TRY(read_flags(in, "is_training", info->training.position.n_sample,
                        "one per value of 'position_time'", &info->training.is_training));
    TESS_TRY(read_flags(in, "is_missing", n_time, per_time, &info->observation.is_missing));
    TESS_TRY(read_flags(in, "is_replay", n_time, per_time, &info->is_replay));
    TESS_TRY(read_scalar(in, "place_bin_size", &info->place_bin_size));
    TESS_TRY(read_scalar(in, "position_std", &info->position_std));
    TESS_TRY(read_scalar(in, "waveform_std", &info->waveform_std));
    const tess_bundle_entry *interior = tess_bundle_find(&in->bundle, "interior_position");
    if (interior) {
        info->n_interior_position = interior->rank > 0 ? interior->shape[0] : 0;
        TESS_TRY(
            read_rows(in, "interior_position", -1, n_dim, "", &info->interior_position, &found));
    }
    if (tess_bundle_find(&in->bundle, "true_position")) {
        TESS_TRY(
            read_rows(in, "true_position", n_time, n_dim, per_time, &info->true_position, &found));
    }
    if (tess_bundle_find(&in->bundle, "represented_position")) {
        TESS_TRY(read_rows(in, "represented_position", n_time, n_dim, per_time,
                           &info->represented_position, &found));
    }
    return TESS_OK;
}

tess_status tess_de_read_arrays(tess_de_input *in)
{
    tess_decode_recording_info *info = &in->recording->info;
    TESS_TRY(read_position(in, "position_time", "position", 0, &info->training.position));
    TESS_TRY(read_decoding(in));
    TESS_TRY(read_extras(in));
    TESS_TRY(read_track(in));
    TESS_TRY(tess_de_read_spikes(in));
    return tess_de_read_ids(in, "electrode_id");
}
