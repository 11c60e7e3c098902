// Which file, which frames, which angles.
#include "base/status.h"
#include "systems/xpcs/settings/settings.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool is_item_of(const char *path, const char *list, int64_t *index, const char **key)
{
    const size_t n = strlen(list);
    if (strncmp(path, list, n) != 0 || path[n] != '[') {
        return false;
    }
    char *end = NULL;
    *index = strtoll(path + n + 1, &end, 10);
    *key = end[0] == ']' && end[1] == '.' ? end + 2 : "";
    return true;
}

tess_status tess_xp_items(tess_xp_resolution *r, const char *list, const char *key,
                          const tess_xp_value ***out, int64_t *n)
{
    int64_t index = 0;
    const char *found = NULL;
    *n = 0;
    for (int64_t i = 0; i < r->settings->n_value; i++) {
        const tess_xp_value *value = r->settings->values[i];
        if (value->n_shadow == 0 && is_item_of(value->path, list, &index, &found) && index >= *n) {
            *n = index + 1;
        }
    }
    *out = tess_blocks_alloc(&r->memory, *n, sizeof **out, "items of a list");
    if (*out == NULL) {
        return TESS_E_MEMORY;
    }
    for (int64_t i = 0; i < r->settings->n_value; i++) {
        const tess_xp_value *value = r->settings->values[i];
        if (value->n_shadow == 0 && is_item_of(value->path, list, &index, &found) &&
            strcmp(found, key) == 0) {
            (*out)[index] = value;
        }
    }
    return TESS_OK;
}

static const char *join(tess_xp_resolution *r, const char *folder, size_t n, const char *name)
{
    const bool has_slash = n == 0 || folder[n - 1] == '/';
    const size_t bytes = n + strlen(name) + 2;
    char *path = tess_blocks_alloc(&r->memory, (int64_t)bytes, 1, "a path");
    if (path != NULL) {
        snprintf(path, bytes, "%.*s%s%s", (int)n, folder, has_slash ? "" : "/", name);
    }
    return path;
}

// A relative name that is not in the working directory may lie beside the configuration.
static tess_status look_beside(tess_xp_resolution *r)
{
    const char *file = r->settings->path;
    const char *slash = strrchr(file, '/');
    if (slash == NULL || r->info.data_path[0] == '/' || r->info.data_path[0] == '\0' ||
        access(r->info.data_path, F_OK) == 0) {
        return TESS_OK;
    }
    const char *beside = join(r, file, (size_t)(slash - file) + 1, r->info.data_path);
    if (beside == NULL) {
        return TESS_E_MEMORY;
    }
    if (access(beside, F_OK) == 0) {
        tess_text_printf(&r->notices, "%.200s is not there; %.200s beside the configuration is\n",
                         r->info.data_path, beside);
        r->info.data_path = beside;
    }
    return TESS_OK;
}

static tess_status resolve_path(tess_xp_resolution *r)
{
    const tess_xp_value *path = tess_xp_said(r->settings, "experimental_data.file_path");
    const tess_xp_value *folder = tess_xp_said(r->settings, "experimental_data.data_folder_path");
    const tess_xp_value *name = tess_xp_said(r->settings, "experimental_data.data_file_name");
    if (path != NULL) {
        r->info.data_path = path->node->text;
    } else if (name != NULL) {
        const char *where = folder != NULL ? folder->node->text : "";
        r->info.data_path = join(r, where, strlen(where), name->node->text);
        if (r->info.data_path == NULL) {
            return TESS_E_MEMORY;
        }
    } else if (folder != NULL) {
        return tess_xp_complain(r->settings, folder,
                                "the folder alone names no file; add "
                                "experimental_data.data_file_name, or write file_path instead");
    }
    return look_beside(r);
}

static tess_status resolve_cache(tess_xp_resolution *r)
{
    const tess_xp_value *name =
        tess_xp_said(r->settings, "experimental_data.cache_filename_template");
    if (name == NULL) {
        return TESS_OK;
    }
    const char *text = name->node->text;
    if (text[0] == '\0' || strchr(text, '/') != NULL || strstr(text, "..") != NULL) {
        return tess_xp_complain(r->settings, name,
                                "'%.80s' is no name of a file; it must not be empty or contain / "
                                "or .. (the folder is experimental_data.cache_file_path)",
                                text);
    }
    r->info.data.cache_template = text;
    return TESS_OK;
}

static tess_status resolve_frames(tess_xp_resolution *r)
{
    const tess_xp_value *end = tess_xp_said(r->settings, "analyzer_parameters.end_frame");
    const tess_xp_value *bad = tess_xp_said(r->settings, "experimental_data.bad_frames");
    tess_xpcs_data_config *data = &r->info.data;
    if (end != NULL && data->end_frame != -1 && data->end_frame <= data->start_frame) {
        return tess_xp_complain(r->settings, end,
                                "%lld is not behind start_frame %lld; frames count from 1, "
                                "inclusive, and -1 is the last",
                                (long long)data->end_frame, (long long)data->start_frame);
    }
    if (bad != NULL && bad->n_item > 0) {
        int64_t *frames = tess_blocks_alloc(&r->memory, bad->n_item, sizeof *frames, "bad frames");
        if (frames == NULL) {
            return TESS_E_MEMORY;
        }
        for (int64_t i = 0; i < bad->n_item; i++) {
            frames[i] = (int64_t)bad->numbers[i];
        }
        data->bad_frames = frames;
        data->n_bad_frame = bad->n_item;
    }
    return TESS_OK;
}

static tess_status resolve_ranges(tess_xp_resolution *r)
{
    static const char list[] = "phi_filtering.target_ranges";
    const tess_xp_value *enabled = tess_xp_said(r->settings, "phi_filtering.enabled");
    const tess_xp_value **first = NULL;
    const tess_xp_value **last = NULL;
    int64_t n = 0;
    TESS_TRY(tess_xp_items(r, list, "min_angle", &first, &n));
    TESS_TRY(tess_xp_items(r, list, "max_angle", &last, &n));
    tess_xpcs_angle_range *ranges =
        tess_blocks_alloc(&r->memory, n, sizeof *ranges, "ranges of angles");
    if (ranges == NULL) {
        return TESS_E_MEMORY;
    }
    for (int64_t i = 0; i < n; i++) {
        if (first[i] == NULL || last[i] == NULL) {
            const tess_xp_value *there = first[i] != NULL ? first[i] : last[i];
            char here[TESS_XP_PLACE_CHARS];
            TESS_FAIL(TESS_E_CONFIG, "%s%s[%lld] has no %s",
                      there != NULL
                          ? tess_xp_place(r->settings, there->is_set, there->node->place, here)
                          : "",
                      list, (long long)i, first[i] == NULL ? "min_angle" : "max_angle");
        }
        ranges[i] = (tess_xpcs_angle_range){first[i]->number, last[i]->number};
    }
    if (enabled != NULL && enabled->number == 0) {
        return TESS_OK;
    }
    if (enabled == NULL && n > 0) {
        tess_text_printf(&r->notices, "phi_filtering.enabled is missing; the ranges are taken\n");
    } else if (enabled != NULL && n == 0) {
        tess_text_printf(&r->notices,
                         "phi_filtering.enabled without target_ranges: all angles are taken\n");
    }
    r->info.data.phi_ranges = n > 0 ? ranges : NULL;
    r->info.data.n_phi_range = n;
    return TESS_OK;
}

static double end_of(const tess_xp_resolution *r, const char *path)
{
    const tess_xp_value *end = tess_xp_said(r->settings, path);
    return end != NULL ? end->number : (double)NAN;
}

static bool is_on(const tess_xp_resolution *r, const char *path)
{
    const tess_xp_value *value = tess_xp_said(r->settings, path);
    return value != NULL && value->number != 0;
}

static tess_status resolve_filter(tess_xp_resolution *r)
{
    const tess_xp_value *stride =
        tess_xp_said(r->settings, "data_filtering.frame_filtering.stride");
    if (!is_on(r, "data_filtering.enabled")) {
        return TESS_OK;
    }
    if (stride != NULL && stride->whole > 1) {
        return tess_xp_complain(r->settings, stride,
                                "%lld would leave out data; remove it, and choose frames with "
                                "analyzer_parameters.start_frame and end_frame",
                                (long long)stride->whole);
    }
    tess_xpcs_data_filter *filter =
        tess_blocks_alloc(&r->memory, 1, sizeof *filter, "a filter of data");
    if (filter == NULL) {
        return TESS_E_MEMORY;
    }
    *filter = (tess_xpcs_data_filter){.struct_size = sizeof *filter,
                                      .any = is_on(r, "data_filtering.combine_criteria"),
                                      .fallback_all = is_on(r, "data_filtering.fallback_on_empty"),
                                      .q_min = end_of(r, "data_filtering.q_range.min"),
                                      .q_max = end_of(r, "data_filtering.q_range.max"),
                                      .phi_min = end_of(r, "data_filtering.phi_range.min"),
                                      .phi_max = end_of(r, "data_filtering.phi_range.max"),
                                      .quality_min = end_of(r, "data_filtering.quality_threshold")};
    if (filter->q_min >= filter->q_max) {
        return tess_xp_complain(r->settings,
                                tess_xp_said(r->settings, "data_filtering.q_range.max"),
                                "%g is not above min %g", filter->q_max, filter->q_min);
    }
    r->info.data.filter = filter;
    return TESS_OK;
}

// Where the original has another default, it would change a result.
static tess_status refuse_others(const tess_xp_resolution *r)
{
    const tess_xp_value *refine =
        tess_xp_said(r->settings, "optimization.nlsq.cmaes.refine_with_nlsq");
    if (refine != NULL && refine->number == 0) {
        return tess_xp_complain(r->settings, refine,
                                "is not done: every minimum is found to the last digit; set it to "
                                "true");
    }
    const tess_xp_value *loss =
        tess_xp_said(r->settings, "optimization.nlsq.cmaes.refinement_loss");
    if (loss != NULL && strcmp(loss->node->text, "linear") != 0) {
        return tess_xp_complain(r->settings, loss, "is not read: set optimization.nlsq.loss to %s",
                                loss->node->text);
    }
    return TESS_OK;
}

// Keys of the original that would change a result and that nobody here obeys.
static tess_status refuse(const tess_xp_resolution *r)
{
    static const struct {
        const char *path;
        const char *remedy;
    } refused[] = {
        {"preprocessing.enabled",
         "is done by Python's loader alone: tessera.xpcs.data.load_xpcs_data(), then fit(); here "
         "set it to false"},
        {"noise_estimation.enabled",
         "does nothing, in the original neither; set model.sigma.mode to estimate"},
        {"optimization.nlsq.anti_degeneracy.regularization.enable",
         "is not done: contrast and offset are eliminated; set "
         "optimization.nlsq.anti_degeneracy.per_angle_mode to averaged or fourier instead"},
        {"optimization.stratification.force_sequential_fallback",
         "is not done: all angles are fitted together; take single ones with phi_filtering"},
        {"performance.subsampling.enabled", "is not done: no point is left out; set it to false"},
        {"optimization.nlsq.multi_start.sampling_strategy",
         "random is not done: set it to latin_hypercube"},
    };
    static const char *const strides[] = {"analyzer_parameters.frame_step",
                                          "analyzer_parameters.temporal.frame_interval"};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        if (is_on(r, refused[i].path)) {
            return tess_xp_complain(r->settings, tess_xp_said(r->settings, refused[i].path), "%s",
                                    refused[i].remedy);
        }
    }
    for (size_t i = 0; i < sizeof strides / sizeof *strides; i++) {
        const tess_xp_value *step = tess_xp_said(r->settings, strides[i]);
        if (step != NULL && step->whole > 1) {
            return tess_xp_complain(r->settings, step,
                                    "%lld would leave out frames; every frame is taken: remove it",
                                    (long long)step->whole);
        }
    }
    const tess_xp_value *starts =
        tess_xp_said(r->settings, "optimization.nlsq.multi_start.custom_starts");
    if (starts != NULL) {
        return tess_xp_complain(r->settings, starts,
                                "starts are not read from here; give one as "
                                "initial_parameters.values, and run once for each other");
    }
    const tess_xp_value *repair = tess_xp_said(r->settings, "quality_control.auto_repair");
    if (is_on(r, "quality_control.enabled") && (repair == NULL || repair->number != 0)) {
        return tess_xp_complain(r->settings, tess_xp_said(r->settings, "quality_control.enabled"),
                                "repairs are done by Python's loader alone, "
                                "tessera.xpcs.data.load_xpcs_data(); here points that are not "
                                "finite are left out and counted: set quality_control.auto_repair "
                                "to disabled");
    }
    return TESS_OK;
}

tess_status tess_xp_resolve_data(tess_xp_resolution *r)
{
    const tess_xp_value *phi = tess_xp_said(r->settings, "experimental_data.phi_angles");
    if (phi != NULL) {
        r->info.data.phi = phi->numbers;
        r->info.data.n_phi = phi->n_item;
    }
    TESS_TRY(refuse(r));
    TESS_TRY(refuse_others(r));
    TESS_TRY(resolve_path(r));
    TESS_TRY(resolve_cache(r));
    TESS_TRY(resolve_frames(r));
    TESS_TRY(resolve_filter(r));
    return resolve_ranges(r);
}
