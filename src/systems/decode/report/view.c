#include "systems/decode/report/view.h"

#include "base/infile.h"
#include "base/status.h"
#include "runtime/bundle.h"
#include "runtime/source.h"
#include "systems/decode/files/recording.h"
#include "systems/decode/report/view_ways.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char MEMORY[] = "a result";

// File and data set of an array of the result.
static void place_of(const tess_de_view *v, const char *name, char path[1200], const char **dataset)
{
    if (v->is_folder) {
        snprintf(path, 1200, "%s/%s.npy", v->path, name);
        *dataset = NULL;
    } else {
        snprintf(path, 1200, "%s", v->path);
        *dataset = name;
    }
}

// Recordings, models and results are easily mistaken for each other.
static tess_status explain_recording(const tess_de_view *v, tess_status status)
{
    tess_bundle bundle = {0};
    char message[TESS_MESSAGE_BYTES];
    tess_error_copy_out(message);
    const bool is_open = !v->is_folder && tess_bundle_open(v->ctx, v->path, &bundle) == TESS_OK;
    const bool is_model = is_open && tess_bundle_find(&bundle, "schema");
    const bool is_recording = is_open && (tess_bundle_find(&bundle, "position_time") ||
                                          tess_bundle_find(&bundle, "units/spike_times"));
    const bool is_events = is_open && tess_bundle_find(&bundle, "line_fit");
    tess_bundle_close(&bundle);
    if (is_events) {
        TESS_FAIL(TESS_E_FORMAT,
                  "%s: is a table of events, not a result; 'tessera decode events RECORDING -o "
                  "EVENTS --report PAGE.html' makes its report",
                  v->path);
    }
    if (v->is_folder && status == TESS_E_NOT_FOUND) {
        TESS_FAIL(TESS_E_NOT_FOUND,
                  "%s: a folder without states.npy is no result of decode; 'tessera decode run "
                  "RECORDING -o FOLDER' makes one",
                  v->path);
    }
    if (is_model) {
        TESS_FAIL(TESS_E_FORMAT,
                  "%s: is a model, not a result; 'tessera decode predict RECORDING --model-file %s "
                  "-o RESULT.h5' makes one",
                  v->path, v->path);
    }
    if (is_recording) {
        TESS_FAIL(
            TESS_E_FORMAT,
            "%s: is a recording, not a result; 'tessera decode run %s -o RESULT.h5' makes one",
            v->path, v->path);
    }
    tess_error_copy_in(message);
    return status;
}

static tess_status open_array(const tess_de_view *v, const char *name, int32_t rank,
                              tess_source **out)
{
    char path[1200];
    tess_source_config config;
    tess_source_config_init(&config, sizeof config);
    place_of(v, name, path, &config.dataset);
    const tess_status status = tess_source_open(v->ctx, path, &config, out);
    if (status != TESS_OK) {
        const bool is_first = strcmp(name, "states") == 0 || strcmp(name, "acausal_posterior") == 0;
        return is_first ? explain_recording(v, status) : status;
    }
    const tess_source_info *info = tess_source_get_info(*out);
    if (info->rank != rank) {
        const int32_t found = info->rank;
        tess_source_close(*out);
        *out = NULL;
        TESS_FAIL(TESS_E_SHAPE, "%s: data set '%s' has %d axes; expected %d, as a result of decode",
                  v->path, name, (int)found, (int)rank);
    }
    return TESS_OK;
}

// A vector of n numbers, as doubles.
static tess_status read_vector(tess_de_view *v, const char *name, int64_t n, double **out)
{
    tess_source *source = NULL;
    TESS_TRY(open_array(v, name, 1, &source));
    const tess_source_info info = *tess_source_get_info(source);
    const int64_t n_item = info.shape[0];
    void *raw = tess_blocks_alloc(&v->memory, n_item, (size_t)info.item_bytes, MEMORY);
    *out = tess_blocks_alloc(&v->memory, n_item, sizeof **out, MEMORY);
    tess_status status = raw && *out ? TESS_OK : TESS_E_MEMORY;
    if (status == TESS_OK && n_item != n) {
        status = tess_error_set(TESS_E_SHAPE, "%s: data set '%s' has %lld values; expected %lld",
                                v->path, name, (long long)n_item, (long long)n);
    }
    if (status == TESS_OK) {
        status = tess_de_view_read(source, 0, n_item, raw, *out);
    }
    tess_source_close(source);
    return status;
}

// A vector with a number per row of the file, read later.
static tess_status open_vector(tess_de_view *v, const char *name, tess_source **out)
{
    TESS_TRY(open_array(v, name, 1, out));
    const int64_t n = tess_source_get_info(*out)->shape[0];
    if (n != v->n_file_row) {
        TESS_FAIL(TESS_E_SHAPE, "%s: data set '%s' has %lld values; expected %lld", v->path, name,
                  (long long)n, (long long)v->n_file_row);
    }
    return TESS_OK;
}

static bool has_array(const tess_de_view *v, const char *name, int32_t rank)
{
    tess_source *source = NULL;
    const bool is_there = open_array(v, name, rank, &source) == TESS_OK;
    tess_source_close(source);
    tess_error_clear();
    return is_there;
}

// Names of states, of environments: texts of a fixed length, or, as netCDF has them, rows of single
// characters.
typedef struct names {
    char *chars; // [n][bytes], zero-padded
    int64_t n;
    int64_t bytes;
} names;

static tess_status read_texts(tess_de_view *v, const char *name, names *out)
{
    tess_source *source = NULL;
    const bool is_flat = has_array(v, name, 1);
    TESS_TRY(open_array(v, name, is_flat ? 1 : 2, &source));
    const tess_source_info info = *tess_source_get_info(source);
    tess_status status = TESS_OK;
    out->n = info.shape[0];
    out->bytes = info.item_bytes * (is_flat ? 1 : info.shape[1]);
    out->chars = tess_blocks_alloc(&v->memory, out->n * out->bytes + 1, 1, MEMORY);
    if (!out->chars) {
        status = TESS_E_MEMORY;
    } else if (info.dtype != TESS_BYTES || out->n < 1) {
        status = tess_error_set(TESS_E_DTYPE, "%s: data set '%s' holds no names", v->path, name);
    } else {
        status = tess_source_read(source, 0, out->n, out->chars, (uint64_t)(out->n * out->bytes));
    }
    tess_source_close(source);
    return status;
}

static tess_status read_names(tess_de_view *v)
{
    names states = {0};
    TESS_TRY(read_texts(v, "states", &states));
    v->names = states.chars;
    v->name_bytes = states.bytes;
    v->n_state = (int32_t)states.n;
    return TESS_OK;
}

static const char *axis_name(const char *prefix, int32_t axis, int32_t n_axis, char text[64])
{
    if (n_axis > 1) {
        snprintf(text, 64, "%s%c_position", prefix, "xyz"[axis]);
    } else {
        snprintf(text, 64, "%sposition", prefix);
    }
    return text;
}

static int32_t count_axes(const tess_de_view *v)
{
    if (has_array(v, "position", 1)) {
        return 1;
    }
    return has_array(v, "z_position", 1) ? 3 : 2;
}

// Local follows the animal, as a state of one bin without a place of its own or as one of all
// places. The file says so by the name alone.
static bool is_local(const tess_de_view *v, int64_t state)
{
    static const char local[] = "local";
    const char *name = v->names + state * v->name_bytes;
    size_t i = 0;
    while (i < sizeof local - 1 && i < (size_t)v->name_bytes &&
           tolower((unsigned char)name[i]) == local[i]) {
        i++;
    }
    const bool ends = i == (size_t)v->name_bytes || name[i] == 0;
    return i == sizeof local - 1 && ends;
}

// Which environment each state is of, by name; one for all where the file does not say.
static tess_status find_environments(tess_de_view *v, int32_t *of_state)
{
    names found = {0};
    v->n_environment = 0;
    if (!has_array(v, "environments", 1) && !has_array(v, "environments", 2)) {
        v->n_environment = 1;
        return TESS_OK;
    }
    TESS_TRY(read_texts(v, "environments", &found));
    if (found.n != v->n_state) {
        TESS_FAIL(TESS_E_SHAPE, "%s: data set 'environments' does not hold a name per state",
                  v->path);
    }
    for (int32_t s = 0; s < v->n_state; s++) {
        char name[sizeof v->environments[0].name];
        int32_t e = 0;
        snprintf(name, sizeof name, "%.*s", (int)found.bytes, found.chars + s * found.bytes);
        while (e < v->n_environment && strcmp(v->environments[e].name, name) != 0) {
            e++;
        }
        // States without spikes have no environment, nor any place.
        of_state[s] = !v->has_places[s] || e == TESS_DE_VIEW_ENVIRONMENTS ? -1 : e;
        if (of_state[s] == v->n_environment) {
            snprintf(v->environments[v->n_environment++].name, sizeof name, "%s", name);
        }
    }
    return TESS_OK;
}

// Bins of a state that has places, first to last, are the places of its environment.
static tess_status number_places(tess_de_view *v, double *const *centers, const uint8_t *outside,
                                 int64_t *place)
{
    int32_t *of_state = tess_blocks_alloc(&v->memory, v->n_state, sizeof *of_state, MEMORY);
    if (!of_state) {
        return TESS_E_MEMORY;
    }
    TESS_TRY(find_environments(v, of_state));
    for (int64_t b = 0, n = 0; b < v->n_state_bin; b++) {
        const int32_t state = v->state_of_bin[b];
        const int32_t e = of_state[state];
        const bool is_placed = e >= 0 && !isnan(centers[0][b]) && !outside[b];
        n = b > 0 && state != v->state_of_bin[b - 1] ? 0 : n;
        place[b] = is_placed                  ? n++
                   : outside[b]               ? TESS_DE_PLACE_OUTSIDE
                   : v->is_local_state[state] ? TESS_DE_PLACE_LOCAL
                                              : TESS_DE_PLACE_NONE;
        if (is_placed && n > v->environments[e].n_place) {
            v->environments[e].n_place = n;
        }
    }
    for (int32_t e = 0; e < v->n_environment; e++) {
        v->environments[e].first_place = v->n_place;
        v->n_place += v->environments[e].n_place;
    }
    for (int64_t b = 0; b < v->n_state_bin; b++) {
        place[b] += place[b] >= 0 ? v->environments[of_state[v->state_of_bin[b]]].first_place : 0;
    }
    for (int32_t a = 0; a < v->n_axis; a++) {
        double *center = tess_blocks_alloc(&v->memory, v->n_place, sizeof *center, MEMORY);
        if (!center) {
            return TESS_E_MEMORY;
        }
        for (int64_t b = 0; b < v->n_state_bin; b++) {
            if (place[b] >= 0) {
                center[place[b]] = centers[a][b];
            }
        }
        v->center[a] = center;
    }
    return TESS_OK;
}

static tess_status read_places(tess_de_view *v)
{
    double *state = NULL;
    double *centers[TESS_DECODE_MAX_DIM] = {0};
    char name[64];
    TESS_TRY(read_vector(v, "state_ind", v->n_state_bin, &state));
    for (int32_t a = 0; a < v->n_axis; a++) {
        TESS_TRY(read_vector(v, axis_name("", a, v->n_axis, name), v->n_state_bin, &centers[a]));
    }
    int64_t *place = tess_blocks_alloc(&v->memory, v->n_state_bin, sizeof *place, MEMORY);
    int32_t *state_of_bin =
        tess_blocks_alloc(&v->memory, v->n_state_bin, sizeof *state_of_bin, MEMORY);
    uint8_t *local = tess_blocks_alloc(&v->memory, v->n_state, 1, MEMORY);
    uint8_t *has_places = tess_blocks_alloc(&v->memory, v->n_state, 1, MEMORY);
    uint8_t *outside = tess_blocks_alloc(&v->memory, v->n_state_bin, 1, MEMORY);
    if (!place || !state_of_bin || !local || !has_places || !outside) {
        return TESS_E_MEMORY;
    }
    TESS_TRY(tess_de_view_find_outside(v, outside));
    for (int32_t s = 0; s < v->n_state; s++) {
        local[s] = is_local(v, s);
    }
    for (int64_t b = 0; b < v->n_state_bin; b++) {
        if (!(state[b] >= 0 && state[b] < v->n_state)) {
            TESS_FAIL(TESS_E_SHAPE, "%s: state_ind[%lld] is %g; there are %d states", v->path,
                      (long long)b, state[b], (int)v->n_state);
        }
        state_of_bin[b] = (int32_t)state[b];
        if (!isnan(centers[0][b])) {
            has_places[state_of_bin[b]] = 1;
        }
    }
    v->place_of_bin = place;
    v->state_of_bin = state_of_bin;
    v->is_local_state = local;
    v->has_places = has_places;
    return number_places(v, centers, outside, place);
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

// Median distance of neighbouring coordinates, all axes of the animal's environment together.
static tess_status find_spacing(tess_de_view *v)
{
    const int64_t n = v->n_environment > 0 ? v->environments[0].n_place : 0;
    double *steps = tess_blocks_alloc(&v->memory, n * v->n_axis, sizeof *steps, MEMORY);
    double *sorted = tess_blocks_alloc(&v->memory, n, sizeof *sorted, MEMORY);
    int64_t n_step = 0;
    if (!steps || !sorted) {
        return TESS_E_MEMORY;
    }
    for (int32_t a = 0; a < v->n_axis; a++) {
        memcpy(sorted, v->center[a], (size_t)n * sizeof *sorted);
        qsort(sorted, (size_t)n, sizeof *sorted, ascending);
        for (int64_t i = 1; i < n; i++) {
            if (sorted[i] > sorted[i - 1]) {
                steps[n_step++] = sorted[i] - sorted[i - 1];
            }
        }
    }
    qsort(steps, (size_t)n_step, sizeof *steps, ascending);
    v->spacing = n_step > 0 ? steps[n_step / 2] : (double)NAN;
    return TESS_OK;
}

static tess_status count_items(const tess_de_view *v, const char *name, int64_t *n)
{
    tess_source *source = NULL;
    TESS_TRY(open_array(v, name, 1, &source));
    *n = tess_source_get_info(source)->shape[0];
    tess_source_close(source);
    return TESS_OK;
}

// The graph of the animal's environment. Files without one hold a line, or say nothing.
static tess_status read_track(tess_de_view *v)
{
    double *node[2] = {0};
    double *ends[2] = {0};
    double *start = NULL;
    int64_t n_node = 0;
    int64_t n_edge = 0;
    if (v->n_axis != 1 || v->n_environment != 1 || !has_array(v, "env0_edge_start", 1)) {
        return TESS_OK;
    }
    TESS_TRY(count_items(v, "env0_node_x", &n_node));
    TESS_TRY(count_items(v, "env0_edge_start", &n_edge));
    TESS_TRY(read_vector(v, "env0_node_x", n_node, &node[0]));
    TESS_TRY(read_vector(v, "env0_node_y", n_node, &node[1]));
    TESS_TRY(read_vector(v, "env0_edge_from", n_edge, &ends[0]));
    TESS_TRY(read_vector(v, "env0_edge_to", n_edge, &ends[1]));
    TESS_TRY(read_vector(v, "env0_edge_start", n_edge, &start));
    return tess_de_view_read_track(v, node[0], node[1], n_node, ends[0], ends[1], start, n_edge);
}

static tess_status find_truth(tess_de_view *v, const tess_decode_recording *recording)
{
    char name[64];
    for (int32_t a = 0; a < v->n_axis; a++) {
        if (!has_array(v, axis_name("true_", a, v->n_axis, name), 1)) {
            break;
        }
        TESS_TRY(open_vector(v, name, &v->truth[a]));
    }
    if (v->track && v->truth[0] && has_array(v, "true_edge", 1)) {
        TESS_TRY(open_vector(v, "true_edge", &v->true_edge));
    }
    if (!recording) {
        return TESS_OK;
    }
    TESS_TRY(tess_de_view_check_recording(v, recording));
    const tess_decode_recording_info *info = &recording->info;
    if (info->has_track || info->training.position.n_dim != v->n_axis) {
        return TESS_OK; // not in the coordinates of the bins
    }
    v->true_position = v->truth[0] ? NULL : info->true_position;
    v->represented_position = info->represented_position;
    return TESS_OK;
}

static tess_status read_evidence(tess_de_view *v)
{
    char path[1200];
    const char *dataset = NULL;
    tess_bundle bundle = {0};
    v->log_evidence = (double)NAN;
    place_of(v, "log_evidence", path, &dataset);
    const tess_status status = tess_bundle_open(v->ctx, path, &bundle);
    const tess_bundle_entry *entry = status != TESS_OK ? NULL
                                     : dataset         ? tess_bundle_find(&bundle, dataset)
                                     : bundle.n_entry  ? &bundle.entries[0]
                                                       : NULL;
    if (entry && entry->n_item == 1 &&
        tess_bundle_read_f64(&bundle, entry, &v->log_evidence) != TESS_OK) {
        v->log_evidence = (double)NAN;
    }
    tess_bundle_close(&bundle);
    tess_error_clear();
    return TESS_OK;
}

static tess_status open_rows(tess_de_view *v)
{
    TESS_TRY(open_array(v, "acausal_posterior", 2, &v->posterior));
    TESS_TRY(open_array(v, "acausal_state_probabilities", 2, &v->states));
    const tess_source_info *posterior = tess_source_get_info(v->posterior);
    const tess_source_info *states = tess_source_get_info(v->states);
    v->n_file_row = posterior->shape[0];
    v->n_state_bin = posterior->shape[1];
    const bool are_real = (posterior->dtype == TESS_F32 || posterior->dtype == TESS_F64) &&
                          (states->dtype == TESS_F32 || states->dtype == TESS_F64);
    if (!are_real || states->shape[0] != v->n_file_row || states->shape[1] != v->n_state ||
        v->n_state_bin < 1) {
        TESS_FAIL(TESS_E_SHAPE,
                  "%s: acausal_posterior and acausal_state_probabilities do not belong together",
                  v->path);
    }
    return TESS_OK;
}

static tess_status read_result(tess_de_view *v, const tess_decode_recording *recording,
                               const tess_de_period *period)
{
    TESS_TRY(read_names(v));
    TESS_TRY(open_rows(v));
    TESS_TRY(open_vector(v, "time", &v->time));
    if (has_array(v, "interval", 1) && has_array(v, "intervals", 1)) {
        TESS_TRY(open_vector(v, "interval", &v->interval));
        TESS_TRY(count_items(v, "intervals", &v->n_interval));
    }
    if (has_array(v, "most_likely_state", 1)) {
        TESS_TRY(open_vector(v, "most_likely_state", &v->path_state));
    }
    v->n_axis = count_axes(v);
    TESS_TRY(read_places(v));
    TESS_TRY(find_spacing(v));
    TESS_TRY(read_track(v));
    TESS_TRY(find_truth(v, recording));
    TESS_TRY(tess_de_view_find_rows(v, period));
    return read_evidence(v);
}

static tess_status start(tess_context *ctx, const char *path, tess_de_view *out)
{
    struct stat info;
    memset(out, 0, sizeof *out);
    if (strlen(path) >= sizeof out->path) {
        TESS_FAIL(TESS_E_NOT_FOUND, "%.80s...: the name is too long", path);
    }
    out->ctx = ctx;
    tess_blocks_init(&out->memory, &ctx->heap);
    snprintf(out->path, sizeof out->path, "%s", path);
    out->is_folder = stat(path, &info) == 0 && S_ISDIR(info.st_mode);
    return TESS_OK;
}

tess_status tess_de_view_count(tess_context *ctx, const char *path, int64_t *n_time)
{
    tess_de_view view;
    TESS_TRY(start(ctx, path, &view));
    const tess_status status = open_array(&view, "acausal_posterior", 2, &view.posterior);
    *n_time = status == TESS_OK ? tess_source_get_info(view.posterior)->shape[0] : 0;
    tess_de_view_close(&view);
    return status;
}

tess_status tess_de_view_open(tess_context *ctx, const char *path,
                              const tess_decode_recording *recording, const tess_de_period *period,
                              tess_de_view *out)
{
    TESS_TRY(start(ctx, path, out));
    const tess_status status = read_result(out, recording, period);
    if (status != TESS_OK) {
        tess_de_view_close(out);
    }
    return status;
}

void tess_de_view_close(tess_de_view *view)
{
    if (view->ctx) {
        tess_source_close(view->posterior);
        tess_source_close(view->states);
        tess_source_close(view->time);
        tess_source_close(view->true_edge);
        tess_source_close(view->path_state);
        tess_source_close(view->interval);
        for (int32_t a = 0; a < TESS_DECODE_MAX_DIM; a++) {
            tess_source_close(view->truth[a]);
        }
        tess_blocks_free(&view->memory);
        memset(view, 0, sizeof *view);
    }
}

void tess_de_view_state_name(const tess_de_view *view, int32_t state, char *text, size_t capacity)
{
    snprintf(text, capacity, "%.*s", (int)view->name_bytes, view->names + state * view->name_bytes);
}
