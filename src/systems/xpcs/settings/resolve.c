// From single values to the structs of fit, data and model.
#include "base/status.h"
#include "stage/xpcs.h"
#include "systems/xpcs/settings/settings.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CMAES_STARTS = 32, NAMED_KEYS = 6 };

#define SHEAR_KERNEL "model.shear_kernel"

// What a program of our age writes; others are read all the same.
static const char known_version[] = "2.23";
static const double gib = 1024.0 * 1024.0 * 1024.0;

static void store(tess_xpcs_settings_info *info, const tess_xp_value *value)
{
    const tess_xp_rule rule = tess_xp_rule_of(value->row);
    char *field = (char *)info + rule.offset;
    const bool is_negated = (value->row->flags & TESS_XP_NEGATED) != 0;
    switch ((tess_xp_setting_type)rule.type) {
    case TESS_XP_REAL:
        *(double *)field = value->number;
        break;
    case TESS_XP_INT:
        *(int64_t *)field = value->whole;
        break;
    case TESS_XP_BOOL:
    case TESS_XP_CHOICE:
        *(int32_t *)field = is_negated ? 1 - (int32_t)value->number : (int32_t)value->number;
        break;
    case TESS_XP_TEXT:
        *(const char **)field = value->node->text;
        break;
    case TESS_XP_REALS:
    case TESS_XP_INTS:
    case TESS_XP_NAMES:
    case TESS_XP_ANY:
        break;
    }
}

static void store_all(tess_xp_resolution *r)
{
    for (int64_t i = 0; i < r->settings->n_value; i++) {
        const tess_xp_value *value = r->settings->values[i];
        if (value->n_shadow == 0 && !value->is_null && value->row->offset != TESS_XP_NOWHERE &&
            (value->row->flags & TESS_XP_HELD) == 0) {
            store(&r->info, value);
        }
    }
}

// -1: not said.
static int32_t flag_of(const tess_xp_resolution *r, const char *path)
{
    const tess_xp_value *value = tess_xp_said(r->settings, path);
    return value != NULL ? (int32_t)value->number : -1;
}

#define GAP "analyzer_parameters.geometry.stator_rotor_gap"

static tess_status resolve_model(tess_xp_resolution *r)
{
    static const int32_t modes[] = {TESS_XPCS_STATIC_ISOTROPIC,   TESS_XPCS_STATIC_ANISOTROPIC,
                                    TESS_XPCS_STATIC_ANISOTROPIC, TESS_XPCS_LAMINAR_FLOW,
                                    TESS_XPCS_TWO_COMPONENT,      TESS_XPCS_TWO_COMPONENT};
    const tess_xp_value *mode = tess_xp_said(r->settings, "analysis_mode");
    const tess_xp_value *gap = tess_xp_said(r->settings, GAP);
    tess_xpcs_settings_info *info = &r->info;
    if (mode != NULL) {
        info->model.mode = modes[(int)mode->number];
    } else if (r->settings->path[0] != '\0') {
        tess_text_printf(&r->notices, "analysis_mode is missing; %s is taken\n",
                         tess_xpcs_mode_name((tess_xpcs_mode)info->model.mode));
    }
    if (mode != NULL && (int)mode->number == 2) {
        tess_text_printf(&r->notices, "analysis_mode static means static_anisotropic\n");
    }
    if (gap != NULL && (gap->number < 1e4 || gap->number > 1e9)) {
        return tess_xp_complain(r->settings, gap,
                                "%.40s Å is no gap of a shear cell; the unit is Å: 200 µm are "
                                "2000000, allowed is 1e4 to 1e9 Å",
                                gap->node->text);
    }
    const bool is_laminar = info->model.mode == TESS_XPCS_LAMINAR_FLOW;
    // null, as a template has it, leaves it to the command line.
    const bool is_left = tess_xp_value_of(r->settings, GAP) != NULL;
    if (is_laminar && gap == NULL && !is_left && mode != NULL && !mode->is_set) {
        return tess_xp_complain(r->settings, mode,
                                "laminar_flow needs " GAP ", the gap in Å (200 µm are 2000000)");
    }
    if (is_laminar) {
        tess_text_printf(&r->notices, "shear kernel: %s (" SHEAR_KERNEL ")\n",
                         tess_xpcs_kernel_name((tess_xpcs_kernel)info->model.kernel));
    }
    info->data.dt_s = info->model.dt_s;
    info->data.gap_angstrom = info->model.gap_angstrom;
    info->data.keep_t0 = info->model.keep_t0;
    return TESS_OK;
}

static void resolve_sigma(tess_xp_resolution *r)
{
    const tess_xp_value *mode = tess_xp_said(r->settings, "model.sigma.mode");
    const tess_xp_value *value = tess_xp_said(r->settings, "model.sigma.value");
    const tess_xp_value *dataset = tess_xp_said(r->settings, "model.sigma.dataset");
    if (dataset != NULL && mode == NULL) {
        r->info.fit.sigma_mode = TESS_XPCS_SIGMA_DATASET;
    }
    r->info.has_sigma = value != NULL || r->info.fit.sigma_mode != TESS_XPCS_SIGMA_CONSTANT;
    r->info.fit.has_sigma = value != NULL;
    if (value != NULL && r->info.fit.sigma_mode != TESS_XPCS_SIGMA_CONSTANT) {
        tess_text_printf(&r->notices, "model.sigma.value counts with model.sigma.mode constant "
                                      "alone\n");
    }
}

// What the table offers for a key that needs a value although nobody gave one.
static const char *offered(const char *path)
{
    return tess_xp_settings_find(path).exact->example;
}

// Version 2.1 wrote them elsewhere; the newer place wins.
static void resolve_old(tess_xp_resolution *r)
{
    const tess_xp_value *most = tess_xp_said(r->settings, "optimization.lsq.max_iterations");
    const tess_xp_value *tolerance = tess_xp_said(r->settings, "optimization.lsq.tolerance");
    if (most != NULL && tess_xp_said(r->settings, "optimization.nlsq.max_iterations") == NULL) {
        r->info.fit.max_nfev = most->whole;
    }
    if (tolerance != NULL && tess_xp_said(r->settings, "optimization.nlsq.tolerance") == NULL &&
        tess_xp_said(r->settings, "optimization.nlsq.ftol") == NULL) {
        r->info.fit.ftol = tolerance->number;
    }
}

static void resolve_search(tess_xp_resolution *r)
{
    static const char starts[] = "optimization.nlsq.multi_start.n_starts";
    const tess_xp_value *n = tess_xp_said(r->settings, starts);
    if (flag_of(r, "optimization.nlsq.multi_start.enable") == 1) {
        r->info.fit.n_start = n != NULL ? n->whole : strtoll(offered(starts), NULL, 10);
    }
    if (flag_of(r, "optimization.nlsq.multi_start.use_screening") == 0) {
        r->info.fit.screen_keep = 1;
    }
    if (flag_of(r, "optimization.nlsq.cmaes.enable") == 1) {
        if (r->info.fit.n_start < CMAES_STARTS) {
            r->info.fit.n_start = CMAES_STARTS;
        }
        tess_text_printf(&r->notices,
                         "optimization.nlsq.cmaes.enable: a search from %lld starts takes the "
                         "place of CMA-ES\n",
                         (long long)r->info.fit.n_start);
    }
    if (flag_of(r, "optimization.nlsq.quality_validation.enable") == 0) {
        r->info.fit.chi2_threshold = 1e300;
    }
}

static void resolve_streaming(tess_xp_resolution *r)
{
    tess_xpcs_fit_config *fit = &r->info.fit;
    static const char place[] = "optimization.streaming.checkpoint_dir";
    const tess_xp_value *folder = tess_xp_said(r->settings, place);
    const tess_xp_value *batch = tess_xp_said(r->settings, "optimization.streaming.batch_size");
    const int32_t enabled = flag_of(r, "optimization.streaming.enable_checkpoints");
    if (enabled == 1 || (enabled == -1 && folder != NULL)) {
        fit->checkpoint_dir = folder != NULL ? folder->node->text : offered(place);
    }
    if (flag_of(r, "optimization.streaming.enable_fault_tolerance") == 0) {
        fit->max_retries = 0;
        fit->bad_chunk = 0;
    }
    if (batch != NULL) {
        fit->chunk_tiles = (batch->whole + TESS_STAGE_XPCS_RUN - 1) / TESS_STAGE_XPCS_RUN;
        fit->chunk_tiles = fit->chunk_tiles < 1000000000 ? fit->chunk_tiles : 1000000000;
    }
}

// A number of the environment within limits; 0: not there.
static tess_status read_variable(const char *name, double lower, double upper, double *number)
{
    const char *text = getenv(name);
    const tess_param param = {
        .name = name, .type = TESS_PARAM_REAL, .minimum = lower, .maximum = upper, .unit = ""};
    *number = 0;
    if (text == NULL || text[0] == '\0') {
        return TESS_OK;
    }
    if (tess_param_set_text(&param, number, text) != TESS_OK) {
        TESS_FAIL(TESS_E_CONFIG, "environment: %s; correct or unset it", tess_last_error());
    }
    return TESS_OK;
}

// The first that is there: a flag, the environment, the file's limit, then its shares of memory.
static tess_status resolve_memory(tess_xp_resolution *r)
{
    double variable = 0;
    double share = 0;
    TESS_TRY(read_variable("HOMODYNE_MEMORY_LIMIT", 1e-3, 1e6, &variable));
    TESS_TRY(read_variable("NLSQ_MEMORY_FRACTION", 0.1, 0.9, &share));
    const tess_xp_value *limit = tess_xp_said(r->settings, "performance.memory_limit_gb");
    const tess_xp_value *amount =
        tess_xp_said(r->settings, "optimization.nlsq.memory_threshold_gb");
    const tess_xp_value *fraction = tess_xp_said(r->settings, "optimization.nlsq.memory_fraction");
    const tess_machine *machine = &r->settings->ctx->machine;
    const bool has_cgroup =
        machine->cgroup_limit_bytes > 0 && machine->cgroup_limit_bytes < machine->memory_bytes;
    const double whole = (double)(has_cgroup ? machine->cgroup_limit_bytes : machine->memory_bytes);
    double bytes = 0;
    if (variable > 0 && (limit == NULL || !limit->is_set)) {
        bytes = variable * gib;
        tess_text_printf(&r->notices, "memory limit %g GiB: from HOMODYNE_MEMORY_LIMIT\n",
                         variable);
    } else if (limit != NULL) {
        bytes = limit->number * gib;
    } else if (share > 0) {
        bytes = share * whole;
        tess_text_printf(&r->notices, "memory limit %g of all: from NLSQ_MEMORY_FRACTION\n", share);
    } else if (amount != NULL) {
        bytes = amount->number * gib;
    } else if (fraction != NULL) {
        bytes = fraction->number * whole;
    }
    r->info.memory_limit_bytes = (uint64_t)bytes;
    return TESS_OK;
}

static void resolve_rest(tess_xp_resolution *r)
{
    static const char *const methods[] = {"nlsq", "mcmc", "cmc", "both", "vi", "hybrid", "auto"};
    static const int32_t levels[] = {TESS_LOG_ERROR, TESS_LOG_WARNING, TESS_LOG_INFO,
                                     TESS_LOG_DEBUG, TESS_LOG_ERROR};
    const tess_xp_value *method = tess_xp_said(r->settings, "optimization.method");
    const tess_xp_value *level = tess_xp_said(r->settings, "logging.level");
    const tess_xp_value *base = tess_xp_said(r->settings, "output.base_directory");
    const tess_xp_value *version = tess_xp_said(r->settings, "metadata.config_version");
    if (method != NULL) {
        r->info.method = methods[(int)method->number];
    }
    if (method != NULL && method->number >= 4) {
        tess_text_printf(
            &r->notices,
            "optimization.method %s: not in this version; nlsq is taken, cmc samples\n",
            r->info.method);
        r->info.method = methods[0];
    }
    if (flag_of(r, "logging.file.enabled") == 1) {
        tess_text_printf(&r->notices, "logging.file.enabled: no log file is written; redirect what "
                                      "is said (2> run.log)\n");
    }
    if (level != NULL) {
        r->info.log_level = levels[(int)level->number];
    }
    const tess_xp_value *device = tess_xp_said(r->settings, "performance.device.preferred_device");
    if (device != NULL && r->info.device[0] == '\0') {
        r->info.device = strcmp(device->node->text, "gpu") == 0 ? "cuda" : device->node->text;
    }
    if (base != NULL && r->info.output_folder[0] == '\0') {
        r->info.output_folder = base->node->text;
    }
    const size_t n = sizeof known_version - 1;
    if (version != NULL &&
        (strncmp(version->node->text, known_version, n) != 0 || version->node->text[n] != '\0')) {
        tess_text_printf(&r->notices,
                         "metadata.config_version %.40s: written for another version than %s; read "
                         "all the same\n",
                         version->node->text, known_version);
    }
}

// One line for all keys of a use.
static void report_keys(tess_xp_resolution *r, int32_t use, const char *what)
{
    int64_t n = 0;
    for (int64_t i = 0; i < r->settings->n_value; i++) {
        const tess_xp_value *value = r->settings->values[i];
        n += value->n_shadow == 0 && tess_xp_use_of(value) == use;
    }
    if (n == 0) {
        return;
    }
    tess_text_printf(&r->notices, "%lld key%s %s: ", (long long)n, n > 1 ? "s" : "", what);
    int64_t shown = 0;
    for (int64_t i = 0; i < r->settings->n_value && shown < NAMED_KEYS; i++) {
        const tess_xp_value *value = r->settings->values[i];
        if (value->n_shadow == 0 && tess_xp_use_of(value) == use) {
            tess_text_printf(&r->notices, "%s%s", shown > 0 ? ", " : "", value->path);
            shown++;
        }
    }
    if (n > shown) {
        tess_text_printf(&r->notices, " and %lld more", (long long)(n - shown));
    }
    tess_text_add(&r->notices, "\n");
}

static tess_status resolve_all(tess_xp_resolution *r)
{
    tess_xp_settings_defaults(&r->info);
    r->info.data.lenient = r->settings->is_lenient;
    if (r->settings->read_notices.used > 0) {
        tess_text_append(&r->notices, r->settings->read_notices.chars,
                         r->settings->read_notices.used);
    }
    store_all(r);
    TESS_TRY(resolve_model(r));
    TESS_TRY(tess_xp_resolve_data(r));
    TESS_TRY(tess_xp_resolve_sampling(r));
    TESS_TRY(tess_xp_resolve_params(r));
    resolve_sigma(r);
    TESS_TRY(tess_xp_resolve_angles(r));
    resolve_old(r);
    resolve_search(r);
    resolve_streaming(r);
    TESS_TRY(resolve_memory(r));
    resolve_rest(r);
    report_keys(r, TESS_XP_SAMPLING,
                "of the original's sampling without effect: all data are sampled at once");
    report_keys(r, TESS_XP_NO_EFFECT, "of the original without effect here");
    return tess_text_finish(&r->notices, &r->info.notices);
}

tess_status tess_xp_resolve(tess_xpcs_settings *settings)
{
    tess_xp_resolution r = {.settings = settings};
    tess_blocks_init(&r.memory, &settings->ctx->heap);
    tess_text_init(&r.notices, &settings->ctx->heap);
    const tess_status status = resolve_all(&r);
    if (status != TESS_OK) {
        tess_blocks_free(&r.memory);
        tess_text_destroy(&r.notices);
        return status;
    }
    tess_blocks_free(&settings->resolved);
    tess_text_destroy(&settings->notices);
    settings->resolved = r.memory;
    settings->notices = r.notices;
    settings->info = r.info;
    return TESS_OK;
}
