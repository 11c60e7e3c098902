// Errors of the unknowns, of every member's parameters, contrasts and offsets; and what the ties
// cost.
#include "base/status.h"
#include "numerics/box_step.h"
#include "numerics/chi2.h"
#include "systems/xpcs/fit/covariance.h"
#include "systems/xpcs/joint/joint.h"

#include <math.h>
#include <string.h>

enum { P = TESS_XPCS_MAX_PARAM };

typedef struct errors {
    tess_xp_joint *j;
    int64_t n; // unknowns in the matrix
    int64_t *chosen;
    double *matrix;
    double *inverse;
    double *work;
    uint8_t *is_lost;
} errors;

// Inverts the Hessian of the unknowns that are free, with one at a bound if it is not -1.
static double invert(errors *e, int64_t besides)
{
    const int64_t n_x = e->j->layout.n_x;
    const tess_xpcs_unknown *unknowns = e->j->result->unknowns;
    e->n = 0;
    for (int64_t i = 0; i < n_x; i++) {
        const int32_t status = unknowns[i].status;
        if ((status != TESS_XPCS_AT_LOWER && status != TESS_XPCS_AT_UPPER) || i == besides) {
            e->chosen[e->n++] = i;
        }
    }
    for (int64_t i = 0; i < e->n * e->n; i++) {
        e->matrix[i] = e->j->hessian[e->chosen[i / e->n] * n_x + e->chosen[i % e->n]];
    }
    return tess_xp_invert(e->matrix, e->n, e->inverse, e->is_lost, e->work);
}

static void fill_unknowns(errors *e)
{
    tess_xp_joint *j = e->j;
    const int64_t n_x = j->layout.n_x;
    tess_xpcs_joint *r = j->result;
    for (int64_t i = 0; i < n_x; i++) {
        r->unknowns[i] = tess_xp_layout_unknown(&j->layout, i);
        r->unknowns[i].value = j->kept_x[i];
        r->unknowns[i].status = tess_xp_status_of(j->kept_x[i], j->lower[i], j->upper[i]);
    }
    r->info.condition = invert(e, -1);
    for (int64_t i = 0; i < e->n; i++) {
        for (int64_t k = 0; k < e->n; k++) {
            r->covariance[e->chosen[i] * n_x + e->chosen[k]] = e->inverse[i * e->n + k];
        }
    }
    for (int64_t i = 0; i < e->n; i++) {
        tess_xpcs_unknown *u = &r->unknowns[e->chosen[i]];
        u->status = e->is_lost[i] ? TESS_XPCS_UNIDENTIFIED : u->status;
    }
    for (int64_t i = 0; i < n_x; i++) { // at a bound: as if it were free, the others there not
        if (r->unknowns[i].status != TESS_XPCS_AT_LOWER &&
            r->unknowns[i].status != TESS_XPCS_AT_UPPER) {
            continue;
        }
        (void)invert(e, i);
        for (int64_t k = 0; k < e->n; k++) {
            if (e->chosen[k] == i) {
                r->covariance[i * (n_x + 1)] =
                    e->is_lost[k] ? (double)INFINITY : e->inverse[k * (e->n + 1)];
            }
        }
    }
}

// Nothing is known of what is unidentified.
static void spread_lost(tess_xp_joint *j)
{
    const int64_t n = j->layout.n_x;
    tess_xpcs_joint *r = j->result;
    for (int64_t i = 0; i < n; i++) {
        if (r->unknowns[i].status == TESS_XPCS_UNIDENTIFIED) {
            for (int64_t k = 0; k < n; k++) {
                r->covariance[i * n + k] = r->covariance[k * n + i] = 0;
            }
            r->covariance[i * (n + 1)] = (double)INFINITY;
        }
        r->unknowns[i].sd = sqrt(r->covariance[i * (n + 1)]);
    }
}

// Covariance of parameters k and l of a member.
static double covariance_of(const tess_xp_joint *j, int64_t m, int64_t k, int64_t l)
{
    int64_t at[2][2];
    double slope[2][2];
    double sum = 0;
    const int64_t n_k = tess_xp_layout_slope(&j->layout, j->kept_x, m, k, at[0], slope[0]);
    const int64_t n_l = tess_xp_layout_slope(&j->layout, j->kept_x, m, l, at[1], slope[1]);
    for (int64_t a = 0; a < n_k; a++) {
        for (int64_t b = 0; b < n_l; b++) {
            const double weight = slope[0][a] * slope[1][b];
            const double c = j->result->covariance[at[0][a] * j->layout.n_x + at[1][b]];
            sum += weight == 0 ? 0 : weight * c;
        }
    }
    return sum;
}

// Contrasts and offsets of a member: their own errors, and those that parameters hand on to them.
static tess_status fill_scaling(tess_xp_joint *j, int64_t m, const double *theta_covariance)
{
    const tess_xp_member *member = &j->members[m];
    const int64_t p = j->layout.n_param;
    const int64_t n = member->problem.n_angle;
    const int64_t first = j->result->first_angle[m];
    const size_t bytes = (size_t)(4 * n * n) * sizeof(double);
    double *own =
        tess_heap_alloc_zero(&j->ctx->heap, bytes, TESS_TAG_SCRATCH, "covariance of the scaling");
    if (!own) {
        return TESS_E_MEMORY;
    }
    tess_xp_scaling_inverse(&member->problem.scaling, member->sums, &member->reduced, own);
    for (int64_t i = 0; i < 2 * n; i++) {
        const double *response = member->reduced.response + i * p;
        double sum = j->unit[m] * own[i * (2 * n + 1)];
        for (int64_t k = 0; k < p * p; k++) {
            const double c = theta_covariance[k];
            sum += isfinite(c) ? response[k / p] * c * response[k % p] : 0;
        }
        const bool is_contrast = i < n;
        const int32_t status =
            is_contrast ? member->reduced.contrast_status[i] : member->reduced.offset_status[i - n];
        const double sd = status == TESS_XPCS_UNIDENTIFIED ? (double)INFINITY : sqrt(sum);
        *(is_contrast ? &j->result->contrast_sd[first + i] : &j->result->offset_sd[first + i - n]) =
            sd;
    }
    tess_heap_free(&j->ctx->heap, own, bytes, TESS_TAG_SCRATCH);
    return TESS_OK;
}

tess_status tess_xp_joint_errors(tess_xp_joint *j)
{
    const int64_t n = j->layout.n_x;
    const int64_t p = j->layout.n_param;
    errors e = {.j = j,
                .chosen = tess_blocks_alloc(&j->memory, n, sizeof(int64_t), "errors"),
                .matrix = tess_blocks_alloc(&j->memory, n * n, sizeof(double), "errors"),
                .inverse = tess_blocks_alloc(&j->memory, n * n, sizeof(double), "errors"),
                .work = j->work,
                .is_lost = tess_blocks_alloc(&j->memory, n, 1, "errors")};
    if (!e.chosen || !e.matrix || !e.inverse || !e.is_lost) {
        return TESS_E_MEMORY;
    }
    fill_unknowns(&e);
    spread_lost(j);
    for (int64_t m = 0; m < j->n_member; m++) {
        double covariance[P * P];
        for (int64_t i = 0; i < p * p; i++) {
            covariance[i] = covariance_of(j, m, i / p, i % p);
        }
        for (int64_t k = 0; k < p; k++) {
            j->result->sd[m * p + k] = sqrt(covariance[k * (p + 1)]);
        }
        TESS_TRY(fill_scaling(j, m, covariance));
    }
    return TESS_OK;
}

// The step to the minimum of the quadratic where parameter k alone is free in every member.
static tess_status test_tie(tess_xp_joint *j, int64_t k, tess_xpcs_tie_test *test)
{
    int32_t ties[P];
    tess_xp_layout loose;
    memcpy(ties, j->layout.ties, sizeof ties);
    ties[k] = TESS_XPCS_TIE_EACH;
    tess_xp_layout_make(&loose, j->n_member, j->layout.n_param, ties, j->layout.fixed,
                        j->log_ratio);
    const int64_t n = loose.n_x;
    const int64_t n_item = n * (2 * n + 9);
    tess_blocks memory;
    tess_blocks_init(&memory, &j->ctx->heap);
    double *x = tess_blocks_alloc(&memory, n_item, sizeof *x, "test of a tie");
    if (!x) {
        return TESS_E_MEMORY;
    }
    double *lower = x + n;
    double *upper = lower + n;
    double *gradient = upper + n;
    double *step = gradient + n;
    double *hessian = step + n;
    double *work = hessian + n * n; // [n (n + 4)]
    for (int64_t i = 0; i < n; i++) {
        const tess_xpcs_unknown u = tess_xp_layout_unknown(&loose, i);
        const int64_t from =
            u.param == k ? -1 : j->layout.value[u.param] + i - loose.value[u.param];
        const tess_xp_problem *p = &j->members[0].problem;
        x[i] = from >= 0 ? j->kept_x[from] : j->result->theta[u.member * loose.n_param + k];
        lower[i] = from >= 0 ? j->lower[from] : fmin(p->lower[k], x[i]);
        upper[i] = from >= 0 ? j->upper[from] : fmax(p->upper[k], x[i]);
    }
    for (int64_t m = 0; m < j->n_member; m++) {
        tess_xp_layout_gather(&loose, x, m, j->members[m].reduced.gradient,
                              j->members[m].reduced.hessian, 1 / j->unit[m], gradient, hessian);
    }
    test->gain = 2 * tess_box_step(n, gradient, hessian, x, lower, upper, NULL, step, work);
    test->dof = n - j->layout.n_x;
    test->p = tess_chi2_tail(test->gain, (double)test->dof);
    tess_blocks_free(&memory);
    return TESS_OK;
}

tess_status tess_xp_joint_tests(tess_xp_joint *j)
{
    for (int64_t k = 0; k < j->layout.n_param; k++) {
        tess_xpcs_tie_test *test = &j->result->tests[k];
        *test = (tess_xpcs_tie_test){.param = k, .p = 1};
        const bool is_free = j->layout.value[k] >= 0;
        const int64_t n_value = j->layout.ties[k] == TESS_XPCS_TIE_POWER ? 2 : 1;
        if (is_free && j->layout.ties[k] != TESS_XPCS_TIE_EACH && j->n_member > n_value) {
            TESS_TRY(test_tie(j, k, test));
        }
    }
    return TESS_OK;
}
