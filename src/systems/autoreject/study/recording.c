// One recording, from its file to its results.
//
// The record is written when everything else is on the disk: where it is, the recording is done.
// Before, an earlier one of other settings or inputs is removed, so that no record ever speaks of
// files that were being written; one of the same stays: they have the same bytes.
#include "systems/autoreject/files/recording.h"
#include "base/file.h"
#include "base/status.h"
#include "systems/autoreject/result/model.h"
#include "systems/autoreject/study/study.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef struct job {
    tess_context *ctx;
    tess_autoreject_study *study;
    tess_ar_study_item *item;
    tess_autoreject_epochs *epochs;
    int64_t *picks;
    int64_t n_pick;
    tess_autoreject_model *model;
    tess_autoreject_log *log;
    int64_t n_kept;
    char path[TESS_AR_STUDY_PATH]; // of the file at hand
} job;

static tess_status fit(job *j)
{
    tess_autoreject_fit_config config = j->study->fit;
    char folder[TESS_AR_STUDY_PATH];
    config.picks = j->picks;
    config.n_pick = j->n_pick;
    // What another study left there goes.
    config.resume = config.checkpoint_dir && j->study->config.resume ? 2 : 0;
    config.keep_finished = 0;
    if (config.checkpoint_dir) {
        if (snprintf(folder, sizeof folder, "%s/%s", config.checkpoint_dir, j->item->info->name) >=
            (int)sizeof folder) {
            TESS_FAIL(TESS_E_CREATE, "%.200s...: the path is too long", folder);
        }
        TESS_TRY(tess_file_make_folders(config.checkpoint_dir));
        config.checkpoint_dir = folder;
    }
    TESS_TRY(tess_autoreject_fit(j->ctx, j->epochs, &config, &j->model));
    // How long it took would make two runs of the same study differ.
    memset(j->model->info.seconds, 0, sizeof j->model->info.seconds);
    return TESS_OK;
}

static tess_status begin_file(job *j, const char *what)
{
    return tess_ar_study_path(j->study, j->item, what, j->path);
}

static bool is_record_true(const job *j)
{
    tess_blocks memory;
    tess_ar_record found;
    tess_blocks_init(&memory, &j->ctx->heap);
    const bool is_true = tess_ar_record_read(&memory, j->path, &found) == TESS_OK &&
                         strcmp(found.settings, j->study->settings) == 0 &&
                         strcmp(found.inputs, j->item->inputs) == 0;
    tess_error_clear();
    tess_blocks_free(&memory);
    return is_true;
}

static tess_status make_folder(job *j)
{
    TESS_TRY(begin_file(j, "epo.json"));
    char *slash = strrchr(j->path, '/');
    *slash = '\0';
    TESS_TRY(tess_file_make_folders(j->path));
    *slash = '/';
    if (!is_record_true(j)) {
        unlink(j->path);
    }
    return TESS_OK;
}

// Whether a transform keeps an epoch.
static bool is_kept(const job *j, int64_t e)
{
    const tess_autoreject_log_info *log = &j->log->info;
    bool is_bad = log->bad_epochs[e] != 0;
    for (int64_t c = 0; j->study->transform.drop_partial && !is_bad && c < log->n_chan; c++) {
        is_bad = log->labels[e * log->n_chan + c] == 1;
    }
    return !is_bad || j->study->transform.keep_bad;
}

static bool survives(const job *j)
{
    for (int64_t e = 0; e < j->log->info.n_epoch; e++) {
        if (is_kept(j, e)) {
            return true;
        }
    }
    return false;
}

// Events that are called otherwise in the epochs than in the tables.
static tess_status note_names(job *j)
{
    const tess_autoreject_epochs_info *info = tess_autoreject_epochs_get_info(j->epochs);
    const char **names = NULL;
    tess_blocks memory;
    tess_blocks_init(&memory, &j->ctx->heap);
    const tess_status status = tess_ar_fif_event_names(info, &memory, &names);
    char words[TESS_AR_STORED_WORDS];
    if (status == TESS_OK && tess_ar_fif_stored_words(info, names, words)) {
        tess_ar_log_note(j->log, "%s", words);
    }
    tess_blocks_free(&memory);
    return status;
}

static tess_status write_epochs(job *j)
{
    tess_autoreject_transform_config config = j->study->transform;
    config.overwrite = 1;
    config.resume = 0;
    config.checkpoint_dir = NULL;
    TESS_TRY(begin_file(j, "epo.fif"));
    if (!survives(j)) {
        unlink(j->path);
        tess_ar_log_note(j->log, j->study->transform.drop_partial
                                     ? "Every epoch is bad or keeps bad channels: no epochs were "
                                       "written."
                                     : "Every epoch is bad: no epochs were written.");
        return TESS_OK;
    }
    TESS_TRY(tess_autoreject_transform(j->ctx, j->model, j->epochs, j->log, &config, NULL, j->path,
                                       &j->n_kept));
    return note_names(j);
}

static tess_status write_report(job *j)
{
    if (!j->study->config.with_reports) {
        return TESS_OK;
    }
    TESS_TRY(begin_file(j, "report.html"));
    return tess_autoreject_report(j->ctx, j->model, j->log, j->epochs, &j->study->report, NULL,
                                  j->path, 1);
}

static tess_status write_record(job *j)
{
    tess_blocks memory;
    tess_ar_record record = {.n_kept = j->n_kept};
    const char *source = j->item->info->path + strlen(j->study->root) + 1;
    memcpy(record.settings, j->study->settings, sizeof record.settings);
    memcpy(record.inputs, j->item->inputs, sizeof record.inputs);
    tess_blocks_init(&memory, &j->ctx->heap);
    tess_status status = tess_ar_record_make(&memory, j->model, j->log, j->epochs, &record);
    if (status == TESS_OK) {
        status = begin_file(j, "epo.json");
    }
    if (status == TESS_OK) {
        status = tess_ar_record_write(j->ctx, &record, source, j->path);
    }
    tess_blocks_free(&memory);
    // What the group is told is what a later run would read.
    TESS_TRY(status);
    return tess_ar_record_read(&j->study->memory, j->path, &j->item->record);
}

static tess_status run(job *j)
{
    TESS_TRY(
        tess_ar_study_open_epochs(j->ctx, j->study, j->item, &j->epochs, &j->picks, &j->n_pick));
    TESS_TRY(fit(j));
    TESS_TRY(tess_autoreject_log_compute(j->ctx, j->model, j->epochs, &j->log));
    TESS_TRY(make_folder(j));
    TESS_TRY(write_epochs(j));
    TESS_TRY(begin_file(j, "log.tsv"));
    TESS_TRY(tess_ar_log_table_write(j->ctx, j->log, j->epochs, j->path));
    TESS_TRY(begin_file(j, "model.json"));
    TESS_TRY(tess_autoreject_model_save(j->ctx, j->model, j->path, 1));
    TESS_TRY(write_report(j));
    return write_record(j);
}

tess_status tess_ar_study_do(tess_context *ctx, tess_autoreject_study *s, tess_ar_study_item *item)
{
    job j = {.ctx = ctx, .study = s, .item = item};
    const tess_status status = run(&j);
    char message[TESS_MESSAGE_BYTES];
    tess_error_copy_out(message);
    if (j.picks) {
        const int64_t n = tess_autoreject_epochs_get_info(j.epochs)->sensors->n_chan;
        tess_heap_free(&ctx->heap, j.picks, (size_t)n * sizeof *j.picks, TESS_TAG_IO);
    }
    tess_autoreject_log_destroy(j.log);
    tess_autoreject_model_destroy(j.model);
    tess_autoreject_epochs_close(j.epochs);
    tess_error_copy_in(message);
    if (status == TESS_OK) {
        item->info->state = TESS_AUTOREJECT_STUDY_DONE;
        tess_ar_study_tell_record(s, item);
    }
    return status;
}
