#include "runtime/bundle.h"
#include "tessera/tessera.h"
#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static tess_context *make_context(void)
{
    tess_context *ctx = NULL;
    tess_context_config config;
    tess_context_config_init(&config, sizeof config);
    config.n_thread = 1;
    assert_ok(tess_context_create(&config, &ctx));
    return ctx;
}

static const double times[3] = {0.5, 1.7e9, (double)NAN};
static const float marks[3][2] = {{1, 2}, {3, 4}, {5, 6}};
static const int64_t offsets[2] = {0, 3};
static const uint8_t flags[3] = {1, 0, 1};
static const double single = 2.5;

static int64_t make_inputs(tess_format_writer_input *inputs)
{
    tess_bundle_input(&inputs[0], "times", TESS_F64, 1, (int64_t[]){3}, times);
    inputs[0].provenance = "{\"a\": 1}";
    tess_bundle_input(&inputs[1], "marks", TESS_F32, 2, (int64_t[]){3, 2}, marks);
    tess_bundle_input(&inputs[2], "offsets", TESS_I64, 1, (int64_t[]){2}, offsets);
    tess_bundle_input(&inputs[3], "flags", TESS_BOOL, 1, (int64_t[]){3}, flags);
    tess_bundle_input(&inputs[4], "single", TESS_F64, 0, NULL, &single);
    tess_bundle_input(&inputs[5], "empty", TESS_F64, 2, (int64_t[]){0, 4}, NULL);
    return 6;
}

static void check_contents(tess_context *ctx, const char *path)
{
    tess_bundle bundle = {0};
    double reals[6] = {0};
    int64_t wholes[3] = {0};
    uint8_t bits[3] = {9, 9, 9};
    float raw[6] = {0};

    assert_ok(tess_bundle_open(ctx, path, &bundle));
    assert_ok(tess_bundle_read_f64(&bundle, tess_bundle_find(&bundle, "times"), reals));
    assert_true(reals[0] == 0.5 && reals[1] == 1.7e9 && isnan(reals[2]));
    assert_ok(tess_bundle_read_f64(&bundle, tess_bundle_find(&bundle, "marks"), reals));
    assert_true(reals[0] == 1 && reals[5] == 6);
    assert_ok(tess_bundle_read(&bundle, tess_bundle_find(&bundle, "marks"), raw, sizeof raw));
    assert_memory_equal(raw, marks, sizeof marks);
    assert_ok(tess_bundle_read_i64(&bundle, tess_bundle_find(&bundle, "offsets"), wholes));
    assert_true(wholes[0] == 0 && wholes[1] == 3);
    assert_ok(tess_bundle_read_bool(&bundle, tess_bundle_find(&bundle, "flags"), bits));
    assert_memory_equal(bits, flags, sizeof flags);
    assert_ok(tess_bundle_read_f64(&bundle, tess_bundle_find(&bundle, "single"), reals));
    assert_true(reals[0] == 2.5);
    assert_int_equal(tess_bundle_find(&bundle, "empty")->n_item, 0);
    assert_ok(tess_bundle_read_f64(&bundle, tess_bundle_find(&bundle, "empty"), reals));
    assert_null(tess_bundle_find(&bundle, "nothing"));
    assert_fails(tess_bundle_read_i64(&bundle, tess_bundle_find(&bundle, "times"), wholes),
                 TESS_E_FORMAT, "data set 'times': item 0 is 0.5; expected a whole number");
    assert_fails(tess_bundle_read(&bundle, tess_bundle_find(&bundle, "marks"), raw, 3),
                 TESS_E_SHAPE, "data set 'marks' does not take 3 bytes");
    tess_bundle_close(&bundle);
    tess_bundle_close(&bundle);
}

static void round_trip(const char *path)
{
    tess_context *ctx = make_context();
    tess_format_writer_input inputs[6];
    const int64_t n = make_inputs(inputs);
    unlink(path);
    const tess_status status = tess_bundle_write(ctx, path, inputs, n, 0);
    if (status == TESS_E_UNSUPPORTED) {
        tess_context_destroy(ctx);
        skip();
    }
    assert_ok(status);
    check_contents(ctx, path);
    char *provenance = NULL;
    assert_ok(tess_file_provenance(ctx, path, &provenance));
    assert_string_equal(provenance, "{\"a\": 1}");
    tess_text_free(provenance);
    assert_fails(tess_bundle_write(ctx, path, inputs, n, 0), TESS_E_EXISTS, "exists already");
    assert_ok(tess_bundle_write(ctx, path, inputs, n, 1));
    check_contents(ctx, path);
    unlink(path);
    tess_context_destroy(ctx);
}

static void npz_round_trip(void **state)
{
    (void)state;
    round_trip("bundle.npz");
}

static void hdf5_round_trip(void **state)
{
    (void)state;
    round_trip("bundle.h5");
}

static void arrays_are_added_one_by_one(void **state)
{
    (void)state;
    tess_context *ctx = make_context();
    tess_format_writer_input inputs[6];
    tess_bundle_writer writer;
    const int64_t n_input = make_inputs(inputs);
    const char *path = unit_path("added.h5");
    const int n_before = unit_count_files();
    assert_ok(tess_bundle_begin(ctx, path, inputs, 1, 0, &writer));
    assert_false(unit_exists(path));
    for (int64_t i = 1; i < n_input; i++) {
        assert_ok(tess_bundle_add(&writer, &inputs[i]));
    }
    assert_ok(tess_bundle_commit(&writer));
    check_contents(ctx, path);
    assert_fails(tess_bundle_begin(ctx, path, inputs, 1, 0, &writer), TESS_E_EXISTS, "added.h5");
    assert_ok(tess_bundle_begin(ctx, unit_path("given_up.h5"), inputs, 1, 0, &writer));
    tess_bundle_discard(&writer);
    assert_int_equal(unit_count_files(), n_before + 1);
    assert_ok(tess_bundle_begin(ctx, unit_path("at_once.npz"), inputs, 1, 0, &writer));
    assert_fails(tess_bundle_add(&writer, &inputs[1]), TESS_E_ARGUMENT, "written at once");
    tess_bundle_discard(&writer);
    unlink(path);
    tess_context_destroy(ctx);
}

static int note_text(void *user, int64_t index, const char *text)
{
    char *all = user;
    const size_t used = strlen(all);
    snprintf(all + used, 64 - used, "%d=%s;", (int)index, text);
    return 0;
}

static void texts_of_any_kind_are_read(void **state)
{
    (void)state;
    static const char fixed[2][4] = {{'q'}, {'p', 'h', 'i', '!'}};
    static const uint32_t wide[5] = {'a', 0x3c6, 0x1f600, 0, 'x'};
    static const char *const names[] = {"texts.npz", "texts.h5"};
    tess_context *ctx = make_context();
    for (int f = 0; f < 2; f++) {
        const char *path = unit_path(names[f]);
        tess_format_writer_input inputs[3];
        tess_bundle bundle;
        char text[64] = "";
        tess_bundle_input(&inputs[0], "times", TESS_F64, 1, (int64_t[]){3}, times);
        tess_bundle_input(&inputs[1], "fixed", TESS_BYTES, 1, (int64_t[]){2}, fixed);
        inputs[1].item_bytes = 4;
        inputs[1].data_bytes = sizeof fixed;
        tess_bundle_input(&inputs[2], "wide", TESS_UCS4, 0, NULL, wide);
        inputs[2].item_bytes = sizeof wide;
        inputs[2].data_bytes = sizeof wide;
        assert_ok(tess_bundle_write(ctx, path, inputs, f == 0 ? 3 : 2, 0));
        assert_ok(tess_bundle_open(ctx, path, &bundle));
        assert_ok(
            tess_bundle_read_texts(&bundle, tess_bundle_find(&bundle, "fixed"), note_text, text));
        assert_string_equal(text, "0=q;1=phi!;");
        assert_fails(
            tess_bundle_read_texts(&bundle, tess_bundle_find(&bundle, "times"), note_text, text),
            TESS_E_DTYPE, "'times' is");
        if (f == 0) {
            text[0] = '\0';
            assert_ok(tess_bundle_read_texts(&bundle, tess_bundle_find(&bundle, "wide"), note_text,
                                             text));
            assert_string_equal(text, "0=a\xcf\x86\xf0\x9f\x98\x80;");
        }
        tess_bundle_close(&bundle);
        unlink(path);
    }
    tess_context_destroy(ctx);
}

static void one_array_formats_are_refused(void **state)
{
    (void)state;
    tess_context *ctx = make_context();
    tess_format_writer_input inputs[6];
    const int64_t n = make_inputs(inputs);
    assert_fails(tess_bundle_write(ctx, "x.npy", inputs, n, 0), TESS_E_ARGUMENT,
                 "a npy file holds one array; end the name in .npz or .h5");
    assert_fails(tess_bundle_write(ctx, "x.txt", inputs, n, 0), TESS_E_ARGUMENT, "unknown output");
    assert_fails(tess_bundle_write(ctx, "no/such/dir/x.npz", inputs, n, 0), TESS_E_CREATE,
                 "no/such/dir");
    tess_bundle bundle = {0};
    assert_fails(tess_bundle_open(ctx, "missing.npz", &bundle), TESS_E_NOT_FOUND, "missing.npz");
    tess_bundle_close(&bundle);
    tess_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(npz_round_trip),
        cmocka_unit_test(hdf5_round_trip),
        cmocka_unit_test(arrays_are_added_one_by_one),
        cmocka_unit_test(texts_of_any_kind_are_read),
        cmocka_unit_test(one_array_formats_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
