#include "autoreject_recordings.h"

static void golden_files_are_read(void **state)
{
    (void)state;
    static const char *const files[][2] = {
        {"int16.vhdr", "bv_int16"}, {"f32vec.vhdr", "bv_f32vec"}, {"int32.vhdr", "bv_int32"}};
    tess_context *ctx = unit_context(1, 0);
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        char path[512];
        ar_file file;
        snprintf(path, sizeof path, FORMATS "%s", files[i][0]);
        assert_ok(ar_file_open(ctx, &tess_ar_brainvision, path, NULL, &file));
        assert_true(file.is_continuous);
        assert_true(file.continuous.sampling_hz == 250);
        assert_string_equal(file.epochs->info.format, "brainvision");
        ar_file_check_channels(&file, files[i][1]);
        ar_file_check_annotations(&file, files[i][1], 1); // less the first segment, as MNE 1.10
        ar_file_check_samples(&file, files[i][1], 0);
        ar_file_check_pieces(&file);
        ar_file_close(&file);
    }
    tess_context_destroy(ctx);
}

#define HEAD "Brain Vision Data Exchange Header File Version 1.0\n[Common Infos]\n"
#define SOUND                                                                                      \
    "DataFile=made.eeg\nMarkerFile=made.vmrk\nDataFormat=BINARY\nDataOrientation=MULTIPLEXED\n"    \
    "NumberOfChannels=2\nSamplingInterval=2000\n"
#define BINARY "[Binary Infos]\nBinaryFormat=INT_16\n"
#define CHANNELS "[Channel Infos]\nCh1=A,,1,uV\nCh2=B,,1,uV\n"

static tess_status open_text(tess_context *ctx, const char *text, ar_file *file)
{
    const char *path = unit_path("made.vhdr");
    unit_write_file(path, text, strlen(text));
    return ar_file_open(ctx, &tess_ar_brainvision, path, NULL, file);
}

static void write_made(size_t n_byte)
{
    static const char zeros[64];
    static const char markers[] = "Brain Vision Data Exchange Marker File, Version 1.0\n";
    unit_write_file(unit_path("made.eeg"), zeros, n_byte);
    unit_write_file(unit_path("made.vmrk"), markers, sizeof markers - 1);
}

static void wrong_headers_are_explained(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        tess_status status;
        const char *part;
    } cases[] = {
        {"", TESS_E_FORMAT, "line 1"},
        {"Brain Vision Data Exchange Marker File Version 1.0\n", TESS_E_FORMAT, "open its header"},
        {HEAD, TESS_E_FORMAT, "no NumberOfChannels"},
        {HEAD "NumberOfChannels=x\n", TESS_E_FORMAT, "line 3: NumberOfChannels is 'x'"},
        {HEAD "NumberOfChannels=2000000000\n", TESS_E_FORMAT, "from 1 to 65536"},
        {HEAD "NumberOfChannels=2\nSamplingInterval=0\n", TESS_E_FORMAT, "SamplingInterval is '0'"},
        {HEAD "NumberOfChannels=2\nSamplingInterval=1\n", TESS_E_FORMAT, "no DataFile"},
        {HEAD SOUND CHANNELS, TESS_E_FORMAT, "BinaryFormat is ''"},
        {HEAD SOUND "DataFormat=ASCII\n" BINARY CHANNELS, TESS_E_UNSUPPORTED, "DataFormat=ASCII"},
        {HEAD SOUND "DataType=FREQUENCYDOMAIN\n" BINARY CHANNELS, TESS_E_UNSUPPORTED, "FREQUENCY"},
        {HEAD SOUND BINARY "UseBigEndianOrder=YES\n" CHANNELS, TESS_E_UNSUPPORTED, "BigEndian"},
        {HEAD SOUND "DataOrientation=DIAGONAL\n" BINARY CHANNELS, TESS_E_FORMAT, "'DIAGONAL'"},
        {HEAD SOUND "DataPoints=17\n" BINARY CHANNELS, TESS_E_TRUNCATED, "17 samples (DataPoints)"},
        {HEAD SOUND "NumberOfChannels=3\n" BINARY CHANNELS, TESS_E_TRUNCATED, "whole samples"},
        {HEAD SOUND BINARY "[Channel Infos]\nCh1=A\n", TESS_E_FORMAT, "has no Ch2"},
        {HEAD SOUND BINARY "[Channel Infos]\nCh1=A,,zwei,uV\n", TESS_E_FORMAT, "resolution of Ch1"},
        {HEAD SOUND BINARY CHANNELS "[Coordinates]\nCh1=1,2\n", TESS_E_FORMAT, "three numbers"},
        {HEAD SOUND "DataFile=gone.dat\nMarkerFile=gone.vmrk\n" BINARY CHANNELS, TESS_OK, ""},
    };
    tess_context *ctx = unit_context(1, 0);
    write_made(64);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        ar_file file;
        const tess_status status = open_text(ctx, cases[i].text, &file);
        if (cases[i].status == TESS_OK) {
            assert_ok(status);
            assert_contains(file.epochs->info.notes, "'gone.dat' of the header is not there");
        } else {
            assert_fails(status, cases[i].status, cases[i].part);
        }
        ar_file_close(&file);
    }
    remove(unit_path("made.eeg"));
    ar_file file;
    assert_fails(open_text(ctx, HEAD SOUND BINARY CHANNELS, &file), TESS_E_NOT_FOUND, "made.eeg");
    ar_file_close(&file);
    write_made(64);
    remove(unit_path("made.vmrk"));
    assert_fails(open_text(ctx, HEAD SOUND BINARY CHANNELS, &file), TESS_E_NOT_FOUND, "made.vmrk");
    ar_file_close(&file);
    tess_context_destroy(ctx);
}

static void units_and_places_are_told_apart(void **state)
{
    (void)state;
    static const char text[] = HEAD SOUND
        "NumberOfChannels=6\n" BINARY
        "[Channel Infos]\nCh1=A,,0.5,\xb5V\nCh2=T,,2,C\nCh3=G,,1,\xc2\xb5S\nCh4=R,,1,mV\n"
        "Ch5=Caf\xe9,,,V\nCh6=D,Ref\\1x,1e1,nV\n"
        "[Comment]\nCh1=not this one\n[Other]\nCh2=,nor this\n"
        "[Coordinates]\nCh1=1,45,0\nCh4=0,0,0\nCh5=90,10,20\nCh6=1,0,0\n";
    tess_context *ctx = unit_context(1, 0);
    ar_file file;
    int64_t n = 0;
    static char ones[48];
    for (int i = 0; i < 24; i++) {
        ones[2 * i] = 1;
    }
    write_made(0);
    unit_write_file(unit_path("made.eeg"), ones, sizeof ones);
    assert_ok(open_text(ctx, text, &file));
    const tess_autoreject_channel *channels = file.continuous.sensors.channels;
    static const double values[] = {0.5e-6, 2, 1e-6, 1e-3, 1, 1e1 * 1e-9};
    static const int32_t types[] = {TESS_AUTOREJECT_EEG,  TESS_AUTOREJECT_MISC,
                                    TESS_AUTOREJECT_MISC, TESS_AUTOREJECT_MISC,
                                    TESS_AUTOREJECT_EEG,  TESS_AUTOREJECT_EEG};
    double *x = ar_file_samples(&file, &n);
    assert_int_equal(n, 24);
    for (int c = 0; c < 6; c++) {
        assert_true(x[4 * c] == values[c]);
        assert_int_equal(channels[c].type, types[c]);
    }
    assert_string_equal(channels[4].name, "Caf\xc3\xa9");
    assert_contains(file.epochs->info.notes, "not in volts, taken as misc: T, G");
    assert_contains(file.epochs->info.notes, "no coordinates, taken as misc: R");
    assert_true(fabs(channels[0].loc[0] - 0.095 * sqrt(0.5)) < 1e-15);
    assert_int_equal(file.continuous.sensors.n_point, 3);
    free(x);
    ar_file_close(&file);
    tess_context_destroy(ctx);
}

// Of events at one sample the first is kept, so that their order decides which: MNE's.
static void markers_of_one_time_lie_by_length(void **state)
{
    (void)state;
    static const char markers[] = "Brain Vision Data Exchange Marker File, Version 1.0\n"
                                  "[Marker Infos]\nMk1=Stimulus,S  9,5,4,0\n"
                                  "Mk2=Stimulus,S  8,5,1,0\nMk3=Stimulus,S  7,5,1,0\n"
                                  "Mk4=Stimulus,S  6,2,9,0\n";
    static const char *const order[] = {"Stimulus/S  6", "Stimulus/S  8", "Stimulus/S  7",
                                        "Stimulus/S  9"};
    tess_context *ctx = unit_context(1, 0);
    ar_file file;
    write_made(64);
    unit_write_file(unit_path("made.vmrk"), markers, sizeof markers - 1);
    assert_ok(open_text(ctx, HEAD SOUND BINARY CHANNELS, &file));
    assert_int_equal(file.continuous.n_annotation, 4);
    for (int i = 0; i < 4; i++) {
        assert_string_equal(file.continuous.annotations[i].text, order[i]);
    }
    ar_file_close(&file);
    tess_context_destroy(ctx);
}

static void spoiled_files_never_crash(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    const char *header = ar_file_copy("int16.vhdr");
    const char *markers = ar_file_copy("int16.vmrk");
    const char *samples = ar_file_copy("int16.eeg");
    ar_file_spoil(ctx, &tess_ar_brainvision, header, header, 3000);
    ar_file_spoil(ctx, &tess_ar_brainvision, markers, header, 3000);
    ar_file_spoil(ctx, &tess_ar_brainvision, samples, header, 10);
    tess_context_destroy(ctx);
}

static void only_the_first_segment_is_no_event(void **state)
{
    (void)state;
    static const char markers[] = "Brain Vision Data Exchange Marker File, Version 1.0\n"
                                  "[Marker Infos]\nMk1=New Segment,,1,1,0,20200101000000000000\n"
                                  "Mk2=Stimulus,S  8,2,1,0\nMk3=New Segment,,3,1,0\n";
    tess_context *ctx = unit_context(1, 0);
    ar_file file;
    write_made(64);
    unit_write_file(unit_path("made.vmrk"), markers, sizeof markers - 1);
    assert_ok(open_text(ctx, HEAD SOUND BINARY CHANNELS, &file));
    assert_int_equal(file.continuous.n_annotation, 2);
    assert_string_equal(file.continuous.annotations[0].text, "Stimulus/S  8");
    assert_string_equal(file.continuous.annotations[1].text, "New Segment/");
    ar_file_close(&file);
    tess_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_files_are_read),
        cmocka_unit_test(wrong_headers_are_explained),
        cmocka_unit_test(units_and_places_are_told_apart),
        cmocka_unit_test(markers_of_one_time_lie_by_length),
        cmocka_unit_test(only_the_first_segment_is_no_event),
        cmocka_unit_test(spoiled_files_never_crash),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
