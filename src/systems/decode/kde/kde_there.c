#include "systems/decode/kde/kde_there.h"

#include "base/status.h"
#include "runtime/device_memory.h"
#include "runtime/stage.h"
#include "systems/decode/kde/kde_nodes.h"

#include <string.h>

tess_status tess_de_kde_room(const kde_there *there, tess_resident *room, size_t bytes)
{
    return tess_resident_grow(there->device, bytes, room);
}

typedef struct upload {
    tess_upload arrays;
    kde_there *there;
    float *rows;                       // the basis of one electrode, or the table of an axis
    tess_kde_nodes nodes;              // n_dim = 0: cells
    const tess_kde_electrode *stepped; // with nodes: electrodes in steps
} upload;

static const void *send(upload *u, const void *host, int64_t n, size_t item_bytes)
{
    return tess_upload_add(&u->arrays, host, n, item_bytes);
}

// The basis as rows of spikes: cells have it in blocks of columns, as the CPU reads it.
static const float *rows_of_basis(upload *u, const tess_kde_model *m, const tess_kde_electrode *e)
{
    const int64_t n_column = m->grid.n_column;
    if (m->grid.n_dim == 0 || !e->basis || !u->arrays.is_sending) {
        return e->basis;
    }
    float *to = u->rows;
    for (int64_t c = 0; c < e->n_cell; c++) {
        const int64_t first = e->cell_first[c];
        const int64_t n = e->cell_first[c + 1] - first;
        const float *from = e->basis + first * n_column;
        for (int64_t k = 0; k < n_column; k += TESS_KDE_BLOCK) {
            const int64_t width = n_column - k < TESS_KDE_BLOCK ? n_column - k : TESS_KDE_BLOCK;
            for (int64_t i = 0; i < n; i++) {
                memcpy(to + (first + i) * n_column + k, from + n * k + i * width,
                       (size_t)width * sizeof *to);
            }
        }
    }
    return to;
}

// Room for what the device makes of the steps, and what it makes it from.
static void send_steps(upload *u, const tess_kde_electrode *from, tess_kde_electrode *to)
{
    const tess_kde_nodes *nodes = &u->nodes;
    const int64_t n = from->n_step * TESS_KDE_STEP;
    const int64_t window = nodes->n_dim == 2 ? TESS_KDE_WINDOW * TESS_KDE_WINDOW : TESS_KDE_WINDOW;
    to->basis = NULL;
    to->cell = NULL;
    to->cell_first = NULL;
    to->n_step = from->n_step;
    to->step_spike = send(u, from->step_spike, n, sizeof(int32_t));
    to->step_cell = send(u, from->step_cell, from->n_step, sizeof(int32_t));
    to->cell_step =
        send(u, from->cell_step, nodes->n_cell[0] * nodes->n_cell[1] + 1, sizeof(int32_t));
    to->step_marks = tess_upload_room(&u->arrays, n * from->n_feature, sizeof(float));
    to->step_basis = tess_upload_room(&u->arrays, n * window, TESS_KDE_NODE_BYTES);
}

static void send_electrode(upload *u, const tess_kde_model *m, const tess_kde_electrode *from,
                           tess_kde_electrode *to)
{
    const int64_t n = from->n_spike;
    const int64_t stride = from->stride;
    const int64_t nf = from->n_feature;
    const int64_t n_basis =
        m->grid.n_dim > 0 ? from->n_cell_spike * m->grid.n_column : n * m->n_bin;
    *to = *from;
    to->mark_centre = send(u, from->mark_centre, nf, sizeof(double));
    to->mark_scale = send(u, from->mark_scale, nf, sizeof(double));
    to->marks = send(u, from->marks, nf * stride, sizeof(double));
    to->place = send(u, from->place, m->n_dim * stride, sizeof(double));
    to->log_weight = send(u, from->log_weight, n, sizeof(double));
    to->offset = send(u, from->offset, m->n_bin, sizeof(double));
    to->offset_f32 = send(u, from->offset_f32, m->n_bin, sizeof(float));
    to->marks_f32 = send(u, from->marks_f32, nf * stride, sizeof(float));
    to->t = NULL;
    to->base = NULL;
    if (u->nodes.n_dim > 0) {
        send_steps(u, &u->stepped[from - m->electrodes], to);
        return;
    }
    to->basis = send(u, rows_of_basis(u, m, from), n_basis, sizeof(float));
    to->cell = send(u, from->cell, from->n_cell, sizeof(int32_t));
    to->cell_first =
        send(u, from->cell_first, from->n_cell > 0 ? from->n_cell + 1 : 0, sizeof(int32_t));
}

static int64_t table_items(int64_t order, const tess_kde_axis *axis)
{
    return axis->n_block * axis->n_cell * order * TESS_KDE_BLOCK;
}

// The table with rows for all cells: the host's has those within reach alone.
static const float *whole_table(upload *u, int64_t order, const tess_kde_axis *axis)
{
    if (!axis->row || !u->arrays.is_sending) {
        return axis->table;
    }
    const int64_t row_items = order * TESS_KDE_BLOCK;
    memset(u->rows, 0, (size_t)table_items(order, axis) * sizeof *u->rows);
    for (int64_t b = 0; b < axis->n_block; b++) {
        const int64_t first = axis->first[b];
        memcpy(u->rows + (b * axis->n_cell + first) * row_items,
               axis->table + (axis->row[b] + first) * row_items,
               (size_t)((axis->end[b] - first) * row_items) * sizeof *u->rows);
    }
    return u->rows;
}

static void send_axis(upload *u, int64_t order, const tess_kde_axis *from, tess_kde_axis *to)
{
    *to = *from;
    to->table = send(u, whole_table(u, order, from), table_items(order, from), sizeof(float));
    to->row = NULL;
    to->first = send(u, from->first, from->n_block, sizeof(int32_t));
    to->end = send(u, from->end, from->n_block, sizeof(int32_t));
}

static void send_nodes(upload *u, tess_kde_nodes *to)
{
    *to = u->nodes;
    for (int64_t k = 0; k < to->n_dim; k++) {
        send_axis(u, 1, &u->nodes.axes[k], &to->axes[k]);
    }
    const int64_t n_column = to->n_dim == 2 ? to->axes[1].n_value : 1;
    to->bins = send(u, to->bins, n_column * to->axes[0].n_block * TESS_KDE_BLOCK, sizeof(int32_t));
}

static void send_grid(upload *u, const tess_kde_grid *from, tess_kde_grid *to)
{
    if (from->n_dim == 0 || u->nodes.n_dim > 0) {
        return;
    }
    for (int64_t k = 0; k < from->n_dim; k++) {
        send_axis(u, from->order, &from->axes[k], &to->axes[k]);
    }
    const int64_t n_column = from->n_dim == 2 ? from->axes[1].n_value : 1;
    to->row_first = send(u, from->row_first, from->axes[0].n_cell + 1, sizeof(int32_t));
    to->column = send(u, from->column, from->n_cell, sizeof(int32_t));
    to->bins =
        send(u, from->bins, n_column * from->axes[0].n_block * TESS_KDE_BLOCK, sizeof(int32_t));
}

static void send_model(upload *u, const kde_model *kde, const int32_t *place_of_bin)
{
    const tess_kde_model *from = &kde->stage;
    kde_there *there = u->there;
    tess_kde_model *to = &there->model;
    *to = *from;
    to->electrodes = there->electrodes;
    to->bin_place = send(u, from->bin_place, from->n_dim * from->n_bin, sizeof(double));
    for (int64_t e = 0; e < from->n_electrode; e++) {
        send_electrode(u, from, &from->electrodes[e], &there->electrodes[e]);
    }
    send_grid(u, &from->grid, &to->grid);
    send_nodes(u, &to->nodes);
    to->place_of_bin = send(u, place_of_bin, from->n_bin, sizeof *place_of_bin);
    there->intensity = send(u, kde->intensity, from->n_bin, sizeof(double));
    // Last: the table names where the others are.
    to->electrodes_there = send(u, there->electrodes, from->n_electrode, sizeof *there->electrodes);
}

static void find_places(const tess_kde_model *m, int32_t *place_of_bin)
{
    const tess_kde_grid *grid = &m->grid;
    const int64_t n_column = grid->n_dim == 2 ? grid->axes[1].n_value : 1;
    const int64_t n = grid->n_dim > 0 ? n_column * grid->axes[0].n_block * TESS_KDE_BLOCK : 0;
    for (int64_t i = 0; i < n; i++) {
        if (grid->bins[i] >= 0) {
            place_of_bin[grid->bins[i]] = (int32_t)i;
        }
    }
}

// Nodes where the device has them and the model suits them.
static tess_status choose_nodes(upload *u, const tess_kde_model *m)
{
    kde_there *there = u->there;
    const tess_device *device = there->device;
    const tess_stage_decode_kde_nodes args = {.model = m};
    if (device->backend->supports(device->handle, TESS_STAGE_DECODE_KDE_NODES, &args) != TESS_OK) {
        return TESS_OK;
    }
    tess_kde_electrode *stepped =
        tess_blocks_alloc(&there->blocks, m->n_electrode, sizeof *stepped, "electrodes");
    if (!stepped) {
        return TESS_E_MEMORY;
    }
    u->stepped = stepped;
    return tess_de_kde_nodes(&there->blocks, m, &u->nodes, stepped);
}

// Items that rows has to hold.
static int64_t most_rows(const upload *u, const tess_kde_model *m)
{
    if (m->grid.n_dim == 0 || u->nodes.n_dim > 0) {
        return 0;
    }
    int64_t most = m->max_spike * m->grid.n_column;
    for (int64_t k = 0; k < m->grid.n_dim; k++) {
        const int64_t n = table_items(m->grid.order, &m->grid.axes[k]);
        most = n > most ? n : most;
    }
    return most;
}

// Counts the model's arrays, takes their room and fills it.
static tess_status send_arrays(upload *u, kde_model *kde, const int32_t *place_of_bin)
{
    const tess_kde_model *m = &kde->stage;
    kde_there *there = u->there;
    send_model(u, kde, place_of_bin);
    atomic_store(&kde->there_bytes, u->arrays.at);
    TESS_TRY(tess_upload_begin(&u->arrays, there->device));
    const size_t bytes = (size_t)(most_rows(u, m) + 1) * sizeof *u->rows;
    u->rows = tess_heap_alloc(&there->ctx->heap, bytes, TESS_TAG_SCRATCH, "moments");
    if (!u->rows) {
        return TESS_E_MEMORY;
    }
    send_model(u, kde, place_of_bin);
    const tess_status status = tess_upload_end(&u->arrays);
    tess_heap_free(&there->ctx->heap, u->rows, bytes, TESS_TAG_SCRATCH);
    return status;
}

static tess_status send_all(kde_there *there, kde_model *kde)
{
    const tess_kde_model *m = &kde->stage;
    if (there->device->shares_host_memory) {
        there->model = *m;
        there->model.electrodes_there = m->electrodes;
        there->intensity = kde->intensity;
        return TESS_OK;
    }
    int32_t *place_of_bin =
        tess_blocks_alloc(&there->blocks, m->n_bin, sizeof *place_of_bin, "places");
    there->electrodes =
        tess_blocks_alloc(&there->blocks, m->n_electrode, sizeof *there->electrodes, "electrodes");
    if (!place_of_bin || !there->electrodes) {
        return TESS_E_MEMORY;
    }
    find_places(m, place_of_bin);
    upload u = {.there = there, .arrays = {.into = &there->arrays}};
    TESS_TRY(choose_nodes(&u, m));
    TESS_TRY(send_arrays(&u, kde, place_of_bin));
    const tess_stage_decode_kde_nodes args = {.model = &there->model};
    return u.nodes.n_dim > 0
               ? tess_stage_run(there->device, TESS_STAGE_DECODE_KDE_NODES, &args, sizeof args)
               : TESS_OK;
}

tess_status tess_de_kde_there_take(tess_context *ctx, tess_device *device,
                                   const tess_decode_encoding *encoding, kde_there **out)
{
    kde_model *kde = encoding->model;
    kde_there *there = atomic_exchange(&kde->there[device->member], NULL);
    if (there && there->device == device) {
        *out = there;
        return TESS_OK;
    }
    tess_de_kde_there_free(there);
    there = tess_heap_alloc_zero(&ctx->heap, sizeof *there, TESS_TAG_SCRATCH, "model on a device");
    if (!there) {
        return TESS_E_MEMORY;
    }
    there->ctx = ctx;
    there->device = device;
    tess_blocks_init(&there->blocks, &ctx->heap);
    const tess_status status = send_all(there, kde);
    if (status != TESS_OK) {
        tess_de_kde_there_free(there);
        return status;
    }
    *out = there;
    return TESS_OK;
}

void tess_de_kde_there_put(const tess_decode_encoding *encoding, kde_there *there)
{
    kde_model *kde = encoding->model;
    // A context lives as long as the models made in it, and no longer; on the CPU there is nothing
    // to keep but room, which belongs to the memory limit.
    const tess_device *device = there->device;
    const bool stays = &there->ctx->heap == encoding->heap && !device->shares_host_memory;
    // Where memory is short, the next model needs the room more.
    if (stays && device->budget && tess_device_left(device) < device->budget->limit_bytes / 2) {
        tess_de_kde_rooms_free(there);
    }
    tess_de_kde_there_free(stays ? atomic_exchange(&kde->there[device->member], there) : there);
}

void tess_de_kde_rooms_free(kde_there *there)
{
    tess_resident *rooms[] = {&there->marks,  &there->values,  &there->row_first,
                              &there->item,   &there->out,     &there->counts,
                              &there->points, &there->queries, &there->scratch};
    for (size_t k = 0; k < sizeof rooms / sizeof *rooms; k++) {
        tess_resident_free(rooms[k]);
    }
}

void tess_de_kde_there_free(kde_there *there)
{
    if (!there) {
        return;
    }
    tess_resident_free(&there->arrays);
    tess_de_kde_rooms_free(there);
    tess_blocks_free(&there->blocks);
    tess_heap_free(&there->ctx->heap, there, sizeof *there, TESS_TAG_SCRATCH);
}
