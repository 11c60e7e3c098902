// The recordings of the group: those of this run, and those of the tree that earlier runs of the
// same study finished in the folder, so that a run of some subjects tells of all.
#include "systems/autoreject/study/cohort.h"

#include "base/status.h"

#include <string.h>
#include <unistd.h>

static tess_ar_study_item *find(const tess_autoreject_study *s,
                                const tess_autoreject_study_recording *r)
{
    for (int64_t i = 0; i < s->n; i++) {
        if (strcmp(s->recordings[i].folder, r->folder) == 0 &&
            strcmp(s->recordings[i].name, r->name) == 0) {
            return &s->items[i];
        }
    }
    return NULL;
}

// Whether an item that is not of this run is done, as this run would have.
static bool take_done(tess_autoreject_study *s, tess_autoreject_study *all,
                      tess_ar_study_item *item)
{
    char path[TESS_AR_STUDY_PATH];
    if (tess_ar_study_path(s, item, "epo.json", path) != TESS_OK || access(path, F_OK) != 0) {
        tess_error_clear();
        return false;
    }
    if (tess_ar_record_read(&all->memory, path, &item->record) != TESS_OK) {
        tess_ar_study_note(s, "%s: left out of the group: %s", item->info->name, tess_last_error());
        tess_error_clear();
        return false;
    }
    if (strcmp(item->record.settings, s->settings) != 0) {
        tess_ar_study_note(s,
                           "%s: left out of the group: it was made with other settings or another "
                           "version",
                           item->info->name);
        return false;
    }
    tess_ar_study_tell_record(all, item);
    item->info->state = TESS_AUTOREJECT_STUDY_KEPT;
    return true;
}

static tess_status scan_all(tess_autoreject_study *all)
{
    all->config.subjects = NULL;
    all->config.sessions = NULL;
    all->config.tasks = NULL;
    all->config.acquisitions = NULL;
    all->config.runs = NULL;
    all->config.datatypes = NULL;
    all->recordings = NULL;
    all->items = NULL;
    all->n = 0;
    all->capacity = 0;
    return tess_ar_study_scan(all);
}

tess_status tess_ar_study_whole(tess_autoreject_study *s, tess_autoreject_study *all)
{
    *all = *s;
    tess_blocks_init(&all->memory, &s->ctx->heap);
    tess_text_init(&all->notes, &s->ctx->heap); // what the scan notes was noted before
    if (!s->config.resume && !s->config.overwrite) {
        return TESS_OK; // the folder was empty
    }
    TESS_TRY(scan_all(all));
    int64_t n = 0;
    int64_t n_own = 0;
    for (int64_t i = 0; i < all->n; i++) {
        const tess_ar_study_item *own = find(s, &all->recordings[i]);
        if (own || take_done(s, all, &all->items[i])) {
            all->items[n++] = own ? *own : all->items[i];
            n_own += own != NULL;
        }
    }
    // What this run asked for by name and a scan of all leaves out is told alone.
    if (n_own < s->n) {
        all->recordings = s->recordings;
        all->items = s->items;
        all->n = s->n;
        return TESS_OK;
    }
    tess_autoreject_study_recording *kept =
        tess_blocks_alloc(&all->memory, n, sizeof *kept, "list of recordings");
    if (!kept) {
        return TESS_E_MEMORY;
    }
    for (int64_t i = 0; i < n; i++) {
        kept[i] = *all->items[i].info;
        all->items[i].info = &kept[i];
    }
    all->recordings = kept;
    all->n = n;
    return TESS_OK;
}

void tess_ar_study_whole_free(tess_autoreject_study *all)
{
    tess_text_destroy(&all->notes);
    tess_blocks_free(&all->memory);
}
