// What decides a recording's results: the settings of the study, and the recording's files.
#include "base/status.h"
#include "runtime/identity.h"
#include "systems/autoreject/bids/names.h"
#include "systems/autoreject/study/study.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

tess_status tess_ar_study_root_path(const tess_autoreject_study *s, const char *name,
                                    char path[TESS_AR_STUDY_PATH])
{
    if (snprintf(path, TESS_AR_STUDY_PATH, "%s/%s", s->output, name) >= TESS_AR_STUDY_PATH) {
        TESS_FAIL(TESS_E_CREATE, "%.200s...: the path is too long", s->output);
    }
    return TESS_OK;
}

tess_status tess_ar_study_path(const tess_autoreject_study *s, const tess_ar_study_item *item,
                               const char *what, char path[TESS_AR_STUDY_PATH])
{
    if (snprintf(path, TESS_AR_STUDY_PATH, "%s/%s/%s_desc-autoreject_%s", s->output,
                 item->info->folder, item->info->name, what) >= TESS_AR_STUDY_PATH) {
        TESS_FAIL(TESS_E_CREATE, "%.200s...: the path is too long", s->output);
    }
    return TESS_OK;
}

static void add_text(tess_identity *id, const char *name, const char *value)
{
    tess_identity_add(id, name, value ? value : "");
}

tess_status tess_ar_study_identify(tess_autoreject_study *s)
{
    const tess_param_table *const tables[] = {
        tess_autoreject_epochs_params(), tess_autoreject_fit_params(),
        tess_autoreject_transform_params(), tess_autoreject_report_params()};
    const void *const configs[] = {&s->epochs, &s->fit, &s->transform, &s->report};
    const double baseline[3] = {s->epochs.baseline,
                                s->epochs.baseline == 2 ? s->epochs.baseline_start : 0,
                                s->epochs.baseline == 2 ? s->epochs.baseline_end : 0};
    tess_identity id = {0};
    tess_hash grids = {0, 0};
    tess_hash_mix(&grids, baseline, sizeof baseline);
    tess_hash_mix(&grids, s->fit.consensus, (size_t)s->fit.n_consensus * sizeof(double));
    tess_hash_mix(&grids, s->fit.n_interpolate, (size_t)s->fit.n_n_interpolate * sizeof(int64_t));
    tess_hash_mix(&grids, s->fit.eeg_origin, s->fit.eeg_origin ? 3 * sizeof(double) : 0);
    tess_identity_init(&id, s->ctx, "autoreject.study", s->ctx->device->backend->name);
    tess_identity_add_settings(&id, NULL, tables, configs, 4, NULL);
    tess_identity_add_hash(&id, "baseline or grids", grids);
    add_text(&id, "event", s->epochs.event);
    add_text(&id, "stim", s->epochs.stim);
    add_text(&id, "montage", s->epochs.montage);
    add_text(&id, "types", s->epochs.types);
    add_text(&id, "bads", s->epochs.bads);
    add_text(&id, "picks", s->config.picks);
    const bool is_whole = !id.text.no_memory;
    if (is_whole) {
        tess_identity_digest(&id, s->settings);
    }
    tess_identity_free(&id);
    return is_whole ? TESS_OK : tess_error_set(TESS_E_MEMORY, "settings: out of memory");
}

// Sums are the same in whatever order a folder lists its files.
static void add_file(tess_hash *sum, const char *path, const char *name)
{
    struct stat file;
    tess_hash hash = {0, 0};
    if (stat(path, &file) != 0) {
        return;
    }
    const int64_t facts[3] = {file.st_size, file.st_mtim.tv_sec, file.st_mtim.tv_nsec};
    tess_hash_mix(&hash, name, strlen(name));
    tess_hash_mix(&hash, facts, sizeof facts);
    sum->low += hash.low;
    sum->high += hash.high;
}

// The recording's own files, whatever the format spreads it over, and tables named like it.
static void add_folder(tess_hash *sum, const tess_ar_study_item *item)
{
    const char *path = item->info->path;
    const size_t n_folder = (size_t)(strrchr(path, '/') - path);
    const size_t n_name = strlen(item->info->name);
    char folder[TESS_AR_STUDY_PATH];
    snprintf(folder, sizeof folder, "%.*s", (int)n_folder, path);
    DIR *dir = opendir(folder);
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        char file[TESS_AR_STUDY_PATH + 260];
        if (strncmp(entry->d_name, item->info->name, n_name) == 0 && entry->d_name[n_name] == '_') {
            snprintf(file, sizeof file, "%s/%s", folder, entry->d_name);
            add_file(sum, file, entry->d_name);
        }
    }
    if (dir) {
        closedir(dir);
    }
}

tess_status tess_ar_study_identify_inputs(const tess_autoreject_study *s, tess_ar_study_item *item)
{
    static const struct {
        const char *suffix;
        const char *extension;
        bool with_space;
    } tables[] = {{"channels", ".tsv", false},
                  {"events", ".tsv", false},
                  {"electrodes", ".tsv", true},
                  {"coordsystem", ".json", true}};
    tess_hash sum = {0, 0};
    add_folder(&sum, item);
    add_file(&sum, item->info->path, "recording");
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        char path[TESS_AR_BIDS_PATH];
        if (tess_ar_bids_sidecar(item->info->path, tables[i].suffix, tables[i].extension,
                                 tables[i].with_space, path)) {
            add_file(&sum, path, tables[i].suffix);
        }
    }
    if (s->epochs.montage) {
        add_file(&sum, s->epochs.montage, "montage");
    }
    tess_hash_text(sum, item->inputs);
    return TESS_OK;
}
