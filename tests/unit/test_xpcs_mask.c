// Files with damaged stretches: fits stop, or leave them out for the whole run.
#include "bad_disk.h"
#include "systems/xpcs/store/txc2.h"
#include "systems/xpcs/store/txc2_layout.h"
#include "xpcs_fit_fixture.h"
#include "xpcs_matrices.h"

#include <fcntl.h>
#include <unistd.h>

enum { LEAF = TESS_STAGE_XPCS_LEAF, BAD = 3, BAD_TOO = 7 };

static tess_xpcs_simulation laminar(int64_t n_angle, int64_t n_frame)
{
    tess_xpcs_simulation s;
    tess_xpcs_simulation_init(&s, sizeof s);
    s.dtype = 1;
    s.n_angle = n_angle;
    s.n_frame = n_frame;
    s.sigma = 0.02;
    s.contrast_scatter = 0.1;
    s.model.mode = TESS_XPCS_LAMINAR_FLOW;
    s.model.keep_t0 = 1;
    s.model.dt_s = 0.1;
    s.model.gap_angstrom = 2e6;
    return s;
}

static tess_xpcs_fit_config masking(void)
{
    tess_xpcs_fit_config config;
    xpcs_config_init(&config);
    config.sigma_mode = TESS_XPCS_SIGMA_ESTIMATE;
    config.bad_chunk = 1;
    config.max_retries = 0;
    return config;
}

// Where the middle of a leaf lies in a file.
static off_t middle_of(const char *path, const tess_xp_tiles *tiles, int64_t leaf)
{
    tess_xp_txc2_header header;
    const int fd = open(path, O_RDONLY);
    assert_int_equal(pread(fd, &header, sizeof header, 0), sizeof header);
    close(fd);
    const uint64_t inside =
        (tess_xp_tiles_leaf_offset(tiles, leaf) + tess_xp_tiles_leaf_offset(tiles, leaf + 1)) / 2;
    return (off_t)(header.records_offset + inside);
}

// Flips a bit in the middle of a leaf, in place; a second time mends it.
static void flip(const char *path, const tess_xp_tiles *tiles, int64_t leaf)
{
    unsigned char byte = 0;
    const off_t at = middle_of(path, tiles, leaf);
    const int fd = open(path, O_RDWR);
    assert_int_equal(pread(fd, &byte, 1, at), 1);
    byte ^= 16;
    assert_int_equal(pwrite(fd, &byte, 1, at), 1);
    close(fd);
}

// A simulation saved, with some of its leaves damaged.
static const char *damaged(const tess_xpcs_simulation *s, const char *name, const int64_t *leaves,
                           int64_t n)
{
    tess_context *ctx = unit_context(2, 0);
    tess_xpcs_data *data = simulated(ctx, s);
    const char *path = unit_path(name);
    assert_ok(tess_xpcs_data_save(ctx, data, path, 1));
    for (int64_t k = 0; k < n; k++) {
        flip(path, &data->tiles, leaves[k]);
    }
    tess_xpcs_data_destroy(data);
    tess_context_destroy(ctx);
    return path;
}

static tess_status fit_file(tess_context *ctx, const char *path, const tess_xpcs_model *model,
                            const tess_xpcs_fit_config *config, tess_xpcs_result **result)
{
    tess_xpcs_data *data = NULL;
    *result = NULL;
    assert_ok(tess_xp_txc2_open(ctx, path, &data));
    const tess_status status = tess_xpcs_fit(ctx, data, model, config, result);
    tess_xpcs_data_destroy(data);
    return status;
}

static void assert_same_fit(tess_xpcs_result *a, tess_xpcs_result *b)
{
    const tess_xpcs_result_info *x = tess_xpcs_result_get_info(a);
    const tess_xpcs_result_info *y = tess_xpcs_result_get_info(b);
    assert_memory_equal(x->theta, y->theta, (size_t)x->n_param * sizeof *x->theta);
    assert_memory_equal(x->contrast, y->contrast, (size_t)x->n_angle * sizeof *x->contrast);
    assert_memory_equal(x->covariance, y->covariance,
                        (size_t)(x->n_covariance * x->n_covariance) * sizeof *x->covariance);
    assert_memory_equal(&x->chi2, &y->chi2, sizeof x->chi2);
    assert_int_equal(x->n_used, y->n_used);
    assert_int_equal(x->n_pass, y->n_pass);
    assert_string_equal(x->warnings, y->warnings);
}

// The simulation as an array, NaN where the leaf lies.
static tess_xpcs_data *with_hole(tess_context *ctx, const tess_xpcs_simulation *s, int64_t leaf,
                                 int64_t *n_lost)
{
    tess_xpcs_data *whole = simulated(ctx, s);
    const int64_t n = whole->info.n_frame;
    xp_matrices m = xp_matrices_make(s->n_angle, n, TESS_F64, 0, 1);
    double *items = m.items;
    *n_lost = 0;
    for (int64_t a = 0; a < m.n_angle; a++) {
        m.phi[a] = whole->info.phi[a];
        m.q[a] = whole->info.q[a];
        assert_ok(tess_xpcs_data_rows(ctx, whole, a, 0, n, items + a * n * n));
        for (int64_t t = leaf * LEAF; t < (leaf + 1) * LEAF; t++) {
            const tess_xp_tile tile = tess_xp_tiles_at(&whole->tiles, t);
            for (int64_t j = tile.first_column; j < tile.first_column + tile.n_column; j++) {
                xp_set(&m, a, tile.row, j, (double)NAN);
                xp_set(&m, a, j, tile.row, (double)NAN);
                ++*n_lost;
            }
        }
    }
    tess_xpcs_data *data = xp_data_of(ctx, &m, false);
    xp_matrices_free(&m);
    tess_xpcs_data_destroy(whole);
    return data;
}

static void damage_is_an_error_or_a_hole(void **state)
{
    (void)state;
    const tess_xpcs_simulation s = laminar(5, 150);
    const char *path = damaged(&s, "hole.txc2", (const int64_t[]){BAD}, 1);
    tess_context *ctx = unit_context(2, 0);
    tess_xpcs_fit_config config = masking();
    tess_xpcs_result *result = NULL;
    config.bad_chunk = 0;
    assert_fails(fit_file(ctx, path, &s.model, &config, &result), TESS_E_FORMAT, "were damaged");
    config.bad_chunk = 1;
    assert_ok(fit_file(ctx, path, &s.model, &config, &result));
    int64_t n_lost = 0;
    tess_xpcs_data *data = with_hole(ctx, &s, BAD, &n_lost);
    tess_xpcs_result *wanted = NULL;
    assert_ok(tess_xpcs_fit(ctx, data, &s.model, &config, &wanted));
    const tess_xpcs_result_info *got = tess_xpcs_result_get_info(result);
    const tess_xpcs_result_info *want = tess_xpcs_result_get_info(wanted);
    assert_int_equal(got->convergence, TESS_XPCS_CONVERGED);
    assert_int_equal(got->n_used, want->n_used);
    assert_int_equal(got->n_masked, want->n_masked);
    assert_int_equal(got->n_masked, n_lost);
    assert_int_equal(got->dof, want->dof);
    assert_int_equal(got->nfev, want->nfev);
    assert_memory_equal(got->n_used_angle, want->n_used_angle, 5 * sizeof *got->n_used_angle);
    double most = 0;
    for (int64_t k = 0; k < 7; k++) {
        most = fmax(most, fabs(got->theta[k] - want->theta[k]) / want->sd[k]);
    }
    print_message("masked and NaN: %.2g sd apart\n", most);
    assert_true(most <= 1e-9);
    assert_true(fabs(got->chi2 - want->chi2) <= 1e-12 * want->chi2);
    char counts[96];
    snprintf(counts, sizeof counts, "%lld of %lld points", (long long)n_lost,
             (long long)(got->n_used + n_lost));
    assert_contains(got->warnings, counts);
    assert_contains(got->warnings, "hole.txc2");
    assert_null(strstr(want->warnings, "left out"));
    tess_xpcs_result_destroy(result);
    tess_xpcs_result_destroy(wanted);
    tess_xpcs_data_destroy(data);
    tess_context_destroy(ctx);
}

static void the_same_bits_however_it_runs(void **state)
{
    (void)state;
    static const int64_t chunks[] = {0, 16, 48};
    const tess_xpcs_simulation s = laminar(5, 150);
    const char *path = damaged(&s, "bits.txc2", (const int64_t[]){BAD, BAD_TOO}, 2);
    tess_context *first_ctx = unit_context(1, 0);
    tess_xpcs_fit_config config = masking();
    tess_xpcs_result *first = NULL;
    assert_ok(fit_file(first_ctx, path, &s.model, &config, &first));
    for (int32_t n_thread = 1; n_thread <= (unit_is_quick() ? 1 : 3); n_thread++) {
        tess_context *ctx = unit_context(n_thread, 0);
        for (config.strategy = 1; config.strategy <= 4; config.strategy++) {
            tess_xpcs_result *result = NULL;
            config.chunk_tiles = chunks[(config.strategy + n_thread) % 3];
            assert_ok(fit_file(ctx, path, &s.model, &config, &result));
            assert_same_fit(first, result);
            tess_xpcs_result_destroy(result);
        }
        tess_context_destroy(ctx);
    }
    tess_xpcs_result_destroy(first);
    tess_context_destroy(first_ctx);
}

// Readers, rows and sums see ignored points, whole files lose nothing, and a mask stays.
static void masks_belong_to_the_data(void **state)
{
    (void)state;
    const tess_xpcs_simulation s = laminar(2, 150);
    const char *path = damaged(&s, "stays.txc2", (const int64_t[]){BAD}, 1);
    tess_context *ctx = unit_context(2, 0);
    tess_xpcs_fit_config config = masking();
    tess_xpcs_data *data = NULL;
    tess_xpcs_result *result = NULL;
    double s1[2];
    const double theta[7] = {68481, -1.327, 1708, 1.991e-3, -0.212, -6.07e-4, 2.0};
    tess_xpcs_sums sums = {.struct_size = sizeof sums, .s1 = s1};
    assert_ok(tess_xp_txc2_open(ctx, path, &data));
    const int64_t n_all = data->info.n_used;
    config.sigma_mode = TESS_XPCS_SIGMA_CONSTANT;
    config.sigma = 1;
    assert_ok(tess_xpcs_accumulate(ctx, data, &s.model, &config, theta, &sums));
    assert_true(data->n_lost > 0 && data->info.n_used == n_all - data->n_lost);
    assert_true(s1[0] + s1[1] == (double)data->info.n_used);
    double *row = malloc((size_t)data->info.n_frame * sizeof *row);
    const int64_t lost_row = tess_xp_tiles_at(&data->tiles, BAD * LEAF).row;
    for (int64_t k = 0; k < 2; k++) {
        assert_ok(tess_xpcs_data_rows(ctx, data, 1, lost_row - k, 1, row));
        assert_true(isnan(row[data->info.n_frame - 1]) == (k == 0));
    }
    free(row);
    // Two leaves lost at once or one after the other are the same to a checkpoint.
    const tess_hash one = tess_xp_data_identity(data);
    assert_false(tess_hash_equal(one, data->fingerprint));
    bad_disk[0] = middle_of(path, &data->tiles, BAD_TOO);
    assert_ok(tess_xp_data_mask(ctx, data, &config));
    assert_false(tess_hash_equal(tess_xp_data_identity(data), one));
    tess_xpcs_data *anew = NULL;
    assert_ok(tess_xp_txc2_open(ctx, path, &anew));
    assert_ok(tess_xp_data_mask(ctx, anew, &config));
    assert_true(tess_hash_equal(tess_xp_data_identity(data), tess_xp_data_identity(anew)));
    assert_int_equal(anew->n_lost, data->n_lost);
    assert_int_equal(anew->info.n_used, data->info.n_used);
    tess_xpcs_data_destroy(anew);
    config.bad_chunk = 0;
    assert_fails(tess_xpcs_fit(ctx, data, &s.model, &config, &result), TESS_E_IO,
                 "were masked before");
    assert_ok(tess_xpcs_accumulate(ctx, data, &s.model, &config, theta, &sums));
    assert_true(s1[0] + s1[1] == (double)data->info.n_used);
    bad_disk[0] = 0;
    // What was saved anew is whole.
    assert_ok(tess_xpcs_data_save(ctx, data, unit_path("mended.txc2"), 1));
    assert_ok(fit_file(ctx, unit_path("mended.txc2"), &s.model, &config, &result));
    config.bad_chunk = 1;
    tess_xpcs_result *again = NULL;
    assert_ok(fit_file(ctx, unit_path("mended.txc2"), &s.model, &config, &again));
    assert_same_fit(result, again);
    assert_null(strstr(tess_xpcs_result_get_info(again)->warnings, "left out"));
    tess_xpcs_result_destroy(result);
    tess_xpcs_result_destroy(again);
    tess_xpcs_data_destroy(data);
    tess_context_destroy(ctx);
}

static void too_much_damage_is_an_error(void **state)
{
    (void)state;
    const tess_xpcs_simulation s = laminar(2, 150);
    const int64_t most[] = {0, 1, 2, 3, 4};
    const int64_t all[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
    const char *path = damaged(&s, "most.txc2", most, 5);
    tess_context *ctx = unit_context(2, 0);
    tess_xpcs_fit_config config = masking();
    tess_xpcs_result *result = NULL;
    assert_fails(fit_file(ctx, path, &s.model, &config, &result), TESS_E_IO,
                 "of the points can be read, min_success_rate wants 50 %");
    config.min_success_rate = 0.1;
    assert_ok(fit_file(ctx, path, &s.model, &config, &result));
    tess_xpcs_result_destroy(result);
    config.min_success_rate = 0;
    path = damaged(&s, "all.txc2", all, 10);
    assert_fails(fit_file(ctx, path, &s.model, &config, &result), TESS_E_IO,
                 "no point of the angle");
    tess_context_destroy(ctx);
}

typedef struct stopper {
    tess_context *ctx;
    bool is_done;
    const char *path; // damaged instead of a stop
    const tess_xp_tiles *tiles;
} stopper;

static int stop(void *user, const tess_progress *progress)
{
    stopper *s = user;
    if (strcmp(progress->stage, "xpcs.pass") == 0 && !s->is_done) {
        s->is_done = true;
        if (s->path) {
            bad_disk[0] = middle_of(s->path, s->tiles, BAD_TOO);
        } else {
            tess_context_cancel(s->ctx);
        }
    }
    return 0;
}

static tess_context *watched(stopper *s)
{
    tess_context_config config;
    tess_context_config_init(&config, sizeof config);
    config.n_thread = 2;
    config.progress = stop;
    config.progress_user = s;
    assert_ok(tess_context_create(&config, &s->ctx));
    return s->ctx;
}

// Large enough to be watched.
static void stopped_fits_go_on(void **state)
{
    (void)state;
    const tess_xpcs_simulation s = laminar(5, 700);
    const char *path = damaged(&s, "stopped.txc2", (const int64_t[]){BAD}, 1);
    stopper stops = {0};
    tess_context *plain = unit_context(2, 0);
    tess_context *ctx = watched(&stops);
    tess_xpcs_fit_config config = masking();
    tess_xpcs_result *whole = NULL;
    tess_xpcs_result *result = NULL;
    config.chunk_tiles = 160;
    assert_ok(fit_file(plain, path, &s.model, &config, &whole));
    config.checkpoint_dir = unit_path("stopped");
    config.checkpoint_every_s = 0;
    assert_fails(fit_file(ctx, path, &s.model, &config, &result), TESS_CANCELLED, "");
    assert_true(stops.is_done);
    assert_true(unit_exists(unit_path("stopped/xpcs.fit.000001.ckpt")));
    // Other losses are another fit.
    tess_xpcs_data *data = simulated(plain, &s);
    config.resume = 1;
    flip(path, &data->tiles, BAD_TOO);
    assert_fails(fit_file(plain, path, &s.model, &config, &result), TESS_E_MISMATCH,
                 "other parts of them could be read");
    flip(path, &data->tiles, BAD_TOO);
    assert_ok(fit_file(plain, path, &s.model, &config, &result));
    assert_int_equal(tess_xpcs_result_get_info(result)->resumed, 1);
    assert_same_fit(whole, result);
    tess_xpcs_data_destroy(data);
    tess_xpcs_result_destroy(result);
    tess_xpcs_result_destroy(whole);
    tess_context_destroy(ctx);
    tess_context_destroy(plain);
}

static void later_damage_is_an_error(void **state)
{
    (void)state;
    const tess_xpcs_simulation s = laminar(5, 700);
    const char *path = damaged(&s, "later.txc2", (const int64_t[]){BAD}, 1);
    tess_context *plain = unit_context(1, 0);
    tess_xpcs_data *data = simulated(plain, &s);
    stopper stops = {.path = path, .tiles = &data->tiles};
    tess_context *ctx = watched(&stops);
    tess_xpcs_fit_config config = masking();
    tess_xpcs_result *result = NULL;
    config.chunk_tiles = 16;
    config.strategy = 4; // held in memory, what comes later would do no harm
    assert_fails(fit_file(ctx, path, &s.model, &config, &result), TESS_E_FORMAT,
                 "could be read when the fit began");
    assert_true(stops.is_done);
    assert_ok(fit_file(ctx, path, &s.model, &config, &result));
    bad_disk[0] = 0;
    tess_xpcs_result_destroy(result);
    tess_xpcs_data_destroy(data);
    tess_context_destroy(ctx);
    tess_context_destroy(plain);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(damage_is_an_error_or_a_hole),
        cmocka_unit_test(the_same_bits_however_it_runs),
        cmocka_unit_test(masks_belong_to_the_data),
        cmocka_unit_test(too_much_damage_is_an_error),
        cmocka_unit_test(stopped_fits_go_on),
        cmocka_unit_test(later_damage_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
