// A mixture and the bins it is asked at, as the stages take them.
#include "systems/decode/gmm/gmm.h"

#include <math.h>

static const double LOWEST_VALUE = -700;

void tess_de_gmm_bins(const tess_decode_encoding *encoding, int64_t electrode, tess_gmm_bins *out)
{
    const tess_de_gmm *gmm = encoding->model;
    const tess_decode_environment_info *env = tess_decode_environment_get_info(encoding->env);
    const tess_mixture *m = &gmm->joint[electrode];
    const bool is_absolute = encoding->info.floor == TESS_DECODE_FLOOR_ABSOLUTE;
    const bool is_relative = encoding->info.floor == TESS_DECODE_FLOOR_RELATIVE;
    *out = (tess_gmm_bins){.n_component = m->n_component,
                           .n_feature = encoding->info.n_feature[electrode],
                           .n_dim = gmm->n_dim,
                           .mean = m->mean,
                           .factor = m->factor,
                           .log_norm = m->log_norm,
                           .n_bin = env->n_interior,
                           .centre = env->interior_centers,
                           .log_occupancy = gmm->log_occupancy,
                           .log_rate = log(gmm->mean_rates[electrode]),
                           .floor = is_absolute ? TESS_DE_LOG_EPS : LOWEST_VALUE,
                           .below = is_relative ? encoding->config.floor_nats : (double)INFINITY};
}

void tess_de_gmm_count(const tess_decode_encoding *encoding, const int64_t *n_floored, int64_t n,
                       tess_decode_likelihood_report *report)
{
    const int64_t n_bin = encoding->info.n_interior;
    for (int64_t i = 0; i < n; i++) {
        report->n_value += n_bin;
        report->n_floored += n_floored[i];
        report->n_flat_spike += n_floored[i] == n_bin;
    }
}
