// A joint fit from data to result.
#include "systems/xpcs/joint/joint.h"

#include "base/clock.h"
#include "base/status.h"
#include "base/struct_read.h"
#include "runtime/group.h"
#include "runtime/stage.h"
#include "stage/xpcs.h"

#include <math.h>
#include <string.h>

enum { COVARIANCE = 0 }; // of the choices of "uncertainty"

void tess_xpcs_joint_config_init(tess_xpcs_joint_config *config, size_t struct_size)
{
    const tess_xpcs_joint_config defaults = {.exponent_lower = -10, .exponent_upper = 10};
    tess_struct_init(config, struct_size, &defaults, sizeof defaults);
}

static tess_status check_joint(const tess_xp_joint *j)
{
    const tess_xpcs_joint_config *c = &j->joint;
    int64_t n_param = 0;
    (void)tess_xpcs_params((tess_xpcs_mode)j->model.mode, &n_param);
    for (int64_t k = 0; c->ties && k < n_param; k++) {
        if (!tess_xpcs_tie_name((tess_xpcs_tie)c->ties[k])) {
            TESS_FAIL(TESS_E_ARGUMENT, "ties[%lld]: %d; expected 0 shared, 1 each or 2 power",
                      (long long)k, (int)c->ties[k]);
        }
    }
    if (!(c->q_ref >= 0) || isinf(c->q_ref)) {
        TESS_FAIL(TESS_E_ARGUMENT, "q_ref: %g; expected a finite number > 0, or 0 for the mean",
                  c->q_ref);
    }
    if (!(c->exponent_lower < c->exponent_upper) || isinf(c->exponent_lower) ||
        isinf(c->exponent_upper)) {
        TESS_FAIL(TESS_E_ARGUMENT,
                  "bounds of exponents: %g to %g; expected two finite numbers, the lower one first",
                  c->exponent_lower, c->exponent_upper);
    }
    return TESS_OK;
}

// What a fit of one data set can do and a joint one cannot.
static tess_status check_config(const tess_xp_joint *j)
{
    const tess_xpcs_fit_config *c = &j->config;
    if (c->loss != TESS_XPCS_LOSS_LINEAR) {
        TESS_FAIL(TESS_E_CONFIG, "loss: joint fits have the linear one alone; leave it at linear");
    }
    if (c->counting != 0) {
        TESS_FAIL(TESS_E_CONFIG, "counting: joint fits count every pair once; leave it at half");
    }
    if (c->uncertainty == 1 || c->uncertainty == 2) {
        TESS_FAIL(TESS_E_CONFIG, "uncertainty: errors of joint fits are those of the covariance; "
                                 "leave it at auto or covariance");
    }
    if (c->noise != 0) {
        TESS_FAIL(TESS_E_CONFIG, "noise: joint fits take points as independent; leave it at "
                                 "independent, and look at members alone with frames");
    }
    if (c->contrast || c->offset) {
        TESS_FAIL(TESS_E_CONFIG, "contrast and offset: joint fits take none, as members differ in "
                                 "their angles; leave them out");
    }
    if (c->bad_chunk != 0) {
        TESS_FAIL(TESS_E_CONFIG, "bad_chunk: joint fits do not mask what cannot be read; restore "
                                 "the file, or fit its member alone");
    }
    return TESS_OK;
}

static tess_status take_settings(tess_xp_joint *j, const tess_xpcs_model *model,
                                 const tess_xpcs_fit_config *config,
                                 const tess_xpcs_joint_config *joint)
{
    tess_xpcs_model_init(&j->model, sizeof j->model);
    tess_xpcs_fit_config_init(&j->config, sizeof j->config);
    tess_xpcs_joint_config_init(&j->joint, sizeof j->joint);
    if (model) {
        TESS_TRY(tess_struct_read(model, &j->model, sizeof j->model, "model"));
    }
    if (config) {
        TESS_TRY(tess_struct_read(config, &j->config, sizeof j->config, "config"));
    }
    if (joint) {
        TESS_TRY(tess_struct_read(joint, &j->joint, sizeof j->joint, "joint"));
    }
    TESS_TRY(tess_params_check(tess_xpcs_model_params(), &j->model));
    TESS_TRY(tess_params_check(tess_xpcs_fit_params(), &j->config));
    TESS_TRY(check_joint(j));
    TESS_TRY(check_config(j));
    j->config.uncertainty = COVARIANCE;
    return TESS_OK;
}

static tess_status choose_device(tess_xp_joint *j)
{
    static const int32_t stages[] = {TESS_STAGE_XPCS_PASS, TESS_STAGE_XPCS_REDUCE,
                                     TESS_STAGE_XPCS_GRIDS};
    TESS_TRY(tess_group_refuse(j->ctx, "joint fit"));
    TESS_TRY(tess_stage_choose(j->ctx, stages, 3, "joint fit", &j->device));
    if (j->device != &j->ctx->cpu) {
        TESS_FAIL(TESS_E_UNSUPPORTED, "joint fits run on the CPU: choose device cpu");
    }
    return TESS_OK;
}

// Members' own fits have no checkpoints of their own: one that is stopped is done again.
static tess_status fit_singles(tess_xp_joint *j)
{
    const tess_xpcs_fit_config config = j->config;
    j->config.checkpoint_dir = NULL;
    j->config.resume = 0;
    tess_status status = TESS_OK;
    while (status == TESS_OK && j->n_single < j->n_member) {
        status = tess_xp_joint_single(j);
        if (status == TESS_OK) {
            tess_xp_joint_keep(j, false);
            status = tess_xp_joint_poll(j, 0);
        }
    }
    j->config = config;
    for (int64_t m = 0; status == TESS_OK && m < j->n_member; m++) {
        const double noise = tess_xpcs_result_get_info(j->result->single[m])->reduced_chi2;
        j->unit[m] = j->config.absolute_sigma || !(noise > 0) ? 1 : noise;
    }
    return status;
}

// Small data are done before anybody looks; larger ones are gone over many times.
static void begin_watch(tess_xp_joint *j)
{
    enum { TIMES = 64 };
    uint64_t bytes = 0;
    for (int64_t m = 0; m < j->n_member; m++) {
        bytes += TIMES * j->data[m]->info.bytes;
    }
    tess_watch_begin(&j->watch, j->ctx, "xpcs.joint", "members", 0, bytes, TESS_STRATEGY_STANDARD);
}

static tess_status work_on(tess_xp_joint *j)
{
    begin_watch(j);
    TESS_TRY(fit_singles(j));
    if (j->head->phase == TESS_XP_JOINT_SINGLE) {
        tess_xp_joint_begin(j);
    }
    TESS_TRY(tess_xp_joint_open(j));
    if (j->head->phase == TESS_XP_JOINT_DONE) { // what errors need is not kept
        j->head->phase = TESS_XP_JOINT_FINAL;
        j->head->n_evaluation--;
    }
    TESS_TRY(tess_xp_joint_solve(j));
    return tess_xp_joint_poll(j, 0);
}

static tess_status run(tess_xp_joint *j)
{
    const int64_t begin_ns = tess_now_ns();
    TESS_TRY(choose_device(j));
    TESS_TRY(tess_xp_joint_result_create(j));
    TESS_TRY(tess_xp_joint_prepare(j));
    TESS_TRY(tess_xp_joint_take_state(j));
    TESS_TRY(tess_xp_joint_open_work(j));
    const tess_status status = work_on(j);
    if (status == TESS_CANCELLED) {
        tess_xp_joint_keep(j, true);
    }
    TESS_TRY(status);
    const bool keeps = j->config.keep_finished != 0;
    if (keeps) {
        tess_xp_joint_keep(j, true);
    }
    TESS_TRY(tess_xp_joint_conclude(j));
    if (!keeps) {
        tess_work_end(&j->kept);
    }
    j->result->info.seconds = (double)(tess_now_ns() - begin_ns) * 1e-9;
    return TESS_OK;
}

static tess_status check_members(tess_xpcs_data *const *members, int64_t n_member)
{
    if (n_member < 2) {
        TESS_FAIL(TESS_E_ARGUMENT,
                  "%lld member%s; a joint fit needs two at least: several files or several q",
                  (long long)n_member, n_member == 1 ? "" : "s");
    }
    for (int64_t m = 0; m < n_member; m++) {
        if (!members[m]) {
            TESS_FAIL(TESS_E_ARGUMENT, "member %lld: NULL", (long long)m);
        }
    }
    return TESS_OK;
}

tess_status tess_xpcs_fit_joint(tess_context *ctx, tess_xpcs_data *const *members, int64_t n_member,
                                const tess_xpcs_model *model, const tess_xpcs_fit_config *config,
                                const tess_xpcs_joint_config *joint, tess_xpcs_joint **out)
{
    tess_error_clear();
    if (!ctx || !members || !out) {
        TESS_FAIL(TESS_E_ARGUMENT, "%s: NULL", !ctx ? "context" : !members ? "members" : "out");
    }
    *out = NULL;
    TESS_TRY(check_members(members, n_member));
    tess_xp_joint j = {.ctx = ctx, .data = members, .n_member = n_member};
    TESS_TRY(take_settings(&j, model, config, joint));
    tess_blocks_init(&j.memory, &ctx->heap);
    tess_span span = tess_span_begin(&ctx->tracer, "xpcs.joint");
    const tess_status status = run(&j);
    tess_span_end(&span, 0, 0);
    tess_work_close(&j.kept);
    tess_identity_free(&j.id);
    tess_xp_joint_close(&j);
    if (status == TESS_OK) {
        *out = j.result;
    } else {
        tess_xpcs_joint_destroy(j.result);
    }
    return status;
}
