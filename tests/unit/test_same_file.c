// No call of the library replaces the file it reads, by whatever name it is given; and what is
// written says where it comes from.
#include "unit.h"

#include "base/file.h"
#include "runtime/origin.h"
#include "systems/autoreject/files/fif_out.h"
#include "tessera/autoreject.h"
#include "tessera/decode.h"
#include "tessera/io.h"
#include "tessera/xpcs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char READ[] = "which is read; give the result another name";

// Runs check() with other names of the same file, then compares its bytes.
static void with_names(const char *path, void (*check)(void *self, const char *name), void *self)
{
    size_t n = 0;
    size_t n_after = 0;
    char *before = unit_read_file(path, &n);
    char link_name[1100];
    char hard_name[1100];
    // Formats go by the end of the name.
    snprintf(link_name, sizeof link_name, "%.900s-link%.20s", path, strrchr(path, '.'));
    snprintf(hard_name, sizeof hard_name, "%.900s-hard%.20s", path, strrchr(path, '.'));
    assert_int_equal(symlink(path, link_name), 0);
    assert_int_equal(link(path, hard_name), 0);
    check(self, path);
    check(self, link_name);
    check(self, hard_name);
    char *after = unit_read_file(path, &n_after);
    assert_int_equal(n, n_after);
    assert_memory_equal(before, after, n);
    free(before);
    free(after);
    unlink(link_name);
    unlink(hard_name);
}

static void check_plain(void *self, const char *name)
{
    assert_fails(tess_file_check_distinct(self, name), TESS_E_ARGUMENT, READ);
    assert_fails(tess_file_check_distinct(name, self), TESS_E_ARGUMENT, READ);
}

static void files_are_told_apart_by_what_they_are(void **state)
{
    (void)state;
    const char *path = unit_path("one.x");
    const char *other = unit_path("two.x");
    unit_write_file(path, "same", 4);
    unit_write_file(other, "same", 4);
    with_names(path, check_plain, (void *)(uintptr_t)path);
    assert_ok(tess_file_check_distinct(path, other));
    assert_ok(tess_file_check_distinct(path, unit_path("absent")));
    assert_ok(tess_file_check_distinct(NULL, path));
    assert_ok(tess_file_check_distinct("", path));
}

typedef struct fixture {
    tess_context *ctx;
    tess_plan *plan;
    tess_source *source;
    tess_autoreject_epochs *epochs;
    tess_decode_recording *recording;
    tess_xpcs_data *data;
} fixture;

static void check_run(void *self, const char *name)
{
    fixture *f = self;
    const tess_source_info *info = tess_source_get_info(f->source);
    tess_sink_config config;
    tess_sink *sink = NULL;
    tess_run *run = NULL;
    tess_sink_config_init(&config, sizeof config);
    config.overwrite = 1;
    assert_ok(tess_sink_create(f->ctx, name, &config, TESS_F64, 2, info->shape, &sink));
    assert_fails(tess_run_create(f->ctx, f->plan, f->source, sink, NULL, &run), TESS_E_ARGUMENT,
                 READ);
    tess_sink_close(sink);
}

static void check_epochs(void *self, const char *name)
{
    fixture *f = self;
    tess_autoreject_write_config config;
    tess_autoreject_write_config_init(&config, sizeof config);
    config.overwrite = 1;
    assert_fails(tess_autoreject_epochs_write(f->ctx, f->epochs, name, &config), TESS_E_ARGUMENT,
                 READ);
}

static void epochs_are_safe(void **state)
{
    (void)state;
    fixture f = {.ctx = unit_context(1, 0)};
    double x[3 * 2 * 8];
    const int64_t shape[3] = {3, 2, 8};
    tess_array array;
    tess_sink *sink = NULL;
    for (size_t i = 0; i < ARRAY_LEN(x); i++) {
        x[i] = (double)(i * i % 17) * 1e-6;
    }
    const char *path = unit_path("x.npy");
    assert_ok(tess_array_init(&array, x, TESS_F64, 3, shape));
    assert_ok(tess_sink_create(f.ctx, path, NULL, TESS_F64, 3, shape, &sink));
    assert_ok(tess_sink_write(sink, 0, 3, x, sizeof x));
    assert_ok(tess_sink_commit(sink));
    tess_sink_close(sink);

    assert_ok(tess_source_open(f.ctx, path, NULL, &f.source));
    assert_ok(tess_autoreject_ptp_plan_create(f.ctx, f.source, NULL, &f.plan));
    with_names(path, check_run, &f);
    tess_plan_destroy(f.plan);
    tess_source_close(f.source);

    tess_autoreject_epochs_config config;
    tess_autoreject_epochs_config_init(&config, sizeof config);
    config.sampling_hz = 100;
    assert_ok(tess_autoreject_epochs_open(f.ctx, path, &config, &f.epochs));
    with_names(path, check_epochs, &f);

    // A part of a split result would take the place of the input.
    const char *whole = unit_path("w-epo.fif");
    assert_ok(tess_autoreject_epochs_write(f.ctx, f.epochs, unit_path("w-epo-1.fif"), NULL));
    tess_autoreject_epochs_close(f.epochs);
    assert_ok(tess_autoreject_epochs_open(f.ctx, unit_path("w-epo-1.fif"), &config, &f.epochs));
    tess_autoreject_write_config write;
    tess_autoreject_write_config_init(&write, sizeof write);
    write.overwrite = 1;
    assert_fails(tess_ar_fif_write_parts(f.ctx, f.epochs, whole, &write, 1), TESS_E_ARGUMENT, READ);
    assert_false(unit_exists(whole));
    tess_autoreject_epochs_close(f.epochs);
    tess_context_destroy(f.ctx);
}

static void check_recording(void *self, const char *name)
{
    fixture *f = self;
    assert_fails(tess_decode_recording_save(f->ctx, f->recording, name, 1), TESS_E_ARGUMENT, READ);
    assert_fails(tess_decode_report(f->ctx, name, NULL, NULL, name, 1), TESS_E_ARGUMENT, READ);
    assert_fails(tess_decode_report(f->ctx, "result.h5", f->recording, NULL, name, 1),
                 TESS_E_ARGUMENT, READ);
}

static void recordings_are_safe(void **state)
{
    (void)state;
    fixture f = {.ctx = unit_context(1, 0)};
    const char *path = unit_path("rec.npz");
    assert_ok(tess_decode_simulate(f.ctx, NULL, &f.recording));
    assert_ok(tess_decode_recording_save(f.ctx, f.recording, path, 0));
    tess_decode_recording_close(f.recording);
    assert_ok(tess_decode_recording_open(f.ctx, path, &f.recording));
    with_names(path, check_recording, &f);

    tess_decode_model *model = NULL;
    assert_ok(tess_decode_model_fit(f.ctx, f.recording, NULL, &model));
    tess_decode_stream_config config;
    tess_decode_stream_report report = {.struct_size = sizeof report};
    const tess_decode_recording_info *info = tess_decode_recording_get_info(f.recording);
    tess_decode_stream_config_init(&config, sizeof config);
    // The folder of results would have the name of the recording.
    const char *folder = unit_path("rec");
    assert_int_equal(link(path, folder), 0);
    config.path = folder;
    config.overwrite = 1;
    config.recording = info;
    assert_fails(tess_decode_stream(f.ctx, tess_decode_model_detector(model), &info->observation,
                                    &config, &report),
                 TESS_E_ARGUMENT, READ);
    tess_decode_model_destroy(model);
    tess_decode_recording_close(f.recording);
    tess_context_destroy(f.ctx);
}

static void check_data(void *self, const char *name)
{
    fixture *f = self;
    assert_fails(tess_xpcs_data_save(f->ctx, f->data, name, 1), TESS_E_ARGUMENT, READ);
}

static void correlations_are_safe(void **state)
{
    (void)state;
    fixture f = {.ctx = unit_context(1, 0)};
    tess_xpcs_simulation simulation;
    const char *path = unit_path("c.txc2");
    tess_xpcs_simulation_init(&simulation, sizeof simulation);
    simulation.n_angle = 2;
    simulation.n_frame = 20;
    assert_ok(tess_xpcs_simulate_file(f.ctx, &simulation, TESS_XPCS_TXC2, TESS_XPCS_FILTER_NONE,
                                      path, 0));
    assert_ok(tess_xpcs_data_open(f.ctx, path, NULL, &f.data));
    with_names(path, check_data, &f);
    tess_xpcs_data_destroy(f.data);
    tess_context_destroy(f.ctx);
}

static void origins_are_found_again(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "# tessera_provenance {\"a\": \"} \\\" {\", \"b\": {}} more",
        "<!-- tessera_provenance {\"a\": \"} \\\" {\", \"b\": {}} -->",
        "x{\"tessera_provenance\": {\"a\": \"} \\\" {\", \"b\": {}}, \"c\": 1}"};
    size_t n = 0;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        const char *found = tess_origin_find(texts[i], strlen(texts[i]), &n);
        assert_non_null(found);
        assert_int_equal(n, strlen("{\"a\": \"} \\\" {\", \"b\": {}}"));
        assert_memory_equal(found, "{\"a\": ", 6);
        // Cut anywhere it is not there, and nothing behind the end is looked at.
        for (size_t cut = 0; cut < (size_t)(found - texts[i]) + n; cut++) {
            char *part = malloc(cut + 1);
            memcpy(part, texts[i], cut);
            assert_null(tess_origin_find(part, cut, &n));
            free(part);
        }
        n = strlen("{\"a\": \"} \\\" {\", \"b\": {}}");
    }
    assert_null(tess_origin_find("tessera_provenance and nothing else", 35, &n));
    static const char whole[] = "{\"schema\": \"tessera.provenance/1\", \"x\": 1}";
    assert_ptr_equal(tess_origin_find(whole, sizeof whole - 1, &n), whole);
    assert_int_equal(n, sizeof whole - 1);
}

static void texts_say_what_made_them(void **state)
{
    (void)state;
    tess_context_config config;
    tess_context *ctx = NULL;
    char *found = NULL;
    tess_context_config_init(&config, sizeof config);
    config.command_line = "tessera 'of \"mine\"' --> <b>";
    assert_ok(tess_context_create(&config, &ctx));
    assert_ok(tess_text_save(ctx, unit_path("t.csv"), "unit.test", "a,b\n", 0));
    assert_fails(tess_text_save(ctx, unit_path("t.csv"), "unit.test", "a,b\n", 0), TESS_E_EXISTS,
                 "t.csv");
    assert_ok(tess_file_provenance(ctx, unit_path("t.csv"), &found));
    assert_contains(found, "\"stage\": \"unit.test\"");
    assert_contains(found, "of \\\"mine\\\"' --> <b>");
    tess_text_free(found);
    assert_ok(tess_text_save(ctx, unit_path("bare.csv"), NULL, "a,b\n", 0));
    assert_ok(tess_file_provenance(ctx, unit_path("bare.csv"), &found));
    assert_null(found);
    tess_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_are_told_apart_by_what_they_are),
        cmocka_unit_test(epochs_are_safe),
        cmocka_unit_test(recordings_are_safe),
        cmocka_unit_test(correlations_are_safe),
        cmocka_unit_test(origins_are_found_again),
        cmocka_unit_test(texts_say_what_made_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
