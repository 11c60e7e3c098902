// Files of a result: every member the original has, values that read back, whole or not at all.
#include "base/blocks.h"
#include "base/json_read.h"
#include "runtime/bundle.h"
#include "systems/xpcs/report/folder.h"
#include "systems/xpcs/result/record.h"
#include "xpcs_result.h"

#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

enum { N = 24 };

static tess_context *ctx;
static tess_blocks memory;

static const tess_json_value *parse(const char *text)
{
    const tess_json_value *value = NULL;
    size_t at = 0;
    assert_true(unit_is_json(text, &at));
    assert_ok(tess_json_parse(&memory, "test", text, strlen(text), &value));
    return value;
}

static const tess_json_value *find(const tess_json_value *value, const char *key)
{
    const tess_json_value *found = tess_json_find(value, key);
    if (!found) {
        fail_msg("no member '%s'", key);
    }
    return found;
}

static double number(const tess_json_value *value, const char *key)
{
    const tess_json_value *found = find(value, key);
    assert_int_equal(found->kind, TESS_JSON_NUMBER);
    return found->number;
}

static const char *text_of(const tess_json_value *value, const char *key)
{
    const tess_json_value *found = find(value, key);
    assert_int_equal(found->kind, TESS_JSON_TEXT);
    return found->text;
}

static const tess_json_value *item(const tess_json_value *list, int64_t k)
{
    const tess_json_value *at = list->first;
    assert_true(k < list->n);
    while (k-- > 0) {
        at = at->next;
    }
    return at;
}

static char *text_from(const hand_result *r, tess_xp_record_writer writer)
{
    tess_xp_record record;
    char *text = NULL;
    size_t bytes = 0;
    tess_xp_record_init(&record, ctx, &r->info, "tessera xpcs fit \"x\"");
    assert_ok(tess_xp_record_text(ctx, writer, &record, &text, &bytes));
    char *copy = strdup(text);
    tess_heap_free(&ctx->heap, text, bytes, TESS_TAG_RESULT);
    return copy;
}

static void parameters_have_the_originals_members(void **state)
{
    (void)state;
    hand_result r;
    hand_make(ctx, 3, N, TESS_F64, &r);
    char *text = text_from(&r, tess_xp_record_parameters);
    const tess_json_value *file = parse(text);
    assert_true(strlen(text_of(file, "timestamp")) > 10);
    assert_string_equal(text_of(file, "analysis_mode"), "laminar_flow");
    assert_true(number(file, "chi_squared") == 246.5);
    assert_true(number(file, "reduced_chi_squared") == 1.625);
    assert_string_equal(text_of(file, "convergence_status"), "converged");
    const tess_json_value *parameters = find(file, "parameters");
    assert_int_equal(parameters->n, 2 + HAND_PARAM);
    for (int k = 0; k < HAND_PARAM; k++) {
        const tess_json_value *p = find(parameters, r.names[k]);
        assert_true(number(p, "value") == r.theta[k]);
        assert_true(number(p, "uncertainty") == r.sd[k]);
    }
    const tess_json_value *contrast = find(parameters, "contrast");
    assert_true(fabs(number(contrast, "value") - 0.298) < 1e-15);
    assert_true(fabs(number(contrast, "uncertainty") - 0.0007) < 1e-15);
    // And ours.
    const tess_json_value *angles = find(file, "per_angle");
    assert_true(item(find(angles, "offset"), 2)->number == r.offset[2]);
    assert_string_equal(item(find(angles, "offset_status"), 0)->text, "free");
    const tess_json_value *covariance = find(file, "covariance");
    assert_int_equal(covariance->n, 13);
    assert_true(item(item(covariance, 12), 11)->number == r.covariance[12 * 13 + 11]);
    free(text);
    hand_free(&r);
}

static void analysis_has_the_originals_members(void **state)
{
    (void)state;
    hand_result r;
    hand_make(ctx, 3, N, TESS_F64, &r);
    char *text = text_from(&r, tess_xp_record_analysis);
    const tess_json_value *file = parse(text);
    assert_string_equal(text_of(file, "method"), "nlsq");
    assert_string_equal(text_of(file, "analysis_mode"), "laminar_flow");
    const tess_json_value *quality = find(file, "fit_quality");
    assert_true(number(quality, "chi_squared") == 246.5);
    assert_true(number(quality, "degrees_of_freedom") == (double)r.info.dof);
    assert_string_equal(text_of(quality, "quality_flag"), "marginal");
    const tess_json_value *dataset = find(file, "dataset_info");
    assert_true(number(dataset, "n_angles") == 3);
    assert_true(number(dataset, "n_time_points") == N * N);
    assert_true(number(dataset, "total_data_points") == 3 * N * N);
    assert_true(number(dataset, "q_value") == 0.0054);
    assert_string_equal(text_of(dataset, "name"), "run<script>07.h5"); // folders stay private
    const tess_json_value *summary = find(file, "optimization_summary");
    assert_string_equal(text_of(summary, "convergence_status"), "converged");
    assert_true(number(summary, "iterations") == 5);
    assert_true(number(summary, "execution_time") == 2);
    assert_string_equal(text_of(summary, "shear_kernel"), "upstream");
    assert_string_equal(text_of(summary, "scaling"), "individual");
    assert_string_equal(text_of(summary, "sigma_mode"), "estimate");
    assert_string_equal(text_of(find(file, "run"), "command_line"), "tessera xpcs fit \"x\"");
    free(text);
    hand_free(&r);
}

static void convergence_has_the_originals_members(void **state)
{
    (void)state;
    hand_result r;
    hand_make(ctx, 3, N, TESS_F64, &r);
    r.info.recovery = "restarted from the default start";
    char *text = text_from(&r, tess_xp_record_convergence);
    const tess_json_value *file = parse(text);
    const tess_json_value *convergence = find(file, "convergence");
    assert_string_equal(text_of(convergence, "status"), "converged");
    assert_true(number(convergence, "iterations") == 5);
    assert_true(number(convergence, "final_chi_squared") == 246.5);
    assert_true(fabs(number(convergence, "chi_squared_reduction") - (1 - 123.25 / 1123.25)) <
                1e-15);
    assert_int_equal(find(file, "recovery_actions")->n, 1);
    assert_string_equal(text_of(file, "quality_flag"), "marginal");
    assert_string_equal(text_of(find(file, "device_info"), "device"), "cpu");
    assert_int_equal(find(file, "quality_warnings")->n, 2);
    assert_string_equal(item(find(file, "quality_warnings"), 1)->text,
                        "alpha & D0 are <strongly> correlated.");
    assert_true(find(file, "quality_validation_passed")->number == 0); // phi0 is at its bound
    const tess_json_value *checks = find(file, "quality_checks");
    assert_true(find(checks, "physical_bounds")->number == 0);
    assert_true(find(checks, "parameter_significance")->number == 1);
    free(text);
    hand_free(&r);
}

static void whole_records_read_back(void **state)
{
    (void)state;
    hand_result r;
    hand_make(ctx, 2, N, TESS_F64, &r);
    r.sd[1] = (double)INFINITY;
    r.chi2[0] = (double)NAN;
    char *text = NULL;
    assert_ok(tess_xp_result_json_of(ctx, &r.info, &text));
    const tess_json_value *file = parse(text);
    assert_string_equal(text_of(file, "schema"), "tessera.xpcs.result/1");
    const tess_json_value *details = find(file, "parameter_details");
    assert_int_equal(find(item(details, 1), "uncertainty")->kind, TESS_JSON_NULL);
    assert_string_equal(text_of(item(details, 0), "unit"), "Å²/s");
    assert_string_equal(text_of(item(details, 6), "status"), "at_upper_bound");
    assert_true(item(find(item(details, 6), "interval_95"), 0)->number == r.interval_lower[6]);
    assert_true(item(find(item(details, 6), "interval_95"), 1)->number == r.theta[6]);
    assert_string_equal(text_of(item(details, 0), "interval_kind"), "straight");
    assert_string_equal(text_of(item(details, 6), "interval_kind"), "profile");
    assert_int_equal(item(find(find(file, "per_angle"), "reduced_chi_squared"), 0)->kind,
                     TESS_JSON_NULL);
    assert_int_equal(find(file, "trace")->n, HAND_TRACE);
    assert_true(number(item(find(file, "trace"), 2), "cost") == r.trace[2].cost);
    assert_true(find(item(find(file, "trace"), 3), "accepted")->number == 0);
    assert_int_equal(find(file, "basins")->n, HAND_BASIN);
    const tess_json_value *other = item(find(file, "basins"), 1);
    assert_true(number(other, "chi2") == 2 * 456.5);
    assert_true(number(other, "excess") == 2 * (456.5 - 123.25) / 1.625);
    assert_true(number(find(other, "parameters"), "phi0") == 2 * r.theta[6]);
    assert_true(number(item(find(file, "basins"), 0), "excess") == 0);
    assert_true(item(item(find(file, "bootstrap"), 2), 0)->number == r.bootstrap[2 * HAND_PARAM]);
    assert_int_equal(find(file, "correlation")->n, 11);
    assert_string_equal(text_of(file, "config_hash"), "c0ffee");
    tess_text_free(text);
    hand_free(&r);
}

// The rest without the members that differ from run to run.
static char *without_run(const char *text)
{
    char *copy = strdup(text);
    char *run = strstr(copy, "\"run\"");
    if (run) {
        memset(run, '-', strcspn(run, "}"));
    }
    static const char *const keys[] = {"\"timestamp\"", "\"execution_time\""};
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        char *at = strstr(copy, keys[i]);
        if (at) {
            memset(at, '-', strcspn(at, "\n"));
        }
    }
    return copy;
}

static void other_times_change_one_block(void **state)
{
    (void)state;
    hand_result r;
    hand_make(ctx, 2, N, TESS_F64, &r);
    const tess_xp_record_writer writers[] = {tess_xp_record_parameters, tess_xp_record_analysis,
                                             tess_xp_record_convergence, tess_xp_record_whole,
                                             tess_xp_record_provenance};
    for (size_t i = 0; i < ARRAY_LEN(writers); i++) {
        char *first = text_from(&r, writers[i]);
        r.info.seconds[1] += 1.5;
        r.info.seconds[4] += 1.75;
        r.info.points_per_s *= 2;
        r.info.peak_bytes += 12345678;
        r.info.resumed = !r.info.resumed;
        char *second = text_from(&r, writers[i]);
        char *a = without_run(first);
        char *b = without_run(second);
        // Blanked numbers may have other lengths.
        const char *keep_a = a;
        const char *keep_b = b;
        while (*keep_a || *keep_b) {
            keep_a += strspn(keep_a, "-");
            keep_b += strspn(keep_b, "-");
            assert_int_equal(*keep_a, *keep_b);
            keep_a += *keep_a != '\0';
            keep_b += *keep_b != '\0';
        }
        free(a);
        free(b);
        free(first);
        free(second);
    }
    hand_free(&r);
}

static double *member(const tess_bundle *bundle, const char *name, int32_t dtype, int32_t rank,
                      const int64_t *shape)
{
    const tess_bundle_entry *entry = tess_bundle_find(bundle, name);
    if (!entry) {
        fail_msg("no member '%s'", name);
    }
    assert_int_equal(entry->dtype, dtype);
    assert_int_equal(entry->rank, rank);
    for (int32_t i = 0; i < rank; i++) {
        assert_int_equal(entry->shape[i], shape[i]);
    }
    double *items = malloc((size_t)entry->n_item * sizeof *items);
    assert_ok(tess_bundle_read_f64(bundle, entry, items));
    return items;
}

static void remove_results(const char *folder)
{
    char command[1200];
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    assert_int_equal(system(command), 0);
}

static void check_surfaces(const hand_result *r, const tess_bundle *bundle)
{
    const int64_t cube[3] = {3, N, N};
    const int64_t pairs[2] = {3, 2};
    double *measured = member(bundle, "c2_exp", TESS_F64, 3, cube);
    double *raw = member(bundle, "c2_theoretical_raw", TESS_F64, 3, cube);
    double *scaled = member(bundle, "c2_theoretical_scaled", TESS_F64, 3, cube);
    double *solver = member(bundle, "c2_solver_scaled", TESS_F64, 3, cube);
    double *residuals = member(bundle, "residuals", TESS_F64, 3, cube);
    double *normalized = member(bundle, "residuals_normalized", TESS_F64, 3, cube);
    double *scaling = member(bundle, "per_angle_scaling", TESS_F64, 2, pairs);
    double *own = member(bundle, "per_angle_scaling_solver", TESS_F64, 2, pairs);
    const tess_xpcs_angles angles = {.struct_size = sizeof angles,
                                     .n_angle = 3,
                                     .phi = r->phi,
                                     .q = r->q,
                                     .contrast = r->contrast,
                                     .offset = r->offset};
    double *want = malloc(3 * N * N * sizeof *want);
    assert_ok(tess_xpcs_model_surface(ctx, &r->model, &angles, r->theta, N, want));
    for (int64_t k = 0; k < 3 * N * N; k++) {
        const int64_t a = k / (N * N);
        assert_true(fabs(solver[k] - want[k]) < 1e-13);
        assert_true(fabs(r->offset[a] + r->contrast[a] * (raw[k] - 1) - want[k]) < 1e-13);
        assert_true(scaled[k] == scaling[2 * a] * raw[k] + scaling[2 * a + 1]);
        if (k / N % N != k % N) { // the diagonal is interpolated
            assert_true(measured[k] == r->c2[k] || (isnan(measured[k]) && isnan(r->c2[k])));
        }
        assert_true(isnan(measured[k]) ? isnan(residuals[k])
                                       : residuals[k] == measured[k] - scaled[k]);
        assert_true(isnan(measured[k]) || normalized[k] == residuals[k] / r->sigma[a]);
    }
    for (int64_t a = 0; a < 3; a++) {
        assert_true(own[2 * a] == r->contrast[a] && own[2 * a + 1] == r->offset[a]);
        assert_true(fabs(scaling[2 * a] - r->contrast[a]) < 0.01);
        assert_true(fabs(scaling[2 * a + 1] + scaling[2 * a] - r->offset[a]) < 0.005);
    }
    // Least squares: residuals are orthogonal to the model and to 1.
    for (int64_t a = 0; a < 3; a++) {
        double sum = 0;
        double along = 0;
        for (int64_t i = 0; i < N; i++) {
            for (int64_t j = i + 1; j < N; j++) {
                const int64_t k = (a * N + i) * N + j;
                sum += isnan(residuals[k]) ? 0 : residuals[k];
                along += isnan(residuals[k]) ? 0 : residuals[k] * raw[k];
            }
        }
        assert_true(fabs(sum) < 1e-10 && fabs(along) < 1e-10);
    }
    double *const all[] = {measured,   raw,     scaled, solver, residuals,
                           normalized, scaling, own,    want};
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        free(all[i]);
    }
}

static void folders_hold_everything(void **state)
{
    (void)state;
    hand_result r;
    hand_make(ctx, 3, N, TESS_F64, &r);
    char folder[1000];
    char path[1100];
    snprintf(folder, sizeof folder, "%s/a/b", unit_path("results"));
    assert_ok(tess_xp_result_write_of(ctx, &r.info, r.data, &r.model, folder, NULL));
    static const char *const files[] = {"nlsq/parameters.json", "nlsq/analysis_results_nlsq.json",
                                        "nlsq/convergence_metrics.json", "nlsq/fitted_data.npz",
                                        "report.html"};
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        snprintf(path, sizeof path, "%s/%s", folder, files[i]);
        assert_true(unit_exists(path));
    }
    snprintf(path, sizeof path, "%s/nlsq/fitted_data.npz", folder);
    tess_bundle bundle;
    assert_ok(tess_bundle_open(ctx, path, &bundle));
    assert_int_equal(bundle.n_entry, 12 + 1); // the original's and wavevector_q_list
    check_surfaces(&r, &bundle);
    const int64_t n = N;
    const int64_t one = 1;
    double *t1 = member(&bundle, "t1", TESS_F64, 1, &n);
    double *t2 = member(&bundle, "t2", TESS_F64, 1, &n);
    double *q = member(&bundle, "q", TESS_F64, 1, &one);
    assert_true(t1[0] == 0.1 && t2[N - 1] == N * 0.1 && q[0] == 0.0054);
    free(t1);
    free(t2);
    free(q);
    tess_bundle_close(&bundle);
    // Nothing is replaced unasked, and nothing is left lying around.
    assert_fails(tess_xp_result_write_of(ctx, &r.info, r.data, &r.model, folder, NULL),
                 TESS_E_EXISTS, "nlsq/parameters.json: exists already");
    tess_xpcs_write_config config;
    tess_xpcs_write_config_init(&config, sizeof config);
    config.overwrite = 1;
    config.figures = 1;
    config.surfaces = 0;
    assert_ok(tess_xp_result_write_of(ctx, &r.info, r.data, &r.model, folder, &config));
    snprintf(path, sizeof path, "ls '%s/nlsq' | grep -c tmp", folder);
    FILE *listing = popen(path, "r");
    int left = -1;
    assert_int_equal(fscanf(listing, "%d", &left), 1);
    pclose(listing);
    assert_int_equal(left, 0);
    remove_results(unit_path("results"));
    hand_free(&r);
}

static void hdf5_holds_everything(void **state)
{
    (void)state;
    hand_result r;
    hand_make(ctx, 3, N, TESS_F32, &r);
    tess_xpcs_write_config config;
    tess_xpcs_write_config_init(&config, sizeof config);
    config.hdf5 = 1;
    config.report = 0;
    const char *folder = unit_path("with_h5");
    const tess_status status =
        tess_xp_result_write_of(ctx, &r.info, r.data, &r.model, folder, &config);
    if (status == TESS_E_UNSUPPORTED) {
        hand_free(&r);
        skip(); // built without HDF5
    }
    assert_ok(status);
    char path[1100];
    snprintf(path, sizeof path, "%s/result.h5", folder);
    tess_bundle bundle;
    assert_ok(tess_bundle_open(ctx, path, &bundle));
    const int64_t seven = 7;
    const int64_t three = 3;
    const int64_t two = HAND_BASIN;
    const int64_t square[2] = {13, 13};
    const int64_t samples[2] = {HAND_BOOTSTRAP, 7};
    const int64_t cube[3] = {3, N, N};
    double *values = member(&bundle, "parameters/values", TESS_F64, 1, &seven);
    double *upper = member(&bundle, "parameters/interval_upper", TESS_F64, 1, &seven);
    double *kind = member(&bundle, "parameters/interval_kind", TESS_I32, 1, &seven);
    double *excess = member(&bundle, "basins/excess", TESS_F64, 1, &two);
    double *covariance = member(&bundle, "parameters/covariance", TESS_F64, 2, square);
    double *contrast = member(&bundle, "angles/contrast", TESS_F64, 1, &three);
    double *bootstrap = member(&bundle, "bootstrap/samples", TESS_F64, 2, samples);
    double *chi2 = member(&bundle, "fit/chi_squared", TESS_F64, 0, NULL);
    double *fitted = member(&bundle, "surfaces/c2_fitted", TESS_F64, 3, cube);
    assert_memory_equal(values, r.theta, sizeof r.theta);
    assert_memory_equal(upper, r.interval_upper, sizeof r.interval_upper);
    assert_true(kind[5] == 0 && kind[6] == 1);
    assert_true(excess[1] == 2 * (456.5 - 123.25) / 1.625);
    assert_memory_equal(covariance, r.covariance, 13 * 13 * sizeof(double));
    assert_memory_equal(contrast, r.contrast, 3 * sizeof(double));
    assert_memory_equal(bootstrap, r.bootstrap, sizeof r.bootstrap);
    assert_true(*chi2 == 246.5);
    assert_true(fitted[0] == r.offset[0] + r.contrast[0]);
    double *const all[] = {values,   upper,     kind, excess, covariance,
                           contrast, bootstrap, chi2, fitted};
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        free(all[i]);
    }
    tess_bundle_close(&bundle);
    char *provenance = NULL;
    assert_ok(tess_file_provenance(ctx, path, &provenance));
    assert_contains(provenance, "\"identity\": \"0123456789abcdef0123456789abcdef\"");
    assert_contains(provenance, "00112233445566778899aabbccddeeff");
    tess_text_free(provenance);
    remove_results(folder);
    hand_free(&r);
}

static void errors_name_the_path(void **state)
{
    (void)state;
    hand_result r;
    hand_make(ctx, 1, N, TESS_F64, &r);
    const char *file = unit_path("a_file");
    unit_write_file(file, "x", 1);
    assert_fails(tess_xp_result_write_of(ctx, &r.info, r.data, &r.model, file, NULL), TESS_E_CREATE,
                 "a_file: is there already and no folder");
    assert_fails(tess_xp_result_write_of(ctx, &r.info, r.data, &r.model, "", NULL), TESS_E_ARGUMENT,
                 "folder is empty");
    assert_fails(tess_xp_result_write_of(ctx, &r.info, r.data, NULL, file, NULL), TESS_E_ARGUMENT,
                 "model is NULL");
    assert_fails(tess_xp_result_write_of(ctx, &r.info, r.data, &r.model, "/proc/no/results", NULL),
                 TESS_E_CREATE, "/proc/no: cannot create this folder");
    hand_free(&r);
}

// A limit on the size of files stands for a full disk.
static void a_full_disk_leaves_what_was_found(void **state)
{
    (void)state;
    hand_result r;
    hand_make(ctx, 3, 60, TESS_F64, &r);
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    const struct rlimit little = {.rlim_cur = 50000, .rlim_max = before.rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    const char *folder = unit_path("full");
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &little), 0);
    const tess_status status =
        tess_xp_result_write_of(ctx, &r.info, r.data, &r.model, folder, NULL);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(status, TESS_E_IO);
    assert_contains(tess_last_error(), "full/nlsq/fitted_data.npz");
    static const char *const texts[] = {"parameters", "analysis_results_nlsq",
                                        "convergence_metrics"};
    char path[1100];
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        snprintf(path, sizeof path, "%s/nlsq/%s.json", folder, texts[i]);
        assert_int_equal(unlink(path), 0);
    }
    snprintf(path, sizeof path, "%s/nlsq", folder);
    assert_int_equal(rmdir(path), 0); // nothing else is in it
    assert_int_equal(rmdir(folder), 0);
    hand_free(&r);
}

static void failed_allocations_leave_nothing(void **state)
{
    (void)state;
    const char *folder = unit_path("no_memory");
    for (long long n = 1; n < 400; n += 1 + n / 8) {
        unit_allocator allocator;
        unit_allocator_init(&allocator, 0);
        tess_context_config config;
        tess_context_config_init(&config, sizeof config);
        config.allocator = &allocator.table;
        config.n_thread = 1;
        tess_context *own = NULL;
        hand_result r;
        tess_xpcs_write_config wanted;
        assert_ok(tess_context_create(&config, &own));
        hand_make(own, 1, 6, TESS_F64, &r);
        tess_xpcs_write_config_init(&wanted, sizeof wanted);
        wanted.report = 0;
        allocator.fail_at = allocator.n_alloc + n;
        allocator.from_then_on = 1;
        const tess_status status =
            tess_xp_result_write_of(own, &r.info, r.data, &r.model, folder, &wanted);
        hand_free(&r);
        tess_context_destroy(own);
        assert_int_equal(allocator.n_live, 0);
        remove_results(folder);
        if (status == TESS_OK) {
            assert_true(n > 10);
            return;
        }
        assert_int_equal(status, TESS_E_MEMORY);
    }
    fail_msg("no end of allocations");
}

int main(void)
{
    ctx = unit_context(2, 0);
    tess_blocks_init(&memory, &ctx->heap);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parameters_have_the_originals_members),
        cmocka_unit_test(analysis_has_the_originals_members),
        cmocka_unit_test(convergence_has_the_originals_members),
        cmocka_unit_test(whole_records_read_back),
        cmocka_unit_test(other_times_change_one_block),
        cmocka_unit_test(folders_hold_everything),
        cmocka_unit_test(hdf5_holds_everything),
        cmocka_unit_test(errors_name_the_path),
        cmocka_unit_test(a_full_disk_leaves_what_was_found),
        cmocka_unit_test(failed_allocations_leave_nothing),
    };
    const int n_failed = cmocka_run_group_tests(tests, NULL, NULL);
    tess_blocks_free(&memory);
    tess_context_destroy(ctx);
    return n_failed;
}
