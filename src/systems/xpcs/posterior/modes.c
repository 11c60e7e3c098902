#include "systems/xpcs/posterior/modes.h"

#include "base/rng.h"
#include "base/status.h"
#include "systems/xpcs/model/two.h"

#include <math.h>
#include <string.h>

enum { JUMPS = 11, CHOICES = 12 }; // purposes of random numbers

static const double MUCH_WORSE = 50; // in the log likelihood, of a minimum
static const double NO_WEIGHT = 20;  // in the log, less than the best

static double distance2(const tess_xp_normal *normal, const double *x)
{
    const double top = tess_xp_normal_at(normal, normal->u);
    return 2 * (top - tess_xp_normal_at(normal, x));
}

static bool is_new(const tess_xp_modes *m, const tess_xp_normal *found)
{
    for (int64_t k = 0; k < m->n; k++) {
        if (distance2(&m->at[k], found->u) < (double)found->n) {
            return false;
        }
    }
    return true;
}

// Those that the best leaves some weight, with weights that add up to 1.
static void weigh(tess_xp_modes *m)
{
    double best = -(double)INFINITY;
    double sum = 0;
    int64_t n = 0;
    for (int64_t k = 0; k < m->n; k++) {
        best = fmax(best, tess_xp_normal_evidence(&m->at[k]));
    }
    for (int64_t k = 0; k < m->n; k++) {
        const double weight = tess_xp_normal_evidence(&m->at[k]) - best;
        if (weight > -NO_WEIGHT) {
            m->at[n] = m->at[k];
            m->log_weight[n++] = weight;
            sum += exp(weight);
        }
    }
    m->n = n;
    for (int64_t k = 0; k < n; k++) {
        m->log_weight[k] -= log(sum);
    }
}

// Whether a minimum is the fit's with reference and sample in each other's place: the same sample,
// described otherwise. Draws from both would have means of nothing.
static bool is_exchanged(const tess_xp_sampler *s, int64_t basin)
{
    const double middle = 0.5 * s->model.dt_s * (double)s->data->info.n_frame;
    return s->model.mode == TESS_XPCS_TWO_COMPONENT && basin > 0 &&
           tess_xp_two_is_exchanged(s->fit->theta, s->fit->basins[basin].theta, middle);
}

tess_status tess_xp_modes_find(tess_xp_sampler *s, tess_xp_modes *m)
{
    m->n = 0;
    if (!s->config.modes || s->fit->n_basin < 2) {
        return TESS_OK;
    }
    const double half = 0.5 * (double)s->data->info.n_used;
    for (int64_t k = 0; k < s->fit->n_basin && m->n < TESS_XP_MAX_MODE; k++) {
        const double *theta = k == 0 ? s->fit->theta : s->fit->basins[k].theta;
        if (half * log(s->fit->basins[k].cost / s->fit->basins[0].cost) > MUCH_WORSE) {
            continue; // not worth a climb
        }
        if (is_exchanged(s, k)) {
            tess_text_printf(&s->warnings,
                             "reference and sample can be exchanged (minimum %lld of the fit): the "
                             "draws are of the hill where the fit has them; say which is which by "
                             "bounds on D0_ref, D0_sample or f0\n",
                             (long long)k + 1);
            continue;
        }
        double u[TESS_XP_MAX_COORD];
        tess_xp_normal found;
        bool is_found;
        tess_xp_sampler_start(s, theta, s->tally.noise, u);
        TESS_TRY(tess_xp_laplace_climb(s, u, &found, &is_found));
        if (is_found && is_new(m, &found)) {
            m->at[m->n++] = found;
        }
    }
    weigh(m);
    return TESS_OK;
}

void tess_xp_modes_propose(const tess_xp_sampler *s, const tess_xp_modes *m, int64_t chain,
                           int64_t draw, double *x)
{
    const int64_t n = s->coords.n;
    const tess_philox_stream choice =
        tess_philox_open((uint64_t)s->config.seed, (uint32_t)chain, CHOICES);
    const tess_philox_stream normals =
        tess_philox_open((uint64_t)s->config.seed, (uint32_t)chain, JUMPS);
    double z[TESS_XP_MAX_COORD + 1];
    double left = tess_philox_uniform(&choice, (uint64_t)(2 * draw));
    int64_t k = 0;
    while (k + 1 < m->n && left >= exp(m->log_weight[k])) {
        left -= exp(m->log_weight[k++]);
    }
    tess_philox_normals(&normals, (uint64_t)(draw * (n + n % 2)), (size_t)n, z);
    (void)tess_xp_normal_draw(&m->at[k], z, x);
}

bool tess_xp_modes_accept(const tess_xp_sampler *s, int64_t chain, int64_t draw, double log_ratio)
{
    const tess_philox_stream choice =
        tess_philox_open((uint64_t)s->config.seed, (uint32_t)chain, CHOICES);
    return tess_philox_uniform(&choice, (uint64_t)(2 * draw + 1)) < exp(log_ratio);
}

double tess_xp_modes_density(const tess_xp_modes *m, const double *x, int64_t *which)
{
    double parts[TESS_XP_MAX_MODE] = {0};
    double sum = 0;
    *which = 0;
    for (int64_t k = 0; k < m->n; k++) {
        parts[k] = m->log_weight[k] + tess_xp_normal_at(&m->at[k], x);
        *which = parts[k] > parts[*which] ? k : *which;
    }
    for (int64_t k = 0; k < m->n; k++) {
        sum += exp(parts[k] - parts[*which]);
    }
    return parts[*which] + log(sum);
}

void tess_xp_modes_tell(tess_xp_sampler *s, const tess_xp_modes *m)
{
    tess_xpcs_posterior_info *info = &s->out->info;
    const int64_t n = info->n_chain * info->n_draw;
    double *weight = TESS_XP_OWN(double, info->mode_weight);
    info->n_mode = m->n > 0 ? m->n : 1;
    memcpy(TESS_XP_OWN(double, info->mode_theta), s->fit->theta,
           (size_t)info->n_param * sizeof(double));
    if (s->config.method != TESS_XPCS_METHOD_LAPLACE) { // which has climbed to one
        TESS_XP_OWN(double, info->mode_evidence)[0] = (double)NAN;
    }
    for (int64_t k = 0; k < m->n; k++) {
        tess_xp_place place;
        tess_xp_coords_place(&s->coords, m->at[k].u, &place);
        memcpy(TESS_XP_OWN(double, info->mode_theta) + k * info->n_param, place.theta,
               (size_t)info->n_param * sizeof(double));
        TESS_XP_OWN(double, info->mode_evidence)
        [k] = tess_xp_told_evidence(s, tess_xp_normal_evidence(&m->at[k]));
    }
    for (int64_t i = 0; i < n; i++) {
        weight[info->mode[i]] += 1 / (double)n;
    }
    if (m->n > 1) {
        tess_text_printf(&s->warnings,
                         "the posterior has %lld separate hills; means and deviations are those of "
                         "all of them together\n",
                         (long long)m->n);
    }
}
