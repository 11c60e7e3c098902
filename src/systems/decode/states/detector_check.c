// What a detector must be made of.
#include "systems/decode/states/detector_check.h"
#include "base/status.h"

#include <math.h>
#include <stdio.h>

// Of sums of probabilities that were written down in decimal.
static const double SUM_TOLERANCE = 1e-6;

// row -1: there is only one.
static tess_status check_row(const char *name, int64_t row, const double *values, int64_t n)
{
    double sum = 0;
    char where[64];
    if (row < 0) {
        snprintf(where, sizeof where, "%s", name);
    } else {
        snprintf(where, sizeof where, "%s: row %lld", name, (long long)row);
    }
    for (int64_t i = 0; i < n; i++) {
        // Estimates of EM may be 1 and a rounding.
        if (!(values[i] >= 0 && values[i] <= 1 + SUM_TOLERANCE)) {
            TESS_FAIL(TESS_E_RANGE, "%s: value %lld is %g; a probability from 0 to 1 is expected",
                      where, (long long)i, values[i]);
        }
        sum += values[i];
    }
    if (fabs(sum - 1) > SUM_TOLERANCE) {
        TESS_FAIL(TESS_E_RANGE, "%s sums to %.9g; it must sum to 1 (within %g)", where, sum,
                  SUM_TOLERANCE);
    }
    return TESS_OK;
}

static tess_status check_index(int32_t state, const tess_decode_state *s, const char *what,
                               int64_t index, int64_t n)
{
    if (index < 0 || index >= n) {
        TESS_FAIL(TESS_E_ARGUMENT, "state %d ('%s'): %s %lld is unknown; there %s %lld of them",
                  state, s->name ? s->name : "", what, (long long)index, n == 1 ? "is" : "are",
                  (long long)n);
    }
    return TESS_OK;
}

static tess_status check_state(int32_t index, const tess_decode_state *s,
                               const tess_de_parts *parts)
{
    if (!s->name) {
        TESS_FAIL(TESS_E_ARGUMENT, "state %d: has no name", index);
    }
    if (s->is_no_spike && s->is_local) {
        TESS_FAIL(TESS_E_ARGUMENT, "state %d ('%s'): cannot be both local and no-spike", index,
                  s->name);
    }
    if (s->is_no_spike) {
        return TESS_OK;
    }
    TESS_TRY(check_index(index, s, "environment", s->environment, parts->n_environment));
    TESS_TRY(check_index(index, s, "encoding", s->encoding, parts->n_encoding));
    const tess_decode_encoding *encoding = parts->encodings[s->encoding];
    if (!parts->environments[s->environment] || !encoding) {
        TESS_FAIL(TESS_E_ARGUMENT, "state %d ('%s'): its %s is NULL", index, s->name,
                  encoding ? "environment" : "encoding");
    }
    if (encoding->env != parts->environments[s->environment]) {
        TESS_FAIL(TESS_E_ARGUMENT,
                  "state %d ('%s'): encoding %d was fitted in environment '%s', the state is in "
                  "'%s'; fit one encoding per environment",
                  index, s->name, s->encoding,
                  tess_decode_environment_get_info(encoding->env)->name,
                  tess_decode_environment_get_info(parts->environments[s->environment])->name);
    }
    return TESS_OK;
}

static tess_status check_pointers(const tess_decode_detector_config *config)
{
    if (config->n_state < 1) {
        TESS_FAIL(TESS_E_ARGUMENT, "n_state is %d; a detector has at least one state",
                  config->n_state);
    }
    const struct {
        const char *name;
        const void *pointer;
    } needed[] = {{"states", config->states},
                  {"movements", config->movements},
                  {"discrete_initial", config->discrete_initial},
                  {"discrete_transition", config->discrete_transition}};
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
        if (!needed[i].pointer) {
            TESS_FAIL(TESS_E_ARGUMENT, "%s is NULL; a detector needs it", needed[i].name);
        }
    }
    if (config->n_coefficient < 0 || (config->n_coefficient > 0 && !config->coefficients)) {
        TESS_FAIL(TESS_E_ARGUMENT, "n_coefficient is %lld%s", (long long)config->n_coefficient,
                  config->n_coefficient > 0 ? " but coefficients is NULL" : "; 0 or more expected");
    }
    return TESS_OK;
}

tess_status tess_de_check_config(const tess_decode_detector_config *config,
                                 const tess_de_parts *parts)
{
    TESS_TRY(tess_params_check(tess_decode_detector_params(), config));
    TESS_TRY(check_pointers(config));
    if (config->local_position_std < 0 && config->local_position_std != -1) {
        TESS_FAIL(TESS_E_RANGE,
                  "local_position_std is %g cm; 0 or more, or -1 for a Local state of one bin",
                  config->local_position_std);
    }
    const int32_t n = config->n_state;
    for (int32_t i = 0; i < n; i++) {
        TESS_TRY(check_state(i, &config->states[i], parts));
    }
    TESS_TRY(check_row("discrete_initial", -1, config->discrete_initial, n));
    for (int32_t i = 0; i < n; i++) {
        TESS_TRY(check_row("discrete_transition", i,
                           config->discrete_transition + (size_t)i * (size_t)n, n));
    }
    for (int64_t i = 0; i < config->n_coefficient * n * (n - 1); i++) {
        if (!isfinite(config->coefficients[i])) {
            TESS_FAIL(TESS_E_NUMERIC, "coefficients: value %lld is %g; finite numbers expected",
                      (long long)i, config->coefficients[i]);
        }
    }
    return TESS_OK;
}

tess_status tess_de_check_initial(const double *initial, int64_t n_state_bin)
{
    return check_row("initial", -1, initial, n_state_bin);
}
