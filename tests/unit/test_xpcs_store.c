// Tiles of triangles, and the data of matrices in memory.
#include "xpcs_matrices.h"

enum { RUN = TESS_STAGE_XPCS_RUN, LEAF = TESS_STAGE_XPCS_LEAF };

static void tiles_cover_every_pair_once(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    static const int64_t shapes[][4] = {// frames, angles, item bytes, sigma
                                        {3, 1, 4, 0},    {4, 2, 8, 1},   {17, 3, 4, 0},
                                        {257, 1, 8, 0},  {258, 5, 4, 1}, {259, 2, 4, 0},
                                        {513, 23, 4, 0}, {600, 3, 8, 1}};
    for (size_t s = 0; s < ARRAY_LEN(shapes); s++) {
        const int64_t n = shapes[s][0];
        tess_xp_tiles tiles;
        assert_ok(tess_xp_tiles_create(ctx, shapes[s][1], n, (int32_t)shapes[s][2],
                                       (int32_t)shapes[s][3], &tiles));
        int64_t row = 0;
        int64_t column = 1;
        uint64_t offset = 0;
        for (int64_t k = 0; k < tiles.n_tile; k++) {
            const tess_xp_tile tile = tess_xp_tiles_at(&tiles, k);
            assert_int_equal(tile.row, row);
            assert_int_equal(tile.first_column, column);
            assert_true(tile.n_column >= 1 && tile.n_column <= RUN);
            assert_true(tile.width >= tile.n_column && tile.width % TESS_STAGE_XPCS_PAD == 0);
            assert_int_equal(tile.offset, offset);
            assert_int_equal(tile.offset % 64, 0);
            const int64_t samples = shapes[s][1] * tile.width;
            const int64_t least = shapes[s][1] * TESS_STAGE_XPCS_HEAD * 8 + samples * shapes[s][2] +
                                  (shapes[s][3] ? samples * 8 : 0);
            assert_true(tile.bytes >= (uint64_t)least && tile.bytes < (uint64_t)least + 64);
            if (k % LEAF == 0) {
                assert_int_equal(tess_xp_tiles_leaf_offset(&tiles, k / LEAF), offset);
            }
            offset += tile.bytes;
            column += tile.n_column;
            if (column == n) {
                row++;
                column = row + 1;
            }
        }
        assert_int_equal(row, n - 1);
        assert_int_equal(tess_xp_tiles_n_leaf(&tiles), (tiles.n_tile + LEAF - 1) / LEAF);
        assert_int_equal(tess_xp_tiles_leaf_offset(&tiles, tess_xp_tiles_n_leaf(&tiles)), offset);
        tess_xp_tiles_destroy(ctx, &tiles);
        tess_xp_tiles_destroy(ctx, &tiles);
    }
    tess_xp_tiles tiles;
    assert_fails(tess_xp_tiles_create(ctx, 0, 10, 4, 0, &tiles), TESS_E_SHAPE, "no angle");
    assert_fails(tess_xp_tiles_create(ctx, 1, 2, 4, 0, &tiles), TESS_E_SHAPE, "2 frames");
    assert_fails(tess_xp_tiles_create(ctx, 1, INT64_C(1) << 40, 4, 0, &tiles), TESS_E_SHAPE,
                 "addressed");
    assert_fails(tess_xp_tiles_create(ctx, INT64_C(1) << 30, 200000, 8, 1, &tiles), TESS_E_SHAPE,
                 "addressed");
    tess_context_destroy(ctx);
}

static double record_sample(const tess_xpcs_data *data, const unsigned char *record,
                            const tess_xp_tile *tile, int64_t a, int64_t k)
{
    const unsigned char *y = record + data->tiles.n_angle * TESS_STAGE_XPCS_HEAD * 8;
    return data->tiles.item_bytes == 4
               ? (double)((const float *)(const void *)y)[a * tile->width + k]
               : ((const double *)(const void *)y)[a * tile->width + k];
}

static bool same(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

// Every sample, weight and head of the records; row 0 of the data is frame first of the matrices.
static void check_records(tess_xpcs_data *data, const xp_matrices *m, int64_t first,
                          const uint8_t *is_bad, int64_t exclude_lags, bool has_sigma)
{
    const int64_t n_angle = data->tiles.n_angle;
    tess_xp_reader reader;
    assert_ok(tess_xp_reader_open(data->ctx, data, 3, false, &reader));
    for (int64_t t = 0; t < data->tiles.n_tile; t++) {
        const tess_xp_tile tile = tess_xp_tiles_at(&data->tiles, t);
        const unsigned char *records = NULL;
        assert_ok(tess_xp_reader_get(&reader, t / LEAF, 1, &records));
        const unsigned char *record =
            records + tile.offset - tess_xp_tiles_leaf_offset(&data->tiles, t / LEAF);
        const double *head = (const double *)(const void *)record;
        const double *weight =
            (const double *)(const void *)(record + n_angle * TESS_STAGE_XPCS_HEAD * 8 +
                                           n_angle * tile.width * data->tiles.item_bytes);
        for (int64_t a = 0; a < n_angle; a++) {
            double n = 0;
            double sum = 0;
            double squares = 0;
            for (int64_t k = 0; k < tile.width; k++) {
                const int64_t i = tile.row;
                const int64_t j = tile.first_column + k;
                double want = (double)NAN;
                if (k < tile.n_column && j - i >= exclude_lags &&
                    !(is_bad && (is_bad[i] || is_bad[j]))) {
                    want = xp_at(m, a, first + i, first + j);
                    want = isfinite(want) ? want : (double)NAN;
                }
                assert_true(same(record_sample(data, record, &tile, a, k), want));
                if (!isnan(want)) {
                    n++;
                    sum += want - data->info.mean[a];
                    squares += (want - data->info.mean[a]) * (want - data->info.mean[a]);
                }
                if (has_sigma) {
                    const double sd =
                        isnan(want)
                            ? 0
                            : m->sigma[(a * m->n_frame + first + i) * m->n_frame + first + j];
                    assert_true(weight[a * tile.width + k] == (isnan(want) ? 0 : 1 / (sd * sd)));
                }
            }
            assert_true(head[a * 3] == n);
            assert_true(fabs(head[a * 3 + 1] - sum) <= 1e-13 * (1 + n));
            assert_true(fabs(head[a * 3 + 2] - squares) <= 1e-13 * (1 + n));
        }
    }
    tess_xp_reader_close(&reader);
}

static void matrices_become_records(void **state)
{
    (void)state;
    static const int64_t shapes[][2] = {{1, 3}, {2, 17}, {3, 258}, {2, 530}};
    for (size_t s = 0; s < ARRAY_LEN(shapes); s++) {
        for (int kind = 0; kind < 4; kind++) {
            tess_context *ctx = unit_context(3, 0);
            const bool has_sigma = kind & 1;
            xp_matrices m = xp_matrices_make(shapes[s][0], shapes[s][1],
                                             kind & 2 ? TESS_F64 : TESS_F32, s ? 0.1 : 0, s);
            tess_xpcs_data *data = xp_data_of(ctx, &m, has_sigma);
            const tess_xpcs_data_info *info = tess_xpcs_data_get_info(data);
            assert_int_equal(info->n_angle, shapes[s][0]);
            assert_int_equal(info->n_frame, shapes[s][1]);
            assert_int_equal(info->n_point, shapes[s][0] * shapes[s][1] * shapes[s][1]);
            assert_int_equal(info->residency, TESS_XPCS_IN_MEMORY);
            assert_string_equal(info->layout, "array");
            assert_true(info->dt_s == 0.1 && info->gap_angstrom == 2e6);
            check_records(data, &m, 0, NULL, 1, has_sigma);
            int64_t n_used = 0;
            for (int64_t a = 0; a < m.n_angle; a++) {
                long double sum = 0;
                int64_t n = 0;
                for (int64_t i = 0; i < m.n_frame; i++) {
                    for (int64_t j = i + 1; j < m.n_frame; j++) {
                        if (isfinite(xp_at(&m, a, i, j))) {
                            sum += (long double)xp_at(&m, a, i, j);
                            n++;
                        }
                    }
                }
                assert_int_equal(info->n_finite[a], n);
                assert_true(fabs(info->mean[a] - (double)(sum / n)) < 1e-14);
                n_used += n;
            }
            assert_int_equal(info->n_used, n_used);
            tess_xpcs_data_destroy(data);
            xp_matrices_free(&m);
            tess_context_destroy(ctx);
        }
    }
}

static void selections_apply(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(2, 0);
    xp_matrices m = xp_matrices_make(4, 60, TESS_F32, 0, 5);
    tess_xpcs_data_config config;
    tess_xpcs_data_config_init(&config, sizeof config);
    const int64_t bad[] = {2, 20, 60};
    const tess_xpcs_angle_range range = {-90, 10};
    config.start_frame = 11;
    config.end_frame = 50;
    config.bad_frames = bad;
    config.n_bad_frame = 3;
    config.exclude_lags = 4;
    config.phi_ranges = &range;
    config.n_phi_range = 1;
    tess_xpcs_data *data = NULL;
    assert_ok(tess_xpcs_data_from_array(ctx, &m.view, m.phi, m.q, NULL, &config, &data));
    assert_int_equal(data->info.n_frame, 39);
    assert_int_equal(data->info.n_angle, 3);
    assert_int_equal(data->info.start_frame, 11);
    assert_int_equal(data->info.end_frame, 50);
    uint8_t is_bad[39] = {0};
    is_bad[20 - 11 - 1] = 1;
    check_records(data, &m, 11, is_bad, 4, false);
    assert_string_equal(data->info.notes, "");
    tess_xpcs_data_destroy(data);
    config.keep_t0 = 2; // dropped before: nothing more is, and the times are as if it were
    assert_ok(tess_xpcs_data_from_array(ctx, &m.view, m.phi, m.q, NULL, &config, &data));
    assert_int_equal(data->info.n_frame, 40);
    assert_int_equal(data->info.keep_t0, 0);
    tess_xpcs_data_destroy(data);
    config.keep_t0 = 0;
    config.end_frame = 61;
    assert_fails(tess_xpcs_data_from_array(ctx, &m.view, m.phi, m.q, NULL, &config, &data),
                 TESS_E_SHAPE, "61");
    config.end_frame = 12;
    assert_fails(tess_xpcs_data_from_array(ctx, &m.view, m.phi, m.q, NULL, &config, &data),
                 TESS_E_SHAPE, "at least 3");
    xp_matrices_free(&m);
    tess_context_destroy(ctx);
}

// Transposed, reversed and every second item: the same data as from a dense copy.
static void strides_do_not_matter(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(2, 0);
    xp_matrices m = xp_matrices_make(3, 40, TESS_F64, 0.05, 6);
    tess_xpcs_data *plain = xp_data_of(ctx, &m, true);
    tess_xpcs_data_config config;
    tess_xpcs_data_config_init(&config, sizeof config);
    config.keep_t0 = 1;
    tess_array view = m.view;
    tess_array sigma = m.sigma_view;
    view.stride[1] = 1; // symmetric: the lower triangle has the same values
    view.stride[2] = 40;
    sigma.stride[1] = 1;
    sigma.stride[2] = 40;
    tess_xpcs_data *turned = NULL;
    assert_ok(tess_xpcs_data_from_array(ctx, &view, m.phi, m.q, &sigma, &config, &turned));
    assert_int_equal(plain->record_bytes, turned->record_bytes);
    assert_memory_equal(plain->records, turned->records, plain->record_bytes);
    assert_true(tess_hash_equal(plain->fingerprint, turned->fingerprint));
    tess_xpcs_data_destroy(turned);
    // Frames and angles backwards.
    view = m.view;
    view.data = (double *)m.items + 3 * 40 * 40 - 1;
    for (int axis = 0; axis < 3; axis++) {
        view.stride[axis] = -view.stride[axis];
    }
    assert_ok(tess_xpcs_data_from_array(ctx, &view, m.phi, m.q, NULL, &config, &turned));
    double rows[40];
    assert_ok(tess_xpcs_data_rows(ctx, turned, 0, 3, 1, rows));
    for (int64_t j = 0; j < 40; j++) {
        assert_true(j == 3 || same(rows[j], xp_at(&m, 2, 36, 39 - j)));
    }
    assert_false(tess_hash_equal(plain->fingerprint, turned->fingerprint));
    tess_xpcs_data_destroy(turned);
    tess_xpcs_data_destroy(plain);
    xp_matrices_free(&m);
    tess_context_destroy(ctx);
}

typedef struct upper_rows {
    int64_t first, n;
    double *c2; // [2][count][n]
    int64_t count;
} upper_rows;

static void take_upper(void *self, int64_t k, const tess_xp_tile *tile, const double *y)
{
    const upper_rows *u = self;
    double *row = u->c2 + (k * u->count + tile->row - u->first) * u->n;
    for (int64_t i = 0; i < tile->n_column; i++) {
        assert_true(row[tile->first_column + i] == -7); // once
        row[tile->first_column + i] = y[i];
    }
}

// The same above the diagonal, and nothing else.
static void check_upper_rows(tess_context *ctx, tess_xpcs_data *data, int64_t angle, int64_t first,
                             int64_t count, const double *rows)
{
    const int64_t n = tess_xpcs_data_get_info(data)->n_frame;
    double *upper = malloc((size_t)(2 * count * n) * sizeof *upper);
    for (int64_t k = 0; k < 2 * count * n; k++) {
        upper[k] = -7;
    }
    upper_rows u = {.first = first, .n = n, .c2 = upper, .count = count};
    const int64_t angles[] = {0, angle};
    const tess_xp_some_rows look = {.first = first,
                                    .count = count,
                                    .angles = angles,
                                    .n_angle = 2,
                                    .visit = take_upper,
                                    .self = &u};
    assert_ok(tess_xp_data_show_rows(ctx, data, &look));
    for (int64_t k = 0; k < count * n; k++) {
        const bool is_above = k % n > first + k / n;
        assert_true(same(upper[count * n + k], is_above ? rows[k] : -7));
    }
    free(upper);
}

static void rows_are_symmetric_with_a_made_diagonal(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(2, 0);
    static const int64_t sizes[] = {3, 20, 300, 4400};
    for (size_t s = 0; s < ARRAY_LEN(sizes) - (size_t)unit_is_quick(); s++) {
        const int64_t n = sizes[s];
        xp_matrices m = xp_matrices_make(s == 3 ? 1 : 2, n, TESS_F32, s == 2 ? 0.2 : 0, s);
        tess_xpcs_data *data = xp_data_of(ctx, &m, false);
        const int64_t counts[] = {1, 2, 7, n};
        for (size_t c = 0; c < ARRAY_LEN(counts) - (s == 3); c++) {
            const int64_t count = counts[c] < n ? counts[c] : n;
            double *rows = malloc((size_t)(count * n) * sizeof *rows);
            const int64_t angle = m.n_angle - 1;
            for (int64_t first = 0; first <= n - count; first += s == 3 ? 1467 : 1 + n / 5) {
                assert_ok(tess_xpcs_data_rows(ctx, data, angle, first, count, rows));
                check_upper_rows(ctx, data, angle, first, count, rows);
                for (int64_t r = 0; r < count; r++) {
                    const int64_t i = first + r;
                    for (int64_t j = 0; j < n; j++) {
                        double want = xp_at(&m, angle, i, j);
                        if (i == j) {
                            const double low = i > 0 ? xp_at(&m, angle, i - 1, i) : (double)NAN;
                            const double high =
                                i < n - 1 ? xp_at(&m, angle, i, i + 1) : (double)NAN;
                            want = isnan(low) ? high : isnan(high) ? low : (low + high) / 2;
                        }
                        assert_true(same(rows[r * n + j], want));
                    }
                }
            }
            free(rows);
        }
        double row[1];
        assert_fails(tess_xpcs_data_rows(ctx, data, m.n_angle, 0, 1, row), TESS_E_ARGUMENT,
                     "angle");
        assert_fails(tess_xpcs_data_rows(ctx, data, 0, n, 1, row), TESS_E_ARGUMENT, "rows");
        assert_fails(tess_xpcs_data_rows(ctx, data, 0, -1, 1, row), TESS_E_ARGUMENT, "rows");
        tess_xpcs_data_destroy(data);
        xp_matrices_free(&m);
    }
    tess_context_destroy(ctx);
}

static void fill_angle(xp_matrices *m, int64_t a, double value, double share)
{
    for (int64_t i = 0; i < m->n_frame; i++) {
        for (int64_t j = 0; j < m->n_frame; j++) {
            if ((double)((i + j) % 20) < 20 * share) {
                xp_set(m, a, i, j, value);
            }
        }
    }
}

static void useless_angles_are_dropped(void **state)
{
    (void)state;
    for (int has_sigma = 0; has_sigma < 2; has_sigma++) {
        tess_context *ctx = unit_context(2, 0);
        xp_matrices m = xp_matrices_make(6, 70, TESS_F32, 0, 8);
        xp_matrices kept = xp_matrices_make(6, 70, TESS_F32, 0, 8);
        fill_angle(&m, 0, (double)NAN, 1);
        fill_angle(&m, 2, 0, 1);
        fill_angle(&m, 3, (double)INFINITY, 0.7);
        fill_angle(&m, 5, -3, 0.3);
        fill_angle(&kept, 5, -3, 0.3);
        const size_t bytes = 70 * 70;
        const int64_t from[] = {1, 4, 5};
        for (int64_t k = 0; k < 3; k++) {
            memmove((float *)kept.items + k * 4900, (float *)kept.items + from[k] * 4900,
                    bytes * sizeof(float));
            memmove(kept.sigma + k * 4900, kept.sigma + from[k] * 4900, bytes * sizeof(double));
            kept.phi[k] = kept.phi[from[k]];
        }
        kept.view.shape[0] = 3;
        kept.sigma_view.shape[0] = 3;
        kept.n_angle = 3;
        tess_xpcs_data *data = xp_data_of(ctx, &m, has_sigma);
        tess_xpcs_data *want = xp_data_of(ctx, &kept, has_sigma);
        assert_int_equal(data->info.n_angle, 3);
        assert_int_equal(data->info.bytes, want->info.bytes);
        assert_memory_equal(data->records, want->records, want->info.bytes);
        assert_memory_equal(data->info.phi, want->info.phi, 3 * sizeof(double));
        assert_memory_equal(data->info.mean, want->info.mean, 3 * sizeof(double));
        assert_memory_equal(data->info.n_finite, want->info.n_finite, 3 * sizeof(int64_t));
        assert_int_equal(data->info.n_used, want->info.n_used);
        assert_true(tess_hash_equal(data->fingerprint, want->fingerprint));
        assert_contains(data->info.notes, "angle 0 (phi -80, q 0.0054) was dropped: all its values "
                                          "are NaN");
        assert_contains(data->info.notes, "angle 2");
        assert_contains(data->info.notes, "all its values are 0");
        assert_contains(data->info.notes, "angle 3");
        assert_contains(data->info.notes, "70.3 % of its values");
        assert_contains(data->info.notes, "1 angles are negative");
        tess_xpcs_data_destroy(data);
        tess_xpcs_data_destroy(want);
        for (int64_t a = 0; a < 6; a++) {
            fill_angle(&m, a, 1, 1);
        }
        tess_xpcs_data *none = NULL;
        assert_fails(tess_xpcs_data_from_array(ctx, &m.view, m.phi, m.q, NULL, NULL, &none),
                     TESS_E_NUMERIC, "no angle is left; angle 0 (phi -80): all its values are 1");
        assert_null(none);
        fill_angle(&m, 1, 7, 1);
        xp_set(&m, 1, 2, 9, 7.5);
        xp_set(&m, 1, 9, 2, 7.5);
        assert_ok(tess_xpcs_data_from_array(ctx, &m.view, m.phi, m.q, NULL, NULL, &none));
        assert_contains(none->info.notes, "shortest lag is 7");
        tess_xpcs_data_destroy(none);
        xp_matrices_free(&m);
        xp_matrices_free(&kept);
        tess_context_destroy(ctx);
    }
}

static void bad_arguments_are_named(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    xp_matrices m = xp_matrices_make(2, 10, TESS_F64, 0, 9);
    tess_xpcs_data *data = NULL;
    tess_array view = m.view;
    view.shape[2] = 9;
    assert_fails(tess_xpcs_data_from_array(ctx, &view, m.phi, m.q, NULL, NULL, &data), TESS_E_SHAPE,
                 "10 x 9 are not square");
    view = m.view;
    view.rank = 1;
    assert_fails(tess_xpcs_data_from_array(ctx, &view, m.phi, m.q, NULL, NULL, &data), TESS_E_SHAPE,
                 "1 axes");
    view = m.view;
    view.dtype = TESS_C64;
    assert_fails(tess_xpcs_data_from_array(ctx, &view, m.phi, m.q, NULL, NULL, &data), TESS_E_DTYPE,
                 "c64");
    view = m.view;
    view.data = NULL;
    assert_fails(tess_xpcs_data_from_array(ctx, &view, m.phi, m.q, NULL, NULL, &data),
                 TESS_E_ARGUMENT, "NULL");
    view = m.sigma_view;
    view.shape[0] = 1;
    assert_fails(tess_xpcs_data_from_array(ctx, &m.view, m.phi, m.q, &view, NULL, &data),
                 TESS_E_SHAPE, "must agree");
    assert_fails(tess_xpcs_data_from_array(ctx, &m.view, NULL, m.q, NULL, NULL, &data),
                 TESS_E_ARGUMENT, "phi");
    m.q[1] = 0;
    assert_fails(tess_xpcs_data_from_array(ctx, &m.view, m.phi, m.q, NULL, NULL, &data),
                 TESS_E_CONFIG, "q[1]");
    m.q[1] = 1;
    m.sigma[100 + 3 * 10 + 7] = m.sigma[100 + 7 * 10 + 3] = 0;
    assert_fails(tess_xpcs_data_from_array(ctx, &m.view, m.phi, m.q, &m.sigma_view, NULL, &data),
                 TESS_E_NUMERIC, "sigma: 0 at [1, 2, 6] of the matrices that are fitted");
    xp_matrices_free(&m);
    tess_context_destroy(ctx);
}

// More than the limit allows goes to a scratch file and reads as if it were in memory.
static void large_data_go_to_a_scratch_file(void **state)
{
    (void)state;
    xp_matrices m = xp_matrices_make(3, 700, TESS_F32, 0.01, 10);
    fill_angle(&m, 1, 0, 1);
    tess_context *roomy = unit_context(2, 0);
    tess_context *tight = unit_context(2, UINT64_C(1) << 20);
    tess_xpcs_data *want = xp_data_of(roomy, &m, false);
    tess_xpcs_data *data = xp_data_of(tight, &m, false);
    assert_int_equal(want->info.residency, TESS_XPCS_IN_MEMORY);
    assert_int_equal(data->info.residency, TESS_XPCS_IN_FILE);
    assert_true(tess_hash_equal(data->fingerprint, want->fingerprint));
    for (int is_streamed = 0; is_streamed < 2; is_streamed++) {
        tess_xp_reader reader;
        assert_ok(tess_xp_reader_open(data->ctx, data, 5, is_streamed, &reader));
        const int64_t n_leaf = tess_xp_tiles_n_leaf(&data->tiles);
        for (int pass = 0; pass < 3; pass++) {
            for (int64_t leaf = 0; leaf < n_leaf; leaf += 5) {
                const int64_t n = n_leaf - leaf < 5 ? n_leaf - leaf : 5;
                const unsigned char *records = NULL;
                assert_ok(tess_xp_reader_get(&reader, leaf, n, &records));
                const uint64_t begin = tess_xp_tiles_leaf_offset(&data->tiles, leaf);
                const uint64_t end = tess_xp_tiles_leaf_offset(&data->tiles, leaf + n);
                assert_memory_equal(records, want->records + begin, end - begin);
            }
        }
        tess_xp_reader_close(&reader);
        tess_xp_reader_close(&reader);
    }
    uint64_t now = 0;
    uint64_t peak = 0;
    tess_context_memory(tight, &now, &peak);
    assert_true(peak < UINT64_C(1) << 20);
    tess_xpcs_data_destroy(data);
    tess_xpcs_data_destroy(want);
    tess_context_destroy(tight);
    tess_context_destroy(roomy);
    xp_matrices_free(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tiles_cover_every_pair_once),
        cmocka_unit_test(matrices_become_records),
        cmocka_unit_test(selections_apply),
        cmocka_unit_test(strides_do_not_matter),
        cmocka_unit_test(rows_are_symmetric_with_a_made_diagonal),
        cmocka_unit_test(useless_angles_are_dropped),
        cmocka_unit_test(bad_arguments_are_named),
        cmocka_unit_test(large_data_go_to_a_scratch_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
