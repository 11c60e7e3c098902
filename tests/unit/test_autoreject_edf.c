#include "autoreject_recordings.h"

static void golden_files_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *file, *prefix, *format;
        double rate;
    } cases[] = {
        {"plus.edf", "edf_plus", "edf", 128},
        {"plain.edf", "edf_plain", "edf", 64},
        {"bio.bdf", "bdf", "bdf", 128},
    };
    tess_context *ctx = unit_context(1, 0);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char path[512];
        ar_file file;
        snprintf(path, sizeof path, FORMATS "%s", cases[i].file);
        assert_ok(ar_file_open(ctx, &tess_ar_edf, path, NULL, &file));
        assert_true(file.is_continuous);
        assert_true(file.continuous.sampling_hz == cases[i].rate);
        assert_int_equal(file.continuous.n_sample, 320);
        assert_string_equal(file.epochs->info.format, cases[i].format);
        ar_file_check_channels(&file, cases[i].prefix);
        ar_file_check_annotations(&file, cases[i].prefix, 0);
        ar_file_check_samples(&file, cases[i].prefix, 1e-14);
        ar_file_check_pieces(&file);
        ar_file_close(&file);
    }
    tess_context_destroy(ctx);
}

// A file put together field by field.
typedef struct edf_writer {
    char bytes[1 << 16];
    size_t n;
} edf_writer;

static void put(edf_writer *w, size_t width, const char *text)
{
    memset(w->bytes + w->n, ' ', width);
    memcpy(w->bytes + w->n, text, strlen(text));
    w->n += width;
}

typedef struct signal {
    const char *label, *unit, *physical_min, *physical_max;
    int n_sample;
} signal;

static const struct {
    size_t at, width;
} fixed[] = {{0, 8},   {8, 80},   {88, 80}, {168, 8}, {176, 8},
             {184, 8}, {192, 44}, {236, 8}, {244, 8}, {252, 4}};

static void put_header(edf_writer *w, const char *reserved, const char *n_record,
                       const char *duration, const signal *signals, int n)
{
    char number[32];
    const char *texts[] = {"0", "",       "",       "01.01.20", "00.00.00",
                           "",  reserved, n_record, duration,   ""};
    w->n = 0;
    for (size_t i = 0; i < ARRAY_LEN(fixed); i++) {
        snprintf(number, sizeof number, "%d", i == 5 ? 256 * (n + 1) : n);
        put(w, fixed[i].width, i == 5 || i == 9 ? number : texts[i]);
    }
    static const size_t widths[] = {16, 80, 8, 8, 8, 8, 8, 80, 8, 32};
    for (size_t field = 0; field < ARRAY_LEN(widths); field++) {
        for (int s = 0; s < n; s++) {
            snprintf(number, sizeof number, "%d", signals[s].n_sample);
            const char *values[] = {signals[s].label,
                                    "",
                                    signals[s].unit,
                                    signals[s].physical_min,
                                    signals[s].physical_max,
                                    "-32768",
                                    "32767",
                                    "",
                                    number,
                                    ""};
            put(w, widths[field], values[field]);
        }
    }
}

static void put_samples(edf_writer *w, int first, int n)
{
    for (int i = 0; i < n; i++) {
        const int16_t value = (int16_t)(first + i);
        memcpy(w->bytes + w->n, &value, 2);
        w->n += 2;
    }
}

static void put_annotations(edf_writer *w, const char *text, size_t n, size_t width)
{
    memset(w->bytes + w->n, 0, width);
    memcpy(w->bytes + w->n, text, n);
    w->n += width;
}

static const char *written(const edf_writer *w)
{
    const char *path = unit_path("made.edf");
    unit_write_file(path, w->bytes, w->n);
    return path;
}

static void units_and_types_are_told_apart(void **state)
{
    (void)state;
    static const struct {
        const char *unit;
        double volts;
    } units[] = {{"uV", 1e-6},
                 {"\xb5V", 1e-6},
                 {"\xc2\xb5V", 1e-6},
                 {"\xce\xbcV", 1e-6},
                 {"\x83\xcaV", 1e-6},
                 {"mV", 1e-3},
                 {"V", 1},
                 {"nV", 1e-9},
                 {"degC", 1}};
    static const struct {
        const char *label, *name;
        int32_t type;
    } labels[] = {
        {"EEG Fp1-Ref", "Fp1-Ref", TESS_AUTOREJECT_EEG},
        {"EOG left", "left", TESS_AUTOREJECT_EOG},
        {"HEOG", "HEOG", TESS_AUTOREJECT_EOG},
        {"ECG1", "ECG1", TESS_AUTOREJECT_ECG},
        {"SaO2 finger", "finger", TESS_AUTOREJECT_MISC},
        {"Trigger", "Trigger", TESS_AUTOREJECT_STIM},
        {"Lab 3", "Lab 3", TESS_AUTOREJECT_EEG},
        {"Cz", "Cz", TESS_AUTOREJECT_EEG},
    };
    tess_context *ctx = unit_context(1, 0);
    static edf_writer w;
    for (size_t i = 0; i < ARRAY_LEN(units); i++) {
        const signal s = {"Cz", units[i].unit, "-32768", "32767", 4};
        ar_file file;
        int64_t n = 0;
        put_header(&w, "", "1", "1", &s, 1);
        put_samples(&w, 5, 4);
        assert_ok(ar_file_open(ctx, &tess_ar_edf, written(&w), NULL, &file));
        double *x = ar_file_samples(&file, &n);
        assert_true(fabs(x[0] - 5 * units[i].volts) < 1e-12 * units[i].volts);
        const int is_noted = strstr(file.epochs->info.notes, "unit not known") != NULL;
        assert_int_equal(is_noted, i == ARRAY_LEN(units) - 1);
        free(x);
        ar_file_close(&file);
    }
    for (size_t i = 0; i < ARRAY_LEN(labels); i++) {
        const signal s = {labels[i].label, "uV", "-1", "1", 4};
        ar_file file;
        put_header(&w, "", "1", "1", &s, 1);
        put_samples(&w, 0, 4);
        assert_ok(ar_file_open(ctx, &tess_ar_edf, written(&w), NULL, &file));
        assert_string_equal(file.continuous.sensors.channels[0].name, labels[i].name);
        assert_int_equal(file.continuous.sensors.channels[0].type, labels[i].type);
        ar_file_close(&file);
    }
    tess_context_destroy(ctx);
}

static void triggers_have_the_scale_of_their_channel(void **state)
{
    (void)state;
    static const struct {
        const char *label, *unit, *physical_min, *physical_max;
        double want[4]; // of -32768 to -32765
    } cases[] = {
        {"Trigger", "", "0", "65535", {0, 1, 2, 3}},
        {"STATUS", "uV", "0", "131070", {0, 2, 4, 6}}, // the unit is none of a trigger's
        {"Status", "", "131071", "196606", {0x1ffff, 0, 1, 2}},
        {"Trigger", "", "-32768", "32767", {0x18000, 0x18001, 0x18002, 0x18003}},
        {"Trigger", "", "1e30", "2e30", {0, 0, 0, 0}},
    };
    tess_context *ctx = unit_context(1, 0);
    static edf_writer w;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const signal s = {cases[i].label, cases[i].unit, cases[i].physical_min,
                          cases[i].physical_max, 4};
        ar_file file;
        int64_t n = 0;
        put_header(&w, "", "1", "1", &s, 1);
        put_samples(&w, -32768, 4);
        assert_ok(ar_file_open(ctx, &tess_ar_edf, written(&w), NULL, &file));
        double *x = ar_file_samples(&file, &n);
        assert_memory_equal(x, cases[i].want, sizeof cases[i].want);
        free(x);
        ar_file_close(&file);
    }
    tess_context_destroy(ctx);
}

static void other_rates_must_be_set_aside(void **state)
{
    (void)state;
    static const signal signals[] = {{"Cz", "uV", "-1", "1", 8},
                                     {"Temp", "degC", "-1", "1", 2},
                                     {"Resp", "", "-1", "1", 4},
                                     {"Pz", "uV", "-1", "1", 8}};
    tess_context *ctx = unit_context(1, 0);
    static edf_writer w;
    ar_file file;
    tess_autoreject_epochs_config config;
    put_header(&w, "", "3", "0.5", signals, 4);
    for (int record = 0; record < 3; record++) {
        put_samples(&w, 100 * record, 22);
    }
    const char *path = written(&w);
    assert_fails(ar_file_open(ctx, &tess_ar_edf, path, NULL, &file), TESS_E_FORMAT,
                 "channel 'Temp' has 4 samples a second, channel 'Cz' 16");
    ar_file_close(&file);
    tess_autoreject_epochs_config_init(&config, sizeof config);
    config.types = "eog=X;misc=Temp;other=A,Resp";
    assert_ok(ar_file_open(ctx, &tess_ar_edf, path, &config, &file));
    assert_int_equal(file.continuous.sensors.n_chan, 2);
    assert_string_equal(file.continuous.sensors.channels[1].name, "Pz");
    assert_contains(file.epochs->info.notes, "left out: Temp, Resp");
    assert_int_equal(file.continuous.n_sample, 24);
    int64_t n = 0;
    double *x = ar_file_samples(&file, &n);
    // Pz of the second record begins behind 8 + 2 + 4 samples.
    assert_true(fabs(x[24 + 8] - (114 + 32768) * 2e-6 / 65535 + 1e-6) < 1e-16);
    free(x);
    ar_file_close(&file);
    tess_context_destroy(ctx);
}

#define TAL(text) text, sizeof(text) - 1

static void gaps_are_joined_and_marked(void **state)
{
    (void)state;
    static const signal signals[] = {{"Cz", "uV", "-1", "1", 10},
                                     {"EDF Annotations", "", "-1", "1", 30}};
    tess_context *ctx = unit_context(1, 0);
    static edf_writer w;
    ar_file file;
    put_header(&w, "EDF+D", "3", "1", signals, 2);
    put_samples(&w, 0, 10);
    put_annotations(&w, TAL("+0\x14\x14\0+0.3\x14one\x14\0"), 60);
    put_samples(&w, 10, 10);
    put_annotations(&w,
                    TAL("+1\x14\x14\0+5.5\x15"
                        "2\x14two\x14three\x14\0"),
                    60);
    put_samples(&w, 20, 10);
    put_annotations(&w,
                    TAL("+5\x14\x14\0+3\x14"
                        "gap\x14\0"),
                    60);
    assert_ok(ar_file_open(ctx, &tess_ar_edf, written(&w), NULL, &file));
    static const struct {
        double onset, duration;
        const char *text;
    } wanted[] = {{0.3, 0, "one"},
                  {1.9, 0.2, "BAD boundary"},
                  {2, 0, "gap"},
                  {2.5, 2, "two"},
                  {2.5, 2, "three"}};
    assert_int_equal(file.continuous.n_annotation, ARRAY_LEN(wanted));
    for (size_t i = 0; i < ARRAY_LEN(wanted); i++) {
        assert_string_equal(file.continuous.annotations[i].text, wanted[i].text);
        assert_true(fabs(file.continuous.annotations[i].onset_s - wanted[i].onset) < 1e-12);
        assert_true(fabs(file.continuous.annotations[i].duration_s - wanted[i].duration) < 1e-12);
    }
    assert_contains(file.epochs->info.notes, "1 gaps");
    ar_file_close(&file);
    tess_context_destroy(ctx);
}

static void a_late_start_moves_annotations(void **state)
{
    (void)state;
    static const signal signals[] = {{"EDF Annotations", "", "-1", "1", 20},
                                     {"Cz", "uV", "-1", "1", 10}};
    tess_context *ctx = unit_context(1, 0);
    static edf_writer w;
    ar_file file;
    put_header(&w, "EDF+C", "1", "1", signals, 2);
    put_annotations(&w, TAL("+0.25\x14\x14\0+0.75\x14one\x14\0"), 40);
    put_samples(&w, 0, 10);
    assert_ok(ar_file_open(ctx, &tess_ar_edf, written(&w), NULL, &file));
    assert_int_equal(file.continuous.n_annotation, 1);
    assert_true(file.continuous.annotations[0].onset_s == 0.5);
    ar_file_close(&file);
    tess_context_destroy(ctx);
}

// MNE writes a text once for every channel that it speaks of.
static void texts_of_channels_are_one_annotation(void **state)
{
    (void)state;
    static const signal signals[] = {{"EDF Annotations", "", "-1", "1", 80},
                                     {"Cz", "uV", "-1", "1", 10},
                                     {"EEG Pz", "uV", "-1", "1", 10}};
    static const char *const wanted[] = {"go@@Oz", "go", "go", "@@", "go"};
    tess_context *ctx = unit_context(1, 0);
    static edf_writer w;
    ar_file file;
    put_header(&w, "EDF+C", "1", "1", signals, 3);
    put_annotations(&w,
                    TAL("+0\x14\x14\0+0.1\x14go@@Oz\x14\0+0.2\x14go@@Cz\x14\0+0.2\x14go@@Pz\x14\0"
                        "+0.2\x15"
                        "1\x14go@@Pz\x14\0+0.3\x14@@\x14\0+0.4\x14go@@Pz\x14\0"),
                    160);
    put_samples(&w, 0, 20);
    assert_ok(ar_file_open(ctx, &tess_ar_edf, written(&w), NULL, &file));
    assert_int_equal(file.continuous.n_annotation, ARRAY_LEN(wanted));
    for (size_t i = 0; i < ARRAY_LEN(wanted); i++) {
        assert_string_equal(file.continuous.annotations[i].text, wanted[i]);
    }
    ar_file_close(&file);
    tess_context_destroy(ctx);
}

static void records_behind_those_of_the_header_are_read(void **state)
{
    (void)state;
    static const signal s = {"Cz", "uV", "-1", "1", 10};
    static const char *const counts[] = {"-1", "0", "2", "3"};
    tess_context *ctx = unit_context(1, 0);
    static edf_writer w;
    for (size_t i = 0; i < ARRAY_LEN(counts); i++) {
        ar_file file;
        put_header(&w, "", counts[i], "1", &s, 1);
        put_samples(&w, 0, 34); // and a part of another
        assert_ok(ar_file_open(ctx, &tess_ar_edf, written(&w), NULL, &file));
        assert_int_equal(file.continuous.n_sample, 30);
        ar_file_close(&file);
        put_header(&w, "", i < 2 ? counts[i] : "0", "1", &s, 1);
        assert_fails(ar_file_open(ctx, &tess_ar_edf, written(&w), NULL, &file), TESS_E_FORMAT,
                     "there are no records");
        ar_file_close(&file);
    }
    tess_context_destroy(ctx);
}

// Header fields that are wrong, one at a time.
static void wrong_headers_are_explained(void **state)
{
    (void)state;
    static const struct {
        size_t at, width;
        const char *text;
        tess_status status;
        const char *part;
    } cases[] = {
        {236, 8, "12x", TESS_E_FORMAT, "byte 236: the number of records is '12x'"},
        {236, 8, "-2", TESS_E_FORMAT, "whole number from -1"},
        {236, 8, "9", TESS_E_TRUNCATED, "after 2 of 9 records"},
        {236, 8, "\xd9\xa1", TESS_E_FORMAT, "expected a number"},
        {184, 8, "99999999", TESS_E_TRUNCATED, "byte 184"},
        {184, 8, "256", TESS_E_FORMAT, "size of the header"},
        {252, 4, "0", TESS_E_FORMAT, "number of signals is 0"},
        {252, 4, "9999", TESS_E_TRUNCATED, "9999 signals take"},
        {244, 8, "-1", TESS_E_FORMAT, "records of -1 s"},
        {256 + 104, 8, "abc", TESS_E_FORMAT, "a physical minimum is 'abc'"},
        {256 + 216, 8, "0", TESS_E_FORMAT, "no signal has samples"},
        {256 + 216, 8, "-4", TESS_E_FORMAT, "samples in a record is -4"},
        {256 + 216, 8, "1e30", TESS_E_FORMAT, "samples in a record is 1e+30"},
    };
    static const signal s = {"Cz", "uV", "-1", "1", 4};
    tess_context *ctx = unit_context(1, 0);
    static edf_writer w;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        ar_file file;
        put_header(&w, "", "2", "1", &s, 1);
        put_samples(&w, 0, 8);
        memset(w.bytes + cases[i].at, ' ', cases[i].width);
        memcpy(w.bytes + cases[i].at, cases[i].text, strlen(cases[i].text));
        assert_fails(ar_file_open(ctx, &tess_ar_edf, written(&w), NULL, &file), cases[i].status,
                     cases[i].part);
        ar_file_close(&file);
    }
    tess_context_destroy(ctx);
}

// One record holds everything, more than the reader's buffer.
static void records_larger_than_the_buffer_are_read(void **state)
{
    (void)state;
    enum { N = 400000 };
    static edf_writer w;
    static const signal signals[] = {{"A", "uV", "-32768", "32767", N},
                                     {"B", "uV", "-32768", "32767", N}};
    tess_context *ctx = unit_context(1, 0);
    ar_file file;
    put_header(&w, "", "1", "1", signals, 2);
    char *bytes = malloc(w.n + 4 * (size_t)N);
    memcpy(bytes, w.bytes, w.n);
    for (int i = 0; i < 2 * N; i++) {
        const int16_t value = (int16_t)(i % 30011);
        memcpy(bytes + w.n + 2 * (size_t)i, &value, 2);
    }
    const char *path = unit_path("large.edf");
    unit_write_file(path, bytes, w.n + 4 * (size_t)N);
    assert_ok(ar_file_open(ctx, &tess_ar_edf, path, NULL, &file));
    int64_t n = 0;
    double *x = ar_file_samples(&file, &n);
    for (int64_t i = 0; i < n; i++) {
        assert_true(fabs(x[i] - (double)(i % 30011) * 1e-6) < 1e-15);
    }
    const int64_t channel = 1;
    double piece[5];
    assert_ok(file.continuous.read(ctx, file.continuous.impl, 399990, 5, &channel, 1, piece));
    assert_memory_equal(piece, x + N + 399990, sizeof piece);
    free(x);
    free(bytes);
    ar_file_close(&file);
    tess_context_destroy(ctx);
}

static void spoiled_files_never_crash(void **state)
{
    (void)state;
    static const char *const files[] = {"plus.edf", "plain.edf", "bio.bdf"};
    tess_context *ctx = unit_context(1, 0);
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        const char *path = ar_file_copy(files[i]);
        ar_file_spoil(ctx, &tess_ar_edf, path, path, 2000);
    }
    tess_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_files_are_read),
        cmocka_unit_test(units_and_types_are_told_apart),
        cmocka_unit_test(triggers_have_the_scale_of_their_channel),
        cmocka_unit_test(other_rates_must_be_set_aside),
        cmocka_unit_test(gaps_are_joined_and_marked),
        cmocka_unit_test(a_late_start_moves_annotations),
        cmocka_unit_test(texts_of_channels_are_one_annotation),
        cmocka_unit_test(records_behind_those_of_the_header_are_read),
        cmocka_unit_test(wrong_headers_are_explained),
        cmocka_unit_test(records_larger_than_the_buffer_are_read),
        cmocka_unit_test(spoiled_files_never_crash),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
