// Gradients against finite differences in f64: of the values, and of the gradients themselves.
#include "systems/clifford/check/check.h"

#include "base/rng.h"
#include "base/status.h"

#include <math.h>

// Few items, so that every call is quick and a kink of the norm is seldom crossed; not one feature,
// whose norm has next to no derivative.
enum { N_ROW = 5, N_FEATURE = 7, N_DIRECTION = 3, N_STEP = 3 };

// Shorter ones where a longer one crosses a kink.
static const double STEPS[N_STEP] = {2e-5, 2e-6, 2e-7};
static const double ALLOWED = 1e-7;

// The function that is differentiated: a pass, and what its outputs are multiplied with.
typedef struct differences {
    tess_cl_trial *trial;
    tess_clifford_pass pass; // whose outputs are differentiated
    tess_cl_values weights;  // of the outputs
    tess_cl_values at;       // inputs
    tess_cl_values along;    // direction of the inputs
} differences;

static bool is_output(tess_clifford_pass pass, int operand)
{
    const tess_cl_operands operands = {.pass = pass};
    return tess_cl_is_output(&operands, operand);
}

// sum <weight, output> with the inputs moved by a step.
static tess_status evaluate(const differences *d, double step, double *sum)
{
    tess_cl_values values = {.of = {NULL}};
    for (int i = 0; i < CL_N_OPERAND; i++) {
        if (!d->at.of[i]) {
            continue;
        }
        values.of[i] = tess_cl_trial_room(d->trial, i);
        if (!values.of[i]) {
            return TESS_E_MEMORY;
        }
        for (int64_t k = 0; d->along.of[i] && k < tess_cl_trial_items(d->trial, i); k++) {
            values.of[i][k] = d->at.of[i][k] + step * d->along.of[i][k];
        }
    }
    TESS_TRY(tess_cl_trial_run(d->trial, d->pass, TESS_F64, &values));
    *sum = 0;
    for (int i = 0; i < CL_N_OPERAND; i++) {
        for (int64_t k = 0; d->weights.of[i] && k < tess_cl_trial_items(d->trial, i); k++) {
            *sum += d->weights.of[i][k] * values.of[i][k];
        }
    }
    return TESS_OK;
}

// Five points: the error is of the fourth power of the step.
static tess_status derivative(const differences *d, double step, double *out)
{
    static const double points[4] = {-2, -1, 1, 2};
    static const double factors[4] = {1.0 / 12, -8.0 / 12, 8.0 / 12, -1.0 / 12};
    *out = 0;
    for (int i = 0; i < 4; i++) {
        double sum;
        TESS_TRY(evaluate(d, points[i] * step, &sum));
        *out += factors[i] * sum / step;
    }
    return TESS_OK;
}

// The gradient of an input of the pass below, where the pass above leaves it.
static int gradient_of(tess_clifford_pass pass, int operand)
{
    if (operand == CL_GZ) {
        return CL_DGZ;
    }
    return (pass == TESS_CLIFFORD_FORWARD ? CL_GRADIENT : CL_RESULT) + operand;
}

// Error of the gradients in all, along random directions of all inputs together.
static tess_status compare(differences *d, const tess_cl_values *gradients, uint64_t seed,
                           double *worst)
{
    for (uint32_t n = 0; n < N_DIRECTION; n++) {
        double have = 0;
        double size = 0;
        d->along = (tess_cl_values){.of = {NULL}};
        for (int i = 0; i < CL_N_OPERAND; i++) {
            if (!d->at.of[i] || is_output(d->pass, i)) {
                continue;
            }
            const int64_t n_item = tess_cl_trial_items(d->trial, i);
            const double *gradient = gradients->of[gradient_of(d->pass, i)];
            const tess_philox_stream stream = tess_philox_open(seed, (uint32_t)i, 16 + n);
            d->along.of[i] = tess_cl_trial_room(d->trial, i);
            if (!d->along.of[i]) {
                return TESS_E_MEMORY;
            }
            tess_philox_normals(&stream, 0, (size_t)n_item, d->along.of[i]);
            for (int64_t k = 0; k < n_item; k++) {
                have += gradient[k] * d->along.of[i][k];
                size += gradient[k] * gradient[k];
            }
        }
        double error = (double)INFINITY;
        for (int i = 0; i < N_STEP && !(error <= ALLOWED); i++) {
            double want;
            TESS_TRY(derivative(d, STEPS[i], &want));
            error = fmin(error, fabs(have - want) / sqrt(size));
        }
        *worst = error <= *worst ? *worst : error;
    }
    return TESS_OK;
}

// gz of the backward pass weighs z; cotangents of the double backward pass weigh the gradients.
static void split(const tess_cl_values *above, tess_clifford_pass pass, differences *d)
{
    if (pass == TESS_CLIFFORD_FORWARD) {
        d->weights.of[CL_Z] = above->of[CL_GZ];
        d->at.of[CL_Z] = above->of[CL_GZ]; // there; its values are overwritten
    }
    for (int m = 0; m < CL_N_MEMBER; m++) {
        d->at.of[m] = above->of[m];
        if (pass == TESS_CLIFFORD_BACKWARD) {
            d->weights.of[CL_GRADIENT + m] = above->of[CL_COTANGENT + m];
            d->at.of[CL_GRADIENT + m] = above->of[CL_COTANGENT + m];
        }
    }
    if (pass == TESS_CLIFFORD_BACKWARD) {
        d->at.of[CL_GZ] = above->of[CL_GZ];
    }
}

static tess_status check_kind(tess_cl_check *check, tess_blocks *blocks, tess_clifford_kind kind,
                              tess_clifford_pass pass)
{
    const tess_clifford_pass above =
        pass == TESS_CLIFFORD_FORWARD ? TESS_CLIFFORD_BACKWARD : TESS_CLIFFORD_DOUBLE_BACKWARD;
    const uint64_t seed = (uint64_t)check->config.seed;
    tess_cl_trial trial;
    TESS_TRY(tess_cl_trial_init(&trial, check->ctx, blocks, check->metric, kind,
                                TESS_CLIFFORD_BIAS_SCALAR, N_ROW, N_FEATURE));
    tess_cl_values gradients;
    TESS_TRY(tess_cl_trial_draw(&trial, above, seed, &gradients));
    TESS_TRY(tess_cl_trial_run(&trial, above, TESS_F64, &gradients));
    differences d = {.trial = &trial, .pass = pass};
    split(&gradients, pass, &d);
    double worst = 0;
    TESS_TRY(compare(&d, &gradients, seed, &worst));
    tess_cl_check_add(check, TESS_F64, worst, ALLOWED, false, "%s.%s",
                      pass == TESS_CLIFFORD_FORWARD ? "gradient" : "double_backward",
                      tess_cl_check_kind_name(kind));
    return tess_cl_check_next(check, blocks);
}

int64_t tess_cl_check_n_gradient(void)
{
    return 2 * CL_N_KIND;
}

tess_status tess_cl_check_gradients(tess_cl_check *check, tess_blocks *blocks)
{
    for (int pass = TESS_CLIFFORD_FORWARD; pass <= TESS_CLIFFORD_BACKWARD; pass++) {
        for (int kind = TESS_CLIFFORD_GATE; kind <= TESS_CLIFFORD_FC_LAYER; kind++) {
            TESS_TRY(check_kind(check, blocks, (tess_clifford_kind)kind, (tess_clifford_pass)pass));
        }
    }
    return TESS_OK;
}
