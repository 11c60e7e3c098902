// Projectors applied to what is read, as MNE does when it reads epochs: all of them together, those
// that are active already as well (a file keeps vectors in single precision, and channels may have
// been marked bad since), without the channels marked bad.
//
//     y = x - U U^T x,   U an orthonormal basis of their vectors (epochs/projection.c)
#include "base/checked.h"
#include "base/status.h"
#include "systems/autoreject/epochs/projection.h"
#include "systems/autoreject/files/recording.h"

#include <string.h>

typedef struct projected_view {
    tess_ar_reader inner;
    int64_t n_time;
    int64_t n_basis;
    int64_t n_used;
    const int64_t *used; // [n_used] channels with a part in the basis
    const int64_t *row;  // [n_chan] of the basis' columns; -1: none
    const double *basis; // [n_basis][n_used]
    int64_t *at;         // [n_used] where they are among those that are asked for
    double *samples;     // [n_used][n_time]
    double *parts;       // [n_basis][n_time]
} projected_view;

// parts = U^T x of one epoch, channel after channel. The channels' rows lie at x, in the order of
// at (NULL: as they are used).
static void take_parts(const projected_view *view, const double *rows, const int64_t *at)
{
    memset(view->parts, 0, (size_t)(view->n_basis * view->n_time) * sizeof *view->parts);
    for (int64_t k = 0; k < view->n_basis; k++) {
        double *part = view->parts + k * view->n_time;
        for (int64_t i = 0; i < view->n_used; i++) {
            const double weight = view->basis[k * view->n_used + i];
            const double *x = rows + (at ? at[i] : i) * view->n_time;
            for (int64_t t = 0; t < view->n_time; t++) {
                part[t] += weight * x[t];
            }
        }
    }
}

static void take_off(const projected_view *view, int64_t row, double *x)
{
    for (int64_t k = 0; k < view->n_basis; k++) {
        const double weight = view->basis[k * view->n_used + row];
        const double *part = view->parts + k * view->n_time;
        for (int64_t t = 0; t < view->n_time; t++) {
            x[t] -= weight * part[t];
        }
    }
}

static tess_status read_projected(tess_context *ctx, void *impl, int64_t first, int64_t count,
                                  const int64_t *channels, int64_t n_channel, double *dst)
{
    const projected_view *view = impl;
    TESS_TRY(view->inner.read(ctx, view->inner.impl, first, count, channels, n_channel, dst));
    int64_t n_found = 0;
    memset(view->at, 0xff, (size_t)view->n_used * sizeof *view->at); // -1
    for (int64_t c = 0; c < n_channel; c++) {
        const int64_t row = view->row[channels[c]];
        if (row >= 0) {
            n_found += view->at[row] < 0;
            view->at[row] = c;
        }
    }
    const bool has_all = n_found == view->n_used; // then nothing is read twice
    for (int64_t e = 0; e < count && n_found > 0; e++) {
        double *rows = dst + e * n_channel * view->n_time;
        if (!has_all) {
            TESS_TRY(view->inner.read(ctx, view->inner.impl, first + e, 1, view->used, view->n_used,
                                      view->samples));
        }
        take_parts(view, has_all ? rows : view->samples, has_all ? view->at : NULL);
        for (int64_t c = 0; c < n_channel; c++) {
            if (view->row[channels[c]] >= 0) {
                take_off(view, view->row[channels[c]], rows + c * view->n_time);
            }
        }
    }
    return TESS_OK;
}

static void close_projected(tess_context *ctx, void *impl)
{
    const projected_view *view = impl;
    if (view->inner.close) {
        view->inner.close(ctx, view->inner.impl);
    }
}

// Channels that some vector has a part of, unless they are bad; their columns of the vectors.
static tess_status find_used(tess_autoreject_epochs *epochs, projected_view *view, double **vectors)
{
    const tess_autoreject_sensors *sensors = &epochs->sensors;
    const int64_t n = sensors->n_chan;
    const int64_t n_vector = tess_ar_projector_count(sensors);
    int64_t *used = tess_ar_epochs_items(epochs, n, sizeof *used);
    int64_t *row = tess_ar_epochs_items(epochs, n, sizeof *row);
    int64_t cells = 0;
    *vectors = tess_mul_i64(n, n_vector, &cells)
                   ? tess_ar_epochs_items(epochs, cells, sizeof **vectors)
                   : NULL;
    if (!used || !row || !*vectors) {
        return TESS_E_MEMORY;
    }
    for (int64_t c = 0; c < n; c++) {
        used[c] = c;
    }
    tess_ar_projector_vectors(sensors, used, n, *vectors);
    for (int64_t c = 0; c < n; c++) {
        bool is_used = false;
        for (int64_t v = 0; v < n_vector; v++) {
            is_used = is_used || (*vectors)[v * n + c] != 0;
        }
        row[c] = is_used && !sensors->channels[c].is_bad ? view->n_used : -1;
        if (row[c] >= 0) {
            used[view->n_used++] = c;
        }
    }
    view->used = used;
    view->row = row;
    return TESS_OK;
}

static tess_status make_basis(tess_autoreject_epochs *epochs, projected_view *view)
{
    const int64_t n_vector = tess_ar_projector_count(&epochs->sensors);
    double *vectors = NULL;
    TESS_TRY(find_used(epochs, view, &vectors));
    double *work = tess_ar_epochs_items(epochs, 2 * n_vector * (n_vector + 1), sizeof *work);
    double *basis = tess_ar_epochs_items(epochs, n_vector * (view->n_used + 1), sizeof *basis);
    int32_t *from = tess_ar_epochs_items(epochs, view->n_used + 1, sizeof *from);
    if (!work || !basis || !from) {
        return TESS_E_MEMORY;
    }
    for (int64_t i = 0; i < view->n_used; i++) {
        from[i] = (int32_t)view->used[i];
    }
    view->n_basis = tess_ar_projection_basis(vectors, n_vector, epochs->sensors.n_chan, from,
                                             view->n_used, work, basis);
    view->basis = basis;
    if (view->n_basis >= view->n_used && view->n_used > 0) {
        TESS_FAIL(TESS_E_NUMERIC,
                  "%s: %lld projectors of %lld good channels leave nothing of them; read it with "
                  "--proj=no (proj=False)",
                  epochs->info.path, (long long)view->n_basis, (long long)view->n_used);
    }
    return TESS_OK;
}

// From now on all are active.
static tess_status mark_active(tess_autoreject_epochs *epochs)
{
    tess_autoreject_sensors *sensors = &epochs->sensors;
    tess_autoreject_projector *active =
        tess_ar_epochs_items(epochs, sensors->n_projector, sizeof *active);
    if (!active) {
        return TESS_E_MEMORY;
    }
    for (int64_t k = 0; k < sensors->n_projector; k++) {
        active[k] = sensors->projectors[k];
        active[k].is_active = 1;
    }
    sensors->projectors = active;
    return TESS_OK;
}

tess_status tess_ar_apply_projectors(tess_autoreject_epochs *epochs)
{
    int64_t n_waiting = 0;
    for (int64_t k = 0; k < epochs->sensors.n_projector; k++) {
        n_waiting += !epochs->sensors.projectors[k].is_active;
    }
    if (tess_ar_projector_count(&epochs->sensors) == 0) {
        return TESS_OK;
    }
    projected_view *view = tess_ar_epochs_alloc(epochs, sizeof *view);
    if (!view) {
        return TESS_E_MEMORY;
    }
    view->inner = epochs->reader;
    view->n_time = epochs->info.n_time;
    TESS_TRY(make_basis(epochs, view));
    TESS_TRY(mark_active(epochs));
    if (n_waiting > 0) {
        tess_ar_epochs_note(epochs, "%lld projectors are applied to the samples, %lld of them now",
                            (long long)epochs->sensors.n_projector, (long long)n_waiting);
    }
    if (view->n_basis == 0) {
        return TESS_OK; // they speak of no channel that is here
    }
    view->samples = tess_ar_epochs_items(epochs, view->n_used * view->n_time, sizeof(double));
    view->parts = tess_ar_epochs_items(epochs, view->n_basis * view->n_time, sizeof(double));
    view->at = tess_ar_epochs_items(epochs, view->n_used, sizeof *view->at);
    if (!view->samples || !view->parts || !view->at) {
        return TESS_E_MEMORY;
    }
    epochs->reader =
        (tess_ar_reader){.impl = view, .read = read_projected, .close = close_projected};
    return TESS_OK;
}
