// A fit from data to result.
#include "base/clock.h"
#include "base/status.h"
#include "runtime/group.h"
#include "runtime/provenance.h"
#include "runtime/stage.h"
#include "runtime/work.h"
#include "systems/xpcs/fit/covariance.h"
#include "systems/xpcs/fit/engine.h"
#include "systems/xpcs/fit/frames.h"
#include "systems/xpcs/fit/identity.h"
#include "systems/xpcs/fit/lanes.h"
#include "systems/xpcs/fit/phases.h"
#include "systems/xpcs/fit/plan.h"
#include "systems/xpcs/fit/quality.h"
#include "systems/xpcs/model/lend.h"
#include "systems/xpcs/settings/constants.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct fit {
    tess_context *ctx;
    tess_device *device;
    tess_xp_problem problem;
    tess_xp_plan plan;
    tess_xp_pass pass;
    tess_xp_engine engine;
    tess_identity id;
    char settings[33]; // what of it is not the data's
    tess_work work;
    int64_t last_iteration; // that a checkpoint has
    double resumed_from;    // how much of the fit an earlier run had done
    bool is_resumed;
    bool is_kept_finished; // the newest checkpoint is that of the whole fit
    tess_xpcs_result *result;
    int64_t begin_ns;
} fit;

static tess_status open_pass(fit *f)
{
    const tess_xp_problem *p = &f->problem;
    TESS_TRY(tess_xp_plan_make_for_all(f->ctx, p->data, p->n_param, &p->config, &f->plan));
    const tess_xp_pass_setup setup = {.device = f->device,
                                      .data = p->data,
                                      .model = &p->model,
                                      .loss = TESS_XPCS_LOSS_LINEAR,
                                      .f_scale = p->config.f_scale,
                                      .inverse_variance = p->weights.inverse_variance,
                                      .lag_weight = p->weights.lag_weight,
                                      .leaves_per_chunk = f->plan.leaves_per_chunk,
                                      .is_streamed = f->plan.is_streamed,
                                      .max_retries = p->config.max_retries,
                                      .strategy = f->plan.strategy,
                                      .ignore_sigma = p->weights.ignore_sigma,
                                      .max_set = f->plan.max_set};
    return tess_xp_pass_open(f->ctx, &setup, &f->pass);
}

// In the middle of a pass: partial sums at every point follow.
typedef struct pass_mark {
    int64_t next_leaf;
    int64_t n_sum;
    int64_t n_level;
    int64_t n_set;
} pass_mark;

typedef struct tree_name {
    char text[8];
} tree_name;

static tree_name name_of_tree(int64_t set)
{
    tree_name name;
    snprintf(name.text, sizeof name.text, "tree%d", (int)(set % 100));
    return name;
}

static tess_status write_state(void *self, tess_checkpoint_writer *writer)
{
    fit *f = self;
    tess_xp_pass *pass = &f->pass;
    const pass_mark mark = {.next_leaf = pass->next_leaf,
                            .n_sum = pass->n_sum,
                            .n_level = tess_xp_tree_levels(pass->next_leaf),
                            .n_set = pass->next_leaf > 0 ? pass->n_set : 0};
    TESS_TRY(tess_checkpoint_add(writer, "state", f->engine.state, f->engine.state_bytes));
    TESS_TRY(tess_checkpoint_add(writer, "pass", &mark, sizeof mark));
    for (int64_t k = 0; k < mark.n_set; k++) {
        TESS_TRY(tess_checkpoint_add(writer, name_of_tree(k).text, tess_xp_pass_tree(pass, k)->sums,
                                     (size_t)(mark.n_level * mark.n_sum) * sizeof(double)));
    }
    return TESS_OK;
}

// The state as an earlier run left it.
static tess_status read_state(void *self, const tess_checkpoint *found, const char *path)
{
    fit *f = self;
    tess_xp_pass *pass = &f->pass;
    pass_mark mark;
    TESS_TRY(tess_checkpoint_get(found, "done", &f->resumed_from, sizeof f->resumed_from));
    TESS_TRY(tess_checkpoint_get(found, "state", f->engine.state, f->engine.state_bytes));
    TESS_TRY(tess_checkpoint_get(found, "pass", &mark, sizeof mark));
    if (mark.next_leaf < 0 || mark.next_leaf >= tess_xp_tiles_n_leaf(&pass->data->tiles) ||
        mark.n_sum != pass->n_sum || mark.n_level != tess_xp_tree_levels(mark.next_leaf) ||
        mark.n_set < 0 || mark.n_set > TESS_XP_MAX_LANE ||
        (mark.n_set == 0) != (mark.next_leaf == 0)) {
        TESS_FAIL(TESS_E_FORMAT, "%s: how far a pass has come makes no sense", path);
    }
    pass->next_leaf = 0;
    if (mark.n_set > pass->max_set) { // with less memory than before: the pass again
        return TESS_OK;
    }
    for (int64_t k = 0; k < mark.n_set; k++) {
        tess_xp_tree *tree = tess_xp_pass_tree(pass, k);
        TESS_TRY(tess_checkpoint_get(found, name_of_tree(k).text, tree->sums,
                                     (size_t)(mark.n_level * mark.n_sum) * sizeof(double)));
        tree->n_leaf = mark.next_leaf;
    }
    pass->next_leaf = mark.next_leaf;
    pass->n_set = mark.n_set;
    return TESS_OK;
}

static void save(fit *f)
{
    const double done = tess_xp_engine_done(&f->engine);
    tess_work_save(&f->work, done, write_state, f);
    f->is_kept_finished = done == 1 && f->work.n_failed == 0;
    f->last_iteration = f->engine.head->n_iteration;
}

static tess_status checkpoint(void *self, tess_xp_engine *engine, bool is_mid_pass)
{
    (void)is_mid_pass;
    fit *f = self;
    const int64_t n_new = engine->head->n_iteration - f->last_iteration;
    if (tess_work_is_due(&f->work, n_new >= f->problem.config.checkpoint_iterations)) {
        save(f);
    }
    return TESS_OK;
}

static tess_status open_work(fit *f)
{
    const tess_xpcs_fit_config *config = &f->problem.config;
    const bool is_kept = config->checkpoint_dir && !config->fast;
    const tess_work_config setup = {.name = "xpcs.fit",
                                    .what = "fit",
                                    .folder = is_kept ? config->checkpoint_dir : NULL,
                                    .resume = is_kept ? config->resume : 0,
                                    .every_s = config->checkpoint_every_s,
                                    .keep =
                                        config->keep_checkpoints > 0 ? config->keep_checkpoints : 1,
                                    .check = read_state,
                                    .self = f};
    TESS_TRY(tess_identity_agree(
        f->ctx, &f->id, tess_xp_identity_make(f->device, &f->problem, &f->id, f->settings)));
    TESS_TRY(tess_work_open(f->ctx, &setup, &f->id, &f->work));
    f->is_resumed = f->work.is_found;
    f->is_kept_finished = f->is_resumed && f->resumed_from == 1;
    tess_work_forget(&f->work);
    return TESS_OK;
}

static tess_status begin(fit *f)
{
    TESS_TRY(tess_xp_engine_create(f->ctx, &f->problem, &f->pass, &f->engine));
    f->engine.checkpoint = checkpoint;
    f->engine.self = f;
    TESS_TRY(open_work(f));
    f->last_iteration = f->engine.head->n_iteration;
    return f->is_resumed ? TESS_OK : tess_xp_engine_begin(&f->engine);
}

static void fill_options(fit *f)
{
    const tess_xp_problem *p = &f->problem;
    tess_xpcs_result_info *info = &f->result->info;
    info->kernel = p->model.kernel;
    info->scaling = p->scaling.mode;
    info->loss = p->config.loss;
    info->sigma_mode = p->config.sigma_mode;
    info->sigma_is_default = p->sigma_is_default;
    info->counting = p->config.counting;
    info->precision = p->config.precision;
    info->strategy = f->plan.strategy;
    info->resumed = f->is_resumed;
    info->resumed_from = f->is_resumed ? f->resumed_from : 0;
    info->n_frame = p->data->info.n_frame;
    info->n_point = p->data->info.n_point;
    info->n_free = tess_xp_problem_n_free(p);
    info->dt_s = p->model.dt_s;
    info->gap_angstrom = p->model.gap_angstrom;
    info->seed = p->config.seed;
    info->n_checkpoint = f->work.n_saved;
}

static void fill_counts(fit *f)
{
    const tess_xp_problem *p = &f->problem;
    const tess_xp_state *head = f->engine.head;
    tess_xpcs_result_info *info = &f->result->info;
    const int64_t times = p->config.counting == 1 ? 2 : 1;
    const int64_t n_pair = p->data->info.n_frame * (p->data->info.n_frame - 1) / 2;
    info->n_used = times * p->data->info.n_used;
    info->n_masked = p->n_angle * n_pair - p->data->info.n_used;
    info->dof = info->n_used - info->n_free;
    info->cost = (double)times * head->final_cost;
    info->chi2 = (double)times * head->chi2;
    info->reduced_chi2 = info->chi2 / (double)(info->dof > 0 ? info->dof : 1);
    info->aic = info->chi2 + 2 * (double)info->n_free;
    info->bic = info->chi2 + (double)info->n_free * log((double)info->n_used);
    info->gradient_norm = head->gradient_norm;
    info->n_iteration = head->n_iteration;
    info->nfev = head->nfev;
    info->n_pass = head->n_pass;
}

static void fill_angles(fit *f)
{
    const tess_xp_problem *p = &f->problem;
    const tess_xp_engine *e = &f->engine;
    tess_xpcs_result *r = f->result;
    const int64_t own = 2 * (p->scaling.mode == TESS_XPCS_SCALING_INDIVIDUAL);
    for (int64_t a = 0; a < p->n_angle; a++) {
        const int64_t n = p->data->info.n_finite[a];
        const double w = p->weights.inverse_variance[a];
        // The sum of weights is that of 1 / sigma^2 wherever the points have their own.
        const double s1 = tess_xp_angle_sums(&f->pass, e->final_sums, a)[0];
        const bool is_robust = tess_xp_step_is_robust(e);
        r->contrast[a] = e->final.contrast[a];
        r->offset[a] = e->final.offset[a];
        r->phi[a] = p->data->info.phi[a];
        r->q[a] = p->data->info.q[a];
        r->sigma[a] = is_robust || !(s1 > 0) ? 1 / sqrt(w) : sqrt((double)n / (w * s1));
        r->n_used_angle[a] = n;
        r->reduced_chi2_angle[a] = 2 * e->final.cost_angle[a] / (double)(n > own ? n - own : 1);
    }
}

static void fill_params(fit *f)
{
    const tess_xp_problem *p = &f->problem;
    const tess_xp_engine *e = &f->engine;
    tess_xpcs_result *r = f->result;
    for (int64_t k = 0; k < p->n_param; k++) {
        r->theta[k] = e->final_theta[k];
        r->start[k] = p->config.n_start == 0 && p->has_start
                          ? p->start[k]
                          : e->candidates[e->head->best].theta[k];
        r->lower[k] = p->lower[k];
        r->upper[k] = p->upper[k];
    }
    memcpy(r->trace, e->trace, (size_t)r->info.n_trace * sizeof *r->trace);
    if (r->info.n_basin > 0) {
        memcpy(r->basins, e->basins, (size_t)r->info.n_basin * sizeof *r->basins);
        if (!tess_xp_step_is_robust(e)) { // steps after the search have brought it lower still
            r->basins[0].cost = e->head->final_cost;
            memcpy(r->basins[0].theta, e->final_theta, (size_t)p->n_param * sizeof *e->final_theta);
        }
        for (int64_t b = 0; b < r->info.n_basin; b++) {
            r->basins[b].cost *= p->config.counting == 1 ? 2 : 1;
        }
    }
    if (r->info.n_bootstrap > 0) {
        int64_t n_good = 0;
        memcpy(r->bootstrap, e->bootstrap,
               (size_t)(r->info.n_bootstrap * p->n_param) * sizeof *r->bootstrap);
        tess_xp_bootstrap_sd(e, r->bootstrap_sd, &n_good);
    }
}

// Other minima that chi2 leaves possible belong to the intervals.
static void add_minimum(fit *f, int64_t basin, double *lower, double *upper)
{
    const tess_xp_engine *e = &f->engine;
    const double excess = (e->basins[basin].cost - e->head->final_cost) / tess_xp_step_unit(e);
    for (int64_t i = 0; i < f->problem.n_free; i++) {
        const int64_t k = f->problem.free_index[i];
        const double stretch = e->intervals->stretch[k];
        const double left = tess_xp_deviations * tess_xp_deviations - excess / (stretch * stretch);
        const double sd = stretch * e->basin_sd[basin * TESS_XPCS_MAX_PARAM + k];
        if (!(left > 0)) {
            continue;
        }
        const double reach = isfinite(sd) ? sqrt(left) * sd : 0;
        lower[k] = fmin(lower[k], fmax(e->basins[basin].theta[k] - reach, f->problem.lower[k]));
        upper[k] = fmax(upper[k], fmin(e->basins[basin].theta[k] + reach, f->problem.upper[k]));
    }
}

// Once errors are known: those of robust losses have no profile.
static void fill_intervals(fit *f)
{
    const tess_xp_problem *p = &f->problem;
    const tess_xp_engine *e = &f->engine;
    tess_xpcs_result *r = f->result;
    const bool is_robust = tess_xp_step_is_robust(e);
    for (int64_t k = 0; k < p->n_param; k++) {
        const double reach = r->sd[k] > 0 ? tess_xp_deviations * r->sd[k] : 0;
        const double *ends = e->intervals->ends[k];
        r->interval_lower[k] = is_robust ? fmax(r->theta[k] - reach, p->lower[k]) : ends[0];
        r->interval_upper[k] = is_robust ? fmin(r->theta[k] + reach, p->upper[k]) : ends[1];
        r->interval_kind[k] = e->intervals->kind[k];
    }
    for (int64_t b = 1; b < r->info.n_basin && !is_robust; b++) {
        add_minimum(f, b, r->interval_lower, r->interval_upper);
    }
}

static tess_status fill_texts(fit *f)
{
    const tess_xp_problem *p = &f->problem;
    char hash[33];
    const char *warnings = NULL;
    TESS_TRY(tess_text_finish(&p->warnings, &warnings));
    TESS_TRY(tess_xp_result_set_text(f->result, TESS_XP_TEXT_WARNINGS, warnings));
    TESS_TRY(
        tess_xp_result_set_text(f->result, TESS_XP_TEXT_DEVICE, tess_group_id(f->ctx, f->device)));
    TESS_TRY(tess_xp_result_set_text(f->result, TESS_XP_TEXT_PATH, p->data->info.path));
    tess_hash_text(p->data->fingerprint, hash);
    TESS_TRY(tess_xp_result_set_text(f->result, TESS_XP_TEXT_FINGERPRINT, hash));
    TESS_TRY(tess_xp_result_set_text(f->result, TESS_XP_TEXT_CONFIG_HASH, f->settings));
    tess_identity_digest(&f->id, hash);
    return tess_xp_result_set_text(f->result, TESS_XP_TEXT_IDENTITY, hash);
}

static void fill_times(fit *f)
{
    tess_xpcs_result_info *info = &f->result->info;
    const double all = (double)(tess_now_ns() - f->begin_ns) * 1e-9;
    const double sums = f->pass.seconds - f->pass.reader.read_s;
    info->seconds[0] = f->pass.reader.read_s;
    info->seconds[1] = sums;
    info->seconds[2] = fmax(all - f->pass.seconds - f->work.saved_s, 0);
    info->seconds[3] = f->work.saved_s;
    info->seconds[4] = all;
    const double n_full = (double)f->engine.head->n_pass;
    const double n_part = (double)f->engine.head->n_coarse / fmax((double)f->engine.every, 1);
    const double n_point = (double)f->problem.data->info.n_used * (n_full + n_part);
    info->points_per_s = f->pass.seconds > 0 ? n_point / f->pass.seconds : 0;
    info->peak_bytes = (uint64_t)atomic_load(&f->ctx->heap.peak_bytes);
}

static tess_status make_result(fit *f)
{
    const tess_xp_state *head = f->engine.head;
    const bool has_bootstrap =
        f->problem.config.uncertainty == 1 && head->final_status > 0 && f->problem.n_free > 0;
    const tess_xp_result_sizes sizes = {.mode = f->problem.model.mode,
                                        .n_angle = f->problem.n_angle,
                                        .n_trace = head->n_trace,
                                        .n_basin = head->n_basin,
                                        .n_bootstrap =
                                            has_bootstrap ? f->problem.config.n_bootstrap : 0};
    TESS_TRY(tess_xp_result_create(f->ctx, &sizes, &f->result));
    fill_options(f);
    fill_counts(f);
    fill_angles(f);
    fill_params(f);
    TESS_TRY(tess_xp_covariance_fill(&f->engine, f->result));
    fill_intervals(f);
    if (f->problem.config.noise == 1) {
        TESS_TRY(tess_xp_frames_take(&f->engine, f->result));
    }
    TESS_TRY(tess_xp_quality_judge(&f->engine, f->result));
    TESS_TRY(fill_texts(f));
    fill_times(f);
    return TESS_OK;
}

static tess_status choose_device(tess_context *ctx, tess_device **device)
{
    static const int32_t stages[] = {TESS_STAGE_XPCS_PASS, TESS_STAGE_XPCS_REDUCE,
                                     TESS_STAGE_XPCS_GRIDS};
    return tess_stage_choose(ctx, stages, 3, "fit", device);
}

static tess_status run(fit *f, tess_xpcs_data *data, const tess_xpcs_model *model,
                       const tess_xpcs_fit_config *config)
{
    TESS_TRY(choose_device(f->ctx, &f->device));
    tess_span span = tess_span_begin(&f->ctx->tracer, "xpcs.prepare");
    TESS_TRY(tess_xp_problem_open(f->ctx, data, model, config, &f->problem));
    tess_span_end(&span, 0, 0);
    TESS_TRY(tess_xp_device_for(f->ctx, f->problem.model.mode, "fit", &f->device));
    tess_xp_constants_warn(f->ctx, &f->problem.model, data->info.q, data->info.n_angle);
    TESS_TRY(open_pass(f));
    TESS_TRY(begin(f));
    const tess_status status = tess_xp_engine_run(&f->engine);
    if (tess_xp_is_bad_read(status) && f->problem.config.bad_chunk == 1) {
        tess_error_append("; it could be read when the fit began: a new one, without its "
                          "checkpoints, leaves out what cannot be read");
    }
    TESS_TRY(status);
    const bool keeps = f->problem.config.keep_finished && tess_work_is_kept(&f->work);
    if (keeps && !f->is_kept_finished) {
        save(f);
    }
    TESS_TRY(make_result(f));
    if (!keeps) {
        tess_work_end(&f->work);
    }
    return TESS_OK;
}

tess_status tess_xpcs_fit(tess_context *ctx, tess_xpcs_data *data, const tess_xpcs_model *model,
                          const tess_xpcs_fit_config *config, tess_xpcs_result **out)
{
    tess_error_clear();
    if (!ctx || !data || !out) {
        TESS_FAIL(TESS_E_ARGUMENT, "%s: NULL", !ctx ? "context" : !data ? "data" : "out");
    }
    *out = NULL;
    fit f = {.ctx = ctx, .begin_ns = tess_now_ns()};
    tess_span span = tess_span_begin(&ctx->tracer, "xpcs.fit");
    const tess_status status = run(&f, data, model, config);
    tess_span_end(&span, (double)data->info.bytes * (double)f.pass.n_pass, 0);
    tess_work_close(&f.work);
    tess_identity_free(&f.id);
    tess_xp_engine_destroy(&f.engine);
    tess_xp_pass_close(&f.pass);
    tess_xp_problem_close(&f.problem);
    if (status == TESS_OK) {
        *out = f.result;
    } else {
        tess_xpcs_result_destroy(f.result);
    }
    return status;
}

tess_status tess_xpcs_fit_is_of(tess_context *ctx, tess_xpcs_data *data,
                                const tess_xpcs_model *model, const tess_xpcs_fit_config *config,
                                const char *path, int *is_of)
{
    tess_error_clear();
    if (!ctx || !data || !path) {
        TESS_FAIL(TESS_E_ARGUMENT, "%s: NULL", !ctx ? "context" : !data ? "data" : "path");
    }
    tess_device *device = NULL;
    tess_xp_problem problem;
    tess_identity id;
    char text[33];
    *is_of = 0;
    TESS_TRY(choose_device(ctx, &device));
    TESS_TRY(tess_xp_problem_begin(ctx, data, model, config, &problem));
    tess_status status = tess_xp_device_for(ctx, problem.model.mode, "fit", &device);
    id = (tess_identity){0};
    if (status == TESS_OK) {
        status = tess_xp_identity_make(device, &problem, &id, text);
    }
    if (status == TESS_OK) {
        tess_identity_digest(&id, text);
        *is_of = tess_provenance_is_of(ctx, path, text);
    }
    tess_identity_free(&id);
    tess_xp_problem_close(&problem);
    return status;
}
