// What a result consists of.
#include "systems/decode/result/result.h"

#include "base/status.h"
#include "systems/decode/places/environment.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const AXIS_PREFIX[TESS_DECODE_MAX_DIM] = {"x_", "y_", "z_"};

// "env0_" + "x_" + "position"; the axis is named only where there are several.
static const char *name_of(tess_de_result *r, const char *prefix, int64_t axis, int64_t n_axis,
                           const char *name)
{
    char text[96];
    snprintf(text, sizeof text, "%s%s%s", prefix, n_axis > 1 ? AXIS_PREFIX[axis] : "", name);
    return tess_blocks_copy(&r->memory, text, (int64_t)strlen(text) + 1, 1, "names");
}

// dims decides on rank; data NULL: room only.
static tess_status add(tess_de_result *r, const char *name, const char *dims, int32_t dtype,
                       int64_t n0, int64_t n1, const void *data, const char *units)
{
    if (!name || !dims || r->n_item == TESS_DE_RESULT_ITEMS) {
        return name && dims ? tess_error_set(TESS_E_SHAPE, "more environments than a file takes")
                            : TESS_E_MEMORY;
    }
    tess_format_layout *item = &r->layout[r->n_item++];
    *item = (tess_format_layout){.dataset = name,
                                 .dims = dims[0] ? dims : NULL,
                                 .units = units,
                                 .dtype = dtype,
                                 .rank = dims[0] == '\0'     ? 0
                                         : strchr(dims, '|') ? 2
                                                             : 1,
                                 .item_bytes = (int64_t)tess_dtype_bytes((tess_dtype)dtype),
                                 .data = data};
    item->shape[0] = n0;
    item->shape[1] = n1;
    return TESS_OK;
}

static tess_status add_text(tess_de_result *r, const char *name, const char *dims,
                            const char *const *texts, int64_t n)
{
    size_t width = 1;
    for (int64_t i = 0; i < n; i++) {
        width = strlen(texts[i]) > width ? strlen(texts[i]) : width;
    }
    char *chars = tess_blocks_alloc(&r->memory, n, width, "names");
    if (!chars) {
        return TESS_E_MEMORY;
    }
    for (int64_t i = 0; i < n; i++) {
        memcpy(chars + (size_t)i * width, texts[i], strlen(texts[i]));
    }
    TESS_TRY(add(r, name, dims, TESS_BYTES, n, 0, chars, NULL));
    r->layout[r->n_item - 1].item_bytes = (int64_t)width;
    return TESS_OK;
}

// 0, 1, ...: the coordinate of an axis that has no other.
static tess_status add_count(tess_de_result *r, const char *name, int64_t n)
{
    int64_t *values = tess_blocks_alloc(&r->memory, n, sizeof *values, "coordinates");
    if (!values) {
        return TESS_E_MEMORY;
    }
    for (int64_t i = 0; i < n; i++) {
        values[i] = i;
    }
    return add(r, name, name, TESS_I64, n, 0, values, NULL);
}

static tess_status add_states(tess_de_result *r)
{
    const tess_decode_detector *d = r->detector;
    const int64_t n = d->info.n_state;
    const char **environments = tess_blocks_alloc(&r->memory, n, sizeof *environments, "names");
    int64_t *groups = tess_blocks_alloc(&r->memory, n, sizeof *groups, "encoding groups");
    if (!environments || !groups) {
        return TESS_E_MEMORY;
    }
    for (int64_t i = 0; i < n; i++) {
        const tess_decode_state *s = &d->config.states[i];
        groups[i] = s->is_no_spike ? -1 : s->encoding;
        environments[i] =
            s->is_no_spike
                ? ""
                : tess_decode_environment_get_info(d->environments[s->environment])->name;
    }
    TESS_TRY(add_text(r, "states", "states", d->info.state_names, n));
    TESS_TRY(add_text(r, "next_states", "next_states", d->info.state_names, n));
    TESS_TRY(add_text(r, "environments", "states", environments, n));
    TESS_TRY(add(r, "encoding_groups", "states", TESS_I64, n, 0, groups, NULL));
    TESS_TRY(add(r, "discrete_initial", "states", TESS_F64, n, 0, d->discrete_initial, NULL));
    return add(r, "discrete_transition", "states|next_states", TESS_F64, n, n,
               d->discrete_transition, NULL);
}

// Most coordinates a place has in any environment.
static int64_t place_dims(const tess_decode_detector *d)
{
    int64_t most = 1;
    for (int32_t i = 0; i < d->info.n_state; i++) {
        if (d->state_env[i]) {
            const int64_t n = tess_decode_environment_get_info(d->state_env[i])->n_place_dim;
            most = n > most ? n : most;
        }
    }
    return most;
}

static tess_status add_state_bins(tess_de_result *r)
{
    const tess_decode_detector_info *info = &r->detector->info;
    const int64_t n_bin = info->n_state_bin;
    const int64_t n_axis = place_dims(r->detector);
    TESS_TRY(add_count(r, "state_bins", n_bin));
    TESS_TRY(add(r, "state_ind", "state_bins", TESS_I32, n_bin, 0, info->state_of_bin, NULL));
    TESS_TRY(add(r, "all_index", "state_bins", TESS_I64, n_bin, 0, info->all_index, NULL));
    for (int64_t axis = 0; axis < n_axis; axis++) {
        double *centers = tess_blocks_alloc(&r->memory, n_bin, sizeof *centers, "centres");
        if (!centers) {
            return TESS_E_MEMORY;
        }
        for (int64_t b = 0; b < n_bin; b++) {
            const int32_t state = info->state_of_bin[b];
            const tess_decode_environment_info *env =
                r->detector->state_env[state]
                    ? tess_decode_environment_get_info(r->detector->state_env[state])
                    : NULL;
            const int64_t p = b - info->state_first[state];
            centers[b] = env && axis < env->n_place_dim
                             ? env->interior_centers[p * env->n_place_dim + axis]
                             : (double)NAN;
        }
        r->centers[axis] = centers;
        TESS_TRY(add(r, name_of(r, "", axis, n_axis, "position"), "state_bins", TESS_F64, n_bin, 0,
                     centers, "cm"));
    }
    return TESS_OK;
}

static tess_status add_axis(tess_de_result *r, const char *prefix, const char *bins,
                            const tess_decode_environment_info *env, int64_t axis)
{
    double *centers = tess_blocks_alloc(&r->memory, env->n_bin, sizeof *centers, "bin centres");
    if (!centers) {
        return TESS_E_MEMORY;
    }
    for (int64_t b = 0; b < env->n_bin; b++) {
        centers[b] = env->bin_centers[b * env->n_place_dim + axis];
    }
    TESS_TRY(add(r, name_of(r, prefix, axis, env->n_place_dim, "position"), bins, TESS_F64,
                 env->n_bin, 0, centers, "cm"));
    const char *edges = name_of(r, prefix, axis, env->n_place_dim, "position_edges");
    return add(r, edges, edges, TESS_F64, env->grid_shape[axis] + 1, 0, env->bin_edges[axis], "cm");
}

// The graph of a track: without it the line says nothing of what is near to what.
static tess_status add_graph(tess_de_result *r, const char *prefix,
                             const tess_decode_environment *env)
{
    const int64_t n_edge = env->info.n_track_edge;
    const int64_t n_node = env->n_node;
    double *x = tess_blocks_alloc(&r->memory, 2 * n_node, sizeof *x, "nodes");
    int64_t *from = tess_blocks_alloc(&r->memory, 2 * n_edge, sizeof *from, "edges");
    double *start = tess_blocks_alloc(&r->memory, n_edge, sizeof *start, "edges");
    const char *nodes = name_of(r, prefix, 0, 1, "nodes");
    const char *edges = name_of(r, prefix, 0, 1, "edges");
    if (!x || !from || !start || !nodes || !edges) {
        return TESS_E_MEMORY;
    }
    double *y = x + n_node;
    int64_t *to = from + n_edge;
    for (int64_t v = 0; v < 2 * n_node; v++) {
        x[v] = (double)NAN; // a node without an edge is nowhere on the track
    }
    for (int64_t e = 0; e < n_edge; e++) {
        const tess_de_track_edge *edge = &env->track_edges[e];
        from[e] = edge->first_node;
        to[e] = edge->node[0] + edge->node[1] - edge->first_node;
        start[e] = edge->start;
        for (int i = 0; i < 2; i++) {
            x[edge->node[i]] = edge->position[i][0];
            y[edge->node[i]] = edge->position[i][1];
        }
    }
    TESS_TRY(add_count(r, nodes, n_node));
    TESS_TRY(add_count(r, edges, n_edge));
    TESS_TRY(add(r, name_of(r, prefix, 0, 1, "node_x"), nodes, TESS_F64, n_node, 0, x, "cm"));
    TESS_TRY(add(r, name_of(r, prefix, 0, 1, "node_y"), nodes, TESS_F64, n_node, 0, y, "cm"));
    TESS_TRY(add(r, name_of(r, prefix, 0, 1, "edge_from"), edges, TESS_I64, n_edge, 0, from, NULL));
    TESS_TRY(add(r, name_of(r, prefix, 0, 1, "edge_to"), edges, TESS_I64, n_edge, 0, to, NULL));
    return add(r, name_of(r, prefix, 0, 1, "edge_start"), edges, TESS_F64, n_edge, 0, start, "cm");
}

static tess_status add_environment(tess_de_result *r, int64_t index)
{
    const tess_decode_environment_info *env =
        tess_decode_environment_get_info(r->detector->environments[index]);
    char prefix[32];
    snprintf(prefix, sizeof prefix, "env%lld_", (long long)index);
    const char *bins = name_of(r, prefix, 0, 1, "bins");
    const char *axes = name_of(r, prefix, 0, 1, "axes");
    if (!bins || !axes) {
        return TESS_E_MEMORY;
    }
    TESS_TRY(add_count(r, bins, env->n_bin));
    TESS_TRY(add_count(r, axes, env->n_place_dim));
    TESS_TRY(add(r, name_of(r, prefix, 0, 1, "is_interior"), bins, TESS_U8, env->n_bin, 0,
                 env->is_interior, NULL));
    TESS_TRY(add(r, name_of(r, prefix, 0, 1, "grid_shape"), axes, TESS_I64, env->n_place_dim, 0,
                 env->grid_shape, NULL));
    for (int64_t axis = 0; axis < env->n_place_dim; axis++) {
        TESS_TRY(add_axis(r, prefix, bins, env, axis));
    }
    return env->is_track ? add_graph(r, prefix, r->detector->environments[index]) : TESS_OK;
}

// Is the animal's position known at any decoded time?
static bool is_tracked(const tess_decode_observation *o)
{
    int64_t t = 0;
    while (t < o->n_time && !tess_de_is_tracked(&o->position, o->time[t])) {
        t++;
    }
    return t < o->n_time;
}

// The animal, where one environment's coordinates are everybody's and its position is known.
static tess_status add_true_position(tess_de_result *r, const tess_decode_stream_config *config,
                                     const tess_de_result_intervals *intervals)
{
    const tess_decode_detector *d = r->detector;
    const tess_decode_position *position = &r->observation->position;
    const bool is_given = config->recording && config->recording->true_position;
    if (d->n_environment != 1 || (!is_given && !is_tracked(r->observation))) {
        return TESS_OK;
    }
    const tess_decode_environment_info *env = tess_decode_environment_get_info(d->environments[0]);
    const int64_t n_dim =
        is_given ? config->recording->observation.position.n_dim : position->n_dim;
    if (n_dim != env->n_dim) {
        return TESS_OK;
    }
    r->true_position = !is_given   ? NULL
                       : intervals ? intervals->true_position
                                   : config->recording->true_position;
    r->n_true_axis = env->n_place_dim;
    for (int64_t axis = 0; axis < env->n_place_dim; axis++) {
        TESS_TRY(add(r, name_of(r, "true_", axis, env->n_place_dim, "position"), "time", TESS_F64,
                     r->observation->n_time, 0, NULL, "cm"));
    }
    r->has_true_edge = env->is_track;
    return env->is_track
               ? add(r, "true_edge", "time", TESS_I32, r->observation->n_time, 0, NULL, NULL)
               : TESS_OK;
}

static tess_status add_path(tess_de_result *r)
{
    const int64_t n_time = r->observation->n_time;
    const int64_t n_axis = place_dims(r->detector);
    TESS_TRY(add(r, "most_likely_bin", "time", TESS_I64, n_time, 0, NULL, NULL));
    TESS_TRY(add(r, "most_likely_state", "time", TESS_I32, n_time, 0, NULL, NULL));
    for (int64_t axis = 0; axis < n_axis; axis++) {
        TESS_TRY(add(r, name_of(r, "most_likely_", axis, n_axis, "position"), "time", TESS_F64,
                     n_time, 0, NULL, "cm"));
    }
    return TESS_OK;
}

static tess_status add_rows(tess_de_result *r, const tess_decode_stream_config *config)
{
    const int64_t n_time = r->observation->n_time;
    const int64_t n_bin = r->detector->info.n_state_bin;
    const int64_t n_state = r->detector->info.n_state;
    const struct {
        const char *name;
        const char *dims;
        int64_t width;
        int32_t when; // any of these bits; 0: always
    } rows[] = {
        {"acausal_posterior", "time|state_bins", n_bin, 0},
        {"acausal_state_probabilities", "time|states", n_state, 0},
        {"causal_posterior", "time|state_bins", n_bin, TESS_DECODE_WANT_FILTER},
        {"causal_state_probabilities", "time|states", n_state, TESS_DECODE_WANT_FILTER},
        {"predictive_state_probabilities", "time|states", n_state, TESS_DECODE_WANT_PREDICTIVE},
        {"predictive_posterior", "time|state_bins", n_bin,
         TESS_DECODE_WANT_PREDICTIVE | TESS_DECODE_WANT_PREDICTIVE_POSTERIOR},
        {"log_likelihood", "time|state_bins", n_bin, TESS_DECODE_WANT_LOG_LIKELIHOOD},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].when == 0 || (rows[i].when & config->want)) {
            TESS_TRY(add(r, rows[i].name, rows[i].dims, config->dtype, n_time, rows[i].width, NULL,
                         NULL));
        }
    }
    if (config->want & TESS_DECODE_WANT_PATH) {
        TESS_TRY(add_path(r));
    }
    return add(r, "log_evidence", "", TESS_F64, 0, 0, NULL, NULL);
}

// The likelihood is stored once per distinct column and written once per state bin.
static tess_status make_expand_buffer(tess_de_result *r, const tess_decode_stream_config *config)
{
    const tess_decode_detector_info *info = &r->detector->info;
    if (!(config->want & TESS_DECODE_WANT_LOG_LIKELIHOOD)) {
        return TESS_OK;
    }
    r->expand_rows = TESS_DE_CONVERT_BYTES / (info->n_state_bin * (int64_t)sizeof(double)) + 1;
    r->expand_buffer = tess_blocks_alloc(&r->memory, r->expand_rows * info->n_state_bin,
                                         sizeof(double), "likelihood rows");
    return r->expand_buffer ? TESS_OK : TESS_E_MEMORY;
}

static tess_status add_intervals(tess_de_result *r, const tess_de_result_intervals *t)
{
    TESS_TRY(add(r, "interval", "time", TESS_I64, r->observation->n_time, 0, t->of_row, NULL));
    TESS_TRY(add(r, "intervals", "intervals", TESS_I64, t->n, 0, t->number, NULL));
    TESS_TRY(add(r, "interval_start", "intervals", TESS_F64, t->n, 0, t->start, "s"));
    TESS_TRY(add(r, "interval_end", "intervals", TESS_F64, t->n, 0, t->end, "s"));
    TESS_TRY(add(r, "interval_rows", "intervals", TESS_I64, t->n, 0, t->n_row, NULL));
    return add(r, "interval_log_evidence", "intervals", TESS_F64, t->n, 0, NULL, NULL);
}

static tess_status describe(tess_de_result *r, const tess_decode_stream_config *config,
                            const tess_de_result_intervals *intervals)
{
    const int64_t n_time = r->observation->n_time;
    TESS_TRY(add(r, "time", "time", TESS_F64, n_time, 0, r->observation->time, "s"));
    TESS_TRY(add_states(r));
    TESS_TRY(add_state_bins(r));
    for (int64_t i = 0; i < r->detector->n_environment; i++) {
        TESS_TRY(add_environment(r, i));
    }
    TESS_TRY(add_true_position(r, config, intervals));
    if (intervals) {
        TESS_TRY(add_intervals(r, intervals));
    }
    TESS_TRY(add_rows(r, config));
    return make_expand_buffer(r, config);
}

tess_status tess_de_result_describe(tess_context *ctx, const tess_decode_detector *detector,
                                    const tess_decode_observation *observation,
                                    const tess_decode_stream_config *config,
                                    const tess_de_result_intervals *intervals,
                                    tess_de_result *result)
{
    memset(result, 0, sizeof *result);
    result->ctx = ctx;
    result->detector = detector;
    result->observation = observation;
    tess_blocks_init(&result->memory, &ctx->heap);
    for (int i = 0; i < TESS_DE_RESULT_ITEMS; i++) {
        result->items[i].fd = -1;
    }
    const tess_status status = describe(result, config, intervals);
    if (status != TESS_OK) {
        tess_de_result_close(result);
    }
    return status;
}
