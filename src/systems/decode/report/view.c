#include "systems/decode/report/view.h"

#include "base/infile.h"
#include "base/status.h"
#include "runtime/bundle.h"
#include "runtime/source.h"
#include "systems/decode/files/recording.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char MEMORY[] = "a result";

enum { MAX_PROVENANCE = 16 << 20 };

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

static tess_status open_array(const tess_de_view *v, const char *name, int32_t rank,
                              tess_source **out)
{
    char path[1200];
    tess_source_config config;
    tess_source_config_init(&config, sizeof config);
    place_of(v, name, path, &config.dataset);
    TESS_TRY(tess_source_open(v->ctx, path, &config, out));
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

// A vector of n numbers (n < 0: any), as doubles.
static tess_status read_vector(tess_de_view *v, const char *name, int64_t n, int64_t *found,
                               double **out)
{
    tess_source *source = NULL;
    TESS_TRY(open_array(v, name, 1, &source));
    const tess_source_info info = *tess_source_get_info(source);
    const int64_t n_item = info.shape[0];
    void *raw = tess_blocks_alloc(&v->memory, n_item, (size_t)info.item_bytes, MEMORY);
    *out = tess_blocks_alloc(&v->memory, n_item, sizeof **out, MEMORY);
    tess_status status = raw && *out ? TESS_OK : TESS_E_MEMORY;
    if (status == TESS_OK && n >= 0 && n_item != n) {
        status = tess_error_set(TESS_E_SHAPE, "%s: data set '%s' has %lld values; expected %lld",
                                v->path, name, (long long)n_item, (long long)n);
    }
    if (status == TESS_OK) {
        status = tess_source_read(source, 0, n_item, raw, (uint64_t)(n_item * info.item_bytes));
    }
    for (int64_t i = 0; status == TESS_OK && i < n_item; i++) {
        (*out)[i] = info.dtype == TESS_F64   ? ((const double *)raw)[i]
                    : info.dtype == TESS_I64 ? (double)((const int64_t *)raw)[i]
                    : info.dtype == TESS_I32 ? (double)((const int32_t *)raw)[i]
                                             : (double)((const float *)raw)[i];
    }
    if (found) {
        *found = n_item;
    }
    tess_source_close(source);
    return status;
}

static bool has_array(const tess_de_view *v, const char *name)
{
    tess_source *source = NULL;
    const bool is_there = open_array(v, name, 1, &source) == TESS_OK;
    tess_source_close(source);
    tess_error_clear();
    return is_there;
}

static tess_status read_names(tess_de_view *v)
{
    tess_source *source = NULL;
    TESS_TRY(open_array(v, "states", 1, &source));
    const tess_source_info info = *tess_source_get_info(source);
    tess_status status = TESS_OK;
    char *names = tess_blocks_alloc(&v->memory, info.shape[0] * info.item_bytes + 1, 1, MEMORY);
    if (!names) {
        status = TESS_E_MEMORY;
    } else if (info.dtype != TESS_BYTES || info.shape[0] < 1) {
        status = tess_error_set(TESS_E_DTYPE, "%s: data set 'states' holds no names", v->path);
    } else {
        status = tess_source_read(source, 0, info.shape[0], names,
                                  (uint64_t)(info.shape[0] * info.item_bytes));
    }
    v->names = names;
    v->name_bytes = info.item_bytes;
    v->n_state = (int32_t)info.shape[0];
    tess_source_close(source);
    return status;
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
    if (has_array(v, "position")) {
        return 1;
    }
    return has_array(v, "z_position") ? 3 : 2;
}

// Local follows the animal, as a state of one bin without a place of its own or as one of all
// places. The file says so by the name alone.
static bool is_local(const tess_de_view *v, double index)
{
    if (!(index >= 0 && index < v->n_state)) {
        return false;
    }
    const int64_t state = (int64_t)index;
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

// Bins of states that have places, first to last, are the places; states of one bin have none.
static tess_status read_places(tess_de_view *v)
{
    double *state = NULL;
    double *centers[TESS_DECODE_MAX_DIM] = {0};
    char name[64];
    TESS_TRY(read_vector(v, "state_ind", v->n_state_bin, NULL, &state));
    for (int32_t a = 0; a < v->n_axis; a++) {
        TESS_TRY(
            read_vector(v, axis_name("", a, v->n_axis, name), v->n_state_bin, NULL, &centers[a]));
    }
    int64_t *place = tess_blocks_alloc(&v->memory, v->n_state_bin, sizeof *place, MEMORY);
    uint8_t *local = tess_blocks_alloc(&v->memory, v->n_state_bin, 1, MEMORY);
    if (!place || !local) {
        return TESS_E_MEMORY;
    }
    int64_t largest_first = 0;
    for (int64_t b = 0, first = 0; b < v->n_state_bin; b++) {
        first = b > 0 && state[b] != state[b - 1] ? b : first;
        local[b] = is_local(v, state[b]);
        place[b] = !isnan(centers[0][b]) ? b - first
                   : local[b]            ? TESS_DE_PLACE_LOCAL
                                         : TESS_DE_PLACE_NONE;
        if (place[b] >= v->n_place) {
            v->n_place = place[b] + 1;
            largest_first = first;
        }
    }
    for (int32_t a = 0; a < v->n_axis; a++) {
        v->center[a] = centers[a] + largest_first;
    }
    v->place_of_bin = place;
    v->is_local_bin = local;
    return TESS_OK;
}

static tess_status copy_positions(tess_de_view *v, const double *position, const double **out)
{
    for (int32_t a = 0; a < v->n_axis; a++) {
        double *values = tess_blocks_alloc(&v->memory, v->n_time, sizeof *values, MEMORY);
        if (!values) {
            return TESS_E_MEMORY;
        }
        for (int64_t t = 0; t < v->n_time; t++) {
            values[t] = position[t * v->n_axis + a];
        }
        out[a] = values;
    }
    return TESS_OK;
}

static tess_status read_truth(tess_de_view *v, const tess_decode_recording *recording)
{
    char name[64];
    for (int32_t a = 0; a < v->n_axis; a++) {
        double *values = NULL;
        if (!has_array(v, axis_name("true_", a, v->n_axis, name))) {
            break;
        }
        TESS_TRY(read_vector(v, name, v->n_time, NULL, &values));
        v->truth[a] = values;
    }
    const tess_decode_recording_info *info = recording ? &recording->info : NULL;
    if (!info || info->has_track || info->observation.n_time != v->n_time ||
        info->training.position.n_dim != v->n_axis) {
        return TESS_OK;
    }
    if (!v->truth[0] && info->true_position) {
        TESS_TRY(copy_positions(v, info->true_position, v->truth));
    }
    if (info->represented_position) {
        TESS_TRY(copy_positions(v, info->represented_position, v->represented));
    }
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
    v->n_time = posterior->shape[0];
    v->n_state_bin = posterior->shape[1];
    const bool are_real = (posterior->dtype == TESS_F32 || posterior->dtype == TESS_F64) &&
                          (states->dtype == TESS_F32 || states->dtype == TESS_F64);
    if (!are_real || states->shape[0] != v->n_time || states->shape[1] != v->n_state ||
        v->n_state_bin < 1) {
        TESS_FAIL(TESS_E_SHAPE,
                  "%s: acausal_posterior and acausal_state_probabilities do not belong together",
                  v->path);
    }
    return TESS_OK;
}

static tess_status read_result(tess_de_view *v, const tess_decode_recording *recording)
{
    double *time = NULL;
    TESS_TRY(read_names(v));
    TESS_TRY(open_rows(v));
    TESS_TRY(read_vector(v, "time", v->n_time, NULL, &time));
    v->time = time;
    v->n_axis = count_axes(v);
    TESS_TRY(read_places(v));
    TESS_TRY(read_truth(v, recording));
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

tess_status tess_de_view_bytes(tess_context *ctx, const char *path, uint64_t *bytes)
{
    tess_de_view view;
    char name[64];
    TESS_TRY(start(ctx, path, &view));
    TESS_TRY(open_array(&view, "acausal_posterior", 2, &view.posterior));
    const uint64_t n_time = (uint64_t)tess_source_get_info(view.posterior)->shape[0];
    const int32_t n_axis = count_axes(&view);
    // Every vector as it lies in the file and as doubles; the errors of the rows, twice.
    uint64_t n_vector = 1;
    for (int32_t a = 0; a < n_axis; a++) {
        n_vector += has_array(&view, axis_name("true_", a, n_axis, name));
    }
    *bytes = n_time * (2 * n_vector + (n_vector > 1 ? 2 : 0)) * sizeof(double);
    tess_de_view_close(&view);
    return TESS_OK;
}

tess_status tess_de_view_open(tess_context *ctx, const char *path,
                              const tess_decode_recording *recording, tess_de_view *out)
{
    TESS_TRY(start(ctx, path, out));
    const tess_status status = read_result(out, recording);
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
        tess_blocks_free(&view->memory);
        memset(view, 0, sizeof *view);
    }
}

tess_status tess_de_view_rows(tess_source *source, int64_t first, int64_t n_row, void *scratch,
                              double *out)
{
    const tess_source_info *info = tess_source_get_info(source);
    const int64_t n = n_row * info->shape[1];
    TESS_TRY(tess_source_read(source, first, n_row, scratch, (uint64_t)(n * info->item_bytes)));
    for (int64_t i = 0; i < n; i++) {
        out[i] = info->dtype == TESS_F32 ? (double)((const float *)scratch)[i]
                                         : ((const double *)scratch)[i];
    }
    return TESS_OK;
}

tess_status tess_de_view_provenance(const tess_de_view *view, char **text)
{
    *text = NULL;
    if (!view->is_folder) {
        return tess_file_provenance(view->ctx, view->path, text);
    }
    char path[1200];
    tess_infile file;
    snprintf(path, sizeof path, "%s/provenance.json", view->path);
    if (tess_infile_open(path, &file) != TESS_OK || file.bytes > MAX_PROVENANCE) {
        tess_error_clear(); // a folder without it is a result all the same
        tess_infile_close(&file);
        return TESS_OK;
    }
    const uint64_t bytes = file.bytes;
    char *found = calloc(1, (size_t)bytes + 1);
    const tess_status status =
        found ? tess_infile_read(&file, found, (size_t)bytes, 0)
              : tess_error_set(TESS_E_MEMORY, "cannot allocate %llu bytes for provenance",
                               (unsigned long long)bytes);
    tess_infile_close(&file);
    if (status != TESS_OK) {
        free(found);
        return status;
    }
    *text = found;
    return TESS_OK;
}
