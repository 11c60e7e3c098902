// Linear maps of rows by pairs of components against the matrix between all items of a row.
#include "clifford_arrays.h"

#include "tessera/clifford/maps.h"

#include <stdbool.h>
#include <string.h>

enum { MOST_WIDTH = 16 * 12 + 20, MOST_ROWS = 21, MOST_ITEMS = 1 << 14 };

typedef struct shape {
    int64_t n_row;
    tess_clifford_row x, z;
    int32_t pairs, has_bias;
    int64_t beside; // items behind every row
} shape;

// The matrix: which item stands where, 1 + its number; 0: none. Row `width` is of the bias.
static int64_t matrix[MOST_WIDTH + 1][MOST_WIDTH];

static int64_t width_of(const tess_clifford_row *row)
{
    return 16 * row->n_channel + row->n_scalar;
}

static int64_t channel_at(const tess_clifford_row *row, int64_t channel)
{
    const int64_t per = row->n_channel / row->n_group;
    return channel / per * (width_of(row) / row->n_group) + channel % per * 16;
}

static int64_t scalar_at(const tess_clifford_row *row, int64_t scalar)
{
    const int64_t per = row->n_scalar / row->n_group;
    return scalar / per * (width_of(row) / row->n_group) + row->n_channel / row->n_group * 16 +
           scalar % per;
}

static int component(const shape *s, int pair, int b)
{
    static const int null_first[8] = {0, 2, 3, 4, 8, 9, 10, 14};
    static const int null_second[8] = {1, 5, 6, 7, 11, 12, 13, 15};
    if (s->pairs == TESS_CLIFFORD_PAIRS_NULL) {
        return b ? null_second[pair] : null_first[pair];
    }
    return b ? 15 - pair : pair;
}

// Numbers the items in the order of the header; returns how many there are.
static int64_t fill_matrix(const shape *s)
{
    int64_t n = 0;
    memset(matrix, 0, sizeof matrix);
    for (int pair = 0; pair < 8; pair++) {
        for (int64_t c = 0; c < s->x.n_channel; c++) {
            for (int64_t C = 0; C < s->z.n_channel; C++) {
                for (int i = 0; i < 4; i++) {
                    matrix[channel_at(&s->x, c) + component(s, pair, i / 2)]
                          [channel_at(&s->z, C) + component(s, pair, i % 2)] = ++n;
                }
            }
        }
    }
    for (int64_t line = 0; line <= s->x.n_scalar; line++) {
        const int64_t at = line < s->x.n_scalar ? scalar_at(&s->x, line) : width_of(&s->x);
        for (int B = 0; B < 2; B++) {
            for (int64_t C = 0; C < s->z.n_channel; C++) {
                matrix[at][channel_at(&s->z, C) + component(s, 0, B)] = ++n;
            }
        }
    }
    for (int64_t c = 0; c < s->x.n_channel; c++) {
        for (int b = 0; b < 2; b++) {
            for (int64_t S = 0; S < s->z.n_scalar; S++) {
                matrix[channel_at(&s->x, c) + component(s, 0, b)][scalar_at(&s->z, S)] = ++n;
            }
        }
    }
    for (int64_t line = 0; line <= s->x.n_scalar; line++) {
        const int64_t at = line < s->x.n_scalar ? scalar_at(&s->x, line) : width_of(&s->x);
        for (int64_t S = 0; S < s->z.n_scalar; S++) {
            matrix[at][scalar_at(&s->z, S)] = ++n;
        }
    }
    return n;
}

typedef union room {
    float f32[MOST_ROWS * (MOST_WIDTH + 8)];
    double f64[MOST_ROWS * (MOST_WIDTH + 8)];
} room;

static room x_room, z_room, gx_room;
static union {
    float f32[MOST_ITEMS];
    double f64[MOST_ITEMS];
} items_room, g_room;

static double get(const tess_array *a, int64_t at)
{
    return a->dtype == TESS_F64 ? ((const double *)a->data)[at]
                                : (double)((const float *)a->data)[at];
}

static void put(const tess_array *a, int64_t at, double value)
{
    if (a->dtype == TESS_F64) {
        ((double *)a->data)[at] = value;
    } else {
        ((float *)a->data)[at] = (float)value;
    }
}

static tess_array rows_of(void *data, tess_dtype dtype, int64_t n, int64_t width, int64_t beside)
{
    tess_array a;
    assert_ok(tess_array_init(&a, data, dtype, 2, (const int64_t[]){n, width}));
    a.stride[0] = width + beside;
    return a;
}

static void draw(uint64_t *seed, const tess_array *a, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        put(a, i, (double)(cl_draw(seed) % 2001) / 1000 - 1);
    }
}

static void check_close(double found, double wanted, double scale, tess_dtype dtype)
{
    const double bound = (dtype == TESS_F64 ? 1e-13 : 2e-6) * (1 + scale);
    if (!(found - wanted <= bound && wanted - found <= bound)) {
        fail_msg("%.17g, expected %.17g within %g", found, wanted, bound);
    }
}

typedef struct trial {
    const shape *s;
    tess_clifford_maps maps;
    tess_array x, z, items;
} trial;

static void check_forward(tess_context *ctx, const trial *t)
{
    const int64_t n_x = width_of(&t->s->x), n_z = width_of(&t->s->z);
    assert_ok(tess_clifford_maps_forward(ctx, &t->maps, &t->x, &t->items, &t->z, NULL));
    for (int64_t r = 0; r < t->s->n_row; r++) {
        for (int64_t j = 0; j < n_z; j++) {
            double sum = 0;
            for (int64_t i = 0; i <= n_x; i++) {
                const double in = i < n_x ? get(&t->x, r * t->x.stride[0] + i) : t->s->has_bias;
                sum += matrix[i][j] ? in * get(&t->items, matrix[i][j] - 1) : 0;
            }
            check_close(get(&t->z, r * t->z.stride[0] + j), sum, 0, (tess_dtype)t->x.dtype);
        }
    }
}

static void check_backward(tess_context *ctx, trial *t, bool adds)
{
    const int64_t n_x = width_of(&t->s->x), n_z = width_of(&t->s->z);
    const tess_dtype dtype = (tess_dtype)t->x.dtype;
    tess_array gx = rows_of(&gx_room, dtype, t->s->n_row, n_x, t->s->beside);
    tess_array g;
    assert_ok(tess_array_init(&g, &g_room, dtype, 1, &t->items.shape[0]));
    for (int64_t i = 0; i < g.shape[0]; i++) {
        put(&g, i, adds ? 0.25 : 99);
    }
    t->maps.adds = adds;
    assert_ok(tess_clifford_maps_backward(ctx, &t->maps, &t->x, &t->items, &t->z, &gx, &g, NULL));
    for (int64_t r = 0; r < t->s->n_row; r++) {
        for (int64_t i = 0; i < n_x; i++) {
            double sum = 0;
            for (int64_t j = 0; j < n_z; j++) {
                sum += matrix[i][j]
                           ? get(&t->z, r * t->z.stride[0] + j) * get(&t->items, matrix[i][j] - 1)
                           : 0;
            }
            check_close(get(&gx, r * gx.stride[0] + i), sum, 4, dtype);
        }
    }
    for (int64_t i = 0; i <= n_x; i++) {
        for (int64_t j = 0; j < n_z; j++) {
            double sum = adds ? 0.25 : 0;
            for (int64_t r = 0; r < t->s->n_row; r++) {
                const double in = i < n_x ? get(&t->x, r * t->x.stride[0] + i) : t->s->has_bias;
                sum += in * get(&t->z, r * t->z.stride[0] + j);
            }
            if (matrix[i][j]) {
                check_close(get(&g, matrix[i][j] - 1), sum, 20, dtype);
            }
        }
    }
}

static const shape shapes[] = {
    {1, {1, 0, 1}, {1, 0, 1}, TESS_CLIFFORD_PAIRS_DUAL, 0, 0},
    {3, {2, 3, 1}, {5, 0, 1}, TESS_CLIFFORD_PAIRS_DUAL, 1, 0},
    {17, {4, 8, 2}, {9, 5, 1}, TESS_CLIFFORD_PAIRS_NULL, 1, 3},
    {21, {3, 1, 1}, {12, 6, 6}, TESS_CLIFFORD_PAIRS_DUAL, 0, 8},
    {16, {10, 0, 1}, {3, 20, 1}, TESS_CLIFFORD_PAIRS_NULL, 1, 0},
    {0, {2, 2, 1}, {2, 2, 1}, TESS_CLIFFORD_PAIRS_DUAL, 1, 0},
};

static void any_map(void **state)
{
    (void)state;
    uint64_t seed = 12;
    for (int threads = 1; threads <= 3; threads += 2) {
        tess_context *ctx = unit_context(threads, 0);
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
            for (int f64 = 0; f64 < 2; f64++) {
                const shape *s = &shapes[i];
                const tess_dtype dtype = f64 ? TESS_F64 : TESS_F32;
                trial t = {.s = s,
                           .maps = {.struct_size = sizeof t.maps,
                                    .pairs = s->pairs,
                                    .x = s->x,
                                    .z = s->z,
                                    .has_bias = s->has_bias}};
                int64_t n_item = 0;
                assert_ok(tess_clifford_maps_items(&t.maps, &n_item));
                assert_int_equal(n_item, fill_matrix(s));
                assert_true(n_item <= MOST_ITEMS);
                t.x = rows_of(&x_room, dtype, s->n_row, width_of(&s->x), s->beside);
                t.z = rows_of(&z_room, dtype, s->n_row, width_of(&s->z), s->beside);
                assert_ok(tess_array_init(&t.items, &items_room, dtype, 1, &n_item));
                draw(&seed, &t.x, s->n_row * t.x.stride[0]);
                draw(&seed, &t.items, n_item);
                check_forward(ctx, &t);
                check_backward(ctx, &t, false);
                check_backward(ctx, &t, true);
            }
        }
        tess_context_destroy(ctx);
    }
}

static void complaints(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    tess_clifford_maps maps = {
        .struct_size = sizeof maps, .x = {2, 1, 1}, .z = {1, 3, 1}, .has_bias = 1};
    int64_t n = 0;
    assert_ok(tess_clifford_maps_items(&maps, &n));
    tess_array items, few;
    assert_ok(tess_array_init(&items, &items_room, TESS_F32, 1, &n));
    n--;
    assert_ok(tess_array_init(&few, &items_room, TESS_F32, 1, &n));
    tess_array x = rows_of(&x_room, TESS_F32, 4, 33, 0);
    tess_array z = rows_of(&z_room, TESS_F32, 4, 19, 0);
    assert_ok(tess_clifford_maps_forward(ctx, &maps, &x, &items, &z, NULL));
    assert_fails(tess_clifford_maps_forward(ctx, &maps, &z, &items, &z, NULL), TESS_E_SHAPE,
                 "x: (4,19), expected (4,33)");
    assert_fails(tess_clifford_maps_forward(ctx, &maps, &x, &few, &z, NULL), TESS_E_SHAPE,
                 "items:");
    assert_fails(tess_clifford_maps_forward(ctx, &maps, &x, &items, NULL, NULL), TESS_E_ARGUMENT,
                 "z must");
    uint64_t bytes = 1;
    assert_ok(tess_clifford_maps_workspace(ctx, &maps, &x, &bytes));
    assert_int_equal(bytes, 0);
    tess_array there = x;
    there.space = TESS_SPACE_DEVICE;
    assert_fails(tess_clifford_maps_workspace(ctx, &maps, &there, &bytes), TESS_E_SPACE,
                 "is on GPU 0");
    assert_fails(tess_clifford_maps_workspace(ctx, &maps, &x, NULL), TESS_E_ARGUMENT, "bytes");
    assert_fails(tess_clifford_maps_forward(ctx, NULL, &x, &items, &z, NULL), TESS_E_ARGUMENT,
                 "maps");
    tess_array narrow = x;
    narrow.stride[0] = 5;
    assert_fails(tess_clifford_maps_forward(ctx, &maps, &narrow, &items, &z, NULL), TESS_E_ARGUMENT,
                 "overlap");
    tess_array beside = rows_of(&x_room.f32[40], TESS_F32, 4, 19, 0);
    assert_fails(tess_clifford_maps_forward(ctx, &maps, &x, &items, &beside, NULL), TESS_E_ARGUMENT,
                 "overlaps");
    maps.x.n_group = 2;
    assert_fails(tess_clifford_maps_items(&maps, &n), TESS_E_ARGUMENT, "equal groups");
    maps.x.n_group = 1;
    maps.pairs = 7;
    assert_fails(tess_clifford_maps_items(&maps, &n), TESS_E_ARGUMENT, "pairs is 7");
    tess_context_destroy(ctx);
}

static void complaints_of_arrays(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    const tess_clifford_maps maps = {
        .struct_size = sizeof maps, .x = {2, 1, 1}, .z = {1, 3, 1}, .has_bias = 1};
    int64_t n = 0;
    uint64_t bytes = 1;
    assert_ok(tess_clifford_maps_items(&maps, &n));
    tess_array items;
    assert_ok(tess_array_init(&items, &items_room, TESS_F32, 1, &n));
    tess_array x = rows_of(&x_room, TESS_F32, 4, 33, 0);
    tess_array z = rows_of(&z_room, TESS_F32, 4, 19, 0);
    const tess_clifford_maps same = {.struct_size = sizeof same, .x = {2, 1, 1}, .z = {2, 1, 1}};
    int64_t n_same = 0;
    assert_ok(tess_clifford_maps_items(&same, &n_same));
    tess_array square, g_items = items;
    assert_ok(tess_array_init(&square, &items_room, TESS_F32, 1, &n_same));
    g_items.data = &g_room;
    assert_fails(tess_clifford_maps_forward(ctx, &same, &x, &square, &x, NULL), TESS_E_ARGUMENT,
                 "overlaps");
    assert_fails(tess_clifford_maps_backward(ctx, &same, &x, &square, &x, &x, NULL, NULL),
                 TESS_E_ARGUMENT, "overlaps");
    assert_fails(tess_clifford_maps_backward(ctx, &maps, &x, &items, &z, NULL, &items, NULL),
                 TESS_E_ARGUMENT, "overlaps");
    assert_fails(tess_clifford_maps_backward(ctx, &maps, &x, &items, &z, &x, &g_items, NULL),
                 TESS_E_ARGUMENT, "overlaps");
    tess_array fewer = x, fewer_z = z;
    fewer.shape[0] = fewer_z.shape[0] = -4;
    assert_fails(tess_clifford_maps_forward(ctx, &maps, &fewer, &items, &fewer_z, NULL),
                 TESS_E_SHAPE, "x: axis 0 is -4 long");
    assert_fails(tess_clifford_maps_workspace(ctx, &maps, &fewer, &bytes), TESS_E_SHAPE, "-4");
    tess_array empty = x, empty_z = z;
    empty.shape[0] = empty_z.shape[0] = 0;
    empty.stride[1] = empty_z.stride[1] = 7;
    assert_ok(tess_clifford_maps_forward(ctx, &maps, &empty, &items, &empty_z, NULL));
    tess_array elsewhere = x;
    elsewhere.space = 9;
    assert_fails(tess_clifford_maps_forward(ctx, &maps, &elsewhere, &items, &z, NULL), TESS_E_SPACE,
                 "memory space 9");
    tess_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(any_map), cmocka_unit_test(complaints),
                                       cmocka_unit_test(complaints_of_arrays)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
