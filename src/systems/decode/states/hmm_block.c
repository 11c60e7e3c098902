#include "systems/decode/states/hmm_block.h"

#include "base/status.h"

#include <string.h>

// Tables up to this are copied into the scratch, which a device may have close to its threads.
static const int64_t NEAR_ITEMS = 4096;
// A pass is cut into as many items as threads like, if it has them.
static const int64_t LEAST_ITEMS = 400;
static const int ROWS_AT = 24; // bit of tess_hmm_item.n_term

typedef struct packing {
    char *bytes; // NULL: counted only
    size_t at;
} packing;

// Room for n items; what is at it, NULL while it is counted.
static void *reserve(packing *p, int64_t n, size_t item_bytes, int32_t *offset)
{
    *offset = (int32_t)p->at;
    char *to = p->bytes ? p->bytes + p->at : NULL;
    p->at += ((size_t)n * item_bytes + 15) / 16 * 16;
    return to;
}

static int32_t pack(packing *p, const void *from, int64_t n, size_t item_bytes)
{
    int32_t offset = -1;
    if (from) {
        void *to = reserve(p, n, item_bytes, &offset);
        if (to) {
            memcpy(to, from, (size_t)n * item_bytes);
        }
    }
    return offset;
}

static int32_t pack_i64(packing *p, const int64_t *from, int64_t n)
{
    int32_t offset;
    int32_t *to = reserve(p, n, sizeof *to, &offset);
    for (int64_t i = 0; to && i < n; i++) {
        to[i] = (int32_t)from[i];
    }
    return offset;
}

static int64_t whole_lines(int64_t n)
{
    return (n + 7) / 8 * 8;
}

// Powers of two, at most `most`, that make up a tile's rows.
static int64_t parts_of(int32_t n_row, int32_t most)
{
    int64_t n = 0;
    while (n_row > 0) {
        int32_t part = most;
        while (part > n_row) {
            part /= 2;
        }
        n_row -= part;
        n++;
    }
    return n;
}

static int64_t count_items(const tess_hmm_pass *pass, int32_t most, bool heads_only)
{
    int64_t n = 0;
    for (int64_t i = 0; i < pass->n_tile; i++) {
        const tess_tile_sum *tile = &pass->tiles[i];
        n += heads_only && tile->add ? 0 : tile->n * parts_of(tile->n_row, most);
    }
    return n;
}

// Rows of an item: as many as leave enough items.
static int32_t rows_of_items(const tess_hmm_pass *pass)
{
    int32_t most = 8;
    while (most > 1 && count_items(pass, most, true) < LEAST_ITEMS) {
        most /= 2;
    }
    return most;
}

static tess_hmm_item item_of(const tess_tile_sum *tile, int32_t row, int32_t n_row, int32_t column)
{
    return (tess_hmm_item){.w = (int32_t)tile->w + row * tile->w_row,
                           .x = (int32_t)tile->x + column,
                           .out = (int32_t)tile->out + row * tile->out_row + column,
                           .w_term = tile->w_term,
                           .x_term = tile->x_term,
                           .w_row = tile->w_row,
                           .out_row = tile->out_row,
                           .n_term = tile->n_term | n_row << ROWS_AT};
}

// Items of a tile that begins results, each followed by those of the tiles that add to them.
static int64_t list_tile(const tess_hmm_pass *pass, int64_t head, int32_t most, int64_t n,
                         int32_t *first, int64_t *n_group, tess_hmm_item *items)
{
    const tess_tile_sum *tile = &pass->tiles[head];
    for (int32_t row = 0; row < tile->n_row;) {
        int32_t part = most;
        while (part > tile->n_row - row) {
            part /= 2;
        }
        for (int32_t column = 0; column < tile->n; column++) {
            if (first) {
                first[*n_group] = (int32_t)n;
            }
            ++*n_group;
            int64_t k = head;
            do {
                items[n++] = item_of(&pass->tiles[k++], row, part, column);
            } while (k < pass->n_tile && pass->tiles[k].add);
        }
        row += part;
    }
    return n;
}

static void pack_pass(packing *p, const tess_hmm_pass *pass, tess_hmm_block_pass *to)
{
    const int32_t most = rows_of_items(pass);
    const int64_t n_item = count_items(pass, most, false);
    const int64_t n_group = count_items(pass, most, true);
    to->weighs = pass->weighs;
    to->n_group = (int32_t)n_group;
    to->first = -1;
    int32_t *first = NULL;
    if (n_group != n_item) {
        first = reserve(p, n_group + 1, sizeof *first, &to->first);
    }
    tess_hmm_item *items = reserve(p, n_item, sizeof *items, &to->items);
    int64_t n = 0;
    int64_t group = 0;
    for (int64_t i = 0; items && i < pass->n_tile; i++) {
        if (!pass->tiles[i].add) {
            n = list_tile(pass, i, most, n, first, &group, items);
        }
    }
    if (first) {
        first[group] = (int32_t)n;
    }
}

// Where an operator's cells and table lie in the scratch.
typedef struct cells_place {
    int32_t scratch;
    int32_t n_cell;
    int32_t table_at;
} cells_place;

static void pack_operator(packing *p, const tess_hmm_operator *op, const cells_place *place,
                          const double *table, tess_hmm_block_operator *to)
{
    *to = (tess_hmm_block_operator){.table = table,
                                    .n_table = (int32_t)op->n_table,
                                    .table_at = place->table_at,
                                    .scratch = place->scratch,
                                    .n_cell = place->n_cell,
                                    .n_in = (int32_t)op->n_in,
                                    .n_out = (int32_t)op->n_out,
                                    .before = pack(p, op->before, op->n_in, sizeof(double)),
                                    .after = pack(p, op->after, op->n_out, sizeof(double)),
                                    .scatter = pack(p, op->scatter, op->n_in, sizeof(int32_t)),
                                    .gather = pack(p, op->gather, op->n_out, sizeof(int32_t)),
                                    .n_pass = op->n_pass};
    for (int32_t k = 0; k < op->n_pass; k++) {
        pack_pass(p, &op->pass[k], &to->pass[k]);
    }
}

static void pack_direction(packing *p, const tess_hmm_model *m, int direction,
                           const cells_place *places, const double *const *tables)
{
    const int64_t n_state = m->n_state;
    const tess_hmm_operator *operators = direction == 0 ? m->forward : m->backward;
    tess_hmm_block head = {.n_state = m->n_state, .n_operator = m->n_operator};
    int32_t at;
    p->at = 0;
    reserve(p, 1, sizeof head, &at);
    head.first = pack_i64(p, m->first, n_state + 1);
    head.ll_first = pack_i64(p, m->ll_first, n_state);
    head.link = pack(p, m->link, n_state * n_state, sizeof(int32_t));
    int32_t *row_first = reserve(p, n_state + 1, sizeof *row_first, &head.row_first);
    for (int64_t s = 0; s < n_state; s++) {
        if (row_first) {
            row_first[s] = head.n_row;
        }
        head.n_row += (int32_t)((m->first[s + 1] - m->first[s] + TESS_HMM_LANES_OF_ROW - 1) /
                                TESS_HMM_LANES_OF_ROW);
    }
    if (row_first) {
        row_first[n_state] = head.n_row;
    }
    tess_hmm_block_operator *packed = reserve(p, m->n_operator, sizeof *packed, &head.operators);
    for (int32_t k = 0; k < m->n_operator; k++) {
        tess_hmm_block_operator one;
        pack_operator(p, &operators[k], &places[k], tables[k], &one);
        if (packed) {
            packed[k] = one;
        }
    }
    if (p->bytes) {
        memcpy(p->bytes, &head, sizeof head);
    }
}

// Both ways of a movement share cells where they write the same ones; the tables of either
// direction take the same room.
static void place_cells(const tess_hmm_model *m, cells_place *const places[2], int64_t *n_scratch)
{
    int64_t at = whole_lines(2 * m->n_bin);
    for (int d = 0; d < 2; d++) {
        const tess_hmm_operator *operators = d == 0 ? m->forward : m->backward;
        for (int32_t k = 0; k < m->n_operator; k++) {
            const tess_hmm_operator *op = &operators[k];
            const int64_t most = op->n_in > op->n_out ? op->n_in : op->n_out;
            const int64_t n_cell = whole_lines(op->scatter ? op->n_cell : most);
            const bool is_shared = d == 1 && op->scratch == m->forward[k].scratch;
            places[d][k].n_cell = (int32_t)n_cell;
            places[d][k].scratch = is_shared ? places[0][k].scratch : (int32_t)at;
            at += is_shared ? 0 : (op->n_pass + 1) * n_cell;
        }
    }
    *n_scratch = at;
    for (int d = 0; d < 2; d++) {
        const tess_hmm_operator *operators = d == 0 ? m->forward : m->backward;
        int64_t end = at;
        for (int32_t k = 0; k < m->n_operator; k++) {
            const bool is_near = operators[k].n_table <= NEAR_ITEMS;
            places[d][k].table_at = is_near ? (int32_t)end : -1;
            end += is_near ? whole_lines(operators[k].n_table) : 0;
        }
        *n_scratch = end > *n_scratch ? end : *n_scratch;
    }
}

tess_status tess_de_hmm_pack(tess_heap *heap, const tess_hmm_model *model,
                             const double *const *const tables[2], tess_de_hmm_packed *out)
{
    memset(out, 0, sizeof *out);
    const size_t n_place = (size_t)(model->n_operator > 0 ? model->n_operator : 1);
    const size_t bytes = 2 * n_place * sizeof(cells_place);
    cells_place *all = tess_heap_alloc(heap, bytes, TESS_TAG_SCRATCH, "packed states");
    if (!all) {
        return TESS_E_MEMORY;
    }
    cells_place *const places[2] = {all, all + n_place};
    tess_status status = TESS_OK;
    place_cells(model, places, &out->n_scratch);
    for (int d = 0; status == TESS_OK && d < 2; d++) {
        packing p = {0};
        pack_direction(&p, model, d, places[d], tables[d]);
        out->n_byte[d] = p.at;
        p.bytes = tess_heap_alloc_zero(heap, p.at, TESS_TAG_SCRATCH, "packed states");
        out->bytes[d] = p.bytes;
        status = p.bytes ? TESS_OK : TESS_E_MEMORY;
        if (p.bytes) {
            pack_direction(&p, model, d, places[d], tables[d]);
        }
    }
    tess_heap_free(heap, all, bytes, TESS_TAG_SCRATCH);
    if (status != TESS_OK) {
        tess_de_hmm_packed_free(heap, out);
    }
    return status;
}

void tess_de_hmm_packed_free(tess_heap *heap, tess_de_hmm_packed *packed)
{
    for (int d = 0; d < 2; d++) {
        tess_heap_free(heap, packed->bytes[d], packed->n_byte[d], TESS_TAG_SCRATCH);
        packed->bytes[d] = NULL;
    }
}
