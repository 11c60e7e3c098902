// The power law: its fit, and its evidence with and without offsets.
#include "base/status.h"
#include "systems/xpcs/rates/rates.h"

#include <math.h>
#include <string.h>

enum { DRAWS = 100 }; // of each chain

static const double most_k = 0.7; // of Pareto: weights of importance that can be trusted

static tess_status weigh(const tess_xp_rates_power_law *law, const tess_xpcs_fit_config *config,
                         const tess_xpcs_result *fit, tess_xp_rates_weight *out)
{
    tess_xpcs_posterior *draws = NULL;
    const tess_status status =
        tess_xpcs_sample(law->ctx, law->data, law->model, fit, config, &law->sampling, &draws);
    *out = (tess_xp_rates_weight){.log_evidence = (double)NAN, .error = (double)NAN};
    if (status == TESS_E_NUMERIC) {
        tess_error_clear();
        return TESS_OK; // no normal at the top
    }
    TESS_TRY(status);
    const tess_xpcs_posterior_info *p = tess_xpcs_posterior_get_info(draws);
    const double n = (double)(p->n_chain * p->n_draw);
    out->is_sound = p->pareto_k < most_k;
    out->log_evidence = out->is_sound || p->n_mode < 1 ? p->log_evidence : p->mode_evidence[0];
    out->error = sqrt(fmax(1 / p->effective_weights - 1 / n, 0));
    tess_xpcs_posterior_destroy(draws);
    return TESS_OK;
}

// Offsets stay at 0, everything else begins where the whole law ended.
static tess_status weigh_without(const tess_xp_rates_power_law *law, tess_xp_rates_weight *out)
{
    const tess_xpcs_result_info *whole = tess_xpcs_result_get_info(law->fit);
    tess_xpcs_fit_config config = *law->config;
    tess_xpcs_result *fit = NULL;
    double start[TESS_XPCS_MAX_PARAM];
    uint8_t is_fixed[TESS_XPCS_MAX_PARAM] = {0};
    memcpy(start, whole->theta, (size_t)whole->n_param * sizeof *start);
    for (int64_t k = 0; k < whole->n_param; k++) {
        const bool is_offset = k == 2 || k == 5;
        is_fixed[k] = is_offset || (config.is_fixed && config.is_fixed[k]);
        start[k] = is_offset ? 0 : start[k];
    }
    config.start = start;
    config.is_fixed = is_fixed;
    config.n_start = 1;
    TESS_TRY(tess_xpcs_fit(law->ctx, law->data, law->model, &config, &fit));
    const tess_status status = weigh(law, &config, fit, out);
    tess_xpcs_result_destroy(fit);
    return status;
}

tess_status tess_xp_rates_fit_power(tess_xp_rates_power_law *law)
{
    tess_xp_rates_weight *both = &law->both;
    tess_xpcs_sample_config_init(&law->sampling, sizeof law->sampling);
    law->sampling.method = TESS_XPCS_METHOD_LAPLACE;
    law->sampling.n_draw = DRAWS;
    TESS_TRY(tess_xpcs_fit(law->ctx, law->data, law->model, law->config, &law->fit));
    TESS_TRY(weigh(law, law->config, law->fit, &law->whole));
    TESS_TRY(weigh_without(law, &law->without));
    // Either was as likely before; one that has no evidence counts for nothing.
    const tess_xp_rates_weight *most =
        law->without.log_evidence > law->whole.log_evidence || isnan(law->whole.log_evidence)
            ? &law->without
            : &law->whole;
    const tess_xp_rates_weight *least = most == &law->whole ? &law->without : &law->whole;
    *both = *most;
    const double apart = least->log_evidence - most->log_evidence;
    both->log_evidence += log(0.5 * (1 + (isnan(apart) ? 0 : exp(apart))));
    return TESS_OK;
}
