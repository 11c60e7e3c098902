// Broken files of two-time matrices: a clear error, never a crash.
#include "runtime/context.h"
#include "xpcs_files.h"

#include <math.h>

typedef struct broken {
    void (*spoil)(xf_file *f);
    tess_status status;
    const char *part;
} broken;

static void spoil_not_square(xf_file *f)
{
    tess_format_writer_input *input = xf_find(f, f->keys[1]);
    input->shape[0] = 4;
    input->data_bytes = 4 * XF_FRAMES * sizeof(float);
}
static void spoil_one_axis(xf_file *f)
{
    tess_format_writer_input *input = xf_find(f, f->keys[2]);
    input->rank = 1;
    input->shape[0] = XF_FRAMES * XF_FRAMES;
}
static void spoil_sizes(xf_file *f)
{
    const int64_t shape[] = {5, 5};
    tess_bundle_input(xf_find(f, f->keys[1]), f->keys[1], TESS_F32, 2, shape, f->c2[1]);
}
static void spoil_too_small(xf_file *f)
{
    const int64_t shape[] = {2, 2};
    tess_bundle_input(xf_find(f, f->keys[0]), f->keys[0], TESS_F32, 2, shape, f->c2[0]);
}
static void spoil_complex(xf_file *f)
{
    static const float zeros[2 * XF_FRAMES * XF_FRAMES];
    const int64_t shape[] = {XF_FRAMES, XF_FRAMES};
    tess_bundle_input(xf_find(f, f->keys[0]), f->keys[0], TESS_C64, 2, shape, zeros);
}
static void spoil_whole_numbers(xf_file *f)
{
    const int64_t shape[] = {XF_FRAMES, XF_FRAMES};
    tess_bundle_input(xf_find(f, f->keys[0]), f->keys[0], TESS_I32, 2, shape, f->c2[0]);
}
static void spoil_names(xf_file *f)
{
    snprintf(f->names[0], sizeof f->names[0], "x");
    snprintf(f->names[1], sizeof f->names[1], "y");
}
static void spoil_bins(xf_file *f)
{
    f->bins[0] = f->bins[1] = 0;
    f->bins[2] = INT64_MAX;
}
static void spoil_symmetry(xf_file *f)
{
    f->c2[1][4][2] = 1.5F;
}
static void spoil_phi_list(xf_file *f)
{
    xf_drop(f, "xpcs/qmap/dynamic_v_list_dim1");
}
static void spoil_q_list(xf_file *f)
{
    xf_drop(f, "xpcs/qmap/dynamic_v_list_dim0");
}
static void spoil_fractions(xf_file *f)
{
    const int64_t n = XF_MATRICES;
    static const double bins[] = {4, 5.5, 6};
    tess_bundle_input(xf_find(f, "xpcs/twotime/processed_bins"), "xpcs/twotime/processed_bins",
                      TESS_F64, 1, &n, bins);
}
static void spoil_list_shape(xf_file *f)
{
    const int64_t shape[] = {XF_FRAMES, XF_FRAMES};
    tess_bundle_input(xf_find(f, "xpcs/twotime/processed_bins"), "xpcs/twotime/processed_bins",
                      TESS_F32, 2, shape, f->c2[0]);
}
static void spoil_q(xf_file *f)
{
    f->q[1] = (double)NAN;
}
static void spoil_all_values(xf_file *f)
{
    memset(f->c2, 0, sizeof f->c2);
}

static void broken_files_are_refused(void **state)
{
    (void)state;
    static const broken cases[] = {
        {spoil_not_square, TESS_E_SHAPE, "correlation_map/c2_00002' is 4 x 6; expected a square"},
        {spoil_one_axis, TESS_E_SHAPE, "correlation_map/c2_00003' has 1 axes; expected two"},
        {spoil_sizes, TESS_E_SHAPE, "c2_00002' is 5 x 5, but '/xpcs/twotime/correlation_map/c2_0"},
        {spoil_too_small, TESS_E_SHAPE, "c2_00001' has 2 frames; expected 3 to 200000 frames"},
        {spoil_complex, TESS_E_DTYPE, "c2_00001' is complex64; expected float32 or float64"},
        {spoil_whole_numbers, TESS_E_DTYPE, "c2_00001' is int32 LE; expected float32"},
        {spoil_names, TESS_E_FORMAT, "map_names' is [x, y]; expected [q, phi]"},
        {spoil_bins, TESS_E_FORMAT, "none of its 3 processed bins is among the 2 x 3 points"},
        {spoil_symmetry, TESS_E_NUMERIC,
         "matrix not symmetric: '/xpcs/twotime/correlation_map/c2_"},
        {spoil_symmetry, TESS_E_NUMERIC, "(phi 0) has"},
        {spoil_phi_list, TESS_E_FORMAT, "needs a data set '/xpcs/qmap/dynamic_v_list_dim1'"},
        {spoil_q_list, TESS_E_FORMAT, "at its top it has [entry, xpcs]"},
        {spoil_fractions, TESS_E_FORMAT, "item 1 is 5.5; expected a whole number"},
        {spoil_list_shape, TESS_E_FORMAT, "of 36 items is not a list"},
        {spoil_q, TESS_E_FORMAT, "has a q"},
        {spoil_all_values, TESS_E_NUMERIC, ""},
    };
    tess_context *ctx = unit_context(1, 0);
    static xf_file f;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        tess_xpcs_data *data = NULL;
        xf_aps_u(&f);
        cases[i].spoil(&f);
        assert_fails(tess_xpcs_data_open(ctx, xf_write(ctx, &f, "broken.h5"), NULL, &data),
                     cases[i].status, cases[i].part);
        assert_null(data);
    }
    tess_context_destroy(ctx);
}

static void other_files_are_refused(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    tess_xpcs_data *data = NULL;
    tess_xpcs_file *file = NULL;
    const char *path = unit_path("other");
    assert_fails(tess_xpcs_data_open(ctx, unit_path("absent.hdf"), NULL, &data), TESS_E_NOT_FOUND,
                 "absent.hdf");
    assert_fails(tess_xpcs_file_inspect(ctx, "/", &file), TESS_E_NOT_FOUND, "not a regular file");
    unit_write_file(path, "plain text, and nothing else", 28);
    assert_fails(tess_xpcs_data_open(ctx, path, NULL, &data), TESS_E_FORMAT, "not an HDF5 file");
    unit_write_file(path, "", 0);
    assert_fails(tess_xpcs_data_open(ctx, path, NULL, &data), TESS_E_TRUNCATED, "empty");
    size_t n_byte;
    char *bytes = unit_read_file(XF_GOLDEN "aps_u_lzf.hdf", &n_byte);
    unit_write_file(path, bytes, n_byte / 2);
    assert_fails(tess_xpcs_data_open(ctx, path, NULL, &data), TESS_E_TRUNCATED, "truncated");
    assert_fails(tess_xpcs_data_open(ctx, path, NULL, &data), TESS_E_TRUNCATED, "stored_eof");
    free(bytes);
    const double x = 1;
    tess_format_writer_input input;
    tess_bundle_input(&input, "entry/x", TESS_F64, 0, NULL, &x);
    path = unit_path("other.h5");
    assert_ok(tess_bundle_write(ctx, path, &input, 1, 1));
    assert_fails(tess_xpcs_data_open(ctx, path, NULL, &data), TESS_E_FORMAT,
                 "an HDF5 file of no known layout; at its top it has [entry]. Known are aps-u "
                 "(/xpcs/qmap/dynamic_v_list_dim0 and /xpcs/twotime/correlation_map), "
                 "aps-legacy (/xpcs/dqlist, /xpcs/dphilist and /exchange/C2T_all) and chx (/g12b "
                 "and /qval_dict); take any other data set with --c2-path");
    tess_context_destroy(ctx);
}

static void unknown_filters_are_named(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    tess_xpcs_data_config config = xf_config();
    tess_xpcs_data *data = NULL;
    config.c2_path = "/bitshuffle";
    assert_fails(tess_xpcs_data_open(ctx, TESS_GOLDEN "/../io/data/several.h5", &config, &data),
                 TESS_E_UNSUPPORTED, "'/bitshuffle' is compressed with filter 32008 (bitshuffle)");
    tess_context_destroy(ctx);
}

// Random bytes changed: an error or data, never a crash; a damaged chunk is an error.
static void flipped_bytes_do_not_crash(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    const char *path = unit_path("flipped.hdf");
    const int n_trial = unit_is_quick() ? 20 : 60;
    uint64_t random = 88172645463325252ULL;
    int n_refused = 0;
    static const char *const golden[] = {XF_GOLDEN "aps_legacy_deflate.hdf",
                                         XF_GOLDEN "aps_u_lzf.hdf",
                                         XF_GOLDEN "aps_u_mapping_deflate.hdf"};
    for (size_t f = 0; f < ARRAY_LEN(golden); f++) {
        size_t n_byte;
        char *bytes = unit_read_file(golden[f], &n_byte);
        for (int trial = 0; trial < n_trial; trial++) {
            char saved[4];
            size_t at[4];
            for (int k = 0; k < 4; k++) {
                random ^= random << 13;
                random ^= random >> 7;
                random ^= random << 17;
                // Mostly where the structure is.
                at[k] = random % (trial % 2 ? n_byte : n_byte < 8192 ? n_byte : 8192);
                saved[k] = bytes[at[k]];
                bytes[at[k]] ^= (char)(1 + random % 255);
            }
            unit_write_file(path, bytes, n_byte);
            tess_xpcs_data *data = NULL;
            n_refused += tess_xpcs_data_open(ctx, path, NULL, &data) != TESS_OK;
            tess_xpcs_data_destroy(data);
            for (int k = 3; k >= 0; k--) {
                bytes[at[k]] = saved[k];
            }
        }
        free(bytes);
    }
    assert_true(n_refused > n_trial / 4);
    tess_context_destroy(ctx);
}

static void memory_limits_are_kept(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 100000);
    tess_xpcs_data *data = NULL;
    assert_fails(tess_xpcs_data_open(ctx, XF_GOLDEN "aps_u_lzf.hdf", NULL, &data), TESS_E_LIMIT,
                 "the memory limit is 100000");
    tess_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(broken_files_are_refused),  cmocka_unit_test(other_files_are_refused),
        cmocka_unit_test(unknown_filters_are_named), cmocka_unit_test(flipped_bytes_do_not_crash),
        cmocka_unit_test(memory_limits_are_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
