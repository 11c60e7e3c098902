#include "systems/decode/kde/kde_electrode.h"

#include "base/status.h"

#include <math.h>
#include <string.h>

static const double SQRT_HALF = 0.70710678118654752440;
static const double SQRT_LOG2_E = 1.2011224087864498;
// Items of a place kernel kept for every pair of spike and bin (16 MiB), unless there is no other
// way (256 MiB).
static const int64_t KERNEL_ITEMS = 4 << 20;
static const int64_t MOST_KERNEL_ITEMS = 64 << 20;
// Place kernels below this are 0: they would only make denormal products.
static const double LEAST_KERNEL = 1e-30;

double tess_de_kde_waveform_std(const tess_decode_encoding *encoding, int64_t feature)
{
    const tess_decode_encoding_config *config = &encoding->config;
    const bool is_vector = config->waveform_std_values && config->n_waveform_std > 1;
    return encoding->waveform_std[is_vector ? feature : 0];
}

static const double *weights_of(const tess_de_selection *s, int64_t electrode)
{
    return s->spike_weight ? s->spike_weight[electrode] : NULL;
}

void tess_de_kde_scale_places(const double *places, int64_t n_dim, const double *std,
                              const int64_t *kept, int64_t n, double *out)
{
    for (int64_t d = 0; d < n_dim; d++) {
        for (int64_t i = 0; i < n; i++) {
            const int64_t from = kept ? kept[i] : i;
            out[d * n + i] = places[from * n_dim + d] * (SQRT_HALF / std[d]);
        }
    }
}

static tess_status collect_electrode(tess_blocks *blocks, const tess_decode_encoding *encoding,
                                     const tess_de_selection *s, tess_de_kde_spikes *out, int64_t e)
{
    const int64_t n_all = s->n_spike[e];
    const double *weights = weights_of(s, e);
    out->kept[e] = tess_blocks_alloc(blocks, n_all, sizeof **out->kept, "spikes");
    if (!out->kept[e]) {
        return TESS_E_MEMORY;
    }
    for (int64_t i = 0; i < n_all; i++) {
        if (!weights || weights[i] > 0) {
            out->kept[e][out->n[e]++] = i;
            out->total[e] += weights ? weights[i] : 1;
        }
    }
    out->place[e] = tess_blocks_alloc(blocks, s->n_dim * out->n[e], sizeof **out->place, "spikes");
    if (!out->place[e]) {
        return TESS_E_MEMORY;
    }
    tess_de_kde_scale_places(s->spike_place[e], s->n_dim, encoding->position_std, out->kept[e],
                             out->n[e], out->place[e]);
    return TESS_OK;
}

tess_status tess_de_kde_collect(tess_blocks *blocks, const tess_decode_encoding *encoding,
                                const tess_de_selection *selection, tess_de_kde_spikes *out)
{
    const int64_t n = selection->n_electrode;
    out->n = tess_blocks_alloc(blocks, n, sizeof *out->n, "spikes");
    out->kept = tess_blocks_alloc(blocks, n, sizeof *out->kept, "spikes");
    out->place = tess_blocks_alloc(blocks, n, sizeof *out->place, "spikes");
    out->total = tess_blocks_alloc(blocks, n, sizeof *out->total, "spikes");
    if (!out->n || !out->kept || !out->place || !out->total) {
        return TESS_E_MEMORY;
    }
    for (int64_t e = 0; e < n; e++) {
        TESS_TRY(collect_electrode(blocks, encoding, selection, out, e));
    }
    return TESS_OK;
}

// One electrode being filled.
typedef struct filling {
    kde_model *kde;
    tess_blocks *scratch;
    const tess_decode_encoding *encoding;
    const tess_de_selection *selection;
    const kde_plan *plan;
    tess_kde_electrode *to;
    int64_t electrode;
    int64_t n;
    int64_t *kept; // reordered by cell
    double *place; // [n_dim][n] reordered with it
    const double *weights;
} filling;

static void *take(filling *f, int64_t n, size_t item_bytes)
{
    return tess_blocks_alloc(&f->kde->blocks, n, item_bytes, "encoding model");
}

static void *take_scratch(filling *f, int64_t n, size_t item_bytes)
{
    return tess_blocks_alloc(f->scratch, n, item_bytes, "encoding model");
}

static double weight_of(const filling *f, int64_t i)
{
    return f->weights ? f->weights[f->kept[i]] : 1;
}

// Stable, by cell; spikes out of reach last. Fills the list of cells.
static tess_status sort_by_cell(filling *f)
{
    const int64_t n_dim = f->selection->n_dim;
    const int64_t n_cell = f->kde->stage.grid.n_cell;
    int64_t *first = take_scratch(f, n_cell + 2, sizeof *first);
    int64_t *cell = take_scratch(f, f->n, sizeof *cell);
    int64_t *kept = take_scratch(f, f->n, sizeof *kept);
    double *place = take_scratch(f, n_dim * f->n, sizeof *place);
    if (!first || !cell || !kept || !place) {
        return TESS_E_MEMORY;
    }
    for (int64_t i = 0; i < f->n; i++) {
        const double at[2] = {f->place[i], n_dim == 2 ? f->place[f->n + i] : 0};
        cell[i] = tess_de_kde_cell(f->plan, n_dim, at);
        cell[i] = cell[i] < 0 ? n_cell : cell[i];
        first[cell[i] + 1]++;
    }
    int32_t n_used = 0;
    for (int64_t c = 0; c <= n_cell; c++) {
        n_used += c < n_cell && first[c + 1] > 0;
        first[c + 1] += first[c];
    }
    int32_t *used = take(f, n_used, sizeof *used);
    int32_t *used_first = take(f, n_used + 1, sizeof *used_first);
    if (!used || !used_first) {
        return TESS_E_MEMORY;
    }
    n_used = 0;
    for (int64_t c = 0; c < n_cell; c++) {
        if (first[c + 1] > first[c]) {
            used[n_used] = (int32_t)c;
            used_first[n_used++] = (int32_t)first[c];
        }
    }
    used_first[n_used] = (int32_t)first[n_cell];
    f->to->n_cell = n_used;
    f->to->cell = used;
    f->to->cell_first = used_first;
    f->to->n_cell_spike = first[n_cell];
    for (int64_t i = 0; i < f->n; i++) {
        const int64_t to = first[cell[i]]++;
        kept[to] = f->kept[i];
        for (int64_t d = 0; d < n_dim; d++) {
            place[d * f->n + to] = f->place[d * f->n + i];
        }
    }
    f->kept = kept;
    f->place = place;
    return TESS_OK;
}

// What one spike at a time is computed from; base[i] is there.
static tess_status fill_line(filling *f, const float *base)
{
    float *t = take(f, f->to->n_cell_spike, sizeof *t);
    f->to->base = tess_blocks_copy(&f->kde->blocks, base, f->to->n_cell_spike, sizeof *base,
                                   "encoding model");
    if (!t || !f->to->base) {
        return TESS_E_MEMORY;
    }
    for (int64_t i = 0; i < f->to->n_cell_spike; i++) {
        t[i] = (float)tess_de_kde_within(f->plan, f->place[i]);
    }
    f->to->t = t;
    return TESS_OK;
}

// One spike's moments into the blocks of columns of its cell, in which it is the i-th of n.
static void put_moments(const tess_kde_grid *grid, const float *moments, int64_t i, int64_t n,
                        float *cell)
{
    for (int64_t k = 0; k < grid->n_moment; k++) {
        const int64_t block = k - k % TESS_KDE_BLOCK;
        const int64_t left = grid->n_column - block;
        const int64_t width = left < TESS_KDE_BLOCK ? left : TESS_KDE_BLOCK;
        cell[n * block + i * width + k - block] = moments[k];
    }
}

static tess_status fill_moments(filling *f)
{
    const int64_t n_dim = f->selection->n_dim;
    const tess_kde_grid *grid = &f->kde->stage.grid;
    TESS_TRY(sort_by_cell(f));
    if (f->to->n_cell == 0) {
        return TESS_OK; // all of them out of reach: what little they give is computed in f64
    }
    float *basis = take(f, f->to->n_cell_spike * grid->n_column, sizeof *basis);
    float *base = take_scratch(f, f->to->n_cell_spike, sizeof *base);
    float *moments = take_scratch(f, grid->n_moment, sizeof *moments);
    if (!basis || !base || !moments) {
        return TESS_E_MEMORY;
    }
    for (int64_t c = 0; c < f->to->n_cell; c++) {
        const int64_t first = f->to->cell_first[c];
        const int64_t n = f->to->cell_first[c + 1] - first;
        for (int64_t i = first; i < first + n; i++) {
            const double at[2] = {f->place[i], n_dim == 2 ? f->place[f->n + i] : 0};
            tess_de_kde_basis(f->plan, n_dim, at, weight_of(f, i), moments);
            put_moments(grid, moments, i - first, n, basis + first * grid->n_column);
            base[i] = moments[0];
        }
    }
    for (int64_t i = f->to->n_cell_spike; i < f->n; i++) {
        f->to->far_weight += weight_of(f, i);
    }
    f->to->basis = basis;
    if (n_dim == 1) {
        TESS_TRY(fill_line(f, base));
    }
    f->kde->bound = fmax(f->kde->bound, f->plan->x.bound);
    return TESS_OK;
}

static tess_status fill_kernel(filling *f)
{
    const tess_kde_model *stage = &f->kde->stage;
    float *kernel = take(f, f->n * stage->n_bin, sizeof *kernel);
    if (!kernel) {
        return TESS_E_MEMORY;
    }
    for (int64_t i = 0; i < f->n; i++) {
        for (int64_t p = 0; p < stage->n_bin; p++) {
            double q = 0;
            for (int64_t d = 0; d < stage->n_dim; d++) {
                const double u = stage->bin_place[d * stage->n_bin + p] - f->place[d * f->n + i];
                q += u * u;
            }
            const double value = weight_of(f, i) * exp(-q);
            kernel[i * stage->n_bin + p] = value < LEAST_KERNEL ? 0 : (float)value;
        }
    }
    f->to->basis = kernel;
    return TESS_OK;
}

// How the place kernel of this electrode is held; neither way: it is computed in f64.
static tess_status fill_fast(filling *f)
{
    const tess_kde_model *stage = &f->kde->stage;
    const double n = (double)f->n;
    const double items = n * (double)stage->n_bin;
    const bool has_cells = f->plan->has_cells && f->n < INT32_MAX;
    const bool is_cheap = items <= n * (double)stage->grid.n_moment + f->plan->place_cost &&
                          items <= (double)KERNEL_ITEMS;
    if (has_cells && !is_cheap) {
        return fill_moments(f);
    }
    return items <= (double)(has_cells ? KERNEL_ITEMS : MOST_KERNEL_ITEMS) ? fill_kernel(f)
                                                                           : TESS_OK;
}

// Marks about their mean: differences of f32 are then of small numbers.
static tess_status fill_marks(filling *f)
{
    const int64_t n_feature = f->selection->n_feature[f->electrode];
    const double *from = f->selection->spike_marks[f->electrode];
    double *centre = take(f, n_feature, sizeof *centre);
    double *scale = take(f, n_feature, sizeof *scale);
    double *marks = take(f, n_feature * f->n, sizeof *marks);
    float *marks_f32 = f->to->basis ? take(f, n_feature * f->n, sizeof *marks_f32) : NULL;
    if (!centre || !scale || !marks || (f->to->basis && !marks_f32)) {
        return TESS_E_MEMORY;
    }
    for (int64_t k = 0; k < n_feature; k++) {
        for (int64_t i = 0; i < f->n; i++) {
            centre[k] += (from[f->kept[i] * n_feature + k] - centre[k]) / (double)(i + 1);
        }
        scale[k] = SQRT_HALF / tess_de_kde_waveform_std(f->encoding, k);
        for (int64_t i = 0; i < f->n; i++) {
            const double mark = (from[f->kept[i] * n_feature + k] - centre[k]) * scale[k];
            marks[k * f->n + i] = mark;
            if (marks_f32) {
                marks_f32[k * f->n + i] = (float)(mark * SQRT_LOG2_E);
            }
        }
    }
    f->to->n_feature = n_feature;
    f->to->mark_centre = centre;
    f->to->mark_scale = scale;
    f->to->marks = marks;
    f->to->marks_f32 = marks_f32;
    return TESS_OK;
}

static tess_status fill_offsets(filling *f)
{
    const int64_t n_bin = f->kde->stage.n_bin;
    float *offset = take(f, n_bin, sizeof *offset);
    if (!offset) {
        return TESS_E_MEMORY;
    }
    for (int64_t p = 0; p < n_bin; p++) {
        offset[p] = (float)f->to->offset[p];
    }
    f->to->offset_f32 = offset;
    return TESS_OK;
}

static tess_status fill_weights(filling *f)
{
    if (!f->weights) {
        return TESS_OK;
    }
    double *log_weight = take(f, f->n, sizeof *log_weight);
    if (!log_weight) {
        return TESS_E_MEMORY;
    }
    for (int64_t i = 0; i < f->n; i++) {
        log_weight[i] = log(weight_of(f, i));
    }
    f->to->log_weight = log_weight;
    return TESS_OK;
}

tess_status tess_de_kde_fill(kde_model *kde, tess_blocks *scratch,
                             const tess_decode_encoding *encoding,
                             const tess_de_selection *selection, tess_de_kde_spikes *spikes,
                             const kde_plan *plan, int64_t electrode)
{
    filling f = {.kde = kde,
                 .scratch = scratch,
                 .encoding = encoding,
                 .selection = selection,
                 .plan = plan,
                 .to = &kde->electrodes[electrode],
                 .electrode = electrode,
                 .n = spikes->n[electrode],
                 .kept = spikes->kept[electrode],
                 .place = spikes->place[electrode],
                 .weights = weights_of(selection, electrode)};
    f.to->n_spike = f.n;
    f.to->stride = f.n;
    f.to->total_weight = spikes->total[electrode];
    if (!kde->stage.is_exact && f.n > 0) {
        TESS_TRY(fill_fast(&f));
        TESS_TRY(fill_offsets(&f));
    }
    TESS_TRY(fill_marks(&f));
    TESS_TRY(fill_weights(&f));
    f.to->place = tess_blocks_copy(&kde->blocks, f.place, selection->n_dim * f.n, sizeof *f.place,
                                   "encoding model");
    if (!f.to->place) {
        return TESS_E_MEMORY;
    }
    return TESS_OK;
}
