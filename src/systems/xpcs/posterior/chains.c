// The chains: each asks for a point, and a pass over the data answers all of them.
#include "base/rng.h"
#include "base/status.h"
#include "numerics/cholesky.h"
#include "numerics/nuts.h"
#include "systems/xpcs/posterior/modes.h"
#include "systems/xpcs/posterior/moves.h"

#include <math.h>
#include <string.h>

static const double MOST_DIVERGED = 0.05;

static tess_nuts *chain_at(const tess_xp_sampler *s, int64_t number)
{
    return (tess_nuts *)(void *)(s->chains + (size_t)number * s->chain_bytes);
}

// A draw, at x.
static void keep(tess_xp_sampler *s, int64_t number, const tess_nuts_view *view, const double *x,
                 double log_density)
{
    tess_xp_place place;
    const tess_xpcs_posterior_info *info = &s->out->info;
    const int64_t at = number * info->n_draw + view->draw;
    int64_t which = 0;
    if (s->modes->n > 1) {
        (void)tess_xp_modes_density(s->modes, x, &which);
    }
    tess_xp_coords_place(&s->coords, x, &place);
    memcpy(TESS_XP_OWN(double, info->theta) + at * info->n_param, place.theta,
           (size_t)info->n_param * sizeof(double));
    TESS_XP_OWN(double, info->noise)[at] = place.s;
    // Of the parameters themselves.
    TESS_XP_OWN(double, info->log_density)[at] = log_density - place.log_volume;
    TESS_XP_OWN(double, info->energy)[at] = view->energy;
    TESS_XP_OWN(double, info->accept)[at] = view->accept;
    TESS_XP_OWN(int64_t, info->n_step)[at] = view->n_step;
    TESS_XP_OWN(int64_t, info->depth)[at] = view->depth;
    TESS_XP_OWN(uint8_t, info->diverged)[at] = view->is_divergent != 0;
    TESS_XP_OWN(int32_t, info->mode)[at] = (int32_t)which;
    TESS_XP_OWN(double, info->step)[number] = view->step;
}

// Where a chain of several hills is: coordinates, log density, gradient.
static double *place_of(const tess_xp_sampler *s, int64_t chain)
{
    return s->at + chain * (2 * s->coords.n + 1);
}

static void put_place(tess_xp_sampler *s, int64_t chain, const double *x, double log_density,
                      const double *gradient)
{
    const int64_t n = s->coords.n;
    double *to = place_of(s, chain);
    memcpy(to, x, (size_t)n * sizeof *to);
    to[n] = log_density;
    memcpy(to + n + 1, gradient, (size_t)n * sizeof *to);
}

// The chain goes on from its place, with the metric of the hill it is in.
static void go_on_from_place(tess_xp_sampler *s, int64_t chain)
{
    const double *at = place_of(s, chain);
    int64_t which;
    (void)tess_xp_modes_density(s->modes, at, &which);
    tess_nuts_set_root(chain_at(s, chain), s->modes->at[which].root);
    tess_nuts_restart(chain_at(s, chain), at, at[s->coords.n], at + s->coords.n + 1);
}

// Takes the path's end for the chain's place, unless it left the hill: the metric depends on the
// hill, and paths are reversible within one only.
static void settle(tess_xp_sampler *s, int64_t chain, const tess_nuts_view *view)
{
    int64_t from;
    int64_t to;
    (void)tess_xp_modes_density(s->modes, place_of(s, chain), &from);
    (void)tess_xp_modes_density(s->modes, view->x, &to);
    if (view->draw <= 0 || from == to) {
        put_place(s, chain, view->x, view->log_density, view->gradient);
    }
}

// A draw of chains where there are several hills: each tries to jump, too.
static tess_status jump_all(tess_xp_sampler *s, const int64_t *which, int64_t n)
{
    const int64_t dim = s->coords.n;
    double points[TESS_XP_MAX_SET][TESS_XP_MAX_COORD];
    const double *trials[TESS_XP_MAX_SET];
    double values[TESS_XP_MAX_SET];
    double gradients[TESS_XP_MAX_SET * TESS_XP_MAX_COORD];
    tess_nuts_view view;
    for (int64_t i = 0; i < n; i++) {
        tess_nuts_look(chain_at(s, which[i]), &view);
        settle(s, which[i], &view);
        tess_xp_modes_propose(s, s->modes, which[i], view.draw, points[i]);
        trials[i] = points[i];
    }
    TESS_TRY(tess_xp_sampler_evaluate(s, trials, n, values, gradients));
    for (int64_t i = 0; i < n; i++) {
        const double *at = place_of(s, which[i]);
        int64_t unused;
        tess_nuts_look(chain_at(s, which[i]), &view);
        const double log_ratio = values[i] - at[dim] +
                                 tess_xp_modes_density(s->modes, at, &unused) -
                                 tess_xp_modes_density(s->modes, points[i], &unused);
        if (tess_xp_modes_accept(s, which[i], view.draw, log_ratio)) {
            put_place(s, which[i], points[i], values[i], gradients + i * dim);
        }
        keep(s, which[i], &view, at, at[dim]);
        go_on_from_place(s, which[i]);
    }
    return TESS_OK;
}

static tess_status keep_all(tess_xp_sampler *s, const int64_t *which, int64_t n)
{
    if (s->modes->n > 1 && n > 0) {
        return jump_all(s, which, n);
    }
    for (int64_t i = 0; i < n; i++) {
        tess_nuts_view view;
        tess_nuts_look(chain_at(s, which[i]), &view);
        keep(s, which[i], &view, view.x, view.log_density);
    }
    return TESS_OK;
}

// u moves by z of such a normal; false where it has no root.
static bool displace(const double *covariance, int64_t n, const double *z, double *u)
{
    double root[TESS_XP_MAX_COORD * TESS_XP_MAX_COORD];
    memcpy(root, covariance, (size_t)(n * n) * sizeof *root);
    if (!tess_cholesky(root, n)) {
        return false;
    }
    for (int64_t i = 0; i < n; i++) {
        for (int64_t k = 0; k <= i; k++) {
            u[i] += root[i * n + k] * z[k];
        }
    }
    return true;
}

// A chain begins somewhere in the bulk that the fit promises.
static tess_status begin(tess_xp_sampler *s, int64_t number)
{
    const int64_t n = s->coords.n;
    const tess_xpcs_sample_config *c = &s->config;
    tess_nuts *chain = chain_at(s, number);
    const tess_nuts_options options = {.seed = (uint64_t)c->seed,
                                       .chain = (uint32_t)number,
                                       .max_depth = (int32_t)c->max_depth,
                                       .n_warmup = c->n_warmup,
                                       .n_draw = c->n_draw,
                                       .target_accept = s->tally.target_accept,
                                       .max_energy_error = 1000};
    const tess_philox_stream draw =
        tess_philox_open((uint64_t)c->seed, (uint32_t)number, TESS_XP_RANDOM_STARTS);
    double u[TESS_XP_MAX_COORD];
    double z[TESS_XP_MAX_COORD];
    double covariance[TESS_XP_MAX_COORD * TESS_XP_MAX_COORD];
    if (s->top && s->modes->n < 2) {
        tess_philox_normals(&draw, 0, (size_t)n, z);
        (void)tess_xp_normal_draw(s->top, z, u);
        tess_xp_normal_covariance(s->top, covariance);
        if (tess_nuts_begin(chain, n, u, covariance, &options)) {
            return TESS_OK;
        }
    }
    // Not quite as narrow as told where that has no root.
    static const double trusts[] = {1, 1 - 1e-8, 0.9999, 0};
    for (size_t t = 0; t < sizeof trusts / sizeof *trusts; t++) {
        tess_xp_sampler_start(s, s->fit->theta, s->tally.noise, u);
        if (s->modes->n > 1) { // chains begin in all hills
            memcpy(u, s->modes->at[number % s->modes->n].u, sizeof u);
        }
        tess_philox_normals(&draw, 0, (size_t)n, z);
        if (tess_xp_sampler_covariance(s, u, trusts[t], covariance) &&
            displace(covariance, n, z, u) && tess_nuts_begin(chain, n, u, covariance, &options)) {
            return TESS_OK;
        }
    }
    TESS_FAIL(TESS_E_NUMERIC, "the covariance of the fit makes no metric");
}

static tess_status begin_all(tess_xp_sampler *s)
{
    for (int64_t c = 0; c < s->config.n_chain; c++) {
        TESS_TRY(begin(s, c));
        s->is_done[c] = 0;
    }
    return TESS_OK;
}

static uint8_t state_after(const tess_xp_sampler *s, int64_t chain, tess_nuts_request wanted)
{
    const bool is_warm =
        wanted == TESS_NUTS_DRAW && tess_nuts_n_done(chain_at(s, chain)) == s->config.n_warmup;
    return wanted == TESS_NUTS_DONE ? TESS_XP_CHAIN_DONE
           : is_warm && s->seen     ? TESS_XP_CHAIN_WAITS
                                    : TESS_XP_CHAIN_RUNS;
}

// All chains that go on take a step. *n_left: how many do afterwards.
static tess_status take_round(tess_xp_sampler *s, int64_t *n_left)
{
    const int64_t n_chain = s->config.n_chain;
    const double *trials[TESS_XP_MAX_SET];
    int64_t which[TESS_XP_MAX_SET];
    double values[TESS_XP_MAX_SET];
    double gradients[TESS_XP_MAX_SET * TESS_XP_MAX_COORD];
    int64_t n = 0;
    *n_left = 0;
    for (int64_t c = 0; c < n_chain; c++) {
        if (s->is_done[c] == TESS_XP_CHAIN_RUNS) {
            which[n] = c;
            trials[n++] = tess_nuts_trial(chain_at(s, c));
        }
        if (n < TESS_XP_MAX_SET && c + 1 < n_chain) {
            continue;
        }
        TESS_TRY(tess_xp_sampler_evaluate(s, trials, n, values, gradients));
        int64_t drawn[TESS_XP_MAX_SET];
        int64_t n_drawn = 0;
        for (int64_t i = 0; i < n; i++) {
            const tess_nuts_request wanted =
                tess_nuts_next(chain_at(s, which[i]), values[i], gradients + i * s->coords.n);
            if (wanted != TESS_NUTS_EVALUATE) {
                drawn[n_drawn] = which[i];
                n_drawn += tess_nuts_n_done(chain_at(s, which[i])) > s->config.n_warmup;
                tess_xp_moves_see(s, which[i]);
            }
            s->is_done[which[i]] = state_after(s, which[i], wanted);
            *n_left += s->is_done[which[i]] == TESS_XP_CHAIN_RUNS;
        }
        TESS_TRY(keep_all(s, drawn, n_drawn));
        n = 0;
    }
    return TESS_OK;
}

static double share_diverged(const tess_xp_sampler *s)
{
    const tess_xpcs_posterior_info *info = &s->out->info;
    const int64_t n = info->n_chain * info->n_draw;
    int64_t n_diverged = 0;
    for (int64_t i = 0; i < n; i++) {
        n_diverged += info->diverged[i];
    }
    return (double)n_diverged / (double)n;
}

// Too many paths broke off: shorter steps, if that is not tried out.
static bool has_next_attempt(tess_xp_sampler *s)
{
    const double share = share_diverged(s);
    if (!(share > MOST_DIVERGED)) {
        return false;
    }
    const double before = s->tally.target_accept;
    const double next = fmin(before + 0.05, 0.95);
    if (s->tally.attempt + 1 < s->config.max_attempt && next > before) {
        s->tally.attempt++;
        s->tally.target_accept = next;
        return true;
    }
    return false;
}

static void warn(tess_xp_sampler *s)
{
    const double share = share_diverged(s);
    if (s->tally.attempt > 0) {
        tess_text_printf(&s->warnings,
                         "too many paths diverged with target_accept %g; these draws were made "
                         "with %g, in attempt %lld\n",
                         s->config.target_accept, s->tally.target_accept,
                         (long long)s->tally.attempt + 1);
    }
    const double accepted =
        (double)s->tally.n_accepted / (double)(s->config.n_chain * s->config.n_draw);
    if (s->tally.is_moving && accepted < 0.2) {
        tess_text_printf(&s->warnings,
                         "only %.1f %% of the surrogate's proposals were accepted: sample without "
                         "(surrogate off)\n",
                         100 * accepted);
    }
    if (share > MOST_DIVERGED) {
        tess_text_printf(&s->warnings,
                         "%.1f %% of the paths diverged: parts of the posterior may be missing; "
                         "set target_accept nearer to 1\n",
                         100 * share);
    }
}

tess_status tess_xp_sampler_run(tess_xp_sampler *s)
{
    int64_t n_left = 1;
    if (!s->is_resumed) {
        TESS_TRY(begin_all(s));
    }
    while (n_left > 0 && !s->tally.is_moving) {
        tess_xp_sampler_begin_round(s);
        TESS_TRY(tess_xp_sampler_end_round(s, take_round(s, &n_left)));
        if (n_left == 0 && s->is_done[0] == TESS_XP_CHAIN_WAITS && !tess_xp_moves_begin(s)) {
            memset(s->is_done, TESS_XP_CHAIN_RUNS, (size_t)s->config.n_chain);
            n_left = 1;
        }
        if (n_left == 0 && !s->tally.is_moving && has_next_attempt(s)) {
            TESS_TRY(begin_all(s));
            n_left = 1;
        }
        TESS_TRY(tess_xp_sampler_between(s));
    }
    while (s->tally.is_moving && s->tally.n_moved < s->config.n_draw) {
        tess_xp_sampler_begin_round(s);
        TESS_TRY(tess_xp_sampler_end_round(s, tess_xp_moves_round(s)));
        TESS_TRY(tess_xp_sampler_between(s));
    }
    warn(s);
    return TESS_OK;
}
