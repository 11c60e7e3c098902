// Caches: the original's and ours, used when they fit and passed over when not.
#include "runtime/context.h"
#include "systems/xpcs/files/cache.h"
#include "xpcs_files.h"

#include <fcntl.h>
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

#define ORIGINAL XF_GOLDEN "cached_c2_q0.0054_frames_1_-1.npz"
#define TEMPLATE "cached_c2_q${wavevector_q}_frames_${start_frame}_${end_frame}.npz"

static void names_come_from_templates(void **state)
{
    (void)state;
    static const struct {
        const char *template;
        const char *name;
    } cases[] = {
        {NULL, "folder/cached_c2_frames_1_-1.npz"},
        {TEMPLATE, "folder/cached_c2_q0.0054_frames_1_-1.npz"},
        {"{wavevector_q}-{end_frame}", "folder/0.0054--1.npz"},
        {"plain.npz", "folder/plain.npz"},
        {"a$b", "folder/a$b.npz"},
    };
    static const struct {
        const char *template;
        const char *part;
    } wrong[] = {
        {"a/b.npz", "'a/b.npz' is no plain file name"},
        {"..npz", "is no plain file name"},
        {"a\\b.npz", "is no plain file name"},
        {"", "is no plain file name"},
        {"c2_${phi}.npz", "'c2_${phi}.npz' has an unknown variable at '${phi}.npz'"},
        {"c2_${start_frame", "unknown variable"},
        {"{}", "unknown variable"},
    };
    tess_xpcs_data_config config = xf_config();
    char path[TESS_XP_CACHE_PATH];
    config.cache_folder = "folder";
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        config.cache_template = cases[i].template;
        assert_ok(tess_xp_cache_path(&config, path));
        assert_string_equal(path, cases[i].name);
    }
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        config.cache_template = wrong[i].template;
        assert_fails(tess_xp_cache_path(&config, path), TESS_E_CONFIG, wrong[i].part);
    }
    char long_name[400];
    memset(long_name, 'x', sizeof long_name);
    long_name[sizeof long_name - 1] = '\0';
    config.cache_template = long_name;
    assert_fails(tess_xp_cache_path(&config, path), TESS_E_CONFIG, "more than");
}

static void check_golden_data(tess_context *ctx, tess_xpcs_data *data, const char *layout)
{
    const tess_xpcs_data_info *info = tess_xpcs_data_get_info(data);
    double *packed = golden_f64(ctx, "xpcs/aps_u_mapping_deflate.expected", "sel_packed", NULL);
    assert_string_equal(info->layout, layout);
    assert_int_equal(info->n_angle, 3);
    assert_int_equal(info->n_frame, 39);
    assert_true(fabs(info->dt_s - 0.05) < 1e-15);
    assert_true(info->phi[0] == -15 && info->phi[1] == 30 && info->phi[2] == 88);
    assert_true(info->q[2] == 0.0054);
    xf_check_packed(ctx, data, packed);
    free(packed);
}

static void the_originals_cache_is_opened(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    tess_xpcs_data *data = NULL;
    tess_xpcs_file *file = NULL;
    tess_xpcs_data_config config = xf_config();
    assert_ok(tess_xpcs_data_open(ctx, ORIGINAL, NULL, &data));
    check_golden_data(ctx, data, "cache");
    assert_string_equal(tess_xpcs_data_get_info(data)->notes, "");
    tess_xpcs_data_destroy(data);
    assert_ok(tess_xpcs_file_inspect(ctx, ORIGINAL, &file));
    assert_int_equal(tess_xpcs_file_get_info(file)->n_bin, 3);
    assert_true(tess_xpcs_file_get_info(file)->bins[1].phi == 30);
    tess_xpcs_file_close(file);
    config.q = 0.01; // it holds one ring, and not this one
    assert_fails(tess_xpcs_data_open(ctx, ORIGINAL, &config, &data), TESS_E_FORMAT,
                 "no q within 5 % of 0.01");
    tess_context_destroy(ctx);
}

// A folder of its own for caches.
static const char *cache_folder(const char *name)
{
    const char *folder = unit_path(name);
    assert_int_equal(mkdir(folder, 0777), 0);
    return folder;
}

static void remove_folder(const char *folder, const char *const *names, size_t n)
{
    char path[1024];
    for (size_t i = 0; i < n; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        unlink(path);
    }
    assert_int_equal(rmdir(folder), 0); // nothing else was left in it
}

static const char *const MADE[] = {"cached_c2_q0.0054_frames_1_-1.npz", "phi_angles_list.txt",
                                   "wavevector_q_list.txt"};

static void a_cache_is_made_and_used(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    const char *folder = cache_folder("made");
    const tess_xpcs_angle_range along = {20, 40};
    tess_xpcs_data_config config = xf_config();
    tess_xpcs_data *data = NULL;
    char path[1024];
    config.cache_folder = folder;
    config.cache_template = TEMPLATE;
    // All angles of the ring are kept, whichever are taken.
    config.phi_ranges = &along;
    config.n_phi_range = 1;
    assert_ok(tess_xpcs_data_open(ctx, XF_GOLDEN "aps_u_mapping_deflate.hdf", &config, &data));
    assert_string_equal(tess_xpcs_data_get_info(data)->layout, "aps-u");
    assert_int_equal(tess_xpcs_data_get_info(data)->n_angle, 1);
    tess_xpcs_data_destroy(data);
    config.n_phi_range = 0;
    assert_ok(tess_xpcs_data_open(ctx, XF_GOLDEN "aps_u_mapping_deflate.hdf", &config, &data));
    check_golden_data(ctx, data, "cache");
    assert_string_equal(tess_xpcs_data_get_info(data)->notes, "");
    tess_xpcs_data_destroy(data);
    config.n_phi_range = 1;
    assert_ok(tess_xpcs_data_open(ctx, XF_GOLDEN "aps_u_mapping_deflate.hdf", &config, &data));
    assert_string_equal(tess_xpcs_data_get_info(data)->layout, "cache");
    assert_true(tess_xpcs_data_get_info(data)->phi[0] == 30);
    double *packed = golden_f64(ctx, "xpcs/aps_u_mapping_deflate.expected", "sel_packed", NULL);
    xf_check_packed(ctx, data, packed + 741);
    free(packed);
    tess_xpcs_data_destroy(data);
    // By itself.
    snprintf(path, sizeof path, "%s/%s", folder, MADE[0]);
    assert_ok(tess_xpcs_data_open(ctx, path, NULL, &data));
    check_golden_data(ctx, data, "cache");
    tess_xpcs_data_destroy(data);

    size_t n_byte;
    snprintf(path, sizeof path, "%s/%s", folder, MADE[1]);
    char *text = unit_read_file(path, &n_byte);
    assert_string_equal(text, "-15.000000\n30.000000\n88.000000\n");
    free(text);
    snprintf(path, sizeof path, "%s/%s", folder, MADE[2]);
    text = unit_read_file(path, &n_byte);
    assert_string_equal(text, "5.40000000e-03\n5.40000000e-03\n5.40000000e-03\n");
    free(text);
    remove_folder(folder, MADE, ARRAY_LEN(MADE));
    tess_context_destroy(ctx);
}

// The members of our cache are those of the original's.
static void ours_is_the_originals_and_more(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    const char *folder = cache_folder("same");
    tess_xpcs_data_config config = xf_config();
    tess_xpcs_data *data = NULL;
    tess_bundle ours;
    tess_bundle theirs;
    char path[1024];
    config.cache_folder = folder;
    config.cache_template = TEMPLATE;
    assert_ok(tess_xpcs_data_open(ctx, XF_GOLDEN "aps_u_mapping_deflate.hdf", &config, &data));
    tess_xpcs_data_destroy(data);
    snprintf(path, sizeof path, "%s/%s", folder, MADE[0]);
    assert_ok(tess_bundle_open(ctx, path, &ours));
    assert_ok(tess_bundle_open(ctx, ORIGINAL, &theirs));
    assert_int_equal(ours.n_entry, theirs.n_entry);
    for (int64_t i = 0; i < theirs.n_entry; i++) {
        const tess_bundle_entry *want = &theirs.entries[i];
        const tess_bundle_entry *got = tess_bundle_find(&ours, want->name);
        assert_non_null(got);
        assert_int_equal(got->dtype, want->dtype);
        assert_int_equal(got->rank, want->rank);
        assert_int_equal(got->n_item, want->n_item);
        if (want->dtype != TESS_UCS4) {
            double *a = malloc((size_t)want->n_item * sizeof *a);
            double *b = malloc((size_t)want->n_item * sizeof *b);
            assert_ok(tess_bundle_read_f64(&ours, got, a));
            assert_ok(tess_bundle_read_f64(&theirs, want, b));
            // Times are products here and there; the matrices are the same to the bit.
            assert_near(a, b, want->n_item, want->name[0] == 't' ? 1e-15 : 0);
            free(a), free(b);
        }
    }
    tess_bundle_close(&ours);
    tess_bundle_close(&theirs);
    remove_folder(folder, MADE, ARRAY_LEN(MADE));
    tess_context_destroy(ctx);
}

static void copy_file(const char *from, const char *to)
{
    size_t n_byte;
    char *bytes = unit_read_file(from, &n_byte);
    unit_write_file(to, bytes, n_byte);
    free(bytes);
}

// A copy of the golden file, and a folder for its caches.
static tess_xpcs_data_config own_copy(const char *source, const char *folder)
{
    tess_xpcs_data_config config = xf_config();
    copy_file(XF_GOLDEN "aps_u_mapping_deflate.hdf", source);
    config.cache_folder = folder;
    config.cache_template = "c";
    return config;
}

static const char *const LEFT[] = {"c.npz", "phi_angles_list.txt", "wavevector_q_list.txt"};

static void caches_of_other_frames_are_passed_over(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    const char *folder = cache_folder("frames");
    const char *source = unit_path("frames.hdf");
    tess_xpcs_data_config config = own_copy(source, folder);
    tess_xpcs_data *data = NULL;
    assert_ok(tess_xpcs_data_open(ctx, source, &config, &data));
    tess_xpcs_data_destroy(data);
    config.start_frame = 2; // other frames under the same name
    assert_ok(tess_xpcs_data_open(ctx, source, &config, &data));
    assert_string_equal(tess_xpcs_data_get_info(data)->layout, "aps-u");
    assert_contains(tess_xpcs_data_get_info(data)->notes,
                    "the cache is not used, the file is read again: it has frames 1 to 40");
    tess_xpcs_data_destroy(data);
    assert_ok(tess_xpcs_data_open(ctx, source, &config, &data)); // and now it is theirs
    assert_string_equal(tess_xpcs_data_get_info(data)->layout, "cache");
    assert_int_equal(tess_xpcs_data_get_info(data)->n_frame, 38);
    double *packed = golden_f64(ctx, "xpcs/aps_u_mapping_deflate.expected", "sel_packed", NULL);
    double row[38];
    assert_ok(tess_xpcs_data_rows(ctx, data, 0, 0, 1, row));
    assert_near(row + 1, packed + 38, 37, 0); // frame 3 to the rest: the second row of t0 dropped
    free(packed);
    tess_xpcs_data_destroy(data);
    config.start_frame = 1;
    config.end_frame = 39; // as many, but others
    assert_ok(tess_xpcs_data_open(ctx, source, &config, &data));
    assert_contains(tess_xpcs_data_get_info(data)->notes, "it has frames 2 to 40");
    tess_xpcs_data_destroy(data);
    remove_folder(folder, LEFT, ARRAY_LEN(LEFT));
    unlink(source);
    tess_context_destroy(ctx);
}

static void wrong_caches_are_passed_over(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    const char *folder = cache_folder("wrong");
    const char *source = unit_path("source.hdf");
    tess_xpcs_data_config config = own_copy(source, folder);
    tess_xpcs_data *data = NULL;
    char path[1024];
    snprintf(path, sizeof path, "%s/c.npz", folder);
    assert_ok(tess_xpcs_data_open(ctx, source, &config, &data));
    tess_xpcs_data_destroy(data);
    config.q = 0.0053;
    assert_ok(tess_xpcs_data_open(ctx, source, &config, &data));
    assert_contains(tess_xpcs_data_get_info(data)->notes, "it was made for q 0.0054");
    tess_xpcs_data_destroy(data);
    copy_file(XF_GOLDEN "aps_u_mapping_deflate.hdf", source); // as new, at another time
    const struct timespec times[2] = {{.tv_sec = 1700000000}, {.tv_sec = 1700000000}};
    assert_int_equal(utimensat(AT_FDCWD, source, times, 0), 0);
    assert_ok(tess_xpcs_data_open(ctx, source, &config, &data));
    assert_contains(tess_xpcs_data_get_info(data)->notes, "it was made from another file");
    tess_xpcs_data_destroy(data);
    unit_write_file(path, "PK\3\4 and nonsense", 17);
    assert_ok(tess_xpcs_data_open(ctx, source, &config, &data));
    assert_contains(tess_xpcs_data_get_info(data)->notes, "the cache cannot be used");
    tess_xpcs_data_destroy(data);
    config.no_cache = 1;
    assert_ok(tess_xpcs_data_open(ctx, source, &config, &data));
    assert_string_equal(tess_xpcs_data_get_info(data)->layout, "aps-u");
    tess_xpcs_data_destroy(data);
    remove_folder(folder, LEFT, ARRAY_LEN(LEFT));

    config.no_cache = 0; // a folder that is not there is made
    assert_ok(tess_xpcs_data_open(ctx, source, &config, &data));
    assert_null(strstr(tess_xpcs_data_get_info(data)->notes, "the cache was not written"));
    tess_xpcs_data_destroy(data);
    remove_folder(folder, LEFT, ARRAY_LEN(LEFT));
    config.cache_folder = source; // a file in its place: data, and a note
    assert_ok(tess_xpcs_data_open(ctx, source, &config, &data));
    assert_contains(tess_xpcs_data_get_info(data)->notes, "the cache was not written: ");
    tess_xpcs_data_destroy(data);
    unlink(source);
    tess_context_destroy(ctx);
}

// A cache of the original beside its file: taken when it names the bins as the file does.
static void the_originals_cache_is_checked(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    const char *folder = cache_folder("original");
    tess_xpcs_data_config config = xf_config();
    tess_xpcs_data *data = NULL;
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", folder, MADE[0]);
    copy_file(ORIGINAL, path);
    config.cache_folder = folder;
    config.cache_template = TEMPLATE;
    assert_ok(tess_xpcs_data_open(ctx, XF_GOLDEN "aps_u_mapping_deflate.hdf", &config, &data));
    check_golden_data(ctx, data, "cache");
    tess_xpcs_data_destroy(data);

    const struct timespec old[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
    assert_int_equal(utimensat(AT_FDCWD, path, old, 0), 0);
    assert_ok(tess_xpcs_data_open(ctx, XF_GOLDEN "aps_u_mapping_deflate.hdf", &config, &data));
    check_golden_data(ctx, data, "aps-u");
    assert_contains(tess_xpcs_data_get_info(data)->notes, "the file is newer");
    tess_xpcs_data_destroy(data);
    remove_folder(folder, MADE, ARRAY_LEN(MADE));
    tess_context_destroy(ctx);
}

// An .npz with some members of a cache.
static const char *odd_cache(tess_context *ctx, int32_t t_rank, int64_t n_phi, const char *extra)
{
    static const float c2[2][4][4];
    static const double reals[16] = {0, 0.1, 0.2, 0.3};
    static const uint32_t json[] = {'{', '}'};
    tess_format_writer_input inputs[7];
    const char *path = unit_path("odd.npz");
    tess_bundle_input(&inputs[0], "c2_exp", TESS_F32, 3, (int64_t[]){2, 4, 4}, c2);
    tess_bundle_input(&inputs[1], "t1", TESS_F64, t_rank, (int64_t[]){4, 4}, reals);
    tess_bundle_input(&inputs[2], "t2", TESS_F64, t_rank, (int64_t[]){4, 4}, reals);
    tess_bundle_input(&inputs[3], "phi_angles_list", TESS_F64, 1, &n_phi, reals);
    tess_bundle_input(&inputs[4], "wavevector_q_list", TESS_F64, 1, (int64_t[]){2}, reals);
    tess_bundle_input(&inputs[5], "cache_metadata_json", TESS_UCS4, 0, NULL, json);
    inputs[5].item_bytes = sizeof json;
    inputs[5].data_bytes = sizeof json;
    tess_bundle_input(&inputs[6], extra ? extra : "extra", TESS_F64, 1, (int64_t[]){2}, reals);
    assert_ok(tess_bundle_write(ctx, path, inputs, 7, 1));
    return path;
}

static void old_and_odd_caches_are_refused(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    tess_xpcs_data *data = NULL;
    assert_fails(tess_xpcs_data_open(ctx, odd_cache(ctx, 2, 2, NULL), NULL, &data), TESS_E_FORMAT,
                 "delete and regenerate");
    assert_fails(tess_xpcs_data_open(ctx, odd_cache(ctx, 1, 2, "cache_metadata"), NULL, &data),
                 TESS_E_FORMAT, "delete and regenerate");
    assert_fails(tess_xpcs_data_open(ctx, odd_cache(ctx, 1, 3, NULL), NULL, &data), TESS_E_FORMAT,
                 "2 matrices of 4 frames, but 2 q, 3 phi and 4 times");
    tess_format_writer_input input;
    const double x = 1;
    const char *path = unit_path("other.npz");
    tess_bundle_input(&input, "x", TESS_F64, 0, NULL, &x);
    assert_ok(tess_bundle_write(ctx, path, &input, 1, 1));
    assert_fails(tess_xpcs_data_open(ctx, path, NULL, &data), TESS_E_FORMAT,
                 "not a cache of two-time matrices: it has no 'c2_exp'");
    tess_context_destroy(ctx);
}

static void flipped_bytes_do_not_crash(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    const char *path = unit_path("flipped.npz");
    uint64_t random = 88172645463325252ULL;
    size_t n_byte;
    char *bytes = unit_read_file(ORIGINAL, &n_byte);
    for (int trial = 0; trial < (unit_is_quick() ? 40 : 300); trial++) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        const size_t at = random % n_byte;
        const char saved = bytes[at];
        bytes[at] ^= (char)(1 + random % 255);
        unit_write_file(path, bytes, n_byte);
        tess_xpcs_data *data = NULL;
        if (tess_xpcs_data_open(ctx, path, NULL, &data) == TESS_OK) {
            tess_xpcs_data_destroy(data);
        }
        bytes[at] = saved;
    }
    free(bytes);
    tess_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_come_from_templates),
        cmocka_unit_test(the_originals_cache_is_opened),
        cmocka_unit_test(a_cache_is_made_and_used),
        cmocka_unit_test(ours_is_the_originals_and_more),
        cmocka_unit_test(caches_of_other_frames_are_passed_over),
        cmocka_unit_test(wrong_caches_are_passed_over),
        cmocka_unit_test(the_originals_cache_is_checked),
        cmocka_unit_test(old_and_odd_caches_are_refused),
        cmocka_unit_test(flipped_bytes_do_not_crash),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
