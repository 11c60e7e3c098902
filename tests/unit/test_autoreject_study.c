#include "unit.h"

#include "systems/autoreject/bids/names.h"
#include "tessera/autoreject.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { N_CHAN = 12, N_EPOCH = 20, N_TIME = 30 };

static void write_text(const char *name, const char *text)
{
    unit_write_file(unit_path(name), text, strlen(text));
}

static void make_folder(const char *name)
{
    mkdir(unit_path(name), 0777);
}

static void names_are_taken_apart(void **state)
{
    (void)state;
    static const char *const wrong[] = {"sub-_eeg.edf", "sub-01_.edf", "sub-01_task_eeg.edf",
                                        "-01_eeg.edf"};
    tess_ar_bids_name name;
    assert_true(tess_ar_bids_parse("/a/b/sub-01_ses-x_task-rest_eeg.fif.gz", &name));
    assert_int_equal(name.n_entity, 3);
    assert_int_equal(name.n_suffix, 3);
    assert_string_equal(name.extension, ".fif.gz");
    const tess_ar_bids_entity *task = tess_ar_bids_find(&name, "task");
    assert_non_null(task);
    assert_int_equal(task->n_value, 4);
    assert_memory_equal(task->value, "rest", 4);
    assert_null(tess_ar_bids_find(&name, "tas"));
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        assert_false(tess_ar_bids_parse(wrong[i], &name));
    }
}

// The nearest folder, then the most parts, then no space or the usual one.
static void tables_are_inherited(void **state)
{
    (void)state;
    char found[TESS_AR_BIDS_PATH];
    make_folder("tree");
    make_folder("tree/sub-1");
    make_folder("tree/sub-1/eeg");
    const char *path = unit_path("tree/sub-1/eeg/sub-1_task-a_run-2_eeg.edf");
    write_text("tree/sub-1/eeg/sub-1_task-a_run-2_eeg.edf", "x");
    assert_false(tess_ar_bids_sidecar(path, "events", ".tsv", false, found));
    write_text("tree/task-b_events.tsv", "x");
    assert_false(tess_ar_bids_sidecar(path, "events", ".tsv", false, found));
    static const struct {
        const char *added, *found;
    } steps[] = {{"tree/task-a_events.tsv", "tree/task-a_events.tsv"},
                 {"tree/sub-1/sub-1_events.tsv", "tree/sub-1/sub-1_events.tsv"},
                 {"tree/sub-1/sub-1_run-1_events.tsv", "tree/sub-1/sub-1_events.tsv"},
                 {"tree/sub-1/sub-1_run-2_events.tsv", "tree/sub-1/sub-1_run-2_events.tsv"},
                 {"tree/sub-1/eeg/sub-1_events.tsv", "tree/sub-1/eeg/sub-1_events.tsv"},
                 {"tree/sub-1/eeg/sub-1_space-X_events.tsv", "tree/sub-1/eeg/sub-1_events.tsv"}};
    for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
        write_text(steps[i].added, "x");
        assert_true(tess_ar_bids_sidecar(path, "events", ".tsv", false, found));
        assert_string_equal(found, unit_path(steps[i].found));
    }
    write_text("tree/sub-1/eeg/sub-1_space-Other_electrodes.tsv", "x");
    write_text("tree/sub-1/eeg/sub-1_space-CapTrak_electrodes.tsv", "x");
    assert_true(tess_ar_bids_sidecar(path, "electrodes", ".tsv", true, found));
    assert_contains(found, "space-CapTrak");
}

// A BrainVision recording: noise, and a jump in some epochs.
static void write_recording(int subject)
{
    static const char *const names[N_CHAN] = {"Fp1", "Fp2", "F3", "Fz", "F4", "C3",
                                              "Cz",  "C4",  "P3", "Pz", "P4", "Oz"};
    enum { N = (N_EPOCH + 1) * N_TIME };
    static int16_t x[N][N_CHAN];
    char text[4000];
    char name[200];
    uint32_t s = 12345u + (uint32_t)subject;
    for (int t = 0; t < N; t++) {
        for (int c = 0; c < N_CHAN; c++) {
            s = s * 1103515245u + 12345u;
            x[t][c] =
                (int16_t)((s >> 16) % 400 + ((t / N_TIME + c) % 9 == 0 && t % 30 > 20 ? 900 : 0));
        }
    }
    snprintf(name, sizeof name, "bids/sub-%d", subject);
    make_folder(name);
    snprintf(name, sizeof name, "bids/sub-%d/eeg", subject);
    make_folder(name);
    int n = snprintf(text, sizeof text,
                     "Brain Vision Data Exchange Header File Version 1.0\n[Common Infos]\n"
                     "DataFile=sub-%d_task-t_eeg.eeg\nDataFormat=BINARY\n"
                     "DataOrientation=MULTIPLEXED\nNumberOfChannels=%d\nSamplingInterval=10000\n"
                     "[Binary Infos]\nBinaryFormat=INT_16\n[Channel Infos]\n",
                     subject, N_CHAN);
    for (int c = 0; c < N_CHAN; c++) {
        n += snprintf(text + n, sizeof text - (size_t)n, "Ch%d=%s,,0.1,uV\n", c + 1, names[c]);
    }
    snprintf(name, sizeof name, "bids/sub-%d/eeg/sub-%d_task-t_eeg.vhdr", subject, subject);
    write_text(name, text);
    snprintf(name, sizeof name, "bids/sub-%d/eeg/sub-%d_task-t_eeg.eeg", subject, subject);
    unit_write_file(unit_path(name), x, sizeof x);
}

static void a_study_runs_and_resumes(void **state)
{
    (void)state;
    tess_context *ctx = unit_context(2, 0);
    tess_autoreject_study *study = NULL;
    tess_autoreject_study_config config;
    tess_autoreject_epochs_config epochs;
    tess_autoreject_fit_config fit;
    make_folder("bids");
    write_recording(1);
    write_recording(2);
    write_recording(3);
    write_text("bids/sub-3/eeg/sub-3_task-t_eeg.vhdr", "broken");
    tess_autoreject_study_config_init(&config, sizeof config);
    tess_autoreject_epochs_config_init(&epochs, sizeof epochs);
    tess_autoreject_fit_config_init(&fit, sizeof fit);
    epochs.window = 0.3;
    epochs.montage = "1005";
    fit.n_fold = 4;
    config.epochs = &epochs;
    config.fit = &fit;
    const char *root = unit_path("bids");
    const char *out = unit_path("out");
    assert_ok(tess_autoreject_study_open(ctx, root, out, &config, &study));
    const tess_autoreject_study_info *info = tess_autoreject_study_get_info(study);
    assert_int_equal(info->n_recording, 3);
    assert_int_equal(info->n_todo, 2);
    assert_int_equal(info->n_failed, 1);
    assert_int_equal(info->n_at_a_time, 2);
    assert_int_equal(info->recordings[0].n_epoch, N_EPOCH + 1);
    assert_ok(tess_autoreject_study_run(study));
    assert_int_equal(info->n_done, 2);
    assert_int_equal(info->n_failed, 1);
    assert_true(info->recordings[0].bad_channels > 0);
    assert_true(unit_exists(unit_path("out/group_desc-autoreject_report.html")));
    assert_true(unit_exists(unit_path("out/sub-2/eeg/sub-2_task-t_desc-autoreject_epo.fif")));
    assert_false(unit_exists(unit_path("out/.tessera")));
    tess_autoreject_study_close(study);
    assert_fails(tess_autoreject_study_open(ctx, root, out, &config, &study), TESS_E_EXISTS,
                 "holds a study");
    config.resume = 1;
    assert_ok(tess_autoreject_study_open(ctx, root, out, &config, &study));
    assert_int_equal(tess_autoreject_study_get_info(study)->n_kept, 2);
    tess_autoreject_study_close(study);
    fit.seed = 1;
    assert_fails(tess_autoreject_study_open(ctx, root, out, &config, &study), TESS_E_MISMATCH,
                 "other settings");
    config.subjects = "9";
    assert_fails(tess_autoreject_study_open(ctx, root, out, &config, &study), TESS_E_NOT_FOUND,
                 "sub-9");
    tess_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_taken_apart),
        cmocka_unit_test(tables_are_inherited),
        cmocka_unit_test(a_study_runs_and_resumes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
