// Nodes of a clusterless model: from spikes over nodes to bins is the place kernel, every spike is
// in one step of its cell, and every bin has its place.
#include "decode_kde_recording.h"

#include "base/blocks.h"
#include "runtime/context.h"
#include "systems/decode/kde/kde.h"
#include "systems/decode/kde/kde_nodes.h"

static tess_context *ctx;

// What a sum over nodes is off by, and rounding of the tables.
static const double BOUND = 2.7e-6;

typedef struct model {
    recording r;
    tess_decode_encoding *encoding;
    const tess_kde_model *stage;
    tess_blocks blocks;
    tess_kde_nodes nodes;
    tess_kde_electrode electrode;
} model;

static model make(const shape *s)
{
    model m = {.r = record(ctx, s)};
    tess_decode_training training;
    tess_decode_training_init(&training, sizeof training);
    const void *marks[] = {m.r.marks};
    const double *times[] = {m.r.spike_times};
    training.spikes.mark_dtype = TESS_F64;
    training.spikes.n_electrode = 1;
    training.spikes.n_spike = &m.r.s.n_encoding;
    training.spikes.n_feature = &m.r.s.n_feature;
    training.spikes.times = times;
    training.spikes.marks = marks;
    training.position.n_sample = s->n_sample;
    training.position.n_dim = s->n_dim;
    training.position.time = m.r.time;
    training.position.position = m.r.position;
    tess_decode_encoding_config config;
    tess_decode_encoding_config_init(&config, sizeof config);
    config.floor = (int32_t)s->floor;
    config.floor_nats = s->floor_nats;
    config.position_std = s->position_std;
    config.waveform_std = s->waveform_std;
    assert_ok(tess_decode_encoding_create(ctx, m.r.env, &training, &config, &m.encoding));
    const kde_model *kde = m.encoding->model;
    m.stage = &kde->stage;
    tess_blocks_init(&m.blocks, &ctx->heap);
    assert_ok(tess_de_kde_nodes(&m.blocks, m.stage, &m.nodes, &m.electrode));
    return m;
}

static void drop(model *m)
{
    tess_blocks_free(&m->blocks);
    tess_decode_encoding_destroy(m->encoding);
    forget(&m->r);
}

// Every spike in reach once, in a step of the cell that its place is in.
static void check_steps(const model *m)
{
    const tess_kde_electrode *e = &m->electrode;
    const tess_kde_nodes *nodes = &m->nodes;
    int *seen = calloc((size_t)e->n_spike, sizeof *seen);
    for (int64_t k = 0; k < e->n_step * TESS_KDE_STEP; k++) {
        const int64_t i = e->step_spike[k];
        if (i < 0) {
            continue;
        }
        seen[i]++;
        const int64_t cell = e->step_cell[k / TESS_KDE_STEP];
        assert_in_range(k / TESS_KDE_STEP, e->cell_step[cell], e->cell_step[cell + 1] - 1);
        const int64_t at[2] = {cell / nodes->n_cell[1], cell % nodes->n_cell[1]};
        for (int64_t d = 0; d < nodes->n_dim; d++) {
            const double place = (e->place[d * e->stride + i] - nodes->low[d]) / nodes->width -
                                 (double)(TESS_KDE_STRIDE * at[d]);
            // As many nodes of the window on either side.
            assert_true(place >= 5.5 - 1e-9 && place <= 9.5 + 1e-9);
        }
    }
    for (int64_t i = 0; i < e->n_spike; i++) {
        assert_int_equal(seen[i], i < e->n_cell_spike);
    }
    free(seen);
}

// Which value of each coordinate a bin has: every bin once.
static int64_t *values_of_bins(const model *m)
{
    const tess_kde_nodes *nodes = &m->nodes;
    const int64_t n_bin = m->stage->n_bin;
    const int64_t n_row = nodes->axes[0].n_block * TESS_KDE_BLOCK;
    const int64_t n_column = nodes->n_dim == 2 ? nodes->axes[1].n_value : 1;
    int64_t *value = calloc((size_t)(2 * n_bin), sizeof *value);
    int64_t n = 0;
    for (int64_t k = 0; k < n_row * n_column; k++) {
        const int32_t p = nodes->bins[k];
        if (p >= 0) {
            value[p] = k % n_row;
            value[n_bin + p] = k / n_row;
            n++;
        }
    }
    assert_int_equal(n, n_bin);
    return value;
}

// The kernel between a spike and all values of a coordinate, over the nodes of its window.
static void check_kernel(const model *m, int64_t i, int64_t d, const int64_t *value)
{
    const tess_kde_nodes *nodes = &m->nodes;
    const tess_kde_axis *axis = &nodes->axes[d];
    const double z = m->electrode.place[d * m->electrode.stride + i];
    const int64_t cell = (int64_t)(((z - nodes->low[d]) / nodes->width - 5.5) / TESS_KDE_STRIDE);
    for (int64_t p = 0; p < m->stage->n_bin; p++) {
        const double c = m->stage->bin_place[d * m->stage->n_bin + p];
        if ((z - c) * (z - c) > m->stage->grid.depth) {
            continue;
        }
        const int64_t block = value[p] / TESS_KDE_BLOCK;
        double sum = 0;
        for (int64_t g = TESS_KDE_STRIDE * cell;
             g < TESS_KDE_STRIDE * cell + TESS_KDE_WINDOW && g < axis->n_cell; g++) {
            const double u = z - nodes->low[d] - (double)g * nodes->width;
            const bool is_near = g >= axis->first[block] && g < axis->end[block];
            const double entry = (double)axis->table[(block * axis->n_cell + g) * TESS_KDE_BLOCK +
                                                     value[p] % TESS_KDE_BLOCK];
            sum += is_near ? exp(-nodes->narrow * u * u) * entry : 0;
        }
        const double want = exp(-(z - c) * (z - c));
        assert_true(fabs(sum - want) <= BOUND * want);
    }
}

// Nodes of a spike add up to its weight.
static void check_total(const model *m, int64_t i)
{
    const tess_kde_nodes *nodes = &m->nodes;
    double total = nodes->per_total;
    for (int64_t d = 0; d < nodes->n_dim; d++) {
        const double z = m->electrode.place[d * m->electrode.stride + i];
        double sum = 0;
        for (int64_t g = 0; g < nodes->n_node[d]; g++) {
            const double u = z - nodes->low[d] - (double)g * nodes->width;
            sum += exp(-nodes->narrow * u * u);
        }
        total *= sum;
    }
    assert_true(fabs(total - 1) < 1e-4);
}

static void check(const shape *s)
{
    model m = make(s);
    assert_int_equal(m.nodes.n_dim, s->n_dim);
    check_steps(&m);
    int64_t *value = values_of_bins(&m);
    for (int64_t i = 0; i < m.electrode.n_cell_spike; i++) {
        check_total(&m, i);
        for (int64_t d = 0; d < s->n_dim; d++) {
            check_kernel(&m, i, d, value + d * m.stage->n_bin);
        }
    }
    free(value);
    drop(&m);
}

static void a_line(void **state)
{
    (void)state;
    static const double stds[] = {1, 6, 40};
    static const double floors[] = {2, 16, 60};
    for (size_t k = 0; k < ARRAY_LEN(stds); k++) {
        shape s = plain();
        s.position_std = stds[k];
        s.floor = TESS_DECODE_FLOOR_RELATIVE;
        s.floor_nats = floors[k];
        seed = 7 + k;
        check(&s);
    }
}

static void a_plane(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        shape s = plain();
        s.n_dim = 2;
        s.length = 60;
        s.bin_size = 3;
        s.n_encoding = 3000;
        s.narrow[k] = 0.5;
        seed = 20 + (uint64_t)k;
        check(&s);
    }
}

// Too many nodes, or too few spikes for them: cells it is.
static void no_nodes(void **state)
{
    (void)state;
    shape s = plain();
    s.n_dim = 2;
    s.length = 100;
    s.position_std = 0.3;
    s.bin_size = 4;
    seed = 30;
    model m = make(&s);
    assert_int_equal(m.nodes.n_dim, 0);
    drop(&m);
}

static int open_context(void **state)
{
    (void)state;
    ctx = unit_context(2, 0);
    return ctx ? 0 : -1;
}

static int close_context(void **state)
{
    (void)state;
    tess_context_destroy(ctx);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line),
        cmocka_unit_test(a_plane),
        cmocka_unit_test(no_nodes),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
