// What a joint fit found, in numbers and words.
#include "base/status.h"
#include "numerics/chi2.h"
#include "systems/xpcs/fit/quality.h"
#include "systems/xpcs/joint/joint.h"

#include <math.h>
#include <stdio.h>

// Below this probability a tie is doubtful enough for a warning.
static const double doubtful = 1e-3;

const char *tess_xpcs_tie_name(tess_xpcs_tie tie)
{
    static const char *const names[] = {"shared", "each", "power"};
    return tie >= TESS_XPCS_TIE_SHARED && tie <= TESS_XPCS_TIE_POWER ? names[tie] : NULL;
}

const tess_xpcs_joint_info *tess_xpcs_joint_get_info(const tess_xpcs_joint *joint)
{
    return joint ? &joint->info : NULL;
}

void tess_xpcs_joint_destroy(tess_xpcs_joint *joint)
{
    if (!joint) {
        return;
    }
    for (int64_t m = 0; joint->single && m < joint->info.n_member; m++) {
        tess_xpcs_result_destroy(joint->single[m]);
    }
    tess_text_destroy(&joint->warnings);
    tess_blocks memory = joint->memory; // it holds the joint fit, too
    tess_blocks_free(&memory);
}

static void *room(tess_xpcs_joint *r, int64_t n, size_t bytes, bool *is_lost)
{
    void *block = tess_blocks_alloc(&r->memory, n, bytes, "the result of a joint fit");
    *is_lost |= !block;
    return block;
}

tess_status tess_xp_joint_result_create(tess_xp_joint *j)
{
    tess_blocks memory;
    tess_blocks_init(&memory, &j->ctx->heap);
    tess_xpcs_joint *r = tess_blocks_alloc(&memory, 1, sizeof *r, "the result of a joint fit");
    if (!r) {
        return TESS_E_MEMORY;
    }
    r->memory = memory;
    r->ctx = j->ctx;
    tess_text_init(&r->warnings, &j->ctx->heap);
    j->result = r;
    const int64_t n = j->n_member;
    bool is_lost = false;
    r->info.n_member = n;
    r->first_angle = room(r, n + 1, sizeof *r->first_angle, &is_lost);
    for (int64_t m = 0; m < n && !is_lost; m++) {
        r->first_angle[m + 1] = r->first_angle[m] + j->data[m]->info.n_angle;
    }
    const int64_t a = is_lost ? 0 : r->first_angle[n];
    const tess_xpcs_param_info *params =
        tess_xpcs_params((tess_xpcs_mode)j->model.mode, &r->info.n_param);
    for (int64_t k = 0; k < r->info.n_param; k++) {
        r->names[k] = params[k].name;
        r->ties[k] = j->joint.ties ? j->joint.ties[k] : TESS_XPCS_TIE_SHARED;
    }
    double **const by_member[] = {&r->q, &r->chi2, &r->reduced_chi2, &r->noise};
    double **const by_param[] = {&r->theta, &r->sd};
    double **const by_angle[] = {&r->phi, &r->contrast, &r->contrast_sd, &r->offset, &r->offset_sd};
    for (int i = 0; i < 4; i++) {
        *by_member[i] = room(r, n, sizeof(double), &is_lost);
    }
    for (int i = 0; i < 2; i++) {
        *by_param[i] = room(r, n * r->info.n_param, sizeof(double), &is_lost);
    }
    for (int i = 0; i < 5; i++) {
        *by_angle[i] = room(r, a, sizeof(double), &is_lost);
    }
    r->paths = room(r, n, sizeof *r->paths, &is_lost);
    r->single = room(r, n, sizeof(tess_xpcs_result *), &is_lost);
    r->info.n_angle = a;
    r->info.mode = j->model.mode;
    return is_lost ? TESS_E_MEMORY : TESS_OK;
}

tess_status tess_xp_joint_warn(tess_xpcs_joint *result, tess_warning warning, const char *format,
                               ...)
{
    char sentence[512];
    va_list args;
    va_start(args, format);
    vsnprintf(sentence, sizeof sentence, format, args);
    va_end(args);
    int64_t n_warning = 0;
    tess_text_printf(&result->warnings, "%s%s [%s]", result->warnings.used ? "\n" : "", sentence,
                     tess_warnings(&n_warning)[warning].id);
    return result->warnings.no_memory ? TESS_E_MEMORY : TESS_OK;
}

// How chi2 compares with that of the members' own fits.
static void find_excess(tess_xp_joint *j)
{
    tess_xpcs_joint *r = j->result;
    int64_t n_free = 0;
    for (int64_t k = 0; k < j->layout.n_param; k++) {
        n_free += j->layout.value[k] >= 0;
    }
    for (int64_t m = 0; m < j->n_member; m++) {
        const tess_xpcs_result_info *single = tess_xpcs_result_get_info(r->single[m]);
        r->info.excess += (r->chi2[m] - single->chi2) / j->unit[m];
    }
    r->info.excess_dof = n_free * j->n_member - j->layout.n_x;
    r->info.excess_p =
        r->info.excess_dof > 0 ? tess_chi2_tail(r->info.excess, (double)r->info.excess_dof) : 1;
}

static void fill_members(tess_xp_joint *j)
{
    tess_xpcs_joint *r = j->result;
    for (int64_t m = 0; m < j->n_member; m++) {
        const tess_xp_member *member = &j->members[m];
        const tess_xpcs_data_info *data = &j->data[m]->info;
        const tess_xpcs_result_info *single = tess_xpcs_result_get_info(r->single[m]);
        tess_xp_layout_theta(&j->layout, j->kept_x, m, r->theta + m * j->layout.n_param);
        for (int64_t a = 0; a < data->n_angle; a++) {
            r->phi[r->first_angle[m] + a] = data->phi[a];
            r->contrast[r->first_angle[m] + a] = member->reduced.contrast[a];
            r->offset[r->first_angle[m] + a] = member->reduced.offset[a];
        }
        r->chi2[m] = 2 * *member->reduced.cost;
        r->reduced_chi2[m] = r->chi2[m] / (double)(single->dof > 0 ? single->dof : 1);
        r->noise[m] = j->unit[m];
        r->paths[m] = single->data_path;
    }
}

static void publish(tess_xp_joint *j)
{
    tess_xpcs_joint *r = j->result;
    tess_xpcs_joint_info *info = &r->info;
    info->struct_size = sizeof *info;
    info->n_unknown = j->layout.n_x;
    info->names = r->names;
    info->ties = r->ties;
    info->unknowns = r->unknowns;
    info->covariance = r->covariance;
    info->paths = r->paths;
    info->q = r->q;
    info->first_angle = r->first_angle;
    info->theta = r->theta;
    info->sd = r->sd;
    info->phi = r->phi;
    info->contrast = r->contrast;
    info->contrast_sd = r->contrast_sd;
    info->offset = r->offset;
    info->offset_sd = r->offset_sd;
    info->chi2 = r->chi2;
    info->reduced_chi2 = r->reduced_chi2;
    info->noise = r->noise;
    info->single = (const tess_xpcs_result *const *)r->single;
    info->tests = r->tests;
    info->q_ref = j->q_ref;
    info->n_evaluation = j->head->n_evaluation;
    info->n_start = j->head->n_start;
    info->n_checkpoint = j->kept.n_saved;
    info->resumed = j->is_resumed;
    info->message = r->message;
    info->identity = r->identity;
    info->tessera_version = tess_version();
}

static tess_status warn_of_ties(tess_xp_joint *j)
{
    tess_xpcs_joint *r = j->result;
    if (!(r->info.excess_p < doubtful)) {
        return TESS_OK;
    }
    int64_t worst = -1;
    for (int64_t k = 0; k < r->info.n_param; k++) {
        const bool is_tested = r->tests[k].dof > 0 && r->tests[k].gain > 0;
        if (is_tested && (worst < 0 || r->tests[k].gain > r->tests[worst].gain)) {
            worst = k;
        }
    }
    TESS_TRY(tess_xp_joint_warn(
        r, TESS_W_XPCS_CHI2,
        "The members do not agree on what they share: chi2 is %.4g above that of their own fits, "
        "for %lld values fewer (p = %.2g)%s%s%s.",
        r->info.excess, (long long)r->info.excess_dof, r->info.excess_p,
        worst >= 0 ? "; freeing " : "", worst >= 0 ? r->names[worst] : "",
        worst >= 0 ? " would help most" : ""));
    return TESS_OK;
}

// A member's noise is taken from its own fit, so that no test of what is shared shows these.
static tess_status warn_of_chi2(tess_xp_joint *j)
{
    tess_xpcs_joint *r = j->result;
    const tess_xp_problem *p = &j->members[0].problem;
    int64_t worst = 0;
    int64_t n_high = 0;
    for (int64_t m = 0; m < j->n_member; m++) {
        worst = r->reduced_chi2[m] > r->reduced_chi2[worst] ? m : worst;
        n_high += r->reduced_chi2[m] > j->config.chi2_threshold;
    }
    if (p->sigma_is_default) {
        TESS_TRY(tess_xp_joint_warn(r, TESS_W_XPCS_SIGMA,
                                    "sigma is a default (%g): reduced chi2 of members is not "
                                    "interpretable; use sigma_mode estimate or give the noise of "
                                    "your data.",
                                    j->config.sigma));
    }
    if (n_high > 0) {
        TESS_TRY(tess_xp_joint_warn(
            r, TESS_W_XPCS_CHI2,
            "Reduced chi2 of %lld of %lld members is above %g, at most %.4g (member %lld): the "
            "model does not describe them, or sigma is too small; look at their own fits.",
            (long long)n_high, (long long)j->n_member, j->config.chi2_threshold,
            r->reduced_chi2[worst], (long long)worst));
    }
    r->info.quality = tess_xp_quality_of_chi2(r->reduced_chi2[worst]);
    return TESS_OK;
}

static tess_status warn_of_unknowns(tess_xp_joint *j)
{
    tess_xpcs_joint *r = j->result;
    for (int64_t i = 0; i < j->layout.n_x; i++) {
        const tess_xpcs_unknown *u = &r->unknowns[i];
        const char *what = u->is_exponent ? "The exponent of " : "";
        char whose[32] = "";
        if (u->member >= 0) {
            snprintf(whose, sizeof whose, " of member %lld", (long long)u->member);
        }
        if (u->status == TESS_XPCS_UNIDENTIFIED) {
            TESS_TRY(tess_xp_joint_warn(r, TESS_W_XPCS_UNIDENTIFIED,
                                        "%s%s%s is not determined by the data; fix it, or share "
                                        "it.",
                                        what, r->names[u->param], whose));
        } else if (u->status != TESS_XPCS_FREE) {
            TESS_TRY(tess_xp_joint_warn(r, TESS_W_XPCS_BOUND, "%s%s%s is at its bound, %g.", what,
                                        r->names[u->param], whose, u->value));
        }
    }
    return TESS_OK;
}

static tess_status warn_of_members(tess_xp_joint *j)
{
    tess_xpcs_joint *r = j->result;
    for (int64_t m = 0; m < j->n_member; m++) {
        const tess_xpcs_result_info *single = tess_xpcs_result_get_info(r->single[m]);
        if (single->convergence != TESS_XPCS_CONVERGED) {
            TESS_TRY(tess_xp_joint_warn(r, TESS_W_XPCS_NOT_CONVERGED,
                                        "The fit of member %lld alone did not converge: what "
                                        "sharing costs is not known.",
                                        (long long)m));
        }
        for (int64_t k = 0; k < r->info.n_param; k++) {
            const tess_xp_problem *p = &j->members[m].problem;
            const double theta = r->theta[m * r->info.n_param + k];
            const bool is_out = theta < p->lower[k] || theta > p->upper[k];
            if (r->ties[k] == TESS_XPCS_TIE_POWER && is_out) {
                TESS_TRY(tess_xp_joint_warn(r, TESS_W_XPCS_BOUND,
                                            "%s of member %lld, %g, is outside its bounds, which "
                                            "hold for the value at q_ref alone.",
                                            r->names[k], (long long)m, theta));
            }
        }
    }
    return TESS_OK;
}

static tess_status judge(tess_xp_joint *j)
{
    tess_xpcs_joint *r = j->result;
    const tess_xp_joint_state *head = j->head;
    const bool is_settled = head->unsettled <= tess_xp_settled_step;
    r->info.convergence = head->status > 0 && is_settled ? TESS_XPCS_CONVERGED
                          : head->status >= 0            ? TESS_XPCS_MAX_ITER
                                                         : TESS_XPCS_FAILED;
    if (r->info.convergence == TESS_XPCS_CONVERGED) {
        snprintf(r->message, sizeof r->message, "at the minimum of all %lld members",
                 (long long)j->n_member);
    } else {
        snprintf(r->message, sizeof r->message,
                 "stopped before the minimum: a step of %.2g errors is left after %lld evaluations",
                 head->unsettled, (long long)head->n_evaluation);
        TESS_TRY(tess_xp_joint_warn(r, TESS_W_XPCS_NOT_CONVERGED,
                                    "The joint fit did not converge: %s.", r->message));
    }
    TESS_TRY(warn_of_ties(j));
    TESS_TRY(warn_of_unknowns(j));
    TESS_TRY(warn_of_members(j));
    TESS_TRY(warn_of_chi2(j));
    if (r->info.convergence != TESS_XPCS_CONVERGED) {
        r->info.quality = TESS_XPCS_POOR;
    } else if (r->warnings.used > 0 && r->info.quality == TESS_XPCS_GOOD) {
        r->info.quality = TESS_XPCS_MARGINAL;
    }
    return tess_text_finish(&r->warnings, &r->info.warnings);
}

tess_status tess_xp_joint_conclude(tess_xp_joint *j)
{
    tess_xpcs_joint *r = j->result;
    const int64_t n = j->layout.n_x;
    bool is_lost = false;
    r->unknowns = room(r, n, sizeof *r->unknowns, &is_lost);
    r->covariance = room(r, n * n, sizeof *r->covariance, &is_lost);
    if (is_lost) {
        return TESS_E_MEMORY;
    }
    fill_members(j);
    TESS_TRY(tess_xp_joint_errors(j));
    find_excess(j);
    TESS_TRY(tess_xp_joint_tests(j));
    publish(j);
    return judge(j);
}
