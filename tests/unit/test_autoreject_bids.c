#include "autoreject_recordings.h"

#include "tessera/autoreject.h"

// A recording of a BIDS tree with its side-cars.
static const char *make_tree(const char *events)
{
    static const char channels[] =
        "name\ttype\tunits\tstatus\nFp1\tEEG\tuV\tgood\n"
        "EEG Cz\tEEG\tuV\tbad\nOz\tVEOG\tuV\tn/a\nOther\tEEG\tuV\tgood\n";
    static const char electrodes[] =
        "name\tx\ty\tz\nFp1\t-30\t85\t0\nCz\t0\t0\t90\nOz\t0\t-90\t0\n";
    static const char system[] =
        "{\"EEGCoordinateSystem\": \"CapTrak\", \"EEGCoordinateUnits\": \"mm\"}";
    size_t n = 0;
    char *bytes = unit_read_file(FORMATS "plus.edf", &n);
    const char *path = unit_path("sub-01_task-rest_run-2_eeg.edf");
    unit_write_file(path, bytes, n);
    free(bytes);
    unit_write_file(unit_path("sub-01_task-rest_run-2_channels.tsv"), channels,
                    sizeof channels - 1);
    unit_write_file(unit_path("sub-01_task-rest_events.tsv"), events, strlen(events));
    unit_write_file(unit_path("sub-01_electrodes.tsv"), electrodes, sizeof electrodes - 1);
    unit_write_file(unit_path("sub-01_coordsystem.json"), system, sizeof system - 1);
    return path;
}

static void sidecars_are_honoured(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(1, 0);
    tess_autoreject_epochs *epochs = NULL;
    tess_autoreject_epochs_config config;
    const char *path =
        make_tree("onset\tduration\ttrial_type\n0.5\t0\tgo\n1.0\tn/a\tn/a\nn/a\t0\tgo\n"
                  "1.5\t0\tgo\n");
    tess_autoreject_epochs_config_init(&config, sizeof config);
    config.tmin = -0.1;
    config.tmax = 0.1;
    config.event = "go";
    config.keep_annotated = 1;
    assert_ok(tess_autoreject_epochs_open(ctx, path, &config, &epochs));
    const tess_autoreject_epochs_info *info = tess_autoreject_epochs_get_info(epochs);
    const tess_autoreject_channel *channels = info->sensors->channels;
    assert_int_equal(info->n_epoch, 2);
    assert_int_equal(info->events[0], 64);
    assert_int_equal(info->events[3], 192);
    assert_int_equal(channels[0].is_bad, 0);
    assert_int_equal(channels[1].is_bad, 1);
    assert_int_equal(channels[2].type, TESS_AUTOREJECT_EOG);
    assert_true(fabs(channels[0].loc[1] - 0.085) < 1e-12);
    assert_contains(info->notes, "1 types and 1 bad channels taken");
    assert_contains(info->notes, "rows of channels that the recording has not: Other");
    assert_contains(info->notes, "3 events taken instead");
    assert_contains(info->notes, "sub-01_electrodes.tsv: positions taken");
    tess_autoreject_epochs_close(epochs);
    tess_context_destroy(ctx);
}

// A table's type that says nothing leaves a channel in the fit; a cut recording has lost events.
static void what_is_lost_is_told(void **state)
{
    (void)state;
    static const char channels[] = "name\ttype\nFp1\tEGG\nCz\tEEG\nOz\tMISC\n";
    tess_context *ctx = unit_context(1, 0);
    tess_autoreject_epochs *epochs = NULL;
    tess_autoreject_epochs_config config;
    const char *path = make_tree("onset\tduration\ttrial_type\n-1\t0\tgo\n0.5\t0\tgo\n"
                                 "1.5\t0\tgo\n900\t0\tgo\n901\t0\tstop\n");
    unit_write_file(unit_path("sub-01_task-rest_run-2_channels.tsv"), channels,
                    sizeof channels - 1);
    tess_autoreject_epochs_config_init(&config, sizeof config);
    config.tmin = -0.1;
    config.tmax = 0.1;
    config.event = "go";
    config.keep_annotated = 1;
    assert_ok(tess_autoreject_epochs_open(ctx, path, &config, &epochs));
    const tess_autoreject_epochs_info *info = tess_autoreject_epochs_get_info(epochs);
    assert_int_equal(info->n_epoch, 2);
    assert_contains(info->notes, "types that are not known, of channels that are taken as the file "
                                 "has them: Fp1 [autoreject.table]");
    assert_contains(info->notes, "3 annotations give no epoch: they lie outside of the recording");
    assert_null(strstr(info->notes, "touch annotations"));
    tess_autoreject_epochs_close(epochs);
    config.tmin = 0;
    path = make_tree("onset\tduration\ttrial_type\n0.5\t0\tgo\n1.5\t0\tgo\n");
    assert_ok(tess_autoreject_epochs_open(ctx, path, &config, &epochs));
    info = tess_autoreject_epochs_get_info(epochs);
    assert_null(strstr(info->notes, "give no epoch"));
    assert_null(strstr(info->notes, "not known"));
    tess_autoreject_epochs_close(epochs);
    tess_context_destroy(ctx);
}

// Opens a tree's recording with a channels.tsv; the caller closes it.
static const char *notes_with(tess_context *ctx, const char *table,
                              const tess_autoreject_epochs_config *config,
                              tess_autoreject_epochs **epochs)
{
    const char *path = unit_path("sub-01_task-rest_run-2_eeg.edf");
    unit_write_file(unit_path("sub-01_task-rest_run-2_channels.tsv"), table, strlen(table));
    assert_ok(tess_autoreject_epochs_open(ctx, path, config, epochs));
    return tess_autoreject_epochs_get_info(*epochs)->notes;
}

static int n_found(const char *text, const char *word)
{
    int n = 0;
    for (const char *at = strstr(text, word); at; at = strstr(at + 1, word)) {
        n++;
    }
    return n;
}

// A table's gaps are told once for a channel, and only where nobody else fills them.
static void gaps_of_tables_are_told_where_they_matter(void **state)
{
    (void)state;
    static const char table[] = "name\ttype\tstatus\nFp1\tEGG\tgood\nFp1\tEGG\tn/a\n"
                                "Cz\tEEG\tbadd\nCz\tEEG\tbadd\nOther\tEEG\tgood\n";
    tess_context *ctx = unit_context(1, 0);
    tess_autoreject_epochs *epochs = NULL;
    tess_autoreject_epochs_config config;
    size_t n = 0;
    char *bytes = unit_read_file(make_tree("onset\tduration\ttrial_type\n0.5\t0\tgo\n"), &n);
    tess_autoreject_epochs_config_init(&config, sizeof config);
    config.window = 0.2;
    config.keep_annotated = 1;
    const char *notes = notes_with(ctx, table, &config, &epochs);
    assert_contains(notes, "of channels that are taken as the file has them: Fp1 [");
    assert_contains(notes, "status is none of good, bad and n/a, of channels that are marked as "
                           "the file has them: Cz [autoreject.table]");
    assert_contains(notes, "which are taken as the file has them: Oz");
    assert_int_equal(n_found(notes, "[autoreject.table]"), 4);
    assert_contains(notes, "1 events taken as annotations, no epoch is cut around them");
    tess_autoreject_epochs_close(epochs);
    config.types = "eeg=Fp1;misc=Oz";
    config.bads = "Cz";
    notes = notes_with(ctx, table, &config, &epochs);
    assert_int_equal(n_found(notes, "[autoreject.table]"), 1); // of Other
    tess_autoreject_epochs_close(epochs);
    // What is left out of a fit anyway, and electrodes that are in it.
    config.types = NULL;
    config.bads = "Oz";
    memcpy(bytes + 256, "SEEG A1         ", 16);
    unit_write_file(unit_path("sub-01_task-rest_run-2_eeg.edf"), bytes, n);
    free(bytes);
    notes = notes_with(ctx, "name\ttype\tstatus\nCz\tEGG\tbad\n", &config, &epochs);
    assert_int_equal(n_found(notes, "[autoreject.table]"), 1);
    assert_contains(notes, "which are taken as the file has them: A1 [");
    tess_autoreject_epochs_close(epochs);
    tess_context_destroy(ctx);
}

// All that BIDS has but what the other tests hold.
static void types_of_bids_are_known(void **state)
{
    (void)state;
    static const char *const words[] = {"PD",
                                        "MEGOTHER",
                                        "MEGREFGRADPLANAR",
                                        "NIRSCWAMPLITUDE",
                                        "NIRSCWFLUORESCENSEAMPLITUDE",
                                        "NIRSCWOPTICALDENSITY",
                                        "NIRSCWHBO",
                                        "NIRSCWHBR",
                                        "NIRSCWMU",
                                        "LATENCY",
                                        "ORNT",
                                        "GYRO",
                                        "MAGN",
                                        "JNTANG",
                                        "ACCEL",
                                        "ANGACCEL",
                                        "POS",
                                        "VEL",
                                        "temperature",
                                        "chpi",
                                        "syst",
                                        "ias",
                                        "exci"};
    tess_context *ctx = unit_context(1, 0);
    tess_autoreject_epochs_config config;
    make_tree("onset\tduration\ttrial_type\n0.5\t0\tgo\n");
    tess_autoreject_epochs_config_init(&config, sizeof config);
    config.window = 0.2;
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        char table[128];
        tess_autoreject_epochs *epochs = NULL;
        snprintf(table, sizeof table, "name\ttype\nFp1\t%s\nCz\tEEG\nOz\tEEG\n", words[i]);
        const char *notes = notes_with(ctx, table, &config, &epochs);
        assert_null(strstr(notes, "not known"));
        assert_contains(notes, "1 types and 0 bad channels taken");
        tess_autoreject_epochs_close(epochs);
    }
    tess_context_destroy(ctx);
}

static void wrong_sidecars_are_explained(void **state)
{
    (void)state;
    static const struct {
        const char *events, *part;
    } cases[] = {
        {"", "is empty; expected a table with a column 'onset'"},
        {"time\tduration\n", "line 1: there is no column 'onset'; columns are parted by tabs"},
        {"onset\tduration\n1\t0\nx\t0\n", "line 3: onset or duration is not a number"},
    };
    tess_context *ctx = unit_context(1, 0);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        tess_autoreject_epochs *epochs = NULL;
        const char *path = make_tree(cases[i].events);
        assert_fails(tess_autoreject_epochs_open(ctx, path, NULL, &epochs), TESS_E_FORMAT,
                     cases[i].part);
        assert_null(epochs);
    }
    tess_context_destroy(ctx);
}

// Every format through the front door.
static void every_format_is_recognised(void **state)
{
    (void)state;
    static const char *const files[][2] = {{"plus.edf", "edf"},
                                           {"bio.bdf", "bdf"},
                                           {"int16.vhdr", "brainvision"},
                                           {"tiny_cont.set", "eeglab"},
                                           {"tiny_epochs.set", "eeglab"}};
    tess_context *ctx = unit_context(1, 0);
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        char path[512];
        tess_autoreject_epochs *epochs = NULL;
        tess_autoreject_epochs_config config;
        tess_autoreject_epochs_config_init(&config, sizeof config);
        config.window = 0.1;
        config.keep_annotated = 1;
        config.montage = i < 2 ? "1005" : NULL;
        config.types = i == 1 ? "misc=EXG1" : NULL;
        snprintf(path, sizeof path, FORMATS "%s", files[i][0]);
        assert_ok(tess_autoreject_epochs_open(ctx, path, &config, &epochs));
        const tess_autoreject_epochs_info *info = tess_autoreject_epochs_get_info(epochs);
        assert_string_equal(info->format, files[i][1]);
        assert_true(info->n_epoch >= 2);
        const size_t n = (size_t)(info->n_epoch * info->sensors->n_chan * info->n_time);
        double *x = malloc(n * sizeof *x);
        assert_ok(tess_autoreject_epochs_read(ctx, epochs, 0, info->n_epoch, NULL, 0, x));
        free(x);
        tess_autoreject_epochs_close(epochs);
    }
    tess_context_destroy(ctx);
}

// A coordsystem.json that finds no memory is no damaged one: the size of these heads tells another
// unit than it does.
static void lack_of_memory_decides_no_unit(void **state)
{
    (void)state;
    static const char electrodes[] = "name\tx\ty\tz\nFp1\t-3\t8.5\t0\nCz\t0\t0\t9\n";
    unit_allocator allocator;
    tess_context_config config;
    tess_context *ctx = NULL;
    const char *path = make_tree("onset\tduration\n0.5\t0\n");
    unit_write_file(unit_path("sub-01_electrodes.tsv"), electrodes, sizeof electrodes - 1);
    unit_allocator_init(&allocator, 0);
    tess_context_config_init(&config, sizeof config);
    config.allocator = &allocator.table;
    config.n_thread = 1;
    assert_ok(tess_context_create(&config, &ctx));
    int n_opened = 0;
    for (int fail_at = 1; n_opened == 0 || allocator.n_alloc >= fail_at - 1; fail_at++) {
        tess_autoreject_epochs *epochs = NULL;
        allocator.n_alloc = 0;
        allocator.fail_at = fail_at;
        const tess_status status = tess_autoreject_epochs_open(ctx, path, NULL, &epochs);
        allocator.fail_at = 0;
        assert_true(status == TESS_OK || status == TESS_E_MEMORY);
        if (status == TESS_OK) {
            const tess_autoreject_epochs_info *info = tess_autoreject_epochs_get_info(epochs);
            assert_true(fabs(info->sensors->channels[0].loc[1] - 0.0085) < 1e-12);
            n_opened++;
        }
        tess_autoreject_epochs_close(epochs);
        assert_true(fail_at < 100000);
    }
    tess_context_destroy(ctx);
    assert_int_equal(allocator.n_live, 0);
}

// Memory that runs out anywhere is an error that gives everything back.
static void lack_of_memory_is_survived(void **state)
{
    (void)state;
    static const char *const files[] = {FORMATS "plus.edf", FORMATS "int16.vhdr",
                                        FORMATS "tiny_cont.set", FORMATS "tiny_epochs.set",
                                        TESS_GOLDEN "/autoreject/ar05_global_48x12x40.npz"};
    unit_allocator allocator;
    tess_context_config config;
    tess_context *ctx = NULL;
    unit_allocator_init(&allocator, 0);
    tess_context_config_init(&config, sizeof config);
    config.allocator = &allocator.table;
    config.n_thread = 1;
    assert_ok(tess_context_create(&config, &ctx));
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        int n_failed = 0;
        for (tess_status status = TESS_E_MEMORY; status != TESS_OK; n_failed++) {
            tess_autoreject_epochs *epochs = NULL;
            tess_autoreject_epochs_config how;
            tess_autoreject_epochs_config_init(&how, sizeof how);
            how.window = 0.1;
            how.montage = i == 0 ? "1005" : NULL;
            const long long before = allocator.n_live;
            allocator.n_alloc = 0;
            allocator.fail_at = n_failed + 1;
            status = tess_autoreject_epochs_open(ctx, files[i], &how, &epochs);
            allocator.fail_at = 0;
            assert_true(status == TESS_OK || status == TESS_E_MEMORY);
            // A note that finds no memory is lost, and nothing else.
            if (status == TESS_OK && allocator.n_alloc > n_failed) {
                status = TESS_E_MEMORY;
            }
            tess_autoreject_epochs_close(epochs);
            assert_int_equal(allocator.n_live, before);
            assert_true(n_failed < 100000);
        }
        assert_true(n_failed > 10);
    }
    tess_context_destroy(ctx);
    assert_int_equal(allocator.n_live, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sidecars_are_honoured),
        cmocka_unit_test(what_is_lost_is_told),
        cmocka_unit_test(gaps_of_tables_are_told_where_they_matter),
        cmocka_unit_test(types_of_bids_are_known),
        cmocka_unit_test(wrong_sidecars_are_explained),
        cmocka_unit_test(every_format_is_recognised),
        cmocka_unit_test(lack_of_memory_decides_no_unit),
        cmocka_unit_test(lack_of_memory_is_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
