// The folder of a study's results: whose it is, and the files that describe it.
#include "base/file.h"
#include "base/infile.h"
#include "base/json.h"
#include "base/json_read.h"
#include "base/status.h"
#include "runtime/origin.h"
#include "systems/autoreject/study/study.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char DESCRIPTION[] = "dataset_description.json";
static const char MAKER[] = "tessera autoreject study";

// But for what a run that was killed as it began had under way.
static bool is_empty(const char *path)
{
    DIR *dir = opendir(path);
    bool is_free = true;
    for (struct dirent *entry; dir && is_free && (entry = readdir(dir));) {
        is_free = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
                  strcmp(entry->d_name, ".tessera") == 0 || strstr(entry->d_name, ".tmp.") != NULL;
    }
    if (dir) {
        closedir(dir);
    }
    return is_free;
}

// Whether a description says that a study of ours made the folder.
static bool is_ours(tess_autoreject_study *s, const char *path)
{
    enum { MOST = 1 << 20 };
    tess_infile file;
    tess_blocks memory;
    const tess_json_value *root = NULL;
    bool is_own = false;
    tess_blocks_init(&memory, &s->ctx->heap);
    if (tess_infile_open(path, &file) == TESS_OK) {
        const size_t n = file.bytes < MOST ? (size_t)file.bytes : 0;
        char *text = tess_blocks_alloc(&memory, (int64_t)n + 1, 1, "a description");
        if (text && tess_infile_read(&file, text, n, 0) == TESS_OK &&
            tess_json_parse(&memory, path, text, n, &root) == TESS_OK) {
            const tess_json_value *makers = tess_json_find(root, "GeneratedBy");
            for (const tess_json_value *v = makers ? makers->first : NULL; v; v = v->next) {
                const tess_json_value *name = tess_json_find(v, "Name");
                is_own = is_own ||
                         (name && name->kind == TESS_JSON_TEXT && strcmp(name->text, MAKER) == 0);
            }
        }
        tess_infile_close(&file);
    }
    tess_blocks_free(&memory);
    tess_error_clear();
    return is_own;
}

tess_status tess_ar_study_check_output(tess_autoreject_study *s)
{
    struct stat there;
    struct stat root;
    char path[TESS_AR_STUDY_PATH];
    if (stat(s->output, &there) != 0) {
        return TESS_OK;
    }
    if (!S_ISDIR(there.st_mode)) {
        TESS_FAIL(TESS_E_EXISTS, "%s: is a file; give a folder for the derivatives", s->output);
    }
    if (stat(s->root, &root) == 0 && root.st_ino == there.st_ino && root.st_dev == there.st_dev) {
        TESS_FAIL(TESS_E_ARGUMENT,
                  "output: %s is the tree itself; give a folder of its own, such as "
                  "%s/derivatives/tessera",
                  s->output, s->output);
    }
    if (is_empty(s->output)) {
        return TESS_OK;
    }
    TESS_TRY(tess_ar_study_root_path(s, DESCRIPTION, path));
    if (!is_ours(s, path)) {
        TESS_FAIL(TESS_E_EXISTS,
                  "%s: holds other things than the derivatives of a study; give an empty folder",
                  s->output);
    }
    if (!s->config.resume && !s->config.overwrite) {
        TESS_FAIL(TESS_E_EXISTS,
                  "%s: holds a study; resume it (what is finished is kept) or overwrite it",
                  s->output);
    }
    return TESS_OK;
}

static tess_status write_json(const char *path, tess_json *json)
{
    const char *text = NULL;
    tess_status status = tess_json_finish(json, &text);
    if (status == TESS_OK) {
        status = tess_file_write_text(path, text, 1);
    }
    tess_json_destroy(json);
    return status;
}

// A path from one folder that is there to another: "../../bids".
static tess_status relative_path(const char *from, const char *to, char out[TESS_AR_STUDY_PATH])
{
    char *a = realpath(from, NULL);
    char *b = realpath(to, NULL);
    size_t same = 0; // bytes of the folders both are in, with the last slash
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; a && b && (i == 0 || (a[i - 1] && a[i - 1] == b[i - 1])); i++) {
        const bool ends_a = a[i] == '\0' || a[i] == '/';
        const bool ends_b = b[i] == '\0' || b[i] == '/';
        same = ends_a && ends_b ? i + 1 : same;
    }
    bool fits = a && b;
    for (const char *at = fits && strlen(a) >= same ? a + same : ""; fits && *at;) {
        fits = used + 4 < TESS_AR_STUDY_PATH;
        used += fits ? (size_t)snprintf(out + used, 4, "../") : 0;
        at += strcspn(at, "/");
        at += *at == '/';
    }
    if (fits) {
        const char *rest = strlen(b) >= same ? b + same : "";
        const size_t room = TESS_AR_STUDY_PATH - used;
        fits = snprintf(out + used, room, "%s", rest) < (int)room;
        const size_t n = strlen(out);
        if (n > 0 && out[n - 1] == '/') {
            out[n - 1] = '\0';
        }
    }
    free(a);
    free(b);
    return fits ? TESS_OK
                : tess_error_set(TESS_E_CREATE, "%.200s: cannot tell how to get to %.200s", from,
                                 to);
}

// What "bids:raw:" in the records' Sources stands for.
static tess_status put_links(const tess_autoreject_study *s, tess_json *json)
{
    char raw[TESS_AR_STUDY_PATH];
    TESS_TRY(relative_path(s->output, s->root, raw));
    tess_json_object_begin(json, "DatasetLinks");
    tess_json_text(json, "raw", raw[0] ? raw : ".");
    tess_json_object_end(json);
    return TESS_OK;
}

static void column(tess_json *json, const char *name, const char *text)
{
    tess_json_object_begin(json, name);
    tess_json_text(json, "Description", text);
    tess_json_object_end(json);
}

static void origin(tess_json *json)
{
    tess_json_object_begin(json, TESS_ORIGIN_NAME);
    tess_origin_head(json, "autoreject.study", NULL);
    tess_json_object_end(json);
}

// Columns of every reject log, by the inheritance principle.
static tess_status describe_logs(const tess_autoreject_study *s)
{
    char path[TESS_AR_STUDY_PATH];
    tess_json *json = NULL;
    TESS_TRY(tess_ar_study_root_path(s, "desc-autoreject_log.json", path));
    TESS_TRY(tess_json_create_on(&s->ctx->heap, 2, &json));
    tess_json_object_begin(json, NULL);
    column(json, "epoch", "number of the epoch among those the fit saw, from 0");
    column(json, "sample", "sample of its event in the recording");
    column(json, "trial_type", "name of its event");
    column(json, "bad", "1: the epoch is left out of the repaired epochs by autoreject");
    column(json, "n_bad", "channels that are bad in it, repaired or not");
    column(json, "n_repaired", "of them repaired");
    tess_json_object_begin(json, "(channels)");
    tess_json_text(json, "Description", "a column for each channel");
    tess_json_object_begin(json, "Levels");
    tess_json_text(json, "0", "good");
    tess_json_text(json, "1", "bad");
    tess_json_text(json, "2", "bad and interpolated");
    tess_json_text(json, "n/a", "not considered");
    tess_json_object_end(json);
    tess_json_object_end(json);
    origin(json);
    tess_json_object_end(json);
    return write_json(path, json);
}

tess_status tess_ar_study_describe(const tess_autoreject_study *s)
{
    char path[TESS_AR_STUDY_PATH];
    tess_json *json = NULL;
    TESS_TRY(tess_ar_study_root_path(s, DESCRIPTION, path));
    TESS_TRY(tess_json_create_on(&s->ctx->heap, 2, &json));
    tess_json_object_begin(json, NULL);
    tess_json_text(json, "Name", "Epochs repaired by autoreject");
    tess_json_text(json, "BIDSVersion", "1.9.0");
    tess_json_text(json, "DatasetType", "derivative");
    tess_json_array_begin(json, "GeneratedBy");
    tess_json_object_begin(json, NULL);
    tess_json_text(json, "Name", MAKER);
    tess_json_text(json, "Version", TESS_VERSION);
    tess_json_text(json, "Description",
                   "peak-to-peak thresholds by cross-validation, bad channels of single epochs "
                   "interpolated, bad epochs left out");
    tess_json_object_end(json);
    tess_json_array_end(json);
    const tess_status status = put_links(s, json);
    if (status != TESS_OK) {
        tess_json_destroy(json);
        return status;
    }
    tess_json_text(json, "HowToAcknowledge",
                   "Jas et al., Autoreject: Automated artifact rejection for MEG and EEG data, "
                   "NeuroImage 159 (2017) 417-429");
    origin(json);
    tess_json_object_end(json);
    TESS_TRY(write_json(path, json));
    return describe_logs(s);
}
