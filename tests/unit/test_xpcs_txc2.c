// .txc2 files: round trips, readers, damage.
#include "bad_disk.h"
#include "systems/xpcs/store/txc2.h"
#include "systems/xpcs/store/txc2_layout.h"
#include "xpcs_matrices.h"

#include <fcntl.h>
#include <unistd.h>

static void check_same(tess_xpcs_data *want, tess_xpcs_data *got, bool is_streamed,
                       int64_t per_chunk)
{
    const tess_xpcs_data_info *a = tess_xpcs_data_get_info(want);
    const tess_xpcs_data_info *b = tess_xpcs_data_get_info(got);
    assert_int_equal(a->n_angle, b->n_angle);
    assert_int_equal(a->n_frame, b->n_frame);
    assert_int_equal(a->n_used, b->n_used);
    assert_int_equal(a->dtype, b->dtype);
    assert_int_equal(a->has_sigma, b->has_sigma);
    assert_int_equal(a->keep_t0, b->keep_t0);
    assert_int_equal(a->start_frame, b->start_frame);
    assert_int_equal(a->end_frame, b->end_frame);
    assert_true(a->dt_s == b->dt_s && a->gap_angstrom == b->gap_angstrom);
    assert_string_equal(a->notes, b->notes);
    const size_t bytes = (size_t)a->n_angle * 8;
    assert_memory_equal(a->phi, b->phi, bytes);
    assert_memory_equal(a->q, b->q, bytes);
    assert_memory_equal(a->mean, b->mean, bytes);
    assert_memory_equal(a->n_finite, b->n_finite, bytes);
    tess_xp_reader one;
    tess_xp_reader two;
    assert_ok(tess_xp_reader_open(want->ctx, want, per_chunk, false, &one));
    assert_ok(tess_xp_reader_open(got->ctx, got, per_chunk, is_streamed, &two));
    const int64_t n_leaf = tess_xp_tiles_n_leaf(&want->tiles);
    for (int pass = 0; pass < 3; pass++) {
        for (int64_t leaf = 0; leaf < n_leaf; leaf += per_chunk) {
            const int64_t n = per_chunk < n_leaf - leaf ? per_chunk : n_leaf - leaf;
            const unsigned char *x = NULL;
            const unsigned char *y = NULL;
            if (pass == 1) { // what is expected need not come
                tess_xp_reader_expect(&two, 7 * leaf % n_leaf, 1);
            }
            assert_ok(tess_xp_reader_get(&one, leaf, n, &x));
            assert_ok(tess_xp_reader_get(&two, leaf, n, &y));
            assert_memory_equal(x, y,
                                tess_xp_tiles_leaf_offset(&want->tiles, leaf + n) -
                                    tess_xp_tiles_leaf_offset(&want->tiles, leaf));
        }
    }
    tess_xp_reader_close(&one);
    tess_xp_reader_close(&two);
}

static void files_hold_what_was_saved(void **state)
{
    (void)state;
    static const int64_t shapes[][2] = {{1, 3}, {2, 30}, {3, 300}, {1, 1100}};
    for (size_t s = 0; s < ARRAY_LEN(shapes); s++) {
        for (int kind = 0; kind < 4; kind++) {
            tess_context *ctx = unit_context(3, 0);
            xp_matrices m = xp_matrices_make(shapes[s][0], shapes[s][1],
                                             kind & 2 ? TESS_F64 : TESS_F32, s ? 0.1 : 0, s);
            tess_xpcs_data *data = xp_data_of(ctx, &m, kind & 1);
            const char *path = unit_path("round.txc2");
            assert_ok(tess_xpcs_data_save(ctx, data, path, 1));
            tess_xpcs_data *read = NULL;
            assert_ok(tess_xp_txc2_open(ctx, path, &read));
            assert_int_equal(read->info.residency, TESS_XPCS_IN_FILE);
            assert_string_equal(read->info.layout, "txc2");
            assert_string_equal(read->info.path, path);
            assert_true(tess_hash_equal(read->fingerprint, data->fingerprint));
            check_same(data, read, true, 3);
            assert_ok(tess_xp_data_hold(ctx, read, 0));
            check_same(data, read, false, 3);
            check_same(data, read, true, 1000);
            double *rows = malloc((size_t)(2 * m.n_frame) * sizeof *rows);
            assert_ok(tess_xpcs_data_rows(ctx, data, 0, 1, 1, rows));
            assert_ok(tess_xpcs_data_rows(ctx, read, 0, 1, 1, rows + m.n_frame));
            assert_memory_equal(rows, rows + m.n_frame, (size_t)m.n_frame * sizeof *rows);
            free(rows);
            tess_xpcs_data_destroy(read);
            tess_xpcs_data_destroy(data);
            xp_matrices_free(&m);
            tess_context_destroy(ctx);
        }
    }
}

static bool is_txc2(const char *path)
{
    bool is_it = false;
    assert_ok(tess_xp_txc2_probe(path, &is_it));
    return is_it;
}

// From a file to another, and from a simulation, with the bytes of one made in memory.
static void any_data_can_be_saved(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(2, 0);
    tess_xpcs_simulation simulation;
    tess_xpcs_simulation_init(&simulation, sizeof simulation);
    simulation.n_angle = 3;
    simulation.n_frame = 300;
    tess_xpcs_data *data[2] = {NULL, NULL};
    assert_ok(tess_xpcs_simulate(ctx, &simulation, 0, &data[0]));
    assert_ok(tess_xpcs_simulate(ctx, &simulation, 1, &data[1]));
    tess_xpcs_data *read = NULL;
    assert_false(is_txc2(unit_path("a.txc2")));
    size_t n_byte[3];
    char *bytes[3];
    for (int k = 0; k < 3; k++) {
        const char *path = unit_path(k == 0 ? "a.txc2" : k == 1 ? "b.txc2" : "c.txc2");
        assert_ok(tess_xpcs_data_save(ctx, k < 2 ? data[k] : read, path, 0));
        bytes[k] = unit_read_file(path, &n_byte[k]);
        assert_int_equal(n_byte[k], n_byte[0]);
        assert_memory_equal(bytes[k], bytes[0], n_byte[0]);
        if (k == 1) {
            assert_ok(tess_xp_txc2_open(ctx, path, &read));
            check_same(data[0], read, true, 7);
        }
    }
    assert_int_equal(n_byte[0] % 64, 0);
    assert_true(is_txc2(unit_path("a.txc2")));
    assert_false(is_txc2("/proc"));
    assert_fails(tess_xpcs_data_save(ctx, data[0], unit_path("a.txc2"), 0), TESS_E_EXISTS,
                 "overwrite");
    assert_fails(tess_xpcs_data_save(ctx, data[0], unit_path("no/such/folder.txc2"), 0),
                 TESS_E_CREATE, "folder.txc2");
    for (int k = 0; k < 3; k++) {
        free(bytes[k]);
    }
    tess_xpcs_data_destroy(read);
    tess_xpcs_data_destroy(data[0]);
    tess_xpcs_data_destroy(data[1]);
    tess_context_destroy(ctx);
}

static char *saved(tess_context *ctx, const char *path, size_t *n_byte)
{
    xp_matrices m = xp_matrices_make(2, 200, TESS_F32, 0.1, 4);
    tess_xpcs_data *data = xp_data_of(ctx, &m, false);
    assert_ok(tess_xpcs_data_save(ctx, data, path, 1));
    tess_xpcs_data_destroy(data);
    xp_matrices_free(&m);
    return unit_read_file(path, n_byte);
}

static tess_status read_through(tess_context *ctx, const char *path, bool is_streamed)
{
    tess_xpcs_data *data = NULL;
    tess_status status = tess_xp_txc2_open(ctx, path, &data);
    if (status == TESS_OK) {
        tess_xp_reader reader;
        status = is_streamed ? TESS_OK : tess_xp_data_hold(ctx, data, 0);
        assert_ok(tess_xp_reader_open(data->ctx, data, 2, is_streamed, &reader));
        const int64_t n_leaf = tess_xp_tiles_n_leaf(&data->tiles);
        for (int64_t leaf = 0; leaf < n_leaf && status == TESS_OK; leaf += 2) {
            const unsigned char *records = NULL;
            status = tess_xp_reader_get(&reader, leaf, n_leaf - leaf < 2 ? 1 : 2, &records);
        }
        tess_xp_reader_close(&reader);
        tess_xpcs_data_destroy(data);
    }
    return status;
}

static void short_files_are_refused(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    const char *path = unit_path("short.txc2");
    size_t n_byte = 0;
    char *bytes = saved(ctx, path, &n_byte);
    for (size_t cut = 0; cut < n_byte; cut += cut < 9000 && !unit_is_quick() ? 509 : 7919) {
        unit_write_file(path, bytes, cut);
        assert_fails(read_through(ctx, path, false), TESS_E_TRUNCATED, "short.txc2");
    }
    unit_write_file(path, bytes, n_byte - 1);
    assert_fails(read_through(ctx, path, false), TESS_E_TRUNCATED, "copied completely");
    char *longer = malloc(n_byte + 64);
    memcpy(longer, bytes, n_byte);
    memset(longer + n_byte, 0, 64);
    unit_write_file(path, longer, n_byte + 64);
    assert_fails(read_through(ctx, path, false), TESS_E_FORMAT, "expected");
    free(longer);
    free(bytes);
    assert_fails(read_through(ctx, unit_path("missing.txc2"), false), TESS_E_NOT_FOUND,
                 "missing.txc2");
    tess_context_destroy(ctx);
}

static void flipped_bits_are_found(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    const char *path = unit_path("flipped.txc2");
    size_t n_byte = 0;
    char *bytes = saved(ctx, path, &n_byte);
    const tess_xp_txc2_header *header = (const tess_xp_txc2_header *)(const void *)bytes;
    const uint64_t tables_end = TESS_XP_TXC2_ALIGN + header->tables_bytes;
    const size_t step = unit_is_quick() ? 509 : 61;
    for (size_t at = 0; at < n_byte; at += at < tables_end ? step : 64 * step + 1) {
        const bool is_gap = at >= tables_end && at < header->records_offset;
        bytes[at] ^= (char)(1 << at % 8);
        unit_write_file(path, bytes, n_byte);
        for (int is_streamed = 0; is_streamed < 2; is_streamed++) {
            const tess_status status = read_through(ctx, path, is_streamed);
            assert_true(is_gap == (status == TESS_OK));
            assert_true(is_gap || status == TESS_E_FORMAT || status == TESS_E_VERSION ||
                        status == TESS_E_UNSUPPORTED);
        }
        bytes[at] ^= (char)(1 << at % 8);
    }
    free(bytes);
    tess_context_destroy(ctx);
}

// Numbers that lie with right checksums: no crash, no large memory.
static void lying_headers_are_refused(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    const char *path = unit_path("lying.txc2");
    size_t n_byte = 0;
    char *bytes = saved(ctx, path, &n_byte);
    const tess_xp_txc2_header good = *(const tess_xp_txc2_header *)(const void *)bytes;
    static const int64_t values[] = {0,  -1,        1,         2,         3,
                                     77, INT64_MAX, INT64_MIN, 1LL << 24, 1LL << 61};
    uint64_t before = 0;
    uint64_t now = 0;
    uint64_t peak = 0;
    tess_context_memory(ctx, &before, &peak);
    for (size_t field = 0; field < 10; field++) {
        for (size_t v = 0; v < ARRAY_LEN(values); v++) {
            tess_xp_txc2_header lie = good;
            int64_t *const fields[] = {&lie.n_angle,
                                       &lie.n_frame,
                                       &lie.n_leaf,
                                       &lie.start_frame,
                                       &lie.end_frame,
                                       (int64_t *)&lie.tables_bytes,
                                       (int64_t *)&lie.notes_bytes,
                                       (int64_t *)&lie.records_offset,
                                       (int64_t *)&lie.records_bytes,
                                       (int64_t *)(void *)&lie.dt_s};
            if (*fields[field] == values[v]) {
                continue; // no lie
            }
            *fields[field] = values[v];
            lie.header_hash = tess_hash_bytes((tess_hash_kind)lie.hash_kind, &lie,
                                              offsetof(tess_xp_txc2_header, header_hash));
            memcpy(bytes, &lie, sizeof lie);
            unit_write_file(path, bytes, n_byte);
            const tess_status status = read_through(ctx, path, false);
            assert_true(status != TESS_OK || field == 3 || field == 4 || field == 9);
        }
    }
    tess_context_memory(ctx, &now, &peak);
    assert_int_equal(now, before);
    assert_true(peak < UINT64_C(8) << 20);
    free(bytes);
    tess_context_destroy(ctx);
}

// A file that gets shorter under an open reader is an error, not a signal; held in memory, too.
static void files_cut_while_open(void **state)
{
    (void)state;
    for (int is_held = 0; is_held < 2; is_held++) {
        tess_context *ctx = unit_context(1, 0);
        const char *path = unit_path("cut.txc2");
        size_t n_byte = 0;
        char *bytes = saved(ctx, path, &n_byte);
        free(bytes);
        tess_xpcs_data *data = NULL;
        assert_ok(tess_xp_txc2_open(ctx, path, &data));
        if (is_held) {
            assert_ok(tess_xp_data_hold(ctx, data, 0));
        }
        tess_xp_reader reader;
        assert_ok(tess_xp_reader_open(data->ctx, data, 1, false, &reader));
        reader.max_retries = 3;
        const unsigned char *records = NULL;
        assert_ok(tess_xp_reader_get(&reader, 0, 1, &records));
        assert_ok(tess_xp_data_check(data));
        assert_int_equal(truncate(path, 16384), 0);
        const int64_t last = tess_xp_tiles_n_leaf(&data->tiles) - 1;
        if (is_held) {
            assert_ok(tess_xp_reader_get(&reader, last, 1, &records));
        } else {
            assert_fails(tess_xp_reader_get(&reader, last, 1, &records), TESS_E_CHANGED,
                         "cut.txc2: was cut");
        }
        assert_fails(tess_xp_data_check(data), TESS_E_CHANGED, "cut.txc2: was cut");
        tess_xp_reader_close(&reader);
        tess_xpcs_data_destroy(data);
        tess_context_destroy(ctx);
    }
}

// However many read ahead, in order and out of it, leaves are those of the file.
static void readers_change_nothing(void **state)
{
    (void)state;
    enum { N_CHUNK = 7 };
    static const int32_t threads[] = {1, 4, 16};
    const char *path = unit_path("readers.txc2");
    xp_matrices m = xp_matrices_make(2, 420, TESS_F32, 0, 4);
    tess_context *first = unit_context(1, 0);
    tess_xpcs_data *data = NULL;
    assert_ok(tess_xpcs_data_from_array(first, &m.view, m.phi, m.q, NULL, NULL, &data));
    assert_ok(tess_xpcs_data_save(first, data, path, 0));
    const tess_xp_tiles *tiles = &data->tiles;
    const int64_t n_leaf = tess_xp_tiles_n_leaf(tiles);
    assert_true(n_leaf > 4 * N_CHUNK);
    for (size_t t = 0; t < ARRAY_LEN(threads); t++) {
        tess_context *ctx = unit_context(threads[t], 0);
        tess_xpcs_data *read = NULL;
        tess_xp_reader reader;
        uint64_t random = 5;
        assert_ok(tess_xp_txc2_open(ctx, path, &read));
        assert_ok(tess_xp_reader_open(ctx, read, N_CHUNK, true, &reader));
        for (int64_t turn = 0, leaf = 0; turn < 200; turn++) {
            // Mostly what was expected, sometimes something else.
            random = random * 6364136223846793005u + 1442695040888963407u;
            leaf = random >> 61 == 0 ? (int64_t)(random >> 33) % n_leaf : leaf % n_leaf;
            const int64_t n = n_leaf - leaf < N_CHUNK ? n_leaf - leaf : N_CHUNK;
            const unsigned char *records = NULL;
            assert_ok(tess_xp_reader_get(&reader, leaf, n, &records));
            const uint64_t begin = tess_xp_tiles_leaf_offset(tiles, leaf);
            const uint64_t end = tess_xp_tiles_leaf_offset(tiles, leaf + n);
            assert_memory_equal(records, data->records + begin, end - begin);
            leaf += n;
        }
        tess_xp_reader_close(&reader);
        tess_xpcs_data_destroy(read);
        tess_context_destroy(ctx);
    }
    tess_xpcs_data_destroy(data);
    tess_context_destroy(first);
    xp_matrices_free(&m);
}

typedef struct mending {
    int n_line;
    int mend_at; // the line in the log at which the disk is good again
} mending;

static void mend(void *user, tess_log_level level, const char *line)
{
    mending *m = user;
    if (level == TESS_LOG_WARNING && strstr(line, "trying again") && ++m->n_line == m->mend_at) {
        bad_disk[0] = 0;
    }
}

static void reads_are_tried_again(void **state)
{
    (void)state;
    for (int is_mended = 0; is_mended < 2; is_mended++) {
        const char *path = unit_path("mended.txc2");
        tess_context *plain = unit_context(1, 0);
        mending m = {.mend_at = is_mended ? 2 : 9};
        size_t n_byte = 0;
        char *bytes = saved(plain, path, &n_byte);
        tess_context_destroy(plain);
        tess_context_config config;
        tess_context_config_init(&config, sizeof config);
        config.log = mend;
        config.log_user = &m;
        config.log_level = TESS_LOG_WARNING;
        tess_context *ctx = NULL;
        assert_ok(tess_context_create(&config, &ctx));
        tess_xpcs_data *data = NULL;
        assert_ok(tess_xp_txc2_open(ctx, path, &data));
        bad_disk[0] = (long long)n_byte - 200;
        tess_xp_reader reader;
        assert_ok(tess_xp_reader_open(data->ctx, data, 1, true, &reader));
        reader.max_retries = 3;
        const unsigned char *records = NULL;
        const int64_t last = tess_xp_tiles_n_leaf(&data->tiles) - 1;
        const tess_status status = tess_xp_reader_get(&reader, last, 1, &records);
        assert_int_equal(status, is_mended ? TESS_OK : TESS_E_FORMAT);
        assert_int_equal(m.n_line, is_mended ? 2 : 3);
        assert_ok(tess_xp_reader_get(&reader, 0, 1, &records));
        bad_disk[0] = 0;
        tess_xp_reader_close(&reader);
        tess_xpcs_data_destroy(data);
        tess_context_destroy(ctx);
        free(bytes);
    }
}

// The n-th allocation fails, for every n: an error, nothing leaked, no file left behind.
static void memory_may_run_out_anywhere(void **state)
{
    (void)state;
    xp_matrices m = xp_matrices_make(2, 40, TESS_F32, 0, 4);
    bool is_through = false;
    for (long long n = 1; !is_through; n++) {
        unit_allocator allocator;
        tess_context_config config;
        tess_context *ctx = NULL;
        unit_allocator_init(&allocator, 0);
        tess_context_config_init(&config, sizeof config);
        config.allocator = &allocator.table;
        config.n_thread = 1;
        assert_ok(tess_context_create(&config, &ctx));
        const char *path = unit_path("scarce.txc2");
        unlink(path);
        const long long live = allocator.n_live;
        allocator.fail_at = allocator.n_alloc + n;
        tess_xpcs_data *data = NULL;
        tess_xpcs_data *read = NULL;
        double scaling[4];
        tess_status status = tess_xpcs_data_from_array(ctx, &m.view, m.phi, m.q, NULL, NULL, &data);
        if (status == TESS_OK) {
            status = tess_xpcs_data_save(ctx, data, path, 0);
        }
        if (status == TESS_OK) {
            status = tess_xp_txc2_open(ctx, path, &read);
        }
        if (status == TESS_OK) {
            status = tess_xpcs_data_quantile_scaling(ctx, read, scaling, scaling + 2);
        }
        is_through = allocator.n_alloc < allocator.fail_at;
        assert_int_equal(status, is_through ? TESS_OK : TESS_E_MEMORY);
        tess_xpcs_data_destroy(data);
        tess_xpcs_data_destroy(read);
        assert_int_equal(allocator.n_live, live);
        tess_context_destroy(ctx);
        assert_true(n < 200);
    }
    xp_matrices_free(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_hold_what_was_saved),   cmocka_unit_test(any_data_can_be_saved),
        cmocka_unit_test(short_files_are_refused),     cmocka_unit_test(flipped_bits_are_found),
        cmocka_unit_test(lying_headers_are_refused),   cmocka_unit_test(files_cut_while_open),
        cmocka_unit_test(readers_change_nothing),      cmocka_unit_test(reads_are_tried_again),
        cmocka_unit_test(memory_may_run_out_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
