// Simulated files as a beamline writes them: upper triangles with a spiked diagonal, in f32.
#include "base/blocks.h"
#include "base/status.h"
#include "base/struct_read.h"
#include "runtime/bundle.h"
#include "runtime/watch.h"
#include "systems/xpcs/simulate/simulate.h"
#include "systems/xpcs/store/store.h"
#include "tessera/xpcs/simulate.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_INPUT = 16, NAME_CHARS = 64, MAP_NAME_BYTES = 8, CHUNK_BYTES = 2 << 20 };

typedef struct writing {
    tess_context *ctx;
    tess_xpcs_simulation settings;
    tess_xpcs_data *data;    // all frames that count
    tess_xpcs_data *with_t0; // for frame 0 where data have none; NULL: they have
    tess_xpcs_file_layout layout;
    tess_format_packing packing;
    tess_blocks memory;
    tess_bundle_writer file;
    char *origin; // provenance
    size_t origin_bytes;
    int64_t n_frame;   // of the file
    int64_t n_at_once; // matrices that are made together
    float *matrices;   // [n_at_once][n_frame][n_frame]
    uint64_t bytes;    // of them
} writing;

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

// The distinct values in order; *n of them.
static double *distinct(tess_blocks *memory, const double *values, int64_t n_value, int64_t *n)
{
    double *list = tess_blocks_copy(memory, values, n_value, sizeof *values, "a list of bins");
    if (!list) {
        return NULL;
    }
    qsort(list, (size_t)n_value, sizeof *list, by_value);
    *n = 0;
    for (int64_t i = 0; i < n_value; i++) {
        if (*n == 0 || list[*n - 1] != list[i]) {
            list[(*n)++] = list[i];
        }
    }
    return list;
}

static int64_t place_of(const double *list, int64_t n, double value)
{
    int64_t at = 0;
    while (at < n - 1 && list[at] != value) {
        at++;
    }
    return at;
}

// The grid of q and phi that holds all matrices; bins are its points that are not empty.
typedef struct grid {
    double *q, *phi;
    int64_t n_q, n_phi, n_bin;
    int64_t *mapping;   // [n_bin] point of a bin
    int64_t *processed; // [n_angle] bin of a matrix, from 1
} grid;

static tess_status make_grid(writing *w, grid *g)
{
    const tess_xpcs_data_info *info = &w->data->info;
    g->q = distinct(&w->memory, info->q, info->n_angle, &g->n_q);
    g->phi = distinct(&w->memory, info->phi, info->n_angle, &g->n_phi);
    if (!g->q || !g->phi) {
        return TESS_E_MEMORY;
    }
    const int64_t n_point = g->n_q * g->n_phi; // lists in memory, each of at most n_angle
    int64_t *bin_of = tess_blocks_alloc(&w->memory, n_point, sizeof *bin_of, "a grid");
    g->mapping = tess_blocks_alloc(&w->memory, info->n_angle, sizeof *g->mapping, "a grid");
    g->processed = tess_blocks_alloc(&w->memory, info->n_angle, sizeof *g->processed, "a grid");
    if (!bin_of || !g->mapping || !g->processed) {
        return TESS_E_MEMORY;
    }
    for (int64_t a = 0; a < info->n_angle; a++) {
        g->processed[a] = place_of(g->q, g->n_q, info->q[a]) * g->n_phi +
                          place_of(g->phi, g->n_phi, info->phi[a]);
        bin_of[g->processed[a]] = 1;
    }
    for (int64_t point = 0; point < n_point; point++) {
        if (bin_of[point]) {
            g->mapping[g->n_bin++] = point;
            bin_of[point] = g->n_bin;
        }
    }
    for (int64_t a = 0; a < info->n_angle; a++) {
        g->processed[a] = bin_of[g->processed[a]];
    }
    return TESS_OK;
}

// What made the file, beside what a beamline writes.
static int64_t add_truth(const writing *w, tess_format_writer_input *inputs)
{
    const tess_xp_truth truth = tess_xp_simulated_truth(w->data);
    const int64_t n_angle = w->data->info.n_angle;
    int64_t n_theta = 0;
    (void)tess_xpcs_params((tess_xpcs_mode)w->settings.model.mode, &n_theta);
    tess_bundle_input(&inputs[0], "simulation/theta", TESS_F64, 1, &n_theta, truth.theta);
    tess_bundle_input(&inputs[1], "simulation/contrast", TESS_F64, 1, &n_angle, truth.contrast);
    tess_bundle_input(&inputs[2], "simulation/offset", TESS_F64, 1, &n_angle, truth.offset);
    return 3;
}

static void text_input(tess_format_writer_input *input, const char *name,
                       const char texts[2][MAP_NAME_BYTES])
{
    const int64_t two = 2;
    tess_bundle_input(input, name, TESS_BYTES, 1, &two, texts);
    input->item_bytes = MAP_NAME_BYTES;
    input->data_bytes = 2 * MAP_NAME_BYTES;
}

static tess_status begin_aps_u(writing *w, const char *path, int overwrite)
{
    static const char names[2][MAP_NAME_BYTES] = {"q", "phi"};
    static const char units[2][MAP_NAME_BYTES] = {"1/A", "deg"};
    static const int64_t one = 1;
    const int64_t two = 2;
    const int64_t n_angle = w->data->info.n_angle;
    tess_format_writer_input in[MAX_INPUT];
    grid g = {0};
    TESS_TRY(make_grid(w, &g));
    const int64_t n_point[2] = {g.n_q, g.n_phi};
    int64_t n = add_truth(w, in);
    tess_bundle_input(&in[n++], "xpcs/qmap/dynamic_v_list_dim0", TESS_F64, 1, &g.n_q, g.q);
    tess_bundle_input(&in[n++], "xpcs/qmap/dynamic_v_list_dim1", TESS_F64, 1, &g.n_phi, g.phi);
    tess_bundle_input(&in[n++], "xpcs/qmap/dynamic_index_mapping", TESS_I64, 1, &g.n_bin,
                      g.mapping);
    tess_bundle_input(&in[n++], "xpcs/qmap/dynamic_num_pts", TESS_I64, 1, &two, n_point);
    text_input(&in[n++], "xpcs/qmap/map_names", names);
    text_input(&in[n++], "xpcs/qmap/map_units", units);
    tess_bundle_input(&in[n++], "xpcs/twotime/processed_bins", TESS_I64, 1, &n_angle, g.processed);
    tess_bundle_input(&in[n++], "xpcs/twotime/config/stride_frame", TESS_I64, 0, NULL, &one);
    tess_bundle_input(&in[n++], "xpcs/twotime/config/avg_frame", TESS_I64, 0, NULL, &one);
    tess_bundle_input(&in[n++], "entry/instrument/detector_1/frame_time", TESS_F64, 0, NULL,
                      &w->settings.model.dt_s);
    in[0].provenance = w->origin;
    return tess_bundle_begin(w->ctx, path, in, n, overwrite, &w->file);
}

static tess_status begin_legacy(writing *w, const char *path, int overwrite)
{
    const tess_xpcs_data_info *info = &w->data->info;
    const int64_t shape[2] = {1, info->n_angle};
    tess_format_writer_input in[MAX_INPUT];
    int64_t *bins = tess_blocks_alloc(&w->memory, info->n_angle, sizeof *bins, "bins");
    if (!bins) {
        return TESS_E_MEMORY;
    }
    for (int64_t a = 0; a < info->n_angle; a++) {
        bins[a] = a + 1;
    }
    int64_t n = add_truth(w, in);
    tess_bundle_input(&in[n++], "xpcs/dqlist", TESS_F64, 2, shape, info->q);
    tess_bundle_input(&in[n++], "xpcs/dphilist", TESS_F64, 2, shape, info->phi);
    tess_bundle_input(&in[n++], "xpcs/qphi_bin_to_process", TESS_I64, 1, shape + 1, bins);
    in[0].provenance = w->origin;
    return tess_bundle_begin(w->ctx, path, in, n, overwrite, &w->file);
}

// Samples of the leaves into the matrices of angles first..first+count-1; row 0 alone where that is
// all that is wanted.
static void place(const writing *w, const tess_xpcs_data *data, const unsigned char *records,
                  int64_t first_tile, int64_t end_tile, int64_t first, int64_t count)
{
    const tess_xp_tiles *tiles = &data->tiles;
    const int64_t n = w->n_frame;
    const int64_t shift = n - data->info.n_frame;
    const uint64_t base = tess_xp_tiles_at(tiles, first_tile).offset;
    const size_t head = (size_t)tiles->n_angle * TESS_STAGE_XPCS_HEAD * sizeof(double);
    for (int64_t t = first_tile; t < end_tile; t++) {
        const tess_xp_tile tile = tess_xp_tiles_at(tiles, t);
        const unsigned char *y = records + (tile.offset - base) + head;
        if (data == w->with_t0 && tile.row > 0) {
            return;
        }
        for (int64_t a = 0; a < count; a++) {
            float *row = w->matrices + (a * n + tile.row + shift) * n;
            memcpy(row + tile.first_column + shift,
                   y + (size_t)((first + a) * tile.width) * sizeof(float),
                   (size_t)tile.n_column * sizeof(float));
        }
    }
}

static tess_status take_leaves(const writing *w, tess_xpcs_data *data, int64_t first, int64_t count)
{
    const tess_xp_tiles *tiles = &data->tiles;
    const bool is_row = data == w->with_t0;
    const int64_t n_tile = is_row ? tiles->row_tile[1] : tiles->n_tile;
    const int64_t leaves = tess_xp_leaves_in(data, CHUNK_BYTES);
    const int64_t per_chunk = leaves * TESS_STAGE_XPCS_LEAF;
    tess_xp_reader reader;
    TESS_TRY(tess_xp_reader_open(data->ctx, data, leaves, false, &reader));
    tess_status status = TESS_OK;
    for (int64_t t = 0; t < n_tile && status == TESS_OK; t += per_chunk) {
        const int64_t end = t + per_chunk < tiles->n_tile ? t + per_chunk : tiles->n_tile;
        const int64_t n_leaf = (end - t + TESS_STAGE_XPCS_LEAF - 1) / TESS_STAGE_XPCS_LEAF;
        const unsigned char *records = NULL;
        status = tess_xp_reader_get(&reader, t / TESS_STAGE_XPCS_LEAF, n_leaf, &records);
        if (status == TESS_OK) {
            place(w, data, records, t, end, first, count);
            status = tess_context_check_cancel(w->ctx);
        }
    }
    tess_xp_reader_close(&reader);
    return status;
}

static tess_status make_matrices(const writing *w, int64_t first, int64_t count)
{
    const tess_xp_truth truth = tess_xp_simulated_truth(w->data);
    const int64_t n = w->n_frame;
    memset(w->matrices, 0, (size_t)w->bytes);
    TESS_TRY(take_leaves(w, w->data, first, count));
    if (w->with_t0) {
        TESS_TRY(take_leaves(w, w->with_t0, first, count));
    }
    for (int64_t a = 0; a < count; a++) {
        const double value =
            truth.contrast[first + a] + truth.offset[first + a] + w->settings.spike;
        for (int64_t i = 0; i < n; i++) {
            w->matrices[(a * n + i) * n + i] = (float)value;
        }
    }
    return TESS_OK;
}

static tess_status write_matrices(writing *w)
{
    const int64_t n_angle = w->data->info.n_angle;
    const int64_t n = w->n_frame;
    const int64_t shape[2] = {n, n};
    const char *group =
        w->layout == TESS_XPCS_APS_U ? "xpcs/twotime/correlation_map/c2" : "exchange/C2T_all/g2";
    tess_watch watch;
    tess_watch_begin(&watch, w->ctx, "xpcs.write", "matrices", 0,
                     (uint64_t)n_angle * (uint64_t)n * (uint64_t)n * sizeof(float),
                     TESS_STRATEGY_CHUNKED);
    for (int64_t a = 0; a < n_angle; a++) {
        const int64_t k = a % w->n_at_once;
        if (k == 0) {
            const int64_t left = n_angle - a;
            TESS_TRY(make_matrices(w, a, left < w->n_at_once ? left : w->n_at_once));
        }
        char name[NAME_CHARS];
        tess_format_writer_input input;
        snprintf(name, sizeof name, "%s_%05" PRId64, group, a + 1);
        tess_bundle_input(&input, name, TESS_F32, 2, shape, w->matrices + k * n * n);
        input.packing = (int32_t)w->packing;
        TESS_TRY(tess_bundle_add(&w->file, &input));
        TESS_TRY(tess_watch_poll(&watch, a + 1, n_angle));
    }
    return TESS_OK;
}

// As many matrices at once as a quarter of the memory holds: each batch makes all tiles anew.
static tess_status take_matrices(writing *w)
{
    const uint64_t each = (uint64_t)w->n_frame * (uint64_t)w->n_frame * sizeof(float);
    const uint64_t fit = w->ctx->memory_limit_bytes / 4 / each;
    const uint64_t n_angle = (uint64_t)w->data->info.n_angle;
    w->n_at_once = (int64_t)(fit < 1 ? 1 : fit < n_angle ? fit : n_angle);
    if (each > w->ctx->memory_limit_bytes) {
        TESS_FAIL(TESS_E_LIMIT,
                  "a matrix of %" PRId64 " frames takes %" PRIu64
                  " bytes, the memory limit is %" PRIu64 "; raise it, or write .txc2",
                  w->n_frame, each, w->ctx->memory_limit_bytes);
    }
    w->bytes = each * (uint64_t)w->n_at_once;
    w->matrices = tess_heap_alloc(&w->ctx->heap, (size_t)w->bytes, TESS_TAG_IO, "matrices");
    return w->matrices ? TESS_OK : TESS_E_MEMORY;
}

static tess_status write_hdf5(writing *w, const char *path, int overwrite)
{
    const tess_origin origin = {.stage = "xpcs.simulate",
                                .tables = {tess_xpcs_simulation_params(), tess_xpcs_model_params()},
                                .values = {&w->settings, &w->settings.model}};
    TESS_TRY(tess_origin_make(w->ctx, &origin, &w->origin, &w->origin_bytes));
    TESS_TRY(take_matrices(w));
    TESS_TRY(w->layout == TESS_XPCS_APS_U ? begin_aps_u(w, path, overwrite)
                                          : begin_legacy(w, path, overwrite));
    tess_status status = write_matrices(w);
    if (status == TESS_OK) {
        status = tess_bundle_commit(&w->file);
    } else {
        tess_bundle_discard(&w->file);
    }
    return status;
}

// What opens as these data again is the simulation without frame 0; that frame comes from one which
// has it.
static tess_status simulate(writing *w)
{
    tess_xpcs_simulation *s = &w->settings;
    if (w->layout != TESS_XPCS_TXC2) {
        s->dtype = 0; // f32
    }
    w->n_frame = s->n_frame;
    TESS_TRY(tess_xpcs_simulate(w->ctx, s, 0, &w->data));
    if (s->model.keep_t0 || w->layout == TESS_XPCS_TXC2) {
        return TESS_OK;
    }
    s->model.keep_t0 = 1;
    const tess_status status = tess_xpcs_simulate(w->ctx, s, 0, &w->with_t0);
    s->model.keep_t0 = 0;
    return status;
}

static tess_status check_choices(tess_xpcs_file_layout layout, tess_xpcs_filter filter)
{
    if ((int)layout < 0 || layout > TESS_XPCS_TXC2) {
        TESS_FAIL(TESS_E_ARGUMENT, "layout: %d; expected 0 (aps-u), 1 (aps-legacy) or 2 (txc2)",
                  (int)layout);
    }
    if ((int)filter < 0 || filter > TESS_XPCS_FILTER_NONE) {
        TESS_FAIL(TESS_E_ARGUMENT, "filter: %d; expected 0 (lzf), 1 (deflate) or 2 (none)",
                  (int)filter);
    }
    return TESS_OK;
}

tess_status tess_xpcs_simulate_file(tess_context *ctx, const tess_xpcs_simulation *given,
                                    tess_xpcs_file_layout layout, tess_xpcs_filter filter,
                                    const char *path, int overwrite)
{
    static const tess_format_packing packings[] = {TESS_PACKING_LZF, TESS_PACKING_DEFLATE,
                                                   TESS_PACKING_NONE};
    tess_error_clear();
    TESS_TRY(check_choices(layout, filter));
    writing w = {.ctx = ctx, .layout = layout, .packing = packings[filter]};
    tess_xpcs_simulation_init(&w.settings, sizeof w.settings);
    if (given) {
        TESS_TRY(tess_struct_read(given, &w.settings, sizeof w.settings, "simulation"));
    }
    tess_blocks_init(&w.memory, &ctx->heap);
    tess_status status = simulate(&w);
    if (status == TESS_OK) {
        status = layout == TESS_XPCS_TXC2 ? tess_xpcs_data_save(ctx, w.data, path, overwrite)
                                          : write_hdf5(&w, path, overwrite);
    }
    tess_heap_free(&ctx->heap, w.matrices, (size_t)w.bytes, TESS_TAG_IO);
    tess_heap_free(&ctx->heap, w.origin, w.origin_bytes, TESS_TAG_RESULT);
    tess_blocks_free(&w.memory);
    tess_xpcs_data_destroy(w.with_t0);
    tess_xpcs_data_destroy(w.data);
    return status;
}
