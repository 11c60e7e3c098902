#include "systems/xpcs/posterior/moves.h"
#include "systems/xpcs/posterior/modes.h"

#include "base/rng.h"
#include "base/status.h"
#include "numerics/nuts.h"
#include "numerics/surrogate.h"

#include <math.h>
#include <string.h>

// Points to learn from, transitions that the paths' steps are found with, and those of a proposal.
enum { MOST_SEEN = 1200, N_TUNE = 300, N_PATH = 1, ACCEPT = 8, PATHS = 1 << 16 };

// Standard deviation of the surrogate's error up to which it is used unasked: more than half of its
// proposals are accepted then.
static const double MOST_ERROR = 0.8;

static tess_nuts *mover_at(const tess_xp_sampler *s, int64_t chain)
{
    return (tess_nuts *)(void *)(s->movers + (size_t)chain * s->chain_bytes);
}

static tess_surrogate *surrogate_of(const tess_xp_sampler *s)
{
    return (tess_surrogate *)(void *)s->surrogate;
}

tess_status tess_xp_moves_open(tess_xp_sampler *s)
{
    static const char what[] = "a surrogate of the posterior";
    const int64_t n = s->coords.n;
    const int64_t n_chain = s->config.n_chain;
    const int64_t half = s->config.n_warmup / 2;
    const int64_t most = MOST_SEEN / n_chain;
    if (s->modes->n > 1) { // hills far apart are no polynomial; chains keep where they are
        s->at = tess_blocks_alloc(&s->blocks, n_chain * (2 * n + 1), sizeof *s->at, what);
        return s->at ? TESS_OK : TESS_E_MEMORY;
    }
    if (n > TESS_SURROGATE_MAX_N || s->config.surrogate == 1 ||
        s->config.method != TESS_XPCS_METHOD_NUTS) {
        return TESS_OK;
    }
    s->n_seen = half < most ? half : most;
    s->seen = tess_blocks_alloc(&s->blocks, n_chain * s->n_seen,
                                sizeof(double) * (size_t)(2 * n + 1), what);
    s->movers = tess_blocks_alloc(&s->blocks, n_chain, s->chain_bytes, what);
    s->surrogate = tess_blocks_alloc(&s->blocks, 1, tess_surrogate_bytes(n), what);
    s->at = tess_blocks_alloc(&s->blocks, n_chain * (n + 1), sizeof *s->at, what);
    return s->seen && s->movers && s->surrogate && s->at ? TESS_OK : TESS_E_MEMORY;
}

// seen: all places, then all values, then all gradients.
void tess_xp_moves_see(tess_xp_sampler *s, int64_t chain)
{
    const int64_t n = s->coords.n;
    const int64_t n_all = s->config.n_chain * s->n_seen;
    tess_nuts_view view;
    tess_nuts_look((tess_nuts *)(void *)(s->chains + (size_t)chain * s->chain_bytes), &view);
    if (!s->seen || view.draw >= 0 || -view.draw > s->n_seen) {
        return;
    }
    // Draws of one time of all chains follow each other: what is left out to test is of all.
    const int64_t row = (s->n_seen + view.draw) * s->config.n_chain + chain;
    memcpy(s->seen + row * n, view.x, (size_t)n * sizeof(double));
    s->seen[n_all * n + row] = view.log_density;
    memcpy(s->seen + n_all * (n + 1) + row * n, view.gradient, (size_t)n * sizeof(double));
}

// Paths on the surrogate alone until their steps are right.
static void tune(tess_xp_sampler *s, int64_t chain)
{
    const int64_t n = s->coords.n;
    const tess_nuts_options options = {.seed = (uint64_t)s->config.seed,
                                       .chain = (uint32_t)(PATHS + chain),
                                       .max_depth = (int32_t)s->config.max_depth,
                                       .n_warmup = N_TUNE,
                                       .n_draw = INT64_MAX / 4,
                                       .target_accept = s->config.target_accept,
                                       .max_energy_error = 1000};
    tess_nuts *mover = mover_at(s, chain);
    const tess_surrogate *surrogate = surrogate_of(s);
    (void)tess_nuts_begin(mover, n, s->at + chain * (n + 1), tess_surrogate_covariance(surrogate),
                          &options);
    while (tess_nuts_n_done(mover) < N_TUNE) {
        double gradient[TESS_XP_MAX_COORD];
        const double value = tess_surrogate_at(surrogate, tess_nuts_trial(mover), gradient);
        (void)tess_nuts_next(mover, value, gradient);
    }
}

bool tess_xp_moves_begin(tess_xp_sampler *s)
{
    const int64_t n = s->coords.n;
    const int64_t n_all = s->config.n_chain * s->n_seen;
    const size_t bytes = tess_surrogate_scratch(n);
    if (!s->seen) {
        return false;
    }
    void *scratch = tess_heap_alloc(&s->ctx->heap, bytes, TESS_TAG_SCRATCH, "a surrogate");
    if (!scratch) {
        tess_error_clear(); // NUTS needs none
        return false;
    }
    const tess_surrogate_seen seen = {.x = s->seen,
                                      .value = s->seen + n_all * n,
                                      .gradient = s->seen + n_all * (n + 1),
                                      .n_seen = n_all};
    double error = (double)INFINITY;
    const bool is_fitted = tess_surrogate_fit(surrogate_of(s), n, &seen, scratch, &error) != 0;
    tess_heap_free(&s->ctx->heap, scratch, bytes, TESS_TAG_SCRATCH);
    if (!is_fitted || (s->config.surrogate == 0 && error > MOST_ERROR)) {
        return false;
    }
    for (int64_t c = 0; c < s->config.n_chain; c++) {
        tess_nuts_view view;
        tess_nuts_look((tess_nuts *)(void *)(s->chains + (size_t)c * s->chain_bytes), &view);
        memcpy(s->at + c * (n + 1), view.x, (size_t)n * sizeof(double));
        s->at[c * (n + 1) + n] = view.log_density;
        tune(s, c);
    }
    s->tally.is_moving = 1;
    return true;
}

typedef struct moves {
    tess_xp_sampler *sampler;
    int64_t first;                // chain
    double from[TESS_XP_MAX_SET]; // surrogate where the chains are
    double to[TESS_XP_MAX_SET];   // and at the proposals
    double x[TESS_XP_MAX_SET][TESS_XP_MAX_COORD];
    double kinetic[TESS_XP_MAX_SET];
} moves;

// Where a path from a chain's place ends.
static tess_status propose(void *arg, int64_t i, int32_t worker)
{
    (void)worker;
    moves *m = arg;
    const tess_xp_sampler *s = m->sampler;
    const int64_t n = s->coords.n;
    const tess_surrogate *surrogate = surrogate_of(s);
    tess_nuts *mover = mover_at(s, m->first + i);
    double gradient[TESS_XP_MAX_COORD];
    const double *x = s->at + (m->first + i) * (n + 1);
    tess_nuts_view view;
    m->from[i] = tess_surrogate_at(surrogate, x, gradient);
    tess_nuts_restart(mover, x, m->from[i], gradient);
    const int64_t end = tess_nuts_n_done(mover) + N_PATH;
    while (tess_nuts_n_done(mover) < end) {
        const double value = tess_surrogate_at(surrogate, tess_nuts_trial(mover), gradient);
        (void)tess_nuts_next(mover, value, gradient);
    }
    tess_nuts_look(mover, &view);
    memcpy(m->x[i], view.x, (size_t)n * sizeof(double));
    m->to[i] = view.log_density;
    m->kinetic[i] = view.energy + view.log_density;
    return TESS_OK;
}

static void keep(tess_xp_sampler *s, int64_t chain, double accept, double kinetic)
{
    const tess_xpcs_posterior_info *info = &s->out->info;
    const int64_t n = s->coords.n;
    const int64_t at = chain * info->n_draw + s->tally.n_moved;
    const double *x = s->at + chain * (n + 1);
    tess_nuts_view view;
    tess_xp_place place;
    tess_nuts_look(mover_at(s, chain), &view);
    tess_xp_coords_place(&s->coords, x, &place);
    memcpy(TESS_XP_OWN(double, info->theta) + at * info->n_param, place.theta,
           (size_t)info->n_param * sizeof(double));
    TESS_XP_OWN(double, info->noise)[at] = place.s;
    TESS_XP_OWN(double, info->log_density)[at] = x[n] - place.log_volume;
    TESS_XP_OWN(double, info->energy)[at] = kinetic - x[n];
    TESS_XP_OWN(double, info->accept)[at] = accept;
    TESS_XP_OWN(int64_t, info->n_step)[at] = view.n_step;
    TESS_XP_OWN(int64_t, info->depth)[at] = view.depth;
    TESS_XP_OWN(double, info->step)[chain] = view.step;
}

static tess_status move_some(tess_xp_sampler *s, int64_t first, int64_t count)
{
    const int64_t n = s->coords.n;
    moves m = {.sampler = s, .first = first};
    const double *trials[TESS_XP_MAX_SET];
    double values[TESS_XP_MAX_SET];
    TESS_TRY(tess_parallel_for(s->ctx->pool, count, propose, &m));
    for (int64_t i = 0; i < count; i++) {
        trials[i] = m.x[i];
    }
    TESS_TRY(tess_xp_sampler_evaluate(s, trials, count, values, NULL));
    for (int64_t i = 0; i < count; i++) {
        double *at = s->at + (first + i) * (n + 1);
        const tess_philox_stream stream =
            tess_philox_open((uint64_t)s->config.seed, (uint32_t)(first + i), ACCEPT);
        const double log_accept = values[i] - at[n] - (m.to[i] - m.from[i]);
        const double accept = log_accept > 0 ? 1 : exp(log_accept); // 0 for what is no number
        if (tess_philox_uniform(&stream, (uint64_t)s->tally.n_moved) < accept) {
            memcpy(at, m.x[i], (size_t)n * sizeof(double));
            at[n] = values[i];
            s->tally.n_accepted++;
        }
        keep(s, first + i, isnan(accept) ? 0 : accept, m.kinetic[i]);
    }
    return TESS_OK;
}

tess_status tess_xp_moves_round(tess_xp_sampler *s)
{
    for (int64_t c = 0; c < s->config.n_chain; c += TESS_XP_MAX_SET) {
        const int64_t left = s->config.n_chain - c;
        TESS_TRY(move_some(s, c, left < TESS_XP_MAX_SET ? left : TESS_XP_MAX_SET));
    }
    s->tally.n_moved++;
    return TESS_OK;
}
