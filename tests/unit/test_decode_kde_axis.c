// Tables of the axes of a fast model: what is within reach, here; and all of it on a device.
#include "decode_device.h"
#include "decode_kde_recording.h"
#include "systems/decode/kde/kde_there.h"

static tess_context *ctx;

static const tess_kde_model *stage_of(const tess_decode_encoding *encoding)
{
    return &((const kde_model *)encoding->model)->stage;
}

static int64_t rows_of(const tess_kde_axis *axis)
{
    return axis->row[axis->n_block - 1] + axis->end[axis->n_block - 1];
}

// Of a line ten times as long about ten times as much is within reach.
static void tables_are_as_long_as_the_line(void **state)
{
    (void)state;
    int64_t rows[3][2];
    for (int k = 0; k < 2; k++) {
        shape s = plain();
        s.length = k == 0 ? 100 : 1000;
        s.n_sample = 8000;
        s.bin_size = 0.4;
        s.position_std = 2;
        seed = 95;
        recording r = record(ctx, &s);
        tess_decode_encoding *fast = encode(ctx, &r, TESS_DECODE_FAST, 0);
        const tess_kde_model *m = stage_of(fast);
        assert_non_null(m->nodes.axes[1].table);
        rows[0][k] = rows_of(&m->grid.axes[0]);
        rows[1][k] = rows_of(&m->nodes.axes[0]);
        rows[2][k] = rows_of(&m->nodes.axes[1]);
        tess_decode_encoding_destroy(fast);
        forget(&r);
    }
    for (int k = 0; k < 3; k++) {
        assert_true(rows[k][1] < 25 * rows[k][0]);
    }
}

static void compare_axis(const tess_kde_axis *host, const tess_kde_axis *there, int64_t order)
{
    const int64_t row_items = order * TESS_KDE_BLOCK;
    for (int64_t b = 0; b < host->n_block; b++) {
        for (int64_t c = 0; c < host->n_cell; c++) {
            const bool is_near = c >= host->first[b] && c < host->end[b];
            const float *of_host = host->table + (host->row[b] + c) * row_items;
            const float *of_there = there->table + (b * host->n_cell + c) * row_items;
            for (int64_t i = 0; i < row_items; i++) {
                assert_true(of_there[i] == (is_near ? of_host[i] : 0));
            }
        }
    }
}

static void devices_have_all_cells(void **state)
{
    (void)state;
    for (int n_dim = 1; n_dim <= 2; n_dim++) {
        shape s = plain();
        s.n_dim = n_dim;
        s.n_encoding = 2000;
        s.position_std = 3;
        seed = 97;
        recording r = record(ctx, &s);
        tess_context *other = unit_context(1, 0);
        decode_device *with = decode_device_use(other, UINT64_C(1) << 30);
        tess_decode_encoding *fast = encode(other, &r, TESS_DECODE_FAST, 0);
        const tess_kde_grid *grid = &stage_of(fast)->grid;
        kde_there *there = NULL;
        assert_ok(tess_de_kde_there_take(other, &with->device, fast, &there));
        assert_int_equal(grid->n_dim, n_dim);
        for (int64_t k = 0; k < n_dim; k++) {
            compare_axis(&grid->axes[k], &there->model.grid.axes[k], grid->order);
        }
        tess_de_kde_there_put(fast, there);
        tess_decode_encoding_destroy(fast);
        tess_context_destroy(other);
        forget(&r);
    }
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
        cmocka_unit_test(tables_are_as_long_as_the_line),
        cmocka_unit_test(devices_have_all_cells),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
