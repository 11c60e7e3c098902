#include "systems/autoreject/study/study.h"

#include "base/file.h"
#include "base/status.h"
#include "runtime/comm.h"
#include "runtime/work_folder.h"
#include "systems/autoreject/montage/montage.h"
#include "systems/autoreject/study/cohort.h"

#include <string.h>
#include <unistd.h>

void tess_ar_study_tell(tess_autoreject_study *s)
{
    int64_t *const counts[] = {&s->info.n_todo, &s->info.n_done, &s->info.n_kept,
                               &s->info.n_failed};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        *counts[i] = 0;
    }
    for (int64_t i = 0; i < s->n; i++) {
        ++*counts[s->recordings[i].state];
    }
    s->info.struct_size = sizeof s->info;
    s->info.n_recording = s->n;
    s->info.recordings = s->recordings;
    s->info.notes = s->notes.chars ? s->notes.chars : "";
}

// Without the slashes at its end.
static char *folder_text(tess_autoreject_study *s, const char *path)
{
    char *text = tess_ar_study_text(s, path);
    for (size_t n = text ? strlen(text) : 0; n > 1 && text[n - 1] == '/'; n--) {
        text[n - 1] = '\0';
    }
    return text;
}

// A montage that cannot be read fails once, not with every recording.
static tess_status check_montage(tess_autoreject_study *s)
{
    if (!s->epochs.montage || strcmp(s->epochs.montage, "1005") == 0) {
        return TESS_OK;
    }
    tess_ar_montage montage;
    TESS_TRY(tess_ar_montage_open(s->ctx, s->epochs.montage, &montage));
    tess_ar_montage_close(&montage);
    return TESS_OK;
}

static tess_status prepare(tess_autoreject_study *s, const char *bids_dir, const char *output,
                           const tess_autoreject_study_config *config)
{
    if (!bids_dir || !bids_dir[0] || !output || !output[0]) {
        TESS_FAIL(TESS_E_ARGUMENT, "%s: give a folder",
                  !bids_dir || !bids_dir[0] ? "bids_dir" : "output");
    }
    s->root = folder_text(s, bids_dir);
    s->output = folder_text(s, output);
    if (!s->root || !s->output) {
        return TESS_E_MEMORY;
    }
    TESS_TRY(tess_ar_study_configure(s, config));
    TESS_TRY(check_montage(s));
    TESS_TRY(tess_ar_study_scan(s));
    TESS_TRY(tess_ar_study_check_baseline(s));
    TESS_TRY(tess_ar_study_check_output(s));
    TESS_TRY(tess_ar_study_identify(s));
    TESS_TRY(tess_ar_study_plan(s));
    tess_ar_study_tell(s);
    return s->notes.no_memory ? tess_error_set(TESS_E_MEMORY, "notes: out of memory") : TESS_OK;
}

tess_status tess_autoreject_study_open(tess_context *ctx, const char *bids_dir, const char *output,
                                       const tess_autoreject_study_config *config,
                                       tess_autoreject_study **out)
{
    tess_error_clear();
    *out = NULL;
    tess_autoreject_study *s =
        tess_heap_alloc_zero(&ctx->heap, sizeof *s, TESS_TAG_RESULT, "a study");
    if (!s) {
        return TESS_E_MEMORY;
    }
    s->ctx = ctx;
    tess_blocks_init(&s->memory, &ctx->heap);
    tess_text_init(&s->notes, &ctx->heap);
    const tess_status status = prepare(s, bids_dir, output, config);
    if (status != TESS_OK) {
        tess_autoreject_study_close(s);
        return status;
    }
    *out = s;
    return TESS_OK;
}

void tess_autoreject_study_close(tess_autoreject_study *s)
{
    if (s) {
        tess_text_destroy(&s->notes);
        tess_blocks_free(&s->memory);
        tess_heap_free(&s->ctx->heap, s, sizeof *s, TESS_TAG_RESULT);
    }
}

const tess_autoreject_study_info *tess_autoreject_study_get_info(const tess_autoreject_study *s)
{
    return &s->info;
}

static bool is_todo(const tess_autoreject_study *s, const tess_ar_study_item *item)
{
    (void)s;
    return item->info->state == TESS_AUTOREJECT_STUDY_TODO;
}

static tess_status run(tess_autoreject_study *s)
{
    const tess_ar_study_work work = {.stage = "autoreject.study",
                                     .n_at_a_time = s->info.n_at_a_time,
                                     .wanted = is_todo,
                                     .fn = tess_ar_study_do};
    const tess_status status = tess_ar_study_each(s, &work);
    tess_ar_study_tell(s);
    TESS_TRY(status);
    TESS_TRY(tess_ar_study_group(s));
    tess_ar_study_tell(s); // of whom the group has no place for
    return TESS_OK;
}

// The folder is locked and described by rank 0, for all. *lock: -1 on the others.
static tess_status take_folder(const tess_autoreject_study *s, const char *folder, int *lock)
{
    *lock = -1;
    if (!tess_comm_is_first(s->ctx)) {
        return TESS_OK;
    }
    TESS_TRY(tess_file_make_folders(s->output));
    TESS_TRY(tess_work_folder_lock(folder, lock));
    return tess_ar_study_describe(s);
}

static void release_folder(const char *folder, int lock)
{
    char message[TESS_MESSAGE_BYTES];
    tess_error_copy_out(message);
    if (lock >= 0) {
        tess_work_folder_remove(folder);
        close(lock);
    }
    tess_error_copy_in(message);
}

tess_status tess_autoreject_study_run(tess_autoreject_study *s)
{
    tess_error_clear();
    char folder[TESS_AR_STUDY_PATH];
    int lock = -1;
    TESS_TRY(tess_ar_study_root_path(s, ".tessera", folder));
    tess_status status = tess_comm_agree(s->ctx, (tess_comm_point){"the folder of a study", 0},
                                         take_folder(s, folder, &lock));
    if (status == TESS_OK) {
        status = tess_comm_agree(s->ctx, (tess_comm_point){"the end of a study", 0}, run(s));
    }
    release_folder(folder, lock);
    return status;
}
