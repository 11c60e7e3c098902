#include "autoreject_files.h"
#include "systems/autoreject/files/recording.h"

#include <math.h>

enum { N_SAMPLE = 1000, N_CHAN = 3 };

// A recording of 100 Hz in memory: samples are their number, the last channel holds triggers.
typedef struct recording {
    double stim[N_SAMPLE];
    tess_autoreject_channel channels[N_CHAN];
    int n_closed;
} recording;

static tess_status read_memory(tess_context *ctx, void *impl, int64_t first, int64_t count,
                               const int64_t *channels, int64_t n_channel, double *dst)
{
    (void)ctx;
    const recording *r = impl;
    assert_true(first >= 0 && first + count <= N_SAMPLE);
    for (int64_t i = 0; i < n_channel; i++) {
        for (int64_t t = 0; t < count; t++) {
            *dst++ =
                channels[i] == 2 ? r->stim[first + t] : (double)(1000 * channels[i] + first + t);
        }
    }
    return TESS_OK;
}

static void close_memory(tess_context *ctx, void *impl)
{
    (void)ctx;
    ((recording *)impl)->n_closed++;
}

static tess_ar_continuous some_recording(recording *r)
{
    static const char *const names[N_CHAN] = {"Fz", "Cz", "STI 014"};
    tess_ar_continuous c = {.sampling_hz = 100,
                            .n_sample = N_SAMPLE,
                            .first_sample = 40,
                            .first_s = 0.4,
                            .has_date = true,
                            .read = read_memory,
                            .close = close_memory,
                            .impl = r};
    memset(r, 0, sizeof *r);
    tess_autoreject_sensors_init(&c.sensors, sizeof c.sensors);
    for (int i = 0; i < N_CHAN; i++) {
        r->channels[i] = (tess_autoreject_channel){
            .name = names[i], .type = i == 2 ? TESS_AUTOREJECT_STIM : TESS_AUTOREJECT_EEG};
    }
    c.sensors.n_chan = N_CHAN;
    c.sensors.channels = r->channels;
    return c;
}

static tess_status cut(tess_context *ctx, const tess_autoreject_epochs_config *config,
                       tess_ar_continuous *c, tess_autoreject_epochs **out)
{
    assert_ok(tess_ar_epochs_create(ctx, out));
    (*out)->info.path = "memory";
    return tess_ar_epoching(ctx, config, c, *out);
}

static tess_autoreject_epochs_config some_config(void)
{
    tess_autoreject_epochs_config config;
    tess_autoreject_epochs_config_init(&config, sizeof config);
    config.tmin = -0.1;
    config.tmax = 0.2;
    return config;
}

static void triggers_are_rises(void **state)
{
    (void)state;
    static const struct {
        double values[12];
        const char *want; // sample previous code, one after another
    } cases[] = {
        {{0, 32, 32, 33, 32, 0}, "1 0 32 3 32 33 "}, // MNE's own example
        {{5, 5, 0, 0, 7, 0}, "4 0 7 "},              // the first value is no event
        {{0, 3, 0, 4}, "1 0 3 3 0 4 "},              // the recording ends with a trigger
        {{0, 3, 0, 4, 2}, "1 0 3 3 0 4 "},           // a fall to another value is none
        {{0, 3, 0, 4, 5, 5}, "1 0 3 3 0 4 4 4 5 "},  // a rise ends the one before
        {{0, -2, -2, 0, 1.9, 0}, "1 0 2 4 0 1 "},    // absolute values, cut off
        {{0, 9, 9, 9}, "1 0 9 "},
        {{3, 2, 1, 0}, ""},
    };
    tess_context *ctx = unit_context(1, 0);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        recording r;
        tess_ar_continuous c = some_recording(&r);
        tess_autoreject_epochs *epochs = NULL;
        tess_ar_event_list list = {.heap = &ctx->heap};
        char got[256] = "";
        memcpy(r.stim, cases[i].values, sizeof cases[i].values);
        // What a case leaves out at its end is its last value.
        int last = 11;
        while (last > 0 && cases[i].values[last] == 0) {
            last--;
        }
        const bool ends_in_zero = i == 0 || i == 1 || i == 5 || i == 7;
        for (int t = last + 1; t < N_SAMPLE; t++) {
            r.stim[t] = ends_in_zero ? 0 : r.stim[last];
        }
        assert_ok(tess_ar_epochs_create(ctx, &epochs));
        assert_ok(tess_ar_events_of_stim(ctx, NULL, &c, epochs, &list));
        for (int64_t k = 0; k < list.n; k++) {
            const size_t used = strlen(got);
            snprintf(got + used, sizeof got - used, "%d %d %d ", (int)list.items[k].sample,
                     (int)list.items[k].previous, (int)list.items[k].code);
        }
        assert_string_equal(got, cases[i].want);
        tess_ar_events_free(&list);
        tess_autoreject_epochs_close(epochs);
    }
    tess_context_destroy(ctx);
}

static void put_trigger(recording *r, int sample, double code)
{
    r->stim[sample] = r->stim[sample + 1] = code;
}

static void epochs_lie_around_their_events(void **state)
{
    (void)state;
    static const tess_ar_annotation bad[] = {{.onset_s = 3.45, .duration_s = 0.1, .text = "BAD x"},
                                             {.onset_s = 5.6, .duration_s = 0.1, .text = "note"},
                                             {.onset_s = 6.61, .duration_s = 0, .text = "bad_y"}};
    tess_context *ctx = unit_context(1, 0);
    recording r;
    tess_ar_continuous c = some_recording(&r);
    tess_autoreject_epochs_config config = some_config();
    tess_autoreject_epochs *epochs = NULL;
    put_trigger(&r, 5, 1); // reaches out at the start
    put_trigger(&r, 100, 2);
    put_trigger(&r, 300, 1); // touches BAD x
    put_trigger(&r, 500, 1);
    put_trigger(&r, 600, 3); // ends at the start of bad_y: samples 590..620, 6.21 s is 621
    put_trigger(&r, 985, 2); // reaches out at the end
    c.annotations = bad;
    c.n_annotation = 3;
    assert_ok(cut(ctx, &config, &c, &epochs));
    const tess_autoreject_epochs_info *info = tess_autoreject_epochs_get_info(epochs);
    static const char *const log[] = {"NO_DATA", "", "BAD x", "", "", "TOO_SHORT"};
    static const int32_t samples[] = {100, 500, 600};
    static const int32_t codes[] = {2, 1, 3};
    static const int64_t selection[] = {1, 3, 4};
    assert_int_equal(info->n_epoch, 3);
    assert_int_equal(info->n_time, 31);
    assert_true(info->tmin == -0.1);
    assert_int_equal(info->n_original, 6);
    for (int i = 0; i < 6; i++) {
        assert_string_equal(info->drop_log[i], log[i]);
    }
    double got[31 * N_CHAN];
    for (int e = 0; e < 3; e++) {
        assert_int_equal(info->events[3 * e], samples[e] + 40);
        assert_int_equal(info->events[3 * e + 2], codes[e]);
        assert_int_equal(info->selection[e], selection[e]);
        assert_ok(tess_autoreject_epochs_read(ctx, epochs, e, 1, NULL, 0, got));
        assert_true(got[0] == samples[e] - 10 && got[30] == samples[e] + 20);
        assert_true(got[31] == 1000 + samples[e] - 10);
    }
    assert_int_equal(info->n_event_name, 3);
    assert_string_equal(info->event_names[2], "3");
    tess_autoreject_epochs_close(epochs);
    assert_int_equal(r.n_closed, 1);
    config.keep_annotated = 1;
    assert_ok(cut(ctx, &config, &c, &epochs));
    assert_int_equal(epochs->info.n_epoch, 4);
    tess_autoreject_epochs_close(epochs);
    tess_context_destroy(ctx);
}

static void baselines_are_of_the_samples_within(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    recording r;
    tess_ar_continuous c = some_recording(&r);
    tess_autoreject_epochs_config config = some_config();
    tess_autoreject_epochs *epochs = NULL;
    put_trigger(&r, 100, 2);
    put_trigger(&r, 500, 1);
    assert_ok(cut(ctx, &config, &c, &epochs));
    double got[31 * N_CHAN];
    // Rows less their mean up to the event, triggers as they are.
    assert_ok(tess_ar_apply_baseline(epochs, -(double)INFINITY, 0));
    assert_ok(tess_autoreject_epochs_read(ctx, epochs, 1, 1, NULL, 0, got));
    assert_true(got[0] == -5 && got[5] == 0 && got[31 + 30] == 25);
    assert_true(got[2 * 31 + 10] == 1);
    // Samples -4 to 2, those that lie within.
    assert_ok(tess_ar_apply_baseline(epochs, -0.046, 0.024));
    assert_ok(tess_autoreject_epochs_read(ctx, epochs, 1, 1, NULL, 0, got));
    assert_true(got[10] == 1);
    assert_fails(tess_ar_apply_baseline(epochs, 0.5, 0.6), TESS_E_RANGE, "reaches out of epochs");
    assert_fails(tess_ar_apply_baseline(epochs, -0.12, 0), TESS_E_RANGE, "from -0.1 to 0.2 s");
    assert_fails(tess_ar_apply_baseline(epochs, 0.5, (double)INFINITY), TESS_E_RANGE,
                 "holds no sample");
    assert_ok(tess_ar_apply_baseline(epochs, -0.105, 0)); // less than a sample beyond the end
    tess_autoreject_epochs_close(epochs);
    tess_context_destroy(ctx);
}

static void events_are_selected_by_name_and_code(void **state)
{
    (void)state;
    static const struct {
        const char *list;
        const char *name;
        int32_t code;
        bool want;
    } cases[] = {
        {"1,3", "3", 3, true},
        {"1,3", "2", 2, false},
        {"go", "go", 7, true},
        {"go", "gone", 7, false},
        {"audio", "audio/left", 1, true},
        {"left/audio", "audio/left", 1, true},
        {"audio/right", "audio/left", 1, false},
        {" left ", "audio/left", 1, true},
        {"7", "go", 7, true},
        {"", "go", 7, false},
        {"-3", "x", -3, true},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        assert_int_equal(tess_ar_is_selected(cases[i].list, cases[i].name, cases[i].code),
                         cases[i].want);
    }
    tess_context *ctx = unit_context(1, 0);
    recording r;
    tess_ar_continuous c = some_recording(&r);
    tess_autoreject_epochs_config config = some_config();
    tess_autoreject_epochs *epochs = NULL;
    put_trigger(&r, 100, 1);
    put_trigger(&r, 200, 2);
    put_trigger(&r, 300, 1);
    config.event = "2";
    assert_ok(cut(ctx, &config, &c, &epochs));
    assert_int_equal(epochs->info.n_epoch, 1);
    assert_string_equal(epochs->info.drop_log[0], "IGNORED");
    assert_int_equal(epochs->info.n_event_name, 1);
    assert_string_equal(epochs->info.event_names[0], "2");
    tess_autoreject_epochs_close(epochs);
    config.event = "5";
    assert_fails(cut(ctx, &config, &c, &epochs), TESS_E_FORMAT,
                 "none of its 3 events is '5' (--event); there are '1' (1), '2' (2)");
    tess_autoreject_epochs_close(epochs);
    tess_context_destroy(ctx);
}

static void markers_become_events(void **state)
{
    (void)state;
    static const tess_ar_annotation words[] = {{.onset_s = 1.404, .text = "tone"},
                                               {.onset_s = 2.406, .text = "beep"},
                                               {.onset_s = 3.4, .text = "EDGE boundary"},
                                               {.onset_s = 4.4, .text = "tone"}};
    static const tess_ar_annotation markers[] = {{.onset_s = 0.4, .text = "New Segment/"},
                                                 {.onset_s = 1.4, .text = "Stimulus/S 12"},
                                                 {.onset_s = 2.4, .text = "Response/R  3"},
                                                 {.onset_s = 3.4, .text = "Comment/odd"}};
    tess_context *ctx = unit_context(1, 0);
    recording r;
    tess_ar_continuous c = some_recording(&r);
    tess_autoreject_epochs *epochs = NULL;
    tess_ar_event_list list = {.heap = &ctx->heap};
    assert_ok(tess_ar_epochs_create(ctx, &epochs));
    c.annotations = words;
    c.n_annotation = 4;
    assert_ok(tess_ar_events_of_annotations(&c, epochs, &list));
    assert_int_equal(list.n, 3);
    assert_int_equal(list.items[0].sample, 100); // rounded
    assert_int_equal(list.items[1].sample, 201);
    assert_int_equal(list.items[0].code, 2); // in order of the words
    assert_int_equal(list.items[1].code, 1);
    assert_string_equal(list.names[0], "beep");
    tess_ar_events_free(&list);
    // Markers have codes of their own in BrainVision files, and in FIF files of nothing else.
    static const struct {
        const char *format;
        int64_t n_annotation;
        int32_t codes[4];
    } cases[] = {
        {"brainvision", 4, {99999, 12, 1003, 10001}},
        {"brainvision", 3, {99999, 12, 1003}},
        {"fif", 4, {2, 4, 3, 1}},
        {"fif", 3, {99999, 12, 1003}},
        {"edf", 4, {2, 4, 3, 1}},
        {"edf", 3, {1, 3, 2}},
    };
    c.annotations = markers;
    for (size_t k = 0; k < ARRAY_LEN(cases); k++) {
        list = (tess_ar_event_list){.heap = &ctx->heap};
        epochs->info.format = cases[k].format;
        c.n_annotation = cases[k].n_annotation;
        assert_ok(tess_ar_events_of_annotations(&c, epochs, &list));
        for (int64_t i = 0; i < c.n_annotation; i++) {
            assert_int_equal(list.items[i].code, cases[k].codes[i]);
        }
        tess_ar_events_free(&list);
    }
    c.n_annotation = 4;
    tess_autoreject_epochs_close(epochs);
    // Without triggers they are what is cut.
    tess_autoreject_epochs_config config = some_config();
    assert_ok(cut(ctx, &config, &c, &epochs));
    assert_int_equal(epochs->info.n_epoch, 3);
    assert_string_equal(epochs->info.drop_log[0], "NO_DATA");
    tess_autoreject_epochs_close(epochs);
    tess_context_destroy(ctx);
}

static void annotations_are_those_of_the_recording(void **state)
{
    (void)state;
    static const tess_ar_annotation words[] = {
        {.onset_s = 0.2, .duration_s = 0.1, .text = "a, over before"},
        {.onset_s = 0.3, .duration_s = 0.5, .text = "tone"}, // begins with the recording
        {.onset_s = 2.4, .text = "beep"},
        {.onset_s = 10.4, .text = "tone"}, // just behind the last sample
        {.onset_s = 10.41, .text = "b, later"}};
    tess_context *ctx = unit_context(1, 0);
    recording r;
    tess_ar_continuous c = some_recording(&r);
    tess_autoreject_epochs_config config = some_config();
    tess_autoreject_epochs *epochs = NULL;
    c.annotations = words;
    c.n_annotation = ARRAY_LEN(words);
    config.tmin = 0;
    assert_ok(cut(ctx, &config, &c, &epochs));
    const tess_autoreject_epochs_info *info = &epochs->info;
    assert_int_equal(info->n_original, 3);
    assert_int_equal(info->n_epoch, 2);
    assert_int_equal(info->events[0], 40);
    assert_int_equal(info->events[2], 2); // nothing outside has a code
    assert_int_equal(info->events[3], 240);
    assert_string_equal(info->drop_log[2], "TOO_SHORT");
    assert_contains(info->notes, "2 annotations give no epoch: they lie outside of the recording");
    tess_autoreject_epochs_close(epochs);
    c = some_recording(&r);
    c.annotations = &words[4];
    c.n_annotation = 1;
    assert_fails(cut(ctx, &config, &c, &epochs), TESS_E_FORMAT, "lie outside of it");
    tess_autoreject_epochs_close(epochs);
    tess_context_destroy(ctx);
}

static void halves_go_where_the_count_of_samples_has_them(void **state)
{
    (void)state;
    static const tess_ar_annotation word = {.onset_s = 1.375, .text = "tone"};
    tess_context *ctx = unit_context(1, 0);
    for (int has_date = 0; has_date < 2; has_date++) {
        recording r;
        tess_ar_continuous c = some_recording(&r);
        tess_autoreject_epochs *epochs = NULL;
        tess_ar_event_list list = {.heap = &ctx->heap};
        c.first_sample = 25;
        c.first_s = 0.25;
        c.has_date = has_date;
        c.annotations = &word;
        c.n_annotation = 1;
        assert_ok(tess_ar_epochs_create(ctx, &epochs));
        assert_ok(tess_ar_events_of_annotations(&c, epochs, &list));
        assert_int_equal(list.items[0].sample, has_date ? 112 : 113);
        tess_ar_events_free(&list);
        tess_autoreject_epochs_close(epochs);
    }
    tess_context_destroy(ctx);
}

// Events of a file as "sample previous code name " each.
static void assert_events(tess_context *ctx, const char *path, const char *want)
{
    recording r;
    tess_ar_continuous c = some_recording(&r);
    tess_autoreject_epochs *epochs = NULL;
    tess_ar_event_list list = {.heap = &ctx->heap};
    char got[512] = "";
    assert_ok(tess_ar_epochs_create(ctx, &epochs));
    assert_ok(tess_ar_events_of_file(ctx, path, &c, epochs, &list));
    for (int64_t i = 0; i < list.n && i < 8; i++) {
        const char *name = "?";
        for (int64_t k = 0; k < list.n_name; k++) {
            name = list.codes[k] == list.items[i].code ? list.names[k] : name;
        }
        const size_t used = strlen(got);
        snprintf(got + used, sizeof got - used, "%d %d %d %s ", (int)list.items[i].sample,
                 (int)list.items[i].previous, (int)list.items[i].code, name);
    }
    assert_string_equal(got, want);
    tess_ar_events_free(&list);
    tess_autoreject_epochs_close(epochs);
}

static void assert_no_events(tess_context *ctx, const char *name, const char *text,
                             tess_status status, const char *part)
{
    recording r;
    tess_ar_continuous c = some_recording(&r);
    tess_autoreject_epochs *epochs = NULL;
    tess_ar_event_list list = {.heap = &ctx->heap};
    const char *path = unit_path(name);
    unit_write_file(path, text, strlen(text));
    assert_ok(tess_ar_epochs_create(ctx, &epochs));
    assert_fails(tess_ar_events_of_file(ctx, path, &c, epochs, &list), status, part);
    tess_ar_events_free(&list);
    tess_autoreject_epochs_close(epochs);
}

static void files_of_events_are_read(void **state)
{
    (void)state;
    static const char columns[] = "# sample previous code\n240 0 2\n140 0 1\n\n";
    static const char four[] = "140 1.40 0 1\r\n240 2.40 0 2\r\n";
    static const char commas[] = "sample,previous,id\n140,0,1\n";
    static const char bids[] = "onset\tduration\ttrial_type\n1.004\t0\ttone\n2\t0\tbeep\n"
                               "3\tn/a\tBAD_x\n";
    static const char values[] = "duration\tonset\tvalue\n0\t1\t7\n";
    tess_context *ctx = unit_context(1, 0);
    const char *path = unit_path("x-eve.txt");
    unit_write_file(path, columns, strlen(columns));
    assert_events(ctx, path, "100 0 1 1 200 0 2 2 "); // less the first sample, in order
    path = unit_path("x.eve");
    unit_write_file(path, four, strlen(four));
    assert_events(ctx, path, "100 0 1 1 200 0 2 2 ");
    path = unit_path("x.csv");
    unit_write_file(path, commas, strlen(commas));
    assert_events(ctx, path, "100 0 1 1 ");
    path = unit_path("x_events.tsv");
    unit_write_file(path, bids, strlen(bids));
    assert_events(ctx, path, "100 0 2 tone 200 0 1 beep ");
    path = unit_path("y_events.tsv");
    unit_write_file(path, values, strlen(values));
    assert_events(ctx, path, "100 0 1 7 ");
    const int64_t triples[6] = {140, 0, 1, 240, 5, 9};
    const int64_t shape[2] = {2, 3};
    tess_sink *sink = NULL;
    path = unit_path("x-eve.npy");
    assert_ok(tess_sink_create(ctx, path, NULL, TESS_I64, 2, shape, &sink));
    assert_ok(tess_sink_write(sink, 0, 2, triples, sizeof triples));
    assert_ok(tess_sink_commit(sink));
    tess_sink_close(sink);
    assert_events(ctx, path, "100 0 1 1 200 5 9 9 ");
    assert_no_events(ctx, "bad.txt", "1 0 1\n1 0\n", TESS_E_FORMAT, "line 2: expected three");
    assert_no_events(ctx, "bad.tsv", "time\tname\n1\tx\n", TESS_E_FORMAT, "with 'onset'");
    assert_no_events(ctx, "bad2.tsv", "onset\tname\nx\ty\n", TESS_E_FORMAT, "line 2: the onset");
    assert_no_events(ctx, "bad3.txt", "1 0 1e30\n", TESS_E_FORMAT, "event 0 is 1, 0, 1e+30");
    assert_no_events(ctx, "bad-eve.fif", "hello", TESS_E_TRUNCATED, "tag 100");
    tess_context_destroy(ctx);
}

static void events_of_fif_files_are_read(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    tess_autoreject_epochs *epochs = NULL;
    // Epochs carry their events in the same block as files of events.
    assert_ok(tess_autoreject_epochs_open(ctx, FORMATS "epochs-epo.fif", NULL, &epochs));
    const tess_autoreject_epochs_info *info = tess_autoreject_epochs_get_info(epochs);
    char want[512] = "";
    for (int64_t e = 0; e < info->n_epoch; e++) {
        const int32_t *event = info->events + 3 * e;
        const size_t used = strlen(want);
        snprintf(want + used, sizeof want - used, "%d %d %d %s ", (int)event[0] - 40, (int)event[1],
                 (int)event[2], info->event_names[event[2] == info->event_codes[1]]);
    }
    assert_events(ctx, FORMATS "epochs-epo.fif", want);
    tess_autoreject_epochs_close(epochs);
    tess_context_destroy(ctx);
}

static void windows_follow_each_other(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    recording r;
    tess_ar_continuous c = some_recording(&r);
    tess_autoreject_epochs_config config = some_config();
    tess_autoreject_epochs *epochs = NULL;
    config.window = 3;
    config.overlap = 1;
    assert_ok(cut(ctx, &config, &c, &epochs));
    assert_int_equal(epochs->info.n_epoch, 4); // 0, 2, 4, 6 s
    assert_int_equal(epochs->info.n_time, 300);
    assert_true(epochs->info.tmin == 0);
    assert_int_equal(epochs->info.events[3 * 3], 640);
    tess_autoreject_epochs_close(epochs);
    config.window = 10;
    assert_ok(cut(ctx, &config, &c, &epochs));
    assert_int_equal(epochs->info.n_epoch, 1);
    tess_autoreject_epochs_close(epochs);
    config.window = 10.1;
    assert_fails(cut(ctx, &config, &c, &epochs), TESS_E_SHAPE, "longer than the recording of 10 s");
    tess_autoreject_epochs_close(epochs);
    config.window = 3;
    config.overlap = 2.999;
    assert_fails(cut(ctx, &config, &c, &epochs), TESS_E_RANGE, "less than a sample");
    tess_autoreject_epochs_close(epochs);
    tess_context_destroy(ctx);
}

static void what_cannot_be_cut_is_said(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    recording r;
    tess_ar_continuous c = some_recording(&r);
    tess_autoreject_epochs_config config = some_config();
    tess_autoreject_epochs *epochs = NULL;
    assert_fails(cut(ctx, &config, &c, &epochs), TESS_E_FORMAT, "recording without events; give");
    tess_autoreject_epochs_close(epochs);
    config.stim = "STI 015";
    assert_fails(cut(ctx, &config, &c, &epochs), TESS_E_ARGUMENT, "no channel 'STI 015'");
    tess_autoreject_epochs_close(epochs);
    config.stim = "STI 014";
    assert_fails(cut(ctx, &config, &c, &epochs), TESS_E_FORMAT, "in that trigger channel");
    tess_autoreject_epochs_close(epochs);
    put_trigger(&r, 300, 1);
    config.tmin = -9;
    assert_fails(cut(ctx, &config, &c, &epochs), TESS_E_FORMAT, "1 reach out of the recording");
    tess_autoreject_epochs_close(epochs);
    config = some_config();
    config.types = "stim=Oz";
    assert_fails(cut(ctx, &config, &c, &epochs), TESS_E_ARGUMENT,
                 "types: there is no channel 'Oz'");
    tess_autoreject_epochs_close(epochs);
    config.types = "eye=Cz";
    assert_fails(cut(ctx, &config, &c, &epochs), TESS_E_ARGUMENT, "expected a type and channels");
    tess_autoreject_epochs_close(epochs);
    assert_fails(
        tess_autoreject_epochs_open(
            ctx, FORMATS "epochs-epo.fif",
            &(tess_autoreject_epochs_config){.struct_size = sizeof config, .tmin = 1, .tmax = 0},
            &epochs),
        TESS_E_RANGE, "--tmax: 0 s is before --tmin, 1 s");
    tess_context_destroy(ctx);
}

static void epochs_of_a_file_are_selected(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    tess_autoreject_epochs *all = NULL;
    tess_autoreject_epochs *some = NULL;
    tess_autoreject_epochs_config config;
    assert_ok(tess_autoreject_epochs_open(ctx, FORMATS "epochs-epo.fif", NULL, &all));
    const tess_autoreject_epochs_info *a = tess_autoreject_epochs_get_info(all);
    tess_autoreject_epochs_config_init(&config, sizeof config);
    config.event = a->event_names[1];
    assert_ok(tess_autoreject_epochs_open(ctx, FORMATS "epochs-epo.fif", &config, &some));
    const tess_autoreject_epochs_info *s = tess_autoreject_epochs_get_info(some);
    assert_true(s->n_epoch > 0 && s->n_epoch < a->n_epoch);
    double got[9 * 26];
    double want[9 * 26];
    int64_t k = 0;
    for (int64_t e = 0; e < a->n_epoch; e++) {
        if (a->events[3 * e + 2] != a->event_codes[1]) {
            assert_string_equal(s->drop_log[a->selection[e]], "IGNORED");
            continue;
        }
        assert_int_equal(s->selection[k], a->selection[e]);
        assert_ok(tess_autoreject_epochs_read(ctx, all, e, 1, NULL, 0, want));
        assert_ok(tess_autoreject_epochs_read(ctx, some, k, 1, NULL, 0, got));
        assert_memory_equal(got, want, sizeof got);
        k++;
    }
    assert_int_equal(k, s->n_epoch);
    tess_autoreject_epochs_close(some);
    config.event = "nothing of that";
    assert_fails(tess_autoreject_epochs_open(ctx, FORMATS "epochs-epo.fif", &config, &some),
                 TESS_E_ARGUMENT, "is none of the events");
    tess_autoreject_epochs_close(all);
    tess_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(triggers_are_rises),
        cmocka_unit_test(epochs_lie_around_their_events),
        cmocka_unit_test(baselines_are_of_the_samples_within),
        cmocka_unit_test(events_are_selected_by_name_and_code),
        cmocka_unit_test(markers_become_events),
        cmocka_unit_test(annotations_are_those_of_the_recording),
        cmocka_unit_test(halves_go_where_the_count_of_samples_has_them),
        cmocka_unit_test(files_of_events_are_read),
        cmocka_unit_test(events_of_fif_files_are_read),
        cmocka_unit_test(windows_follow_each_other),
        cmocka_unit_test(what_cannot_be_cut_is_said),
        cmocka_unit_test(epochs_of_a_file_are_selected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
